/* workqueue_wait.c: callers that wait for a queue: for a turn, for room, for its end. queue/workqueue.h has the
 * argument.
 *
 * A caller runs nothing but its own function on its thread. The work before it may block, may take longer than the
 * caller has time for, or may expect to be on a thread that holds no lock and has no cancellation or values of the
 * caller's. */
#include "queue/workqueue.h"

#include "base/hooks.h"
#include "wait/announce.h"
#include "wait/waits.h"

/* Waits for an answer, which is recorded as `wait`. Returns the answer, or CSK_WORD_PARKED when the deadline has
 * passed. */
static uint32_t await(uint32_t *word, int64_t deadline_ns, csk_wait_t *wait) {
    csk_word_spin(word, CSK_SPIN_NS);
    csk_word_begin_park(word);
    while (csk_word_is_parked(word)) {
        if (!wait->noted) csk_waits_note(wait);
        if (csk_wait_park(word, CSK_WORD_PARKED, deadline_ns) == ETIMEDOUT) break;
    }
    return csk_load(word, CSK_ACQUIRE);
}

static csk_wait_t wait_for(const csk_workqueue_t *queue, uint32_t what, const void *waiter, csk_rank_t rank,
                           int64_t deadline_ns) {
    return (csk_wait_t){ .object = queue,
                         .object_kind = CSK_OBJECT_WORKQUEUE,
                         .waits_for = what,
                         .waiter = waiter,
                         .rank = rank,
                         .deadline_ns = deadline_ns };
}

/* ---- The line for room ------------------------------------------------------------------------------------------- */

/* A wait for room has the work for which there is none. */
int csk_workqueue_wait_cancel(csk_workqueue_t *queue, csk_workqueue_wait_t *wait) {
    csk_workqueue_lock(queue);
    bool waits = wait->epoch == csk_load(&queue->epoch, CSK_RELAXED);
    if (waits && wait->work != NULL) csk_wait_unlink(&queue->rooms, &queue->last_room, wait);
    else if (waits) csk_wait_unlink(&queue->drains, NULL, wait);
    csk_workqueue_unlock(queue);
    if (!waits) return ENOENT;
    csk_workqueue_wait_ended(wait, wait->given_up_as != 0 ? wait->given_up_as : ECANCELED);
    return 0;
}

static void stand_in_line(csk_workqueue_t *queue, csk_workqueue_wait_t *wait) {
    wait->epoch = csk_load(&queue->epoch, CSK_RELAXED);
    csk_wait_list_put_last(&queue->rooms, &queue->last_room, wait);
}

csk_workqueue_wait_t *csk_rooms_close(csk_workqueue_t *queue) {
    csk_workqueue_wait_t *rooms = queue->rooms;
    for (csk_workqueue_wait_t *room = rooms; room != NULL; room = room->next) {
        room->status = ESHUTDOWN;
        room->epoch = 0;
    }
    queue->rooms = queue->last_room = NULL;
    return rooms;
}

/* How a wait without a turn may begin. WITHOUT_THREAD: a caller that has to wait leaves the lock where waits are
 * reported, and comes back PREPARED. */
typedef enum { NEVER, BY_THREAD, WITHOUT_THREAD, PREPARED } how_t;
enum { NOT_PREPARED = -1 };

static inline bool lacks_preparation(how_t how) { return how == WITHOUT_THREAD && csk_waits_are_told(); }

/* What takes long is done before the wait stands in line, while the caller keeps the queue: so a thread that finds
 * under the lock that it has to wait, and that waits are reported, leaves the lock and comes back prepared. */
static __attribute__((noinline, cold)) void prepare_wait(const csk_workqueue_t *queue, csk_workqueue_wait_t *wait,
                                                         uint32_t waits_for) {
    const csk_hooks_t *hooks = csk_hooks_attached();
    *wait = (csk_workqueue_wait_t){ .since_ns = csk_platform_now(), .task = csk_waits_suspended_task() };
    if (hooks != NULL) hooks->queue_wait_begins(queue, wait, waits_for);
}

