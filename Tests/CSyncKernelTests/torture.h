/* torture.h: what the parts of torture_test share: counters that any thread may bump, random numbers, the crowd of
 * threads.
 *
 * A part makes its object anew, lets a crowd at it until `stop`, waits until everybody is served, and checks that the
 * counts add up. What it checks on the way fails at once, with CHECK. */
#ifndef CSK_TORTURE_H
#define CSK_TORTURE_H

#include "test.h"

#include <csynckernel/csynckernel.h>

enum {
    GRANTS, /* times that the object was had: also items that were pushed or popped, functions that were called,
                   entries that were found, values that were destroyed */
    TIMEOUTS,
    CANCELS, /* functions that were called with ECANCELED */
    REFUSED, /* EBUSY, EEXIST or ESHUTDOWN of a call that does not wait */
    CLOSED,  /* ESHUTDOWN */
    ADOPTED,
    LOST, /* provisional grants that were taken back, entries that another thread took out first */
    FORGOTTEN,
    RESIZED,    /* changes of the semaphore's size */
    WRITES,     /* grants of the read-write lock to writers, entries that were put in */
    TIMED,      /* waits whose grant raced with a timeout */
    CANCELABLE, /* waits whose grant raced with a cancellation */
    CANCELLED,  /* calls of a _cancel that said 0 */
    COUNTERS
};

enum { TORTURE_MAX_THREADS = 512 };

/* One for each thread of the crowd, and the first for all others; a cache line or more apart. */
struct torture_counts {
    uint64_t of[16];
};
extern struct torture_counts torture_counts[TORTURE_MAX_THREADS + 8];
extern _Thread_local int torture_slot;
extern _Thread_local uint64_t torture_random_state;
extern uint64_t torture_round_seed;
extern int torture_threads, torture_stop;
extern bool torture_with_stops; /* --stops */

static inline void tally(int which) {
    __atomic_fetch_add(&torture_counts[torture_slot].of[which], 1, __ATOMIC_RELAXED);
}

uint64_t torture_total(int which);

/* A random number below `bound`, from the calling thread's own sequence. */
static inline uint64_t below(uint64_t bound) {
    if (torture_random_state == 0) torture_random_state = test_seed(torture_round_seed + (uint64_t)torture_slot);
    return test_random_below(&torture_random_state, bound);
}

static inline bool one_in(uint64_t chances) { return below(chances) == 0; }
static inline bool stopped(void) { return __atomic_load_n(&torture_stop, __ATOMIC_RELAXED) != 0; }

/* Mostly 0 to 200 us from now; now and then one that has passed. */
static inline int64_t near_deadline(void) {
    return one_in(16) ? (int64_t)below(2) : csk_deadline_after((int64_t)below(200000));
}

static inline void dawdle(void) {
    if (one_in(8)) sched_yield();
}

static inline void suspend_a_while(csk_workqueue_t *queue) {
    CHECK_STATUS(csk_workqueue_suspend(queue), 0);
    dawdle();
    CHECK_STATUS(csk_workqueue_resume(queue), 0);
}

/* Threads that run body(context) each in a slot of its own. */
struct crowd {
    pthread_t threads[TORTURE_MAX_THREADS + 8];
    int count;
    pthread_t stopper; /* with --stops */
    uint32_t stopper_ends;
};
void crowd_start(struct crowd *crowd, int count, void *(*body)(void *), void *context);
void crowd_join(struct crowd *crowd);

/* The time that a part is given: returns when it is over, with `torture_stop` still 0. */
void torture_wait(void);

void torture_gate(uint32_t policy, uint32_t bypass_limit);
void torture_late(uint32_t policy);
void torture_late_rwlock(void);
void torture_mutex(void);
void torture_pqueue(uint64_t capacity);
void torture_rwlock(uint32_t policy, uint32_t reader_bias);
void torture_sem(void);
void torture_sem_races(void);
void torture_pqueue_races(void);
void torture_workqueue(uint32_t width, uint32_t capacity, int32_t when_full);
void torture_delayed(uint32_t width, uint32_t capacity, int32_t when_full);
void torture_pool(void);
void torture_tls(void);
void torture_rcu_map(bool one_hash);

#endif
