#include "lock/sem_queue.h"

#include "lock/gate_order.h"

void csk_sem_begin_in_child(csk_sem_t *sem) {
    sem->waiters.root = NULL;
    sem->arrivals.oldest = NULL;
    sem->arrivals.oldest_passed = sem->waiting = 0;
    csk_store(&sem->pins, 0u, CSK_RELAXED);
    sem->urgency = 0;
    if (csk_sem_has_scopes(sem)) csk_sem_begin_scope(sem, 0); /* `raised` may stay: no task is pinned */
    csk_sem_forget_holder(sem);
    if (!csk_sem_is_busy(sem)) csk_fetch_and(&sem->state, ~SEM_WAITERS, CSK_RELAXED);
}

static void take_out(csk_sem_t *sem, csk_waiter_t *waiter, bool granted) {
    csk_heap_remove(&sem->waiters, &waiter->node);
    csk_arrivals_remove(&sem->arrivals, &waiter->arrival, granted);
    sem->waiting--;
}

static void mark_granted(csk_sem_t *sem, csk_waiter_t *waiter) {
    take_out(sem, waiter, true);
    if (!csk_sem_has_scopes(sem)) sem->urgency = SEM_SEES_FOR_ITSELF;
    csk_waiter_set(waiter, WAITER_GRANTED);
}

/* Inline: a call would cost a waiter that is served at once 3 %. */
static inline __attribute__((always_inline)) void grant(csk_sem_t *sem, csk_waiter_t *waiter, csk_effects_t *effects) {
    mark_granted(sem, waiter);
    csk_sem_note(sem, waiter->task); /* before the link, which stands in its place */
    if (waiter->function != NULL) csk_waiter_finish(waiter, 0, effects);
    else {
        csk_waiter_name_object(waiter, sem, CSK_OBJECT_SEM);
        csk_waiter_let_in(waiter, effects);
    }
}

void csk_sem_grant(csk_sem_t *sem, csk_waiter_t *waiter, csk_effects_t *effects) { grant(sem, waiter, effects); }

/* Whether just enough permits for it stay free until the head, which is `first`, comes for them. */
static bool tries(const csk_sem_t *sem, const csk_waiter_t *first) {
    return !csk_sem_is_strict(sem) && first->function == NULL && !first->hand_over &&
           csk_arrivals_overdue(&sem->arrivals) == NULL;
}

void csk_sem_serve(csk_sem_t *sem, uint64_t state, csk_effects_t *effects) {
    for (csk_waiter_t *first; (first = csk_sem_first(sem)) != NULL && first->permits <= csk_sem_free_in(state);) {
        if (first->permits == csk_sem_free_in(state) && tries(sem, first)) {
            if (!csk_waiter_is_told(first)) csk_waiter_tell(first, WORD_TRY, effects);
            break;
        }
        state -= first->permits * CSK_SEM_PERMIT;
        grant(sem, first, effects);
    }
    csk_store(&sem->state, csk_sem_is_busy(sem) ? state : state & ~SEM_WAITERS, CSK_RELEASE);
}

void csk_sem_settle(csk_sem_t *sem, csk_effects_t *effects) {
    /* From here on the word is not changed without the queue lock. */
    uint64_t found = csk_fetch_or(&sem->state, SEM_WAITERS, CSK_ACQUIRE);
    csk_sem_serve(sem, found | SEM_WAITERS, effects);
}

enum csk_try csk_sem_try(csk_sem_t *sem, csk_waiter_t *self, bool again, csk_effects_t *effects) {
    uint64_t state = csk_load(&sem->state, CSK_RELAXED);
    uint32_t told = WORD_TRY;
    if (csk_waiter_state(self) == WAITER_GRANTED) { /* its word may say so by now, and goes on saying it */
        csk_cas(&self->word, &told, (uint32_t)WORD_WAITING, CSK_RELAXED);
        return TRY_GAVE_UP;
    }
    bool first = csk_sem_first(sem) == self;
    if (first && csk_sem_free_in(state) >= self->permits) {
        mark_granted(sem, self);
        csk_sem_serve(sem, state - self->permits * CSK_SEM_PERMIT, effects);
        return TRY_ENTERED;
    }
    if (first && !again) return TRY_WATCHES;
    csk_store(&self->word, WORD_WAITING, CSK_RELAXED);
    if (first && csk_gate_has_lost_patience(self)) self->hand_over = 1;
    return TRY_GAVE_UP;
}

/* Whether a newcomer goes before the head, which is `first`. */
static bool may_pass(const csk_sem_t *sem, const csk_waiter_t *first, csk_rank_t rank, uint32_t permits) {
    if (first == NULL) return true;
    /* If as many are free as one of the same rank asks for, and it asks for no less, the head was told. */
    return csk_arrivals_overdue(&sem->arrivals) == NULL &&
           (rank > first->node.rank || (rank == first->node.rank && permits >= first->permits));
}

bool csk_sem_pass(csk_sem_t *sem, csk_rank_t rank, uint32_t permits, uint64_t party, csk_effects_t *effects) {
    uint64_t found = csk_load(&sem->state, CSK_RELAXED);
    if (csk_sem_free_in(found) < permits || !may_pass(sem, csk_sem_first(sem), rank, permits)) return false;
    csk_arrivals_pass(&sem->arrivals);
    csk_sem_note(sem, party);
    /* This pass may have been one too many for a waiter, which is the head now, and for which there may be enough. */
    csk_sem_serve(sem, found - permits * CSK_SEM_PERMIT, effects);
    return true;
}

/* Whether as many wait as may. Then the word has the flag. */
static bool is_full(const csk_sem_t *sem) {
    uint32_t limit = sem->limit_and_policy >> 1;
    return limit != 0 && sem->waiting >= limit;
}

bool csk_sem_insert(csk_sem_t *sem, csk_waiter_t *waiter, csk_rank_t rank, uint32_t permits, csk_effects_t *effects) {
    csk_waiter_set(waiter, WAITER_IDLE);
    bool unnamed = csk_rank_is_unnamed(rank);
    rank = csk_rank_in_order(rank);
    if (CSK_UNLIKELY(is_full(sem))) {
        bool passes = csk_sem_pass(sem, rank, permits, waiter->task, effects);
        if (passes && waiter->function != NULL) csk_waiter_finish(waiter, 0, effects);
        return passes;
    }
    waiter->node.rank = rank;
    waiter->node.ticket = csk_waiter_ticket(&sem->next_ticket, rank);
    waiter->permits = permits;
    waiter->hand_over = 0;
    if (sem->waiters.root == NULL && sem->urgency != SEM_SEES_FOR_ITSELF) sem->urgency = 0;
    csk_waiter_set(waiter, WAITER_QUEUED);
    csk_heap_insert(&sem->waiters, &waiter->node);
    csk_arrivals_add(&sem->arrivals, &waiter->arrival, unnamed);
    sem->waiting++;
    csk_sem_settle(sem, effects);
    if (csk_waiter_state(waiter) == WAITER_QUEUED) csk_sem_has_waiter(sem);
    return true;
}

/* ---- For waiter.c ------------------------------------------------------------------------------------------------ */

static void remove_waiter(void *object, csk_waiter_t *waiter) { take_out(object, waiter, false); }
static bool settle(void *object, csk_effects_t *effects) {
    csk_sem_settle(object, effects);
    return false;
}
/* A post compares the whole word, and can't miss the flag. */
static void look_again(void *object) { (void)object; }

const csk_queue_kind_t csk_sem_queue_kind = { csk_sem_lock_for_waiter, remove_waiter, settle, look_again,
                                              CSK_OBJECT_SEM,          NULL };
