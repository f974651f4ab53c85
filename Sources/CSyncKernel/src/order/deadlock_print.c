/* deadlock_print.c: deadlocks as text. */
#include "order/deadlock.h"
#include "profile/symbols.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *csk_deadlock_kind_name(uint32_t object_kind) {
    static const char *const names[] = {
        "object", "mutex", "read-write lock", "semaphore", "condition variable", "priority queue", "work queue"
    };
    return object_kind < sizeof names / sizeof *names ? names[object_kind] : names[0];
}

/* ---- One line ---------------------------------------------------------------------------------------------------- */

typedef struct {
    char *text;
    size_t size, length;
} line_t;

__attribute__((format(printf, 2, 3))) static void add(line_t *line, const char *format, ...) {
    if (line->length + 1 >= line->size) return;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line->text + line->length, line->size - line->length, format, arguments);
    va_end(arguments);
    line->length += length > 0 ? (size_t)length : 0;
    if (line->length >= line->size) line->length = line->size - 1;
}

static void add_party(line_t *line, const csk_deadlock_party_t *party) {
    if (party->thread.id != 0) {
        add(line, "thread %d", (int)party->thread.id);
        if (party->thread.name[0] != 0) add(line, " \"%s\"", party->thread.name);
    }
    if (party->task != 0)
        add(line, party->thread.id != 0 ? " (task 0x%llx)" : "task 0x%llx", (unsigned long long)party->task);
    if (party->thread.id == 0 && party->task == 0) add(line, "callback %p", party->waiter);
}

static void add_object(line_t *line, const csk_deadlock_party_t *party) {
    add(line, " at %s ", csk_deadlock_kind_name(party->object_kind));
    if (party->name[0] != 0) add(line, "\"%s\" ", party->name);
    add(line, "%p", party->object);
}

static const csk_deadlock_party_t *party_behind(const deadlock_kept_t *found, uint32_t known, uint32_t at) {
    if (at + 1 == found->count) return &found->parties[0];
    return at + 1 < known ? &found->parties[at + 1] : NULL;
}

void csk_deadlock_write_text(const deadlock_kept_t *found, char *text, size_t size) {
    line_t line = { text, size, 0 };
    uint32_t known = found->count < CSK_DEADLOCK_PARTIES ? found->count : CSK_DEADLOCK_PARTIES;
    text[0] = 0;
    for (uint32_t i = 0; i < known; i++) {
        const csk_deadlock_party_t *next = party_behind(found, known, i);
        if (i != 0) add(&line, "; ");
        add_party(&line, &found->parties[i]);
        add(&line, " waits for ");
        if (next != NULL) add_party(&line, next);
        else add(&line, "another of %u", (unsigned)found->count);
        add_object(&line, &found->parties[i]);
    }
}

/* ---- With stacks ------------------------------------------------------------------------------------------------- */

typedef struct {
    csk_deadlock_print_t print;
    void *context;
    int status;
} output_t;

static void put(output_t *output, const line_t *line) {
    if (output->status == 0) output->status = output->print(output->context, line->text, line->length);
}

static void put_frame(output_t *output, const csk_symbols_t *symbols, uintptr_t frame) {
    char text[512];
    line_t line = { text, sizeof text, 0 };
    const csk_module_t *module = csk_symbols_module(symbols, frame - 1);
    const char *name = module != NULL ? csk_symbols_name(module, frame - 1) : NULL;
    unsigned long place = module != NULL ? (unsigned long)(frame - module->start + module->offset) : frame;
    add(&line, "        %s (%s+0x%lx)\n", name != NULL ? name : "?", module != NULL ? module->path : "", place);
    put(output, &line);
}

static void put_party(output_t *output, const csk_symbols_t *symbols, const csk_deadlock_party_t *parties, uint32_t at,
                      uint32_t count) {
    char text[512];
    line_t line = { text, sizeof text, 0 };
    const csk_deadlock_party_t *party = &parties[at];
    bool known = at + 1 == count || at + 1 < CSK_DEADLOCK_PARTIES;
    add(&line, "    ");
    add_party(&line, party);
    add(&line, " waits for ");
    if (known) add_party(&line, &parties[(at + 1) % count]);
    else add(&line, "another");
    add_object(&line, party);
    add(&line, party->frame_count != 0 ? " at\n" : "\n");
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
        line_t line = { text, sizeof text, 0 };
        if (count != 0) add(&line, "deadlock %llu of %u parties\n", (unsigned long long)number + 1, (unsigned)count);
        put(&output, &line);
        for (uint32_t i = 0; i < count && i < CSK_DEADLOCK_PARTIES; i++)
            put_party(&output, &symbols, parties, i, count);
    }
    csk_symbols_close(&symbols);
    free(parties);
    return output.status;
}
