/* workqueue_bypass.c: how often what waits in a queue was overtaken. All of it happens under the queue's lock.
 *
 * The works that are under the bypass limit stand in a list by arrival too (csynckernel/arrivals.h), from the step at
 * which they get their number of arrival until they go for good. Behind a barrier no work overtakes them: all that may
 * begin came before them. So the oldest of the list, where it is overdue, may begin unless what comes first in order is
 * older.
 *
 * Work that has no room for that does not stand in the list. Its number of arrival says where it would: it passes those
 * that are older. They are looked for from the newest on, since what begins is mostly what has just come, and no
 * further than so many steps. Then those count too that were met. So no work is overtaken more often than is
 * counted. */
#include "queue/workqueue.h"

#include "csynckernel/delayed.h"

CSK_STATIC_ASSERT(offsetof(csk_counted_work_t, arrival) == sizeof(csk_work_t), "the arrival stands behind the work");
CSK_STATIC_ASSERT(offsetof(csk_sync_call_t, arrival) == sizeof(csk_work_t), "the arrival stands behind the work");
CSK_STATIC_ASSERT(offsetof(csk_delayed_t, arrival) == sizeof(csk_work_t), "the arrival stands behind the work");

static csk_arrival_t *arrival_of(const csk_work_t *work) { return &((csk_counted_work_t *)work)->arrival; }
static csk_work_t *work_of(const csk_arrival_t *arrival) {
    return (csk_work_t *)((char *)arrival - offsetof(csk_counted_work_t, arrival));
}
static bool is_older(const csk_work_t *a, const csk_work_t *b) { return csk_work_arrival(a) < csk_work_arrival(b); }

void csk_work_stand(csk_workqueue_t *queue, csk_work_t *work) {
    queue->oldest = csk_arrivals_link(queue->oldest, arrival_of(work));
}

void csk_work_leave(csk_workqueue_t *queue, csk_work_t *work) {
    queue->oldest = csk_arrivals_unlink(queue->oldest, &queue->oldest_passed, arrival_of(work), false);
}

/* The newest that is older than `work`, or that the steps lead to. */
static csk_arrival_t *older_than(const csk_workqueue_t *queue, const csk_work_t *work) {
    csk_arrival_t *arrival = queue->oldest->older;
    for (int steps = 1; steps < CSK_ARRIVALS_STEPS && !is_older(work_of(arrival), work); steps++)
        arrival = arrival->older;
    return arrival;
}

void csk_work_note_passes(csk_workqueue_t *queue, const csk_work_t *work) {
    if (!is_older(work_of(queue->oldest), work)) return;
    csk_arrival_t *older = work->kind & WORK_COUNTED ? arrival_of(work)->older : older_than(queue, work);
    csk_arrivals_pass_to(older, &queue->oldest_passed);
}

csk_work_t *csk_work_next_by_limit(const csk_workqueue_t *queue, csk_work_t *next) {
    if (queue->oldest_passed < csk_arrivals_limit(queue->bypass_limit)) return next;
    csk_work_t *overdue = work_of(queue->oldest);
    return is_older(next, overdue) ? next : overdue;
}
