/* workqueue_refuse.c: works that will not run: taken out by a canceller, dropped from a full queue, left by a shutdown,
 * or not accepted. Dropped and left ones are called with the error, and drains wait until they were. */
#include "queue/workqueue.h"

#include "base/hooks.h"

/* The caller keeps the queue, and no lock. */
__attribute__((noinline, cold)) int csk_work_is_refused(const csk_workqueue_t *queue, const void *work, int status) {
    csk_tell_works(queue->name, &(csk_told_works_t){ .refused = 1 });
    csk_tell_refusal(queue, work, status, true);
    return status;
}

int csk_workqueue_cancel(csk_workqueue_t *queue, csk_work_t *work) {
    csk_workqueue_wait_t *done = NULL, *room = NULL;
    csk_workqueue_lock(queue);
    /* The work that gets the room comes behind what is in the inbox. */
    if (csk_work_is_in_inbox(work) || queue->rooms != NULL) csk_work_sort(queue);
    bool waits = csk_work_is_in_list(queue, work);
    if (waits) {
        csk_work_remove(queue, work);
        csk_work_account(queue, csk_work_arrival(work), &done);
        if (CSK_UNLIKELY(work->kind & WORK_TIMED)) csk_tell_work_taken(queue->name, work);
        if (queue->rooms != NULL) room = csk_rooms_take(queue);
    }
    csk_workqueue_unlock_and_look(queue); /* it may have been the barrier that others waited for */
    if (room != NULL) room->next = done, done = room;
    csk_waits_call(done);
    return waits ? 0 : ENOENT;
}

csk_work_t *csk_work_oldest_to_drop(const csk_workqueue_t *queue) {
    if (queue->first != NULL) return (csk_work_t *)queue->first;
    csk_work_t *work = queue->barrier; /* work behind a barrier came after it; without a barrier there is none */
    if (work == NULL || !(work->kind & WORK_STAYS)) return work;
    work = (csk_work_t *)queue->later_first;
    while (work != NULL && (work->kind & WORK_STAYS)) work = csk_work_after(work);
    return work;
}

/* Takes out works in order, up to the first that stays, so many at most, and links them to *end. Returns how many. */
static uint32_t remove_piece(csk_workqueue_t *queue, csk_work_t ***end) {
    uint32_t taken = 0;
    for (csk_work_t *work; taken < CSK_WORK_PIECE && (work = csk_work_first(queue)) != NULL; taken++) {
        if (work->kind & WORK_STAYS) break;
        csk_work_remove(queue, work);
        work->node.next = NULL;
        **end = work;
        *end = (csk_work_t **)&work->node.next;
    }
    return taken;
}

/* Takes out all at once. */
static csk_work_t *remove_rest(csk_workqueue_t *queue) {
    csk_work_t *lists[2] = { NULL, NULL }, **ends[2] = { &lists[0], &lists[1] };
    for (csk_work_t *work; (work = csk_work_first(queue)) != NULL;) {
        int stays = (work->kind & WORK_STAYS) != 0;
        if (stays) csk_work_set_aside(queue, work);
        else csk_work_remove(queue, work);
        work->node.next = NULL;
        *ends[stays] = work;
        ends[stays] = (csk_work_t **)&work->node.next;
    }
    /* Placed in this order, works of one rank stay in order of arrival, and nothing passes a barrier. */
    for (csk_work_t *work = lists[1], *next; work != NULL; work = next) {
        next = csk_work_after(work);
        csk_work_put_back(queue, work);
    }
    return lists[0];
}

/* What was taken out counts as waiting until all is: a drain that begins meanwhile waits for it, as one that came
 * before does. Nothing begins meanwhile, or it would pass what came before it and was taken out. */
csk_work_t *csk_work_remove_all(csk_workqueue_t *queue) {
    csk_work_t *first = NULL, **end = &first;
    uint32_t taken = 0;
    for (uint32_t piece; (piece = remove_piece(queue, &end)) == CSK_WORK_PIECE;) {
        taken += piece;
        queue->waiting += piece;
        queue->suspended |= SUSPENDED_EMPTIED;
        csk_workqueue_unlock(queue);
        csk_queue_lock(&queue->lock); /* as in csk_work_sort */
    }
    *end = remove_rest(queue);
    queue->suspended &= (uint8_t)~SUSPENDED_EMPTIED;
    queue->waiting -= taken;
    return first;
}

void csk_work_begin_refusal(csk_workqueue_t *queue, csk_work_t *first, csk_refusal_t *refusal) {
    uint32_t epoch = csk_load(&queue->epoch, CSK_RELAXED);
    /* A drain that begins from here on waits for the refusal alone. */
    *refusal = (csk_refusal_t){ .section = { .queue = queue, .arrival = INT64_MAX, .epoch = epoch, .refuses = true },
                                .first = first,
                                .arrivals = queue->arrivals++ };
    queue->refusing++;
    csk_workqueue_pin(queue);
}

