/* gate.c: threads come to the gate. gate_leave.c has how they leave, gate_words.h the words and the argument.
 *
 * A thread takes these steps, each where the one before did not let it in:
 *
 *   csk_gate_enter_fast    inline (gate.h): one compare-and-swap, at a gate in two words without waiters
 *   take_without_queue     the same at each gate, past waiters that it may overtake
 *   lock_slowly            refuses what it must, and reports to the checker of lock order
 *   spin_to_take           takes the gate without its queue if it becomes free within a moment
 *   queue_and_wait         takes it under the queue lock if it may by now; otherwise stands in the queue
 *   csk_waiter_wait        (waiter.c) parks until it is granted the gate, or designated to try (try_to_enter)
 *
 * Which waiter is next: csk_gate_next. Which waiter a leaver wakes, or grants the gate: csk_gate_call_for. Both are in
 * gate_order. */
#include "csynckernel/gate.h"

#include "base/ordering.h"
#include "base/sizes.h"
#include "lock/gate_aside.h"
#include "lock/gate_await.h"
#include "lock/gate_queue.h"
#include "thread/name.h"
#include "wait/spin_park.h"
#include "wait/watch.h"

static uint64_t identity(void) {
    if (CSK_UNLIKELY(csk_thread_number == CSK_THREAD_UNNUMBERED)) csk_thread_number = csk_platform_new_thread_number();
    return csk_thread_number;
}

int csk_gate_init(csk_gate_t *gate, const csk_gate_attr_t *attr) {
    csk_gate_t fresh = CSK_GATE_INITIALIZER;
    if (attr != NULL) {
        if (!CSK_KNOWS_SIZE_OF(attr) || attr->policy > CSK_GATE_STRICT || attr->grace_us > INT32_MAX) return EINVAL;
        fresh.policy = (uint8_t)attr->policy;
        fresh.bypass_limit = attr->bypass_limit;
        fresh.grace_and_place = attr->grace_us << 1;
    }
    *gate = fresh;
    return 0;
}

int csk_gate_destroy(csk_gate_t *gate) {
    csk_gate_lock_queue(gate);
    uint64_t holder = csk_gate_holder(gate);
    bool closed_for_good = gate->closed && holder == CSK_GATE_NOBODY && csk_gate_pending(gate) == NULL;
    bool busy = gate->waiting != 0 || csk_gate_conditions(gate) != NULL || csk_gate_has_lost_grants(gate) ||
                (holder != 0 && !closed_for_good);
    csk_queue_unlock(&gate->queue_lock);
    if (!busy) csk_name_end(gate);
    return busy ? EBUSY : 0;
}

uint32_t csk_gate_waiting(csk_gate_t *gate) {
    csk_gate_lock_queue(gate);
    uint32_t waiting = gate->waiting + csk_gate_conditions_waiting(gate);
    csk_queue_unlock(&gate->queue_lock);
    return waiting;
}

/* ---- Entering ---------------------------------------------------------------------------------------------------- */

enum attempt { ENTERED, HELD, QUEUE_FIRST };

/* Takes a free gate without the queue lock, unless a waiter of higher rank is there. What it read of the queue may be
 * stale by the time that it enters: see FAST in gate.h. Under STRICT a gate with waiters is never free. */
static inline __attribute__((always_inline)) enum attempt take_without_queue(csk_gate_t *gate, csk_rank_t rank,
                                                                             uint64_t self) {
    uint64_t summary = csk_load(&gate->summary, CSK_RELAXED);
    /* The form is decided before any thread holds the gate: registering for membarrier takes long once threads
     * contend. */
    if (summary & (GATE_CLOSED | GATE_HAND_OVER) || summary == 0) return QUEUE_FIRST;
    if (summary & GATE_WAITERS) {
        uint64_t next = summary >> GATE_RANK_SHIFT;
        if (!csk_is_rank_or_unnamed(rank) || csk_gate_biased_rank(csk_rank_in_order(rank)) < next) return QUEUE_FIRST;
    }
    uint64_t found = csk_load(&gate->held, CSK_RELAXED);
    if ((found & ~HELD_FLAGS) != 0) return HELD;
    /* One-word form: a waiter has queued since the summary was read, perhaps one that must not be overtaken. */
    if ((found & HELD_FLAGS) && !(summary & GATE_WAITERS)) return QUEUE_FIRST;
    return csk_cas(&gate->held, &found, self | (found & HELD_FLAGS), CSK_ACQUIRE) ? ENTERED : HELD;
}