/* The wait is the caller's until it is in a list. */
static void begin_wait(csk_workqueue_wait_t *wait, void (*function)(csk_workqueue_wait_t *), void *context, how_t how) {
    if (how != PREPARED) *wait = (csk_workqueue_wait_t){ .word = CSK_WORD_WAITS };
    wait->function = function;
    wait->context = context;
}

/* ---- Turns ------------------------------------------------------------------------------------------------------- */

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

/* The queue was shut down while the caller stood in line. */
static void refuse_call(csk_workqueue_wait_t *wait) {
    csk_word_answer(&((csk_sync_call_t *)wait->context)->word, CALL_REFUSED);
}

static int wait_in_line(csk_workqueue_t *queue, csk_sync_call_t *call) {
    call->room = (csk_workqueue_wait_t){ .function = refuse_call, .context = call, .work = &call->work };
    stand_in_line(queue, &call->room);
    return EINPROGRESS;
}

/* Called under the lock. Lets the caller into the queue, puts it into the line for room, or refuses it. */
static int admit(csk_workqueue_t *queue, csk_sync_call_t *call) {
    bool stays = (call->work.kind & WORK_STAYS) != 0;
    csk_work_sort(queue);
    if (!stays && (csk_load(&queue->state, CSK_RELAXED) & STATE_SHUT)) return ESHUTDOWN;
    if (!stays && csk_workqueue_is_full(queue)) {
        csk_work_note_full(queue);
        if (queue->when_full == CSK_WORKQUEUE_REFUSE) return EBUSY;
        if (queue->when_full == CSK_WORKQUEUE_WAIT) return wait_in_line(queue, call);
    }
    csk_work_arrange(queue, &call->work);
    return 0;
}

/* A caller that waits for its turn, in the queue or in the line for room. */
typedef struct {
    csk_wait_t wait; /* the first: csk_told_wait gives it back */
    csk_workqueue_t *queue;
    csk_sync_call_t *call;
    bool in_line;
} turn_wait_t;

static int await_answer(const turn_wait_t *of, csk_wait_t *wait) {
    csk_sync_call_t *call = of->call;
    uint32_t seen = await(&call->word, wait->deadline_ns, wait);
    if (seen == CSK_WORD_PARKED) {
        if (of->in_line && csk_workqueue_wait_cancel(of->queue, &call->room) == 0)
            return csk_work_is_refused(of->queue, &call->work, ETIMEDOUT);
        /* Either the work is taken out here, or another thread has taken it: then the answer is on its way. */
        if (csk_workqueue_cancel(of->queue, &call->work) == 0) return ETIMEDOUT;
        seen = await(&call->word, CSK_NEVER, wait);
    }
    if (seen != CALL_REFUSED) return 0;
    return of->in_line && call->room.status != 0 ? call->room.status : ECANCELED;
}

static int await_turn(csk_wait_t *wait) {
    int status = await_answer((const turn_wait_t *)wait, wait);
    csk_waits_end(wait);
    return status;
}

static int wait_for_turn(csk_workqueue_t *queue, csk_sync_call_t *call, bool in_line, int64_t deadline_ns) {
    turn_wait_t of = { .wait = wait_for(queue, in_line ? CSK_WAITS_FOR_ROOM : CSK_WAITS_FOR_TURN, call,
                                        call->work.node.rank, deadline_ns),
                       .queue = queue,
                       .call = call,
                       .in_line = in_line };
    if (!in_line) of.wait.ticket = call->work.node.ticket;
    return csk_tell_wait(&of.wait, await_turn);
}

static int call_in_turn(csk_workqueue_t *queue, csk_rank_t rank, uint32_t kind, int64_t deadline_ns,
                        void (*function)(void *), void *context) {
    csk_sync_call_t call;
    call.word = CSK_WORD_WAITS;
    call.work = (csk_work_t){ .node.rank = rank, .kind = csk_work_kind(queue, kind) };
    csk_workqueue_lock(queue);
    int error = admit(queue, &call);
    bool in_line = error == EINPROGRESS,
         mine = error == 0 && csk_work_is_next(queue, &call.work) && csk_work_take(queue, &call.section) != NULL;
    csk_workqueue_unlock_and_look(queue);
    if (!mine) {
        if (error != 0 && !in_line) return csk_work_is_refused(queue, &call.work, error);
        error = wait_for_turn(queue, &call, in_line, deadline_ns);
        if (error != 0) return error;
    }
    run_call(&call.section, function, context);
    return 0;
}

