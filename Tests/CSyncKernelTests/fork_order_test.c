/* fork_order_test.c: what happens at a fork comes in one order, and a child meets nobody of its parent: neither where a
 * lock was held by the thread that forks, nor where another thread was in the middle of something.
 *
 * More than 400 lines: one fork order, looked at by every module in turn. */
#include "child.h"

#include <csynckernel/csynckernel.h>
#include <csynckernel/lanes.h>

#include "base/platform.h"
#include "lock/gate_queue.h"
#include "queue/workqueue.h"
#include "readwrite/rwlock_queue.h"

/* ThreadSanitizer takes threads of a child for the parent's. */
#ifdef __SANITIZE_THREAD__
enum { CHILD_THREADS = 0 };
#else
enum { CHILD_THREADS = 2 };
#endif

/* ---- Locks that are taken in a prepare handler and left in the child --------------------------------------------- */

typedef struct {
    const char *name;
    int (*lock)(void *), (*unlock)(void *), (*try)(void *);
    void *object;
} kind_t;

static csk_mutex_t mutex = CSK_MUTEX_INITIALIZER;
static csk_gate_t gates[3];
static csk_rwlock_t rwlocks[3];

static int lock_mutex(void *object) { return csk_mutex_lock(object); }
static int unlock_mutex(void *object) { return csk_mutex_unlock(object); }
static int try_mutex(void *object) { return csk_mutex_trylock(object); }
static int lock_gate(void *object) { return csk_gate_lock(object, 0); }
static int unlock_gate(void *object) { return csk_gate_unlock(object); }
static int try_gate(void *object) { return csk_gate_trylock(object, 0); }
static int write_lock(void *object) { return csk_rwlock_wrlock(object); }
static int read_lock(void *object) { return csk_rwlock_rdlock(object); }
static int unlock_rwlock(void *object) { return csk_rwlock_unlock(object); }
static int try_write(void *object) { return csk_rwlock_trywrlock(object); }

static const kind_t kinds[] = {
    { "mutex", lock_mutex, unlock_mutex, try_mutex, &mutex },
    { "FAST gate", lock_gate, unlock_gate, try_gate, &gates[0] },
    { "COMPACT gate", lock_gate, unlock_gate, try_gate, &gates[1] },
    { "STRICT gate", lock_gate, unlock_gate, try_gate, &gates[2] },
    { "FAST lock, written", write_lock, unlock_rwlock, try_write, &rwlocks[0] },
    { "FAST lock, read", read_lock, unlock_rwlock, try_write, &rwlocks[0] },
    { "STRICT lock, written", write_lock, unlock_rwlock, try_write, &rwlocks[1] },
    { "STRICT lock, read", read_lock, unlock_rwlock, try_write, &rwlocks[1] },
    { "biased lock, written", write_lock, unlock_rwlock, try_write, &rwlocks[2] },
    { "biased lock, read", read_lock, unlock_rwlock, try_write, &rwlocks[2] },
};

static const kind_t *of_handlers; /* NULL: the handlers do nothing */
static bool tries;                /* the child's first call after its handler is the one that never waits */
static uint32_t stop, running, *child_is_done;

static void take_for_fork(void) {
    if (of_handlers != NULL) CHECK_STATUS(of_handlers->lock(of_handlers->object), 0);
}
static void leave_after_fork(void) {
    if (of_handlers != NULL) CHECK_STATUS(of_handlers->unlock(of_handlers->object), 0);
}

static void *want(void *context) {
    const kind_t *kind = context;
    bool shares = kind->lock == read_lock;
    ADD(&running, 1);
    while (!LOAD(&stop)) {
        CHECK_STATUS(shares ? write_lock(kind->object) : kind->lock(kind->object), 0);
        CHECK_STATUS(kind->unlock(kind->object), 0);
    }
    return NULL;
}

