/* rcu_fork_test.c: what a child of fork can do with sections, with what is retired and with new threads; and that fork
 * waits for nothing. */
#define TEST_WATCHDOG_S 60
#include "child.h"

#include <csynckernel/csynckernel.h>
#include <limits.h>

#include "base/platform.h"
#include "rcu_fixture.h"

static int stop, started;

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

/* Nodes of its own, and a start that was waited for: AddressSanitizer's allocator, unlike the C library's, stays locked
 * in a child when another thread was inside. */
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

static void use_everything(void *unused) {
    (void)unused;
    int freed = 0;
    for (int i = 0; i < 4; i++) {
        retire_one(&freed);
        join_thread(start_thread(read_once, NULL));
    }
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(freed, 4);
    CHECK_EQ(csk_rcu_pending(), 0);
}

static void *hold_section(void *stage) {
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    STORE((int *)stage, 1);
    wait_until(LOAD((int *)stage) == 2);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    return NULL;
}

/* A grace period of the child's own waits for its own sections, whoever began them. */
static void wait_for_a_section(void *unused) {
    (void)unused;
    int stage = 0, freed = 0;
    pthread_t thread = start_thread(hold_section, &stage);
    wait_until(LOAD(&stage) == 1);
    retire_one(&freed);
    for (int i = 0; i < 1000; i++) {
        sched_yield();
        CHECK_EQ(LOAD(&freed), 0);
    }
    STORE(&stage, 2);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(LOAD(&freed), 1);
    join_thread(thread);
}

static void have_a_child(void *unused) {
    use_everything(unused);
    in_a_child(use_everything, NULL);
    in_a_child(wait_for_a_section, NULL);
    use_everything(unused);
}

static void children_of_a_busy_process(void) {
    NOT_UNDER_TSAN();
    static csk_rcu_node_t nodes[2][64];
    pthread_t threads[4];
    STORE(&stop, 0);
    STORE(&started, 0);
    for (int i = 0; i < 4; i++) threads[i] = start_thread(i < 2 ? read_on : retire_on, nodes[i % 2]);
    wait_until(LOAD(&started) == 4);
    CHECK_STATUS(csk_rcu_barrier(), 0); /* the reclaiming thread too */
    for (int round = 0; round < 10; round++) {
        in_a_child(use_everything, NULL);
        in_a_child(wait_for_a_section, NULL);
        in_a_child(have_a_child, NULL);
    }
    STORE(&stop, 1);
    for (int i = 0; i < 4; i++) join_thread(threads[i]);
    use_everything(NULL);
}

/* ---- Inside a section -------------------------------------------------------------------------------------------- */

static void leave_and_reclaim(void *freed) {
    CHECK(csk_rcu_is_reading());
    CHECK_STATUS(csk_rcu_barrier(), EDEADLK);
    for (int i = 0; i < 1000; i++) {
        sched_yield();
        CHECK_EQ(LOAD((int *)freed), 0);
    }
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    CHECK_STATUS(csk_rcu_read_unlock(), EPERM);
#ifndef __SANITIZE_THREAD__
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(LOAD((int *)freed), 1);
    use_everything(NULL);
#endif
}

static void fork_inside_a_section(void) {
    int freed = 0;
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    retire_one(&freed);
    in_a_child(leave_and_reclaim, &freed);
    CHECK_EQ(LOAD(&freed), 0);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(freed, 1);
}

static void find_all_reclaimed(void *freed) {
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(LOAD((int *)freed), 1);
    use_everything(NULL);
}

/* The reader waits for whoever forks. The parent's grace period lasts meanwhile, and is inside liburcu. */
static void fork_beside_a_section_that_does_not_end(void) {
    NOT_UNDER_TSAN();
    int stage = 0, freed = 0;
    pthread_t thread = start_thread(hold_section, &stage);
    wait_until(LOAD(&stage) == 1);
    retire_one(&freed);
    for (int i = 0; i < 50; i++) {
        int64_t begin = csk_now();
        pid_t child = start_child(find_all_reclaimed, &freed);
        /* It used to wait for a second. Generous, for a busy machine. */
        CHECK_LE(csk_now() - begin, 900 * 1000000);
        CHECK_EQ(wait_for_child(child), 0);
    }
    STORE(&stage, 2);
    join_thread(thread);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(freed, 1);
}

