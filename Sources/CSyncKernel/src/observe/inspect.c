/* inspect.c: a view of waiters and holders (csynckernel/inspect.h). It goes through the records of threads (waits.h),
 * and then through the objects at which callbacks are listed (listed.h). Each object that it meets for the first time
 * is read while the record, or the list, keeps the object in place. At the end the waiters are put in order, and
 * threads that are known by an identity alone get their ids and names.
 *
 * One view is taken at a time: two would meet at the same records. */
#include "observe/inspect.h"

#include <string.h>
#include <unistd.h>

#include "base/sizes.h"
#include "csynckernel/rwlock.h"
#include "pool/pool.h"
#include "queue/workqueue.h"
#include "observe/listed.h"
#include "wait/timers.h"
#include "wait/waiter.h"

static const int64_t try_ns = 2000000, all_tries_ns = 50000000, other_view_ns = 100000000;

static uint32_t viewing; /* a queue lock: a view is being taken */

int64_t csk_look_until(const csk_look_t *look) {
    int64_t until_ns = csk_platform_now() + try_ns;
    return until_ns < look->ends_ns ? until_ns : look->ends_ns;
}

csk_inspected_object_t *csk_look_object(csk_look_t *look, const void *address, uint32_t kind, bool *fresh) {
    csk_inspection_t *view = look->view;
    *fresh = false;
    for (uint32_t i = 0; i < view->object_count; i++)
        if (view->objects[i].address == address && view->objects[i].kind == kind) return &view->objects[i];
    if (view->object_count == view->object_room) {
        view->objects_left_out++;
        return NULL;
    }
    *fresh = true;
    csk_inspected_object_t *object = &view->objects[view->object_count++];
    *object = (csk_inspected_object_t){ .address = address, .kind = kind };
    return object;
}

csk_inspected_waiter_t *csk_look_waiter(csk_look_t *look, csk_inspected_object_t *object, uint32_t kind,
                                        uint32_t waits_for) {
    csk_inspection_t *view = look->view;
    if (view->waiter_count == view->waiter_room) {
        view->waiters_left_out++;
        object->flags |= CSK_INSPECT_MORE;
        return NULL;
    }
    csk_inspected_waiter_t *waiter = &view->waiters[view->waiter_count++];
    *waiter = (csk_inspected_waiter_t){
        .object = (uint32_t)(object - view->objects), .kind = kind, .waits_for = waits_for, .deadline_ns = CSK_NEVER
    };
    return waiter;
}

void csk_look_add_holder(const csk_look_t *look, uint32_t object, int32_t thread_id) {
    csk_look_more_t *more = look->more;
    if (more == NULL || more->holder_count == more->holder_room) return;
    more->holders[more->holder_count++] = (csk_look_holder_t){ object, thread_id };
}

csk_inspected_thread_t csk_look_thread(uint64_t identity) {
    return (csk_inspected_thread_t){ .identity = identity, .number = csk_waits_number_of(identity) };
}

/* ---- Threads with a record --------------------------------------------------------------------------------------- */

static csk_inspected_thread_t thread_of(const csk_wait_record_t *record) {
    return (csk_inspected_thread_t){ .identity = record->identity,
                                     .number = csk_waits_number_of(record->thread_number),
                                     .id = record->thread_id };
}

/* The thread is inside these queues' works while it waits, so they exist. */
static void look_at_sections(csk_look_t *look, const csk_wait_record_t *record) {
    enum { DEPTH = 16 };
    const csk_section_t *section = record->sections;
    for (int depth = 0; section != NULL && depth < DEPTH; section = section->outer, depth++) {
        if (csk_section_is_over(section)) continue;
        bool fresh;
        csk_inspected_object_t *queue = csk_look_object(look, section->queue, CSK_OBJECT_WORKQUEUE, &fresh);
        if (queue != NULL && fresh) csk_look_at(look, queue);
        if (look->run_count == CSK_LOOK_RUNS) continue;
        look->runs[look->run_count++] = (csk_look_run_t){ section->queue, thread_of(record) };
    }
}

/* The waiter that was found in the object's queue for the thread of the record. */
static csk_inspected_waiter_t *find_waiter(const csk_look_t *look, uint32_t object, const csk_wait_record_t *record) {
    const csk_inspection_t *view = look->view;
    for (uint32_t i = view->waiter_count; i-- > 0;) {
        csk_inspected_waiter_t *waiter = &view->waiters[i];
        if (waiter->object != object || waiter->kind != CSK_WAITER_THREAD) continue;
        uint64_t identity = waiter->thread.identity;
        if (identity == record->identity || identity == record->thread_number) return waiter;
    }
    return NULL;
}

