/* torture_gate.c: threads and asynchronous waiters at one gate; deadlines, cancellations, adoption and loss race with
 * grants. */
#include "torture.h"

enum { REQUESTS = 6, SERVANTS = 2, GRACE_US = 60 };

typedef struct arena arena_t;

/* A slot for an asynchronous waiter. Whoever sets `busy` from 0 to 1 may queue it; who ends it sets 0 again. `armed` is
 * 1 while a call of the function is owed. */
typedef struct {
    csk_pqueue_item_t mail;
    csk_waiter_t waiter;
    arena_t *arena;
    uint32_t busy, armed;
    int64_t deadline_ns;
    bool adoptable;
} request_t;

struct arena {
    csk_gate_t gate;
    csk_pqueue_t mail;      /* grants that the servants take over: they lock no gate, so they always come to it */
    uint64_t inside, count; /* the gate protects them */
    bool closed;            /* so this, written by the closing function */
    uint32_t closing_calls;
    request_t requests[];
};

static void work_inside(arena_t *arena) {
    CHECK_EQ(++arena->inside, 1);
    CHECK(!arena->closed);
    arena->count++;
    if (one_in(32)) sched_yield();
    arena->inside--;
    tally(GRANTS);
}

static csk_rank_t random_rank(void) {
    return csk_rank((int32_t)below(5) - 2, one_in(8) ? (int)below(3) : CSK_PLACE_BACK);
}

static void submit(request_t *request);

static void called(csk_waiter_t *waiter, void *context, int status) {
    request_t *request = context;
    arena_t *arena = request->arena;
    CHECK(waiter == &request->waiter);
    CHECK_EQ(__atomic_exchange_n(&request->armed, 0, __ATOMIC_SEQ_CST), 1);
    switch (status) {
    case 0:
        if (request->adoptable || one_in(4)) {
            CHECK_STATUS(csk_pqueue_push(&arena->mail, 0, &request->mail), 0);
            return;
        }
        work_inside(arena);
        CHECK_STATUS(csk_gate_unlock(&arena->gate), 0);
        break;
    case ETIMEDOUT:
        CHECK_GE(csk_now(), request->deadline_ns);
        tally(TIMEOUTS);
        break;
    default: CHECK_STATUS(status, ECANCELED); tally(CANCELS);
    }
    if (one_in(4) && !stopped()) submit(request);
    else STORE(&request->busy, 0);
}

/* The request is the function's from here on: it may have been called, and the request be somebody else's. */
static void submit(request_t *request) {
    request->adoptable = one_in(4);
    request->deadline_ns = one_in(3) ? CSK_NEVER : near_deadline();
    STORE(&request->armed, 1);
    int status = csk_gate_lock_async_ranked(&request->arena->gate, random_rank(), &request->waiter, request->adoptable,
                                            request->deadline_ns, called, request);
    if (status == 0) return;
    CHECK_STATUS(status, ESHUTDOWN);
    tally(CLOSED);
    STORE(&request->armed, 0);
    STORE(&request->busy, 0);
}

/* Adopts what was granted, in time or not. */
static void *serve(void *context) {
    arena_t *arena = context;
    csk_pqueue_item_t *item;
    while (csk_pqueue_pop(&arena->mail, &item) == 0) {
        request_t *request = (request_t *)item;
        int64_t until = one_in(4) ? csk_deadline_after((int64_t)below(4 * GRACE_US * 1000)) : 0;
        while (csk_now() < until) sched_yield();
        int status = csk_gate_adopt(&arena->gate, &request->waiter);
        if (status == 0) {
            CHECK(csk_gate_is_mine(&arena->gate));
            if (request->adoptable) tally(ADOPTED);
            work_inside(arena);
            CHECK_STATUS(csk_gate_unlock(&arena->gate), 0);
        } else {
            CHECK_STATUS(status, EAGAIN);
            CHECK(request->adoptable);
            tally(LOST);
            if (!one_in(3)) {
                STORE(&request->armed, 1);
                CHECK_STATUS(csk_gate_relock_async(&arena->gate, &request->waiter), 0);
                continue;
            }
            CHECK_STATUS(csk_gate_forget(&arena->gate, &request->waiter), 0);
            tally(FORGOTTEN);
        }
        STORE(&request->busy, 0);
    }
    return NULL;
}

