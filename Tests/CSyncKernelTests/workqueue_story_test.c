/* workqueue_story_test.c: mistakes that the work queues once made. Each test tells one of them and fails if it comes
 * back. */
#include "child.h"
#include "queue/workqueue.h"
#include "workqueue_fixture.h"

static void do_nothing(void *context) { (void)context; }

struct caller {
    csk_workqueue_t *queue;
    csk_rank_t rank;
    int64_t deadline_ns;
    int status;
};

static void *call(void *context) {
    struct caller *caller = context;
    STORE(&caller->status, csk_workqueue_sync(caller->queue, caller->rank, 0, caller->deadline_ns, do_nothing, NULL));
    return NULL;
}

/* Work that queued itself again while another thread cancelled it: what was not in the inbox yet was taken out of
 * nowhere, and the barrier that waited went with it. */
static csk_workqueue_t wide;
static uint32_t stop, rounds;

static void requeue(csk_work_t *work, int status) {
    CHECK_STATUS(status, 0);
    ADD(&rounds, 1);
    if (!LOAD(&stop)) CHECK_STATUS(csk_workqueue_enqueue(&wide, work, requeue), 0);
}

static void cancelling_work_that_queues_itself_again_takes_out_nothing_else(void) {
    CHECK_STATUS(csk_workqueue_init(&wide, &(csk_workqueue_attr_t){ .width = 3 }), 0);
    csk_work_t restless = { .place = 0 };
    uint32_t barriers = 0;
    forget_notes();
    CHECK_STATUS(csk_workqueue_enqueue(&wide, &restless, requeue), 0);
    for (int i = 0; i < 800 / TEST_SLOWDOWN; i++) {
        job_t barrier = job_named(i);
        CHECK_STATUS(csk_workqueue_submit(&wide, 0, &barrier.work, CSK_WORK_BARRIER, CSK_NEVER, run_job), 0);
        for (int j = 0; j < 3; j++) {
            if (csk_workqueue_cancel(&wide, &restless) != 0) continue;
            CHECK_STATUS(csk_workqueue_enqueue(&wide, &restless, requeue), 0);
        }
        wait_until(LOAD(&barrier.calls) == 1);
        barriers++;
        drain(&wide);
        forget_notes();
    }
    STORE(&stop, 1);
    while (csk_workqueue_waiting(&wide) + csk_workqueue_running(&wide) != 0) drain(&wide);
    CHECK_EQ(barriers, 800 / TEST_SLOWDOWN);
    end_queue(&wide);
}

/* A queue that drops its oldest let a caller of another rank in; alone, it was not found when the next work came, and
 * the program crashed. */
static void a_queue_that_drops_its_oldest_takes_no_caller_of_another_rank(void) {
    csk_workqueue_t queue;
    job_t first = job_named(0), second = job_named(1);
    CHECK_STATUS(csk_workqueue_init(&queue,
                                    &(csk_workqueue_attr_t){ .capacity = 1, .when_full = CSK_WORKQUEUE_DROP_OLDEST }),
                 0);
    CHECK_STATUS(csk_workqueue_sync(&queue, back(1), 0, CSK_NEVER, do_nothing, NULL), EINVAL);
    CHECK_STATUS(csk_workqueue_sync(&queue, back(0), CSK_WORK_COUNTED, CSK_NEVER, do_nothing, NULL), EINVAL);
    struct caller caller = { &queue, back(0), CSK_NEVER, -1 };
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    pthread_t thread = start_thread(call, &caller);
    wait_until(csk_workqueue_waiting(&queue) == 1);
    forget_notes();
    queue_job(&queue, &first);
    join_thread(thread);
    CHECK_STATUS(caller.status, ECANCELED); /* was the oldest */
    CHECK_STATUS(csk_workqueue_raise(&queue, back(1), &first.work), EINVAL);
    queue_job(&queue, &second);
    CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    end_queue(&queue);
    CHECK_NOTES(0, 1);
    CHECK_STATUS(first.status, ECANCELED);
}