/* Whether the thread was let in already, and is about to return. Its waiter is on its stack, which is there. */
static bool is_let_in(const csk_wait_t *wait) {
    if (wait->waiter == NULL || wait->object_kind == CSK_OBJECT_WORKQUEUE) return false;
    uint32_t word = csk_load(&((const csk_waiter_t *)wait->waiter)->word, CSK_RELAXED);
    return word == WORD_GRANTED;
}

static uint32_t purpose_of(const csk_wait_t *wait, const csk_inspected_object_t *object) {
    /* A thread that waited for a signal waits for the gate by now. */
    if (wait->object_kind == CSK_OBJECT_COND && object->kind == CSK_OBJECT_GATE) return CSK_WAITS_TO_ENTER;
    if (wait->waits_for != CSK_WAITS_OTHER) return wait->waits_for;
    switch (wait->object_kind) {
    case CSK_OBJECT_GATE: return CSK_WAITS_TO_ENTER;
    case CSK_OBJECT_SEM: return CSK_WAITS_FOR_PERMITS;
    case CSK_OBJECT_RWLOCK: break;
    default: return CSK_WAITS_OTHER;
    }
    uint8_t mode = ((const csk_waiter_t *)wait->waiter)->mode;
    return mode == CSK_RWLOCK_READ    ? CSK_WAITS_TO_READ
           : mode == CSK_RWLOCK_WRITE ? CSK_WAITS_TO_WRITE
                                      : CSK_WAITS_TO_UPGRADE;
}

/* Whether the thread was counted where it stands in the object's queue, though there was no room to show it. Of a work
 * queue threads are known by their records alone. */
static bool was_left_out(const csk_look_t *look, const csk_inspected_object_t *object) {
    return object->kind != CSK_OBJECT_WORKQUEUE && !(object->flags & CSK_INSPECT_BUSY) &&
           look->view->waiter_count == look->view->waiter_room;
}

/* What the queue does not say of a thread stands in its record. */
static void complete(csk_look_t *look, csk_inspected_object_t *object, const csk_wait_record_t *record) {
    const csk_wait_t *wait = record->wait;
    csk_inspected_waiter_t *waiter = find_waiter(look, (uint32_t)(object - look->view->objects), record);
    if (object->kind == CSK_OBJECT_WORKQUEUE) object->waiting++;
    if (waiter == NULL) {
        if (is_let_in(wait) || was_left_out(look, object)) return;
        waiter = csk_look_waiter(look, object, CSK_WAITER_THREAD, purpose_of(wait, object));
        if (waiter == NULL) return;
        waiter->rank = wait->rank;
        waiter->ticket = wait->ticket;
        if (object->kind == CSK_OBJECT_SEM) waiter->permits = ((const csk_waiter_t *)wait->waiter)->permits;
    }
    waiter->thread = thread_of(record);
    waiter->wait = record->number;
    if (waiter->since_ns == 0) waiter->since_ns = wait->since_ns;
    waiter->deadline_ns = wait->deadline_ns;
    waiter->task = record->task;
}

static void copy_wanted_stack(const csk_look_t *look, const csk_wait_record_t *record) {
    const csk_look_more_t *more = look->more;
    for (uint32_t i = 0; more != NULL && i < more->wanted_count; i++) {
        const csk_look_wanted_t *wanted = &more->wanted[i];
        if (wanted->wait == record->number && wanted->thread_id == record->thread_id && record->stack != NULL)
            *wanted->stack = *record->stack;
    }
}

static void look_at_record(csk_look_t *look, const csk_wait_record_t *record) {
    const csk_wait_t *wait = record->wait;
    look->record = record;
    copy_wanted_stack(look, record);
    look_at_sections(look, record);
    csk_inspected_object_t *object;
    if (wait->object_kind == CSK_OBJECT_COND) object = csk_look_at_cond(look, wait);
    else {
        enum { POSTED_BUSY = CSK_INSPECT_POSTED | CSK_INSPECT_BUSY };
        bool fresh;
        object = csk_look_object(look, wait->object, wait->object_kind, &fresh);
        if (object != NULL && (object->flags & POSTED_BUSY) == POSTED_BUSY) {
            object->flags &= ~(uint32_t)CSK_INSPECT_BUSY;
            fresh = true;
        }
        if (object != NULL && fresh) csk_look_at(look, object);
    }
    if (object != NULL) complete(look, object, record);
    look->record = NULL;
}

static void look_at_threads(csk_look_t *look) {
    csk_waits_seen_t seen = { 0 };
    for (csk_wait_record_t *record = NULL; (record = csk_waits_next(record, csk_look_until(look), &seen)) != NULL;)
        look_at_record(look, record);
    look->view->threads = seen.threads;
    look->view->records_busy = seen.busy;
    look->view->list_busy = seen.list_is_busy;
}

