/* torture_sem.c: a crowd at one semaphore: requests for one permit and for several, of three priorities, by threads
 * with and without deadlines and by functions, cancellations, and a size that keeps changing. */
#include "torture.h"

enum { WAITERS_EACH = 2, LEAST = 3, MOST = 8 };

typedef struct arena arena_t;

/* As in torture_gate.c: whoever sets `busy` may queue it, `armed` is 1 while a call is owed. */
typedef struct {
    csk_waiter_t waiter;
    arena_t *arena;
    uint32_t busy, armed, permits;
    int64_t deadline_ns;
} request_t;

struct arena {
    csk_sem_t sem;
    int64_t inside; /* permits that somebody has */
    request_t requests[];
};

static void have(arena_t *arena, uint32_t permits) {
    CHECK_LE(__atomic_add_fetch(&arena->inside, permits, __ATOMIC_RELAXED), MOST);
    tally(GRANTS);
    if (one_in(32)) sched_yield();
    CHECK_GE(__atomic_sub_fetch(&arena->inside, permits, __ATOMIC_RELAXED), 0);
    /* In parts, so that a large request waits for several signals. */
    for (; permits > 1 && one_in(2); permits--) CHECK_STATUS(csk_sem_post(&arena->sem, 1), 0);
    CHECK_STATUS(csk_sem_post(&arena->sem, permits), 0);
}

static void called(csk_waiter_t *waiter, void *context, int status) {
    request_t *request = context;
    CHECK(waiter == &request->waiter);
    CHECK_EQ(__atomic_exchange_n(&request->armed, 0, __ATOMIC_SEQ_CST), 1);
    switch (status) {
    case 0: have(request->arena, request->permits); break;
    case ETIMEDOUT:
        CHECK_GE(csk_now(), request->deadline_ns);
        tally(TIMEOUTS);
        break;
    default: CHECK_STATUS(status, ECANCELED); tally(CANCELS);
    }
    STORE(&request->busy, 0);
}

static void submit(request_t *request, int32_t priority, uint32_t permits) {
    uint32_t idle = 0;
    if (!__atomic_compare_exchange_n(&request->busy, &idle, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return;
    request->permits = permits;
    request->deadline_ns = one_in(3) ? CSK_NEVER : near_deadline();
    STORE(&request->armed, 1);
    CHECK_STATUS(csk_sem_wait_async(&request->arena->sem, csk_rank(priority, (int)below(3)), &request->waiter, permits,
                                    request->deadline_ns, called, request),
                 0);
}

static void wait_in_thread(arena_t *arena, int32_t priority, uint32_t permits) {
    int64_t deadline_ns = one_in(3) ? CSK_NEVER : near_deadline();
    bool tries = one_in(4);
    int status = tries ? csk_sem_trywait(&arena->sem, priority, permits)
                       : csk_sem_timedwait(&arena->sem, priority, permits, deadline_ns);
    if (status == 0) {
        have(arena, permits);
        return;
    }
    CHECK_STATUS(status, tries ? EBUSY : ETIMEDOUT);
    if (!tries) CHECK_GE(csk_now(), deadline_ns);
    tally(tries ? REFUSED : TIMEOUTS);
}

static void *take_turns(void *context) {
    arena_t *arena = context;
    uint64_t requests = (uint64_t)torture_threads * WAITERS_EACH;
    while (!stopped()) {
        request_t *request = &arena->requests[below(requests)];
        int32_t priority = (int32_t)below(3);
        /* Whoever waits is served in the end: the size is never less. */
        uint32_t permits = one_in(2) ? 1 : 1 + (uint32_t)below(LEAST);
        uint64_t what = below(16);
        if (what < 4) {
            submit(request, priority, permits);
        } else if (what == 4) {
            int status = csk_sem_cancel(&arena->sem, &request->waiter);
            if (status == 0) tally(CANCELLED);
            else CHECK_STATUS(status, ENOENT);
        } else if (what == 5) {
            CHECK_STATUS(csk_sem_resize(&arena->sem, LEAST + (uint32_t)below(MOST - LEAST + 1)), 0);
            tally(RESIZED);
        } else {
            wait_in_thread(arena, priority, permits);
        }
        dawdle();
    }
    return NULL;
}

void torture_sem(void) {
    static struct crowd workers;
    int requests = torture_threads * WAITERS_EACH;
    arena_t *arena = calloc(1, sizeof *arena + (size_t)requests * sizeof(request_t));
    CHECK(arena != NULL);
    csk_sem_attr_t attr = { .most = MOST, .policy = (uint32_t)below(2) };
    CHECK_STATUS(csk_sem_init_attr(&arena->sem, LEAST, &attr), 0);
    for (int i = 0; i < requests; i++) arena->requests[i].arena = arena;
    crowd_start(&workers, torture_threads, take_turns, arena);
    torture_wait();
    STORE(&torture_stop, 1);
    crowd_join(&workers);
    for (int i = 0; i < requests; i++) wait_until(LOAD(&arena->requests[i].busy) == 0);
    for (int i = 0; i < requests; i++) CHECK_EQ(arena->requests[i].armed, 0);
    CHECK_EQ(arena->inside, 0);
    CHECK_EQ(csk_sem_waiting(&arena->sem), 0);
    CHECK_STATUS(csk_sem_resize(&arena->sem, MOST), 0);
    CHECK_EQ(csk_sem_permits(&arena->sem), MOST);
    CHECK_EQ(torture_total(CANCELS), torture_total(CANCELLED));
    CHECK_STATUS(csk_sem_destroy(&arena->sem), 0);
    free(arena);
}
