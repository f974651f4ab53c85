/* gate.c: threads come to the gate: they enter, spin, stand in its queue, try, and give up. gate_leave.c has how they
 * leave, gate_words.h the words and the argument. */
#include "csynckernel/gate.h"

#include "base/observe.h"
#include "lock/gate_queue.h"
#include "wait/trampoline.h"
#include "wait/watch.h"

/* About a tenth of what a park and a wake on an idle core cost. It is a time and not a number of pauses, since a pause
 * takes 5 to 140 cycles. */
static const int64_t spin_ns = 2400;

static uint64_t identity(void) {
    if (CSK_UNLIKELY(csk_thread_number == CSK_THREAD_UNNUMBERED)) csk_thread_number = csk_platform_new_thread_number();
    return csk_thread_number;
}

int csk_gate_init(csk_gate_t *gate, const csk_gate_attr_t *attr) {
    csk_gate_t fresh = CSK_GATE_INITIALIZER;
    if (attr != NULL) {
        if (attr->policy > CSK_GATE_STRICT) return EINVAL;
        fresh.policy = (uint8_t)attr->policy;
        fresh.bypass_limit = attr->bypass_limit;
        fresh.grace_us = attr->grace_us;
    }
    *gate = fresh;
    return 0;
}

int csk_gate_destroy(csk_gate_t *gate) {
    csk_gate_lock_queue(gate);
    uint64_t holder = csk_gate_holder(gate);
    bool closed_for_good = gate->closed && holder == CSK_GATE_NOBODY && gate->pending == NULL;
    bool busy = gate->waiting != 0 || csk_gate_has_lost_grants(gate) || (holder != 0 && !closed_for_good);
    csk_queue_unlock(&gate->queue_lock);
    return busy ? EBUSY : 0;
}

uint32_t csk_gate_waiting(csk_gate_t *gate) {
    csk_gate_lock_queue(gate);
    uint32_t waiting = gate->waiting;
    csk_queue_unlock(&gate->queue_lock);
    return waiting;
}

/* ---- Entering ---------------------------------------------------------------------------------------------------- */

enum attempt { ENTERED, HELD, QUEUE_FIRST };

/* Takes a free gate without the queue lock, unless somebody of higher rank waits. What it read of the queue may be
 * stale by the time that it enters: see FAST in gate.h. Under STRICT a gate with waiters is never free. */
static inline enum attempt barge(csk_gate_t *gate, csk_rank_t rank, uint64_t self) {
    uint64_t summary = csk_load(&gate->summary, CSK_ACQUIRE);
    /* The form is decided before anybody holds the gate: registering for membarrier takes long once threads contend. */
    if (summary & (GATE_CLOSED | GATE_HAND_OVER) || summary == 0) return QUEUE_FIRST;
    if ((summary & GATE_WAITERS) && (!csk_gate_is_rank(rank) || csk_gate_biased_rank(rank) < summary >> GATE_RANK_SHIFT))
        return QUEUE_FIRST;
    uint64_t found = csk_load(&gate->held, CSK_RELAXED);
    if ((found & ~HELD_FLAGS) != 0) return HELD;
    /* One-word form: somebody has queued since the summary was read, perhaps a waiter that nobody may pass. */
    if ((found & HELD_FLAGS) && !(summary & GATE_WAITERS)) return QUEUE_FIRST;
    return csk_cas(&gate->held, &found, self | (found & HELD_FLAGS), CSK_ACQUIRE) ? ENTERED : HELD;
}

static enum attempt spin_to_enter(csk_gate_t *gate, csk_rank_t rank, uint64_t self) {
    enum attempt attempt;
    int64_t end_ns = csk_platform_now() + spin_ns;
    do {
        for (int pauses = 0; pauses < 8; pauses++) {
            csk_platform_pause();
            if (csk_gate_holder(gate) != 0) continue;
            attempt = barge(gate, rank, self);
            if (attempt != HELD) return attempt;
        }
    } while (csk_platform_now() < end_ns);
    return HELD;
}

