/* sem_note.c: a semaphore of one permit records its holder. See sem_queue.h. */
#include "lock/sem_queue.h"

static bool are_wanted(void) { return csk_callbacks_are_listed(); }

uint64_t csk_sem_find_party(void) {
    /* Relaxed, as the store: a function is all that it publishes. */
    uint64_t (*current)(void) = csk_load(&csk_waits_current_task, CSK_RELAXED);
    uint64_t task = current != NULL ? current() : 0;
    return task != 0 ? task : CSK_SEM_HELD_BY_THREAD | (uint32_t)csk_waits_thread_id();
}

/* It is not shared yet. */
void csk_held_sem_begin_noting(csk_held_sem_t *held) {
    csk_sem_t *sem = &held->placed.sem;
    csk_held_sem_begin(held);
    if (csk_sem_in_all(sem->state) != 1) return;
    sem->notes = are_wanted() ? SEM_NOTES : SEM_MAY_NOTE;
    if (sem->notes == SEM_NOTES) sem->state |= SEM_WAITERS;
}

/* Others may have posted what they had not taken, or changed the size, while nothing was recorded. */
void csk_sem_begin_noting(csk_sem_t *sem) {
    uint64_t state = csk_load(&sem->state, CSK_RELAXED);
    int64_t free = csk_sem_free_in(state);
    if (!are_wanted() || csk_sem_in_all(state) != 1 || free < 0 || free > 1) return;
    csk_store(&sem->notes, (uint8_t)SEM_NOTES, CSK_RELAXED);
}

static void end(csk_sem_t *sem, uint8_t notes) {
    csk_store(&sem->notes, notes, CSK_RELAXED);
    csk_sem_set_holder(sem, 0);
}

void csk_sem_look_at_change(csk_sem_t *sem, uint32_t permits, uint64_t party) {
    uint64_t state = csk_load(&sem->state, CSK_RELAXED), holder = csk_sem_holder(sem);
    bool gives_its_own = party != 0 && permits == 1 && csk_sem_free_in(state) == 0 && (holder == 0 || holder == party);
    if (gives_its_own && are_wanted()) return;
    end(sem, gives_its_own ? SEM_MAY_NOTE : SEM_NOTES_NEVER);
    if (csk_sem_first(sem) == NULL && csk_sem_pins(sem) == 0) csk_store(&sem->state, state & ~SEM_WAITERS, CSK_RELEASE);
}

void csk_sem_forget_holder(csk_sem_t *sem) {
    if (csk_sem_notes(sem) != SEM_NOTES) return;
    if (are_wanted()) csk_sem_set_holder(sem, 0);
    else end(sem, SEM_MAY_NOTE);
}
