/* workqueue.c: a queue in this process, asking for a worker, and queueing. queue/workqueue.h has the argument. */
#include "queue/workqueue.h"

#include "base/metrics.h"
#include "base/observe.h"
#include "wait/listed.h"

/* ---- The queue in this process ----------------------------------------------------------------------------------- */

void csk_workqueue_note_suspension(csk_workqueue_t *queue) {
    queue->suspended |= SUSPENDED;
    if ((queue->suspended & SUSPENDED_LISTED) || !csk_listed_is_on()) return;
    if (csk_listed_add(queue, CSK_OBJECT_WORKQUEUE)) queue->suspended |= SUSPENDED_LISTED;
}

/* Called under the lock, which was the parent's. Work that waited and ran there stays with the parent. The owner's
 * handles stay valid, and with them one pin. */
static void make_anew(csk_workqueue_t *queue) {
    uint64_t state = queue->state & (STATE_SHUT | STATE_RELEASED | STATE_SUSPENDS);
    /* The thread that was about to clear SUSPENDS stays in the parent. */
    if (state & (STATE_SHUT | STATE_RELEASED)) state &= ~STATE_SUSPENDS;
    queue->inbox_last = queue->inbox_first = NULL;
    queue->state = state + (queue->handles != 0 ? STATE_PIN_ONE : 0);
    queue->item = (csk_pool_item_t){ .next = NULL };
    queue->drains = queue->rooms = queue->last_room = NULL;
    queue->first = queue->last = queue->later_first = queue->later_last = NULL;
    queue->barrier = NULL;
    queue->ranked.root = NULL;
    queue->round = 0;
    queue->urgent = queue->waiting = queue->running = queue->refusing = queue->beyond = 0;
    queue->arrivals = 0;
    queue->exclusive = 0;
    queue->suspended = 0;
    if (state & STATE_SUSPENDS) csk_workqueue_note_suspension(queue);
    queue->refuses = (state & STATE_SHUT) != 0;
    queue->late = NULL;
    queue->oldest = NULL;
    queue->oldest_passed = 0;
}

/* Called before anything else that a process does with a queue: a process that the queue's epoch does not name neither
 * looks at nor changes anything in it. A queue that no process has used yet only records the epoch. A queue of the
 * parent is made anew by the first thread that comes, and other threads wait for the lock. */
__attribute__((noinline)) void csk_workqueue_begin_in_process(csk_workqueue_t *queue, uint32_t epoch) {
    uint32_t unused = 0;
    /* Relaxed: the queue has not changed, which is as its maker gave it to the others. */
    if (csk_cas(&queue->epoch, &unused, epoch, CSK_RELAXED)) return;
    csk_queue_lock(&queue->lock);
    if (csk_load(&queue->epoch, CSK_RELAXED) != epoch) {
        make_anew(queue);
        csk_store(&queue->epoch, epoch, CSK_RELEASE);
    }
    csk_queue_unlock(&queue->lock);
}

/* Names an item for the pool's reports. */
static const void *describe_item(csk_pool_item_t *item, const char **name) {
    if (item->function != csk_workqueue_serve) return item;
    *name = csk_workqueue_of(item)->name;
    return csk_workqueue_of(item);
}

/* Names the current queue for all reports of this thread. */
static const char *name_of_current(void) {
    const csk_workqueue_t *queue = csk_workqueue_current();
    return queue != NULL ? queue->name : NULL;
}

int csk_workqueue_ready(csk_workqueue_t *queue) {
    uint32_t ready = csk_pool_ready();
    if (CSK_LIKELY(ready != 0 && csk_load(&queue->epoch, CSK_ACQUIRE) == ready)) return 0;
    int error = csk_pool_prepare();
    if (error != 0) return error;
    csk_store(&csk_pool_describe, describe_item, CSK_RELAXED);
    csk_store(&csk_observe_running, name_of_current, CSK_RELAXED);
    csk_workqueue_know_process(queue);
    return 0;
}

