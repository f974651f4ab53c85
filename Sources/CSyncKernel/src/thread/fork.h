/* fork.h: what the kernel does at a fork, in one order whatever was used first, and how the child recognizes an object
 * of the parent.
 *
 * The child has one thread, a copy of the one that forked. Whatever the other threads were doing stands still in the
 * middle. Two rules make that harmless:
 *
 * 1. No lock of an object is taken for a fork. Taking all of them would need an order among them and the users' own
 *    handlers. It would make a fork wait for each of them. And it could do nothing for the locks inside of users'
 *    objects, which can't be listed. Instead each such lock says to which process its holder and its waiters belong
 *    (queue_lock.h). In the child none of them exists. The first thread to come takes the lock over and makes anew what
 *    it protects, without a look at what may be half changed.
 * 2. What belongs to the process and not to an object is made anew by the stages below, each in the child, before any
 *    of its users runs. Only two act before the fork. RCU holds its two locks, that of the lists of what is retired and
 *    that of the list of readers, and names hold the mutex of their table, so that a child finds them whole. They are
 *    held for some microseconds, and their holder takes no other lock and does not wait.
 *
 *   stage     before the fork   in the parent     in the child
 *             -                 -                 `epoch` is raised: from here on each lock and timer of the parent
 *                                                 is known as such
 *   READS     -                 -                 what threads of the parent read is taken out of their records; the
 *                                                 caller's stays
 *   TIMERS    -                 -                 no timer is started, and no thread is there, unless it is the one
 *                                                 that forked
 *   POOL      -                 -                 no item waits, and there is no worker
 *   RCU       takes its locks   gives them back   keeps what is retired; goes on without liburcu (rcu_own.c)
 *   NAMES     takes its mutex   gives it back     gives it back; the names are the parent's
 *   INSPECT   -                 -                 closes the socket of the parent's views
 *
 * Before the fork and in the parent the stages come from the last to the first. What has no stage needs none. tls.c,
 * block.c and thread_exit.c have no locks, and change what threads share by single compare-and-swaps. Gates, read-write
 * locks, work queues and delayed work find out about a fork by their words. pqueue.c is built of pthread's objects,
 * which do not handle forks.
 *
 * A stage enrols itself when the library is loaded, so a program that links a part of the archive has the stages of
 * that part. Which stages take part in a fork is decided when the fork begins. A thread that loads another part
 * meanwhile changes nothing. */
#ifndef CSK_INTERNAL_FORK_H
#define CSK_INTERNAL_FORK_H

#include "base/platform.h"

/* In the order of the calls in the child. */
typedef enum {
    CSK_FORK_READS,
    CSK_FORK_TIMERS,
    CSK_FORK_POOL,
    CSK_FORK_RCU,
    CSK_FORK_NAMES,
    CSK_FORK_INSPECT,
    CSK_FORK_STAGES
} csk_fork_stage_t;

/* The functions for before the fork and for the parent may be NULL. */
typedef struct csk_fork_functions {
    void (*prepare)(void), (*in_parent)(void), (*in_child)(void);
} csk_fork_functions_t;

/* Sets the stage's functions. Called once for each stage, by a constructor. */
void csk_fork_enroll(csk_fork_stage_t stage, const csk_fork_functions_t *functions);

/* Returns 0 if the system calls the stages at a fork, which it was asked for when the library was loaded. Returns
 * ENOMEM if that was refused then, and once more now. Called before starting something that a child would have to make
 * anew. */
int csk_fork_handled(void);

/* Changed by a fork only, in the child, which has one thread at that time. So plain reads are enough. */
extern struct csk_process {
    uint32_t epoch; /* 1 + the number of forks that led to this process; after 2^30 of them they begin again */
    uint32_t mark;  /* the same in words with two bits for flags: 0 in the first process, so that zero-filled memory is
                       of that */
} csk_process __attribute__((visibility("hidden")));

static inline uint32_t csk_process_epoch(void) { return csk_process.epoch; }
static inline uint32_t csk_process_mark(void) { return csk_process.mark; }

#endif
