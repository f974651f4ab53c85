/* reads.h: which locks a thread reads, and at how many levels.
 *
 * Each thread that reads has a record. It has three uses: it lets a reader in once more without a look at the lock, it
 * shows which call would be a deadlock or an unlock of a lock that is not held, and it is where a writer finds the
 * readers of a biased lock. A record has room for a few locks. A thread that reads more of them at once has several
 * records. Records are allocated at a thread's first read, and other threads use them again when it has ended. They are
 * never freed, so a forked child finds all of them. A writer looks at those that threads have. A thread that gets no
 * record reads alone: see rwlock_queue.h.
 *
 *   read.lock    The owner writes it: plainly where the reader is counted in the word, by the protocol of rwlock_bias.c
 *                where it is not. All threads read it.
 *   the rest     It belongs to the owner. */
#ifndef CSK_INTERNAL_READS_H
#define CSK_INTERNAL_READS_H

#include "csynckernel/rwlock.h"
#include "base/platform.h"

enum { READS_IN_RECORD = CSK_READS_IN_RECORD };

csk_read_t *csk_reads_find_in_more(csk_reads_t *record, const csk_rwlock_t *lock);
csk_read_t *csk_reads_make_room(void);

/* Returns the calling thread's read of this lock, or NULL. */
static inline csk_read_t *csk_reads_find(const csk_rwlock_t *lock) {
    csk_reads_t *record = csk_my_reads;
    if (CSK_UNLIKELY(record == NULL)) return NULL;
    for (uint32_t i = record->used; i-- > 0;)
        if (csk_load(&record->reads[i].lock, CSK_RELAXED) == lock) return &record->reads[i];
    return CSK_LIKELY(record->more == NULL) ? NULL : csk_reads_find_in_more(record->more, lock);
}

/* Returns an unused read of the calling thread, or NULL where the system has no memory for a record, or no way to tell
 * when the thread ends. It counts as used once its lock is set. */
static inline csk_read_t *csk_reads_free(void) {
    csk_reads_t *record = csk_my_reads;
    if (CSK_LIKELY(record != NULL) && CSK_LIKELY(record->used < READS_IN_RECORD)) return &record->reads[record->used++];
    return csk_reads_make_room();
}

/* The calling thread, which is counted in the word, reads the lock once. `read` is unused. */
static inline void csk_reads_begin(csk_read_t *read, const csk_rwlock_t *lock) {
    read->levels = 1;
    read->biased = 0;
    csk_store(&read->lock, lock, CSK_RELAXED);
}

/* Called after a read's lock was set to NULL. The read that was used last is usually left first. */
static inline void csk_reads_leave(void) {
    csk_reads_t *record = csk_my_reads;
    while (record->used > 0 && csk_load(&record->reads[record->used - 1].lock, CSK_RELAXED) == NULL) record->used--;
}

static inline void csk_reads_end(csk_read_t *read) {
    csk_store(&read->lock, NULL, CSK_RELAXED);
    csk_reads_leave();
}

/* Whether a thread other than the caller has a read of this lock in its record. */
bool csk_reads_elsewhere(const csk_rwlock_t *lock);
/* Writes the ids of at most `count` threads other than the caller that have a read of this lock in their records.
 * Returns how many it wrote. The ids of threads that have ended are negative. */
int csk_reads_threads(const csk_rwlock_t *lock, int32_t *thread_ids, int count);
/* The same for a view, which waits for no lock: it is tried until `until_ns`. Returns how many records name the lock,
 * of which the ids of at most `count` threads were written, the caller's included; or -1. */
int csk_reads_look(const csk_rwlock_t *lock, int32_t *thread_ids, int count, int64_t until_ns);
/* A new lock begins where an old one was. The new one has no readers, whatever threads that have ended left in their
 * records. */
void csk_reads_forget(const csk_rwlock_t *lock);

#endif