/* Called under the queue lock. Gives the gate to this newcomer if it may have it now; true if so. */
static bool enter_under_lock(csk_gate_t *gate, const csk_heap_node_t *newcomer, uint64_t holder) {
    if (!csk_gate_may_pass(gate, newcomer) || !csk_gate_take(gate, holder)) return false;
    csk_gate_count_pass(gate);
    return true;
}

static int trylock_as(csk_gate_t *gate, csk_rank_t rank, uint64_t self) {
    if (!csk_gate_is_rank(rank)) return EINVAL;
    csk_gate_prepare(gate);
    if (csk_gate_holder(gate) != 0 && !csk_gate_know_process(gate)) return EBUSY;
    csk_gate_effects_t effects = { 0 };
    csk_heap_node_t newcomer = { .rank = rank, .ticket = INT64_MAX };
    csk_gate_lock_queue(gate);
    int status = gate->closed ? ESHUTDOWN : enter_under_lock(gate, &newcomer, self) ? 0 : EBUSY;
    csk_gate_settle(gate, &effects);
    csk_queue_unlock(&gate->queue_lock);
    csk_gate_perform(&effects);
    return status;
}

int csk_gate_trylock_slow(csk_gate_t *gate, csk_rank_t rank) { return trylock_as(gate, rank, csk_self()); }
int csk_gate_trylock_recursive_slow(csk_gate_t *gate, csk_rank_t rank) { return trylock_as(gate, rank, identity()); }

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

/* The designated waiter watches the gate for a moment before it gives up. Meanwhile no leaver wakes another. */
static void watch_gate(csk_gate_t *gate, csk_gate_waiter_t *self) {
    int64_t end_ns = csk_platform_now() + spin_ns;
    do {
        for (int pauses = 0; pauses < 8; pauses++) {
            csk_platform_pause();
            if (csk_gate_holder(gate) == 0 || csk_load(&self->word, CSK_RELAXED) == WORD_GRANTED) return;
        }
    } while (csk_platform_now() < end_ns);
}

/* The waiter was told to try. Returns true when the gate is its. On false it must wait again; its word is back at
 * WAITING. */
static bool try_designated(csk_gate_t *gate, csk_gate_waiter_t *self) {
    for (int round = 0;; round++) {
        csk_gate_effects_t effects = { 0 };
        csk_gate_lock_queue(gate);
        bool entered = csk_waiter_state(self) == WAITER_GRANTED, next = !entered && csk_gate_next(gate) == self;
        if (next && csk_gate_take(gate, self->thread)) {
            csk_gate_grant_to(gate, self, &effects);
            entered = true;
        }
        bool give_up = !entered && (!next || round > 0);
        if (give_up) {
            gate->designated = 0;
            csk_store(&self->word, WORD_WAITING, CSK_RELAXED);
            if (next && csk_gate_has_lost_patience(self)) gate->hand_over = 1;
        }
        if (entered || give_up) csk_gate_settle(gate, &effects);
        csk_queue_unlock(&gate->queue_lock);
        csk_gate_perform_waiting(&effects);
        if (give_up) csk_gate_look_again_waiting(gate);
        if (entered || give_up) return entered;
        watch_gate(gate, self);
    }
}

/* The deadline has passed. Returns 0 when the grant was faster. */
static int leave_queue(csk_gate_t *gate, csk_gate_waiter_t *self) {
    csk_gate_effects_t effects = { 0 };
    csk_gate_lock_queue(gate);
    bool granted = csk_waiter_state(self) == WAITER_GRANTED, was_designated = false;
    if (!granted) {
        was_designated = csk_load(&self->word, CSK_RELAXED) == WORD_TRY;
        csk_gate_remove(gate, self);
        csk_gate_settle(gate, &effects);
    }
    csk_queue_unlock(&gate->queue_lock);
    csk_gate_perform(&effects);
    if (was_designated) csk_gate_look_again(gate);
    return granted ? 0 : ETIMEDOUT;
}

