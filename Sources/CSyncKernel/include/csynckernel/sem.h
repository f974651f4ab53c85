/* sem.h: a counting semaphore whose waiters are ordered by priority, ask for one permit or for several, have deadlines,
 * can be cancelled, and are threads or callbacks.
 *
 * A semaphore has a number of free permits. A wait takes the permits that it asks for, all at once, and waits while too
 * few are free. A post adds permits, which go to waiters: to a higher priority first, and within one priority by
 * arrival. While the first in order asks for more than there are, no waiter of its priority or a lower one gets any:
 * many small requests can't starve a large one. Arrivals of higher priority overtake it, as often as a bypass limit
 * allows (csk_sem_attr_t). A waiter that was overtaken more often goes first, and bars all others while it asks for
 * more than there are. A waiter is a thread that blocks in csk_sem_wait, or a caller-owned csk_waiter_t whose function
 * is called when the permits are its. Both kinds stand in one queue.
 *
 * Policies
 *   CSK_SEM_FAST     (zero) Among waiters the order is strict at every instant. But if the first in order is a thread,
 *                    and just as many permits are free as it asks for, it is told to take them. Until it comes, an
 *                    arrival of its priority that asks for as many may take them first. A thread that finds them taken
 *                    when it comes, 0.25 to 0.78 ms or more after it began to wait, is handed the next ones, and so is
 *                    one that was overtaken as often as the bypass limit says. What is more than it asks for lets it in
 *                    whether it comes or not, and then the next, unless such arrivals take what is given back first.
 *                    Callbacks are handed their permits.
 *   CSK_SEM_STRICT   All are handed their permits: no arrival overtakes a waiter of its priority. Where permits change
 *                    hands often, each hand-over waits for a thread to wake. A semaphore that knows its holder (name.h)
 *                    is STRICT.
 * A thread that finds too few permits spins for some microseconds before it queues; a STRICT semaphore must have no
 * waiters meanwhile.
 *
 * Permits have no owner: any thread may post. An uncontended wait or post costs one locked instruction and no call.
 * A thread whose wait has returned may destroy and free the semaphore if nothing uses it afterwards, although the
 * post that ended the wait has not returned yet, as POSIX demands of sem_post. The same holds of csk_sem_resize, and
 * of the function of an asynchronous waiter.
 *
 * A status is 0 or one of these; after an error nothing was taken or given. ETIMEDOUT: the deadline passed first; this
 * is never early. EINVAL: no permits, a wait for more than can ever be free (`most`), or a rank that csk_rank does not
 * give. (An uncontended wait does not check its rank.) EOVERFLOW: the added and the free permits are together more than
 * `most`, even if threads wait for them; where a thread was told of the free ones, it is handed these first. EUSERS: it
 * would have to wait, and as many wait as may. EBUSY and others: see the functions.
 *
 * Zero-filled memory (CSK_SEM_INITIALIZER) is a FAST semaphore without a free permit. No function here may be called
 * from a signal handler, unlike sem_post.
 *
 * fork. The child has the permits that were free at the fork. No waiter of the parent waits in the child, and its
 * function is not called there. Such waiters are idle (csk_sem_cancel gives ENOENT), and may be used again. It is
 * ILLEGAL to fork in a waiter's function, unless the child only calls exec or _exit.
 *
 * Example: at most four sorts at once, each for 5 ms at most in the queue.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *
 *     static csk_sem_t sorts;
 *
 *     static int sort(int32_t priority) {
 *         int status = csk_sem_timedwait(&sorts, priority, 1, csk_deadline_after(csk_ms(5)));
 *         if (status != 0) return status;
 *         // ...
 *         return csk_sem_post(&sorts, 1);
 *     }
 *
 *     int main(void) {
 *         if (csk_sem_init(&sorts, 4, 4) != 0) return 1;
 *         if (sort(10) != 0) return 1;
 *         printf("%d\n", (int)csk_sem_permits(&sorts));
 *         return csk_sem_destroy(&sorts) != 0;
 *     }
 *
 * Sources: Dijkstra, "Cooperating sequential processes" (1965). What a semaphore must promise to the thread that
 * destroys it: glibc's bug 13690, and Drepper, "Futexes are tricky". */
#ifndef CSK_SEM_H
#define CSK_SEM_H

#include "waiter.h"

CSK_BEGIN_DECLS

enum { CSK_SEM_FAST = 0, CSK_SEM_STRICT = 1 };

/* The most permits that can be free at once. */
#define CSK_SEM_MAX INT32_MAX

