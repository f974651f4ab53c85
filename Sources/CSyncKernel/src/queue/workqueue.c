/* workqueue.c: which thread looks into a queue, and when. queue/workqueue.h has the argument. */
#include "queue/workqueue.h"

#include <stdlib.h>

#include "base/observe.h"

/* A worker that found its queue empty stays for this long: about what it costs to call a worker. */
static const int64_t linger_ns = 2000;
/* After this many works in a row other queues get the worker. In the explorer they get it after each work. */
#ifndef CSK_WORKQUEUE_LIMITS
enum { QUANTUM = 128 };
#endif

static _Thread_local csk_section_t *innermost __attribute__((tls_model("initial-exec")));

bool csk_section_inside(const csk_workqueue_t *queue) {
    for (const csk_section_t *section = innermost; section != NULL; section = section->outer)
        if (section->queue == queue && !csk_section_is_over(section)) return true;
    return false;
}

void csk_section_enter(csk_section_t *section) {
    section->outer = innermost;
    innermost = section;
}

void csk_section_leave(csk_section_t *section) { innermost = section->outer; }

bool csk_workqueue_is_current(const csk_workqueue_t *queue) { return csk_section_inside(queue); }

/* In a child that was forked inside the section, the queue may be gone. */
const csk_workqueue_t *csk_workqueue_current(void) { return innermost != NULL && !csk_section_is_over(innermost) ? innermost->queue : NULL; }

/* ---- The queue in this process
 * ---------------------------------------------------------------------------------------------- */

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
    queue->first = queue->last = queue->barrier = queue->later_first = queue->later_last = NULL;
    queue->ranked.root = NULL;
    queue->urgent = queue->waiting = queue->running = queue->refusing = queue->beyond = 0;
    queue->arrivals = 0;
    queue->exclusive = 0;
    queue->suspended = (state & STATE_SUSPENDS) != 0;
}

/* Called before anything else that a process does with a queue: a process that the queue's epoch does not name neither
 * looks at nor changes anything in it. A queue that no process has used yet only records the epoch. A queue of the
 * parent is made anew by the first thread that comes, and other threads wait for the lock. */
__attribute__((noinline)) void csk_workqueue_begin_in_process(csk_workqueue_t *queue, uint32_t epoch) {
    uint32_t unused = 0;
    if (csk_cas(&queue->epoch, &unused, epoch, CSK_ACQ_REL)) return;
    csk_queue_lock(&queue->lock);
    if (csk_load(&queue->epoch, CSK_RELAXED) != epoch) {
        make_anew(queue);
        csk_store(&queue->epoch, epoch, CSK_RELEASE);
    }
    csk_queue_unlock(&queue->lock);
}

static csk_workqueue_t *queue_of(csk_pool_item_t *item) { return (csk_workqueue_t *)((char *)item - offsetof(csk_workqueue_t, item)); }

static void serve(csk_pool_item_t *item);

/* Names an item for the pool's reports. */
static const void *describe_item(csk_pool_item_t *item, const char **name) {
    if (item->function != serve) return item;
    *name = queue_of(item)->name;
    return queue_of(item);
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
    csk_store(&csk_pool_describe, describe_item, CSK_RELEASE);
    csk_store(&csk_observe_running, name_of_current, CSK_RELEASE);
    csk_workqueue_know_process(queue);
    return 0;
}

void csk_workqueue_lock(csk_workqueue_t *queue) {
    csk_workqueue_know_process(queue);
    csk_queue_lock(&queue->lock);
}

/* This is the last access of a worker, and of the thread that gives up the last handle of a queue on the heap. */
void csk_workqueue_unpin(csk_workqueue_t *queue) {
    void *memory = queue->memory;
    uint64_t before = csk_fetch_add(&queue->state, -STATE_PIN_ONE, CSK_ACQ_REL);
    if (memory != NULL && (before & STATE_PINS) == STATE_PIN_ONE) free(memory);
}

/* ---- Workers
 * ---------------------------------------------------------------------------------------------------------------- */

static bool has_worker_to_spare(const csk_workqueue_t *queue, uint64_t state) { return (state & STATE_ACTIVE) < csk_workqueue_width(queue); }

bool csk_workqueue_claim(csk_workqueue_t *queue) {
    uint64_t state = csk_load(&queue->state, CSK_SEQ_CST);
    while (!(state & STATE_ATTENDED) && has_worker_to_spare(queue, state))
        if (csk_cas(&queue->state, &state, state + STATE_ACTIVE_ONE + STATE_PIN_ONE + STATE_POSTED, CSK_SEQ_CST)) return true;
    return false;
}

void csk_workqueue_post(csk_workqueue_t *queue) {
    queue->item.level = csk_pool_level(queue->priority);
    csk_cannot_fail(csk_pool_post(&queue->item, serve)); /* csk_workqueue_ready saw a worker */
}

