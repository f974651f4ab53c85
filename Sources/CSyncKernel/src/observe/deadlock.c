/* deadlock.c: the watchdog looks for old waits, takes views, and reports the circles that three of them show. See
 * docs/design/deadlock.md for why such a circle is a deadlock. */
#include "observe/deadlock.h"

#include "observe/counting.h"
#include "base/report.h"
#include "observe/slots.h"
#include "wait/watchdog.h"
#include "observe/listed.h"
#include "observe/tasks.h"

#include <stdlib.h>
#include <string.h>

static const int64_t second_ns = 1000000000, most_between_ns = 50000000, least_between_ns = 1000000,
                     callbacks_every_ns = 250000000, reading_ns = 2000000;

static struct {
    uint32_t lock;
    uint32_t on; /* 1 + the mark of the process whose watch is on; 0: none */
    int64_t after_ns;
} watch;

static deadlock_tables_t *tables;
static int64_t view_of_callbacks_ns; /* when the next is due */

static struct {
    uint32_t lock; /* of tables->kept too */
    uint64_t count;
} kept;

static const void *(*context_of_task)(uint64_t task);
static void (*look_along)(int64_t now_ns, int64_t after_ns);

static bool is_on(void) { return csk_load(&watch.on, CSK_ACQUIRE) == csk_process_mark() + 1; }

/* ---- What is reported -------------------------------------------------------------------------------------------- */

static void keep(const deadlock_kept_t *made) {
    csk_queue_lock(&kept.lock);
    tables->kept[kept.count % CSK_DEADLOCKS_KEPT] = *made;
    csk_store(&kept.count, kept.count + 1, CSK_RELAXED);
    csk_queue_unlock(&kept.lock);
}

static void make_party(const csk_inspected_waiter_t *waiter, csk_deadlock_party_t *party) {
    const csk_inspected_object_t *object = &tables->objects[waiter->object];
    *party = (csk_deadlock_party_t){ .object = object->address,
                                     .object_kind = object->kind,
                                     .waits_for = waiter->waits_for,
                                     .thread = waiter->thread,
                                     .task = waiter->task,
                                     .wait = waiter->wait,
                                     .waiter = waiter->waiter,
                                     .since_ns = waiter->since_ns };
    memcpy(party->name, object->name, sizeof party->name);
}

static void take_view(const csk_look_wanted_t *wanted, uint32_t count) {
    tables->view = (csk_inspection_t){ .objects = tables->objects,
                                       .waiters = tables->waiters,
                                       .workers = tables->workers,
                                       .object_room = DEADLOCK_OBJECTS,
                                       .waiter_room = DEADLOCK_WAITERS,
                                       .worker_room = DEADLOCK_WORKERS };
    tables->more = (csk_look_more_t){ .holders = tables->holders,
                                      .holder_room = DEADLOCK_HOLDERS,
                                      .wanted = wanted,
                                      .wanted_count = count,
                                      .leaves_names_out = true,
                                      .context_of = csk_load(&context_of_task, CSK_ACQUIRE) };
    tables->lacks_view = csk_inspect_more(&tables->view, &tables->more) != 0;
    if (tables->lacks_view) tables->view.waiter_count = 0;
}

static void make_report(const deadlock_cycle_t *cycle, deadlock_kept_t *made) {
    made->count = cycle->count;
    for (uint32_t i = 0; i < csk_deadlock_known(cycle->count); i++) {
        make_party(&tables->waiters[cycle->waiters[i]], &made->parties[i]);
        csk_inspected_thread_t *thread = &made->parties[i].thread;
        if (thread->id != 0) csk_platform_thread_name(thread->id, thread->name, sizeof thread->name);
        else if (made->parties[i].task != 0)
            (void)csk_task_waits_name(made->parties[i].task, csk_platform_now() + reading_ns,
                                      made->parties[i].task_name, sizeof made->parties[i].task_name);
    }
}

