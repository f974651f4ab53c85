/* torture_rwlock.c: readers and writers at one read-write lock: threads with and without deadlines, levels, changes of
 * sides, functions that leave at once or have their grant adopted elsewhere, cancellations. */
#include "torture.h"

enum { WAITERS_EACH = 4, CELLS = 8 };

typedef struct arena arena_t;

/* As in torture_gate.c: whoever sets `busy` may queue it, `armed` is 1 while a call is owed. */
typedef struct {
    csk_pqueue_item_t mail;
    csk_waiter_t waiter;
    arena_t *arena;
    uint32_t busy, armed;
    int64_t deadline_ns;
    int mode;
} request_t;

struct arena {
    csk_rwlock_t lock;
    csk_pqueue_t mail;
    bool biased;
    uint32_t readers, writers; /* who is inside, by their own account */
    uint64_t writes;           /* the lock protects these two: a writer changes all cells, a reader finds them
                                       equal */
    uint64_t cells[CELLS];
    request_t requests[];
};

static void check_cells(arena_t *arena) {
    for (int i = 1; i < CELLS; i++) CHECK_EQ(arena->cells[i], arena->cells[0]);
}

static void read_inside(arena_t *arena) {
    __atomic_add_fetch(&arena->readers, 1, __ATOMIC_RELAXED);
    CHECK_EQ(__atomic_load_n(&arena->writers, __ATOMIC_RELAXED), 0);
    check_cells(arena);
    if (one_in(64)) sched_yield();
    check_cells(arena);
    __atomic_sub_fetch(&arena->readers, 1, __ATOMIC_RELAXED);
    tally(GRANTS);
}

static void write_inside(arena_t *arena) {
    CHECK_EQ(__atomic_add_fetch(&arena->writers, 1, __ATOMIC_RELAXED), 1);
    CHECK_EQ(__atomic_load_n(&arena->readers, __ATOMIC_RELAXED), 0);
    for (int i = 0; i < CELLS; i++) {
        arena->cells[i]++;
        if (one_in(256)) sched_yield();
    }
    arena->writes++;
    CHECK_EQ(__atomic_sub_fetch(&arena->writers, 1, __ATOMIC_RELAXED), 0);
    tally(GRANTS);
    tally(WRITES);
}

static void leave(arena_t *arena) { CHECK_STATUS(csk_rwlock_unlock(&arena->lock), 0); }

/* ---- Functions --------------------------------------------------------------------------------------------------- */

static void submit(request_t *request);

static void called(csk_waiter_t *waiter, void *context, int status) {
    request_t *request = context;
    arena_t *arena = request->arena;
    CHECK(waiter == &request->waiter);
    CHECK_EQ(__atomic_exchange_n(&request->armed, 0, __ATOMIC_SEQ_CST), 1);
    switch (status) {
    case 0:
        /* This thread may itself read, so it can't adopt a read. */
        if (request->mode == CSK_RWLOCK_READ || one_in(4)) {
            CHECK_STATUS(csk_pqueue_push(&arena->mail, 0, &request->mail), 0);
            return;
        }
        write_inside(arena);
        leave(arena);
        break;
    case ETIMEDOUT:
        CHECK_GE(csk_now(), request->deadline_ns);
        tally(TIMEOUTS);
        break;
    default: CHECK_STATUS(status, ECANCELED); tally(CANCELS);
    }
    STORE(&request->busy, 0);
}

static void submit(request_t *request) {
    request->mode = one_in(3) ? CSK_RWLOCK_WRITE : CSK_RWLOCK_READ;
    request->deadline_ns = one_in(3) ? CSK_NEVER : near_deadline();
    STORE(&request->armed, 1);
    int status = csk_rwlock_lock_async(&request->arena->lock, &request->waiter, request->mode, request->deadline_ns,
                                       called, request);
    if (status == 0) return;
    CHECK(request->arena->biased);
    CHECK_STATUS(status, ENOTSUP);
    STORE(&request->armed, 0);
    STORE(&request->busy, 0);
}