void csk_workqueue_activate(csk_workqueue_t *queue) {
    if (csk_workqueue_claim(queue)) csk_workqueue_post(queue);
}

void csk_workqueue_unlock_and_look(csk_workqueue_t *queue) {
    bool post = csk_work_may_begin(queue) && csk_workqueue_claim(queue);
    csk_workqueue_unlock(queue);
    if (post) csk_workqueue_post(queue);
}

bool csk_waits_call(csk_workqueue_wait_t *done) {
    if (CSK_LIKELY(done == NULL)) return true;
    int before = csk_platform_keep_thread(); /* for the waits that have not been told yet */
    uint32_t epoch = csk_pool_epoch(); /* the others are told in the parent alone */
    while (done != NULL && csk_pool_epoch() == epoch) {
        csk_workqueue_wait_t *wait = done;
        done = wait->next;
        wait->function(wait);
    }
    csk_platform_let_thread_go(before);
    return csk_pool_epoch() == epoch;
}

/* Runs the work that was taken. Returns true when the caller still has to end the section, false when the section went
 * to another thread. */
static bool run(csk_work_t *work, csk_section_t *section) {
    if (work->kind & WORK_SYNC) {
        csk_sync_call_of(work)->section = *section;
        csk_sync_call_answer(csk_sync_call_of(work), CALL_GRANTED);
        return false;
    }
    csk_section_enter(section);
    work->function(work, 0);
    csk_section_leave(section);
    return true;
}

static void end(csk_section_t *section) {
    csk_workqueue_t *queue = section->queue;
    csk_workqueue_wait_t *done = NULL;
    csk_workqueue_lock(queue);
    csk_section_end(section, &done);
    csk_workqueue_unlock(queue);
    csk_waits_call(done);
}

/* Whether the pool has other work for this worker than to come to this queue. */
static bool others_wait(csk_workqueue_t *queue) {
    uint64_t queued = csk_pool_queued();
    return queued > 1 || (queued == 1 && !(csk_load(&queue->state, CSK_RELAXED) & STATE_POSTED));
}

/* Watches the inbox for a moment. On a concurrent queue only one worker does so at a time. */
static void linger(csk_workqueue_t *queue) {
    bool shared = queue->width > 1;
    if (shared && (csk_fetch_or(&queue->state, STATE_LINGERS, CSK_RELAXED) & STATE_LINGERS)) return;
    csk_spin_t spin = csk_spin_begin(linger_ns);
    while (csk_load(&queue->inbox_last, CSK_RELAXED) == NULL && csk_spin_lasts(&spin) && !others_wait(queue)) csk_spin_pause(4);
    if (shared) csk_fetch_and(&queue->state, ~STATE_LINGERS, CSK_SEQ_CST);
}

/* One round under the lock: ends the previous section if `ends`, and takes the next work. If there is none and the
 * worker `may_leave`, the worker counts as gone. */
static csk_work_t *next(csk_workqueue_t *queue, csk_section_t *section, bool ends, bool may_leave, bool *more) {
    csk_workqueue_wait_t *done = NULL, *room = NULL;
    csk_queue_lock(&queue->lock); /* a worker is in its own process: see serve */
    if (ends) csk_section_end(section, &done);
    csk_work_t *work = csk_work_take_sorted(queue, section);
    if (work == NULL) {
        csk_work_sort(queue);
        work = csk_work_take(queue, section);
    }
    if (work != NULL && queue->rooms != NULL) room = csk_rooms_take(queue);
    if (work == NULL && may_leave) csk_fetch_add(&queue->state, -STATE_ACTIVE_ONE, CSK_SEQ_CST);
    *more = csk_work_may_begin(queue);
    csk_workqueue_unlock(queue);
    if (CSK_UNLIKELY(room != NULL) && !csk_waits_call(room)) done = NULL;
    if (CSK_UNLIKELY(done != NULL)) csk_waits_call(done);
    return work;
}

/* The worker counts as gone. Returns true when it has to come back, since work came meanwhile that nobody else attends
 * to. */
static bool comes_back(csk_workqueue_t *queue) {
    if (csk_load(&queue->inbox_last, CSK_SEQ_CST) == NULL) return false;
    uint64_t state = csk_load(&queue->state, CSK_SEQ_CST);
    while (!(state & STATE_ATTENDED) && has_worker_to_spare(queue, state))
        if (csk_cas(&queue->state, &state, state + STATE_ACTIVE_ONE, CSK_SEQ_CST)) return true;
    return false;
}

/* Other queues are served before this queue is served again, by whichever worker comes for it. On a concurrent queue a
 * worker may be on its way already. */
