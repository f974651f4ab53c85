/* fork_storm_test.c: forks, again and again, amid threads that hammer everything the kernel has: each child begins afresh. */
#include "child.h"

#include <csynckernel/csynckernel.h>

enum { FORKS = 300 / TEST_SLOWDOWN, POLICIES = 3, HAMMERS = 6 };

typedef struct {
    csk_gate_t gates[POLICIES];
    csk_mutex_t mutex;
    csk_pqueue_t queue;
} objects_t;

static objects_t of_parent;
static uint32_t running, stop;

/* AddressSanitizer allocates when a thread begins and ends, and its allocator's locks stay as they were in the child of a fork. */
#ifdef __SANITIZE_ADDRESS__
static const bool may_fork_while_threads_come_and_go = false;
#else
static const bool may_fork_while_threads_come_and_go = true;
#endif

/* ---- What goes on in the parent -------------------------------------------------------------------------------------------- */

static void leave(csk_gate_waiter_t *waiter, void *context, int status) {
    if (status == 0) CHECK_STATUS(csk_gate_unlock(waiter->gate), 0);
    else CHECK(status == ETIMEDOUT || status == ECANCELED);
    ADD((uint32_t *)context, 1);
}

static void note(csk_timer_t *timer, void *context) {
    (void)timer;
    ADD((uint32_t *)context, 1);
}

static void hammer_gate(csk_gate_t *gate, uint64_t *random) {
    csk_gate_waiter_t waiter = { .word = 0 };
    uint32_t called = 0;
    int status = csk_gate_timedlock(gate, (int32_t)test_random_below(random, 3), csk_deadline_after(50000));
    if (status == 0) CHECK_STATUS(csk_gate_unlock(gate), 0);
    else CHECK_STATUS(status, ETIMEDOUT);
    int64_t deadline_ns = csk_deadline_after((int64_t)test_random_below(random, 100000));
    CHECK_STATUS(csk_gate_lock_async(gate, &waiter, 1, deadline_ns, leave, &called), 0);
    if (test_random_below(random, 2)) csk_gate_cancel(gate, &waiter);
    wait_until(LOAD(&called) == 1);
}

static void hammer_timer(uint64_t *random) {
    csk_timer_t timer = { .context = NULL };
    uint32_t fired = 0;
    CHECK_STATUS(csk_timer_start(&timer, csk_deadline_after((int64_t)test_random_below(random, 50000)), note, &fired), 0);
    if (test_random_below(random, 2)) sched_yield();
    int status = csk_timer_cancel(&timer);
    CHECK_STATUS(status, LOAD(&fired) ? ENOENT : 0);
}

/* An item of another thread, which looks for it, goes back. */
static void hammer_queue(csk_pqueue_t *queue, uint64_t *random) {
    csk_pqueue_item_t item, *popped = NULL;
    CHECK_STATUS(csk_pqueue_push(queue, &item, (int32_t)test_random_below(random, 3)), 0);
    while (popped != &item) {
        int status = csk_pqueue_timedpop(queue, &popped, csk_deadline_after(20000));
        if (status != 0) CHECK_STATUS(status, ETIMEDOUT);
        else if (popped != &item) CHECK_STATUS(csk_pqueue_push(queue, popped, 0), 0);
    }
}

static void *hammer(void *context) {
    uint64_t random = test_seed((uint64_t)(intptr_t)context);
    ADD(&running, 1);
    while (!LOAD(&stop)) {
        uint64_t which = test_random_below(&random, POLICIES + 3);
        if (which < POLICIES) {
            hammer_gate(&of_parent.gates[which], &random);
        } else if (which == POLICIES) {
            CHECK_STATUS(csk_mutex_lock(&of_parent.mutex), 0);
            CHECK_STATUS(csk_mutex_unlock(&of_parent.mutex), 0);
        } else if (which == POLICIES + 1) {
            hammer_timer(&random);
        } else {
            hammer_queue(&of_parent.queue, &random);
        }
    }
    return NULL;
}

/* ---- What a child does ------------------------------------------------------------------------------------------------------ */

enum { CHILD_THREADS = 3, CHILD_ROUNDS = 200 };

struct fresh {
    objects_t objects;
    long inside, entered;
    uint32_t next, popped;
    csk_pqueue_item_t items[CHILD_THREADS][CHILD_ROUNDS];
};

/* The gates and the mutex, one in the other. */
static void enter_all(struct fresh *fresh) {
    for (int i = 0; i < POLICIES; i++) CHECK_STATUS(csk_gate_lock(&fresh->objects.gates[i], 0), 0);
    CHECK_STATUS(csk_mutex_lock(&fresh->objects.mutex), 0);
    CHECK_EQ(++fresh->inside, 1);
    fresh->entered++;
    fresh->inside--;
    CHECK_STATUS(csk_mutex_unlock(&fresh->objects.mutex), 0);
    for (int i = POLICIES - 1; i >= 0; i--) CHECK_STATUS(csk_gate_unlock(&fresh->objects.gates[i]), 0);
}

