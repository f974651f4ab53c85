/* gate_conditions.c: the conditions of a gate: their list, the leaver that evaluates them, and conditions with a
 * function. See gate_await.h. */
#include "lock/gate_await.h"

#include "base/raise.h"
#include "lock/gate_queue.h"

_Thread_local csk_gate_place_t *csk_gate_place __attribute__((tls_model("initial-exec")));

/* ---- The list, under the queue lock ------------------------------------------------------------------------------ */

static void append_behind(csk_gate_t *gate, csk_gate_condition_t *before, csk_gate_condition_t *added) {
    if (csk_gate_conditions(gate) == NULL) {
        added->list.first = NULL;
        csk_gate_set_conditions(gate, &added->list);
    }
    csk_gate_conditions_t *list = csk_gate_conditions(gate);
    added->before = before;
    added->behind = before != NULL ? before->behind : list->first;
    if (added->behind != NULL) added->behind->before = added;
    if (before != NULL) before->behind = added;
    else list->first = added;
}

/* O(n): by rank, then by arrival. */
static void insert(csk_gate_t *gate, csk_gate_condition_t *added) {
    const csk_gate_conditions_t *list = csk_gate_conditions(gate);
    csk_gate_condition_t *before = NULL, *next = list != NULL ? list->first : NULL;
    for (; next != NULL && csk_heap_before(&next->waiter.node, &added->waiter.node); next = next->behind) before = next;
    append_behind(gate, before, added);
}

/* The list leaves the memory of the one that is taken out. */
static void take_out(csk_gate_t *gate, csk_gate_condition_t *taken) {
    csk_gate_conditions_t *list = csk_gate_conditions(gate);
    if (taken->behind != NULL) taken->behind->before = taken->before;
    if (taken->before != NULL) taken->before->behind = taken->behind;
    else list->first = taken->behind;
    csk_gate_condition_t *first = list->first;
    if (first == NULL) csk_gate_set_conditions(gate, NULL);
    else if (list == &taken->list) {
        first->list.first = first;
        csk_gate_set_conditions(gate, &first->list);
    }
}

/* ---- Those that are overtaken, under the queue lock -------------------------------------------------------------- */

/* Those that were overtaken too often have the highest rank, and tickets before all that gates give. */
static bool is_overdue(const csk_gate_condition_t *condition) { return condition->waiter.node.ticket < INT64_MIN / 2; }

/* O(n): they stand first. */
static csk_gate_condition_t *last_overdue(const csk_gate_t *gate) {
    csk_gate_condition_t *last = NULL;
    for (csk_gate_condition_t *at = csk_gate_conditions(gate)->first; at != NULL && is_overdue(at); at = at->behind)
        last = at;
    return last;
}

/* As csk_arrivals_add has it: under the gate's own limit all, without one those of unnamed rank. */
static bool is_bounded(const csk_gate_t *gate, const csk_gate_condition_t *condition) {
    if (gate->bypass_limit != 0) return csk_gate_has_limit(gate);
    return condition->waiter.arrival.is_bounded == CSK_ARRIVAL_BOUNDED;
}

/* Whether one that was overtaken, or came in vain, was so often enough. */
static bool has_enough(const csk_gate_t *gate, csk_gate_condition_t *passed) {
    return is_bounded(gate, passed) && !is_overdue(passed) &&
           ++passed->passed >= csk_arrivals_limit(gate->bypass_limit);
}

/* Such a one goes before all others from now on, but behind `last`, the last of those that do. */
static void put_first(csk_gate_t *gate, csk_gate_condition_t *passed, csk_gate_condition_t *last) {
    take_out(gate, passed);
    csk_node_give_rank(&passed->waiter.node, csk_rank(INT32_MAX, CSK_PLACE_FRONT));
    passed->waiter.node.ticket = last != NULL ? last->waiter.node.ticket + 1 : INT64_MIN;
    append_behind(gate, last, passed);
}

/* `found` goes before those behind it that came earlier. They are not asked, so it counts whether they are true or not.
 * Those that are on their way count in the gate's queue. O(n). */
static void count_passes(csk_gate_t *gate, const csk_gate_condition_t *found) {
    if (is_overdue(found) || gate->bypass_limit == CSK_BYPASS_NEVER) return;
    csk_gate_condition_t *last = last_overdue(gate);
    int64_t arrival = csk_node_arrival(&found->waiter.node);
    for (csk_gate_condition_t *at = found->behind, *next; at != NULL; at = next) {
        next = at->behind;
        if (at->chosen || csk_node_arrival(&at->waiter.node) >= arrival || !has_enough(gate, at)) continue;
        put_first(gate, at, last);
        last = at;
    }
}

