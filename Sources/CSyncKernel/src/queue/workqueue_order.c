/* workqueue_order.c: what waits in a queue, and in which order it runs. All of it happens under the queue's lock.
 *
 * Work of the queue's own priority stands in a list, in order of arrival. All other work stands in a heap. Of the first
 * of the list and the first of the heap, the one that comes before the other is next; or one that was overtaken too
 * often. Where the heap is empty, no work overtakes another. Whatever arrives after a barrier stands in a list of its
 * own until the barrier has run: nothing passes the barrier in either direction.
 *
 * More than 400 lines: all of it is what happens to these lists. */
#include "queue/workqueue.h"

#include "base/hooks.h"
#include "base/raise.h"
#include "csynckernel/delayed.h"

CSK_LIST(nodes, csk_heap_node_t, next, previous);
typedef struct {
    csk_heap_node_t **first, **last;
} list_t;

static void append(list_t list, csk_work_t *work, uint32_t place) {
    work->place = place;
    nodes_put_last(list.first, list.last, &work->node);
}

static void unlink_from(list_t list, csk_work_t *work) { nodes_take_out(list.first, list.last, &work->node); }

static list_t own_list(csk_workqueue_t *queue) { return (list_t){ &queue->first, &queue->last }; }
static list_t later_list(csk_workqueue_t *queue) { return (list_t){ &queue->later_first, &queue->later_last }; }

/* Such work stands in the heap, so that it is passed over when the oldest is dropped: the oldest to drop is the first
 * of the list. All such work has one rank, and the heap orders equal ranks by arrival too. */
static bool stands_apart(const csk_workqueue_t *queue, const csk_work_t *work) {
    return (work->kind & WORK_STAYS) && queue->when_full == CSK_WORKQUEUE_DROP_OLDEST;
}

static bool is_barrier(const csk_work_t *work) { return (work->kind & WORK_BARRIER) != 0; }

static void place_ranked(csk_workqueue_t *queue, csk_work_t *work) {
    work->place = PLACE_RANKED;
    csk_heap_insert(&queue->ranked, &work->node);
}

static void place_elsewhere(csk_workqueue_t *queue, csk_work_t *work) {
    if (queue->barrier != NULL) {
        append(later_list(queue), work, PLACE_LATER);
    } else if (is_barrier(work)) {
        work->place = PLACE_BARRIER;
        queue->barrier = work;
    } else if (work->node.rank == csk_workqueue_rank(queue) && !stands_apart(queue, work)) {
        append(own_list(queue), work, PLACE_FIRST);
    } else {
        place_ranked(queue, work);
    }
}

/* The work's number of arrival is set already. */
static inline void place(csk_workqueue_t *queue, csk_work_t *work) {
    bool plain = queue->barrier == NULL && !(work->kind & (WORK_BARRIER | WORK_STAYS)) &&
                 work->node.rank == csk_workqueue_rank(queue);
    if (CSK_LIKELY(plain)) append(own_list(queue), work, PLACE_FIRST);
    else place_elsewhere(queue, work);
}

/* ---- Works that were overtaken too often -------------------------------------------------------------------------
 *
 * The works that are under the bypass limit stand in a list by arrival too (csynckernel/arrivals.h), from the step at
 * which they get their number of arrival until they go for good. Behind a barrier no work overtakes them: all that may
 * begin came before them. So the oldest of the list, where it is overdue, may begin unless what comes first in order is
 * older.
 *
 * Work that has no room for that does not stand in the list. Its number of arrival says where it would: it passes those
 * that are older. They are looked for from the newest on, since what begins is mostly what has just come, and no
 * further than so many steps. Then those count too that were met. So no work is overtaken more often than is
 * counted. */

CSK_STATIC_ASSERT(offsetof(csk_counted_work_t, arrival) == sizeof(csk_work_t), "the arrival stands behind the work");
CSK_STATIC_ASSERT(offsetof(csk_sync_call_t, arrival) == sizeof(csk_work_t), "the arrival stands behind the work");
CSK_STATIC_ASSERT(offsetof(csk_delayed_t, arrival) == sizeof(csk_work_t), "the arrival stands behind the work");

static csk_arrival_t *arrival_of(const csk_work_t *work) { return &((csk_counted_work_t *)work)->arrival; }
static csk_work_t *work_of(const csk_arrival_t *arrival) {
    return (csk_work_t *)((char *)arrival - offsetof(csk_counted_work_t, arrival));
}
static bool is_older(const csk_work_t *a, const csk_work_t *b) { return csk_work_arrival(a) < csk_work_arrival(b); }

