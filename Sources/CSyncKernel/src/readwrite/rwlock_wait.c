/* rwlock_wait.c: threads that must wait for the read-write lock. They spin, stand in its queue, try, and give up. */
#include "readwrite/rwlock_wait.h"

#include "base/ordering.h"
#include "wait/spin_park.h"
#include "wait/yield.h"

/* A look takes the word's cache line away from threads that change it. So there are many pauses between two looks. */
enum { LOOK_PAUSES = 16 };

/* Under FAST a writer stands in the queue soon, since readers pass it until then. There it spins once more, as the
 * designated waiter. A reader has a moment more, and does not yield: a thread that is inside without a processor, or
 * stands in the queue, has this one's sooner when this thread parks. Under STRICT each place in the queue costs a
 * hand-over, so threads stay away from it for longer. */
#define FAST_WRITER_SPIN_NS INT64_C(400)
#define FAST_READER_SPIN_NS INT64_C(1000)

static int64_t spin_span_ns(bool is_fast, int mode) {
    if (!is_fast || mode == RW_UPGRADE) return CSK_SPIN_NS;
    return mode == RW_WRITE ? FAST_WRITER_SPIN_NS : FAST_READER_SPIN_NS;
}

/* Whether the first waiter, which nobody passes, waits for readers: perhaps for one that has lost its processor. */
static bool readers_hold_up_a_writer(const csk_rwlock_t *lock) {
    return (csk_load(&lock->state, CSK_RELAXED) & (RW_HAND_OVER | RW_WRITER)) == RW_HAND_OVER;
}

/* A yield may take a time slice, so threads with a deadline don't yield. */
static bool spin_to_pass(csk_rwlock_t *lock, int mode, int64_t deadline_ns, uint64_t self, int64_t *since_ns) {
    bool is_fast = lock->policy != CSK_RWLOCK_STRICT;
    int64_t span_ns = spin_span_ns(is_fast, mode);
    csk_spin_t spin = csk_spin_begin(span_ns);
    *since_ns = csk_tell_came(spin.end_ns - span_ns);
    do {
        csk_spin_pause(LOOK_PAUSES);
        if (csk_rwlock_pass(lock, mode, self)) return true;
        if (is_fast && mode == RW_READ && readers_hold_up_a_writer(lock)) return false;
    } while (csk_spin_lasts(&spin));
    /* Readers would pass a writer that yields without standing in the queue. */
    if (is_fast || mode != RW_READ || deadline_ns != CSK_NEVER) return false;
    csk_yields_t yields = csk_yields_begin();
    while (csk_yield(&yields))
        if (csk_rwlock_pass(lock, mode, self)) return true;
    return false;
}

/* Whether the first waiter could enter if it looked under the queue lock, or its word has changed. */
static bool may_try_again(csk_rwlock_t *lock, csk_waiter_t *self) {
    uint64_t holders = csk_load(&lock->state, CSK_RELAXED) & ~RW_FLAGS;
    return csk_rwlock_entered(holders, self->mode, self->thread) != 0 || csk_load(&self->word, CSK_RELAXED) != WORD_TRY;
}

/* It does not yield: a writer that has given up its time slice is late the next times that it wakes. */
static void watch(void *object, csk_waiter_t *self) {
    csk_spin_t spin = csk_spin_begin(FAST_WRITER_SPIN_NS);
    while (csk_spin(&spin))
        if (may_try_again(object, self)) return;
}

/* As long as its word is TRY no other thread lets the waiter in. */
static enum csk_try try_to_enter(void *object, csk_waiter_t *self, bool again, csk_effects_t *effects) {
    csk_rwlock_t *lock = object;
    csk_store(&self->word, WORD_WAITING, CSK_RELAXED);
    self->hand_over = RW_HANDED_OVER; /* if it can't enter, another has overtaken it, and none will again */
    csk_rwlock_settle(lock, RELEASE_NOTHING, effects);
    if (csk_waiter_state(self) != WAITER_QUEUED) return TRY_ENTERED;
    if (again || lock->first != self) return TRY_GAVE_UP;
    csk_store(&self->word, WORD_TRY, CSK_RELAXED);
    csk_rwlock_settle(lock, RELEASE_NOTHING, effects);
    return TRY_WATCHES;
}

static int park(void *object, csk_waiter_t *self, int64_t deadline_ns, csk_watch_t *watch) {
    return csk_rwlock_park(object, self, &self->word, WORD_PARKED, deadline_ns, watch);
}

static void await_granter(void *object, csk_waiter_t *self) {
    (void)object;
    csk_waiter_await_granter(self);
}

