/* rwlock.c: threads at the read-write lock. See rwlock_queue.h for the word and the argument. */
#include "base/observe.h"
#include "readwrite/rwlock_queue.h"
#include "wait/announce.h"

/* As for the gate: about a tenth of what a park and a wake on an idle core cost. */
static const int64_t spin_ns = 2400;

int csk_rwlock_init(csk_rwlock_t *lock, const csk_rwlock_attr_t *attr) {
    csk_rwlock_t fresh = CSK_RWLOCK_INITIALIZER;
    if (attr != NULL) {
        if (attr->policy > CSK_RWLOCK_STRICT) return EINVAL;
        fresh.policy = (uint8_t)attr->policy;
        fresh.reader_bias = attr->reader_bias != 0;
        if (fresh.reader_bias) csk_reads_forget(lock);
    }
    /* What the caller read here was another lock: in a child of fork, one that its parent's other threads read too. */
    csk_read_t *read = csk_reads_find(lock);
    if (read != NULL) {
        csk_store(&read->lock, NULL, CSK_RELAXED);
        csk_reads_leave();
    }
    *lock = fresh;
    return 0;
}

int csk_rwlock_destroy(csk_rwlock_t *lock) {
    csk_rwlock_know_process(lock);
    bool marked = lock->reader_bias && (csk_reads_find(lock) != NULL || csk_reads_elsewhere(lock));
    return marked || csk_load(&lock->state, CSK_ACQUIRE) != 0 ? EBUSY : 0;
}

uint32_t csk_rwlock_waiting(csk_rwlock_t *lock) {
    csk_rwlock_lock_queue(lock);
    uint32_t waiting = lock->waiting;
    csk_queue_unlock(&lock->queue_lock);
    return waiting + (csk_rwlock_revokes(lock) ? 1 : 0);
}

bool csk_rwlock_is_reading(csk_rwlock_t *lock) { return csk_reads_find(lock) != NULL; }
bool csk_rwlock_is_writing(csk_rwlock_t *lock) { return csk_rwlock_held_by(lock, csk_self()); }

/* ---- Entering ----------------------------------------------------------------------------------------------------------- */

/* Enters by the word alone. */
static inline bool pass(csk_rwlock_t *lock, int mode, uint64_t self) {
    uint64_t found = csk_load(&lock->state, CSK_RELAXED), entered;
    do {
        /* An upgrading reader is before all who wait. */
        if (mode != RW_UPGRADE && !csk_rwlock_newcomers_enter(found)) return false;
        entered = csk_rwlock_entered(found & ~RW_FLAGS, mode, self);
        if (entered == 0) return false;
    } while (!csk_cas(&lock->state, &found, entered | (found & RW_FLAGS), CSK_ACQUIRE));
    return true;
}

static bool spin_to_pass(csk_rwlock_t *lock, int mode, uint64_t self) {
    int64_t end_ns = csk_platform_now() + spin_ns;
    do {
        for (int pauses = 0; pauses < 8; pauses++) {
            csk_platform_pause();
            if (pass(lock, mode, self)) return true;
        }
    } while (csk_platform_now() < end_ns);
    return false;
}

/* Whether the first waiter could enter, were it to look under the queue lock. */
static void watch_lock(csk_rwlock_t *lock, csk_gate_waiter_t *self) {
    int64_t end_ns = csk_platform_now() + spin_ns;
    do {
        for (int pauses = 0; pauses < 8; pauses++) {
            csk_platform_pause();
            uint64_t holders = csk_load(&lock->state, CSK_RELAXED) & ~RW_FLAGS;
            if (csk_rwlock_entered(holders, self->mode, self->thread) != 0 || csk_load(&self->word, CSK_RELAXED) != WORD_TRY) return;
        }
    } while (csk_platform_now() < end_ns);
}

/* By a thread that stands in the queue, or may: it must not end in a waiter's function. */
static void perform_waiting(csk_rwlock_effects_t *effects) {
    if (CSK_LIKELY(effects->gate.ready == NULL)) {
        csk_rwlock_perform(effects);
        return;
    }
    int before = csk_platform_keep_thread();
    csk_rwlock_perform(effects);
    csk_platform_let_thread_go(before);
}

