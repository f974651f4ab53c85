/* waits.h: each thread's wait, in a record of its own, so that another thread can report it while this one is stuck.
 *
 * A thread has one record, in its thread-local storage. It stands in a list of all records from the thread's first park
 * until the thread ends. What the thread waits for is written into a csk_wait_t on its stack when it is in a queue and
 * about to park, and the record leads there. It is taken off before the wait returns. So the record costs a path that
 * parks some stores and one compare-and-swap on a cache line that no other thread touches, and other paths nothing.
 *
 * record.word
 *   NONE     The thread waits for nothing that it has recorded. The record is the thread's.
 *   NOTED    `wait` is valid. Neither the record nor the wait changes.
 *   READ     A reader looks at the record, at the wait, and at what the wait names. The wait does not return.
 *   AWAITED  The same, and the thread has come to take the note off. It is parked, or about to be.
 *
 *   from      to        by           how
 *   NONE      NOTED     the thread   store, release: publishes the wait
 *   NOTED     NONE      the thread   compare-and-swap, acquire: pairs with READ to NOTED, so what the thread does next,
 *                                    freeing the object included, comes after the reader's last access
 *   NOTED     READ      a reader     compare-and-swap, acquire: pairs with the store
 *   READ      NOTED     the reader   compare-and-swap, release
 *   READ      AWAITED   the thread   compare-and-swap
 *   AWAITED   NONE      the reader   store, release, for the thread, which loads it (acquire); then a wake by address
 *
 * Why a reader may use the object. A waiter keeps its object in place until the wait has returned, and it does not
 * return while the word is READ or AWAITED. A waiter that gives up at a gate keeps it in place only while it stands in
 * the queue (csk_gate_close). So it clears its record before it leaves that. A condition variable is the exception: it
 * may go as soon as it has no waiters, and a signalled thread is none. So its wait names the gate too, under whose
 * queue lock the reader looks whether the waiter stands in the condition variable still.
 *
 * The reader never waits while it has a record: it tries the object's lock, and stops trying once the word is AWAITED.
 * So the thread waits for some microseconds, which the reader needs to copy the queue.
 *
 * The list is protected by a queue lock, held for a look at each record. A record that is READ can't leave the list,
 * since its thread can't end. So a reader keeps its place by the record that it has.
 *
 * fork. The mark says in which process the record stands in the list. In the child the first thread that comes makes
 * the list anew, with its own record alone, whatever the record said in the parent. */
#ifndef CSK_INTERNAL_WAITS_H
#define CSK_INTERNAL_WAITS_H

#include "csynckernel/inspect.h"
#include "base/hooks.h"
#include "wait/queue_lock.h"

/* csk_wait_t, what a thread waits for, stands in hooks.h. */

struct csk_stack;

enum { WAIT_NONE = 0, WAIT_NOTED, WAIT_READ, WAIT_AWAITED };

typedef struct csk_wait_record {
    uint32_t word; /* see above */
    uint32_t mark; /* 1 + the mark of the process in whose list it stands; 0: in none */
    const csk_wait_t *wait;
    uint64_t number;                  /* of the wait: raised with each */
    uint64_t identity, thread_number; /* csk_self() and csk_thread_number */
    int32_t thread_id;
    uint16_t marked, asked;        /* CSK_THREAD_...: by the thread itself; by csk_waits_asks for this wait */
    uint64_t told;                 /* for the watchdog: the number of the wait that it has reported */
    const void *sections;          /* what the registered function says of the thread */
    uint64_t task;                 /* what csk_waits_task says of it */
    const struct csk_stack *stack; /* where it waits; NULL where that was not shown */
    uint64_t suspends;             /* the task whose waits are queued by the thread now, as callbacks */
    uint64_t looked;               /* for the deadlock watch: the number of the wait for which it looked last, */
    int64_t looked_ns;             /* and how old that was */
    struct csk_wait_record *next, *previous; /* under the list's lock */
} csk_wait_record_t;

/* Called by a thread that is about to park, with no internal lock held unless csk_waits_has_record says that it has a
 * record. Records the wait, unless the thread can have no record, or has recorded another wait. */
