/* rwlock_wait.c: threads that must wait for the read-write lock. They spin, stand in its queue, try, and give up. */
#include "readwrite/rwlock_wait.h"

#include "base/observe.h"
#include "wait/announce.h"
#include "wait/spin_park.h"

static bool spin_to_pass(csk_rwlock_t *lock, int mode, uint64_t self) {
    csk_spin_t spin = csk_spin_begin(CSK_SPIN_NS);
    while (csk_spin(&spin))
        if (csk_rwlock_pass(lock, mode, self)) return true;
    return false;
}

/* Spins until the first waiter could enter if it looked under the queue lock, or its word has changed, or the time is
 * over. */
static void watch_lock(csk_rwlock_t *lock, csk_gate_waiter_t *self) {
    csk_spin_t spin = csk_spin_begin(CSK_SPIN_NS);
    while (csk_spin(&spin)) {
        uint64_t holders = csk_load(&lock->state, CSK_RELAXED) & ~RW_FLAGS;
        if (csk_rwlock_entered(holders, self->mode, self->thread) != 0 || csk_load(&self->word, CSK_RELAXED) != WORD_TRY) return;
    }
}

/* Called by a thread that stands in the queue, or may stand there. That thread must not end in a waiter's function. */
static void perform_waiting(csk_rwlock_effects_t *effects) {
    if (CSK_LIKELY(effects->gate.ready == NULL)) {
        csk_rwlock_perform(effects);
        return;
    }
    int before = csk_platform_keep_thread();
    csk_rwlock_perform(effects);
    csk_platform_let_thread_go(before);
}

/* The waiter was told to try, and the flag COMING is set for it. Until the flag ends nobody else lets the waiter in.
 * Returns whether it has entered. */
static bool try_designated(csk_rwlock_t *lock, csk_gate_waiter_t *self) {
    for (bool again = false;; again = true) {
        csk_rwlock_effects_t effects = { 0 };
        csk_rwlock_lock_queue(lock);
        lock->coming = 0;
        csk_rwlock_settle(lock, RELEASE_NOTHING, &effects);
        bool wait = csk_waiter_state(self) == WAITER_QUEUED;
        bool watch = wait && !again && lock->first == self;
        if (watch) {
            /* Somebody has passed this waiter, and nobody will again. */
            lock->coming = lock->hand_over = 1;
            csk_rwlock_settle(lock, RELEASE_NOTHING, &effects);
        } else if (wait) {
            csk_store(&self->word, WORD_WAITING, CSK_RELAXED);
        }
        csk_queue_unlock(&lock->queue_lock);
        perform_waiting(&effects);
        if (!watch) return !wait;
        watch_lock(lock, self);
    }
}

/* The thread that let it in has done with the lock, and with the waiter, once the word says GRANTED. */
static void await_granted(csk_gate_waiter_t *self) {
    uint32_t word;
    while ((word = csk_load(&self->word, CSK_ACQUIRE)) != WORD_GRANTED) {
        if (word == WORD_PARKED) csk_wait_park(&self->word, WORD_PARKED, CSK_NEVER);
        else csk_cas(&self->word, &word, WORD_PARKED, CSK_ACQ_REL);
    }
}

/* The deadline has passed. Returns 0 when the grant was faster, ETIMEDOUT otherwise. */
static int leave_queue(csk_rwlock_t *lock, csk_gate_waiter_t *self) {
    csk_rwlock_effects_t effects = { 0 };
    csk_rwlock_lock_queue(lock);
    bool granted = csk_waiter_state(self) == WAITER_GRANTED;
    if (!granted) {
        csk_rwlock_remove(lock, self);
        csk_rwlock_settle(lock, RELEASE_NOTHING, &effects);
    }
    csk_queue_unlock(&lock->queue_lock);
    csk_rwlock_perform(&effects);
    if (granted) await_granted(self);
    return granted ? 0 : ETIMEDOUT;
}

static int wait_in_queue(csk_rwlock_t *lock, csk_gate_waiter_t *self, int64_t deadline_ns) {
    if (lock->policy == CSK_RWLOCK_STRICT) csk_watch_word(self);
    csk_watch_t watch = csk_begin_watch(self->since_ns);
    bool reported = false;
    for (;;) {
        uint32_t word = WORD_WAITING;
        csk_cas(&self->word, &word, WORD_PARKED, CSK_ACQ_REL);
        int park = 0;
        while ((word = csk_load(&self->word, CSK_ACQUIRE)) == WORD_PARKED && park != ETIMEDOUT)
            park = csk_rwlock_park(lock, self, &self->word, WORD_PARKED, deadline_ns, &watch, &reported);
        if (word == WORD_GRANTED) return 0;
        if (word == WORD_PARKED) return leave_queue(lock, self);
        if (try_designated(lock, self)) return 0;
        if (deadline_ns != CSK_NEVER && csk_platform_now() >= deadline_ns) return leave_queue(lock, self);
    }
}

static int queue_and_wait(csk_rwlock_t *lock, int mode, int64_t deadline_ns, uint64_t self) {
    /* The fields are set one by one: the timers in it are for asynchronous waiters. */
    csk_gate_waiter_t waiter;
    waiter.mode = (uint8_t)mode;
    waiter.function = NULL;
    waiter.bypassed = 0;
    waiter.thread = self;
    waiter.word = WORD_WAITING;
    waiter.since_ns = csk_platform_now();
    csk_rwlock_effects_t effects = { 0 };
    csk_rwlock_lock_queue(lock);
    if (mode != RW_UPGRADE) {
        csk_rwlock_append(lock, &waiter);
    } else if (lock->first == NULL || lock->first->mode != RW_UPGRADE) {
        csk_rwlock_prepend(lock, &waiter);
    } else {
        csk_queue_unlock(&lock->queue_lock);
        return EDEADLK;
    }
    csk_rwlock_settle(lock, RELEASE_NOTHING, &effects);
    bool waits = csk_waiter_state(&waiter) == WAITER_QUEUED;
    csk_queue_unlock(&lock->queue_lock);
    perform_waiting(&effects);
    if (!waits) return 0;
    csk_observe_wait(CSK_EVENT_WAIT_BEGIN, lock, 0, 0, 0);
    int status = wait_in_queue(lock, &waiter, deadline_ns);
    csk_observe_wait(CSK_EVENT_WAIT_END, lock, 0, waiter.since_ns, status);
    return status;
}

int csk_rwlock_enter_contended(csk_rwlock_t *lock, int mode, int64_t deadline_ns, uint64_t self) {
    if (mode != RW_UPGRADE && csk_rwlock_held_by(lock, self)) return EDEADLK;
    if (csk_rwlock_know_process(lock) && csk_rwlock_pass(lock, mode, self)) return 0;
    if (deadline_ns == RW_TRY) return EBUSY;
    if (deadline_ns != CSK_NEVER && deadline_ns <= csk_platform_now()) return csk_rwlock_pass(lock, mode, self) ? 0 : ETIMEDOUT;
    if (lock->policy != CSK_RWLOCK_STRICT && spin_to_pass(lock, mode, self)) return 0;
    return queue_and_wait(lock, mode, deadline_ns, self);
}
