/* gate_queue.c: the gate's queue under its lock. See gate_queue.h. */
#include "lock/gate_queue.h"

#include "base/ordering.h"
#include "lock/gate_await.h"

/* ---- The words --------------------------------------------------------------------------------------------------- */

bool csk_gate_take(csk_gate_t *gate, uint64_t holder) {
    uint64_t found = csk_load(&gate->held, CSK_RELAXED);
    do {
        if ((found & ~HELD_FLAGS) != 0) return false;
    } while (!csk_cas(&gate->held, &found, holder | (found & HELD_FLAGS), CSK_ACQ_REL));
    return true;
}

/* The caller holds the gate, or acts for its holder. So only the owner of the queue lock changes the word meanwhile. */
void csk_gate_transfer(csk_gate_t *gate, uint64_t holder) {
    uint64_t flags = csk_load(&gate->held, CSK_RELAXED) & HELD_FLAGS;
    csk_store(&gate->held, holder | flags, CSK_RELEASE);
}

/* In the two-word form this is a plain store. It is ordered before a look at `held` by the membarrier of the threads
 * that check again. In the one-word form it ends with a locked instruction on `held`. */
void csk_gate_write_words(csk_gate_t *gate, uint64_t form_and_flags, uint64_t rank) {
    uint64_t closed = gate->closed ? GATE_CLOSED : 0;
    csk_store(&gate->summary, form_and_flags | closed | rank << GATE_RANK_SHIFT, CSK_RELEASE);
    if (form_and_flags & GATE_ONE_WORD) {
        uint64_t found = csk_load(&gate->held, CSK_RELAXED), flags = form_and_flags >> HELD_FLAGS_SHIFT & HELD_FLAGS;
        while (!csk_cas(&gate->held, &found, (found & ~HELD_FLAGS) | flags, CSK_RELAXED)) {}
    }
}

/* ---- The queue --------------------------------------------------------------------------------------------------- */

void csk_gate_decide_form(csk_gate_t *gate) {
    /* A bypass limit must hold against newcomers that looked at the queue long ago. Only the flags in one word can't be
     * stale. */
    bool one_word = gate->policy != CSK_GATE_FAST || csk_gate_has_limit(gate) || !csk_platform_has_membarrier();
    csk_gate_set_form(gate, one_word ? GATE_ONE_WORD : GATE_READY);
}

void csk_gate_begin_in_child(csk_gate_t *gate) {
    gate->waiters.root = NULL;
    csk_store(&gate->looks, (uint8_t)(csk_load(&gate->looks, CSK_RELAXED) & LOOKS_ORDERED), CSK_RELAXED);
    gate->oldest = NULL;
    gate->oldest_bypassed = gate->bounded = gate->waiting = 0;
    csk_store(&gate->lost_grants, 0u, CSK_RELAXED);
    gate->hand_over = 0;
    if (csk_gate_pending(gate) != NULL && csk_gate_holder(gate) == CSK_GATE_NOBODY) csk_gate_transfer(gate, 0);
    csk_gate_end_pending(gate, csk_gate_pending(gate));
    if (csk_load(&gate->summary, CSK_RELAXED) != 0) csk_gate_publish(gate);
}

void csk_gate_insert(csk_gate_t *gate, csk_waiter_t *waiter) {
    csk_waiter_set(waiter, WAITER_QUEUED);
    csk_gate_link(gate, waiter);
    gate->waiting++;
    if (csk_gate_lane_of(waiter) != NULL) csk_gate_lane_put(gate, waiter);
    else csk_gate_show(gate, waiter);
}

bool csk_gate_pass_over(csk_gate_t *gate, int64_t now_ns) {
    csk_waiter_t *next = csk_gate_next(gate);
    bool others = gate->waiting > 1 || csk_gate_conditions_waiting(gate) != 0;
    if (next == NULL || !others || !csk_gate_somebody_comes(csk_gate_flags(gate, next), 0)) return false;
    if (now_ns - next->first_told_ns < GATE_PASSED_OVER_NS) return false;
    csk_heap_remove(&gate->waiters, &next->node);
    csk_waiter_set(next, WAITER_LOST);
    csk_gate_count_lost(gate, 1);
    return true;
}

