/* bypass_test.c: nobody who waits is overtaken more often than the limit says (arrivals.h), and no more may wait at a
 * semaphore than its limit says. */
#include <csynckernel/csynckernel.h>

#include "ranks.h"
#include "test.h"

enum { LOW = -3, HIGH = 7 };

/* ---- The list ---------------------------------------------------------------------------------------------------- */

/* Random arrivals, each served or gone at random, beside counts that are kept one by one. */
static void counts_are_exact(void) {
    enum { MOST = 40, STEPS = 200000, LIMIT = 5 };
    struct {
        csk_arrival_t arrival;
        uint32_t passed;
    } all[MOST] = { 0 };
    int waiting[MOST], count = 0; /* by age */
    csk_arrivals_t arrivals = { .limit = LIMIT };
    unsigned random = 1;
    for (int step = 0; step < STEPS; step++) {
        int choice = (int)(rand_r(&random) % 3);
        int place = count == 0 ? 0 : (int)((unsigned)rand_r(&random) % (unsigned)count);
        csk_arrival_t *overdue = csk_arrivals_overdue(&arrivals);
        CHECK_EQ(overdue != NULL, count != 0 && all[waiting[0]].passed >= LIMIT);
        if (overdue != NULL) CHECK(overdue == &all[waiting[0]].arrival);
        if (choice == 0 && count < MOST) {
            int free = 0;
            for (int i = 0; i < count; i++)
                if (waiting[i] == free) free++, i = -1;
            all[free].passed = 0;
            csk_arrivals_add(&arrivals, &all[free].arrival, false);
            waiting[count++] = free;
        } else if (choice == 1 && count != 0) {
            bool served = rand_r(&random) % 2;
            csk_arrivals_remove(&arrivals, &all[waiting[place]].arrival, served);
            if (served)
                for (int i = 0; i < place; i++) all[waiting[i]].passed++;
            for (int i = place + 1; i < count; i++) waiting[i - 1] = waiting[i];
            count--;
        } else if (choice == 2 && count < MOST / 2) {
            csk_arrivals_pass(&arrivals);
            for (int i = 0; i < count; i++) all[waiting[i]].passed++;
        }
    }
}

/* Those under no limit stand in the list only behind one that is under it. */
static void who_is_under_no_limit_leaves_the_list(void) {
    enum { MANY = 1000 };
    static csk_arrival_t others[MANY];
    csk_arrival_t first, last;
    csk_arrivals_t arrivals = { 0 };
    csk_arrivals_add(&arrivals, &others[0], false);
    CHECK(arrivals.oldest == NULL);
    csk_arrivals_add(&arrivals, &first, true);
    for (int i = 1; i < MANY; i++) csk_arrivals_add(&arrivals, &others[i], false);
    csk_arrivals_add(&arrivals, &last, true);
    csk_arrivals_remove(&arrivals, &first, true);
    CHECK(csk_arrivals_overdue(&arrivals) == NULL);
    int steps = 1;
    for (; steps % 3 != 0 || arrivals.oldest != &last; steps++) {
        if (steps % 3 == 0) csk_arrivals_pass(&arrivals);
        else csk_arrivals_remove(&arrivals, &others[MANY - steps], true);
    }
    CHECK(steps <= MANY / CSK_ARRIVALS_STEPS + 3);
    int passed = (steps - 1) / 3; /* the others were older */
    CHECK_EQ(arrivals.oldest_passed, passed);
    for (int i = passed; i < CSK_BYPASS_UNNAMED; i++) {
        CHECK(csk_arrivals_overdue(&arrivals) == NULL);
        csk_arrivals_pass(&arrivals);
    }
    CHECK(csk_arrivals_overdue(&arrivals) == &last);
    csk_arrivals_remove(&arrivals, &others[0], true);
    csk_arrivals_remove(&arrivals, &last, true);
    CHECK(arrivals.oldest == NULL);
    CHECK_EQ(arrivals.oldest_passed, 0);
}