/* The fields belong to the library; src/lock/sem_queue.h says what may change each. */
typedef struct csk_sem {
    uint64_t state;
    csk_heap_t waiters;
    int64_t next_ticket;
    uint32_t queue_lock;
    uint32_t waiting;
    uint32_t below_max; /* CSK_SEM_MAX less `most` */
    uint8_t has_place;  /* it is a csk_placed_sem_t's: see name.h */
    uint8_t has_holder; /* it is a csk_held_sem_t's, or a csk_scoped_sem_t's: the same */
    uint8_t notes;      /* whether it records the holder of its permit: the same */
    uint8_t urgency;    /* what the holder was notified of: the same */
    csk_arrivals_t arrivals;
    uint32_t limit_and_policy; /* bit 0: the policy; above it, how many may wait */
    uint32_t pins;             /* how many keep the holder: the same */
} csk_sem_t;

#ifdef __cplusplus
#define CSK_SEM_INITIALIZER \
    {}
#else
#define CSK_SEM_INITIALIZER \
    { 0 }
#endif

/* Makes a semaphore with that many free permits. There are never more than `most` of them free; 0 stands for
 * CSK_SEM_MAX. Returns 0; or EINVAL where `permits` or `most` is more than CSK_SEM_MAX, or `permits` more than
 * `most`. */
CSK_API int csk_sem_init(csk_sem_t *sem, uint32_t permits, uint32_t most);

typedef struct csk_sem_attr {
    size_t size;            /* see base.h */
    uint32_t most;          /* as above */
    uint32_t bypass_limit;  /* a waiter that this many later arrivals have overtaken goes next. 0: those alone whose
                               rank is CSK_PLACE_UNNAMED, after CSK_BYPASS_UNNAMED. CSK_BYPASS_NEVER: strict priority */
    uint32_t waiters_limit; /* so many may wait; a further one gets EUSERS. 0, or more than INT32_MAX: no limit */
    uint32_t policy;
} csk_sem_attr_t;
/* Makes a semaphore with the attributes of `attr`, as csk_sem_init does. NULL stands for all members 0. Also returns
 * EINVAL for an unknown policy or size. */
CSK_API int csk_sem_init_attr(csk_sem_t *sem, uint32_t permits, const csk_sem_attr_t *attr);
/* Ends the use of a semaphore. Returns EBUSY while there are waiters; it stays usable then. */
CSK_API int csk_sem_destroy(csk_sem_t *sem);

/* ---- For the inline functions ------------------------------------------------------------------------------------ */

#define CSK_SEM_WAITERS UINT64_C(1)        /* in `state`: there are waiters */
#define CSK_SEM_PERMIT (UINT64_C(1) << 32) /* in `state`: one free permit */

/* What they call where the inline path ends. */
CSK_API int csk_sem_wait_slow(csk_sem_t *sem, csk_rank_t rank, uint32_t permits, int64_t deadline_ns);
CSK_API int csk_sem_trywait_slow(csk_sem_t *sem, csk_rank_t rank, uint32_t permits);
CSK_API int csk_sem_post_slow(csk_sem_t *sem, uint32_t permits);

/* The free permits in that state: a signed number, since csk_sem_resize may take some that are out. */
static inline int64_t csk_sem_free_in(uint64_t state) { return (int32_t)(state >> 32); }
/* Those in all, of that word. */
static inline uint32_t csk_sem_in_all(uint64_t state) { return (uint32_t)state >> 1; }

