/* rwlock.h: a read-write lock whose waiters stand in the order of their arrival.
 *
 * Many readers or one writer hold the lock. Without waiters, an arrival enters if that is possible. Once there is a
 * waiter, later arrivals wait behind it, readers behind a writer too, so that neither starves. Adjacent readers are
 * inside together, unless under FAST a thread comes to write before the later ones have run.
 *
 * A thread that finds the lock taken spins for up to some microseconds before it stands in the queue; under STRICT a
 * reader without a deadline yields its processor a few times too.
 *
 * Policies
 *   CSK_RWLOCK_FAST   (zero) Others may overtake a woken reader, and those behind it, until it has found the lock taken
 *                     once, or a thread has come behind it to write. A thread that comes to write while others read
 *                     goes before it. It can lose the time of one wake. Nothing overtakes a woken writer.
 *   CSK_RWLOCK_STRICT No arrival overtakes a queued waiter. The lock is handed over to the next in order, and
 *                     each hand-over to a sleeper costs a wake.
 *
 * Reader bias (csk_rwlock_attr_t.reader_bias) is for data that is mostly read. Readers then enter by a plain store into
 * a record of their own thread, and share no cache line. A writer first revokes the bias, which takes some 10 us, and
 * the bias stays off for as many reads as that has cost. A reader that restores the bias just as a writer queues lets
 * readers overtake that writer, under STRICT too. Where writes are more frequent than 1 in 1000 reads, the lock is
 * better off without it. With reader bias the lock must outlive the calls that leave it: it is ILLEGAL to free it while
 * another thread's csk_rwlock_unlock may still be returning. (Without the bias there is no such rule.) Where the system
 * has no membarrier the bias stays off.
 *
 * A thread may read a lock that it reads already, however deep, even when a writer waits in between. A writer that
 * locks once more, in whatever mode, gets EDEADLK, and so does a reader that asks for the write lock.
 *
 * A status is 0 or one of these. EDEADLK: see above. ETIMEDOUT: the deadline passed first; this is never early. EBUSY:
 * a try function would have to wait. EPERM: the calling thread does not hold the lock. EAGAIN: the thread reads the
 * lock at 2^32 - 1 levels already.
 *
 * A record is kept of what a thread reads, and allocated at its first read, and at each sixth lock that it reads at
 * once. Where the system has no memory for that, or no pthread key, the reader enters nevertheless, but alone: it waits
 * for other readers, and they wait for it, as if it wrote.
 *
 * Zero-filled memory (CSK_RWLOCK_INITIALIZER) is a free FAST lock without reader bias. No function here may be called
 * from a signal handler.
 *
 * fork. The child's thread reads and writes what it did before, and may leave it, even if others waited in the parent.
 * It may also leave it in a pthread_atfork handler. No waiter of the parent waits in the child, and its function is not
 * called there. Such waiters are idle (csk_rwlock_cancel gives ENOENT) and may be used again. Enqueued sections run in
 * the parent alone. A lock that another thread wrote or read stays taken: initialize it anew by csk_rwlock_init. (Where
 * the others read by reader bias alone it is free.) It is ILLEGAL to fork in a waiter's function, unless the child only
 * calls exec or _exit. A section on a worker may fork, and may return in the child.
 *
 * Example: a reader, a writer and a write on a worker.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *
 *     static csk_rwlock_t lock = CSK_RWLOCK_INITIALIZER;
 *     static int value;
 *
 *     static void add_ten(csk_rwlock_write_t *write) {
 *         (void)write;
 *         value += 10;
 *         csk_rwlock_finish_write(&lock);
 *     }
 *
 *     int main(void) {
 *         static csk_rwlock_write_t write;
 *
 *         if (csk_rwlock_timedwrlock(&lock, csk_deadline_after(csk_ms(5))) != 0) return 1;
 *         value = 1;
 *         csk_rwlock_unlock(&lock);
 *
 *         if (csk_rwlock_enqueue_write(&lock, &write, add_ten) != 0) return 1;
 *
 *         // Comes after the write that stands in the queue.
 *         if (csk_rwlock_rdlock(&lock) != 0) return 1;
 *         int seen = value;
 *         csk_rwlock_unlock(&lock);
 *         printf("%d\n", seen);
 *         return seen != 11;
 *     }
 *
 * Sources: Brandenburg and Anderson, "Reader-writer synchronization for shared-memory multiprocessor real-time systems"
 * (phase-fair locks, 2009); Dice and Kogan, "BRAVO: biased locking for reader-writer locks" (2019), here with a record
 * for each thread and membarrier in place of a shared table and locked instructions. */
