/* rwlock.c: threads enter and leave the read-write lock. rwlock_wait.c has the threads that must wait. See
 * rwlock_queue.h for the word and the argument. */
#include "base/ordering.h"
#include "base/sizes.h"
#include "readwrite/rwlock_wait.h"
#include "thread/name.h"
#include "wait/spin_park.h"

int csk_rwlock_init(csk_rwlock_t *lock, const csk_rwlock_attr_t *attr) {
    csk_rwlock_t fresh = CSK_RWLOCK_INITIALIZER;
    if (attr != NULL) {
        if (!CSK_KNOWS_SIZE_OF(attr) || attr->policy > CSK_RWLOCK_STRICT) return EINVAL;
        fresh.policy = (uint8_t)attr->policy;
        fresh.reader_bias = attr->reader_bias != 0;
        if (fresh.reader_bias) csk_reads_forget(lock);
    }
    /* If the caller's record names a lock here, that was another lock. In a child of fork it is one that the parent's
     * other threads read too. */
    csk_read_t *read = csk_reads_find(lock);
    if (read != NULL) csk_reads_end(read);
    *lock = fresh;
#ifdef CSK_LOCK_ORDER
    if (csk_current_ordering() != NULL) csk_current_ordering()->begins(lock);
#endif
    return 0;
}

int csk_rwlock_destroy(csk_rwlock_t *lock) {
    /* A waiter that has given up may not have left the queue lock yet. */
    csk_rwlock_await_queue(lock);
    bool marked = lock->reader_bias && (csk_reads_find(lock) != NULL || csk_reads_elsewhere(lock));
    if (marked || csk_load(&lock->state, CSK_ACQUIRE) != 0) return EBUSY;
    csk_name_end(lock);
    return 0;
}

uint32_t csk_rwlock_waiting(csk_rwlock_t *lock) {
    csk_rwlock_lock_queue(lock);
    uint32_t waiting = lock->waiting;
    csk_queue_unlock(&lock->queue_lock);
    return waiting + (csk_rwlock_revokes(lock) ? 1 : 0);
}

bool csk_rwlock_is_reading(csk_rwlock_t *lock) {
    return csk_reads_find(lock) != NULL || csk_rwlock_reads_alone(lock, csk_self());
}
bool csk_rwlock_is_writing(csk_rwlock_t *lock) { return csk_rwlock_held_by(lock, csk_self()); }

/* ---- Entering ---------------------------------------------------------------------------------------------------- */

/* Only libraries that are built for it report to the lock-order checker: the word has no room for a flag, and the paths
 * are to cost nothing for it in others. There the inline paths of readers are kept out too (reads.c). */
#ifdef CSK_LOCK_ORDER
static inline int in_order(int (*enters)(csk_rwlock_t *, int64_t), csk_rwlock_t *lock, int64_t deadline_ns) {
    const csk_ordering_t *ordering = csk_current_ordering();
    if (ordering == NULL || csk_rwlock_is_inside(lock)) return enters(lock, deadline_ns);
    if (deadline_ns != RW_TRY) ordering->comes(lock, CSK_OBJECT_RWLOCK);
    int status = enters(lock, deadline_ns);
    if (status == 0) ordering->entered(lock, CSK_OBJECT_RWLOCK);
    return status;
}
#define IN_ORDER(enters, lock, deadline_ns) in_order(enters, lock, deadline_ns)
#else
#define IN_ORDER(enters, lock, deadline_ns) enters(lock, deadline_ns)
#endif

static inline int enter(csk_rwlock_t *lock, int mode, int64_t deadline_ns) {
    uint64_t self = csk_self();
    return CSK_LIKELY(csk_rwlock_pass(lock, mode, self)) ? 0
                                                         : csk_rwlock_enter_contended(lock, mode, deadline_ns, self);
}

static inline int64_t not_a_try(int64_t deadline_ns) { return deadline_ns > RW_TRY ? deadline_ns : RW_TRY + 1; }

/* The status of a try function whose call was made with the deadline RW_TRY. */
static int as_tried(int status, int64_t deadline_ns) {
    return status == ETIMEDOUT && deadline_ns == RW_TRY ? EBUSY : status;
}

/* Records that the calling thread, which is counted in the word, reads. Returns false where it gets no record. */
static bool note_read(csk_rwlock_t *lock) {
    csk_read_t *read = csk_reads_free();
    if (CSK_UNLIKELY(read == NULL)) return false;
    csk_reads_begin(read, lock);
    if (lock->reader_bias) csk_rwlock_count_read(lock);
    return true;
}