bool csk_work_join_refusal(csk_workqueue_t *queue, csk_work_t *work) {
    csk_refusal_t *refusal = (csk_refusal_t *)csk_section_of_refusal(queue);
    if (refusal == NULL) return false;
    csk_workqueue_wait_t *none = NULL;
    int64_t arrival = csk_work_arrival(work), later = refusal->section.arrival;
    if (arrival > later) later = arrival;
    else refusal->section.arrival = arrival;
    csk_work_account(queue, later, &none);
    work->node.next = NULL;
    if (refusal->first == NULL) refusal->first = work;
    else refusal->last->node.next = &work->node;
    refusal->last = work;
    return true;
}

enum { PIECE = 64 };

/* Accounts for works that arrived as these numbers, which stand in order, to the drains that began when no more than
 * `until` works had arrived. Each of them waits for another work too, so none is done. O(drains + works). */
static void account_for(csk_workqueue_t *queue, const int64_t *arrivals, uint32_t count, int64_t until) {
    for (csk_workqueue_wait_t *wait = queue->drains; wait != NULL; wait = wait->next) {
        if (wait->arrivals > until) continue;
        while (count > 0 && arrivals[count - 1] > wait->arrivals) count--;
        wait->remaining -= count;
    }
}

/* Most works stand in order of arrival, and go to the end. */
static void insert(int64_t *arrivals, uint32_t count, int64_t arrival) {
    for (; count > 0 && arrivals[count - 1] > arrival; count--) arrivals[count] = arrivals[count - 1];
    arrivals[count] = arrival;
}

/* All works but the one that arrived first are accounted for before the first is called, since they may be gone then.
 * It takes O(works x drains) steps in all. The lock is free after each piece: it is held for O(drains). */
static void account_for_others(csk_workqueue_t *queue, csk_refusal_t *refusal) {
    int64_t arrivals[PIECE];
    uint32_t count = 0;
    for (const csk_work_t *work = refusal->first; work != NULL; work = csk_work_after(work)) {
        if (csk_work_arrival(work) != refusal->section.arrival) insert(arrivals, count++, csk_work_arrival(work));
        if (count == 0 || (count < PIECE && csk_work_after(work) != NULL)) continue;
        csk_workqueue_lock(queue);
        account_for(queue, arrivals, count, refusal->arrivals);
        csk_workqueue_unlock(queue);
        count = 0;
    }
}

static void find_ends(csk_refusal_t *refusal) {
    for (csk_work_t *work = refusal->first; work != NULL; work = csk_work_after(work)) {
        if (csk_work_arrival(work) < refusal->section.arrival) refusal->section.arrival = csk_work_arrival(work);
        refusal->last = work;
    }
}

/* Of the works that join meanwhile the last is called before this returns. */
static void tell(csk_workqueue_t *queue, csk_refusal_t *refusal) {
    csk_told_works_t told = { 0 };
    csk_section_enter(&refusal->section);
    while (refusal->first != NULL && !csk_section_is_over(&refusal->section)) {
        csk_work_t *work = refusal->first;
        refusal->first = csk_work_after(work);
        csk_tell_refusal(queue, work, ECANCELED, true);
        told.dropped++;
        if (work->kind & WORK_TIMED) csk_tell_work_taken(queue->name, work);
        if (work->kind & WORK_SYNC) csk_sync_call_answer(csk_sync_call_of(work), CALL_REFUSED);
        else work->function(work, ECANCELED);
    }
    csk_section_leave(&refusal->section);
    if (!csk_section_is_over(&refusal->section)) csk_tell_works(queue->name, &told);
}

void csk_work_refuse(csk_refusal_t *refusal) {
    csk_workqueue_t *queue = refusal->section.queue;
    csk_workqueue_wait_t *done = NULL;
    find_ends(refusal);
    if (refusal->first != refusal->last) account_for_others(queue, refusal);
    int before = csk_platform_keep_thread(); /* for the works that have not been called yet */
    tell(queue, refusal);
    csk_platform_let_thread_go(before);
    if (CSK_UNLIKELY(csk_section_is_over(&refusal->section))) return;
    csk_workqueue_lock(queue);
    queue->refusing--;
    csk_work_account(queue, refusal->section.arrival, &done);
    csk_workqueue_unlock(queue);
    csk_waits_call(done);
    if (CSK_LIKELY(!csk_section_is_over(&refusal->section))) csk_workqueue_unpin(queue);
}
