/* workqueue_told.c: waits without a thread at a work queue, for room or for its end, as the metrics and the contention
 * profile count them, and a view shows since when they last. Of threads that wait there told_wait.h has the same.
 *
 * What takes long is done before the wait stands in line: its name is looked up without an internal lock, while the
 * caller keeps the queue, which may be gone when the wait ends. So a thread that finds under the lock that it has to
 * wait, and that waits are reported, leaves the lock and comes back prepared. What is written then belongs to the
 * thread that takes the wait out of its list. */
#include "queue/workqueue.h"

#include "csynckernel/inspect.h"
#include "base/metrics.h"
#include "base/observe.h"
#include "base/profile.h"
#include "wait/waits.h"

__attribute__((noinline, cold)) void csk_workqueue_wait_prepare(const csk_workqueue_t *queue,
                                                                csk_workqueue_wait_t *wait, uint32_t waits_for) {
    char name[CSK_OBSERVED_NAME_SIZE];
    uint32_t counting = csk_load(&csk_counting, CSK_RELAXED) & (CSK_COUNTS_PROFILE | CSK_COUNTS_METRICS);
    *wait = (csk_workqueue_wait_t){ .since_ns = csk_platform_now(),
                                    .counting = counting,
                                    .task = csk_waits_suspended_task() };
    bool has_name = wait->counting != 0 && csk_observe_find_name(queue, CSK_OBJECT_WORKQUEUE, name, sizeof name);
    if (wait->counting & CSK_COUNTS_PROFILE) {
        wait->stack = csk_profile_stack_of_waiter();
        wait->name_number = has_name ? csk_profile_number_of_name(name) : 0;
    }
    if (has_name && (wait->counting & CSK_COUNTS_METRICS))
        wait->counts = csk_metrics_find_named(CSK_OBJECT_WORKQUEUE, waits_for, name);
}

__attribute__((noinline, cold)) void csk_workqueue_wait_count(const csk_workqueue_wait_t *wait, int status) {
    int64_t waited_ns = csk_platform_now() - wait->since_ns;
    csk_metrics_count(wait->counts, waited_ns, status);
    if (wait->counting & CSK_COUNTS_PROFILE)
        csk_profile_count(&(csk_profile_key_t){ .side = CSK_PROFILE_WAITED,
                                                .waiter = CSK_PROFILE_CALLBACK,
                                                .rank = wait->work != NULL ? wait->arrivals : 0,
                                                .stack = wait->stack,
                                                .name = wait->name_number },
                          waited_ns);
}
