/* fault_thread_start_test.c: the system has no thread to give when the timer thread is to start: who asked is told, and
 * the next one who asks may be luckier. The timer thread starts once per process, so each test runs in a child. The
 * same holds for workers, and for the watchdog of marked threads.
 *
 * More than 400 lines: all tests share this program's pthread_create, which refuses. */
#include "child.h"
#include "system_calls.h"

#include <csynckernel/csynckernel.h>
#include <dlfcn.h>

/* This program's own pthread_create, in front of the C library's. */
static uint32_t refusals;
static int refuse_with;
static uint32_t hold_new_threads; /* at their beginning */
static int yields_of_a_refusal;   /* others come while it is under way */

typedef int (*create_t)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

struct body {
    void *(*function)(void *);
    void *context;
};

static void *run_later(void *context) {
    struct body body = *(struct body *)context;
    free(context);
    wait_until(!LOAD(&hold_new_threads));
    return body.function(body.context);
}

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*body)(void *),
                   void *restrict context) {
    int error = LOAD(&refuse_with);
    if (error != 0) {
        for (int i = 0; i < yields_of_a_refusal; i++) sched_yield();
        ADD(&refusals, 1);
        return error;
    }
    static create_t real;
    create_t found = __atomic_load_n(&real, __ATOMIC_RELAXED);
    if (found == NULL) {
        *(void **)&found = dlsym(RTLD_NEXT, "pthread_create");
        CHECK(found != NULL);
        __atomic_store_n(&real, found, __ATOMIC_RELAXED);
    }
    if (!LOAD(&hold_new_threads)) return found(thread, attributes, body, context);
    struct body *later = malloc(sizeof *later);
    *later = (struct body){ body, context };
    return found(thread, attributes, run_later, later);
}

static int status_of_waiter;
static uint32_t calls, fired;

static void note(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    (void)context;
    STORE(&status_of_waiter, status);
    ADD(&calls, 1);
}

static void fire(csk_timer_t *timer, void *context) {
    (void)timer;
    (void)context;
    ADD(&fired, 1);
}

static void *time_out(void *gate) {
    int64_t deadline_ns = csk_deadline_after(2000000);
    CHECK_STATUS(csk_gate_timedlock(gate, 0, deadline_ns), ETIMEDOUT);
    CHECK_GE(csk_now(), deadline_ns);
    return NULL;
}

/* Whatever needs the timer thread says why it can't have it, and leaves nothing behind. */
static void expect_refusals(csk_gate_t *gate, csk_waiter_t *waiter, csk_timer_t *timer, int error) {
    sigset_t before, after;
    csk_rank_t rank = csk_rank(0, CSK_PLACE_BACK);
    uint32_t waiting = csk_gate_waiting(gate);
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
    CHECK_STATUS(csk_timer_prepare(), error);
    CHECK_STATUS(csk_timer_start(timer, csk_now(), fire, NULL), error);
    CHECK_STATUS(csk_timer_cancel(timer), ENOENT);
    CHECK_STATUS(csk_gate_lock_async(gate, 0, waiter, csk_now(), note, NULL), error);
    CHECK_STATUS(csk_gate_lock_async_ranked(gate, rank, waiter, true, CSK_NEVER, note, NULL), error);
    CHECK_STATUS(csk_gate_cancel(gate, waiter), ENOENT);
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
    for (int number = 1; number < NSIG; number++) CHECK_EQ(sigismember(&after, number), sigismember(&before, number));
    CHECK_EQ(csk_gate_waiting(gate), waiting);
    CHECK_EQ(LOAD(&calls), 0);
    CHECK_EQ(LOAD(&fired), 0);
}

/* What needs no timer thread goes on meanwhile; `gate` is held. */
static void expect_the_rest_works(csk_gate_t *gate, csk_waiter_t *waiter) {
    CHECK_STATUS(csk_gate_lock_async(gate, 0, waiter, CSK_NEVER, note, NULL), 0);
    CHECK_STATUS(csk_gate_unlock(gate), 0);
    CHECK_EQ(calls, 1);
    CHECK_STATUS(status_of_waiter, 0);
    CHECK_STATUS(csk_gate_unlock(gate), 0);
    CHECK_STATUS(csk_gate_lock(gate, 0), 0);
    STORE(&calls, 0);
}

static void expect_all_works(csk_gate_t *gate, csk_waiter_t *waiter, csk_timer_t *timer) {
    int64_t deadline_ns = csk_deadline_after(1000000);
    CHECK_STATUS(csk_timer_start(timer, csk_now(), fire, NULL), 0);
    wait_until(LOAD(&fired) == 1);
    CHECK_STATUS(csk_gate_lock_async(gate, 0, waiter, deadline_ns, note, NULL), 0);
    wait_until(LOAD(&calls) == 1);
    CHECK_STATUS(LOAD(&status_of_waiter), ETIMEDOUT);
    CHECK_GE(csk_now(), deadline_ns);
    CHECK_STATUS(csk_gate_unlock(gate), 0);
    CHECK_STATUS(csk_gate_destroy(gate), 0);
}