/* Each barrier that began had all that came after it placed anew, up to the last: minutes, for so many. */
static void as_many_barriers_as_works_take_no_longer_than_works(void) {
    enum { COUNT = 200000 / TEST_SLOWDOWN };
    csk_workqueue_t queue;
    job_t *jobs = calloc(COUNT, sizeof *jobs);
    CHECK_STATUS(csk_workqueue_init(&queue, &(csk_workqueue_attr_t){ .width = 2 }), 0);
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    STORE(&stop, 1);
    STORE(&rounds, 0);
    for (int i = 0; i < COUNT; i++) {
        if (i % 2) CHECK_STATUS(csk_workqueue_enqueue(&queue, &jobs[i].work, requeue), 0);
        else CHECK_STATUS(csk_workqueue_submit(&queue, 0, &jobs[i].work, CSK_WORK_BARRIER, CSK_NEVER, requeue), 0);
    }
    CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    end_queue(&queue);
    CHECK_EQ(rounds, COUNT);
    free(jobs);
}

/* A caller of its own turn waits beside the works; when its turn came its place was given to work, beyond the
 * capacity. */
static void *push(void *job) {
    queue_job(&wide, job);
    return NULL;
}

static bool somebody_waits_for_room(void) {
    csk_workqueue_lock(&wide);
    bool waits = wide.rooms != NULL;
    csk_workqueue_unlock(&wide);
    return waits;
}

/* Work 0 ends and 1 begins, which leaves one that waits; only once 1 has ended does `pusher` get its place. */
static void the_next_turn_gives_no_room(uint32_t *release, uint32_t *release_next, pthread_t pusher) {
    STORE(release, 1);
    wait_until(notes_so_far() == 2);
    CHECK_EQ(csk_workqueue_waiting(&wide), 1);
    CHECK(somebody_waits_for_room());
    STORE(release_next, 1);
    join_thread(pusher);
    end_queue(&wide);
    CHECK_NOTES(0, 1, 2, 3);
}

static void run_a_job(void *job) { run_job(job, 0); }

static void *call_with_a_job(void *job) {
    CHECK_STATUS(csk_workqueue_sync(&wide, back(1), CSK_WORK_OWN_TURN, CSK_NEVER, run_a_job, job), 0);
    return NULL;
}

static void a_callers_turn_makes_no_room_beyond_the_capacity(void) {
    CHECK_STATUS(csk_workqueue_init(&wide, &(csk_workqueue_attr_t){ .capacity = 1 }), 0);
    uint32_t release = 0, release_caller = 0;
    job_t busy = job_named(0), called = job_named(1), waits = job_named(2), pushed = job_named(3);
    busy.go = &release;
    called.go = &release_caller;
    forget_notes();
    queue_job(&wide, &busy);
    wait_until(notes_so_far() == 1);
    queue_job(&wide, &waits);
    pthread_t caller = start_thread(call_with_a_job, &called);
    wait_until(csk_workqueue_waiting(&wide) == 2);
    pthread_t pusher = start_thread(push, &pushed);
    wait_until(somebody_waits_for_room());
    the_next_turn_gives_no_room(&release, &release_caller, pusher);
    join_thread(caller);
}

/* Who waited for room got its place before what had come earlier, and was not sorted yet. */
static void what_came_before_a_place_was_given_stands_before_it(void) {
    CHECK_STATUS(csk_workqueue_init(&wide, &(csk_workqueue_attr_t){ .capacity = 1 }), 0);
    uint32_t release = 0, release_next = 0;
    job_t busy = job_named(0), next = job_named(1), over = job_named(2), pushed = job_named(3);
    busy.go = &release;
    next.go = &release_next;
    forget_notes();
    queue_job(&wide, &busy);
    wait_until(notes_so_far() == 1);
    queue_job(&wide, &next);
    pthread_t pusher = start_thread(push, &pushed);
    wait_until(somebody_waits_for_room());
    CHECK_STATUS(csk_workqueue_submit(&wide, back(0), &over.work, CSK_WORK_OWN_TURN, CSK_NEVER, run_job), 0);
    STORE(&release, 1);
    join_thread(pusher);
    STORE(&release_next, 1);
    end_queue(&wide);
    CHECK_NOTES(0, 1, 2, 3);
}

/* A worker took what was sorted already, and left what had come since to whoever ended first, although it could have
 * run beside that. Where the one waited for the other both did for ever. */
static job_t sorted, unsorted;

static void queue_two(csk_work_t *work, int status) {
    queue_job(&wide, &sorted);
    CHECK_EQ(csk_workqueue_waiting(&wide), 1); /* which sorts */
    queue_job(&wide, &unsorted);
    run_job(work, status);
}

