/* workqueue_bound_test.c: queues with a bound, shutting down, drains: who is told what, and nothing lost. */
#include "queue/workqueue.h"
#include "workqueue_fixture.h"

/* One job runs until `release`, and nothing waits. */
static void keep_busy(csk_workqueue_t *queue, job_t *busy, uint32_t *release) {
    *busy = job_named(-1);
    busy->go = release;
    STORE(release, 0);
    queue_job(queue, busy);
    wait_until(LOAD(&busy->calls) == 1);
    forget_notes();
}

static int enqueue(csk_workqueue_t *queue, job_t *job) { return csk_workqueue_enqueue(queue, &job->work, run_job); }

/* ---- Full -------------------------------------------------------------------------------------------------------- */

static void a_full_queue_that_refuses_says_so_and_goes_on(void) {
    csk_workqueue_t queue = queue_of(1, 3, CSK_WORKQUEUE_REFUSE);
    job_t busy, jobs[4], ranked = job_named(9);
    uint32_t release;
    keep_busy(&queue, &busy, &release);
    queue_jobs(&queue, jobs, 3);
    jobs[3] = job_named(3);
    CHECK_STATUS(enqueue(&queue, &jobs[3]), EBUSY);
    CHECK_STATUS(csk_workqueue_submit(&queue, back(9), &ranked.work, 0, CSK_NEVER, run_job), EBUSY);
    CHECK_STATUS(csk_workqueue_submit(&queue, 0, &ranked.work, CSK_WORK_BARRIER, CSK_NEVER, run_job), EBUSY);
    CHECK_STATUS(csk_workqueue_submit(&queue, back(0), &ranked.work, 0, CSK_NEVER, run_job), EBUSY);
    CHECK_EQ(csk_workqueue_waiting(&queue), 3);
    CHECK_STATUS(csk_workqueue_cancel(&queue, &jobs[1].work), 0);
    CHECK_STATUS(enqueue(&queue, &jobs[3]), 0);
    STORE(&release, 1);
    drain(&queue);
    CHECK_NOTES(0, 2, 3);
    end_queue(&queue);
}

static void a_full_queue_that_drops_calls_the_oldest_on_the_callers_thread(void) {
    for (uint32_t width = 1; width < 3; width++) {
        csk_workqueue_t queue = queue_of(width, 2, CSK_WORKQUEUE_DROP_OLDEST);
        job_t jobs[5];
        forget_notes();
        CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
        for (int i = 0; i < 5; i++) {
            jobs[i] = job_named(i);
            if (i % 2) CHECK_STATUS(enqueue(&queue, &jobs[i]), 0);
            else CHECK_STATUS(csk_workqueue_submit(&queue, 0, &jobs[i].work, CSK_WORK_BARRIER, CSK_NEVER, run_job), 0);
            CHECK_EQ(notes_so_far(), i < 2 ? 0 : i - 1); /* at once */
            CHECK_EQ(csk_workqueue_waiting(&queue), i < 1 ? 1 : 2);
        }
        CHECK_STATUS(csk_workqueue_submit(&queue, back(1), &jobs[0].work, 0, CSK_NEVER, run_job), EINVAL);
        CHECK_STATUS(csk_workqueue_submit(&queue, front(0), &jobs[0].work, 0, CSK_NEVER, run_job), EINVAL);
        for (uint32_t flag = CSK_WORK_OWN_TURN << 1; flag != 0; flag <<= 1)
            CHECK_STATUS(csk_workqueue_submit(&queue, back(0), &jobs[0].work, flag, CSK_NEVER, run_job), EINVAL);
        CHECK_STATUS(csk_workqueue_resume(&queue), 0);
        drain(&queue);
        CHECK_NOTES(0, 1, 2, 3, 4);
        for (int i = 0; i < 5; i++) {
            CHECK_EQ(jobs[i].calls, 1);
            CHECK_STATUS(jobs[i].status, i < 3 ? ECANCELED : 0);
        }
        end_queue(&queue);
    }
}

struct pusher {
    csk_workqueue_t *queue;
    job_t *job;
    csk_rank_t rank;
    int64_t deadline_ns;
    int status;
};

static void *push(void *context) {
    struct pusher *pusher = context;
    STORE(&pusher->status,
          csk_workqueue_submit(pusher->queue, pusher->rank, &pusher->job->work, 0, pusher->deadline_ns, run_job));
    return NULL;
}

