/* delayed_test.c: work at a time: never early, in turn, called as often as promised, cancelled for good. */
#include "workqueue_fixture.h"

static csk_workqueue_t queue; /* zero-filled: serial */

typedef struct {
    csk_delayed_t delayed;
    int64_t not_before_ns, period_ns;
    uint32_t calls, inside, last_status, stop_at;
    uint32_t *go;
} alarm_t;

static alarm_t fresh_alarm(void) { return (alarm_t){ .last_status = UINT32_MAX }; }

static void ring(csk_work_t *work, int status) {
    alarm_t *alarm = (alarm_t *)work;
    CHECK_EQ(ADD(&alarm->inside, 1), 1);
    if (status == 0) CHECK_GE(csk_now(), alarm->not_before_ns);
    alarm->not_before_ns += alarm->period_ns;
    STORE(&alarm->last_status, (uint32_t)status);
    if (status == 0 && alarm->go != NULL) wait_until(LOAD(alarm->go));
    ADD(&alarm->inside, -1);
    ADD(&alarm->calls, 1);
}

static int start(alarm_t *alarm, csk_workqueue_t *on, int64_t after_ns, int64_t period_ns) {
    alarm->not_before_ns = csk_deadline_after(after_ns);
    alarm->period_ns = period_ns;
    return csk_delayed_start(&alarm->delayed, on, alarm->not_before_ns, period_ns, ring);
}

static void it_is_called_once_and_never_early(void) {
    enum { COUNT = 300 };
    static alarm_t alarms[COUNT];
    uint64_t random = test_seed(1);
    for (int i = 0; i < COUNT; i++)
        CHECK_STATUS(start(&alarms[i], &queue, (int64_t)test_random_below(&random, 20000000) - 1000000, 0), 0);
    for (int i = 0; i < COUNT; i++) wait_until(LOAD(&alarms[i].calls) == 1);
    drain(&queue);
    for (int i = 0; i < COUNT; i++) {
        CHECK_STATUS((int)alarms[i].last_status, 0);
        CHECK_STATUS(csk_delayed_cancel(&alarms[i].delayed), ENOENT);
        CHECK_STATUS(start(&alarms[i], &queue, 0, 0), 0); /* may be started again */
    }
    for (int i = 0; i < COUNT; i++) wait_until(LOAD(&alarms[i].calls) == 2);
    end_queue(&queue);
}

static void bad_input_and_a_second_start_are_refused(void) {
    csk_workqueue_t drops;
    alarm_t alarm = fresh_alarm();
    CHECK_STATUS(csk_workqueue_init(&drops,
                                    &(csk_workqueue_attr_t){ .capacity = 1, .when_full = CSK_WORKQUEUE_DROP_OLDEST }),
                 0);
    CHECK_STATUS(csk_delayed_cancel(&alarm.delayed), ENOENT);
    CHECK_STATUS(csk_delayed_start(&alarm.delayed, &queue, 0, 0, NULL), EINVAL);
    CHECK_STATUS(csk_delayed_start(&alarm.delayed, &queue, 0, -1, ring), EINVAL);
    CHECK_STATUS(csk_delayed_start_ranked(&alarm.delayed, INT64_MAX, &queue, 0, 0, ring), EINVAL);
    CHECK_STATUS(csk_delayed_start_ranked(&alarm.delayed, back(1), &drops, 0, 0, ring), EINVAL);
    CHECK_STATUS(csk_delayed_start(&alarm.delayed, &queue, CSK_NEVER, 0, ring), 0);
    CHECK_STATUS(csk_delayed_start(&alarm.delayed, &queue, 0, 0, ring), EBUSY);
    CHECK_STATUS(csk_delayed_cancel(&alarm.delayed), 0);
    CHECK_STATUS(csk_delayed_cancel(&alarm.delayed), ENOENT);
    CHECK_EQ(alarm.calls, 0);
    CHECK_STATUS(csk_workqueue_destroy(&drops), 0);
    end_queue(&queue);
}

