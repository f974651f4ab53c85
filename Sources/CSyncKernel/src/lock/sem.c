/* sem.c: threads take permits of a semaphore, wait for them, and give them. See sem_queue.h for the word and the
 * argument. */
#include "csynckernel/sem.h"

#include "base/ordering.h"
#include "base/sizes.h"
#include "lock/sem_queue.h"
#include "thread/name.h"
#include "wait/announce.h"
#include "wait/spin_park.h"
#include "wait/watch.h"

int csk_sem_init(csk_sem_t *sem, uint32_t permits, uint32_t most) {
    csk_sem_attr_t attr = { .most = most };
    return csk_sem_init_attr(sem, permits, &attr);
}

int csk_sem_init_attr(csk_sem_t *sem, uint32_t permits, const csk_sem_attr_t *attr) {
    static const csk_sem_attr_t defaults = { 0 };
    csk_sem_t fresh = CSK_SEM_INITIALIZER;
    if (attr == NULL) attr = &defaults;
    uint32_t most = attr->most != 0 ? attr->most : CSK_SEM_MAX;
    if (!CSK_KNOWS_SIZE_OF(attr) || most > CSK_SEM_MAX || permits > most || attr->policy > CSK_SEM_STRICT)
        return EINVAL;
    uint32_t limit = attr->waiters_limit <= INT32_MAX ? attr->waiters_limit : 0;
    fresh.state = permits * CSK_SEM_PERMIT + permits * SEM_IN_ALL;
    fresh.below_max = CSK_SEM_MAX - most;
    fresh.arrivals.limit = attr->bypass_limit;
    fresh.limit_and_policy = limit << 1 | attr->policy;
    *sem = fresh;
    if (csk_current_ordering() != NULL) csk_current_ordering()->begins(sem);
    return 0;
}

int csk_sem_destroy(csk_sem_t *sem) {
    if (csk_sem_waiting(sem) != 0) return EBUSY;
    csk_name_end(sem);
    return 0;
}

uint32_t csk_sem_waiting(csk_sem_t *sem) {
    if (!(csk_load(&sem->state, CSK_RELAXED) & SEM_WAITERS)) return 0;
    csk_sem_lock_queue(sem);
    uint32_t waiting = sem->waiting;
    csk_queue_unlock(&sem->queue_lock);
    return waiting;
}

int32_t csk_sem_permits(csk_sem_t *sem) { return (int32_t)csk_sem_free_in(csk_load(&sem->state, CSK_RELAXED)); }

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

int csk_sem_trywait_slow(csk_sem_t *sem, csk_rank_t rank, uint32_t permits) {
    if (!csk_sem_is_request(sem, rank, permits)) return EINVAL;
    rank = csk_rank_in_order(rank);
    while (csk_load(&sem->state, CSK_RELAXED) & SEM_WAITERS) {
        csk_effects_t effects = { 0 };
        uint64_t party = csk_sem_party(sem);
        csk_sem_lock_queue(sem);
        bool busy = csk_sem_is_busy(sem), passed = busy && csk_sem_pass(sem, rank, permits, party, &effects);
        csk_queue_unlock(&sem->queue_lock);
        csk_effects_perform(&effects);
        if (busy) return passed ? 0 : EBUSY;
    }
    return csk_sem_take_fast(sem, permits) ? 0 : EBUSY;
}

/* Newcomers that spin stand in no order; each of them may take permits whenever it may pass all waiters: where all are
 * handed their permits, as long as there are none. */
static bool spin_to_take(csk_sem_t *sem, csk_rank_t rank, uint32_t permits, int64_t *since_ns) {
    csk_spin_t spin = csk_spin_begin(CSK_SPIN_NS);
    *since_ns = csk_tell_came(spin.end_ns - CSK_SPIN_NS);
    do {
        uint64_t found = csk_load(&sem->state, CSK_RELAXED);
        if ((found & SEM_WAITERS) && csk_sem_is_strict(sem)) return false;
        if (csk_sem_free_in(found) >= permits && csk_sem_trywait_slow(sem, rank, permits) == 0) return true;
    } while (csk_spin(&spin));
    return false;
}

