/* clients_workqueue.c: serial and concurrent queues, callers, room, drains, ends.
 *
 * More than 400 lines: the clients share their jobs and what is checked of them. */
#include "csynckernel/workqueue.h"
#include "explorer.h"
#include "pool/pool.h"

enum { JOBS = 5 };

typedef struct {
    csk_work_t work;
    int accepted; /* the status of queueing it; -1: it wasn't */
    int status;   /* of its call */
    uint32_t calls;
} job_t;

static struct {
    csk_workqueue_t embedded, *queue;
    job_t jobs[JOBS];
    uint32_t width, inside, done, flag, held, calls, granted, order[JOBS + 2], entered;
    int statuses[2];
} * shared;

static void make_with(csk_workqueue_attr_t attr) {
    shared = explore_allocate(sizeof *shared);
    shared->queue = &shared->embedded;
    shared->width = attr.width > 1 ? attr.width : 1;
    for (int i = 0; i < JOBS; i++) shared->jobs[i].accepted = -1;
    EXPECT_EQUAL(csk_workqueue_init(shared->queue, &attr), 0);
    /* How the pool starts is the matter of its own clients. */
    EXPECT_EQUAL(csk_pool_prepare(), 0);
}
static void make_serial(void) { make_with((csk_workqueue_attr_t){ .width = 1 }); }
static void make_wide(void) { make_with((csk_workqueue_attr_t){ .width = 2 }); }
static void make_narrow(void) { make_with((csk_workqueue_attr_t){ .capacity = 1 }); }
static void make_dropping(void) {
    make_with((csk_workqueue_attr_t){ .capacity = 1, .when_full = CSK_WORKQUEUE_DROP_OLDEST });
}

static void enter(void) {
    uint32_t inside = __atomic_load_n(&shared->inside, __ATOMIC_RELAXED);
    EXPECT(inside < shared->width);
    EXPECT_EQUAL(shared->held, 0);
    __atomic_fetch_add(&shared->inside, 1, __ATOMIC_RELAXED);
}
static void leave(void) { __atomic_fetch_add(&shared->inside, -1, __ATOMIC_RELAXED); }

static void runs(csk_work_t *work, int status) {
    job_t *job = (job_t *)work;
    if (status == 0) enter();
    job->calls++;
    job->status = status;
    if (status == 0) {
        EXPECT(csk_workqueue_is_current(shared->queue));
        shared->order[shared->entered++] = (uint32_t)(job - shared->jobs);
        leave();
    }
    explore_set(&shared->done, shared->done + 1);
}
static void queue_one(int index) {
    shared->jobs[index].accepted = csk_workqueue_enqueue(shared->queue, &shared->jobs[index].work, runs);
}
static void queues_0_1(void) { queue_one(0), queue_one(1); }
static void queues_2_3(void) { queue_one(2), queue_one(3); }

static bool came_before(uint32_t first, uint32_t second) {
    for (uint32_t i = 0; i < shared->entered; i++) {
        if (shared->order[i] == first) return true;
        if (shared->order[i] == second) return false;
    }
    return true;
}

/* What was accepted was called once, what was not wasn't, and nothing is left. */
static void all_called(void) {
    for (int i = 0; i < JOBS; i++) EXPECT_EQUAL(shared->jobs[i].calls, shared->jobs[i].accepted == 0 ? 1 : 0);
    EXPECT_EQUAL(shared->inside, 0);
    EXPECT_EQUAL(shared->queue->running, 0);
    EXPECT_EQUAL(shared->queue->waiting, 0);
    EXPECT_EQUAL(shared->queue->refusing, 0);
    EXPECT_EQUAL(shared->queue->state & ~(UINT64_C(1) << 51), 0); /* all but SHUT */
}
static void all_in_order(void) {
    all_called();
    EXPECT(came_before(0, 1) && came_before(2, 3));
}

CLIENT(workqueue_two_producers, .setup = make_serial, .threads = { queues_0_1, queues_2_3 }, .check = all_in_order)
CLIENT(workqueue_wide_two_producers, .setup = make_wide, .threads = { queues_0_1, queues_2_3 }, .check = all_called)

