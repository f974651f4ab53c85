/* torture_races.c: waits by functions, each of which ends by a grant, or by a timeout or a cancellation that comes at
 * about the same time: at a semaphore, whose permits are counted, and at a bounded queue, whose items are. A wait that
 * was over before the call that queued it had returned is not counted: nothing raced with its grant. */
#include "torture.h"

enum { PERMITS = 3, ITEMS = 64, CLASSES = 3 };

/* A wait, and how it ended. */
typedef struct {
    csk_waiter_t waiter;
    uint32_t ended; /* how often the function was called, with this status */
    int status;
    int64_t deadline_ns;
} wait_t;

static void has_ended(csk_waiter_t *waiter, void *context, int status) {
    wait_t *wait = context;
    CHECK(waiter == &wait->waiter);
    wait->status = status;
    CHECK_EQ(ADD(&wait->ended, 1), 1);
}

static void linger(uint64_t most) {
    for (uint64_t left = below(most); left > 0; left--) __asm__ volatile("");
}

/* One half has a deadline, the other is taken out. Deadlines lie as near as grants. */
static bool prepare(wait_t *wait) {
    bool timed = one_in(2);
    wait->deadline_ns = timed ? csk_deadline_after((int64_t)below(20000)) : CSK_NEVER;
    return timed;
}

/* Waits until a wait that was queued is over, and returns its status. */
static int finish(wait_t *wait, bool timed, int (*cancel)(void *object, csk_waiter_t *waiter), void *object) {
    bool races = LOAD(&wait->ended) == 0;
    if (!timed) {
        if (one_in(2)) sched_yield();
        linger(4000);
        int status = cancel(object, &wait->waiter);
        if (status == 0) tally(CANCELLED);
        else CHECK_STATUS(status, ENOENT);
    }
    wait_until(LOAD(&wait->ended) == 1);
    STORE(&wait->ended, 0);
    if (races) tally(timed ? TIMED : CANCELABLE);
    if (wait->status == ETIMEDOUT) CHECK_GE(csk_now(), wait->deadline_ns);
    if (wait->status != 0) CHECK_STATUS(wait->status, timed ? ETIMEDOUT : ECANCELED);
    tally(wait->status == 0 ? GRANTS : timed ? TIMEOUTS : CANCELS);
    return wait->status;
}

/* ---- Permits ----------------------------------------------------------------------------------------------------- */

typedef struct {
    csk_sem_t sem;
    int64_t inside; /* permits that somebody has */
} permits_t;

static int cancel_permits(void *object, csk_waiter_t *waiter) {
    return csk_sem_cancel(&((permits_t *)object)->sem, waiter);
}

static void *race_for_permits(void *context) {
    permits_t *permits = context;
    wait_t wait = { .ended = 0 };
    while (!stopped()) {
        uint32_t count = one_in(4) ? 2 : 1;
        csk_rank_t rank = csk_rank((int32_t)below(CLASSES), CSK_PLACE_BACK);
        bool timed = prepare(&wait);
        CHECK_STATUS(csk_sem_wait_async(&permits->sem, rank, &wait.waiter, count, wait.deadline_ns, has_ended, &wait),
                     0);
        if (finish(&wait, timed, cancel_permits, permits) != 0) continue;
        CHECK_LE(ADD(&permits->inside, count), PERMITS);
        if (one_in(64)) sched_yield(); /* so that others come to wait */
        linger(400);
        CHECK_GE(__atomic_sub_fetch(&permits->inside, count, __ATOMIC_SEQ_CST), 0);
        CHECK_STATUS(csk_sem_post(&permits->sem, count), 0);
    }
    return NULL;
}

