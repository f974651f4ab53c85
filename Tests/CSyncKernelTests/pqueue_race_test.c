/* pqueue_race_test.c: the priority queue under threads that race; what must hold is conservation (each item comes out
 * once), order per producer, and that nobody is left waiting for what is there. */
#include "test.h"

#include <csynckernel/pqueue.h>

/* ---- A deadline against a push ----------------------------------------------------------------------------------- */

typedef struct {
    csk_pqueue_t queue;
    uint32_t round, ready, timed_done, patient_done;
    csk_pqueue_item_t *timed_item, *patient_item;
    int timed_status, patient_status;
    int rounds;
} duel_t;

/* The first in line: its deadline comes at about the time of the push. */
static void *timed_popper(void *context) {
    duel_t *duel = context;
    uint64_t random = test_seed(10);
    for (int round = 1; round <= duel->rounds; round++) {
        wait_until(LOAD(&duel->round) == (uint32_t)round);
        int64_t deadline = csk_deadline_after((int64_t)test_random_below(&random, 60000));
        duel->timed_item = NULL;
        ADD(&duel->ready, 1);
        duel->timed_status = csk_pqueue_timedpop(&duel->queue, &duel->timed_item, deadline);
        if (duel->timed_status == ETIMEDOUT) CHECK_GE(csk_now(), deadline);
        ADD(&duel->timed_done, 1);
    }
    return NULL;
}

static void a_deadline_that_races_with_a_push_loses_no_item(void) {
    static duel_t duel;
    duel = (duel_t){ .rounds = TEST_ROUNDS(20000) };
    pthread_t thread = start_thread(timed_popper, &duel);
    uint64_t random = test_seed(11);
    int grants = 0, timeouts = 0;
    for (int round = 1; round <= duel.rounds; round++) {
        csk_pqueue_item_t pushed, *left = NULL;
        STORE(&duel.round, (uint32_t)round);
        wait_until(LOAD(&duel.ready) == (uint32_t)round);
        int64_t when = csk_deadline_after((int64_t)test_random_below(&random, 70000));
        wait_until(csk_now() >= when);
        CHECK_STATUS(csk_pqueue_push(&duel.queue, 0, &pushed), 0);
        wait_until(LOAD(&duel.timed_done) == (uint32_t)round);
        int status = csk_pqueue_trypop(&duel.queue, &left);
        if (duel.timed_status == 0) {
            grants++;
            CHECK(duel.timed_item == &pushed);
            CHECK_STATUS(status, EBUSY);
        } else {
            timeouts++;
            CHECK_STATUS(duel.timed_status, ETIMEDOUT);
            CHECK(duel.timed_item == NULL);
            CHECK_STATUS(status, 0);
            CHECK(left == &pushed);
        }
    }
    join_thread(thread);
    /* Both outcomes must have been seen, or this was no race. */
    CHECK_GE(grants, duel.rounds / 100);
    CHECK_GE(timeouts, duel.rounds / 100);
    CHECK_STATUS(csk_pqueue_destroy(&duel.queue), 0);
}

static void *patient_popper(void *context) {
    duel_t *duel = context;
    for (uint32_t round = 1; round <= (uint32_t)duel->rounds; round++) {
        wait_until(LOAD(&duel->round) == round);
        wait_until(csk_pqueue_waiting(&duel->queue) == 1 || LOAD(&duel->timed_done) == round);
        duel->patient_item = NULL;
        ADD(&duel->ready, 1);
        duel->patient_status = csk_pqueue_pop(&duel->queue, &duel->patient_item);
        STORE(&duel->patient_done, round);
    }
    return NULL;
}

/* If the first in line times out as the item comes, the second must get it: a wake-up that went to the first and was
 * dropped there would hang this test. */