/* How often a newcomer looks whether the gate is free.
 *
 * Each look takes the gate's line from the holder, which has to fetch it back before its next entry: 50 to 100 ns each.
 * Where sections last longer, a look after each pause lets the newcomer in soonest. Where they are shorter, two threads
 * that look all the time spend their time on the line alone. If one of them stays away for half a microsecond, the
 * other enters a hundred times meanwhile.
 *
 * A thread knows from itself which of the two it is: it took the gate by a look, and lost it again within
 * GATE_BRIEF_NS. From then on it stays away GATE_AWAY_NS before each look, until it has taken that gate by a look
 * GATE_BRIEF_ENTRIES times. Then it learns anew. The moment at which it took the gate is the one at which it read the
 * clock last: one more look at the clock inside the section would cost others a twentieth. What is learned decides how
 * often the thread looks, and nothing else. It spins no longer because of it.
 *
 * Measured on two processors, millions of entries a second, sections empty: 2, 4 and 8 threads 38, 51 and 72 without,
 * and 119, 124 and 118 with it. Sections of 50 to 200 ns do not differ. Limits of 120 and of 160 ns miss half of the
 * gain. Times away of 300 ns gain a tenth less, and 700 or 1000 ns no more. */
enum { GATE_AWAY_NS = 500, GATE_BRIEF_ENTRIES = 128 };
#ifndef GATE_BRIEF_NS /* in the explorer a look takes longer */
enum { GATE_BRIEF_NS = 250 };
#endif
static __thread struct {
    const csk_gate_t *gate; /* that it took by a look last: compared, and never followed */
    int64_t taken_ns;
    uint32_t away; /* so many more entries it stays away before a look */
} brief __attribute__((tls_model("initial-exec")));

/* Returns how long this thread stays away from the gate before each look. */
static int64_t away_ns(const csk_gate_t *gate, int64_t now_ns) {
    if (brief.gate != gate) return 0;
    if (brief.away == 0 && now_ns - brief.taken_ns < GATE_BRIEF_NS) brief.away = GATE_BRIEF_ENTRIES;
    return brief.away != 0 ? GATE_AWAY_NS : 0;
}

static void took_by_look(const csk_gate_t *gate, int64_t now_ns) {
    brief.away = brief.gate == gate && brief.away != 0 ? brief.away - 1 : 0;
    brief.gate = gate;
    brief.taken_ns = now_ns;
}

/* A thread that finds the gate free, as the first entry does here, has not waited: `since_ns` stays 0. */
static enum attempt spin_to_take(csk_gate_t *gate, csk_rank_t rank, uint64_t self, int64_t *since_ns) {
    csk_spin_t spin = csk_spin_begin(CSK_SPIN_NS);
    int64_t came_ns = csk_tell_came(spin.now_ns), away = away_ns(gate, spin.now_ns);
    while (away != 0 ? csk_spin_away(&spin, away) : csk_spin(&spin)) {
        enum attempt attempt = csk_gate_holder(gate) != 0 ? HELD : take_without_queue(gate, rank, self);
        if (attempt == ENTERED) took_by_look(gate, spin.now_ns);
        if (attempt != HELD) return attempt;
        *since_ns = came_ns;
    }
    return HELD;
}

