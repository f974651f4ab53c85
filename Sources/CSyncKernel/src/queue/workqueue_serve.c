/* workqueue_serve.c: a worker that serves a queue: what it runs, when it gives way and when it leaves. In which queues'
 * sections a thread is; calling the functions of waits; and the queue in this process. queue/workqueue.h has the
 * argument. */
#include "queue/workqueue.h"

#include <stdlib.h>

#include "base/hooks.h"
#include "base/report.h"
#include "base/text.h"
#include "thread/name.h"
#include "wait/waits.h"

/* A worker that found its queue empty stays for this long: about what it costs to call a worker. */
static const int64_t linger_ns = 2000;
/* After this many works in a row other queues get the worker. In the explorer they get it after each work. */
#ifndef CSK_WORKQUEUE_LIMITS
enum { QUANTUM = 128 };
#endif
/* Or once the worker has seen for so long that others wait for it. */
static const int64_t turn_ns = 1000000;

static _Thread_local csk_section_t *innermost __attribute__((tls_model("initial-exec")));

bool csk_section_inside(const csk_workqueue_t *queue) {
    for (const csk_section_t *section = innermost; section != NULL; section = section->outer)
        if (section->queue == queue && !csk_section_is_over(section)) return true;
    return false;
}

csk_section_t *csk_section_of_refusal(const csk_workqueue_t *queue) {
    csk_section_t *section = innermost;
    while (section != NULL && !(section->refuses && section->queue == queue && !csk_section_is_over(section)))
        section = section->outer;
    return section;
}

/* This runs when the library is loaded. */
static const void *innermost_section(void) { return innermost; }
__attribute__((constructor(101))) static void begin(void) { csk_waits_sections = innermost_section; }

void csk_section_enter(csk_section_t *section) {
    section->outer = innermost;
    innermost = section;
}

void csk_section_leave(csk_section_t *section) { innermost = section->outer; }

bool csk_workqueue_is_current(const csk_workqueue_t *queue) { return csk_section_inside(queue); }

/* In a child that was forked inside the section, the queue may be gone. */
const csk_workqueue_t *csk_workqueue_current(void) {
    return innermost != NULL && !csk_section_is_over(innermost) ? innermost->queue : NULL;
}

/* ---- Serving ----------------------------------------------------------------------------------------------------- */

/* Where a tracer or a view observes works. The function may free the work, and in a child that it forks the queue may
 * be gone: only addresses are used. */
static __attribute__((noinline, cold)) void call_told(csk_work_t *work, const csk_workqueue_t *queue) {
    char found[CSK_OBSERVED_NAME_SIZE];
    bool has_name = csk_works_are_traced() && csk_observe_find_name(queue, CSK_OBJECT_WORKQUEUE, found, sizeof found);
    const char *name = has_name ? found : NULL;
    csk_pool_frame_t *frame = csk_pool_frame;
    int64_t begun_ns = csk_probe_work_begin(queue, name, work);
    csk_store(&frame->running_ns, begun_ns, CSK_RELAXED);
    work->function(work, 0);
    csk_store(&frame->running_ns, INT64_C(0), CSK_RELAXED);
    csk_probe_work_end(queue, name, work, begun_ns);
}

static inline void call(csk_work_t *work, csk_section_t *section) {
    csk_section_enter(section);
    if (csk_works_are_told()) call_told(work, section->queue);
    else work->function(work, 0);
    csk_section_leave(section);
}

/* The work may free itself. In a child that it has forked there is no queue to count for. */
static __attribute__((noinline)) bool run_timed(csk_work_t *work, csk_section_t *section) {
    const csk_workqueue_t *queue = section->queue;
    int64_t since_ns = csk_tell_work_taken(queue->name, work), begin_ns = csk_platform_now();
    call(work, section);
    if (!csk_section_is_over(section))
        csk_hooks_attached()->work_ran(queue->name, since_ns != 0 ? begin_ns - since_ns : -1,
                                       csk_platform_now() - begin_ns);
    return true;
}

/* Runs the work that was taken. Returns true when the caller still has to end the section, false when the section went
 * to another thread. */
static bool run(csk_work_t *work, csk_section_t *section) {
    if (work->kind & (WORK_SYNC | WORK_TIMED)) {
        if (!(work->kind & WORK_SYNC)) return run_timed(work, section);
        csk_sync_call_of(work)->section = *section;
        csk_sync_call_answer(csk_sync_call_of(work), CALL_GRANTED);
        return false;
    }
    call(work, section);
    return true;
}

