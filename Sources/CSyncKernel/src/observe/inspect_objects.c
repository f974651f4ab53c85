/* inspect_objects.c: what a view reads of each kind of object. Each reads under the object's own lock, which is tried,
 * and copies at most CSK_LOOK_NODES waiters under it.
 *
 * More than 400 lines: there is a part for each kind of object, and they share how waiters are added. */
#include "observe/inspect.h"

#include <pthread.h>
#include <string.h>

#include "base/heap_shape.h"
#include "csynckernel/cond.h"
#include "lock/gate_await.h"
#include "lock/gate_queue.h"
#include "lock/sem_queue.h"
#include "queue/pqueue_line.h"
#include "queue/workqueue.h"
#include "readwrite/rwlock_queue.h"
#include "thread/name.h"

static bool try_lock(const csk_look_t *look, uint32_t *lock) {
    return csk_waits_try_lock(look->record, lock, csk_look_until(look));
}

/* ---- Waiters ----------------------------------------------------------------------------------------------------- */

/* Called under the object's lock. The task waits, so it exists, and goes on only after that. */
static void take_wanted_stack(const csk_look_t *look, const csk_waiter_t *waiter) {
    const csk_look_more_t *more = look->more;
    for (uint32_t i = 0; more != NULL && more->context_of != NULL && i < more->wanted_count; i++)
        if (more->wanted[i].waiter == waiter)
            csk_stack_take_suspended(more->wanted[i].stack, more->context_of(waiter->task));
}

/* Called under the object's lock. `ticket`: what orders those of one rank at this kind of object. */
static void add(csk_look_t *look, csk_inspected_object_t *object, const csk_waiter_t *waiter, uint32_t waits_for,
                csk_rank_t rank, int64_t ticket) {
    bool is_thread = waiter->function == NULL;
    csk_inspected_waiter_t *seen = csk_look_waiter(look, object, is_thread ? CSK_WAITER_THREAD : CSK_WAITER_CALLBACK,
                                                   waits_for);
    if (seen == NULL) return;
    seen->rank = rank;
    seen->ticket = ticket;
    if (is_thread) {
        seen->thread = csk_look_thread(waiter->thread);
        return;
    }
    seen->since_ns = waiter->since_ns;
    seen->deadline_ns = waiter->deadline_ns;
    seen->waiter = waiter;
    seen->function = (const void *)(uintptr_t)waiter->function;
    if (!(waiter->has_waited & WAITER_LISTED)) return;
    seen->task = waiter->task;
    if (waiter->task != 0) take_wanted_stack(look, waiter);
}

/* Of these the time stands in the waiter, be it a thread or a callback. */
static void add_timed(csk_look_t *look, csk_inspected_object_t *object, const csk_waiter_t *waiter,
                      uint32_t waits_for) {
    uint32_t before = look->view->waiter_count;
    add(look, object, waiter, waits_for, waiter->node.rank, waiter->node.ticket);
    if (look->view->waiter_count == before) return;
    csk_inspected_waiter_t *seen = &look->view->waiters[before];
    seen->since_ns = waiter->since_ns;
    if (object->kind == CSK_OBJECT_GATE && waiter->function != NULL) seen->lane = waiter->lane;
    if (object->kind == CSK_OBJECT_SEM) seen->permits = waiter->permits;
}

static void add_heap(csk_look_t *look, csk_inspected_object_t *object, const csk_heap_t *heap, uint32_t waits_for) {
    const csk_heap_node_t *node = heap->root;
    for (int nodes = 0; node != NULL; node = csk_heap_walk(node)) {
        if (nodes++ == CSK_LOOK_NODES) {
            object->flags |= CSK_INSPECT_MORE;
            return;
        }
        add_timed(look, object, (const csk_waiter_t *)node, waits_for);
    }
}

/* ---- Gates ------------------------------------------------------------------------------------------------------- */

