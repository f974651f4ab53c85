/* cond_edges_test.c: condition variables where they meet something else: observers, callbacks, timers, places in the
 * order, bypass limits, cancelled threads, pools. */
#include "cond_fixture.h"

static csk_waiter_t waiters[4];

/* ---- Places ------------------------------------------------------------------------------------------------------ */

static int order[6];
static uint32_t order_count;
static void *wait_at_a_place(void *which) {
    int number = (int)(intptr_t)which;
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_cond_wait_ranked(&cond, csk_rank(0, number / 2), CSK_NEVER), 0);
    order[order_count++] = number;
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    return NULL;
}
/* Two for each place: those in front stood in the reverse order after a broadcast. */
static void a_broadcast_keeps_the_order_at_each_place(void) {
    static const int arrivals[] = { 4, 0, 2, 1, 5, 3 }, expected[] = { 5, 4, 2, 3, 0, 1 };
    for (uint32_t policy = 0; policy < 3; policy++) {
        pthread_t threads[6];
        make(policy);
        order_count = 0;
        for (uint32_t i = 0; i < 6; i++) {
            threads[i] = start_thread(wait_at_a_place, (void *)(intptr_t)arrivals[i]);
            wait_until(csk_cond_waiting(&cond) == i + 1);
        }
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        CHECK_STATUS(csk_cond_broadcast(&cond), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        for (int i = 0; i < 6; i++) join_thread(threads[i]);
        for (int i = 0; i < 6; i++) CHECK_EQ(order[i], expected[i]);
        check_idle();
    }
}

/* ---- What observers see ------------------------------------------------------------------------------------------ */

static uint32_t begins, ends, ends_at_gate;
static int ended_with;
static int64_t before_signal_ns;
static void note_event(const csk_observer_t *observer, const csk_event_t *event) {
    (void)observer;
    /* Who was signalled waits for the gate from then on, and not since it came. */
    if (event->object == &gate && event->kind == CSK_EVENT_WAIT_END && before_signal_ns != 0) {
        CHECK_GE(csk_now() - event->waited_ns, before_signal_ns);
        ends_at_gate++;
    }
    if (event->object != &cond) return;
    CHECK_EQ(event->rank, csk_rank(3, CSK_PLACE_BACK));
    if (event->kind == CSK_EVENT_WAIT_BEGIN) ADD(&begins, 1);
    if (event->kind != CSK_EVENT_WAIT_END) return;
    ADD(&ends, 1);
    ended_with = event->status;
}
static void *wait_observed(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_cond_wait(&cond, 3), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    return NULL;
}
static void observe_two_waits(void *unused) {
    (void)unused;
    static const csk_observer_t observer = { note_event, NULL };
    csk_observe(&observer);
    memset(&cond, 0xa5, sizeof cond); /* memory that was something else */
    make(CSK_GATE_FAST);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_cond_timedwait(&cond, 3, csk_deadline_after(1000000)), ETIMEDOUT);
    CHECK_EQ(begins, 1);
    CHECK_EQ(ends, 1);
    CHECK_EQ(ended_with, ETIMEDOUT);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    pthread_t thread = start_thread(wait_observed, NULL);
    wait_until(csk_cond_waiting(&cond) == 1);
    int64_t since_ns = csk_now();
    wait_until(csk_now() > since_ns + 5000000);
    before_signal_ns = csk_now();
    CHECK_STATUS(csk_cond_signal(&cond), 0);
    join_thread(thread);
    CHECK_EQ(begins, 2);
    CHECK_EQ(ends, 2);
    CHECK_EQ(ended_with, 0);
    CHECK_EQ(ends_at_gate, 1);
    check_idle();
}
static void observers_see_the_wait_for_a_signal(void) { in_a_child(observe_two_waits, NULL); }

/* ---- Callbacks --------------------------------------------------------------------------------------------------- */

static void note_signal_waited(csk_gate_later_t *later);
static csk_gate_later_t later = { .function = note_signal_waited };
static void note_signal_waited(csk_gate_later_t *unused) {
    (void)unused;
    ADD(&came_out, 1);
}
static void try_later_signal_and_leave(csk_waiter_t *waiter, void *context, int status) {
    CHECK(!csk_gate_call_later(&later));
    int old = 0;
    CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old), 0);
    CHECK_EQ(old, PTHREAD_CANCEL_DISABLE);
    signal_and_leave(waiter, context, status);
}

/* The callback waits for the gate that the thread leaves, so that it may run on the thread that begins to wait, which
 * is in a queue by then: no place for calls that may block, nor for an end of the thread. */
static void a_callback_that_the_wait_lets_in_signals_it(void) {
    for (uint32_t policy = 0; policy < 3; policy++)
        for (int32_t priority = -1; priority < 2; priority++) {
            make(policy);
            waiters[1] = (csk_waiter_t){ 0 };
            CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
            CHECK_STATUS(csk_gate_lock_async(&gate, priority, &waiters[1], CSK_NEVER, try_later_signal_and_leave, NULL),
                         0);
            while (!ready) CHECK_STATUS(csk_cond_wait(&cond, 0), 0);
            CHECK_STATUS(csk_gate_unlock(&gate), 0);
            CHECK_EQ(LOAD(&came_out), 0);
            check_idle();
        }
}