static void join_arrivals(csk_workqueue_t *queue, csk_work_t *work) {
    queue->oldest = csk_arrivals_link(queue->oldest, arrival_of(work));
}

static void leave_arrivals(csk_workqueue_t *queue, csk_work_t *work) {
    queue->oldest = csk_arrivals_unlink(queue->oldest, &queue->oldest_passed, arrival_of(work), false);
}

/* The newest that is older than `work`, or that the steps lead to. */
static csk_arrival_t *older_than(const csk_workqueue_t *queue, const csk_work_t *work) {
    csk_arrival_t *arrival = queue->oldest->older;
    for (int steps = 1; steps < CSK_ARRIVALS_STEPS && !is_older(work_of(arrival), work); steps++)
        arrival = arrival->older;
    return arrival;
}

static void note_passes(csk_workqueue_t *queue, const csk_work_t *work) {
    if (!is_older(work_of(queue->oldest), work)) return;
    csk_arrival_t *older = work->kind & WORK_COUNTED ? arrival_of(work)->older : older_than(queue, work);
    csk_arrivals_pass_to(older, &queue->oldest_passed);
}

static csk_work_t *next_by_limit(const csk_workqueue_t *queue, csk_work_t *next) {
    if (queue->oldest_passed < csk_arrivals_limit(queue->bypass_limit)) return next;
    csk_work_t *overdue = work_of(queue->oldest);
    return is_older(next, overdue) ? next : overdue;
}

/* ---- Arriving ---------------------------------------------------------------------------------------------------- */

/* Most works are neither: what takes no room, and what is under the bypass limit. */
enum { WORK_IS_NOTED = WORK_STAYS | WORK_BEYOND | WORK_COUNTED };
static inline void note_arrival(csk_workqueue_t *queue, csk_work_t *work) {
    if (!csk_work_takes_room(work)) queue->beyond++;
    if (work->kind & WORK_COUNTED) join_arrivals(queue, work);
}
/* Where it does not go for good, it is not forgotten how often it was overtaken. */
static inline void note_departure(csk_workqueue_t *queue, csk_work_t *work, bool goes) {
    if (!csk_work_takes_room(work)) queue->beyond--;
    if (goes && (work->kind & WORK_COUNTED)) leave_arrivals(queue, work);
}

void csk_work_arrange(csk_workqueue_t *queue, csk_work_t *work) {
    int64_t arrival = ++queue->arrivals;
    work->node.ticket = (work->node.rank & 3) == CSK_PLACE_FRONT ? -arrival : arrival;
    queue->waiting++;
    if (CSK_UNLIKELY(work->kind & WORK_IS_NOTED)) note_arrival(queue, work);
    place(queue, work);
}

/* ---- The inbox --------------------------------------------------------------------------------------------------- */

/* A thread that has exchanged the end of the inbox links its work with its next instructions. A thread that meets the
 * gap waits for that step. */
static csk_work_t *first_in_inbox(csk_workqueue_t *queue) {
    csk_work_t *work;
    for (uint32_t looks = 0; (work = csk_load(&queue->inbox_first, CSK_ACQUIRE)) == NULL; looks++) {
        if (csk_load(&queue->inbox_last, CSK_SEQ_CST) == NULL) return NULL;
        csk_platform_await_step(looks);
    }
    return work;
}

/* It is in no list that others read: a canceller finds that it does not wait. */
static void put_among_late(csk_workqueue_t *queue, csk_work_t *work) {
    csk_store(&work->place, (uint32_t)PLACE_NOWHERE, CSK_RELAXED);
    work->node.next = (csk_heap_node_t *)queue->late;
    queue->late = work;
}

bool csk_work_take_late(csk_workqueue_t *queue, const csk_work_t *work) {
    csk_work_t *before = NULL, *late = queue->late;
    while (late != NULL && late != work) before = late, late = csk_work_after(late);
    if (late == NULL) return false;
    if (before != NULL) before->node.next = late->node.next;
    else queue->late = csk_work_after(late);
    return true;
}

