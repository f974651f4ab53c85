/* workqueue_room_test.c: work that waits for room without a thread, and queues that outlive their owner. */
#include "child.h"
#include "queue/workqueue.h"
#include "workqueue_fixture.h"

/* Work and what waits for its room, with separate lives. */
typedef struct {
    job_t job;
    csk_workqueue_wait_t wait;
    int status;
    uint32_t told;
} waiter_t;

static csk_workqueue_t narrow;
static job_t busy;
static uint32_t release;

static void is_told(csk_workqueue_wait_t *wait) {
    waiter_t *waiter = wait->context;
    CHECK(wait == &waiter->wait);
    waiter->status = wait->status;
    ADD(&waiter->told, 1);
}

static int queue_when_room(csk_workqueue_t *queue, waiter_t *waiter, int name) {
    *waiter = (waiter_t){ .job = job_named(name), .status = -1 };
    return csk_workqueue_submit_when_room(queue, back(0), &waiter->job.work, 0, run_job, &waiter->wait, is_told,
                                          waiter);
}

/* One job runs until `release`, another waits, and nothing has been noted. */
static void fill(job_t *waits) {
    CHECK_STATUS(csk_workqueue_init(&narrow, &(csk_workqueue_attr_t){ .capacity = 1 }), 0);
    STORE(&release, 0);
    *waits = job_named(0);
    busy = job_named(-1);
    busy.go = &release;
    queue_job(&narrow, &busy);
    wait_until(LOAD(&busy.calls) == 1);
    queue_job(&narrow, waits);
    forget_notes();
}

static void go_on(void) {
    STORE(&release, 1);
    drain(&narrow);
}

/* ---- Room -------------------------------------------------------------------------------------------------------- */

/* It comes into the queue when it gets room, and not before: behind what came without room while it stood in line. */
static void who_gets_room_comes_after_what_was_queued_before(void) {
    job_t waits, roomless = job_named(2);
    waiter_t waiter;
    fill(&waits);
    CHECK_STATUS(queue_when_room(&narrow, &waiter, 1), EINPROGRESS);
    CHECK_STATUS(csk_workqueue_submit(&narrow, back(0), &roomless.work, CSK_WORK_OWN_TURN, CSK_NEVER, run_job), 0);
    STORE(&release, 1);
    wait_until(LOAD(&waiter.told) == 1); /* nothing else looks at the queue before it is told */
    end_queue(&narrow);
    CHECK_NOTES(0, 2, 1);
}

static bool somebody_waits_behind(const csk_workqueue_wait_t *wait) {
    csk_workqueue_lock(&narrow);
    bool waits = wait->next != NULL;
    csk_workqueue_unlock(&narrow);
    return waits;
}

static void *push(void *job) {
    queue_job(&narrow, job);
    return NULL;
}

static void room_is_given_by_arrival_to_threads_and_to_what_has_none(void) {
    job_t waits, pushed = job_named(2);
    waiter_t first, last;
    fill(&waits);
    CHECK_STATUS(queue_when_room(&narrow, &first, 1), EINPROGRESS);
    pthread_t thread = start_thread(push, &pushed);
    wait_until(somebody_waits_behind(&first.wait));
    CHECK_STATUS(queue_when_room(&narrow, &last, 3), EINPROGRESS);
    CHECK_EQ(LOAD(&first.told) + LOAD(&last.told), 0);
    CHECK_EQ(csk_workqueue_waiting(&narrow), 1);
    STORE(&release, 1);
    join_thread(thread);
    wait_until(LOAD(&last.told) == 1);
    drain(&narrow);
    CHECK_NOTES(0, 1, 2, 3);
    CHECK_EQ(first.told, 1);
    CHECK_STATUS(first.status, 0);
    CHECK_STATUS(last.status, 0);
    CHECK_STATUS(csk_workqueue_wait_cancel(&narrow, &first.wait), ENOENT);
    end_queue(&narrow);
}

