/* workqueue.h: what the parts of the work queue share.
 *
 *   workqueue_order.c   what waits, in which order, and what a worker takes
 *   workqueue_serve.c   a worker that serves a queue; asking for one; the queue in this process
 *   workqueue_refuse.c  works that will not run
 *   workqueue_wait.c    callers that wait for a turn, for room or for the end
 *   workqueue.c         queueing
 *   workqueue_life.c    making and ending, handles, suspending, counts
 *
 * Each calls only those above it, and the first none.
 *
 * The state word, changed only by locked instructions:
 *
 *   bits 0-15   ACTIVE     The number of workers that serve the queue or were posted to it. The thread that activates
 *                          raises it. The worker lowers it under the lock.
 *   bits 16-31  PINS       The number of users that keep the memory: each active worker until its very last access,
 *                          each thread that calls functions with ECANCELED, callers of a queue on the heap, a call of
 *                          resume or shutdown, a view, the timer's thread, and the queue's handles, which have one pin
 *                          for all of them together.
 *   bits 32-47  SUSPENDS   The number of calls of suspend that were not resumed. It changes under the lock.
 *   bit 48      POSTED     A worker was asked for and has not come. That worker clears it before it looks.
 *   bit 49      EXCLUSIVE  There is a section that must end before anything else can begin, and the thread that ends it
 *                          will look. It changes under the lock.
 *   bit 50      LINGERS    A worker spins on the inbox and will look. That worker clears it before it looks.
 *   bit 51      SHUT       The queue accepts nothing but work of its own turn. It is set under the lock, and SUSPENDS
 *                          ends with it for good.
 *   bit 52      RELEASED   The owner is gone. It is set under the lock, and SUSPENDS ends with it for good.
 *   bit 53      METERED    Some works carry the time (WORK_TIMED). It is set when a queue with a name is made, or is
 *                          sorted under the lock, while the metrics are on. A thread that queues work and finds that
 *                          they are off clears it. Nothing else depends on it, so a reader of it may be late.
 *
 * No work is forgotten. A thread that queues work writes inbox_last and then reads the state. A thread that stops
 * looking (lowers ACTIVE or clears a bit) writes the state and then reads inbox_last. Both pairs are sequentially
 * consistent, so one of the two sees the other. Work that is no longer in the inbox is protected by the lock, and
 * ACTIVE is lowered under the lock: a thread that ends a section under the lock later sees that no worker serves the
 * queue. A thread that takes work out of the inbox under the lock sees that as well. It must act on that, since a
 * worker that leaves would find the inbox empty: so a thread that sorts also takes work, or checks whether another
 * will.
 *
 * Workers take sorted work without a look at the inbox while nothing in the inbox is urgent. A thread that queues
 * something urgent writes the inbox and then `urgent`. The worker that clears `urgent` reads the inbox afterwards. Both
 * exchange `urgent`, so that the worker that clears it (acquire) sees the inbox of all threads that set it before
 * (release): an exchange continues the release sequences of those before it. Workers of a concurrent queue look at the
 * inbox before they take the last sorted work: for work whose caller saw POSTED or LINGERS no other thread asks for a
 * worker while those workers run what they took.
 *
 * The inbox is a list. Any thread appends to it by exchanging its end. It is read under the lock. Between an exchange
 * and the store that links the work to the one before it, the list is broken there: readers wait for that one store.
 *
 * A long inbox is sorted in pieces, with the lock free in between. A look that needs all of it marks the work that is
 * last then, and `round` counts when marks are set and met: docs/design/workqueue.md, "A long inbox". While a worker is
 * on its way to urgent work, `urgent` says up to which round others must not pass it.
 *
 * A caller of sync stands in the lists as works do. It is put there under the lock. Before it unlocks, it takes its
 * turn if that has come; otherwise it looks for whatever may begin instead, since it sorted. From then on it touches
 * its own word alone. A worker that takes it answers in that word, and on a serial queue EXCLUSIVE is set while the
 * caller runs its function. So a caller waits for workers only, and never runs what others queued. When it ends its
 * section, or gives up, it looks: workers left to it what came meanwhile.
 *
 * Nothing is accepted after a shutdown. A thread that queues work looks for SHUT before it does, and once more after it
 * has written the inbox. The thread that shuts the queue down sets SHUT and then sorts the inbox for the last time;
 * both pairs are sequentially consistent. So work which that sort does not find has a caller that sees SHUT. From then
 * on a sort puts such work into the list of the late (`refuses`), where it stays until its caller comes under the lock,
 * takes it out, and says that it was refused. A caller that does not find its work there has been accepted in time; it
 * compares addresses only, since that work may have run and be gone.
 *
 * Work that STAYS (work of its own turn) is accepted by a full queue and after SHUT, and is passed over when work is
 * dropped. On a queue that drops its oldest, such work stands in the heap, which keeps equal ranks by arrival too. So
 * the first of the list is the oldest that may be dropped.
 *
 * Work that can't be refused takes no room (STAYS, BEYOND). It is counted apart: however much of it comes, those that
 * wait for room get each place that is left. Threads wait for room only while the queue is full: a thread that takes
 * work with room out of the lists gives its place to the first waiter, before the lock is free again. A caller that
 * takes its turn as soon as it comes leaves as many works as there were. After SHUT no thread waits for room: the
 * thread that shuts the queue down ends those waits. Work that takes room never stands in the inbox of a queue with a
 * bound.
 *
 * While a caller waits for room, its work is not in the queue, and its thread waits for its turn all the same. So
 * giving it its place ends no wait.
 *
 * A wait without a turn (a drain, or a wait for room) is in a list as long as its epoch is this process's. The epoch is
 * changed under the lock, so a thread that gives up knows whether its function will be called. In a child of fork such
 * a wait is in no list, whatever its links say. */
