/* gate_words.h: the gate's two words, what may change each bit, and why no waiter is left asleep. Read it first.
 *
 * held (64 bits)      0 = free, else its holder
 *   bits 4..63  the holder's thread pointer; with bit 63 its number    set by CAS from 0 by an entry; set to
 *               (recursive gates, mutexes); or CSK_GATE_NOBODY         another holder, or to 0, only by the holder, or
 *                                                                      on its behalf (lost grants)
 *   bit 3       ENDED: that thread has ended without leaving           set by CAS under the queue lock; for good
 *   bits 0..2   one-word form only: WAITERS, DESIGNATED, HAND_OVER     changed under the queue lock, by CAS
 *
 * summary (64 bits)   what a newcomer or a leaver must know about the queue; written only under the queue lock
 *   bit 0  READY        two-word form; the value 1 alone says "no waiters, all is inline"
 *   bit 1  WAITERS      the queue is not empty
 *   bit 2  DESIGNATED   the next in order was designated, and has not given up: wake no other
 *   bit 3  HAND_OVER    newcomers must not take the gate without the queue lock, and a leaver must grant it to the next
 *                       waiter; without WAITERS: the gate is ordered
 *   bit 4  ONE_WORD     bits 0..2 of `held` repeat bits 1..3; leaving is a CAS that fails when they change
 *   bit 5  CLOSED       newcomers are refused
 *   bit 6  LOOKS        a leaver looks first: there are waits for predicates (gate_await.h), or the gate is ordered
 *   bit 7               unused
 *   8..63  RANK         of the next waiter, plus 2^40, so that it is not negative; the maximum where no newcomer may
 *                       pass without the queue lock
 * A `summary` of zero means that the form is undecided. The first call that comes to the slow path decides the form for
 * this gate's life.
 *
 * The queue lock protects everything else in csk_gate_t and in a queued waiter, except `depth`, which is the holder's.
 *
 * looks (8 bits)      why a leaver looks first; changed under the queue lock
 *   bit 0  CONDITIONS   there are waits for predicates; changed by holders, which read it without the lock, but that
 *                       csk_gate_unwatch may clear it
 *   bit 1  ORDERED      the checker of lock order hears of each entry and departure; decided with the form, for good
 *
 * An ordered gate. The checker had been started before the form was decided. No thread may enter such a gate without
 * the queue lock, and each leaver looks. So it always shows LOOKS, and the maximum for RANK, which keeps newcomers out
 * where there are waiters; and HAND_OVER where there are none. All inline paths, and each newcomer's first try, end at
 * these anyway. Whether a leaver calls a waiter hangs on WAITERS as at any gate, and so does what follows below.
 *
 * WAITERS, DESIGNATED and HAND_OVER can be read in three places, each for another reader:
 *
 *   the next waiter,    the truth, for the owner of the queue lock (csk_gate_flags). DESIGNATED is what the next
 *   gate->hand_over     waiter's own word says: TRY. `hand_over` is the request of a waiter that was passed for long;
 *                       the flag HAND_OVER is what follows from it, from the policy and from the next waiter
 *   summary             for newcomers, which must read flags and rank at once; and in the two-word form for leavers,
 *                       whose plain store to `held` would overwrite flags there
 *   held                one-word form: for leavers, whose compare-and-swap must fail when a flag changes
 * `publish` in gate_queue.c copies the first into the others, for csk_gate_settle and csk_gate_publish. Nothing else
 * writes a flag into a word.
 *
 * Why no waiter is left asleep: the two-word form
 *
 * 1. A waiter W publishes WAITERS, and checks whether the gate is free.
 * 2. A leaver L frees the gate, and checks for waiters.
 * 3. If both executed a fence in between, one of them would see the other. The one that sees the other settles: under
 *    the queue lock, a free gate with waiters means that one of them is designated or granted.
 * 4. L has no fence between its store and its look. The first waiter of an episode therefore executes membarrier
 *    between its publication and a second look. (An episode lasts as long as the summary says WAITERS.) Either L's look
 *    came after the membarrier, and saw WAITERS. Or L's store came before the membarrier, and W sees the gate free.
 *    There is no third case: a compiler fence keeps L's look behind its store in the program, so a look that came
 *    before the membarrier has its store before it too.
 * 5. A later waiter of the same episode needs no membarrier: L sees the first. Unless L counts on a designated one: see
 *    the next step.
 * 6. While the next in order is designated, L calls no waiter. So a thread that ends that executes membarrier, and
 *    looks again: the designated waiter when it gives up without having entered; a waiter that comes above it; a waiter
 *    that passes it over because it is late (gate_aside.h). csk_gate_settle reports it to the last two.
 * Tests/Model/gate_fast.pml models this step by step, and gate_timeout.pml what comes above a designated waiter or
 * passes it over. They fail when any of the barriers or looks is removed.
 *
 * Why no waiter is left asleep: the one-word form
 *
 * The flags stand in the word that the leaver's CAS compares, so the leaver can't miss them. It designates before it
 * frees. Freeing is its last access to the gate, which may then be destroyed. If a waiter comes above the one that it
 * designated, it designates that one too, and wakes the first at once: that one's word still says TRY, and once the
 * other has gone, all others rely on it.
 *
 * Both forms
 *
 * - No waiter need come for a held gate: its holder checks when it leaves. So a thread that changes the queue and has
 *   the gate, or gives it to another holder in the same step, only publishes (csk_gate_publish), and owes no second
 *   look. All others settle (csk_gate_settle).
 * - A thread that was granted the gate under the queue lock passes through that lock before it returns. By then the
 *   granter has finished with the gate, and has published. Otherwise the thread could leave by a summary that still
 *   says that this thread itself is on its way, and call no waiter.
 * - A designated waiter enters only while it is the next in order, which it checks under the queue lock. Otherwise it
 *   gives up, and settles. No waiter of higher rank relies on it, since the flag is the next waiter's own.
 * - A designated waiter that has no processor is passed over (gate_aside.h): it leaves the heap, is counted among the
 *   lost grants, and comes back into its place when it comes for the gate.
 * - Others write a waiter's word only under the queue lock, for the last time in the step that takes it out of the
 *   queue. Waking uses its address only. */
