/* sem_fixture.h: what the clients of the semaphore share: one semaphore, an account of its permits, and the order in
 * which waiters were served. */
#ifndef EXPLORER_SEM_FIXTURE_H
#define EXPLORER_SEM_FIXTURE_H

#include "explorer.h"
#include "lock/sem_queue.h"

enum { HIGH = 5 };

static csk_sem_t *sem;
static uint32_t policy; /* of the next that is made */
static struct shared {
    uint32_t data;          /* written before a signal, read after a wait */
    uint32_t inside, count; /* of a section of one */
    uint32_t flags[4];      /* what a client's threads tell each other */
    /* Permits that are somewhere, from before the call that adds them, and that are taken, from after the call. */
    int64_t given, taken;
    uint32_t served, called, references;
    int order[8];
    int status[4]; /* of the functions of `waiters`: 1000 more than the status */
    csk_waiter_t waiters[4], *freed;
    uint32_t is_child;
} * shared;

static inline void make_with(uint32_t permits, csk_sem_attr_t attr) {
    sem = explore_allocate(sizeof *sem);
    shared = explore_allocate(sizeof *shared);
    attr.policy = policy;
    EXPECT_EQUAL(csk_sem_init_attr(sem, permits, &attr), 0);
    shared->given = permits;
}
static inline void make(uint32_t permits, uint32_t most) { make_with(permits, (csk_sem_attr_t){ .most = most }); }
__attribute__((unused)) static void make_empty(void) { make(0, 0); }
__attribute__((unused)) static void make_one(void) { make(1, 0); }
__attribute__((unused)) static void make_two(void) { make(2, 0); }

/* The same client at a FAST semaphore, and at a STRICT one. */
#define CLIENT_SEM(name, maker, ...)                      \
    static void name##_makes_fast(void) {                 \
        policy = CSK_SEM_FAST;                            \
        maker();                                          \
    }                                                     \
    static void name##_makes_strict(void) {               \
        policy = CSK_SEM_STRICT;                          \
        maker();                                          \
    }                                                     \
    CLIENT(name, .setup = name##_makes_fast, __VA_ARGS__) \
    CLIENT(name##_strict, .setup = name##_makes_strict, __VA_ARGS__)

/* Its effects go through the store buffers, like those of any code that a lock protects. */
static inline void section(void) {
    EXPECT_EQUAL(__atomic_load_n(&shared->inside, __ATOMIC_RELAXED), 0);
    __atomic_store_n(&shared->inside, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&shared->count, __atomic_load_n(&shared->count, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&shared->inside, 0, __ATOMIC_RELAXED);
}

static inline void signal_some(uint32_t permits) {
    shared->given += permits;
    EXPECT_EQUAL(csk_sem_post(sem, permits), 0);
}
static inline void wait_for(int32_t priority, uint32_t permits) {
    EXPECT_EQUAL(csk_sem_wait(sem, priority, permits), 0);
    shared->taken += permits;
}
/* Returns whether it got them. */
static inline bool wait_until_20_us(int32_t priority, uint32_t permits) {
    int64_t deadline = explore_now() + 20000;
    int status = csk_sem_timedwait(sem, priority, permits, deadline);
    if (status == 0) {
        shared->taken += permits;
        return true;
    }
    EXPECT_EQUAL(status, ETIMEDOUT);
    EXPECT(explore_now() >= deadline);
    return false;
}
static inline void give_back(uint32_t permits) {
    shared->taken -= permits;
    EXPECT_EQUAL(csk_sem_post(sem, permits), 0);
}
/* Until so many wait, and whoever queued last has published it: the queue lock has been free since. */
static inline void await_waiting(uint32_t count) {
    explore_wait(&sem->waiting, count);
    csk_sem_lock_queue(sem);
    csk_queue_unlock(&sem->queue_lock);
    EXPECT(csk_sem_waiting(sem) >= count);
}

/* Nobody waits, and each permit that was given is free or was taken. */
__attribute__((unused)) static void is_conserved(void) {
    EXPECT_EQUAL(csk_sem_waiting(sem), 0);
    EXPECT_EQUAL(sem->state & SEM_WAITERS, 0);
    EXPECT_EQUAL(csk_sem_permits(sem) + shared->taken, shared->given);
    EXPECT_EQUAL(csk_sem_destroy(sem), 0);
}

/* Whenever the queue lock is free, the flag says whether anybody waits, and who is first asks for more than there is,
 * or was told that there is as much. */
__attribute__((unused)) static void is_published(void) {
    if (sem->queue_lock != csk_process_mark()) return;
    const csk_waiter_t *first = csk_sem_first(sem);
    EXPECT_EQUAL(sem->state & SEM_WAITERS, first != NULL);
    bool told = first != NULL && __atomic_load_n(&first->word, __ATOMIC_RELAXED) == WORD_TRY;
    EXPECT(!told || !csk_sem_is_strict(sem));
    EXPECT(first == NULL || first->permits + (told ? INT64_C(0) : -1) >= csk_sem_free_in(sem->state));
    EXPECT(csk_sem_free_in(sem->state) <= csk_sem_most(sem));
}

/* ---- Functions of waiters ---------------------------------------------------------------------------------------- */

static inline int index_of(const csk_waiter_t *waiter) { return (int)(waiter - shared->waiters); }

/* Notes the call; what was granted counts as taken. */
__attribute__((unused)) static void note(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    int index = index_of(waiter);
    EXPECT_EQUAL(shared->status[index], 0);
    shared->status[index] = 1000 + status;
    if (status == 0) {
        shared->taken += waiter->permits;
        shared->order[shared->served++] = 10 + index;
    }
    shared->called++;
}
__attribute__((unused)) static void queue_async(int index, int32_t priority, uint32_t permits, int64_t deadline,
                                                csk_waiter_function_t function) {
    EXPECT_EQUAL(csk_sem_wait_async(sem, csk_rank(priority, CSK_PLACE_BACK), &shared->waiters[index], permits, deadline,
                                    function, NULL),
                 0);
}

#endif