/* The worker that finds nothing more leaves just when the next work comes. */
static void queues_one_by_one(void) {
    for (int i = 0; i < 2; i++) {
        queue_one(i);
        explore_wait(&shared->done, (uint32_t)i + 1);
    }
    queue_one(2);
}
static void queues_until_shut(void) {
    queue_one(0);
    explore_wait(&shared->done, 1);
    queue_one(1);
}
CLIENT(workqueue_leaving_worker, .setup = make_serial, .threads = { queues_one_by_one }, .check = all_called)
CLIENT(workqueue_wide_leaving_worker, .setup = make_wide, .threads = { queues_one_by_one }, .check = all_called)
static void queues_as_the_first_ends(void) {
    explore_wait(&shared->done, 1);
    queue_one(3);
}
CLIENT(workqueue_wide_lingering_worker, .setup = make_wide, .threads = { queues_one_by_one, queues_as_the_first_ends },
       .check = all_called)

/* The first waits for the second: another worker comes for that. */
static void waits_for_second(csk_work_t *work, int status) {
    explore_wait(&shared->flag, 1);
    runs(work, status);
}
static void is_second(csk_work_t *work, int status) {
    runs(work, status);
    explore_set(&shared->flag, 1);
}
static void queues_two_that_meet(void) {
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queue), 0);
    shared->jobs[0].accepted = csk_workqueue_enqueue(shared->queue, &shared->jobs[0].work, waits_for_second);
    shared->jobs[1].accepted = csk_workqueue_enqueue(shared->queue, &shared->jobs[1].work, is_second);
    EXPECT_EQUAL(csk_workqueue_resume(shared->queue), 0);
    explore_wait(&shared->done, 2);
}
CLIENT(workqueue_wide_two_that_meet, .setup = make_wide, .threads = { queues_two_that_meet }, .check = all_called)
/* The worker that takes the first, which is sorted, may be the only one that was asked for. */
static void queues_another_to_meet(void) {
    shared->jobs[0].accepted = csk_workqueue_enqueue(shared->queue, &shared->jobs[0].work, waits_for_second);
    EXPECT(csk_workqueue_waiting(shared->queue) <= 1);
    shared->jobs[1].accepted = csk_workqueue_enqueue(shared->queue, &shared->jobs[1].work, is_second);
    explore_wait(&shared->done, 2);
}
CLIENT(workqueue_wide_two_that_meet_unsorted, .setup = make_wide, .threads = { queues_another_to_meet },
       .check = all_called)

/* The same where the second comes as the worker for the first is on its way, or watches the inbox: it is left to that
 * worker. */
static void queues_one_that_waits(void) {
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queue), 0);
    shared->jobs[0].accepted = csk_workqueue_enqueue(shared->queue, &shared->jobs[0].work, waits_for_second);
    EXPECT_EQUAL(csk_workqueue_resume(shared->queue), 0);
}
static void queues_the_second(void) {
    shared->jobs[1].accepted = csk_workqueue_enqueue(shared->queue, &shared->jobs[1].work, is_second);
}
CLIENT(workqueue_wide_two_that_meet_in_the_inbox, .setup = make_wide,
       .threads = { queues_one_that_waits, queues_the_second }, .check = all_called)

/* Its item stands in the pool's list once, whoever asks for workers. */
static csk_pool_item_t *other_item;
static void ran_other(csk_pool_item_t *item) {
    (void)item;
    shared->flag++;
}
static void posts_others(void) {
    queue_one(2);
    other_item = explore_allocate(sizeof *other_item);
    EXPECT_EQUAL(csk_pool_post(other_item, ran_other), 0);
    queue_one(3);
}
static void all_and_other_ran(void) {
    all_called();
    EXPECT_EQUAL(shared->flag, 1);
    EXPECT_EQUAL(csk_pool_queued(), 0);
}
CLIENT(workqueue_wide_beside_others, .setup = make_wide, .threads = { queues_0_1, posts_others },
       .check = all_and_other_ran)

/* Works that never rest keep all workers, and have asked for one more: each gives way to others all the same, and comes
 * back. */