static void *use_fresh(void *context) {
    struct fresh *fresh = context;
    uint32_t me = ADD(&fresh->next, 1) - 1;
    for (int i = 0; i < CHILD_ROUNDS; i++) {
        csk_pqueue_item_t *item;
        enter_all(fresh);
        CHECK_STATUS(csk_pqueue_push(&fresh->objects.queue, &fresh->items[me][i], i % 3), 0);
        CHECK_STATUS(csk_pqueue_pop(&fresh->objects.queue, &item), 0);
        ADD(&fresh->popped, 1);
    }
    return NULL;
}

static void make_objects(objects_t *objects) {
    for (uint32_t i = 0; i < POLICIES; i++) {
        csk_gate_attr_t attr = { .policy = i };
        CHECK_STATUS(csk_gate_init(&objects->gates[i], &attr), 0);
    }
    CHECK_STATUS(csk_mutex_init(&objects->mutex), 0);
    CHECK_STATUS(csk_pqueue_init(&objects->queue, 0), 0);
}

static void use_timers(csk_gate_t *gate) {
    csk_timer_t timer = { .context = NULL };
    csk_gate_waiter_t waiter = { .word = 0 };
    uint32_t fired = 0, called = 0;
    CHECK_STATUS(csk_timer_start(&timer, csk_now(), note, &fired), 0);
    wait_until(LOAD(&fired) == 1);
    CHECK_STATUS(csk_gate_lock(gate, 0), 0);
    CHECK_STATUS(csk_gate_lock_async(gate, &waiter, 0, csk_deadline_after(20000), leave, &called), 0);
    wait_until(LOAD(&called) == 1);
    CHECK_STATUS(csk_gate_unlock(gate), 0);
}

static void grow_up(void *context) {
    static struct fresh fresh;
    pthread_t threads[CHILD_THREADS];
    intptr_t number = (intptr_t)context;
    memset(&fresh, 0, sizeof fresh); /* a grandchild inherits its parent's */
    make_objects(&fresh.objects);
    make_objects(&of_parent); /* which the parent's threads held, and are not here to leave */
    for (int i = 0; i < CHILD_THREADS; i++) threads[i] = start_thread(use_fresh, &fresh);
    use_timers(&of_parent.gates[number % POLICIES]);
    bool forks = number % 10 == 0;
    if (forks && may_fork_while_threads_come_and_go) in_a_child(grow_up, (void *)(number + 1));
    for (int i = 0; i < CHILD_THREADS; i++) join_thread(threads[i]);
    if (forks && !may_fork_while_threads_come_and_go) in_a_child(grow_up, (void *)(number + 1));
    CHECK_EQ(fresh.entered, CHILD_THREADS * CHILD_ROUNDS);
    CHECK_EQ(fresh.popped, CHILD_THREADS * CHILD_ROUNDS);
    CHECK_EQ(csk_pqueue_waiting(&fresh.objects.queue), 0);
    for (int i = 0; i < POLICIES; i++) CHECK_STATUS(csk_gate_destroy(&fresh.objects.gates[i]), 0);
    CHECK_STATUS(csk_mutex_destroy(&fresh.objects.mutex), 0);
}

static void children_of_a_busy_process_begin_afresh(void) {
#ifdef __SANITIZE_THREAD__
    /* It counts the parent's threads as alive in the child, and takes new ones with their ids for duplicates. */
    printf("not under ThreadSanitizer; ");
    return;
#endif
    pthread_t threads[HAMMERS];
    make_objects(&of_parent);
    for (intptr_t i = 0; i < HAMMERS; i++) threads[i] = start_thread(hammer, (void *)i);
    if (!may_fork_while_threads_come_and_go) {
        wait_until(LOAD(&running) == HAMMERS);
        /* The timer thread too, which any of them may be starting. */
        csk_timer_t timer = { .context = NULL };
        uint32_t fired = 0;
        CHECK_STATUS(csk_timer_start(&timer, csk_now(), note, &fired), 0);
        wait_until(LOAD(&fired) == 1);
    }
    for (intptr_t i = 0; i < FORKS; i++) in_a_child(grow_up, (void *)(i % 100));
    STORE(&stop, 1);
    for (int i = 0; i < HAMMERS; i++) join_thread(threads[i]);
    for (int i = 0; i < POLICIES; i++) CHECK_STATUS(csk_gate_destroy(&of_parent.gates[i]), 0);
    CHECK_STATUS(csk_mutex_destroy(&of_parent.mutex), 0);
    CHECK_STATUS(csk_pqueue_destroy(&of_parent.queue), 0);
}

TEST_MAIN(TEST(children_of_a_busy_process_begin_afresh))