static void a_timeout_does_not_swallow_the_wake_up_of_the_next(void) {
    static duel_t duel;
    duel = (duel_t){ .rounds = TEST_ROUNDS(10000) };
    pthread_t timed = start_thread(timed_popper, &duel), patient = start_thread(patient_popper, &duel);
    uint64_t random = test_seed(12);
    for (uint32_t round = 1; round <= (uint32_t)duel.rounds; round++) {
        csk_pqueue_item_t first, second;
        STORE(&duel.round, round);
        wait_until(LOAD(&duel.ready) == 2 * round);
        int64_t when = csk_deadline_after((int64_t)test_random_below(&random, 70000));
        wait_until(csk_now() >= when);
        CHECK_STATUS(csk_pqueue_push(&duel.queue, 0, &first), 0);
        wait_until(LOAD(&duel.timed_done) == round);
        bool granted = duel.timed_status == 0;
        if (granted) CHECK_STATUS(csk_pqueue_push(&duel.queue, 0, &second), 0);
        wait_until(LOAD(&duel.patient_done) == round);
        CHECK_STATUS(duel.patient_status, 0);
        CHECK_EQ(csk_pqueue_count(&duel.queue), 0);
        if (granted)
            CHECK(duel.patient_item != duel.timed_item &&
                  (duel.patient_item == &first || duel.patient_item == &second));
        else CHECK(duel.patient_item == &first);
    }
    join_thread(timed);
    join_thread(patient);
    CHECK_STATUS(csk_pqueue_destroy(&duel.queue), 0);
}

/* The same race on the other side: a push whose deadline comes as the only place becomes free. */
static void *timed_pusher(void *context) {
    duel_t *duel = context;
    static csk_pqueue_item_t item;
    uint64_t random = test_seed(13);
    duel->timed_item = &item;
    for (uint32_t round = 1; round <= (uint32_t)duel->rounds; round++) {
        wait_until(LOAD(&duel->round) == round);
        int64_t deadline = csk_deadline_after((int64_t)test_random_below(&random, 60000));
        ADD(&duel->ready, 1);
        duel->timed_status = csk_pqueue_timedpush(&duel->queue, 0, &item, deadline);
        if (duel->timed_status == ETIMEDOUT) CHECK_GE(csk_now(), deadline);
        STORE(&duel->timed_done, round);
    }
    return NULL;
}

static void a_deadline_that_races_with_a_pop_loses_no_place(void) {
    static duel_t duel;
    duel = (duel_t){ .rounds = TEST_ROUNDS(20000) };
    CHECK_EQ(csk_pqueue_init(&duel.queue, 1), 0);
    pthread_t thread = start_thread(timed_pusher, &duel);
    uint64_t random = test_seed(14);
    csk_pqueue_item_t filler, *item = NULL;
    int grants = 0, timeouts = 0;
    for (uint32_t round = 1; round <= (uint32_t)duel.rounds; round++) {
        CHECK_STATUS(csk_pqueue_trypush(&duel.queue, 0, &filler), 0);
        STORE(&duel.round, round);
        wait_until(LOAD(&duel.ready) == round);
        int64_t when = csk_deadline_after((int64_t)test_random_below(&random, 70000));
        wait_until(csk_now() >= when);
        CHECK_STATUS(csk_pqueue_pop(&duel.queue, &item), 0);
        CHECK(item == &filler);
        wait_until(LOAD(&duel.timed_done) == round);
        bool granted = duel.timed_status == 0;
        *(granted ? &grants : &timeouts) += 1;
        if (!granted) CHECK_STATUS(duel.timed_status, ETIMEDOUT);
        CHECK_STATUS(csk_pqueue_trypop(&duel.queue, &item), granted ? 0 : EBUSY);
        if (granted) CHECK(item == duel.timed_item);
    }
    join_thread(thread);
    CHECK_GE(grants, duel.rounds / 100);
    CHECK_GE(timeouts, duel.rounds / 100);
    CHECK_STATUS(csk_pqueue_destroy(&duel.queue), 0);
}

/* ---- Many producers and consumers -------------------------------------------------------------------------------- */