/* The waiter was told to try, with the flag COMING for it, until the end of which nobody else lets it in: whether it has entered. */
static bool try_designated(csk_rwlock_t *lock, csk_gate_waiter_t *self) {
    for (bool again = false;; again = true) {
        csk_rwlock_effects_t effects = { 0 };
        csk_rwlock_lock_queue(lock);
        lock->coming = 0;
        csk_rwlock_settle(lock, RELEASE_NOTHING, &effects);
        bool wait = csk_waiter_state(self) == WAITER_QUEUED;
        bool watch = wait && !again && lock->first == self;
        if (watch) {
            /* Somebody has passed it, and nobody will again. */
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

/* Whoever let it in has done with the lock, and with the waiter, once the word says so. */
static void await_granted(csk_gate_waiter_t *self) {
    uint32_t word;
    while ((word = csk_load(&self->word, CSK_ACQUIRE)) != WORD_GRANTED) {
        if (word == WORD_PARKED) csk_wait_park(&self->word, WORD_PARKED, CSK_NEVER);
        else csk_cas(&self->word, &word, WORD_PARKED, CSK_ACQ_REL);
    }
}

/* The deadline passed: 0 when the grant was faster. */
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
    /* Field by field: the timers in it are for asynchronous waiters. */
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

/* A deadline that has passed, and that no clock shows: what the try functions wait until. */
static const int64_t TRY = INT64_MIN;

static __attribute__((noinline)) int enter_contended(csk_rwlock_t *lock, int mode, int64_t deadline_ns, uint64_t self) {
    if (mode != RW_UPGRADE && csk_rwlock_held_by(lock, self)) return EDEADLK;
    if (csk_rwlock_know_process(lock) && pass(lock, mode, self)) return 0;
    if (deadline_ns == TRY) return EBUSY;
    if (deadline_ns != CSK_NEVER && deadline_ns <= csk_platform_now()) return pass(lock, mode, self) ? 0 : ETIMEDOUT;
    if (lock->policy != CSK_RWLOCK_STRICT && spin_to_pass(lock, mode, self)) return 0;
    return queue_and_wait(lock, mode, deadline_ns, self);
}

static inline int enter(csk_rwlock_t *lock, int mode, int64_t deadline_ns) {
    uint64_t self = csk_self();
    return CSK_LIKELY(pass(lock, mode, self)) ? 0 : enter_contended(lock, mode, deadline_ns, self);
}

/* What was timed for a try function. */
static int as_tried(int status, int64_t deadline_ns) { return status == ETIMEDOUT && deadline_ns == TRY ? EBUSY : status; }

/* Notes that the calling thread, which is counted in the word, reads; without memory for that it leaves again. */
static int note_read(csk_rwlock_t *lock) {
    csk_read_t *read = csk_reads_free();
    if (CSK_UNLIKELY(read == NULL)) {
        csk_rwlock_leave(lock, RELEASE_READ);
        return ENOMEM;
    }
    read->levels = 1;
    read->biased = 0;
    csk_store(&read->lock, lock, CSK_RELAXED);
    if (lock->reader_bias) csk_rwlock_count_read(lock);
    return 0;
}

static __attribute__((noinline)) int read_lock_slow(csk_rwlock_t *lock, int64_t deadline_ns) {
    csk_read_t *read = csk_reads_find(lock);
    if (read != NULL) {
        if (read->levels == UINT32_MAX) return EAGAIN;
        read->levels++;
        return 0;
    }
    if (csk_load(&lock->bias, CSK_RELAXED) == BIAS_ON) {
        read = csk_reads_free();
        if (read == NULL) return ENOMEM;
        if (csk_rwlock_enter_biased(lock, read)) return 0;
        csk_reads_leave();
    }
    int status = enter(lock, RW_READ, deadline_ns);
    return status == 0 ? note_read(lock) : status;
}

/* Inline: a thread that has a record and reads nothing, at a lock at which nobody waits. `used` is compared with and set to constants, which
 * the processor predicts, where counting would make each call wait for the store of the call before. */
static inline int read_lock(csk_rwlock_t *lock, int64_t deadline_ns) {
    csk_reads_t *record = csk_my_reads;
    if (CSK_UNLIKELY(record == NULL) || CSK_UNLIKELY(record->used != 0) || CSK_UNLIKELY(record->more != NULL))
        return read_lock_slow(lock, deadline_ns);
    csk_read_t *read = &record->reads[0];
    if (csk_load(&lock->bias, CSK_RELAXED) == BIAS_ON) {
        record->used = 1;
        if (CSK_LIKELY(csk_rwlock_enter_biased(lock, read))) return 0;
        record->used = 0;
        return read_lock_slow(lock, deadline_ns);
    }
    uint64_t found = csk_load(&lock->state, CSK_RELAXED);
    if (CSK_UNLIKELY(found & (RW_WRITER | RW_FLAGS)) || lock->reader_bias ||
        CSK_UNLIKELY(!csk_cas(&lock->state, &found, found + RW_READER, CSK_ACQUIRE)))
        return read_lock_slow(lock, deadline_ns);
    record->used = 1;
    read->levels = 1;
    read->biased = 0;
    csk_store(&read->lock, lock, CSK_RELAXED);
    return 0;
}

/* In a child of fork a writer of the parent's that has yet to wait for readers is put out before one of the child's comes: the two look alike. */
static inline void put_out_parents_writer(csk_rwlock_t *lock) {
    if (csk_load(&lock->bias, CSK_RELAXED) != BIAS_OFF) csk_rwlock_await_process(lock);
}

static __attribute__((noinline)) int write_lock_biased(csk_rwlock_t *lock, int64_t deadline_ns) {
    put_out_parents_writer(lock);
    int status = enter(lock, RW_WRITE, deadline_ns);
    if (status != 0) return status;
    status = csk_rwlock_revoke(lock, deadline_ns);
    if (status != 0) csk_rwlock_leave(lock, RELEASE_WRITE);
    return as_tried(status, deadline_ns);
}

static inline int write_lock(csk_rwlock_t *lock, int64_t deadline_ns) {
    if (CSK_UNLIKELY(csk_reads_find(lock) != NULL)) return EDEADLK;
    return CSK_UNLIKELY(lock->reader_bias) ? write_lock_biased(lock, deadline_ns) : enter(lock, RW_WRITE, deadline_ns);
}

int csk_rwlock_timedrdlock(csk_rwlock_t *lock, int64_t deadline_ns) { return read_lock(lock, deadline_ns > TRY ? deadline_ns : TRY + 1); }
int csk_rwlock_timedwrlock(csk_rwlock_t *lock, int64_t deadline_ns) { return write_lock(lock, deadline_ns > TRY ? deadline_ns : TRY + 1); }
int csk_rwlock_rdlock(csk_rwlock_t *lock) { return read_lock(lock, CSK_NEVER); }
int csk_rwlock_wrlock(csk_rwlock_t *lock) { return write_lock(lock, CSK_NEVER); }
int csk_rwlock_tryrdlock(csk_rwlock_t *lock) { return read_lock(lock, TRY); }
int csk_rwlock_trywrlock(csk_rwlock_t *lock) { return write_lock(lock, TRY); }

/* ---- Leaving ------------------------------------------------------------------------------------------------------------ */

/* Tells the first waiter to come, or gives it the lock together with what the caller holds: true then. */
static bool call_first(csk_rwlock_t *lock, enum csk_rwlock_release release, bool last, uint32_t **wake) {
    csk_rwlock_effects_t effects = { 0 };
    csk_rwlock_lock_queue(lock);
    const csk_gate_waiter_t *first = lock->first;
    bool designate = last && first != NULL && first->function == NULL && first->mode != RW_UPGRADE && !lock->hand_over &&
                     lock->policy != CSK_RWLOCK_STRICT;
    bool settle = first != NULL && !designate;
    if (settle) {
        csk_rwlock_settle(lock, release, &effects);
    } else if (designate && !lock->coming) {
        lock->coming = 1;
        /* Readers that kept passing would keep the processors, and a writer waiting for one. */
        lock->hand_over = first->mode == RW_WRITE;
        if (csk_exchange(&lock->first->word, WORD_TRY, CSK_ACQ_REL) == WORD_PARKED) *wake = &lock->first->word;
        csk_rwlock_settle(lock, RELEASE_NOTHING, &effects);
    }
    csk_queue_unlock(&lock->queue_lock);
    if (settle && *wake != NULL) csk_platform_wake(*wake, 1);
    csk_rwlock_perform(&effects);
    return settle;
}

void csk_rwlock_leave(csk_rwlock_t *lock, enum csk_rwlock_release release) {
    uint32_t *wake = NULL;
    uint64_t found = csk_load(&lock->state, CSK_RELAXED);
    for (;;) {
        uint64_t rest = release == RELEASE_READ ? (found & ~RW_FLAGS) - RW_READER : release == RELEASE_WRITE ? 0 : RW_READER;
        bool somebody = false;
        if (CSK_UNLIKELY(found & RW_WAITERS)) {
            if (rest == 0) somebody = !(found & RW_COMING);
            /* Perhaps an upgrading reader, which the last of the others lets in; or readers, which a writer takes along. */
            else somebody = release != RELEASE_READ || (rest == RW_READER && (found & RW_HAND_OVER));
        }
        if (!somebody) {
            if (csk_cas(&lock->state, &found, rest | (found & RW_FLAGS), CSK_RELEASE)) break;
            continue;
        }
        if (call_first(lock, release, rest == 0, &wake)) return;
        found = csk_load(&lock->state, CSK_RELAXED);
    }
    if (wake != NULL) csk_platform_wake(wake, 1);
}

/* The first step of csk_rwlock_leave where nobody waits; the word that it compares says so. */
static inline void leave(csk_rwlock_t *lock, enum csk_rwlock_release release) {
    uint64_t found = csk_load(&lock->state, CSK_RELAXED);
    uint64_t rest = release == RELEASE_READ ? found - RW_READER : 0;
    if (CSK_UNLIKELY(found & RW_FLAGS) || CSK_UNLIKELY(!csk_cas(&lock->state, &found, rest, CSK_RELEASE))) csk_rwlock_leave(lock, release);
}

static __attribute__((noinline)) int unlock_read_slow(csk_rwlock_t *lock) {
    csk_read_t *read = csk_reads_find(lock);
    if (read == NULL) return EPERM;
    if (--read->levels != 0) return 0;
    if (read->biased) {
        csk_rwlock_leave_biased(lock, read);
        csk_reads_leave();
        return 0;
    }
    csk_store(&read->lock, NULL, CSK_RELAXED);
    csk_reads_leave();
    csk_rwlock_leave(lock, RELEASE_READ);
    return 0;
}

/* Inline: the only lock that the thread reads, once. */
int csk_rwlock_unlock(csk_rwlock_t *lock) {
    csk_reads_t *record = csk_my_reads;
    if (CSK_LIKELY(record != NULL) && record->used == 1 && csk_load(&record->reads[0].lock, CSK_RELAXED) == lock) {
        csk_read_t *read = &record->reads[0];
        if (CSK_UNLIKELY(read->levels != 1)) {
            read->levels--;
            return 0;
        }
        record->used = 0;
        if (read->biased) {
            csk_rwlock_leave_biased(lock, read);
            return 0;
        }
        csk_store(&read->lock, NULL, CSK_RELAXED);
        leave(lock, RELEASE_READ);
        return 0;
    }
    uint64_t holder = csk_load(&lock->state, CSK_RELAXED) & ~RW_FLAGS;
    if (holder != (csk_self() | RW_WRITER) && holder != (CSK_GATE_NOBODY | RW_WRITER)) return unlock_read_slow(lock);
    leave(lock, RELEASE_WRITE);
    return 0;
}

/* ---- Changing sides ------------------------------------------------------------------------------------------------------ */

int csk_rwlock_downgrade(csk_rwlock_t *lock) {
    if (!csk_rwlock_is_writing(lock)) return EPERM;
    csk_read_t *read = csk_reads_free();
    if (read == NULL) return ENOMEM;
    read->levels = 1;
    read->biased = 0;
    csk_store(&read->lock, lock, CSK_RELAXED);
    csk_rwlock_leave(lock, RELEASE_WRITE_KEEP_READ);
    return 0;
}

/* From its mark into the word. False: a writer is in the word, and waits for this reader. */
static bool count_in_word(csk_rwlock_t *lock, csk_read_t *read) {
    uint64_t found = csk_load(&lock->state, CSK_RELAXED);
    do {
        if (found & RW_WRITER) return false;
    } while (!csk_cas(&lock->state, &found, found + RW_READER, CSK_ACQUIRE));
    read->biased = 0;
    return true;
}

static int upgrade(csk_rwlock_t *lock, int64_t deadline_ns) {
    csk_read_t *read = csk_reads_find(lock);
    if (read == NULL) return EPERM;
    if (read->levels != 1) return EDEADLK;
    if (lock->reader_bias) put_out_parents_writer(lock);
    if (read->biased && !count_in_word(lock, read)) return deadline_ns == TRY ? EBUSY : EDEADLK;
    int status = enter(lock, RW_UPGRADE, deadline_ns);
    if (status != 0) return status;
    if (lock->reader_bias) {
        status = csk_rwlock_revoke(lock, deadline_ns);
        if (status != 0) {
            csk_rwlock_leave(lock, RELEASE_WRITE_KEEP_READ);
            return as_tried(status, deadline_ns);
        }
    }
    csk_store(&read->lock, NULL, CSK_RELAXED);
    csk_reads_leave();
    return 0;
}

int csk_rwlock_timedupgrade(csk_rwlock_t *lock, int64_t deadline_ns) { return upgrade(lock, deadline_ns > TRY ? deadline_ns : TRY + 1); }
int csk_rwlock_tryupgrade(csk_rwlock_t *lock) { return upgrade(lock, TRY); }