int csk_workqueue_sync(csk_workqueue_t *queue, csk_rank_t rank, uint32_t flags, int64_t deadline_ns,
                       void (*function)(void *), void *context) {
    uint32_t kind = flags | WORK_SYNC;
    if (!csk_is_rank_or_unnamed(rank)) return EINVAL;
    if (CSK_UNLIKELY(csk_rank_is_unnamed(rank) || queue->bypass_limit != 0)) {
        if (!(flags & WORK_BARRIER)) kind |= csk_work_counts(queue, rank);
        rank = csk_rank_in_order(rank);
    }
    if (function == NULL || (flags & ~(uint32_t)(WORK_BARRIER | WORK_STAYS))) return EINVAL;
    if (queue->when_full == CSK_WORKQUEUE_DROP_OLDEST && rank != csk_workqueue_rank(queue)) return EINVAL;
    if (csk_section_inside(queue)) return EDEADLK;
    int error = csk_workqueue_ready(queue);
    if (error != 0) return error;
    /* The function may give up a queue on the heap. In a child that the function forks, the pin is gone. */
    bool pins = queue->heap_offset;
    uint32_t epoch = csk_pool_epoch();
    if (pins) csk_workqueue_pin(queue);
    error = call_in_turn(queue, rank, kind, deadline_ns, function, context);
    if (pins && csk_pool_epoch() == epoch) csk_workqueue_unpin(queue);
    return error;
}

/* ---- Room -------------------------------------------------------------------------------------------------------- */

static void end_wait(csk_workqueue_wait_t *wait) {
    csk_word_answer(&wait->word, wait->status == 0 ? CALL_GRANTED : CALL_REFUSED);
}

/* A caller whose wait stands in one of the queue's lists. */
typedef struct {
    csk_wait_t wait; /* the first: csk_told_wait gives it back */
    csk_workqueue_t *queue;
    csk_workqueue_wait_t *self;
} list_wait_t;

/* Waits for its end, or takes it out of there. */
static int await_in_list(csk_wait_t *wait) {
    const list_wait_t *of = (const list_wait_t *)wait;
    csk_workqueue_wait_t *self = of->self;
    uint32_t seen = await(&self->word, wait->deadline_ns, wait);
    int status = seen != CSK_WORD_PARKED ? ENOENT : csk_workqueue_wait_cancel(of->queue, self);
    if (seen == CSK_WORD_PARKED && status != 0) seen = await(&self->word, CSK_NEVER, wait);
    csk_waits_end(wait);
    if (status == 0) return ETIMEDOUT;
    return seen == CALL_REFUSED ? ESHUTDOWN : 0;
}

static int await_end(csk_workqueue_t *queue, csk_workqueue_wait_t *self, uint32_t what, csk_rank_t rank,
                     int64_t deadline_ns) {
    list_wait_t of = { .wait = wait_for(queue, what, self, rank, deadline_ns), .queue = queue, .self = self };
    return csk_tell_wait(&of.wait, await_in_list);
}

/* Queues the work, or has `wait` stand in the line for room and returns EINPROGRESS, as `how` says. NOT_PREPARED: it
 * has to wait, and did nothing. */
static int ask_for_room(csk_workqueue_t *queue, csk_work_t *work, csk_workqueue_wait_t *wait,
                        void (*function)(csk_workqueue_wait_t *), void *context, how_t how) {
    csk_workqueue_lock(queue);
    csk_work_sort(queue);
    int status = 0;
    if (csk_load(&queue->state, CSK_RELAXED) & STATE_SHUT) status = ESHUTDOWN;
    /* As long as others wait for room the queue is full: work that leaves gives its place to them. */
    else if (csk_workqueue_is_full(queue)) status = how == NEVER ? EDEADLK : EINPROGRESS;
    if (status == 0) csk_work_arrange(queue, work);
    else if (status != ESHUTDOWN) csk_work_note_full(queue);
    bool lacks = status == EINPROGRESS && lacks_preparation(how);
    if (status == EINPROGRESS && !lacks) {
        begin_wait(wait, function, context, how);
        wait->work = work;
        wait->arrivals = work->node.rank; /* the work may be gone once it has its place */
        stand_in_line(queue, wait);
    }
    csk_workqueue_unlock_and_look(queue);
    if (CSK_UNLIKELY(lacks)) return NOT_PREPARED;
    return status == 0 || status == EINPROGRESS ? status : csk_work_is_refused(queue, work, status);
}

