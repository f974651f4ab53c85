/* workqueue_told_test.c: callers that wait at a work queue, for a turn, for room or for its end, as the metrics, the
 * contention profile and an observer are told of them. probe_test.c has what tracers see. */
#include "profiled.h"
#include "queue/workqueue.h"
#include "workqueue_fixture.h"

enum { WAYS = 3 };
static const uint32_t purposes[WAYS] = { CSK_WAITS_FOR_TURN, CSK_WAITS_FOR_ROOM, CSK_WAITS_FOR_DRAINED };
static const char *const places[WAYS] = { "wait_for_turn", "wait_for_room", "wait_for_end" };

static void nothing(void *unused) { (void)unused; }

typedef struct {
    csk_workqueue_t queue;
    job_t first, second;
    int64_t deadline_ns, took_ns;
    int way, status;
} line_t;

/* Suspended, with one work: whatever comes waits. There is room for that work alone. */
static void make(line_t *line, int way, const char *name, const char *given_name) {
    *line = (line_t){ .way = way, .deadline_ns = CSK_NEVER, .first = job_named(0), .second = job_named(1) };
    csk_workqueue_attr_t attr = { .name = name, .capacity = way == 1 ? 1 : 0 };
    CHECK_STATUS(csk_workqueue_init(&line->queue, &attr), 0);
    if (given_name != NULL) CHECK_STATUS(csk_name(&line->queue, given_name), 0);
    CHECK_STATUS(csk_workqueue_suspend(&line->queue), 0);
    queue_job(&line->queue, &line->first);
}

static void end(line_t *line) {
    (void)csk_workqueue_resume(&line->queue);
    end_queue(&line->queue);
}

/* Functions that aren't inlined, and whose last step isn't a jump into the library. */
__attribute__((noinline)) int wait_for_turn(line_t *line);
__attribute__((noinline)) int wait_for_room(line_t *line);
__attribute__((noinline)) int wait_for_end(line_t *line);
#define IS_LAST(status)                    \
    int status_ = (status);                \
    __asm__ __volatile__("" ::: "memory"); \
    return status_
int wait_for_turn(line_t *line) {
    IS_LAST(csk_workqueue_sync(&line->queue, back(0), 0, line->deadline_ns, nothing, NULL));
}
int wait_for_room(line_t *line) {
    IS_LAST(csk_workqueue_submit(&line->queue, back(0), &line->second.work, 0, line->deadline_ns, run_job));
}
int wait_for_end(line_t *line) { IS_LAST(csk_workqueue_drain(&line->queue, line->deadline_ns)); }

static void *wait_once(void *context) {
    static int (*const ways[WAYS])(line_t *) = { wait_for_turn, wait_for_room, wait_for_end };
    line_t *line = context;
    int64_t since_ns = csk_now();
    line->status = ways[line->way](line);
    line->took_ns = csk_now() - since_ns;
    return NULL;
}

static bool somebody_waits(line_t *line) {
    csk_workqueue_t *queue = &line->queue;
    csk_workqueue_lock(queue);
    csk_work_sort(queue);
    bool waits = line->way == 0 ? queue->waiting == 2 : line->way == 1 ? queue->rooms != NULL : queue->drains != NULL;
    csk_workqueue_unlock(queue);
    return waits;
}

/* ---- The observer ------------------------------------------------------------------------------------------------ */

static int begun, ended;
static const void *observed;
static csk_event_t last_end;
static csk_rank_t expected_rank;
static const char *expected_name;

static void on_event(const csk_observer_t *observer, const csk_event_t *event) {
    (void)observer;
    if (event->object != observed) return;
    CHECK_EQ(event->object_kind, CSK_OBJECT_WORKQUEUE);
    CHECK(strcmp(event->name, expected_name) == 0);
    CHECK_EQ(event->rank, expected_rank);
    if (event->kind == CSK_EVENT_WAIT_END) last_end = *event, ADD(&ended, 1);
    else ADD(&begun, event->kind == CSK_EVENT_WAIT_BEGIN);
}