/* ---- Inside a reclaiming function -------------------------------------------------------------------------------- */

static int inside, go_on;

static void stay(csk_rcu_node_t *node) {
    (void)node;
    STORE(&inside, 1);
    wait_until(LOAD(&go_on));
}

static void find_the_rest_reclaimed(void *freed) {
    CHECK_EQ(csk_rcu_pending(), 3);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(LOAD((int *)freed), 3);
    use_everything(NULL);
}

/* The function waits for whoever forks: as if it cancelled a timer whose function forks. It goes on in the parent
 * alone. */
static void fork_beside_a_reclaiming_function(void) {
    NOT_UNDER_TSAN();
    int freed = 0;
    static csk_rcu_node_t node;
    STORE(&inside, 0);
    STORE(&go_on, 0);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    wait_until(csk_rcu_pending() == 0);
    CHECK_STATUS(csk_rcu_retire(&node, stay), 0);
    wait_until(LOAD(&inside));
    for (int i = 0; i < 3; i++) retire_one(&freed);
    int64_t begin = csk_now();
    pid_t child = start_child(find_the_rest_reclaimed, &freed);
    CHECK_LE(csk_now() - begin, 900 * 1000000);
    CHECK_EQ(wait_for_child(child), 0);
    CHECK_EQ(LOAD(&freed), 0);
    STORE(&go_on, 1);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(freed, 3);
}

static int was_forked, freed_in_function;
static pid_t child_of_function;

static void *use_everything_on_a_thread(void *unused) {
    use_everything(unused);
    CHECK_EQ(LOAD(&freed_in_function), 3);
    fflush(stdout);
    _exit(0);
}

static void fork_there(csk_rcu_node_t *node) {
    (void)node;
    fflush(stdout);
    child_of_function = fork();
    if (child_of_function == 0) {
        alarm(TEST_WATCHDOG_S);
        CHECK_STATUS(csk_rcu_barrier(), EDEADLK);
        start_thread(use_everything_on_a_thread, NULL);
    }
    STORE(&was_forked, 1);
}

/* The forking thread goes on in the function, and reclaims for the child then. */
static void fork_inside_a_reclaiming_function(void) {
    NOT_UNDER_TSAN();
    static csk_rcu_node_t node;
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    CHECK_STATUS(csk_rcu_retire(&node, fork_there), 0);
    for (int i = 0; i < 3; i++) retire_one(&freed_in_function);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    wait_until(LOAD(&was_forked));
    CHECK_EQ(wait_for_child(child_of_function), 0);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(LOAD(&freed_in_function), 3);
}

/* ---- Barriers, and long work ------------------------------------------------------------------------------------- */

static void *wait_in_barrier(void *thread_id) {
    STORE((int32_t *)thread_id, csk_thread_id());
    CHECK_STATUS(csk_rcu_barrier(), 0);
    return NULL;
}

static void reuse_the_stacks(void *freed) {
    for (int i = 0; i < 8; i++) join_thread(start_thread(read_once, NULL));
    find_all_reclaimed(freed);
}

/* The markers lie on the stacks of threads that the child doesn't have, and whose stacks its threads get. */
static void fork_beside_barriers(void) {
    NOT_UNDER_TSAN();
    int stage = 0, freed = 0;
    int32_t ids[4] = { 0 };
    pthread_t reader = start_thread(hold_section, &stage), waiting[4];
    wait_until(LOAD(&stage) == 1);
    retire_one(&freed);
    for (int i = 0; i < 4; i++) waiting[i] = start_thread(wait_in_barrier, &ids[i]);
    for (int i = 0; i < 4; i++)
        wait_until(LOAD(&ids[i]) != 0 && csk_platform_thread_state(ids[i]) == CSK_THREAD_SLEEPS);
    CHECK_EQ(csk_rcu_pending(), 1);
    in_a_child(reuse_the_stacks, &freed);
    STORE(&stage, 2);
    join_thread(reader);
    for (int i = 0; i < 4; i++) join_thread(waiting[i]);
    CHECK_EQ(LOAD(&freed), 1);
}

