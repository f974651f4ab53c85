/* cancel_test.c: threads that are cancelled while they wait in the library: no call is a cancellation point, so each
 * returns, and leaves every queue as it found it. The first look at a holder comes after one second.
 *
 * More than 400 lines: every module that waits, and a storm over all of them. */
#include "child.h"

#include <csynckernel/csynckernel.h>
#include <fcntl.h>

static const int64_t long_enough_ns = 1400000000;

/* ---- Reports from inside a queue --------------------------------------------------------------------------------- */

static uint32_t reports, came_out;

/* What a reporter or an observer that writes to a file comes to. */
static void report_and_look_for_cancellation(const csk_event_t *event) {
    (void)event;
    ADD(&reports, 1);
    pthread_testcancel();
}

static void observe_and_look_for_cancellation(const csk_observer_t *observer, const csk_event_t *event) {
    (void)observer;
    report_and_look_for_cancellation(event);
}

static void note_report(const csk_observer_t *observer, const csk_event_t *event) {
    (void)observer;
    if (event->kind == CSK_EVENT_LONG_READ || event->kind == CSK_EVENT_HOLDER_ENDED) ADD(&reports, 1);
}

static void *write_cancelled(void *lock) {
    pthread_cancel(pthread_self());
    CHECK_STATUS(csk_rwlock_wrlock(lock), 0);
    CHECK_STATUS(csk_rwlock_unlock(lock), 0);
    STORE(&came_out, 1);
    pthread_testcancel();
    return NULL;
}

/* This thread reads, and another waits to write, with a cancellation pending, until `enough` reports or events were
 * made. */
static void a_cancelled_writer_comes_out_of_its_wait(uint32_t enough) {
    csk_rwlock_t lock = CSK_RWLOCK_INITIALIZER;
    CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
    pthread_t writer = start_thread(write_cancelled, &lock);
    wait_until(LOAD(&reports) >= enough);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    CHECK(join_thread(writer) == PTHREAD_CANCELED);
    CHECK_EQ(came_out, 1);
    CHECK_EQ(csk_rwlock_waiting(&lock), 0);
    CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    CHECK_STATUS(csk_rwlock_destroy(&lock), 0);
}

static void write_to_nowhere(void) {
    int nowhere = open("/dev/null", O_WRONLY);
    CHECK_EQ(dup2(nowhere, STDERR_FILENO), STDERR_FILENO);
    close(nowhere);
}

static void report_without_a_reporter(void *unused) {
    (void)unused;
    static const csk_observer_t observer = { note_report, NULL };
    write_to_nowhere();
    csk_observe(&observer);
    a_cancelled_writer_comes_out_of_its_wait(1);
}

/* It was cancelled inside write(), and its waiter stayed in the queue. */
static void a_writer_that_reports_a_long_reader_is_not_cancelled_there(void) {
    in_a_child(report_without_a_reporter, NULL);
}

static void report_by_a_reporter(void *unused) {
    (void)unused;
    csk_set_reporter(report_and_look_for_cancellation);
    a_cancelled_writer_comes_out_of_its_wait(1);
}

static void a_reporter_is_not_cancelled(void) { in_a_child(report_by_a_reporter, NULL); }

static void report_by_an_observer(void *unused) {
    (void)unused;
    static const csk_observer_t observer = { observe_and_look_for_cancellation, NULL };
    csk_observe(&observer);
    a_cancelled_writer_comes_out_of_its_wait(1);
}

/* The one that hears of the beginning of a wait. */
static void an_observer_is_not_cancelled(void) { in_a_child(report_by_an_observer, NULL); }

static uint32_t is_held;

static void *lock_and_end(void *mutex) {
    CHECK_STATUS(csk_mutex_lock(mutex), 0);
    STORE(&is_held, 1);
    return NULL;
}

static void *lock_cancelled(void *mutex) {
    pthread_cancel(pthread_self());
    CHECK_STATUS(csk_mutex_timedlock(mutex, csk_deadline_after(long_enough_ns)), ETIMEDOUT);
    STORE(&came_out, 1);
    pthread_testcancel();
    return NULL;
}

