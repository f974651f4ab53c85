/* workqueue_test.c: what queues promise about order, turns, errors. Lives and ends are in workqueue_life_test.c, bounds
 * in workqueue_bound_test.c.
 *
 * More than 400 lines: each promise is a short test at the same three queues. */
#include "workqueue_fixture.h"

static csk_workqueue_t serial; /* as it is, zero-filled, in each test that names it */

static csk_workqueue_t queue_with(uint32_t width) {
    csk_workqueue_t queue;
    csk_workqueue_attr_t attr = { .width = width };
    CHECK_STATUS(csk_workqueue_init(&queue, &attr), 0);
    return queue;
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

static void zero_filled_memory_is_a_serial_queue(void) {
    job_t jobs[100];
    forget_notes();
    queue_jobs(&serial, jobs, 100);
    drain(&serial);
    CHECK_EQ(notes_so_far(), 100);
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(notes[i], i);
        CHECK_EQ(jobs[i].calls, 1);
        CHECK_STATUS(jobs[i].status, 0);
    }
    end_queue(&serial);
}

static void higher_ranks_begin_first_and_equal_ones_by_arrival(void) {
    csk_workqueue_t queue = queue_with(1);
    static const struct {
        int name;
        int32_t priority;
        int place;
    } given[] = {
        { 6, 0, CSK_PLACE_BACK },  { 3, 5, CSK_PLACE_BACK }, { 7, 0, CSK_PLACE_BACK }, { 9, -5, CSK_PLACE_BACK },
        { 5, 0, CSK_PLACE_FRONT }, { 8, 0, CSK_PLACE_LAST }, { 4, 5, CSK_PLACE_BACK }, { 2, 5, CSK_PLACE_FRONT },
        { 1, 5, CSK_PLACE_FRONT }, { 0, 9, CSK_PLACE_LAST },
    };
    job_t jobs[10];
    forget_notes();
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    for (int i = 0; i < 10; i++) {
        jobs[i] = job_named(given[i].name);
        CHECK_STATUS(csk_workqueue_submit(&queue, csk_rank(given[i].priority, given[i].place), &jobs[i].work, 0,
                                          CSK_NEVER, run_job),
                     0);
    }
    CHECK_EQ(csk_workqueue_waiting(&queue), 10);
    CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    drain(&queue);
    CHECK_NOTES(0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    end_queue(&queue);
}

static void work_without_a_rank_has_the_priority_of_its_queue(void) {
    csk_workqueue_t queue;
    csk_workqueue_attr_t attr = { .priority = 7 };
    job_t jobs[3] = { job_named(1), job_named(2), job_named(0) };
    CHECK_STATUS(csk_workqueue_init(&queue, &attr), 0);
    forget_notes();
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    queue_job(&queue, &jobs[0]);
    CHECK_STATUS(csk_workqueue_submit(&queue, back(6), &jobs[1].work, 0, CSK_NEVER, run_job), 0);
    CHECK_STATUS(csk_workqueue_submit(&queue, back(8), &jobs[2].work, 0, CSK_NEVER, run_job), 0);
    CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    drain(&queue);
    CHECK_NOTES(0, 1, 2);
    end_queue(&queue);
}

/* ---- How many at once -------------------------------------------------------------------------------------------- */

static uint32_t inside, most, go;

static void stay(csk_work_t *work, int status) {
    CHECK_STATUS(status, 0);
    uint32_t now = ADD(&inside, 1), seen = LOAD(&most);
    while (now > seen && !__atomic_compare_exchange_n(&most, &seen, now, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
    wait_until(LOAD(&go));
    ADD(&inside, -1);
    run_job(work, status);
}

static void as_many_run_at_once_as_the_width_says(void) {
    for (uint32_t width = 1; width <= 5; width += 2) {
        csk_workqueue_t queue = queue_with(width);
        job_t jobs[20];
        STORE(&go, 0);
        STORE(&most, 0);
        forget_notes();
        for (int i = 0; i < 20; i++) {
            jobs[i] = job_named(i);
            CHECK_STATUS(csk_workqueue_enqueue(&queue, &jobs[i].work, stay), 0);
        }
        wait_until(LOAD(&inside) == width);
        CHECK_EQ(csk_workqueue_running(&queue), width);
        CHECK_EQ(csk_workqueue_waiting(&queue), 20 - width);
        STORE(&go, 1);
        drain(&queue);
        CHECK_EQ(most, width);
        CHECK_EQ(csk_workqueue_running(&queue), 0);
        CHECK_EQ(notes_so_far(), 20);
        end_queue(&queue);
    }
}

static csk_workqueue_t wide;

static void is_alone(csk_work_t *work, int status) {
    CHECK_EQ(csk_workqueue_running(&wide), 1);
    CHECK_EQ(LOAD(&inside), 0);
    run_job(work, status);
}

static void a_barrier_runs_alone_between_what_came_before_and_after(void) {
    wide = queue_with(4);
    job_t jobs[7];
    for (int i = 0; i < 7; i++) jobs[i] = job_named(i);
    STORE(&go, 0);
    forget_notes();
    for (int i = 0; i < 2; i++) CHECK_STATUS(csk_workqueue_enqueue(&wide, &jobs[i].work, stay), 0);
    CHECK_STATUS(csk_workqueue_submit(&wide, 0, &jobs[2].work, CSK_WORK_BARRIER, CSK_NEVER, is_alone), 0);
    /* The rank of a barrier does not matter. */
    CHECK_STATUS(csk_workqueue_submit(&wide, front(9), &jobs[3].work, CSK_WORK_BARRIER, CSK_NEVER, is_alone), 0);
    /* Of the highest rank, and waits for the barriers all the same; more than two could run. */
    CHECK_STATUS(csk_workqueue_submit(&wide, front(INT32_MAX), &jobs[4].work, 0, CSK_NEVER, run_job), 0);
    CHECK_STATUS(csk_workqueue_submit(&wide, 0, &jobs[5].work, CSK_WORK_BARRIER, CSK_NEVER, is_alone), 0);
    queue_job(&wide, &jobs[6]);
    wait_until(LOAD(&inside) == 2);
    CHECK_EQ(csk_workqueue_waiting(&wide), 5);
    CHECK_EQ(notes_so_far(), 0);
    STORE(&go, 1);
    drain(&wide);
    CHECK_EQ(notes_so_far(), 7);
    for (int i = 2; i < 7; i++) CHECK_EQ(notes[i], i);
    end_queue(&wide);
}

static void a_cancelled_barrier_holds_nothing_back(void) {
    csk_workqueue_t queue = queue_with(2);
    uint32_t release = 0;
    job_t first = job_named(0), barrier = job_named(1), second = job_named(2), later = job_named(3);
    first.go = &release;
    forget_notes();
    queue_job(&queue, &first);
    CHECK_STATUS(csk_workqueue_submit(&queue, 0, &barrier.work, CSK_WORK_BARRIER, CSK_NEVER, run_job), 0);
    CHECK_STATUS(csk_workqueue_submit(&queue, 0, &second.work, CSK_WORK_BARRIER, CSK_NEVER, run_job), 0);
    queue_job(&queue, &later);
    wait_until(notes_so_far() == 1);
    CHECK_STATUS(csk_workqueue_cancel(&queue, &second.work), 0);
    CHECK_STATUS(csk_workqueue_cancel(&queue, &barrier.work), 0);
    wait_until(notes_so_far() == 2); /* beside the first */
    STORE(&release, 1);
    drain(&queue);
    CHECK_NOTES(0, 3);
    CHECK_EQ(barrier.calls + second.calls, 0);
    end_queue(&queue);
}

/* ---- Callers that wait for their turn ---------------------------------------------------------------------------- */

static pthread_t called_by;

static void note_call(void *context) {
    called_by = pthread_self();
    note((int)(intptr_t)context);
}

static int sync_call(csk_workqueue_t *queue, csk_rank_t rank, int64_t deadline_ns, int name) {
    return csk_workqueue_sync(queue, rank, 0, deadline_ns, note_call, (void *)(intptr_t)name);
}

static void a_caller_comes_after_what_it_queued_and_runs_on_its_own_thread(void) {
    csk_workqueue_t queue = queue_with(1);
    job_t jobs[50];
    for (int round = 0; round < 200 / TEST_SLOWDOWN; round++) {
        forget_notes();
        queue_jobs(&queue, jobs, 50);
        CHECK_STATUS(sync_call(&queue, back(0), CSK_NEVER, 50), 0);
        CHECK(pthread_equal(called_by, pthread_self()));
        CHECK_EQ(notes_so_far(), 51);
        for (int i = 0; i <= 50; i++) CHECK_EQ(notes[i], i);
    }
    forget_notes();
    CHECK_STATUS(sync_call(&queue, back(0), 0, 1), 0); /* nobody is before it: not too late */
    CHECK_NOTES(1);
    end_queue(&queue);
}

struct caller {
    csk_workqueue_t *queue;
    csk_rank_t rank;
    int64_t deadline_ns;
    bool barrier;
    int name, status;
};

static void *call(void *context) {
    struct caller *caller = context;
    STORE(&caller->status, csk_workqueue_sync(caller->queue, caller->rank,
                                              caller->barrier ? CSK_WORK_BARRIER
                                              : 0             ? CSK_WORK_BARRIER
                                                              : 0,
                                              caller->deadline_ns, note_call, (void *)(intptr_t)caller->name));
    return NULL;
}

static void callers_stand_in_the_order_of_ranks(void) {
    for (uint32_t width = 1; width < 3; width++) {
        csk_workqueue_t queue = queue_with(width);
        struct caller callers[] = { { &queue, back(0), CSK_NEVER, true, 2, -1 },
                                    { &queue, back(3), CSK_NEVER, true, 0, -1 } };
        job_t work = job_named(1);
        pthread_t threads[2];
        forget_notes();
        CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
        for (uint32_t i = 0; i < 2; i++) {
            threads[i] = start_thread(call, &callers[i]);
            wait_until(csk_workqueue_waiting(&queue) == i + 1);
        }
        CHECK_STATUS(csk_workqueue_submit(&queue, back(1), &work.work, 0, CSK_NEVER, run_job), 0);
        CHECK_STATUS(csk_workqueue_resume(&queue), 0);
        for (int i = 0; i < 2; i++) join_thread(threads[i]);
        drain(&queue);
        for (int i = 0; i < 2; i++) CHECK_STATUS(callers[i].status, 0);
        CHECK_NOTES(2, 0, 1); /* barriers, in the order of arrival, on a serial queue too */
        end_queue(&queue);
    }
}

static void a_caller_gives_up_at_its_deadline(void) {
    csk_workqueue_t queue = queue_with(1);
    uint32_t release = 0;
    job_t busy = job_named(0), after = job_named(1);
    busy.go = &release;
    forget_notes();
    queue_job(&queue, &busy);
    wait_until(notes_so_far() == 1);
    int64_t deadline_ns = csk_deadline_after(2000000);
    CHECK_STATUS(sync_call(&queue, back(0), deadline_ns, 9), ETIMEDOUT);
    CHECK_GE(csk_now(), deadline_ns);
    CHECK_STATUS(sync_call(&queue, back(0), 0, 9), ETIMEDOUT);
    CHECK_STATUS(sync_call(&queue, back(0), -1, 9), ETIMEDOUT);
    CHECK_EQ(csk_workqueue_waiting(&queue), 0);
    queue_job(&queue, &after);
    STORE(&release, 1);
    drain(&queue);
    CHECK_NOTES(0, 1);
    end_queue(&queue);
}

/* ---- From inside ------------------------------------------------------------------------------------------------- */

static csk_workqueue_t other;
static job_t queued_inside;

static void try_inside(void *context) {
    csk_workqueue_t *queue = context;
    CHECK(csk_workqueue_is_current(queue));
    CHECK_STATUS(sync_call(queue, back(0), CSK_NEVER, 9), EDEADLK);
    CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), EDEADLK);
    CHECK_STATUS(csk_workqueue_destroy(queue), EDEADLK);
}

static void call_all(void *queue) {
    CHECK(!csk_workqueue_is_current(&other) || csk_workqueue_is_current(queue));
    try_inside(queue);
    /* Through another queue it is the same thread's. */
    if (!csk_workqueue_is_current(&other))
        CHECK_STATUS(csk_workqueue_sync(&other, back(0), 0, CSK_NEVER, try_inside, queue), 0);
    queue_job(queue, &queued_inside);
}

static void work_inside(csk_work_t *work, int status) {
    CHECK_STATUS(status, 0);
    run_job(work, status);
    call_all(&wide);
}

static void what_would_wait_for_itself_is_told(void) {
    for (uint32_t width = 1; width < 4; width += 2) {
        wide = queue_with(width);
        job_t work = job_named(0);
        queued_inside = job_named(1);
        forget_notes();
        CHECK_STATUS(csk_workqueue_enqueue(&wide, &work.work, work_inside), 0);
        drain(&wide); /* up to the first */
        drain(&wide);
        CHECK_EQ(notes_so_far(), 2);
        CHECK_STATUS(csk_workqueue_sync(&wide, back(0), 0, CSK_NEVER, call_all, &wide), 0);
        drain(&wide);
        CHECK(!csk_workqueue_is_current(&wide));
        end_queue(&wide);
    }
}

/* ---- Cancelling -------------------------------------------------------------------------------------------------- */

/* Among those of its new rank it stands where it arrived: those of the queue's own priority too. */
static void a_work_that_is_raised_begins_earlier(void) {
    csk_workqueue_t queue = queue_with(1);
    static const int32_t priorities[] = { 0, -5, 0, 0, 5 };
    job_t jobs[5], barrier = job_named(5), later[2] = { job_named(6), job_named(7) };
    forget_notes();
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    for (int i = 0; i < 5; i++) {
        jobs[i] = job_named(i);
        CHECK_STATUS(csk_workqueue_submit(&queue, back(priorities[i]), &jobs[i].work, 0, CSK_NEVER, run_job), 0);
    }
    CHECK_STATUS(csk_workqueue_submit(&queue, 0, &barrier.work, CSK_WORK_BARRIER, CSK_NEVER, run_job), 0);
    queue_job(&queue, &later[0]);
    queue_job(&queue, &later[1]);
    CHECK_STATUS(csk_workqueue_raise(&queue, back(0), &jobs[1].work), 0);
    CHECK_STATUS(csk_workqueue_raise(&queue, back(5), &jobs[3].work), 0);
    CHECK_STATUS(csk_workqueue_raise(&queue, back(-5), &jobs[4].work), 0); /* that is lower */
    CHECK_STATUS(csk_workqueue_raise(&queue, back(9), &barrier.work), 0);
    CHECK_STATUS(csk_workqueue_raise(&queue, back(9), &later[1].work), 0);
    CHECK_STATUS(csk_workqueue_raise(&queue, csk_rank(9, CSK_PLACE_UNNAMED), &jobs[0].work), EINVAL);
    CHECK_STATUS(csk_workqueue_raise(&queue, INT64_MAX, &jobs[0].work), EINVAL);
    CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    drain(&queue);
    CHECK_NOTES(3, 4, 0, 1, 2, 5, 7, 6);
    CHECK_STATUS(csk_workqueue_raise(&queue, back(9), &jobs[1].work), ENOENT);
    end_queue(&queue);
}

static void cancelling_takes_out_what_has_not_begun(void) {
    csk_workqueue_t queue = queue_with(1);
    uint32_t release = 0;
    job_t busy = job_named(0), plain = job_named(1), ranked = job_named(2), kept = job_named(3), never = job_named(4);
    busy.go = &release;
    forget_notes();
    queue_job(&queue, &busy);
    wait_until(notes_so_far() == 1);
    queue_job(&queue, &plain);
    queue_job(&queue, &kept);
    CHECK_STATUS(csk_workqueue_submit(&queue, back(4), &ranked.work, 0, CSK_NEVER, run_job), 0);
    CHECK_STATUS(csk_workqueue_cancel(&queue, &busy.work), ENOENT);
    CHECK_STATUS(csk_workqueue_cancel(&queue, &never.work), ENOENT);
    CHECK_STATUS(csk_workqueue_cancel(&queue, &plain.work), 0);
    CHECK_STATUS(csk_workqueue_cancel(&queue, &plain.work), ENOENT);
    CHECK_STATUS(csk_workqueue_cancel(&queue, &ranked.work), 0);
    CHECK_EQ(csk_workqueue_waiting(&queue), 1);
    queue_job(&queue, &plain); /* may be queued again */
    STORE(&release, 1);
    drain(&queue);
    CHECK_STATUS(csk_workqueue_cancel(&queue, &busy.work), ENOENT);
    CHECK_NOTES(0, 3, 1);
    CHECK_EQ(ranked.calls, 0);
    end_queue(&queue);
}

static void cancelled_at_the_moment_it_starts_it_is_called_or_not(void) {
    csk_workqueue_t queue = queue_with(2);
    uint32_t called = 0, cancelled = 0;
    for (int i = 0; i < 20000 / TEST_SLOWDOWN; i++) {
        job_t job = job_named(i);
        forget_notes();
        queue_job(&queue, &job);
        for (int pause = i % 64; pause > 0; pause--) __asm__ __volatile__("");
        bool was_cancelled = csk_workqueue_cancel(&queue, &job.work) == 0;
        drain(&queue);
        CHECK_EQ(job.calls, was_cancelled ? 0 : 1);
        called += job.calls;
        cancelled += was_cancelled;
    }
    CHECK_EQ(called + cancelled, 20000 / TEST_SLOWDOWN);
    end_queue(&queue);
}

/* ---- Suspending, bad input --------------------------------------------------------------------------------------- */

static void while_suspended_nothing_begins(void) {
    csk_workqueue_t queue = queue_with(3);
    uint32_t release = 0;
    job_t running = job_named(0), waits = job_named(1);
    running.go = &release;
    forget_notes();
    queue_job(&queue, &running);
    wait_until(notes_so_far() == 1);
    for (int i = 0; i < UINT16_MAX; i++) CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    CHECK_STATUS(csk_workqueue_suspend(&queue), EAGAIN);
    queue_job(&queue, &waits);
    STORE(&release, 1); /* what runs goes on */
    CHECK_STATUS(csk_workqueue_drain(&queue, csk_deadline_after(5000000)), ETIMEDOUT);
    CHECK_STATUS(sync_call(&queue, back(1), csk_deadline_after(1000000), 9), ETIMEDOUT);
    wait_until(csk_workqueue_running(&queue) == 0);
    for (int i = 0; i < UINT16_MAX; i++) {
        CHECK_EQ(notes_so_far(), 1);
        CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    }
    CHECK_STATUS(csk_workqueue_resume(&queue), EPERM);
    drain(&queue);
    CHECK_NOTES(0, 1);
    end_queue(&queue);
}

static void is_not_called(void *context) { CHECK(context != NULL); }

static void bad_input_is_refused_and_changes_nothing(void) {
    csk_workqueue_t queue, *made = NULL;
    static const csk_workqueue_attr_t bad[] = {
        { .width = CSK_WORKQUEUE_WIDTH_MAX + 1 },
        { .width = UINT32_MAX },
        { .when_full = -1 },
        { .when_full = 3, .capacity = 1 },
        { .when_full = CSK_WORKQUEUE_DROP_OLDEST },
        { .size = sizeof(csk_workqueue_attr_t) + 8, .name = (const char *)1 }, /* whatever stands there then */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_STATUS(csk_workqueue_init(&queue, &bad[i]), EINVAL);
        CHECK_STATUS(csk_workqueue_create(&made, &bad[i]), EINVAL);
        CHECK(made == NULL);
    }
    CHECK_STATUS(
        csk_workqueue_init(&queue, &(csk_workqueue_attr_t){ .width = CSK_WORKQUEUE_WIDTH_MAX, .capacity = UINT32_MAX }),
        0);
    CHECK_STATUS(csk_workqueue_destroy(&queue), 0);
    CHECK_STATUS(csk_workqueue_init(&queue, NULL), 0);
    job_t job = job_named(0);
    CHECK_STATUS(csk_workqueue_enqueue(&queue, &job.work, NULL), EINVAL);
    CHECK_STATUS(csk_workqueue_submit(&queue, 0, &job.work, 0, CSK_NEVER, NULL), EINVAL);
    CHECK_STATUS(csk_workqueue_submit(&queue, 0, &job.work, 0, CSK_NEVER, NULL), EINVAL);
    CHECK_STATUS(csk_workqueue_submit(&queue, 0, &job.work, CSK_WORK_BARRIER, CSK_NEVER, NULL), EINVAL);
    CHECK_STATUS(csk_workqueue_sync(&queue, 0, 0, CSK_NEVER, NULL, NULL), EINVAL);
    const csk_rank_t none[] = { INT64_MIN, INT64_MAX, csk_rank(INT32_MIN, -1), csk_rank(INT32_MAX, 4) };
    for (int i = 0; i < 4; i++) {
        static const uint32_t flags[] = { 0, CSK_WORK_OWN_TURN };
        for (int j = 0; j < 2; j++)
            CHECK_STATUS(csk_workqueue_submit(&queue, none[i], &job.work, flags[j], CSK_NEVER, run_job), EINVAL);
        CHECK_STATUS(csk_workqueue_sync(&queue, none[i], 0, CSK_NEVER, is_not_called, NULL), EINVAL);
    }
    CHECK_STATUS(csk_workqueue_resume(&queue), EPERM);
    forget_notes();
    queue_job(&queue, &job);
    end_queue(&queue);
    CHECK_NOTES(0);
}

static void static_queues_have_the_attributes_of_their_initializer(void) {
    static csk_workqueue_t serial = CSK_WORKQUEUE_INITIALIZER(),
                           wide = CSK_WORKQUEUE_INITIALIZER(.width = 4, .capacity = 9, .priority = 7);
    csk_workqueue_t made;
    CHECK_STATUS(csk_workqueue_init(&made, NULL), 0);
    CHECK_EQ(memcmp(&serial, &made, sizeof made), 0);
    csk_workqueue_attr_t attr = { .width = 4, .capacity = 9, .priority = 7 };
    CHECK_STATUS(csk_workqueue_init(&made, &attr), 0);
    CHECK_EQ(memcmp(&wide, &made, sizeof made), 0);
}

static void a_queue_tells_what_it_was_made_with(void) {
    static csk_workqueue_t plain, initialized = CSK_WORKQUEUE_INITIALIZER(.capacity = 9, .priority = 7);
    CHECK_EQ(csk_workqueue_priority(&plain), 0);
    CHECK_EQ(csk_workqueue_capacity(&plain), 0);
    CHECK_EQ(csk_workqueue_when_full(&plain), CSK_WORKQUEUE_WAIT);
    CHECK_EQ(csk_workqueue_priority(&initialized), 7);
    CHECK_EQ(csk_workqueue_capacity(&initialized), 9);
    for (int32_t when_full = CSK_WORKQUEUE_WAIT; when_full <= CSK_WORKQUEUE_DROP_OLDEST; when_full++) {
        csk_workqueue_attr_t attr = {
            .width = 2, .capacity = UINT32_MAX, .when_full = when_full, .priority = INT32_MIN
        };
        csk_workqueue_t *made = NULL;
        CHECK_STATUS(csk_workqueue_create(&made, &attr), 0);
        csk_workqueue_shutdown(made, true);
        CHECK_EQ(csk_workqueue_priority(made), INT32_MIN);
        CHECK_EQ(csk_workqueue_capacity(made), UINT32_MAX);
        CHECK_EQ(csk_workqueue_when_full(made), when_full);
        csk_workqueue_release(made);
    }
}

static void do_nothing(csk_work_t *work, int status) { (void)work, (void)status; }

static void zeroed_work_that_was_never_queued_is_not_there(void) {
    csk_workqueue_t unused = { 0 }, used = { 0 }, bounded, *on_the_heap;
    csk_workqueue_attr_t attr = { .capacity = 1 };
    csk_work_t never = { .kind = 0 }, once = { .kind = 0 };
    CHECK_STATUS(csk_workqueue_cancel(&unused, &never), ENOENT);
    CHECK_STATUS(csk_workqueue_enqueue(&used, &once, do_nothing), 0);
    CHECK_STATUS(csk_workqueue_cancel(&used, &never), ENOENT);
    CHECK_STATUS(csk_workqueue_drain(&used, CSK_NEVER), 0);
    CHECK_STATUS(csk_workqueue_cancel(&used, &never), ENOENT);
    CHECK_STATUS(csk_workqueue_cancel(&used, &once), ENOENT);
    CHECK_STATUS(csk_workqueue_init(&bounded, &attr), 0);
    CHECK_STATUS(csk_workqueue_cancel(&bounded, &never), ENOENT);
    CHECK_STATUS(csk_workqueue_create(&on_the_heap, NULL), 0);
    CHECK_STATUS(csk_workqueue_cancel(on_the_heap, &never), ENOENT);
    csk_workqueue_release(on_the_heap);
    CHECK_STATUS(csk_workqueue_destroy(&unused), 0);
    CHECK_STATUS(csk_workqueue_destroy(&used), 0);
    CHECK_STATUS(csk_workqueue_destroy(&bounded), 0);
}

TEST_MAIN(TEST(static_queues_have_the_attributes_of_their_initializer),
          TEST(zeroed_work_that_was_never_queued_is_not_there), TEST(a_queue_tells_what_it_was_made_with),
          TEST(zero_filled_memory_is_a_serial_queue), TEST(higher_ranks_begin_first_and_equal_ones_by_arrival),
          TEST(work_without_a_rank_has_the_priority_of_its_queue), TEST(as_many_run_at_once_as_the_width_says),
          TEST(a_barrier_runs_alone_between_what_came_before_and_after), TEST(a_cancelled_barrier_holds_nothing_back),
          TEST(a_caller_comes_after_what_it_queued_and_runs_on_its_own_thread),
          TEST(callers_stand_in_the_order_of_ranks), TEST(a_caller_gives_up_at_its_deadline),
          TEST(what_would_wait_for_itself_is_told), TEST(a_work_that_is_raised_begins_earlier),
          TEST(cancelling_takes_out_what_has_not_begun), TEST(cancelled_at_the_moment_it_starts_it_is_called_or_not),
          TEST(while_suspended_nothing_begins), TEST(bad_input_is_refused_and_changes_nothing))