/* How many wait is known where works have just been put in order, and that is seldom. */
static __attribute__((noinline, cold)) void count_waiting(csk_workqueue_t *queue) {
    bool counts = csk_told_works(queue->name, &(csk_told_works_t){ .waiting = queue->waiting });
    if (counts && queue->name != NULL && !(csk_load(&queue->state, CSK_RELAXED) & STATE_METERED))
        csk_fetch_or(&queue->state, STATE_METERED, CSK_RELAXED);
}

void csk_work_note_full(csk_workqueue_t *queue) {
    if (csk_waits_are_told()) count_waiting(queue);
}

/* Returns whether works were left in the inbox. */
bool csk_work_sort_piece(csk_workqueue_t *queue) {
    csk_work_t *work = first_in_inbox(queue);
    bool any = work != NULL;
    for (int moved = 0; work != NULL && moved < CSK_WORK_PIECE; moved++) {
        csk_work_t *next = (csk_work_t *)csk_load(&work->node.next, CSK_ACQUIRE);
        if (next == NULL) {
            /* This store comes before the exchange: a thread that finds the inbox empty stores inbox_first. */
            csk_store(&queue->inbox_first, NULL, CSK_RELAXED);
            csk_work_t *last = work;
            if (!csk_cas(&queue->inbox_last, &last, NULL, CSK_RELEASE))
                for (uint32_t looks = 0; (next = (csk_work_t *)csk_load(&work->node.next, CSK_ACQUIRE)) == NULL;
                     looks++)
                    csk_platform_await_step(looks);
        }
        if (CSK_UNLIKELY(csk_load(&work->place, CSK_RELAXED) == PLACE_INBOX_MARKED)) queue->round++;
        if (CSK_UNLIKELY(queue->refuses) && !(work->kind & WORK_STAYS)) put_among_late(queue, work);
        else csk_work_arrange(queue, work);
        work = next;
    }
    if (any && csk_waits_are_told()) count_waiting(queue);
    /* The inbox is not empty, so no other thread stores this. */
    if (CSK_UNLIKELY(work != NULL)) csk_store(&queue->inbox_first, work, CSK_RELAXED);
    return work != NULL;
}

/* The number that queue->round has once all is sorted that is in the inbox now. A round that goes on ends with a work
 * that came before. */
static uint8_t end_of_next_round(const csk_workqueue_t *queue) {
    return (uint8_t)(queue->round + (queue->round % 2 != 0 ? 3 : 2));
}

static bool is_over(const csk_workqueue_t *queue, uint8_t end) { return (int8_t)(queue->round - end) >= 0; }

/* Works were left in the inbox. Lets the lock go, sorts the next piece, and so on until the round is over. */
static __attribute__((noinline)) void sort_on(csk_workqueue_t *queue, uint8_t end) {
    for (bool left = true; left && !is_over(queue, end);) {
        if (queue->round % 2 == 0) {
            csk_work_t *last = csk_load(&queue->inbox_last, CSK_SEQ_CST);
            csk_store(&last->place, (uint32_t)PLACE_INBOX_MARKED, CSK_RELAXED);
            queue->round++;
        }
        csk_workqueue_unlock(queue);
        csk_queue_lock(&queue->lock); /* the queue is this process's, since the caller had the lock before */
        left = csk_work_sort_piece(queue);
    }
}

void csk_work_sort_rest(csk_workqueue_t *queue) { sort_on(queue, end_of_next_round(queue)); }

void csk_work_sort(csk_workqueue_t *queue) {
    if (CSK_UNLIKELY(csk_work_sort_piece(queue))) csk_work_sort_rest(queue);
}

/* Whether a worker may take the first work of the queue's own priority without a look at the inbox, if nothing there is
 * urgent. A caller that queued work while a worker of a concurrent queue was on its way left it to that worker to ask
 * for the next one. The worker does that for sorted work. */
static inline bool has_sorted(const csk_workqueue_t *queue) {
    return queue->first != NULL && (queue->width <= 1 || queue->first != queue->last);
}

/* Works were left in the inbox, and `urgent` was so before. While the lock is free, others must not pass what is
 * urgent. They don't either where URGENT has been set again. */
static __attribute__((noinline)) void sort_on_to_take(csk_workqueue_t *queue, uint32_t urgent) {
    uint8_t end = end_of_next_round(queue);
    uint32_t none = 0;
    bool over = urgent == 0 || (urgent != URGENT && is_over(queue, (uint8_t)urgent));
    if (over && has_sorted(queue)) return;
    if (urgent == URGENT) csk_cas(&queue->urgent, &none, (uint32_t)(URGENT_UNTIL | end), CSK_RELAXED);
    sort_on(queue, end);
}