enum { producers = 4, consumers = 3, classes = 3, each = TEST_ROUNDS(20000) };

typedef struct {
    csk_pqueue_item_t item;
    int producer, priority;
    int64_t sequence;
    uint32_t taken;
} entry_t;

typedef struct {
    csk_pqueue_t queue;
    entry_t *entries;
    uint32_t next_producer, next_consumer;
    uint64_t taken, pushed;
} crowd_t;

static void *produce(void *context) {
    crowd_t *crowd = context;
    uint32_t me = ADD(&crowd->next_producer, 1) - 1;
    uint64_t random = test_seed(100 + me);
    for (int i = 0; i < each; i++) {
        entry_t *entry = &crowd->entries[(size_t)me * each + (size_t)i];
        entry->producer = (int)me;
        entry->priority = (int)test_random_below(&random, classes);
        entry->sequence = i + 1;
        int status;
        switch (test_random_below(&random, 3)) {
        case 0: status = csk_pqueue_push(&crowd->queue, entry->priority, &entry->item); break;
        case 1:
            while ((status = csk_pqueue_trypush(&crowd->queue, entry->priority, &entry->item)) == EBUSY) sched_yield();
            break;
        default:
            do {
                int64_t deadline = csk_deadline_after((int64_t)test_random_below(&random, 50000));
                status = csk_pqueue_timedpush(&crowd->queue, entry->priority, &entry->item, deadline);
            } while (status == ETIMEDOUT);
        }
        if (status == ESHUTDOWN) break;
        CHECK_STATUS(status, 0);
        ADD(&crowd->pushed, 1);
    }
    return NULL;
}

static void *consume(void *context) {
    crowd_t *crowd = context;
    uint64_t random = test_seed(200 + ADD(&crowd->next_consumer, 1));
    int64_t last[producers][classes] = { { 0 } };
    for (;;) {
        csk_pqueue_item_t *item = NULL;
        int status;
        switch (test_random_below(&random, 3)) {
        case 0: status = csk_pqueue_pop(&crowd->queue, &item); break;
        case 1: status = csk_pqueue_trypop(&crowd->queue, &item); break;
        default:
            status = csk_pqueue_timedpop(&crowd->queue, &item,
                                         csk_deadline_after((int64_t)test_random_below(&random, 50000)));
        }
        if (status == ESHUTDOWN) return NULL;
        if (status != 0) {
            CHECK(status == EBUSY || status == ETIMEDOUT);
            continue;
        }
        entry_t *entry = (entry_t *)item;
        CHECK_EQ(ADD(&entry->taken, 1), 1);
        /* What one thread pushed in one class comes out in that order, whoever takes it. */
        CHECK(entry->sequence > last[entry->producer][entry->priority]);
        last[entry->producer][entry->priority] = entry->sequence;
        ADD(&crowd->taken, 1);
    }
}

static void *pop_one(void *queue) {
    csk_pqueue_item_t *item = NULL;
    CHECK_STATUS(csk_pqueue_pop(queue, &item), 0);
    return item;
}

static void five_hundred_poppers_get_one_item_each(void) {
    enum { count = 500 };
    static entry_t entries[count];
    static pthread_t threads[count];
    csk_pqueue_t queue = CSK_PQUEUE_INITIALIZER;
    for (int i = 0; i < count; i++) threads[i] = start_thread(pop_one, &queue);
    wait_until(csk_pqueue_waiting(&queue) == count);
    for (int i = 0; i < count; i++) CHECK_STATUS(csk_pqueue_push(&queue, i % 5, &entries[i].item), 0);
    for (int i = 0; i < count; i++) CHECK_EQ(((entry_t *)join_thread(threads[i]))->taken++, 0);
    CHECK_STATUS(csk_pqueue_destroy(&queue), 0);
}

