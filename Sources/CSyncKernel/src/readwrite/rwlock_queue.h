/* rwlock_queue.h: the read-write lock's word, its queue of waiters, and the operations on them under the queue lock.
 *
 * state (64 bits)
 *   bit 0       WRITER      one writer holds the lock: bits 4..63 are its thread pointer, or CSK_GATE_NOBODY;
 *                           if the bit is clear, bits 4..63 count the readers
 *   bit 1       WAITERS     the queue is not empty                                                 } changed only under
 *   bit 2       COMING      a waiter was designated, and has not yet entered or given up           } the queue lock, by
 *   bit 3       HAND_OVER   nothing may pass the first waiter (csk_rwlock_is_handed_over)          } compare-and-swap
 *
 *   bit 62      ALONE       with WRITER: its thread reads, and has no record (see below). Changed by that thread
 *
 * A thread that enters or leaves compares the whole word, so it can't miss a change of the flags. Freeing the word is
 * its last access.
 *
 *   WAITERS COMING HAND_OVER    newcomers            a holder that leaves
 *      0       0       0        enter if they can    frees the word
 *      1       0       x        queue                if it is the last one, frees the word and calls the first waiter
 *                                                    in the same step (FAST), or hands the lock over (HAND_OVER,
 *                                                    STRICT)
 *      1       1       0        enter if they can    frees the word: the designated waiter comes for it
 *      1       1       1        queue                frees the word: the designated waiter comes for it; it is a
 *                                                    writer, was passed, has a writer behind it, or had
 *                                                    one before it that went on as a reader
 *
 * FAST: a thread that waits, and was not passed yet, is not let in but called (TRY), and lets itself in once it runs.
 * As a holder without a processor it would keep writers waiting. A reader that has let itself in calls the next one; a
 * writer that goes on as a reader lets in those next in order, asleep or not. A writer that comes among readers, and
 * stands first, is designated at once. Until it has entered, or gives the designation back, no reader enters, and
 * leavers call no waiter.
 *
 * The queue is in the order of arrival, with two exceptions. An upgrading reader stands first; there is at most one.
 * And under FAST a writer that comes while readers are inside stands before a reader that was called and has not come
 * yet, until that reader has found the lock taken. A run of readers at the head of the queue enters together (FAST: one
 * after the other). A designated waiter stood first then; an upgrading reader or a writer may have come before it
 * since.
 *
 * waiter.hand_over (RW_HANDED_OVER) says that no arrival overtakes this waiter any more, since one has, or since a
 * writer came behind it when it had been called and a writer was inside, or since a writer before it went on as a
 * reader. It stays with the waiter, even if another stands first meanwhile.
 *
 * Why no waiter is left asleep. The flags and the holders are one word. csk_rwlock_settle publishes the flags by the
 * same compare-and-swap in which it sees whether the first waiter could enter, and then lets it in. The exception is
 * COMING: while it is set, the designated waiter settles when it enters, gives up or times out. A holder that leaves
 * and frees the word has seen, in the word that it replaces, that there are no waiters or that one is coming.
 *
 * A designated waiter that does not come. The designated waiter may be late for any length of time, and those behind it
 * wait while newcomers pass. A parked thread that looks (rwlock_watch.c) and finds that it was designated
 * RW_PASSED_OVER_NS ago puts it behind all others, and settles; so does whoever comes into the queue. It keeps the word
 * TRY: it is on its way, and only it lets itself in. So it never has the lock while it is late. If it stands first
 * again it is the designated one again, and newcomers pass it (RW_LATE), a writer too. Once it has tried in vain none
 * does any more, as with any waiter.
 *
 * Enqueued writes next to each other are one waiter, the first of them. Its `followers` says how many stand behind it;
 * rwlock_work.c knows these.
 *
 * A biased lock's readers are not in the word: see rwlock_bias.c. A writer that has entered by the word takes the bias
 * away before it goes on.
 *
 * A reader that gets no record (reads.h) enters as a writer does, and then says by ALONE that it reads. So it shares
 * the lock with no thread, and the word has what a record would say: the reader. `levels_alone` counts how often; it
 * belongs to that thread. A writer that goes on as a reader, and gets no record, keeps the lock and sets ALONE too. A
 * thread pointer never has bit 62, so a comparison of the word with a thread's pointer finds no writer in a reader that
 * is alone.
 *
 * to_adopt counts the reads that were granted to asynchronous waiters and that no thread has adopted. It is raised
 * under the queue lock, and lowered by the thread that adopts. A biased lock has no such count: only sections on
 * workers are its asynchronous waiters, and a worker adopts what was granted, once. `bias`, `reads_until_bias` and
 * `revocation` belong to rwlock_bias.c. The queue lock protects everything else in csk_rwlock_t, and each queued
 * waiter.
 *
 * fork. As with the gate, the first thread that takes the queue lock in the child forgets the parent's waiters, and
 * clears the flags in the word. The holders stay. A writer that is in the word while the lock is biased has not
 * entered, and is a waiter too. It must be distinguished from the child's writers: none of these enters, nor does any
 * thread in the child bring the bias back, before the parent's writer was taken out. */