static void wait_for_a_holder_that_has_ended(void *unused) {
    (void)unused;
    static const csk_observer_t observer = { note_report, NULL };
    csk_mutex_t mutex = CSK_MUTEX_INITIALIZER;
    write_to_nowhere();
    csk_observe(&observer);
    pthread_t holder = start_thread(lock_and_end, &mutex), waiter;
    wait_until(LOAD(&is_held));
    waiter = start_thread(lock_cancelled, &mutex); /* before the join, which would give it the holder's address */
    join_thread(holder);
    CHECK(join_thread(waiter) == PTHREAD_CANCELED);
    CHECK_EQ(came_out, 1);
    CHECK_EQ(reports, 1);
    CHECK_EQ(csk_gate_waiting(&mutex.gate), 0);
}

static void who_reports_a_holder_that_has_ended_is_not_cancelled_there(void) {
#ifndef __GLIBC__
    printf("only glibc tells that; ");
    return;
#endif
    in_a_child(wait_for_a_holder_that_has_ended, NULL);
}

/* ---- Reports that nobody reads ----------------------------------------------------------------------------------- */

static bool pipe_signal_pending(void) {
    sigset_t pending;
    CHECK_EQ(sigpending(&pending), 0);
    return sigismember(&pending, SIGPIPE) == 1;
}

static bool pipe_signal_blocked(void) {
    sigset_t blocked;
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &blocked), 0);
    return sigismember(&blocked, SIGPIPE) == 1;
}

static void report_into_a_closed_pipe(void *unused) {
    (void)unused;
    int ends[2];
    sigset_t pipe_signal;
    signal(SIGPIPE, SIG_DFL);
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    errno = EDOM;
    csk_write_error("nobody reads\n", 13);
    CHECK_EQ(errno, EDOM);
    CHECK(!pipe_signal_pending() && !pipe_signal_blocked());
    /* A report, which waits for a second. */
    csk_mutex_t mutex = CSK_MUTEX_INITIALIZER;
    join_thread(start_thread(lock_and_end, &mutex));
    CHECK_STATUS(csk_gate_timedlock(&mutex.gate, 0, csk_deadline_after(long_enough_ns)), ETIMEDOUT);
    CHECK(!pipe_signal_pending() && !pipe_signal_blocked());
    /* One that was pending before stays. */
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, &pipe_signal, NULL), 0);
    csk_write_error("nobody reads\n", 13);
    CHECK(!pipe_signal_pending() && pipe_signal_blocked());
    raise(SIGPIPE);
    csk_write_error("nobody reads\n", 13);
    CHECK(pipe_signal_pending() && pipe_signal_blocked());
}

/* The program ended by SIGPIPE. */
static void a_report_that_nobody_reads_raises_no_signal(void) { in_a_child(report_into_a_closed_pipe, NULL); }

static void write_into_a_pipe(void *end) {
    CHECK_EQ(dup2(*(int *)end, STDERR_FILENO), STDERR_FILENO);
    csk_write_error("one line\n", 9);
}

static void what_is_written_arrives(void) {
    int ends[2];
    char text[16] = { 0 };
    CHECK_EQ(pipe(ends), 0);
    in_a_child(write_into_a_pipe, &ends[1]);
    CHECK_EQ(read(ends[0], text, sizeof text - 1), 9);
    CHECK_EQ(strcmp(text, "one line\n"), 0);
    close(ends[0]);
    close(ends[1]);
}

/* ---- Everything that waits, cancelled at random ------------------------------------------------------------------ */

enum { GATES = 3, LOCKS = 3, QUEUES = 3, VICTIMS = 12 };

static struct {
    csk_gate_t gates[GATES];
    csk_mutex_t mutex;
    csk_rwlock_t locks[LOCKS], read_for_long;
    csk_sem_t sem;
    csk_pqueue_t jobs;
    csk_workqueue_t queues[QUEUES]; /* serial; full at two; of width two */
    csk_snapshot_t snapshot;
    uint32_t inside[GATES + 1], writing[LOCKS], reading[LOCKS], in_queue; /* never more than one, or what excludes it */
    uint64_t calls, works, worked;
} storm;

