/* inspect_pool.c: what a view reads of the pool: its workers, and the work queues that it keeps in place, since they
 * are served or wait for a worker.
 *
 * Why such a queue may be read. Each worker that serves a queue has a pin of it, and so has the pool's item of a queue
 * that waits for a worker. Both are known under the pool's lock: a worker that takes an item out of the line stands
 * there at once (`item`), and a worker gives its pin up, or has the queue posted again, only behind its next turn under
 * that lock, in which `item` becomes another (`leave` of csk_pool_frame_t). So a queue that a worker or the line names
 * is there as long as the reader has the pool's lock, and its memory is freed behind that: the unlocking and the
 * worker's locking order the two. The reader pins the queue meanwhile, one at a time, and reads it without the pool's
 * lock. So the pool waits for a walk along its workers and the first of its items, and for no queue.
 *
 * The pool's lock comes before a queue's here, and no thread takes it while it has a queue's. */
#include "observe/inspect.h"

#include <string.h>

#include "base/text.h"
#include "pool/pool_state.h"
#include "queue/workqueue.h"

enum { POSTED_MOST = 64 };

/* Called under the pool's lock, or with a pin. */
static void copy_name(csk_inspected_object_t *object, const csk_workqueue_t *queue) {
    if (queue->name != NULL) csk_copy_text(object->name, sizeof object->name, queue->name);
}

/* Called under the pool's lock. */
static void read_posted(csk_look_t *look, csk_pool_item_t *item) {
    bool fresh, is_queue = item->function == csk_workqueue_serve;
    csk_workqueue_t *queue = csk_workqueue_of(item);
    csk_inspected_object_t *object = csk_look_object(look, is_queue ? (const void *)queue : item,
                                                     is_queue ? CSK_OBJECT_WORKQUEUE : CSK_OBJECT_OTHER, &fresh);
    if (object == NULL) return;
    object->flags |= CSK_INSPECT_POSTED;
    if (item->since_ms != 0)
        object->posted_ns = look->now_ns - (int32_t)(csk_pool_stamp(look->now_ns) - item->since_ms) * INT64_C(1000000);
    if (!is_queue || !fresh) return;
    copy_name(object, queue);
    object->flags |= CSK_INSPECT_BUSY; /* until it has been read */
}

/* Called under the pool's lock. The queue that the worker serves, which is there; NULL: none. */
static csk_workqueue_t *queue_of_worker(const csk_pool_worker_t *worker) {
    if (worker->item == NULL || worker->function != csk_workqueue_serve) return NULL;
    return csk_workqueue_of((csk_pool_item_t *)(uintptr_t)worker->item);
}

/* Called under the pool's lock. */
static void read_worker(csk_look_t *look, const csk_pool_worker_t *worker) {
    csk_inspection_t *view = look->view;
    bool waits = csk_load(&worker->announced, CSK_RELAXED) % 2 != 0;
    view->pool.idle += worker->item == NULL;
    view->pool.waiting += waits;
    if (view->worker_count == view->worker_room) {
        view->workers_left_out++;
        return;
    }
    csk_inspected_worker_t *seen = &view->workers[view->worker_count++];
    *seen = (csk_inspected_worker_t){ .idle = worker->item == NULL, .waits = waits };
    seen->thread.id = worker->look.thread_id;
    seen->queue = queue_of_worker(worker);
    if (seen->queue == NULL) return;
    seen->running_ns = csk_load(&worker->frame->running_ns, CSK_RELAXED);
}

/* Called under the pool's lock. Whether a worker serves the queue of that address, or the queue waits for one. */
static bool is_kept(const void *queue) {
    for (const csk_pool_worker_t *worker = csk_pool.all; worker != NULL; worker = worker->next)
        if (queue_of_worker(worker) == queue) return true;
    for (int level = 0; level < CSK_POOL_LEVELS; level++) {
        csk_pool_item_t *item = csk_pool.levels[level].first;
        for (int seen = 0; item != NULL && seen < POSTED_MOST; item = item->next, seen++)
            if (item->function == csk_workqueue_serve && csk_workqueue_of(item) == queue) return true;
    }
    return false;
}

