/* lanes.h: waiters of a gate that are performed on one queue or executor, for the runtimes of languages.
 *
 * csynckernel.h does not include this header. It is for those who build another language's locks upon gates, as
 * SwiftSync does, whose queues and executors are not the kernel's: programs in C take a csk_workqueue.
 *
 * A lane is one for each gate and queue. Waiters of one lane always begin in order among those that have not begun: by
 * rank, then by ticket. Each grant is provisional. If the queue has not begun within the grace (see csk_gate_adopt),
 * waiters of other lanes and those without a lane go first. Until the queue comes, no waiter of the lane is granted;
 * then its first waiter is next. So at most one begin is owed at a time. Waiters of a lane that waits for its queue can
 * time out and be cancelled. A bypass limit is part of the order: a waiter that it moves up begins before higher ranks
 * of its lane, and while a lane waits for its queue, its waiters count those that overtake them.
 *
 * The lane of a queue has a function, which is called when the gate is granted to the lane. The first begin on that
 * queue performs the lane's first waiter (csk_gate_begin). The functions of its waiters are called for ETIMEDOUT and
 * ECANCELED only. The lane of an executor has no function. Its waiters are tasks, and none can begin in place of
 * another. The function of the granted waiter is called, and adopts.
 *
 * What gate.h says of waiters holds for those of lanes, and beyond that: csk_gate_raise leaves a waiter in its lane.
 * csk_gate_adopt serves one of an executor's lane too, where EAGAIN also says that a waiter which goes first has come
 * meanwhile, and is granted the gate, or that csk_gate_trylock_keyed has taken it; csk_gate_adopt may spin for some
 * microseconds then. csk_gate_forget also gives up a grant that such a waiter has not adopted. After
 * csk_gate_close the gate can be destroyed once no csk_gate_begin is owed either.
 *
 * No function here may be called from a signal handler.
 *
 * fork. In the child lanes are empty, and may be used again.
 *
 * Example: two waiters of one queue. The lane's function, not theirs, is called for each grant.
 *
 *     #include <csynckernel/lanes.h>
 *     #include <stdio.h>
 *
 *     static csk_gate_t gate = CSK_GATE_INITIALIZER;
 *     static csk_waiter_t first, second;
 *     static int due;  // how often the queue has to begin
 *
 *     static void is_granted(csk_gate_lane_t *lane, void *context) {
 *         (void)context;
 *         csk_gate_lane_taken(&gate, lane);
 *         due++;
 *     }
 *
 *     static csk_gate_lane_t lane = { .function = is_granted };
 *
 *     static void has_ended(csk_waiter_t *waiter, void *context, int status) {
 *         (void)waiter, (void)context, (void)status;  // ETIMEDOUT, ECANCELED
 *     }
 *
 *     static int wait_in_lane(int32_t priority, csk_waiter_t *waiter) {
 *         csk_rank_t rank = csk_rank(priority, CSK_PLACE_BACK);
 *         return csk_gate_lock_lane(&gate, rank, waiter, &lane, CSK_NEVER, has_ended, NULL);
 *     }
 *
 *     int main(void) {
 *         if (csk_gate_lock(&gate, 0) != 0) return 1;
 *         if (wait_in_lane(0, &first) != 0 || wait_in_lane(1, &second) != 0) return 1;
 *         csk_gate_unlock(&gate);
 *         for (; due > 0; due--) {
 *             csk_waiter_t *waiter;
 *             // EAGAIN: the grant was lost, and is_granted is called again.
 *             if (csk_gate_begin(&gate, &lane, &waiter) != 0) continue;
 *             printf("%s\n", waiter == &first ? "first" : "second");
 *             csk_gate_unlock(&gate);
 *         }
 *         return csk_gate_destroy(&gate);
 *     }
 */
#ifndef CSK_LANES_H
#define CSK_LANES_H

#include "gate.h"

CSK_BEGIN_DECLS

typedef struct csk_gate_lane csk_gate_lane_t;

/* Called when the gate is granted to a lane. It runs like the function of a waiter. It first makes sure that gate and
 * lane stay in place, then calls csk_gate_lane_taken, and has the lane's queue call csk_gate_begin. */
typedef void (*csk_gate_lane_function_t)(csk_gate_lane_t *lane, void *context);

/* The waiters of one gate that are performed on one queue or executor: see csk_gate_lock_lane. The caller owns the
 * memory, zero-fills it once, may set `function` and `context` before the first use, and keeps it in place while it
 * has waiters or a grant, or while a begin is owed. The other fields belong to the library. */
struct csk_gate_lane {
    csk_gate_lane_function_t function; /* NULL for an executor's lane, whose waiters have functions of their own */
    void *context;
    csk_heap_t waiters;
    csk_heap_t lost;
    csk_waiter_t *front;
    csk_gate_lane_t *next_ready;
    uint8_t granted;
    uint8_t stalled;
    uint8_t forced;
    uint8_t due;
    uint32_t mark;
    uint64_t key; /* of a lane in a set */
    csk_gate_lane_t *next_lane;
};

/* The lanes of one gate, each known by a number: see csk_gate_lock_keyed. The caller owns the memory, zero-fills it,
 * and may set `function` and `context` before the first use: those that lanes of queues get. */