static int wait_in_queue(csk_gate_t *gate, csk_gate_waiter_t *self, int64_t deadline_ns) {
    if (gate->policy == CSK_GATE_STRICT) csk_watch_word(self);
    csk_watch_t watch = csk_begin_watch(self->since_ns);
    for (;;) {
        uint32_t word = WORD_WAITING;
        csk_cas(&self->word, &word, WORD_PARKED, CSK_ACQ_REL);
        int park = 0;
        while ((word = csk_load(&self->word, CSK_ACQUIRE)) == WORD_PARKED && park != ETIMEDOUT)
            park = csk_gate_park(gate, self, deadline_ns, &watch);
        if (word == WORD_GRANTED) {
            /* Once the queue lock is free, the granter has published the grant and has finished with the gate. */
            csk_gate_lock_queue(gate);
            csk_queue_unlock(&gate->queue_lock);
            return 0;
        }
        if (word == WORD_PARKED) return leave_queue(gate, self);
        if (try_designated(gate, self)) return 0;
        if (deadline_ns != CSK_NEVER && csk_platform_now() >= deadline_ns) return leave_queue(gate, self);
    }
}

/* Queues the calling thread and waits, or lets it in after all. */
static int enter_or_wait(csk_gate_t *gate, csk_rank_t rank, int64_t deadline_ns, uint64_t self) {
    /* It is filled field by field. The timers in it are for asynchronous waiters, and clearing them would cost more
     * than all else here. */
    csk_gate_waiter_t waiter;
    waiter.node.rank = rank;
    waiter.function = NULL;
    waiter.thread = self;
    waiter.word = WORD_WAITING;
    waiter.since_ns = csk_platform_now();
    csk_gate_effects_t effects = { 0 };
    csk_gate_lock_queue(gate);
    waiter.node.ticket = csk_gate_new_ticket(gate, rank);
    bool closed = gate->closed, entered = !closed && enter_under_lock(gate, &waiter.node, self);
    bool first = csk_gate_shows_nobody(gate);
    if (!closed && !entered) csk_gate_insert(gate, &waiter);
    csk_gate_settle(gate, &effects);
    csk_queue_unlock(&gate->queue_lock);
    csk_gate_perform_waiting(&effects);
    if (closed) return ESHUTDOWN;
    if (entered) return 0;
    if (first) csk_gate_look_again_waiting(gate);
    csk_observe_wait(CSK_EVENT_WAIT_BEGIN, gate, rank, 0, 0);
    int status = wait_in_queue(gate, &waiter, deadline_ns);
    csk_observe_wait(CSK_EVENT_WAIT_END, gate, rank, waiter.since_ns, status);
    return status;
}

static __attribute__((noinline)) int lock_contended(csk_gate_t *gate, csk_rank_t rank, int64_t deadline_ns, uint64_t self) {
    if (!csk_gate_is_rank(rank)) return EINVAL;
    csk_gate_prepare(gate);
    if (csk_gate_holder(gate) == self) return EDEADLK;
    if (csk_load(&gate->summary, CSK_ACQUIRE) & GATE_CLOSED) return ESHUTDOWN;
    if (deadline_ns != CSK_NEVER && deadline_ns <= csk_platform_now()) {
        int status = trylock_as(gate, rank, self);
        return status == EBUSY ? ETIMEDOUT : status;
    }
    if (spin_to_enter(gate, rank, self) == ENTERED) return 0;
    return enter_or_wait(gate, rank, deadline_ns, self);
}

/* While others are parked, every entry comes here, and most entries find a free gate. That path needs no stack. */
static inline int lock_as(csk_gate_t *gate, csk_rank_t rank, int64_t deadline_ns, uint64_t self) {
    if (CSK_LIKELY(barge(gate, rank, self) == ENTERED)) return 0;
    return lock_contended(gate, rank, deadline_ns, self);
}

int csk_gate_lock_slow(csk_gate_t *gate, csk_rank_t rank, int64_t deadline_ns) { return lock_as(gate, rank, deadline_ns, csk_self()); }

int csk_gate_lock_recursive_slow(csk_gate_t *gate, csk_rank_t rank, int64_t deadline_ns) {
    return lock_as(gate, rank, deadline_ns, identity());
}
