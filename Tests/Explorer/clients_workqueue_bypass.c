/* clients_workqueue_bypass.c: works and callers of a queue with a bypass limit, beside others that sort, take out, shut
 * down and ask for a turn. */
#include "explorer.h"
#include "pool/pool.h"
#include "queue/workqueue.h"

enum { JOBS = 6, LIMIT = 1, NOBODY = 9 };
enum { LOW = -1, OWN = 0, HIGH = 1 };

typedef struct {
    csk_counted_work_t counted;
    int accepted; /* the status of queueing it; -1: it wasn't */
    int status;
    uint32_t calls;
    int64_t arrival;
    bool is_counted;
} job_t;

static struct {
    csk_workqueue_t queue;
    job_t jobs[JOBS], caller;
    uint32_t entered, order[JOBS + 1], calls, flag;
} * shared;

static void make_with(csk_workqueue_attr_t attr) {
    shared = explore_allocate(sizeof *shared);
    for (int i = 0; i < JOBS; i++) shared->jobs[i].accepted = -1;
    EXPECT_EQUAL(csk_workqueue_init(&shared->queue, &attr), 0);
    EXPECT_EQUAL(csk_pool_prepare(), 0);
}
static void make_serial(void) { make_with((csk_workqueue_attr_t){ .width = 1, .bypass_limit = LIMIT }); }
static void make_wide(void) { make_with((csk_workqueue_attr_t){ .width = 2, .bypass_limit = LIMIT }); }

static csk_rank_t rank_of(int32_t priority) { return csk_rank(priority, CSK_PLACE_BACK); }

static void runs(csk_work_t *work, int status) {
    job_t *job = (job_t *)work;
    job->calls++;
    job->status = status;
    job->arrival = csk_work_arrival(work);
    if (status == 0)
        shared->order[__atomic_fetch_add(&shared->entered, 1, __ATOMIC_RELAXED)] = (uint32_t)(job - shared->jobs);
}
static void queue_plain(int index, int32_t priority) {
    job_t *job = &shared->jobs[index];
    job->accepted = csk_workqueue_submit(&shared->queue, rank_of(priority), &job->counted.work, 0, CSK_NEVER, runs);
}
static void queue_counted(int index, int32_t priority) {
    job_t *job = &shared->jobs[index];
    job->is_counted = true;
    job->accepted = csk_workqueue_submit(&shared->queue, rank_of(priority), &job->counted.work, CSK_WORK_COUNTED,
                                         CSK_NEVER, runs);
}
static void queue_counted_always(int index, int32_t priority) {
    job_t *job = &shared->jobs[index];
    job->is_counted = true;
    job->accepted = csk_workqueue_submit(&shared->queue, rank_of(priority), &job->counted.work,
                                         CSK_WORK_COUNTED | CSK_WORK_OWN_TURN, CSK_NEVER, runs);
    EXPECT_EQUAL(job->accepted, 0);
}
static void suspends(void) { EXPECT_EQUAL(csk_workqueue_suspend(&shared->queue), 0); }
static void resumes(void) { EXPECT_EQUAL(csk_workqueue_resume(&shared->queue), 0); }

static void all_called(void) {
    for (int i = 0; i < JOBS; i++) EXPECT_EQUAL(shared->jobs[i].calls, shared->jobs[i].accepted == 0 ? 1 : 0);
    EXPECT_EQUAL(shared->queue.running, 0);
    EXPECT_EQUAL(shared->queue.waiting, 0);
    EXPECT(shared->queue.oldest == NULL);
    EXPECT_EQUAL(shared->queue.oldest_passed, 0);
    EXPECT_EQUAL(shared->queue.state & ~(UINT64_C(1) << 51), 0); /* all but SHUT */
}

/* Of those that ran before one that is counted, so many at most came after it. */
static void nobody_is_passed_too_often(void) {
    all_called();
    for (uint32_t i = 0; i < shared->entered; i++) {
        const job_t *job = &shared->jobs[shared->order[i]];
        uint32_t passes = 0;
        for (uint32_t j = 0; j < i; j++) passes += shared->jobs[shared->order[j]].arrival > job->arrival;
        if (job->is_counted) EXPECT(passes <= LIMIT);
    }
}