/* Runs the crowd; closes the queue when everything was pushed, or in the middle. */
static void run_crowd(uint64_t capacity, bool close_early) {
    static crowd_t crowd;
    crowd = (crowd_t){ .entries = calloc((size_t)producers * each, sizeof(entry_t)) };
    CHECK(crowd.entries != NULL);
    CHECK_EQ(csk_pqueue_init(&crowd.queue, capacity), 0);
    pthread_t threads[producers + consumers];
    for (int i = 0; i < producers + consumers; i++)
        threads[i] = start_thread(i < producers ? produce : consume, &crowd);
    if (close_early) {
        wait_until(LOAD(&crowd.taken) > producers * each / 2);
        CHECK_STATUS(csk_pqueue_close(&crowd.queue), 0);
    }
    for (int i = 0; i < producers; i++) join_thread(threads[i]);
    CHECK_STATUS(csk_pqueue_close(&crowd.queue), 0);
    for (int i = producers; i < producers + consumers; i++) join_thread(threads[i]);
    CHECK_EQ(crowd.taken, crowd.pushed);
    if (!close_early) CHECK_EQ(crowd.pushed, producers * each);
    CHECK_EQ(csk_pqueue_waiting(&crowd.queue), 0);
    CHECK_STATUS(csk_pqueue_destroy(&crowd.queue), 0);
    free(crowd.entries);
}

static void a_crowd_loses_and_repeats_nothing(void) { run_crowd(0, false); }
static void a_crowd_at_a_small_bound_loses_and_repeats_nothing(void) { run_crowd(4, false); }
static void a_crowd_at_a_bound_of_one_loses_and_repeats_nothing(void) { run_crowd(1, false); }
static void closing_amid_a_crowd_loses_nothing_that_was_accepted(void) { run_crowd(4, true); }

/* Drains while producers wait for room and consumers for items: each item comes out by exactly one of the two ways. */
static void draining_amid_a_crowd_loses_and_repeats_nothing(void) {
    static crowd_t crowd;
    crowd = (crowd_t){ .entries = calloc((size_t)producers * each, sizeof(entry_t)) };
    CHECK(crowd.entries != NULL);
    CHECK_EQ(csk_pqueue_init(&crowd.queue, 4), 0);
    pthread_t threads[producers + consumers];
    for (int i = 0; i < producers + consumers; i++)
        threads[i] = start_thread(i < producers ? produce : consume, &crowd);
    uint64_t drained = 0;
    while (LOAD(&crowd.pushed) < producers * each) {
        csk_pqueue_item_t *item;
        drained += csk_pqueue_drain(&crowd.queue, &item);
        for (; item != NULL; item = item->next) CHECK_EQ(ADD(&((entry_t *)item)->taken, 1), 1);
        sched_yield();
    }
    for (int i = 0; i < producers; i++) join_thread(threads[i]);
    CHECK_STATUS(csk_pqueue_close(&crowd.queue), 0);
    for (int i = producers; i < producers + consumers; i++) join_thread(threads[i]);
    CHECK_EQ(crowd.taken + drained, producers * each);
    for (int i = 0; i < producers * each; i++) CHECK_EQ(crowd.entries[i].taken, 1);
    CHECK_STATUS(csk_pqueue_destroy(&crowd.queue), 0);
    free(crowd.entries);
}

TEST_MAIN(TEST(a_deadline_that_races_with_a_push_loses_no_item),
          TEST(a_timeout_does_not_swallow_the_wake_up_of_the_next),
          TEST(a_deadline_that_races_with_a_pop_loses_no_place), TEST(five_hundred_poppers_get_one_item_each),
          TEST(a_crowd_loses_and_repeats_nothing), TEST(a_crowd_at_a_small_bound_loses_and_repeats_nothing),
          TEST(a_crowd_at_a_bound_of_one_loses_and_repeats_nothing),
          TEST(closing_amid_a_crowd_loses_nothing_that_was_accepted),
          TEST(draining_amid_a_crowd_loses_and_repeats_nothing))
