/* workqueue.c: queueing. queue/workqueue.h has the argument. */
#include "queue/workqueue.h"

#include "base/hooks.h"

/* The stack of a caller that waits for room leads through the function that has this. Elsewhere in this file frame
 * pointers would cost each call: see FramePointers.cmake. */
#define KEEP_FRAME() __asm__ __volatile__("" ::"r"(__builtin_frame_address(0)))

/* This and what queues plain work is inlined by force: each call costs some 10 instructions of 100. */
__attribute__((always_inline)) static inline void put_into_inbox(csk_workqueue_t *queue, csk_work_t *work) {
    bool urgent = work->node.rank > csk_workqueue_rank(queue);
    work->node.next = NULL;
    csk_store(&work->place, (uint32_t)PLACE_INBOX, CSK_RELAXED);
    csk_work_t *before = csk_exchange(&queue->inbox_last, work, CSK_SEQ_CST);
    if (before != NULL) csk_store(&before->node.next, &work->node, CSK_RELEASE);
    else csk_store(&queue->inbox_first, work, CSK_RELEASE);
    if (CSK_UNLIKELY(urgent)) csk_exchange(&queue->urgent, (uint32_t)URGENT, CSK_RELEASE);
}

/* For a queue with a bound. The waiting work is counted, so all of this happens under the lock. */
static int enqueue_bounded(csk_workqueue_t *queue, csk_work_t *work) {
    csk_work_t *dropped = NULL;
    csk_refusal_t refusal;
    csk_workqueue_lock(queue);
    csk_work_sort(queue);
    bool shut = (csk_load(&queue->state, CSK_RELAXED) & STATE_SHUT) != 0, full = csk_workqueue_is_full(queue);
    if (CSK_UNLIKELY(full)) csk_work_note_full(queue);
    if (!shut && full && queue->when_full == CSK_WORKQUEUE_DROP_OLDEST) {
        dropped = csk_work_oldest_to_drop(queue);
        csk_work_remove(queue, dropped);
        dropped->node.next = NULL;
        if (csk_work_join_refusal(queue, dropped)) dropped = NULL;
        else csk_work_begin_refusal(queue, dropped, &refusal);
        full = false;
    }
    if (!shut && !full) csk_work_arrange(queue, work);
    csk_workqueue_unlock_and_look(queue);
    if (dropped != NULL) csk_work_refuse(&refusal);
    return CSK_LIKELY(!shut && !full) ? 0 : csk_work_is_refused(queue, work, shut ? ESHUTDOWN : EBUSY);
}

__attribute__((always_inline)) static inline int prepare(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank,
                                                         uint32_t kind, csk_work_function_t function) {
    if (function == NULL || !csk_is_rank_or_unnamed(rank)) return EINVAL;
    if (queue->when_full == CSK_WORKQUEUE_DROP_OLDEST && rank != csk_workqueue_rank(queue)) return EINVAL;
    int error = csk_workqueue_ready(queue);
    if (CSK_UNLIKELY(error != 0)) return csk_work_is_refused(queue, work, error);
    work->function = function;
    work->kind = csk_work_kind(queue, kind);
    work->node.rank = rank;
    /* Work that waits for room stands in no list, and a thread that cancels it may look at `place`. */
    csk_store(&work->place, (uint32_t)PLACE_NOWHERE, CSK_RELAXED);
    return 0;
}

/* The queue was shut down while this work was being queued. The work may be gone already, if it came in time. */
static __attribute__((noinline)) int take_back(csk_workqueue_t *queue, const csk_work_t *work) {
    csk_workqueue_lock(queue);
    csk_work_sort(queue);
    bool late = csk_work_take_late(queue, work);
    csk_workqueue_unlock_and_look(queue);
    return late ? csk_work_is_refused(queue, work, ESHUTDOWN) : 0;
}

__attribute__((always_inline)) static inline int push(csk_workqueue_t *queue, csk_work_t *work) {
    put_into_inbox(queue, work);
    uint64_t state = csk_load(&queue->state, CSK_SEQ_CST);
    if (CSK_UNLIKELY(state & STATE_SHUT)) return take_back(queue, work);
    if (csk_workqueue_add_claim_to(queue, state, STATE_CLAIM)) csk_workqueue_post(queue);
    return 0;
}

__attribute__((always_inline)) static inline int enqueue_prepared(csk_workqueue_t *queue, csk_work_t *work,
                                                                  int64_t deadline_ns) {
    if (queue->capacity == 0 || (work->kind & WORK_BEYOND)) return push(queue, work);
    return queue->when_full == CSK_WORKQUEUE_WAIT ? csk_workqueue_wait_for_room(queue, work, deadline_ns)
                                                  : enqueue_bounded(queue, work);
}