static uint32_t runs_beside_other;
static void make_restless(void) {
    make_wide();
    runs_beside_other = 0;
}
static void runs_without_rest(csk_work_t *work, int status) {
    job_t *job = (job_t *)work;
    (void)status;
    if (csk_pool_queued() > 1) runs_beside_other++; /* the other, and the queue itself */
    if (++job->status < 12) EXPECT_EQUAL(csk_workqueue_enqueue(shared->queue, work, runs_without_rest), 0);
    else job->calls++;
}
static void queues_three_without_rest(void) {
    for (int i = 0; i < 3; i++)
        shared->jobs[i].accepted = csk_workqueue_enqueue(shared->queue, &shared->jobs[i].work, runs_without_rest);
}
static void posts_another(void) {
    csk_pool_item_t *item = explore_allocate(sizeof *item);
    EXPECT_EQUAL(csk_pool_post(item, ran_other), 0);
}
static void other_ran_soon(void) {
    all_called();
    EXPECT_EQUAL(shared->flag, 1);
    EXPECT(runs_beside_other <= 4);
}
CLIENT(workqueue_wide_without_rest, .setup = make_restless, .threads = { queues_three_without_rest, posts_another },
       .check = other_ran_soon)

/* Who gives way to a worker on its way has counted until then: what came meanwhile may need another one beside that. */
static void ran_beside(csk_pool_item_t *item) { explore_free(item, sizeof *item); }
static void posts_two_others(void) {
    for (int i = 0; i < 2; i++) EXPECT_EQUAL(csk_pool_post(explore_allocate(sizeof(csk_pool_item_t)), ran_beside), 0);
}
static void queues_one_and_two_that_meet(void) {
    queue_one(2);
    shared->jobs[0].accepted = csk_workqueue_enqueue(shared->queue, &shared->jobs[0].work, waits_for_second);
    queues_the_second();
}
CLIENT(workqueue_wide_two_that_meet_beside_others, .setup = make_wide,
       .threads = { queues_one_and_two_that_meet, posts_two_others }, .check = all_called)

/* ---- What is urgent ---------------------------------------------------------------------------------------------- */

/* Each bit an urgent job: `told`, its enqueueing has returned; `due`, it had before the work that ran last ended. */
static uint32_t told, due, urgent_done;

static void make_with_urgent(void) {
    make_serial();
    told = due = urgent_done = 0;
}
static void runs_behind_urgent(csk_work_t *work, int status) {
    EXPECT_EQUAL(due & ~urgent_done, 0);
    runs(work, status);
    due = __atomic_load_n(&told, __ATOMIC_SEQ_CST);
}
static void runs_urgent(csk_work_t *work, int status) {
    urgent_done |= 1u << ((job_t *)work - shared->jobs);
    runs(work, status);
}
static void queue_urgent(int index, csk_rank_t rank) {
    shared->jobs[index].accepted = csk_workqueue_submit(shared->queue, rank, &shared->jobs[index].work, 0, CSK_NEVER,
                                                        runs_urgent);
    __atomic_fetch_or(&told, 1u << index, __ATOMIC_SEQ_CST);
}
static void queue_three(csk_rank_t rank) {
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queue), 0);
    for (int i = 0; i < 3; i++) {
        csk_work_t *work = &shared->jobs[i].work;
        shared->jobs[i].accepted = csk_workqueue_submit(shared->queue, rank, work, 0, CSK_NEVER, runs_behind_urgent);
    }
    EXPECT_EQUAL(csk_workqueue_resume(shared->queue), 0);
}
static void queues_three_at_once(void) { queue_three(csk_rank(0, CSK_PLACE_BACK)); }
static void queues_urgent_3(void) { queue_urgent(3, csk_rank(1, CSK_PLACE_BACK)); }
static void queues_urgent_4(void) { queue_urgent(4, csk_rank(1, CSK_PLACE_BACK)); }
CLIENT(workqueue_urgent, .setup = make_with_urgent, .threads = { queues_three_at_once, queues_urgent_3 },
       .check = all_called)
CLIENT(workqueue_two_urgent, .setup = make_with_urgent,
       .threads = { queues_three_at_once, queues_urgent_3, queues_urgent_4 }, .check = all_called)

/* The same with the place before all others of the queue's own priority, and with that priority before lower ones. */
static void queues_in_front_3(void) { queue_urgent(3, csk_rank(0, CSK_PLACE_FRONT)); }
static void queues_three_at_the_back(void) { queue_three(csk_rank(0, CSK_PLACE_LAST)); }
static void queues_own_3(void) { queue_urgent(3, csk_rank(0, CSK_PLACE_BACK)); }
CLIENT(workqueue_in_front, .setup = make_with_urgent, .threads = { queues_three_at_once, queues_in_front_3 },
       .check = all_called)
CLIENT(workqueue_own_before_lower, .setup = make_with_urgent, .threads = { queues_three_at_the_back, queues_own_3 },
       .check = all_called)