#ifndef CSK_INTERNAL_WORKQUEUE_H
#define CSK_INTERNAL_WORKQUEUE_H

#include "csynckernel/workqueue.h"
#include "base/hooks.h"
#include "base/list.h"
#include "base/raise.h"
#include "pool/pool.h"
#include "wait/queue_lock.h"
#include "wait/spin_park.h"
#include "wait/waiter.h"

/* csk_work_t.kind: flags, and above them the epoch of the process that queued the work. In a child of fork that work no
 * longer waits. */
enum {
    WORK_PLAIN = 0,
    WORK_BARRIER = CSK_WORK_BARRIER,
    WORK_STAYS = CSK_WORK_OWN_TURN,
    WORK_COUNTED = CSK_WORK_COUNTED, /* under the bypass limit: a csk_arrival_t stands behind it */
    WORK_BEYOND = 8,                 /* takes no room, since its caller can't wait for it: delayed work */
    WORK_FLAGS = WORK_BARRIER | WORK_STAYS | WORK_COUNTED, /* of csk_workqueue_submit */
    WORK_SYNC = 16,                                        /* part of a csk_sync_call_t, whose thread runs it */
    WORK_TIMED = 32, /* the metrics may know since when it waits, until it begins or is given up */
    WORK_EPOCH_SHIFT = 6
};

/* csk_work_t.place */
enum { PLACE_NOWHERE = 0, PLACE_INBOX, PLACE_INBOX_MARKED, PLACE_FIRST, PLACE_RANKED, PLACE_BARRIER, PLACE_LATER };

/* csk_workqueue_t.urgent: 0, or URGENT, or URGENT_UNTIL and the low byte of the round with whose end all is sorted that
 * was urgent. */
enum { URGENT = 1, URGENT_UNTIL = 256 };

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
#define STATE_METERED (UINT64_C(1) << 53)
/* With any of these set, another thread will look. */
#define STATE_ATTENDED (STATE_POSTED | STATE_EXCLUSIVE | STATE_LINGERS | STATE_SUSPENDS)

