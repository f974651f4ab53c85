/* cond.h: a condition variable of a gate, for code that moves over from pthread. Threads that hold the gate wait in it
 * until another thread signals. Waiters are ordered by priority, then by arrival.
 *
 * A condition variable belongs to one gate or one mutex, which csk_cond_init names. A wait leaves the gate. The thread
 * holds it again when the call returns 0 or ETIMEDOUT. A signalled thread moves into the gate's queue at its own
 * priority. So a broadcast wakes one thread, and each of the others in its turn. The condition may have changed again
 * by then, and a signal may come for other reasons: check it again, in a loop.
 *
 * A mutex or a recursive gate is left at all its levels, and taken again at as many. CSK_COND_INITIALIZER(&mutex.gate)
 * makes a condition variable of a mutex.
 *
 * NULL. The two calls that make a condition variable return EINVAL for it, and change nothing; no other function may be
 * given it. A condition variable that is zero-filled, or was made by CSK_COND_INITIALIZER(NULL), has no gate: a wait in
 * it returns EINVAL, and it may be signalled and destroyed.
 *
 * A status is 0 or one of these. EPERM: the calling thread does not hold the gate. EINVAL: a rank that csk_rank does
 * not give, a rank of CSK_PLACE_UNNAMED, or no gate. ETIMEDOUT: no signal came by the deadline; this is never
 * early, and the gate is held all the same. A deadline bounds the wait for the signal alone. ESHUTDOWN: the gate was
 * closed before or meanwhile, and is NOT held.
 *
 * Leaving the gate may run functions of asynchronous waiters, and so may a signal. On a waiting thread
 * csk_gate_call_later refuses their calls.
 *
 * Unlike pthread's, these calls are no points of cancellation. The gate and the condition variable must stay in place
 * while a thread waits. It is ILLEGAL to close a gate (csk_gate_close) and to destroy it while threads wait in a
 * condition variable of it: signal them first. After a broadcast the condition variable may be destroyed at once. No
 * function here may be called from a signal handler.
 *
 * fork. No waiter of the parent waits in the child.
 *
 * Example: a consumer waits until there is something, and a producer says so.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <pthread.h>
 *     #include <stdio.h>
 *
 *     static csk_gate_t gate;
 *     static csk_cond_t is_filled = CSK_COND_INITIALIZER(&gate);
 *     static int count;
 *
 *     static void *produce(void *unused) {
 *         (void)unused;
 *         if (csk_gate_lock(&gate, 0) != 0) return NULL;
 *         count++;
 *         csk_cond_signal(&is_filled);
 *         csk_gate_unlock(&gate);
 *         return NULL;
 *     }
 *
 *     int main(void) {
 *         pthread_t producer;
 *         if (pthread_create(&producer, NULL, produce, NULL) != 0) return 1;
 *         if (csk_gate_lock(&gate, 0) != 0) return 1;
 *         while (count == 0) csk_cond_wait(&is_filled, 0);
 *         printf("%d\n", count);
 *         csk_gate_unlock(&gate);
 *         pthread_join(producer, NULL);
 *         return csk_cond_destroy(&is_filled) != 0;
 *     }
 *
 * Sources: Hoare, "Monitors: an operating system structuring concept" (1974); Lampson and Redell, "Experience with
 * processes and monitors in Mesa" (1980). */
#ifndef CSK_COND_H
#define CSK_COND_H

#include "mutex.h"

CSK_BEGIN_DECLS

/* The fields belong to the library. All but `gate` are protected by the gate's queue lock. */
typedef struct csk_cond {
    csk_gate_t *gate;
    csk_heap_t waiters;
    int64_t next_ticket;
    uint32_t waiting;
    uint32_t process; /* the process whose waiters these are */
} csk_cond_t;

#ifdef __cplusplus
#define CSK_COND_INITIALIZER(of_gate) \
    { (of_gate), {}, 0, 0, 0 }
#else
#define CSK_COND_INITIALIZER(of_gate) \
    { .gate = (of_gate) }
#endif

/* Makes a condition variable of `gate`, which may be in use already. Returns 0, or EINVAL where either is NULL. */
CSK_API int csk_cond_init(csk_cond_t *cond, csk_gate_t *gate);
/* Makes one of a mutex. Returns 0, or EINVAL where either is NULL. */
CSK_API int csk_cond_init_mutex(csk_cond_t *cond, csk_mutex_t *mutex);
/* Ends the use of a condition variable. Returns EBUSY while a thread waits that was not signalled. */
CSK_API int csk_cond_destroy(csk_cond_t *cond);

/* Leaves the gate, waits at `rank` until a signal or until `deadline_ns` (CSK_NEVER: for ever), and takes the gate
 * again. Returns 0, ETIMEDOUT, EPERM, EINVAL or ESHUTDOWN. A deadline that has passed leaves the gate for a moment. */
CSK_API int csk_cond_wait_ranked(csk_cond_t *cond, csk_rank_t rank, int64_t deadline_ns);
/* Waits at `priority` until a signal. Returns 0, EPERM, ESHUTDOWN, or EINVAL without a gate. */
static inline int csk_cond_wait(csk_cond_t *cond, int32_t priority) {
    return csk_cond_wait_ranked(cond, csk_rank(priority, CSK_PLACE_BACK), CSK_NEVER);
}
/* Waits at `priority` until a signal or an absolute CLOCK_MONOTONIC deadline. Also returns ETIMEDOUT. */
static inline int csk_cond_timedwait(csk_cond_t *cond, int32_t priority, int64_t deadline_ns) {
    return csk_cond_wait_ranked(cond, csk_rank(priority, CSK_PLACE_BACK), deadline_ns);
}

/* Lets the first waiter go on: the earliest of the highest priority. Does nothing without waiters. The caller may hold
 * the gate, and had better where order or speed matters: with one producer and one consumer, signals behind the
 * unlocking made it some 60 times as slow. Never blocks. O(log n) amortized. Always returns 0. */
CSK_API int csk_cond_signal(csk_cond_t *cond);
/* Lets all waiters go on, in their order, also among those at the front. Never blocks. O(n log n). Always returns
 * 0. */
CSK_API int csk_cond_broadcast(csk_cond_t *cond);

/* How many threads wait for a signal. It is meant for tests and statistics. */
CSK_API uint32_t csk_cond_waiting(csk_cond_t *cond);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_cond_t) == 32, "csk_cond_t is part of the ABI");

#endif