#ifndef CSK_INTERNAL_RWLOCK_QUEUE_H
#define CSK_INTERNAL_RWLOCK_QUEUE_H

#include "csynckernel/rwlock.h"
#include "readwrite/reads.h"
#include "wait/waiter.h"
#include "wait/watch.h"

#define RW_WRITER UINT64_C(1)
#define RW_WAITERS UINT64_C(2)
#define RW_COMING UINT64_C(4)
#define RW_HAND_OVER UINT64_C(8)
#define RW_FLAGS UINT64_C(14)
#define RW_READER CSK_RWLOCK_READER
#define RW_ALONE (UINT64_C(1) << 62)

CSK_STATIC_ASSERT((RW_WRITER | RW_FLAGS) == CSK_RWLOCK_TAKEN, "what the inline path may not pass");

enum { RW_READ = CSK_RWLOCK_READ, RW_WRITE = CSK_RWLOCK_WRITE, RW_UPGRADE = 2 };

/* csk_waiter_t.hand_over */
enum { RW_MAY_BE_PASSED = 0, RW_HANDED_OVER, RW_LATE /* it was passed over, and has not come since */ };

/* How long a designated waiter may be late before those behind it go first. */
#define RW_PASSED_OVER_NS INT64_C(100000000)

/* What the caller of csk_rwlock_settle gives back in the same step. */
enum csk_rwlock_release { RELEASE_NOTHING, RELEASE_READ, RELEASE_WRITE, RELEASE_WRITE_KEEP_READ };

/* The word without its flags as it is then. */
static inline uint64_t csk_rwlock_after_release(uint64_t holders, enum csk_rwlock_release release) {
    switch (release) {
    case RELEASE_NOTHING: return holders;
    case RELEASE_READ: return holders - RW_READER;
    case RELEASE_WRITE: return 0;
    default: return RW_READER;
    }
}

/* The word without its flags as it would be once `mode` has entered. It is 0 when `mode` can't enter. */
static inline uint64_t csk_rwlock_entered(uint64_t holders, int mode, uint64_t thread) {
    switch (mode) {
    case RW_READ: return holders & RW_WRITER ? 0 : holders + RW_READER;
    case RW_WRITE: return holders != 0 ? 0 : thread | RW_WRITER;
    default: return holders != RW_READER ? 0 : thread | RW_WRITER;
    }
}

/* Whether a thread that comes now may enter past the queue. */
static inline bool csk_rwlock_newcomers_enter(uint64_t state) {
    uint64_t flags = state & RW_FLAGS;
    return flags == 0 || flags == (RW_WAITERS | RW_COMING);
}

static inline bool csk_rwlock_held_by(const csk_rwlock_t *lock, uint64_t thread) {
    return (csk_load(&lock->state, CSK_RELAXED) & ~RW_FLAGS) == (thread | RW_WRITER);
}

static inline bool csk_rwlock_reads_alone(const csk_rwlock_t *lock, uint64_t thread) {
    return csk_rwlock_held_by(lock, thread | RW_ALONE);
}

/* Whether the calling thread reads or writes the lock. */
static inline bool csk_rwlock_is_inside(const csk_rwlock_t *lock) {
    return (csk_load(&lock->state, CSK_RELAXED) & ~(RW_FLAGS | RW_ALONE)) == (csk_self() | RW_WRITER) ||
           csk_reads_find(lock) != NULL;
}

/* The thread that is inside alone, to write or to read, or CSK_GATE_NOBODY. For a word with WRITER. */
static inline uint64_t csk_rwlock_sole_holder(uint64_t state) { return state & ~(RW_FLAGS | RW_WRITER | RW_ALONE); }

/* Makes the calling thread the writer where a write was granted that no thread has adopted. Of two threads that do
 * that, one succeeds. */
static inline bool csk_rwlock_take_from_nobody(csk_rwlock_t *lock) {
    uint64_t found = csk_load(&lock->state, CSK_RELAXED);
    while ((found & ~RW_FLAGS) == (CSK_GATE_NOBODY | RW_WRITER))
        if (csk_cas(&lock->state, &found, csk_self() | RW_WRITER | (found & RW_FLAGS), CSK_ACQUIRE)) return true;
    return false;
}

