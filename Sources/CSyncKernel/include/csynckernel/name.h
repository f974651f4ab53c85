/* name.h: what objects are called in events, reports and messages.
 *
 * A name is given to an object by its address, at any time, and ends with it: where csk_name was never called, nothing
 * costs anything but one load in the functions that destroy objects.
 *
 *     static csk_mutex_t sessions;
 *     int status = csk_name(&sessions, "sessions");
 *     ... csynckernel: sessions at 0x5581...: the thread that holds it has ended; a thread has waited for 1.0 s ...
 *
 * An object without a name may have a place: where in the source it was made. It stands in two words behind the object
 * (csk_placed_gate_t and the like), and it is never copied.
 *
 * An object that csk_..._destroy ends, or csk_workqueue_release once its work has ended, loses its name then. The name
 * of any other object has to be ended by csk_unname before the memory is used for something else, or that has the name.
 *
 * These calls allocate, or take a lock for some dozen instructions, in which nothing is called. None may be called from
 * a signal handler.
 *
 * fork. The child has all names of the parent.
 *
 * Example: a lock that has a name, and one that has its place.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *     #include <string.h>
 *
 *     static csk_mutex_t sessions = CSK_MUTEX_INITIALIZER;
 *     static csk_placed_gate_t routes;
 *
 *     int main(void) {
 *         char name[64];
 *         if (csk_name(&sessions, "sessions") != 0) return 1;
 *         csk_name_of(&sessions, CSK_OBJECT_GATE, name, sizeof name);
 *         if (strcmp(name, "sessions") != 0) return 1;
 *         if (csk_mutex_destroy(&sessions) != 0) return 1;
 *
 *         csk_place_t place = { "routes.c", 11 };
 *         csk_gate_set_place(&routes, place);
 *         csk_name_of(&routes, CSK_OBJECT_GATE, name, sizeof name);
 *         printf("%s\n", name);
 *         return strcmp(name, "routes.c:11") != 0;
 *     }
 */
#ifndef CSK_NAME_H
#define CSK_NAME_H

#include "gate.h"
#include "observe.h"
#include "pqueue.h"
#include "rwlock.h"
#include "sem.h"

CSK_BEGIN_DECLS

/* The most bytes that a name may have. */
enum { CSK_NAME_MAX = 127 };

/* Gives `object` a name, which is copied, in place of the one that it had from this function before. A mutex and its
 * gate have one address, and one name. The updates of a snapshot wait at the gate `updating`, which has a name of its
 * own. Returns 0; EINVAL for NULL, and for a name that is empty, longer than CSK_NAME_MAX bytes, or has control
 * characters; or ENOMEM. After an error the object is called as before. Never blocks for long. O(1) amortized. */
CSK_API int csk_name(const void *object, const char *name);

/* Ends the name that csk_name gave. Does nothing for an object without one. O(1). */
CSK_API void csk_unname(const void *object);

/* Writes the object's name into `buffer`, cut to `size` - 1 bytes and ended by a zero, and returns how many bytes the
 * whole name has: 0 for an object without one. It may be called from any thread, and from observers and reporters. It
 * takes the first of these that there is:
 *
 * 1. the name that csk_name gave;
 * 2. the name that a work queue was made with;
 * 3. the place of the object, as "file:line".
 *
 * `kind` says what the object is (CSK_OBJECT_GATE, ..., as csk_event_t.object_kind has it). The object must exist then.
 * With CSK_OBJECT_OTHER only its address is used, and only the first kind of name found. */
CSK_API size_t csk_name_of(const void *object, uint32_t kind, char *buffer, size_t size);

/* ---- Places ------------------------------------------------------------------------------------------------------ */

/* Where an object was made. `text` lasts as long as the object. With a line of 0 `text` is the object's name itself. */
typedef struct csk_place {
    const char *text;
    uint64_t line;
} csk_place_t;

/* Objects with a place. The object is initialized first, and its place set before it is shared. Initializing the object
 * anew requires setting the place again. */
typedef struct csk_placed_gate {
    csk_gate_t gate;
    csk_place_t place;
} csk_placed_gate_t;
typedef struct csk_placed_rwlock {
    csk_rwlock_t rwlock;
    csk_place_t place;
} csk_placed_rwlock_t;
typedef struct csk_placed_sem {
    csk_sem_t sem;
    csk_place_t place;
} csk_placed_sem_t;
#define CSK_SEM_URGENCIES 4
/* A semaphore of one permit that knows its holder, for views and for the deadlock watch. It records the holder itself
 * (csk_held_sem_begin_noting), or the holder sets it (csk_held_sem_begin, csk_sem_set_holder,
 * csk_sem_set_holding_thread). */
