/* workqueue_bypass_test.c: nobody who waits in a work queue is overtaken more often than the limit says.
 *
 * More than 400 lines: each kind of work that may be counted, and the model that all are compared with. */
#include "child.h"
#include "workqueue_fixture.h"

enum { LOW = -3, HIGH = 7, URGENT = 100, STRICT = CSK_BYPASS_UNNAMED + 16 };

typedef struct {
    csk_counted_work_t counted;
    int name, status;
} counted_job_t;

static void run_counted(csk_work_t *work, int status) {
    counted_job_t *job = (counted_job_t *)work;
    job->status = status;
    note(job->name);
}

static csk_workqueue_t make_suspended(uint32_t width, uint32_t bypass_limit) {
    csk_workqueue_t queue;
    csk_workqueue_attr_t attr = { .width = width, .bypass_limit = bypass_limit };
    CHECK_STATUS(csk_workqueue_init(&queue, &attr), 0);
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    forget_notes();
    return queue;
}

static void queue_counted(csk_workqueue_t *queue, counted_job_t *job, int name, csk_rank_t rank) {
    *job = (counted_job_t){ .name = name, .status = -1 };
    CHECK_STATUS(csk_workqueue_submit(queue, rank, &job->counted.work, CSK_WORK_COUNTED, CSK_NEVER, run_counted), 0);
}

static job_t urgent_jobs[STRICT];
static void queue_urgent(csk_workqueue_t *queue, int count) {
    for (int i = 0; i < count; i++) {
        urgent_jobs[i] = job_named(URGENT + i);
        CHECK_STATUS(csk_workqueue_submit(queue, back(HIGH), &urgent_jobs[i].work, 0, CSK_NEVER, run_job), 0);
    }
}

static void resume_and_drain(csk_workqueue_t *queue) {
    CHECK_STATUS(csk_workqueue_resume(queue), 0);
    drain(queue);
}

static int place_of(int name) {
    int place = 0;
    while (notes[place] != name) CHECK(++place < notes_so_far());
    return place;
}

/* So many urgent ones, which all came after it, begin before it. */
static int passes_before(csk_rank_t rank, uint32_t bypass_limit, bool always) {
    csk_workqueue_t queue = make_suspended(1, bypass_limit);
    counted_job_t low = { .name = 1 };
    if (always)
        CHECK_STATUS(csk_workqueue_submit(&queue, rank, &low.counted.work, CSK_WORK_COUNTED | CSK_WORK_OWN_TURN,
                                          CSK_NEVER, run_counted),
                     0);
    else queue_counted(&queue, &low, 1, rank);
    queue_urgent(&queue, STRICT);
    resume_and_drain(&queue);
    CHECK_STATUS(low.status, 0);
    end_queue(&queue);
    return place_of(1);
}

static void a_work_whose_priority_nobody_named_is_overtaken_so_often(void) {
    CHECK_EQ(passes_before(unnamed(LOW), 0, false), CSK_BYPASS_UNNAMED);
    CHECK_EQ(passes_before(unnamed(LOW), 0, true), CSK_BYPASS_UNNAMED);
    CHECK_EQ(passes_before(unnamed(0), 0, false), CSK_BYPASS_UNNAMED); /* the queue's own priority */
    CHECK_EQ(passes_before(unnamed(LOW), CSK_BYPASS_NEVER, false), STRICT);
}
static void a_named_one_begins_in_strict_order(void) { CHECK_EQ(passes_before(back(LOW), 0, false), STRICT); }
static void a_limit_is_for_all_that_are_counted(void) {
    CHECK_EQ(passes_before(back(LOW), 3, false), 3);
    CHECK_EQ(passes_before(unnamed(LOW), 3, true), 3);
    CHECK_EQ(passes_before(back(0), 1, false), 1);
}

/* What came before it does not overtake it, and still begins first where it is the next in order. */
static void who_came_before_does_not_count(void) {
    csk_workqueue_t queue = make_suspended(1, 2);
    counted_job_t low;
    job_t older[3];
    for (int i = 0; i < 3; i++) {
        older[i] = job_named(i);
        CHECK_STATUS(csk_workqueue_submit(&queue, back(HIGH - 1), &older[i].work, 0, CSK_NEVER, run_job), 0);
    }
    queue_counted(&queue, &low, 10, back(LOW));
    queue_urgent(&queue, 2);
    resume_and_drain(&queue);
    CHECK_NOTES(URGENT, URGENT + 1, 0, 1, 2, 10);
    end_queue(&queue);
}