void torture_sem_races(void) {
    static struct crowd workers;
    static permits_t permits;
    permits.inside = 0;
    CHECK_STATUS(csk_sem_init(&permits.sem, PERMITS, PERMITS), 0);
    crowd_start(&workers, torture_threads, race_for_permits, &permits);
    torture_wait();
    STORE(&torture_stop, 1);
    crowd_join(&workers);
    CHECK_EQ(permits.inside, 0);
    CHECK_EQ(csk_sem_waiting(&permits.sem), 0);
    CHECK_EQ(csk_sem_permits(&permits.sem), PERMITS);
    CHECK_EQ(torture_total(CANCELS), torture_total(CANCELLED));
    CHECK_STATUS(csk_sem_destroy(&permits.sem), 0);
}

/* ---- Items ------------------------------------------------------------------------------------------------------- */

typedef struct {
    csk_pqueue_item_t item;
    uint32_t inside; /* 1 from before it is pushed until after it was taken out, or its push was in vain */
} entry_t;

typedef struct {
    csk_pqueue_t queue;
    uint64_t pushed, taken;
    uint32_t next_worker;
    entry_t entries[][ITEMS]; /* a row for each thread that pushes */
} items_t;

static int cancel_item(void *object, csk_waiter_t *waiter) {
    return csk_pqueue_cancel(&((items_t *)object)->queue, waiter);
}

static void push_in_races(items_t *items, entry_t *own, wait_t *wait) {
    entry_t *entry = &own[below(ITEMS)];
    if (LOAD(&entry->inside)) return;
    bool timed = prepare(wait);
    STORE(&entry->inside, 1);
    CHECK_STATUS(csk_pqueue_push_async(&items->queue, (int32_t)below(CLASSES), &wait->waiter, &entry->item,
                                       wait->deadline_ns, has_ended, wait),
                 0);
    if (finish(wait, timed, cancel_item, items) == 0) ADD(&items->pushed, 1);
    else STORE(&entry->inside, 0);
}

static void pop_in_races(items_t *items, wait_t *wait) {
    bool timed = prepare(wait);
    CHECK_STATUS(csk_pqueue_pop_async(&items->queue, &wait->waiter, wait->deadline_ns, has_ended, wait), 0);
    if (finish(wait, timed, cancel_item, items) != 0) return;
    entry_t *entry = (entry_t *)csk_pqueue_taken(&wait->waiter);
    CHECK_EQ(__atomic_exchange_n(&entry->inside, 0, __ATOMIC_SEQ_CST), 1);
    ADD(&items->taken, 1);
}

static void *race_for_items(void *context) {
    items_t *items = context;
    uint32_t which = ADD(&items->next_worker, 1) - 1;
    wait_t wait = { .ended = 0 };
    while (!stopped()) {
        if (which % 2 == 0) push_in_races(items, items->entries[which / 2], &wait);
        else pop_in_races(items, &wait);
    }
    return NULL;
}

void torture_pqueue_races(void) {
    static struct crowd workers;
    items_t *items = calloc(1, sizeof *items + (size_t)torture_threads * sizeof items->entries[0]);
    CHECK(items != NULL);
    CHECK_EQ(csk_pqueue_init(&items->queue, 2), 0);
    crowd_start(&workers, torture_threads, race_for_items, items);
    torture_wait();
    STORE(&torture_stop, 1);
    crowd_join(&workers);
    csk_pqueue_item_t *item;
    CHECK_EQ(csk_pqueue_waiting(&items->queue), 0);
    for (uint64_t left = csk_pqueue_drain(&items->queue, &item); item != NULL; item = item->next, left--) {
        CHECK_GE(left, 1);
        CHECK_EQ(__atomic_exchange_n(&((entry_t *)item)->inside, 0, __ATOMIC_SEQ_CST), 1);
        items->taken++;
    }
    CHECK_EQ(items->taken, items->pushed);
    for (int i = 0; i < torture_threads; i++)
        for (int j = 0; j < ITEMS; j++) CHECK_EQ(items->entries[i][j].inside, 0);
    CHECK_EQ(torture_total(CANCELS), torture_total(CANCELLED));
    CHECK_STATUS(csk_pqueue_destroy(&items->queue), 0);
    free(items);
}
