/* workqueue_told_later_test.c: waits without a thread at a work queue, for room or for its end, as the metrics, the
 * contention profile and views have them. workqueue_told_test.c has those of threads. */
#include "profiled.h"
#include "workqueue_fixture.h"

enum { WAYS = 2 };
static const uint32_t purposes[WAYS] = { CSK_WAITS_FOR_ROOM, CSK_WAITS_FOR_DRAINED };
static const char *const places[WAYS] = { "wait_for_room_later", "wait_for_end_later" };

typedef struct {
    csk_workqueue_t queue;
    job_t first, second;
    csk_workqueue_wait_t wait;
    uint32_t told;
    int way, status;
} line_t;

/* Suspended, with one work, for which alone there is room. */
static void make(line_t *line, int way, const char *name) {
    *line = (line_t){ .way = way, .first = job_named(0), .second = job_named(1), .status = -1 };
    csk_workqueue_attr_t attr = { .name = name, .capacity = way == 0 ? 1 : 0 };
    CHECK_STATUS(csk_workqueue_init(&line->queue, &attr), 0);
    CHECK_STATUS(csk_workqueue_suspend(&line->queue), 0);
    queue_job(&line->queue, &line->first);
}
static void end(line_t *line) {
    (void)csk_workqueue_resume(&line->queue);
    end_queue(&line->queue);
}

static void is_told(csk_workqueue_wait_t *wait) {
    line_t *line = wait->context;
    line->status = wait->status;
    STORE(&line->told, 1);
}

/* Functions that aren't inlined, and whose last step isn't a jump into the library. */
__attribute__((noinline)) void wait_for_room_later(line_t *line);
__attribute__((noinline)) void wait_for_end_later(line_t *line);
void wait_for_room_later(line_t *line) {
    CHECK_STATUS(csk_workqueue_submit_when_room(&line->queue, back(0), &line->second.work, 0, run_job, &line->wait,
                                                is_told, line),
                 EINPROGRESS);
    __asm__ __volatile__("" ::: "memory");
}
void wait_for_end_later(line_t *line) {
    csk_workqueue_drain_async(&line->queue, &line->wait, is_told, line);
    __asm__ __volatile__("" ::: "memory");
}
static void begin(line_t *line) {
    static void (*const ways[WAYS])(line_t *) = { wait_for_room_later, wait_for_end_later };
    ways[line->way](line);
    CHECK_EQ(LOAD(&line->told), 0);
}
static int give_up(line_t *line) {
    return (line->way == 0 ? csk_workqueue_wait_cancel : csk_workqueue_wait_cancel)(&line->queue, &line->wait);
}
/* Waits for 2 ms at least, and then for what the queue says. */
static int64_t wait_and_resume(line_t *line) {
    int64_t since_ns = csk_now();
    begin(line);
    int64_t begun_ns = csk_now();
    wait_until(csk_now() >= begun_ns + 2000000);
    CHECK_STATUS(csk_workqueue_resume(&line->queue), 0);
    wait_until(LOAD(&line->told));
    CHECK_STATUS(line->status, 0);
    return csk_now() - since_ns;
}

/* ---- Metrics ----------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    uint32_t waits_for;
    csk_metrics_entry_t entry;
} wanted_t;

static void look(const csk_metrics_entry_t *entry, void *context) {
    wanted_t *wanted = context;
    if (entry->what != CSK_METRICS_WAITS || strcmp(entry->name, wanted->name) != 0) return;
    if (entry->waits_for == wanted->waits_for) wanted->entry = *entry;
}
static csk_metrics_entry_t check_outcomes(const line_t *line, const char *name, uint64_t granted, uint64_t timed_out,
                                          uint64_t refused) {
    wanted_t wanted = { .name = name, .waits_for = purposes[line->way] };
    csk_metrics_read(look, &wanted);
    CHECK_EQ(wanted.entry.granted, granted);
    CHECK_EQ(wanted.entry.timed_out, timed_out);
    CHECK_EQ(wanted.entry.refused, refused);
    CHECK_EQ(wanted.entry.spans.count, granted + timed_out + refused);
    return wanted.entry;
}

static void waits_without_a_thread_are_those_of_clocks(void) {
    static const char *const names[WAYS] = { "later: rooms", "later: ends" };
    CHECK_STATUS(csk_metrics_start(), 0);
    for (int way = 0; way < WAYS; way++) {
        line_t line;
        make(&line, way, names[way]);
        int64_t took_ns = wait_and_resume(&line);
        csk_metrics_entry_t entry = check_outcomes(&line, names[way], 1, 0, 0);
        CHECK_GE(entry.spans.sum_ns, 2000000);
        CHECK_LE(entry.spans.sum_ns, took_ns);
        end(&line);
    }
    csk_metrics_stop();
}

static void what_is_given_up_counts_as_its_owner_says(void) {
    static const char *const names[WAYS] = { "later: rooms given up", "later: ends given up" };
    CHECK_STATUS(csk_metrics_start(), 0);
    for (int way = 0; way < WAYS; way++) {
        line_t line;
        make(&line, way, names[way]);
        begin(&line);
        CHECK_STATUS(give_up(&line), 0);
        check_outcomes(&line, names[way], 0, 0, 1);
        CHECK_STATUS(give_up(&line), ENOENT);
        begin(&line);
        line.wait.given_up_as = ETIMEDOUT;
        CHECK_STATUS(give_up(&line), 0);
        check_outcomes(&line, names[way], 0, 1, 1);
        begin(&line);
        csk_workqueue_shutdown(&line.queue, true);
        wait_until(LOAD(&line.told));
        CHECK_STATUS(line.status, way == 0 ? ESHUTDOWN : 0);
        check_outcomes(&line, names[way], way == 1, 1, way == 0 ? 2 : 1);
        end(&line);
    }
    csk_metrics_stop();
}

static void what_need_not_wait_is_not_counted(void) {
    CHECK_STATUS(csk_metrics_start(), 0);
    line_t line = { .way = 1, .first = job_named(0), .status = -1 };
    csk_workqueue_attr_t attr = { .name = "later: at once", .capacity = 4 };
    CHECK_STATUS(csk_workqueue_init(&line.queue, &attr), 0);
    csk_workqueue_drain_async(&line.queue, &line.wait, is_told, &line);
    CHECK_EQ(line.told, 1);
    CHECK_STATUS(line.status, 0);
    check_outcomes(&line, "later: at once", 0, 0, 0);
    line.way = 0;
    CHECK_STATUS(csk_workqueue_submit_when_room(&line.queue, back(0), &line.first.work, 0, run_job, &line.wait, is_told,
                                                &line),
                 0);
    check_outcomes(&line, "later: at once", 0, 0, 0);
    csk_metrics_stop();
    end_queue(&line.queue);
}

/* A wait that began before counts nothing, and one that began while it was counted does so to its end. */
static void who_was_not_told_of_the_beginning_is_not_told_of_the_end(void) {
    line_t line;
    make(&line, 1, "later: before the start");
    begin(&line);
    CHECK_STATUS(csk_metrics_start(), 0);
    CHECK_STATUS(csk_workqueue_resume(&line.queue), 0);
    wait_until(LOAD(&line.told));
    check_outcomes(&line, "later: before the start", 0, 0, 0);
    csk_metrics_stop();
    end(&line);
}