/* Sorts until a worker finds what comes first. */
static void sort_to_take(csk_workqueue_t *queue) {
    uint32_t urgent = csk_load(&queue->urgent, CSK_RELAXED);
    /* It is cleared before the inbox is read. */
    if (CSK_UNLIKELY(urgent != 0) && (urgent == URGENT || is_over(queue, (uint8_t)urgent)))
        urgent = csk_exchange(&queue->urgent, 0u, CSK_ACQUIRE);
    if (CSK_UNLIKELY(csk_work_sort_piece(queue))) sort_on_to_take(queue, urgent);
    else if (CSK_UNLIKELY(urgent >= URGENT_UNTIL)) csk_cas(&queue->urgent, &urgent, 0u, CSK_RELAXED);
}

/* ---- Taking ------------------------------------------------------------------------------------------------------ */

static inline csk_work_t *next_in_order(const csk_workqueue_t *queue) {
    csk_work_t *ranked = (csk_work_t *)csk_heap_top(&queue->ranked);
    if (ranked == NULL || (queue->first != NULL && csk_heap_before(queue->first, &ranked->node)))
        return (csk_work_t *)queue->first;
    return ranked;
}

/* Works have several ranks, and some are under the bypass limit: one may have been overtaken too often. */
static inline bool is_limited(const csk_workqueue_t *queue) {
    return queue->ranked.root != NULL && CSK_UNLIKELY(queue->oldest != NULL);
}

bool csk_work_is_next(const csk_workqueue_t *queue, const csk_work_t *work) {
    csk_work_t *next = next_in_order(queue);
    if (is_limited(queue)) next = next_by_limit(queue, next);
    return work == (next != NULL ? next : queue->barrier);
}

static bool is_open(const csk_workqueue_t *queue) {
    return !queue->exclusive && queue->running < csk_workqueue_width(queue) && !queue->suspended;
}

bool csk_work_may_begin(const csk_workqueue_t *queue) {
    if (!is_open(queue)) return false;
    return queue->first != NULL || queue->ranked.root != NULL || (queue->barrier != NULL && queue->running == 0);
}

/* The barrier is gone: it runs alone now, or was taken out for good. The work that came after it may be placed, up to
 * the next barrier. */
static void place_later(csk_workqueue_t *queue) {
    while (queue->barrier == NULL && queue->later_first != NULL) {
        csk_work_t *work = (csk_work_t *)queue->later_first;
        unlink_from(later_list(queue), work);
        place(queue, work);
    }
}

static inline void take_out(csk_workqueue_t *queue, csk_work_t *work, bool goes) {
    switch (work->place) {
    case PLACE_FIRST: unlink_from(own_list(queue), work); break;
    case PLACE_RANKED: csk_heap_remove(&queue->ranked, &work->node); break;
    case PLACE_LATER: unlink_from(later_list(queue), work); break;
    default: queue->barrier = NULL; place_later(queue);
    }
    work->place = PLACE_NOWHERE;
    queue->waiting--;
    if (CSK_UNLIKELY(work->kind & WORK_IS_NOTED)) note_departure(queue, work, goes);
}

void csk_work_remove(csk_workqueue_t *queue, csk_work_t *work) { take_out(queue, work, true); }

void csk_work_set_aside(csk_workqueue_t *queue, csk_work_t *work) { take_out(queue, work, false); }

void csk_work_put_back(csk_workqueue_t *queue, csk_work_t *work) {
    queue->waiting++;
    queue->beyond++;
    place(queue, work);
}

csk_work_t *csk_work_first(const csk_workqueue_t *queue) {
    csk_work_t *work = next_in_order(queue);
    return work != NULL ? work : queue->barrier;
}

/* The heap orders the queue's own rank by arrival too: a work of a lower one that comes to have it stays there, since
 * the list's end is for what arrives. What stands behind a barrier goes to its place when that is gone. */
void csk_work_raise(csk_workqueue_t *queue, csk_work_t *work, csk_rank_t rank) {
    if (is_barrier(work)) return;
    if (work->place == PLACE_RANKED) {
        csk_node_raise(&queue->ranked, &work->node, rank);
        return;
    }
    bool is_first = work->place == PLACE_FIRST;
    if (is_first) unlink_from(own_list(queue), work);
    csk_node_give_rank(&work->node, rank);
    if (is_first) place_ranked(queue, work);
}