static void end(csk_section_t *section) {
    csk_workqueue_t *queue = section->queue;
    csk_workqueue_wait_t *done = NULL;
    csk_workqueue_lock(queue);
    csk_section_end(section, &done);
    csk_workqueue_unlock(queue);
    if (CSK_UNLIKELY(done != NULL)) csk_waits_call(done);
}

/* Whether the pool has other work for this worker than to come to this queue. */
static bool others_wait(csk_workqueue_t *queue, uint64_t queued) {
    return queued > 1 || (queued == 1 && !(csk_load(&queue->state, CSK_RELAXED) & STATE_POSTED));
}

/* Since when a worker has seen that others wait for it, and after how many works; 0 ns: they don't. */
typedef struct {
    int64_t seen_ns;
    uint32_t seen_at;
} turn_t;

/* After `served` works: whether the queue's turn is over, since the pool has other work. Once that was seen, the clock
 * is read after 1, 2 and 4 works more, and then after each 8: after each one it would cost a short work a fifth of its
 * time. So where works take long, others wait for two of them; and for 8 at most where short ones went before. */
static bool turn_is_over(csk_workqueue_t *queue, uint32_t served, turn_t *turn) {
    uint64_t queued = csk_pool_queued_between();
    if (CSK_LIKELY(queued == 0)) {
        turn->seen_ns = 0;
        return false;
    }
    uint32_t since = served - turn->seen_at;
    bool first = turn->seen_ns == 0, counts = served % QUANTUM == 0;
    bool looks = first || since % 8 == 0 || (since & (since - 1)) == 0;
    if ((!counts && !looks) || !others_wait(queue, queued)) return false;
    if (counts) return true;
    int64_t now_ns = csk_platform_now();
    if (first) *turn = (turn_t){ .seen_ns = now_ns, .seen_at = served };
    return now_ns - turn->seen_ns >= turn_ns;
}

/* Spins on the inbox for a moment, where that pays for this worker. On a concurrent queue only one worker does so at a
 * time. Returns whether what the worker finds then says if it has paid. */
static bool linger(csk_workqueue_t *queue, csk_spin_habit_t *habit) {
    bool shared = queue->width > 1, others = false;
    if (!csk_spin_pays(habit)) return false;
    if (shared && (csk_fetch_or(&queue->state, STATE_LINGERS, CSK_RELAXED) & STATE_LINGERS)) return false;
    csk_spin_t spin = csk_spin_begin(linger_ns);
    while (csk_load(&queue->inbox_last, CSK_RELAXED) == NULL && csk_spin_lasts(&spin) &&
           !(others = others_wait(queue, csk_pool_queued())))
        csk_spin_pause(4);
    if (shared) csk_fetch_and(&queue->state, ~STATE_LINGERS, CSK_SEQ_CST);
    return !others;
}

/* One round under the lock: ends the previous section if `ends`, and takes the next work. If there is none and the
 * worker `may_leave`, the worker counts as gone. */
static csk_work_t *next(csk_workqueue_t *queue, csk_section_t *section, bool ends, bool may_leave, bool *more) {
    csk_workqueue_wait_t *over;
    csk_queue_lock(&queue->lock); /* a worker is in its own process: see csk_workqueue_serve */
    csk_work_t *work = csk_work_next(queue, section, ends, more, &over);
    if (work == NULL && may_leave) csk_fetch_add(&queue->state, -STATE_ACTIVE_ONE, CSK_SEQ_CST);
    csk_workqueue_unlock(queue);
    if (CSK_UNLIKELY(over != NULL)) csk_waits_call(over);
    return work;
}

/* The worker counts as gone. Returns true when it has to come back, since work came meanwhile for which no other thread
 * looks. */
static bool comes_back(csk_workqueue_t *queue) {
    if (csk_load(&queue->inbox_last, CSK_SEQ_CST) == NULL) return false;
    return csk_workqueue_add_claim(queue, STATE_ACTIVE_ONE);
}

/* Other queues are served before this queue is served again, by whichever worker comes for it. On a concurrent queue a
 * worker may be on its way already. */
static void step_back(void *left) {
    csk_workqueue_t *queue = left;
    if (!(csk_fetch_or(&queue->state, STATE_POSTED, CSK_ACQUIRE) & STATE_POSTED)) {
        csk_cannot_fail(csk_pool_post(&queue->item, csk_workqueue_serve));
        return;
    }
    csk_queue_lock(&queue->lock);
    csk_fetch_add(&queue->state, -STATE_ACTIVE_ONE, CSK_SEQ_CST);
    csk_work_sort(queue);
    csk_workqueue_unlock_and_look(queue);
    csk_workqueue_unpin(queue);
}