static void a_queue_that_waits_when_full_takes_it_in_over_its_bound(void) {
    csk_workqueue_t waits;
    CHECK_STATUS(csk_workqueue_init(&waits, &(csk_workqueue_attr_t){ .capacity = 1 }), 0);
    alarm_t alarms[3] = { fresh_alarm(), fresh_alarm(), fresh_alarm() };
    CHECK_STATUS(csk_workqueue_suspend(&waits), 0);
    for (int i = 0; i < 3; i++) CHECK_STATUS(csk_delayed_start(&alarms[i].delayed, &waits, 0, 0, ring), 0);
    wait_until(csk_workqueue_waiting(&waits) == 3);
    CHECK_STATUS(csk_workqueue_resume(&waits), 0);
    for (int i = 0; i < 3; i++) wait_until(LOAD(&alarms[i].calls) == 1);
    end_queue(&waits);
}

/* It went by the timer's thread, and so stood behind what the caller queued after it. */
static void what_is_due_already_stands_before_what_is_queued_next(void) {
    alarm_t due = fresh_alarm();
    job_t job = job_named(0);
    uint32_t release = 0;
    due.go = &release;
    forget_notes();
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    CHECK_STATUS(csk_delayed_start(&due.delayed, &queue, 0, 0, ring), 0);
    CHECK_EQ(csk_workqueue_waiting(&queue), 1);
    queue_job(&queue, &job);
    CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    wait_until(LOAD(&due.inside) == 1);
    CHECK_EQ(notes_so_far(), 0);
    STORE(&release, 1);
    end_queue(&queue);
    CHECK_NOTES(0);
    CHECK_EQ(due.calls, 1);
}

static void it_takes_its_turn_by_rank(void) {
    alarm_t last = fresh_alarm(), first = fresh_alarm();
    job_t job = job_named(0);
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    CHECK_STATUS(csk_delayed_start_ranked(&last.delayed, back(-1), &queue, 0, 0, ring), 0);
    CHECK_STATUS(csk_delayed_start_ranked(&first.delayed, back(1), &queue, 0, 0, ring), 0);
    forget_notes();
    queue_job(&queue, &job);
    wait_until(csk_workqueue_waiting(&queue) == 3);
    uint32_t release = 0;
    last.go = job.go = &release;
    CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    wait_until(notes_so_far() == 1);
    CHECK_EQ(LOAD(&first.calls), 1);
    CHECK_EQ(LOAD(&last.calls), 0);
    STORE(&release, 1);
    end_queue(&queue);
    CHECK_EQ(last.calls, 1);
}

/* ---- Periods ----------------------------------------------------------------------------------------------------- */

static void periodic_work_comes_at_multiples_until_it_is_cancelled(void) {
    alarm_t alarm = fresh_alarm();
    CHECK_STATUS(start(&alarm, &queue, 1000000, 500000), 0);
    CHECK_STATUS(csk_delayed_start(&alarm.delayed, &queue, 0, 0, ring), EBUSY);
    wait_until(LOAD(&alarm.calls) >= 5);
    int status = csk_delayed_cancel(&alarm.delayed);
    CHECK(status == 0 || status == EBUSY);
    drain(&queue);
    CHECK_STATUS((int)alarm.last_status, status == 0 ? 0 : ECANCELED);
    uint32_t calls = alarm.calls;
    CHECK_STATUS(csk_delayed_cancel(&alarm.delayed), ENOENT);
    drain(&queue);
    CHECK_EQ(alarm.calls, calls);
    end_queue(&queue);
}

static void calls_that_would_overlap_are_left_out(void) {
    csk_workqueue_t wide;
    uint32_t release = 0;
    alarm_t alarm = fresh_alarm(), beside = fresh_alarm();
    CHECK_STATUS(csk_workqueue_init(&wide, &(csk_workqueue_attr_t){ .width = 4 }), 0);
    alarm.go = &release;
    CHECK_STATUS(start(&alarm, &wide, 0, 200000), 0);
    wait_until(LOAD(&alarm.inside) == 1);
    CHECK_STATUS(start(&beside, &wide, 0, 200000), 0);
    wait_until(LOAD(&beside.calls) >= 5);
    CHECK_EQ(LOAD(&alarm.inside), 1);
    CHECK_EQ(LOAD(&alarm.calls), 0);
    CHECK_STATUS(csk_delayed_cancel(&alarm.delayed), EBUSY); /* one runs */
    CHECK_STATUS(csk_delayed_cancel(&alarm.delayed), ENOENT);
    STORE(&release, 1);
    wait_until(LOAD(&alarm.calls) == 2);
    CHECK_STATUS((int)LOAD(&alarm.last_status), ECANCELED);
    int status = csk_delayed_cancel(&beside.delayed);
    CHECK(status == 0 || status == EBUSY);
    end_queue(&wide);
    CHECK_EQ(alarm.calls, 2);
}

