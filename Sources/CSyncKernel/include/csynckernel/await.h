/* await.h: waiting at a gate until what it protects is in a state that one waits for. There is nothing to signal: the
 * thread that leaves the gate finds the waiter that can go on.
 *
 * A predicate says whether its thread can go on. While a thread waits for one, each thread that leaves the gate asks
 * the predicates of those that wait, by priority and then by arrival, while it holds the gate still. The first that is
 * true sends its thread into the gate's queue, at its priority and with its time of arrival, and those behind it are
 * not asked until that thread has been inside. So one change wakes one thread. That thread asks its predicate again
 * once it holds the gate, since others may have been inside before it, and goes on waiting at its old place where it is
 * false. A thread whose predicate is false bars no other. A gate without such waiters costs no more than otherwise;
 * with n threads that wait, leaving takes up to n calls of predicates. Neighbours in the order with the same predicate
 * and context are asked once.
 *
 * One that others have overtaken, or that came in vain, as often as the gate's bypass limit says goes before all others
 * from then on, as soon as its predicate is true; several that have, in the order in which that came about. Without a
 * limit the same holds for a wait of unnamed priority (CSK_PLACE_UNNAMED), after CSK_BYPASS_UNNAMED times. It counts
 * whether the predicate was true meanwhile or not. Passes in the gate's queue and newcomers count by themselves, so a
 * time in vain may hide that many of them. A condition with a function counts from 0 when it waits again. One that has
 * reached the limit has the highest priority, which views and events show as its own.
 *
 * Before it stands among those that wait, a thread in csk_gate_lock_when may leave the gate, yield its processor and
 * come again, a few times. Meanwhile it does not count as one that waits (csk_gate_waiting), the gate can be closed,
 * and another one that comes or waits may have what it would have had, at whatever priority. After that it has the
 * place of its first arrival. This holds for FAST and COMPACT gates, priorities up to 0, and CSK_NEVER. A thread of a
 * priority above 0, or with a deadline, or at a STRICT gate, or in csk_gate_await, stands among those that wait at
 * once.
 *
 * A predicate reads what the gate protects, and must come to the same result until that has been changed. It runs on
 * other threads, which hold the gate, while its own thread waits. It must not block, and must not change anything that
 * others see. Locking the gate gives EDEADLK there. It is ILLEGAL to lock a recursive gate or to unlock the gate in it,
 * to wait there for a predicate of the same gate, and to end it other than by returning.
 *
 * A status is 0 or one of these. ETIMEDOUT: the predicate was not true by the deadline, nor when the thread held the
 * gate again after that; it is never early. EINVAL: no predicate, or a rank that csk_rank does not give. ESHUTDOWN: the
 * gate was closed. EPERM: the calling thread does not hold the gate. EDEADLK: it does already. A gate can't be closed
 * or destroyed while there are waits for predicates (EBUSY).
 *
 * Recursive gates are left at all their levels, and taken again at as many. csk_gate_lock_when is one of the plain
 * functions, which must not be mixed with the recursive ones: a recursive gate has csk_gate_lock_when_recursive. A
 * thread that holds it gets EDEADLK of csk_gate_lock_when. A csk_mutex has no predicates, since its unlock looks at one
 * word only: use a csk_cond there. These calls are no points of cancellation.
 *
 * No function here may be called from a signal handler.
 *
 * fork. No waiter of the parent waits in the child, and its function is not called there.
 *
 * Example: one thread waits until another has put something in.
 *
 *     #include <csynckernel/csynckernel.h>
 *
 *     static csk_gate_t gate;
 *     static int count;
 *
 *     static bool is_filled(void *unused) {
 *         (void)unused;
 *         return count > 0;
 *     }
 *
 *     int take(void) {
 *         int status = csk_gate_lock_when(&gate, 0, is_filled, NULL, csk_deadline_after(csk_ms(5)));
 *         if (status != 0) return status;
 *         count--;
 *         return csk_gate_unlock(&gate);
 *     }
 *
 *     int put(void) {
 *         int status = csk_gate_lock(&gate, 0);
 *         if (status != 0) return status;
 *         count++;
 *         return csk_gate_unlock(&gate);
 *     }
 *
 *     int main(void) { return put() == 0 && take() == 0 ? 0 : 1; }
 *
 * Sources: Hoare, "Monitors: an operating system structuring concept" (1974), for conditions that the lock itself looks
 * after; the conditional critical sections of absl::Mutex. */
#ifndef CSK_AWAIT_H
#define CSK_AWAIT_H

#include "gate.h"

CSK_BEGIN_DECLS

typedef bool (*csk_gate_predicate_t)(void *context);

/* Waits until the predicate is true, or until `deadline_ns` (CSK_NEVER: for ever). The calling thread holds the gate,
 * and holds it again when this returns, whatever it returns. In between the gate is left, unless the predicate was true
 * at once or the deadline has passed. Returns 0 if the predicate is true; ETIMEDOUT, EPERM, EINVAL or ESHUTDOWN. */
CSK_API CSK_MUST_USE int csk_gate_await_ranked(csk_gate_t *gate, csk_rank_t rank, csk_gate_predicate_t predicate,
                                               void *context, int64_t deadline_ns);
CSK_MUST_USE static inline int csk_gate_await(csk_gate_t *gate, int32_t priority, csk_gate_predicate_t predicate,
                                              void *context, int64_t deadline_ns) {
    return csk_gate_await_ranked(gate, csk_rank(priority, CSK_PLACE_BACK), predicate, context, deadline_ns);
}