struct entry {
    csk_rcu_map_entry_t entry;
    uint64_t key;
};
static struct entry entries[100000];
static int ended;

static bool has_key(const csk_rcu_map_entry_t *entry, const void *key) {
    return ((const struct entry *)entry)->key == *(const uint64_t *)key;
}

static void end_entry(csk_rcu_node_t *node) {
    (void)node;
    if (ADD(&ended, 1) == 50000) {
        STORE(&inside, 1);
        wait_until(LOAD(&go_on));
    }
}

/* Of a table that ends in steps one step is lost in the child, and with it the rest of the table; no barrier waits for
 * that. */
static void fork_beside_a_step(void) {
    NOT_UNDER_TSAN();
    csk_rcu_map_t *map;
    STORE(&inside, 0);
    STORE(&go_on, 0);
    CHECK_STATUS(csk_rcu_map_create(&map, has_key), 0);
    for (uint64_t i = 0; i < 100000; i++) {
        entries[i].key = i;
        CHECK_STATUS(csk_rcu_map_insert(map, csk_hash_int(i), &i, &entries[i].entry, NULL), 0);
    }
    CHECK_STATUS(csk_rcu_map_destroy(map, end_entry), 0);
    wait_until(LOAD(&inside));
    in_a_child(use_everything, NULL);
    STORE(&go_on, 1);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(LOAD(&ended), 100000);
}

/* ---- The end of the thread that forked --------------------------------------------------------------------------- */

static void *go_on_alone(void *unused) {
    (void)unused;
    wait_until(has_first_thread_ended());
    use_everything(NULL);
    fflush(stdout);
    _exit(0);
}

static void end_the_forking_thread(void *unused) {
    (void)unused;
    start_thread(go_on_alone, NULL);
    pthread_exit(NULL);
}

/* Of other threads one may be inside liburcu, with the lock that liburcu takes when a thread ends. */
static void the_thread_that_forked_ends(void) {
    NOT_UNDER_TSAN();
    static csk_rcu_node_t nodes[2][64];
    pthread_t threads[4];
    read_once(NULL);
    STORE(&stop, 0);
    STORE(&started, 0);
    for (int i = 0; i < 4; i++) threads[i] = start_thread(i < 2 ? read_on : retire_on, nodes[i % 2]);
    wait_until(LOAD(&started) == 4);
    for (int round = 0; round < 100; round++) in_a_child(end_the_forking_thread, NULL);
    STORE(&stop, 1);
    for (int i = 0; i < 4; i++) join_thread(threads[i]);
    use_everything(NULL);
}

/* It comes first: the library may have asked the system for nothing yet. With liburcu the word is liburcu's still,
 * which clears it by its own key when the thread ends. */
static void a_section_ends_with_the_thread_that_forked_where_no_key_is_left(void) {
    NOT_UNDER_TSAN();
    pthread_key_t keys[PTHREAD_KEYS_MAX];
    int count = 0;
    while (count < PTHREAD_KEYS_MAX && pthread_key_create(&keys[count], NULL) == 0) count++;
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    in_a_child(end_the_forking_thread, NULL);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    while (count > 0) pthread_key_delete(keys[--count]);
}

TEST_MAIN(TEST(a_section_ends_with_the_thread_that_forked_where_no_key_is_left), TEST(children_of_a_busy_process),
          TEST(fork_inside_a_section), TEST(fork_beside_a_section_that_does_not_end),
          TEST(fork_beside_a_reclaiming_function), TEST(fork_inside_a_reclaiming_function), TEST(fork_beside_barriers),
          TEST(fork_beside_a_step), TEST(the_thread_that_forked_ends))