static void *use_often(void *context) {
    const kind_t *kind = context;
    for (int i = 0; i < 500; i++) {
        CHECK_STATUS(kind->lock(kind->object), 0);
        CHECK_STATUS(kind->unlock(kind->object), 0);
    }
    return NULL;
}

static void use_in_the_child(void *context) {
    const kind_t *kind = context;
    pthread_t threads[CHILD_THREADS + 1];
    alarm(20);
    if (tries) {
        CHECK_STATUS(kind->try(kind->object), 0);
        CHECK_STATUS(kind->unlock(kind->object), 0);
    }
    for (int i = 0; i < CHILD_THREADS; i++) threads[i] = start_thread(use_often, context);
    use_often(context);
    for (int i = 0; i < CHILD_THREADS; i++) join_thread(threads[i]);
    CHECK_STATUS(kind->try(kind->object), 0);
    CHECK_STATUS(kind->unlock(kind->object), 0);
}

enum { WANTING = 3 };

/* With so many threads beside the one that forks. */
static void fork_with_handlers(uint32_t wanting, int forks) {
    static bool are_there;
    if (!are_there) CHECK_EQ(pthread_atfork(take_for_fork, leave_after_fork, leave_after_fork), 0);
    are_there = true;
    for (uint32_t i = 0; i < 3; i++) CHECK_STATUS(csk_gate_init(&gates[i], &(csk_gate_attr_t){ .policy = i }), 0);
    for (uint32_t i = 0; i < 3; i++)
        CHECK_STATUS(csk_rwlock_init(&rwlocks[i], &(csk_rwlock_attr_t){ .policy = i == 1, .reader_bias = i == 2 }), 0);
    for (size_t which = 0; which < sizeof kinds / sizeof kinds[0]; which++) {
        const kind_t *kind = &kinds[which];
        pthread_t threads[WANTING];
        STORE(&stop, 0);
        STORE(&running, 0);
        for (uint32_t i = 0; i < wanting; i++) threads[i] = start_thread(want, (void *)kind);
        wait_until(LOAD(&running) == wanting);
        of_handlers = kind;
        for (int i = 0; i < forks; i++) {
            tries = i % 2 == 0;
            in_a_child(use_in_the_child, (void *)kind);
        }
        of_handlers = NULL;
        STORE(&stop, 1);
        for (uint32_t i = 0; i < wanting; i++) join_thread(threads[i]);
    }
}
static void what_a_prepare_handler_locks_a_child_handler_unlocks(void) {
    fork_with_handlers(WANTING, 40 / TEST_SLOWDOWN);
}
static void what_a_lone_thread_locks_in_a_prepare_handler_its_child_unlocks(void) { fork_with_handlers(0, 4); }

/* ---- Another thread is in the middle of something ---------------------------------------------------------------- */

static csk_gate_t caught_gate = CSK_GATE_INITIALIZER;
static csk_rwlock_t caught_lock = CSK_RWLOCK_INITIALIZER;
static csk_workqueue_t caught_queue;
static uint32_t ran;
static int32_t holds_all; /* the thread's id, once it does */
static int until_it_may[2];

static void *hold_internal_locks(void *unused) {
    csk_gate_lock_queue(&caught_gate);
    csk_rwlock_lock_queue(&caught_lock);
    csk_workqueue_lock(&caught_queue);
    /* As if a change of each were under way. */
    csk_heap_node_t nowhere = { .rank = 1 };
    csk_waiter_t no_waiter = { .word = 0 };
    caught_gate.waiters.root = &nowhere;
    caught_gate.waiting = 7;
    caught_lock.first = &no_waiter;
    caught_queue.ranked.root = &nowhere;
    caught_queue.waiting = 7;
    STORE(&holds_all, csk_platform_thread_id());
    char byte;
    CHECK_EQ(read(until_it_may[0], &byte, 1), 1);
    caught_gate.waiters.root = caught_queue.ranked.root = NULL;
    caught_gate.waiting = caught_queue.waiting = 0;
    caught_lock.first = NULL;
    csk_queue_unlock(&caught_gate.queue_lock);
    csk_queue_unlock(&caught_lock.queue_lock);
    csk_workqueue_unlock(&caught_queue);
    return unused;
}