/* The queue is shut down, or some of its works carry the time. A work that was not accepted is still the caller's. */
static __attribute__((noinline)) int enqueue_closer(csk_workqueue_t *queue, csk_work_t *work, int64_t deadline_ns) {
    KEEP_FRAME(); /* others jump from here to where a caller may wait, and this function calls */
    if (csk_load(&queue->state, CSK_RELAXED) & STATE_SHUT) return csk_work_is_refused(queue, work, ESHUTDOWN);
    int told = csk_told_work_comes(queue->name, work);
    bool timed = told == WORK_IS_TIMED;
    if (told == WORKS_NOT_COUNTED) csk_fetch_and(&queue->state, ~STATE_METERED, CSK_RELAXED);
    if (timed) work->kind |= WORK_TIMED;
    int status = enqueue_prepared(queue, work, deadline_ns);
    if (timed && status != 0) csk_tell_work_taken(queue->name, work);
    return status;
}

__attribute__((always_inline)) static inline int submit(csk_workqueue_t *queue, csk_rank_t rank, csk_work_t *work,
                                                        uint32_t kind, int64_t deadline_ns,
                                                        csk_work_function_t function) {
    int error = prepare(queue, work, rank, kind, function);
    if (CSK_UNLIKELY(error != 0)) return error;
    if (kind & WORK_STAYS) {
        put_into_inbox(queue, work);
        csk_workqueue_activate(queue);
        return 0;
    }
    if (CSK_UNLIKELY(csk_load(&queue->state, CSK_RELAXED) & (STATE_SHUT | STATE_METERED)))
        return enqueue_closer(queue, work, deadline_ns);
    return enqueue_prepared(queue, work, deadline_ns);
}

/* The kind of a work with these flags, and its rank among the others. */
static uint32_t kind_of(const csk_workqueue_t *queue, uint32_t flags, csk_rank_t *rank) {
    uint32_t kind = flags & ~(uint32_t)WORK_COUNTED;
    if (flags & WORK_BARRIER) {
        *rank = csk_workqueue_rank(queue);
    } else if (flags & WORK_COUNTED) {
        kind |= csk_work_counts(queue, *rank);
        *rank = csk_rank_in_order(*rank);
    }
    return kind;
}

__attribute__((noinline)) int csk_workqueue_submit_with_flags(csk_workqueue_t *queue, csk_rank_t rank, csk_work_t *work,
                                                              uint32_t flags, int64_t deadline_ns,
                                                              csk_work_function_t function) {
    uint32_t kind = kind_of(queue, flags, &rank);
    return submit(queue, rank, work, kind, deadline_ns, function);
}

int csk_workqueue_submit(csk_workqueue_t *queue, csk_rank_t rank, csk_work_t *work, uint32_t flags, int64_t deadline_ns,
                         csk_work_function_t function) {
    if (flags == 0) return submit(queue, rank, work, WORK_PLAIN, deadline_ns, function);
    if (flags & ~(uint32_t)WORK_FLAGS) return EINVAL;
    return csk_workqueue_submit_with_flags(queue, rank, work, flags, deadline_ns, function);
}

int csk_workqueue_enqueue(csk_workqueue_t *queue, csk_work_t *work, csk_work_function_t function) {
    return submit(queue, csk_workqueue_rank(queue), work, WORK_PLAIN, CSK_NEVER, function);
}

int csk_workqueue_submit_when_room(csk_workqueue_t *queue, csk_rank_t rank, csk_work_t *work, uint32_t flags,
                                   csk_work_function_t work_function, csk_workqueue_wait_t *wait,
                                   void (*function)(csk_workqueue_wait_t *), void *context) {
    if (function == NULL || (flags & ~(uint32_t)WORK_FLAGS)) return EINVAL;
    if (queue->capacity == 0 || queue->when_full != CSK_WORKQUEUE_WAIT || (flags & WORK_STAYS))
        return csk_workqueue_submit_with_flags(queue, rank, work, flags, CSK_NEVER, work_function);
    uint32_t kind = kind_of(queue, flags, &rank);
    int error = prepare(queue, work, rank, kind, work_function);
    return error != 0 ? error : csk_workqueue_ask_for_room(queue, work, wait, function, context);
}

/* Its rank is its caller's until it is queued, and is read before the inbox has it. From then on it changes here alone,
 * once the work is in a list. */
int csk_workqueue_raise(csk_workqueue_t *queue, csk_rank_t rank, csk_work_t *work) {
    if (!csk_is_rank(rank) || queue->when_full == CSK_WORKQUEUE_DROP_OLDEST) return EINVAL;
    csk_workqueue_lock(queue);
    if (csk_work_is_in_inbox(work)) csk_work_sort(queue);
    bool waits = csk_work_is_in_list(queue, work);
    if (waits && rank > work->node.rank) csk_work_raise(queue, work, rank);
    csk_workqueue_unlock_and_look(queue);
    return waits ? 0 : ENOENT;
}