/* ---- Callers ----------------------------------------------------------------------------------------------------- */

static void is_called(void *context) {
    (void)context;
    enter();
    EXPECT(csk_workqueue_is_current(shared->queue));
    EXPECT_EQUAL(csk_workqueue_sync(shared->queue, 0, 0, CSK_NEVER, is_called, NULL), EDEADLK);
    leave();
    __atomic_fetch_add(&shared->calls, 1, __ATOMIC_RELAXED);
}
static int call_until(int64_t deadline_ns, csk_rank_t rank, bool barrier) {
    uint32_t before = __atomic_load_n(&shared->calls, __ATOMIC_RELAXED);
    int status = csk_workqueue_sync(shared->queue, rank,
                                    barrier ? CSK_WORK_BARRIER
                                    : 0     ? CSK_WORK_BARRIER
                                            : 0,
                                    deadline_ns, is_called, NULL);
    if (status == 0) EXPECT(__atomic_load_n(&shared->calls, __ATOMIC_RELAXED) > before);
    else if (status == ETIMEDOUT) EXPECT(explore_now() >= deadline_ns);
    if (status == 0) __atomic_fetch_add(&shared->granted, 1, __ATOMIC_RELAXED);
    return status;
}
static csk_rank_t own_rank(void) { return csk_rank(0, CSK_PLACE_BACK); }
static void calls(void) { EXPECT_EQUAL(call_until(CSK_NEVER, own_rank(), false), 0); }
static void calls_soon(void) {
    int status = call_until(explore_now() + 4000, own_rank(), false);
    EXPECT(status == 0 || status == ETIMEDOUT);
}
static void calls_first(void) { EXPECT_EQUAL(call_until(CSK_NEVER, csk_rank(1, CSK_PLACE_BACK), false), 0); }
static void calls_alone(void) { EXPECT_EQUAL(call_until(CSK_NEVER, own_rank(), true), 0); }
static void queues_and_calls(void) {
    queue_one(0);
    calls();
    EXPECT_EQUAL(shared->jobs[0].calls, 1);
}
static void queues_beside_and_calls(void) {
    queue_one(0);
    calls();
}
static void calls_and_queues(void) {
    calls();
    queue_one(2);
}
static void callers_served(void) {
    all_called();
    EXPECT_EQUAL(shared->calls, shared->granted);
}
CLIENT(workqueue_caller, .setup = make_serial, .threads = { queues_and_calls, queues_2_3 }, .check = callers_served)
CLIENT(workqueue_two_callers, .setup = make_serial, .threads = { queues_and_calls, calls_and_queues },
       .check = callers_served)
CLIENT(workqueue_caller_times_out, .setup = make_serial, .threads = { calls_soon, calls_and_queues },
       .check = callers_served)
CLIENT(workqueue_caller_times_out_with_work, .setup = make_serial, .threads = { queues_0_1, calls_soon, calls_soon },
       .check = callers_served)
CLIENT(workqueue_caller_of_a_higher_rank, .setup = make_serial, .threads = { queues_0_1, calls_first, calls },
       .check = callers_served)
CLIENT(workqueue_wide_callers, .setup = make_wide, .threads = { queues_beside_and_calls, calls_alone },
       .check = callers_served)

/* ---- Barriers, cancelling, suspending ---------------------------------------------------------------------------- */

static void runs_alone(csk_work_t *work, int status) {
    EXPECT_EQUAL(__atomic_load_n(&shared->inside, __ATOMIC_RELAXED), 0);
    enter();
    explore_point();
    EXPECT_EQUAL(__atomic_load_n(&shared->inside, __ATOMIC_RELAXED), 1);
    leave();
    runs(work, status);
}
static void queue_barrier(int index) {
    shared->jobs[index].accepted = csk_workqueue_submit(shared->queue, 0, &shared->jobs[index].work, CSK_WORK_BARRIER,
                                                        CSK_NEVER, runs_alone);
}
static void queues_around_a_barrier(void) {
    queue_one(0);
    queue_barrier(1);
    queue_one(2);
}
static void queues_another(void) {
    queue_one(3);
    queue_barrier(4);
}
static void in_order_of_barriers(void) {
    all_called();
    EXPECT(came_before(0, 1) && came_before(1, 2) && came_before(3, 4));
}
CLIENT(workqueue_barrier, .setup = make_wide, .threads = { queues_around_a_barrier, queues_another },
       .check = in_order_of_barriers)