/* It is taken out of the list of the queue's own priority, and of the heap, from wherever it stands. */
static void who_is_overdue_goes_next_wherever_it_stands(void) {
    for (int32_t priority = LOW; priority <= 0; priority -= LOW) {
        csk_workqueue_t queue = make_suspended(1, 2);
        job_t older = job_named(1), newer = job_named(3);
        counted_job_t overdue;
        CHECK_STATUS(csk_workqueue_submit(&queue, back(LOW - 1), &older.work, 0, CSK_NEVER, run_job), 0);
        queue_counted(&queue, &overdue, 2, back(priority));
        queue_job(&queue, &newer);
        queue_urgent(&queue, 3);
        resume_and_drain(&queue);
        CHECK_NOTES(URGENT, URGENT + 1, 2, URGENT + 2, 3, 1);
        end_queue(&queue);
    }
}

static void several_are_overdue_by_their_arrival(void) {
    csk_workqueue_t queue = make_suspended(1, 2);
    counted_job_t low[3], high;
    for (int i = 0; i < 3; i++) queue_counted(&queue, &low[i], i, back(LOW + i));
    queue_counted(&queue, &high, 10, back(HIGH));
    queue_urgent(&queue, 2);
    resume_and_drain(&queue);
    CHECK_NOTES(10, URGENT, 0, 1, 2, URGENT + 1);
    end_queue(&queue);
}

static void who_is_cancelled_or_raised_leaves_the_others_their_counts(void) {
    csk_workqueue_t queue = make_suspended(1, 3);
    counted_job_t low[4];
    job_t first = job_named(20);
    for (int i = 0; i < 4; i++) queue_counted(&queue, &low[i], i, back(LOW));
    CHECK_STATUS(csk_workqueue_submit(&queue, back(HIGH + 1), &first.work, 0, CSK_NEVER, run_job), 0);
    CHECK_STATUS(csk_workqueue_raise(&queue, back(HIGH + 2), &low[2].counted.work), 0);
    queue_urgent(&queue, 3);
    CHECK_STATUS(csk_workqueue_cancel(&queue, &low[0].counted.work), 0);
    CHECK_STATUS(csk_workqueue_cancel(&queue, &low[0].counted.work), ENOENT);
    resume_and_drain(&queue);
    CHECK_STATUS(low[0].status, -1);
    CHECK_NOTES(2, 20, URGENT, 1, URGENT + 1, 3, URGENT + 2); /* the third overtook one of the two alone */
    queue_counted(&queue, &low[0], 30, back(LOW));            /* its memory may be used again */
    end_queue(&queue);
}

/* Nobody passes a barrier: what waits behind it is overtaken once that is gone. */
static void behind_a_barrier_nobody_is_overtaken(void) {
    for (int cancels = 0; cancels < 2; cancels++) {
        csk_workqueue_t queue = make_suspended(1, 1);
        counted_job_t low, high;
        job_t barrier = job_named(2), last = job_named(5), first[2] = { job_named(0), job_named(1) };
        CHECK_STATUS(csk_workqueue_submit(&queue, back(HIGH), &first[0].work, 0, CSK_NEVER, run_job), 0);
        queue_job(&queue, &first[1]);
        CHECK_STATUS(csk_workqueue_submit(&queue, 0, &barrier.work, CSK_WORK_BARRIER, CSK_NEVER, run_job), 0);
        queue_counted(&queue, &low, 3, back(LOW));
        queue_counted(&queue, &high, 4, back(HIGH));
        CHECK_STATUS(csk_workqueue_submit(&queue, back(HIGH), &last.work, 0, CSK_NEVER, run_job), 0);
        if (cancels) CHECK_STATUS(csk_workqueue_cancel(&queue, &barrier.work), 0);
        CHECK_EQ(csk_workqueue_waiting(&queue), 6 - cancels);
        resume_and_drain(&queue);
        CHECK(queue.oldest == NULL);
        CHECK_EQ(queue.oldest_passed, 0);
        if (cancels) CHECK_NOTES(0, 4, 3, 5, 1);
        else CHECK_NOTES(0, 1, 2, 4, 3, 5);
        end_queue(&queue);
    }
}

