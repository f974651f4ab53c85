/* inspect_life_test.c: a view never looks at what is gone: objects that go as soon as nobody waits any more, and, in a
 * child of fork, what is the parent's. */
#include "inspect_fixture.h"

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Each object is freed as soon as the wait for it has returned. */
static uint32_t over, called;
static void *view_in_a_loop(void *unused) {
    (void)unused;
    uint64_t *views = malloc(sizeof *views);
    for (*views = 0; !LOAD(&over); ++*views) {
        int status = csk_inspect(&view);
        CHECK(status == 0 || status == EBUSY);
    }
    return views;
}
static void *free_after_the_wait(void *unused) {
    (void)unused;
    for (int round = 0; !LOAD(&over); round++) {
        csk_sem_t *sem = malloc(sizeof *sem);
        CHECK_STATUS(csk_sem_init(sem, 0, 0), 0);
        CHECK_STATUS(csk_sem_timedwait(sem, 0, 1, csk_deadline_after(20000 + round % 8 * 10000)), ETIMEDOUT);
        CHECK_STATUS(csk_sem_destroy(sem), 0);
        free(sem);
        csk_pqueue_t *queue = malloc(sizeof *queue);
        csk_pqueue_item_t *item;
        CHECK_STATUS(csk_pqueue_init(queue, 0), 0);
        CHECK_STATUS(csk_pqueue_timedpop(queue, &item, csk_deadline_after(30000)), ETIMEDOUT);
        CHECK_STATUS(csk_pqueue_destroy(queue), 0);
        free(queue);
    }
    return NULL;
}
typedef struct {
    csk_gate_t gate;
    csk_cond_t *cond;
    uint32_t waits;
} signalled_t;
static void *wait_once(void *context) {
    signalled_t *shared = context;
    CHECK_STATUS(csk_gate_lock(&shared->gate, 0), 0);
    shared->waits = 1;
    CHECK_STATUS(csk_cond_wait_ranked(shared->cond, csk_rank(0, 1), CSK_NEVER), 0);
    CHECK_STATUS(csk_gate_unlock(&shared->gate), 0);
    return NULL;
}
/* The condition variable goes as soon as it was signalled, while its waiter may still sleep. */
static void *free_after_the_signal(void *unused) {
    (void)unused;
    while (!LOAD(&over)) {
        signalled_t *shared = calloc(1, sizeof *shared);
        shared->cond = malloc(sizeof *shared->cond);
        CHECK_STATUS(csk_cond_init(shared->cond, &shared->gate), 0);
        pthread_t thread = start_thread(wait_once, shared);
        for (bool waits = false; !waits;) {
            CHECK_STATUS(csk_gate_lock(&shared->gate, 0), 0);
            waits = shared->waits != 0;
            if (waits) {
                CHECK_STATUS(csk_cond_signal(shared->cond), 0);
                CHECK_STATUS(csk_cond_destroy(shared->cond), 0);
                free(shared->cond);
            }
            CHECK_STATUS(csk_gate_unlock(&shared->gate), 0);
        }
        join_thread(thread);
        free(shared);
    }
    return NULL;
}
static void count_call(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context, (void)status;
    ADD(&called, 1);
}
static void *free_in_the_callback(void *unused) {
    (void)unused;
    while (!LOAD(&over)) {
        csk_sem_t *sem = calloc(1, sizeof *sem);
        csk_waiter_t *waiter = calloc(1, sizeof *waiter);
        uint32_t before = LOAD(&called);
        CHECK_STATUS(csk_sem_wait_async(sem, csk_rank(0, 1), waiter, 1, CSK_NEVER, count_call, NULL), 0);
        sched_yield();
        CHECK_STATUS(csk_sem_post(sem, 1), 0);
        wait_until(LOAD(&called) != before);
        free(waiter);
        free(sem);
    }
    return NULL;
}
static uint32_t ended_works;
static void count_work(csk_work_t *work, int status) {
    (void)work;
    CHECK_STATUS(status, 0);
    __atomic_fetch_add(&ended_works, 1, __ATOMIC_RELEASE);
}
/* With a worker's last access to it, whoever of the two comes later. */
static void *give_up_queues(void *unused) {
    (void)unused;
    static csk_work_t works[3];
    while (!LOAD(&over)) {
        csk_workqueue_t *queue;
        uint32_t before = LOAD(&ended_works);
        CHECK_STATUS(csk_workqueue_create(&queue, &(csk_workqueue_attr_t){ .width = 2, .name = "short" }), 0);
        for (int i = 0; i < 3; i++) CHECK_STATUS(csk_workqueue_enqueue(queue, &works[i], count_work), 0);
        csk_workqueue_release(queue);
        wait_until(LOAD(&ended_works) == before + 3);
    }
    return NULL;
}
/* Its own work gives the queue up, while the call that lets it begin has not returned. */
static uint32_t given_up;
static csk_workqueue_t *resumed;
static void give_up_resumed(csk_work_t *work, int status) {
    (void)work;
    CHECK_STATUS(status, 0);
    csk_workqueue_release(resumed);
    ADD(&given_up, 1);
}
static void *resume_what_gives_itself_up(void *unused) {
    (void)unused;
    static csk_work_t work;
    for (uint32_t round = 0; !LOAD(&over); round++) {
        CHECK_STATUS(csk_workqueue_create(&resumed, NULL), 0);
        csk_workqueue_t *queue = resumed;
        CHECK_STATUS(csk_workqueue_suspend(queue), 0);
        CHECK_STATUS(csk_workqueue_enqueue(queue, &work, give_up_resumed), 0);
        if (round % 2 == 0) CHECK_STATUS(csk_workqueue_resume(queue), 0);
        else csk_workqueue_shutdown(queue, false);
        wait_until(LOAD(&given_up) == round + 1);
    }
    return NULL;
}
static void *give_up_suspended_queues(void *unused) {
    (void)unused;
    for (int round = 0; !LOAD(&over); round++) {
        csk_workqueue_t *queue;
        CHECK_STATUS(csk_workqueue_create(&queue, &(csk_workqueue_attr_t){ .width = 1, .name = "paused" }), 0);
        CHECK_STATUS(csk_workqueue_suspend(queue), 0);
        sched_yield();
        if (round % 3 == 0) CHECK_STATUS(csk_workqueue_resume(queue), 0);
        if (round % 3 == 1) csk_workqueue_shutdown(queue, true);
        csk_workqueue_release(queue);
    }
    return NULL;
}
static void objects_may_go_as_soon_as_their_waits_have_returned(void) {
    csk_inspect_callbacks(true);
    pthread_t viewer = start_thread(view_in_a_loop, NULL), threads[7];
    threads[0] = start_thread(free_after_the_wait, NULL);
    threads[1] = start_thread(free_after_the_wait, NULL);
    threads[2] = start_thread(free_after_the_signal, NULL);
    threads[3] = start_thread(free_in_the_callback, NULL);
    threads[4] = start_thread(give_up_queues, NULL);
    threads[5] = start_thread(give_up_suspended_queues, NULL);
    threads[6] = start_thread(resume_what_gives_itself_up, NULL);
    struct timespec a_while = { .tv_sec = 1 };
    nanosleep(&a_while, NULL); /* how long it is tried, and nothing else */
    STORE(&over, 1);
    uint64_t *views = join_thread(viewer);
    for (int i = 0; i < 7; i++) join_thread(threads[i]);
    csk_inspect_callbacks(false);
    CHECK_GE(*views, 10);
    printf("(%" PRIu64 " views) ", *views);
    free(views);
}