#ifndef CSK_RWLOCK_H
#define CSK_RWLOCK_H

#include "waiter.h"
#include "pool.h"

CSK_BEGIN_DECLS

enum { CSK_RWLOCK_FAST = 0, CSK_RWLOCK_STRICT = 1 };

typedef struct csk_rwlock_attr {
    size_t size; /* see base.h */
    uint32_t policy;
    uint32_t reader_bias; /* nonzero: readers leave a mark in their thread's record instead of counting themselves */
} csk_rwlock_attr_t;

/* The fields belong to the library; src/readwrite/rwlock_queue.h says what may change each. */
typedef struct csk_rwlock {
    uint64_t state;
    csk_waiter_t *first, *last;
    uint32_t queue_lock;
    uint32_t waiting;
    uint32_t bias;
    union {
        uint32_t reads_until_bias;
        uint32_t levels_alone; /* while a reader without a record is inside */
    };
    union {
        uint32_t revocation; /* with reader bias */
        uint32_t to_adopt;   /* without */
    };
    uint8_t policy;
    uint8_t reader_bias;
    uint8_t coming;
    uint8_t has_place; /* it is a csk_placed_rwlock_t's: see name.h */
} csk_rwlock_t;

#ifdef __cplusplus
#define CSK_RWLOCK_INITIALIZER \
    {}
#else
#define CSK_RWLOCK_INITIALIZER \
    { 0 }
#endif

/* Makes a free lock with the attributes of `attr`. NULL stands for FAST without reader bias. Returns 0, or EINVAL for
 * an unknown policy or size. It may take the place of a lock that the caller still reads, or that a thread has ended
 * in. (Where the new one has no reader bias, reports about it may name that thread.) It is ILLEGAL while another thread
 * that lives is inside the lock that was there: its record would say that it reads the new one. */
CSK_API int csk_rwlock_init(csk_rwlock_t *lock, const csk_rwlock_attr_t *attr);
/* Ends the use of a lock. Returns EBUSY while the lock is held or has waiters; it stays usable then. */
CSK_API int csk_rwlock_destroy(csk_rwlock_t *lock);

/* ---- For the inline functions ------------------------------------------------------------------------------------ */

/* The locks that a thread reads. src/readwrite/reads.h says what may change each field. */
typedef struct csk_read {
    const csk_rwlock_t *lock;
    uint32_t levels;
    uint32_t biased;
} csk_read_t;

enum { CSK_READS_IN_RECORD = 6 };

typedef struct csk_reads {
    csk_read_t reads[CSK_READS_IN_RECORD];
    uint32_t used;          /* no read at or after this index */
    int32_t thread_id;      /* under the lists' lock; negative: that thread has ended, with reads in its record */
    struct csk_reads *more; /* the next record of the same thread */
    /* Under the lists' lock: among the records of threads, or, without `previous`, among the unused ones. */
    struct csk_reads *next, *previous;
    struct csk_reads *made_before; /* links all records that there ever were */
    /* It is aligned to two cache lines, which processors fetch together: no two threads' records share a line. */
} __attribute__((aligned(128))) csk_reads_t;

CSK_API extern __thread csk_reads_t *csk_my_reads __attribute__((tls_model("initial-exec")));

enum { CSK_RWLOCK_BIAS_OFF = 0, CSK_RWLOCK_BIAS_ON = 1, CSK_RWLOCK_BIAS_REVOKING = 2 };
#define CSK_RWLOCK_TAKEN UINT64_C(15)  /* bits of `state`: a writer is inside, or there are waiters */
#define CSK_RWLOCK_READER UINT64_C(16) /* one reader in `state` */

/* What they call where the inline path ends, and their parts for a lock with reader bias. */
CSK_API void csk_rwlock_leave_read_slow(csk_rwlock_t *lock);
CSK_API void csk_rwlock_wake_revoker(csk_rwlock_t *lock);