static int park(void *object, csk_waiter_t *self, int64_t deadline_ns, csk_watch_t *watch) {
    (void)object, (void)watch;
    return csk_wait_park(&self->word, WORD_PARKED, deadline_ns);
}
static void await_granter(void *object, csk_waiter_t *self) {
    (void)object;
    csk_waiter_await_granter(self);
}
static enum csk_try try_to_enter(void *object, csk_waiter_t *self, bool again, csk_effects_t *effects) {
    return csk_sem_try(object, self, again, effects);
}
/* Whoever was told spins for a moment before it gives up. Meanwhile no other one is told. */
static void spin_for_permits(void *object, csk_waiter_t *self) {
    csk_sem_t *sem = object;
    csk_spin_t spin = csk_spin_begin(CSK_SPIN_NS);
    while (csk_spin(&spin))
        if (csk_sem_free_in(csk_load(&sem->state, CSK_RELAXED)) >= self->permits ||
            csk_load(&self->word, CSK_RELAXED) == WORD_GRANTED)
            return;
}
static const csk_wait_kind_t kind = { &csk_sem_queue_kind, try_to_enter,      spin_for_permits, park,
                                      await_granter,       CSK_WATCH_ENDED_NS };

int csk_sem_wait_slow(csk_sem_t *sem, csk_rank_t rank, uint32_t permits, int64_t deadline_ns) {
    if (!csk_sem_is_request(sem, rank, permits)) return EINVAL;
    if (deadline_ns != CSK_NEVER && deadline_ns <= csk_platform_now()) {
        int status = csk_sem_trywait_slow(sem, rank, permits);
        return status == EBUSY ? ETIMEDOUT : status;
    }
    if (CSK_UNLIKELY(csk_sem_notes(sem) == SEM_NOTES) && csk_sem_trywait_slow(sem, rank, permits) == 0) return 0;
    csk_ordering_misses(sem, CSK_OBJECT_SEM);
    int64_t since_ns;
    if (spin_to_take(sem, rank, permits, &since_ns)) {
        csk_tell_entered(sem, CSK_OBJECT_SEM, rank, since_ns, true);
        return 0;
    }
    csk_waiter_t waiter;
    csk_effects_t effects = { 0 };
    csk_waiter_for_thread(&waiter, csk_rank_in_order(rank), csk_self());
    csk_waiter_came(&waiter, since_ns);
    waiter.task = csk_sem_party(sem);
    csk_sem_lock_queue(sem);
    bool has_room = csk_sem_insert(sem, &waiter, rank, permits, &effects);
    bool waits = csk_waiter_state(&waiter) == WAITER_QUEUED;
    csk_queue_unlock(&sem->queue_lock);
    if (!has_room) return EUSERS;
    /* A newcomer brings no permits, but if it was served past others, one of these may have been served too. */
    if (!waits) csk_effects_perform(&effects);
    if (!waits) csk_tell_entered(sem, CSK_OBJECT_SEM, rank, since_ns, false);
    if (!waits) return 0;
    csk_watch_word_awake(&waiter, deadline_ns);
    return csk_waiter_wait(&kind, sem, &waiter, deadline_ns, false);
}

/* ---- Posting and changing the size ------------------------------------------------------------------------------- */

/* A post of so many permits, or a change to so many in all. */
typedef struct change {
    uint32_t permits;
    bool resizes;
} change_t;

/* Makes the change in *state. Returns false when too many would be free. */
static bool make(const csk_sem_t *sem, change_t change, uint64_t *state) {
    int64_t more = change.resizes ? (int64_t)change.permits - csk_sem_in_all(*state) : change.permits;
    if (csk_sem_free_in(*state) + more > csk_sem_most(sem)) return false;
    *state += (uint64_t)more * (CSK_SEM_PERMIT + (change.resizes ? SEM_IN_ALL : 0));
    return true;
}

/* Called under the queue lock. The head, if it was told. */
static __attribute__((noinline, cold)) const csk_waiter_t *find_told(const csk_sem_t *sem) {
    const csk_waiter_t *first = csk_sem_first(sem);
    return first != NULL && csk_waiter_is_told(first) ? first : NULL;
}
/* Called under the queue lock once it has served, where waits are reported; `before` was told before that. Whom it has
 * told is called by this thread, which is reported as at a gate (csk_tell_called). */
