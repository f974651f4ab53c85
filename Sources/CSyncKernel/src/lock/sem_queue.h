/* sem_queue.h: the semaphore's word, its queue of waiters, and the operations on them under the queue lock.
 *
 * state (64 bits)
 *   bit 0        WAITERS     the queue is not empty; changed only under the queue lock
 *   bits 1..31   in all      how many permits there are in all, by csk_sem_init and csk_sem_resize
 *   bits 32..63  free        the free permits, a signed number: csk_sem_resize may take some that are out
 *
 *   WAITERS   a thread that comes                       a post, a change of the size
 *      0      takes permits by a compare-and-swap,      adds permits by a compare-and-swap
 *             or queues if there are too few
 *      1      takes the queue lock; it passes those     takes the queue lock, and hands the permits
 *             of a lower rank, and a told one of        to the first in order, or tells it to take
 *             its own                                   them
 *
 * What may change the word. Without WAITERS any thread may, by a compare-and-swap of the whole word. With WAITERS only
 * the owner of the queue lock may, so a plain store is enough there. csk_sem_settle sets the flag first, by a locked
 * instruction, and from then on no other thread changes the word. The store that clears the flag is its last access.
 *
 * While it records its holder, or its holder is pinned (below), WAITERS is set, whether the queue is empty or not.
 *
 * Who is handed permits, and who is told. A granted waiter has its permits from that step on. The head is told (TRY)
 * where it is enough: then no thread has to be scheduled before the permits are used again.
 *
 *   the head is                                     free           csk_sem_serve
 *   -                                               too few        does nothing
 *   a thread of a FAST semaphore that is patient,   just enough    tells it, unless it was told; the permits stay free
 *   and was not overtaken too often
 *   the same                                        more           hands over, also to one that was told; goes on
 *   any other                                       enough         hands over; goes on
 *
 * So at most one waiter is told that stands first. None of those behind it waits for it where there is more than it
 * asks for: it may be long in coming, since the system has no processor for it.
 *
 * A thread that was told looks under the queue lock (csk_sem_try), where it finds itself in one of these states.
 *
 *   first, enough are free   it takes its permits, as if it had been handed them
 *   first, too few are       a newcomer has passed it: it spins for a moment, still told, and looks again. Then it
 *                            says that it is not on its way any more (WAITING); 0.25 to 0.78 ms or more after it came
 *                            it sets `hand_over` too, for it has lost its patience (csk_gate_has_lost_patience)
 *   not first                whoever made another one first has served that. It says WAITING
 *   granted                  it waits for GRANTED, which follows TRY once its granter has dropped the queue lock. So
 *                            it changes TRY to WAITING by a compare-and-swap: GRANTED stays
 *
 * Each change of the word between WAITING and TRY, and of `hand_over`, is made under the queue lock.
 *
 * Who passes. A newcomer of a higher rank than the head's passes. One of its rank passes only while the head is told,
 * and if it asks for no less: just as many are free as both ask for. So a smaller request never passes a larger one of
 * its rank. Each pass counts (arrivals.h), and none passes a waiter that was overtaken too often. Callbacks that come
 * queue.
 *
 * How long a waiter is passed by its own rank. While it is told and has no processor, by all that come. Once it runs,
 * it looks and gives up in a few microseconds, and after its patience it is handed the next permits: then none of its
 * rank passes. So if newcomers never stop coming it waits for its patience, and until they give back as many as it asks
 * for.
 *
 * The order. The heap has all waiters by rank and ticket. Only its first is ever served, or the one that was overtaken
 * too often (arrivals.h): the head. So a large request at the head bars its own rank and lower ones, and a newcomer of
 * a higher rank becomes the head itself.
 *
 * Why no waiter is left asleep. Whenever the queue lock is free, WAITERS says whether the queue is empty, unless the
 * semaphore records or pins its holder; and the head, if there is one, asks for more than is free, or for as much and
 * is told. One that is told comes and takes them, or finds too few or another head, or its deadline takes it out, which
 * settles. Each change of the queue ends with csk_sem_settle, and each change of the permits under the queue lock with
 * csk_sem_serve, which make that true again. (A newcomer that passes takes permits, but may be the one too many that
 * makes another waiter the head: so it serves.) A post that adds permits without the queue lock has compared a word
 * without WAITERS. A waiter that came before it would have set the flag, and one that comes after it finds the permits
 * in csk_sem_settle.
 *
 * When the semaphore may be freed. A post, or a change of the size, touches nothing of it once a wait can have
 * returned by its permits and there are no other waiters.
 * - Without WAITERS, the compare-and-swap that adds them is its last access.
 * - Under the queue lock it hands them to waiters that are notified after that lock is free (csk_effects_perform).
 *   Others may take what is left before that; but the wait of a waiter that was served has not returned yet.
 * - If it serves no waiter, or tells one, WAITERS stays set, and the head still waits. A thread that takes permits
 *   then, or takes the head out, takes the queue lock first.
 * - If it finds the queue empty under the lock, it adds nothing there: it drops the lock and begins again. Otherwise a
 *   thread that takes the permits by a compare-and-swap could free the semaphore before the lock is dropped.
 * A waiter that gives up or is cancelled lets others in. They are notified after the queue lock is free, and from then
 * on the semaphore is not touched either. The clock of an asynchronous waiter is stopped, and the clock's function has
 * ended, before the waiter's own is called.
 *
 * The holder of the permit. A csk_held_sem_t may record it itself.
 *
 *   notes
 *   NEVER  it does not, for good; also of each semaphore that is no csk_held_sem_t
 *   MAY    it does not now: it would if a view or watch wanted it when the next one has to wait
 *   NOTES  WAITERS is set, so every call comes to the queue lock, and keeps `holder` there: the task or thread that
 *          takes the permit, or is handed it, is written with it; with a post it is 0. Also 0: a callback of which no
 *          task is known, and a holder from before NOTES began.
 *
 *   from   to     by
 *   MAY    NOTES  the first that must wait while recording is wanted: under the queue lock, with the flag set. Or from
 *                 the beginning, before the semaphore is shared
 *   NOTES  MAY    a post, when it is not wanted any more; and the first thread in a child of fork in which it is not.
 *                 One that was made in the child looks like the parent's to its first thread
 *   NOTES  NEVER  a post of another than the holder, of several permits, or where one is free; a change of the size:
 *                 this is no lock
 *
 * Such a semaphore is STRICT: nobody passes a waiter of its own rank, so `urgency` (below) is not another's.
 *
 * `notes` and `holder` are changed under the queue lock. `notes` is read without it as a hint, or for NEVER, which is
 * final. `holder` is read without it by views: it never names one that does not have the permit at that moment. While
 * `notes` is not NEVER each waiter in the queue has `task`, so that the thread that serves it can write it. A post
 * that ends NOTES with an empty queue clears the flag before it has added its permits, and begins again: until it has
 * added them the semaphore may not be freed because of them.
 *
 * Raising the holder. A task that waits may want the holder to be as urgent as itself. It may use the holder's task as
 * long as that has not given the permit back. So it pins the holder.
 *
 *   pins       bits 0..30  how many keep the holder from giving the permit back
 *              bit 31      a thread waits for their end: a park word
 *   urgency    the highest priority of which the holder was notified; 0: of none; SEM_SEES_FOR_ITSELF: it was granted
 *              the permit, and has not begun to hold it (csk_sem_begin_holding), which notifies it of all waiters
 *   urgent     at each level of urgency, how many tasks wait. A task changes it without the lock: up before it looks
 *              for the holder, down once its wait is decided. In a child of fork the parent's stay counted, so a holder
 *              there may be raised for nobody
 *
 * The first two are changed under the queue lock. Argument: a pinning thread finds WAITERS set under the queue lock,
 * and sets `pins`, for which WAITERS stays set (csk_sem_is_busy). So a post from then on comes to the queue lock, and
 * waits there while pins is not 0. A post that came before has compared a word without WAITERS, and its task has
 * written the holder as 0 before that; the step that set WAITERS acquires it. Then the pinning thread reads 0, or a
 * later holder of which the same is true. Under the queue lock no other waiter is granted the permit, so the holder
 * that is read has it.
 *
 * A thread that takes the permit without the queue lock writes the holder shortly after. Until then it can't be pinned,
 * which csk_sem_pin_holder says. No waiter misses one that was granted the permit: both steps are taken under the queue
 * lock, and the second one sees the first: the waiter finds the holder, or the holder finds the waiter counted.
 *
 * Scopes (csk_scoped_sem_t). Any thread may post there, so a post waits for no pin, but the end of a scope waits
 * for those of its own task. `scope` is written without the lock by the begin of a scope, and by its end, if it is
 * still its own. So it is the last one's where several have begun one. `raised` is the task of which `pins` and
 * `urgency` speak, changed under the queue lock while pins is 0. The argument is the same, with a step that ends a
 * scope in place of a post: before that step the task has found another's number in `scope`, or has written 0. Either
 * comes after its own number in the order of that word, so a thread that sees the step does not read that number. An
 * end that finds no room takes the queue lock too, and looks at the pins there. An unknown task may have the other
 * permits, so no holder is asked for again because of them, and a granted waiter need not begin a scope.
 *
 * A pin lasts for as long as a task is raised, which calls functions of its user's. The holder waits for that when it
 * gives the permit back, as it would wait in the runtime for the same functions. `urgency` of 0 is restored by the
 * first that waits, and by each that begins to hold.
 *
 * Too many. What is free is never more than `most`: that is checked in the word that is replaced. Where there is no
 * room beside what the head was told of, the head is handed that first (make_beside_told in sem.c).
 *
 * Memory order. A compare-and-swap that takes acquires; one that adds releases. csk_sem_settle acquires by the step
 * that sets the flag what all posts before it have released, and csk_sem_serve releases it with its store. What is
 * handed over goes by the waiter's word (spin_park.h).
 *
 * fork. The first thread that takes the queue lock in the child forgets the parent's waiters, and clears the flag,
 * unless the semaphore records its holder there. The permits stay, and how many there are in all, which are one word: a
 * change of the parent's is there or it is not. A child that never meets the flag takes no lock, and needs none. */
