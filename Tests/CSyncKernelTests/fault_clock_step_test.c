/* fault_clock_step_test.c: the wall clock as this process sees it is set ahead or back by an hour while timed waits are
 * under way.
 *
 * Runs under libfaketime, which takes the time from the file that FAKETIME_TIMESTAMP_FILE names; CMakeLists.txt sets
 * that up. While fault_clock_test.c shows that no wait looks at the wall clock, this one shows what comes of it. */
#include "test.h"

#include <csynckernel/csynckernel.h>

enum { HOUR_S = 3600 };
/* Time to set the clock while all wait; and what a busy machine may need, far less than the step. */
static const int64_t span_ns = 1000000000, latest_ns = 31000000000;

static void step_to(int64_t seconds) {
    const char *path = getenv("FAKETIME_TIMESTAMP_FILE");
    char fresh[512];
    CHECK(path != NULL);
    snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *file = fopen(fresh, "w");
    CHECK(file != NULL);
    fprintf(file, "%+" PRId64 "\n", seconds);
    CHECK_EQ(fclose(file), 0);
    CHECK_EQ(rename(fresh, path), 0); /* at once: whoever asks for the time reads the file */
}

/* ---- A step is felt ---------------------------------------------------------------------------------------------- */

static void a_wait_by_the_wall_clock_goes_wrong(void) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec deadline;
    step_to(0);
    CHECK_EQ(clock_gettime(CLOCK_REALTIME, &deadline), 0);
    deadline.tv_sec += 60;
    int64_t begin_ns = csk_now();
    step_to(HOUR_S);
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    CHECK_EQ(pthread_cond_timedwait(&condition, &mutex, &deadline), ETIMEDOUT);
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    CHECK_LE(csk_now() - begin_ns, INT64_C(30000000000));
}

/* ---- Timed waits ------------------------------------------------------------------------------------------------- */

static csk_gate_t gates[3];
static csk_mutex_t mutex = CSK_MUTEX_INITIALIZER;
static csk_pqueue_t empty = CSK_PQUEUE_INITIALIZER, full;
static uint32_t begun, ended;

/* By thread: the three policies, the mutex, popping and pushing. */
enum { WAITS = 6, ASYNC = 4 };

static void *wait_once(void *which) {
    csk_pqueue_item_t item, *popped;
    int64_t begin_ns = csk_now(), deadline_ns = begin_ns + span_ns;
    int index = *(int *)which, status;
    ADD(&begun, 1);
    if (index < 3) status = csk_gate_timedlock(&gates[index], 0, deadline_ns);
    else if (index == 3) status = csk_mutex_timedlock(&mutex, deadline_ns);
    else if (index == 4) status = csk_pqueue_timedpop(&empty, &popped, deadline_ns);
    else status = csk_pqueue_timedpush(&full, 0, &item, deadline_ns);
    int64_t now_ns = csk_now();
    CHECK_STATUS(status, ETIMEDOUT);
    CHECK_GE(now_ns, deadline_ns);
    CHECK_LE(now_ns, begin_ns + latest_ns);
    ADD(&ended, 1);
    return NULL;
}

static int64_t async_begin_ns;

static void expect_in_time(void) {
    CHECK_GE(csk_now(), async_begin_ns + span_ns);
    CHECK_LE(csk_now(), async_begin_ns + latest_ns);
    ADD(&ended, 1);
}

static void waiter_timed_out(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    (void)context;
    CHECK_STATUS(status, ETIMEDOUT);
    expect_in_time();
}

static void timer_fired(csk_timer_t *timer, void *context) {
    (void)timer;
    (void)context;
    expect_in_time();
}

/* Everybody waits; then the clock is set, and nobody has ended by then. */
static void step_during_all(int64_t seconds) {
    static csk_waiter_t waiters[3];
    static csk_timer_t timer;
    pthread_t threads[WAITS];
    int numbers[WAITS];
    memset(waiters, 0, sizeof waiters);
    STORE(&begun, 0);
    STORE(&ended, 0);
    step_to(0);
    time_t before = time(NULL);
    for (int i = 0; i < WAITS; i++) {
        numbers[i] = i;
        threads[i] = start_thread(wait_once, &numbers[i]);
    }
    async_begin_ns = csk_now();
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(csk_gate_lock_async(&gates[i], 0, &waiters[i], async_begin_ns + span_ns, waiter_timed_out, NULL),
                     0);
    CHECK_STATUS(csk_timer_start(&timer, async_begin_ns + span_ns, timer_fired, NULL), 0);
    wait_until(csk_gate_waiting(&gates[0]) == 2 && csk_gate_waiting(&gates[1]) == 2 &&
               csk_gate_waiting(&gates[2]) == 2 && csk_gate_waiting(&mutex.gate) == 1 &&
               csk_pqueue_waiting(&empty) == 1 && csk_pqueue_waiting(&full) == 1);
    CHECK_EQ(LOAD(&ended), 0);
    step_to(seconds);
    int64_t difference = (int64_t)(time(NULL) - before);
    CHECK_EQ(LOAD(&ended), 0); /* so it was during the waits */
    CHECK_GE(difference, seconds - 2);
    CHECK_LE(difference, seconds + 2);
    for (int i = 0; i < WAITS; i++) join_thread(threads[i]);
    wait_until(LOAD(&ended) == WAITS + ASYNC);
}

static void hold_everything(void) {
    static csk_pqueue_item_t filler;
    for (uint32_t policy = 0; policy < 3; policy++) {
        csk_gate_attr_t attr = { .policy = policy };
        CHECK_STATUS(csk_gate_init(&gates[policy], &attr), 0);
        CHECK_STATUS(csk_gate_lock(&gates[policy], 0), 0);
    }
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    CHECK_STATUS(csk_pqueue_init(&full, 1), 0);
    CHECK_STATUS(csk_pqueue_push(&full, 0, &filler), 0);
}

static void nobody_is_early_or_late_for_a_step_of_an_hour(void) {
    hold_everything();
    step_during_all(HOUR_S);
    step_during_all(-HOUR_S);
}

TEST_MAIN(TEST(a_wait_by_the_wall_clock_goes_wrong), TEST(nobody_is_early_or_late_for_a_step_of_an_hour))