/* True once so many threads wait for room. */
static bool rooms_are(csk_workqueue_t *queue, int count) {
    csk_workqueue_lock(queue);
    for (const csk_workqueue_wait_t *room = queue->rooms; room != NULL; room = room->next) count--;
    csk_workqueue_unlock(queue);
    return count == 0;
}

static void who_waits_for_room_gets_it_by_arrival(void) {
    csk_workqueue_t queue = queue_of(1, 1, CSK_WORKQUEUE_WAIT);
    job_t busy, jobs[4] = { job_named(0), job_named(1), job_named(2), job_named(3) };
    struct pusher pushers[2] = { { &queue, &jobs[1], back(0), CSK_NEVER, -1 },
                                 { &queue, &jobs[2], back(5), CSK_NEVER, -1 } };
    pthread_t threads[2];
    uint32_t release;
    keep_busy(&queue, &busy, &release);
    CHECK_STATUS(enqueue(&queue, &jobs[0]), 0);
    for (int i = 0; i < 2; i++) {
        threads[i] = start_thread(push, &pushers[i]);
        wait_until(rooms_are(&queue, i + 1));
    }
    int64_t deadline_ns = csk_deadline_after(1000000);
    CHECK_STATUS(csk_workqueue_submit(&queue, back(9), &jobs[3].work, 0, deadline_ns, run_job), ETIMEDOUT);
    CHECK_GE(csk_now(), deadline_ns);
    CHECK_STATUS(csk_workqueue_submit(&queue, back(9), &jobs[3].work, 0, 0, run_job), ETIMEDOUT);
    CHECK_EQ(csk_workqueue_waiting(&queue), 1);
    STORE(&release, 1);
    for (int i = 0; i < 2; i++) join_thread(threads[i]);
    drain(&queue);
    CHECK_NOTES(0, 1, 2);
    for (int i = 0; i < 2; i++) CHECK_STATUS(pushers[i].status, 0);
    CHECK_EQ(jobs[3].calls, 0);
    end_queue(&queue);
}

static void cancelling_makes_room(void) {
    csk_workqueue_t queue = queue_of(1, 1, CSK_WORKQUEUE_WAIT);
    job_t busy, first = job_named(0), second = job_named(1);
    struct pusher pusher = { &queue, &second, back(0), CSK_NEVER, -1 };
    uint32_t release;
    keep_busy(&queue, &busy, &release);
    CHECK_STATUS(enqueue(&queue, &first), 0);
    pthread_t thread = start_thread(push, &pusher);
    wait_until(rooms_are(&queue, 1));
    CHECK_STATUS(csk_workqueue_cancel(&queue, &first.work), 0);
    join_thread(thread);
    CHECK_STATUS(pusher.status, 0);
    STORE(&release, 1);
    drain(&queue);
    CHECK_NOTES(1);
    end_queue(&queue);
}

static csk_workqueue_t narrow;
static job_t inner[2];

static void queues_two(csk_work_t *work, int status) {
    CHECK_STATUS(enqueue(&narrow, &inner[0]), 0);
    CHECK_STATUS(enqueue(&narrow, &inner[1]), EDEADLK);
    run_job(work, status);
}

static void from_inside_a_full_queue_is_not_waited_for(void) {
    narrow = queue_of(1, 1, CSK_WORKQUEUE_WAIT);
    job_t outer = job_named(0);
    for (int i = 0; i < 2; i++) inner[i] = job_named(i + 1);
    forget_notes();
    CHECK_STATUS(csk_workqueue_enqueue(&narrow, &outer.work, queues_two), 0);
    drain(&narrow);
    drain(&narrow);
    CHECK_NOTES(0, 1);
    end_queue(&narrow);
}

static void many_pass_through_a_narrow_queue(void) {
    csk_workqueue_t queue = queue_of(1, 2, CSK_WORKQUEUE_WAIT);
    enum { ROUNDS = 3000 / TEST_SLOWDOWN };
    static job_t jobs[ROUNDS];
    forget_notes();
    queue_jobs(&queue, jobs, ROUNDS);
    drain(&queue);
    CHECK_EQ(notes_so_far(), ROUNDS);
    for (int i = 0; i < ROUNDS; i++) CHECK_EQ(notes[i], i);
    end_queue(&queue);
}

/* ---- Shutting down ----------------------------------------------------------------------------------------------- */

static void do_nothing(void *context) { (void)context; }