#ifndef CSK_INTERNAL_SEM_QUEUE_H
#define CSK_INTERNAL_SEM_QUEUE_H

#include "csynckernel/name.h"
#include "csynckernel/sem.h"
#include "wait/waiter.h"

#define SEM_WAITERS CSK_SEM_WAITERS
#define SEM_IN_ALL UINT64_C(2) /* one permit of those in all */

enum { SEM_HAS_SCOPES = 2 };                           /* csk_sem_t.has_holder; 1: it has a holder alone */
enum { SEM_NOTES_NEVER = 0, SEM_MAY_NOTE, SEM_NOTES }; /* csk_sem_t.notes */
#define SEM_SEES_FOR_ITSELF UINT8_MAX                  /* csk_sem_t.urgency */
#define SEM_PINS_AWAITED (UINT32_C(1) << 31)           /* csk_sem_t.pins */

static inline bool csk_sem_is_strict(const csk_sem_t *sem) { return sem->limit_and_policy & CSK_SEM_STRICT; }
static inline uint32_t csk_sem_most(const csk_sem_t *sem) { return CSK_SEM_MAX - sem->below_max; }
/* Whether a wait may ask for that. */
static inline bool csk_sem_is_request(const csk_sem_t *sem, csk_rank_t rank, uint32_t permits) {
    return csk_is_rank_or_unnamed(rank) && permits != 0 && permits <= csk_sem_most(sem);
}