/* In a child of fork, a writer of the parent's that has yet to wait for readers is taken out before a writer of the
 * child's comes: the two look alike. */
static inline void put_out_parents_writer(csk_rwlock_t *lock) {
    if (csk_load(&lock->bias, CSK_RELAXED) != BIAS_OFF) csk_rwlock_await_queue(lock);
}

static __attribute__((noinline)) int enter_alone_biased(csk_rwlock_t *lock, int64_t deadline_ns) {
    put_out_parents_writer(lock);
    int status = enter(lock, RW_WRITE, deadline_ns);
    if (status != 0) return status;
    status = csk_rwlock_revoke(lock, deadline_ns);
    if (status != 0) csk_rwlock_leave(lock, RELEASE_WRITE);
    return as_tried(status, deadline_ns);
}

/* As a writer, or as a reader without a record. */
static inline int enter_alone(csk_rwlock_t *lock, int64_t deadline_ns) {
    return CSK_UNLIKELY(lock->reader_bias) ? enter_alone_biased(lock, deadline_ns) : enter(lock, RW_WRITE, deadline_ns);
}

/* The calling thread is the writer, and goes on as a reader without a record. */
static void begin_alone(csk_rwlock_t *lock) {
    csk_store(&lock->levels_alone, 1u, CSK_RELAXED);
    csk_fetch_or(&lock->state, RW_ALONE, CSK_RELAXED);
}

static __attribute__((noinline)) int read_alone(csk_rwlock_t *lock, int64_t deadline_ns) {
    int status = enter_alone(lock, deadline_ns);
    if (status == 0) begin_alone(lock);
    return status;
}

/* The number of levels becomes the number of reads until the bias comes back: many, as after a slow revocation. */
static void end_alone(csk_rwlock_t *lock) { csk_store(&lock->reads_until_bias, BIAS_PAUSE_MOST, CSK_RELAXED); }

static int read_alone_once_more(csk_rwlock_t *lock) {
    uint32_t levels = csk_load(&lock->levels_alone, CSK_RELAXED);
    if (levels == UINT32_MAX) return EAGAIN;
    csk_store(&lock->levels_alone, levels + 1, CSK_RELAXED);
    return 0;
}

static void leave_alone(csk_rwlock_t *lock) {
    uint32_t levels = csk_load(&lock->levels_alone, CSK_RELAXED);
    if (levels != 1) {
        csk_store(&lock->levels_alone, levels - 1, CSK_RELAXED);
        return;
    }
    end_alone(lock);
    csk_rwlock_leave(lock, RELEASE_WRITE);
}

/* Whether the inline entry could have succeeded: then another thread has changed the word at the same time. A reader
 * that stays away for half a microsecond leaves the word's line to that thread for several rounds, and has it as long
 * in its turn. */
enum { AWAY_PAUSES = 16 };
static inline bool has_lost_to_a_reader(const csk_rwlock_t *lock) {
    const csk_reads_t *record = csk_my_reads;
    return record != NULL && record->used == 0 && record->more == NULL && !lock->reader_bias &&
           !(csk_load(&lock->state, CSK_RELAXED) & CSK_RWLOCK_TAKEN);
}

static __attribute__((noinline)) int read_lock_slow(csk_rwlock_t *lock, int64_t deadline_ns) {
    csk_read_t *read = csk_reads_find(lock);
    if (read != NULL) {
        if (read->levels == UINT32_MAX) return EAGAIN;
        read->levels++;
        return 0;
    }
    if (has_lost_to_a_reader(lock)) csk_spin_pause(AWAY_PAUSES);
    if (csk_load(&lock->bias, CSK_RELAXED) == BIAS_ON) {
        read = csk_reads_free();
        if (CSK_UNLIKELY(read == NULL)) return read_alone(lock, deadline_ns);
        if (csk_rwlock_enter_biased(lock, read)) return 0;
        csk_reads_leave();
    }
    int status = enter(lock, RW_READ, deadline_ns);
    if (CSK_UNLIKELY(status == EDEADLK) && csk_rwlock_reads_alone(lock, csk_self())) return read_alone_once_more(lock);
    if (status != 0 || CSK_LIKELY(note_read(lock))) return status;
    csk_rwlock_leave(lock, RELEASE_READ);
    return read_alone(lock, deadline_ns);
}

static inline int read_lock(csk_rwlock_t *lock, int64_t deadline_ns) {
    return CSK_LIKELY(csk_rwlock_enter_read(lock)) ? 0 : read_lock_slow(lock, deadline_ns);
}
#define read_lock(lock, deadline_ns) IN_ORDER(read_lock, lock, deadline_ns)

