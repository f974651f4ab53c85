/* rwlock_watch.c: a waiter that has waited for a second checks the reason: for a holder that has ended, or for a
 * designated waiter that is late. See gate_watch.c for why a live thread is never reported as ended. Here too no thread
 * leaves the lock without calling the first waiter, and none overtakes that waiter unless one is coming. */
#include "base/report.h"
#include "readwrite/rwlock_queue.h"
#include "wait/announce.h"

static void report_readers(csk_rwlock_t *lock, int64_t since_ns) {
    int32_t thread_ids[4];
    int count = csk_reads_threads(lock, thread_ids, 4);
    for (int i = 0; i < count; i++) {
        bool ended = thread_ids[i] < 0;
        csk_observe_report(ended ? CSK_EVENT_HOLDER_ENDED : CSK_EVENT_LONG_READ, CSK_OBJECT_RWLOCK, lock, 0, since_ns,
                           ended ? EOWNERDEAD : EBUSY, ended ? -thread_ids[i] : thread_ids[i]);
    }
}

/* Under the queue lock others change the word of a waiter that is designated, or let in. */
static bool is_parked(const csk_waiter_t *self) { return csk_load(&self->word, CSK_RELAXED) == WORD_PARKED; }

/* For a waiter that stands behind one that was designated and is late. A waiter that was designated meanwhile comes
 * itself. */
static void look_for_late(csk_rwlock_t *lock, const csk_waiter_t *self) {
    csk_effects_t effects = { 0 };
    int64_t now_ns = csk_platform_now();
    csk_rwlock_lock_queue(lock);
    if (is_parked(self) && csk_rwlock_pass_over(lock, now_ns)) csk_rwlock_settle(lock, RELEASE_NOTHING, &effects);
    csk_queue_unlock(&lock->queue_lock);
    csk_effects_perform_waiting(&effects);
}

/* Returns the word if this waiter is the first and none is coming, and 0 otherwise. */
static uint64_t state_to_look_at(csk_rwlock_t *lock, const csk_waiter_t *self) {
    csk_rwlock_lock_queue(lock);
    bool may = lock->first == self && is_parked(self) && !lock->coming;
    uint64_t state = may ? csk_load(&lock->state, CSK_RELAXED) : 0;
    csk_queue_unlock(&lock->queue_lock);
    return state;
}

static bool look(csk_rwlock_t *lock, const csk_waiter_t *self, const csk_watch_t *watch) {
    uint64_t state = state_to_look_at(lock, self), holder = csk_rwlock_sole_holder(state);
    if (state == 0) return false;
    if (!(state & RW_WRITER)) {
        report_readers(lock, watch->since_ns);
        return true;
    }
    if (holder == CSK_GATE_NOBODY || !csk_platform_thread_has_ended(holder) || state_to_look_at(lock, self) != state)
        return false;
    csk_observe_report(CSK_EVENT_HOLDER_ENDED, CSK_OBJECT_RWLOCK, lock, 0, watch->since_ns, EOWNERDEAD, 0);
    return true;
}

int csk_rwlock_park(csk_rwlock_t *lock, const csk_waiter_t *self, uint32_t *word, uint32_t expected,
                    int64_t deadline_ns, csk_watch_t *watch) {
    if (watch->reported) return csk_wait_park(word, expected, deadline_ns);
    bool look_now;
    int status = csk_watch_park(word, expected, deadline_ns, watch, &look_now);
    if (look_now && self != NULL) look_for_late(lock, self);
    if (look_now && csk_watch_may_look(watch)) {
        int64_t began_ns = csk_platform_now();
        if (self == NULL) report_readers(lock, watch->since_ns);
        watch->reported = self == NULL || look(lock, self, watch);
        csk_watch_looked(watch, began_ns);
    }
    return status;
}
