/* workqueue_life_test.c: how queues and their work end: memory that goes at once, queues on the heap, many queues,
 * forks. */
#include "child.h"
#include "workqueue_fixture.h"

#include <malloc.h>

#include "queue/workqueue.h"

/* ---- Memory that goes at once ------------------------------------------------------------------------------------ */

static uint32_t freed;

static void free_job(csk_work_t *work, int status) {
    CHECK_STATUS(status, 0);
    memset(work, 0xA5, sizeof(job_t));
    free(work);
    ADD(&freed, 1);
}

static void work_may_be_freed_in_its_function(void) {
    enum { COUNT = 20000 / TEST_SLOWDOWN };
    csk_workqueue_t queues[2];
    for (uint32_t i = 0; i < 2; i++)
        CHECK_STATUS(csk_workqueue_init(&queues[i], &(csk_workqueue_attr_t){ .width = i * 4 }), 0);
    STORE(&freed, 0);
    for (int i = 0; i < COUNT; i++) {
        job_t *job = malloc(sizeof *job);
        csk_workqueue_t *queue = &queues[i % 2];
        if (i % 5 == 0) CHECK_STATUS(csk_workqueue_submit(queue, back(i % 3), &job->work, 0, CSK_NEVER, free_job), 0);
        else if (i % 7 == 0)
            CHECK_STATUS(csk_workqueue_submit(queue, 0, &job->work, CSK_WORK_BARRIER, CSK_NEVER, free_job), 0);
        else CHECK_STATUS(csk_workqueue_enqueue(queue, &job->work, free_job), 0);
    }
    for (int i = 0; i < 2; i++) end_queue(&queues[i]);
    CHECK_EQ(freed, COUNT);
}

static void a_queue_may_be_destroyed_right_after_its_drain(void) {
    for (int i = 0; i < 5000 / TEST_SLOWDOWN; i++) {
        csk_workqueue_t *queue = calloc(1, sizeof *queue);
        CHECK_STATUS(csk_workqueue_init(queue, &(csk_workqueue_attr_t){ .width = (uint32_t)i % 3 }), 0);
        job_t jobs[2];
        forget_notes();
        queue_jobs(queue, jobs, 2);
        drain(queue);
        CHECK_STATUS(csk_workqueue_destroy(queue), 0);
        memset(queue, 0xA5, sizeof *queue);
        free(queue);
    }
}

static void requeue(csk_work_t *work, int status) {
    job_t *job = (job_t *)work;
    CHECK_STATUS(status, 0);
    if (++job->calls < 1000) CHECK_STATUS(csk_workqueue_enqueue((csk_workqueue_t *)(void *)job->go, work, requeue), 0);
    else ADD(&freed, 1);
}

static void work_may_queue_itself_again(void) {
    static csk_workqueue_t queue;
    job_t job = job_named(0);
    job.go = (uint32_t *)(void *)&queue;
    STORE(&freed, 0);
    CHECK_STATUS(csk_workqueue_enqueue(&queue, &job.work, requeue), 0);
    wait_until(LOAD(&freed) == 1);
    end_queue(&queue);
    CHECK_EQ(job.calls, 1000);
}

/* ---- Queues on the heap ------------------------------------------------------------------------------------------ */

static void a_released_queue_runs_what_it_holds(void) {
    csk_workqueue_t *queue;
    job_t jobs[10];
    forget_notes();
    CHECK_STATUS(csk_workqueue_create(&queue, NULL), 0);
    CHECK_STATUS(csk_workqueue_suspend(queue), 0);
    CHECK_STATUS(csk_workqueue_suspend(queue), 0);
    queue_jobs(queue, jobs, 10);
    csk_workqueue_release(queue);
    wait_until(LOAD(&jobs[9].calls) == 1);
    for (int i = 0; i < 10; i++) CHECK_EQ(notes[i], i);
    CHECK_STATUS(csk_workqueue_create(&queue, &(csk_workqueue_attr_t){ .width = 3, .capacity = 2 }), 0);
    csk_workqueue_release(queue); /* never used */
}

static csk_workqueue_t *made;

static void release_inside(csk_work_t *work, int status) {
    csk_workqueue_release(made);
    run_job(work, status);
}

static void a_queue_may_be_released_from_its_own_work(void) {
    for (uint32_t i = 0; i < 2000 / TEST_SLOWDOWN; i++) {
        job_t job = job_named(0);
        forget_notes();
        CHECK_STATUS(csk_workqueue_create(&made, &(csk_workqueue_attr_t){ .width = i % 3 }), 0);
        CHECK_STATUS(csk_workqueue_suspend(made), 0); /* until the call that queues has returned */
        CHECK_STATUS(csk_workqueue_enqueue(made, &job.work, release_inside), 0);
        CHECK_STATUS(csk_workqueue_enqueue(made, &(job_t){ .name = 1 }.work, NULL), EINVAL);
        CHECK_STATUS(csk_workqueue_resume(made), 0);
        wait_until(LOAD(&job.calls) == 1);
    }
}

/* ---- Many -------------------------------------------------------------------------------------------------------- */

