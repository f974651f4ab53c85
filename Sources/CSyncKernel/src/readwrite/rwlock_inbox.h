/* rwlock_inbox.h: writes that are enqueued while a worker holds the lock for others, without waiters.
 *
 * Such a write has its place right behind those that the worker has, and needs none in the queue: it is pushed by one
 * compare-and-swap. The worker takes what was pushed, until nothing has been, and then leaves the lock.
 *
 *   lock->writes
 *     bit 0       OPEN   a batch has the lock, nothing waits, and its worker will look here before it leaves the lock
 *     bits 1-63   the write that was pushed last, which links to the one before it
 *
 *   0 becomes OPEN         csk_rwlock_settle, under the queue lock, when it has granted the lock to a batch and the
 *                          queue is empty
 *   a write is pushed      any thread, while OPEN is set
 *   OPEN is cleared        under the queue lock: by a new waiter (csk_rwlock_append), since what is enqueued
 *                          from then on stands behind that waiter; and by the worker that finds nothing and leaves
 *   writes are taken out   under the queue lock, by the worker
 *
 * Order. OPEN is set once the lock's state says that a writer is inside, and it is cleared, with nothing pushed, before
 * that writer leaves. Both words are changed by read-modify-writes alone. So each change follows the one that was last,
 * and a thread that has pushed, and all that hear of it, enter the lock only after the worker has left it, with the
 * write run. No acquire is needed for that: OPEN publishes nothing else. A push releases the write to the worker, and
 * to a thread that counts the writes. A queued waiter has cleared OPEN, and a thread that knows of it pushes nothing
 * any more.
 *
 * A thread pushes only while the queue lock is free, or under it. In a child of fork the word may be the parent's until
 * a thread has had the queue lock, and has cleared the word by an exchange. A push that follows is behind it: by RC11,
 * and on arm64, where a store does not come before the branch that leads to it. */
#ifndef CSK_INTERNAL_RWLOCK_INBOX_H
#define CSK_INTERNAL_RWLOCK_INBOX_H

#include "readwrite/rwlock_queue.h"

#define WRITES_OPEN UINT64_C(1)

static inline csk_rwlock_write_t *csk_writes_of(uint64_t word) {
    return (csk_rwlock_write_t *)(uintptr_t)(word & ~WRITES_OPEN);
}

/* Called under the queue lock, or where it was seen to be free. Returns whether the inbox was open. */
static inline bool csk_writes_push(csk_rwlock_t *lock, csk_rwlock_write_t *write) {
    uint64_t found = csk_load(&lock->writes, CSK_RELAXED);
    do {
        if (!(found & WRITES_OPEN)) return false;
        write->next = csk_writes_of(found);
    } while (!csk_cas(&lock->writes, &found, (uint64_t)(uintptr_t)write | WRITES_OPEN, CSK_RELEASE));
    return true;
}

/* The next four are called under the queue lock. */
static inline void csk_writes_open(csk_rwlock_t *lock) {
    uint64_t nothing = 0;
    csk_cas(&lock->writes, &nothing, WRITES_OPEN, CSK_RELAXED);
}
static inline void csk_writes_close(csk_rwlock_t *lock) {
    if (CSK_UNLIKELY(csk_load(&lock->writes, CSK_RELAXED) & WRITES_OPEN))
        csk_fetch_and(&lock->writes, ~WRITES_OPEN, CSK_RELAXED);
}
/* Takes out all writes, and returns the last one. If there is none it closes the inbox. */
static inline csk_rwlock_write_t *csk_writes_take(csk_rwlock_t *lock) {
    uint64_t found = csk_load(&lock->writes, CSK_RELAXED);
    while (!csk_cas(&lock->writes, &found, csk_writes_of(found) != NULL ? found & WRITES_OPEN : 0, CSK_ACQUIRE)) {}
    return csk_writes_of(found);
}
static inline uint32_t csk_writes_count(const csk_rwlock_t *lock) {
    uint32_t count = 0;
    for (const csk_rwlock_write_t *write = csk_writes_of(csk_load(&lock->writes, CSK_ACQUIRE)); write != NULL;
         write = write->next)
        count++;
    return count;
}

#endif
