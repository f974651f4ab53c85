/* workqueue.h: what the parts of the work queue share.
 *
 *   workqueue_order.c   what waits and in which order; knows none of the others
 *   workqueue.c         who looks into a queue and when, and queueing          } these three call each other: a worker
 *   workqueue_refuse.c  works that will not run                                } gives room to who waits for it, and who
 *   workqueue_wait.c    callers that wait for a turn, for room, for the end    } waits asks for a worker
 *   workqueue_life.c    making and ending, handles, suspending, counts; none of them knows it
 *
 * The state word, changed only by locked instructions:
 *
 *   bits 0-15   ACTIVE     workers that serve the queue or were posted to; raised by who activates, lowered by the worker under the lock
 *   bits 16-31  PINS       who keeps the memory: each active worker until its very last access, who calls functions with ECANCELED, callers of a
 *                          queue on the heap, the timer's thread, and its handles, all of them together
 *   bits 32-47  SUSPENDS   calls of suspend; under the lock
 *   bit 48      POSTED     a worker was asked for and has not come; cleared by it before it looks
 *   bit 49      EXCLUSIVE  a section that somebody must end before anything else can begin, and whoever ends it will look; under the lock
 *   bit 50      LINGERS    a worker watches the inbox and will look; cleared by it before it looks
 *   bit 51      SHUT       accepts nothing but what is of its own turn; under the lock, which also ends SUSPENDS for good
 *   bit 52      RELEASED   the owner is gone; under the lock, likewise
 *
 * Nobody is forgotten: who queues writes inbox_last and then reads the state; who stops looking (lowers ACTIVE or clears a bit) writes
 * the state and then reads inbox_last. Both pairs are sequentially consistent, so one of the two sees the other. What is no longer
 * in the inbox is under the lock, as is the lowering of ACTIVE: who ends a section under the lock later sees that nobody serves. And so does
 * who takes work out of the inbox: the worker that leaves would find it empty, so whoever sorts also takes, or looks whether somebody will.
 *
 * Workers take what is sorted without a look at the inbox while none of it is urgent. Who queues something urgent writes the inbox and then
 * urgent; who clears it reads the inbox afterwards. Both exchange it, so that who clears it sees the inbox of all who set it before. On a concurrent queue they look before they take the last of what is sorted:
 * work whose caller saw POSTED or LINGERS has nobody else to ask for a worker while theirs runs.
 *
 * The inbox is a list to which anybody appends by exchanging its end, and which is read under the lock. Between an exchange and the
 * store that links the work to the one before it the list is broken there: readers wait for that one store.
 *
 * A caller of sync stands in the lists as works do. Under the lock under which it got there it takes its turn, if that has come, or looks for
 * whatever may begin instead, since it sorted. From then on it touches its own word alone: a worker that takes it answers there, and while the caller runs its
 * function EXCLUSIVE stands on a serial queue. So a caller waits for workers only, and never runs what others queued. When it ends its section, or
 * gives up, it looks: workers left to it what came meanwhile.
 *
 * What STAYS (is of its own turn) comes in on a full queue and after SHUT, and is passed over by who drops. On a queue that drops its oldest it stands
 * in the heap, which keeps equal ranks by arrival too: so the first of the list is the oldest that may be dropped.
 *
 * What can't be refused takes no room (STAYS, BEYOND): it is counted apart, so that however much of it comes, those that wait for room get each
 * place that is left. Somebody waits for room only while the queue is full: who takes out of the lists what takes room gives its place to the first
 * who waits before the lock is free again. A caller that takes its turn as it comes leaves as many as there were. After SHUT nobody waits for room:
 * who shuts the queue down tells them. What takes room never stands in the inbox of a queue with a bound.
 *
 * The work of a caller that waits for room is not in the queue, and its thread waits for its turn all the same: whoever gives it its place tells nobody.
 *
 * Who waits without a turn (drains, rooms) is in a list as long as its epoch is this process's: changed under the lock, so who gives up knows whether
 * it will be told. In a child of fork it is in no list, whatever the links say. */
#ifndef CSK_INTERNAL_WORKQUEUE_H
#define CSK_INTERNAL_WORKQUEUE_H

#include "csynckernel/workqueue.h"
#include "pool/pool.h"
#include "wait/queue_lock.h"

/* csk_work_t.kind: flags, and above them the epoch of the process that queued it: in a child of fork it waits no more. */
enum {
    WORK_PLAIN = 0,
    WORK_BARRIER = 1,
    WORK_SYNC = 2, /* part of a csk_sync_call_t, whose thread runs it */
    WORK_STAYS = 4,
    WORK_BEYOND = 8, /* takes no room: its caller can't wait for it */
    WORK_EPOCH_SHIFT = 4
};