static const csk_observer_t observer = { on_event, NULL };

static void observe(const line_t *line, const char *name) {
    STORE(&begun, 0);
    STORE(&ended, 0);
    observed = &line->queue;
    expected_name = name;
    expected_rank = line->way == 2 ? 0 : back(0);
    CHECK(csk_observe(&observer) == NULL);
}

/* A thread waits and the queue is suspended, until it has been so long since the wait began. */
static void wait_in_thread(line_t *line, const char *name, int64_t span_ns) {
    observe(line, name);
    pthread_t thread = start_thread(wait_once, line);
    wait_until(LOAD(&begun) == 1);
    int64_t since_ns = csk_now();
    wait_until(csk_now() >= since_ns + span_ns);
    CHECK_STATUS(csk_workqueue_resume(&line->queue), 0);
    join_thread(thread);
    CHECK_STATUS(line->status, 0);
    CHECK(csk_observe(NULL) == &observer);
}

/* ---- Metrics ----------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    uint32_t waits_for;
    int found;
    csk_metrics_entry_t entry;
} wanted_t;

static void look(const csk_metrics_entry_t *entry, void *context) {
    wanted_t *wanted = context;
    if (entry->what != CSK_METRICS_WAITS || strcmp(entry->name, wanted->name) != 0) return;
    CHECK_EQ(entry->object_kind, CSK_OBJECT_WORKQUEUE);
    if (entry->waits_for != wanted->waits_for) return;
    wanted->found++;
    wanted->entry = *entry;
}
static csk_metrics_entry_t counted(const char *name, uint32_t waits_for) {
    wanted_t wanted = { .name = name, .waits_for = waits_for };
    csk_metrics_read(look, &wanted);
    CHECK_LE(wanted.found, 1);
    return wanted.entry;
}
static void check_outcomes(const char *name, uint32_t waits_for, uint64_t granted, uint64_t timed_out,
                           uint64_t refused) {
    csk_metrics_entry_t entry = counted(name, waits_for);
    CHECK_EQ(entry.granted, granted);
    CHECK_EQ(entry.timed_out, timed_out);
    CHECK_EQ(entry.refused, refused);
    CHECK_EQ(entry.spans.count, granted + timed_out + refused);
}

/* They wait for 5 ms at least. */
static void waits_are_those_of_clocks(void) {
    static const char *const names[WAYS] = { "turns", "rooms", "ends" };
    CHECK_STATUS(csk_metrics_start(), 0);
    for (int way = 0; way < WAYS; way++) {
        line_t line;
        make(&line, way, names[way], NULL);
        wait_in_thread(&line, names[way], 5000000);
        for (int other = 0; other < WAYS; other++) check_outcomes(names[way], purposes[other], other == way, 0, 0);
        csk_metrics_histogram_t spans = counted(names[way], purposes[way]).spans;
        CHECK_LE(spans.sum_ns, line.took_ns);
        CHECK_GE(spans.sum_ns, 5000000);
        CHECK_EQ(spans.longest_ns, spans.sum_ns);
        end(&line);
    }
    csk_metrics_stop();
}

static void what_becomes_of_a_wait_is_counted(void) {
    CHECK_STATUS(csk_metrics_start(), 0);
    for (int way = 0; way < WAYS; way++) {
        line_t line;
        char name[32];
        snprintf(name, sizeof name, "outcomes %d", way);
        make(&line, way, NULL, name); /* of csk_name */
        line.deadline_ns = csk_deadline_after(1000000);
        wait_once(&line);
        CHECK_STATUS(line.status, ETIMEDOUT);
        check_outcomes(name, purposes[way], 0, 1, 0);
        CHECK_GE(counted(name, purposes[way]).spans.sum_ns, 1);
        line.deadline_ns = CSK_NEVER;
        pthread_t thread = start_thread(wait_once, &line);
        wait_until(somebody_waits(&line));
        csk_workqueue_shutdown(&line.queue, true);
        join_thread(thread);
        CHECK_STATUS(line.status, way == 0 ? ECANCELED : way == 1 ? ESHUTDOWN : 0);
        check_outcomes(name, purposes[way], way == 2, 1, way != 2);
        end(&line);
    }
    csk_metrics_stop();
}