/* A shutdown leaves what is of its own turn where it stands, with the passes that it had. */
static void a_shutdown_forgets_no_passes(void) {
    enum { BEGUN = 2 };
    csk_workqueue_t queue = make_suspended(1, 3);
    counted_job_t low = { .name = 1 }, dropped, behind = { .name = 2 }, high = { .name = 3 };
    job_t later[2] = { job_named(URGENT + 10), job_named(URGENT + 11) }, barrier = job_named(9);
    uint32_t go = 0;
    queue_counted(&queue, &dropped, 0, back(LOW));
    CHECK_STATUS(csk_workqueue_submit(&queue, back(LOW), &low.counted.work, CSK_WORK_COUNTED | CSK_WORK_OWN_TURN,
                                      CSK_NEVER, run_counted),
                 0);
    queue_urgent(&queue, BEGUN);
    urgent_jobs[BEGUN - 1].go = &go;
    CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    wait_until(LOAD(&urgent_jobs[BEGUN - 1].calls) == 1);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(csk_workqueue_submit(&queue, back(HIGH), &later[i].work, CSK_WORK_OWN_TURN, CSK_NEVER, run_job),
                     0);
    CHECK_STATUS(
        csk_workqueue_submit(&queue, 0, &barrier.work, CSK_WORK_BARRIER | CSK_WORK_OWN_TURN, CSK_NEVER, run_job), 0);
    CHECK_STATUS(csk_workqueue_submit(&queue, back(LOW), &behind.counted.work, CSK_WORK_COUNTED | CSK_WORK_OWN_TURN,
                                      CSK_NEVER, run_counted),
                 0);
    CHECK_STATUS(csk_workqueue_submit(&queue, back(HIGH), &high.counted.work, CSK_WORK_COUNTED | CSK_WORK_OWN_TURN,
                                      CSK_NEVER, run_counted),
                 0);
    csk_workqueue_shutdown(&queue, true);
    CHECK_STATUS(dropped.status, ECANCELED);
    STORE(&go, 1);
    drain(&queue);
    CHECK_NOTES(URGENT, URGENT + 1, 0, URGENT + 10, 1, URGENT + 11, 9, 3, 2);
    CHECK_EQ(queue.oldest_passed, 0);
    end_queue(&queue);
}

static csk_workqueue_t shared;
static uint32_t called;
static void calls(void *context) { note((int)(intptr_t)context); }
static void *calls_unnamed(void *context) {
    CHECK_STATUS(csk_workqueue_sync(&shared, unnamed(LOW), CSK_WORK_OWN_TURN, CSK_NEVER, calls, context), 0);
    ADD(&called, 1);
    return NULL;
}
static void *calls_high(void *context) {
    CHECK_STATUS(csk_workqueue_sync(&shared, back(HIGH), 0, CSK_NEVER, calls, context), 0);
    return NULL;
}

/* Callers are counted as works are, and pass as they do. */
static void a_caller_is_bounded_too(void) {
    shared = make_suspended(1, 0);
    called = 0;
    pthread_t low = start_thread(calls_unnamed, (void *)1);
    wait_until(csk_workqueue_waiting(&shared) == 1);
    queue_urgent(&shared, CSK_BYPASS_UNNAMED - 1);
    pthread_t high[2];
    for (int i = 0; i < 2; i++) {
        high[i] = start_thread(calls_high, (void *)(intptr_t)(10 + i));
        wait_until(csk_workqueue_waiting(&shared) == (uint32_t)CSK_BYPASS_UNNAMED + 1 + (uint32_t)i);
    }
    resume_and_drain(&shared);
    join_thread(low);
    for (int i = 0; i < 2; i++) join_thread(high[i]);
    CHECK_EQ(place_of(1), CSK_BYPASS_UNNAMED);
    end_queue(&shared);
}