/* A caller that waits for its turn. */
typedef struct csk_sync_call {
    csk_work_t work;
    csk_arrival_t arrival;
    csk_section_t section;
    uint32_t word;             /* see wait/spin_park.h: answered with CALL_... */
    csk_workqueue_wait_t room; /* used while the caller stands in the line for room */
} csk_sync_call_t;

enum { CALL_GRANTED = CSK_WORD_ANSWER, CALL_REFUSED };

static inline csk_sync_call_t *csk_sync_call_of(csk_work_t *work) { return (csk_sync_call_t *)work; }
/* Gives a caller its turn (CALL_GRANTED), or refuses it for ever (CALL_REFUSED). The caller's memory may be gone
 * afterwards. */
static inline void csk_sync_call_answer(csk_sync_call_t *call, uint32_t answer) {
    csk_word_answer(&call->word, answer);
}

static inline uint32_t csk_workqueue_width(const csk_workqueue_t *queue) { return queue->width > 1 ? queue->width : 1; }
static inline uint32_t csk_work_kind(const csk_workqueue_t *queue, uint32_t flags) {
    return flags | csk_load(&queue->epoch, CSK_RELAXED) << WORK_EPOCH_SHIFT;
}
static inline bool csk_work_takes_room(const csk_work_t *work) {
    return (work->kind & (WORK_STAYS | WORK_BEYOND)) == 0;
}
/* Called under the lock. */
static inline bool csk_workqueue_is_full(const csk_workqueue_t *queue) {
    return queue->capacity != 0 && queue->waiting - queue->beyond >= queue->capacity;
}
static inline bool csk_section_is_over(const csk_section_t *section) { return section->epoch != csk_pool_epoch(); }
static inline int64_t csk_work_arrival(const csk_work_t *work) { return csk_node_arrival(&work->node); }
/* The one behind it, in whatever list it is. */
static inline csk_work_t *csk_work_after(const csk_work_t *work) { return (csk_work_t *)work->node.next; }

/* The flag of a work of that rank, behind which a csk_arrival_t stands. */
static inline uint32_t csk_work_counts(const csk_workqueue_t *queue, csk_rank_t rank) {
    uint32_t limit = queue->bypass_limit;
    bool counts = limit == 0 ? csk_rank_is_unnamed(rank) : limit != CSK_BYPASS_NEVER;
    return counts ? WORK_COUNTED : 0;
}

/* csk_workqueue_submit, in workqueue.c, for flags that are known to be right, and WORK_BEYOND too. */
int csk_workqueue_submit_with_flags(csk_workqueue_t *queue, csk_rank_t rank, csk_work_t *work, uint32_t flags,
                                    int64_t deadline_ns, csk_work_function_t function);

/* ---- workqueue_order.c: each function is called under the lock ---- */

/* So many works are moved, or taken out, while the lock is held. In the explorer they are fewer. */
#ifndef CSK_WORK_PIECE
#define CSK_WORK_PIECE 128
#endif

/* Moves some works from the inbox into the order in which they will run, or to the late ones. Returns whether some are
 * left there. */
bool csk_work_sort_piece(csk_workqueue_t *queue);
/* Lets the lock go, moves some more, and so on with all that are in the inbox when it is called. */
void csk_work_sort_rest(csk_workqueue_t *queue);
/* Does both: where they are many, it lets the lock go now and then. */
void csk_work_sort(csk_workqueue_t *queue);
/* Takes `work`, which may be gone, out of the late ones. Returns false where it is none of them. */
bool csk_work_take_late(csk_workqueue_t *queue, const csk_work_t *work);
/* The queue was found full, which is as long as its line gets: the metrics count it. */
void csk_work_note_full(csk_workqueue_t *queue);
/* Puts one work into that order, as the last to arrive. */
void csk_work_arrange(csk_workqueue_t *queue, csk_work_t *work);
/* Takes and returns the work whose turn it is, if another may begin now. `section` receives what is needed to end it.
 * The section is exclusive for callers of serial queues. */