/* Pins the queue of that address, if the pool keeps it. */
static bool pin_kept(csk_workqueue_t *queue, int64_t until_ns) {
    if (!csk_waits_try_or_take_over(NULL, &csk_pool.lock, until_ns)) return false;
    bool kept = is_kept(queue);
    if (kept) csk_workqueue_pin(queue);
    csk_queue_unlock(&csk_pool.lock);
    return kept;
}

/* Reads the queue, if the pool keeps it. Its memory may go with the pin. */
static void read_kept_queue(csk_look_t *look, csk_inspected_object_t *object) {
    csk_workqueue_t *queue = (csk_workqueue_t *)(uintptr_t)object->address;
    int64_t until_ns = csk_look_until(look);
    if (!pin_kept(queue, until_ns)) return;
    copy_name(object, queue);
    object->flags &= ~(uint32_t)CSK_INSPECT_BUSY;
    csk_look_at_workqueue(look, object, until_ns);
    csk_workqueue_unpin(queue);
}

/* The queue may be gone by now, and its own name was copied while it was there. */
static void name_kept(const csk_look_t *look, csk_inspected_object_t *object) {
    char own[CSK_INSPECT_NAME];
    memcpy(own, object->name, sizeof own);
    csk_look_name_of_address(look, object);
    if (object->name[0] == 0) memcpy(object->name, own, sizeof own);
}

void csk_look_at_pool(csk_look_t *look) {
    csk_inspected_pool_t *pool = &look->view->pool;
    uint32_t first = look->view->object_count;
    pool->busy = !csk_waits_try_or_take_over(NULL, &csk_pool.lock, csk_look_until(look));
    if (pool->busy) return;
    pool->workers = csk_pool.workers;
    pool->wanted = csk_load(&csk_pool.wanted, CSK_RELAXED);
    pool->most = csk_pool.attr.most;
    pool->queued = csk_pool.queued;
    pool->stalled_ns = csk_pool.stall.since_ns;
    for (const csk_pool_worker_t *worker = csk_pool.all; worker != NULL; worker = worker->next)
        read_worker(look, worker);
    for (int i = 0, seen = 0; i < CSK_POOL_LEVELS; i++) {
        csk_pool_item_t *item = csk_pool.levels[csk_pool_order[i]].first;
        for (; item != NULL && seen < POSTED_MOST; item = item->next, seen++) read_posted(look, item);
    }
    csk_queue_unlock(&csk_pool.lock);
    for (uint32_t i = first; i < look->view->object_count; i++) {
        if (look->view->objects[i].flags & CSK_INSPECT_BUSY) read_kept_queue(look, &look->view->objects[i]);
        name_kept(look, &look->view->objects[i]);
    }
}

void csk_look_at_kept_queues(csk_look_t *look) {
    const csk_inspection_t *view = look->view;
    uint32_t first = view->object_count;
    for (uint32_t i = 0; i < view->worker_count; i++) {
        bool fresh;
        const void *queue = view->workers[i].queue;
        csk_inspected_object_t *object = queue != NULL ? csk_look_object(look, queue, CSK_OBJECT_WORKQUEUE, &fresh)
                                                       : NULL;
        if (object != NULL && fresh) object->flags = CSK_INSPECT_BUSY | CSK_INSPECT_RUNS;
    }
    for (uint32_t i = 0; look->more == NULL && i < view->object_count; i++)
        if (view->objects[i].kind == CSK_OBJECT_WORKQUEUE && (view->objects[i].flags & CSK_INSPECT_BUSY))
            read_kept_queue(look, &view->objects[i]);
    for (uint32_t i = first; i < view->object_count; i++) name_kept(look, &view->objects[i]);
}