static void look_at_callbacks(csk_look_t *look) {
    csk_listed_cursor_t cursor = { 0 };
    csk_listed_t listed;
    bool busy = false, fresh;
    while (csk_listed_next(&cursor, &listed, csk_look_until(look), &busy)) {
        csk_inspected_object_t *object = csk_look_object(look, listed.object, listed.kind, &fresh);
        if (object != NULL && fresh) csk_look_at(look, object);
    }
    look->view->list_busy |= busy;
    look->view->lists_callbacks = csk_callbacks_are_listed();
    look->view->callbacks_unlisted = csk_listed_refused();
}

/* ---- In order ---------------------------------------------------------------------------------------------------- */

static int line_of(const csk_inspected_waiter_t *waiter) {
    switch (waiter->waits_for) {
    case CSK_WAITS_FOR_PREDICATE:
    case CSK_WAITS_FOR_PLACE:
    case CSK_WAITS_FOR_ROOM: return 1;
    case CSK_WAITS_FOR_DRAINED: return 2;
    default: return 0;
    }
}

static bool comes_before(const csk_inspected_waiter_t *a, const csk_inspected_waiter_t *b) {
    if (a->object != b->object) return a->object < b->object;
    int line = line_of(a) - line_of(b);
    if (line != 0) return line < 0;
    if (a->rank != b->rank) return a->rank > b->rank;
    return a->ticket != b->ticket ? a->ticket < b->ticket : a->since_ns < b->since_ns;
}

/* By Shell's method, with gaps of Ciura's: it needs no memory, and most of them are in order. */
static void put_in_order(csk_inspected_waiter_t *waiters, uint32_t count) {
    static const uint32_t gaps[] = { 1750, 701, 301, 132, 57, 23, 10, 4, 1 };
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (uint32_t i = gaps[g]; i < count; i++) {
            csk_inspected_waiter_t moved = waiters[i];
            uint32_t at = i;
            for (; at >= gaps[g] && comes_before(&moved, &waiters[at - gaps[g]]); at -= gaps[g])
                waiters[at] = waiters[at - gaps[g]];
            waiters[at] = moved;
        }
}

static void count_waiters(csk_inspection_t *view) {
    put_in_order(view->waiters, view->waiter_count);
    for (uint32_t i = 0; i < view->waiter_count; i++) {
        const csk_inspected_waiter_t *waiter = &view->waiters[i];
        csk_inspected_object_t *object = &view->objects[waiter->object];
        if (object->waiter_count++ == 0) object->first_waiter = i;
        bool older = object->since_ns == 0 || waiter->since_ns < object->since_ns;
        if (waiter->since_ns != 0 && older) object->since_ns = waiter->since_ns;
        if (object->waiting < object->waiter_count) object->waiting = object->waiter_count;
    }
}

/* ---- Holders of queues, and names of threads --------------------------------------------------------------------- */

static void find_runner(const csk_look_t *look, csk_inspected_object_t *queue) {
    const csk_inspection_t *view = look->view;
    bool worker_runs = false;
    for (uint32_t i = 0; i < view->worker_count; i++) {
        if (view->workers[i].queue != queue->address) continue;
        worker_runs = true;
        queue->holder.kind = CSK_HELD_BY_THREAD;
        queue->holder.thread = view->workers[i].thread;
    }
    for (uint32_t i = 0; i < look->run_count; i++) {
        if (look->runs[i].queue != queue->address) continue;
        queue->holder.kind = CSK_HELD_BY_THREAD;
        queue->holder.thread = look->runs[i].thread;
        csk_look_add_holder(look, (uint32_t)(queue - view->objects), look->runs[i].thread.id);
    }
    for (uint32_t i = 0; i < view->worker_count; i++)
        if (view->workers[i].queue == queue->address && view->workers[i].thread.id == queue->holder.thread.id)
            queue->running_ns = view->workers[i].running_ns;
    queue->holder.count = queue->running;
    if (worker_runs) queue->flags |= CSK_INSPECT_RUNS;
    if (queue->flags & CSK_INSPECT_BUSY && queue->holder.kind == CSK_HELD_BY_NOBODY)
        queue->holder.kind = CSK_HELD_BY_UNKNOWN;
    else if (queue->running != 0 && queue->holder.kind == CSK_HELD_BY_NOBODY) queue->holder.kind = CSK_HELD_BY_CALLER;
    /* A worker that looks for work holds nothing. */
    else if (queue->running == 0 && !(queue->flags & CSK_INSPECT_BUSY))
        queue->holder = (csk_inspected_holder_t){ .kind = CSK_HELD_BY_NOBODY };
    if (queue->holder.kind != CSK_HELD_BY_THREAD) queue->running_ns = 0;
}

enum { ASKED_AT_ONCE = 64 };