/* Takes permits of a semaphore without waiters. Returns true when they were taken. False gives no reason. */
static inline bool csk_sem_take_fast(csk_sem_t *sem, uint32_t permits) {
    uint64_t found = __atomic_load_n(&sem->state, __ATOMIC_RELAXED);
    while (CSK_LIKELY(!(found & CSK_SEM_WAITERS)) && CSK_LIKELY(csk_sem_free_in(found) >= permits) &&
           CSK_LIKELY(permits != 0))
        if (CSK_LIKELY(__atomic_compare_exchange_n(&sem->state, &found, found - permits * CSK_SEM_PERMIT, 0,
                                                   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
            return true;
    return false;
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* Takes that many permits at `rank`, and waits until `deadline_ns`: CSK_NEVER waits for ever, and a deadline that has
 * passed tries once. */
CSK_MUST_USE static inline int csk_sem_wait_ranked(csk_sem_t *sem, csk_rank_t rank, uint32_t permits,
                                                   int64_t deadline_ns) {
    return csk_sem_take_fast(sem, permits) ? 0 : csk_sem_wait_slow(sem, rank, permits, deadline_ns);
}
/* Takes that many permits, and waits by priority while too few are free. Returns 0, EINVAL or EUSERS. It may run
 * functions of asynchronous waiters, as the other waits do: of one that was overtaken too often by then. */
CSK_MUST_USE static inline int csk_sem_wait(csk_sem_t *sem, int32_t priority, uint32_t permits) {
    return csk_sem_wait_ranked(sem, csk_rank(priority, CSK_PLACE_BACK), permits, CSK_NEVER);
}
/* Takes that many permits, and waits by priority until an absolute CLOCK_MONOTONIC deadline. Also returns
 * ETIMEDOUT. */
CSK_MUST_USE static inline int csk_sem_timedwait(csk_sem_t *sem, int32_t priority, uint32_t permits,
                                                 int64_t deadline_ns) {
    return csk_sem_wait_ranked(sem, csk_rank(priority, CSK_PLACE_BACK), permits, deadline_ns);
}
/* Takes that many permits if it can without waiting. Returns EBUSY when too few are free, or when a waiter has the same
 * or a higher priority or was overtaken too often; but a FAST one may let it pass its own priority. */
CSK_MUST_USE static inline int csk_sem_trywait(csk_sem_t *sem, int32_t priority, uint32_t permits) {
    return csk_sem_take_fast(sem, permits) ? 0 : csk_sem_trywait_slow(sem, csk_rank(priority, CSK_PLACE_BACK), permits);
}
/* For the inline functions only: adds them if there are no waiters and there is room. */
static inline bool csk_sem_give_fast(csk_sem_t *sem, uint32_t permits) {
    uint64_t found = __atomic_load_n(&sem->state, __ATOMIC_RELAXED);
    int64_t most = CSK_SEM_MAX - sem->below_max;
    while (CSK_LIKELY(!(found & CSK_SEM_WAITERS)) && CSK_LIKELY(csk_sem_free_in(found) + permits <= most) &&
           CSK_LIKELY(permits != 0))
        /* The last access: the thread that takes the permits may free the semaphore. */
        if (CSK_LIKELY(__atomic_compare_exchange_n(&sem->state, &found, found + permits * CSK_SEM_PERMIT, 0,
                                                   __ATOMIC_RELEASE, __ATOMIC_RELAXED)))
            return true;
    return false;
}
/* Adds that many permits, and lets waiters in. Returns 0, EINVAL or EOVERFLOW. Blocks only while a waiter pins
 * the holder (csk_sem_pin_holder). It may run functions of asynchronous waiters. O(log n) for each waiter that it
 * serves. */
static inline int csk_sem_post(csk_sem_t *sem, uint32_t permits) {
    return CSK_LIKELY(csk_sem_give_fast(sem, permits)) ? 0 : csk_sem_post_slow(sem, permits);
}

/* Changes how many permits there are in all, those that are out included, which at first is what csk_sem_init was
 * given. It adds the difference to the free ones, and hands them to waiters; or it takes the difference from the free
 * ones. Where too few are free for that, their number is negative until enough have been given back. Returns 0; EINVAL
 * for more than `most`; or EOVERFLOW. Never blocks, but as csk_sem_post. It may run functions of asynchronous
 * waiters. O(log n) for each waiter that it serves. */
CSK_API int csk_sem_resize(csk_sem_t *sem, uint32_t permits);

/* ---- Asynchronous waiters ---------------------------------------------------------------------------------------- */

/* Queues `waiter`, which the caller zero-fills once and keeps in place while it waits. `function` is called once: with
 * 0 the permits are the waiter's, with ETIMEDOUT or ECANCELED it has got none. As with csk_gate_lock_async it runs on
 * whatever thread gave the permits or ended the wait, possibly before csk_sem_wait_async returns. It never runs
 * recursively, runs without any lock, and must not block. Never waits. Returns 0; EINVAL, also without a function;
 * EBUSY (the waiter is in use); EUSERS; EAGAIN or ENOMEM (the timer thread can't be started). */
CSK_API CSK_MUST_USE int csk_sem_wait_async(csk_sem_t *sem, csk_rank_t rank, csk_waiter_t *waiter, uint32_t permits,
                                            int64_t deadline_ns, csk_waiter_function_t function, void *context);
/* Takes a waiting waiter out. After 0 its function has been or is being called with ECANCELED. After ENOENT the waiter
 * does not wait. */
CSK_API int csk_sem_cancel(csk_sem_t *sem, csk_waiter_t *waiter);
/* Gives a waiting waiter a higher rank: among those of that rank it stands where it arrived. A rank that is not higher
 * changes nothing. Never waits. It may run functions of waiters, that of this one too. O(log n) amortized, and for each
 * that it serves. Returns 0; EINVAL for a rank that csk_rank does not give, or one of CSK_PLACE_UNNAMED; or ENOENT
 * where the waiter does not wait. */
CSK_API int csk_sem_raise(csk_sem_t *sem, csk_rank_t rank, csk_waiter_t *waiter);

/* ---- Inspection -------------------------------------------------------------------------------------------------- */

/* The free permits at some instant during the call; negative after csk_sem_resize has taken some that are out. */
CSK_API int32_t csk_sem_permits(csk_sem_t *sem);
/* The number of waiters at some instant during the call. */
CSK_API uint32_t csk_sem_waiting(csk_sem_t *sem);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_sem_t) == 64, "csk_sem_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_sem_attr_t) == 24, "csk_sem_attr_t is part of the ABI");

#endif
