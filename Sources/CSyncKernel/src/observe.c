#include "csynckernel/observe.h"

#include <stdio.h>

#include "internal/observe.h"

const csk_observer_t *csk_current_observer;
static csk_reporter_t current_reporter;

const csk_observer_t *csk_observe(const csk_observer_t *observer) {
    return csk_exchange(&csk_current_observer, observer, CSK_ACQ_REL);
}

csk_reporter_t csk_set_reporter(csk_reporter_t reporter) { return csk_exchange(&current_reporter, reporter, CSK_ACQ_REL); }

static csk_event_t make_event(uint32_t kind, const void *object, csk_rank_t rank, int64_t since_ns, int status) {
    return (csk_event_t){
        .kind = kind, .status = status, .object = object, .rank = rank,
        .waited_ns = kind == CSK_EVENT_WAIT_BEGIN ? 0 : csk_platform_now() - since_ns,
    };
}

void csk_observe_emit(uint32_t kind, const void *object, csk_rank_t rank, int64_t since_ns, int status) {
    const csk_observer_t *observer = csk_load(&csk_current_observer, CSK_ACQUIRE);
    if (observer == NULL) return;
    csk_event_t event = make_event(kind, object, rank, since_ns, status);
    int before = csk_platform_keep_thread();
    observer->event(observer, &event);
    csk_platform_let_thread_go(before);
}

void csk_write_error(const char *text, size_t length) { csk_platform_write_error(text, length); }

/* One write, so that lines of several threads do not mix. */
static void write_line(const csk_event_t *event) {
    char line[160];
    int saved = errno;
    double waited_s = (double)event->waited_ns / 1e9;
    int length = event->kind == CSK_EVENT_LONG_READ
        ? snprintf(line, sizeof line, "csynckernel: object %p: thread %d reads; a writer has waited for %.1f s\n", event->object, (int)event->thread_id, waited_s)
        : event->kind == CSK_EVENT_THREAD_ENDED_BY_WORK
        ? snprintf(line, sizeof line, "csynckernel: object %p: a work has ended thread %d, a worker, which is replaced\n", event->object, (int)event->thread_id)
        : snprintf(line, sizeof line, "csynckernel: object %p: %s; a thread has waited for %.1f s\n", event->object,
                   csk_status_text(event->status), waited_s);
    csk_platform_write_error(line, (size_t)length);
    errno = saved;
}

void csk_observe_report(uint32_t kind, const void *object, csk_rank_t rank, int64_t since_ns, int status, int32_t thread_id) {
    csk_event_t event = make_event(kind, object, rank, since_ns, status);
    event.thread_id = thread_id;
    const csk_observer_t *observer = csk_load(&csk_current_observer, CSK_ACQUIRE);
    csk_reporter_t reporter = csk_load(&current_reporter, CSK_ACQUIRE);
    /* The thread stands in a queue. */
    int before = csk_platform_keep_thread();
    if (observer != NULL) observer->event(observer, &event);
    (reporter != NULL ? reporter : write_line)(&event);
    csk_platform_let_thread_go(before);
}