/* csk_work_t.place */
enum { PLACE_NOWHERE = 0, PLACE_INBOX, PLACE_FIRST, PLACE_RANKED, PLACE_BARRIER, PLACE_LATER };

#define STATE_ACTIVE_ONE UINT64_C(1)
#define STATE_ACTIVE UINT64_C(0xFFFF)
#define STATE_PIN_ONE (UINT64_C(1) << 16)
#define STATE_PINS (UINT64_C(0xFFFF) << 16)
#define STATE_SUSPEND_ONE (UINT64_C(1) << 32)
#define STATE_SUSPENDS (UINT64_C(0xFFFF) << 32)
#define STATE_POSTED (UINT64_C(1) << 48)
#define STATE_EXCLUSIVE (UINT64_C(1) << 49)
#define STATE_LINGERS (UINT64_C(1) << 50)
#define STATE_SHUT (UINT64_C(1) << 51)
#define STATE_RELEASED (UINT64_C(1) << 52)
/* Somebody else will look. */
#define STATE_ATTENDED (STATE_POSTED | STATE_EXCLUSIVE | STATE_LINGERS | STATE_SUSPENDS)

/* A caller that waits for its turn. */
typedef struct csk_sync_call {
    csk_work_t work;
    csk_section_t section;
    uint32_t word; /* CALL_... */
    csk_workqueue_wait_t room; /* of one that stands in the line for room */
} csk_sync_call_t;

enum { CALL_WAITS = 0, CALL_SLEEPS = 1, CALL_GRANTED = 2, CALL_REFUSED = 3 };

static inline uint32_t csk_workqueue_width(const csk_workqueue_t *queue) { return queue->width > 1 ? queue->width : 1; }
static inline csk_rank_t csk_workqueue_rank(const csk_workqueue_t *queue) { return csk_rank(queue->priority, CSK_PLACE_BACK); }
static inline uint32_t csk_work_kind(const csk_workqueue_t *queue, uint32_t flags) {
    return flags | csk_load(&queue->epoch, CSK_RELAXED) << WORK_EPOCH_SHIFT;
}
static inline bool csk_work_takes_room(const csk_work_t *work) { return (work->kind & (WORK_STAYS | WORK_BEYOND)) == 0; }
/* Under the lock. */
static inline bool csk_workqueue_is_full(const csk_workqueue_t *queue) {
    return queue->capacity != 0 && queue->waiting - queue->beyond >= queue->capacity;
}
static inline bool csk_section_is_over(const csk_section_t *section) { return section->epoch != csk_pool_epoch(); }
static inline int64_t csk_work_arrival(const csk_work_t *work) { return work->node.ticket < 0 ? -work->node.ticket : work->node.ticket; }

/* ---- workqueue_order.c: all under the lock ---- */

/* Brings what the inbox holds into the order in which it will run. */
void csk_work_sort(csk_workqueue_t *queue);
/* Puts one work there, as the last to arrive. */
void csk_work_arrange(csk_workqueue_t *queue, csk_work_t *work);
/* The work whose turn it is, if another may begin now; `section` says what ends it. Exclusive for callers of serial queues. */
csk_work_t *csk_work_take(csk_workqueue_t *queue, csk_section_t *section);
/* The same for a worker that spares itself a look at the inbox, which callers keep changing: nothing there comes before the first of the queue's own
 * priority but what is urgent. NULL where it has to look. */
csk_work_t *csk_work_take_sorted(csk_workqueue_t *queue, csk_section_t *section);
/* Whether `work` is what csk_work_take would give, now or when others have ended. */
bool csk_work_is_next(const csk_workqueue_t *queue, const csk_work_t *work);
/* What has to go to make place for another, on a queue that is full. */
csk_work_t *csk_work_oldest_to_drop(const csk_workqueue_t *queue);
/* True when csk_work_take would give something. */
bool csk_work_may_begin(const csk_workqueue_t *queue);
/* Takes `work` out of whichever list it is in. */
void csk_work_remove(csk_workqueue_t *queue, csk_work_t *work);
/* Takes out everything that has not begun and does not stay, linked by node.next in the order of the lists. */
csk_work_t *csk_work_remove_all(csk_workqueue_t *queue);
/* Takes a wait that is in the list out of it. */
void csk_wait_unlink(csk_workqueue_wait_t **list, csk_workqueue_wait_t *wait);
/* What arrived as number `arrival` has ended. Gives the drains that waited for nothing else, linked to *done. */
void csk_work_account(csk_workqueue_t *queue, int64_t arrival, csk_workqueue_wait_t **done);
/* Ends a section: afterwards others may begin. */
void csk_section_end(csk_section_t *section, csk_workqueue_wait_t **done);