/* gate_watch.c counts arrivals at the queue by the tickets, so one is taken. */
void csk_gate_condition_choose(csk_gate_t *gate, csk_gate_condition_t *chosen) {
    chosen->chosen = true;
    chosen->waiter.since_ns = csk_platform_now();
    gate->next_ticket++;
    csk_gate_insert(gate, &chosen->waiter);
}

/* ---- The leaver -------------------------------------------------------------------------------------------------- */

/* The next that is not known to be false, since it has another predicate, or another context. */
static csk_gate_condition_t *next_other(const csk_gate_condition_t *false_one) {
    csk_gate_condition_t *at = false_one->behind;
    while (at != NULL && !at->chosen && at->predicate == false_one->predicate &&
           at->predicate_context == false_one->predicate_context)
        at = at->behind;
    return at;
}

/* csk_gate_condition_t.asked. ASKED_ANEW: meanwhile another one has moved up in the list, perhaps past this one, and
 * was not asked. */
enum { NOT_ASKED = 0, ASKED, ASKED_ANEW };

/* Asks without the queue lock. A thread's condition stays in the list, since the thread needs the gate for leaving it.
 * Another one does too as long as it is asked: csk_gate_unwatch leaves it to this thread. `anew` receives whether the
 * list is to be asked from the first again, if the answer is false. */
static bool is_true(csk_gate_t *gate, csk_gate_condition_t *asked, bool *anew) {
    asked->asked = ASKED;
    csk_queue_unlock(&gate->queue_lock);
    bool answer = asked->predicate(asked->predicate_context);
    csk_gate_lock_queue(gate);
    *anew = asked->asked == ASKED_ANEW;
    asked->asked = NOT_ASKED;
    return answer;
}

static csk_gate_condition_t *first_of(const csk_gate_t *gate) {
    const csk_gate_conditions_t *list = csk_gate_conditions(gate);
    return list != NULL ? list->first : NULL;
}

/* Ends a condition that has a function, which is due then: `ended` is a list of those. Until the call the condition may
 * not be used again (csk_gate_watch says EBUSY), since it stands in that list. */
static void end_with(csk_gate_t *gate, csk_gate_condition_t *condition, int status, csk_gate_condition_t **ended) {
    take_out(gate, condition);
    csk_waiter_set(&condition->waiter, WAITER_IDLE);
    csk_store(&condition->waiter.due, 1, CSK_RELAXED);
    condition->waiter.status = status;
    condition->behind = *ended;
    *ended = condition;
}
static void call(const csk_gate_t *gate, csk_gate_condition_t *ended) {
    csk_gate_place_t *outer = csk_gate_place;
    for (csk_gate_condition_t *next; ended != NULL; ended = next) {
        next = ended->behind;
        if (ended->waiter.has_waited) csk_waiter_note_end(&ended->waiter, gate, ended->waiter.status);
        csk_gate_place_t place = { gate, ended->waiter.node.rank, ended->waiter.node.ticket };
        csk_gate_condition_function_t function = ended->function;
        void *context = ended->context;
        int status = ended->waiter.status;
        csk_gate_place = &place;
        /* From here on the condition may be used again. This pairs with the load in csk_waiter_is_due. */
        csk_store(&ended->waiter.due, 0, CSK_RELEASE);
        function(ended, context, status);
        csk_gate_place = outer;
    }
}

/* Whether a function was called that may have queued a waiter. */
static bool ask_in_order(csk_gate_t *gate) {
    csk_gate_condition_t *ended = NULL;
    bool found = false;
    csk_gate_lock_queue(gate);
    for (csk_gate_condition_t *at = first_of(gate), *next; at != NULL && !found; at = next) {
        /* A designated waiter that is late (gate_aside.h) keeps no others waiting. */
        bool is_late = at->chosen && csk_gate_is_passed_over(&at->waiter);
        next = at->behind;
        if (is_late) continue;
        if (at->chosen) break;
        bool anew;
        found = is_true(gate, at, &anew) && !at->canceled;
        if (found && !at->chosen) count_passes(gate, at);
        next = at->canceled ? at->behind : next_other(at);
        if (at->canceled) end_with(gate, at, ECANCELED, &ended);
        else if (found && at->function != NULL) end_with(gate, at, 0, &ended);
        else if (found && !at->chosen) csk_gate_condition_choose(gate, at);
        if (CSK_UNLIKELY(anew)) next = first_of(gate);
    }
    if (found || ended != NULL)
        csk_gate_publish(gate); /* this thread has the gate, and calls a waiter when it leaves */
    csk_queue_unlock(&gate->queue_lock);
    bool told = found && ended != NULL;
    call(gate, ended);
    return told;
}

/* What a function has queued can't be granted while its lane waits for a task or queue whose grant was lost. Those
 * behind the condition may be what that one waits for. So where it is not sure that a holder comes, they are evaluated
 * now. A thread that is next may give up. */