void csk_workqueue_lock(csk_workqueue_t *queue) {
    csk_workqueue_know_process(queue);
    csk_queue_lock(&queue->lock);
}

/* ---- Looking, and telling those that wait ------------------------------------------------------------------------ */

void csk_workqueue_unlock_and_look(csk_workqueue_t *queue) {
    bool post = csk_work_may_begin(queue) && csk_workqueue_claim(queue);
    csk_workqueue_unlock(queue);
    if (post) csk_workqueue_post(queue);
}

/* A call of csk_waits_call, which calls the functions of the waits that are left. */
typedef struct {
    csk_workqueue_wait_t *left, **end;
    uint32_t epoch; /* in a child the others end in the parent alone */
} calls_t;
static _Thread_local calls_t *calling __attribute__((tls_model("initial-exec")));

void csk_waits_forget(void) { calling = NULL; }

static void add_to(calls_t *calls, csk_workqueue_wait_t *done) {
    *calls->end = done;
    while (*calls->end != NULL) calls->end = &(*calls->end)->next;
}

static void call_all(calls_t *calls) {
    while (calls->left != NULL && csk_pool_epoch() == calls->epoch) {
        csk_workqueue_wait_t *wait = calls->left;
        calls->left = wait->next;
        if (calls->left == NULL) calls->end = &calls->left;
        csk_workqueue_wait_ended(wait, wait->status);
        wait->function(wait);
    }
}

bool csk_waits_call(csk_workqueue_wait_t *done) {
    if (CSK_LIKELY(done == NULL)) return true;
    calls_t *outer = calling, calls = { .end = &calls.left, .epoch = csk_pool_epoch() };
    bool nested = outer != NULL && outer->epoch == calls.epoch;
    add_to(nested ? outer : &calls, done);
    if (nested) return true;
    int before = csk_platform_keep_thread(); /* for the waits that have not been ended yet */
    calling = &calls;
    call_all(&calls);
    calling = outer;
    csk_platform_let_thread_go(before);
    return csk_pool_epoch() == calls.epoch;
}

/* The stack of a caller that waits for room leads through the function that has this. Elsewhere in this file frame
 * pointers would cost each call: see FramePointers.cmake. */
#define KEEP_FRAME() __asm__ __volatile__("" ::"r"(__builtin_frame_address(0)))

/* ---- Queueing ---------------------------------------------------------------------------------------------------- */

