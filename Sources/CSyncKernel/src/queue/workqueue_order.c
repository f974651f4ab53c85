/* workqueue_order.c: what waits in a queue, and in which order it runs. All of it happens under the queue's lock.
 *
 * Work of the queue's own priority stands in a list, in order of arrival. All other work stands in a heap. Of the first
 * of the list and the first of the heap, the one that comes before the other is next; or one that was overtaken too
 * often (workqueue_bypass.c). Where the heap is empty, no work overtakes another. Whatever arrives after a barrier
 * stands in a list of its own until the barrier has run: nothing passes the barrier in either direction.
 *
 * More than 400 lines: all of it is what happens to these lists. */
#include "queue/workqueue.h"

#include "base/metrics.h"
#include "base/raise.h"

CSK_LIST(nodes, csk_heap_node_t, next, previous);
typedef struct {
    csk_heap_node_t **first, **last;
} list_t;

static csk_work_t *next_of(const csk_work_t *work) { return (csk_work_t *)work->node.next; }

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

/* Most works are neither: what takes no room, and what is under the bypass limit. */
enum { WORK_IS_NOTED = WORK_STAYS | WORK_BEYOND | WORK_COUNTED };
static inline void note_arrival(csk_workqueue_t *queue, csk_work_t *work) {
    if (!csk_work_takes_room(work)) queue->beyond++;
    if (work->kind & WORK_COUNTED) csk_work_stand(queue, work);
}
/* Where it does not go for good, it is not forgotten how often it was overtaken. */
static inline void note_departure(csk_workqueue_t *queue, csk_work_t *work, bool goes) {
    if (!csk_work_takes_room(work)) queue->beyond--;
    if (goes && (work->kind & WORK_COUNTED)) csk_work_leave(queue, work);
}

void csk_work_arrange(csk_workqueue_t *queue, csk_work_t *work) {
    int64_t arrival = ++queue->arrivals;
    work->node.ticket = (work->node.rank & 3) == CSK_PLACE_FRONT ? -arrival : arrival;
    queue->waiting++;
    if (CSK_UNLIKELY(work->kind & WORK_IS_NOTED)) note_arrival(queue, work);
    place(queue, work);
}

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
    while (late != NULL && late != work) before = late, late = next_of(late);
    if (late == NULL) return false;
    if (before != NULL) before->node.next = late->node.next;
    else queue->late = next_of(late);
    return true;
}

/* How many wait is known where works have just been put in order, and that is seldom. */
static __attribute__((noinline, cold)) void count_waiting(csk_workqueue_t *queue) {
    if (queue->name != NULL && !(csk_load(&queue->state, CSK_RELAXED) & STATE_METERED))
        csk_fetch_or(&queue->state, STATE_METERED, CSK_RELAXED);
    csk_metrics_add_works(queue->name, &(csk_metrics_works_t){ .waiting = queue->waiting });
}

void csk_work_note_full(csk_workqueue_t *queue) {
    if (csk_is_counting(CSK_COUNTS_METRICS)) count_waiting(queue);
}

/* A look at the inbox moves so many works while it has the lock. In the explorer it moves fewer. */
#ifndef CSK_WORK_PIECE
#define CSK_WORK_PIECE 128
#endif

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
    if (any && csk_is_counting(CSK_COUNTS_METRICS)) count_waiting(queue);
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

void csk_work_sort_to_take(csk_workqueue_t *queue) {
    uint32_t urgent = csk_load(&queue->urgent, CSK_RELAXED);
    /* It is cleared before the inbox is read. */
    if (CSK_UNLIKELY(urgent != 0) && (urgent == URGENT || is_over(queue, (uint8_t)urgent)))
        urgent = csk_exchange(&queue->urgent, 0u, CSK_ACQUIRE);
    if (CSK_UNLIKELY(csk_work_sort_piece(queue))) sort_on_to_take(queue, urgent);
    else if (CSK_UNLIKELY(urgent >= URGENT_UNTIL)) csk_cas(&queue->urgent, &urgent, 0u, CSK_RELAXED);
}

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
    if (is_limited(queue)) next = csk_work_next_by_limit(queue, next);
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
        work = csk_work_next_by_limit(queue, work);
        csk_work_note_passes(queue, work);
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