static __attribute__((noinline, cold)) void note_told(csk_called_t *called, const csk_sem_t *sem,
                                                      const csk_waiter_t *before) {
    csk_waiter_t *told = (csk_waiter_t *)find_told(sem);
    if (told == NULL || told == before) return;
    told->told_ns = csk_waiter_note_called(called, told, sem, CSK_OBJECT_SEM, GRANTED_TRY);
}

/* Called under the queue lock. Makes the change where what the head was told of leaves no room for it: hands the head
 * that first. Returns false where there is no room even then. */
static __attribute__((noinline, cold)) bool make_beside_told(csk_sem_t *sem, change_t change, uint64_t *state,
                                                             csk_effects_t *effects) {
    csk_waiter_t *told = (csk_waiter_t *)find_told(sem);
    if (told == NULL || csk_sem_free_in(*state) < told->permits) return false;
    uint64_t rest = *state - told->permits * CSK_SEM_PERMIT;
    if (!make(sem, change, &rest)) return false;
    csk_sem_grant(sem, told, effects);
    *state = rest;
    return true;
}

/* Makes the change where the word has the flag. Returns false where it should not; then nothing was changed. */
static bool make_among_waiters(csk_sem_t *sem, change_t change, int *status) {
    csk_effects_t effects = { 0 };
    csk_called_t called;
    called.told = false;
    uint64_t party = change.resizes ? 0 : csk_sem_party(sem);
    csk_sem_lock_queue(sem);
    while (CSK_UNLIKELY(csk_sem_pins(sem) != 0) && !csk_sem_has_scopes(sem)) csk_sem_await_unpinned(sem);
    if (CSK_UNLIKELY(csk_sem_notes(sem) == SEM_NOTES)) csk_sem_look_at_change(sem, change.permits, party);
    bool busy = csk_sem_is_busy(sem);
    if (busy) {
        uint64_t state = csk_load(&sem->state, CSK_RELAXED);
        bool made = make(sem, change, &state) || make_beside_told(sem, change, &state, &effects);
        *status = made ? 0 : EOVERFLOW;
        if (made) {
            bool tells = csk_waits_are_told();
            const csk_waiter_t *before = tells ? find_told(sem) : NULL;
            csk_sem_note(sem, 0);
            csk_sem_serve(sem, state, &effects);
            if (tells) note_told(&called, sem, before);
        }
    }
    csk_queue_unlock(&sem->queue_lock);
    csk_effects_perform(&effects);
    csk_tell_called(&called);
    return busy;
}

static int change_permits(csk_sem_t *sem, change_t change) {
    for (int status;;) {
        uint64_t found = csk_load(&sem->state, CSK_RELAXED), changed = found;
        if (found & SEM_WAITERS) {
            if (make_among_waiters(sem, change, &status)) return status;
            continue;
        }
        if (!make(sem, change, &changed)) return EOVERFLOW;
        if (csk_cas(&sem->state, &found, changed, CSK_RELEASE)) return 0;
    }
}

int csk_sem_post_slow(csk_sem_t *sem, uint32_t permits) {
    return permits == 0 ? EINVAL : change_permits(sem, (change_t){ permits, false });
}

/* The scope is over, so once its task is not pinned, it stays so. Others' pins don't matter: a thread that has such a
 * pin may run this task meanwhile. */
int csk_sem_end_scope_slow(csk_sem_t *sem, uint64_t task, uint32_t permits) {
    csk_sem_lock_queue(sem);
    while (csk_sem_pins(sem) != 0 && csk_sem_scoped(sem)->raised == task) csk_sem_await_unpinned(sem);
    csk_queue_unlock(&sem->queue_lock);
    return csk_sem_post_slow(sem, permits);
}

int csk_sem_resize(csk_sem_t *sem, uint32_t permits) {
    return permits > csk_sem_most(sem) ? EINVAL : change_permits(sem, (change_t){ permits, true });
}
