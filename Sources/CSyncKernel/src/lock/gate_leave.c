/* gate_leave.c: leaving the gate, in both forms. gate_order.h says which waiter a leaver calls, gate_words.h why no
 * waiter is left asleep. */
#include "base/ordering.h"
#include "lock/gate_aside.h"
#include "lock/gate_await.h"
#include "lock/gate_queue.h"

/* ---- Who is called ----------------------------------------------------------------------------------------------- */

/* Called under the queue lock, before `next` is called; csk_tell_called reports it, after the release. */
static inline void who_is_called(csk_called_t *called, const csk_gate_t *gate, const csk_waiter_t *next,
                                 enum csk_gate_call call) {
    if (csk_waits_are_told() && next != NULL)
        csk_waiter_note_called(called, next, gate, CSK_OBJECT_GATE, call == GATE_GRANTS ? GRANTED_THREAD : GRANTED_TRY);
}

/* ---- Two words --------------------------------------------------------------------------------------------------- */

void csk_gate_post(csk_gate_t *gate) {
    /* There is no fence here either: see free_and_look. */
    uint64_t summary = csk_load(&gate->summary, CSK_RELAXED);
    if (csk_gate_call_for(summary, 0) == GATE_CALLS_NOBODY) return;
    csk_effects_t effects = { 0 };
    csk_gate_lock_queue(gate);
    csk_waiter_t *next;
    enum csk_gate_call call = csk_gate_call(gate, &next);
    csk_called_t called;
    called.told = false;
    who_is_called(&called, gate, call == GATE_DESIGNATES ? next : NULL, call);
    /* It designates even if a newcomer has taken the gate meanwhile. Otherwise each newcomer would come here when it
     * leaves, to no effect. A grant needs a free gate, which settling looks for. */
    if (call == GATE_DESIGNATES) csk_gate_answer(gate, call, next, &effects);
    csk_gate_settle(gate, &effects);
    csk_gate_finish(gate, false, &effects);
    csk_tell_called(&called);
}

/* Grants the gate to the next waiter, also if the one that asked for the hand-over has gone meanwhile. Returns false
 * when there is none any more. */
static bool leave_by_grant(csk_gate_t *gate) {
    csk_effects_t effects = { 0 };
    csk_gate_lock_queue(gate);
    csk_waiter_t *next = csk_gate_next(gate);
    csk_called_t called;
    called.told = false;
    who_is_called(&called, gate, next, GATE_GRANTS);
    if (next != NULL) csk_gate_grant_to(gate, next, &effects);
    csk_gate_publish(gate);
    csk_gate_finish(gate, false, &effects);
    csk_tell_called(&called);
    return next != NULL;
}

/* As in the inline form, nothing orders the look behind the store. The thread that made the summary say that no call is
 * needed executes the fence for both sides: the first waiter when it came, the designated one when it gives up. */