static void note_run(csk_work_t *work, int status) {
    (void)work;
    CHECK_STATUS(status, 0);
    ADD(&ran, 1);
}

static void use_what_was_caught(void *unused) {
    (void)unused;
    alarm(20);
    CHECK_EQ(csk_gate_waiting(&caught_gate), 0);
    CHECK_STATUS(csk_gate_lock(&caught_gate, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&caught_gate), 0);
    CHECK_STATUS(csk_gate_destroy(&caught_gate), 0);
    CHECK_EQ(csk_rwlock_waiting(&caught_lock), 0);
    CHECK_STATUS(csk_rwlock_wrlock(&caught_lock), 0);
    CHECK_STATUS(csk_rwlock_unlock(&caught_lock), 0);
    CHECK_STATUS(csk_rwlock_destroy(&caught_lock), 0);
    CHECK_EQ(csk_workqueue_waiting(&caught_queue), 0);
    if (CHILD_THREADS == 0) return;
    csk_work_t works[2];
    CHECK_STATUS(csk_workqueue_enqueue(&caught_queue, &works[0], note_run), 0);
    CHECK_STATUS(csk_workqueue_submit(&caught_queue, csk_rank(3, CSK_PLACE_BACK), &works[1], 0, CSK_NEVER, note_run),
                 0);
    CHECK_STATUS(csk_workqueue_drain(&caught_queue, CSK_NEVER), 0);
    CHECK_EQ(LOAD(&ran), 2);
    CHECK_STATUS(csk_workqueue_destroy(&caught_queue), 0);
}

/* In a process that has used nothing else yet: no timer, no worker. */
static void catch_other_thread(void *unused) {
    (void)unused;
    CHECK_EQ(pipe(until_it_may), 0);
    pthread_t other = start_thread(hold_internal_locks, NULL);
    wait_until(LOAD(&holds_all) != 0 && csk_platform_thread_state(LOAD(&holds_all)) == CSK_THREAD_SLEEPS);
    in_a_child(use_what_was_caught, NULL);
    CHECK_EQ(write(until_it_may[1], "", 1), 1);
    join_thread(other);
}
static void a_child_takes_over_what_another_thread_was_changing(void) { in_a_child(catch_other_thread, NULL); }

/* ---- Waiters of the parent --------------------------------------------------------------------------------------- */

static csk_gate_t waited_for;
static csk_waiter_t waiters[3];
static csk_gate_lane_t lane;
static csk_rwlock_t locked = CSK_RWLOCK_INITIALIZER;
static csk_waiter_t reader;
static int statuses[3] = { -1, -1, -1 }, status_of_reader = -1;

static void note_status(csk_waiter_t *waiter, void *context, int status) {
    STORE((int *)context, status);
    if (status == 0 && context != &status_of_reader) CHECK_STATUS(csk_gate_unlock(waiter->gate), 0);
    if (status == 0 && context == &status_of_reader) {
        CHECK_STATUS(csk_rwlock_adopt(&locked, CSK_RWLOCK_READ), 0);
        CHECK_STATUS(csk_rwlock_unlock(&locked), 0);
    }
}
static void lane_is_next(csk_gate_lane_t *granted, void *context) {
    (void)context;
    csk_gate_lane_taken(&waited_for, granted);
}

