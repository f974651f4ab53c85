/* fault_process_test.c: processes that are stopped, continued and killed, and threads that end while they hold
 * something. */
#include "child.h"

#include <csynckernel/csynckernel.h>
#include <sys/syscall.h>

enum { POLICIES = 3 };

static void make(csk_gate_t *gate, uint32_t policy) {
    csk_gate_attr_t attr = { .policy = policy };
    CHECK_STATUS(csk_gate_init(gate, &attr), 0);
}

static void stop_child(pid_t child) {
    int status = 0;
    CHECK_EQ(kill(child, SIGSTOP), 0);
    CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
    CHECK(WIFSTOPPED(status));
}

/* The signal continues it at once. Nobody waits for the news: the child may have ended before that. */
static void continue_child(pid_t child) { CHECK_EQ(kill(child, SIGCONT), 0); }

/* ---- Stopped while the holder holds and others wait -------------------------------------------------------------- */

enum { TIMED = 2 * POLICIES + 3 };

/* In the page that parent and child share. */
struct stopped {
    int64_t deadline_ns;
    uint32_t ready, timed_out, finished;
};

/* The child's objects. */
static csk_gate_t gates[POLICIES];
static csk_mutex_t mutex;
static csk_pqueue_t queue;
static uint32_t entered, fired;

struct wait {
    struct stopped *shared;
    int which;
    bool timed;
};

static int wait_there(int which, int64_t deadline_ns) {
    csk_pqueue_item_t *item;
    if (which < POLICIES) return csk_gate_timedlock(&gates[which], 0, deadline_ns);
    if (which == POLICIES) return csk_mutex_timedlock(&mutex, deadline_ns);
    return csk_pqueue_timedpop(&queue, &item, deadline_ns);
}

static void *wait_and_note(void *context) {
    struct wait *wait = context;
    int status = wait_there(wait->which, wait->timed ? wait->shared->deadline_ns : CSK_NEVER);
    if (wait->timed) {
        CHECK_STATUS(status, ETIMEDOUT);
        CHECK_GE(csk_now(), wait->shared->deadline_ns);
        ADD(&wait->shared->timed_out, 1);
        return NULL;
    }
    CHECK_STATUS(status, 0);
    ADD(&entered, 1);
    if (wait->which < POLICIES) CHECK_STATUS(csk_gate_unlock(&gates[wait->which]), 0);
    if (wait->which == POLICIES) CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
    return NULL;
}

static void note_timeout(csk_waiter_t *waiter, void *context, int status) {
    struct stopped *shared = context;
    (void)waiter;
    CHECK_STATUS(status, ETIMEDOUT);
    CHECK_GE(csk_now(), shared->deadline_ns);
    ADD(&shared->timed_out, 1);
}

static void note_firing(csk_timer_t *timer, void *context) {
    struct stopped *shared = context;
    (void)timer;
    CHECK_GE(csk_now(), shared->deadline_ns);
    /* Last: whoever has counted all looks at `fired` then. */
    ADD(&fired, 1);
    ADD(&shared->timed_out, 1);
}

static void hold_while_others_wait(void *context) {
    enum { KINDS = POLICIES + 2 };
    struct stopped *shared = context;
    struct wait waits[2 * KINDS];
    pthread_t threads[2 * KINDS];
    csk_waiter_t waiters[POLICIES];
    csk_timer_t timer = { .context = NULL };
    csk_pqueue_item_t item;
    memset(waiters, 0, sizeof waiters);
    for (uint32_t i = 0; i < POLICIES; i++) {
        make(&gates[i], i);
        CHECK_STATUS(csk_gate_lock(&gates[i], 0), 0);
        CHECK_STATUS(csk_gate_lock_async(&gates[i], 1, &waiters[i], shared->deadline_ns, note_timeout, shared), 0);
    }
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    CHECK_STATUS(csk_timer_start(&timer, shared->deadline_ns, note_firing, shared), 0);
    for (int i = 0; i < 2 * KINDS; i++) {
        waits[i] = (struct wait){ shared, i / 2, i % 2 == 0 };
        threads[i] = start_thread(wait_and_note, &waits[i]);
    }
    for (int i = 0; i < POLICIES; i++) wait_until(csk_gate_waiting(&gates[i]) == 3 || csk_now() >= shared->deadline_ns);
    wait_until(csk_gate_waiting(&mutex.gate) == 2 || csk_now() >= shared->deadline_ns);
    wait_until(csk_pqueue_waiting(&queue) == 2 || csk_now() >= shared->deadline_ns);
    STORE(&shared->ready, 1);

    /* The parent stops this process here, and continues it when the deadline has passed. */
    wait_until(LOAD(&shared->timed_out) == TIMED);
    CHECK_EQ(LOAD(&entered), 0);
    CHECK_EQ(LOAD(&fired), 1);
    for (int i = 0; i < POLICIES; i++) {
        wait_until(csk_gate_waiting(&gates[i]) == 1);
        CHECK_STATUS(csk_gate_unlock(&gates[i]), 0);
    }
    CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
    CHECK_STATUS(csk_pqueue_push(&queue, 0, &item), 0);
    for (int i = 0; i < 2 * KINDS; i++) join_thread(threads[i]);
    CHECK_EQ(entered, KINDS);
    for (int i = 0; i < POLICIES; i++) CHECK_STATUS(csk_gate_destroy(&gates[i]), 0);
    CHECK_STATUS(csk_mutex_destroy(&mutex), 0);
    CHECK_STATUS(csk_pqueue_destroy(&queue), 0);
    STORE(&shared->finished, 1);
}

