/* deadlock_random_test.c: a correct program, in which threads take locks of all kinds in one order, is never said to be
 * in a deadlock, however closely it is watched. DEADLOCK_OPERATIONS=100000000 makes it as long as scripts/soak does. */
#ifndef TEST_WATCHDOG_S
#define TEST_WATCHDOG_S 3600
#endif
#include "deadlock_fixture.h"

enum { THREADS = 12, OBJECTS = 40, DEPTH = 5, CALLBACKS = 8 };

static object_t objects[OBJECTS];
static uint64_t most, done;

typedef struct {
    uint64_t random;
    int depth, at;
    csk_waiter_t waiters[CALLBACKS];
    int waits[CALLBACKS]; /* whether the waiter is in use */
} thread_t;

static int gates(int place) { return (void)place, A_GATE; }

/* A callback has what it was granted for a moment: it leaves at once. */
static void granted(csk_waiter_t *waiter, void *context, int status) {
    csk_sem_t *sem = waiter->object;
    if (status == 0) CHECK_STATUS(csk_sem_post(sem, 1), 0);
    STORE((int *)context, 0);
}

static void queue_callback(thread_t *self, object_t *object) {
    for (int i = 0; i < CALLBACKS; i++) {
        if (LOAD(&self->waits[i])) continue;
        STORE(&self->waits[i], 1);
        csk_deadlock_suspend((uint64_t)(uintptr_t)&self->waiters[i]);
        CHECK_STATUS(csk_sem_wait_async(&object->sem.placed.sem, 0, &self->waiters[i], 1, CSK_NEVER, granted,
                                        &self->waits[i]),
                     0);
        csk_deadlock_suspend(0);
        return;
    }
}

/* Each thread takes objects of higher and higher numbers, so no circle of waits can be. Some waits have a deadline. */
static void take_more(void *context) {
    thread_t *self = context;
    ADD(&done, 1);
    int at = self->at + 1 + (int)test_random_below(&self->random, OBJECTS / DEPTH), outer = self->at;
    if (self->depth == DEPTH || at >= OBJECTS) {
        if (test_random_below(&self->random, 64) == 0) sched_yield();
        return;
    }
    object_t *object = &objects[at];
    self->depth++;
    self->at = at;
    uint64_t chance = test_random_below(&self->random, 16);
    if (object->kind == A_GATE && chance == 0) {
        int64_t deadline_ns = csk_deadline_after((int64_t)test_random_below(&self->random, 2000000));
        if (csk_gate_timedlock(&object->gate, 0, deadline_ns) == 0) {
            take_more(self);
            CHECK_STATUS(csk_gate_unlock(&object->gate), 0);
        }
    } else if (object->kind == A_SEM && chance < 4) {
        queue_callback(self, object);
    } else {
        enter(object, test_random_below(&self->random, 3) != 0 ? TO_READ : TO_WRITE, take_more, self);
    }
    self->depth--;
    self->at = outer;
}

static void *run_thread(void *context) {
    thread_t *self = context;
    while (LOAD(&done) < most) {
        self->at = -1;
        take_more(self);
        /* Now and then something is held for long enough to be looked at. */
        if (test_random_below(&self->random, 4096) == 0) {
            CHECK_STATUS(csk_gate_lock(&objects[0].gate, 0), 0);
            int64_t until = csk_deadline_after(3000000);
            wait_until(csk_deadline_after(0) >= until);
            CHECK_STATUS(csk_gate_unlock(&objects[0].gate), 0);
        }
    }
    for (int i = 0; i < CALLBACKS; i++) wait_until(!LOAD(&self->waits[i]));
    return NULL;
}

static void keep_true_reports(const csk_event_t *event) {
    if (event->kind == CSK_EVENT_DEADLOCK) test_fail(__FILE__, __LINE__, "a false report: %s", event->name);
}

static void ordered_locks_are_never_reported(void) {
    const char *wanted = getenv("DEADLOCK_OPERATIONS");
    most = wanted != NULL ? strtoull(wanted, NULL, 0) : TEST_ROUNDS(1000000);
    for (int i = 0; i < OBJECTS; i++) make_object(&objects[i], i % KINDS);
    csk_set_reporter(keep_true_reports);
    CHECK_STATUS(csk_deadlock_watch(1000000), 0);
    static thread_t threads[THREADS];
    pthread_t running[THREADS];
    for (int i = 0; i < THREADS; i++) {
        threads[i].random = test_seed((uint64_t)i);
        running[i] = start_thread(run_thread, &threads[i]);
    }
    for (int i = 0; i < THREADS; i++) join_thread(running[i]);
    CHECK_EQ(csk_deadlock_count(), 0);
    /* The watch was there all the time: it sees what is one. */
    csk_set_reporter(keep_report);
    check_ring(plant("control", 2, gates, TO_WRITE, TO_WRITE), INT64_MAX);
    csk_deadlock_end_watching();
}

TEST_MAIN(TEST(ordered_locks_are_never_reported))