/* Called under the queue lock, which was the parent's. */
void csk_rwlock_begin_in_child(csk_rwlock_t *lock);
static inline void csk_rwlock_lock_queue(csk_rwlock_t *lock) {
    if (CSK_UNLIKELY(csk_queue_lock(&lock->queue_lock))) csk_rwlock_begin_in_child(lock);
}
/* Returns once the thread that has the queue lock has left it. In a child of fork the lock was made anew then. */
static inline void csk_rwlock_await_queue(csk_rwlock_t *lock) {
    csk_rwlock_lock_queue(lock);
    csk_queue_unlock(&lock->queue_lock);
}
/* For threads that would go by the flags without the queue lock. Returns true when the flags have changed. */
static inline bool csk_rwlock_know_process(csk_rwlock_t *lock) {
    if (CSK_LIKELY(!csk_queue_lock_is_old(csk_load(&lock->queue_lock, CSK_RELAXED)))) return false;
    csk_rwlock_await_queue(lock);
    return true;
}

/* Called under the queue lock. The first waiter of those that stand in the order of arrival, or NULL. */
static inline csk_waiter_t *csk_rwlock_behind_upgrade(csk_waiter_t *first) {
    return first != NULL && first->mode == RW_UPGRADE ? first->newer : first;
}

/* Called under the queue lock. Whether no arrival may overtake this waiter when it stands first. Readers that kept
 * passing would hold up an upgrading reader for ever, and would keep the processors from a designated writer. */
static inline bool csk_rwlock_is_handed_over(const csk_rwlock_t *lock, const csk_waiter_t *first) {
    return lock->policy == CSK_RWLOCK_STRICT || first->mode == RW_UPGRADE || first->hand_over == RW_HANDED_OVER ||
           (lock->coming && first->mode == RW_WRITE && first->hand_over != RW_LATE);
}

/* These three are called under the queue lock. csk_rwlock_settle gives back what `release` says, publishes the flags,
 * and lets in the waiters at the head that can enter. Each change of the queue ends with it. */
void csk_rwlock_settle(csk_rwlock_t *lock, enum csk_rwlock_release release, csk_effects_t *effects);
void csk_rwlock_put_in(csk_rwlock_t *lock, csk_waiter_t *waiter, bool first);
void csk_rwlock_remove(csk_rwlock_t *lock, csk_waiter_t *waiter);
/* Called under the queue lock. Puts the designated waiter, if it is late, behind all others. Returns false where it is
 * not. Otherwise the caller settles. */
bool csk_rwlock_pass_over(csk_rwlock_t *lock, int64_t now_ns);

/* The lock's queue, for waiter.h. */
extern const csk_queue_kind_t csk_rwlock_queue_kind __attribute__((visibility("hidden")));
static inline uint32_t *csk_rwlock_lock_for_waiter(void *object) {
    csk_rwlock_t *lock = object;
    csk_rwlock_lock_queue(lock);
    return &lock->queue_lock;
}

/* Called without the queue lock. Leaves what the word says is held. */
void csk_rwlock_leave(csk_rwlock_t *lock, enum csk_rwlock_release release);

/* rwlock_async.c: csk_rwlock_lock_async, for a waiter that can't be cancelled if it `stays`. */
int csk_rwlock_queue_waiter(csk_rwlock_t *lock, csk_waiter_t *waiter, int mode, int64_t deadline_ns,
                            csk_waiter_function_t function, void *context, bool stays);
/* Makes the calling worker the holder of what was granted to a section. At a biased lock a writer waits there for the
 * readers that are not in the word, and a reader that gets no record waits there to be alone: no longer than until the
 * deadline, which gives ETIMEDOUT. After an error the worker holds nothing of the lock by that. */
int csk_rwlock_adopt_section(csk_rwlock_t *lock, int mode, int64_t deadline_ns);

/* rwlock_watch.c: parks until the word changes or the deadline has passed (ETIMEDOUT). It may return for no reason.
 * Meanwhile it looks which holder it waits for, and reports that once. `self` is NULL for the writer that takes the
 * bias away. */
int csk_rwlock_park(csk_rwlock_t *lock, const csk_waiter_t *self, uint32_t *word, uint32_t expected,
                    int64_t deadline_ns, csk_watch_t *watch);

/* rwlock_bias.c */
enum { BIAS_OFF = CSK_RWLOCK_BIAS_OFF, BIAS_ON = CSK_RWLOCK_BIAS_ON, BIAS_REVOKING = CSK_RWLOCK_BIAS_REVOKING };

/* So many reads later at most the bias comes back. */
#define BIAS_PAUSE_MOST UINT32_C(1000000)

void csk_rwlock_count_read(csk_rwlock_t *lock);
/* Called for a writer behind the change of the word that says that it waits: readers count themselves in the word from
 * now on. See rwlock_bias.c. */
static inline void csk_rwlock_stop_bias(csk_rwlock_t *lock) {
    uint32_t on = BIAS_ON;
    if (lock->reader_bias) csk_cas(&lock->bias, &on, (uint32_t)BIAS_REVOKING, CSK_RELAXED);
}
int csk_rwlock_revoke(csk_rwlock_t *lock, int64_t deadline_ns);
/* Whether a writer, which is in the word already, waits for readers that are not in the word. */
bool csk_rwlock_revokes(const csk_rwlock_t *lock);

#endif