static void cancel_one(int index) {
    job_t *job = &shared->jobs[index];
    int status = csk_workqueue_cancel(shared->queue, &job->work);
    if (status == 0) {
        EXPECT_EQUAL(job->calls, 0);
        job->accepted = -1;
    } else {
        EXPECT_EQUAL(status, ENOENT);
    }
}
static void cancels_a_barrier(void) {
    queues_around_a_barrier();
    cancel_one(1);
}
CLIENT(workqueue_cancelled_barrier, .setup = make_wide, .threads = { cancels_a_barrier, calls },
       .check = callers_served)

static void queues_three(void) {
    queues_0_1();
    queue_one(2);
    explore_set(&shared->flag, 1);
}
static void cancels_1(void) {
    explore_wait(&shared->flag, 1);
    cancel_one(1);
}
static void queues_three_and_drains(void) {
    queues_three();
    EXPECT_EQUAL(csk_workqueue_drain(shared->queue, CSK_NEVER), 0);
}
CLIENT(workqueue_cancel_during_drain, .setup = make_serial, .threads = { queues_three_and_drains, cancels_1 },
       .check = all_called)
CLIENT(workqueue_cancel, .setup = make_serial, .threads = { queues_three, cancels_1 }, .check = all_called)

/* Queues itself again while another thread cancels it, and a barrier waits. */
static void runs_twice(csk_work_t *work, int status) {
    job_t *job = (job_t *)work;
    if (++job->status == 1) EXPECT_EQUAL(csk_workqueue_enqueue(shared->queue, work, runs_twice), 0);
    else job->calls = 1;
    (void)status;
}
static void queues_restless(void) {
    shared->jobs[0].accepted = csk_workqueue_enqueue(shared->queue, &shared->jobs[0].work, runs_twice);
    queue_barrier(1);
    if (csk_workqueue_cancel(shared->queue, &shared->jobs[0].work) == 0) shared->jobs[0].accepted = -1;
}
CLIENT(workqueue_cancel_of_what_queues_itself, .setup = make_wide, .threads = { queues_restless }, .check = all_called)

static void suspends_and_resumes(void) {
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queue), 0);
    if (csk_workqueue_running(shared->queue) == 0) {
        __atomic_store_n(&shared->held, 1, __ATOMIC_SEQ_CST);
        explore_point();
        __atomic_store_n(&shared->held, 0, __ATOMIC_SEQ_CST);
    }
    EXPECT_EQUAL(csk_workqueue_resume(shared->queue), 0);
}
CLIENT(workqueue_suspend, .setup = make_serial, .threads = { queues_0_1, suspends_and_resumes }, .check = all_called)
/* Another suspends at the same time; neither resumes for both. */
CLIENT(workqueue_suspended_by_two, .setup = make_serial,
       .threads = { queues_0_1, suspends_and_resumes, suspends_and_resumes }, .check = all_called)
CLIENT(workqueue_suspend_with_callers, .setup = make_wide, .threads = { queues_beside_and_calls, suspends_and_resumes },
       .check = callers_served)

/* ---- Room -------------------------------------------------------------------------------------------------------- */

static void within_capacity(void) { EXPECT(shared->queue->waiting <= 1); }
CLIENT(workqueue_room, .setup = make_narrow, .threads = { queues_0_1, queues_2_3 }, .check = all_in_order,
       .invariant = within_capacity)

static void queues_soon(void) {
    for (int i = 2; i < 4; i++) {
        int64_t deadline_ns = explore_now() + 4000;
        int status = csk_workqueue_submit(shared->queue, own_rank(), &shared->jobs[i].work, 0, deadline_ns, runs);
        EXPECT(status == 0 || (status == ETIMEDOUT && explore_now() >= deadline_ns));
        shared->jobs[i].accepted = status;
    }
}
CLIENT(workqueue_room_times_out, .setup = make_narrow, .threads = { queues_0_1, queues_soon }, .check = all_called,
       .invariant = within_capacity)

static void shuts_down(void) { csk_workqueue_shutdown(shared->queue, false); }
static void cancels_all(void) { csk_workqueue_shutdown(shared->queue, true); }
static void queues_4(void) { queue_one(4); }
CLIENT(workqueue_room_shut_down, .setup = make_narrow, .threads = { queues_0_1, queues_2_3, queues_4, shuts_down },
       .check = all_called)