static void read_holder(csk_gate_t *gate, csk_inspected_holder_t *holder) {
    uint64_t held = csk_gate_holder(gate);
    if (held == 0) return;
    holder->kind = held == CSK_GATE_NOBODY ? CSK_HELD_BY_CALLBACK
                   : held & HELD_ENDED     ? CSK_HELD_BY_ENDED
                                           : CSK_HELD_BY_THREAD;
    if (held != CSK_GATE_NOBODY) holder->thread = csk_look_thread(held & ~HELD_ENDED);
}

/* Both are called under the queue lock. */
static void read_arrivals(csk_look_t *look, csk_inspected_object_t *object, const csk_gate_t *gate) {
    const csk_waiter_t *oldest = csk_gate_oldest(gate), *waiter = oldest;
    int nodes = 0;
    for (; waiter != NULL && nodes < CSK_LOOK_NODES; nodes++) {
        /* One whose grant has not begun stands here still. */
        if (csk_waiter_state(waiter) == WAITER_QUEUED) add_timed(look, object, waiter, CSK_WAITS_TO_ENTER);
        waiter = csk_waiter_of_arrival(waiter->arrival.newer);
        if (waiter == oldest) waiter = NULL;
    }
    if (waiter != NULL) object->flags |= CSK_INSPECT_MORE;
}
static void read_conditions(csk_look_t *look, csk_inspected_object_t *object, const csk_gate_t *gate) {
    const csk_gate_conditions_t *list = csk_gate_conditions(gate);
    const csk_gate_condition_t *at = list != NULL ? list->first : NULL;
    int nodes = 0;
    for (; at != NULL && nodes < CSK_LOOK_NODES; at = at->behind, nodes++) {
        if (at->chosen) continue;
        object->waiting++;
        csk_inspected_waiter_t *seen = csk_look_waiter(
            look, object, at->function == NULL ? CSK_WAITER_THREAD : CSK_WAITER_CALLBACK, CSK_WAITS_FOR_PREDICATE);
        if (seen == NULL) continue;
        seen->rank = at->waiter.node.rank;
        seen->ticket = at->waiter.node.ticket;
        seen->since_ns = at->waiter.since_ns;
        if (at->function == NULL) {
            seen->thread = csk_look_thread(at->waiter.thread);
            continue;
        }
        seen->waiter = at;
        seen->function = (const void *)(uintptr_t)at->function;
    }
    if (at != NULL) object->flags |= CSK_INSPECT_MORE;
}

/* Called under the queue lock. */
static void read_gate_locked(csk_look_t *look, csk_inspected_object_t *object, csk_gate_t *gate) {
    read_holder(gate, &object->holder);
    if (object->holder.kind == CSK_HELD_BY_CALLBACK && csk_gate_pending(gate) != NULL) {
        object->holder.waiter = csk_gate_pending(gate);
        object->holder.lane = csk_gate_pending(gate)->lane;
    }
    if (gate->closed) object->flags |= CSK_INSPECT_CLOSED;
    object->waiting = gate->waiting;
    read_arrivals(look, object, gate);
    read_conditions(look, object, gate);
}

static void read_gate(csk_look_t *look, csk_inspected_object_t *object) {
    csk_gate_t *gate = (csk_gate_t *)(uintptr_t)object->address;
    if (!try_lock(look, &gate->queue_lock)) {
        object->flags |= CSK_INSPECT_BUSY;
        read_holder(gate, &object->holder);
        return;
    }
    read_gate_locked(look, object, gate);
    csk_queue_unlock(&gate->queue_lock);
}

/* ---- Semaphores, priority queues --------------------------------------------------------------------------------- */

static void read_sem(csk_look_t *look, csk_inspected_object_t *object) {
    csk_sem_t *sem = (csk_sem_t *)(uintptr_t)object->address;
    uint64_t state = csk_load(&sem->state, CSK_RELAXED);
    object->count = csk_sem_free_in(state);
    object->most = csk_sem_in_all(state);
    uint64_t holder = csk_sem_holder(sem);
    if (holder & CSK_SEM_HELD_BY_THREAD) {
        object->holder.kind = CSK_HELD_BY_THREAD;
        object->holder.thread.id = (int32_t)(uint32_t)holder;
    } else if (holder != 0) {
        object->holder.kind = CSK_HELD_BY_TASK;
        object->holder.task = holder;
    }
    if (!try_lock(look, &sem->queue_lock)) {
        object->flags |= CSK_INSPECT_BUSY;
        return;
    }
    object->waiting = sem->waiting;
    add_heap(look, object, &sem->waiters, CSK_WAITS_FOR_PERMITS);
    csk_queue_unlock(&sem->queue_lock);
}