static void who_gives_up_is_neither_told_nor_queued(void) {
    job_t waits;
    waiter_t waiters[4];
    fill(&waits);
    for (int i = 0; i < 4; i++) CHECK_STATUS(queue_when_room(&narrow, &waiters[i], 1 + i), EINPROGRESS);
    CHECK_STATUS(csk_workqueue_cancel(&narrow, &waiters[1].job.work), ENOENT); /* not in the queue yet */
    const int given_up[] = { 1, 0, 3 }; /* from the middle, the first, the last */
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(csk_workqueue_wait_cancel(&narrow, &waiters[given_up[i]].wait), 0);
        CHECK_STATUS(csk_workqueue_wait_cancel(&narrow, &waiters[given_up[i]].wait), ENOENT);
    }
    waiter_t late;
    CHECK_STATUS(queue_when_room(&narrow, &late, 5), EINPROGRESS);
    CHECK_STATUS(csk_workqueue_cancel(&narrow, &waits.work), 0); /* makes room, on this thread */
    CHECK_EQ(waiters[2].told, 1);
    CHECK_STATUS(csk_workqueue_wait_cancel(&narrow, &waiters[2].wait), ENOENT);
    STORE(&release, 1);
    wait_until(LOAD(&late.told) == 1);
    drain(&narrow);
    CHECK_NOTES(3, 5);
    for (int i = 0; i < 3; i++) CHECK_EQ(waiters[given_up[i]].told, 0);
    end_queue(&narrow);
}

static void a_shutdown_tells_who_waits_for_room(void) {
    job_t waits;
    waiter_t waiters[3], late;
    fill(&waits);
    for (int i = 0; i < 3; i++) CHECK_STATUS(queue_when_room(&narrow, &waiters[i], 1 + i), EINPROGRESS);
    CHECK_STATUS(csk_workqueue_wait_cancel(&narrow, &waiters[1].wait), 0);
    csk_workqueue_shutdown(&narrow, false);
    for (int i = 0; i < 3; i += 2) {
        CHECK_EQ(waiters[i].told, 1);
        CHECK_STATUS(waiters[i].status, ESHUTDOWN);
        CHECK_STATUS(csk_workqueue_wait_cancel(&narrow, &waiters[i].wait), ENOENT);
    }
    CHECK_STATUS(queue_when_room(&narrow, &late, 7), ESHUTDOWN);
    go_on();
    CHECK_NOTES(0);
    CHECK_EQ(waiters[1].told + late.told, 0);
    end_queue(&narrow);
}

/* Between the end of the line and the telling somebody else may ask for the work to be cancelled: it is in no list,
 * whatever its memory held. */
static int cancelled_in_told;
static void cancel_when_told(csk_workqueue_wait_t *wait) {
    waiter_t *waiter = wait->context;
    cancelled_in_told = csk_workqueue_cancel(&narrow, &waiter->job.work);
}
static void work_that_was_never_queued_is_not_found_by_who_cancels_it(void) {
    job_t waits;
    waiter_t waiter = { .job = job_named(1) };
    fill(&waits);
    memset(&waiter.job.work, 5, sizeof waiter.job.work);
    int status = csk_workqueue_submit_when_room(&narrow, back(0), &waiter.job.work, 0, run_job, &waiter.wait,
                                                cancel_when_told, &waiter);
    CHECK_STATUS(status, EINPROGRESS);
    csk_workqueue_shutdown(&narrow, false);
    CHECK_STATUS(cancelled_in_told, ENOENT);
    CHECK_EQ(csk_workqueue_waiting(&narrow), 1);
    go_on();
    end_queue(&narrow);
}

/* Who waits for room inside the queue's own work keeps nobody from making it. */
static waiter_t from_inside;
static job_t next;
static uint32_t has_asked;
static void queue_inside(csk_work_t *work, int status) {
    run_job(work, status);
    queue_job(&narrow, &next);
    CHECK_STATUS(queue_when_room(&narrow, &from_inside, 3), EINPROGRESS);
    STORE(&has_asked, 1);
}