static void what_is_not_sorted_yet_begins_beside_what_is(void) {
    CHECK_STATUS(csk_workqueue_init(&wide, &(csk_workqueue_attr_t){ .width = 2 }), 0);
    uint32_t release = 0;
    job_t barrier = job_named(0);
    sorted = job_named(1);
    unsorted = job_named(2);
    sorted.go = &release;
    forget_notes();
    CHECK_STATUS(csk_workqueue_submit(&wide, 0, &barrier.work, CSK_WORK_BARRIER, CSK_NEVER, queue_two), 0);
    wait_until(LOAD(&unsorted.calls) == 1);
    STORE(&release, 1);
    end_queue(&wide);
    CHECK_EQ(notes_so_far(), 3);
}

/* The function of a caller gave up its queue, whose memory went before the caller had left it. */
static void release_inside(void *context) { csk_workqueue_release(context); }

static void a_callers_function_may_release_the_queue(void) {
    for (uint32_t i = 0; i < 2000 / TEST_SLOWDOWN; i++) {
        csk_workqueue_t *queue;
        job_t jobs[2];
        forget_notes();
        CHECK_STATUS(csk_workqueue_create(&queue, &(csk_workqueue_attr_t){ .width = i % 3 }), 0);
        queue_jobs(queue, jobs, 2);
        CHECK_STATUS(csk_workqueue_sync(queue, back(0), CSK_WORK_BARRIER, CSK_NEVER, release_inside, queue), 0);
        CHECK_EQ(notes_so_far(), 2);
    }
}

/* A drain was over, and the works' memory with it, while another thread was still about to tell them ECANCELED. */
static uint32_t told, go_on;

static void hesitate(csk_work_t *work, int status) {
    ADD(&told, 1);
    wait_until(LOAD(&go_on));
    CHECK_STATUS(csk_workqueue_drain(&wide, CSK_NEVER), EDEADLK);
    CHECK(csk_workqueue_is_current(&wide));
    run_job(work, status);
}

static void *shut_down(void *queue) {
    csk_workqueue_shutdown(queue, true);
    return NULL;
}

static void a_drain_waits_until_refused_work_was_told(void) {
    CHECK_STATUS(csk_workqueue_init(&wide, &(csk_workqueue_attr_t){ .width = 2 }), 0);
    job_t jobs[3] = { job_named(0), job_named(1), job_named(2) };
    forget_notes();
    CHECK_STATUS(csk_workqueue_suspend(&wide), 0);
    for (int i = 0; i < 3; i++) CHECK_STATUS(csk_workqueue_enqueue(&wide, &jobs[i].work, hesitate), 0);
    pthread_t thread = start_thread(shut_down, &wide);
    wait_until(LOAD(&told) == 1);
    CHECK_STATUS(csk_workqueue_drain(&wide, csk_deadline_after(2000000)), ETIMEDOUT);
    CHECK_STATUS(csk_workqueue_destroy(&wide), EBUSY);
    STORE(&go_on, 1);
    drain(&wide);
    CHECK_NOTES(0, 1, 2);
    for (int i = 0; i < 3; i++) CHECK_STATUS(jobs[i].status, ECANCELED);
    join_thread(thread);
    CHECK_STATUS(csk_workqueue_destroy(&wide), 0);
}

/* Work that came while a worker of a concurrent queue was on its way was left to that worker, which took what was
 * sorted and did not look into the inbox: with workers to spare it waited until somebody else's work had ended, here
 * for ever. */
static uint32_t begun;

static void wait_for_the_second(csk_work_t *work, int status) {
    wait_until(LOAD(&begun) == 1);
    run_job(work, status);
}

static void tell_the_first(csk_work_t *work, int status) {
    ADD(&begun, 1);
    run_job(work, status);
}

static uint32_t held, let_go;

static void hold_worker(csk_pool_item_t *item) {
    (void)item;
    ADD(&held, 1);
    wait_until(LOAD(&let_go));
    ADD(&held, -1);
}

static void work_does_not_wait_for_other_work_where_the_queue_is_wide_enough(void) {
    static csk_pool_item_t items[CSK_POOL_WORKERS_MAX];
    for (uint32_t i = 0; i < 200 / TEST_SLOWDOWN; i++) {
        uint32_t workers = csk_pool_workers() < 2 ? 2 : csk_pool_workers(); /* no other will be there at once */
        CHECK_LE(workers, CSK_POOL_WORKERS_MAX);
        job_t first = job_named(0), second = job_named(1);
        CHECK_STATUS(csk_workqueue_init(&wide, &(csk_workqueue_attr_t){ .width = 2 + i % 3 }), 0);
        forget_notes();
        STORE(&begun, 0);
        STORE(&let_go, 0);
        for (uint32_t j = 0; j < workers; j++) CHECK_STATUS(csk_pool_post(&items[j], hold_worker), 0);
        wait_until(LOAD(&held) == workers);
        CHECK_STATUS(csk_workqueue_suspend(&wide), 0);
        CHECK_STATUS(csk_workqueue_enqueue(&wide, &first.work, wait_for_the_second), 0);
        CHECK_STATUS(csk_workqueue_resume(&wide), 0);
        CHECK_STATUS(csk_workqueue_enqueue(&wide, &second.work, tell_the_first), 0);
        STORE(&let_go, 1);
        wait_until(notes_so_far() == 2); /* a drain would sort, and ask for a worker */
        end_queue(&wide);
        wait_until(LOAD(&held) == 0);
    }
}

