/* clients_workqueue_turns.c: who waits in a work queue: callers that run their own alone, own turns, room without a
 * thread, handles. */
#include "csynckernel/delayed.h"
#include "explorer.h"
#include "pool/pool.h"
#include "queue/workqueue.h"

enum { JOBS = 5, ASKS = 2 };

typedef struct {
    csk_work_t work;
    int accepted; /* the status of queueing it; -1: it wasn't */
    int status;   /* of its call */
    uint32_t calls;
    bool stays;
} job_t;

typedef struct {
    csk_workqueue_wait_t wait;
    int job, status;
    bool given_up;
    uint32_t told;
} ask_t;

static struct {
    csk_workqueue_t embedded, *queue;
    job_t jobs[JOBS];
    ask_t asks[ASKS];
    csk_delayed_t delayed;
    uint32_t calling[EXPLORE_THREADS + 8]; /* each thread: waits for its turn */
    uint32_t inside, calls, granted, entered, order[JOBS], flag, done;
} * shared;

static void make_with(csk_workqueue_attr_t attr) {
    shared = explore_allocate(sizeof *shared);
    shared->queue = &shared->embedded;
    for (int i = 0; i < JOBS; i++) shared->jobs[i].accepted = -1;
    EXPECT_EQUAL(csk_workqueue_init(shared->queue, &attr), 0);
    EXPECT_EQUAL(csk_pool_prepare(), 0);
}
static void make_serial(void) { make_with((csk_workqueue_attr_t){ .width = 1 }); }
static void make_wide(void) { make_with((csk_workqueue_attr_t){ .width = 2 }); }
static void make_narrow(void) { make_with((csk_workqueue_attr_t){ .capacity = 1 }); }
static void make_refusing(void) {
    make_with((csk_workqueue_attr_t){ .capacity = 1, .when_full = CSK_WORKQUEUE_REFUSE });
}
static void make_dropping(void) {
    make_with((csk_workqueue_attr_t){ .capacity = 1, .when_full = CSK_WORKQUEUE_DROP_OLDEST });
}
static void make_on_heap(void) {
    make_serial();
    EXPECT_EQUAL(csk_workqueue_create(&shared->queue, NULL), 0);
}
static csk_rank_t own_rank(void) { return csk_rank(0, CSK_PLACE_BACK); }

static void runs(csk_work_t *work, int status) {
    job_t *job = (job_t *)work;
    EXPECT_EQUAL(shared->calling[explore_thread()], 0);
    if (job->stays) EXPECT_EQUAL(status, 0);
    job->calls++;
    job->status = status;
    if (status == 0)
        shared->order[__atomic_fetch_add(&shared->entered, 1, __ATOMIC_RELAXED)] = (uint32_t)(job - shared->jobs);
    explore_set(&shared->done, shared->done + 1);
}
static void queue_one(int index) {
    shared->jobs[index].accepted = csk_workqueue_enqueue(shared->queue, &shared->jobs[index].work, runs);
}
static void queue_always(int index) {
    job_t *job = &shared->jobs[index];
    job->stays = true;
    job->accepted = csk_workqueue_submit(shared->queue, own_rank(), &job->work, CSK_WORK_OWN_TURN, CSK_NEVER, runs);
    EXPECT_EQUAL(job->accepted, 0);
}
static bool came_before(uint32_t first, uint32_t second) {
    for (uint32_t i = 0; i < shared->entered; i++) {
        if (shared->order[i] == first) return true;
        if (shared->order[i] == second) return false;
    }
    return true;
}

static void is_called(void *context) {
    (void)context;
    shared->calling[explore_thread()] = 0;
    EXPECT(csk_workqueue_is_current(shared->queue));
    __atomic_fetch_add(&shared->calls, 1, __ATOMIC_RELAXED);
}
static int call_until(int64_t deadline_ns, bool always) {
    shared->calling[explore_thread()] = 1;
    uint32_t flags = always ? CSK_WORK_OWN_TURN : 0;
    int status = csk_workqueue_sync(shared->queue, own_rank(), flags, deadline_ns, is_called, NULL);
    shared->calling[explore_thread()] = 0;
    if (status == 0) __atomic_fetch_add(&shared->granted, 1, __ATOMIC_RELAXED);
    if (status == ETIMEDOUT) EXPECT(explore_now() >= deadline_ns);
    return status;
}

