/* report.c: faults that the kernel has found, as events and as lines. See report.h. */
#include "base/report.h"

#include <stdio.h>

#include "base/hooks.h"

#include "csynckernel/mark.h"

static csk_reporter_t current_reporter;

csk_reporter_t csk_set_reporter(csk_reporter_t reporter) {
    return csk_exchange(&current_reporter, reporter, CSK_ACQ_REL);
}

size_t (*csk_observe_name)(const void *object, uint32_t kind, char *buffer, size_t size);

enum { NAME_SIZE = CSK_OBSERVED_NAME_SIZE };

bool csk_observe_find_name(const void *object, uint32_t object_kind, char *name, size_t size) {
    size_t (*name_of)(const void *, uint32_t, char *, size_t) = csk_load(&csk_observe_name, CSK_RELAXED);
    return name_of != NULL && name_of(object, object_kind, name, size) != 0;
}

/* Writes the object's name into `name`, if it has one, and the event says so. */
static void find_name(csk_event_t *event, char name[NAME_SIZE]) {
    if (csk_observe_find_name(event->object, event->object_kind, name, NAME_SIZE)) event->name = name;
}

csk_event_t csk_observe_event(uint32_t kind, uint32_t object_kind, const void *object, csk_rank_t rank,
                              int64_t since_ns, int status) {
    return (csk_event_t){
        .kind = kind,
        .object_kind = object_kind,
        .status = status,
        .object = object,
        .rank = rank,
        .waited_ns = kind == CSK_EVENT_WAIT_BEGIN ? 0 : csk_platform_now() - since_ns,
    };
}

static int describe_memory(const csk_event_t *event, char *text, size_t size) {
    double waited_s = (double)event->waited_ns / 1e9;
    long long retired = (long long)event->rank;
    if (event->status == 0)
        return snprintf(text, size, "reclaiming goes on after %.1f s: the read sections have ended; %lld retired nodes",
                        waited_s, retired);
    return snprintf(text, size, "reclaiming has waited for %.1f s for read sections, with %lld retired nodes: %.400s",
                    waited_s, retired, event->name != NULL ? event->name : "of no thread that is known here");
}

/* Writes what the line says about the object's state. */
static int describe(const csk_event_t *event, char *text, size_t size) {
    double waited_s = (double)event->waited_ns / 1e9;
    char object[128];
    if (event->name == NULL) snprintf(object, sizeof object, "object %p", event->object);
    else snprintf(object, sizeof object, "\"%.96s\" at %p", event->name, event->object);
    switch (event->kind) {
    case CSK_EVENT_MEMORY_WAITS: return describe_memory(event, text, size);
    case CSK_EVENT_LONG_READ:
        return snprintf(text, size, "%s: thread %d reads; a writer has waited for %.1f s", object,
                        (int)event->thread_id, waited_s);
    case CSK_EVENT_POOL_STUCK:
        return snprintf(text, size,
                        "no worker comes for queue %p \"%.64s\", which has waited for %.1f s: the pool is at its limit",
                        event->object, event->name != NULL ? event->name : "", waited_s);
    case CSK_EVENT_HELD_BACK:
        return snprintf(text, size,
                        "threads of the library stay as nice as who started them: the system permits no less");
    case CSK_EVENT_THREAD_ENDED_BY_WORK:
        if (event->object == NULL && event->name != NULL)
            return snprintf(text, size, "a function has ended thread %d of the library, \"%.64s\", which is replaced",
                            (int)event->thread_id, event->name);
        if (event->name == NULL)
            return snprintf(text, size, "object %p: a work has ended thread %d, a worker, which is replaced",
                            event->object, (int)event->thread_id);
        return snprintf(text, size, "queue %p \"%.64s\": a work has ended thread %d, a worker, which is replaced",
                        event->object, event->name, (int)event->thread_id);
    case CSK_EVENT_LOCK_ORDER:
        return snprintf(text, size, "locks are taken in a circle: %.200s; csk_order_print shows where", event->name);
    case CSK_EVENT_QUEUE_STALLED:
        return snprintf(text, size,
                        "queue %p \"%.64s\" is stalled: thread %d, which runs its work, has waited for %.1f s",
                        event->object, event->name != NULL ? event->name : "", (int)event->thread_id, waited_s);
    case CSK_EVENT_LONG_WAIT:
        return snprintf(text, size, "%s: %s %d, which must not block, has waited for it for %.1f s", object,
                        event->rank == CSK_THREAD_MAIN ? "the main thread" : "thread", (int)event->thread_id, waited_s);
    default:
        return snprintf(text, size, "%s: %s; a thread has waited for %.1f s", object, csk_status_text(event->status),
                        waited_s);
    }
}

void csk_write_error(const char *text, size_t length) { csk_platform_write_error(text, length); }