/* ---- At a semaphore ---------------------------------------------------------------------------------------------- */

static int served;
static void note_served(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    CHECK_STATUS(status, 0);
    served++;
}
static bool is_served;
static void note_low(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    CHECK_STATUS(status, 0);
    is_served = true;
}

/* So many urgent ones, of which two always wait, go before one that waits at `rank` behind `older` others of a named
 * priority below it; 300 is never. */
static int passes_before(csk_rank_t rank, uint32_t bypass_limit, int older) {
    csk_sem_attr_t attr = { .bypass_limit = bypass_limit };
    csk_sem_t sem;
    CHECK_STATUS(csk_sem_init_attr(&sem, 0, &attr), 0);
    static csk_waiter_t low, urgent[2], others[8];
    for (int i = 0; i < older; i++)
        CHECK_STATUS(csk_sem_wait_async(&sem, back(LOW - 1), &others[i], 1, CSK_NEVER, note_served, NULL), 0);
    is_served = false;
    CHECK_STATUS(csk_sem_wait_async(&sem, rank, &low, 1, CSK_NEVER, note_low, NULL), 0);
    CHECK_STATUS(csk_sem_wait_async(&sem, back(HIGH), &urgent[0], 1, CSK_NEVER, note_served, NULL), 0);
    int passes = 0;
    for (; passes < 300; passes++) {
        csk_waiter_t *next = &urgent[(passes + 1) % 2];
        CHECK_STATUS(csk_sem_wait_async(&sem, back(HIGH), next, 1, CSK_NEVER, note_served, NULL), 0);
        CHECK_STATUS(csk_sem_post(&sem, 1), 0);
        if (is_served) break;
    }
    while (csk_sem_waiting(&sem) != 0) CHECK_STATUS(csk_sem_post(&sem, 1), 0);
    CHECK(is_served);
    CHECK_STATUS(csk_sem_destroy(&sem), 0);
    return passes;
}

static void an_unnamed_waiter_is_overtaken_so_often(void) {
    CHECK_EQ(passes_before(unnamed(LOW), 0, 0), CSK_BYPASS_UNNAMED);
    CHECK_EQ(passes_before(unnamed(LOW), 0, 8), CSK_BYPASS_UNNAMED);
    CHECK_EQ(passes_before(unnamed(LOW), CSK_BYPASS_NEVER, 0), 300);
}
static void a_named_one_waits_in_strict_order(void) { CHECK_EQ(passes_before(back(LOW), 0, 0), 300); }
static void a_limit_is_for_all(void) {
    CHECK_EQ(passes_before(back(LOW), 3, 0), 3);
    CHECK_EQ(passes_before(unnamed(LOW), 3, 0), 3);
}

/* Whoever finds permits beside a large request passes it, and counts. */
static void who_does_not_wait_counts_too(void) {
    csk_sem_t sem;
    csk_waiter_t large = { 0 };
    CHECK_STATUS(csk_sem_init(&sem, 1, 0), 0);
    is_served = false;
    CHECK_STATUS(csk_sem_wait_async(&sem, unnamed(LOW), &large, 2, CSK_NEVER, note_low, NULL), 0);
    for (int i = 0; i < CSK_BYPASS_UNNAMED; i++) {
        CHECK_STATUS(csk_sem_trywait(&sem, HIGH, 1), 0);
        CHECK_STATUS(csk_sem_post(&sem, 1), 0);
    }
    CHECK_STATUS(csk_sem_trywait(&sem, HIGH, 1), EBUSY);
    CHECK_STATUS(csk_sem_post(&sem, 1), 0);
    CHECK(is_served);
    CHECK_STATUS(csk_sem_destroy(&sem), 0);
}

/* The pass that makes a small request the head also serves it, beside a large one of a higher priority that waits on.
 * Who passes tries, or waits. */