typedef struct csk_gate_lanes {
    csk_gate_lane_function_t function;
    void *context;
    csk_gate_lane_t *lists[16]; /* by the highest bits of the key's hash */
} csk_gate_lanes_t;

/* Queues `waiter` as csk_gate_lock_async_ranked does, in a lane. */
CSK_API CSK_MUST_USE int csk_gate_lock_lane(csk_gate_t *gate, csk_rank_t rank, csk_waiter_t *waiter,
                                            csk_gate_lane_t *lane, int64_t deadline_ns, csk_waiter_function_t function,
                                            void *context);

/* Queues `waiter` in the lane of the queue or executor that `key` names, a different number for each. The lane is
 * looked up in `lanes`. Where there is none, a lane no longer in use becomes this one, or else *spare, zero-filled
 * memory of the caller's: *spare is NULL then, and `lanes` keeps the memory until the caller takes the set apart, once
 * the gate has no waiters and no begin is owed. Returns what csk_gate_lock_lane does; or ENOBUFS, with nothing done,
 * where it would need *spare and that is NULL. A queue and an executor may have the same number. Takes O(n / 16) more,
 * where n is the most lanes that were ever in use at once. */
CSK_API CSK_MUST_USE int csk_gate_lock_keyed(csk_gate_t *gate, csk_rank_t rank, csk_waiter_t *waiter,
                                             csk_gate_lanes_t *lanes, uint64_t key, bool is_queue,
                                             csk_gate_lane_t **spare, int64_t deadline_ns,
                                             csk_waiter_function_t function, void *context);

/* Takes the gate for a task that runs on the calling thread, before csk_gate_lock_keyed queues it; csk_gate_unlock
 * leaves it. Takes a free gate as csk_gate_trylock does, unless csk_gate_has_lost_grants. Except under STRICT it also
 * takes one that was granted to a task which has not been started yet: if that one's rank is lower, or if it is the
 * same and sections of tasks are brief. A task that waits lets four of its rank pass in that way, and keeps its place.
 * Spins for some microseconds at most, while a task holds the gate whose section is likely to be brief. Where the
 * executor runs its tasks in order, `lanes` and `key` say which it is, and the task passes none of them; `lanes` is
 * NULL otherwise. Returns 0; EBUSY; EINVAL for a rank that csk_rank does not give. */
CSK_API CSK_MUST_USE int csk_gate_trylock_keyed(csk_gate_t *gate, csk_rank_t rank, csk_gate_lanes_t *lanes,
                                                uint64_t key);

/* Takes a lane out of a set that is no longer in use, so that its memory can be freed. Returns NULL when there is none
 * left. */
CSK_API csk_gate_lane_t *csk_gate_lanes_take(csk_gate_lanes_t *lanes);

/* For the inline functions only: the grace of the pending grant begins now. */
CSK_API void csk_gate_restart_grace(csk_gate_t *gate);

/* Returns true if a grant was taken back whose waiter has not come since. For the holder. If so, a task must not enter
 * by csk_gate_lock or csk_gate_enter_fast: the waiter may be one of its executor, and come before it. */
static inline bool csk_gate_has_lost_grants(const csk_gate_t *gate) {
    return __atomic_load_n(&gate->lost_grants, __ATOMIC_RELAXED) != 0;
}

/* Called by the lane's function. From then on the grant may be taken back, and the lane may be freed once nothing of it
 * waits or is owed. */
static inline void csk_gate_lane_taken(csk_gate_t *gate, csk_gate_lane_t *lane) {
    /* 2: the grace has ended meanwhile, and begins anew. Release: see gate_lane.h. */
    if (CSK_UNLIKELY(__atomic_exchange_n(&lane->due, 0, __ATOMIC_RELEASE) == 2)) csk_gate_restart_grace(gate);
}

/* Called on the queue of a lane whose function was called, once for each call. It makes the calling thread the holder
 * for the waiter that is the lane's first at this moment, and stores it in `*waiter`; that waiter is the caller's
 * again. Returns 0 or one of these. EAGAIN: no waiter can begin now, since all have timed out or been cancelled, or the
 * grant was lost; the lane's function is called again when it is the lane's turn. EINVAL: no begin is owed. Never
 * waits. O(log n) amortized. */
CSK_API CSK_MUST_USE int csk_gate_begin(csk_gate_t *gate, csk_gate_lane_t *lane, csk_waiter_t **waiter);

/* Leaves a gate that the calling thread holds, on a thread that can begin on the lane's queue. If it stores true in
 * *goes_on, the gate was granted to that lane, the lane's function is not called, and a csk_gate_begin is owed. `key`
 * is what the lane had before the last csk_gate_begin, and 0 for one that is in no set: a lane all of whose waiters
 * have begun may have another key meanwhile, and then this call does not go on with it. Returns 0 or EPERM. */
CSK_API int csk_gate_unlock_lane(csk_gate_t *gate, csk_gate_lane_t *lane, uint64_t key, bool *goes_on);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_gate_lane_t) == 72, "csk_gate_lane_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_gate_lanes_t) == 144, "csk_gate_lanes_t is part of the ABI");

#endif