csk_work_t *csk_work_take(csk_workqueue_t *queue, csk_section_t *section);
/* What a worker does once it has the lock: ends its previous section if `ends`, takes the next work, and gives the room
 * that it had to the first that waits for it. `over`: the waits that end with that, whose functions the worker calls.
 * `more`: whether another work may begin. */
csk_work_t *csk_work_next(csk_workqueue_t *queue, csk_section_t *section, bool ends, bool *more,
                          csk_workqueue_wait_t **over);
/* Whether csk_work_take would return `work`, now or when others have ended. */
bool csk_work_is_next(const csk_workqueue_t *queue, const csk_work_t *work);
/* The first in order, behind which no barrier stands; or the barrier; or NULL. */
csk_work_t *csk_work_first(const csk_workqueue_t *queue);
/* True when csk_work_take would return a work. */
bool csk_work_may_begin(const csk_workqueue_t *queue);
/* Takes `work` out of whichever list it is in: for good, or until it is put back. Works that are put back in their
 * order stand as they did. */
void csk_work_remove(csk_workqueue_t *queue, csk_work_t *work);
void csk_work_set_aside(csk_workqueue_t *queue, csk_work_t *work);
void csk_work_put_back(csk_workqueue_t *queue, csk_work_t *work);
/* Whether the work waits and stands in one of the lists, once the inbox was sorted if it stood there. Work that still
 * seems to be in the inbox after that is just being queued again. */
static inline bool csk_work_is_in_inbox(const csk_work_t *work) {
    uint32_t place = csk_load(&work->place, CSK_RELAXED);
    return place == PLACE_INBOX || place == PLACE_INBOX_MARKED;
}
static inline bool csk_work_is_in_list(const csk_workqueue_t *queue, const csk_work_t *work) {
    return csk_load(&work->place, CSK_RELAXED) >= PLACE_FIRST &&
           work->kind >> WORK_EPOCH_SHIFT == csk_work_kind(queue, 0) >> WORK_EPOCH_SHIFT;
}
/* Gives `work`, which is in one of the lists, a higher rank. A barrier stays where it is. */
void csk_work_raise(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank);
CSK_LIST(csk_wait_list, csk_workqueue_wait_t, next, previous);
/* Takes `wait` out of the list in which it is. */
static inline void csk_wait_unlink(csk_workqueue_wait_t **first, csk_workqueue_wait_t **last,
                                   csk_workqueue_wait_t *wait) {
    csk_wait_list_take_out(first, last, wait);
    wait->epoch = 0;
}
/* The work that arrived as number `arrival` has ended. Links the drains that waited for nothing else to *done.
 * O(drains). */
void csk_work_account(csk_workqueue_t *queue, int64_t arrival, csk_workqueue_wait_t **done);
/* Ends a section. Afterwards others may begin. */
void csk_section_end(csk_section_t *section, csk_workqueue_wait_t **done);
/* Called when work has left a queue for whose room others wait, by a thread that has sorted the inbox before: work that
 * gets room comes behind what was there. The first that waits gets the place, if there is one. Returns the wait to
 * tell. */
csk_workqueue_wait_t *csk_rooms_take(csk_workqueue_t *queue);

/* ---- workqueue_serve.c ---- */

/* Whether the calling thread is in a section of `queue`. csk_section_enter and csk_section_leave keep the chain of the
 * thread's sections. */
bool csk_section_inside(const csk_workqueue_t *queue);
void csk_section_enter(csk_section_t *section);
void csk_section_leave(csk_section_t *section);
/* The section in which the calling thread calls works of `queue` that will not run; NULL where there is none. */
csk_section_t *csk_section_of_refusal(const csk_workqueue_t *queue);
/* What a pool's worker does that was posted to a queue. */
void csk_workqueue_serve(csk_pool_item_t *item);
static inline csk_workqueue_t *csk_workqueue_of(csk_pool_item_t *item) {
    return (csk_workqueue_t *)((char *)item - offsetof(csk_workqueue_t, item));
}
/* Keeps the queue's memory until csk_workqueue_unpin is called. */
static inline void csk_workqueue_pin(csk_workqueue_t *queue) {
    csk_fetch_add(&queue->state, STATE_PIN_ONE, CSK_RELAXED);
}
void csk_workqueue_unpin(csk_workqueue_t *queue);