static void callers_work_is_counted(void) {
    uint32_t works = 0;
    for (int i = 0; i < JOBS; i++) works += shared->jobs[i].work.place > 1; /* in one of the queue's lists */
    EXPECT(works <= 1);
}
CLIENT(workqueue_room_beside_callers, .setup = make_narrow, .threads = { queues_0_1, calls_first, queues_2_3 },
       .check = callers_served, .invariant = callers_work_is_counted)

CLIENT(workqueue_drops_oldest, .setup = make_dropping, .threads = { queues_0_1, queues_2_3 }, .check = all_called,
       .invariant = within_capacity)

/* ---- Drains and ends --------------------------------------------------------------------------------------------- */

static void ends(void) {
    EXPECT_EQUAL(csk_workqueue_drain(shared->queue, CSK_NEVER), 0);
    for (int i = 0; i < 2; i++) EXPECT_EQUAL(shared->jobs[i].calls, shared->jobs[i].accepted == 0 ? 1 : 0);
    EXPECT_EQUAL(csk_workqueue_destroy(shared->queue), 0);
    explore_free(shared->queue, sizeof *shared->queue);
}
static void queues_and_ends(void) {
    queues_0_1();
    ends();
}
CLIENT(workqueue_destroyed_after_drain, .setup = make_serial, .threads = { queues_and_ends })
CLIENT(workqueue_wide_destroyed_after_drain, .setup = make_wide, .threads = { queues_and_ends })

static void queues_two_and_waits(void) {
    queues_0_1();
    explore_set(&shared->flag, 1);
}
static void calls_after(void) {
    explore_wait(&shared->flag, 1);
    int status = call_until(CSK_NEVER, own_rank(), false);
    EXPECT(status == 0 || status == ESHUTDOWN || status == ECANCELED);
}
static void cancels_all_after(void) {
    explore_wait(&shared->flag, 1);
    csk_workqueue_shutdown(shared->queue, true);
}
static void drains_then_waits(void) {
    queues_two_and_waits();
    EXPECT_EQUAL(csk_workqueue_drain(shared->queue, CSK_NEVER), 0);
    EXPECT_EQUAL(shared->jobs[0].calls + shared->jobs[1].calls, 2);
}
CLIENT(workqueue_drain_while_cancelled, .setup = make_serial, .threads = { drains_then_waits, cancels_all_after },
       .check = all_called)
CLIENT(workqueue_wide_drain_while_cancelled, .setup = make_wide,
       .threads = { drains_then_waits, cancels_all_after, calls_after }, .check = callers_served)

static void drains_soon(void) {
    int64_t deadline_ns = explore_now() + 4000;
    int status = csk_workqueue_drain(shared->queue, deadline_ns);
    EXPECT(status == 0 || (status == ETIMEDOUT && explore_now() >= deadline_ns));
}
CLIENT(workqueue_drain_times_out, .setup = make_serial, .threads = { queues_0_1, drains_soon }, .check = all_called)

static void shuts_down_as_the_first_ends(void) {
    explore_wait(&shared->done, 1);
    csk_workqueue_shutdown(shared->queue, false);
}
CLIENT(workqueue_shut_down_while_a_worker_leaves, .setup = make_serial,
       .threads = { queues_until_shut, shuts_down_as_the_first_ends }, .check = all_called)

/* Refused while it waits for its turn: what others left to it must not be forgotten. */
static void queues_and_calls_until_shut(void) {
    queue_one(0);
    int status = call_until(CSK_NEVER, own_rank(), false);
    EXPECT(status == 0 || status == ESHUTDOWN || status == ECANCELED);
}
CLIENT(workqueue_shut_down, .setup = make_serial, .threads = { queues_and_calls_until_shut, queues_2_3, cancels_all },
       .check = callers_served)

/* What is just being queued when the queue is shut down has run by the end of a drain, or is refused. */
static void shuts_down_and_drains(bool cancel) {
    csk_workqueue_shutdown(shared->queue, cancel);
    EXPECT_EQUAL(csk_workqueue_drain(shared->queue, CSK_NEVER), 0);
    shared->flag = shared->jobs[0].calls;
}
static void shuts_down_and_drains_what_runs(void) { shuts_down_and_drains(false); }
static void cancels_and_drains(void) { shuts_down_and_drains(true); }
static void queues_0(void) { queue_one(0); }
static void queues_1(void) { queue_one(1); }
static void nothing_ran_after_the_drain(void) {
    EXPECT(shared->jobs[0].accepted == 0 || shared->jobs[0].accepted == ESHUTDOWN);
    EXPECT_EQUAL(shared->jobs[0].calls, shared->flag);
    all_called();
    EXPECT(shared->queue->late == NULL);
}
CLIENT(workqueue_queued_as_it_is_shut_down, .setup = make_serial,
       .threads = { queues_0, shuts_down_and_drains_what_runs }, .check = nothing_ran_after_the_drain)