static void a_timer_function_signals(csk_timer_t *timer, void *context) {
    (void)timer, (void)context;
    CHECK_STATUS(csk_gate_lock_async(&gate, INT32_MAX, &waiters[2], CSK_NEVER, signal_and_leave, NULL), 0);
}
static void the_timer_thread_signals(void) {
    static csk_timer_t timer;
    for (uint32_t policy = 0; policy < 3; policy++) {
        make(policy);
        waiters[2] = (csk_waiter_t){ 0 };
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        CHECK_STATUS(csk_timer_start(&timer, csk_deadline_after(1000000), a_timer_function_signals, NULL), 0);
        while (!ready) CHECK_STATUS(csk_cond_wait(&cond, INT32_MIN), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        check_idle();
    }
}

/* ---- A bypass limit, and newcomers ------------------------------------------------------------------------------- */

static uint32_t stop, passes, most_passes;
static void *pass_always(void *unused) {
    (void)unused;
    while (!LOAD(&stop)) {
        CHECK_STATUS(csk_gate_lock(&gate, 5), 0);
        passes++;
        if (csk_cond_waiting(&cond) > 0) {
            passes = 0;
            ready = 1;
            CHECK_STATUS(csk_cond_signal(&cond), 0);
        }
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
    }
    return NULL;
}
static void who_is_signalled_is_overtaken_no_more_often_than_the_limit_says(void) {
    enum { LIMIT = 3, THREADS = 4 };
    for (uint32_t policy = 0; policy < 3; policy++) {
        make_with((csk_gate_attr_t){ .policy = policy, .bypass_limit = LIMIT });
        stop = passes = most_passes = 0;
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++) threads[i] = start_thread(pass_always, NULL);
        for (int i = 0; i < 200 / TEST_SLOWDOWN; i++) {
            CHECK_STATUS(csk_gate_lock(&gate, 9), 0);
            ready = 0;
            while (!ready) CHECK_STATUS(csk_cond_wait(&cond, -5), 0);
            if (passes > most_passes) most_passes = passes;
            CHECK_STATUS(csk_gate_unlock(&gate), 0);
        }
        STORE(&stop, 1);
        for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
        /* Those that stood in the queue before the signal came first as well: three other threads at most. */
        CHECK_LE(most_passes, LIMIT + THREADS);
        check_idle();
    }
}

/* ---- Cancelled threads ------------------------------------------------------------------------------------------- */

static void *wait_cancelled(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    pthread_cancel(pthread_self());
    while (!ready) CHECK_STATUS(csk_cond_wait(&cond, 0), 0);
    CHECK(csk_gate_is_mine(&gate));
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    STORE(&came_out, 1);
    pthread_testcancel();
    return NULL;
}
static void a_cancelled_thread_comes_out_of_its_wait(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        make(policy);
        pthread_t thread = start_thread(wait_cancelled, NULL);
        wait_until(csk_cond_waiting(&cond) == 1);
        signal_inside();
        CHECK(join_thread(thread) == PTHREAD_CANCELED);
        CHECK_EQ(came_out, 1);
        check_idle();
    }
}
static void let_a_cancelling_one_in(csk_waiter_t *waiter, void *context, int status) {
    pthread_testcancel();
    signal_and_leave(waiter, context, status);
}
static void *wait_cancelled_with_a_callback(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    waiters[3] = (csk_waiter_t){ 0 };
    CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiters[3], CSK_NEVER, let_a_cancelling_one_in, NULL), 0);
    pthread_cancel(pthread_self());
    while (!ready) CHECK_STATUS(csk_cond_wait(&cond, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    STORE(&came_out, 1);
    pthread_testcancel();
    return NULL;
}
static void a_callback_that_looks_for_cancellation_does_not_end_who_waits(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        make(policy);
        pthread_t thread = start_thread(wait_cancelled_with_a_callback, NULL);
        CHECK(join_thread(thread) == PTHREAD_CANCELED);
        CHECK_EQ(came_out, 1);
        check_idle();
    }
}

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

enum { WORKS = 8 };
static csk_pool_item_t items[WORKS + 1];
static void wait_on_a_worker(csk_pool_item_t *item) {
    (void)item;
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    while (!ready) CHECK_STATUS(csk_cond_wait(&cond, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    ADD(&came_out, 1);
}
static void signal_on_a_worker(csk_pool_item_t *item) {
    (void)item;
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    ready = 1;
    CHECK_STATUS(csk_cond_broadcast(&cond), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}
static void workers_that_wait_are_replaced(void *unused) {
    (void)unused;
    make(CSK_GATE_FAST);
    for (int i = 0; i < WORKS; i++) CHECK_STATUS(csk_pool_post(&items[i], wait_on_a_worker), 0);
    CHECK_STATUS(csk_pool_post(&items[WORKS], signal_on_a_worker), 0);
    wait_until(LOAD(&came_out) == WORKS);
}
static void works_that_wait_for_a_later_one_do_not_stop_the_pool(void) {
    in_a_child(workers_that_wait_are_replaced, NULL);
}

TEST_MAIN(TEST(observers_see_the_wait_for_a_signal), TEST(works_that_wait_for_a_later_one_do_not_stop_the_pool),
          TEST(a_broadcast_keeps_the_order_at_each_place), TEST(a_callback_that_the_wait_lets_in_signals_it),
          TEST(the_timer_thread_signals), TEST(who_is_signalled_is_overtaken_no_more_often_than_the_limit_says),
          TEST(a_cancelled_thread_comes_out_of_its_wait),
          TEST(a_callback_that_looks_for_cancellation_does_not_end_who_waits))
