/* gate_aside.h: what is done for, and about, a waiter that was told to try and does not come.
 *
 * While the next in order is designated, leavers call nobody, and the threads that run pass the gate among themselves.
 * If they keep every processor busy, the designated one has none to come on. It would wait until the system takes a
 * processor from one of them, which is milliseconds, and all who stand behind it would wait as long. It can't ask for a
 * hand-over either, since it does not run. So those that run look:
 *
 * 1. Each GATE_DEPARTURES-th departure of a thread from a gate to which somebody is on the way takes the queue lock and
 *    reads the clock. If the next waiter was told to try GATE_LATE_NS ago, the thread notes the gate
 *    (csk_gate_look_for_late).
 * 2. When the thread comes to that gate again, it does not try to enter. It queues behind the others and parks
 *    (lock_as and enter_or_wait in gate.c). The system gives its processor to the designated waiter.
 *
 * Why the gate is not handed over. It would be held by a thread that does not run. If the processors are busy with
 * other programs, nobody could enter for a time slice, after each such hand-over. A thread that steps aside leaves the
 * gate to those that run. docs/measurements.md has both measurements.
 *
 * Who steps aside. One thread in GATE_LATE_NS, since each note begins the waiter's time anew. None whose rank is above
 * the next waiter's: the order is strict. None where nobody waits any more. Either way the note is forgotten.
 * csk_gate_trylock, callbacks and locks with a deadline don't step aside: they wait for nobody, or not for long.
 *
 * The note is an address that is compared, and never followed. If the gate is freed, and another one stands there, the
 * thread may queue once at that gate without need.
 *
 * Nobody is left asleep: whoever steps aside is a waiter like any other. It settles when it has queued, so a free gate
 * has somebody who comes for it.
 *
 * Passed over. The designated waiter may be late for as long as anybody can think of: it is stopped, its group has used
 * up its share of the processors, it is in a handler of a signal. So a waiter that was told GATE_PASSED_OVER_NS ago is
 * passed over if others wait (csk_gate_pass_over): the order goes on without it until it comes, and then it has its
 * place again. It stays among the arrivals, and its passes are counted meanwhile. Two look for that:
 *
 *   who leaves      in the look above
 *   who waits       a parked thread after GATE_FIRST_LOOK_NS, and then at intervals that double (gate_watch.c). So
 *                   whoever waits behind a late one waits at most for as long again as it has waited already, and
 *                   for 125 ms
 *
 * A callback looks for nobody: behind a late thread it waits for the next departure, or for a thread that is parked.
 * A thread that was signalled at a condition variable looks after a second.
 *
 * Who comes above the designated one never waits for it, since the flag DESIGNATED is the next waiter's own
 * (gate_words.h). What is not passed over: a thread that was granted the gate holds it. So it is under STRICT, after a
 * hand-over, and at the bypass limit. */
#ifndef CSK_INTERNAL_GATE_ASIDE_H
#define CSK_INTERNAL_GATE_ASIDE_H

#include "lock/gate_queue.h"

/* How often a thread looks: at sections of 100 ns each 13 us or so. */
#ifndef GATE_DEPARTURES
#define GATE_DEPARTURES 64
#endif
/* The calling thread's departures from gates to which somebody was on the way, and the gate that it noted. */
extern __thread uint32_t csk_gate_departures __attribute__((tls_model("initial-exec")));
extern __thread const csk_gate_t *csk_gate_noted __attribute__((tls_model("initial-exec")));

/* For a leaver that holds the gate, while somebody is on the way to it. */
void csk_gate_look_for_late(csk_gate_t *gate);
static inline void csk_gate_count_departure(csk_gate_t *gate) {
    if (CSK_UNLIKELY(++csk_gate_departures % GATE_DEPARTURES == 0)) csk_gate_look_for_late(gate);
}

/* For a newcomer. Whether it noted this gate; csk_gate_take_note forgets that. */
static inline bool csk_gate_is_noted(const csk_gate_t *gate) { return CSK_UNLIKELY(csk_gate_noted == gate); }
static inline bool csk_gate_take_note(const csk_gate_t *gate) {
    bool noted = csk_gate_is_noted(gate);
    csk_gate_noted = NULL;
    return noted;
}
/* Called under the queue lock by a newcomer that noted the gate. Whether it queues without trying to enter. */
bool csk_gate_steps_aside(const csk_gate_t *gate, csk_rank_t rank);

#endif
