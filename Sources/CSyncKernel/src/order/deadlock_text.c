/* deadlock_text.c: a deadlock in one line. */
#include "order/deadlock.h"

#include <stdarg.h>
#include <stdio.h>

static const char *kind_name(uint32_t object_kind) {
    static const char *const names[] = {
        "object", "mutex", "read-write lock", "semaphore", "condition variable", "priority queue", "work queue"
    };
    return object_kind < sizeof names / sizeof *names ? names[object_kind] : names[0];
}

void csk_line_add(csk_line_t *line, const char *format, ...) {
    if (line->length + 1 >= line->size) return;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line->text + line->length, line->size - line->length, format, arguments);
    va_end(arguments);
    line->length += length > 0 ? (size_t)length : 0;
    if (line->length >= line->size) line->length = line->size - 1;
}

void csk_deadlock_add_party(csk_line_t *line, const csk_deadlock_party_t *party) {
    if (party->thread.id != 0) {
        csk_line_add(line, "thread %d", (int)party->thread.id);
        if (party->thread.name[0] != 0) csk_line_add(line, " \"%s\"", party->thread.name);
    }
    if (party->task != 0)
        csk_line_add(line, party->thread.id != 0 ? " (task 0x%llx)" : "task 0x%llx", (unsigned long long)party->task);
    if (party->thread.id == 0 && party->task == 0) csk_line_add(line, "callback %p", party->waiter);
}

void csk_deadlock_add_object(csk_line_t *line, const csk_deadlock_party_t *party) {
    csk_line_add(line, " at %s ", kind_name(party->object_kind));
    if (party->name[0] != 0) csk_line_add(line, "\"%s\" ", party->name);
    csk_line_add(line, "%p", party->object);
}

static const csk_deadlock_party_t *party_behind(const deadlock_kept_t *found, uint32_t known, uint32_t at) {
    if (at + 1 == found->count) return &found->parties[0];
    return at + 1 < known ? &found->parties[at + 1] : NULL;
}

void csk_deadlock_write_text(const deadlock_kept_t *found, char *text, size_t size) {
    csk_line_t line = { text, size, 0 };
    uint32_t known = found->count < CSK_DEADLOCK_PARTIES ? found->count : CSK_DEADLOCK_PARTIES;
    text[0] = 0;
    for (uint32_t i = 0; i < known; i++) {
        const csk_deadlock_party_t *next = party_behind(found, known, i);
        if (i != 0) csk_line_add(&line, "; ");
        csk_deadlock_add_party(&line, &found->parties[i]);
        csk_line_add(&line, " waits for ");
        if (next != NULL) csk_deadlock_add_party(&line, next);
        else csk_line_add(&line, "another of %u", (unsigned)found->count);
        csk_deadlock_add_object(&line, &found->parties[i]);
    }
}