static void cancel_inside(csk_work_t *work, int status) {
    alarm_t *alarm = (alarm_t *)work;
    if (status == 0 && ADD(&alarm->calls, 1) == 3) CHECK_STATUS(csk_delayed_cancel(&alarm->delayed), EBUSY);
    if (status == 0) return;
    CHECK_STATUS(status, ECANCELED);
    CHECK_EQ(alarm->calls, 3);
    STORE(alarm->go, 1);
    free(alarm); /* the last call */
}

static void periodic_work_may_end_itself_and_free_its_memory_in_the_last_call(void) {
    for (int i = 0; i < 50; i++) {
        alarm_t *alarm = calloc(1, sizeof *alarm);
        uint32_t ended = 0;
        alarm->go = &ended;
        CHECK_STATUS(csk_delayed_start(&alarm->delayed, &queue, csk_now(), 20000, cancel_inside), 0);
        wait_until(LOAD(&ended));
    }
    end_queue(&queue);
}

static void periods_and_deadlines_at_the_ends_of_time_are_kept(void) {
    alarm_t alarms[4] = { fresh_alarm(), fresh_alarm(), fresh_alarm(), fresh_alarm() };
    CHECK_STATUS(csk_delayed_start(&alarms[0].delayed, &queue, csk_now(), INT64_MAX, ring), 0);
    CHECK_STATUS(csk_delayed_start(&alarms[1].delayed, &queue, INT64_MIN, INT64_MAX, ring), 0);
    CHECK_STATUS(csk_delayed_start(&alarms[2].delayed, &queue, INT64_MIN, 3600000000000, ring), 0);
    CHECK_STATUS(csk_delayed_start(&alarms[3].delayed, &queue, INT64_MIN, 0, ring), 0);
    for (int i = 0; i < 4; i++) wait_until(LOAD(&alarms[i].calls) == 1);
    drain(&queue);
    for (int i = 0; i < 4; i++) CHECK_STATUS(csk_delayed_cancel(&alarms[i].delayed), i < 3 ? 0 : ENOENT);
    for (int i = 0; i < 2; i++) CHECK_EQ(alarms[i].delayed.due_ns, CSK_NEVER);
    end_queue(&queue);
}

/* ---- Cancelling -------------------------------------------------------------------------------------------------- */

static void cancelled_while_it_waits_for_its_turn_it_is_not_called(void) {
    for (int period = 0; period < 2; period++) {
        alarm_t alarm = fresh_alarm();
        CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
        CHECK_STATUS(start(&alarm, &queue, 0, period * 3600000000000), 0);
        wait_until(csk_workqueue_waiting(&queue) == 1);
        CHECK_STATUS(csk_delayed_cancel(&alarm.delayed), 0);
        CHECK_EQ(csk_workqueue_waiting(&queue), 0);
        CHECK_STATUS(csk_delayed_cancel(&alarm.delayed), ENOENT);
        CHECK_STATUS(csk_workqueue_resume(&queue), 0);
        drain(&queue);
        CHECK_EQ(alarm.calls, 0);
    }
    end_queue(&queue);
}

/* Cancelled by two at once, of whom one had taken it out of the queue, the other was told that one more call follows.
 * None did. */
static void cancel_too(csk_workqueue_wait_t *wait) {
    alarm_t *alarm = wait->context;
    CHECK_STATUS(csk_delayed_cancel(&alarm->delayed), EBUSY);
    CHECK_EQ(alarm->calls, 0);
}

