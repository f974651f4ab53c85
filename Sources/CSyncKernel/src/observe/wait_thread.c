/* wait_thread.c: waits of threads reach the observer, the contention profile, the metrics and the deadlock watch.
 *
 * What takes long is done at the beginning, while the thread would wait anyway. The object must exist then, and may be
 * gone at the end: its name is copied. A thread whose deadline has passed is out of the queue, and a gate may be closed
 * and freed before its call has returned. An observer that missed the start of a wait gets no end event.
 *
 * Of the profile it is the side of the waiter, and of whom a leaver calls, that of the leaver. */
#include "observe/subscriber.h"

#include "observe/metrics.h"
#include "observe/profile.h"
#include "wait/waits.h"

/* What is kept from the beginning of a wait to its end. */
typedef struct {
    const void *object;
    csk_rank_t rank;
    int64_t since_ns;
    uint32_t object_kind;
    uint32_t counting;                  /* what counted at the beginning: CSK_COUNTS_... */
    uint32_t name_number, stack_number; /* of the profile */
    bool observed, has_name;
    csk_metrics_waits_t *waits;
    const csk_stack_t *outer;
    csk_stack_t stack;
    char name[CSK_OBSERVED_NAME_SIZE];
} seen_t;

static void observe(const seen_t *seen, uint32_t kind, int status) {
    if (seen->observed)
        csk_observer_hears_named(kind, seen->object_kind, seen->object, seen->has_name ? seen->name : NULL, seen->rank,
                                 seen->since_ns, status);
}

/* The metrics count apart what is waited for at a work queue. The profile does not count waits for a signal: that is a
 * wait for work. */
static void begin(seen_t *seen, const csk_wait_t *wait) {
    uint32_t waits_for = wait->object_kind == CSK_OBJECT_WORKQUEUE ? wait->waits_for : CSK_WAITS_OTHER;
    seen->object = wait->object;
    seen->object_kind = wait->object_kind;
    seen->rank = wait->rank;
    seen->since_ns = wait->since_ns;
    seen->counting = csk_load(&csk_counting, CSK_RELAXED);
    if (wait->object_kind == CSK_OBJECT_COND) seen->counting &= ~(uint32_t)CSK_COUNTS_PROFILE;
    seen->observed = csk_is_observed();
    seen->waits = NULL;
    seen->name_number = 0;
    seen->has_name = (seen->observed || (seen->counting & (CSK_COUNTS_PROFILE | CSK_COUNTS_METRICS))) &&
                     csk_observe_find_name(seen->object, seen->object_kind, seen->name, sizeof seen->name);
    if (seen->has_name && (seen->counting & CSK_COUNTS_METRICS))
        seen->waits = csk_metrics_find_named(seen->object_kind, waits_for, seen->name);
    if (seen->has_name && (seen->counting & CSK_COUNTS_PROFILE))
        seen->name_number = csk_profile_number_of_name(seen->name);
    if (seen->counting & (CSK_COUNTS_PROFILE | CSK_COUNTS_STACKS)) csk_stack_take(&seen->stack);
    if (seen->counting & CSK_COUNTS_PROFILE) seen->stack_number = csk_profile_stack_number(&seen->stack);
    observe(seen, CSK_EVENT_WAIT_BEGIN, 0);
    if (seen->counting & CSK_COUNTS_STACKS) seen->outer = csk_waits_show_stack(&seen->stack);
}

static void end(const seen_t *seen, int status) {
    if (seen->counting & CSK_COUNTS_STACKS) csk_waits_show_stack(seen->outer);
    observe(seen, CSK_EVENT_WAIT_END, status);
    int64_t waited_ns = csk_platform_now() - seen->since_ns;
    csk_metrics_count(seen->waits, waited_ns, status);
    if (seen->counting & CSK_COUNTS_PROFILE)
        csk_profile_count(&(csk_profile_key_t){ .side = CSK_PROFILE_WAITED,
                                                .waiter = CSK_PROFILE_THREAD,
                                                .rank = seen->rank,
                                                .stack = seen->stack_number,
                                                .name = seen->name_number },
                          waited_ns);
}

int csk_subscribed_wait(csk_wait_t *wait, csk_await_t await) {
    seen_t seen;
    begin(&seen, wait);
    int status = await(wait);
    end(&seen, status);
    return status;
}

/* ---- Without a place in a queue ---------------------------------------------------------------------------------- */

/* The lowest bit of the time says whether the profile samples this attempt. The draw is made here: after the spinning
 * the thread holds the object, and others wait for it. Measured in docs/design/profile.md. */
enum { LOOK = 1, ONE_LOOK_IN = 16 };

int64_t csk_subscribed_came(int64_t now_ns) {
    if (!csk_is_counting(CSK_COUNTS_PROFILE | CSK_COUNTS_METRICS)) return 0;
    bool is_drawn = csk_is_counting(CSK_COUNTS_PROFILE) && csk_profile_draw() % ONE_LOOK_IN == 0;
    return (int64_t)((uint64_t)now_ns & ~(uint64_t)LOOK) | (is_drawn ? LOOK : 0);
}

/* For the profile a look counts as ONE_LOOK_IN such waits if it was drawn, and as none otherwise. */
void csk_subscribed_entered(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns, bool looked) {
    uint32_t one_in = !looked ? 1 : since_ns & LOOK ? ONE_LOOK_IN : 0;
    if (csk_is_counting(CSK_COUNTS_METRICS)) csk_metrics_waited(object, object_kind, since_ns, 0);
    if (one_in != 0 && csk_is_counting(CSK_COUNTS_PROFILE))
        csk_profile_waited(object, object_kind, rank, since_ns, one_in);
}

void csk_subscribed_called(const csk_called_t *called) {
    if (called->waited_ns != 0 && csk_profile_is_on())
        csk_profile_let_in(CSK_PROFILE_THREAD, called->rank, called->waited_ns, called->again, 1);
}
