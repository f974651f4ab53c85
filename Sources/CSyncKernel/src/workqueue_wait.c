/* workqueue_wait.c: callers that wait for a queue: for their turn, for room, for its end.
 *
 * A caller that waits for its turn on a serial queue which nobody serves runs what is before it itself: all of that must end before
 * its turn anyway, so if it waits for something that the caller holds there is a deadlock in either case. Not so for room, which comes when
 * work begins, nor on a concurrent queue: there callers leave it to workers. */
#include "internal/workqueue.h"

/* As waiters for a gate: about a tenth of what a park and a wake on an idle core cost. */
static const int64_t spin_ns = 2400;

enum { WORD_WAITS = CALL_WAITS, WORD_SLEEPS = CALL_SLEEPS };

/* The word's memory may be gone once it is exchanged. */
static void answer(uint32_t *word, uint32_t value) {
    if (csk_exchange(word, value, CSK_ACQ_REL) == WORD_SLEEPS) csk_platform_wake(word, 1);
}

/* Waits for an answer: that, or WORD_SLEEPS when the deadline has passed. */
static uint32_t await(uint32_t *word, int64_t deadline_ns) {
    int64_t end_ns = csk_platform_now() + spin_ns;
    while (csk_load(word, CSK_ACQUIRE) == WORD_WAITS && csk_platform_now() < end_ns)
        for (int pauses = 0; pauses < 8; pauses++) csk_platform_pause();
    uint32_t seen = WORD_WAITS;
    csk_cas(word, &seen, (uint32_t)WORD_SLEEPS, CSK_ACQ_REL);
    while ((seen = csk_load(word, CSK_ACQUIRE)) == WORD_SLEEPS)
        if (csk_platform_park(word, WORD_SLEEPS, deadline_ns) == ETIMEDOUT) break;
    return csk_load(word, CSK_ACQUIRE);
}

void csk_sync_call_answer(csk_sync_call_t *call, uint32_t value) { answer(&call->word, value); }

/* Takes the caller's own work, if it may begin (*mine); on a serial queue, runs what is before it, until `call` is answered, the deadline has passed, or
 * others are at it. 0; ECANCELED in a child that was forked meanwhile, whose queue knows nothing of the caller. */
static int help(csk_workqueue_t *queue, const csk_sync_call_t *call, csk_section_t *section, int64_t deadline_ns, bool *mine) {
    bool ran = false;
    while (csk_load(&call->word, CSK_ACQUIRE) == WORD_WAITS && !(ran && csk_platform_now() >= deadline_ns)) {
        csk_workqueue_lock(queue);
        csk_work_sort(queue);
        bool takes = queue->width <= 1 || csk_work_is_next(queue, &call->work);
        csk_work_t *work = takes ? csk_work_take(queue, section, true) : NULL;
        csk_workqueue_wait_t *room = work != NULL && queue->rooms != NULL ? csk_rooms_take(queue) : NULL;
        csk_workqueue_unlock(queue);
        csk_waits_call(room);
        *mine = work == &call->work;
        if (!takes) csk_workqueue_activate(queue);
        if (work == NULL || *mine) return 0;
        if (!csk_work_run(work, section)) return ECANCELED;
        ran = true;
    }
    /* Others left what came meanwhile to who ends the section. */
    if (ran) {
        csk_workqueue_lock(queue);
        csk_work_sort(queue);
        csk_workqueue_unlock_and_look(queue);
    }
    return 0;
}

/* ---- Turns ------------------------------------------------------------------------------------------------------------------- */

static void run_call(csk_section_t *section, void (*function)(void *), void *context) {
    csk_workqueue_t *queue = section->queue;
    csk_section_enter(section);
    function(context);
    csk_section_leave(section);
    if (CSK_UNLIKELY(csk_section_is_over(section))) return;
    csk_workqueue_wait_t *done = NULL;
    csk_workqueue_lock(queue);
    csk_section_end(section, &done);
    csk_work_sort(queue);
    csk_workqueue_unlock_and_look(queue);
    csk_waits_call(done);
}

static int call_in_turn(csk_workqueue_t *queue, csk_rank_t rank, bool barrier, int64_t deadline_ns, void (*function)(void *), void *context) {
    csk_sync_call_t call = { .word = CALL_WAITS };
    call.work.kind = csk_work_kind(queue, WORK_SYNC | (barrier ? WORK_BARRIER : 0));
    call.work.node.rank = rank;
    csk_workqueue_lock(queue);
    bool shut = (csk_load(&queue->state, CSK_RELAXED) & STATE_SHUT) != 0;
    if (!shut) {
        csk_work_sort(queue);
        csk_work_arrange(queue, &call.work);
    }
    csk_workqueue_unlock(queue);
    if (shut) return ESHUTDOWN;
    csk_section_t section;
    bool mine = false;
    int error = help(queue, &call, &section, deadline_ns, &mine);
    if (error != 0) return error;
    if (mine) {
        run_call(&section, function, context);
        return 0;
    }
    uint32_t seen = await(&call.word, deadline_ns);
    if (seen == WORD_SLEEPS) {
        /* Taken out, or taken: then the answer is on its way. */
        if (csk_workqueue_cancel(queue, &call.work) == 0) return ETIMEDOUT;
        seen = await(&call.word, CSK_NEVER);
    }
    if (seen == CALL_REFUSED) return ECANCELED;
    run_call(&call.section, function, context);
    return 0;
}