/* Threads that are known by an identity: the records name most of them, and the system names the others. */
typedef struct {
    csk_inspected_thread_t *threads[ASKED_AT_ONCE];
    int count;
} asked_t;

static void answer(const csk_look_t *look, asked_t *asked) {
    uint64_t identities[ASKED_AT_ONCE];
    int32_t ids[ASKED_AT_ONCE];
    csk_waits_find_threads(asked->threads, (uint32_t)asked->count, csk_look_until(look));
    int unknown = 0;
    for (int i = 0; i < asked->count; i++)
        if (asked->threads[i]->id == 0) {
            asked->threads[unknown] = asked->threads[i];
            identities[unknown++] = asked->threads[i]->identity;
        }
    if (unknown != 0) csk_platform_find_threads(identities, ids, unknown);
    for (int i = 0; i < unknown; i++) asked->threads[i]->id = ids[i];
    asked->count = 0;
}

static void ask(const csk_look_t *look, asked_t *asked, csk_inspected_thread_t *thread) {
    if (thread->id != 0 || thread->identity == 0) return;
    asked->threads[asked->count++] = thread;
    if (asked->count == ASKED_AT_ONCE) answer(look, asked);
}

typedef struct {
    int32_t id;
    char name[CSK_INSPECT_THREAD_NAME];
} known_name_t;

enum { KNOWN_NAMES = 256 };

/* A thread that holds much is asked for once. */
static void name_thread(known_name_t *known, csk_inspected_thread_t *thread) {
    if (thread->id == 0) return;
    known_name_t *place = &known[(uint32_t)thread->id % KNOWN_NAMES];
    if (place->id != thread->id) {
        place->id = thread->id;
        csk_platform_thread_name(thread->id, place->name, sizeof place->name);
    }
    memcpy(thread->name, place->name, sizeof thread->name);
}

static void identify(csk_look_t *look) {
    csk_inspection_t *view = look->view;
    asked_t asked = { .count = 0 };
    for (uint32_t i = 0; i < view->object_count; i++) ask(look, &asked, &view->objects[i].holder.thread);
    for (uint32_t i = 0; i < view->waiter_count; i++) ask(look, &asked, &view->waiters[i].thread);
    if (asked.count != 0) answer(look, &asked);
    if (look->more != NULL && look->more->leaves_names_out) return;
    known_name_t known[KNOWN_NAMES];
    memset(known, 0, sizeof known);
    for (uint32_t i = 0; i < view->object_count; i++) name_thread(known, &view->objects[i].holder.thread);
    for (uint32_t i = 0; i < view->waiter_count; i++) name_thread(known, &view->waiters[i].thread);
    for (uint32_t i = 0; i < view->worker_count; i++) name_thread(known, &view->workers[i].thread);
}

/* ---- A view ------------------------------------------------------------------------------------------------------ */

static void clear(csk_inspection_t *view) {
    *view = (csk_inspection_t){ .size = view->size,
                                .objects = view->objects,
                                .waiters = view->waiters,
                                .workers = view->workers,
                                .object_room = view->object_room,
                                .waiter_room = view->waiter_room,
                                .worker_room = view->worker_room };
}

static void take(csk_inspection_t *view, csk_look_more_t *more) {
    csk_look_t look = { .view = view, .more = more, .now_ns = csk_platform_now() };
    look.ends_ns = look.now_ns + all_tries_ns;
    view->began_ns = look.now_ns;
    view->process = (int32_t)getpid();
    csk_look_at_pool(&look);
    look_at_threads(&look);
    look_at_callbacks(&look);
    view->timers.busy = !csk_timers_look(&view->timers, csk_look_until(&look));
    csk_look_at_kept_queues(&look);
    csk_look_at_tasks(&look); /* after the work queues: it adds tasks to those that were read */
    count_waiters(view);
    for (uint32_t i = 0; i < view->object_count; i++)
        if (view->objects[i].kind == CSK_OBJECT_WORKQUEUE) find_runner(&look, &view->objects[i]);
    identify(&look);
    csk_look_name_tasks(&look);
    view->ended_ns = csk_platform_now();
}

int csk_inspect_more(csk_inspection_t *view, csk_look_more_t *more) {
    if (!CSK_KNOWS_SIZE_OF(view) || (view->objects == NULL && view->object_room != 0) ||
        (view->waiters == NULL && view->waiter_room != 0) || (view->workers == NULL && view->worker_room != 0))
        return EINVAL;
    clear(view);
    if (!csk_waits_try_or_take_over(NULL, &viewing, csk_platform_now() + other_view_ns)) return EBUSY;
    take(view, more);
    csk_queue_unlock(&viewing);
    return 0;
}

int csk_inspect(csk_inspection_t *view) { return csk_inspect_more(view, NULL); }
