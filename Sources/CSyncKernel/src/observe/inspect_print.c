/* inspect_print.c: a view as text and as JSON. */
#include <sys/mman.h>

#include "base/platform.h"
#include "base/sizes.h"
#include "base/text.h"
#include "csynckernel/inspect.h"
#include "csynckernel/pool.h"
#include "observe/writer.h"

enum { VIEW_OBJECTS = 1024, VIEW_WAITERS = 8192 };

/* ---- Pieces ------------------------------------------------------------------------------------------------------ */

static int64_t priority_of(csk_rank_t rank) { return rank >> 2; }

/* How long, in the unit that reads best. */
static void put_span(writer_t *to, int64_t ns) {
    if (ns < 0) ns = 0;
    if (ns < 1000000) putf(to, "%lld us", (long long)(ns / 1000));
    else if (ns < 10000000000) putf(to, "%lld ms", (long long)(ns / 1000000));
    else putf(to, "%lld s", (long long)(ns / 1000000000));
}

static const char *const kinds[] = { "object",         "gate",       "rwlock",     "semaphore",   "condition variable",
                                     "priority queue", "work queue", "FIFO queue", "actor queue", "resource pool",
                                     "task queue" };
static const char *const kind_names[] = { "other",       "gate",          "rwlock",    "sem",
                                          "cond",        "pqueue",        "workqueue", "fifo_queue",
                                          "actor_queue", "resource_pool", "task_queue" };
static const char *const purposes[] = {
    "waits",        "to enter", "for its predicate",   "for a signal",  "for permits",
    "to read",      "to write", "to upgrade",          "for an item",   "for a place",
    "for its turn", "for room", "until it is drained", "for a resource"
};
static const char *const purpose_names[] = {
    "other",   "enter", "predicate", "signal", "permits", "read",    "write",
    "upgrade", "item",  "place",     "turn",   "room",    "drained", "resource"
};
static const char *const holder_names[] = { "nobody", "thread", "readers", "callback",
                                            "ended",  "caller", "unknown", "task" };

#define NAME_IN(names, at) ((at) < sizeof(names) / sizeof *(names) ? (names)[at] : (names)[0])

/* ---- Text -------------------------------------------------------------------------------------------------------- */

/* thread 4711 "name" (number 3) */
static void put_thread(writer_t *to, const csk_inspected_thread_t *thread) {
    if (thread->id != 0) putf(to, "thread %d", (int)thread->id);
    else putf(to, "the thread with the pointer 0x%llx", (unsigned long long)thread->identity);
    if (thread->name[0] != 0) putf(to, " \"%s\"", thread->name);
    if (thread->number != 0) putf(to, " (number %llu)", (unsigned long long)thread->number);
}

static void put_holder(writer_t *to, const csk_inspected_object_t *object) {
    const csk_inspected_holder_t *holder = &object->holder;
    switch (holder->kind) {
    case CSK_HELD_BY_THREAD:
        put(to, object->kind == CSK_OBJECT_WORKQUEUE ? ", runs on " : ", held by ");
        put_thread(to, &holder->thread);
        break;
    case CSK_HELD_BY_READERS:
        putf(to, ", read by %u", holder->count);
        if (holder->thread.id != 0) put(to, ", among them "), put_thread(to, &holder->thread);
        break;
    case CSK_HELD_BY_CALLBACK:
        put(to, ", held by a callback");
        if (holder->waiter != NULL) putf(to, " that has not taken it over (waiter %p)", holder->waiter);
        break;
    case CSK_HELD_BY_ENDED:
        put(to, ", held for good by ");
        put_thread(to, &holder->thread);
        put(to, ", which has ended");
        break;
    case CSK_HELD_BY_TASK:
        put(to, ", held by task");
        if (holder->task != 0) putf(to, " 0x%llx", (unsigned long long)holder->task);
        if (holder->task_name[0] != 0) put(to, " \""), put(to, holder->task_name), put(to, "\"");
        if (holder->count > 1) putf(to, " and %u more", holder->count - 1);
        break;
    case CSK_HELD_BY_CALLER: put(to, ", runs on a caller's thread"); break;
    case CSK_HELD_BY_UNKNOWN: put(to, ", who holds it is not known"); break;
    default: break;
    }
}

