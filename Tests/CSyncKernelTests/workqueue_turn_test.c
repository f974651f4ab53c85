/* workqueue_turn_test.c: callers run nothing but their own, and what is of its own turn is neither refused nor
 * dropped. */
#include "workqueue_fixture.h"

static void note_call(void *name) { note((int)(intptr_t)name); }

struct caller {
    csk_workqueue_t *queue;
    int name, status;
};

static void *take_own_turn(void *context) {
    struct caller *caller = context;
    STORE(&caller->status, csk_workqueue_sync(caller->queue, back(0), CSK_WORK_OWN_TURN, CSK_NEVER, note_call,
                                              (void *)(intptr_t)caller->name));
    return NULL;
}

static void queue_always(csk_workqueue_t *queue, job_t *job) {
    CHECK_STATUS(csk_workqueue_submit(queue, back(0), &job->work, CSK_WORK_OWN_TURN, CSK_NEVER, run_job), 0);
}

/* ---- A wait is a wait -------------------------------------------------------------------------------------------- */

static pthread_t waiting_thread;
static uint32_t strangers, may_end;

static void must_run_elsewhere(csk_work_t *work, int status) {
    (void)work, (void)status;
    ADD(&strangers, 1);
    if (pthread_equal(pthread_self(), waiting_thread))
        test_fail(__FILE__, __LINE__, "a caller runs what others queued");
}

/* It ran what was before it: inside the caller's locks, with the caller's cancellation and values. */
static void a_caller_runs_nothing_that_others_queued(void) {
    waiting_thread = pthread_self();
    for (uint32_t width = 1; width < 3; width++) {
        csk_workqueue_t queue = queue_of(width, 0, 0);
        csk_work_t works[20];
        for (int round = 0; round < 400 / TEST_SLOWDOWN; round++) {
            forget_notes();
            STORE(&strangers, 0);
            for (int i = 0; i < 20; i++) CHECK_STATUS(csk_workqueue_enqueue(&queue, &works[i], must_run_elsewhere), 0);
            CHECK_STATUS(csk_workqueue_sync(&queue, back(0), CSK_WORK_BARRIER, CSK_NEVER, note_call, (void *)7), 0);
            CHECK_EQ(LOAD(&strangers), 20);
            CHECK_NOTES(7);
        }
        end_queue(&queue);
    }
}

static void stay_until_told(csk_work_t *work, int status) {
    must_run_elsewhere(work, status);
    wait_until(LOAD(&may_end));
}

/* Workers that have something else to do, so that the caller is the first to look at its queue. */
enum { HELD = 8 };
static csk_pool_item_t held_items[HELD];
static uint32_t held;

static void hold_worker(csk_pool_item_t *item) {
    (void)item;
    ADD(&held, 1);
    wait_until(LOAD(&may_end));
    ADD(&held, -1u);
}

/* A deadline of 5 ms passed unnoticed until what was before the caller had ended, which the caller ran itself. */
static void a_caller_is_back_at_its_deadline_whatever_is_before_it(void) {
    waiting_thread = pthread_self();
    for (int round = 0; round < 8 / TEST_SLOWDOWN; round++) {
        csk_workqueue_t queue = queue_of(1 + (uint32_t)round % 2, 0, 0);
        csk_work_t works[3];
        STORE(&may_end, 0);
        forget_notes();
        for (int i = 0; i < HELD; i++) CHECK_STATUS(csk_pool_post(&held_items[i], hold_worker), 0);
        wait_until(LOAD(&held) == HELD);
        for (int i = 0; i < 3; i++) CHECK_STATUS(csk_workqueue_enqueue(&queue, &works[i], stay_until_told), 0);
        int64_t deadline_ns = csk_deadline_after(5000000);
        CHECK_STATUS(csk_workqueue_sync(&queue, back(0), CSK_WORK_BARRIER, deadline_ns, note_call, NULL), ETIMEDOUT);
        CHECK_GE(csk_now(), deadline_ns);
        CHECK_STATUS(csk_workqueue_sync(&queue, back(0), CSK_WORK_BARRIER | CSK_WORK_OWN_TURN, deadline_ns, note_call,
                                        NULL),
                     ETIMEDOUT);
        STORE(&may_end, 1);
        end_queue(&queue);
        wait_until(LOAD(&held) == 0);
        CHECK_EQ(notes_so_far(), 0);
    }
}

/* ---- Full -------------------------------------------------------------------------------------------------------- */