/* What `suspended` says of a queue that is suspended. A view finds such a queue in the list of objects, since no worker
 * has it. It is listed while the list is wanted: see listed.h. */
enum { SUSPENDED = 1, SUSPENDED_LISTED = 2, SUSPENDED_EMPTIED = 4 /* csk_work_remove_all has let the lock go */ };
/* Called under the lock, for a queue that is suspended. */
void csk_workqueue_note_suspension(csk_workqueue_t *queue);

/* Readies a queue for its first use in this process. Returns 0, or EAGAIN or ENOMEM when no worker can be had. */
int csk_workqueue_get_ready(csk_workqueue_t *queue);
static inline int csk_workqueue_ready(csk_workqueue_t *queue) {
    uint32_t ready = csk_pool_ready();
    if (CSK_LIKELY(ready != 0 && csk_load(&queue->epoch, CSK_ACQUIRE) == ready)) return 0;
    return csk_workqueue_get_ready(queue);
}
/* Called before anything else that a process does with a queue: a process that the queue's epoch does not name neither
 * looks at nor changes anything in it. A queue that no process has used yet only records the epoch. A queue of the
 * parent is made anew by the first thread that comes, and other threads wait for the lock. */
void csk_workqueue_begin_in_process(csk_workqueue_t *queue, uint32_t epoch);
static inline void csk_workqueue_know_process(csk_workqueue_t *queue) {
    uint32_t epoch = csk_pool_epoch();
    if (CSK_UNLIKELY(csk_load(&queue->epoch, CSK_ACQUIRE) != epoch)) csk_workqueue_begin_in_process(queue, epoch);
}
/* Takes the queue's lock. In a child of fork the queue is made anew first. */
void csk_workqueue_lock(csk_workqueue_t *queue);
static inline void csk_workqueue_unlock(csk_workqueue_t *queue) { csk_queue_unlock(&queue->lock); }
static inline bool csk_workqueue_has_worker_to_spare(const csk_workqueue_t *queue, uint64_t state) {
    return (state & STATE_ACTIVE) < csk_workqueue_width(queue);
}
/* Adds `claim` to the state, which was `state` when the caller read it, if no other thread will look and another worker
 * may. Returns whether it did. It acquires what the worker that cleared POSTED has done with the pool's item, which is
 * the caller's from now on. The read of the state is the one that has to be sequentially consistent. */
static inline bool csk_workqueue_add_claim_to(csk_workqueue_t *queue, uint64_t state, uint64_t claim) {
    while (!(state & STATE_ATTENDED) && csk_workqueue_has_worker_to_spare(queue, state))
        if (csk_cas(&queue->state, &state, state + claim, CSK_ACQUIRE)) return true;
    return false;
}
static inline bool csk_workqueue_add_claim(csk_workqueue_t *queue, uint64_t claim) {
    return csk_workqueue_add_claim_to(queue, csk_load(&queue->state, CSK_SEQ_CST), claim);
}
/* The two halves of csk_workqueue_activate, for callers that must not touch the queue any more once they have unlocked
 * it. csk_workqueue_claim, under the lock, returns true when a worker has to be asked for, and then it has pinned the
 * queue. csk_workqueue_post then asks for that worker. */
#define STATE_CLAIM (STATE_ACTIVE_ONE + STATE_PIN_ONE + STATE_POSTED)
static inline bool csk_workqueue_claim(csk_workqueue_t *queue) { return csk_workqueue_add_claim(queue, STATE_CLAIM); }
static inline void csk_workqueue_post(csk_workqueue_t *queue) {
    queue->item.level = csk_pool_level(queue->priority);
    csk_cannot_fail(csk_pool_post(&queue->item, csk_workqueue_serve)); /* csk_workqueue_ready saw a worker */
}
/* Ensures that a worker looks, if no other thread will. */
static inline void csk_workqueue_activate(csk_workqueue_t *queue) {
    if (csk_workqueue_claim(queue)) csk_workqueue_post(queue);
}
/* Unlocks the queue, and activates if something may begin. It is for callers that sorted, or ended a section, and don't
 * go on to take work. It doesn't touch the queue afterwards. */
