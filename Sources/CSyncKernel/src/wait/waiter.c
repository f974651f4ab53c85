/* waiter.c: what is done with a waiter, whichever lock it waits for. See waiter.h. */
#include "wait/waiter.h"

#include "base/list.h"
#include "wait/announce.h"
#include "wait/trampoline.h"
#include "wait/waits.h"
#include "wait/watch.h"

/* ---- Recorded under the queue lock, done after it ---------------------------------------------------------------- */

void csk_waiter_tell(csk_waiter_t *waiter, uint32_t word, csk_effects_t *effects) {
    if (csk_word_tell(&waiter->word, word)) effects->wake = &waiter->word;
}

CSK_LINE(ready, csk_waiter_t, next_ready);

void csk_waiter_let_in(csk_waiter_t *waiter, csk_effects_t *effects) {
    ready_append(&effects->threads, &effects->last_thread, waiter);
}

void csk_waiter_finish(csk_waiter_t *waiter, int status, csk_effects_t *effects) {
    waiter->status = status;
    /* A grant that needs no function leaves the clocks of its waiter running. */
    waiter->timers = waiter->grace_started && csk_waiter_state(waiter) != WAITER_GRANTED;
    csk_store(&waiter->due, 1, CSK_RELAXED);
    ready_append(&effects->ready, &effects->last_ready, waiter);
}

static void let_threads_in(csk_waiter_t *threads) {
    for (csk_waiter_t *waiter = threads, *next; waiter != NULL; waiter = next) {
        next = waiter->next_ready;
        csk_word_answer(&waiter->word, WORD_GRANTED);
    }
}

static inline void perform(csk_effects_t *effects) {
    let_threads_in(effects->threads);
    if (effects->wake != NULL) csk_platform_wake(effects->wake, 1);
    for (csk_waiter_t *waiter = effects->ready; waiter != NULL; waiter = waiter->next_ready) {
        if (waiter->deadline_started) {
            waiter->deadline_started = 0;
            csk_timer_cancel(&waiter->deadline);
        }
        if (waiter->timers) csk_timer_cancel(&waiter->grace);
        if (waiter->has_waited) csk_waiter_note_end(waiter, waiter->object, waiter->status);
    }
    csk_trampoline_run(effects->ready, effects->lane);
}

/* Before they are let in, while their waiters are there. */
static void trace_grants(const csk_effects_t *effects) {
    for (const csk_waiter_t *waiter = effects->threads; waiter != NULL; waiter = waiter->next_ready)
        csk_probe_grant(waiter->object, waiter->has_waited, waiter->node.rank, waiter->since_ns, GRANTED_THREAD);
    for (const csk_waiter_t *waiter = effects->ready; waiter != NULL; waiter = waiter->next_ready) {
        if (waiter->has_waited == 0 || waiter->status != 0) continue;
        csk_probe_grant(waiter->object, waiter->has_waited & WAITER_KIND, waiter->node.rank, waiter->since_ns,
                        GRANTED_FUNCTION);
    }
}

static __attribute__((noinline, cold)) void perform_told(csk_effects_t *effects) {
    if (csk_grants_are_traced()) trace_grants(effects);
    const csk_hooks_t *hooks = csk_hooks_attached();
    if (hooks != NULL) hooks->lets_in(effects, perform);
    else perform(effects);
}

void csk_effects_perform(csk_effects_t *effects) {
    if (csk_waits_are_told() && (effects->threads != NULL || effects->ready != NULL)) perform_told(effects);
    else perform(effects);
}

/* Reading the clock is a quarter of what queueing such a waiter costs, and only reported waits need the time. */
void csk_waiter_begin_told(csk_waiter_t *waiter, uint8_t object_kind, bool again) {
    const csk_hooks_t *hooks = csk_hooks_attached();
    uint32_t told = hooks != NULL ? hooks->callback_waits(waiter, object_kind, again) : 0;
    if (csk_wait_begins_are_traced() || csk_wait_ends_are_traced() || csk_grants_are_traced()) told |= WAITER_TRACED;
    waiter->has_waited = told != 0 ? (uint8_t)(told | object_kind) : 0;
    if (told != 0 && waiter->since_ns == 0) waiter->since_ns = csk_platform_now();
}

void csk_waiter_note_end(csk_waiter_t *waiter, const void *object, int status) {
    const csk_hooks_t *hooks = csk_hooks_attached();
    if (waiter->has_waited & (WAITER_TRACED | WAITER_OBSERVED))
        csk_told_end(waiter->has_waited & WAITER_KIND, object, waiter->node.rank, waiter->since_ns, status);
    if (hooks != NULL) hooks->callback_ended(waiter, object, status);
}

