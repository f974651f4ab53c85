/* sem_queue.h: the semaphore's word, its queue of waiters, and the operations on them under the queue lock.
 *
 * state (64 bits)
 *   bit 0       WAITERS     the queue is not empty; changed only under the queue lock
 *   bits 1..63  the free permits, a signed number: csk_sem_resize may take some that are out
 *
 *   WAITERS   a thread that comes                       a signal
 *      0      takes permits by a compare-and-swap,      adds permits by a compare-and-swap
 *             or queues if there are too few
 *      1      takes the queue lock; it passes those     takes the queue lock, and hands the permits
 *             of a lower rank alone                     to the first in order
 *
 * Who may change the word. Without WAITERS anybody may, by a compare-and-swap of the whole word. With WAITERS only the
 * owner of the queue lock may, so a plain store is enough there. csk_sem_settle sets the flag first, and from then on
 * nobody else changes the word.
 *
 * Permits are handed over: who is granted has them from that step on, and nobody is told to try. So this queue has no
 * designated waiter.
 *
 * The order. The heap has all waiters by rank and ticket. Only its first is ever served. So a large request at the head
 * bars its own rank and lower ones, and a newcomer of a higher rank becomes the head itself.
 *
 * Why nobody is left asleep. Whenever the queue lock is free, WAITERS says whether the queue is empty, and the head, if
 * there is one, asks for more than is free. Each change of the queue or, while WAITERS is set, of the permits ends with
 * csk_sem_settle, which makes that true again. A signal that adds permits without the queue lock has compared a word
 * without WAITERS. A waiter that came before it would have set the flag, and one that comes after it finds the permits
 * in csk_sem_settle.
 *
 * Who may free the semaphore. A signal touches nothing of it once a wait can have returned by its permits.
 * - Without WAITERS, the compare-and-swap that adds them is its last access.
 * - Under the queue lock it hands them to waiters that are told after that lock is free (csk_effects_perform). Others
 *   may take what is left before that; but the wait of a waiter that was served has not returned yet.
 * - If it serves nobody, WAITERS stays set, and who takes permits takes the queue lock first. If it finds the queue
 *   empty under the lock, it adds nothing there: it drops the lock and begins again.
 *
 * Memory order. A compare-and-swap that takes acquires; one that adds releases. csk_sem_settle acquires by the step
 * that sets the flag what all signals before it have released, and releases it with its store. What is handed over goes
 * by the waiter's word (spin_park.h).
 *
 * fork. The first thread that takes the queue lock in the child forgets the parent's waiters, and clears the flag. The
 * permits stay. A child that never meets the flag does not need that. */
#ifndef CSK_INTERNAL_SEM_QUEUE_H
#define CSK_INTERNAL_SEM_QUEUE_H

#include "csynckernel/sem.h"
#include "wait/waiter.h"

/* Called under the queue lock, which was the parent's. */
void csk_sem_begin_in_child(csk_sem_t *sem);
static inline void csk_sem_lock_queue(csk_sem_t *sem) {
    if (CSK_UNLIKELY(csk_queue_lock(&sem->queue_lock))) csk_sem_begin_in_child(sem);
}

/* The next three are called under the queue lock. */
static inline csk_gate_waiter_t *csk_sem_first(const csk_sem_t *sem) {
    return csk_waiter_of_node(csk_heap_top(&sem->waiters));
}
/* Puts the waiter in its place, and settles. */
void csk_sem_insert(csk_sem_t *sem, csk_gate_waiter_t *waiter, csk_rank_t rank, uint32_t permits,
                    csk_effects_t *effects);
/* Adds `permits`, which may be negative, hands out what can be handed out, and publishes the flag. */
void csk_sem_settle(csk_sem_t *sem, int64_t permits, csk_effects_t *effects);

static inline uint32_t csk_sem_most(const csk_sem_t *sem) { return CSK_SEM_MAX - sem->below_max; }
/* Whether a wait may ask for that. */
static inline bool csk_sem_is_request(const csk_sem_t *sem, csk_rank_t rank, uint32_t permits) {
    return csk_is_rank(rank) && permits != 0 && permits <= csk_sem_most(sem);
}

/* The semaphore's queue, for waiter.h. */
extern const csk_queue_kind_t csk_sem_queue_kind __attribute__((visibility("hidden")));

#endif