static void put_numbers(writer_t *to, const csk_inspected_object_t *object) {
    bool known = !(object->flags & CSK_INSPECT_BUSY);
    if (object->kind == CSK_OBJECT_SEM) {
        putf(to, ", %lld", (long long)object->count);
        /* There may be more than it began with. */
        if (object->count <= (int64_t)object->most) putf(to, " of %llu", (unsigned long long)object->most);
        put(to, " permits free");
    }
    if (object->kind == CSK_OBJECT_PQUEUE && known) putf(to, ", %lld items", (long long)object->count);
    if (object->kind == CSK_OBJECT_WORKQUEUE && known)
        putf(to, ", %s%lld works wait, %u of %u run", object->flags & CSK_INSPECT_AT_LEAST ? "at least " : "",
             (long long)object->count, object->running, object->width);
    if (object->most != 0 && object->kind != CSK_OBJECT_SEM && known)
        putf(to, ", room for %llu", (unsigned long long)object->most);
}

static void put_object(writer_t *to, const csk_inspection_t *view, const csk_inspected_object_t *object) {
    putf(to, "%s %p", NAME_IN(kinds, object->kind), object->address);
    if (object->name[0] != 0) put(to, " \""), put(to, object->name), put(to, "\"");
    if (object->gate != NULL) putf(to, " of gate %p", object->gate);
    put_holder(to, object);
    put_numbers(to, object);
    if (object->flags & CSK_INSPECT_CLOSED) put(to, ", closed");
    if (object->flags & CSK_INSPECT_SUSPENDED) put(to, ", suspended");
    if (object->flags & CSK_INSPECT_RUNS) put(to, ", served by a worker");
    if (object->running_ns != 0) put(to, ", its work has run for "), put_span(to, view->ended_ns - object->running_ns);
    if (object->flags & CSK_INSPECT_POSTED) put(to, ", waits for a worker");
    if (object->posted_ns != 0) put(to, " since "), put_span(to, view->began_ns - object->posted_ns);
    if (object->flags & CSK_INSPECT_BUSY) put(to, ", busy: not all of it could be read");
    if (object->waiting != 0) putf(to, "; %llu wait", (unsigned long long)object->waiting);
    if (object->since_ns != 0) put(to, ", the first for "), put_span(to, view->began_ns - object->since_ns);
    if (object->waiting > object->waiter_count) putf(to, "; %u shown", object->waiter_count);
    put(to, "\n");
}

static void put_waiter(writer_t *to, const csk_inspection_t *view, const csk_inspected_waiter_t *waiter) {
    put(to, "  ");
    if (waiter->kind == CSK_WAITER_THREAD) put_thread(to, &waiter->thread);
    else if (waiter->function != NULL) putf(to, "callback %p, function %p", waiter->waiter, waiter->function);
    else if (waiter->task != 0) putf(to, "a task, waiter %p,", waiter->waiter);
    else putf(to, "work %p", waiter->waiter);
    putf(to, " waits %s", NAME_IN(purposes, waiter->waits_for));
    if (waiter->task != 0) putf(to, " as task 0x%llx", (unsigned long long)waiter->task);
    if (waiter->task_name[0] != 0) put(to, " \""), put(to, waiter->task_name), put(to, "\"");
    if (waiter->permits > 1) putf(to, " (%u)", waiter->permits);
    putf(to, ", priority %lld", (long long)priority_of(waiter->rank));
    if (waiter->since_ns != 0) put(to, ", for "), put_span(to, view->began_ns - waiter->since_ns);
    if (waiter->deadline_ns != CSK_NEVER)
        put(to, ", for at most "), put_span(to, waiter->deadline_ns - view->began_ns), put(to, " more");
    if (waiter->wait != 0) putf(to, ", wait %llu", (unsigned long long)waiter->wait);
    put(to, "\n");
}