struct refusal {
    int error;
    uint32_t policy;
};

static void refuse_for_a_while(void *context) {
    struct refusal *refusal = context;
    csk_gate_t gate;
    csk_gate_attr_t attr = { .policy = refusal->policy };
    csk_waiter_t waiter = { .word = 0 };
    csk_timer_t timer = { .context = NULL };
    CHECK_STATUS(csk_gate_init(&gate, &attr), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    STORE(&refuse_with, refusal->error);
    for (int i = 0; i < 100; i++) expect_refusals(&gate, &waiter, &timer, refusal->error);
    CHECK_EQ(refusals, 400);
    expect_the_rest_works(&gate, &waiter);
    STORE(&refuse_with, 0);
    join_thread(start_thread(time_out, &gate));
    expect_all_works(&gate, &waiter, &timer);
}

static void the_error_is_told_and_all_works_afterwards(void) {
    for (uint32_t policy = 0; policy < 3; policy++) in_a_child(refuse_for_a_while, &(struct refusal){ EAGAIN, policy });
    in_a_child(refuse_for_a_while, &(struct refusal){ ENOMEM, CSK_GATE_FAST });
}

/* ---- Many ask at once -------------------------------------------------------------------------------------------- */

enum { THREADS = 8 };
static uint32_t here, go;

static void *ask(void *context) {
    uint32_t *succeeded = context;
    csk_timer_t timer = { .context = NULL };
    ADD(&here, 1);
    wait_until(LOAD(&go));
    for (int status = EAGAIN; status != 0;) {
        status = csk_timer_start(&timer, csk_now(), fire, NULL);
        if (status != 0) CHECK_STATUS(status, EAGAIN);
        sched_yield();
    }
    ADD(succeeded, 1);
    while (csk_timer_cancel(&timer) == 0) CHECK_STATUS(csk_timer_start(&timer, csk_now(), fire, NULL), 0);
    return NULL;
}

static void refuse_many(void *context) {
    uint32_t succeeded = 0;
    pthread_t threads[THREADS];
    (void)context;
    for (int i = 0; i < THREADS; i++) threads[i] = start_thread(ask, &succeeded);
    wait_until(LOAD(&here) == THREADS);
    STORE(&refuse_with, EAGAIN);
    STORE(&go, 1);
    wait_until(LOAD(&refusals) >= 500);
    CHECK_EQ(LOAD(&succeeded), 0);
    STORE(&refuse_with, 0);
    for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
    CHECK_EQ(succeeded, THREADS);
}

static void many_that_ask_at_once_are_refused_and_served(void) { in_a_child(refuse_many, NULL); }

/* The watchdog of marked threads. Nobody is told that it runs before it does: who saw another one start it was not
 * watched. */
static void *ask_for_watchdog(void *context) {
    uint32_t *succeeded = context;
    ADD(&here, 1);
    wait_until(LOAD(&go));
    for (int status = EAGAIN; status != 0; sched_yield()) {
        status = csk_thread_mark(CSK_THREAD_EVENT_LOOP);
        if (status != 0) CHECK_STATUS(status, EAGAIN);
    }
    ADD(succeeded, 1);
    return NULL;
}

static void refuse_the_watchdog(void *context) {
    uint32_t succeeded = 0;
    pthread_t threads[THREADS];
    (void)context;
    for (int i = 0; i < THREADS; i++) threads[i] = start_thread(ask_for_watchdog, &succeeded);
    wait_until(LOAD(&here) == THREADS);
    yields_of_a_refusal = 100;
    STORE(&refuse_with, EAGAIN);
    STORE(&go, 1);
    wait_until(LOAD(&refusals) >= 20);
    CHECK_EQ(LOAD(&succeeded), 0);
    STORE(&refuse_with, 0);
    for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
    CHECK_EQ(succeeded, THREADS);
}

static void nobody_is_marked_before_the_watchdog_runs(void) { in_a_child(refuse_the_watchdog, NULL); }

/* ---- Work queues ------------------------------------------------------------------------------------------------- */

static csk_workqueue_t queue;
static uint32_t ran;

static void count_work(csk_work_t *work, int status) {
    CHECK_STATUS(status, 0);
    free(work);
    ADD(&ran, 1);
}

static void count_call(void *context) {
    (void)context;
    ADD(&ran, 1);
}

static void post_item(csk_pool_item_t *item) {
    (void)item;
    ADD(&ran, 1);
}

static void refuse_workers(void *context) {
    int error = *(int *)context;
    csk_work_t *work = malloc(sizeof *work);
    csk_pool_item_t item = { .level = 0 };
    csk_delayed_t delayed = { .state = 0 };
    STORE(&refuse_with, error);
    for (int i = 0; i < 100; i++) {
        CHECK_STATUS(csk_workqueue_enqueue(&queue, work, count_work), error);
        CHECK_STATUS(csk_workqueue_submit(&queue, 0, work, CSK_WORK_BARRIER, CSK_NEVER, count_work), error);
        CHECK_STATUS(csk_workqueue_sync(&queue, 0, 0, CSK_NEVER, count_call, NULL), error);
        CHECK_STATUS(csk_delayed_start(&delayed, &queue, csk_now(), 0, count_work), error);
        CHECK_STATUS(csk_delayed_cancel(&delayed), ENOENT);
        CHECK_STATUS(csk_pool_post(&item, post_item), error);
        CHECK_STATUS(csk_workqueue_drain(&queue, CSK_NEVER), 0);
    }
    CHECK_EQ(csk_pool_workers(), 0);
    STORE(&refuse_with, 0);
    CHECK_STATUS(csk_workqueue_enqueue(&queue, work, count_work), 0);
    /* With one worker all goes on, whatever the system says to more of them. */
    STORE(&refuse_with, error);
    CHECK_STATUS(csk_pool_post(&item, post_item), 0);
    CHECK_STATUS(csk_workqueue_sync(&queue, 0, 0, CSK_NEVER, count_call, NULL), 0);
    wait_until(LOAD(&ran) == 3);
    CHECK_STATUS(csk_workqueue_drain(&queue, CSK_NEVER), 0);
    CHECK_STATUS(csk_workqueue_destroy(&queue), 0);
}

static void who_needs_a_worker_is_told(void) {
    in_a_child(refuse_workers, &(int){ EAGAIN });
    in_a_child(refuse_workers, &(int){ ENOMEM });
}

/* One of them starts the first worker, and is refused: another, which saw it counted, had queued its work already, for
 * ever. */
static void *ask_for_work(void *context) {
    uint32_t *succeeded = context;
    ADD(&here, 1);
    wait_until(LOAD(&go));
    for (int i = 0; i < 200; i++) {
        csk_work_t *work = malloc(sizeof *work);
        int status = csk_workqueue_enqueue(&queue, work, count_work);
        if (status == 0) ADD(succeeded, 1);
        if (status != 0) {
            CHECK_STATUS(status, EAGAIN);
            free(work);
        }
        if (i == 100) STORE(&refuse_with, 0);
    }
    return NULL;
}

static void refuse_now_and_then(void *context) {
    uint32_t succeeded = 0;
    pthread_t threads[THREADS];
    (void)context;
    for (int i = 0; i < THREADS; i++) threads[i] = start_thread(ask_for_work, &succeeded);
    wait_until(LOAD(&here) == THREADS);
    CHECK_STATUS(csk_timer_prepare(), 0);
    STORE(&refuse_with, EAGAIN);
    STORE(&go, 1);
    for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
    CHECK_GE(succeeded, 1);
    wait_until(LOAD(&ran) == succeeded);
    CHECK_STATUS(csk_workqueue_drain(&queue, CSK_NEVER), 0);
    CHECK_STATUS(csk_workqueue_destroy(&queue), 0);
}

static void what_was_accepted_while_others_were_refused_runs(void) {
    for (int i = 0; i < 20 / TEST_SLOWDOWN; i++) in_a_child(refuse_now_and_then, NULL);
}

/* ---- Reclaiming -------------------------------------------------------------------------------------------------- */

struct value {
    csk_rcu_node_t node;
    uint32_t freed;
};

static void note_freed(csk_rcu_node_t *node) { ADD(&((struct value *)node)->freed, 1); }

static void refuse_reclaiming(void *context) {
    int error = *(int *)context;
    static struct value refused, kept, values[3];
    static csk_snapshot_t snapshot = CSK_SNAPSHOT_INITIALIZER;
    STORE(&refuse_with, error);
    for (int i = 0; i < 100; i++) {
        CHECK_STATUS(csk_rcu_prepare(), error);
        CHECK_STATUS(csk_rcu_retire(&refused.node, note_freed), error);
        CHECK_STATUS(csk_rcu_barrier(), error);
        CHECK_EQ(csk_rcu_pending(), 0);
    }
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    CHECK_STATUS(csk_rcu_retire_always(&kept.node, note_freed), 0);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    for (int i = 0; i < 3; i++) CHECK_STATUS(csk_snapshot_store(&snapshot, &values[i], &values[i].node, note_freed), 0);
    CHECK_EQ(csk_rcu_pending(), 3);
    STORE(&refuse_with, 0);
    CHECK_STATUS(csk_rcu_retire(&refused.node, note_freed), 0);
    STORE(&refuse_with, error);
    CHECK_STATUS(csk_rcu_prepare(), 0);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(LOAD(&refused.freed), 1);
    CHECK_EQ(LOAD(&kept.freed), 1);
    for (int i = 0; i < 3; i++) CHECK_EQ(LOAD(&values[i].freed), i < 2);
    CHECK_STATUS(csk_snapshot_destroy(&snapshot), 0);
}

static void what_is_retired_without_a_thread_is_refused_or_kept(void) {
    in_a_child(refuse_reclaiming, &(int){ EAGAIN });
    in_a_child(refuse_reclaiming, &(int){ ENOMEM });
}

static uint32_t accepted;

static void *retire_some(void *context) {
    struct value *values = context;
    ADD(&here, 1);
    wait_until(LOAD(&go));
    for (int i = 0; i < 200; i++) {
        int status = csk_rcu_retire(&values[i].node, note_freed);
        if (status != 0) CHECK_STATUS(status, EAGAIN);
        else ADD(&accepted, 1);
        if (i == 100) STORE(&refuse_with, 0);
    }
    return NULL;
}

/* One of them starts the thread, and is refused; none of the others may count on it. */
static void refuse_reclaiming_now_and_then(void *context) {
    static struct value values[THREADS][200];
    pthread_t threads[THREADS];
    uint32_t freed = 0;
    (void)context;
    for (int i = 0; i < THREADS; i++) threads[i] = start_thread(retire_some, values[i]);
    wait_until(LOAD(&here) == THREADS);
    STORE(&refuse_with, EAGAIN);
    STORE(&go, 1);
    for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    for (int i = 0; i < THREADS * 200; i++) freed += LOAD(&values[i / 200][i % 200].freed);
    CHECK_GE(freed, 1);
    CHECK_EQ(freed, LOAD(&accepted));
}

static void what_was_retired_while_others_were_refused_is_reclaimed(void) {
    for (int i = 0; i < 20 / TEST_SLOWDOWN; i++) in_a_child(refuse_reclaiming_now_and_then, NULL);
}
/* ---- Threads that get no processor for a while ------------------------------------------------------------------- */

/* Who started one waited until it ran: under a real-time class, or a quota, for long, and a timer's function as
 * well. */
static void start_threads_that_do_not_run(void *context) {
    csk_work_t *work = malloc(sizeof *work);
    csk_timer_t timer = { .context = NULL };
    (void)context;
    STORE(&hold_new_threads, 1);
    CHECK_STATUS(csk_timer_start(&timer, csk_now(), fire, NULL), 0);
    CHECK_STATUS(csk_workqueue_enqueue(&queue, work, count_work), 0);
    CHECK_EQ(LOAD(&fired), 0);
    CHECK_EQ(LOAD(&ran), 0);
    STORE(&hold_new_threads, 0);
    wait_until(LOAD(&fired) == 1 && LOAD(&ran) == 1);
    CHECK_STATUS(csk_workqueue_drain(&queue, CSK_NEVER), 0);
    CHECK_STATUS(csk_workqueue_destroy(&queue), 0);
}

static void nobody_waits_for_a_new_thread_to_run(void) { in_a_child(start_threads_that_do_not_run, NULL); }

/* ---- The system's own refusal
 * ---------------------------------------------------------------------------------------------*/

/* As under RLIMIT_NPROC, which does not bind the superuser. */
static void forbid_threads(void) {
    refuse_call(SYS_clone, EAGAIN);
    refuse_call(SYS_clone3, EAGAIN);
}

static void ask_in_vain(void *context) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    csk_waiter_t waiter = { .word = 0 };
    csk_timer_t timer = { .context = NULL };
    (void)context;
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    forbid_threads();
    expect_refusals(&gate, &waiter, &timer, EAGAIN);
    expect_the_rest_works(&gate, &waiter);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

static void a_refusal_by_the_system_is_told(void) { in_a_child(ask_in_vain, NULL); }

TEST_MAIN(TEST(the_error_is_told_and_all_works_afterwards), TEST(many_that_ask_at_once_are_refused_and_served),
          TEST(nobody_is_marked_before_the_watchdog_runs), TEST(who_needs_a_worker_is_told),
          TEST(what_was_accepted_while_others_were_refused_runs),
          TEST(what_is_retired_without_a_thread_is_refused_or_kept),
          TEST(what_was_retired_while_others_were_refused_is_reclaimed), TEST(nobody_waits_for_a_new_thread_to_run),
          TEST(a_refusal_by_the_system_is_told))