/* One more view copies the stacks of those parties that wait still. */
static void add_stacks(void) {
    uint32_t count = 0;
    for (uint32_t m = 0; m < tables->made_count; m++)
        for (uint32_t i = 0; i < csk_deadlock_known(tables->made[m].count); i++) {
            const csk_deadlock_party_t *party = &tables->made[m].parties[i];
            tables->stacks[count].depth = 0;
            tables->wanted[count] = (csk_look_wanted_t){ party->thread.id, party->wait, party->waiter,
                                                         &tables->stacks[count] };
            count++;
        }
    take_view(tables->wanted, count);
    count = 0;
    for (uint32_t m = 0; m < tables->made_count; m++)
        for (uint32_t i = 0; i < csk_deadlock_known(tables->made[m].count); i++) {
            csk_deadlock_party_t *party = &tables->made[m].parties[i];
            const csk_stack_t *stack = &tables->stacks[count++];
            party->frame_count = stack->depth;
            memcpy(party->frames, stack->frames, stack->depth * sizeof party->frames[0]);
        }
}

/* Circles that enough views have shown. What they name is copied before another view is taken. */
static void report_cycles(void) {
    static char text[DEADLOCK_TEXT];
    tables->made_count = 0;
    for (uint32_t i = 0; i < tables->cycle_count; i++) {
        if (!csk_deadlock_is_certain(&tables->cycles[i])) continue;
        csk_deadlock_note_told(tables, tables->cycles[i].hash);
        make_report(&tables->cycles[i], &tables->made[tables->made_count++]);
    }
    if (tables->made_count == 0) return;
    add_stacks();
    for (uint32_t i = 0; i < tables->made_count; i++) {
        const deadlock_kept_t *made = &tables->made[i];
        const csk_deadlock_party_t *first = &made->parties[0];
        keep(made);
        csk_deadlock_write_text(made, text, sizeof text);
        csk_observe_report_deadlock(first->object_kind, first->object, text, first->since_ns, first->thread.id);
    }
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

/* The queue may be gone by now: the report has its address and its name. */
static void report_stalled(void) {
    int64_t after_ns = csk_load(&watch.after_ns, CSK_RELAXED);
    for (uint32_t i = 0; i < tables->more.holder_count; i++) {
        deadlock_stalled_t stalled;
        if (csk_deadlock_finds_stalled(tables, i, after_ns, &stalled))
            csk_observe_report_named(CSK_EVENT_QUEUE_STALLED, CSK_OBJECT_WORKQUEUE, stalled.queue,
                                     stalled.name[0] != 0 ? stalled.name : NULL, stalled.since_ns, EBUSY,
                                     stalled.thread_id);
    }
}

/* Returns whether another view is to be taken soon. */
static bool look_at_all(void) {
    take_view(NULL, 0);
    csk_deadlock_find_cycles(tables);
    report_stalled();
    bool more = csk_deadlock_count_views(tables, csk_load(&watch.after_ns, CSK_RELAXED)) ||
                tables->cycle_count == DEADLOCK_CYCLES;
    report_cycles();
    return more;
}

/* Whether some thread's wait has become old, or twice as old as when it was looked at: a view may have missed it. */
static bool finds_old_wait(int64_t now_ns, int64_t after_ns) {
    csk_waits_seen_t seen = { 0 };
    bool found = false;
    csk_wait_record_t *record = csk_waits_next(NULL, now_ns + reading_ns, &seen);
    for (; record != NULL; record = csk_waits_next(record, now_ns + reading_ns, &seen)) {
        int64_t age_ns = now_ns - record->wait->since_ns;
        if (age_ns < after_ns || (record->looked == record->number && age_ns / 2 < record->looked_ns)) continue;
        record->looked = record->number;
        record->looked_ns = age_ns;
        found = true;
    }
    return found;
}

static bool is_time_for_callbacks(int64_t now_ns, int64_t between_ns) {
    if (now_ns < view_of_callbacks_ns || !csk_listed_has_callbacks()) return false;
    view_of_callbacks_ns = now_ns + (callbacks_every_ns < 5 * between_ns ? callbacks_every_ns : 5 * between_ns);
    return true;
}

static int64_t look(void) {
    static bool soon;
    if (!is_on()) return CSK_NEVER;
    int64_t now_ns = csk_platform_now(), after_ns = csk_load(&watch.after_ns, CSK_RELAXED), between_ns = after_ns / 4;
    if (between_ns > most_between_ns) between_ns = most_between_ns;
    if (between_ns < least_between_ns) between_ns = least_between_ns;
    void (*along)(int64_t, int64_t) = csk_load(&look_along, CSK_RELAXED);
    if (along != NULL) along(now_ns, after_ns);
    bool is_old = finds_old_wait(now_ns, after_ns);
    if (is_time_for_callbacks(now_ns, between_ns) || is_old || soon) soon = look_at_all();
    return csk_platform_now() + between_ns;
}

/* ---- The interface ----------------------------------------------------------------------------------------------- */

/* Called under the lock. */
static void switch_on(bool on) {
    uint32_t before = watch.on;
    csk_store(&watch.on, on ? csk_process_mark() + 1 : 0, CSK_RELEASE);
    if ((before != 0) == on) return;
    if (on) csk_counting_begin(CSK_COUNTS_STACKS);
    else csk_counting_end(CSK_COUNTS_STACKS);
    csk_inspect_callbacks(on);
    csk_store(&csk_waits_task, on ? csk_waits_current_task : NULL, CSK_RELEASE);
}

int csk_deadlock_watch(int64_t after_ns) {
    if (after_ns < 0) return EINVAL;
    if (csk_slots_map((void **)&tables, sizeof *tables, false) != 0) return ENOMEM;
    csk_store(&watch.after_ns, after_ns != 0 ? after_ns : second_ns, CSK_RELAXED);
    int status = csk_watchdog_start(CSK_WATCHDOG_DEADLOCKS, look);
    if (status != 0) return status;
    csk_queue_lock(&watch.lock);
    switch_on(true);
    csk_queue_unlock(&watch.lock);
    csk_watchdog_wake();
    return 0;
}

void csk_deadlock_end_watching(void) {
    csk_queue_lock(&watch.lock);
    switch_on(false);
    csk_queue_unlock(&watch.lock);
}

bool csk_deadlock_is_watching(void) { return CSK_UNLIKELY(is_on()); }

uint64_t csk_deadlock_count(void) { return csk_load(&kept.count, CSK_RELAXED); }

uint32_t csk_deadlock_parties(uint64_t number, csk_deadlock_party_t *parties, uint32_t room) {
    uint32_t count = 0;
    if (room > CSK_DEADLOCK_PARTIES) room = CSK_DEADLOCK_PARTIES;
    csk_queue_lock(&kept.lock);
    if (number < kept.count && kept.count - number <= CSK_DEADLOCKS_KEPT) {
        const deadlock_kept_t *found = &tables->kept[number % CSK_DEADLOCKS_KEPT];
        count = found->count;
        memcpy(parties, found->parties, (count < room ? count : room) * sizeof *parties);
    }
    csk_queue_unlock(&kept.lock);
    return count;
}

void csk_deadlock_know_tasks(uint64_t (*current)(void), const void *(*context)(uint64_t task)) {
    csk_queue_lock(&watch.lock);
    csk_store(&context_of_task, context, CSK_RELEASE);
    csk_store(&csk_waits_current_task, current, CSK_RELAXED);
    if (watch.on != 0) csk_store(&csk_waits_task, current, CSK_RELEASE);
    csk_queue_unlock(&watch.lock);
}

void csk_deadlock_suspend(uint64_t task) { csk_waits_suspend(task); }

void csk_deadlock_look_along(void (*along)(int64_t, int64_t)) { csk_store(&look_along, along, CSK_RELAXED); }

/* This runs when the library is loaded. */
__attribute__((constructor(102))) static void begin(void) {
    const char *wanted = getenv("CSK_DEADLOCK");
    if (wanted == NULL || strcmp(wanted, "1") != 0 || csk_deadlock_watch(0) == 0) return;
    static const char text[] = "csynckernel: CSK_DEADLOCK=1: there is no memory or no thread to watch for deadlocks\n";
    csk_write_error(text, sizeof text - 1);
}
