/* reads.h: which locks a thread reads, and how deep.
 *
 * Each thread that reads has a record: it lets a reader in once more without a look at the lock, refuses what would be a deadlock or
 * an unlock of what is not held, and is where a writer finds the readers of a biased lock. A record has room for a few
 * locks; a thread that reads more of them at once has several. Records are allocated at a thread's first read and used again by
 * others when it has ended; they are never freed, so a writer may look at any of them at any time.
 *
 *   read.lock    written by the owner, plain where the reader is counted, by the protocol of rwlock_bias.c where it is not; read by all
 *   the rest     the owner's */
#ifndef CSK_INTERNAL_READS_H
#define CSK_INTERNAL_READS_H

#include "csynckernel/rwlock.h"
#include "base/platform.h"

typedef struct csk_read {
    const csk_rwlock_t *lock;
    uint32_t levels;
    uint32_t biased;
} csk_read_t;

enum { READS_IN_RECORD = 6 };

typedef struct csk_reads {
    csk_read_t reads[READS_IN_RECORD];
    uint32_t used;                /* no read at or after this index */
    uint32_t owned;               /* under the list's lock: by some thread */
    int32_t thread_id;            /* under the list's lock; negative: that thread has ended, with reads in its record */
    struct csk_reads *more;       /* of the same thread */
    struct csk_reads *next;       /* of all threads */
} __attribute__((aligned(128))) csk_reads_t; /* two lines, which processors fetch together: no two threads' records share one */

extern _Thread_local csk_reads_t *csk_my_reads __attribute__((tls_model("initial-exec")));

csk_read_t *csk_reads_find_in_more(const csk_reads_t *record, const csk_rwlock_t *lock);
csk_read_t *csk_reads_make_room(void);

/* The calling thread's read of this lock, or NULL. */
static inline csk_read_t *csk_reads_find(const csk_rwlock_t *lock) {
    csk_reads_t *record = csk_my_reads;
    if (CSK_UNLIKELY(record == NULL)) return NULL;
    for (uint32_t i = record->used; i-- > 0;)
        if (csk_load(&record->reads[i].lock, CSK_RELAXED) == lock) return &record->reads[i];
    return CSK_LIKELY(record->more == NULL) ? NULL : csk_reads_find_in_more(record->more, lock);
}

/* An unused read of the calling thread, or NULL: no memory. It counts as used once its lock is set. */
static inline csk_read_t *csk_reads_free(void) {
    csk_reads_t *record = csk_my_reads;
    if (CSK_LIKELY(record != NULL) && CSK_LIKELY(record->used < READS_IN_RECORD)) return &record->reads[record->used++];
    return csk_reads_make_room();
}

/* After its lock was set to NULL. The last one used is usually the first one left. */
static inline void csk_reads_leave(void) {
    csk_reads_t *record = csk_my_reads;
    while (record->used > 0 && csk_load(&record->reads[record->used - 1].lock, CSK_RELAXED) == NULL) record->used--;
}

/* Whether a thread other than the caller has a read of this lock in its record. */
bool csk_reads_elsewhere(const csk_rwlock_t *lock);
/* The threads other than the caller that have a read of this lock in their records, at most `count`: how many. Numbers of threads that
 * have ended are negative. */
int csk_reads_threads(const csk_rwlock_t *lock, int32_t *thread_ids, int count);
/* A new lock begins where an old one was: nobody reads it, whatever threads that have ended left behind. */
void csk_reads_forget(const csk_rwlock_t *lock);

#endif