/* Called under the queue lock. Gives the gate to this newcomer if it may have it now; true if so. */
static bool take_under_lock(csk_gate_t *gate, const csk_heap_node_t *newcomer, uint64_t holder) {
    if (!csk_gate_may_pass(gate, newcomer) || !csk_gate_take(gate, holder)) return false;
    csk_gate_count_pass(gate);
    return true;
}

static int try_under_lock(csk_gate_t *gate, csk_rank_t rank, uint64_t self) {
    if (!csk_is_rank_or_unnamed(rank)) return EINVAL;
    csk_gate_prepare(gate);
    if (csk_gate_holder(gate) != 0 && !csk_gate_know_process(gate)) return EBUSY;
    csk_effects_t effects = { 0 };
    csk_heap_node_t newcomer = { .rank = csk_rank_in_order(rank), .ticket = INT64_MAX };
    csk_gate_lock_queue(gate);
    int status = gate->closed ? ESHUTDOWN : take_under_lock(gate, &newcomer, self) ? 0 : EBUSY;
    csk_gate_settle(gate, &effects);
    csk_gate_finish(gate, false, &effects);
    return status;
}

static int trylock_as(csk_gate_t *gate, csk_rank_t rank, uint64_t self) {
    int status = try_under_lock(gate, rank, self);
    if (status == 0 && csk_gate_is_ordered(gate)) csk_current_ordering()->entered(gate, CSK_OBJECT_GATE);
    return status;
}

int csk_gate_trylock_slow(csk_gate_t *gate, csk_rank_t rank) { return trylock_as(gate, rank, csk_self()); }
int csk_gate_trylock_recursive_slow(csk_gate_t *gate, csk_rank_t rank) { return trylock_as(gate, rank, identity()); }

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

/* The designated waiter spins for a moment before it gives up. Meanwhile no leaver wakes another. */
static void spin_for_gate(void *object, csk_waiter_t *self) {
    csk_gate_t *gate = object;
    csk_spin_t spin = csk_spin_begin(CSK_SPIN_NS);
    while (csk_spin(&spin))
        if (csk_gate_holder(gate) == 0 || csk_load(&self->word, CSK_RELAXED) == WORD_GRANTED) return;
}

static enum csk_try try_to_enter(void *object, csk_waiter_t *self, bool again, csk_effects_t *effects) {
    csk_gate_t *gate = object;
    bool entered = csk_waiter_state(self) == WAITER_GRANTED, back = !entered && csk_gate_come_back(gate, self);
    bool next = !entered && csk_gate_next(gate) == self;
    if (next && csk_gate_take(gate, self->thread)) {
        csk_gate_grant_to(gate, self, effects);
        entered = true;
    }
    if (!entered && next && !again) {
        if (back) csk_gate_publish(gate); /* it is on its way, and looks again when it gives up */
        return TRY_WATCHES;
    }
    if (!entered) {
        csk_store(&self->word, WORD_WAITING, CSK_RELAXED);
        if (next && csk_gate_has_lost_patience(self)) gate->hand_over = 1;
    }
    csk_gate_settle(gate, effects);
    return entered ? TRY_ENTERED : TRY_GAVE_UP;
}

static int park(void *object, csk_waiter_t *self, int64_t deadline_ns, csk_watch_t *watch) {
    return csk_gate_park(object, self, deadline_ns, watch);
}

/* Once the queue lock is free, the granter has published the grant and has finished with the gate. A thread whose
 * deadline has passed as well comes here out of the queue lock, where it saw the grant: it need not, but the waiter of
 * the read-write lock must, and both leave by the same function (leave_queue in waiter.c). */
static void await_granter(void *object, csk_waiter_t *self) {
    csk_gate_t *gate = object;
    (void)self;
    csk_gate_lock_queue(gate);
    csk_queue_unlock(&gate->queue_lock);
}

const csk_wait_kind_t csk_gate_wait_kind = { &csk_gate_queue_kind, try_to_enter,      spin_for_gate, park,
                                             await_granter,        GATE_FIRST_LOOK_NS };