/* Called under the queue lock, which was the parent's. */
void csk_sem_begin_in_child(csk_sem_t *sem);
static inline void csk_sem_lock_queue(csk_sem_t *sem) {
    if (CSK_UNLIKELY(csk_queue_lock(&sem->queue_lock))) csk_sem_begin_in_child(sem);
}

/* The next seven are called under the queue lock. */
static inline csk_waiter_t *csk_sem_first(const csk_sem_t *sem) {
    csk_arrival_t *overdue = csk_arrivals_overdue(&sem->arrivals);
    return CSK_UNLIKELY(overdue != NULL) ? csk_waiter_of_arrival(overdue)
                                         : csk_waiter_of_node(csk_heap_top(&sem->waiters));
}
/* Takes permits for a newcomer, past all waiters, if it may. The word has the flag. */
bool csk_sem_pass(csk_sem_t *sem, csk_rank_t rank, uint32_t permits, uint64_t party, csk_effects_t *effects);
/* Puts the waiter in its place, and settles. Returns false where as many wait as may. Where it has returned true and
 * the waiter is not QUEUED, the permits are its. */
bool csk_sem_insert(csk_sem_t *sem, csk_waiter_t *waiter, csk_rank_t rank, uint32_t permits, csk_effects_t *effects);
/* For a thread that was told. */
enum csk_try csk_sem_try(csk_sem_t *sem, csk_waiter_t *self, bool again, csk_effects_t *effects);
/* Hands a waiter its permits, which the caller takes out of the state. */
void csk_sem_grant(csk_sem_t *sem, csk_waiter_t *waiter, csk_effects_t *effects);
/* Called when the word has the flag. Hands out of `state` what is to be handed out, tells a waiter, and makes the rest
 * the word. */