static void a_million_queues_are_made_and_used_and_cost_their_memory(void) {
    enum { COUNT = 1000000 / TEST_SLOWDOWN / TEST_SLOWDOWN };
    csk_workqueue_t *queues = calloc(COUNT, sizeof *queues);
    job_t *jobs = calloc(COUNT, sizeof *jobs);
    CHECK(queues != NULL && jobs != NULL);
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    STORE(&freed, 0);
    for (int i = 0; i < COUNT; i++) {
        jobs[i].calls = 999;
        jobs[i].go = (uint32_t *)(void *)&queues[i];
        CHECK_STATUS(csk_workqueue_enqueue(&queues[i], &jobs[i].work, requeue), 0);
    }
    for (int i = 0; i < COUNT; i++) drain(&queues[i]);
    CHECK_EQ(freed, COUNT);
#if !TEST_IS_SANITIZED
    /* no queue costs more than itself; workers may come */
    CHECK_LE(mallinfo2().uordblks + mallinfo2().hblkhd, before + 16 * 1024 * 1024);
#else
    (void)before;
#endif
    for (int i = 0; i < COUNT; i++) CHECK_STATUS(csk_workqueue_destroy(&queues[i]), 0);
    free(queues);
    free(jobs);
}

static void queues_on_the_heap_begin_at_lines_and_cost_272_bytes(void) {
    enum { COUNT = 100000 / TEST_SLOWDOWN };
    csk_workqueue_t **queues = calloc(COUNT, sizeof *queues);
    CHECK(queues != NULL);
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < COUNT; i++) {
        CHECK_STATUS(csk_workqueue_create(&queues[i], NULL), 0);
        CHECK_EQ((uintptr_t)queues[i] % 64, 0);
    }
#if !TEST_IS_SANITIZED
    CHECK_LE(mallinfo2().uordblks, before + 272 * COUNT + 64 * 1024);
#else
    (void)before;
#endif
    for (int i = 0; i < COUNT; i++) csk_workqueue_release(queues[i]);
    free(queues);
}

/* Each of them waits until all have begun: so many workers are needed, and come. */
static uint32_t begun;
enum { BLOCKING = 600 / TEST_SLOWDOWN };
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_begun = PTHREAD_COND_INITIALIZER;

static void wait_for_all(csk_work_t *work, int status) {
    pthread_mutex_lock(&all_lock);
    if (++begun == BLOCKING) pthread_cond_broadcast(&all_begun);
    while (begun < BLOCKING) pthread_cond_wait(&all_begun, &all_lock);
    pthread_mutex_unlock(&all_lock);
    run_job(work, status);
}

static void queues_whose_work_blocks_get_workers_until_all_have_begun(void) {
    static csk_workqueue_t queues[BLOCKING];
    static job_t jobs[BLOCKING];
    begun = 0;
    forget_notes();
    for (int i = 0; i < BLOCKING; i++) CHECK_STATUS(csk_workqueue_enqueue(&queues[i], &jobs[i].work, wait_for_all), 0);
    for (int i = 0; i < BLOCKING; i++) end_queue(&queues[i]);
    CHECK_EQ(notes_so_far(), BLOCKING);
}

/* ---- Forks ------------------------------------------------------------------------------------------------------- */

static csk_workqueue_t kept, stopped, held;
static csk_delayed_t late;
static job_t waiting_jobs[3];

static void use_in_the_child(void) {
    job_t fresh = job_named(7);
    alarm(TEST_WATCHDOG_S);
    forget_notes();
    CHECK(!csk_workqueue_is_current(&kept));
    CHECK_EQ(csk_workqueue_waiting(&kept), 0);
    CHECK_EQ(csk_workqueue_running(&kept), 0);
    CHECK_STATUS(csk_workqueue_cancel(&kept, &waiting_jobs[0].work), ENOENT);
    CHECK_STATUS(csk_workqueue_cancel(&kept, &waiting_jobs[1].work), ENOENT);
    drain(&kept);
    queue_job(&kept, &fresh);
    drain(&kept);
    queue_job(&kept, &waiting_jobs[0]); /* its memory is the child's own */
    drain(&kept);
    CHECK_NOTES(7, 0);
    end_queue(&kept);
    /* How a queue was set up, and suspended or shut down, is as it was. */
    CHECK_STATUS(csk_workqueue_enqueue(&stopped, &fresh.work, run_job), ESHUTDOWN);
    CHECK_STATUS(csk_workqueue_resume(&held), 0);
    CHECK_STATUS(csk_workqueue_resume(&held), EPERM);
    CHECK_STATUS(csk_delayed_cancel(&late), ENOENT);
    CHECK_STATUS(csk_delayed_start(&late, &kept, csk_now(), 0, run_job), 0);
    wait_until(notes_so_far() == 3);
    _exit(0);
}