static void a_full_queue_that_refuses_refuses_its_callers_too(void) {
    csk_workqueue_t queue = queue_of(1, 1, CSK_WORKQUEUE_REFUSE);
    job_t first = job_named(0);
    forget_notes();
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    queue_job(&queue, &first);
    CHECK_STATUS(csk_workqueue_sync(&queue, back(0), 0, CSK_NEVER, note_call, NULL), EBUSY);
    CHECK_STATUS(csk_workqueue_sync(&queue, back(0), CSK_WORK_OWN_TURN, csk_now(), note_call, NULL), ETIMEDOUT);
    CHECK_EQ(csk_workqueue_waiting(&queue), 1);
    CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    drain(&queue);
    CHECK_STATUS(csk_workqueue_sync(&queue, back(0), 0, CSK_NEVER, note_call, (void *)1), 0);
    CHECK_NOTES(0, 1);
    end_queue(&queue);
}

static void a_full_queue_of_any_kind_takes_own_turns_by_their_arrival(void) {
    for (int32_t when_full = CSK_WORKQUEUE_WAIT; when_full <= CSK_WORKQUEUE_DROP_OLDEST; when_full++) {
        csk_workqueue_t queue = queue_of(1, 2, when_full);
        job_t jobs[] = { job_named(0), job_named(1), job_named(2), job_named(4) };
        struct caller caller = { &queue, 3, -1 };
        forget_notes();
        CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
        for (int i = 0; i < 2; i++) queue_job(&queue, &jobs[i]);
        CHECK_EQ(csk_workqueue_beyond_bound(&queue), 0);
        queue_always(&queue, &jobs[2]);
        pthread_t thread = start_thread(take_own_turn, &caller);
        wait_until(csk_workqueue_waiting(&queue) == 4);
        queue_always(&queue, &jobs[3]);
        CHECK_EQ(csk_workqueue_beyond_bound(&queue), 3);
        CHECK_STATUS(csk_workqueue_resume(&queue), 0);
        join_thread(thread);
        CHECK_STATUS(caller.status, 0);
        drain(&queue);
        CHECK_NOTES(0, 1, 2, 3, 4);
        CHECK_EQ(csk_workqueue_beyond_bound(&queue), 0);
        end_queue(&queue);
    }
}

/* An executor's job that was dropped was queued again, behind what had come after it. */
static void what_is_of_its_own_turn_is_passed_over_by_who_drops(void) {
    csk_workqueue_t queue = queue_of(1, 2, CSK_WORKQUEUE_DROP_OLDEST);
    job_t own[3], others[3], late = job_named(9);
    struct caller caller = { &queue, 13, -1 };
    for (int i = 0; i < 3; i++) own[i] = job_named(10 + i), others[i] = job_named(i);
    forget_notes();
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    queue_always(&queue, &own[0]);
    queue_job(&queue, &others[0]);
    queue_always(&queue, &own[1]);
    queue_job(&queue, &others[1]);
    queue_job(&queue, &others[2]); /* drops the oldest that can be */
    CHECK_NOTES(0);
    pthread_t thread = start_thread(take_own_turn, &caller);
    wait_until(csk_workqueue_waiting(&queue) == 5);
    queue_always(&queue, &own[2]);
    queue_job(&queue, &late);
    CHECK_NOTES(0, 1);
    for (int i = 0; i < 2; i++) CHECK_STATUS(others[i].status, ECANCELED);
    CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    join_thread(thread);
    drain(&queue);
    CHECK_NOTES(0, 1, 10, 11, 2, 13, 12, 9);
    for (int i = 0; i < 3; i++) CHECK_STATUS(own[i].status, 0);
    end_queue(&queue);
}

static void who_drops_looks_behind_a_barrier_of_its_own_turn(void) {
    csk_workqueue_t queue = queue_of(2, 2, CSK_WORKQUEUE_DROP_OLDEST);
    job_t barrier = job_named(10), own = job_named(11), jobs[] = { job_named(0), job_named(1), job_named(2) };
    forget_notes();
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    CHECK_STATUS(
        csk_workqueue_submit(&queue, 0, &barrier.work, CSK_WORK_BARRIER | CSK_WORK_OWN_TURN, CSK_NEVER, run_job), 0);
    queue_always(&queue, &own);
    for (int i = 0; i < 3; i++) queue_job(&queue, &jobs[i]);
    CHECK_NOTES(0);
    CHECK_STATUS(jobs[0].status, ECANCELED);
    CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    drain(&queue);
    CHECK_EQ(notes_so_far(), 5);
    CHECK_EQ(notes[1], 10);
    end_queue(&queue);
}

/* ---- Shut down --------------------------------------------------------------------------------------------------- */