void csk_sem_serve(csk_sem_t *sem, uint64_t state, csk_effects_t *effects);
/* Serves, and publishes whether there are waiters. */
void csk_sem_settle(csk_sem_t *sem, csk_effects_t *effects);
/* One of SEM_NOTES, ... */
static inline uint32_t csk_sem_notes(const csk_sem_t *sem) { return csk_load(&sem->notes, CSK_RELAXED); }
static inline bool csk_sem_has_scopes(const csk_sem_t *sem) { return sem->has_holder == SEM_HAS_SCOPES; }
static inline csk_scoped_sem_t *csk_sem_scoped(csk_sem_t *sem) { return (csk_scoped_sem_t *)(void *)sem; }
static inline uint32_t csk_sem_pins(const csk_sem_t *sem) { return csk_load(&sem->pins, CSK_RELAXED); }
/* Whether every call is to come to the queue lock. */
static inline bool csk_sem_is_busy(const csk_sem_t *sem) {
    return sem->waiters.root != NULL || csk_sem_notes(sem) == SEM_NOTES || csk_sem_pins(sem) != 0;
}

/* ---- The holder of the permit ------------------------------------------------------------------------------------ */

/* What a thread that comes is called as a holder: its task, or itself. 0 where that is not asked. Called without the
 * queue lock. */
uint64_t csk_sem_find_party(void);
static inline uint64_t csk_sem_party(const csk_sem_t *sem) {
    return CSK_UNLIKELY(csk_sem_notes(sem) != SEM_NOTES_NEVER) ? csk_sem_find_party() : 0;
}
/* These are called under the queue lock. */
static inline void csk_sem_note(csk_sem_t *sem, uint64_t party) {
    if (CSK_UNLIKELY(csk_sem_notes(sem) == SEM_NOTES)) csk_sem_set_holder(sem, party);
}
/* There must be a waiter. */
void csk_sem_begin_noting(csk_sem_t *sem);
static inline void csk_sem_has_waiter(csk_sem_t *sem) {
    if (CSK_UNLIKELY(csk_sem_notes(sem) == SEM_MAY_NOTE)) csk_sem_begin_noting(sem);
}
/* `party` is about to give so many permits back; 0: to change the size. Ends NOTES where that is due. */
void csk_sem_look_at_change(csk_sem_t *sem, uint32_t permits, uint64_t party);
/* A post waits until the holder is not pinned. Drops the queue lock meanwhile. */
void csk_sem_await_unpinned(csk_sem_t *sem);
/* In a child of fork: the holder was a thread of the parent. Where recording is wanted, it goes on. */
void csk_sem_forget_holder(csk_sem_t *sem);

/* The semaphore's queue, for waiter.h. */
extern const csk_queue_kind_t csk_sem_queue_kind __attribute__((visibility("hidden")));
static inline uint32_t *csk_sem_lock_for_waiter(void *object) {
    csk_sem_t *sem = object;
    csk_sem_lock_queue(sem);
    return &sem->queue_lock;
}

#endif