/* Called under the mutex. Threads with a promise are on their way. */
static void read_line(csk_look_t *look, csk_inspected_object_t *object, const csk_pqueue_line_t *line,
                      uint32_t waits_for) {
    int64_t ticket = 0;
    const csk_waiter_t *waiter = line->unpromised;
    for (; waiter != NULL && ticket < CSK_LOOK_NODES; waiter = waiter->newer)
        add(look, object, waiter, waits_for, 0, ++ticket);
    if (waiter != NULL) object->flags |= CSK_INSPECT_MORE;
}

static void read_pqueue(csk_look_t *look, csk_inspected_object_t *object) {
    csk_pqueue_t *queue = (csk_pqueue_t *)(uintptr_t)object->address;
    uint32_t tries = 0;
    int64_t until_ns = csk_look_until(look);
    while (pthread_mutex_trylock(&queue->mutex) != 0)
        if (!csk_waits_may_try(look->record, &tries, until_ns)) {
            object->flags |= CSK_INSPECT_BUSY;
            return;
        }
    object->count = (int64_t)queue->count;
    object->most = queue->capacity;
    object->waiting = queue->waiting - queue->poppers.promised - queue->pushers.promised;
    if (queue->closed) object->flags |= CSK_INSPECT_CLOSED;
    read_line(look, object, &queue->poppers, CSK_WAITS_FOR_ITEM);
    read_line(look, object, &queue->pushers, CSK_WAITS_FOR_PLACE);
    pthread_mutex_unlock(&queue->mutex);
}

/* ---- Read-write locks -------------------------------------------------------------------------------------------- */

static void read_readers(const csk_look_t *look, csk_inspected_object_t *object, const csk_rwlock_t *lock,
                         uint64_t counted) {
    enum { SHOWN = 64 };
    int32_t ids[SHOWN], id = 0;
    int found = csk_reads_look(lock, ids, look->more != NULL ? SHOWN : 1, csk_look_until(look));
    if (found > 0) id = ids[0];
    for (int i = 0; look->more != NULL && i < found && i < SHOWN; i++)
        if (ids[i] > 0) csk_look_add_holder(look, (uint32_t)(object - look->view->objects), ids[i]);
    uint64_t readers = found > 0 && (uint64_t)found > counted ? (uint64_t)found : counted;
    object->holder.count = readers < UINT32_MAX ? (uint32_t)readers : UINT32_MAX;
    if (readers != 0) object->holder.kind = CSK_HELD_BY_READERS;
    if (found > 0) object->holder.thread.id = id < 0 ? -id : id;
    if (found == 1 && id < 0) object->holder.kind = CSK_HELD_BY_ENDED;
}

static void read_rwlock_holder(const csk_look_t *look, csk_inspected_object_t *object, csk_rwlock_t *lock) {
    uint64_t state = csk_load(&lock->state, CSK_RELAXED);
    /* A writer that takes the bias away is in the word, and waits for readers that are not. */
    if (!(state & RW_WRITER) || csk_rwlock_revokes(lock)) {
        read_readers(look, object, lock, state & RW_WRITER ? 0 : state / RW_READER);
        return;
    }
    uint64_t holder = csk_rwlock_sole_holder(state);
    object->holder.kind = holder == CSK_GATE_NOBODY ? CSK_HELD_BY_CALLBACK : CSK_HELD_BY_THREAD;
    if (holder != CSK_GATE_NOBODY) object->holder.thread = csk_look_thread(holder);
}

static uint32_t purpose_of(const csk_waiter_t *waiter) {
    return waiter->mode == RW_READ    ? CSK_WAITS_TO_READ
           : waiter->mode == RW_WRITE ? CSK_WAITS_TO_WRITE
                                      : CSK_WAITS_TO_UPGRADE;
}