/* At a fork another thread stood between the two places that say whether the queue is suspended, and the child believed
 * the wrong one: its queue ran nothing, though as many calls of resume had been made as of suspend. */
static csk_workqueue_t toggled;

static void *toggle(void *unused) {
    (void)unused;
    while (!LOAD(&stop)) {
        CHECK_STATUS(csk_workqueue_suspend(&toggled), 0);
        CHECK_STATUS(csk_workqueue_resume(&toggled), 0);
    }
    return NULL;
}

static void run_in_the_child(void *unused) {
    (void)unused;
    job_t job = job_named(0);
    queue_job(&toggled, &job);
    if (LOAD(&toggled.state) & STATE_SUSPENDS) CHECK_STATUS(csk_workqueue_resume(&toggled), 0);
    wait_until(LOAD(&job.calls) == 1);
}

static void a_queue_forked_while_another_thread_resumes_it_is_resumed_or_not(void) {
#ifdef __SANITIZE_THREAD__
    printf("not under ThreadSanitizer; ");
    return;
#endif
    job_t job = job_named(0);
    forget_notes();
    queue_job(&toggled, &job);
    drain(&toggled);
    STORE(&stop, 0);
    pthread_t thread = start_thread(toggle, NULL);
    for (int i = 0; i < 400 / TEST_SLOWDOWN; i++) in_a_child(run_in_the_child, NULL);
    STORE(&stop, 1);
    join_thread(thread);
    end_queue(&toggled);
}

/* At a fork another thread of this process, a child itself, was just making a queue of the parent its own. The new
 * child waited for that thread, which it does not have. */
enum { PARENTS_QUEUES = 4000 };
static csk_workqueue_t of_the_parent[PARENTS_QUEUES];

static void use_all(void *unused) {
    (void)unused;
    for (int i = 0; i < PARENTS_QUEUES; i++) CHECK_EQ(csk_workqueue_running(&of_the_parent[i]), 0);
}

static void *use_all_of_them(void *unused) {
    ADD(&begun, 1);
    use_all(unused);
    return NULL;
}

static void use_and_fork(void *unused) {
    STORE(&begun, 0);
    pthread_t thread = start_thread(use_all_of_them, unused);
    wait_until(LOAD(&begun) == 1);
    for (int i = 0; i < 3; i++) in_a_child(use_all, unused);
    join_thread(thread);
}

static void a_queue_forked_while_another_thread_makes_it_its_own_is_usable(void) {
#ifdef __SANITIZE_THREAD__
    printf("not under ThreadSanitizer; ");
    return;
#endif
    job_t job = job_named(0);
    forget_notes();
    queue_job(&of_the_parent[0], &job); /* there is no process to tell before a pool is */
    drain(&of_the_parent[0]);
    use_all(NULL);
    for (int i = 0; i < 40 / TEST_SLOWDOWN; i++) in_a_child(use_and_fork, NULL);
}

TEST_MAIN(TEST(a_queue_forked_while_another_thread_makes_it_its_own_is_usable),
          TEST(a_queue_forked_while_another_thread_resumes_it_is_resumed_or_not),
          TEST(work_does_not_wait_for_other_work_where_the_queue_is_wide_enough),
          TEST(cancelling_work_that_queues_itself_again_takes_out_nothing_else),
          TEST(a_queue_that_drops_its_oldest_takes_no_caller_of_another_rank),
          TEST(as_many_barriers_as_works_take_no_longer_than_works),
          TEST(a_callers_turn_makes_no_room_beyond_the_capacity),
          TEST(what_came_before_a_place_was_given_stands_before_it), TEST(what_is_not_sorted_yet_begins_beside_what_is),
          TEST(a_callers_function_may_release_the_queue), TEST(a_drain_waits_until_refused_work_was_told))
