/* gate_aside.h: what is done for, and about, a designated waiter that does not come.
 *
 * While the next in order is designated, leavers call no other waiter, and the running threads pass the gate among
 * themselves. If they keep every processor busy, the designated one has none to come on. It would wait until the system
 * takes a processor from one of them, which is milliseconds, and all waiters behind it would wait as long. It can't ask
 * for a hand-over either, since it does not run. So the running threads check:
 *
 * 1. Each GATE_DEPARTURES-th departure of a thread from a gate to which a waiter is on the way takes the queue lock and
 *    reads the clock. If the next waiter was designated GATE_LATE_NS ago, the thread marks the gate
 *    (csk_gate_look_for_late).
 * 2. When the thread comes to that gate again, it does not try to enter. It queues behind the others and parks
 *    (lock_as and queue_and_wait in gate.c). The system gives its processor to the designated waiter.
 *
 * Why the gate is not handed over. It would be held by a thread that does not run. If the processors are busy with
 * other programs, no thread could enter for a time slice, after each such hand-over. A thread that steps aside leaves
 * the gate to those that run. docs/measurements.md has both measurements.
 *
 * Which threads step aside. One thread in GATE_LATE_NS, since each mark begins the waiter's time anew. None whose rank
 * is above the next waiter's: the order is strict. None at a gate without waiters. Either way the mark is forgotten.
 * csk_gate_trylock, callbacks and locks with a deadline don't step aside: they don't wait, or not for long.
 *
 * The mark is an address that is compared, and never followed. If the gate is freed, and another one stands there, the
 * thread may queue once at that gate without need.
 *
 * No waiter is left asleep: a thread that steps aside is a waiter like any other. It settles when it has queued, so
 * some waiter comes for a free gate.
 *
 * Passed over. The designated waiter may be late for any length of time: it is stopped, its group has used up its share
 * of the processors, it is in a handler of a signal. So a waiter that was designated GATE_PASSED_OVER_NS ago is passed
 * over if others wait (csk_gate_pass_over): the order goes on without it until it comes, and then it has its place
 * again. It stays among the arrivals, and its passes are counted meanwhile. Two kinds of threads check for that:
 *
 *   leavers         in the look above
 *   waiters         a parked thread after GATE_FIRST_LOOK_NS, and then at intervals that double (gate_watch.c). So
 *                   a waiter behind a late one waits at most for as long again as it has waited already, and for 125 ms
 *
 * A callback does not check: behind a late thread it waits for the next departure, or for a thread that is parked. A
 * thread that was signalled at a condition variable checks after a second.
 *
 * An arrival above the designated waiter never waits for it, since the flag DESIGNATED is the next waiter's own
 * (gate_words.h). What is not passed over: a thread that was granted the gate holds it. So it is under STRICT, after a
 * hand-over, and at the bypass limit. */
#ifndef CSK_INTERNAL_GATE_ASIDE_H
#define CSK_INTERNAL_GATE_ASIDE_H

#include "lock/gate_queue.h"

/* How often a thread checks: at sections of 100 ns each 13 us or so. */
#ifndef GATE_DEPARTURES
#define GATE_DEPARTURES 64
#endif
/* The calling thread's departures from gates to which a waiter was on the way, and the gate that it marked. */
extern __thread uint32_t csk_gate_departures __attribute__((tls_model("initial-exec")));
extern __thread const csk_gate_t *csk_gate_marked __attribute__((tls_model("initial-exec")));

/* For a leaver that holds the gate, while a waiter is on the way to it. */
void csk_gate_look_for_late(csk_gate_t *gate);
static inline void csk_gate_count_departure(csk_gate_t *gate) {
    if (CSK_UNLIKELY(++csk_gate_departures % GATE_DEPARTURES == 0)) csk_gate_look_for_late(gate);
}

/* For a newcomer. Whether it marked this gate; csk_gate_take_mark forgets that. */
static inline bool csk_gate_is_marked(const csk_gate_t *gate) { return CSK_UNLIKELY(csk_gate_marked == gate); }
static inline bool csk_gate_take_mark(const csk_gate_t *gate) {
    bool marked = csk_gate_is_marked(gate);
    csk_gate_marked = NULL;
    return marked;
}
/* Called under the queue lock. Whether such a newcomer queues without trying to enter. */
static inline bool csk_gate_steps_aside(const csk_gate_t *gate, csk_rank_t rank) {
    const csk_waiter_t *next = csk_gate_next(gate);
    return next != NULL && next->node.rank >= rank;
}

#endif