void csk_workqueue_unlock_and_look(csk_workqueue_t *queue);
/* Calls the functions of waits that are over. Where such a function leads here again, those are called once it has
 * returned: they don't nest, however many there are. Returns false in a child that one of these functions has forked:
 * the other drains end in the parent. */
bool csk_waits_call(csk_workqueue_wait_t *done);

/* For a thread that a function has ended: no call of csk_waits_call on it goes on. */
void csk_waits_forget(void);

/* ---- workqueue_refuse.c ---- */

/* Called under the lock, for a shutdown, which has set `refuses`. Takes out each work that has not begun and does not
 * stay. They are linked by node.next in the order of the lists. Where they are many, it lets the lock go now and then,
 * as long as none stays; nothing begins meanwhile. */
csk_work_t *csk_work_remove_all(csk_workqueue_t *queue);
/* The work that has to go to make place for another, on a full queue. Called under the lock. */
csk_work_t *csk_work_oldest_to_drop(const csk_workqueue_t *queue);
/* Works that are called because they will not run, as a section of the queue. */
typedef struct csk_refusal {
    csk_section_t section; /* its arrival: of the work that drains wait for, see csk_work_begin_refusal */
    csk_work_t *first, *last;
    int64_t arrivals; /* of the queue, when the works were taken out */
} csk_refusal_t;
/* Called under the lock, before csk_work_refuse. `first` and the works linked to it were taken out. Drains go on
 * waiting until all of these were called: they wait for the one that arrived first. A drain that waits for any of them
 * waits for that one, so none is done before. */
void csk_work_begin_refusal(csk_workqueue_t *queue, csk_work_t *first, csk_refusal_t *refusal);
/* Called under the lock, for one work that was taken out. If the calling thread is in a function of a work that this
 * queue refuses, the work joins those that are to be called, once that function has returned: so they don't nest,
 * however many works such functions drop. Returns false where it isn't, and nothing was done. */
bool csk_work_join_refusal(csk_workqueue_t *queue, csk_work_t *work);
/* Called without the lock, for a queue that the caller keeps: a work or a caller was not accepted, which is counted and
 * traced. Returns `status`. */
int csk_work_is_refused(const csk_workqueue_t *queue, const void *work, int status);
/* Called without the lock. Calls the functions of these works with ECANCELED, as a section of the queue. */
void csk_work_refuse(csk_refusal_t *refusal);

/* ---- workqueue_wait.c ---- */

/* Whether a thread waits with it, or a function is called. */
bool csk_workqueue_wait_is_of_thread(const csk_workqueue_wait_t *wait);
/* Called under the lock when the queue is shut. Takes all waits for room out; the caller ends them with the
 * shutdown. */
csk_workqueue_wait_t *csk_rooms_close(csk_workqueue_t *queue);
/* Queues work on a queue with a bound whose callers wait for room. */
int csk_workqueue_wait_for_room(csk_workqueue_t *queue, csk_work_t *work, int64_t deadline_ns);
/* The same, but where the thread would have to wait, `wait` stands in the line instead, and the call returns
 * EINPROGRESS. */
int csk_workqueue_ask_for_room(csk_workqueue_t *queue, csk_work_t *work, csk_workqueue_wait_t *wait,
                               void (*function)(csk_workqueue_wait_t *), void *context);

/* The wait is in no list any more, and its function was not called. The queue may be gone. */
static inline void csk_workqueue_wait_ended(const csk_workqueue_wait_t *wait, int status) {
    if (CSK_UNLIKELY(wait->since_ns != 0)) csk_told_queue_wait_end(wait, status);
}

#endif
