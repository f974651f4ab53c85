/* workqueue_refuse.c: works that will not run. They are told so, and drains wait until they were told. */
#include "queue/workqueue.h"

#include "base/metrics.h"
#include "base/observe.h"

/* For tracers, by the name of csk_name where there is one. The caller keeps the queue, and no lock. */
static __attribute__((noinline, cold)) void trace(const csk_workqueue_t *queue, const void *work, int status) {
    char name[CSK_OBSERVED_NAME_SIZE];
    bool has_name = csk_observe_find_name(queue, CSK_OBJECT_WORKQUEUE, name, sizeof name);
    csk_probe_refusal(queue, has_name ? name : NULL, work, status);
}

__attribute__((noinline, cold)) int csk_work_is_refused(const csk_workqueue_t *queue, const void *work, int status) {
    if (csk_is_counting(CSK_COUNTS_METRICS)) csk_metrics_add_works(queue->name, &(csk_metrics_works_t){ .refused = 1 });
    if (csk_refusals_are_traced()) trace(queue, work, status);
    return status;
}

void csk_work_begin_refusal(csk_workqueue_t *queue, const csk_work_t *first, csk_section_t *section) {
    csk_workqueue_wait_t *none = NULL;
    uint32_t epoch = csk_load(&queue->epoch, CSK_RELAXED);
    *section = (csk_section_t){ .queue = queue, .arrival = INT64_MAX, .epoch = epoch };
    for (const csk_work_t *work = first; work != NULL; work = (const csk_work_t *)work->node.next)
        if (csk_work_arrival(work) < section->arrival) section->arrival = csk_work_arrival(work);
    for (const csk_work_t *work = first; work != NULL; work = (const csk_work_t *)work->node.next)
        if (csk_work_arrival(work) != section->arrival) csk_work_account(queue, csk_work_arrival(work), &none);
    queue->refusing++;
    csk_workqueue_pin(queue);
}

void csk_work_refuse(csk_work_t *first, csk_section_t *section) {
    csk_workqueue_t *queue = section->queue;
    csk_workqueue_wait_t *done = NULL;
    csk_metrics_works_t told = { 0 };
    int before = csk_platform_keep_thread(); /* for the works that have not been told yet */
    csk_section_enter(section);
    while (first != NULL && !csk_section_is_over(section)) {
        csk_work_t *work = first;
        first = (csk_work_t *)work->node.next;
        if (csk_refusals_are_traced()) trace(queue, work, ECANCELED);
        told.dropped++;
        if (work->kind & WORK_TIMED) csk_metrics_take_stamp(queue->name, work);
        if (work->kind & WORK_SYNC) csk_sync_call_answer(csk_sync_call_of(work), CALL_REFUSED);
        else work->function(work, ECANCELED);
    }
    csk_section_leave(section);
    csk_platform_let_thread_go(before);
    if (CSK_UNLIKELY(csk_section_is_over(section))) return;
    if (csk_is_counting(CSK_COUNTS_METRICS)) csk_metrics_add_works(queue->name, &told);
    csk_workqueue_lock(queue);
    queue->refusing--;
    csk_work_account(queue, section->arrival, &done);
    csk_workqueue_unlock(queue);
    csk_waits_call(done);
    if (CSK_LIKELY(!csk_section_is_over(section))) csk_workqueue_unpin(queue);
}
