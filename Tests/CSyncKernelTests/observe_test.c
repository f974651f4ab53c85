/* observe_test.c: each wait begins and ends once, with the object's name, and what does not wait is not reported. */
#include <csynckernel/csynckernel.h>
#include <sys/mman.h>

#include "test.h"

static struct {
    int begun, granted, timed_out, cancelled, lost;
    int64_t begun_ns, waited_ns;
} seen;
static const void *watched;

static void on_event(const csk_observer_t *observer, const csk_event_t *event) {
    CHECK(observer->context == &seen);
    if (event->object != LOAD(&watched)) return;
    switch (event->kind) {
    case CSK_EVENT_WAIT_BEGIN:
        STORE(&seen.begun_ns, csk_deadline_after(0));
        ADD(&seen.begun, 1);
        break;
    case CSK_EVENT_WAIT_END:
        ADD(event->status == 0 ? &seen.granted : event->status == ETIMEDOUT ? &seen.timed_out : &seen.cancelled, 1);
        CHECK_GE(event->waited_ns, 0);
        STORE(&seen.waited_ns, event->waited_ns);
        break;
    default: CHECK_EQ(event->kind, CSK_EVENT_GRANT_LOST); ADD(&seen.lost, 1);
    }
}

static const csk_observer_t observer = { on_event, &seen };

static void begin(const void *object) {
    memset(&seen, 0, sizeof seen);
    STORE(&watched, object);
    CHECK(csk_observe(&observer) == NULL);
}

static void end(void) { CHECK(csk_observe(NULL) == &observer); }

static void *lock_once(void *gate) {
    CHECK_STATUS(csk_gate_lock(gate, 0), 0);
    CHECK_STATUS(csk_gate_unlock(gate), 0);
    return NULL;
}

/* A thread that gets no processor meanwhile finds its deadline passed and does not wait: the next deadline is later. */
static void *time_out(void *gate) {
    for (int64_t timeout_ns = 1000000; LOAD(&seen.begun) == 0; timeout_ns *= 2) {
        int64_t deadline_ns = csk_deadline_after(timeout_ns);
        CHECK_STATUS(csk_gate_timedlock(gate, 0, deadline_ns), ETIMEDOUT);
        if (LOAD(&seen.begun) != 0) CHECK_GE(LOAD(&seen.waited_ns), deadline_ns - LOAD(&seen.begun_ns));
    }
    return NULL;
}

static void ignore(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    (void)status;
    if (context != NULL) ADD((int *)context, 1);
}

static void threads_that_wait_are_reported(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    begin(&gate);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_EQ(seen.begun, 0);
    join_thread(start_thread(time_out, &gate));
    CHECK_EQ(seen.begun, 1);
    CHECK_EQ(seen.timed_out, 1);
    pthread_t thread = start_thread(lock_once, &gate);
    wait_until(LOAD(&seen.begun) == 2);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    join_thread(thread);
    CHECK_EQ(seen.begun, 2);
    CHECK_EQ(seen.granted, 1);
    end();
}

/* An asynchronous wait once ended without having begun, and one that had been granted at once was reported as a
 * wait. */
static void asynchronous_waits_begin_and_end_once(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    csk_waiter_t at_once = { .word = 0 }, queued = { .word = 0 }, cancelled = { .word = 0 };
    begin(&gate);
    CHECK_STATUS(csk_gate_lock_async(&gate, 0, &at_once, CSK_NEVER, ignore, NULL), 0);
    CHECK_EQ(seen.begun + seen.granted, 0);
    CHECK_STATUS(csk_gate_lock_async(&gate, 0, &queued, CSK_NEVER, ignore, NULL), 0);
    CHECK_STATUS(csk_gate_lock_async(&gate, 0, &cancelled, CSK_NEVER, ignore, NULL), 0);
    CHECK_EQ(seen.begun, 2);
    CHECK_STATUS(csk_gate_cancel(&gate, &cancelled), 0);
    CHECK_EQ(seen.cancelled, 1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_EQ(seen.granted, 1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_EQ(seen.begun, 2);
    end();
}

/* A waiter may wait any number of times: each wait is as long as it was itself. The first one takes a while, so that
 * the second can't be as long as both. */
static void a_waiter_is_reported_with_the_times_of_its_last_wait(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    csk_waiter_t waiter = { .word = 0 };
    int called = 0;
    begin(&gate);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiter, csk_deadline_after(20000000), ignore, &called), 0);
    wait_until(LOAD(&called) == 1);
    CHECK_EQ(seen.timed_out, 1);
    int64_t again_ns = csk_deadline_after(0);
    CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiter, CSK_NEVER, ignore, &called), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_EQ(seen.granted, 1);
    CHECK_GE(csk_deadline_after(0) - again_ns, seen.waited_ns);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    end();
}