/* Takes the gate once the predicate is true. After 0 the gate is held and the predicate true; after ETIMEDOUT, EDEADLK,
 * EINVAL or ESHUTDOWN it is not held. */
CSK_API CSK_MUST_USE int csk_gate_lock_when_ranked(csk_gate_t *gate, csk_rank_t rank, csk_gate_predicate_t predicate,
                                                   void *context, int64_t deadline_ns);
CSK_MUST_USE static inline int csk_gate_lock_when(csk_gate_t *gate, int32_t priority, csk_gate_predicate_t predicate,
                                                  void *context, int64_t deadline_ns) {
    return csk_gate_lock_when_ranked(gate, csk_rank(priority, CSK_PLACE_BACK), predicate, context, deadline_ns);
}

/* As csk_gate_lock_when, for a recursive gate, which csk_gate_unlock_recursive leaves. A thread that holds it has one
 * more level then. EAGAIN at 2^32 levels; never EDEADLK. */
CSK_MUST_USE static inline int csk_gate_lock_when_recursive(
    csk_gate_t *gate, int32_t priority, csk_gate_predicate_t predicate, void *context, int64_t deadline_ns) {
    int status = predicate != NULL ? csk_gate_lock_recursive(gate, priority, deadline_ns) : EINVAL;
    if (status != 0) return status;
    status = csk_gate_await(gate, priority, predicate, context, deadline_ns);
    if (status != 0) (void)csk_gate_unlock_recursive(gate);
    return status;
}

/* ---- Asynchronously ---------------------------------------------------------------------------------------------- */

typedef struct csk_gate_condition csk_gate_condition_t;

/* Called once for each condition that was accepted. With status 0 a thread has found the predicate true. It holds the
 * gate still, calls this, and leaves. The function must not block, nor lock the gate, but it may queue an asynchronous
 * waiter there (csk_gate_lock_async), which has the gate in its turn and checks once more. The first that it queues at
 * the condition's rank has the condition's place, as if it had come when the condition did. Those that stand behind the
 * condition are not evaluated before the gate has been held again; or at once, where grants were lost (csk_gate_adopt)
 * and it is not sure that a holder comes. With ECANCELED it was csk_gate_unwatch. The condition is the caller's
 * again. */
typedef void (*csk_gate_condition_function_t)(csk_gate_condition_t *condition, void *context, int status);

/* The fields belong to the library. */
struct csk_gate_conditions {
    csk_waiter_t *oldest;
    csk_gate_condition_t *first;
};

/* What a predicate is waited for with. The caller owns the memory, zero-fills it once, and keeps it in place until its
 * function is called. The fields belong to the library. */
struct csk_gate_condition {
    csk_waiter_t waiter;
    csk_gate_predicate_t predicate;
    void *predicate_context;
    csk_gate_condition_function_t function; /* NULL for a thread that waits */
    void *context;
    csk_gate_condition_t *before, *behind;
    struct csk_gate_conditions list; /* the gate's, while it is kept here */
    uint8_t chosen, asked, canceled;
    uint32_t passed; /* how often it was overtaken, or came in vain */
};

/* Has `function` called once the predicate is true. The calling thread holds the gate, or no particular thread does
 * (the gate was granted to an asynchronous waiter); the predicate is false, and the gate stays held. Returns 0; EINVAL;
 * EPERM; EBUSY when the condition is in use; ESHUTDOWN. Never blocks. O(n) where its rank is below that of others that
 * wait for predicates. */
CSK_API CSK_MUST_USE int csk_gate_watch(csk_gate_t *gate, csk_rank_t rank, csk_gate_condition_t *condition,
                                        csk_gate_predicate_t predicate, void *predicate_context,
                                        csk_gate_condition_function_t function, void *context);
/* Ends that. After 0 the function has been called with ECANCELED, or is being called; where the predicate is asked at
 * this moment, it will be. After ENOENT the condition does not wait: its predicate was true, or it was not accepted. */
CSK_API int csk_gate_unwatch(csk_gate_t *gate, csk_gate_condition_t *condition);
/* Gives a condition that waits a higher rank: among those of that rank it stands where it arrived. A rank that is not
 * higher changes nothing. Never waits. O(n). Returns 0; EINVAL for a rank that csk_rank does not give, or one of
 * CSK_PLACE_UNNAMED; or ENOENT where csk_gate_unwatch does. */
CSK_API int csk_gate_raise_watch(csk_gate_t *gate, csk_rank_t rank, csk_gate_condition_t *condition);
/* The rank that a condition has when its function is called, for that function: what it queues at this rank has the
 * condition's place. It is of CSK_PLACE_UNNAMED where that of the condition was; and the highest there is, for one that
 * was overtaken too often. */
static inline csk_rank_t csk_gate_condition_rank(const csk_gate_condition_t *condition) {
    csk_rank_t rank = condition->waiter.node.rank;
    bool unnamed = condition->waiter.arrival.is_bounded == CSK_ARRIVAL_BOUNDED && (rank & 3) == CSK_PLACE_BACK;
    return unnamed ? rank + (CSK_PLACE_UNNAMED - CSK_PLACE_BACK) : rank;
}

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_gate_condition_t) == 384, "csk_gate_condition_t is part of the ABI");

#endif