static void the_parents_waiters_are_not_mine(void *unused) {
    (void)unused;
    csk_waiter_t *begun;
    CHECK_STATUS(csk_gate_cancel(&waited_for, &waiters[0]), ENOENT);
    CHECK_STATUS(csk_gate_adopt(&waited_for, &waiters[1]), EINVAL);
    CHECK_STATUS(csk_gate_relock_async(&waited_for, &waiters[1]), EINVAL);
    CHECK_STATUS(csk_gate_forget(&waited_for, &waiters[1]), EINVAL);
    CHECK_STATUS(csk_gate_begin(&waited_for, &lane, &begun), EINVAL);
    CHECK_EQ(csk_gate_waiting(&waited_for), 0);
    CHECK_STATUS(csk_rwlock_cancel(&locked, &reader), ENOENT);
    CHECK_STATUS(csk_rwlock_unlock(&locked), 0);
    CHECK_STATUS(csk_gate_unlock(&waited_for), 0);
    CHECK_EQ(LOAD(&statuses[0]), -1);
    CHECK_EQ(LOAD(&status_of_reader), -1);
    /* They may wait again, for the child. */
    CHECK_STATUS(csk_gate_lock(&waited_for, 0), 0);
    CHECK_STATUS(csk_gate_lock_async(&waited_for, 0, &waiters[0], CSK_NEVER, note_status, &statuses[0]), 0);
    CHECK_EQ(csk_gate_waiting(&waited_for), 1);
    CHECK_STATUS(csk_gate_unlock(&waited_for), 0);
    CHECK_EQ(LOAD(&statuses[0]), 0);
    CHECK_STATUS(csk_gate_destroy(&waited_for), 0);
    CHECK_STATUS(csk_rwlock_lock_async(&locked, &reader, CSK_RWLOCK_READ, CSK_NEVER, note_status, &status_of_reader),
                 0);
    CHECK_EQ(LOAD(&status_of_reader), 0);
    CHECK_STATUS(csk_rwlock_destroy(&locked), 0);
}

static void a_child_has_none_of_its_parents_waiters(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        CHECK_STATUS(csk_gate_init(&waited_for, &(csk_gate_attr_t){ .policy = policy }), 0);
        lane = (csk_gate_lane_t){ .function = lane_is_next };
        for (int i = 0; i < 3; i++) waiters[i] = (csk_waiter_t){ .word = 0 };
        CHECK_STATUS(csk_gate_lock(&waited_for, 0), 0);
        CHECK_STATUS(csk_gate_lock_async(&waited_for, 0, &waiters[0], CSK_NEVER, note_status, &statuses[0]), 0);
        CHECK_STATUS(
            csk_gate_lock_async_ranked(&waited_for, 0, &waiters[1], true, CSK_NEVER, note_status, &statuses[1]), 0);
        CHECK_STATUS(csk_gate_lock_lane(&waited_for, 0, &waiters[2], &lane, CSK_NEVER, note_status, &statuses[2]), 0);
        CHECK_STATUS(csk_rwlock_wrlock(&locked), 0);
        CHECK_STATUS(
            csk_rwlock_lock_async(&locked, &reader, CSK_RWLOCK_READ, CSK_NEVER, note_status, &status_of_reader), 0);
        in_a_child(the_parents_waiters_are_not_mine, NULL);
        for (int i = 0; i < 3; i++) CHECK_STATUS(csk_gate_cancel(&waited_for, &waiters[i]), 0);
        CHECK_STATUS(csk_rwlock_cancel(&locked, &reader), 0);
        CHECK_STATUS(csk_rwlock_unlock(&locked), 0);
        CHECK_STATUS(csk_gate_unlock(&waited_for), 0);
        for (int i = 0; i < 3; i++) STORE(&statuses[i], -1);
        STORE(&status_of_reader, -1);
    }
}