static void put_pool(writer_t *to, const csk_inspection_t *view) {
    const csk_inspected_pool_t *pool = &view->pool;
    if (pool->busy) {
        put(to, "pool: busy\n");
        return;
    }
    if (pool->workers == 0 && pool->queued == 0) return;
    putf(to, "pool: %u workers of %u at most, %u idle, %u wait inside the library; %llu queues wait for a worker",
         pool->workers, pool->most, pool->idle, pool->waiting, (unsigned long long)pool->queued);
    if (pool->stalled_ns != 0) put(to, "; it makes no headway for "), put_span(to, view->began_ns - pool->stalled_ns);
    put(to, "\n");
}

static void put_timers(writer_t *to, const csk_inspection_t *view) {
    const csk_inspected_timers_t *timers = &view->timers;
    if (timers->busy) put(to, "timers: busy\n");
    else if (timers->count != 0 || timers->firing) {
        putf(to, "timers: %llu", (unsigned long long)timers->count);
        if (timers->next_ns != CSK_NEVER) put(to, ", the next in "), put_span(to, timers->next_ns - view->began_ns);
        if (timers->firing) put(to, ", one runs its function");
        put(to, "\n");
    }
}

static void put_text(writer_t *to, const csk_inspection_t *view) {
    putf(to, "process %d: %u waiters at %u objects, %llu threads known; taken in ", (int)view->process,
         view->waiter_count, view->object_count, (unsigned long long)view->threads);
    put_span(to, view->ended_ns - view->began_ns);
    put(to, "\n");
    if (view->list_busy) put(to, "busy: more threads, callbacks or tasks may wait\n");
    if (!view->lists_callbacks) put(to, "callbacks are shown where a thread waits for the same\n");
    if (view->objects_left_out + view->waiters_left_out + view->records_busy != 0)
        putf(to, "left out: %llu objects, %llu waiters, %llu threads that were busy\n",
             (unsigned long long)view->objects_left_out, (unsigned long long)view->waiters_left_out,
             (unsigned long long)view->records_busy);
    put_pool(to, view);
    put_timers(to, view);
    for (uint32_t i = 0; i < view->object_count; i++) {
        const csk_inspected_object_t *object = &view->objects[i];
        put(to, "\n");
        put_object(to, view, object);
        const csk_inspected_waiter_t *waiters = &view->waiters[object->first_waiter];
        for (uint32_t w = 0; w < object->waiter_count; w++) put_waiter(to, view, &waiters[w]);
    }
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* A name may have been cut inside of a character. */
static void put_string(writer_t *to, const char *text) {
    put(to, "\"");
    while (*text != 0) {
        size_t length = csk_utf8_length(text);
        if (length == 0) put(to, "\\ufffd");
        else if (*text == '"' || *text == '\\') putf(to, "\\%c", *text);
        else if ((unsigned char)*text < ' ') putf(to, "\\u%04x", (unsigned)(unsigned char)*text);
        else put_bytes(to, text, length);
        text += length != 0 ? length : 1;
    }
    put(to, "\"");
}

static void put_key_string(writer_t *to, const char *key, const char *text) {
    putf(to, ",\"%s\":", key);
    put_string(to, text);
}
static void put_number(writer_t *to, const char *key, int64_t number) {
    putf(to, ",\"%s\":%lld", key, (long long)number);
}
static void put_address(writer_t *to, const char *key, const void *address) {
    if (address != NULL) putf(to, ",\"%s\":\"0x%llx\"", key, (unsigned long long)(uintptr_t)address);
}
static void put_task(writer_t *to, uint64_t task) {
    if (task != 0) putf(to, ",\"task\":\"0x%llx\"", (unsigned long long)task);
}
/* How long ago, in nanoseconds; left out where that is not known. */
static void put_ago(writer_t *to, const char *key, const csk_inspection_t *view, int64_t at_ns) {
    if (at_ns != 0) put_number(to, key, at_ns < view->began_ns ? view->began_ns - at_ns : 0);
}
static void put_flag(writer_t *to, const char *key, bool flag) {
    if (flag) putf(to, ",\"%s\":true", key);
}

static void put_json_thread(writer_t *to, const char *key, const csk_inspected_thread_t *thread) {
    if (thread->id == 0 && thread->identity == 0) return;
    putf(to, ",\"%s\":{\"id\":%d", key, (int)thread->id);
    if (thread->number != 0) putf(to, ",\"number\":%llu", (unsigned long long)thread->number);
    if (thread->identity != 0) putf(to, ",\"identity\":\"0x%llx\"", (unsigned long long)thread->identity);
    if (thread->name[0] != 0) put_key_string(to, "name", thread->name);
    put(to, "}");
}

static void put_json_waiter(writer_t *to, const csk_inspection_t *view, const csk_inspected_waiter_t *waiter) {
    putf(to, "{\"kind\":\"%s\",\"for\":\"%s\"", waiter->kind == CSK_WAITER_THREAD ? "thread" : "callback",
         NAME_IN(purpose_names, waiter->waits_for));
    put_number(to, "priority", priority_of(waiter->rank));
    put_number(to, "place", waiter->rank & 3);
    put_json_thread(to, "thread", &waiter->thread);
    if (waiter->wait != 0) put_number(to, "wait", (int64_t)waiter->wait);
    put_ago(to, "waited_ns", view, waiter->since_ns);
    if (waiter->deadline_ns != CSK_NEVER) put_number(to, "left_ns", waiter->deadline_ns - view->began_ns);
    if (waiter->permits != 0) put_number(to, "permits", waiter->permits);
    put_address(to, "waiter", waiter->waiter);
    put_address(to, "function", waiter->function);
    put_task(to, waiter->task);
    if (waiter->task_name[0] != 0) put_key_string(to, "task_name", waiter->task_name);
    put_address(to, "lane", waiter->lane);
    put(to, "}");
}

static void put_json_object(writer_t *to, const csk_inspection_t *view, const csk_inspected_object_t *object) {
    putf(to, "{\"kind\":\"%s\"", NAME_IN(kind_names, object->kind));
    put_address(to, "address", object->address);
    if (object->name[0] != 0) put_key_string(to, "name", object->name);
    put_address(to, "gate", object->gate);
    putf(to, ",\"holder\":{\"kind\":\"%s\"", NAME_IN(holder_names, object->holder.kind));
    if (object->holder.count != 0) put_number(to, "count", object->holder.count);
    put_json_thread(to, "thread", &object->holder.thread);
    put_address(to, "waiter", object->holder.waiter);
    put_task(to, object->holder.task);
    if (object->holder.task_name[0] != 0) put_key_string(to, "task_name", object->holder.task_name);
    put_address(to, "lane", object->holder.lane);
    put(to, "}");
    put_number(to, "waiting", (int64_t)object->waiting);
    put_ago(to, "waited_ns", view, object->since_ns);
    put_ago(to, "posted_for_ns", view, object->posted_ns);
    put_ago(to, "running_for_ns", view, object->running_ns);
    if (object->kind == CSK_OBJECT_SEM || object->kind == CSK_OBJECT_PQUEUE || object->kind == CSK_OBJECT_WORKQUEUE) {
        put_number(to, "count", object->count);
        put_number(to, "most", (int64_t)object->most);
    }
    if (object->kind == CSK_OBJECT_WORKQUEUE) put_number(to, "running", object->running);
    if (object->kind == CSK_OBJECT_WORKQUEUE) put_number(to, "width", object->width);
    put_flag(to, "busy", object->flags & CSK_INSPECT_BUSY);
    put_flag(to, "more", object->flags & CSK_INSPECT_MORE);
    put_flag(to, "closed", object->flags & CSK_INSPECT_CLOSED);
    put_flag(to, "suspended", object->flags & CSK_INSPECT_SUSPENDED);
    put_flag(to, "posted", object->flags & CSK_INSPECT_POSTED);
    put_flag(to, "runs", object->flags & CSK_INSPECT_RUNS);
    put_flag(to, "at_least", object->flags & CSK_INSPECT_AT_LEAST);
    put(to, ",\"waiters\":[");
    for (uint32_t i = 0; i < object->waiter_count; i++) {
        if (i != 0) put(to, ",");
        put_json_waiter(to, view, &view->waiters[object->first_waiter + i]);
    }
    put(to, "]}");
}

static void put_json_pool(writer_t *to, const csk_inspection_t *view) {
    const csk_inspected_pool_t *pool = &view->pool;
    putf(to, ",\"pool\":{\"busy\":%s", pool->busy ? "true" : "false");
    put_number(to, "workers", pool->workers);
    put_number(to, "idle", pool->idle);
    put_number(to, "waiting", pool->waiting);
    put_number(to, "wanted", pool->wanted);
    put_number(to, "most", pool->most);
    put_number(to, "queued", (int64_t)pool->queued);
    put_ago(to, "stalled_for_ns", view, pool->stalled_ns);
    put(to, "},\"workers\":[");
    for (uint32_t i = 0; i < view->worker_count; i++) {
        const csk_inspected_worker_t *worker = &view->workers[i];
        putf(to, "%s{\"idle\":%s,\"waits\":%s", i != 0 ? "," : "", worker->idle ? "true" : "false",
             worker->waits ? "true" : "false");
        put_json_thread(to, "thread", &worker->thread);
        put_address(to, "queue", worker->queue);
        put_ago(to, "running_for_ns", view, worker->running_ns);
        put(to, "}");
    }
    put(to, "]");
}

static void put_json(writer_t *to, const csk_inspection_t *view) {
    putf(to, "{\"process\":%d", (int)view->process);
    put_number(to, "began_ns", view->began_ns);
    put_number(to, "took_ns", view->ended_ns - view->began_ns);
    put_number(to, "threads", (int64_t)view->threads);
    putf(to, ",\"busy\":%s,\"lists_callbacks\":%s", view->list_busy ? "true" : "false",
         view->lists_callbacks ? "true" : "false");
    putf(to, ",\"left_out\":{\"objects\":%llu", (unsigned long long)view->objects_left_out);
    put_number(to, "waiters", (int64_t)view->waiters_left_out);
    put_number(to, "workers", (int64_t)view->workers_left_out);
    put_number(to, "threads", (int64_t)view->records_busy);
    put_number(to, "callbacks", (int64_t)view->callbacks_unlisted);
    put(to, "}");
    put_json_pool(to, view);
    putf(to, ",\"timers\":{\"busy\":%s,\"firing\":%s", view->timers.busy ? "true" : "false",
         view->timers.firing ? "true" : "false");
    put_number(to, "count", (int64_t)view->timers.count);
    if (!view->timers.busy && view->timers.next_ns != CSK_NEVER)
        put_number(to, "next_in_ns", view->timers.next_ns - view->began_ns);
    put(to, "},\"objects\":[");
    for (uint32_t i = 0; i < view->object_count; i++) {
        if (i != 0) put(to, ",\n");
        put_json_object(to, view, &view->objects[i]);
    }
    put(to, "]}\n");
}

/* ---- A view ------------------------------------------------------------------------------------------------------ */

static int print(const csk_inspection_t *view, uint32_t format, csk_print_t function, void *context) {
    writer_t to = { .print = function, .context = context };
    if (format == CSK_INSPECT_TEXT) put_text(&to, view);
    else put_json(&to, view);
    flush(&to);
    return to.status;
}

typedef struct {
    csk_inspected_object_t objects[VIEW_OBJECTS];
    csk_inspected_waiter_t waiters[VIEW_WAITERS];
    csk_inspected_worker_t workers[CSK_POOL_THREADS_MAX];
} arrays_t;

static int take_and_print(uint32_t format, csk_print_t function, void *context) {
    int saved = errno;
    arrays_t *arrays = mmap(NULL, sizeof *arrays, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                            -1, 0);
    errno = saved;
    if (arrays == MAP_FAILED) return ENOMEM;
    csk_inspection_t view = { .objects = arrays->objects,
                              .waiters = arrays->waiters,
                              .workers = arrays->workers,
                              .object_room = VIEW_OBJECTS,
                              .waiter_room = VIEW_WAITERS,
                              .worker_room = CSK_POOL_THREADS_MAX };
    int status = csk_inspect(&view);
    if (status == 0) status = print(&view, format, function, context);
    munmap(arrays, sizeof *arrays);
    return status;
}

int csk_inspect_print(const csk_inspection_t *view, uint32_t format, csk_print_t function, void *context) {
    if (format > CSK_INSPECT_JSON || function == NULL || (view != NULL && !CSK_KNOWS_SIZE_OF(view))) return EINVAL;
    return view != NULL ? print(view, format, function, context) : take_and_print(format, function, context);
}
