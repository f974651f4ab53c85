/* rcu_torture_test.c: readers against updaters, in the manner of the kernel's rcutorture. An element that was replaced
 * grows one older with each grace period, and is used again at an age of ten. A reader that sees an age of two or more
 * has held an element over a whole grace period: it must never happen, and must happen when elements are reclaimed at
 * once instead. */
#include <csynckernel/csynckernel.h>

#include "test.h"

enum { READERS = 8, AGES = 10, ROUNDS = 3000 };

struct element {
    csk_rcu_node_t node;
    struct element *next;
    int age;
};

static struct element *current, *pool;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static int stop, stale, in_use;
static bool at_once;

static struct element *take(void) {
    pthread_mutex_lock(&pool_lock);
    struct element *element = pool;
    if (element != NULL) pool = element->next;
    pthread_mutex_unlock(&pool_lock);
    if (element == NULL) {
        element = calloc(1, sizeof *element);
        ADD(&in_use, 1);
    }
    __atomic_store_n(&element->age, 0, __ATOMIC_RELAXED);
    return element;
}

static void give(struct element *element) {
    pthread_mutex_lock(&pool_lock);
    element->next = pool;
    pool = element;
    pthread_mutex_unlock(&pool_lock);
}

/* A grace period has passed. */
static void grow_older(csk_rcu_node_t *node) {
    struct element *element = (struct element *)node;
    if (__atomic_add_fetch(&element->age, 1, __ATOMIC_RELAXED) < AGES)
        CHECK_STATUS(csk_rcu_retire(node, grow_older), 0);
    else give(element);
}

static void grow_older_at_once(struct element *element) {
    while (__atomic_add_fetch(&element->age, 1, __ATOMIC_RELAXED) < AGES) sched_yield();
    give(element);
}

static void *read_on(void *which) {
    uint64_t random = test_seed((uint64_t)(intptr_t)which);
    while (!LOAD(&stop)) {
        int levels = 1 + (int)test_random_below(&random, 2);
        for (int i = 0; i < levels; i++) CHECK_STATUS(csk_rcu_read_lock(), 0);
        struct element *element = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
        if (test_random_below(&random, 64) == 0) sched_yield();
        for (uint64_t turns = test_random_below(&random, 200); turns > 0; turns--) __asm__ __volatile__("");
        /* 1: replaced, and no period has ended since. */
        if (__atomic_load_n(&element->age, __ATOMIC_RELAXED) > 1) ADD(&stale, 1);
        for (int i = 0; i < levels; i++) CHECK_STATUS(csk_rcu_read_unlock(), 0);
    }
    return NULL;
}

static void *update_on(void *rounds) {
    for (intptr_t i = 0; i < (intptr_t)rounds; i++) {
        struct element *old = __atomic_exchange_n(&current, take(), __ATOMIC_ACQ_REL);
        __atomic_store_n(&old->age, 1, __ATOMIC_RELAXED);
        if (at_once) grow_older_at_once(old);
        else CHECK_STATUS(csk_rcu_retire(&old->node, grow_older), 0);
        if (i % 8 == 0) sched_yield();
    }
    return NULL;
}

static void torture(int updaters) {
    stop = stale = 0;
    current = take();
    pthread_t readers[READERS], threads[4];
    for (intptr_t i = 0; i < READERS; i++) readers[i] = start_thread(read_on, (void *)i);
    for (int i = 0; i < updaters; i++) threads[i] = start_thread(update_on, (void *)(intptr_t)(ROUNDS / TEST_SLOWDOWN));
    for (int i = 0; i < updaters; i++) join_thread(threads[i]);
    STORE(&stop, 1);
    for (int i = 0; i < READERS; i++) join_thread(readers[i]);
    while (csk_rcu_pending() != 0) CHECK_STATUS(csk_rcu_barrier(), 0);
    give(current);
    for (; pool != NULL; in_use--) {
        struct element *element = take();
        free(element);
    }
    CHECK_EQ(in_use, 0);
}

static void no_reader_holds_an_element_over_a_grace_period(void) {
    for (int updaters = 1; updaters <= 4; updaters *= 2) {
        torture(updaters);
        CHECK_EQ(stale, 0);
    }
}

static void it_is_noticed_when_elements_are_reclaimed_at_once(void) {
    at_once = true;
    torture(4);
    at_once = false;
    CHECK_GE(stale, 1);
}

TEST_MAIN(TEST(no_reader_holds_an_element_over_a_grace_period), TEST(it_is_noticed_when_elements_are_reclaimed_at_once))
