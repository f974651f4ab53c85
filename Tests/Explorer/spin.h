/* spin.h: threads that go round a loop in vain. One that comes to a state in which it was before, and has changed
 * nothing since, comes there for ever unless it reads something else: it is blocked until something newer is at one of
 * the places that it has read.
 *
 * Its state is its registers, its stack and its thread-local variables, and the memory of the schedule. A thread that
 * counts its looks is never in one state twice. So where it calls csk_platform_await_step, which says that it waits for
 * another thread, it is enough that the last two rounds have read the same. */
#ifndef EXPLORER_SPIN_H
#define EXPLORER_SPIN_H

#include "machine.h"

/* The running thread has read what has this mark; `how` says whose. Or it has made a step that changes nothing. */
enum spin_place { SPIN_MEMORY, SPIN_MUTEX, SPIN_CLOCK, SPIN_NOTHING };
void spin_reads(enum spin_place how, const void *address, uint64_t mark, uint64_t value);
/* It has done what others may notice, or the system has. */
static inline void spin_changes(void) {
    if (current != NULL) current->reads = 0;
}
/* It is about to wait for another thread's next step. */
void spin_awaits(void);
/* It has come to its next scheduling point, and has made so many reads at least. */
enum { SPIN_WINDOW = 12 };
void spin_arrives(fiber_t *fiber);

/* Whether nothing newer is there for it to read. */
bool spin_is_blocked(int thread);
/* Whether it would go on if time passed. */
bool spin_reads_clock(int thread);
/* The loop, as text: "load gate.c:75, clock". */
int spin_describe(int thread, char *text, size_t size);

/* A hash of all that the threads' next steps depend on, but for static variables that are accessed plainly. */
uint64_t spin_state_of_all(void);

#endif