int csk_workqueue_ask_for_room(csk_workqueue_t *queue, csk_work_t *work, csk_workqueue_wait_t *wait,
                               void (*function)(csk_workqueue_wait_t *), void *context) {
    int status = ask_for_room(queue, work, wait, function, context, WITHOUT_THREAD);
    if (CSK_LIKELY(status != NOT_PREPARED)) return status;
    prepare_wait(queue, wait, CSK_WAITS_FOR_ROOM);
    return ask_for_room(queue, work, wait, function, context, PREPARED);
}

int csk_workqueue_wait_for_room(csk_workqueue_t *queue, csk_work_t *work, int64_t deadline_ns) {
    csk_workqueue_wait_t room;
    csk_rank_t rank = work->node.rank;
    int status = ask_for_room(queue, work, &room, end_wait, NULL, csk_section_inside(queue) ? NEVER : BY_THREAD);
    if (status != EINPROGRESS) return status;
    /* The thread that gives a place looks into the queue, or a worker that is on its way does. */
    status = await_end(queue, &room, CSK_WAITS_FOR_ROOM, rank, deadline_ns);
    if (status == ETIMEDOUT) return csk_work_is_refused(queue, work, ETIMEDOUT);
    /* The thread that shut the queue down may have freed it by now, and its name with it. */
    if (status == ESHUTDOWN) csk_tell_refusal(queue, work, ESHUTDOWN, false);
    return status;
}

bool csk_workqueue_wait_is_of_thread(const csk_workqueue_wait_t *wait) {
    return wait->function == end_wait || wait->function == refuse_call;
}

/* ---- Drains ------------------------------------------------------------------------------------------------------ */

/* Returns EINPROGRESS where there is anything to wait for, and the wait has joined the others; or NOT_PREPARED, as
 * above. */
static int begin_drain(csk_workqueue_t *queue, csk_workqueue_wait_t *wait, void (*function)(csk_workqueue_wait_t *),
                       void *context, how_t how) {
    csk_workqueue_lock(queue);
    csk_work_sort(queue);
    uint64_t remaining = (uint64_t)queue->waiting + queue->running + queue->refusing;
    bool lacks = remaining != 0 && lacks_preparation(how);
    if (remaining != 0 && !lacks) {
        begin_wait(wait, function, context, how);
        wait->remaining = remaining;
        wait->arrivals = queue->arrivals;
        wait->epoch = csk_load(&queue->epoch, CSK_RELAXED);
        csk_wait_list_put_first(&queue->drains, NULL, wait);
    }
    csk_workqueue_unlock_and_look(queue);
    return remaining == 0 ? 0 : lacks ? NOT_PREPARED : EINPROGRESS;
}

void csk_workqueue_drain_async(csk_workqueue_t *queue, csk_workqueue_wait_t *wait,
                               void (*function)(csk_workqueue_wait_t *), void *context) {
    int status = begin_drain(queue, wait, function, context, WITHOUT_THREAD);
    if (CSK_UNLIKELY(status == NOT_PREPARED)) {
        prepare_wait(queue, wait, CSK_WAITS_FOR_DRAINED);
        status = begin_drain(queue, wait, function, context, PREPARED);
    }
    if (status != 0) return;
    *wait = (csk_workqueue_wait_t){ .function = function, .context = context };
    csk_waits_call(wait);
}

int csk_workqueue_drain(csk_workqueue_t *queue, int64_t deadline_ns) {
    if (csk_section_inside(queue)) return EDEADLK;
    csk_workqueue_wait_t wait;
    if (begin_drain(queue, &wait, end_wait, NULL, BY_THREAD) == 0) return 0;
    return await_end(queue, &wait, CSK_WAITS_FOR_DRAINED, 0, deadline_ns);
}