static void who_is_told_that_a_last_call_follows_gets_it(void) {
    alarm_t alarm = fresh_alarm();
    csk_workqueue_wait_t wait;
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    CHECK_STATUS(start(&alarm, &queue, 0, 3600000000000), 0);
    wait_until(csk_workqueue_waiting(&queue) == 1);
    csk_workqueue_drain_async(&queue, &wait, cancel_too, &alarm);
    CHECK_STATUS(csk_delayed_cancel(&alarm.delayed), ENOENT);
    CHECK_EQ(alarm.calls, 1);
    CHECK_STATUS((int)alarm.last_status, ECANCELED);
    CHECK_STATUS(csk_delayed_cancel(&alarm.delayed), ENOENT);
    CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    end_queue(&queue);
    CHECK_EQ(alarm.calls, 1);
}

static void cancelled_at_the_moment_of_its_time_it_is_called_or_not(void) {
    for (int i = 0; i < 3000 / TEST_SLOWDOWN; i++) {
        alarm_t *alarm = calloc(1, sizeof *alarm);
        CHECK_STATUS(start(alarm, &queue, i % 3 ? 0 : 5000, i % 2 ? 7000 : 0), 0);
        if (i % 4 == 0) sched_yield();
        int status = csk_delayed_cancel(&alarm->delayed);
        drain(&queue);
        uint32_t calls = LOAD(&alarm->calls);
        if (status == 0 && i % 2 == 0) CHECK_EQ(calls, 0);
        if (status == ENOENT) CHECK_EQ(calls, 1);
        if (status == EBUSY) CHECK_STATUS((int)alarm->last_status, ECANCELED);
        CHECK(status == 0 || status == (i % 2 ? EBUSY : ENOENT));
        memset(alarm, 0xA5, sizeof *alarm);
        free(alarm);
    }
    end_queue(&queue);
}

static void the_queue_may_go_with_the_last_call(void) {
    for (int i = 0; i < 2000 / TEST_SLOWDOWN; i++) {
        csk_workqueue_t *own = calloc(1, sizeof *own);
        alarm_t alarm = fresh_alarm();
        CHECK_STATUS(start(&alarm, own, 0, 0), 0);
        wait_until(LOAD(&alarm.calls) == 1);
        end_queue(own);
        memset(own, 0xA5, sizeof *own);
        free(own);
    }
}

/* ---- Queues that refuse ------------------------------------------------------------------------------------------ */

static void a_queue_that_was_shut_down_ends_it(void) {
    for (int period = 0; period < 2; period++) {
        csk_workqueue_t shut = { .width = 0 }, cancels = { .width = 0 };
        alarm_t late = fresh_alarm(), waits = fresh_alarm();
        csk_workqueue_shutdown(&shut, false);
        CHECK_STATUS(start(&late, &shut, 0, period * 100000), 0);
        wait_until(LOAD(&late.calls) == 1);
        CHECK_STATUS((int)late.last_status, ESHUTDOWN);
        CHECK_STATUS(csk_delayed_cancel(&late.delayed), ENOENT);
        CHECK_STATUS(csk_workqueue_suspend(&cancels), 0);
        CHECK_STATUS(start(&waits, &cancels, 0, period * 100000), 0);
        wait_until(csk_workqueue_waiting(&cancels) == 1);
        csk_workqueue_shutdown(&cancels, true);
        CHECK_EQ(waits.calls, 1);
        CHECK_STATUS((int)waits.last_status, ECANCELED);
        CHECK_STATUS(csk_delayed_cancel(&waits.delayed), ENOENT);
        end_queue(&shut);
        end_queue(&cancels);
    }
}

/* Destroying the queue waited for the very call that destroyed it, on the timer's thread for ever. */
static csk_workqueue_t closed;

static void end_the_queue_inside(csk_work_t *work, int status) {
    CHECK_STATUS(status, ESHUTDOWN);
    CHECK(csk_workqueue_is_current(&closed));
    CHECK_STATUS(csk_workqueue_drain(&closed, CSK_NEVER), EDEADLK);
    CHECK_STATUS(csk_workqueue_destroy(&closed), EDEADLK);
    ADD(&((alarm_t *)work)->calls, 1);
}

