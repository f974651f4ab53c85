/* sem_holder.c: a waiter raises the task that has the permit. See sem_queue.h. */
#include "lock/sem_queue.h"

void csk_scoped_sem_begin(csk_scoped_sem_t *scoped) {
    csk_held_sem_begin_noting(&scoped->held);
    scoped->held.placed.sem.has_holder = SEM_HAS_SCOPES;
    scoped->scope = scoped->raised = 0;
}

static bool is_counted(const csk_held_sem_t *held, int32_t level) {
    return csk_load(&held->urgent[level], CSK_RELAXED) > 0;
}
CSK_STATIC_ASSERT(CSK_SEM_URGENCIES == 4, "each level is looked at");
static int32_t highest_level(const csk_held_sem_t *held) {
    if (is_counted(held, 3)) return 3;
    if (is_counted(held, 2)) return 2;
    if (is_counted(held, 1)) return 1;
    return is_counted(held, 0) ? 0 : CSK_SEM_NOBODY_URGENT;
}

int32_t csk_sem_begin_holding(csk_sem_t *sem, uint64_t task) {
    csk_sem_lock_queue(sem);
    if (csk_sem_has_scopes(sem)) csk_sem_begin_scope(sem, task);
    else csk_sem_set_holder(sem, task);
    sem->urgency = 0;
    int32_t highest = highest_level((const csk_held_sem_t *)(const void *)sem);
    csk_queue_unlock(&sem->queue_lock);
    return highest;
}

/* One task at a time is pinned, and `urgency` is of the one that was pinned last. */
static uint64_t scope_to_raise(csk_sem_t *sem, uint8_t urgency) {
    csk_scoped_sem_t *scoped = csk_sem_scoped(sem);
    uint64_t scope = csk_load(&scoped->scope, CSK_RELAXED);
    if (scope == 0) return 0;
    if (scope != scoped->raised) {
        if (csk_sem_pins(sem) != 0) return CSK_SEM_HOLDER_NOT_TOLD;
        scoped->raised = scope;
        sem->urgency = 0;
    }
    return sem->urgency < urgency ? scope : 0;
}

/* Where the semaphore records its holder itself, another thread may give the permit back. */
static uint64_t holder_to_raise(const csk_sem_t *sem, uint8_t urgency) {
    if (csk_sem_notes(sem) != SEM_NOTES_NEVER || sem->urgency >= urgency) return 0;
    uint64_t holder = csk_sem_holder(sem);
    return holder != 0 ? holder : CSK_SEM_HOLDER_NOT_TOLD;
}

uint64_t csk_sem_pin_holder(csk_sem_t *sem, uint8_t urgency) {
    bool has_scopes = csk_sem_has_scopes(sem);
    uint64_t holder = 0;
    csk_sem_lock_queue(sem);
    if (sem->waiters.root != NULL) holder = has_scopes ? scope_to_raise(sem, urgency) : holder_to_raise(sem, urgency);
    if (holder != 0 && holder != CSK_SEM_HOLDER_NOT_TOLD) {
        sem->urgency = urgency;
        csk_store(&sem->pins, csk_sem_pins(sem) + 1, CSK_RELAXED);
    }
    csk_queue_unlock(&sem->queue_lock);
    return holder;
}

void csk_sem_unpin_holder(csk_sem_t *sem) {
    csk_effects_t effects = { 0 };
    csk_sem_lock_queue(sem);
    uint32_t pins = csk_sem_pins(sem);
    if (pins == 0) { /* this is a child of fork, and has no pins of the parent's */
        csk_queue_unlock(&sem->queue_lock);
        return;
    }
    bool is_last = (pins & ~SEM_PINS_AWAITED) == 1;
    csk_store(&sem->pins, is_last ? 0 : pins - 1, CSK_RELAXED);
    csk_sem_serve(sem, csk_load(&sem->state, CSK_RELAXED), &effects);
    csk_queue_unlock(&sem->queue_lock);
    csk_effects_perform(&effects);
    if (CSK_UNLIKELY(is_last && (pins & SEM_PINS_AWAITED))) csk_platform_wake(&sem->pins, INT32_MAX);
}

void csk_sem_await_unpinned(csk_sem_t *sem) {
    uint32_t pins = csk_sem_pins(sem) | SEM_PINS_AWAITED;
    csk_store(&sem->pins, pins, CSK_RELAXED);
    csk_queue_unlock(&sem->queue_lock);
    csk_platform_park(&sem->pins, pins, CSK_NEVER);
    csk_sem_lock_queue(sem);
}