static void work_may_wait_for_room_in_its_own_queue_without_a_thread(void) {
    job_t waits, asks = job_named(1);
    next = job_named(2);
    fill(&waits);
    CHECK_STATUS(csk_workqueue_submit(&narrow, back(0), &asks.work, CSK_WORK_OWN_TURN, CSK_NEVER, queue_inside), 0);
    STORE(&release, 1);
    wait_until(LOAD(&has_asked) && LOAD(&from_inside.told) == 1);
    drain(&narrow);
    CHECK_NOTES(0, 1, 2, 3);
    CHECK_STATUS(from_inside.status, 0);
    end_queue(&narrow);
}

static void other_bounds_and_free_places_are_answered_at_once(void) {
    for (int32_t when_full = CSK_WORKQUEUE_WAIT; when_full <= CSK_WORKQUEUE_DROP_OLDEST; when_full++) {
        csk_workqueue_t queue;
        waiter_t waiters[2];
        forget_notes();
        CHECK_STATUS(csk_workqueue_init(&queue, &(csk_workqueue_attr_t){ .width = 2,
                                                                         .capacity = when_full != 0,
                                                                         .when_full = when_full }),
                     0);
        CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
        CHECK_STATUS(queue_when_room(&queue, &waiters[0], 0), 0);
        CHECK_STATUS(queue_when_room(&queue, &waiters[1], 1), when_full == CSK_WORKQUEUE_REFUSE ? EBUSY : 0);
        CHECK_EQ(notes_so_far(), when_full == CSK_WORKQUEUE_DROP_OLDEST);
        CHECK_STATUS(csk_workqueue_submit_when_room(&queue, 0, &waiters[0].job.work, 0, NULL, &waiters[0].wait, is_told,
                                                    NULL),
                     EINVAL);
        CHECK_STATUS(csk_workqueue_submit_when_room(&queue, 0, &waiters[0].job.work, 0, run_job, &waiters[0].wait, NULL,
                                                    NULL),
                     EINVAL);
        CHECK_STATUS(csk_workqueue_resume(&queue), 0);
        drain(&queue);
        for (int i = 0; i < 2; i++) CHECK_EQ(waiters[i].told, 0);
        CHECK_EQ(notes_so_far(), when_full == CSK_WORKQUEUE_REFUSE ? 1 : 2);
        end_queue(&queue);
    }
}

/* Each is told or given up, never both; each work runs or doesn't, as that says. */
enum { MANY = 20000 / TEST_SLOWDOWN };
static waiter_t many[MANY];
static uint32_t given_up[MANY], queued_so_far;

static void *give_up_some(void *unused) {
    (void)unused;
    uint64_t state = test_seed(1);
    for (int i = 0; i < MANY; i++) {
        wait_until(LOAD(&queued_so_far) > (uint32_t)i);
        if (test_random(&state) % 2 == 0) continue;
        if (csk_workqueue_wait_cancel(&narrow, &many[i].wait) == 0) given_up[i] = 1;
    }
    return NULL;
}

static void count_run(csk_work_t *work, int status) {
    CHECK_STATUS(status, 0);
    ADD(&((job_t *)work)->calls, 1);
}

static void told_or_given_up_and_never_both(void) {
    CHECK_STATUS(csk_workqueue_init(&narrow, &(csk_workqueue_attr_t){ .width = 2, .capacity = 3 }), 0);
    pthread_t canceller = start_thread(give_up_some, NULL);
    for (int i = 0; i < MANY; i++) {
        waiter_t *waiter = &many[i];
        int status = csk_workqueue_submit_when_room(&narrow, back(i % 3), &waiter->job.work,
                                                    i % 100 == 0 ? CSK_WORK_BARRIER : 0, count_run, &waiter->wait,
                                                    is_told, waiter);
        CHECK(status == 0 || status == EINPROGRESS);
        waiter->job.status = status;
        ADD(&queued_so_far, 1);
    }
    join_thread(canceller);
    for (int i = 0; i < MANY; i++) {
        if (given_up[i]) continue;
        if (many[i].job.status == EINPROGRESS) wait_until(LOAD(&many[i].told) == 1);
        wait_until(LOAD(&many[i].job.calls) == 1);
    }
    drain(&narrow);
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(many[i].told, many[i].job.status == EINPROGRESS && !given_up[i]);
        CHECK_EQ(many[i].job.calls, !given_up[i]);
    }
    end_queue(&narrow);
}