static inline void free_and_look(csk_gate_t *gate) {
    csk_store(&gate->held, UINT64_C(0), CSK_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint64_t summary = csk_load(&gate->summary, CSK_RELAXED);
    if (summary != GATE_READY && !csk_gate_somebody_comes(summary, 0)) csk_gate_post(gate);
}

/* The other side of free_and_look. It is called after a change of the queue that requires a leaver to look closer than
 * it may have looked already. The membarrier orders the looks and the plain stores of all leavers before this thread's
 * own look. */
void csk_gate_look_again(csk_gate_t *gate) {
    if (csk_gate_is_one_word(gate)) return;
    csk_platform_membarrier();
    if (csk_gate_holder(gate) == 0) csk_gate_post(gate);
}

static void leave_two_words(csk_gate_t *gate) {
    uint64_t summary = csk_load(&gate->summary, CSK_RELAXED);
    if (csk_gate_call_for(summary, 0) == GATE_GRANTS && leave_by_grant(gate)) return;
    if (csk_gate_somebody_comes(summary, 0)) csk_gate_count_departure(gate);
    free_and_look(gate);
}

/* ---- One word ---------------------------------------------------------------------------------------------------- */

/* The designated waiter may give up before the leaver has freed the word: its deadline passes, or it is awake and finds
 * the gate held. The leaver's compare-and-swap fails then, and it designates again. Waiters with short deadlines never
 * ask for a hand-over, so that could go on as long as such waiters come. So after two rounds the leaver grants: the
 * gate is its to give, and a grant can't be given up. Another round only follows one that found the queue empty: a
 * waiter came and went since `held` was read, and no waiter was called in vain. */
enum { DESIGNATIONS_OF_A_LEAVER = 2 };

/* Designates the next waiter, or grants it the gate; true in the second case. In the leaver's `last` round it does not
 * designate. The wake that is due comes back in `wake`: it must follow the release, which is the last access to the
 * gate. It is not inlined, since leavers of a gate without waiters would pay for its frame. */
static __attribute__((noinline)) bool prepare_to_leave(csk_gate_t *gate, bool last, uint32_t **wake,
                                                       csk_called_t *called) {
    csk_effects_t effects = { 0 };
    csk_gate_lock_queue(gate);
    csk_waiter_t *next;
    enum csk_gate_call call = csk_gate_call(gate, &next);
    if (last && call == GATE_DESIGNATES) call = GATE_GRANTS;
    if (call == GATE_DESIGNATES || call == GATE_GRANTS) who_is_called(called, gate, next, call);
    csk_gate_answer(gate, call, next, &effects);
    csk_gate_publish(gate);
    csk_queue_unlock(&gate->queue_lock);
    if (call == GATE_GRANTS) {
        /* This wake comes before the functions: a waiter that was designated in an earlier round sleeps, and all others
         * rely on it. */
        if (*wake != NULL) csk_platform_wake(*wake, 1);
        csk_effects_perform(&effects);
    } else if (effects.wake != NULL) {
        /* A waiter of a higher rank has come above the one that was designated in an earlier round. Once that one has
         * gone, all others rely on the earlier one, so it must not sleep. */
        if (*wake != NULL) csk_platform_wake(*wake, 1);
        *wake = effects.wake;
    }
    return call == GATE_GRANTS;
}

/* Frees the word, and keeps its flags. Returns false if it has changed since it was read. */
static inline bool free_one_word(csk_gate_t *gate, uint64_t *found) {
    return csk_cas(&gate->held, found, *found & HELD_FLAGS, CSK_RELEASE);
}

static __attribute__((noinline)) void leave_one_word_contended(csk_gate_t *gate) {
    uint32_t *wake = NULL;
    csk_called_t called;
    called.told = false;
    bool granted = false;
    int rounds = 0;
    for (bool left = false; !left;) {
        uint64_t found = csk_load(&gate->held, CSK_RELAXED);
        if (csk_gate_call_for(found, HELD_FLAGS_SHIFT) != GATE_CALLS_NOBODY) {
            bool last = rounds++ >= DESIGNATIONS_OF_A_LEAVER;
            left = granted = prepare_to_leave(gate, last, &wake, &called);
        } else {
            /* Not if this leaver has called a waiter: that one could not come yet. */
            if ((found & GATE_WAITERS >> HELD_FLAGS_SHIFT) != 0 && rounds == 0) csk_gate_count_departure(gate);
            left = free_one_word(gate, &found);
        }
    }
    if (wake != NULL && !granted) csk_platform_wake(wake, 1);
    csk_tell_called(&called);
}

static void leave_one_word(csk_gate_t *gate) {
    uint64_t found = csk_load(&gate->held, CSK_RELAXED);
    if ((found & HELD_FLAGS) != 0 || !free_one_word(gate, &found)) leave_one_word_contended(gate);
}

/* ---- Both forms -------------------------------------------------------------------------------------------------- */

/* Makes the calling thread the holder of a gate that no particular thread holds, if it may be unlocked: of two threads
 * that both unlock it, one holds it and leaves, and the other gets EPERM. A grant that is not adopted may be taken back
 * at any moment: the gate has no holder yet that could leave it. `held` and `pending` are read under the queue lock,
 * which makes them one fact. A reader without it could see the NOBODY of a provisional grant, and then no `pending`,
 * since the grant has been adopted in between: the gate is that thread's. */
static bool take_from_nobody(csk_gate_t *gate, uint64_t self) {
    csk_gate_lock_queue(gate);
    bool may = csk_gate_holder(gate) == CSK_GATE_NOBODY && csk_gate_pending(gate) == NULL;
    if (may) csk_gate_transfer(gate, self);
    csk_queue_unlock(&gate->queue_lock);
    return may;
}

/* What a leaver that holds the gate does first. Apart, since most leavers have nothing of that to do. */
static __attribute__((noinline)) void prepare_and_look(csk_gate_t *gate) {
    csk_gate_prepare(gate);
    if (csk_gate_is_ordered(gate)) csk_current_ordering()->leaves(gate);
    csk_gate_look_at_conditions(gate);
}

static __attribute__((noinline)) int unlock_contended(csk_gate_t *gate, uint64_t self, uint64_t summary) {
    uint64_t holder = csk_gate_holder(gate);
    if (holder != self) {
        if (holder != CSK_GATE_NOBODY || !take_from_nobody(gate, self)) return EPERM;
        summary = csk_load(&gate->summary, CSK_RELAXED);
    }
    if (CSK_UNLIKELY(summary == 0 || (summary & GATE_LOOKS))) prepare_and_look(gate);
    if (csk_gate_is_one_word(gate)) leave_one_word(gate);
    else leave_two_words(gate);
    return 0;
}

static inline int unlock_as(csk_gate_t *gate, uint64_t self) {
    uint64_t summary = csk_load(&gate->summary, CSK_RELAXED);
    bool plain = (summary & (GATE_READY | GATE_LOOKS)) == GATE_READY && csk_gate_somebody_comes(summary, 0) &&
                 csk_load(&gate->held, CSK_RELAXED) == self;
    if (!plain) return unlock_contended(gate, self, summary);
    csk_gate_count_departure(gate);
    free_and_look(gate);
    return 0;
}

int csk_gate_unlock_slow(csk_gate_t *gate) { return unlock_as(gate, csk_self()); }
int csk_gate_unlock_recursive_slow(csk_gate_t *gate) { return unlock_as(gate, csk_thread_number); }

int csk_gate_disown(csk_gate_t *gate) {
    if (!csk_gate_is_mine(gate)) return EPERM;
    if (csk_gate_is_ordered(gate)) csk_current_ordering()->leaves(gate);
    csk_gate_lock_queue(gate);
    csk_gate_transfer(gate, CSK_GATE_NOBODY);
    csk_queue_unlock(&gate->queue_lock);
    return 0;
}

/* ---- Stepping aside: see gate_aside.h ---------------------------------------------------------------------------- */

__thread uint32_t csk_gate_departures __attribute__((tls_model("initial-exec")));
__thread const csk_gate_t *csk_gate_marked __attribute__((tls_model("initial-exec")));

__attribute__((noinline)) void csk_gate_look_for_late(csk_gate_t *gate) {
    csk_gate_lock_queue(gate);
    csk_waiter_t *next = csk_gate_next(gate);
    int64_t now_ns = csk_platform_now();
    bool coming = next != NULL && csk_waiter_is_told(next);
    if (coming && now_ns - next->told_ns > GATE_LATE_NS) {
        if (csk_gate_pass_over(gate, now_ns)) csk_gate_publish(gate); /* this thread has the gate */
        next->told_ns = now_ns;
        csk_gate_marked = gate;
    }
    csk_queue_unlock(&gate->queue_lock);
}

/* ---- How a waiter stands in the queue ---------------------------------------------------------------------------- */

static void remove_waiter(void *object, csk_waiter_t *waiter) { csk_gate_take_out(object, waiter, false); }
static bool settle(void *object, csk_effects_t *effects) { return csk_gate_settle(object, effects); }
static void look_again(void *object) { csk_gate_look_again(object); }

const csk_queue_kind_t csk_gate_queue_kind = { csk_gate_lock_for_waiter, remove_waiter, settle, look_again,
                                               CSK_OBJECT_GATE,          NULL };