static __attribute__((noinline)) int write_lock_slow(csk_rwlock_t *lock, int64_t deadline_ns) {
    return csk_reads_find(lock) != NULL ? EDEADLK : enter_alone(lock, deadline_ns);
}

/* The inline path is for a thread that reads nothing, at a lock without bias. It compares with the word of a lock at
 * which nobody is, since a load before the locked instruction would take a third of its time. */
static inline int write_lock(csk_rwlock_t *lock, int64_t deadline_ns) {
    const csk_reads_t *record = csk_my_reads;
    uint64_t found = 0;
    if ((CSK_UNLIKELY(record == NULL) || (CSK_LIKELY(record->used == 0) && CSK_LIKELY(record->more == NULL))) &&
        CSK_LIKELY(!lock->reader_bias) &&
        CSK_LIKELY(csk_cas(&lock->state, &found, csk_self() | RW_WRITER, CSK_ACQUIRE)))
        return 0;
    return write_lock_slow(lock, deadline_ns);
}
#define write_lock(lock, deadline_ns) IN_ORDER(write_lock, lock, deadline_ns)

int csk_rwlock_timedrdlock(csk_rwlock_t *lock, int64_t deadline_ns) { return read_lock(lock, not_a_try(deadline_ns)); }
int csk_rwlock_timedwrlock(csk_rwlock_t *lock, int64_t deadline_ns) { return write_lock(lock, not_a_try(deadline_ns)); }
int csk_rwlock_rdlock(csk_rwlock_t *lock) { return read_lock(lock, CSK_NEVER); }
int csk_rwlock_wrlock(csk_rwlock_t *lock) { return write_lock(lock, CSK_NEVER); }
int csk_rwlock_tryrdlock(csk_rwlock_t *lock) { return read_lock(lock, RW_TRY); }
int csk_rwlock_trywrlock(csk_rwlock_t *lock) { return write_lock(lock, RW_TRY); }

/* ---- Leaving ----------------------------------------------------------------------------------------------------- */

/* Gives back what the caller holds, and in the same step calls the first waiter, or lets it in. */
static void leave_to_waiters(csk_rwlock_t *lock, enum csk_rwlock_release release) {
    csk_effects_t effects = { 0 };
    csk_rwlock_lock_queue(lock);
    csk_rwlock_settle(lock, release, &effects);
    csk_queue_unlock(&lock->queue_lock);
    if (release == RELEASE_WRITE_KEEP_READ) csk_effects_perform_waiting(&effects);
    else csk_effects_perform(&effects);
}

void csk_rwlock_leave(csk_rwlock_t *lock, enum csk_rwlock_release release) {
    uint64_t found = csk_load(&lock->state, CSK_RELAXED), rest;
    do {
        rest = csk_rwlock_after_release(found & ~RW_FLAGS, release);
        bool somebody = false;
        if (CSK_UNLIKELY(found & RW_WAITERS)) {
            if (rest == 0) somebody = !(found & RW_COMING);
            /* Perhaps an upgrading reader waits, which the last of the other readers lets in. Or readers wait, which a
             * writer that becomes a reader takes along. */
            else somebody = release != RELEASE_READ || (rest == RW_READER && (found & RW_HAND_OVER));
        }
        if (somebody) {
            leave_to_waiters(lock, release);
            return;
        }
    } while (!csk_cas(&lock->state, &found, rest | (found & RW_FLAGS), CSK_RELEASE));
}

/* The first step of csk_rwlock_leave, for a lock without waiters. The word that it compares says so. */
static inline void leave(csk_rwlock_t *lock, enum csk_rwlock_release release) {
    uint64_t found = csk_load(&lock->state, CSK_RELAXED);
    uint64_t rest = release == RELEASE_READ ? found - RW_READER : 0;
    if (CSK_UNLIKELY(found & RW_FLAGS) || CSK_UNLIKELY(!csk_cas(&lock->state, &found, rest, CSK_RELEASE)))
        csk_rwlock_leave(lock, release);
}

void csk_rwlock_leave_read_slow(csk_rwlock_t *lock) { csk_rwlock_leave(lock, RELEASE_READ); }

static __attribute__((noinline)) int unlock_read_slow(csk_rwlock_t *lock) {
    csk_read_t *read = csk_reads_find(lock);
    if (read == NULL) return EPERM;
    if (--read->levels != 0) return 0;
    if (read->biased) {
        csk_rwlock_leave_biased(lock, read);
        csk_reads_leave();
        return 0;
    }
    csk_reads_end(read);
    csk_rwlock_leave(lock, RELEASE_READ);
    return 0;
}