/* The clock is read before it is called: once it runs, its section may take this thread's processor. */
__attribute__((noinline, cold)) int64_t csk_waiter_note_called(csk_called_t *called, const csk_waiter_t *waiter,
                                                               const void *object, uint32_t object_kind, uint32_t how) {
    bool is_thread = waiter->function == NULL, again = is_thread && waiter->told_ns > waiter->since_ns;
    int64_t now_ns = csk_platform_now(), from_ns = again ? waiter->told_ns : waiter->since_ns;
    *called = (csk_called_t){ .object = object,
                              .object_kind = object_kind,
                              .rank = waiter->node.rank,
                              .since_ns = waiter->since_ns,
                              .waited_ns = is_thread ? now_ns - from_ns : 0,
                              .how = how,
                              .is_thread = is_thread,
                              .again = again,
                              .told = true };
    return now_ns;
}

void csk_effects_perform_waiting(csk_effects_t *effects) {
    csk_trampoline_begin_wait();
    csk_effects_perform(effects);
    csk_trampoline_end_wait();
}

/* ---- Asynchronous waiters ---------------------------------------------------------------------------------------- */

static bool take_out(const csk_queue_kind_t *kind, void *object, csk_waiter_t *waiter, int status) {
    csk_effects_t effects = { 0 };
    uint32_t *queue_lock = kind->lock(object);
    bool queued = csk_waiter_state(waiter) == WAITER_QUEUED && !waiter->stays, look_again = false;
    if (queued) {
        kind->remove(object, waiter);
        csk_waiter_set(waiter, WAITER_IDLE);
        csk_waiter_finish(waiter, status, &effects);
        look_again = kind->settle(object, &effects);
    }
    csk_waiter_unlock_queue(kind, object, queue_lock);
    /* Before the effects, unlike elsewhere: the waiter's function may free the object, or let another thread do so. */
    if (look_again) kind->look_again(object);
    csk_effects_perform(&effects);
    return queued;
}

int csk_waiter_cancel(const csk_queue_kind_t *kind, void *object, csk_waiter_t *waiter) {
    return take_out(kind, object, waiter, ECANCELED) ? 0 : ENOENT;
}

static void deadline_passed(csk_timer_t *timer, void *kind) {
    csk_waiter_t *waiter = (csk_waiter_t *)((char *)timer - offsetof(csk_waiter_t, deadline));
    take_out(kind, waiter->object, waiter, ETIMEDOUT);
}