static void a_call_that_says_it_was_refused_is_inside_the_queue_too(void) {
    csk_workqueue_shutdown(&closed, false);
    for (int at_its_time = 0; at_its_time < 2; at_its_time++) {
        alarm_t alarm = fresh_alarm();
        CHECK_STATUS(csk_delayed_start(&alarm.delayed, &closed, at_its_time ? csk_deadline_after(1000) : 0, 0,
                                       end_the_queue_inside),
                     0);
        wait_until(LOAD(&alarm.calls) == 1);
        CHECK(!csk_workqueue_is_current(&closed));
    }
    CHECK_STATUS(csk_workqueue_destroy(&closed), 0);
}

static void a_full_queue_ends_it(void) {
    csk_workqueue_t full;
    job_t job = job_named(0);
    alarm_t alarm = fresh_alarm();
    CHECK_STATUS(csk_workqueue_init(&full, &(csk_workqueue_attr_t){ .capacity = 1, .when_full = CSK_WORKQUEUE_REFUSE }),
                 0);
    CHECK_STATUS(csk_workqueue_suspend(&full), 0);
    queue_job(&full, &job);
    CHECK_STATUS(start(&alarm, &full, 0, 0), 0);
    wait_until(LOAD(&alarm.calls) == 1);
    CHECK_STATUS((int)alarm.last_status, EBUSY);
    CHECK_STATUS(csk_workqueue_resume(&full), 0);
    end_queue(&full);
}

/* Periodic work that finds another in its place, and drops it or is refused, or is dropped by it. */
static void periodic_work_leaves_out_times_without_room(void) {
    for (int32_t when_full = CSK_WORKQUEUE_REFUSE; when_full <= CSK_WORKQUEUE_DROP_OLDEST; when_full++) {
        csk_workqueue_t full;
        alarm_t alarm = fresh_alarm();
        job_t jobs[20];
        CHECK_STATUS(csk_workqueue_init(&full, &(csk_workqueue_attr_t){ .capacity = 1, .when_full = when_full }), 0);
        CHECK_STATUS(csk_workqueue_suspend(&full), 0);
        CHECK_STATUS(start(&alarm, &full, 0, 100000), 0);
        for (int i = 0; i < 20; i++) {
            jobs[i] = job_named(i);
            int status = csk_workqueue_enqueue(&full, &jobs[i].work, run_job);
            CHECK(status == 0 || (status == EBUSY && when_full == CSK_WORKQUEUE_REFUSE));
            int64_t until_ns = csk_now() + 200000; /* several times come */
            wait_until(csk_now() > until_ns);
        }
        CHECK_EQ(LOAD(&alarm.calls), 0);
        CHECK_STATUS(csk_workqueue_resume(&full), 0);
        wait_until(LOAD(&alarm.calls) >= 3);
        CHECK_EQ(LOAD(&alarm.last_status), 0);
        csk_workqueue_shutdown(&full, true);
        wait_until(LOAD(&alarm.last_status) != 0);
        wait_until(csk_delayed_cancel(&alarm.delayed) == ENOENT);
        end_queue(&full);
    }
}

TEST_MAIN(TEST(it_is_called_once_and_never_early), TEST(bad_input_and_a_second_start_are_refused),
          TEST(a_queue_that_waits_when_full_takes_it_in_over_its_bound),
          TEST(what_is_due_already_stands_before_what_is_queued_next), TEST(it_takes_its_turn_by_rank),
          TEST(periodic_work_comes_at_multiples_until_it_is_cancelled), TEST(calls_that_would_overlap_are_left_out),
          TEST(periodic_work_may_end_itself_and_free_its_memory_in_the_last_call),
          TEST(periods_and_deadlines_at_the_ends_of_time_are_kept),
          TEST(cancelled_while_it_waits_for_its_turn_it_is_not_called),
          TEST(who_is_told_that_a_last_call_follows_gets_it),
          TEST(cancelled_at_the_moment_of_its_time_it_is_called_or_not), TEST(the_queue_may_go_with_the_last_call),
          TEST(a_queue_that_was_shut_down_ends_it), TEST(a_full_queue_ends_it),
          TEST(a_call_that_says_it_was_refused_is_inside_the_queue_too),
          TEST(periodic_work_leaves_out_times_without_room))