static void read_rwlock(csk_look_t *look, csk_inspected_object_t *object) {
    csk_rwlock_t *lock = (csk_rwlock_t *)(uintptr_t)object->address;
    read_rwlock_holder(look, object, lock);
    if (!try_lock(look, &lock->queue_lock)) {
        object->flags |= CSK_INSPECT_BUSY;
        return;
    }
    object->waiting = lock->waiting;
    int64_t ticket = 0;
    const csk_waiter_t *waiter = lock->first;
    for (; waiter != NULL && ticket < CSK_LOOK_NODES; waiter = waiter->newer) {
        uint32_t before = look->view->waiter_count;
        add(look, object, waiter, purpose_of(waiter), 0, ++ticket);
        if (look->view->waiter_count != before) look->view->waiters[before].since_ns = waiter->since_ns;
    }
    if (waiter != NULL) object->flags |= CSK_INSPECT_MORE;
    csk_queue_unlock(&lock->queue_lock);
}

/* ---- Work queues ------------------------------------------------------------------------------------------------- */

/* How far the works of a queue were counted: those before `at`, which stands in the inbox as long as nothing has left
 * it. What leaves it gets a number of arrival, but for what is refused. */
typedef struct {
    const csk_work_t *at;
    int64_t arrivals;
} counted_t;

/* These two are called under the queue's lock. A work that is not linked yet ends the count. */
static counted_t begin_count(csk_inspected_object_t *object, csk_workqueue_t *queue) {
    object->count = queue->waiting;
    object->running = queue->running;
    bool any = csk_load(&queue->inbox_last, CSK_RELAXED) != NULL;
    return (counted_t){ any ? csk_load(&queue->inbox_first, CSK_ACQUIRE) : NULL, queue->arrivals };
}
static void count_piece(csk_inspected_object_t *object, counted_t *counted) {
    for (int nodes = 0; counted->at != NULL && nodes < CSK_LOOK_PIECE; nodes++, object->count++)
        counted->at = (const csk_work_t *)csk_load(&counted->at->node.next, CSK_ACQUIRE);
}

/* Called under the queue's lock. Threads are shown by their records. All stand by when they came. */
static void read_waits(csk_look_t *look, csk_inspected_object_t *object, const csk_workqueue_wait_t *wait,
                       uint32_t waits_for) {
    for (int nodes = 0; wait != NULL && nodes < CSK_LOOK_NODES; wait = wait->next, nodes++) {
        if (csk_workqueue_wait_is_of_thread(wait)) continue;
        object->waiting++;
        csk_inspected_waiter_t *seen = csk_look_waiter(look, object, CSK_WAITER_CALLBACK, waits_for);
        if (seen == NULL) continue;
        seen->waiter = wait;
        seen->since_ns = wait->since_ns;
        seen->task = wait->task;
        seen->function = (const void *)(uintptr_t)wait->function;
    }
}

/* Called under the queue's lock. */
static void read_queue_locked(csk_look_t *look, csk_inspected_object_t *object, csk_workqueue_t *queue) {
    if (queue->suspended & SUSPENDED) object->flags |= CSK_INSPECT_SUSPENDED;
    read_waits(look, object, queue->rooms, CSK_WAITS_FOR_ROOM);
    read_waits(look, object, queue->drains, CSK_WAITS_FOR_DRAINED);
}

/* The epoch says that the queue is this process's, although no thread may have had its lock here. Then the lock has no
 * more to say than what the parent left. */
static bool try_lock_of_queue(const csk_look_t *look, csk_workqueue_t *queue, int64_t until_ns) {
    return csk_waits_try_or_take_over(look->record, &queue->lock, until_ns);
}

/* A thread that needs the queue's lock gets it after each piece. */
static void count_rest(const csk_look_t *look, csk_inspected_object_t *object, csk_workqueue_t *queue,
                       counted_t counted, int64_t until_ns) {
    for (int nodes = CSK_LOOK_PIECE; counted.at != NULL && nodes < CSK_LOOK_NODES; nodes += CSK_LOOK_PIECE) {
        if (!try_lock_of_queue(look, queue, until_ns)) break;
        if (queue->arrivals != counted.arrivals || queue->refuses) counted = begin_count(object, queue);
        count_piece(object, &counted);
        csk_workqueue_unlock(queue);
    }
    if (counted.at != NULL) object->flags |= CSK_INSPECT_AT_LEAST;
}