bool csk_gate_come_back(csk_gate_t *gate, csk_waiter_t *waiter) {
    if (!csk_gate_is_passed_over(waiter)) return false;
    csk_gate_count_lost(gate, -1);
    csk_waiter_set(waiter, WAITER_QUEUED);
    csk_heap_insert(&gate->waiters, &waiter->node);
    gate->next_ticket++; /* gate_watch.c counts arrivals at the queue by the tickets */
    return true;
}

/* Takes a waiter out of the queue. The waiters of a lane stay among the arrivals until they begin, since a grant that
 * is taken back has overtaken no waiter. */
void csk_gate_take_out(csk_gate_t *gate, csk_waiter_t *waiter, bool granted) {
    /* The next in order asked for the hand-over. Others that give up must not cancel its request. */
    if (granted || csk_gate_next(gate) == waiter) gate->hand_over = 0;
    gate->waiting--;
    if (csk_gate_lane_of(waiter) != NULL) {
        csk_gate_lane_take(gate, waiter, granted);
        if (!granted) csk_gate_unlink(gate, waiter, false);
        return;
    }
    /* Designated and passed over, after its deadline had passed and before it came here. */
    if (csk_gate_is_passed_over(waiter)) csk_gate_count_lost(gate, -1);
    else csk_heap_remove(&gate->waiters, &waiter->node);
    csk_gate_unlink(gate, waiter, granted);
}

/* `held` names the waiter already, or CSK_GATE_NOBODY for an asynchronous one. The waiter is not in the queue, or not
 * any more. If its grant is to be adopted, `pending` names the waiter already. */
void csk_gate_mark_granted(csk_gate_t *gate, csk_waiter_t *waiter, csk_effects_t *effects) {
    csk_waiter_set(waiter, WAITER_GRANTED);
    if (waiter->function == NULL) {
        csk_waiter_tell(waiter, WORD_GRANTED, effects);
        return;
    }
    if (waiter->adoptable) {
        waiter->granted_ns = 0; /* its grace has not begun */
        if (gate->waiters.root != NULL || csk_gate_conditions(gate) != NULL) csk_gate_start_grace(gate);
    }
    csk_gate_lane_t *lane = waiter->lane;
    if (lane != NULL && lane->function != NULL) {
        csk_store(&lane->due, 1, CSK_RELAXED);
        effects->lane = lane;
    } else if (!csk_gate_is_on_its_way(waiter)) csk_waiter_finish(waiter, 0, effects);
}

static uint64_t holder_of(const csk_waiter_t *waiter) {
    return waiter->function != NULL ? CSK_GATE_NOBODY : waiter->thread;
}

/* Takes the gate for a waiter. If the grant is to be adopted, `pending` names the waiter before `held` says NOBODY, so
 * that no child of fork finds the one without the other. */
bool csk_gate_take_for(csk_gate_t *gate, csk_waiter_t *waiter) {
    if (csk_gate_holder(gate) != 0) return false; /* only the owner of the queue lock makes it NOBODY's */
    csk_waiter_t *before = csk_gate_pending(gate);
    if (waiter->function != NULL && waiter->adoptable) csk_gate_name_pending(gate, waiter);
    bool taken = csk_gate_take(gate, holder_of(waiter));
    if (!taken) csk_gate_name_pending(gate, before);
    return taken;
}

/* The same order where a grant is over: its name is removed once `held` names another holder, or NOBODY for a grant
 * that needs no adoption. */
void csk_gate_end_pending(csk_gate_t *gate, const csk_waiter_t *waiter) {
    if (csk_gate_pending(gate) == waiter) __atomic_store_n(&gate->pending, (csk_waiter_t *)NULL, __ATOMIC_RELEASE);
}

/* Gives the gate to a queued waiter. The caller holds the gate, or has just taken it for this waiter. */
void csk_gate_grant_to(csk_gate_t *gate, csk_waiter_t *next, csk_effects_t *effects) {
    bool forced = csk_gate_overdue(gate) == next;
    csk_gate_take_out(gate, next, true);
    if (csk_gate_lane_of(next) != NULL) next->lane->forced = forced;
    if (next->function != NULL && next->adoptable) csk_gate_name_pending(gate, next);
    csk_gate_transfer(gate, holder_of(next));
    csk_gate_mark_granted(gate, next, effects);
}

