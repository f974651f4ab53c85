/* deadlock_text.c: a deadlock in one line. */
#include "observe/deadlock.h"

static const char *kind_name(uint32_t object_kind) {
    static const char *const names[] = {
        "object", "mutex", "read-write lock", "semaphore", "condition variable", "priority queue", "work queue"
    };
    return object_kind < sizeof names / sizeof *names ? names[object_kind] : names[0];
}

static void add_party(csk_line_t *line, const csk_deadlock_party_t *party) {
    if (party->thread.id != 0) {
        csk_line_add(line, "thread %d", (int)party->thread.id);
        if (party->thread.name[0] != 0) csk_line_add(line, " \"%s\"", party->thread.name);
    }
    if (party->task != 0)
        csk_line_add(line, party->thread.id != 0 ? " (task 0x%llx)" : "task 0x%llx", (unsigned long long)party->task);
    if (party->task_name[0] != 0) csk_line_add(line, " \"%s\"", party->task_name);
    if (party->thread.id == 0 && party->task == 0) csk_line_add(line, "callback %p", party->waiter);
}

void csk_deadlock_add_wait(csk_line_t *line, const csk_deadlock_party_t *parties, uint32_t at, uint32_t count) {
    const csk_deadlock_party_t *party = &parties[at];
    uint32_t next = (at + 1) % count;
    add_party(line, party);
    csk_line_add(line, " waits for ");
    if (next < csk_deadlock_known(count)) add_party(line, &parties[next]);
    else csk_line_add(line, "another of %u", (unsigned)count);
    csk_line_add(line, " at %s ", kind_name(party->object_kind));
    if (party->name[0] != 0) csk_line_add(line, "\"%s\" ", party->name);
    csk_line_add(line, "%p", party->object);
}

void csk_deadlock_write_text(const deadlock_kept_t *found, char *text, size_t size) {
    csk_line_t line = { text, size, 0 };
    text[0] = 0;
    for (uint32_t i = 0; i < csk_deadlock_known(found->count); i++) {
        if (i != 0) csk_line_add(&line, "; ");
        csk_deadlock_add_wait(&line, found->parties, i, found->count);
    }
}
