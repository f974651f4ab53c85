/* torture_mutex.c: a mutex under a crowd: levels, deadlines, strangers that try to unlock it. */
#include "torture.h"

typedef struct {
    csk_mutex_t mutex;
    uint64_t inside, count; /* the mutex protects them */
} arena_t;

static void hold_and_leave(arena_t *arena) {
    int levels = 1;
    CHECK_EQ(++arena->inside, 1);
    for (; one_in(4); levels++)
        CHECK_STATUS(one_in(2) ? csk_mutex_lock(&arena->mutex) : csk_mutex_trylock(&arena->mutex), 0);
    arena->count++;
    tally(GRANTS);
    if (one_in(32)) sched_yield();
    for (; levels > 1; levels--) {
        CHECK_STATUS(csk_mutex_unlock(&arena->mutex), 0);
        CHECK_EQ(arena->inside, 1);
    }
    arena->inside--;
    CHECK_STATUS(csk_mutex_unlock(&arena->mutex), 0);
}

static void *take_turns(void *context) {
    arena_t *arena = context;
    while (!stopped()) {
        int64_t deadline_ns = one_in(3) ? CSK_NEVER : near_deadline();
        bool tries = one_in(8);
        int status = tries ? csk_mutex_trylock(&arena->mutex) : csk_mutex_timedlock(&arena->mutex, deadline_ns);
        if (status == 0) {
            hold_and_leave(arena);
        } else if (tries) {
            CHECK_STATUS(status, EBUSY);
            tally(REFUSED);
        } else {
            CHECK_STATUS(status, ETIMEDOUT);
            CHECK_GE(csk_now(), deadline_ns);
            tally(TIMEOUTS);
        }
        if (one_in(16)) CHECK_STATUS(csk_mutex_unlock(&arena->mutex), EPERM);
        dawdle();
    }
    return NULL;
}

void torture_mutex(void) {
    static struct crowd workers;
    arena_t *arena = calloc(1, sizeof *arena);
    CHECK(arena != NULL);
    if (one_in(2)) CHECK_STATUS(csk_mutex_init(&arena->mutex), 0);
    crowd_start(&workers, torture_threads, take_turns, arena);
    torture_wait();
    STORE(&torture_stop, 1);
    crowd_join(&workers);
    CHECK_EQ(arena->count, torture_total(GRANTS));
    CHECK_STATUS(csk_mutex_trylock(&arena->mutex), 0);
    CHECK_STATUS(csk_mutex_unlock(&arena->mutex), 0);
    CHECK_STATUS(csk_mutex_destroy(&arena->mutex), 0);
    free(arena);
}
