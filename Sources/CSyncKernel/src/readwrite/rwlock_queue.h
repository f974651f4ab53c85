/* rwlock_queue.h: the read-write lock's word, its queue of waiters, and what may be done to them under the queue lock.
 *
 * state (64 bits)
 *   bit 0       WRITER      held alone: bits 4..63 are the thread pointer of who holds it, or CSK_GATE_NOBODY; else they count readers
 *   bit 1       WAITERS     the queue is not empty                                                  } changed under the queue lock
 *   bit 2       COMING      the first waiter was told to try, and has not yet entered or given up   } only, by compare-and-swap
 *   bit 3       HAND_OVER   nobody may pass the first waiter any more                               }
 * Whoever enters or leaves compares the whole word, so it can't miss a change of the flags, and freeing it is the last access.
 *
 *   WAITERS COMING HAND_OVER    newcomers             who leaves
 *      0       0       0        enter if they can     frees the word
 *      1       0       x        queue                 the last one designates the first waiter (FAST), or hands over (HAND_OVER, STRICT)
 *      1       1       0        enter if they can     frees the word: the designated one comes for it
 *      1       1       1        queue                 frees the word: the designated one, a writer or one that was passed, comes for it
 *
 * The queue is in the order of arrival, but for an upgrading reader, which stands first; there is at most one. A run of readers at its
 * head enters together.
 *
 * Why nobody is left asleep: the flags and the holders are one word. settle() publishes the flags by the same compare-and-swap in which it sees
 * whether the first waiter could enter, and then lets it in; unless COMING is set, whose bearer settles when it enters, gives up or times
 * out. A leaver that frees the word has seen, in the word that it replaces, that nobody waits or that somebody is coming.
 *
 * Enqueued writes next to each other are one waiter, the first of them: its `bypassed` says how many stand behind it, whom rwlock_work.c knows.
 *
 * A biased lock's readers are not in the word: see rwlock_bias.c. A writer that has entered by the word takes the bias away before it goes on.
 *
 * to_adopt counts the reads that were granted to asynchronous waiters and that no thread has adopted: up under the queue lock, down by
 * who adopts. Everything else in csk_rwlock_t, and a queued waiter, is protected by the queue lock; `bias`, `reads_until_bias` and
 * `revocation` are rwlock_bias.c's.
 *
 * fork. As for the gate: whoever takes the queue lock in the child forgets the parent's waiters, and takes the flags out of the word; the holders stay.
 * A writer that is in the word while there is the bias has not entered, and is a waiter too: it has to be told from those of the child, none of whom
 * enters, nor brings the bias back, before that is done. */
#ifndef CSK_INTERNAL_RWLOCK_QUEUE_H
#define CSK_INTERNAL_RWLOCK_QUEUE_H

#include "csynckernel/rwlock.h"
#include "lock/gate_queue.h"
#include "readwrite/reads.h"
#include "wait/watch.h"

#define RW_WRITER UINT64_C(1)
#define RW_WAITERS UINT64_C(2)
#define RW_COMING UINT64_C(4)
#define RW_HAND_OVER UINT64_C(8)
#define RW_FLAGS UINT64_C(14)
#define RW_READER UINT64_C(16)

enum { RW_READ = CSK_RWLOCK_READ, RW_WRITE = CSK_RWLOCK_WRITE, RW_UPGRADE = 2 };

/* What the caller of csk_rwlock_settle gives back with the same step. */
enum csk_rwlock_release { RELEASE_NOTHING, RELEASE_READ, RELEASE_WRITE, RELEASE_WRITE_KEEP_READ };

/* The holders of the word without the flags, were `mode` to enter; 0: it can't. */
static inline uint64_t csk_rwlock_entered(uint64_t holders, int mode, uint64_t thread) {
    switch (mode) {
    case RW_READ: return holders & RW_WRITER ? 0 : holders + RW_READER;
    case RW_WRITE: return holders != 0 ? 0 : thread | RW_WRITER;
    default: return holders != RW_READER ? 0 : thread | RW_WRITER;
    }
}

/* Whether who comes now may enter past the queue. */
static inline bool csk_rwlock_newcomers_enter(uint64_t state) {
    uint64_t flags = state & RW_FLAGS;
    return flags == 0 || flags == (RW_WAITERS | RW_COMING);
}

static inline bool csk_rwlock_held_by(const csk_rwlock_t *lock, uint64_t thread) {
    return (csk_load(&lock->state, CSK_RELAXED) & ~RW_FLAGS) == (thread | RW_WRITER);
}

