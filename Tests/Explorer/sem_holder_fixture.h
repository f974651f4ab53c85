/* sem_holder_fixture.h: what the clients share in which whoever waits pins a task that has permits, and raises it. A
 * thread is a task here, with its index and 16 as its number. */
#ifndef EXPLORER_SEM_HOLDER_FIXTURE_H
#define EXPLORER_SEM_HOLDER_FIXTURE_H

#include "sem_fixture.h"

static struct tasks {
    bool has_left[EXPLORE_THREADS];  /* it has given its permit back for good: nobody may use it any more */
    int32_t raised[EXPLORE_THREADS]; /* to what */
    int32_t level[EXPLORE_THREADS];  /* at which it is counted */
} * tasks;

static uint64_t number_of(int thread) { return 16 + (uint64_t)thread; }
static int me(void) { return explore_thread(); }

static inline void make_of_tasks(csk_sem_t *first_member, uint32_t permits, uint32_t most) {
    sem = first_member;
    shared = explore_allocate(sizeof *shared);
    tasks = explore_allocate(sizeof *tasks);
    shared->given = permits;
    EXPECT_EQUAL(csk_sem_init(sem, permits, most), 0);
}

/* The flag says whether a call has to come to the queue lock. */
__attribute__((unused)) static void is_published_or_pinned(void) {
    if (sem->queue_lock != csk_process_mark()) return;
    const csk_waiter_t *first = csk_sem_first(sem);
    EXPECT_EQUAL(sem->state & SEM_WAITERS, first != NULL || csk_sem_pins(sem) != 0);
    EXPECT(first == NULL || first->permits > csk_sem_free_in(sem->state));
}

/* Some were granted, and give nothing back. */
__attribute__((unused)) static void is_unpinned(void) { EXPECT_EQUAL(csk_sem_pins(sem), 0); }

/* Returns what csk_sem_pin_holder did. */
static uint64_t raise_holder(uint8_t urgency) {
    uint64_t holder = csk_sem_pin_holder(sem, urgency);
    if (holder == 0 || holder == CSK_SEM_HOLDER_NOT_TOLD) return holder;
    int thread = (int)(holder - 16);
    EXPECT(thread >= 0 && thread < EXPLORE_THREADS && !tasks->has_left[thread]);
    explore_point();
    EXPECT(!tasks->has_left[thread]);
    if (tasks->raised[thread] < urgency) tasks->raised[thread] = urgency;
    csk_sem_unpin_holder(sem);
    return holder;
}

/* Waits as a task does: its urgency is its priority. */
__attribute__((unused)) static void comes(int index, int32_t priority) {
    queue_async(index, priority, 1, CSK_NEVER, note);
    tasks->level[me()] = priority >= HIGH;
    csk_sem_count_urgent(sem, tasks->level[me()], 1);
}
__attribute__((unused)) static void waits(int index, int32_t priority) {
    comes(index, priority);
    raise_holder((uint8_t)priority);
    explore_wait(&shared->called, 1);
}
__attribute__((unused)) static void begin(void) {
    csk_sem_count_urgent(sem, tasks->level[me()], -1);
    int32_t highest = csk_sem_begin_holding(sem, number_of(me())) == 1 ? HIGH : 0;
    if (tasks->raised[me()] < highest) tasks->raised[me()] = highest;
}

#endif