/* A reader may have no record. Or a biased lock that the thread reads may be granted to a section already, which is not
 * adopted yet, and which waits for this reader. */
static __attribute__((noinline)) int unlock_as_reader_or_nobody(csk_rwlock_t *lock) {
    int status = unlock_read_slow(lock);
    if (status != EPERM) return status;
    if (csk_rwlock_reads_alone(lock, csk_self())) {
        leave_alone(lock);
        return 0;
    }
    if (!csk_rwlock_take_from_nobody(lock)) return EPERM;
    leave(lock, RELEASE_WRITE);
    return 0;
}

/* The inline path is for the only lock that the thread reads, and reads once. */
static inline int unlock(csk_rwlock_t *lock) {
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
    uint64_t writer = csk_self() | RW_WRITER, found = writer;
    if (CSK_LIKELY(csk_cas(&lock->state, &found, UINT64_C(0), CSK_RELEASE))) return 0;
    if ((found & ~RW_FLAGS) != writer) return unlock_as_reader_or_nobody(lock);
    csk_rwlock_leave(lock, RELEASE_WRITE);
    return 0;
}

#ifdef CSK_LOCK_ORDER
int csk_rwlock_unlock(csk_rwlock_t *lock) {
    bool stays = csk_rwlock_reads_alone(lock, csk_self()) && csk_load(&lock->levels_alone, CSK_RELAXED) != 1;
    int status = unlock(lock);
    /* Only its address is used: the lock may be gone. */
    if (status == 0 && !stays && csk_current_ordering() != NULL && csk_reads_find(lock) == NULL)
        csk_current_ordering()->leaves(lock);
    return status;
}
#else
int csk_rwlock_unlock(csk_rwlock_t *lock) { return unlock(lock); }
#endif

/* ---- Changing sides ---------------------------------------------------------------------------------------------- */

int csk_rwlock_downgrade(csk_rwlock_t *lock) {
    if (!csk_rwlock_is_writing(lock)) return EPERM;
    csk_read_t *read = csk_reads_free();
    if (read == NULL) {
        begin_alone(lock);
        return 0;
    }
    csk_reads_begin(read, lock);
    csk_rwlock_leave(lock, RELEASE_WRITE_KEEP_READ);
    return 0;
}

/* Counts a biased reader in the word, instead of its mark. Returns false when a writer is in the word: it waits for
 * this reader. */
static bool count_in_word(csk_rwlock_t *lock, csk_read_t *read) {
    uint64_t found = csk_load(&lock->state, CSK_RELAXED);
    do {
        if (found & RW_WRITER) return false;
    } while (!csk_cas(&lock->state, &found, found + RW_READER, CSK_RELAXED)); /* it is inside already */
    read->biased = 0;
    return true;
}

/* A thread that reads alone does not wait. */
static int upgrade_alone(csk_rwlock_t *lock) {
    if (!csk_rwlock_reads_alone(lock, csk_self())) return EPERM;
    if (csk_load(&lock->levels_alone, CSK_RELAXED) != 1) return EDEADLK;
    end_alone(lock);
    csk_fetch_and(&lock->state, ~RW_ALONE, CSK_RELAXED);
    return 0;
}

static int upgrade(csk_rwlock_t *lock, int64_t deadline_ns) {
    csk_read_t *read = csk_reads_find(lock);
    if (read == NULL) return upgrade_alone(lock);
    if (read->levels != 1) return EDEADLK;
    if (lock->reader_bias) put_out_parents_writer(lock);
    if (read->biased && !count_in_word(lock, read)) return deadline_ns == RW_TRY ? EBUSY : EDEADLK;
    int status = enter(lock, RW_UPGRADE, deadline_ns);
    if (status != 0) return status;
    if (lock->reader_bias) {
        status = csk_rwlock_revoke(lock, deadline_ns);
        if (status != 0) {
            csk_rwlock_leave(lock, RELEASE_WRITE_KEEP_READ);
            return as_tried(status, deadline_ns);
        }
    }
    csk_reads_end(read);
    return 0;
}

int csk_rwlock_timedupgrade(csk_rwlock_t *lock, int64_t deadline_ns) { return upgrade(lock, not_a_try(deadline_ns)); }
int csk_rwlock_tryupgrade(csk_rwlock_t *lock) { return upgrade(lock, RW_TRY); }
