/* cancel_function_test.c: a thread is cancelled while functions of others run on it: those of waiters that it lets in
 * when it gives up its own wait, of waits at a work queue that it ends, and of works that it refuses. All of them are
 * called, and the call that they run in returns. The cancellation is pending all the time, and each function is a
 * cancellation point. */
#include "workqueue_fixture.h"

static pthread_t caller; /* the thread that is cancelled */
static uint32_t called, came_out;

static void begin(void) {
    STORE(&called, 0);
    STORE(&came_out, 0);
    forget_notes();
}
static void be_called(void) {
    if (!pthread_equal(pthread_self(), caller)) return;
    ADD(&called, 1);
    pthread_testcancel();
}
static void begin_cancelled(void) {
    caller = pthread_self();
    pthread_cancel(caller);
}
static void *come_out(void) {
    ADD(&came_out, 1);
    pthread_testcancel();
    return NULL;
}
static void join_cancelled(pthread_t thread) {
    CHECK(join_thread(thread) == PTHREAD_CANCELED);
    CHECK_EQ(came_out, 1);
}

/* ---- Waiters ----------------------------------------------------------------------------------------------------- */

static csk_sem_t sem;
static int64_t patience_ns;
static uint32_t served;

static void take(csk_waiter_t *waiter, void *unused, int status) {
    (void)waiter, (void)unused;
    CHECK_STATUS(status, 0);
    ADD(&served, 1);
    be_called();
}
static void *wait_for_three(void *unused) {
    (void)unused;
    begin_cancelled();
    CHECK_STATUS(csk_sem_timedwait(&sem, 1, 3, csk_deadline_after(patience_ns)), ETIMEDOUT);
    return come_out();
}

/* Its request keeps the permits from the two behind it, until it gives up. Where its time was over before the permits
 * came, they serve the two, and it has more of it. */
static void who_gives_up_a_wait_serves_the_others(void) {
    for (patience_ns = 20000000, STORE(&called, 0); LOAD(&called) < 2; patience_ns *= 2) {
        csk_waiter_t waiters[2];
        memset(waiters, 0, sizeof waiters);
        begin();
        STORE(&served, 0);
        CHECK_STATUS(csk_sem_init(&sem, 0, 3), 0);
        pthread_t thread = start_thread(wait_for_three, NULL);
        for (int i = 0; i < 2; i++)
            CHECK_STATUS(csk_sem_wait_async(&sem, csk_rank(0, CSK_PLACE_BACK), &waiters[i], 1, CSK_NEVER, take, NULL),
                         0);
        wait_until(csk_sem_waiting(&sem) == 3 || LOAD(&came_out));
        CHECK_STATUS(csk_sem_post(&sem, 2), 0);
        join_cancelled(thread);
        wait_until(LOAD(&served) == 2);
        CHECK_EQ(csk_sem_waiting(&sem), 0);
        CHECK_STATUS(csk_sem_destroy(&sem), 0);
    }
    CHECK_EQ(called, 2);
}

/* ---- Waits at a work queue, and works that are refused ----------------------------------------------------------- */

static csk_workqueue_t queue, dropping;

static void work_is_refused(csk_work_t *work, int status) {
    (void)work;
    CHECK_STATUS(status, ECANCELED);
    be_called();
}
static void *shut_down(void *unused) {
    begin_cancelled();
    csk_workqueue_shutdown(&queue, true);
    (void)unused;
    return come_out();
}
static void who_shuts_a_queue_down_calls_all_its_works(void) {
    csk_work_t works[3];
    memset(works, 0, sizeof works);
    begin();
    queue = queue_of(1, 0, 0);
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    for (int i = 0; i < 3; i++) CHECK_STATUS(csk_workqueue_enqueue(&queue, &works[i], work_is_refused), 0);
    join_cancelled(start_thread(shut_down, NULL));
    CHECK_EQ(called, 3);
    CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    end_queue(&queue);
}

static csk_work_t dropped[3];

/* The second and third drop the one before. That this is over ends nothing of what goes on around it. */
static void a_drain_is_over(csk_workqueue_wait_t *wait) {
    (void)wait;
    be_called();
    for (int i = 0; i < 3; i++)
        if (dropped[i].function == NULL) {
            CHECK_STATUS(csk_workqueue_enqueue(&dropping, &dropped[i], work_is_refused), 0);
            pthread_testcancel();
        }
}
static void never(void *unused) {
    (void)unused;
    CHECK(false);
}
static void *wait_for_a_turn(void *unused) {
    (void)unused;
    begin_cancelled();
    CHECK_STATUS(csk_workqueue_sync(&queue, csk_workqueue_rank(&queue), 0, csk_deadline_after(patience_ns), never,
                                    NULL),
                 ETIMEDOUT);
    return come_out();
}
static void who_gives_up_its_turn_ends_the_waits_for_it(void) {
    for (patience_ns = 20000000, STORE(&called, 0); LOAD(&called) < 4; patience_ns *= 2) {
        csk_workqueue_wait_t drains[2];
        begin();
        memset(dropped, 0, sizeof dropped);
        queue = queue_of(1, 0, 0);
        dropping = queue_of(1, 1, CSK_WORKQUEUE_DROP_OLDEST);
        CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
        CHECK_STATUS(csk_workqueue_suspend(&dropping), 0);
        pthread_t thread = start_thread(wait_for_a_turn, NULL);
        wait_until(csk_workqueue_waiting(&queue) == 1 || LOAD(&came_out));
        for (int i = 0; i < 2; i++) csk_workqueue_drain_async(&queue, &drains[i], a_drain_is_over, NULL);
        join_cancelled(thread);
        CHECK_STATUS(csk_workqueue_resume(&queue), 0);
        end_queue(&queue);
        csk_workqueue_shutdown(&dropping, true);
        CHECK_STATUS(csk_workqueue_resume(&dropping), 0);
        end_queue(&dropping);
    }
    CHECK_EQ(called, 4);
}

TEST_MAIN(TEST(who_gives_up_a_wait_serves_the_others), TEST(who_shuts_a_queue_down_calls_all_its_works),
          TEST(who_gives_up_its_turn_ends_the_waits_for_it))