static void make_objects(void) {
    for (uint32_t i = 0; i < GATES; i++) {
        csk_gate_attr_t attr = { .policy = i, .bypass_limit = i == CSK_GATE_COMPACT ? 3 : 0 };
        CHECK_STATUS(csk_gate_init(&storm.gates[i], &attr), 0);
    }
    for (uint32_t i = 0; i < LOCKS; i++) {
        csk_rwlock_attr_t attr = { .policy = i == 1 ? CSK_RWLOCK_STRICT : CSK_RWLOCK_FAST, .reader_bias = i == 2 };
        CHECK_STATUS(csk_rwlock_init(&storm.locks[i], &attr), 0);
    }
    static const csk_workqueue_attr_t attrs[QUEUES] = { { .width = 1 }, { .width = 1, .capacity = 2 }, { .width = 2 } };
    for (int i = 0; i < QUEUES; i++) CHECK_STATUS(csk_workqueue_init(&storm.queues[i], &attrs[i]), 0);
    CHECK_STATUS(csk_sem_init(&storm.sem, 3, 3), 0);
    CHECK_STATUS(csk_pqueue_init(&storm.jobs, 3), 0);
}

static int64_t some_deadline(uint64_t *random) {
    return csk_deadline_after((int64_t)test_random_below(random, 500000));
}
static int64_t some_deadline_or_never(uint64_t *random) {
    return test_random_below(random, 2) ? CSK_NEVER : some_deadline(random);
}

static void alone(uint32_t *inside) {
    CHECK_EQ(ADD(inside, 1), 1);
    for (int i = 0; i < 20; i++) sched_yield(); /* no cancellation point */
    ADD(inside, -1);
}

static bool entered(int status) {
    CHECK(status == 0 || status == ETIMEDOUT);
    return status == 0;
}

static void use_gate(uint64_t *random) {
    int which = (int)test_random_below(random, GATES);
    if (!entered(csk_gate_timedlock(&storm.gates[which], (int32_t)test_random_below(random, 3),
                                    some_deadline_or_never(random))))
        return;
    alone(&storm.inside[which]);
    CHECK_STATUS(csk_gate_unlock(&storm.gates[which]), 0);
}

static void use_mutex(uint64_t *random) {
    if (!entered(csk_mutex_timedlock(&storm.mutex, some_deadline_or_never(random)))) return;
    CHECK_STATUS(csk_mutex_lock(&storm.mutex), 0);
    alone(&storm.inside[GATES]);
    CHECK_STATUS(csk_mutex_unlock(&storm.mutex), 0);
    CHECK_STATUS(csk_mutex_unlock(&storm.mutex), 0);
}

static void use_rwlock(uint64_t *random) {
    int which = (int)test_random_below(random, LOCKS);
    csk_rwlock_t *lock = &storm.locks[which];
    bool writes = test_random_below(random, 3) == 0;
    int64_t deadline_ns = some_deadline_or_never(random);
    if (!entered(writes ? csk_rwlock_timedwrlock(lock, deadline_ns) : csk_rwlock_timedrdlock(lock, deadline_ns)))
        return;
    if (!writes) {
        ADD(&storm.reading[which], 1);
        CHECK_EQ(LOAD(&storm.writing[which]), 0);
        ADD(&storm.reading[which], -1);
        writes = csk_rwlock_timedupgrade(lock, some_deadline(random)) == 0;
    }
    if (writes) {
        CHECK_EQ(LOAD(&storm.reading[which]), 0);
        alone(&storm.writing[which]);
    }
    CHECK_STATUS(csk_rwlock_unlock(lock), 0);
}

/* Long enough for the report about the reader, while which the thread stands in the queue. */
static void wait_for_the_long_reader(void) {
    CHECK_STATUS(csk_rwlock_timedwrlock(&storm.read_for_long, csk_deadline_after(long_enough_ns)), ETIMEDOUT);
}