void csk_look_at_workqueue(csk_look_t *look, csk_inspected_object_t *object, int64_t until_ns) {
    csk_workqueue_t *queue = (csk_workqueue_t *)(uintptr_t)object->address;
    object->most = queue->capacity;
    object->width = csk_workqueue_width(queue);
    bool is_ours = csk_load(&queue->epoch, CSK_ACQUIRE) == csk_pool_epoch();
    if (is_ours && (csk_load(&queue->state, CSK_RELAXED) & STATE_SHUT)) object->flags |= CSK_INSPECT_CLOSED;
    if (!is_ours || !try_lock_of_queue(look, queue, until_ns)) {
        object->flags |= CSK_INSPECT_BUSY;
        return;
    }
    read_queue_locked(look, object, queue);
    counted_t counted = begin_count(object, queue);
    count_piece(object, &counted);
    csk_workqueue_unlock(queue);
    count_rest(look, object, queue, counted, until_ns);
}

/* ---- Any object -------------------------------------------------------------------------------------------------- */

typedef struct {
    const csk_look_t *look;
    int64_t until_ns;
    uint32_t tries;
} name_try_t;

static bool may_try_name(void *context) {
    name_try_t *tried = context;
    return csk_waits_may_try(tried->look->record, &tried->tries, tried->until_ns);
}

/* `kind`: CSK_OBJECT_OTHER where the object may be gone. */
static void read_name(const csk_look_t *look, csk_inspected_object_t *object, uint32_t kind) {
    name_try_t tried = { look, csk_look_until(look), 0 };
    csk_name_try_of(object->address, kind, object->name, sizeof object->name, may_try_name, &tried);
}

void csk_look_name_of_address(const csk_look_t *look, csk_inspected_object_t *object) {
    read_name(look, object, CSK_OBJECT_OTHER);
}

void csk_look_at(csk_look_t *look, csk_inspected_object_t *object) {
    switch (object->kind) {
    case CSK_OBJECT_GATE: read_gate(look, object); break;
    case CSK_OBJECT_SEM: read_sem(look, object); break;
    case CSK_OBJECT_RWLOCK: read_rwlock(look, object); break;
    case CSK_OBJECT_PQUEUE: read_pqueue(look, object); break;
    case CSK_OBJECT_WORKQUEUE: csk_look_at_workqueue(look, object, csk_look_until(look)); break;
    default: break;
    }
    read_name(look, object, object->kind);
}

/* The waiter stands in the condition variable as long as it is IDLE, and only then does that exist for sure. */
csk_inspected_object_t *csk_look_at_cond(csk_look_t *look, const csk_wait_t *wait) {
    csk_gate_t *gate = (csk_gate_t *)(uintptr_t)wait->gate;
    bool fresh, locked = try_lock(look, &gate->queue_lock);
    bool signalled = locked && csk_waiter_state(wait->waiter) != WAITER_IDLE;
    csk_inspected_object_t *object = csk_look_object(look, signalled ? (const void *)gate : wait->object,
                                                     signalled ? CSK_OBJECT_GATE : CSK_OBJECT_COND, &fresh);
    if (object != NULL && fresh && !signalled) {
        const csk_cond_t *cond = wait->object;
        object->gate = gate;
        if (!locked) object->flags |= CSK_INSPECT_BUSY;
        else {
            object->waiting = csk_load(&cond->waiting, CSK_RELAXED);
            add_heap(look, object, &cond->waiters, CSK_WAITS_FOR_SIGNAL);
        }
    } else if (object != NULL && fresh) read_gate_locked(look, object, gate);
    if (locked) csk_queue_unlock(&gate->queue_lock);
    if (object != NULL && fresh) read_name(look, object, signalled ? CSK_OBJECT_GATE : CSK_OBJECT_OTHER);
    return object;
}