static void unpin(void *left) { csk_workqueue_unpin(left); }

/* The worker's last access to the queue. It comes once the pool knows that the worker has gone, since a view takes the
 * pool's word that the queue is there. */
static void leave_by(void (*function)(void *), csk_workqueue_t *queue) {
    csk_pool_frame->leave = function;
    csk_pool_frame->left = queue;
}

/* The function of a work has ended its thread. The work is over, and another worker serves the queue. */
static const void *abandon(csk_pool_frame_t *frame) {
    csk_section_t *section = &frame->section;
    if (innermost == NULL) return NULL; /* it ended between two works, which is illegal */
    innermost = section;
    csk_waits_forget();
    const char *name = csk_section_is_over(section) ? NULL : section->queue->name;
    if (name != NULL) csk_copy_text(frame->name, sizeof frame->name, name);
    if (frame->end_work != NULL && !csk_section_is_over(section)) frame->end_work(frame->context);
    innermost = NULL;
    if (CSK_UNLIKELY(csk_section_is_over(section))) return section->queue;
    end(section);
    if (!csk_section_is_over(section)) leave_by(step_back, section->queue);
    return section->queue;
}

void csk_workqueue_serve(csk_pool_item_t *item) {
    csk_workqueue_t *queue = csk_workqueue_of(item);
    csk_fetch_and(&queue->state, ~STATE_POSTED, CSK_SEQ_CST);
    csk_pool_frame_t *frame = csk_pool_frame;
    csk_section_t *section = &frame->section;
    frame->abandon = abandon;
    uint32_t epoch = csk_pool_epoch();
    turn_t turn = { .seen_ns = 0 };
    bool ends = false, lingered = false, watched = false, more;
    for (uint32_t served = 0;;) {
        csk_work_t *work = next(queue, section, ends, lingered, &more);
        if (CSK_UNLIKELY(csk_pool_epoch() != epoch)) return; /* a drain's function has forked */
        ends = false;
        if (watched) csk_spin_learn(&frame->lingers, work != NULL);
        watched = false;
        if (more && queue->width > 1) csk_workqueue_activate(queue);
        if (work != NULL) {
            lingered = false;
            ends = run(work, section);
            if (ends && CSK_UNLIKELY(csk_section_is_over(section))) return; /* a child's queue has no worker yet */
            if (!turn_is_over(queue, ++served, &turn)) continue;
            if (ends) end(section);
            if (CSK_LIKELY(csk_pool_epoch() == epoch)) leave_by(step_back, queue);
            return;
        } else if (!lingered) {
            watched = linger(queue, &frame->lingers);
            lingered = true;
        } else if (!comes_back(queue)) {
            leave_by(unpin, queue);
            return;
        } else {
            lingered = false;
        }
    }
}

/* ---- Calling the functions of waits ------------------------------------------------------------------------------ */

/* A call of csk_waits_call, which calls the functions of the waits that are left. */
typedef struct {
    csk_workqueue_wait_t *left, **end;
    uint32_t epoch; /* in a child the others end in the parent alone */
} calls_t;
static _Thread_local calls_t *calling __attribute__((tls_model("initial-exec")));

void csk_waits_forget(void) { calling = NULL; }

static void add_to(calls_t *calls, csk_workqueue_wait_t *done) {
    *calls->end = done;
    while (*calls->end != NULL) calls->end = &(*calls->end)->next;
}

static void call_all(calls_t *calls) {
    while (calls->left != NULL && csk_pool_epoch() == calls->epoch) {
        csk_workqueue_wait_t *wait = calls->left;
        calls->left = wait->next;
        if (calls->left == NULL) calls->end = &calls->left;
        csk_workqueue_wait_ended(wait, wait->status);
        wait->function(wait);
    }
}

bool csk_waits_call(csk_workqueue_wait_t *done) {
    if (CSK_LIKELY(done == NULL)) return true;
    calls_t *outer = calling, calls = { .end = &calls.left, .epoch = csk_pool_epoch() };
    bool nested = outer != NULL && outer->epoch == calls.epoch;
    add_to(nested ? outer : &calls, done);
    if (nested) return true;
    int before = csk_platform_keep_thread(); /* for the waits that have not been ended yet */
    calling = &calls;
    call_all(&calls);
    calling = outer;
    csk_platform_let_thread_go(before);
    return csk_pool_epoch() == calls.epoch;
}