/* ---- The profile ------------------------------------------------------------------------------------------------- */

static csk_symbols_t symbols;

static void a_wait_without_a_thread_is_charged_to_its_place(void) {
    static const char *const names[WAYS] = { "later: rooms charged", "later: ends charged" };
    CHECK_STATUS(csk_symbols_open(&symbols), 0);
    CHECK_STATUS(csk_profile_start(1000), 0);
    for (int way = 0; way < WAYS; way++) {
        line_t line;
        make(&line, way, names[way]);
        int64_t took_ns = wait_and_resume(&line);
        profiled_t found = {
            .symbols = &symbols, .waiter = CSK_PROFILE_CALLBACK, .name = names[way], .place = places[way]
        };
        csk_profile_read(add_profiled, &found);
        CHECK(found.contentions == 1);
        CHECK_GE(found.delay_ns, 2000000);
        CHECK_LE(found.delay_ns, took_ns);
        end(&line);
    }
    csk_profile_stop();
    csk_symbols_close(&symbols);
}

/* ---- Views ------------------------------------------------------------------------------------------------------- */

static uint32_t stays;
static void stay(csk_work_t *work, int status) {
    (void)work, (void)status;
    STORE(&stays, 2);
    while (LOAD(&stays) == 2) sched_yield();
}
static const csk_inspected_waiter_t *find_waiter(csk_inspection_t *view, const csk_workqueue_wait_t *wait) {
    CHECK_STATUS(csk_inspect(view), 0);
    for (uint32_t i = 0; i < view->waiter_count; i++)
        if (view->waiters[i].waiter == wait) return &view->waiters[i];
    return NULL;
}
static void a_view_of_a_served_queue_shows_waits_without_a_thread(void) {
    static csk_inspected_object_t objects[8];
    static csk_inspected_waiter_t waiters[8];
    static csk_inspected_worker_t workers[64];
    csk_inspection_t view = { .objects = objects,
                              .waiters = waiters,
                              .workers = workers,
                              .object_room = 8,
                              .waiter_room = 8,
                              .worker_room = 64 };
    line_t line = { .way = 1, .status = -1 };
    CHECK_STATUS(csk_workqueue_init(&line.queue, NULL), 0);
    for (int listed = 0; listed < 2; listed++) {
        if (listed) csk_inspect_callbacks(true);
        STORE(&stays, 1);
        CHECK_STATUS(csk_workqueue_enqueue(&line.queue, &line.first.work, stay), 0);
        wait_until(LOAD(&stays) == 2);
        int64_t before_ns = csk_now();
        csk_deadlock_suspend(4711);
        begin(&line);
        csk_deadlock_suspend(0);
        const csk_inspected_waiter_t *seen;
        while ((seen = find_waiter(&view, &line.wait)) == NULL) sched_yield();
        CHECK_EQ(seen->kind, CSK_WAITER_CALLBACK);
        CHECK_EQ(seen->waits_for, CSK_WAITS_FOR_DRAINED);
        CHECK_EQ((uintptr_t)seen->function, (uintptr_t)is_told);
        if (listed) CHECK_GE(seen->since_ns, before_ns);
        else CHECK_EQ(seen->since_ns, 0);
        CHECK_EQ(seen->task, listed ? 4711 : 0);
        STORE(&stays, 0);
        wait_until(LOAD(&line.told));
        STORE(&line.told, 0);
    }
    csk_inspect_callbacks(false);
    end_queue(&line.queue);
}

TEST_MAIN(TEST(waits_without_a_thread_are_those_of_clocks), TEST(what_is_given_up_counts_as_its_owner_says),
          TEST(what_need_not_wait_is_not_counted), TEST(who_was_not_told_of_the_beginning_is_not_told_of_the_end),
          TEST(a_wait_without_a_thread_is_charged_to_its_place),
          TEST(a_view_of_a_served_queue_shows_waits_without_a_thread))