static void all_called(void) {
    for (int i = 0; i < JOBS; i++) EXPECT_EQUAL(shared->jobs[i].calls, shared->jobs[i].accepted == 0 ? 1 : 0);
    EXPECT_EQUAL(shared->calls, shared->granted);
    EXPECT_EQUAL(shared->queue->running, 0);
    EXPECT_EQUAL(shared->queue->waiting, 0);
    EXPECT_EQUAL(shared->queue->refusing, 0);
    EXPECT(shared->queue->rooms == NULL && shared->queue->drains == NULL);
    EXPECT_EQUAL(shared->queue->state & ~(UINT64_C(1) << 51), 0); /* all but SHUT */
}

/* ---- A wait is a wait -------------------------------------------------------------------------------------------- */

static void queues_and_calls(void) {
    queue_one(0);
    queue_one(1);
    EXPECT_EQUAL(call_until(CSK_NEVER, false), 0);
    EXPECT_EQUAL(shared->jobs[0].calls + shared->jobs[1].calls, 2);
}
static void queues_and_calls_soon(void) {
    queue_one(2);
    int status = call_until(explore_now() + 4000, false);
    EXPECT(status == 0 || status == ETIMEDOUT);
}
CLIENT(workqueue_callers_run_their_own, .setup = make_serial, .threads = { queues_and_calls, queues_and_calls_soon },
       .check = all_called)

/* What is before it ends only once it is back at its deadline. */
static void stays_until_flag(csk_work_t *work, int status) {
    explore_wait(&shared->flag, 1);
    runs(work, status);
}
static void calls_behind_what_waits_for_it(void) {
    shared->jobs[0].accepted = csk_workqueue_enqueue(shared->queue, &shared->jobs[0].work, stays_until_flag);
    EXPECT_EQUAL(call_until(explore_now() + 4000, false), ETIMEDOUT);
    explore_set(&shared->flag, 1);
}
CLIENT(workqueue_caller_back_at_its_deadline, .setup = make_serial, .threads = { calls_behind_what_waits_for_it },
       .check = all_called)

/* ---- Own turns --------------------------------------------------------------------------------------------------- */

static void queues_0_1_always(void) { queue_always(0), queue_always(1); }
static void queues_and_takes_its_turn(void) {
    queue_one(2);
    EXPECT_EQUAL(call_until(CSK_NEVER, true), 0);
    queue_one(3);
}
static void calls_or_is_refused(void) {
    int status = call_until(CSK_NEVER, false);
    EXPECT(status == 0 || status == EBUSY || status == ECANCELED || status == ESHUTDOWN);
}
static void own_in_order(void) {
    all_called();
    EXPECT(came_before(0, 1));
}
CLIENT(workqueue_own_turn_when_full, .setup = make_refusing,
       .threads = { queues_0_1_always, queues_and_takes_its_turn, calls_or_is_refused }, .check = own_in_order)
CLIENT(workqueue_own_turn_beside_drops, .setup = make_dropping,
       .threads = { queues_0_1_always, queues_and_takes_its_turn, calls_or_is_refused }, .check = own_in_order)

static void cancels_all(void) { csk_workqueue_shutdown(shared->queue, true); }
CLIENT(workqueue_own_turn_shut_down, .setup = make_serial,
       .threads = { queues_0_1_always, queues_and_takes_its_turn, cancels_all }, .check = own_in_order)
CLIENT(workqueue_wide_own_turn_shut_down, .setup = make_wide,
       .threads = { queues_0_1_always, queues_and_takes_its_turn, cancels_all }, .check = all_called)

/* All of it waits when the queue is shut down, and what stays goes on waiting. */
static void queues_while_suspended_and_shuts_down(void) {
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queue), 0);
    queues_0_1_always();
    queue_one(2);
    csk_workqueue_shutdown(shared->queue, true);
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queue), 0);
    EXPECT_EQUAL(csk_workqueue_drain(shared->queue, CSK_NEVER), 0);
    for (int i = 0; i < 3; i++) EXPECT_EQUAL(shared->jobs[i].calls, 1);
    EXPECT_EQUAL(shared->jobs[2].status, ECANCELED);
    EXPECT_EQUAL(csk_workqueue_resume(shared->queue), 0);
}
CLIENT(workqueue_suspended_and_shut_down, .setup = make_serial,
       .threads = { queues_while_suspended_and_shuts_down, calls_or_is_refused }, .check = own_in_order)

/* ---- Room -------------------------------------------------------------------------------------------------------- */