static void *call(void *context) {
    struct pusher *caller = context;
    STORE(&caller->status, csk_workqueue_sync(caller->queue, caller->rank, 0, caller->deadline_ns, do_nothing, NULL));
    return NULL;
}

static void after_shutdown_nothing_is_accepted_and_nothing_lost(void) {
    for (int capacity = 0; capacity < 5; capacity += 4) {
        csk_workqueue_t queue = queue_of(2, (uint32_t)capacity, CSK_WORKQUEUE_REFUSE);
        job_t jobs[3], late = job_named(9);
        forget_notes();
        CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
        queue_jobs(&queue, jobs, 3);
        csk_workqueue_shutdown(&queue, false);
        CHECK_STATUS(enqueue(&queue, &late), ESHUTDOWN);
        CHECK_STATUS(csk_workqueue_submit(&queue, 0, &late.work, CSK_WORK_BARRIER, CSK_NEVER, run_job), ESHUTDOWN);
        CHECK_STATUS(csk_workqueue_submit(&queue, back(1), &late.work, 0, CSK_NEVER, run_job), ESHUTDOWN);
        CHECK_STATUS(csk_workqueue_sync(&queue, 0, 0, CSK_NEVER, do_nothing, NULL), ESHUTDOWN);
        drain(&queue);
        CHECK_EQ(notes_so_far(), 3);
        for (int i = 0; i < 3; i++) CHECK_STATUS(jobs[i].status, 0);
        CHECK_EQ(late.calls, 0);
        csk_workqueue_shutdown(&queue, true);
        end_queue(&queue);
    }
}

static void shutdown_with_cancel_tells_all_that_has_not_begun(void) {
    csk_workqueue_t queue = queue_of(2, 0, 0);
    job_t busy[2], jobs[6];
    uint32_t releases[2];
    for (int i = 0; i < 6; i++) jobs[i] = job_named(i);
    for (int i = 0; i < 2; i++) keep_busy(&queue, &busy[i], &releases[i]);
    CHECK_STATUS(csk_workqueue_submit(&queue, back(-1), &jobs[1].work, 0, CSK_NEVER, run_job), 0);
    CHECK_STATUS(enqueue(&queue, &jobs[0]), 0);
    CHECK_STATUS(csk_workqueue_submit(&queue, 0, &jobs[2].work, CSK_WORK_BARRIER, CSK_NEVER, run_job), 0);
    CHECK_STATUS(enqueue(&queue, &jobs[3]), 0);
    CHECK_STATUS(csk_workqueue_submit(&queue, 0, &jobs[4].work, CSK_WORK_BARRIER, CSK_NEVER, run_job), 0);
    CHECK_STATUS(enqueue(&queue, &jobs[5]), 0);
    struct pusher caller = { &queue, NULL, back(0), CSK_NEVER, -1 };
    pthread_t thread = start_thread(call, &caller);
    wait_until(csk_workqueue_waiting(&queue) == 7);
    csk_workqueue_shutdown(&queue, false);
    CHECK_EQ(notes_so_far(), 0);
    csk_workqueue_shutdown(&queue, true);
    CHECK_NOTES(0, 1, 2, 3, 4, 5); /* in their order */
    for (int i = 0; i < 6; i++) CHECK_STATUS(jobs[i].status, ECANCELED);
    join_thread(thread);
    CHECK_STATUS(caller.status, ECANCELED);
    CHECK_EQ(csk_workqueue_waiting(&queue), 0);
    CHECK_STATUS(csk_workqueue_destroy(&queue), EBUSY); /* two run */
    for (int i = 0; i < 2; i++) STORE(&releases[i], 1);
    end_queue(&queue);
    for (int i = 0; i < 2; i++) CHECK_STATUS(busy[i].status, 0);
}

static void shutdown_tells_who_waits_for_room(void) {
    csk_workqueue_t queue = queue_of(1, 1, CSK_WORKQUEUE_WAIT);
    job_t busy, first = job_named(0), second = job_named(1);
    struct pusher pusher = { &queue, &second, back(0), CSK_NEVER, -1 };
    uint32_t release;
    keep_busy(&queue, &busy, &release);
    CHECK_STATUS(enqueue(&queue, &first), 0);
    pthread_t thread = start_thread(push, &pusher);
    wait_until(rooms_are(&queue, 1));
    csk_workqueue_shutdown(&queue, false);
    join_thread(thread);
    CHECK_STATUS(pusher.status, ESHUTDOWN);
    STORE(&release, 1);
    drain(&queue);
    CHECK_NOTES(0);
    CHECK_EQ(second.calls, 0);
    end_queue(&queue);
}