static void deadlines_that_pass_while_all_is_stopped_are_kept_afterwards(void) {
    struct stopped *shared = shared_page();
    shared->deadline_ns = csk_deadline_after(INT64_C(500000000));
    pid_t child = start_child(hold_while_others_wait, shared);
    wait_until(LOAD(&shared->ready));
    stop_child(child);
    uint32_t before = LOAD(&shared->timed_out);
    /* The clock runs on meanwhile; nothing else does. */
    int64_t until_ns = shared->deadline_ns + 20000000;
    struct timespec until = { .tv_sec = until_ns / 1000000000, .tv_nsec = until_ns % 1000000000 };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {}
    CHECK_EQ(LOAD(&shared->timed_out), before);
    continue_child(child);
    int status = wait_for_child(child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    CHECK_EQ(LOAD(&shared->finished), 1);
    CHECK_EQ(munmap(shared, 4096), 0);
}

/* ---- Stopped and continued at any moment ------------------------------------------------------------------------- */

enum { WORKERS = 6 };

struct hammered {
    uint32_t stop, rounds;
};

static struct {
    csk_gate_t gates[POLICIES];
    csk_mutex_t mutex;
    csk_pqueue_t queue;
    long inside[POLICIES + 1], entered[POLICIES + 1];
} objects;

static void work_inside(int which) {
    CHECK_EQ(++objects.inside[which], 1);
    objects.entered[which]++;
    objects.inside[which]--;
}

static void hammer_once(uint64_t *random) {
    int which = (int)test_random_below(random, POLICIES + 2);
    int64_t deadline_ns = test_random_below(random, 2) ? CSK_NEVER
                                                       : csk_deadline_after((int64_t)test_random_below(random, 200000));
    int status;
    if (which < POLICIES) {
        status = csk_gate_timedlock(&objects.gates[which], (int32_t)test_random_below(random, 3), deadline_ns);
        if (status == 0) {
            work_inside(which);
            CHECK_STATUS(csk_gate_unlock(&objects.gates[which]), 0);
        }
    } else if (which == POLICIES) {
        status = csk_mutex_timedlock(&objects.mutex, deadline_ns);
        if (status == 0) {
            work_inside(which);
            CHECK_STATUS(csk_mutex_unlock(&objects.mutex), 0);
        }
    } else {
        /* Every item that is pushed here is popped here, by this thread or another. */
        csk_pqueue_item_t *item = malloc(sizeof *item);
        CHECK(item != NULL);
        CHECK_STATUS(csk_pqueue_push(&objects.queue, 0, item), 0);
        status = csk_pqueue_pop(&objects.queue, &item);
        free(item);
    }
    if (status == ETIMEDOUT) CHECK_GE(csk_now(), deadline_ns);
    else CHECK_STATUS(status, 0);
}

static void *hammer(void *context) {
    struct hammered *shared = context;
    uint64_t random = test_seed((uint64_t)(uintptr_t)&random);
    while (!LOAD(&shared->stop)) {
        hammer_once(&random);
        ADD(&shared->rounds, 1);
    }
    return NULL;
}

static void hammer_all(void *context) {
    pthread_t threads[WORKERS];
    for (uint32_t i = 0; i < POLICIES; i++) make(&objects.gates[i], i);
    for (int i = 0; i < WORKERS; i++) threads[i] = start_thread(hammer, context);
    for (int i = 0; i < WORKERS; i++) join_thread(threads[i]);
    for (int i = 0; i < POLICIES; i++) CHECK_STATUS(csk_gate_destroy(&objects.gates[i]), 0);
    CHECK_STATUS(csk_mutex_destroy(&objects.mutex), 0);
    CHECK_STATUS(csk_pqueue_destroy(&objects.queue), 0);
}

static void a_process_that_is_stopped_at_any_moment_goes_on(void) {
    struct hammered *shared = shared_page();
    pid_t child = start_child(hammer_all, shared);
    for (int i = 0; i < 200 / TEST_SLOWDOWN; i++) {
        uint32_t before = LOAD(&shared->rounds);
        wait_until(LOAD(&shared->rounds) - before > 20);
        stop_child(child);
        uint32_t stopped = LOAD(&shared->rounds);
        sched_yield();
        CHECK_EQ(LOAD(&shared->rounds), stopped);
        continue_child(child);
    }
    STORE(&shared->stop, 1);
    int status = wait_for_child(child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    CHECK_EQ(munmap(shared, 4096), 0);
}

/* Both children use objects at the same addresses: what is killed or continued in one can't reach the other. */
static void a_process_that_is_killed_affects_no_other(void) {
    struct hammered *survives = shared_page();
    pid_t survivor = start_child(hammer_all, survives);
    for (int i = 0; i < 20 / TEST_SLOWDOWN; i++) {
        struct hammered *dies = shared_page();
        pid_t victim = start_child(hammer_all, dies);
        wait_until(LOAD(&dies->rounds) > 50);
        CHECK_EQ(kill(victim, SIGKILL), 0);
        int status = wait_for_child(victim);
        CHECK(WIFSIGNALED(status));
        CHECK_EQ(WTERMSIG(status), SIGKILL);
        uint32_t before = LOAD(&survives->rounds);
        wait_until(LOAD(&survives->rounds) - before > 50);
        CHECK_EQ(munmap(dies, 4096), 0);
    }
    STORE(&survives->stop, 1);
    int status = wait_for_child(survivor);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    CHECK_EQ(munmap(survives, 4096), 0);
}

/* ---- A thread that ends while it holds --------------------------------------------------------------------------- */

static struct {
    csk_gate_t gates[POLICIES];
    csk_mutex_t mutex;
    pid_t thread;
    uint64_t self;
} left;

static void *take_all_and_end(void *context) {
    for (int i = 0; i < POLICIES; i++) CHECK_STATUS(csk_gate_lock(&left.gates[i], 0), 0);
    CHECK_STATUS(csk_mutex_lock(&left.mutex), 0);
    left.self = csk_self();
    STORE(&left.thread, (pid_t)syscall(SYS_gettid));
    return context;
}

/* Where the dead thread's memory was given to a new one, that one passes for the holder of a plain gate. */
static void *follow(void *context) {
    if (csk_self() != left.self) return NULL;
    for (int i = 0; i < POLICIES; i++) {
        CHECK_STATUS(csk_gate_lock(&left.gates[i], 0), EDEADLK);
        CHECK_STATUS(csk_gate_unlock(&left.gates[i]), 0);
    }
    CHECK_STATUS(csk_mutex_trylock(&left.mutex), EBUSY); /* which tells threads by more than that */
    CHECK_STATUS(csk_mutex_unlock(&left.mutex), EPERM);
    return context;
}

/* What happens today: nothing is released. Others time out, and can't unlock. The holder's identity is the address of
 * its thread block, so it stays the dead thread's as long as that has not been joined, and can be another's
 * afterwards. */
static void what_a_thread_held_when_it_ended_stays_held(void) {
    for (uint32_t i = 0; i < POLICIES; i++) make(&left.gates[i], i);
    pthread_t holder = start_thread(take_all_and_end, NULL);
    wait_until(LOAD(&left.thread) != 0);
    wait_until(syscall(SYS_tgkill, getpid(), LOAD(&left.thread), 0) == -1);
    for (int i = 0; i < POLICIES; i++) {
        int64_t deadline_ns = csk_deadline_after(5000000);
        CHECK_STATUS(csk_gate_timedlock(&left.gates[i], 9, deadline_ns), ETIMEDOUT);
        CHECK_GE(csk_now(), deadline_ns);
        CHECK_STATUS(csk_gate_trylock(&left.gates[i], 9), EBUSY);
        CHECK_STATUS(csk_gate_unlock(&left.gates[i]), EPERM);
        CHECK_STATUS(csk_gate_disown(&left.gates[i]), EPERM);
        CHECK_STATUS(csk_gate_destroy(&left.gates[i]), EBUSY);
        CHECK_EQ(csk_gate_waiting(&left.gates[i]), 0);
    }
    CHECK_STATUS(csk_mutex_timedlock(&left.mutex, csk_deadline_after(5000000)), ETIMEDOUT);
    CHECK_STATUS(csk_mutex_trylock(&left.mutex), EBUSY);
    CHECK_STATUS(csk_mutex_unlock(&left.mutex), EPERM);
    CHECK_STATUS(csk_mutex_destroy(&left.mutex), EBUSY);
    join_thread(holder);
    bool followed = join_thread(start_thread(follow, &left)) != NULL;
    for (int i = 0; i < POLICIES; i++) CHECK_STATUS(csk_gate_destroy(&left.gates[i]), followed ? 0 : EBUSY);
    /* Initialized anew they are as good as new. */
    for (uint32_t i = 0; i < POLICIES; i++) {
        make(&left.gates[i], i);
        CHECK_STATUS(csk_gate_lock(&left.gates[i], 0), 0);
        CHECK_STATUS(csk_gate_unlock(&left.gates[i]), 0);
    }
}

TEST_MAIN(TEST(deadlines_that_pass_while_all_is_stopped_are_kept_afterwards),
          TEST(a_process_that_is_stopped_at_any_moment_goes_on), TEST(a_process_that_is_killed_affects_no_other),
          TEST(what_a_thread_held_when_it_ended_stays_held))