static void is_told(csk_workqueue_wait_t *wait) {
    ask_t *ask = wait->context;
    EXPECT(!ask->given_up);
    ask->status = wait->status;
    if (wait->status != 0) shared->jobs[ask->job].accepted = wait->status;
    explore_set(&ask->told, ask->told + 1);
}
static int ask_for_room(int index, int job) {
    ask_t *ask = &shared->asks[index];
    ask->job = job;
    int status = csk_workqueue_submit_when_room(shared->queue, own_rank(), &shared->jobs[job].work, 0, runs, &ask->wait,
                                                is_told, ask);
    EXPECT(status == 0 || status == EINPROGRESS || status == ESHUTDOWN);
    if (status != EINPROGRESS) ask->told = 1;
    if (status == ESHUTDOWN) return shared->jobs[job].accepted = status;
    /* it may have been told already */
    shared->jobs[job].accepted = shared->jobs[job].accepted == ESHUTDOWN ? ESHUTDOWN : 0;
    return status;
}
static void give_up(int index) {
    ask_t *ask = &shared->asks[index];
    int status = csk_workqueue_wait_cancel(shared->queue, &ask->wait);
    EXPECT(status == 0 || status == ENOENT);
    if (status != 0) return;
    EXPECT_EQUAL(ask->told, 0);
    EXPECT_EQUAL(shared->jobs[ask->job].calls, 0);
    ask->given_up = true;
    ask->told = 1;
    shared->jobs[ask->job].accepted = -1;
}
static void queues_and_asks_0(void) {
    queue_one(0);
    ask_for_room(0, 1);
}
static void asks_1(void) {
    ask_for_room(1, 2);
    explore_wait(&shared->asks[1].told, 1);
}
static void queues_and_asks_1(void) {
    asks_1();
    queue_one(3);
}
static void asks_and_gives_up(void) {
    if (ask_for_room(1, 2) == EINPROGRESS) give_up(1);
}
static void all_told(void) {
    all_called();
    for (int i = 0; i < ASKS; i++)
        if (shared->asks[i].job != 0) EXPECT_EQUAL(shared->asks[i].told, 1);
}
static void within_capacity(void) { EXPECT(shared->queue->waiting - shared->queue->beyond <= 1); }
CLIENT(workqueue_room_without_thread, .setup = make_narrow, .threads = { queues_and_asks_0, queues_and_asks_1 },
       .check = all_told, .invariant = within_capacity)
CLIENT(workqueue_room_without_thread_given_up, .setup = make_narrow,
       .threads = { queues_and_asks_0, asks_and_gives_up }, .check = all_told, .invariant = within_capacity)
static void shuts_down(void) { csk_workqueue_shutdown(shared->queue, false); }
CLIENT(workqueue_room_without_thread_shut_down, .setup = make_narrow,
       .threads = { queues_and_asks_0, asks_and_gives_up, shuts_down }, .check = all_told)

/* The last in the line gives up while another comes to stand behind it. */
static void asks_behind(void) {
    explore_wait(&shared->flag, 1);
    queues_and_asks_1();
}
static void stands_in_line_and_gives_up(void) {
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queue), 0);
    queue_one(0);
    EXPECT_EQUAL(ask_for_room(0, 1), EINPROGRESS);
    explore_set(&shared->flag, 1);
    give_up(0);
    EXPECT_EQUAL(csk_workqueue_resume(shared->queue), 0);
}
CLIENT(workqueue_room_behind_who_gives_up, .setup = make_narrow,
       .threads = { stands_in_line_and_gives_up, asks_behind }, .check = all_told)

/* ---- The line ---------------------------------------------------------------------------------------------------- */

enum { CALLER = JOBS - 1 }; /* as a job, for the order */

static void is_called_in_order(void *context) {
    is_called(context);
    shared->order[__atomic_fetch_add(&shared->entered, 1, __ATOMIC_RELAXED)] = CALLER;
}
static int call_behind(int64_t deadline_ns) {
    explore_wait(&shared->flag, 1);
    shared->calling[explore_thread()] = 1;
    int status = csk_workqueue_sync(shared->queue, own_rank(), 0, deadline_ns, is_called_in_order, NULL);
    shared->calling[explore_thread()] = 0;
    if (status == 0) __atomic_fetch_add(&shared->granted, 1, __ATOMIC_RELAXED);
    if (status == ETIMEDOUT) EXPECT(explore_now() >= deadline_ns);
    return status;
}
static void makes_a_line(void) {
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queue), 0);
    queue_one(0);
    EXPECT_EQUAL(ask_for_room(0, 1), EINPROGRESS);
    explore_set(&shared->flag, 1);
    EXPECT_EQUAL(csk_workqueue_resume(shared->queue), 0);
}
static void calls_behind(void) { EXPECT_EQUAL(call_behind(CSK_NEVER), 0); }
static void calls_soon_behind(void) {
    int status = call_behind(explore_now() + 3000);
    EXPECT(status == 0 || status == ETIMEDOUT);
}
static void calls_always(void) {
    explore_wait(&shared->flag, 1);
    EXPECT_EQUAL(call_until(CSK_NEVER, true), 0);
}
static void passed_by_none(void) {
    all_told();
    EXPECT(came_before(1, CALLER));
}
CLIENT(workqueue_caller_behind_the_line, .setup = make_narrow, .threads = { makes_a_line, calls_behind, calls_always },
       .check = passed_by_none, .invariant = within_capacity)