static void use_sem(uint64_t *random) {
    uint32_t permits = 1 + (uint32_t)test_random_below(random, 3);
    if (!entered(csk_sem_timedwait(&storm.sem, (int32_t)test_random_below(random, 3), permits,
                                   some_deadline_or_never(random))))
        return;
    sched_yield();
    CHECK_STATUS(csk_sem_post(&storm.sem, permits), 0);
}

static void use_pqueue(uint64_t *random) {
    csk_pqueue_item_t *item;
    if (test_random_below(random, 2)) {
        if (csk_pqueue_timedpop(&storm.jobs, &item, some_deadline(random)) == 0) free(item);
        return;
    }
    item = malloc(sizeof *item);
    if (csk_pqueue_timedpush(&storm.jobs, (int32_t)test_random_below(random, 3), item, some_deadline(random)) != 0)
        free(item);
}

static void count_alone(void *context) {
    (void)context;
    alone(&storm.in_queue);
    ADD(&storm.worked, 1);
}

static void count(void *context) {
    (void)context;
    ADD(&storm.worked, 1);
}

static void work(csk_work_t *work, int status) {
    CHECK_STATUS(status, 0);
    free(work);
    count(NULL);
}

static void use_workqueue(uint64_t *random) {
    int which = (int)test_random_below(random, QUEUES), status;
    csk_workqueue_t *queue = &storm.queues[which];
    csk_rank_t rank = csk_rank((int32_t)test_random_below(random, 2), CSK_PLACE_BACK);
    int64_t deadline_ns = some_deadline_or_never(random);
    if (test_random_below(random, 3) == 0) {
        entered(csk_workqueue_drain(queue, some_deadline(random)));
        return;
    }
    if (test_random_below(random, 2)) {
        bool barrier = test_random_below(random, 2);
        status = csk_workqueue_sync(queue, rank,
                                    barrier ? CSK_WORK_BARRIER
                                    : 0     ? CSK_WORK_BARRIER
                                            : 0,
                                    deadline_ns, which == 0 ? count_alone : count, NULL);
    } else {
        csk_work_t *one = calloc(1, sizeof *one);
        status = csk_workqueue_submit(queue, rank, one, 0, deadline_ns, work);
        if (status != 0) free(one);
    }
    if (entered(status)) ADD(&storm.works, 1);
}

static void use_rcu(uint64_t *random) {
    if (test_random_below(random, 20) == 0) {
        CHECK_STATUS(csk_rcu_barrier(), 0);
        return;
    }
    const void *value;
    if (entered(csk_snapshot_update_begin(&storm.snapshot, &value, some_deadline_or_never(random)))) {
        sched_yield();
        CHECK_STATUS(csk_snapshot_update_cancel(&storm.snapshot), 0);
    }
}

static void *call_until_cancelled(void *context) {
    static void (*const uses[])(uint64_t *) = {
        use_rcu, use_gate, use_mutex, use_rwlock, use_sem, use_pqueue, use_workqueue,
    };
    uint64_t number = (uint64_t)(uintptr_t)context, random = test_seed(number);
    for (;;) {
        if (number % 300 == 7) wait_for_the_long_reader();
        uses[test_random_below(&random, sizeof uses / sizeof uses[0])](&random);
        ADD(&storm.calls, 1);
        pthread_testcancel();
    }
    return NULL;
}