static const csk_wait_kind_t kind = { &csk_rwlock_queue_kind, try_to_enter,      watch, park,
                                      await_granter,          CSK_WATCH_ENDED_NS };

/* Called under the queue lock for a thread that comes to write under FAST. Where readers are inside it stands before a
 * reader that was called, which has no processor yet. Otherwise nobody passes the first waiter from now on, if that was
 * called: readers that kept passing would hold up the writer behind it. (One that is called later, with a writer behind
 * it, may be passed.) A writer that stands first, and waits for readers alone, is designated: it needs no wake when the
 * last one leaves soon. */
static void put_writer_in(csk_rwlock_t *lock, csk_waiter_t *writer) {
    csk_waiter_t *called = lock->coming ? csk_rwlock_behind_upgrade(lock->first) : NULL;
    bool among_readers = !(csk_load(&lock->state, CSK_RELAXED) & RW_WRITER);
    bool passes = among_readers && called != NULL && called == lock->first && called->mode == RW_READ &&
                  called->hand_over == RW_MAY_BE_PASSED;
    if (called != NULL && !passes && called->hand_over != RW_LATE) called->hand_over = RW_HANDED_OVER;
    csk_rwlock_put_in(lock, writer, passes);
    if (lock->first != writer || !among_readers) return;
    writer->told_ns = writer->since_ns;
    csk_store(&writer->word, WORD_TRY, CSK_RELAXED);
}

static int queue_and_wait(csk_rwlock_t *lock, int mode, int64_t deadline_ns, uint64_t self, int64_t since_ns) {
    csk_waiter_t waiter;
    csk_waiter_for_thread(&waiter, 0, self);
    waiter.node.ticket = 0;
    csk_waiter_came(&waiter, since_ns);
    waiter.mode = (uint8_t)mode;
    waiter.hand_over = RW_MAY_BE_PASSED;
    waiter.followers = 0;
    csk_effects_t effects = { 0 };
    csk_rwlock_lock_queue(lock);
    if (mode == RW_UPGRADE && lock->first != NULL && lock->first->mode == RW_UPGRADE) {
        csk_queue_unlock(&lock->queue_lock);
        return EDEADLK;
    }
    if (mode == RW_WRITE && lock->policy != CSK_RWLOCK_STRICT) put_writer_in(lock, &waiter);
    else csk_rwlock_put_in(lock, &waiter, mode == RW_UPGRADE);
    csk_rwlock_pass_over(lock, waiter.since_ns); /* for asynchronous waiters, which can't look themselves */
    csk_rwlock_settle(lock, RELEASE_NOTHING, &effects);
    bool waits = csk_waiter_state(&waiter) == WAITER_QUEUED;
    if (mode != RW_READ) csk_rwlock_stop_bias(lock); /* readers with the bias would pass it */
    csk_queue_unlock(&lock->queue_lock);
    csk_effects_perform_waiting(&effects);
    if (!waits) {
        csk_tell_entered(lock, CSK_OBJECT_RWLOCK, 0, since_ns, false);
        return 0;
    }
    if (lock->policy == CSK_RWLOCK_STRICT) csk_watch_word_awake(&waiter, deadline_ns);
    return csk_waiter_wait(&kind, lock, &waiter, deadline_ns, false);
}

/* Keeps thread_number.c in programs that link nothing else of it: by its variable's alignment the low four bits of
 * thread pointers are zero, which are flags in the word. */
static inline void keep_alignment(void) { __asm__ volatile("" : : "r"(&csk_thread_number)); }

int csk_rwlock_enter_contended(csk_rwlock_t *lock, int mode, int64_t deadline_ns, uint64_t self) {
    keep_alignment();
    if (mode != RW_UPGRADE && (csk_rwlock_held_by(lock, self) || csk_rwlock_reads_alone(lock, self))) return EDEADLK;
    if (csk_rwlock_know_process(lock) && csk_rwlock_pass(lock, mode, self)) return 0;
    if (deadline_ns == RW_TRY) return EBUSY;
#ifndef CSK_LOCK_ORDER
    csk_ordering_misses(lock, CSK_OBJECT_RWLOCK);
#endif
    if (deadline_ns != CSK_NEVER && deadline_ns <= csk_platform_now())
        return csk_rwlock_pass(lock, mode, self) ? 0 : ETIMEDOUT;
    int64_t since_ns;
    if (spin_to_pass(lock, mode, deadline_ns, self, &since_ns)) {
        csk_tell_entered(lock, CSK_OBJECT_RWLOCK, 0, since_ns, false);
        return 0;
    }
    return queue_and_wait(lock, mode, deadline_ns, self, since_ns);
}