CLIENT(workqueue_caller_leaves_the_line, .setup = make_narrow,
       .threads = { makes_a_line, calls_soon_behind, calls_always }, .check = passed_by_none)

static void calls_in_line_while_suspended(void) {
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queue), 0);
    queue_one(0);
    EXPECT_EQUAL(ask_for_room(0, 1), EINPROGRESS);
    EXPECT_EQUAL(call_until(explore_now() + 3000, false), ETIMEDOUT);
    EXPECT_EQUAL(call_until(explore_now() + 3000, true), ETIMEDOUT);
    EXPECT_EQUAL(csk_workqueue_resume(shared->queue), 0);
}
CLIENT(workqueue_caller_in_line_back_at_its_deadline, .setup = make_narrow,
       .threads = { calls_in_line_while_suspended }, .check = all_told)

/* The queue is shut down while they stand there: what is of its own turn still runs. */
static void makes_a_line_and_shuts_down(void) {
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queue), 0);
    queue_one(0);
    EXPECT_EQUAL(ask_for_room(0, 1), EINPROGRESS);
    explore_set(&shared->flag, 1);
    csk_workqueue_shutdown(shared->queue, true);
    EXPECT_EQUAL(shared->jobs[1].accepted, ESHUTDOWN);
}
static void calls_behind_or_is_refused(void) { EXPECT_EQUAL(call_behind(CSK_NEVER), ESHUTDOWN); }
CLIENT(workqueue_line_shut_down, .setup = make_narrow,
       .threads = { makes_a_line_and_shuts_down, calls_always, calls_behind_or_is_refused }, .check = all_told)

/* What can't be refused comes again and again, until somebody got the room that it leaves. */
static void comes_again(csk_work_t *work, int status) {
    EXPECT_EQUAL(status, 0);
    if (shared->asks[0].told) return;
    uint32_t flags = ((job_t *)work)->stays ? CSK_WORK_OWN_TURN : (uint32_t)WORK_BEYOND;
    EXPECT_EQUAL(csk_workqueue_submit_with_flags(shared->queue, own_rank(), work, flags, CSK_NEVER, comes_again), 0);
}
static void asks_beside_what_comes_again(void) {
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queue), 0);
    queue_one(0);
    EXPECT_EQUAL(ask_for_room(0, 1), EINPROGRESS);
    for (int job = 2; job < 5; job++) {
        shared->jobs[job].stays = job == 4;
        comes_again(&shared->jobs[job].work, 0);
    }
    EXPECT_EQUAL(csk_workqueue_resume(shared->queue), 0);
    explore_wait(&shared->asks[0].told, 1);
}
CLIENT(workqueue_room_beside_what_takes_none, .setup = make_narrow, .threads = { asks_beside_what_comes_again },
       .check = all_told, .invariant = within_capacity)

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

static void retains(void) {
    csk_workqueue_retain(shared->queue);
    explore_set(&shared->flag, 1);
    queue_one(1);
    csk_workqueue_unretain(shared->queue);
}
static void suspends_and_releases(void) {
    explore_wait(&shared->flag, 1);
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queue), 0);
    queue_one(0);
    csk_workqueue_release(shared->queue);
}
static void both_came(void) { EXPECT_EQUAL(shared->jobs[0].calls + shared->jobs[1].calls, 2); }
CLIENT(workqueue_retained, .setup = make_on_heap, .threads = { retains, suspends_and_releases }, .check = both_came)

/* The timer comes for a queue that only this keeps. */
static void rings(csk_work_t *work, int status) {
    (void)work;
    EXPECT_EQUAL(status, 0);
    explore_set(&shared->done, 1);
}
static void starts_and_releases(void) {
    csk_workqueue_retain(shared->queue);
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queue), 0);
    EXPECT_EQUAL(csk_delayed_start(&shared->delayed, shared->queue, explore_now() + 5000, 0, rings), 0);
    csk_workqueue_release(shared->queue);
    explore_wait(&shared->done, 1);
    EXPECT_EQUAL(csk_delayed_cancel(&shared->delayed), ENOENT);
    csk_workqueue_unretain(shared->queue);
}
CLIENT(delayed_after_release, .setup = make_on_heap, .threads = { starts_and_releases })