csk_work_t *csk_work_take(csk_workqueue_t *queue, csk_section_t *section) {
    if (!csk_work_may_begin(queue)) return NULL;
    csk_work_t *work = next_in_order(queue);
    if (is_limited(queue)) {
        work = next_by_limit(queue, work);
        note_passes(queue, work);
    }
    bool barrier = work == NULL;
    if (barrier) work = queue->barrier;
    csk_work_remove(queue, work);
    /* With 4 producers a task costs 90 to 115 ns with this prefetch and those in block.c, and 120 to 170 ns without. */
    if (queue->first != NULL) __builtin_prefetch(queue->first);
    queue->running++;
    bool called = (work->kind & WORK_SYNC) != 0;
    *section = (csk_section_t){ .queue = queue,
                                .arrival = csk_work_arrival(work),
                                .epoch = csk_pool_epoch(),
                                .alone = barrier || (called && queue->width <= 1) };
    if (section->alone) {
        queue->exclusive = 1;
        csk_fetch_or(&queue->state, STATE_EXCLUSIVE, CSK_RELAXED);
    }
    return work;
}

/* For a worker that avoids a look at the inbox, which callers keep changing. Nothing in the inbox comes before the
 * first work of the queue's own priority, except urgent work. NULL: the worker has to look. */
static csk_work_t *take_sorted(csk_workqueue_t *queue, csk_section_t *section) {
    if (!has_sorted(queue) || CSK_UNLIKELY(csk_load(&queue->urgent, CSK_RELAXED) != 0)) return NULL;
    return csk_work_take(queue, section);
}

/* ---- Sections, and what ends with them --------------------------------------------------------------------------- */

/* The drains stand in order, the last to come first: so those that wait for a work are the first of them. */
void csk_work_account(csk_workqueue_t *queue, int64_t arrival, csk_workqueue_wait_t **done) {
    for (csk_workqueue_wait_t **at = &queue->drains; *at != NULL && arrival <= (*at)->arrivals;) {
        csk_workqueue_wait_t *wait = *at;
        if (--wait->remaining == 0) {
            csk_wait_unlink(&queue->drains, NULL, wait);
            wait->next = *done;
            *done = wait;
        } else {
            at = &wait->next;
        }
    }
}

void csk_section_end(csk_section_t *section, csk_workqueue_wait_t **done) {
    csk_workqueue_t *queue = section->queue;
    queue->running--;
    if (section->alone) {
        queue->exclusive = 0;
        csk_fetch_and(&queue->state, ~STATE_EXCLUSIVE, CSK_SEQ_CST);
    }
    if (CSK_UNLIKELY(queue->drains != NULL)) csk_work_account(queue, section->arrival, done);
}

/* The first in the line gets its place. A caller of sync is called by its turn, and once the lock is free its memory
 * may be gone. */
static csk_workqueue_wait_t *give_place(csk_workqueue_t *queue) {
    csk_workqueue_wait_t *room = queue->rooms;
    csk_wait_unlink(&queue->rooms, &queue->last_room, room);
    room->next = NULL;
    csk_work_arrange(queue, room->work);
    return room->work->kind & WORK_SYNC ? NULL : room;
}

csk_workqueue_wait_t *csk_rooms_take(csk_workqueue_t *queue) {
    if (csk_workqueue_is_full(queue)) return NULL; /* the work that left took no room */
    return give_place(queue);
}

csk_work_t *csk_work_next(csk_workqueue_t *queue, csk_section_t *section, bool ends, bool *more,
                          csk_workqueue_wait_t **over) {
    csk_workqueue_wait_t *room = NULL;
    *over = NULL;
    if (ends) csk_section_end(section, over);
    if (CSK_UNLIKELY(queue->rooms != NULL)) csk_work_sort(queue); /* before the works that get room */
    csk_work_t *work = take_sorted(queue, section);
    if (work == NULL) {
        sort_to_take(queue);
        work = csk_work_take(queue, section);
    }
    if (work != NULL && queue->rooms != NULL) room = csk_rooms_take(queue);
    if (CSK_UNLIKELY(room != NULL)) {
        room->next = *over;
        *over = room;
    }
    *more = csk_work_may_begin(queue);
    return work;
}