static void the_last_pass_serves(void) {
    for (int waits = 0; waits < 2; waits++) {
        csk_sem_t sem;
        static csk_waiter_t large, small;
        CHECK_STATUS(csk_sem_init(&sem, 100, 0), 0);
        is_served = false;
        served = 0;
        CHECK_STATUS(csk_sem_wait_async(&sem, back(0), &large, 200, CSK_NEVER, note_served, NULL), 0);
        CHECK_STATUS(csk_sem_wait_async(&sem, unnamed(LOW), &small, 1, CSK_NEVER, note_low, NULL), 0);
        for (int i = 0; i < CSK_BYPASS_UNNAMED; i++) {
            CHECK(!is_served);
            CHECK_STATUS(waits ? csk_sem_wait(&sem, HIGH, 1) : csk_sem_trywait(&sem, HIGH, 1), 0);
        }
        CHECK(is_served);
        CHECK_EQ(csk_sem_waiting(&sem), 1);
        CHECK_EQ(csk_sem_permits(&sem), 100 - CSK_BYPASS_UNNAMED - 1);
        CHECK_STATUS(csk_sem_post(&sem, 200), 0);
        CHECK_EQ(served, 1);
        CHECK_STATUS(csk_sem_destroy(&sem), 0);
    }
}

/* What waits by a thread is bounded in the same way. */
static csk_sem_t shared;
static uint32_t thread_is_served;
static void *waits_low(void *context) {
    (void)context;
    CHECK_STATUS(csk_sem_wait_ranked(&shared, unnamed(LOW), 1, CSK_NEVER), 0);
    STORE(&thread_is_served, 1);
    return NULL;
}
static void a_thread_is_bounded_too(void) {
    static csk_waiter_t urgent[CSK_BYPASS_UNNAMED + 1];
    CHECK_STATUS(csk_sem_init(&shared, 0, 0), 0);
    pthread_t thread = start_thread(waits_low, NULL);
    wait_until(csk_sem_waiting(&shared) == 1);
    served = 0;
    for (int i = 0; i <= CSK_BYPASS_UNNAMED; i++)
        CHECK_STATUS(csk_sem_wait_async(&shared, back(HIGH), &urgent[i], 1, CSK_NEVER, note_served, NULL), 0);
    CHECK_STATUS(csk_sem_post(&shared, CSK_BYPASS_UNNAMED + 1), 0);
    join_thread(thread);
    CHECK_EQ(served, CSK_BYPASS_UNNAMED);
    CHECK_STATUS(csk_sem_post(&shared, 1), 0);
    CHECK_EQ(served, CSK_BYPASS_UNNAMED + 1);
    CHECK_STATUS(csk_sem_destroy(&shared), 0);
}

/* ---- In a priority queue ----------------------------------------------------------------------------------------- */

static int pops_before_low_of(csk_pqueue_t *queue) {
    static csk_pqueue_item_t low, urgent[2];
    csk_pqueue_item_t *item;
    CHECK_STATUS(csk_pqueue_push(queue, LOW, &low), 0);
    CHECK_STATUS(csk_pqueue_push(queue, HIGH, &urgent[0]), 0);
    int pops = 0;
    for (; pops < 300; pops++) {
        CHECK_STATUS(csk_pqueue_push(queue, HIGH, &urgent[(pops + 1) % 2]), 0);
        CHECK_STATUS(csk_pqueue_pop(queue, &item), 0);
        if (item == &low) break;
    }
    uint64_t left = csk_pqueue_count(queue);
    CHECK_EQ(left, 2);
    csk_pqueue_item_t *first;
    CHECK_EQ(csk_pqueue_drain(queue, &first), 2);
    return pops;
}
/* Once it was drained the count begins anew, and the limit is the same. */
static int pops_before_low(uint32_t bypass_limit) {
    csk_pqueue_attr_t attr = { .bypass_limit = bypass_limit };
    csk_pqueue_t queue;
    CHECK_STATUS(csk_pqueue_init_attr(&queue, &attr), 0);
    int pops = pops_before_low_of(&queue);
    CHECK_EQ(pops_before_low_of(&queue), pops);
    CHECK_STATUS(csk_pqueue_destroy(&queue), 0);
    return pops;
}
static void an_item_is_overtaken_so_often(void) {
    CHECK_EQ(pops_before_low(1), 1);
    CHECK_EQ(pops_before_low(100), 100);
    CHECK_EQ(pops_before_low(0), 300);
}