static void step_back(csk_workqueue_t *queue) {
    if (!(csk_fetch_or(&queue->state, STATE_POSTED, CSK_SEQ_CST) & STATE_POSTED)) {
        csk_cannot_fail(csk_pool_post(&queue->item, serve));
        return;
    }
    csk_queue_lock(&queue->lock);
    csk_fetch_add(&queue->state, -STATE_ACTIVE_ONE, CSK_SEQ_CST);
    csk_work_sort(queue);
    csk_workqueue_unlock_and_look(queue);
    csk_workqueue_unpin(queue);
}

/* The function of a work has ended its thread. The work is over, and another worker serves the queue. */
static const void *abandon(csk_pool_frame_t *frame) {
    csk_section_t *section = &frame->section;
    if (innermost == NULL) return NULL; /* it ended between two works, which is illegal */
    innermost = section;
    const char *name = csk_section_is_over(section) ? NULL : section->queue->name;
    if (name != NULL) csk_pool_copy_name(frame->name, name);
    if (frame->end_work != NULL && !csk_section_is_over(section)) frame->end_work(frame->context);
    innermost = NULL;
    if (CSK_UNLIKELY(csk_section_is_over(section))) return section->queue;
    end(section);
    if (!csk_section_is_over(section)) step_back(section->queue);
    return section->queue;
}

static void serve(csk_pool_item_t *item) {
    csk_workqueue_t *queue = queue_of(item);
    csk_fetch_and(&queue->state, ~STATE_POSTED, CSK_SEQ_CST);
    csk_pool_frame_t *frame = csk_pool_frame;
    csk_section_t *section = &frame->section;
    frame->abandon = abandon;
    uint32_t epoch = csk_pool_epoch();
    bool ends = false, lingered = false, more;
    for (uint32_t served = 0;;) {
        csk_work_t *work = next(queue, section, ends, lingered, &more);
        if (CSK_UNLIKELY(csk_pool_epoch() != epoch)) return; /* a drain's function has forked */
        ends = false;
        if (more && queue->width > 1) csk_workqueue_activate(queue);
        if (work != NULL) {
            lingered = false;
            ends = run(work, section);
            if (ends && CSK_UNLIKELY(csk_section_is_over(section))) return; /* a child's queue has no worker yet */
            if (++served % QUANTUM != 0 || !others_wait(queue)) continue;
            if (ends) end(section);
            if (CSK_LIKELY(csk_pool_epoch() == epoch)) step_back(queue);
            return;
        } else if (!lingered) {
            linger(queue);
            lingered = true;
        } else if (!comes_back(queue)) {
            csk_workqueue_unpin(queue);
            return;
        } else {
            lingered = false;
        }
    }
}

/* ---- Queueing
 * ----------------------------------------------------------------------------------------------------------------- */

void csk_work_push(csk_workqueue_t *queue, csk_work_t *work) {
    bool urgent = work->node.rank > csk_workqueue_rank(queue);
    work->node.next = NULL;
    csk_store(&work->place, (uint32_t)PLACE_INBOX, CSK_RELAXED);
    csk_work_t *before = csk_exchange(&queue->inbox_last, work, CSK_SEQ_CST);
    if (before != NULL) csk_store(&before->node.next, &work->node, CSK_RELEASE);
    else csk_store(&queue->inbox_first, work, CSK_RELEASE);
    if (CSK_UNLIKELY(urgent)) csk_exchange(&queue->urgent, 1u, CSK_ACQ_REL);
}

/* For a queue with a bound. The waiting work is counted, so all of this happens under the lock. */
static int enqueue_bounded(csk_workqueue_t *queue, csk_work_t *work) {
    csk_work_t *dropped = NULL;
    csk_section_t refusal;
    csk_workqueue_lock(queue);
    csk_work_sort(queue);
    bool full = csk_workqueue_is_full(queue);
    if (full && queue->when_full == CSK_WORKQUEUE_DROP_OLDEST) {
        dropped = csk_work_oldest_to_drop(queue);
        csk_work_remove(queue, dropped);
        dropped->node.next = NULL;
        csk_work_begin_refusal(queue, dropped, &refusal);
        full = false;
    }
    if (!full) csk_work_arrange(queue, work);
    csk_workqueue_unlock_and_look(queue);
    if (dropped != NULL) csk_work_refuse(dropped, &refusal);
    return full ? EAGAIN : 0;
}

