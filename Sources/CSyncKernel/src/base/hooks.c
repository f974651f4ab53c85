/* hooks.c: what is done once waits are told: the probes, and the subscribers' functions. See hooks.h. All of it is
 * cold: no path comes here while nobody listens. */
#include "base/hooks.h"

#include "base/report.h"

static const char *find_name(const void *object, uint32_t object_kind, char name[CSK_OBSERVED_NAME_SIZE]) {
    return csk_observe_find_name(object, object_kind, name, CSK_OBSERVED_NAME_SIZE) ? name : NULL;
}

/* Its name is copied before the wait: at the end the object may be gone. */
static __attribute__((noinline, cold)) int await_traced(csk_wait_t *wait, csk_await_t await) {
    char copy[CSK_OBSERVED_NAME_SIZE];
    const csk_wait_t before = *wait;
    const csk_hooks_t *hooks = csk_hooks_attached();
    const char *name = find_name(wait->object, wait->object_kind, copy);
    if (csk_wait_begins_are_traced()) csk_probe_wait_begin(before.object, before.object_kind, before.rank, name);
    int status = hooks != NULL ? hooks->thread_waits(wait, await) : await(wait);
    if (csk_wait_ends_are_traced())
        csk_probe_wait_end(before.object, before.object_kind, before.rank, csk_platform_now() - before.since_ns, status,
                           name);
    return status;
}

__attribute__((cold)) int csk_told_wait(csk_wait_t *wait, csk_await_t await) {
    const csk_hooks_t *hooks = csk_hooks_attached();
    if (wait->since_ns == 0) wait->since_ns = csk_platform_now();
    if (csk_wait_begins_are_traced() || csk_wait_ends_are_traced()) return await_traced(wait, await);
    return hooks != NULL ? hooks->thread_waits(wait, await) : await(wait);
}

__attribute__((cold)) int64_t csk_told_came(int64_t now_ns) {
    const csk_hooks_t *hooks = csk_hooks_attached();
    return hooks != NULL ? hooks->thread_came(now_ns) : 0;
}

__attribute__((cold)) void csk_told_event(uint32_t kind, uint32_t object_kind, const void *object, csk_rank_t rank,
                                          int64_t since_ns) {
    const csk_hooks_t *hooks = csk_hooks_attached();
    char name[CSK_OBSERVED_NAME_SIZE];
    if (kind == CSK_EVENT_WAIT_BEGIN && csk_wait_begins_are_traced())
        csk_probe_wait_begin(object, object_kind, rank, find_name(object, object_kind, name));
    if (hooks != NULL) hooks->event(kind, object_kind, object, rank, since_ns);
}

__attribute__((cold)) void csk_told_end(uint32_t object_kind, const void *object, csk_rank_t rank, int64_t since_ns,
                                        int status) {
    char name[CSK_OBSERVED_NAME_SIZE];
    if (csk_wait_ends_are_traced())
        csk_probe_wait_end(object, object_kind, rank, csk_platform_now() - since_ns, status,
                           find_name(object, object_kind, name));
}

__attribute__((cold)) bool csk_told_callback_waits(const void *object, uint32_t object_kind) {
    const csk_hooks_t *hooks = csk_hooks_attached();
    return hooks != NULL && hooks->lists(object, object_kind);
}

__attribute__((noinline, cold)) void csk_told_called(const csk_called_t *called) {
    const csk_hooks_t *hooks = csk_hooks_attached();
    if (hooks != NULL) hooks->called(called);
    if (!csk_grants_are_traced()) return;
    if (called->is_thread)
        csk_probe_grant(called->object, called->object_kind, called->rank, called->since_ns, called->how);
    if (called->how == GRANTED_THREAD)
        csk_probe_hand_over(called->object, called->object_kind, called->rank, called->since_ns);
}

__attribute__((cold)) bool csk_told_works(const char *name, const csk_told_works_t *works) {
    const csk_hooks_t *hooks = csk_hooks_attached();
    return hooks != NULL && hooks->works(name, works);
}

__attribute__((cold)) int csk_told_work_comes(const char *name, const void *work) {
    const csk_hooks_t *hooks = csk_hooks_attached();
    return hooks != NULL ? hooks->work_comes(name, work) : WORKS_NOT_COUNTED;
}

__attribute__((noinline, cold)) void csk_told_refusal(const void *queue, const void *work, int status, bool name_it) {
    char name[CSK_OBSERVED_NAME_SIZE];
    csk_probe_refusal(queue, name_it ? find_name(queue, CSK_OBJECT_WORKQUEUE, name) : NULL, work, status);
}

__attribute__((noinline, cold)) void csk_told_queue_wait_end(const struct csk_workqueue_wait *wait, int status) {
    const csk_hooks_t *hooks = csk_hooks_attached();
    if (hooks != NULL) hooks->queue_wait_ended(wait, status);
}

__attribute__((cold)) void csk_told_timer(int64_t late_ns) {
    const csk_hooks_t *hooks = csk_hooks_attached();
    if (hooks != NULL) hooks->timer_fires(late_ns);
}