/* At a read-write lock they once ended without having begun. */
static void those_of_a_read_write_lock_too(void) {
    csk_rwlock_t lock = CSK_RWLOCK_INITIALIZER;
    static csk_waiter_t write, late;
    int called = 0;
    begin(&lock);
    CHECK_STATUS(csk_rwlock_lock_async(&lock, &write, CSK_RWLOCK_WRITE, CSK_NEVER, ignore, NULL), 0);
    CHECK_EQ(seen.begun + seen.granted, 0);
    CHECK_STATUS(csk_rwlock_lock_async(&lock, &late, CSK_RWLOCK_READ, CSK_NEVER, ignore, &called), 0);
    CHECK_EQ(seen.begun, 1);
    CHECK_STATUS(csk_rwlock_cancel(&lock, &late), 0);
    CHECK_EQ(seen.begun, 1);
    CHECK_EQ(seen.cancelled, 1);
    CHECK_EQ(called, 1);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    end();
}

static void a_lost_grant_is_reported(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    csk_waiter_t slow = { .word = 0 }, other = { .word = 0 };
    int others = 0;
    begin(&gate);
    CHECK_STATUS(csk_gate_lock_async_ranked(&gate, 1, &slow, true, CSK_NEVER, ignore, NULL), 0);
    CHECK_STATUS(csk_gate_lock_async(&gate, 0, &other, CSK_NEVER, ignore, &others), 0);
    wait_until(LOAD(&others) == 1);
    CHECK_EQ(seen.lost, 1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_gate_forget(&gate, &slow), 0);
    end();
}

static struct {
    csk_placed_gate_t *gate;
    char name[CSK_NAME_MAX + 1];
    int timed_out, is_gone;
} outlasted;

/* The thread that waited is out of the queue. Until its call returns, others close and free the gate. */
static void outlast(const csk_observer_t *outlasts, const csk_event_t *event) {
    (void)outlasts;
    if (event->kind != CSK_EVENT_WAIT_END || event->status != ETIMEDOUT) return;
    STORE(&outlasted.timed_out, 1);
    wait_until(LOAD(&outlasted.is_gone));
    strncpy(outlasted.name, event->name != NULL ? event->name : "", CSK_NAME_MAX);
}

static void *wait_for_held(void *unused) {
    (void)unused;
    while (LOAD(&outlasted.timed_out) == 0)
        CHECK_STATUS(csk_gate_timedlock(&outlasted.gate->gate, 0, csk_deadline_after(10000000)), ETIMEDOUT);
    return NULL;
}

/* The profile, the metrics and observers once read the name of a gate that was gone. */
static void a_gate_may_be_gone_before_a_wait_that_timed_out_is_over(void) {
    const csk_observer_t outlasts = { outlast, NULL };
    csk_waiter_t last = { .word = 0 };
    int closed = 0;
    memset(&outlasted, 0, sizeof outlasted);
    outlasted.gate = mmap(NULL, sizeof *outlasted.gate, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(outlasted.gate != MAP_FAILED);
    csk_gate_attr_t attr = { .policy = CSK_GATE_STRICT };
    CHECK_STATUS(csk_gate_init(&outlasted.gate->gate, &attr), 0);
    csk_gate_set_place(outlasted.gate, (csk_place_t){ "observed.c", 7 });
    CHECK(csk_observe(&outlasts) == NULL);
    CHECK_STATUS(csk_profile_start(1), 0);
    CHECK_STATUS(csk_metrics_start(), 0);
    CHECK_STATUS(csk_gate_lock(&outlasted.gate->gate, 0), 0);
    pthread_t thread = start_thread(wait_for_held, NULL);
    wait_until(LOAD(&outlasted.timed_out) == 1);
    CHECK_STATUS(csk_gate_unlock(&outlasted.gate->gate), 0);
    CHECK_STATUS(csk_gate_close(&outlasted.gate->gate, &last, ignore, &closed), 0);
    CHECK_EQ(closed, 1);
    CHECK_STATUS(csk_gate_destroy(&outlasted.gate->gate), 0);
    CHECK_EQ(munmap(outlasted.gate, sizeof *outlasted.gate), 0);
    STORE(&outlasted.is_gone, 1);
    join_thread(thread);
    CHECK(strcmp(outlasted.name, "observed.c:7") == 0);
    csk_metrics_stop();
    csk_profile_stop();
    CHECK(csk_observe(NULL) == &outlasts);
}

TEST_MAIN(TEST(threads_that_wait_are_reported), TEST(asynchronous_waits_begin_and_end_once),
          TEST(a_waiter_is_reported_with_the_times_of_its_last_wait), TEST(those_of_a_read_write_lock_too),
          TEST(a_lost_grant_is_reported), TEST(a_gate_may_be_gone_before_a_wait_that_timed_out_is_over))
