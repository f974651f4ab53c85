/* rwlock_linger.h: a worker that has left a lock stays for a moment, for the next section that the lock is granted to.
 *
 * To call a worker takes microseconds, during which the lock is held and no thread is inside. So where enqueued writes
 * follow each other closely, the worker that ran the last one looks out for the next one a while. It stands at a place
 * that the lock's address chooses. A thread that grants the lock to a section hands it to the worker there.
 *
 *   word of a place
 *     0           no worker is here
 *     SOON        a worker is about to leave this lock, or has left it, and will look out for it. It runs the end of
 *                 a user's function, which may take long, so nothing is handed to it yet.
 *     LOOKS       it looks out for this lock
 *     any other   the section that was handed to it
 *
 * SOON and LOOKS name the lock, by its address, and the process, by its epoch. A section is a work's address.
 *
 *   from      to        by                   order
 *   0         SOON      the worker           relaxed: the worker leaves the lock behind it, which releases
 *   SOON      LOOKS     the worker           relaxed: nothing is published but the word
 *   LOOKS     section   the granter          release: the worker sees what the granter saw
 *   SOON      0         the worker           relaxed: a function has ended its thread, or forked
 *   any other 0         the worker           acquire, by an exchange
 *
 * Nothing is lost: the worker that set SOON takes the word back to 0 in every case, and once it has looked it goes on
 * with what it finds there. SOON comes before the lock is left, so a thread that enters the lock after that worker sees
 * it, and waits some hundred nanoseconds for LOOKS.
 *
 * A worker that stands here does not touch the lock, which may be gone. Another lock at the same address is as good. In
 * a child of fork the parent's workers name another epoch. They don't exist there, and nothing is handed to them. */
#ifndef CSK_INTERNAL_RWLOCK_LINGER_H
#define CSK_INTERNAL_RWLOCK_LINGER_H

#include "pool/pool.h"
#include "readwrite/rwlock_queue.h"

typedef struct csk_linger {
    uint64_t *place; /* where the worker stands; NULL: nowhere */
    csk_spin_habit_t habit;
} csk_linger_t;

/* For the worker that is about to leave the lock. */
void csk_linger_begin(csk_linger_t *self, const csk_rwlock_t *lock);
/* For the worker, once it has nothing else to do. Looks out for a moment. Returns the section that was handed to the
 * worker, or NULL. */
csk_rwlock_work_t *csk_linger_look(csk_linger_t *self);
/* For a worker that will not look. */
void csk_linger_end(csk_linger_t *self);
/* For the thread that has granted the work its lock. Returns whether a worker has it now. */
bool csk_linger_hand(csk_rwlock_work_t *work);

#endif