static void hold_and_leave(arena_t *arena) {
    csk_gate_t *gate = &arena->gate;
    work_inside(arena);
    if (one_in(32)) CHECK_STATUS(csk_gate_lock(gate, 0), EDEADLK);
    if (one_in(32)) CHECK_STATUS(csk_gate_trylock(gate, 0), EBUSY);
    if (one_in(32)) CHECK_STATUS(csk_gate_disown(gate), 0);
    CHECK_STATUS(csk_gate_unlock(gate), 0);
}

static void enter_by_thread(arena_t *arena) {
    csk_gate_t *gate = &arena->gate;
    int64_t deadline_ns = one_in(3) ? CSK_NEVER : near_deadline();
    bool tries = one_in(8);
    int status = tries ? csk_gate_trylock(gate, (int32_t)below(5) - 2)
                       : csk_gate_lock_ranked(gate, random_rank(), deadline_ns);
    switch (status) {
    case 0: hold_and_leave(arena); break;
    case EBUSY:
        CHECK(tries);
        tally(REFUSED);
        break;
    case ETIMEDOUT:
        CHECK(!tries);
        CHECK_GE(csk_now(), deadline_ns);
        tally(TIMEOUTS);
        break;
    default: CHECK_STATUS(status, ESHUTDOWN); tally(CLOSED);
    }
}

static void *take_turns(void *context) {
    arena_t *arena = context;
    uint64_t requests = (uint64_t)torture_threads * REQUESTS;
    while (!stopped()) {
        request_t *request = &arena->requests[below(requests)];
        uint32_t idle = 0;
        switch (below(8)) {
        case 0:
        case 1:
            if (__atomic_compare_exchange_n(&request->busy, &idle, 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
                submit(request);
            break;
        case 2: {
            int status = csk_gate_cancel(&arena->gate, &request->waiter);
            if (status == 0) tally(CANCELLED);
            else CHECK_STATUS(status, ENOENT);
            break;
        }
        default: enter_by_thread(arena);
        }
        dawdle();
    }
    return NULL;
}

static void note_closed(csk_waiter_t *waiter, void *context, int status) {
    arena_t *arena = context;
    (void)waiter;
    CHECK_STATUS(status, 0);
    CHECK_EQ(arena->inside, 0);
    arena->closed = true;
    ADD(&arena->closing_calls, 1);
}

static void check_idle(arena_t *arena, bool closed) {
    csk_gate_t *gate = &arena->gate;
    if (closed) wait_until(LOAD(&arena->closing_calls) == 1);
    CHECK_EQ(csk_gate_waiting(gate), 0);
    CHECK_STATUS(csk_gate_lock(gate, 0), closed ? ESHUTDOWN : 0);
    CHECK_EQ(arena->count, torture_total(GRANTS));
    CHECK_EQ(torture_total(CANCELS), torture_total(CANCELLED));
    if (!closed) CHECK_STATUS(csk_gate_unlock(gate), 0);
    CHECK_STATUS(csk_gate_destroy(gate), 0);
}

void torture_gate(uint32_t policy, uint32_t bypass_limit) {
    static struct crowd workers, servants;
    int requests = torture_threads * REQUESTS;
    arena_t *arena = calloc(1, sizeof *arena + (size_t)requests * sizeof(request_t));
    csk_gate_attr_t attr = { .policy = policy, .bypass_limit = bypass_limit, .grace_us = GRACE_US };
    csk_waiter_t closing = { .word = 0 };
    bool close = one_in(2);
    CHECK(arena != NULL);
    CHECK_STATUS(csk_gate_init(&arena->gate, &attr), 0);
    for (int i = 0; i < requests; i++) arena->requests[i].arena = arena;
    crowd_start(&servants, SERVANTS, serve, arena);
    crowd_start(&workers, torture_threads, take_turns, arena);
    torture_wait();
    if (close) CHECK_STATUS(csk_gate_close(&arena->gate, &closing, note_closed, arena), 0);
    STORE(&torture_stop, 1);
    crowd_join(&workers);
    for (int i = 0; i < requests; i++) wait_until(LOAD(&arena->requests[i].busy) == 0);
    CHECK_STATUS(csk_pqueue_close(&arena->mail), 0);
    crowd_join(&servants);
    for (int i = 0; i < requests; i++) CHECK_EQ(arena->requests[i].armed, 0);
    check_idle(arena, close);
    CHECK_STATUS(csk_pqueue_destroy(&arena->mail), 0);
    free(arena);
}