/* ---- So many may wait -------------------------------------------------------------------------------------------- */

static void a_further_one_is_refused(void) {
    csk_sem_attr_t attr = { .waiters_limit = 1 };
    csk_sem_t sem;
    static csk_waiter_t waiter, other;
    CHECK_STATUS(csk_sem_init_attr(&sem, 1, &attr), 0);
    CHECK_STATUS(csk_sem_wait_async(&sem, back(LOW), &waiter, 2, CSK_NEVER, note_served, NULL), 0);
    CHECK_EQ(csk_sem_waiting(&sem), 1);
    served = 0;
    CHECK_STATUS(csk_sem_wait_async(&sem, back(LOW), &other, 1, CSK_NEVER, note_served, NULL), EUSERS);
    CHECK_STATUS(csk_sem_timedwait(&sem, LOW, 1, csk_deadline_after(INT64_C(3600000000000))), EUSERS);
    CHECK_STATUS(csk_sem_timedwait(&sem, LOW, 1, 0), ETIMEDOUT); /* it does not wait, and is not too many */
    /* Nor is one that need not wait. */
    CHECK_STATUS(csk_sem_wait(&sem, HIGH, 1), 0);
    CHECK_STATUS(csk_sem_post(&sem, 1), 0);
    CHECK_STATUS(csk_sem_wait_async(&sem, back(HIGH), &other, 1, CSK_NEVER, note_served, NULL), 0);
    CHECK_EQ(served, 1);
    CHECK_STATUS(csk_sem_post(&sem, 2), 0);
    CHECK_EQ(served, 2);
    CHECK_STATUS(csk_sem_wait_async(&sem, back(LOW), &other, 1, CSK_NEVER, note_served, NULL), 0);
    CHECK_EQ(csk_sem_waiting(&sem), 1);
    CHECK_STATUS(csk_sem_post(&sem, 1), 0);
    CHECK_EQ(served, 3);
    CHECK_STATUS(csk_sem_destroy(&sem), 0);
}

/* More than INT32_MAX is no limit, also where twice as many would be a small number. */
static void a_limit_beyond_what_can_wait_is_none(void) {
    static const uint32_t limits[] = { UINT32_C(1) << 31, (UINT32_C(1) << 31) + 1, UINT32_MAX };
    for (int i = 0; i < 3; i++) {
        csk_sem_attr_t attr = { .waiters_limit = limits[i] };
        csk_sem_t sem;
        csk_waiter_t waiters[2] = { { .word = 0 }, { .word = 0 } };
        served = 0;
        CHECK_STATUS(csk_sem_init_attr(&sem, 0, &attr), 0);
        for (int j = 0; j < 2; j++)
            CHECK_STATUS(csk_sem_wait_async(&sem, back(LOW), &waiters[j], 1, CSK_NEVER, note_served, NULL), 0);
        CHECK_STATUS(csk_sem_post(&sem, 2), 0);
        CHECK_EQ(served, 2);
        CHECK_STATUS(csk_sem_destroy(&sem), 0);
    }
}

TEST_MAIN(TEST(counts_are_exact), TEST(who_is_under_no_limit_leaves_the_list),
          TEST(an_unnamed_waiter_is_overtaken_so_often), TEST(a_named_one_waits_in_strict_order),
          TEST(a_limit_is_for_all), TEST(who_does_not_wait_counts_too), TEST(the_last_pass_serves),
          TEST(a_thread_is_bounded_too), TEST(an_item_is_overtaken_so_often), TEST(a_further_one_is_refused),
          TEST(a_limit_beyond_what_can_wait_is_none))