/* A grant that nobody has adopted is the parent's: whoever was to adopt it does so there. */
static void the_gate_is_free(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_gate_trylock(&waited_for, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&waited_for), 0);
    CHECK_STATUS(csk_gate_adopt(&waited_for, &waiters[1]), EINVAL);
    CHECK_STATUS(csk_gate_destroy(&waited_for), 0);
}
static void is_granted(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    STORE((int *)context, status);
}
static void a_grant_that_nobody_has_adopted_stays_with_the_parent(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        CHECK_STATUS(csk_gate_init(&waited_for, &(csk_gate_attr_t){ .policy = policy }), 0);
        waiters[1] = (csk_waiter_t){ .word = 0 };
        CHECK_STATUS(csk_gate_lock_async_ranked(&waited_for, 0, &waiters[1], true, CSK_NEVER, is_granted, &statuses[1]),
                     0);
        CHECK_EQ(LOAD(&statuses[1]), 0);
        in_a_child(the_gate_is_free, NULL);
        CHECK_STATUS(csk_gate_adopt(&waited_for, &waiters[1]), 0);
        CHECK_STATUS(csk_gate_unlock(&waited_for), 0);
    }
}

/* ---- RCU comes first --------------------------------------------------------------------------------------------- */

static uint32_t retired_now;
static csk_workqueue_t of_readers;

static void note(csk_timer_t *timer, void *context) { (void)timer, (void)context; }

static void reclaim_with_a_timer(csk_rcu_node_t *node) {
    csk_timer_t timer = { .context = NULL };
    CHECK_STATUS(csk_timer_start(&timer, csk_deadline_after(INT64_C(3600) * 1000000000), note, NULL), 0);
    CHECK_STATUS(csk_timer_cancel(&timer), 0);
    STORE(&node->context, NULL);
    ADD(&retired_now, -1);
}

static void *retire_often(void *unused) {
    static csk_rcu_node_t nodes[64];
    ADD(&running, 1);
    while (!LOAD(&stop)) {
        for (int i = 0; i < 64; i++) {
            if (LOAD(&nodes[i].context) != NULL) continue;
            STORE(&nodes[i].context, nodes);
            ADD(&retired_now, 1);
            CHECK_STATUS(csk_rcu_retire(&nodes[i], reclaim_with_a_timer), 0);
        }
        sched_yield();
    }
    wait_until(LOAD(&retired_now) == 0);
    return unused;
}

static void *queue_inside_sections(void *unused) {
    csk_work_t work;
    ADD(&running, 1);
    while (!LOAD(&stop)) {
        uint32_t before = LOAD(&ran);
        CHECK_STATUS(csk_rcu_read_lock(), 0);
        CHECK_STATUS(csk_workqueue_enqueue(&of_readers, &work, note_run), 0);
        CHECK_STATUS(csk_rcu_read_unlock(), 0);
        wait_until(LOAD(&ran) == before + 1);
    }
    return unused;
}

static void reclaims(void *unused) {
    (void)unused;
    alarm(20);
    CHECK_STATUS(csk_rcu_barrier(), 0);
}

static void rcu_comes_to_rest_while_others_use_timers_and_queues(void) {
#ifdef __SANITIZE_THREAD__
    printf("not under ThreadSanitizer; ");
    return;
#endif
    STORE(&stop, 0);
    STORE(&running, 0);
    pthread_t threads[2] = { start_thread(retire_often, NULL), start_thread(queue_inside_sections, NULL) };
    wait_until(LOAD(&running) == 2);
    for (int i = 0; i < 20; i++) in_a_child(reclaims, NULL);
    STORE(&stop, 1);
    for (int i = 0; i < 2; i++) join_thread(threads[i]);
    CHECK_STATUS(csk_workqueue_drain(&of_readers, CSK_NEVER), 0);
}

/* ---- A section that forks ---------------------------------------------------------------------------------------- */

static csk_rwlock_t of_writes = CSK_RWLOCK_INITIALIZER;
static csk_rwlock_write_t writes[3];
static pid_t child_of_write;
static uint32_t written;

static void write_next(csk_rwlock_write_t *write) {
    CHECK(child_of_write != 0); /* in the parent alone */
    ADD(&written, 1);
    (void)write;
    CHECK_STATUS(csk_rwlock_finish_write(&of_writes), 0);
}

