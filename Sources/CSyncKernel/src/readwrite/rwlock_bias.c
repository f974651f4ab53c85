/* rwlock_bias.c: readers that note themselves in their own thread's record, and the writer that takes that right away.
 *
 * bias        OFF       Readers count themselves in the word.
 *             ON        A reader that has put the lock into its record, and then sees ON, has entered.
 *             REVOKING  A writer, which has entered by the word, waits until no record names the lock.
 *
 * A reader that is counted in the word changes OFF or REVOKING to ON; no writer is inside then. The writer inside
 * changes ON to REVOKING, and that to OFF. A writer that stands in the queue changes ON to REVOKING too, and the writer
 * inside does the rest. A section whose write was granted is that writer once its worker runs. Until then the word
 * names no holder, and readers that go on by the bias are inside rightly.
 *
 * A reader stores its mark and then looks at the bias, without a fence in between. When it leaves, it clears the mark
 * and then looks at the bias. The writer stores REVOKING, executes membarrier, and looks at the marks. Either a
 * reader's look comes after the membarrier and sees REVOKING: then the reader does not enter, or it wakes the writer as
 * it leaves. Or the reader's store came before, and the writer sees it: the writer waits until a mark is gone.
 *
 * A reader that changes the bias to ON checks for waiters after that, by a change of the word. A writer that stands in
 * the queue has changed the word too, and then looks at the bias. Of the two changes one comes first: either the reader
 * sees the writer, or the writer sees ON. So the bias is not ON while a writer stands in the queue.
 *
 * The bias comes back after as many reads as the revocation took nanoseconds. A read gains some 10 ns by the bias, so
 * revocations cost at most a tenth of what the lock takes. */
#include "readwrite/rwlock_queue.h"
#include "wait/spin_park.h"
#include "wait/waits.h"

void csk_rwlock_wake_revoker(csk_rwlock_t *lock) {
    csk_fetch_add(&lock->revocation, 1u, CSK_RELEASE);
    csk_platform_wake(&lock->revocation, 1);
}

/* The caller reads, and is counted in the word. */
void csk_rwlock_count_read(csk_rwlock_t *lock) {
    uint32_t left = csk_load(&lock->reads_until_bias, CSK_RELAXED);
    if (left > 1) csk_store(&lock->reads_until_bias, left - 1, CSK_RELAXED);
    else if (csk_load(&lock->bias, CSK_RELAXED) != BIAS_ON && !(csk_load(&lock->state, CSK_RELAXED) & RW_WAITERS) &&
             csk_platform_has_membarrier()) {
        csk_rwlock_await_queue(lock); /* as long as the lock is the parent's, the bias is the parent's too */
        csk_store(&lock->bias, BIAS_ON, CSK_RELEASE);
        if (csk_fetch_or(&lock->state, UINT64_C(0), CSK_RELEASE) & RW_WAITERS) csk_rwlock_stop_bias(lock);
    }
}

/* A reader's section takes about as long as this spins. */
static void watch_marks(const csk_rwlock_t *lock) {
    csk_spin_t spin = csk_spin_begin(CSK_SPIN_NS);
    do csk_spin_pause(CSK_SPIN_PAUSES);
    while (csk_reads_elsewhere(lock) && csk_spin_lasts(&spin));
}

int csk_rwlock_revoke(csk_rwlock_t *lock, int64_t deadline_ns) {
    if (CSK_LIKELY(csk_load(&lock->bias, CSK_RELAXED) == BIAS_OFF)) return 0;
    int64_t begin_ns = csk_platform_now();
    csk_store(&lock->bias, BIAS_REVOKING, CSK_RELAXED);
    csk_platform_membarrier();
    csk_watch_t watch = csk_begin_watch(begin_ns, CSK_WATCH_ENDED_NS);
    csk_wait_t wait = { .object = lock,
                        .object_kind = CSK_OBJECT_RWLOCK,
                        .waits_for = CSK_WAITS_TO_WRITE,
                        .since_ns = begin_ns,
                        .deadline_ns = deadline_ns };
    int status = 0;
    for (bool watched = false;; watched = true) {
        uint32_t seen = csk_load(&lock->revocation, CSK_ACQUIRE);
        if (!csk_reads_elsewhere(lock)) break;
        if (deadline_ns != CSK_NEVER && csk_platform_now() >= deadline_ns) {
            status = ETIMEDOUT;
            break;
        }
        if (!watched) {
            watch_marks(lock);
            continue;
        }
        if (!wait.noted) csk_waits_note(&wait);
        csk_rwlock_park(lock, NULL, &lock->revocation, seen, deadline_ns, &watch);
    }
    csk_waits_end(&wait);
    int64_t took_ns = csk_platform_now() - begin_ns;
    csk_store(&lock->reads_until_bias, took_ns < BIAS_PAUSE_MOST ? (uint32_t)took_ns + 2 : BIAS_PAUSE_MOST,
              CSK_RELAXED);
    /* After a timeout there are marks still: the next writer looks for them again. */
    if (status == 0) csk_store(&lock->bias, BIAS_OFF, CSK_RELAXED);
    return status;
}

/* A revocation that timed out leaves REVOKING without a writer. */
bool csk_rwlock_revokes(const csk_rwlock_t *lock) {
    return csk_load(&lock->bias, CSK_RELAXED) == BIAS_REVOKING && (csk_load(&lock->state, CSK_RELAXED) & RW_WRITER);
}