/* ---- Drains ------------------------------------------------------------------------------------------------------ */

static uint32_t drained;

static void count_drain(csk_workqueue_wait_t *wait) {
    CHECK_EQ(*(int *)wait->context, 4711);
    ADD(&drained, 1);
}

static void a_drain_waits_for_what_came_before_it_and_nothing_else(void) {
    csk_workqueue_t queue = queue_of(2, 0, 0);
    csk_workqueue_wait_t waits[3];
    uint32_t release, later_release = 0;
    int context = 4711;
    job_t busy, cancelled = job_named(0), later = job_named(1);
    later.go = &later_release;
    STORE(&drained, 0);
    csk_workqueue_drain_async(&queue, &waits[0], count_drain, &context); /* nothing to wait for: here and now */
    CHECK_EQ(drained, 1);
    CHECK_STATUS(csk_workqueue_wait_cancel(&queue, &waits[0]), ENOENT);
    keep_busy(&queue, &busy, &release);
    CHECK_STATUS(csk_workqueue_submit(&queue, 0, &cancelled.work, CSK_WORK_BARRIER, CSK_NEVER, run_job), 0);
    csk_workqueue_drain_async(&queue, &waits[0], count_drain, &context);
    csk_workqueue_drain_async(&queue, &waits[1], count_drain, &context);
    queue_job(&queue, &later);
    csk_workqueue_drain_async(&queue, &waits[2], count_drain, &context);
    int64_t deadline_ns = csk_deadline_after(1000000);
    CHECK_STATUS(csk_workqueue_drain(&queue, deadline_ns), ETIMEDOUT);
    CHECK_GE(csk_now(), deadline_ns);
    CHECK_STATUS(csk_workqueue_wait_cancel(&queue, &waits[1]), 0);
    CHECK_STATUS(csk_workqueue_wait_cancel(&queue, &waits[1]), ENOENT);
    CHECK_STATUS(csk_workqueue_destroy(&queue), EBUSY);
    CHECK_STATUS(csk_workqueue_cancel(&queue, &cancelled.work), 0);
    wait_until(LOAD(&later.calls) == 1);
    CHECK_EQ(LOAD(&drained), 1);
    STORE(&release, 1);
    wait_until(LOAD(&drained) == 2); /* while the later one runs */
    CHECK_STATUS(csk_workqueue_drain(&queue, csk_deadline_after(1000000)), ETIMEDOUT);
    STORE(&later_release, 1);
    wait_until(LOAD(&drained) == 3);
    end_queue(&queue);
    CHECK_EQ(drained, 3);
}

static void a_drain_counts_callers_and_refused_work(void) {
    csk_workqueue_t queue = queue_of(1, 0, 0);
    job_t busy, waits = job_named(0);
    uint32_t release;
    int context = 4711;
    csk_workqueue_wait_t wait;
    STORE(&drained, 0);
    keep_busy(&queue, &busy, &release);
    queue_job(&queue, &waits);
    struct pusher caller = { &queue, NULL, back(0), CSK_NEVER, -1 };
    pthread_t thread = start_thread(call, &caller);
    wait_until(csk_workqueue_waiting(&queue) == 2);
    csk_workqueue_drain_async(&queue, &wait, count_drain, &context);
    csk_workqueue_shutdown(&queue, true);
    CHECK_EQ(LOAD(&drained), 0); /* one runs */
    STORE(&release, 1);
    wait_until(LOAD(&drained) == 1);
    join_thread(thread);
    CHECK_STATUS(caller.status, ECANCELED);
    end_queue(&queue);
}

TEST_MAIN(TEST(a_full_queue_that_refuses_says_so_and_goes_on),
          TEST(a_full_queue_that_drops_calls_the_oldest_on_the_callers_thread),
          TEST(who_waits_for_room_gets_it_by_arrival), TEST(cancelling_makes_room),
          TEST(from_inside_a_full_queue_is_not_waited_for), TEST(many_pass_through_a_narrow_queue),
          TEST(after_shutdown_nothing_is_accepted_and_nothing_lost),
          TEST(shutdown_with_cancel_tells_all_that_has_not_begun), TEST(shutdown_tells_who_waits_for_room),
          TEST(a_drain_waits_for_what_came_before_it_and_nothing_else), TEST(a_drain_counts_callers_and_refused_work))