csk_work_t *csk_work_take_sorted(csk_workqueue_t *queue, csk_section_t *section) {
    if (!has_sorted(queue) || CSK_UNLIKELY(csk_load(&queue->urgent, CSK_RELAXED) != 0)) return NULL;
    return csk_work_take(queue, section);
}

csk_work_t *csk_work_oldest_to_drop(const csk_workqueue_t *queue) {
    if (queue->first != NULL) return (csk_work_t *)queue->first;
    csk_work_t *work = queue->barrier; /* work behind a barrier came after it; without a barrier there is none */
    if (work == NULL || !(work->kind & WORK_STAYS)) return work;
    for (work = (csk_work_t *)queue->later_first; work != NULL && (work->kind & WORK_STAYS); work = next_of(work)) {}
    return work;
}

/* The first in order. Without a barrier nothing stands behind one. */
static csk_work_t *first_of_all(const csk_workqueue_t *queue) {
    csk_work_t *work = next_in_order(queue);
    return work != NULL ? work : queue->barrier;
}

/* Takes out works in order, up to the first that stays, so many at most, and links them to *end. Returns how many. */
static uint32_t remove_piece(csk_workqueue_t *queue, csk_work_t ***end) {
    uint32_t taken = 0;
    for (csk_work_t *work; taken < CSK_WORK_PIECE && (work = first_of_all(queue)) != NULL; taken++) {
        if (work->kind & WORK_STAYS) break;
        csk_work_remove(queue, work);
        work->node.next = NULL;
        **end = work;
        *end = (csk_work_t **)&work->node.next;
    }
    return taken;
}

/* Takes out all at once. */
static csk_work_t *remove_rest(csk_workqueue_t *queue) {
    csk_work_t *lists[2] = { NULL, NULL }, **ends[2] = { &lists[0], &lists[1] };
    for (csk_work_t *work; (work = first_of_all(queue)) != NULL;) {
        int stays = (work->kind & WORK_STAYS) != 0;
        take_out(queue, work, !stays);
        work->node.next = NULL;
        *ends[stays] = work;
        ends[stays] = (csk_work_t **)&work->node.next;
    }
    /* Placed in this order, works of one rank stay in order of arrival, and nothing passes a barrier. */
    for (csk_work_t *work = lists[1], *next; work != NULL; work = next) {
        next = next_of(work);
        queue->waiting++;
        queue->beyond++;
        place(queue, work);
    }
    return lists[0];
}

/* What was taken out counts as waiting until all is: a drain that begins meanwhile waits for it, as one that came
 * before does. Nothing begins meanwhile, or it would pass what came before it and was taken out. */
csk_work_t *csk_work_remove_all(csk_workqueue_t *queue) {
    csk_work_t *first = NULL, **end = &first;
    uint32_t taken = 0;
    for (uint32_t piece; (piece = remove_piece(queue, &end)) == CSK_WORK_PIECE;) {
        taken += piece;
        queue->waiting += piece;
        queue->suspended |= SUSPENDED_EMPTIED;
        csk_workqueue_unlock(queue);
        csk_queue_lock(&queue->lock); /* as in sort_on */
    }
    *end = remove_rest(queue);
    queue->suspended &= (uint8_t)~SUSPENDED_EMPTIED;
    queue->waiting -= taken;
    return first;
}

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

void csk_work_account_for(csk_workqueue_t *queue, const int64_t *arrivals, uint32_t count, int64_t until) {
    for (csk_workqueue_wait_t *wait = queue->drains; wait != NULL; wait = wait->next) {
        if (wait->arrivals > until) continue;
        while (count > 0 && arrivals[count - 1] > wait->arrivals) count--;
        wait->remaining -= count;
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
