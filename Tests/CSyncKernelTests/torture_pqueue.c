/* torture_pqueue.c: a priority queue under a crowd in which everybody pushes and pops, blocking or by a waiter: each
 * item comes out once for each time that it went in, and what one thread pushed in one class reaches another in that
 * order. */
#include "torture.h"

enum { ITEMS = 16, CLASSES = 3 };

typedef struct {
    csk_pqueue_item_t item;
    uint32_t inside; /* 1 from before it is pushed until after it was taken out */
    int owner, priority;
    uint64_t sequence;
} entry_t;

typedef struct {
    csk_pqueue_t queue;
    uint32_t next_worker;
    uint64_t pushed, taken;
    entry_t entries[][ITEMS]; /* a row for each thread */
} arena_t;

typedef struct {
    int which;
    uint64_t sequence;
    uint64_t *last; /* CLASSES for each thread: the last sequence number seen */
    csk_waiter_t waiter;
    int status;
    uint32_t ended; /* the waiter's function was called, with that status */
} worker_t;

static void take(arena_t *arena, worker_t *worker, csk_pqueue_item_t *item) {
    entry_t *entry = (entry_t *)item;
    uint64_t *last = &worker->last[entry->owner * CLASSES + entry->priority];
    CHECK(entry->sequence > *last);
    *last = entry->sequence;
    ADD(&arena->taken, 1);
    tally(GRANTS);
    CHECK_EQ(__atomic_exchange_n(&entry->inside, 0, __ATOMIC_SEQ_CST), 1);
}

static void note_refusal(int status, bool tries, int64_t deadline_ns) {
    if (status == ESHUTDOWN) {
        tally(CLOSED);
    } else if (status == ECANCELED) {
        tally(CANCELS);
    } else if (tries) {
        CHECK_STATUS(status, EBUSY);
        tally(REFUSED);
    } else {
        CHECK_STATUS(status, ETIMEDOUT);
        CHECK_GE(csk_now(), deadline_ns);
        tally(TIMEOUTS);
    }
}

static void has_ended(csk_waiter_t *waiter, void *context, int status) {
    worker_t *worker = context;
    CHECK(waiter == &worker->waiter);
    worker->status = status;
    CHECK_EQ(ADD(&worker->ended, 1), 1);
}

/* Waits for the waiter that was queued with this status, and sometimes cancels it. */
static int await(arena_t *arena, worker_t *worker, int status) {
    if (status != 0) return status;
    if (one_in(4)) {
        if (one_in(2)) dawdle();
        csk_pqueue_cancel(&arena->queue, &worker->waiter);
    }
    wait_until(LOAD(&worker->ended) == 1);
    STORE(&worker->ended, 0);
    return worker->status;
}

static int push_by_waiter(arena_t *arena, worker_t *worker, entry_t *entry, int64_t deadline_ns) {
    return await(arena, worker,
                 csk_pqueue_push_async(&arena->queue, entry->priority, &worker->waiter, &entry->item, deadline_ns,
                                       has_ended, worker));
}

static int pop_by_waiter(arena_t *arena, worker_t *worker, csk_pqueue_item_t **item, int64_t deadline_ns) {
    int status = await(arena, worker,
                       csk_pqueue_pop_async(&arena->queue, &worker->waiter, deadline_ns, has_ended, worker));
    if (status == 0) *item = csk_pqueue_taken(&worker->waiter);
    return status;
}

static int push_one(arena_t *arena, worker_t *worker) {
    entry_t *entry = &arena->entries[worker->which][below(ITEMS)];
    if (LOAD(&entry->inside)) return 0;
    /* Some threads wait for ever, but never all of them. */
    bool tries = one_in(8), waiter = one_in(3);
    int64_t deadline_ns = worker->which % 4 == 1 && one_in(2) ? CSK_NEVER : near_deadline();
    entry->owner = worker->which;
    entry->priority = (int)below(CLASSES);
    entry->sequence = ++worker->sequence;
    STORE(&entry->inside, 1);
    int status = tries    ? csk_pqueue_trypush(&arena->queue, entry->priority, &entry->item)
                 : waiter ? push_by_waiter(arena, worker, entry, deadline_ns)
                          : csk_pqueue_timedpush(&arena->queue, entry->priority, &entry->item, deadline_ns);
    if (status == 0) {
        ADD(&arena->pushed, 1);
        tally(GRANTS);
    } else {
        STORE(&entry->inside, 0);
        note_refusal(status, tries, deadline_ns);
    }
    return status;
}

static int pop_one(arena_t *arena, worker_t *worker) {
    csk_pqueue_item_t *item = NULL;
    bool tries = one_in(8), waiter = one_in(3);
    int64_t deadline_ns = worker->which % 4 == 3 && one_in(2) ? CSK_NEVER : near_deadline();
    int status = tries    ? csk_pqueue_trypop(&arena->queue, &item)
                 : waiter ? pop_by_waiter(arena, worker, &item, deadline_ns)
                          : csk_pqueue_timedpop(&arena->queue, &item, deadline_ns);
    if (status == 0) {
        take(arena, worker, item);
    } else {
        CHECK(item == NULL);
        note_refusal(status, tries, deadline_ns);
    }
    return status;
}

static void drain(arena_t *arena, worker_t *worker) {
    csk_pqueue_item_t *item, *next;
    for (csk_pqueue_drain(&arena->queue, &item); item != NULL; item = next) {
        next = item->next;
        take(arena, worker, item);
    }
}

static void *take_turns(void *context) {
    arena_t *arena = context;
    worker_t worker = { .which = (int)ADD(&arena->next_worker, 1) - 1 };
    worker.last = calloc((size_t)torture_threads * CLASSES, sizeof *worker.last);
    CHECK(worker.last != NULL);
    while (!stopped()) {
        if (one_in(256)) drain(arena, &worker);
        else if (one_in(2)) push_one(arena, &worker);
        else pop_one(arena, &worker);
        dawdle();
    }
    while (pop_one(arena, &worker) != ESHUTDOWN) {}
    free(worker.last);
    return NULL;
}

void torture_pqueue(uint64_t capacity) {
    static struct crowd workers;
    arena_t *arena = calloc(1, sizeof *arena + (size_t)torture_threads * sizeof arena->entries[0]);
    CHECK(arena != NULL);
    CHECK_EQ(csk_pqueue_init(&arena->queue, capacity), 0);
    crowd_start(&workers, torture_threads, take_turns, arena);
    torture_wait();
    STORE(&torture_stop, 1);
    CHECK_STATUS(csk_pqueue_close(&arena->queue), 0);
    crowd_join(&workers);
    CHECK_EQ(arena->taken, arena->pushed);
    CHECK_EQ(csk_pqueue_count(&arena->queue), 0);
    CHECK_EQ(csk_pqueue_waiting(&arena->queue), 0);
    for (int i = 0; i < torture_threads; i++)
        for (int j = 0; j < ITEMS; j++) CHECK_EQ(arena->entries[i][j].inside, 0);
    CHECK_STATUS(csk_pqueue_destroy(&arena->queue), 0);
    free(arena);
}
