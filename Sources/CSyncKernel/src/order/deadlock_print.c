/* deadlock_print.c: deadlocks with the call stacks of their parties. */
#include "order/deadlock.h"
#include "profile/symbols.h"

#include <stdlib.h>

typedef struct {
    csk_deadlock_print_t print;
    void *context;
    int status;
} output_t;

static void put(output_t *output, const csk_line_t *line) {
    if (output->status == 0) output->status = output->print(output->context, line->text, line->length);
}

static void put_frame(output_t *output, const csk_symbols_t *symbols, uintptr_t frame) {
    char text[512];
    csk_line_t line = { text, sizeof text, 0 };
    const csk_module_t *module = csk_symbols_module(symbols, frame - 1);
    const char *name = module != NULL ? csk_symbols_name(module, frame - 1) : NULL;
    unsigned long place = module != NULL ? (unsigned long)(frame - module->start + module->offset) : frame;
    csk_line_add(&line, "        %s (%s+0x%lx)\n", name != NULL ? name : "?", module != NULL ? module->path : "",
                 place);
    put(output, &line);
}

static void put_party(output_t *output, const csk_symbols_t *symbols, const csk_deadlock_party_t *parties, uint32_t at,
                      uint32_t count) {
    char text[512];
    csk_line_t line = { text, sizeof text, 0 };
    const csk_deadlock_party_t *party = &parties[at];
    bool known = at + 1 == count || at + 1 < CSK_DEADLOCK_PARTIES;
    csk_line_add(&line, "    ");
    csk_deadlock_add_party(&line, party);
    csk_line_add(&line, " waits for ");
    if (known) csk_deadlock_add_party(&line, &parties[(at + 1) % count]);
    else csk_line_add(&line, "another");
    csk_deadlock_add_object(&line, party);
    csk_line_add(&line, party->frame_count != 0 ? " at\n" : "\n");
    put(output, &line);
    for (uint32_t i = 0; i < party->frame_count; i++) put_frame(output, symbols, party->frames[i]);
}

int csk_deadlock_print(csk_deadlock_print_t print, void *context) {
    output_t output = { print, context, 0 };
    uint64_t number = csk_deadlock_count(), end = number;
    number = number > CSK_DEADLOCKS_KEPT ? number - CSK_DEADLOCKS_KEPT : 0;
    if (number == end) return 0;
    csk_deadlock_party_t *parties = malloc(CSK_DEADLOCK_PARTIES * sizeof *parties);
    csk_symbols_t symbols;
    int status = parties != NULL ? csk_symbols_open(&symbols) : ENOMEM;
    if (status != 0) {
        free(parties);
        return status;
    }
    for (; number < end; number++) {
        uint32_t count = csk_deadlock_parties(number, parties, CSK_DEADLOCK_PARTIES);
        char text[64];
        csk_line_t line = { text, sizeof text, 0 };
        if (count != 0)
            csk_line_add(&line, "deadlock %llu of %u parties\n", (unsigned long long)number + 1, (unsigned)count);
        put(&output, &line);
        for (uint32_t i = 0; i < count && i < CSK_DEADLOCK_PARTIES; i++)
            put_party(&output, &symbols, parties, i, count);
    }
    csk_symbols_close(&symbols);
    free(parties);
    return output.status;
}