static void *fork_here(void *context) {
    (void)context;
    pid_t child = fork();
    if (child == 0) use_in_the_child();
    int status = wait_for_child(child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    return NULL;
}

static void the_childs_queues_are_empty_and_usable(void) {
#ifdef __SANITIZE_THREAD__
    printf("not under ThreadSanitizer; "); /* it counts the parent's threads as alive in the child */
    return;
#endif
    uint32_t release = 0;
    job_t busy = job_named(9);
    busy.go = &release;
    forget_notes();
    CHECK_STATUS(csk_workqueue_suspend(&held), 0);
    csk_workqueue_shutdown(&stopped, false);
    queue_job(&kept, &busy);
    wait_until(notes_so_far() == 1);
    queue_jobs(&kept, waiting_jobs, 2);
    CHECK_STATUS(csk_workqueue_submit(&kept, back(3), &waiting_jobs[2].work, 0, CSK_NEVER, run_job), 0);
    CHECK_STATUS(csk_delayed_start(&late, &kept, csk_deadline_after(3600000000000), 1000, run_job), 0);
    join_thread(start_thread(fork_here, NULL));
    CHECK_STATUS(csk_delayed_cancel(&late), 0);
    STORE(&release, 1);
    drain(&kept);
    CHECK_EQ(notes_so_far(), 4);
    end_queue(&kept);
}

static csk_workqueue_t forked_in;
static pid_t forked_child;

/* Goes on in both processes. */
static void fork_and_return(void) {
    forked_child = fork();
    CHECK(forked_child >= 0);
    if (forked_child == 0) {
        alarm(TEST_WATCHDOG_S);
        CHECK(!csk_workqueue_is_current(&forked_in));
    }
}

static void expect_that_it_works(void) {
    job_t jobs[3];
    forget_notes();
    queue_jobs(&forked_in, jobs, 3);
    drain(&forked_in);
    CHECK_NOTES(0, 1, 2);
    CHECK_EQ(csk_workqueue_running(&forked_in), 0);
    end_queue(&forked_in);
}

static void fork_in_a_call(void *context) {
    (void)context;
    fork_and_return();
}

static void a_callers_function_may_fork_and_return_in_the_child(void) {
#ifdef __SANITIZE_THREAD__
    printf("not under ThreadSanitizer; ");
    return;
#endif
    CHECK_STATUS(csk_workqueue_sync(&forked_in, back(0), 0, CSK_NEVER, fork_in_a_call, NULL), 0);
    expect_that_it_works();
    if (forked_child == 0) _exit(0);
    CHECK_EQ(wait_for_child(forked_child), 0);
}

static job_t in_the_child;

static void end_child(csk_work_t *work, int status) {
    (void)work;
    _exit(status);
}

static void fork_on_a_worker(csk_work_t *work, int status) {
    fork_and_return();
    /* The child's only thread goes on as a worker, and comes for this. */
    if (forked_child == 0) CHECK_STATUS(csk_workqueue_enqueue(&forked_in, &in_the_child.work, end_child), 0);
    else run_job(work, status);
}

static void work_may_fork_and_return_in_the_child(void) {
#ifdef __SANITIZE_THREAD__
    printf("not under ThreadSanitizer; ");
    return;
#endif
    job_t job = job_named(0);
    forget_notes();
    CHECK_STATUS(csk_workqueue_enqueue(&forked_in, &job.work, fork_on_a_worker), 0);
    drain(&forked_in);
    CHECK_EQ(wait_for_child(forked_child), 0);
    expect_that_it_works();
}

/* After the last handle has gone, only the worker keeps the queue while its work runs. */
static csk_workqueue_t *released_queue;
static uint32_t was_released, was_retained;
static void retain_it(csk_work_t *work, int status) {
    (void)work, (void)status;
    wait_until(LOAD(&was_released));
    csk_workqueue_retain(released_queue);
    CHECK_EQ(LOAD(&released_queue->state) & STATE_PINS, 2 * STATE_PIN_ONE);
    STORE(&was_retained, 1);
}
static void a_released_queue_may_be_retained_by_its_own_work(void) {
    csk_work_t work = { .kind = 0 };
    CHECK_STATUS(csk_workqueue_create(&released_queue, NULL), 0);
    CHECK_STATUS(csk_workqueue_enqueue(released_queue, &work, retain_it), 0);
    csk_workqueue_release(released_queue);
    STORE(&was_released, 1);
    wait_until(LOAD(&was_retained));
    CHECK_STATUS(csk_workqueue_drain(released_queue, CSK_NEVER), 0);
    csk_workqueue_unretain(released_queue);
}

TEST_MAIN(TEST(a_callers_function_may_fork_and_return_in_the_child), TEST(work_may_fork_and_return_in_the_child),
          TEST(the_childs_queues_are_empty_and_usable), TEST(work_may_be_freed_in_its_function),
          TEST(a_queue_may_be_destroyed_right_after_its_drain), TEST(work_may_queue_itself_again),
          TEST(a_released_queue_runs_what_it_holds), TEST(a_queue_may_be_released_from_its_own_work),
          TEST(a_released_queue_may_be_retained_by_its_own_work),
          TEST(a_million_queues_are_made_and_used_and_cost_their_memory),
          TEST(queues_on_the_heap_begin_at_lines_and_cost_272_bytes),
          TEST(queues_whose_work_blocks_get_workers_until_all_have_begun))