#ifndef CSK_INTERNAL_GATE_WORDS_H
#define CSK_INTERNAL_GATE_WORDS_H

#include "csynckernel/gate.h"
#include "wait/queue_lock.h"

#define GATE_READY CSK_GATE_READY
#define GATE_WAITERS UINT64_C(2)
#define GATE_DESIGNATED UINT64_C(4)
#define GATE_HAND_OVER UINT64_C(8)
#define GATE_ONE_WORD UINT64_C(16)
#define GATE_CLOSED UINT64_C(32)
#define GATE_LOOKS UINT64_C(64)
#define GATE_RANK_SHIFT 8
#define GATE_RANK_MAX ((UINT64_C(1) << 56) - 1)

#define HELD_FLAGS UINT64_C(7)
/* WAITERS, DESIGNATED and HAND_OVER stand in `held` so many bits lower than in `summary`. */
#define HELD_FLAGS_SHIFT 1
enum { LOOKS_CONDITIONS = 1, LOOKS_ORDERED = 2 }; /* csk_gate_t.looks */
/* Makes the holder a thread that can't exist, so that no later thread at the same address passes for it. */
#define HELD_ENDED UINT64_C(8)

/* The closing waiter's rank: that of a priority below all that csk_rank can give. */
#define GATE_RANK_CLOSER (csk_rank(INT32_MIN, CSK_PLACE_BACK) - 4)

static inline uint64_t csk_gate_biased_rank(csk_rank_t rank) { return (uint64_t)(rank + (INT64_C(1) << 40)); }
static inline bool csk_gate_is_one_word(const csk_gate_t *gate) {
    return (csk_load(&gate->summary, CSK_RELAXED) & GATE_ONE_WORD) != 0;
}
/* Called by a thread that knows the form, or under the queue lock. */
static inline bool csk_gate_is_ordered(const csk_gate_t *gate) {
    return CSK_UNLIKELY((csk_load(&gate->looks, CSK_RELAXED) & LOOKS_ORDERED) != 0);
}
static inline uint64_t csk_gate_holder(const csk_gate_t *gate) {
    return csk_load(&gate->held, CSK_ACQUIRE) & ~HELD_FLAGS;
}

/* The waiter whose grant is to be adopted. Called under the queue lock. The accesses are atomic all the same: a child
 * of fork reads what another thread has just stored. The releases that `held` is written with, and the one that ends a
 * grant, keep the two words in order there. */
static inline csk_waiter_t *csk_gate_pending(const csk_gate_t *gate) { return csk_load(&gate->pending, CSK_RELAXED); }
static inline void csk_gate_name_pending(csk_gate_t *gate, csk_waiter_t *waiter) {
    csk_store(&gate->pending, waiter, CSK_RELAXED);
}

/* Takes the gate if it is free; keeps the flags. Called under the queue lock. */
bool csk_gate_take(csk_gate_t *gate, uint64_t holder);
/* Gives a held gate to another holder; keeps the flags. Called under the queue lock, by the holder or on its behalf. */
void csk_gate_transfer(csk_gate_t *gate, uint64_t holder);
/* Writes what csk_gate_publish has found, into `summary` and in the one-word form into `held`. */
void csk_gate_write_words(csk_gate_t *gate, uint64_t form_and_flags, uint64_t rank);

/* Called under the queue lock. csk_gate_has_lost_grants reads the count without it. */
static inline void csk_gate_count_lost(csk_gate_t *gate, int change) {
    csk_store(&gate->lost_grants, csk_load(&gate->lost_grants, CSK_RELAXED) + (uint32_t)change, CSK_RELAXED);
}

#endif
