#include "readwrite/rwlock_queue.h"

#include "base/list.h"
#include "wait/spin_park.h"

CSK_LIST(waiters, csk_waiter_t, newer, older);

static uint64_t thread_of(const csk_waiter_t *waiter) {
    return waiter->function != NULL ? CSK_GATE_NOBODY : waiter->thread;
}

void csk_rwlock_begin_in_child(csk_rwlock_t *lock) {
    lock->first = lock->last = NULL;
    lock->waiting = 0;
    lock->coming = 0;
    /* A writer that has entered has ended the bias. */
    bool waits_for_readers = csk_load(&lock->bias, CSK_RELAXED) != BIAS_OFF;
    uint64_t found = csk_load(&lock->state, CSK_RELAXED);
    while (!csk_cas(&lock->state, &found, waits_for_readers && (found & RW_WRITER) ? 0 : found & ~RW_FLAGS,
                    CSK_RELAXED)) {}
}

void csk_rwlock_put_in(csk_rwlock_t *lock, csk_waiter_t *waiter, bool first) {
    csk_waiter_set(waiter, WAITER_QUEUED);
    if (first) waiters_put_first(&lock->first, &lock->last, waiter);
    else waiters_put_last(&lock->first, &lock->last, waiter);
    lock->waiting++;
}

void csk_rwlock_remove(csk_rwlock_t *lock, csk_waiter_t *waiter) {
    waiters_take_out(&lock->first, &lock->last, waiter);
    lock->waiting -= 1 + waiter->followers;
}

bool csk_rwlock_pass_over(csk_rwlock_t *lock, int64_t now_ns) {
    csk_waiter_t *late = lock->first;
    if (!lock->coming || late->mode == RW_UPGRADE || late->newer == NULL) return false;
    if (now_ns - late->told_ns < RW_PASSED_OVER_NS) return false;
    csk_rwlock_remove(lock, late);
    late->hand_over = RW_LATE;
    csk_rwlock_put_in(lock, late, false);
    return true;
}

static bool is_coming(csk_waiter_t *first) {
    const csk_waiter_t *arrived = csk_rwlock_behind_upgrade(first);
    return arrived != NULL && csk_waiter_is_told(arrived);
}

/* Whether nobody lets this waiter in but itself: a thread, which may be passed while it sleeps. A holder that sleeps
 * would keep writers waiting until it has a processor. */
static bool lets_itself_in(const csk_rwlock_t *lock, const csk_waiter_t *waiter) {
    return lock->policy != CSK_RWLOCK_STRICT && waiter->function == NULL && waiter->mode != RW_UPGRADE &&
           waiter->hand_over != RW_HANDED_OVER;
}

/* Finds how many from the head of the queue can enter together. Returns the first that does not enter, and sets
 * *holders to the holders then. */
static csk_waiter_t *let_in(const csk_rwlock_t *lock, uint64_t *holders) {
    csk_waiter_t *next = lock->first;
    for (uint64_t entered; next != NULL && !csk_waiter_is_told(next) && !lets_itself_in(lock, next);
         next = next->newer) {
        entered = csk_rwlock_entered(*holders, next->mode, thread_of(next));
        if (entered == 0) break;
        *holders = entered;
    }
    return next;
}

/* Whether `next`, the first that does not enter, is to be called: it could, and is not on its way. */
static bool is_due(const csk_waiter_t *next, uint64_t holders) {
    return next != NULL && !csk_waiter_is_told(next) && csk_rwlock_entered(holders, next->mode, thread_of(next)) != 0;
}

static void call(csk_waiter_t *waiter, csk_effects_t *effects) {
    waiter->told_ns = csk_platform_now();
    csk_waiter_tell(waiter, WORD_TRY, effects);
}

static uint64_t flags_for(const csk_rwlock_t *lock, const csk_waiter_t *next) {
    if (next == NULL) return 0;
    return RW_WAITERS | (lock->coming ? RW_COMING : 0) | (csk_rwlock_is_handed_over(lock, next) ? RW_HAND_OVER : 0);
}

static void grant(csk_rwlock_t *lock, csk_waiter_t *waiter, csk_effects_t *effects) {
    csk_waiter_set(waiter, WAITER_GRANTED);
    if (waiter->function != NULL) {
        if (waiter->mode == RW_READ && !lock->reader_bias) csk_fetch_add(&lock->to_adopt, 1u, CSK_RELEASE);
        csk_waiter_finish(waiter, 0, effects);
        return;
    }
    csk_waiter_name_object(waiter, lock, CSK_OBJECT_RWLOCK);
    csk_waiter_let_in(waiter, effects);
}

/* A writer that goes on as a reader may wait for the readers next in order, so no writer may come between. One that is
 * on its way enters by itself, and those behind it with it. */
static void take_along(csk_rwlock_t *lock) {
    for (csk_waiter_t *next = lock->first; next != NULL && next->mode == RW_READ; next = next->newer)
        if (next->hand_over == RW_MAY_BE_PASSED) next->hand_over = RW_HANDED_OVER;
}

void csk_rwlock_settle(csk_rwlock_t *lock, enum csk_rwlock_release release, csk_effects_t *effects) {
    if (release == RELEASE_WRITE_KEEP_READ) take_along(lock);
    uint64_t found = csk_load(&lock->state, CSK_RELAXED), holders;
    csk_waiter_t *next;
    bool calls;
    do {
        holders = csk_rwlock_after_release(found & ~RW_FLAGS, release);
        next = let_in(lock, &holders);
        calls = is_due(next, holders);
        lock->coming = calls || is_coming(next);
    } while (!csk_cas(&lock->state, &found, holders | flags_for(lock, next), CSK_ACQ_REL));
    while (lock->first != next) {
        csk_waiter_t *granted = lock->first;
        csk_rwlock_remove(lock, granted);
        grant(lock, granted, effects);
    }
    if (calls) call(next, effects);
}

/* ---- For waiter.c ------------------------------------------------------------------------------------------------ */

static void remove_waiter(void *object, csk_waiter_t *waiter) { csk_rwlock_remove(object, waiter); }
static bool settle(void *object, csk_effects_t *effects) {
    csk_rwlock_settle(object, RELEASE_NOTHING, effects);
    return false;
}
/* A leaver compares the whole word, and can't miss a flag. */
static void look_again(void *object) { (void)object; }

const csk_queue_kind_t csk_rwlock_queue_kind = { csk_rwlock_lock_for_waiter, remove_waiter, settle, look_again,
                                                 CSK_OBJECT_RWLOCK,          NULL };