void csk_waiter_start_deadline(csk_waiter_t *waiter, const csk_queue_kind_t *kind) {
    if (waiter->deadline_ns == CSK_NEVER) return;
    waiter->deadline_started = 1;
    /* The clock may still run, from before a grant that is over. */
    csk_cannot_fail(csk_timer_start(&waiter->deadline, waiter->deadline_ns, deadline_passed, (void *)kind));
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

void csk_waiter_look_again(const csk_queue_kind_t *kind, void *object) {
    csk_trampoline_begin_wait();
    kind->look_again(object);
    csk_trampoline_end_wait();
}

/* The waiter was designated. Returns true when it has entered. On false it must wait again; its word is back at
 * WAITING. */
static bool try_designated(const csk_wait_kind_t *kind, void *object, csk_waiter_t *self) {
    for (bool again = false;; again = true) {
        csk_effects_t effects = { 0 };
        uint32_t *queue_lock = kind->queue->lock(object);
        enum csk_try tried = kind->try_to_enter(object, self, again, &effects);
        csk_queue_unlock(queue_lock);
        csk_effects_perform_waiting(&effects);
        if (tried == TRY_GAVE_UP) csk_waiter_look_again(kind->queue, object);
        if (tried != TRY_WATCHES) return tried == TRY_ENTERED;
        kind->watch(object, self);
    }
}

/* The deadline has passed. Returns 0 when the grant was faster. The note comes off first: once this thread is out of
 * the queue, and before its call has returned, a gate may be closed and freed. */
static int leave_queue(const csk_wait_kind_t *kind, void *object, csk_waiter_t *self, csk_wait_t *wait) {
    csk_waits_end(wait);
    csk_effects_t effects = { 0 };
    uint32_t *queue_lock = kind->queue->lock(object);
    bool granted = csk_waiter_state(self) == WAITER_GRANTED, look_again = false;
    if (!granted) {
        kind->queue->remove(object, self);
        look_again = kind->queue->settle(object, &effects);
    }
    csk_queue_unlock(queue_lock);
    csk_effects_perform_waiting(&effects);
    if (granted) kind->await_granter(object, self);
    if (look_again) kind->queue->look_again(object);
    return granted ? 0 : ETIMEDOUT;
}

/* Says what the thread waits for. */
static void describe(csk_wait_t *wait, const csk_wait_kind_t *kind, const void *object, const csk_waiter_t *self,
                     int64_t deadline_ns) {
    wait->object = object;
    wait->object_kind = kind->queue->object_kind;
    wait->waits_for = CSK_WAITS_OTHER;
    wait->waiter = self;
    wait->gate = NULL;
    wait->rank = self->node.rank;
    wait->ticket = self->node.ticket;
    wait->since_ns = self->since_ns;
    wait->deadline_ns = deadline_ns;
}

/* The thread's wait is recorded once the thread is about to park, and stays recorded while it tries. */
static void note(csk_wait_t *wait, const csk_wait_kind_t *kind, const void *object, const csk_waiter_t *self,
                 int64_t deadline_ns) {
    if (CSK_UNLIKELY(wait->noted)) return;
    describe(wait, kind, object, self, deadline_ns);
    csk_waits_note(wait);
}

static int park_and_try(const csk_wait_kind_t *kind, void *object, csk_waiter_t *self, int64_t deadline_ns,
                        csk_wait_t *wait) {
    csk_watch_t watch = csk_begin_watch(self->since_ns, kind->first_look_ns);
    for (;;) {
        uint32_t word;
        csk_word_begin_park(&self->word);
        int park = 0;
        /* Relaxed: each way from here takes the queue lock, or reads the word with acquire (await_granter). */
        while ((word = csk_load(&self->word, CSK_RELAXED)) == WORD_PARKED && park != ETIMEDOUT) {
            note(wait, kind, object, self, deadline_ns);
            park = kind->park(object, self, deadline_ns, &watch);
        }
        if (word == WORD_GRANTED) {
            kind->await_granter(object, self);
            return 0;
        }
        if (word == WORD_PARKED) return leave_queue(kind, object, self, wait);
        if (try_designated(kind, object, self)) return 0;
        if (deadline_ns != CSK_NEVER && csk_platform_now() >= deadline_ns) return leave_queue(kind, object, self, wait);
    }
}

static inline int wait_in_queue(const csk_wait_kind_t *kind, void *object, csk_waiter_t *self, int64_t deadline_ns,
                                bool watches_first, csk_wait_t *wait) {
    wait->noted = false;
    if (watches_first) csk_watch_word(self);
    int status = park_and_try(kind, object, self, deadline_ns, wait);
    csk_waits_end(wait);
    return status;
}

void csk_waiter_await_granter(csk_waiter_t *self) {
    uint32_t word;
    while ((word = csk_load(&self->word, CSK_ACQUIRE)) != WORD_GRANTED) {
        if (word == WORD_PARKED) csk_wait_park(&self->word, WORD_PARKED, CSK_NEVER);
        else csk_cas(&self->word, &word, WORD_PARKED, CSK_RELAXED);
    }
}

/* The same where waits are reported. */
typedef struct {
    csk_wait_t wait; /* the first: csk_told_wait gives it back */
    const csk_wait_kind_t *kind;
    void *object;
    csk_waiter_t *self;
    bool watches_first;
} told_t;

static int await_told(csk_wait_t *wait) {
    told_t *told = (told_t *)wait;
    return wait_in_queue(told->kind, told->object, told->self, wait->deadline_ns, told->watches_first, wait);
}

static __attribute__((noinline, cold)) int wait_told(const csk_wait_kind_t *kind, void *object, csk_waiter_t *self,
                                                     int64_t deadline_ns, bool watches_first) {
    told_t told = { .kind = kind, .object = object, .self = self, .watches_first = watches_first };
    describe(&told.wait, kind, object, self, deadline_ns);
    return csk_told_wait(&told.wait, await_told);
}

int csk_waiter_wait(const csk_wait_kind_t *kind, void *object, csk_waiter_t *self, int64_t deadline_ns,
                    bool watches_first) {
    if (csk_waits_are_told()) return wait_told(kind, object, self, deadline_ns, watches_first);
    csk_wait_t wait;
    return wait_in_queue(kind, object, self, deadline_ns, watches_first, &wait);
}