/* A caller of a higher priority comes after one that is overdue by then. */
static void a_caller_does_not_pass_who_is_overdue(void) {
    shared = make_suspended(1, 1);
    uint32_t go = 0;
    job_t runs = job_named(0);
    counted_job_t low;
    runs.go = &go;
    queue_job(&shared, &runs);
    CHECK_STATUS(csk_workqueue_resume(&shared), 0);
    wait_until(LOAD(&runs.calls) == 1);
    queue_counted(&shared, &low, 2, back(LOW));
    queue_urgent(&shared, 1);
    pthread_t high = start_thread(calls_high, (void *)3);
    wait_until(csk_workqueue_waiting(&shared) == 3);
    STORE(&go, 1);
    join_thread(high);
    drain(&shared);
    CHECK_NOTES(0, URGENT, 2, 3);
    end_queue(&shared);
}

/* Delayed work is counted as well. It came when it was queued. */
static csk_delayed_t delayed;
static void run_delayed(csk_work_t *work, int status) {
    (void)work;
    CHECK_STATUS(status, 0);
    note(1);
}
static void delayed_work_is_bounded_too(void) {
    csk_workqueue_t queue = make_suspended(1, 2);
    CHECK_STATUS(csk_delayed_start_ranked(&delayed, back(LOW), &queue, 0, 0, run_delayed), 0);
    queue_urgent(&queue, 4);
    resume_and_drain(&queue);
    CHECK_EQ(place_of(1), 2);
    end_queue(&queue);
}

/* Who waits for room comes when it has it. */
static uint32_t rooms_told;
static void told(csk_workqueue_wait_t *wait) {
    CHECK_STATUS(wait->status, 0);
    ADD(&rooms_told, 1);
}
static void who_waits_for_room_is_not_overtaken_yet(void) {
    csk_workqueue_t queue;
    CHECK_STATUS(csk_workqueue_init(&queue, &(csk_workqueue_attr_t){ .capacity = 2, .bypass_limit = 1 }), 0);
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    forget_notes();
    static counted_job_t low = { .name = 1 };
    csk_workqueue_wait_t wait;
    rooms_told = 0;
    queue_urgent(&queue, 2);
    CHECK_STATUS(csk_workqueue_submit_when_room(&queue, back(LOW), &low.counted.work, CSK_WORK_COUNTED, run_counted,
                                                &wait, told, NULL),
                 EINPROGRESS);
    CHECK(queue.oldest == NULL);
    resume_and_drain(&queue);
    drain(&queue);
    CHECK_EQ(LOAD(&rooms_told), 1);
    CHECK_EQ(place_of(1), 2);
    end_queue(&queue);
}

/* In a child of fork nothing waits. */
static void uses_anew(void *context) {
    csk_workqueue_t *queue = context;
    CHECK_EQ(csk_workqueue_waiting(queue), 0);
    CHECK(queue->oldest == NULL);
    NOT_UNDER_TSAN();
    static counted_job_t low;
    queue_counted(queue, &low, 5, back(LOW));
    queue_urgent(queue, 2);
    CHECK_EQ(csk_workqueue_waiting(queue), 3);
    forget_notes();
    resume_and_drain(queue);
    CHECK_NOTES(URGENT, 5, URGENT + 1);
    CHECK_EQ(queue->oldest_passed, 0);
}
static void a_childs_queue_counts_anew(void) {
    csk_workqueue_t queue = make_suspended(1, 1);
    counted_job_t low[2];
    for (int i = 0; i < 2; i++) queue_counted(&queue, &low[i], i, back(LOW));
    CHECK_EQ(csk_workqueue_waiting(&queue), 2);
    in_a_child(uses_anew, &queue);
    resume_and_drain(&queue);
    CHECK_NOTES(0, 1);
    end_queue(&queue);
}

/* ---- Beside a list of all that wait ------------------------------------------------------------------------------ */

enum { MOST = 200, RUNS = 20000, LIMIT = 4 };

/* A work that runs queues others at random. So each that begins can be compared with what waits just then. */
typedef struct {
    csk_counted_work_t counted;
    csk_rank_t rank;
    int64_t arrival;
    uint32_t passed;
    bool is_counted, waits;
} random_job_t;

static random_job_t random_jobs[MOST];
static csk_workqueue_t random_queue;
static unsigned seed;
static int64_t arrivals;
static int runs_left, waiting_counted, exact_below, most_wait;

static int below(int bound) { return (int)((unsigned)rand_r(&seed) % (unsigned)bound); }

static bool comes_before(const random_job_t *a, const random_job_t *b) {
    return a->rank != b->rank ? a->rank > b->rank : a->arrival < b->arrival;
}