/* ---- The queue in this process ----------------------------------------------------------------------------------- */

void csk_workqueue_note_suspension(csk_workqueue_t *queue) {
    queue->suspended |= SUSPENDED;
    if ((queue->suspended & SUSPENDED_LISTED) || !csk_callbacks_are_listed()) return;
    if (csk_told_callback_waits(queue, CSK_OBJECT_WORKQUEUE)) queue->suspended |= SUSPENDED_LISTED;
}

/* Called under the lock, which was the parent's. Work that waited and ran there stays with the parent. The owner's
 * handles stay valid, and with them one pin. */
static void make_anew(csk_workqueue_t *queue) {
    uint64_t state = queue->state & (STATE_SHUT | STATE_RELEASED | STATE_SUSPENDS);
    /* The thread that was about to clear SUSPENDS stays in the parent. */
    if (state & (STATE_SHUT | STATE_RELEASED)) state &= ~STATE_SUSPENDS;
    queue->inbox_last = queue->inbox_first = NULL;
    queue->state = state + (queue->handles != 0 ? STATE_PIN_ONE : 0);
    queue->item = (csk_pool_item_t){ .next = NULL };
    queue->drains = queue->rooms = queue->last_room = NULL;
    queue->first = queue->last = queue->later_first = queue->later_last = NULL;
    queue->barrier = NULL;
    queue->ranked.root = NULL;
    queue->round = 0;
    queue->urgent = queue->waiting = queue->running = queue->refusing = queue->beyond = 0;
    queue->arrivals = 0;
    queue->exclusive = 0;
    queue->suspended = 0;
    if (state & STATE_SUSPENDS) csk_workqueue_note_suspension(queue);
    queue->refuses = (state & STATE_SHUT) != 0;
    queue->late = NULL;
    queue->oldest = NULL;
    queue->oldest_passed = 0;
}

/* Called before anything else that a process does with a queue: a process that the queue's epoch does not name neither
 * looks at nor changes anything in it. A queue that no process has used yet only records the epoch. A queue of the
 * parent is made anew by the first thread that comes, and other threads wait for the lock. */
__attribute__((noinline)) void csk_workqueue_begin_in_process(csk_workqueue_t *queue, uint32_t epoch) {
    uint32_t unused = 0;
    /* Relaxed: the queue has not changed, which is as its maker gave it to the others. */
    if (csk_cas(&queue->epoch, &unused, epoch, CSK_RELAXED)) return;
    csk_queue_lock(&queue->lock);
    if (csk_load(&queue->epoch, CSK_RELAXED) != epoch) {
        make_anew(queue);
        csk_store(&queue->epoch, epoch, CSK_RELEASE);
    }
    csk_queue_unlock(&queue->lock);
}

/* Names an item for the pool's reports. */
static const void *describe_item(csk_pool_item_t *item, const char **name) {
    if (item->function != csk_workqueue_serve) return item;
    *name = csk_workqueue_of(item)->name;
    return csk_workqueue_of(item);
}

/* Names the current queue for all reports of this thread. */
static const char *name_of_current(void) {
    const csk_workqueue_t *queue = csk_workqueue_current();
    return queue != NULL ? queue->name : NULL;
}

__attribute__((noinline)) int csk_workqueue_get_ready(csk_workqueue_t *queue) {
    int error = csk_pool_prepare();
    if (error != 0) return error;
    csk_store(&csk_pool_describe, describe_item, CSK_RELAXED);
    csk_store(&csk_observe_running, name_of_current, CSK_RELAXED);
    csk_workqueue_know_process(queue);
    return 0;
}

void csk_workqueue_lock(csk_workqueue_t *queue) {
    csk_workqueue_know_process(queue);
    csk_queue_lock(&queue->lock);
}

void csk_workqueue_unlock_and_look(csk_workqueue_t *queue) {
    bool post = csk_work_may_begin(queue) && csk_workqueue_claim(queue);
    csk_workqueue_unlock(queue);
    if (post) csk_workqueue_post(queue);
}

/* This is the last access of a worker, and of the thread that gives up the last handle of a queue on the heap. */
void csk_workqueue_unpin(csk_workqueue_t *queue) {
    void *memory = queue->heap_offset ? (char *)queue - (queue->heap_offset - 1) : NULL;
    uint64_t before = csk_fetch_add(&queue->state, -STATE_PIN_ONE, CSK_ACQ_REL);
    if (memory == NULL || (before & STATE_PINS) != STATE_PIN_ONE) return;
    csk_name_end(queue);
    free(memory);
}
