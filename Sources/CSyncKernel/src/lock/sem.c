/* sem.c: threads take permits of a semaphore, wait for them, and give them. See sem_queue.h for the word and the
 * argument. */
#include "csynckernel/sem.h"

#include "lock/sem_queue.h"
#include "wait/announce.h"
#include "wait/spin_park.h"

int csk_sem_init(csk_sem_t *sem, uint32_t permits, uint32_t most) {
    csk_sem_t fresh = CSK_SEM_INITIALIZER;
    if (most == 0) most = CSK_SEM_MAX;
    if (most > CSK_SEM_MAX || permits > most) return EINVAL;
    fresh.state = (uint64_t)((int64_t)permits * CSK_SEM_PERMIT);
    fresh.below_max = CSK_SEM_MAX - most;
    fresh.in_all = permits;
    *sem = fresh;
    return 0;
}

int csk_sem_destroy(csk_sem_t *sem) { return csk_sem_waiting(sem) != 0 ? EBUSY : 0; }

uint32_t csk_sem_waiting(csk_sem_t *sem) {
    if (!(csk_load(&sem->state, CSK_ACQUIRE) & CSK_SEM_WAITERS)) return 0;
    csk_sem_lock_queue(sem);
    uint32_t waiting = sem->waiting;
    csk_queue_unlock(&sem->queue_lock);
    return waiting;
}

int32_t csk_sem_permits(csk_sem_t *sem) {
    int64_t state = (int64_t)(csk_load(&sem->state, CSK_RELAXED) & ~CSK_SEM_WAITERS);
    return (int32_t)(state / CSK_SEM_PERMIT);
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

/* Called under the queue lock, where somebody waits: nobody else changes the word. */
static bool pass(csk_sem_t *sem, csk_rank_t rank, uint32_t permits) {
    uint64_t found = csk_load(&sem->state, CSK_RELAXED);
    int64_t asked = (int64_t)permits * CSK_SEM_PERMIT;
    if (rank <= csk_sem_first(sem)->node.rank || (int64_t)(found & ~CSK_SEM_WAITERS) < asked) return false;
    csk_store(&sem->state, found - (uint64_t)asked, CSK_RELAXED);
    return true;
}

int csk_sem_trywait_slow(csk_sem_t *sem, csk_rank_t rank, uint32_t permits) {
    if (!csk_sem_is_request(sem, rank, permits)) return EINVAL;
    while (csk_load(&sem->state, CSK_RELAXED) & CSK_SEM_WAITERS) {
        csk_sem_lock_queue(sem);
        bool somebody = csk_sem_first(sem) != NULL, passed = somebody && pass(sem, rank, permits);
        csk_queue_unlock(&sem->queue_lock);
        if (somebody) return passed ? 0 : EBUSY;
    }
    return csk_sem_take_fast(sem, permits) ? 0 : EBUSY;
}

/* Newcomers that spin stand in no order; each of them may take permits as long as nobody waits. */
static bool spin_to_take(csk_sem_t *sem, uint32_t permits) {
    csk_spin_t spin = csk_spin_begin(CSK_SPIN_NS);
    do {
        if (csk_sem_take_fast(sem, permits)) return true;
        if (csk_load(&sem->state, CSK_RELAXED) & CSK_SEM_WAITERS) return false;
    } while (csk_spin(&spin));
    return false;
}

static int park(void *object, csk_gate_waiter_t *self, int64_t deadline_ns, csk_watch_t *watch) {
    (void)object, (void)watch;
    return csk_wait_park(&self->word, WORD_PARKED, deadline_ns);
}
static void await_granter(void *object, csk_gate_waiter_t *self) {
    (void)object;
    csk_waiter_await_granter(self);
}
/* Nobody is designated here, so nobody tries and nobody watches to try. */
static const csk_wait_kind_t kind = { &csk_sem_queue_kind, NULL, NULL, park, await_granter };

int csk_sem_wait_slow(csk_sem_t *sem, csk_rank_t rank, uint32_t permits, int64_t deadline_ns) {
    if (!csk_sem_is_request(sem, rank, permits)) return EINVAL;
    if (deadline_ns != CSK_NEVER && deadline_ns <= csk_platform_now()) {
        int status = csk_sem_trywait_slow(sem, rank, permits);
        return status == EBUSY ? ETIMEDOUT : status;
    }
    if (spin_to_take(sem, permits)) return 0;
    csk_gate_waiter_t waiter;
    csk_effects_t effects = { 0 };
    csk_waiter_for_thread(&waiter, rank, csk_self());
    csk_sem_lock_queue(sem);
    csk_sem_insert(sem, &waiter, rank, permits, &effects);
    bool waits = csk_waiter_state(&waiter) == WAITER_QUEUED;
    csk_queue_unlock(&sem->queue_lock);
    csk_effects_perform_waiting(&effects);
    return waits ? csk_waiter_wait(&kind, sem, &waiter, deadline_ns, true) : 0;
}

/* ---- Signalling -------------------------------------------------------------------------------------------------- */

int csk_sem_signal_slow(csk_sem_t *sem, uint32_t permits) {
    if (permits == 0) return EINVAL;
    for (;;) {
        uint64_t found = csk_load(&sem->state, CSK_RELAXED);
        if ((int64_t)(found & ~CSK_SEM_WAITERS) / CSK_SEM_PERMIT + permits > (int64_t)csk_sem_most(sem))
            return EOVERFLOW;
        if (!(found & CSK_SEM_WAITERS)) {
            if (csk_cas(&sem->state, &found, found + (uint64_t)(permits * CSK_SEM_PERMIT), CSK_RELEASE)) return 0;
            continue;
        }
        csk_effects_t effects = { 0 };
        csk_sem_lock_queue(sem);
        bool somebody = csk_sem_first(sem) != NULL;
        if (somebody) csk_sem_settle(sem, permits, &effects);
        csk_queue_unlock(&sem->queue_lock);
        csk_effects_perform(&effects);
        if (somebody) return 0;
    }
}

int csk_sem_resize(csk_sem_t *sem, uint32_t permits) {
    if (permits > csk_sem_most(sem)) return EINVAL;
    csk_effects_t effects = { 0 };
    csk_sem_lock_queue(sem);
    csk_sem_settle(sem, (int64_t)permits - sem->in_all, &effects);
    sem->in_all = permits;
    csk_queue_unlock(&sem->queue_lock);
    csk_effects_perform(&effects);
    return 0;
}