void csk_waits_note(csk_wait_t *wait);
/* Takes it off, before the wait returns. May park for some microseconds. */
void csk_waits_take_off(csk_wait_t *wait);
static inline void csk_waits_end(csk_wait_t *wait) {
    if (wait->noted) csk_waits_take_off(wait);
}
bool csk_waits_has_record(void);
/* Whether csk_waits_prepare would try to make one. */
bool csk_waits_needs_record(void);
/* Makes the calling thread's record, which may allocate. */
void csk_waits_prepare(void);

/* Returns the innermost section of a work queue that the calling thread is in (csk_section_t), or NULL. Set by work
 * queues when the library is loaded. */
extern const void *(*csk_waits_sections)(void);

/* While the deadlock watch is on: says which task the calling thread runs; 0: none. NULL where it is not known. */
extern uint64_t (*csk_waits_task)(void);
/* Says the same, from when it is known on, whatever is on. Changed under the lock of the deadlock watch. */
extern uint64_t (*csk_waits_current_task)(void);
/* The calling thread's id: without a call of the system where the thread has a record. */
int32_t csk_waits_thread_id(void);
/* The calling thread's waits show that stack from now on. It stays as it is until another or NULL is shown. Returns the
 * one before. Called while the thread does not wait. */
const struct csk_stack *csk_waits_show_stack(const struct csk_stack *stack);
/* The callbacks that the calling thread queues are waits of that task; 0: of none. */
void csk_waits_suspend(uint64_t task);
uint64_t csk_waits_suspended_task(void);

/* How many threads have marked themselves, by mark.h; and what is asked for the others, or NULL. */
extern uint32_t csk_waits_marked;
extern uint32_t (*csk_waits_asks)(void);
/* Marks the calling thread. Returns false where it can have no record. */
bool csk_waits_mark(uint32_t kind);

/* The number by which users know a thread. */
static inline uint64_t csk_waits_number_of(uint64_t identity) {
    return (int64_t)identity < 0 ? (identity & INT64_MAX) >> 4 : 0;
}

/* ---- Readers ----------------------------------------------------------------------------------------------------- */

/* There may be several at once: views, one at a time (inspect.c), and what the watchdog's thread looks for between its
 * views. Each record has one reader, by its word: another reader that finds it READ counts it as busy and passes on. */

typedef struct csk_waits_seen {
    uint64_t threads;  /* records in the list */
    uint64_t busy;     /* records that another reader had */
    bool list_is_busy; /* the list's lock could not be had: there may be more */
} csk_waits_seen_t;

/* Takes the next record behind `current`, NULL for the first, and gives `current` back. Returns a record that is READ;
 * or NULL where there is none, or the list's lock could not be had until `until_ns`. */
csk_wait_record_t *csk_waits_next(csk_wait_record_t *current, int64_t until_ns, csk_waits_seen_t *seen);
/* Tries to take the queue lock of what `record` waits for, until `until_ns`, or until the thread wants to return.
 * `record` may be NULL. Returns whether the caller has the lock. */
bool csk_waits_try_lock(const csk_wait_record_t *record, uint32_t *lock, int64_t until_ns);
/* The same for a lock of which it is known that in a child of fork the parent's is as good as free: a view takes that
 * over by one compare-and-swap, as a waiter of it would. TAKEN_OVER where it did: unless a stage of the fork has made
 * what the lock protects anew, the caller does. */
enum csk_tried { CSK_TRIED_IN_VAIN = 0, CSK_TAKEN, CSK_TAKEN_OVER };
enum csk_tried csk_waits_try_or_take_over(const csk_wait_record_t *record, uint32_t *lock, int64_t until_ns);
/* The same for one more try, whatever is tried: counts the tries, from 0, and pauses. Returns false when it is time to
 * give up. */
bool csk_waits_may_try(const csk_wait_record_t *record, uint32_t *tries, int64_t until_ns);

/* The name of what the wait is for, where the lock of the names is free. The record of the wait is READ. */
void csk_waits_name(const csk_wait_t *wait, char *buffer, size_t size);

/* Says of each thread that has a record, and whose identity is the thread pointer or the number of that record, what
 * the record says. Others are left as they are. Does nothing where the list's lock could not be had until
 * `until_ns`. */
void csk_waits_find_threads(csk_inspected_thread_t *const *threads, uint32_t count, int64_t until_ns);

#endif