static void *serve(void *context) {
    arena_t *arena = context;
    csk_pqueue_item_t *item;
    while (csk_pqueue_pop(&arena->mail, &item) == 0) {
        request_t *request = (request_t *)item;
        CHECK_STATUS(csk_rwlock_adopt(&arena->lock, request->mode), 0);
        tally(ADOPTED);
        if (request->mode == CSK_RWLOCK_READ) read_inside(arena);
        else write_inside(arena);
        leave(arena);
        STORE(&request->busy, 0);
    }
    return NULL;
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* True when inside. What was tried or timed may not be had. */
static bool had(int status, bool tries, int64_t deadline_ns) {
    if (status == 0) return true;
    CHECK_STATUS(status, tries ? EBUSY : ETIMEDOUT);
    if (!tries) CHECK_GE(csk_now(), deadline_ns);
    tally(tries ? REFUSED : TIMEOUTS);
    return false;
}

static void leave_as_writer(arena_t *arena) {
    csk_rwlock_t *lock = &arena->lock;
    if (one_in(16)) CHECK_STATUS(csk_rwlock_rdlock(lock), EDEADLK);
    if (one_in(16)) CHECK_STATUS(csk_rwlock_trywrlock(lock), EDEADLK);
    if (one_in(4)) {
        uint64_t seen = arena->writes;
        CHECK_STATUS(csk_rwlock_downgrade(lock), 0);
        CHECK_EQ(arena->writes, seen);
        read_inside(arena);
    }
    leave(arena);
}

static void try_to_write(arena_t *arena) {
    int64_t deadline_ns = one_in(3) ? CSK_NEVER : near_deadline();
    bool tries = one_in(8);
    if (!had(tries ? csk_rwlock_trywrlock(&arena->lock) : csk_rwlock_timedwrlock(&arena->lock, deadline_ns), tries,
             deadline_ns))
        return;
    write_inside(arena);
    leave_as_writer(arena);
}

/* From a read of one level: what was read is still true when it succeeds; else the thread is a reader still. */
static void change_to_writer(arena_t *arena) {
    int64_t deadline_ns = one_in(3) ? CSK_NEVER : near_deadline();
    uint64_t seen = arena->writes;
    bool tries = one_in(4);
    int status = tries ? csk_rwlock_tryupgrade(&arena->lock) : csk_rwlock_timedupgrade(&arena->lock, deadline_ns);
    CHECK_EQ(arena->writes, seen);
    if (status == EDEADLK) {
        CHECK(!tries);
        tally(REFUSED);
    } else if (had(status, tries, deadline_ns)) {
        write_inside(arena);
        leave_as_writer(arena);
        return;
    }
    read_inside(arena);
    leave(arena);
}

static void try_to_read(arena_t *arena) {
    csk_rwlock_t *lock = &arena->lock;
    int64_t deadline_ns = one_in(3) ? CSK_NEVER : near_deadline();
    bool tries = one_in(8);
    int levels = 1;
    if (!had(tries ? csk_rwlock_tryrdlock(lock) : csk_rwlock_timedrdlock(lock, deadline_ns), tries, deadline_ns))
        return;
    read_inside(arena);
    if (one_in(16)) CHECK_STATUS(csk_rwlock_wrlock(lock), EDEADLK);
    for (; one_in(4); levels++) CHECK_STATUS(one_in(2) ? csk_rwlock_rdlock(lock) : csk_rwlock_tryrdlock(lock), 0);
    for (; levels > 1; levels--) {
        if (one_in(8)) CHECK_STATUS(csk_rwlock_tryupgrade(lock), EDEADLK);
        read_inside(arena);
        leave(arena);
    }
    if (one_in(8)) {
        change_to_writer(arena);
        return;
    }
    leave(arena);
}

static void *take_turns(void *context) {
    arena_t *arena = context;
    uint64_t requests = (uint64_t)torture_threads * WAITERS_EACH;
    /* Long spells of reading, in which the bias comes back, and others. */
    while (!stopped()) {
        request_t *request = &arena->requests[below(requests)];
        uint32_t idle = 0;
        uint64_t what = below(arena->biased && (csk_now() >> 23) % 2 ? 400 : 16);
        if (what < 2) {
            if (__atomic_compare_exchange_n(&request->busy, &idle, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
                submit(request);
        } else if (what == 2) {
            int status = csk_rwlock_cancel(&arena->lock, &request->waiter);
            if (status == 0) tally(CANCELLED);
            else CHECK_STATUS(status, ENOENT);
        } else if (what < 6) {
            try_to_write(arena);
        } else {
            try_to_read(arena);
        }
        CHECK(!csk_rwlock_is_reading(&arena->lock) && !csk_rwlock_is_writing(&arena->lock));
        dawdle();
    }
    return NULL;
}

void torture_rwlock(uint32_t policy, uint32_t reader_bias) {
    static struct crowd workers, servants;
    int requests = torture_threads * WAITERS_EACH;
    arena_t *arena = calloc(1, sizeof *arena + (size_t)requests * sizeof(request_t));
    csk_rwlock_attr_t attr = { .policy = policy, .reader_bias = reader_bias };
    CHECK(arena != NULL);
    CHECK_STATUS(csk_rwlock_init(&arena->lock, &attr), 0);
    arena->biased = reader_bias != 0;
    for (int i = 0; i < requests; i++) arena->requests[i].arena = arena;
    crowd_start(&servants, 2, serve, arena);
    crowd_start(&workers, torture_threads, take_turns, arena);
    torture_wait();
    STORE(&torture_stop, 1);
    crowd_join(&workers);
    for (int i = 0; i < requests; i++) wait_until(LOAD(&arena->requests[i].busy) == 0);
    CHECK_STATUS(csk_pqueue_close(&arena->mail), 0);
    crowd_join(&servants);
    for (int i = 0; i < requests; i++) CHECK_EQ(arena->requests[i].armed, 0);
    CHECK_EQ(csk_rwlock_waiting(&arena->lock), 0);
    CHECK_STATUS(csk_rwlock_trywrlock(&arena->lock), 0);
    CHECK_EQ(arena->writes, torture_total(WRITES));
    CHECK_EQ(arena->cells[0], arena->writes);
    check_cells(arena);
    CHECK_EQ(torture_total(CANCELS), torture_total(CANCELLED));
    CHECK_STATUS(csk_rwlock_unlock(&arena->lock), 0);
    CHECK_STATUS(csk_rwlock_destroy(&arena->lock), 0);
    CHECK_STATUS(csk_pqueue_destroy(&arena->mail), 0);
    free(arena);
}