static bool nobody_comes(csk_gate_t *gate) {
    if (!csk_gate_has_lost_grants(gate)) return false;
    csk_gate_lock_queue(gate);
    const csk_waiter_t *next = csk_gate_next(gate);
    bool nobody = next == NULL || next->function == NULL || next->deadline_ns != CSK_NEVER;
    csk_queue_unlock(&gate->queue_lock);
    return nobody;
}

void csk_gate_choose_next(csk_gate_t *gate) {
    while (ask_in_order(gate) && nobody_comes(gate)) {}
}

/* ---- Beginning and ending ---------------------------------------------------------------------------------------- */

void csk_gate_condition_begin(csk_gate_t *gate, csk_gate_condition_t *self, csk_gate_predicate_t predicate,
                              void *context, csk_gate_condition_function_t function) {
    self->predicate = predicate;
    self->predicate_context = context;
    self->function = function;
    self->chosen = self->canceled = false;
    self->asked = NOT_ASKED;
    self->passed = 0;
    csk_waiter_set(&self->waiter, function != NULL ? WAITER_QUEUED : WAITER_IDLE);
    if (function != NULL) {
        self->waiter.object = gate;
        self->waiter.since_ns = 0;
        csk_waiter_list(&self->waiter, CSK_OBJECT_GATE);
    }
    insert(gate, self);
    csk_gate_publish(gate);
}

void csk_gate_condition_wait_on(csk_gate_t *gate, csk_gate_condition_t *self) {
    csk_gate_lock_queue(gate);
    if (has_enough(gate, self)) put_first(gate, self, last_overdue(gate));
    self->chosen = false;
    self->waiter.word = WORD_WAITING;
    csk_waiter_set(&self->waiter, WAITER_IDLE);
    csk_queue_unlock(&gate->queue_lock);
}

void csk_gate_condition_end(csk_gate_t *gate, csk_gate_condition_t *self) {
    csk_gate_lock_queue(gate);
    take_out(gate, self);
    csk_gate_publish(gate);
    csk_queue_unlock(&gate->queue_lock);
}

/* ---- Asynchronously ---------------------------------------------------------------------------------------------- */

int csk_gate_watch(csk_gate_t *gate, csk_rank_t rank, csk_gate_condition_t *condition, csk_gate_predicate_t predicate,
                   void *predicate_context, csk_gate_condition_function_t function, void *context) {
    if (predicate == NULL || function == NULL || !csk_is_rank_or_unnamed(rank)) return EINVAL;
    if (csk_gate_holder(gate) != CSK_GATE_NOBODY && !csk_gate_is_mine(gate)) return EPERM;
    csk_gate_prepare(gate);
    csk_gate_lock_queue(gate);
    int status = gate->closed ? ESHUTDOWN : csk_waiter_is_waiting(&condition->waiter) ? EBUSY : 0;
    if (status == 0) {
        csk_waiter_give_rank(&condition->waiter, rank);
        condition->waiter.node.ticket = csk_waiter_ticket(&gate->next_ticket, rank);
        condition->context = context;
        csk_gate_condition_begin(gate, condition, predicate, predicate_context, function);
    }
    csk_queue_unlock(&gate->queue_lock);
    return status;
}

int csk_gate_unwatch(csk_gate_t *gate, csk_gate_condition_t *condition) {
    csk_gate_condition_t *ended = NULL;
    csk_gate_lock_queue(gate);
    bool waits = csk_waiter_state(&condition->waiter) == WAITER_QUEUED && !condition->canceled;
    if (waits && condition->asked) condition->canceled = true;
    else if (waits) {
        end_with(gate, condition, ECANCELED, &ended);
        csk_gate_publish(gate); /* nothing of it but that predicates wait has changed */
    }
    csk_queue_unlock(&gate->queue_lock);
    call(gate, ended);
    return waits ? 0 : ENOENT;
}

/* The others are asked in order by one thread at most, which has the gate. */
static void ask_anew(const csk_gate_t *gate) {
    for (csk_gate_condition_t *at = first_of(gate); at != NULL; at = at->behind)
        if (at->asked != NOT_ASKED) at->asked = ASKED_ANEW;
}

int csk_gate_raise_watch(csk_gate_t *gate, csk_rank_t rank, csk_gate_condition_t *condition) {
    if (!csk_is_rank(rank)) return EINVAL;
    csk_gate_lock_queue(gate);
    bool waits = csk_waiter_state(&condition->waiter) == WAITER_QUEUED && !condition->canceled;
    if (waits && rank > condition->waiter.node.rank) {
        take_out(gate, condition);
        csk_node_give_rank(&condition->waiter.node, rank);
        insert(gate, condition);
        ask_anew(gate);
    }
    csk_queue_unlock(&gate->queue_lock);
    return waits ? 0 : ENOENT;
}