static void check_that_nobody_waits(void) {
    for (int i = 0; i < GATES; i++) {
        CHECK_EQ(csk_gate_waiting(&storm.gates[i]), 0);
        CHECK_STATUS(csk_gate_lock(&storm.gates[i], 0), 0);
        CHECK_STATUS(csk_gate_unlock(&storm.gates[i]), 0);
        CHECK_STATUS(csk_gate_destroy(&storm.gates[i]), 0);
    }
    CHECK_STATUS(csk_mutex_destroy(&storm.mutex), 0);
    for (int i = 0; i < LOCKS; i++) {
        CHECK_EQ(csk_rwlock_waiting(&storm.locks[i]), 0);
        CHECK_STATUS(csk_rwlock_wrlock(&storm.locks[i]), 0);
        CHECK_STATUS(csk_rwlock_unlock(&storm.locks[i]), 0);
        CHECK_STATUS(csk_rwlock_destroy(&storm.locks[i]), 0);
    }
    CHECK_EQ(csk_rwlock_waiting(&storm.read_for_long), 0);
    CHECK_STATUS(csk_rwlock_unlock(&storm.read_for_long), 0);
    CHECK_STATUS(csk_rwlock_destroy(&storm.read_for_long), 0);
    CHECK_EQ(csk_sem_permits(&storm.sem), 3);
    CHECK_STATUS(csk_sem_destroy(&storm.sem), 0);
    CHECK_EQ(csk_pqueue_waiting(&storm.jobs), 0);
    csk_pqueue_item_t *item;
    while (csk_pqueue_trypop(&storm.jobs, &item) == 0) free(item);
    CHECK_STATUS(csk_pqueue_destroy(&storm.jobs), 0);
    for (int i = 0; i < QUEUES; i++) {
        CHECK_STATUS(csk_workqueue_drain(&storm.queues[i], CSK_NEVER), 0);
        CHECK_EQ(csk_workqueue_waiting(&storm.queues[i]) + csk_workqueue_running(&storm.queues[i]), 0);
        CHECK_STATUS(csk_workqueue_destroy(&storm.queues[i]), 0);
    }
    CHECK_EQ(storm.works, storm.worked);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_STATUS(csk_snapshot_destroy(&storm.snapshot), 0);
}

/* CSK_TEST_CANCELLATIONS in the environment says how many. */
static void cancel_threads_at_random(void *unused) {
    (void)unused;
    const char *chosen = getenv("CSK_TEST_CANCELLATIONS");
    uintptr_t cancellations = chosen != NULL ? (uintptr_t)atol(chosen) : TEST_ROUNDS(400);
    alarm(TEST_WATCHDOG_S + (unsigned)cancellations / 5);
    pthread_t victims[VICTIMS];
    uint64_t random = test_seed(0);
    write_to_nowhere();
    make_objects();
    CHECK_STATUS(csk_rwlock_rdlock(&storm.read_for_long), 0);
    for (uintptr_t i = 0; i < VICTIMS; i++) victims[i] = start_thread(call_until_cancelled, (void *)(i + 1));
    for (uintptr_t done = 0; done < cancellations;) {
        /* Some at once, wherever they are after some more calls. */
        uint64_t calls = LOAD(&storm.calls) + test_random_below(&random, 3 * VICTIMS),
                 first = test_random_below(&random, VICTIMS);
        wait_until(LOAD(&storm.calls) >= calls);
        uint64_t some = 1 + test_random_below(&random, 4);
        for (uint64_t i = 0; i < some; i++) CHECK_EQ(pthread_cancel(victims[(first + i) % VICTIMS]), 0);
        for (uint64_t i = 0; i < some; i++, done++) {
            pthread_t *victim = &victims[(first + i) % VICTIMS];
            CHECK(join_thread(*victim) == PTHREAD_CANCELED);
            *victim = start_thread(call_until_cancelled, (void *)(VICTIMS + done + 1));
        }
    }
    for (int i = 0; i < VICTIMS; i++) CHECK_EQ(pthread_cancel(victims[i]), 0);
    for (int i = 0; i < VICTIMS; i++) CHECK(join_thread(victims[i]) == PTHREAD_CANCELED);
    check_that_nobody_waits();
}

static void a_storm_of_cancellations_leaves_every_queue_whole(void) { in_a_child(cancel_threads_at_random, NULL); }

TEST_MAIN(TEST(a_writer_that_reports_a_long_reader_is_not_cancelled_there), TEST(a_reporter_is_not_cancelled),
          TEST(an_observer_is_not_cancelled), TEST(who_reports_a_holder_that_has_ended_is_not_cancelled_there),
          TEST(a_report_that_nobody_reads_raises_no_signal), TEST(what_is_written_arrives),
          TEST(a_storm_of_cancellations_leaves_every_queue_whole))