static void designate(csk_waiter_t *next, csk_effects_t *effects) {
    next->told_ns = next->first_told_ns = csk_platform_now();
    csk_waiter_tell(next, WORD_TRY, effects);
}

enum csk_gate_call csk_gate_call(const csk_gate_t *gate, csk_waiter_t **next) {
    *next = csk_gate_next(gate);
    return csk_gate_call_for(csk_gate_flags(gate, *next), 0);
}

void csk_gate_answer(csk_gate_t *gate, enum csk_gate_call call, csk_waiter_t *next, csk_effects_t *effects) {
    if (call == GATE_DESIGNATES) designate(next, effects);
    else if (call == GATE_GRANTS) csk_gate_grant_to(gate, next, effects);
}

/* Publishes the queue. Returns what is to be done for the next waiter, as csk_gate_call does. */
static enum csk_gate_call publish(csk_gate_t *gate, uint64_t form, csk_waiter_t **next) {
    *next = csk_gate_next(gate);
    uint64_t flags = csk_gate_flags(gate, *next), rank = 0;
    /* Each pass is counted under a limit of the gate's own, and each entry is reported at an ordered one. Both take the
     * queue lock. */
    if (csk_gate_has_limit(gate) || csk_gate_is_ordered(gate)) rank = GATE_RANK_MAX;
    else if (*next != NULL) rank = csk_gate_biased_rank((*next)->node.rank);
    csk_gate_write_words(gate, form | flags | (csk_load(&gate->looks, CSK_RELAXED) ? GATE_LOOKS : 0), rank);
    return csk_gate_call_for(flags, 0);
}

static uint64_t form_of(const csk_gate_t *gate) {
    return csk_load(&gate->summary, CSK_RELAXED) & (GATE_READY | GATE_ONE_WORD);
}

void csk_gate_publish(csk_gate_t *gate) {
    csk_waiter_t *next;
    publish(gate, form_of(gate), &next);
}

/* A mutex may be held already, by an inline entry. Where it is ordered, its holder's inline exit fails at the flags in
 * `held`, and comes to the slow path. */
void csk_gate_set_form(csk_gate_t *gate, uint64_t form) {
    csk_waiter_t *next;
    const csk_ordering_t *ordering = NULL;
    csk_gate_lock_queue(gate);
    if (csk_load(&gate->summary, CSK_RELAXED) == 0) {
        ordering = csk_current_ordering();
        csk_store(&gate->looks, (uint8_t)(ordering != NULL ? LOOKS_ORDERED : 0), CSK_RELAXED);
        publish(gate, form, &next);
    }
    csk_queue_unlock(&gate->queue_lock);
    if (ordering != NULL) ordering->begins(gate);
}

/* Ensures that a waiter comes for the gate if it is free. */
static void serve(csk_gate_t *gate, enum csk_gate_call call, csk_waiter_t *next, csk_effects_t *effects) {
    if (call == GATE_CALLS_NOBODY || (csk_load(&gate->held, CSK_RELAXED) & ~HELD_FLAGS) != 0) return;
    if (call == GATE_GRANTS && !csk_gate_take_for(gate, next)) return;
    csk_gate_answer(gate, call, next, effects);
    csk_gate_publish(gate);
}

/* Whether a leaver of the two-word form that goes by this summary calls no waiter. Never in one word: a leaver sees
 * each change there, and the closing function may free the gate as soon as the queue lock is dropped. A thread that has
 * taken a waiter out must not touch that gate again. */
static bool calls_nobody(uint64_t summary) {
    return !(summary & GATE_ONE_WORD) && csk_gate_call_for(summary, 0) == GATE_CALLS_NOBODY;
}

bool csk_gate_settle(csk_gate_t *gate, csk_effects_t *effects) {
    uint64_t before = csk_load(&gate->summary, CSK_RELAXED);
    csk_waiter_t *next;
    enum csk_gate_call call = publish(gate, form_of(gate), &next);
    serve(gate, call, next, effects);
    return calls_nobody(before) && csk_gate_call_for(csk_load(&gate->summary, CSK_RELAXED), 0) != GATE_CALLS_NOBODY;
}