static void in_order_of(const uint32_t *expected) {
    uint32_t count = 0;
    while (expected[count] != NOBODY) count++;
    EXPECT_EQUAL(shared->entered, count);
    for (uint32_t i = 0; i < count; i++) EXPECT_EQUAL(shared->order[i], expected[i]);
    all_called();
}
#define IN_ORDER_OF(...) in_order_of((const uint32_t[]){ __VA_ARGS__, NOBODY })

static void counts(void) { EXPECT(csk_workqueue_waiting(&shared->queue) <= JOBS); }

/* ---- Works ------------------------------------------------------------------------------------------------------- */

static void queues_low_and_urgent(void) {
    queue_counted(0, LOW);
    queue_plain(1, HIGH);
    queue_plain(2, HIGH);
}
static void queues_two_urgent(void) {
    queue_plain(3, HIGH);
    queue_plain(4, HIGH);
}
CLIENT(workqueue_overtaken, .setup = make_serial, .threads = { queues_low_and_urgent, queues_two_urgent },
       .check = nobody_is_passed_too_often)
CLIENT(workqueue_wide_overtaken, .setup = make_wide, .threads = { queues_low_and_urgent, queues_two_urgent },
       .check = all_called)

/* What came before it counts for nobody, and what came between two counts for the older one. */
static void queues_by_turns(void) {
    suspends();
    queue_plain(0, HIGH);
    queue_counted(1, LOW);
    queue_plain(2, HIGH);
    queue_counted(3, LOW);
    queue_plain(4, HIGH);
    queue_plain(5, HIGH);
    resumes();
}
static void each_once(void) { IN_ORDER_OF(0, 2, 1, 4, 3, 5); }
CLIENT(workqueue_overtaken_once_each, .setup = make_serial, .threads = { queues_by_turns, counts }, .check = each_once)

/* What came before it and comes before it in order still does. */
static void queues_older(void) {
    suspends();
    queue_plain(0, OWN);
    queue_counted(1, LOW);
    queue_plain(2, HIGH);
    queue_plain(3, LOW);
    resumes();
}
static void older_first(void) { IN_ORDER_OF(2, 0, 1, 3); }
CLIENT(workqueue_overtaken_behind_older, .setup = make_serial, .threads = { queues_older, counts },
       .check = older_first)

/* Counted ones overtake each other too, and stand in the list of the queue's own priority. */
static void queues_counted_alone(void) {
    suspends();
    queue_counted(0, OWN);
    queue_counted(1, OWN);
    queue_counted(2, HIGH);
    queue_counted(3, HIGH);
    resumes();
}
static void both_before_the_second(void) { IN_ORDER_OF(2, 0, 1, 3); }
CLIENT(workqueue_overtaken_by_counted, .setup = make_serial, .threads = { queues_counted_alone, counts },
       .check = both_before_the_second)

/* One that is overdue, or is about to be, is taken out. */
static void queues_two_low(void) {
    suspends();
    queue_counted(0, LOW);
    queue_counted(1, LOW);
    queue_plain(2, HIGH);
    queue_plain(3, HIGH);
    explore_set(&shared->flag, 1);
    resumes();
}
static void takes_out_the_first(void) {
    explore_wait(&shared->flag, 1);
    if (csk_workqueue_cancel(&shared->queue, &shared->jobs[0].counted.work) == 0) shared->jobs[0].accepted = -1;
    memset(&shared->jobs[0].counted.arrival, 0xFF, sizeof(csk_arrival_t));
}
CLIENT(workqueue_overtaken_and_taken_out, .setup = make_serial, .threads = { queues_two_low, takes_out_the_first },
       .check = nobody_is_passed_too_often)

/* ---- Barriers and ends ------------------------------------------------------------------------------------------- */

static void runs_as_barrier(csk_work_t *work, int status) { runs(work, status); }
static void queue_barrier_always(int index) {
    job_t *job = &shared->jobs[index];
    job->accepted = csk_workqueue_submit(&shared->queue, 0, &job->counted.work, CSK_WORK_BARRIER | CSK_WORK_OWN_TURN,
                                         CSK_NEVER, runs_as_barrier);
}
static void shuts_down_around_a_barrier(void) {
    suspends();
    queue_counted_always(0, LOW);
    queue_plain(1, OWN);
    queue_barrier_always(2);
    queue_counted_always(3, LOW);
    queue_counted_always(4, HIGH);
    csk_workqueue_shutdown(&shared->queue, true);
}
static void stays_in_order(void) { IN_ORDER_OF(0, 2, 4, 3); }
CLIENT(workqueue_overtaken_and_shut_down, .setup = make_serial, .threads = { shuts_down_around_a_barrier, counts },
       .check = stays_in_order)