/* It is inlined by force: as a call it costs 14 instructions of the 330 that a work takes (callgrind, gcc 12). */
__attribute__((always_inline)) static inline int prepare(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank, uint32_t kind,
                                                         csk_work_function_t function) {
    if (function == NULL) return EINVAL;
    if (queue->when_full == CSK_WORKQUEUE_DROP_OLDEST && rank != csk_workqueue_rank(queue)) return EINVAL;
    int error = csk_workqueue_ready(queue);
    if (CSK_UNLIKELY(error != 0)) return error;
    work->function = function;
    work->kind = csk_work_kind(queue, kind);
    work->node.rank = rank;
    /* Work that waits for room stands in no list, and a thread that cancels it may look at `place`. */
    csk_store(&work->place, (uint32_t)PLACE_NOWHERE, CSK_RELAXED);
    return 0;
}

static int push(csk_workqueue_t *queue, csk_work_t *work) {
    csk_work_push(queue, work);
    csk_workqueue_activate(queue);
    return 0;
}

static int enqueue(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank, uint32_t kind, int64_t deadline_ns, csk_work_function_t function) {
    int error = prepare(queue, work, rank, kind, function);
    if (CSK_UNLIKELY(error != 0)) return error;
    if (CSK_UNLIKELY(csk_load(&queue->state, CSK_RELAXED) & STATE_SHUT)) return ESHUTDOWN;
    if (queue->capacity == 0) return push(queue, work);
    return queue->when_full == CSK_WORKQUEUE_WAIT ? csk_workqueue_wait_for_room(queue, work, deadline_ns) : enqueue_bounded(queue, work);
}

static int enqueue_always(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank, uint32_t kind, csk_work_function_t function) {
    int error = prepare(queue, work, rank, kind, function);
    return error != 0 ? error : push(queue, work);
}

int csk_workqueue_enqueue_always(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank, csk_work_function_t function) {
    return enqueue_always(queue, work, rank, WORK_STAYS, function);
}

int csk_workqueue_enqueue_barrier_always(csk_workqueue_t *queue, csk_work_t *work, csk_work_function_t function) {
    return enqueue_always(queue, work, csk_workqueue_rank(queue), WORK_STAYS | WORK_BARRIER, function);
}

int csk_workqueue_enqueue_beyond(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank, csk_work_function_t function) {
    if (csk_load(&queue->state, CSK_RELAXED) & STATE_SHUT) return ESHUTDOWN;
    return enqueue_always(queue, work, rank, WORK_BEYOND, function);
}

int csk_workqueue_enqueue_when_room(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank, bool barrier, csk_work_function_t work_function,
                                    csk_workqueue_wait_t *wait, void (*function)(csk_workqueue_wait_t *), void *context) {
    uint32_t kind = barrier ? WORK_BARRIER : WORK_PLAIN;
    if (function == NULL) return EINVAL;
    if (queue->capacity == 0 || queue->when_full != CSK_WORKQUEUE_WAIT) return enqueue(queue, work, rank, kind, CSK_NEVER, work_function);
    int error = prepare(queue, work, rank, kind, work_function);
    return error != 0 ? error : csk_workqueue_ask_for_room(queue, work, wait, function, context);
}

int csk_workqueue_enqueue(csk_workqueue_t *queue, csk_work_t *work, csk_work_function_t function) {
    return enqueue(queue, work, csk_workqueue_rank(queue), WORK_PLAIN, CSK_NEVER, function);
}

int csk_workqueue_enqueue_until(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank, int64_t deadline_ns, csk_work_function_t function) {
    return enqueue(queue, work, rank, WORK_PLAIN, deadline_ns, function);
}

int csk_workqueue_enqueue_ranked(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank, csk_work_function_t function) {
    return csk_workqueue_enqueue_until(queue, work, rank, CSK_NEVER, function);
}

int csk_workqueue_enqueue_barrier(csk_workqueue_t *queue, csk_work_t *work, csk_work_function_t function) {
    return enqueue(queue, work, csk_workqueue_rank(queue), WORK_BARRIER, CSK_NEVER, function);
}

int csk_workqueue_cancel(csk_workqueue_t *queue, csk_work_t *work) {
    csk_workqueue_wait_t *done = NULL, *room = NULL;
    csk_workqueue_lock(queue);
    csk_work_sort(queue);
    /* After the sort the work is no longer in the inbox. Work that still seems to be there is just being queued
     * again. */
    bool waits = csk_load(&work->place, CSK_RELAXED) > PLACE_INBOX && work->kind >> WORK_EPOCH_SHIFT == csk_work_kind(queue, 0) >> WORK_EPOCH_SHIFT;
    if (waits) {
        csk_work_remove(queue, work);
        csk_work_account(queue, csk_work_arrival(work), &done);
        if (queue->rooms != NULL) room = csk_rooms_take(queue);
    }
    csk_workqueue_unlock_and_look(queue); /* it may have been the barrier that others waited for */
    if (csk_waits_call(room)) csk_waits_call(done);
    return waits ? 0 : ENOENT;
}
