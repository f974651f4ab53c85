/* subscriber.c: the table of what the layer `observe` hears. See base/hooks.h. */
#include "observe/subscriber.h"

#include "observe/counting.h"
#include "observe/listed.h"
#include "observe/metrics.h"

uint32_t csk_counting;

static void event(uint32_t kind, uint32_t object_kind, const void *object, csk_rank_t rank, int64_t since_ns) {
    csk_observer_hears(kind, object_kind, object, rank, since_ns, 0);
}

static bool works(const char *name, const csk_told_works_t *of) {
    bool counts = csk_is_counting(CSK_COUNTS_METRICS);
    if (counts) csk_metrics_add_works(name, of);
    return counts;
}
static int work_comes(const char *name, const void *work) {
    if (!csk_is_counting(CSK_COUNTS_METRICS)) return WORKS_NOT_COUNTED;
    return csk_metrics_stamp(name, work) ? WORK_IS_TIMED : WORK_NOT_TIMED;
}
static void timer_fires(int64_t late_ns) {
    if (csk_is_counting(CSK_COUNTS_METRICS)) csk_metrics_late(late_ns);
}

static const csk_hooks_t hooks = {
    .thread_waits = csk_subscribed_wait,
    .thread_came = csk_subscribed_came,
    .thread_entered = csk_subscribed_entered,
    .callback_waits = csk_subscribed_callback,
    .callback_ended = csk_subscribed_callback_end,
    .lists = csk_listed_add,
    .takes_off = csk_listed_take_off,
    .event = event,
    .lets_in = csk_subscribed_grants,
    .called = csk_subscribed_called,
    .queue_wait_begins = csk_subscribed_queue_wait,
    .queue_wait_ended = csk_subscribed_queue_wait_end,
    .works = works,
    .work_comes = work_comes,
    .work_taken = csk_metrics_take_stamp,
    .work_ran = csk_metrics_ran,
    .timer_fires = timer_fires,
    .reported = csk_observer_hears_report,
};

void csk_subscribe(void) { csk_store(&csk_hooks, &hooks, CSK_RELAXED); }