static random_job_t *expected_next(void) {
    random_job_t *next = NULL, *oldest = NULL;
    for (random_job_t *job = random_jobs; job < random_jobs + MOST; job++) {
        if (!job->waits) continue;
        if (next == NULL || comes_before(job, next)) next = job;
        if (job->is_counted && (oldest == NULL || job->arrival < oldest->arrival)) oldest = job;
    }
    return oldest != NULL && oldest->passed >= LIMIT && next->arrival > oldest->arrival ? oldest : next;
}

static void run_random(csk_work_t *work, int status);
static void queue_random(void) {
    for (int wanted = below(4); wanted > 0 && runs_left > 0; wanted--) {
        random_job_t *job = &random_jobs[below(most_wait)];
        if (job->waits) continue;
        STORE(&runs_left, runs_left - 1);
        job->rank = back(below(3) - 1);
        job->arrival = ++arrivals;
        job->passed = 0;
        job->is_counted = below(3) != 0;
        job->waits = true;
        waiting_counted += job->is_counted;
        if (job->is_counted)
            CHECK_STATUS(csk_workqueue_submit(&random_queue, job->rank, &job->counted.work, CSK_WORK_COUNTED, CSK_NEVER,
                                              run_random),
                         0);
        else
            CHECK_STATUS(csk_workqueue_submit(&random_queue, job->rank, &job->counted.work, 0, CSK_NEVER, run_random),
                         0);
    }
    if (below(20) != 0) return;
    random_job_t *job = &random_jobs[below(most_wait)];
    CHECK_STATUS(csk_workqueue_cancel(&random_queue, &job->counted.work), job->waits ? 0 : ENOENT);
    waiting_counted -= job->waits && job->is_counted;
    job->waits = false;
}

static void run_random(csk_work_t *work, int status) {
    random_job_t *job = (random_job_t *)work;
    CHECK_STATUS(status, 0);
    CHECK(job->waits);
    if (waiting_counted < exact_below) CHECK(job == expected_next());
    for (random_job_t *other = random_jobs; other < random_jobs + MOST; other++) {
        if (!other->waits || !other->is_counted || other->arrival > job->arrival || other == job) continue;
        CHECK(++other->passed <= LIMIT);
    }
    job->waits = false;
    waiting_counted -= job->is_counted;
    do queue_random();
    while (runs_left > 0 && csk_workqueue_waiting(&random_queue) == 0);
}

static void run_at_random(int most, int exact) {
    most_wait = most;
    exact_below = exact;
    runs_left = RUNS;
    arrivals = waiting_counted = 0;
    memset(random_jobs, 0, sizeof random_jobs);
    random_queue = make_suspended(1, LIMIT);
    do queue_random();
    while (arrivals == 0);
    resume_and_drain(&random_queue);
    while (LOAD(&runs_left) != 0) drain(&random_queue);
    drain(&random_queue);
    for (int i = 0; i < MOST; i++) CHECK(!random_jobs[i].waits);
    CHECK_EQ(random_queue.oldest_passed, 0);
    end_queue(&random_queue);
}

static void each_that_begins_is_the_next_by_the_limit(void) { run_at_random(CSK_ARRIVALS_STEPS, INT32_MAX); }
/* Where many wait that are counted, passes by others may count for too many, and never for too few. */
static void nobody_is_passed_too_often_among_many(void) { run_at_random(MOST, 0); }

TEST_MAIN(TEST(a_childs_queue_counts_anew), TEST(a_work_whose_priority_nobody_named_is_overtaken_so_often),
          TEST(a_named_one_begins_in_strict_order), TEST(a_limit_is_for_all_that_are_counted),
          TEST(who_came_before_does_not_count), TEST(who_is_overdue_goes_next_wherever_it_stands),
          TEST(several_are_overdue_by_their_arrival), TEST(who_is_cancelled_or_raised_leaves_the_others_their_counts),
          TEST(behind_a_barrier_nobody_is_overtaken), TEST(a_shutdown_forgets_no_passes), TEST(a_caller_is_bounded_too),
          TEST(a_caller_does_not_pass_who_is_overdue), TEST(delayed_work_is_bounded_too),
          TEST(who_waits_for_room_is_not_overtaken_yet), TEST(each_that_begins_is_the_next_by_the_limit),
          TEST(nobody_is_passed_too_often_among_many))