/* ---- Beyond the owner -------------------------------------------------------------------------------------------- */

static csk_workqueue_t *make(void) {
    csk_workqueue_t *queue;
    CHECK_STATUS(csk_workqueue_create(&queue, NULL), 0);
    return queue;
}

static void note_delayed(csk_work_t *work, int status) {
    (void)work;
    note(status);
}

/* The owner of a suspended queue let go while delayed work was to come: it never ran, or met freed memory. */
static void delayed_work_runs_on_a_suspended_queue_whose_owner_let_go(void) {
    csk_workqueue_t *queue = make();
    csk_delayed_t delayed = { .state = 0 };
    static job_t after;
    after = job_named(2);
    forget_notes();
    csk_workqueue_retain(queue);
    CHECK_STATUS(csk_workqueue_suspend(queue), 0);
    CHECK_STATUS(csk_delayed_start(&delayed, queue, csk_deadline_after(3000000), 0, note_delayed), 0);
    csk_workqueue_release(queue);
    wait_until(notes_so_far() == 1);
    CHECK_STATUS(csk_workqueue_suspend(queue), 0); /* nobody is left to resume it */
    queue_job(queue, &after);
    wait_until(LOAD(&after.calls) == 1);
    CHECK_STATUS(csk_workqueue_resume(queue), 0);
    csk_workqueue_unretain(queue);
}

static void any_number_may_retain_a_queue(void) {
    csk_workqueue_t *queue = make();
    for (int i = 0; i < 200000; i++) csk_workqueue_retain(queue);
    csk_workqueue_release(queue);
    for (int i = 0; i < 199999; i++) csk_workqueue_unretain(queue);
    CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), 0);
    csk_workqueue_unretain(queue);
    csk_workqueue_t in_place = { .width = 0 };
    csk_workqueue_retain(&in_place);
    csk_workqueue_unretain(&in_place);
    CHECK_STATUS(csk_workqueue_destroy(&in_place), 0);
}

static void use_in_the_child(csk_workqueue_t *queue, csk_workqueue_wait_t *wait) {
    static job_t job;
    job = job_named(7);
    alarm(TEST_WATCHDOG_S);
    forget_notes();
    if (wait != NULL) CHECK_STATUS(csk_workqueue_wait_cancel(&narrow, wait), ENOENT);
    queue_job(queue, &job);
    wait_until(LOAD(&job.calls) == 1);
    drain(queue);
    csk_workqueue_unretain(queue);
    _exit(0);
}

static void a_childs_queue_has_the_handles_of_the_parents(void) {
#ifdef __SANITIZE_THREAD__
    printf("not under ThreadSanitizer; "); /* it counts the parent's threads as alive in the child */
    return;
#endif
    csk_workqueue_t *queue = make();
    job_t waits;
    waiter_t waiter;
    fill(&waits);
    CHECK_STATUS(queue_when_room(&narrow, &waiter, 1), EINPROGRESS);
    csk_workqueue_retain(queue);
    csk_workqueue_release(queue);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) use_in_the_child(queue, &waiter.wait);
    CHECK_EQ(wait_for_child(child), 0);
    csk_workqueue_unretain(queue);
    STORE(&release, 1);
    wait_until(LOAD(&waiter.told) == 1);
    end_queue(&narrow);
    CHECK_NOTES(0, 1);
}

TEST_MAIN(TEST(a_childs_queue_has_the_handles_of_the_parents),
          TEST(room_is_given_by_arrival_to_threads_and_to_what_has_none),
          TEST(who_gets_room_comes_after_what_was_queued_before), TEST(who_gives_up_is_neither_told_nor_queued),
          TEST(a_shutdown_tells_who_waits_for_room), TEST(work_may_wait_for_room_in_its_own_queue_without_a_thread),
          TEST(other_bounds_and_free_places_are_answered_at_once), TEST(told_or_given_up_and_never_both),
          TEST(delayed_work_runs_on_a_suspended_queue_whose_owner_let_go), TEST(any_number_may_retain_a_queue),
          TEST(work_that_was_never_queued_is_not_found_by_who_cancels_it))