typedef struct csk_held_sem {
    csk_placed_sem_t placed;
    uint64_t holder;
    int32_t urgent[CSK_SEM_URGENCIES]; /* of those that wait, how many are so urgent: csk_sem_count_urgent */
} csk_held_sem_t;
/* A semaphore of any number of permits. Tasks may take some for a scope, at whose end they give them back themselves.
 * The semaphore knows the last one to begin a scope (csk_scoped_sem_begin). */
typedef struct csk_scoped_sem {
    csk_held_sem_t held;
    uint64_t scope;
    uint64_t raised; /* the task that was raised last: src/lock/sem_queue.h */
} csk_scoped_sem_t;
typedef struct csk_placed_pqueue {
    csk_pqueue_t pqueue;
    csk_place_t place;
} csk_placed_pqueue_t;

/* These set the place, for example csk_gate_set_place(&placed, (csk_place_t){ __FILE__, __LINE__ }). With a `text` of
 * NULL the object has none. */
static inline void csk_gate_set_place(csk_placed_gate_t *placed, csk_place_t place) {
    placed->place = place;
    if (place.text != NULL) placed->gate.grace_and_place |= 1;
}
static inline void csk_rwlock_set_place(csk_placed_rwlock_t *placed, csk_place_t place) {
    placed->place = place;
    placed->rwlock.has_place = place.text != NULL;
}
static inline void csk_sem_set_place(csk_placed_sem_t *placed, csk_place_t place) {
    placed->place = place;
    placed->sem.has_place = place.text != NULL;
}
/* A semaphore that has just been initialized as the first member of a csk_held_sem_t knows its holder from now on, and
 * is STRICT: the permit goes from holder to holder. It is not shared yet. */
static inline void csk_held_sem_begin(csk_held_sem_t *held) {
    held->holder = 0;
    for (int level = 0; level < CSK_SEM_URGENCIES; level++) held->urgent[level] = 0;
    held->placed.sem.has_holder = 1;
    held->placed.sem.limit_and_policy |= CSK_SEM_STRICT;
}
/* As csk_held_sem_begin, and the semaphore records its holder itself, if it was initialized with one permit: the thread
 * or task that takes the permit is the holder until the next post. It records only while the deadlock watch is on
 * (deadlock.h) or callbacks are listed (csk_inspect_callbacks). A semaphore made then records at once; another one from
 * the next contended wait on, so the holder at that moment is not known. Meanwhile each call takes the semaphore's
 * queue lock; else nothing costs more.
 *
 * A task is the holder where it is known which task the thread runs (csk_deadlock_know_tasks), and where a callback
 * reported it (csk_deadlock_suspend); else the thread. A post by a thread or task that is not the holder, or without
 * a holder, shows that the semaphore is no lock. So does a change of its size. From then on no holder is known. Never
 * blocks. */
CSK_API void csk_held_sem_begin_noting(csk_held_sem_t *held);
/* Called by a task that has taken the permit, with its number, which is not 0; and with 0 before it gives the permit
 * back. `sem` is the first member of a csk_held_sem_t. */
static inline void csk_sem_set_holder(csk_sem_t *sem, uint64_t task) {
    __atomic_store_n(&((csk_held_sem_t *)(void *)sem)->holder, task, __ATOMIC_RELAXED);
}
/* Called likewise by a thread that is in no task, with csk_thread_id(). */
#define CSK_SEM_HELD_BY_THREAD (UINT64_C(1) << 63)
static inline void csk_sem_set_holding_thread(csk_sem_t *sem, int32_t thread_id) {
    csk_sem_set_holder(sem, CSK_SEM_HELD_BY_THREAD | (uint32_t)thread_id);
}
/* The number of the task that has the permit, or CSK_SEM_HELD_BY_THREAD and a thread's id; 0: there is none, or it is
 * not known. */
static inline uint64_t csk_sem_holder(const csk_sem_t *sem) {
    const csk_held_sem_t *held = (const csk_held_sem_t *)(const void *)sem;
    return sem->has_holder ? __atomic_load_n(&held->holder, __ATOMIC_RELAXED) : 0;
}
/* What csk_held_sem_begin_noting does, for a semaphore that has just been initialized as the first member of a
 * csk_scoped_sem_t. From then on it knows scopes. */
CSK_API void csk_scoped_sem_begin(csk_scoped_sem_t *scoped);
/* Called by a task that has taken permits, with its number, which is not 0. `sem` is the first member of a
 * csk_scoped_sem_t. Until csk_sem_end_scope those that wait may raise the task's priority, unless another begins a
 * scope meanwhile. */