void csk_work_push(csk_workqueue_t *queue, csk_work_t *work) {
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

/* It is inlined by force: as a call it costs 14 instructions of the 330 that a work takes (callgrind, gcc 12). */
__attribute__((always_inline)) static inline int prepare(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank,
                                                         uint32_t kind, csk_work_function_t function) {
    if (function == NULL) return EINVAL;
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

/* Inlined by force, too, and so is what calls it: clang makes calls of both, for 11 instructions of 153. */
__attribute__((always_inline)) static inline int push(csk_workqueue_t *queue, csk_work_t *work) {
    csk_work_push(queue, work);
    uint64_t state = csk_load(&queue->state, CSK_SEQ_CST);
    if (CSK_UNLIKELY(state & STATE_SHUT)) return take_back(queue, work);
    if (csk_workqueue_add_claim_to(queue, state, STATE_CLAIM)) csk_workqueue_post(queue);
    return 0;
}

__attribute__((always_inline)) static inline int enqueue_prepared(csk_workqueue_t *queue, csk_work_t *work,
                                                                  int64_t deadline_ns) {
    if (queue->capacity == 0) return push(queue, work);
    return queue->when_full == CSK_WORKQUEUE_WAIT ? csk_workqueue_wait_for_room(queue, work, deadline_ns)
                                                  : enqueue_bounded(queue, work);
}

/* The queue is shut down, or some of its works carry the time. A work that was not accepted is still the caller's. */
static __attribute__((noinline)) int enqueue_closer(csk_workqueue_t *queue, csk_work_t *work, int64_t deadline_ns) {
    KEEP_FRAME(); /* others jump from here to where a caller may wait, and this function calls */
    if (csk_load(&queue->state, CSK_RELAXED) & STATE_SHUT) return csk_work_is_refused(queue, work, ESHUTDOWN);
    bool timed = csk_is_counting(CSK_COUNTS_METRICS);
    if (!timed) csk_fetch_and(&queue->state, ~STATE_METERED, CSK_RELAXED);
    timed = timed && csk_metrics_stamp(queue->name, work);
    if (timed) work->kind |= WORK_TIMED;
    int status = enqueue_prepared(queue, work, deadline_ns);
    if (timed && status != 0) csk_metrics_take_stamp(queue->name, work);
    return status;
}

static int enqueue(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank, uint32_t kind, int64_t deadline_ns,
                   csk_work_function_t function) {
    int error = prepare(queue, work, rank, kind, function);
    if (CSK_UNLIKELY(error != 0)) return error;
    if (CSK_UNLIKELY(csk_load(&queue->state, CSK_RELAXED) & (STATE_SHUT | STATE_METERED)))
        return enqueue_closer(queue, work, deadline_ns);
    return enqueue_prepared(queue, work, deadline_ns);
}

static int enqueue_always(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank, uint32_t kind,
                          csk_work_function_t function) {
    int error = prepare(queue, work, rank, kind, function);
    if (error != 0) return error;
    csk_work_push(queue, work);
    csk_workqueue_activate(queue);
    return 0;
}

int csk_workqueue_enqueue_always(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank,
                                 csk_work_function_t function) {
    return enqueue_always(queue, work, rank, WORK_STAYS, function);
}

int csk_workqueue_enqueue_barrier_always(csk_workqueue_t *queue, csk_work_t *work, csk_work_function_t function) {
    return enqueue_always(queue, work, csk_workqueue_rank(queue), WORK_STAYS | WORK_BARRIER, function);
}

int csk_workqueue_enqueue_beyond(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank, uint32_t counts,
                                 csk_work_function_t function) {
    if (csk_load(&queue->state, CSK_RELAXED) & STATE_SHUT) return csk_work_is_refused(queue, work, ESHUTDOWN);
    int error = prepare(queue, work, rank, WORK_BEYOND | counts, function);
    return error != 0 ? error : push(queue, work);
}

int csk_workqueue_enqueue_counted(csk_workqueue_t *queue, csk_counted_work_t *work, csk_rank_t rank,
                                  int64_t deadline_ns, csk_work_function_t function) {
    return enqueue(queue, &work->work, csk_rank_in_order(rank), csk_work_counts(queue, rank), deadline_ns, function);
}

int csk_workqueue_enqueue_counted_always(csk_workqueue_t *queue, csk_counted_work_t *work, csk_rank_t rank,
                                         csk_work_function_t function) {
    uint32_t kind = WORK_STAYS | csk_work_counts(queue, rank);
    return enqueue_always(queue, &work->work, csk_rank_in_order(rank), kind, function);
}

static int enqueue_when_room(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank, uint32_t kind,
                             csk_work_function_t work_function, csk_workqueue_wait_t *wait,
                             void (*function)(csk_workqueue_wait_t *), void *context) {
    if (function == NULL) return EINVAL;
    if (queue->capacity == 0 || queue->when_full != CSK_WORKQUEUE_WAIT)
        return enqueue(queue, work, rank, kind, CSK_NEVER, work_function);
    int error = prepare(queue, work, rank, kind, work_function);
    return error != 0 ? error : csk_workqueue_ask_for_room(queue, work, wait, function, context);
}

int csk_workqueue_enqueue_when_room(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank, bool barrier,
                                    csk_work_function_t work_function, csk_workqueue_wait_t *wait,
                                    void (*function)(csk_workqueue_wait_t *), void *context) {
    return enqueue_when_room(queue, work, rank, barrier ? WORK_BARRIER : WORK_PLAIN, work_function, wait, function,
                             context);
}

int csk_workqueue_enqueue_counted_when_room(csk_workqueue_t *queue, csk_counted_work_t *work, csk_rank_t rank,
                                            csk_work_function_t work_function, csk_workqueue_wait_t *wait,
                                            void (*function)(csk_workqueue_wait_t *), void *context) {
    return enqueue_when_room(queue, &work->work, csk_rank_in_order(rank), csk_work_counts(queue, rank), work_function,
                             wait, function, context);
}

int csk_workqueue_enqueue(csk_workqueue_t *queue, csk_work_t *work, csk_work_function_t function) {
    return enqueue(queue, work, csk_workqueue_rank(queue), WORK_PLAIN, CSK_NEVER, function);
}

int csk_workqueue_enqueue_until(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank, int64_t deadline_ns,
                                csk_work_function_t function) {
    return enqueue(queue, work, rank, WORK_PLAIN, deadline_ns, function);
}

int csk_workqueue_enqueue_ranked(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank,
                                 csk_work_function_t function) {
    return csk_workqueue_enqueue_until(queue, work, rank, CSK_NEVER, function);
}

int csk_workqueue_enqueue_barrier(csk_workqueue_t *queue, csk_work_t *work, csk_work_function_t function) {
    return enqueue(queue, work, csk_workqueue_rank(queue), WORK_BARRIER, CSK_NEVER, function);
}

/* Whether the work waits and stands in one of the lists. After the sort it is no longer in the inbox. Work that still
 * seems to be there is just being queued again. */
static bool waits_in_list(const csk_workqueue_t *queue, const csk_work_t *work) {
    return csk_load(&work->place, CSK_RELAXED) >= PLACE_FIRST &&
           work->kind >> WORK_EPOCH_SHIFT == csk_work_kind(queue, 0) >> WORK_EPOCH_SHIFT;
}
static bool is_in_inbox(const csk_work_t *work) {
    uint32_t place = csk_load(&work->place, CSK_RELAXED);
    return place == PLACE_INBOX || place == PLACE_INBOX_MARKED;
}

int csk_workqueue_cancel(csk_workqueue_t *queue, csk_work_t *work) {
    csk_workqueue_wait_t *done = NULL, *room = NULL;
    csk_workqueue_lock(queue);
    /* The work that gets the room comes behind what is in the inbox. */
    if (is_in_inbox(work) || queue->rooms != NULL) csk_work_sort(queue);
    bool waits = waits_in_list(queue, work);
    if (waits) {
        csk_work_remove(queue, work);
        csk_work_account(queue, csk_work_arrival(work), &done);
        if (CSK_UNLIKELY(work->kind & WORK_TIMED)) csk_metrics_take_stamp(queue->name, work);
        if (queue->rooms != NULL) room = csk_rooms_take(queue);
    }
    csk_workqueue_unlock_and_look(queue); /* it may have been the barrier that others waited for */
    if (csk_waits_call(room)) csk_waits_call(done);
    return waits ? 0 : ENOENT;
}

/* Its rank is its caller's until it is queued, and is read before the inbox has it. From then on it changes here alone,
 * once the work is in a list. */
int csk_workqueue_raise(csk_workqueue_t *queue, csk_rank_t rank, csk_work_t *work) {
    if (queue->when_full == CSK_WORKQUEUE_DROP_OLDEST) return EINVAL;
    csk_workqueue_lock(queue);
    if (is_in_inbox(work)) csk_work_sort(queue);
    bool waits = waits_in_list(queue, work);
    if (waits && rank > work->node.rank) csk_work_raise(queue, work, rank);
    csk_workqueue_unlock_and_look(queue);
    return waits ? 0 : ENOENT;
}