/* One that stays has been overtaken before the shutdown, and goes next after it. */
static void shuts_down_inside(csk_work_t *work, int status) {
    runs(work, status);
    if (status == 0) csk_workqueue_shutdown(&shared->queue, true);
}
static void queues_and_shuts_down_inside(void) {
    suspends();
    queue_counted_always(0, LOW);
    queue_counted_always(1, LOW);
    job_t *job = &shared->jobs[2];
    job->accepted = csk_workqueue_submit(&shared->queue, rank_of(HIGH), &job->counted.work, 0, CSK_NEVER,
                                         shuts_down_inside);
    queue_plain(3, OWN);
    queue_counted_always(4, HIGH);
    resumes();
}
static void who_was_overtaken_goes_next(void) { IN_ORDER_OF(2, 0, 1, 4); }
CLIENT(workqueue_overtaken_before_a_shutdown, .setup = make_serial, .threads = { queues_and_shuts_down_inside, counts },
       .check = who_was_overtaken_goes_next)

/* In a child of fork nothing waits, and nobody was overtaken. */
static void forks_beside_counted(void) {
    explore_fork();
    EXPECT_EQUAL(csk_workqueue_waiting(&shared->queue), 0);
    EXPECT(shared->queue.oldest == NULL);
    EXPECT_EQUAL(shared->queue.oldest_passed, 0);
}
CLIENT(workqueue_overtaken_and_forked, .setup = make_serial, .threads = { forks_beside_counted, queues_two_low })

/* ---- Callers ----------------------------------------------------------------------------------------------------- */

static void is_called(void *context) {
    (void)context;
    /* Its arrival is not known any more; its own jobs are. */
    shared->order[__atomic_fetch_add(&shared->entered, 1, __ATOMIC_RELAXED)] = JOBS - 1;
    shared->calls++;
}
static void calls_low(void) {
    EXPECT_EQUAL(csk_workqueue_sync(&shared->queue, rank_of(LOW), 0, CSK_NEVER, is_called, NULL), 0);
}
/* It came before the three that are queued once it waits, so it runs before the last two of them. */
static void queues_three_behind_the_caller(void) {
    suspends();
    explore_set(&shared->flag, 1);
    explore_wait_asleep(1);
    for (int i = 0; i < 3; i++) queue_plain(i, HIGH);
    resumes();
}
static void calls_low_when_suspended(void) {
    explore_wait(&shared->flag, 1);
    calls_low();
}
static void caller_second(void) { IN_ORDER_OF(0, JOBS - 1, 1, 2); }
CLIENT(workqueue_caller_overtaken, .setup = make_serial,
       .threads = { queues_three_behind_the_caller, calls_low_when_suspended }, .check = caller_second)

/* A caller that comes while one is overdue does not take its turn, though nothing runs: the one that has passed it was
 * a caller too, and the worker that it asked for has not come. */
static void queues_one_to_pass(void) {
    suspends();
    queue_counted(0, LOW);
    explore_set(&shared->flag, 1);
    explore_wait_asleep(1);
    resumes();
}
static void calls_high(void) {
    explore_wait(&shared->flag, 1);
    EXPECT_EQUAL(csk_workqueue_sync(&shared->queue, rank_of(HIGH), CSK_WORK_OWN_TURN, CSK_NEVER, is_called, NULL), 0);
}
static void one_of_both_passed(void) {
    all_called();
    EXPECT_EQUAL(shared->calls, 2);
    EXPECT_EQUAL(shared->entered, 3);
    EXPECT(shared->order[0] == 0 || shared->order[1] == 0);
}
CLIENT(workqueue_caller_behind_who_is_overdue, .setup = make_serial,
       .threads = { queues_one_to_pass, calls_high, calls_high }, .check = one_of_both_passed)
