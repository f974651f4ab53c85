/* rcu_fork_test.c: what a child of fork can do with sections, with what is retired and with new threads. */
#include <csynckernel/csynckernel.h>

#include "child.h"

static int stop, started;

static void reclaim(csk_rcu_node_t *node) {
    ADD((int *)node->context, 1);
    free(node);
}

static void retire_one(int *freed) {
    csk_rcu_node_t *node = calloc(1, sizeof *node);
    node->context = freed;
    CHECK_STATUS(csk_rcu_retire(node, reclaim), 0);
}

static void *read_on(void *unused) {
    ADD(&started, 1);
    while (!LOAD(&stop)) {
        CHECK_STATUS(csk_rcu_read_lock(), 0);
        sched_yield();
        CHECK_STATUS(csk_rcu_read_unlock(), 0);
    }
    return unused;
}

static void give_back(csk_rcu_node_t *node) { STORE(&node->context, NULL); }

/* Nodes of its own, and a start that was waited for: AddressSanitizer's allocator, unlike the C library's, stays locked in a child
 * when another thread was inside. */
static void *retire_on(void *context) {
    csk_rcu_node_t *nodes = context;
    ADD(&started, 1);
    while (!LOAD(&stop)) {
        for (int i = 0; i < 64; i++) {
            if (LOAD(&nodes[i].context) != NULL) continue;
            STORE(&nodes[i].context, nodes);
            CHECK_STATUS(csk_rcu_retire(&nodes[i], give_back), 0);
        }
        sched_yield();
    }
    return NULL;
}

static void *read_once(void *unused) {
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    return unused;
}

static void use_everything(void *unused) {
    (void)unused;
    int freed = 0;
    for (int i = 0; i < 4; i++) {
        retire_one(&freed);
        join_thread(start_thread(read_once, NULL));
    }
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(freed, 4);
    wait_until(csk_rcu_pending() == 0); /* the marker itself is counted a moment longer */
}

static void children_of_a_busy_process(void) {
#ifdef __SANITIZE_THREAD__
    /* It counts the parent's threads as alive in the child, and takes new ones with their ids for duplicates. */
    printf("not under ThreadSanitizer; ");
    return;
#endif
    static csk_rcu_node_t nodes[2][64];
    pthread_t threads[4];
    STORE(&stop, 0);
    for (int i = 0; i < 4; i++) threads[i] = start_thread(i < 2 ? read_on : retire_on, nodes[i % 2]);
    wait_until(LOAD(&started) == 4);
    CHECK_STATUS(csk_rcu_barrier(), 0); /* the reclaiming thread too */
    for (int round = 0; round < 10; round++) in_a_child(use_everything, NULL);
    STORE(&stop, 1);
    for (int i = 0; i < 4; i++) join_thread(threads[i]);
    use_everything(NULL);
}

/* Nothing can be reclaimed where the forking thread itself is what a grace period waits for; but nothing hangs. */
static void go_on_without_reclaiming(void *freed) {
    CHECK(csk_rcu_is_reading());
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    CHECK_STATUS(csk_rcu_barrier(), ENOTSUP);
    static csk_rcu_node_t node;
    node.context = freed;
    CHECK_STATUS(csk_rcu_retire(&node, reclaim), 0);
    read_once(NULL);
#ifndef __SANITIZE_THREAD__
    join_thread(start_thread(read_once, NULL));
#endif
    CHECK_EQ(*(int *)freed, 0);
}

static void fork_inside_a_section(void) {
    int freed = 0;
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    retire_one(&freed);
    in_a_child(go_on_without_reclaiming, &freed);
    CHECK_EQ(LOAD(&freed), 0);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(freed, 1);
}

static void *hold_section(void *stage) {
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    STORE((int *)stage, 1);
    wait_until(LOAD((int *)stage) == 2);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    return NULL;
}

static void find_nothing_reclaimed(void *freed) {
    read_once(NULL);
    CHECK_STATUS(csk_rcu_barrier(), ENOTSUP);
    CHECK_EQ(*(int *)freed, 0);
}

/* The reader waits for whoever forks: fork gives the grace period up after a second. */
static void fork_beside_a_section_that_does_not_end(void) {
#ifdef __SANITIZE_THREAD__
    printf("not under ThreadSanitizer; ");
    return;
#endif
    int stage = 0, freed = 0;
    pthread_t thread = start_thread(hold_section, &stage);
    wait_until(LOAD(&stage) == 1);
    retire_one(&freed);
    in_a_child(find_nothing_reclaimed, &freed);
    STORE(&stage, 2);
    join_thread(thread);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(freed, 1);
}

TEST_MAIN(TEST(children_of_a_busy_process), TEST(fork_inside_a_section), TEST(fork_beside_a_section_that_does_not_end))