int csk_workqueue_sync(csk_workqueue_t *queue, csk_rank_t rank, bool barrier, int64_t deadline_ns, void (*function)(void *), void *context) {
    if (function == NULL) return EINVAL;
    if (queue->when_full == CSK_WORKQUEUE_DROP_OLDEST && rank != csk_workqueue_rank(queue)) return EINVAL;
    if (csk_section_inside(queue)) return EDEADLK;
    int error = csk_workqueue_ready(queue);
    if (error != 0) return error;
    /* The function may give up a queue on the heap. In a child that it forks the pin is gone. */
    bool pins = queue->memory != NULL;
    uint32_t epoch = csk_pool_epoch();
    if (pins) csk_workqueue_pin(queue);
    error = call_in_turn(queue, rank, barrier, deadline_ns, function, context);
    if (pins && csk_pool_epoch() == epoch) csk_workqueue_unpin(queue);
    return error;
}

/* ---- Room -------------------------------------------------------------------------------------------------------------------- */

static void tell(csk_workqueue_wait_t *wait) { answer(&wait->word, CALL_GRANTED); }
static void tell_no(csk_workqueue_wait_t *wait) { answer(&wait->word, CALL_REFUSED); }

csk_workqueue_wait_t *csk_rooms_take(csk_workqueue_t *queue) {
    csk_workqueue_wait_t *room = queue->rooms;
    csk_work_sort(queue); /* what came in over the bound counts too */
    if (queue->waiting >= queue->capacity) return NULL; /* who left was a caller, of whom there may be more than places */
    queue->rooms = room->next;
    room->next = NULL;
    room->function = tell;
    csk_work_arrange(queue, room->context);
    return room;
}

static bool unlink_wait(csk_workqueue_wait_t **list, const csk_workqueue_wait_t *wait) {
    while (*list != NULL && *list != wait) list = &(*list)->next;
    if (*list == NULL) return false;
    *list = wait->next;
    return true;
}

int csk_workqueue_wait_for_room(csk_workqueue_t *queue, csk_work_t *work, int64_t deadline_ns) {
    /* Refused, unless a place is given: csk_workqueue_shutdown calls what waits as it is. */
    csk_workqueue_wait_t room = { .function = tell_no, .context = work, .word = WORD_WAITS };
    bool inside = csk_section_inside(queue);
    csk_workqueue_lock(queue);
    csk_work_sort(queue);
    bool shut = (csk_load(&queue->state, CSK_RELAXED) & STATE_SHUT) != 0;
    bool waits = !shut && queue->waiting >= queue->capacity; /* as long as others wait for room: who leaves gives it to them */
    if (!waits && !shut) csk_work_arrange(queue, work);
    if (waits && !inside) {
        csk_workqueue_wait_t **end = &queue->rooms;
        while (*end != NULL) end = &(*end)->next;
        *end = &room;
    }
    if (waits && !inside) csk_workqueue_unlock(queue);
    else csk_workqueue_unlock_and_look(queue);
    if (!waits) return shut ? ESHUTDOWN : 0;
    if (inside) return EDEADLK;
    uint32_t seen = await(&room.word, deadline_ns);
    if (seen == WORD_SLEEPS) {
        csk_workqueue_lock(queue);
        bool gave_up = unlink_wait(&queue->rooms, &room);
        csk_workqueue_unlock(queue);
        if (gave_up) return ETIMEDOUT;
        seen = await(&room.word, CSK_NEVER);
    }
    return seen == CALL_REFUSED ? ESHUTDOWN : 0; /* whoever gave the place looks, or a worker that is on its way */
}

/* ---- Drains ------------------------------------------------------------------------------------------------------------------ */

void csk_workqueue_drain_async(csk_workqueue_t *queue, csk_workqueue_wait_t *wait, void (*function)(csk_workqueue_wait_t *), void *context) {
    *wait = (csk_workqueue_wait_t){ .function = function, .context = context };
    csk_workqueue_lock(queue);
    csk_work_sort(queue);
    wait->remaining = (uint64_t)queue->waiting + queue->running + queue->refusing;
    wait->arrivals = queue->arrivals;
    bool waits = wait->remaining != 0;
    if (waits) {
        wait->next = queue->drains;
        queue->drains = wait;
    }
    csk_workqueue_unlock_and_look(queue);
    if (!waits) function(wait);
}

int csk_workqueue_drain_cancel(csk_workqueue_t *queue, csk_workqueue_wait_t *wait) {
    csk_workqueue_lock(queue);
    bool waits = unlink_wait(&queue->drains, wait);
    csk_workqueue_unlock(queue);
    return waits ? 0 : ENOENT;
}

int csk_workqueue_drain(csk_workqueue_t *queue, int64_t deadline_ns) {
    if (csk_section_inside(queue)) return EDEADLK;
    csk_workqueue_wait_t wait;
    csk_workqueue_drain_async(queue, &wait, tell, NULL);
    if (await(&wait.word, deadline_ns) != WORD_SLEEPS) return 0;
    if (csk_workqueue_drain_cancel(queue, &wait) == 0) return ETIMEDOUT;
    await(&wait.word, CSK_NEVER);
    return 0;
}
