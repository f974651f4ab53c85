/* order_print.c: the circles as text, with the names of functions. */
#include "observe/order.h"
#include "observe/output.h"

#include <inttypes.h>

static void put_step(csk_output_t *output, const order_step_t *step) {
    char from[ORDER_TEXT], to[ORDER_TEXT];
    csk_order_copy_text(step->from, from);
    csk_order_copy_text(step->to, to);
    csk_output_putf(output, "    \"%s\" was entered inside of \"%s\" at\n", to, from);
    csk_output_put_frames(output, step->frames, step->depth);
}

int csk_order_print(csk_print_t print, void *context) {
    csk_output_t output;
    csk_order_counts_t counts;
    csk_order_count(&counts);
    if (counts.circles == 0 && counts.uncovered == 0 && counts.lost == 0) return 0;
    int status = csk_output_open(&output, print, context);
    if (status != 0) return status;
    const order_tables_t *tables = csk_order_tables;
    for (uint64_t i = 0; i < counts.circles && i < ORDER_CIRCLES; i++) {
        const order_circle_t *circle = &tables->circles[i];
        csk_output_putf(&output, "circle %u of %u\n", (unsigned)i + 1, (unsigned)counts.circles);
        for (uint32_t step = 0; step < circle->count; step++) put_step(&output, csk_order_step(circle->steps[step]));
    }
    for (uint64_t i = 0; i < counts.uncovered && i < ORDER_UNCOVERED; i++)
        if (csk_load(&tables->uncovered[i].ready, CSK_ACQUIRE) != 0)
            csk_output_putf(&output, "not covered: \"%s\"\n", tables->uncovered[i].text);
    if (counts.lost != 0)
        csk_output_putf(&output, "not checked for want of room: %" PRIu64 " entries, classes and steps\n", counts.lost);
    return csk_output_close(&output);
}