/* ---- Fork -------------------------------------------------------------------------------------------------------- */

static csk_gate_t of_parent = CSK_GATE_INITIALIZER;
static csk_sem_t of_child = CSK_SEM_INITIALIZER;
static void *signal_child(void *unused) {
    (void)unused;
    await_parked(&of_child, CSK_OBJECT_SEM, 1);
    CHECK(look_for(&of_parent, CSK_OBJECT_GATE) == NULL);
    CHECK_EQ(view.object_count, 1);
    CHECK_EQ(waiters[0].thread.id, getpid());
    CHECK_STATUS(csk_sem_post(&of_child, 1), 0);
    return NULL;
}
static void view_in_child(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_inspect(&view), 0);
    CHECK_EQ(view.waiter_count, 0);
    CHECK_EQ(view.process, getpid());
    pthread_t thread = start_thread(signal_child, NULL);
    CHECK_STATUS(csk_sem_wait(&of_child, 0, 1), 0);
    join_thread(thread);
}
static void a_child_of_fork_has_its_own_waits_alone(void) {
    if (!THREADS_IN_CHILDREN) return;
    waiting_t waiting;
    CHECK_STATUS(csk_gate_lock(&of_parent, 0), 0);
    begin_wait(&waiting, lock_gate, &of_parent, 0);
    await_parked(&of_parent, CSK_OBJECT_GATE, 1);
    /* This thread has a record too. */
    csk_sem_t sem = CSK_SEM_INITIALIZER;
    CHECK_STATUS(csk_sem_timedwait(&sem, 0, 1, csk_deadline_after(1000000)), ETIMEDOUT);
    in_a_child(view_in_child, NULL);
    CHECK_STATUS(csk_gate_unlock(&of_parent), 0);
    join_thread(waiting.thread);
}

TEST_MAIN(TEST(a_child_of_fork_has_its_own_waits_alone), TEST(objects_may_go_as_soon_as_their_waits_have_returned))