static void who_comes_in_at_once_has_not_waited(void) {
    CHECK_STATUS(csk_metrics_start(), 0);
    csk_workqueue_t queue = CSK_WORKQUEUE_INITIALIZER(.capacity = 4, .name = "at once");
    job_t job = job_named(0);
    CHECK_STATUS(csk_workqueue_sync(&queue, back(0), 0, CSK_NEVER, nothing, NULL), 0);
    drain(&queue);
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    queue_job(&queue, &job);
    for (int way = 0; way < WAYS; way++) check_outcomes("at once", purposes[way], 0, 0, 0);
    CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    csk_metrics_stop();
    end_queue(&queue);
}

/* A caller that had to stand in the line for room counts as one that waits for room, until its turn. */
static void a_caller_in_the_line_for_room_waits_for_room(void) {
    CHECK_STATUS(csk_metrics_start(), 0);
    line_t line;
    make(&line, 1, "caller", NULL);
    CHECK_STATUS(csk_workqueue_sync(&line.queue, back(0), 0, csk_deadline_after(1000000), nothing, NULL), ETIMEDOUT);
    check_outcomes("caller", CSK_WAITS_FOR_ROOM, 0, 1, 0);
    check_outcomes("caller", CSK_WAITS_FOR_TURN, 0, 0, 0);
    csk_metrics_stop();
    end(&line);
}

/* ---- The profile ------------------------------------------------------------------------------------------------- */

static csk_symbols_t symbols;

/* With the metrics on, queues with a name queue works by another way. */
static void a_wait_is_charged_to_its_place(void) {
    CHECK_STATUS(csk_symbols_open(&symbols), 0);
    for (int metered = 0; metered < 2; metered++) {
        if (metered) CHECK_STATUS(csk_metrics_start(), 0);
        CHECK_STATUS(csk_profile_start(1000), 0);
        for (int way = 0; way < WAYS; way++) {
            line_t line;
            char name[32];
            snprintf(name, sizeof name, "charged %d %d", metered, way);
            make(&line, way, name, NULL);
            wait_in_thread(&line, name, 2000000);
            profiled_t found = {
                .symbols = &symbols, .waiter = CSK_PROFILE_THREAD, .name = name, .place = places[way]
            };
            csk_profile_read(add_profiled, &found);
            CHECK(found.contentions == 1);
            CHECK_GE(found.delay_ns, 2000000);
            CHECK_LE(found.delay_ns, line.took_ns);
            end(&line);
        }
        csk_profile_stop();
    }
    csk_metrics_stop();
    csk_symbols_close(&symbols);
}

static void an_observer_sees_the_beginning_and_the_end(void) {
    for (int way = 0; way < WAYS; way++) {
        line_t line;
        make(&line, way, "its own name", "observed");
        observe(&line, "observed");
        line.deadline_ns = csk_deadline_after(1000000);
        wait_once(&line);
        CHECK_STATUS(line.status, ETIMEDOUT);
        CHECK(csk_observe(NULL) == &observer);
        CHECK_EQ(begun, 1);
        CHECK_EQ(ended, 1);
        CHECK_STATUS(last_end.status, ETIMEDOUT);
        CHECK_GE(last_end.waited_ns, 1);
        end(&line);
    }
}

TEST_MAIN(TEST(waits_are_those_of_clocks), TEST(what_becomes_of_a_wait_is_counted),
          TEST(who_comes_in_at_once_has_not_waited), TEST(a_caller_in_the_line_for_room_waits_for_room),
          TEST(a_wait_is_charged_to_its_place), TEST(an_observer_sees_the_beginning_and_the_end))