/* Its text names each party, and is as long as there are parties. */
static void write_deadlock(const csk_event_t *event) {
    char line[2400];
    int saved = errno, length = snprintf(line, sizeof line, "csynckernel: deadlock: %.2300s\n", event->name);
    csk_platform_write_error(line, (size_t)length);
    errno = saved;
}

/* Uses one write, so that lines of several threads do not mix. */
static void write_line(const csk_event_t *event) {
    if (event->kind == CSK_EVENT_DEADLOCK) {
        write_deadlock(event);
        return;
    }
    char text[512], line[600];
    int saved = errno;
    describe(event, text, sizeof text);
    int length = event->running != NULL
                     ? snprintf(line, sizeof line, "csynckernel: %s (in work of \"%.48s\")\n", text, event->running)
                     : snprintf(line, sizeof line, "csynckernel: %s\n", text);
    csk_platform_write_error(line, (size_t)length);
    errno = saved;
}

const char *(*csk_observe_running)(void);

static void report(csk_event_t *event) {
    const char *(*running)(void) = csk_load(&csk_observe_running, CSK_RELAXED);
    event->running = running != NULL ? running() : NULL;
    const csk_hooks_t *hooks = csk_hooks_attached();
    csk_reporter_t reporter = csk_load(&current_reporter, CSK_ACQUIRE);
    /* The thread stands in a queue, so it must not be cancelled here. */
    int before = csk_platform_keep_thread();
    if (hooks != NULL) hooks->reported(event);
    (reporter != NULL ? reporter : write_line)(event);
    csk_platform_let_thread_go(before);
}

void csk_observe_report(uint32_t kind, uint32_t object_kind, const void *object, csk_rank_t rank, int64_t since_ns,
                        int status, int32_t thread_id) {
    char name[NAME_SIZE];
    csk_event_t event = csk_observe_event(kind, object_kind, object, rank, since_ns, status);
    event.thread_id = thread_id;
    find_name(&event, name);
    report(&event);
}

/* The object may be gone. `rank` is what the kind of event says it is. */
static void report_named(uint32_t kind, uint32_t object_kind, const void *object, const char *name, int64_t rank,
                         int64_t since_ns, int status, int32_t thread_id) {
    char given[NAME_SIZE];
    csk_event_t event = csk_observe_event(kind, CSK_OBJECT_OTHER, object, rank, since_ns, status);
    event.thread_id = thread_id;
    event.name = name;
    find_name(&event, given);
    event.object_kind = object_kind;
    report(&event);
}
void csk_observe_report_named(uint32_t kind, uint32_t object_kind, const void *object, const char *name,
                              int64_t since_ns, int status, int32_t thread_id) {
    report_named(kind, object_kind, object, name, 0, since_ns, status, thread_id);
}
void csk_observe_report_long_wait(uint32_t object_kind, const void *object, const char *name, int64_t since_ns,
                                  int32_t thread_id, uint32_t thread_kind) {
    report_named(CSK_EVENT_LONG_WAIT, object_kind, object, name, (int64_t)thread_kind, since_ns, EBUSY, thread_id);
}

static void report_text(csk_event_t event, const char *text, int32_t thread_id) {
    event.name = text;
    event.thread_id = thread_id;
    report(&event);
}

void csk_observe_report_circle(uint32_t object_kind, const void *object, const char *text) {
    csk_event_t event = csk_observe_event(CSK_EVENT_LOCK_ORDER, object_kind, object, 0, 0, EDEADLK);
    event.waited_ns = 0;
    report_text(event, text, csk_platform_thread_id());
}

void csk_observe_report_deadlock(uint32_t object_kind, const void *object, const char *text, int64_t since_ns,
                                 int32_t thread_id) {
    report_text(csk_observe_event(CSK_EVENT_DEADLOCK, object_kind, object, 0, since_ns, EDEADLK), text, thread_id);
}

void csk_observe_report_memory(const char *text, uint64_t count, int64_t since_ns, int status, int32_t thread_id) {
    csk_rank_t retired = (csk_rank_t)count;
    report_text(csk_observe_event(CSK_EVENT_MEMORY_WAITS, CSK_OBJECT_OTHER, NULL, retired, since_ns, status), text,
                thread_id);
}

/* Reports this once: the next thread will be held back by the same. */
static void report_held_back(int error) {
    static uint32_t reported;
    if (csk_exchange(&reported, 1u, CSK_RELAXED) == 0)
        csk_observe_report(CSK_EVENT_HELD_BACK, CSK_OBJECT_OTHER, NULL, 0, csk_platform_now(), error,
                           csk_platform_thread_id());
}

static void report_replaced(const char *name) {
    csk_observe_report_named(CSK_EVENT_THREAD_ENDED_BY_WORK, CSK_OBJECT_OTHER, NULL, name, csk_platform_now(),
                             ECANCELED, csk_platform_thread_id());
}
__attribute__((constructor(101))) static void hear_of_threads(void) {
    csk_platform_held_back = report_held_back;
    csk_platform_replaced = report_replaced;
}