static inline void csk_rwlock_leave_biased(csk_rwlock_t *lock, csk_read_t *read) {
    CSK_SECTION_ENDS();
    __atomic_store_n(&read->lock, NULL, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (CSK_UNLIKELY(__atomic_load_n(&lock->bias, __ATOMIC_RELAXED) == CSK_RWLOCK_BIAS_REVOKING))
        csk_rwlock_wake_revoker(lock);
}
/* The caller has seen that the bias is ON. `read` belongs to the calling thread and is not in use. */
static inline bool csk_rwlock_enter_biased(csk_rwlock_t *lock, csk_read_t *read) {
    read->levels = 1;
    read->biased = 1;
    __atomic_store_n(&read->lock, lock, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (CSK_LIKELY(__atomic_load_n(&lock->bias, __ATOMIC_ACQUIRE) == CSK_RWLOCK_BIAS_ON)) return true;
    csk_rwlock_leave_biased(lock, read);
    return false;
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* The uncontended entry of a reader alone, for a thread that has read before and reads nothing now, at a lock without
 * waiters. Returns true when the calling thread reads. False gives no reason. `used` is compared with constants and set
 * to constants. The processor predicts these, where counting would make each call wait for the store of the call
 * before. */
static inline bool csk_rwlock_enter_read(csk_rwlock_t *lock) {
    csk_reads_t *record = csk_my_reads;
    if (CSK_UNLIKELY(record == NULL) || CSK_UNLIKELY(record->used != 0) || CSK_UNLIKELY(record->more != NULL))
        return false;
    csk_read_t *read = &record->reads[0];
    if (lock->reader_bias) {
        if (CSK_UNLIKELY(__atomic_load_n(&lock->bias, __ATOMIC_RELAXED) != CSK_RWLOCK_BIAS_ON)) return false;
        record->used = 1;
        if (CSK_LIKELY(csk_rwlock_enter_biased(lock, read))) return true;
        record->used = 0;
        return false;
    }
    uint64_t found = __atomic_load_n(&lock->state, __ATOMIC_RELAXED);
    if (CSK_UNLIKELY(found & CSK_RWLOCK_TAKEN) ||
        CSK_UNLIKELY(!__atomic_compare_exchange_n(&lock->state, &found, found + CSK_RWLOCK_READER, 0, __ATOMIC_ACQUIRE,
                                                  __ATOMIC_RELAXED)))
        return false;
    record->used = 1;
    read->levels = 1;
    read->biased = 0;
    __atomic_store_n(&read->lock, lock, __ATOMIC_RELAXED);
    return true;
}
/* Enters with other readers, and waits until `deadline_ns`. CSK_NEVER waits for ever; a deadline that has passed tries
 * once. */
CSK_API CSK_MUST_USE int csk_rwlock_timedrdlock(csk_rwlock_t *lock, int64_t deadline_ns);
/* Enters as a writer, alone, and waits until `deadline_ns`. */
CSK_API CSK_MUST_USE int csk_rwlock_timedwrlock(csk_rwlock_t *lock, int64_t deadline_ns);
/* Enter as a reader or as a writer, and wait as long as it takes. */
CSK_API CSK_MUST_USE int csk_rwlock_rdlock(csk_rwlock_t *lock);
CSK_API CSK_MUST_USE int csk_rwlock_wrlock(csk_rwlock_t *lock);
/* Enter as a reader or as a writer without waiting. Return EBUSY when another holder is in the way, or there are
 * waiters; and EDEADLK as the functions that wait do. (csk_rwlock_trywrlock may take some 10 us on a biased lock.) */
CSK_API CSK_MUST_USE int csk_rwlock_tryrdlock(csk_rwlock_t *lock);
CSK_API CSK_MUST_USE int csk_rwlock_trywrlock(csk_rwlock_t *lock);

/* Leaves one level of reading, or the writing, of the calling thread. Returns 0 or EPERM. Never blocks. It may run the
 * functions of asynchronous waiters. A write lock that was granted to an asynchronous waiter and not adopted may be
 * left by any thread. */
CSK_API int csk_rwlock_unlock(csk_rwlock_t *lock);
/* Leaves one level of reading, as the end of a scope does. The calling thread must read the lock; it is ILLEGAL
 * elsewhere. Never blocks. It may run the functions of asynchronous waiters. */
static inline void csk_rwlock_leave_read(csk_rwlock_t *lock) {
    csk_reads_t *record = csk_my_reads;
    csk_read_t *read = &record->reads[0];
    /* The only lock that the thread reads, and it reads it once? `levels` and `biased` are compared in one step. */
    if (CSK_LIKELY(record->used == 1) && CSK_LIKELY(__atomic_load_n(&read->lock, __ATOMIC_RELAXED) == lock)) {
        const uint32_t once_and_counted[2] = { 1, 0 };
        if (CSK_LIKELY(__builtin_memcmp(&read->levels, once_and_counted, sizeof once_and_counted) == 0)) {
            record->used = 0;
            __atomic_store_n(&read->lock, NULL, __ATOMIC_RELAXED);
            uint64_t found = __atomic_load_n(&lock->state, __ATOMIC_RELAXED);
            if (CSK_UNLIKELY(found & CSK_RWLOCK_TAKEN) ||
                CSK_UNLIKELY(!__atomic_compare_exchange_n(&lock->state, &found, found - CSK_RWLOCK_READER, 0,
                                                          __ATOMIC_RELEASE, __ATOMIC_RELAXED)))
                csk_rwlock_leave_read_slow(lock);
            return;
        }
        if (CSK_LIKELY(read->levels == 1)) {
            record->used = 0;
            csk_rwlock_leave_biased(lock, read);
            return;
        }
    }
    (void)csk_rwlock_unlock(lock);
}

/* Lets the writer go on as a reader, without a moment in which another writer could enter. Readers next in order enter
 * with it; but one that was called 0.1 s before and has not run may go behind a writer. Returns 0 or EPERM. Never
 * blocks. */
CSK_API int csk_rwlock_downgrade(csk_rwlock_t *lock);

/* Lets a reader go on as the writer once the other readers have left, before every waiter, so that what it has read is
 * still true. After any error the thread is still a reader.
 *
 *   EDEADLK     it would wait for ever, unless it leaves: it has read more than once, another reader waits to upgrade,
 *               or (with reader bias) a writer waits for this reader already. It should leave, and take the write lock
 *   EBUSY       by csk_rwlock_tryupgrade alone, which does not ask what others wait for: they are inside. So a thread
 *               that tries again and again must leave in between
 *   ETIMEDOUT   the same when the deadline has passed
 *   EPERM       the thread does not read */
CSK_API CSK_MUST_USE int csk_rwlock_timedupgrade(csk_rwlock_t *lock, int64_t deadline_ns);
CSK_API CSK_MUST_USE int csk_rwlock_tryupgrade(csk_rwlock_t *lock);

/* ---- Asynchronous waiters ---------------------------------------------------------------------------------------- */

enum { CSK_RWLOCK_READ = 0, CSK_RWLOCK_WRITE = 1 };

/* Queues `waiter`, which the caller zero-fills once and keeps in place while it waits. `function` is called once: with
 * 0 the lock is the waiter's, with ETIMEDOUT or ECANCELED it is not. As with csk_gate_lock_async it runs on the thread
 * that granted the lock or ended the wait, possibly before csk_rwlock_lock_async returns. It never runs recursively,
 * runs without any lock, and must not block. The thread that goes on with the lock calls csk_rwlock_adopt, and
 * csk_rwlock_unlock in the end. Returns 0; EINVAL (no such mode, or no function); EBUSY (the waiter is in use); ENOTSUP
 * for a lock with reader bias; EAGAIN or ENOMEM (the timer thread can't be started). */
CSK_API CSK_MUST_USE int csk_rwlock_lock_async(csk_rwlock_t *lock, csk_waiter_t *waiter, int mode, int64_t deadline_ns,
                                               csk_waiter_function_t function, void *context);
/* Takes a waiting waiter out. After 0 its function has been or is being called with ECANCELED. After ENOENT the waiter
 * does not wait. */
CSK_API int csk_rwlock_cancel(csk_rwlock_t *lock, csk_waiter_t *waiter);
/* Makes the calling thread the holder of what was granted to a waiter in `mode`. Its own calls know that from then on.
 * Returns 0; EINVAL (nothing of that kind is to be adopted); EDEADLK (the thread holds the lock already); or ENOMEM,
 * which only reading gives, and after which the grant is still to be adopted. */
CSK_API CSK_MUST_USE int csk_rwlock_adopt(csk_rwlock_t *lock, int mode);

/* A section that the lock runs itself. The caller zero-fills the work once and keeps it in place until its function is
 * called. */
typedef struct csk_rwlock_work csk_rwlock_work_t;
typedef void (*csk_rwlock_work_function_t)(csk_rwlock_work_t *work, void *context, int status);
struct csk_rwlock_work {
    csk_waiter_t waiter;
    csk_pool_item_t item;
    csk_rwlock_work_function_t function;
    void *context;
    uint32_t queued; /* belongs to the library: whether its function is yet to be called, and in which process */
};

/* Queues `work`; `function` is called once. With 0 it runs on a worker of the pool that holds the lock in `mode`, and
 * it leaves the lock by csk_rwlock_unlock. It may block while it holds the lock, and free the work, and the lock once
 * it has left it. It must not wait after that: writes that are next to each other in the queue run one after the other
 * on one worker, so the next one waits for its return.
 *
 * At a lock with reader bias a write that was granted still waits, on its worker, for readers that have entered by the
 * bias. It can't be cancelled then, but its deadline counts.
 *
 * With another status nothing is held, and the function must not block. The status is ETIMEDOUT; ECANCELED after
 * csk_rwlock_cancel(lock, &work->waiter); or EDEADLK for a read whose worker was left reading the lock.
 *
 * Where the function ends its thread (pthread_exit) before it has left the lock, the lock is left for it, and that is
 * reported: see pool.h. After it has left the lock it is ILLEGAL to end the thread.
 *
 * Never waits. Returns 0, or what csk_rwlock_lock_async (but ENOTSUP) and csk_pool_post return. EBUSY: the work was
 * queued before, at whatever lock, and its function has not been called yet; that stays as it is. After an error
 * nothing was queued. */
CSK_API CSK_MUST_USE int csk_rwlock_enqueue(csk_rwlock_t *lock, csk_rwlock_work_t *work, int mode, int64_t deadline_ns,
                                            csk_rwlock_work_function_t function, void *context);

/* A write that is never given up. It has no deadline and can't be cancelled, and is small for that. It needs no
 * initialization. */
typedef struct csk_rwlock_write csk_rwlock_write_t;
typedef void (*csk_rwlock_write_function_t)(csk_rwlock_write_t *write);
struct csk_rwlock_write {
    csk_rwlock_write_t *next;
    csk_rwlock_write_function_t function;
};

/* Queues `write`; `function` is called once, on a worker that holds the lock for writing. It ends its section by
 * csk_rwlock_finish_write, after which it must not touch what the lock protects, nor wait. It may free the write, and
 * the lock at the end of the last section. (Where it leaves the lock by csk_rwlock_unlock instead, the writes behind it
 * lose their place, and the lock must outlast it.) Writes that are next to each other stand in the queue as one, and
 * the worker keeps the lock from one to the next. That makes them several times cheaper; the first of them allocates.
 * It is ILLEGAL to queue a write again before its function is called. Nothing detects that, since a write is not
 * initialized: others may then be lost, or the calls may never end. Never waits. O(1). Returns 0; EINVAL (no function);
 * ENOTSUP for a lock with reader bias; EAGAIN or ENOMEM. */
CSK_API CSK_MUST_USE int csk_rwlock_enqueue_write(csk_rwlock_t *lock, csk_rwlock_write_t *write,
                                                  csk_rwlock_write_function_t function);
/* Ends the section of such a write. Returns 0 or EPERM. */
CSK_API int csk_rwlock_finish_write(csk_rwlock_t *lock);

/* ---- Inspection -------------------------------------------------------------------------------------------------- */

/* These return what the calling thread holds. They never block. */
CSK_API bool csk_rwlock_is_reading(csk_rwlock_t *lock);
CSK_API bool csk_rwlock_is_writing(csk_rwlock_t *lock);
/* The number of waiters at some instant during the call. */
CSK_API uint32_t csk_rwlock_waiting(csk_rwlock_t *lock);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_rwlock_t) == 48, "csk_rwlock_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_rwlock_attr_t) == 16, "csk_rwlock_attr_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_rwlock_work_t) == 360, "csk_rwlock_work_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_rwlock_write_t) == 16, "csk_rwlock_write_t is part of the ABI");

#endif