static void *use_in_another_thread(void *unused) {
    CHECK_STATUS(csk_rwlock_wrlock(&of_writes), 0);
    CHECK_STATUS(csk_rwlock_unlock(&of_writes), 0);
    CHECK_EQ(LOAD(&written), 0);
    STORE(child_is_done, 1);
    _exit(0);
    return unused;
}

static void fork_in_a_write(csk_rwlock_write_t *write) {
    (void)write;
    pid_t child = fork();
    CHECK(child >= 0);
    STORE(&child_of_write, child);
    if (child == 0) {
        alarm(20);
        start_thread(use_in_another_thread, NULL);
    }
    CHECK_STATUS(csk_rwlock_finish_write(&of_writes), 0);
}

/* The child ran the writes behind it too, which the parent runs. */
static void a_write_that_forks_leaves_those_behind_it_to_the_parent(void) {
#ifdef __SANITIZE_THREAD__
    printf("not under ThreadSanitizer; ");
    return;
#endif
    child_is_done = shared_page();
    CHECK_STATUS(csk_rwlock_wrlock(&of_writes), 0);
    CHECK_STATUS(csk_rwlock_enqueue_write(&of_writes, &writes[0], fork_in_a_write), 0);
    for (int i = 1; i < 3; i++) CHECK_STATUS(csk_rwlock_enqueue_write(&of_writes, &writes[i], write_next), 0);
    CHECK_STATUS(csk_rwlock_unlock(&of_writes), 0);
    wait_until(LOAD(&written) == 2);
    int status = wait_for_child(LOAD(&child_of_write));
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    CHECK_EQ(LOAD(child_is_done), 1);
}

/* ---- Functions of timers that fork ------------------------------------------------------------------------------- */

static csk_timer_t forking, other;
static uint32_t function_ended, other_fired;

static void note_fired(csk_timer_t *timer, void *context) {
    (void)timer, (void)context;
    CHECK(LOAD(&function_ended));
    STORE(&other_fired, 1);
}

static void *cancel_what_forked(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_timer_cancel(&forking), ENOENT);
    CHECK(LOAD(&function_ended));
    wait_until(LOAD(&other_fired));
    STORE(child_is_done, 1);
    _exit(0);
}

static void fork_in_a_function(csk_timer_t *timer, void *context) {
    (void)timer;
    pid_t *child = context;
    *child = fork();
    CHECK(*child >= 0);
    if (*child != 0) return;
    alarm(20);
    /* A second thread that runs functions, or a cancel that does not wait, had time to show. */
    CHECK_STATUS(csk_timer_start(&other, csk_now(), note_fired, NULL), 0);
    start_thread(cancel_what_forked, NULL);
    int64_t end_ns = csk_deadline_after(50000000);
    while (csk_now() < end_ns) sched_yield();
    STORE(&function_ended, 1);
}

static void a_timers_function_that_forks_keeps_its_thread_to_itself(void) {
#ifdef __SANITIZE_THREAD__
    printf("not under ThreadSanitizer; ");
    return;
#endif
    static pid_t child;
    child_is_done = shared_page();
    CHECK_STATUS(csk_timer_start(&forking, csk_now(), fork_in_a_function, &child), 0);
    wait_until(LOAD(&child) != 0);
    int status = wait_for_child(LOAD(&child));
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    CHECK_EQ(LOAD(child_is_done), 1);
}

TEST_MAIN(TEST(a_child_takes_over_what_another_thread_was_changing), TEST(a_child_has_none_of_its_parents_waiters),
          TEST(a_grant_that_nobody_has_adopted_stays_with_the_parent),
          TEST(what_a_lone_thread_locks_in_a_prepare_handler_its_child_unlocks),
          TEST(what_a_prepare_handler_locks_a_child_handler_unlocks),
          TEST(a_write_that_forks_leaves_those_behind_it_to_the_parent),
          TEST(rcu_comes_to_rest_while_others_use_timers_and_queues),
          TEST(a_timers_function_that_forks_keeps_its_thread_to_itself))