/* ---- workqueue.c ---- */

/* The section the calling thread is in; csk_section_enter and leave keep the chain. */
bool csk_section_inside(const csk_workqueue_t *queue);
void csk_section_enter(csk_section_t *section);
void csk_section_leave(csk_section_t *section);
/* Readies a queue for its first use in this process: 0, EAGAIN or ENOMEM when no worker can be had. */
int csk_workqueue_ready(csk_workqueue_t *queue);
/* Before anything else that a process does with a queue: nothing in it is looked at or changed by a process that it does not name. So what no process
 * has used yet only learns where it is; of the parent's, the first makes it anew, and others wait for the lock. */
void csk_workqueue_begin_in_process(csk_workqueue_t *queue, uint32_t epoch);
static inline void csk_workqueue_know_process(csk_workqueue_t *queue) {
    uint32_t epoch = csk_pool_epoch();
    if (CSK_UNLIKELY(csk_load(&queue->epoch, CSK_ACQUIRE) != epoch)) csk_workqueue_begin_in_process(queue, epoch);
}
/* The queue's lock; in a child of fork the queue is made anew first. */
void csk_workqueue_lock(csk_workqueue_t *queue);
static inline void csk_workqueue_unlock(csk_workqueue_t *queue) { csk_queue_unlock(&queue->lock); }
/* Puts work into the inbox. */
void csk_work_push(csk_workqueue_t *queue, csk_work_t *work);
/* Queues work that takes no room, for callers that can't wait: as csk_workqueue_enqueue_always, but refused after a shutdown, and it does not stay. */
int csk_workqueue_enqueue_beyond(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank, csk_work_function_t function);
/* Sees to it that a worker looks, if nobody else will. */
void csk_workqueue_activate(csk_workqueue_t *queue);
/* Its two halves, for those who must not touch the queue any more once they have unlocked it: true under the lock when a worker has to be asked
 * for, which pins the queue; then that. */
bool csk_workqueue_claim(csk_workqueue_t *queue);
void csk_workqueue_post(csk_workqueue_t *queue);
/* Unlocks the queue, and activates if something may begin: for those who sorted, or ended a section, and don't go on to take. Doesn't touch the
 * queue afterwards. */
void csk_workqueue_unlock_and_look(csk_workqueue_t *queue);
/* Calls the functions of drains that are done. */
/* False in a child that one of their functions has forked: the others are told in the parent. */
bool csk_waits_call(csk_workqueue_wait_t *done);
/* Keeps the queue's memory until csk_workqueue_unpin. */
static inline void csk_workqueue_pin(csk_workqueue_t *queue) { csk_fetch_add(&queue->state, STATE_PIN_ONE, CSK_RELAXED); }
void csk_workqueue_unpin(csk_workqueue_t *queue);

/* ---- workqueue_refuse.c ---- */

/* Under the lock, before csk_work_refuse: `first` and what it links were taken out. Drains go on to wait until all were
 * told, for the one that arrived first: a drain that waits for any of them waits for that one, so none is done here. */
void csk_work_begin_refusal(csk_workqueue_t *queue, const csk_work_t *first, csk_section_t *section);
/* Without it: calls their functions with ECANCELED, as a section of the queue. */
void csk_work_refuse(csk_work_t *first, csk_section_t *section);

/* ---- workqueue_wait.c ---- */

/* Gives a caller its turn, or refuses it for ever: CALL_GRANTED or CALL_REFUSED. Its memory may be gone afterwards. */
void csk_sync_call_answer(csk_sync_call_t *call, uint32_t answer);
/* Under the lock, when work has left a queue for whose room others wait: the first of them gets the place, if it is one. Gives whom to tell. */
csk_workqueue_wait_t *csk_rooms_take(csk_workqueue_t *queue);
/* Under the lock, when the queue is shut: takes them all, to be told so. */
csk_workqueue_wait_t *csk_rooms_close(csk_workqueue_t *queue);
/* Queues on a queue with a bound that waits. */
int csk_workqueue_wait_for_room(csk_workqueue_t *queue, csk_work_t *work, int64_t deadline_ns);
/* The same, but where it would have to wait `wait` does: EINPROGRESS. */
int csk_workqueue_ask_for_room(csk_workqueue_t *queue, csk_work_t *work, csk_workqueue_wait_t *wait, void (*function)(csk_workqueue_wait_t *),
                               void *context);

static inline csk_sync_call_t *csk_sync_call_of(csk_work_t *work) { return (csk_sync_call_t *)work; }

#endif