static void a_shutdown_that_cancels_leaves_own_turns_in_their_order(void) {
    csk_workqueue_t queue = queue_of(2, 0, 0);
    job_t busy[2], own[5], others[4];
    uint32_t release = 0;
    forget_notes();
    for (int i = 0; i < 2; i++) {
        busy[i] = job_named(99);
        busy[i].go = &release;
        queue_job(&queue, &busy[i]);
    }
    for (int i = 0; i < 2; i++) wait_until(LOAD(&busy[i].calls) == 1);
    forget_notes();
    for (int i = 0; i < 5; i++) own[i] = job_named(10 + i);
    for (int i = 0; i < 4; i++) others[i] = job_named(i);
    CHECK_STATUS(csk_workqueue_submit(&queue, back(5), &others[0].work, 0, CSK_NEVER, run_job), 0);
    CHECK_STATUS(csk_workqueue_submit(&queue, back(4), &own[0].work, CSK_WORK_OWN_TURN, CSK_NEVER, run_job), 0);
    queue_job(&queue, &others[1]);
    CHECK_STATUS(
        csk_workqueue_submit(&queue, 0, &own[1].work, CSK_WORK_BARRIER | CSK_WORK_OWN_TURN, CSK_NEVER, run_job), 0);
    CHECK_STATUS(
        csk_workqueue_submit(&queue, 0, &own[2].work, CSK_WORK_BARRIER | CSK_WORK_OWN_TURN, CSK_NEVER, run_job), 0);
    CHECK_STATUS(csk_workqueue_submit(&queue, 0, &others[2].work, CSK_WORK_BARRIER, CSK_NEVER, run_job), 0);
    queue_job(&queue, &others[3]);
    CHECK_STATUS(
        csk_workqueue_submit(&queue, 0, &own[3].work, CSK_WORK_BARRIER | CSK_WORK_OWN_TURN, CSK_NEVER, run_job), 0);
    CHECK_STATUS(csk_workqueue_submit(&queue, back(7), &own[4].work, CSK_WORK_OWN_TURN, CSK_NEVER, run_job), 0);
    csk_workqueue_shutdown(&queue, true);
    CHECK_NOTES(0, 1, 2, 3);
    for (int i = 0; i < 4; i++) CHECK_STATUS(others[i].status, ECANCELED);
    CHECK_EQ(csk_workqueue_waiting(&queue), 5);
    STORE(&release, 1);
    drain(&queue);
    CHECK_NOTES(0, 1, 2, 3, 10, 11, 12, 13, 14);
    for (int i = 0; i < 5; i++) CHECK_STATUS(own[i].status, 0);
    end_queue(&queue);
}

static void own_turns_come_in_order_after_the_shutdown_too(void) {
    for (int cancels = 0; cancels < 2; cancels++) {
        csk_workqueue_t queue = queue_of(1, (uint32_t)cancels, CSK_WORKQUEUE_REFUSE);
        job_t jobs[50], refused = job_named(77);
        forget_notes();
        csk_workqueue_shutdown(&queue, cancels);
        for (int i = 0; i < 50; i++) {
            jobs[i] = job_named(i);
            queue_always(&queue, &jobs[i]);
        }
        CHECK_STATUS(csk_workqueue_enqueue(&queue, &refused.work, run_job), ESHUTDOWN);
        CHECK_STATUS(csk_workqueue_sync(&queue, back(0), 0, CSK_NEVER, note_call, NULL), ESHUTDOWN);
        CHECK_STATUS(csk_workqueue_sync(&queue, back(0), CSK_WORK_OWN_TURN, CSK_NEVER, note_call, (void *)50), 0);
        CHECK_EQ(notes_so_far(), 51);
        for (int i = 0; i <= 50; i++) CHECK_EQ(notes[i], i);
        end_queue(&queue);
    }
}

/* What a suspended queue had accepted ran only if somebody resumed it after the shutdown: drains waited for ever. */
static void a_suspended_queue_that_is_shut_down_runs_what_it_accepted(void) {
    for (uint32_t width = 1; width < 3; width++) {
        csk_workqueue_t queue = queue_of(width, 0, 0);
        job_t jobs[3], own = job_named(3);
        forget_notes();
        for (int i = 0; i < 2; i++) CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
        queue_jobs(&queue, jobs, 3);
        csk_workqueue_shutdown(&queue, false);
        CHECK_STATUS(csk_workqueue_drain(&queue, csk_deadline_after(5000000000)), 0);
        CHECK_EQ(notes_so_far(), 3);
        CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
        queue_always(&queue, &own);
        drain(&queue);
        for (int i = 0; i < 3; i++) CHECK_STATUS(csk_workqueue_resume(&queue), 0);
        CHECK_EQ(notes_so_far(), 4);
        end_queue(&queue);
    }
}

TEST_MAIN(TEST(a_caller_runs_nothing_that_others_queued), TEST(a_caller_is_back_at_its_deadline_whatever_is_before_it),
          TEST(a_full_queue_that_refuses_refuses_its_callers_too),
          TEST(a_full_queue_of_any_kind_takes_own_turns_by_their_arrival),
          TEST(what_is_of_its_own_turn_is_passed_over_by_who_drops),
          TEST(who_drops_looks_behind_a_barrier_of_its_own_turn),
          TEST(a_shutdown_that_cancels_leaves_own_turns_in_their_order),
          TEST(own_turns_come_in_order_after_the_shutdown_too),
          TEST(a_suspended_queue_that_is_shut_down_runs_what_it_accepted))
