/* order_print.c: the circles as text, with the names of functions. */
#include "order/order.h"
#include "profile/symbols.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct {
    csk_order_print_t print;
    void *context;
    int status;
} output_t;

__attribute__((format(printf, 2, 3))) static void put(output_t *output, const char *format, ...) {
    char text[512];
    if (output->status != 0) return;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof text) length = (int)sizeof text - 1;
    output->status = output->print(output->context, text, (size_t)length);
}

/* A frame says where its call returns to, which may be the next function already. */
static void put_frame(output_t *output, const csk_symbols_t *symbols, uintptr_t frame) {
    const csk_module_t *module = csk_symbols_module(symbols, frame - 1);
    const char *name = module != NULL ? csk_symbols_name(module, frame - 1) : NULL;
    unsigned long place = module != NULL ? (unsigned long)(frame - module->start + module->offset) : frame;
    put(output, "        %s (%s+0x%lx)\n", name != NULL ? name : "?", module != NULL ? module->path : "", place);
}

static void put_step(output_t *output, const csk_symbols_t *symbols, const order_step_t *step) {
    put(output, "    \"%s\" was entered inside of \"%s\" at\n", csk_order_text(step->to), csk_order_text(step->from));
    for (uint32_t i = 0; i < step->depth; i++) put_frame(output, symbols, step->frames[i]);
}

int csk_order_print(csk_order_print_t print, void *context) {
    output_t output = { print, context, 0 };
    csk_order_counts_t counts;
    csk_order_count(&counts);
    csk_symbols_t symbols;
    if (counts.circles == 0 && counts.uncovered == 0) return 0;
    int status = csk_symbols_open(&symbols);
    if (status != 0) return status;
    const order_tables_t *tables = csk_order_tables;
    for (uint64_t i = 0; i < counts.circles && i < ORDER_CIRCLES; i++) {
        const order_circle_t *circle = &tables->circles[i];
        put(&output, "circle %u of %u\n", (unsigned)i + 1, (unsigned)counts.circles);
        for (uint32_t step = 0; step < circle->count; step++)
            put_step(&output, &symbols, csk_order_step(circle->steps[step]));
    }
    for (uint64_t i = 0; i < counts.uncovered && i < ORDER_UNCOVERED; i++)
        if (csk_load(&tables->uncovered[i].ready, CSK_ACQUIRE) != 0)
            put(&output, "not covered: \"%s\"\n", tables->uncovered[i].text);
    csk_symbols_close(&symbols);
    return output.status;
}