/* What is left to do once the queue lock is dropped. */
typedef struct csk_rwlock_effects {
    csk_gate_effects_t gate;        /* the wake of who was designated, and functions */
    csk_gate_waiter_t *threads;     /* who was let in, linked by next_ready; each stays where it is until its word says so */
} csk_rwlock_effects_t;

/* Under the queue lock, which was the parent's. */
void csk_rwlock_begin_in_child(csk_rwlock_t *lock);
static inline void csk_rwlock_lock_queue(csk_rwlock_t *lock) {
    if (CSK_UNLIKELY(csk_queue_lock(&lock->queue_lock))) csk_rwlock_begin_in_child(lock);
}
/* For those who would go by the flags without the queue lock. True: they have changed. */
static inline bool csk_rwlock_know_process(csk_rwlock_t *lock) {
    if (CSK_LIKELY(!csk_queue_lock_is_old(csk_load(&lock->queue_lock, CSK_RELAXED)))) return false;
    csk_rwlock_lock_queue(lock);
    csk_queue_unlock(&lock->queue_lock);
    return true;
}
/* For those who change what the first of the child goes by as it makes the lock anew: after that. */
static inline void csk_rwlock_await_process(csk_rwlock_t *lock) {
    if (CSK_LIKELY(csk_load(&lock->queue_lock, CSK_ACQUIRE) == csk_process_mark())) return;
    csk_rwlock_lock_queue(lock);
    csk_queue_unlock(&lock->queue_lock);
}

/* Under the queue lock. settle: gives back, publishes, and lets in whoever is first and can enter; each change ends with it. */
void csk_rwlock_settle(csk_rwlock_t *lock, enum csk_rwlock_release release, csk_rwlock_effects_t *effects);
void csk_rwlock_append(csk_rwlock_t *lock, csk_gate_waiter_t *waiter);
void csk_rwlock_prepend(csk_rwlock_t *lock, csk_gate_waiter_t *waiter);
void csk_rwlock_remove(csk_rwlock_t *lock, csk_gate_waiter_t *waiter);

/* After the queue lock was dropped. Does not touch the lock, which may be gone once it has let somebody in. */
void csk_rwlock_perform(csk_rwlock_effects_t *effects);

/* Without the queue lock: leaves what the word says is held. */
void csk_rwlock_leave(csk_rwlock_t *lock, enum csk_rwlock_release release);

/* rwlock_async.c: leaves what was granted to a waiter and couldn't be adopted. */
void csk_rwlock_give_back(csk_rwlock_t *lock, int mode);

/* rwlock_watch.c: parks until the word changes or the deadline has passed (ETIMEDOUT); may return for no reason. Meanwhile it looks for
 * whom it waits, and reports that once. `self` NULL: the writer that takes the bias away. */
int csk_rwlock_park(csk_rwlock_t *lock, const csk_gate_waiter_t *self, uint32_t *word, uint32_t expected, int64_t deadline_ns,
                    csk_watch_t *watch, bool *reported);

/* rwlock_bias.c */
enum { BIAS_OFF = 0, BIAS_ON = 1, BIAS_REVOKING = 2 };
void csk_rwlock_wake_revoker(csk_rwlock_t *lock);

static inline void csk_rwlock_leave_biased(csk_rwlock_t *lock, csk_read_t *read) {
    csk_store(&read->lock, NULL, CSK_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (CSK_UNLIKELY(csk_load(&lock->bias, CSK_RELAXED) == BIAS_REVOKING)) csk_rwlock_wake_revoker(lock);
}

/* The bias was seen ON; `read` is one of the calling thread's that is not in use. */
static inline bool csk_rwlock_enter_biased(csk_rwlock_t *lock, csk_read_t *read) {
    read->levels = 1;
    read->biased = 1;
    csk_store(&read->lock, lock, CSK_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (CSK_LIKELY(csk_load(&lock->bias, CSK_ACQUIRE) == BIAS_ON)) return true;
    csk_rwlock_leave_biased(lock, read);
    return false;
}

void csk_rwlock_count_read(csk_rwlock_t *lock);
int csk_rwlock_revoke(csk_rwlock_t *lock, int64_t deadline_ns);
/* Whether a writer, which is in the word already, waits for readers that are not. */
bool csk_rwlock_revokes(const csk_rwlock_t *lock);

#endif