static inline void csk_sem_begin_scope(csk_sem_t *sem, uint64_t task) {
    __atomic_store_n(&((csk_scoped_sem_t *)(void *)sem)->scope, task, __ATOMIC_RELAXED);
}
/* For the inline functions only. */
CSK_API int csk_sem_end_scope_slow(csk_sem_t *sem, uint64_t task, uint32_t permits);
/* Called by the same task: gives the permits back. Returns what csk_sem_post does. It blocks only while a waiter raises
 * the task. Others may post there as well, without blocking. */
static inline int csk_sem_end_scope(csk_sem_t *sem, uint64_t task, uint32_t permits) {
    uint64_t *scope = &((csk_scoped_sem_t *)(void *)sem)->scope, found = __atomic_load_n(scope, __ATOMIC_RELAXED);
    bool is_alone = csk_sem_in_all(__atomic_load_n(&sem->state, __ATOMIC_RELAXED)) == 1;
    if (found == task && is_alone) __atomic_store_n(scope, 0, __ATOMIC_RELAXED);
    else if (found == task) __atomic_compare_exchange_n(scope, &found, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return CSK_LIKELY(csk_sem_give_fast(sem, permits)) ? 0 : csk_sem_end_scope_slow(sem, task, permits);
}
/* The next four let a waiter raise the priority of the task that has the permit: at a semaphore of one permit whose
 * holder says so (csk_held_sem_begin); or of the task that was the last to begin a scope. None of them blocks for
 * longer than the internal lock.
 *
 * How urgent a task is may differ from the rank at which it waits. So it is counted at its own level, 0 to
 * CSK_SEM_URGENCIES - 1, more is more urgent: by a change of 1 before it looks for the holder, and by -1 once its wait
 * is decided. `sem` is the first member of a csk_held_sem_t. */
static inline void csk_sem_count_urgent(csk_sem_t *sem, int32_t level, int32_t change) {
    __atomic_fetch_add(&((csk_held_sem_t *)(void *)sem)->urgent[level], change, __ATOMIC_RELAXED);
}
/* Called for a task that had to wait, once the permit is its own: it is the holder from then on. Returns the highest
 * level at which one is counted that waits, to which the task is to be raised; CSK_SEM_NOBODY_URGENT without one. A
 * later caller pins it. */
#define CSK_SEM_NOBODY_URGENT (-1)
CSK_API int32_t csk_sem_begin_holding(csk_sem_t *sem, uint64_t task);
/* Called by a waiter, or for it, once it is queued. Returns the holder, if it was not notified of a waiter as urgent as
 * this one yet: 1 to 254, more is more urgent. It keeps the holder from giving the permit back, and so from ending,
 * until csk_sem_unpin_holder: a post, or the end of the task's scope, blocks until then. So nothing may come between
 * that waits for the holder. The semaphore must last until the end of that call. Returns 0 where there is no task to
 * raise, or the holder will find out itself; CSK_SEM_HOLDER_NOT_TOLD where the holder has not set itself yet, or at a
 * semaphore with scopes, where another task is pinned. Then ask again later. */
#define CSK_SEM_HOLDER_NOT_TOLD 1ull
CSK_API uint64_t csk_sem_pin_holder(csk_sem_t *sem, uint8_t urgency);
CSK_API void csk_sem_unpin_holder(csk_sem_t *sem);
/* Sets the place of a queue, as csk_gate_set_place does. */
static inline void csk_pqueue_set_place(csk_placed_pqueue_t *placed, csk_place_t place) {
    placed->place = place;
    placed->pqueue.has_place = place.text != NULL;
}

CSK_END_DECLS

CSK_STATIC_ASSERT(offsetof(csk_placed_gate_t, place) == sizeof(csk_gate_t),
                  "a place stands directly behind its object");
CSK_STATIC_ASSERT(offsetof(csk_placed_rwlock_t, place) == sizeof(csk_rwlock_t), "the same");
CSK_STATIC_ASSERT(offsetof(csk_placed_sem_t, place) == sizeof(csk_sem_t), "the same");
CSK_STATIC_ASSERT(offsetof(csk_placed_pqueue_t, place) == sizeof(csk_pqueue_t), "the same");
CSK_STATIC_ASSERT(sizeof(csk_placed_gate_t) == 104, "csk_placed_gate_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_placed_rwlock_t) == 64, "csk_placed_rwlock_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_placed_sem_t) == 80, "csk_placed_sem_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_held_sem_t) == 104, "csk_held_sem_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_scoped_sem_t) == 120, "csk_scoped_sem_t is part of the ABI");

#endif