CLIENT(workqueue_queued_as_it_is_cancelled, .setup = make_serial, .threads = { queues_0, queues_1, cancels_and_drains },
       .check = nothing_ran_after_the_drain)
CLIENT(workqueue_dropping_as_it_is_shut_down, .setup = make_dropping,
       .threads = { queues_0, shuts_down_and_drains_what_runs }, .check = nothing_ran_after_the_drain)

static void make_on_heap(void) {
    make_serial();
    EXPECT_EQUAL(csk_workqueue_create(&shared->queue, NULL), 0);
}
static void runs_and_releases(csk_work_t *work, int status) {
    EXPECT_EQUAL(status, 0);
    csk_workqueue_release(shared->queue);
    ((job_t *)work)->calls++;
}
static void queues_the_end(void) {
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queue), 0);
    EXPECT_EQUAL(csk_workqueue_enqueue(shared->queue, &shared->jobs[0].work, runs_and_releases), 0);
    EXPECT_EQUAL(csk_workqueue_resume(shared->queue), 0);
}
static void end_came_once(void) { EXPECT_EQUAL(shared->jobs[0].calls, 1); }
CLIENT(workqueue_released_inside, .setup = make_on_heap, .threads = { queues_the_end }, .check = end_came_once,
       .preemptions = 1)

static void releases(void *context) {
    (void)context;
    csk_workqueue_release(shared->queue);
}
static void calls_the_end(void) {
    queue_one(0);
    EXPECT_EQUAL(csk_workqueue_sync(shared->queue, own_rank(), 0, CSK_NEVER, releases, NULL), 0);
    EXPECT_EQUAL(shared->jobs[0].calls, 1);
}
CLIENT(workqueue_released_by_a_caller, .setup = make_on_heap, .threads = { calls_the_end }, .check = end_came_once,
       .preemptions = 1)

/* The worker of the first work may take the second one as soon as the queue is unlocked, and the queue goes. */
static void queues_the_end_to_a_worker(void) {
    queue_one(1);
    queues_the_end();
}
CLIENT(workqueue_released_while_resumed, .setup = make_on_heap, .threads = { queues_the_end_to_a_worker },
       .check = end_came_once)
/* So it may while a long inbox is sorted in pieces, between which the queue is unlocked. */
static void queues_a_long_end_to_a_worker(void) {
    queue_one(1);
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queue), 0);
    queue_one(2);
    queue_one(3);
    EXPECT_EQUAL(csk_workqueue_enqueue(shared->queue, &shared->jobs[0].work, runs_and_releases), 0);
    EXPECT_EQUAL(csk_workqueue_resume(shared->queue), 0);
}
CLIENT(workqueue_released_while_it_is_sorted, .setup = make_on_heap, .threads = { queues_a_long_end_to_a_worker },
       .check = end_came_once)

static void is_refused_and_releases(csk_work_t *work, int status) {
    EXPECT_EQUAL(status, ECANCELED);
    csk_workqueue_release(shared->queue);
    ((job_t *)work)->calls++;
}
static void refuses_the_end(void) {
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queue), 0);
    EXPECT_EQUAL(csk_workqueue_enqueue(shared->queue, &shared->jobs[0].work, is_refused_and_releases), 0);
    csk_workqueue_shutdown(shared->queue, true);
}
CLIENT(workqueue_released_when_refused, .setup = make_on_heap, .threads = { refuses_the_end }, .check = end_came_once,
       .preemptions = 1)

static void queues_and_releases(void) {
    queue_one(0);
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queue), 0);
    queue_one(1);
    csk_workqueue_release(shared->queue);
}
static void both_came(void) { EXPECT_EQUAL(shared->jobs[0].calls + shared->jobs[1].calls, 2); }
CLIENT(workqueue_released, .setup = make_on_heap, .threads = { queues_and_releases }, .check = both_came)