/* Queues the calling thread and waits, or lets it in after all; not if it has marked the gate, and steps aside. */
static int queue_and_wait(csk_gate_t *gate, csk_rank_t rank, int64_t deadline_ns, uint64_t self, bool marked,
                          int64_t since_ns) {
    csk_waiter_t waiter;
    csk_waiter_for_thread(&waiter, rank, self);
    csk_waiter_came(&waiter, since_ns);
    csk_effects_t effects = { 0 };
    csk_gate_lock_queue(gate);
    waiter.node.ticket = csk_waiter_ticket(&gate->next_ticket, rank);
    bool closed = gate->closed, aside = marked && csk_gate_steps_aside(gate, waiter.node.rank);
    bool entered = !closed && !aside && take_under_lock(gate, &waiter.node, self);
    if (!closed && !entered) csk_gate_insert(gate, &waiter);
    bool first = csk_gate_settle(gate, &effects);
    csk_gate_finish_waiting(gate, first && !closed && !entered, &effects);
    if (closed) return ESHUTDOWN;
    if (entered) csk_tell_entered(gate, CSK_OBJECT_GATE, waiter.node.rank, since_ns, false);
    if (entered) return 0;
    return csk_waiter_wait(&csk_gate_wait_kind, gate, &waiter, deadline_ns, gate->policy == CSK_GATE_STRICT);
}

/* A thread that marked the gate does not spin; unless it has a deadline, which may pass before the other has come. */
static inline int spin_or_queue(csk_gate_t *gate, csk_rank_t rank, int64_t deadline_ns, uint64_t self) {
    bool marked = csk_gate_take_mark(gate) && deadline_ns == CSK_NEVER;
    int64_t since_ns = 0;
    if (!marked && spin_to_take(gate, rank, self, &since_ns) == ENTERED) {
        csk_tell_entered(gate, CSK_OBJECT_GATE, csk_rank_in_order(rank), since_ns, true);
        return 0;
    }
    return queue_and_wait(gate, rank, deadline_ns, self, marked, since_ns);
}

/* A thread whose deadline has passed only tries, and does not wait. */
static __attribute__((noinline)) int lock_slowly(csk_gate_t *gate, csk_rank_t rank, int64_t deadline_ns,
                                                 uint64_t self) {
    if (!csk_is_rank_or_unnamed(rank)) return EINVAL;
    csk_gate_prepare(gate);
    if (csk_gate_holder(gate) == self) return EDEADLK;
    if (csk_load(&gate->summary, CSK_ACQUIRE) & GATE_CLOSED) return ESHUTDOWN;
    if (deadline_ns != CSK_NEVER && deadline_ns <= csk_platform_now()) {
        int status = trylock_as(gate, rank, self);
        return status == EBUSY ? ETIMEDOUT : status;
    }
    bool ordered = csk_gate_is_ordered(gate);
    if (ordered) csk_current_ordering()->comes(gate, CSK_OBJECT_GATE);
    else csk_ordering_misses(gate, CSK_OBJECT_GATE);
    int status = spin_or_queue(gate, rank, deadline_ns, self);
    if (status == 0 && ordered) csk_current_ordering()->entered(gate, CSK_OBJECT_GATE);
    return status;
}

/* While others are parked, every entry comes here, and most entries find a free gate. That path needs no stack. */
static inline int lock_as(csk_gate_t *gate, csk_rank_t rank, int64_t deadline_ns, uint64_t self) {
    if (!csk_gate_is_marked(gate) && CSK_LIKELY(take_without_queue(gate, rank, self) == ENTERED)) return 0;
    return lock_slowly(gate, rank, deadline_ns, self);
}

int csk_gate_lock_slow(csk_gate_t *gate, csk_rank_t rank, int64_t deadline_ns) {
    return lock_as(gate, rank, deadline_ns, csk_self());
}

int csk_gate_lock_recursive_slow(csk_gate_t *gate, csk_rank_t rank, int64_t deadline_ns) {
    return lock_as(gate, rank, deadline_ns, identity());
}
