/* workqueue_life.c: a queue's life, and its owner's calls: making and ending, handles, suspending, counts. */
#include "queue/workqueue.h"

#include <stdlib.h>
#include <string.h>

#include "base/hooks.h"
#include "base/sizes.h"
#include "thread/name.h"

const char *csk_workqueue_name(const csk_workqueue_t *queue) { return queue != NULL ? queue->name : NULL; }

/* ---- Making and ending ------------------------------------------------------------------------------------------- */

int csk_workqueue_init(csk_workqueue_t *queue, const csk_workqueue_attr_t *attr) {
    static const csk_workqueue_attr_t defaults;
    if (attr == NULL) attr = &defaults;
    if (!CSK_KNOWS_SIZE_OF(attr) || attr->width > CSK_WORKQUEUE_WIDTH_MAX || attr->when_full < CSK_WORKQUEUE_WAIT ||
        attr->when_full > CSK_WORKQUEUE_DROP_OLDEST)
        return EINVAL;
    if (attr->when_full == CSK_WORKQUEUE_DROP_OLDEST && attr->capacity == 0) return EINVAL;
    *queue = (csk_workqueue_t){ .width = attr->width,
                                .capacity = attr->capacity,
                                .when_full = (uint8_t)attr->when_full,
                                .priority = attr->priority,
                                .bypass_limit = attr->bypass_limit,
                                .name = attr->name };
    if (attr->name != NULL && csk_waits_are_told()) queue->state = STATE_METERED;
    return 0;
}

/* The memory is aligned here: aligned_alloc takes 320 bytes for a queue, where malloc takes 272 and is 1.5 to 3 times
 * as fast. */
int csk_workqueue_create(csk_workqueue_t **queue, const csk_workqueue_attr_t *attr) {
    if (attr != NULL && !CSK_KNOWS_SIZE_OF(attr)) return EINVAL; /* before its name is read */
    size_t name_size = attr != NULL && attr->name != NULL ? strnlen(attr->name, CSK_WORKQUEUE_NAME_MAX) + 1 : 0;
    char *memory = malloc(sizeof(csk_workqueue_t) + 64 - _Alignof(max_align_t) + name_size);
    if (memory == NULL) return ENOMEM;
    csk_workqueue_t *made = (csk_workqueue_t *)(memory + (-(uintptr_t)memory & 63));
    int error = csk_workqueue_init(made, attr);
    if (error != 0) {
        free(memory);
        return error;
    }
    if (name_size != 0) {
        char *name = memcpy(made + 1, attr->name, name_size - 1);
        name[name_size - 1] = 0;
        made->name = name;
    }
    made->heap_offset = (uint8_t)(1 + ((char *)made - memory));
    made->handles = 1;
    made->state |= STATE_PIN_ONE;
    *queue = made;
    return 0;
}

/* Called under the lock. Returns true if the queue is listed: then it has a pin, and the caller calls take_off once the
 * lock is free. The pin keeps the queue until then, which its own work may release as soon as it goes on. */
static bool is_no_longer_suspended(csk_workqueue_t *queue) {
    bool listed = (queue->suspended & SUSPENDED_LISTED) != 0;
    queue->suspended &= SUSPENDED_EMPTIED; /* a shutdown goes on to take out works */
    if (listed) csk_workqueue_pin(queue);
    return listed;
}

static void take_off(csk_workqueue_t *queue) {
    csk_tell_callback_is_off(queue);
    csk_workqueue_unpin(queue);
}

int csk_workqueue_destroy(csk_workqueue_t *queue) {
    if (csk_section_inside(queue)) return EDEADLK;
    csk_workqueue_lock(queue);
    csk_work_sort(queue);
    bool busy = queue->waiting != 0 || queue->running != 0 || queue->refusing != 0 || queue->drains != NULL ||
                queue->rooms != NULL;
    bool listed = !busy && is_no_longer_suspended(queue);
    csk_workqueue_unlock_and_look(queue);
    if (listed) take_off(queue);
    if (busy) return EBUSY;
    for (uint32_t looks = 0; csk_load(&queue->state, CSK_ACQUIRE) & STATE_PINS; looks++) csk_platform_await_step(looks);
    csk_name_end(queue);
    return 0;
}

/* A child of fork keeps the handles, and the one pin for all of them as long as there is a handle. So the queue is
 * adapted to the process before the handles change. */
void csk_workqueue_retain(csk_workqueue_t *queue) {
    if (!queue->heap_offset) return;
    csk_workqueue_know_process(queue);
    /* There may be no handle left: the queue's own work may retain it after the release. */
    if (csk_fetch_add(&queue->handles, UINT64_C(1), CSK_RELAXED) == 0) csk_workqueue_pin(queue);
}

void csk_workqueue_unretain(csk_workqueue_t *queue) {
    if (!queue->heap_offset) return;
    csk_workqueue_know_process(queue);
    if (csk_fetch_add(&queue->handles, -UINT64_C(1), CSK_ACQ_REL) == 1) csk_workqueue_unpin(queue);
}

/* Called under the lock. `why` is SHUT or RELEASED, so suspension ends for good. Returns what is_no_longer_suspended
 * does. */
static bool end_suspension(csk_workqueue_t *queue, uint64_t why) {
    /* The next instruction, on the same word, orders both before the look at the inbox. */
    csk_fetch_or(&queue->state, why, CSK_RELAXED);
    csk_fetch_and(&queue->state, ~STATE_SUSPENDS, CSK_SEQ_CST);
    bool listed = is_no_longer_suspended(queue);
    csk_work_sort(queue);
    return listed;
}

/* Pins are only about memory. Work that waits on a queue without a handle has a worker, or a section that will end. */
void csk_workqueue_release(csk_workqueue_t *queue) {
    csk_workqueue_lock(queue);
    bool listed = end_suspension(queue, STATE_RELEASED);
    csk_workqueue_unlock_and_look(queue);
    if (listed) take_off(queue);
    csk_workqueue_unretain(queue);
}

/* ---- Suspending, ending ------------------------------------------------------------------------------------------ */

static bool is_ending(const csk_workqueue_t *queue) {
    return (csk_load(&queue->state, CSK_RELAXED) & (STATE_SHUT | STATE_RELEASED)) != 0;
}

int csk_workqueue_suspend(csk_workqueue_t *queue) {
    csk_workqueue_lock(queue);
    bool ends = is_ending(queue), most = (csk_load(&queue->state, CSK_RELAXED) & STATE_SUSPENDS) == STATE_SUSPENDS;
    if (!most && !ends) csk_fetch_add(&queue->state, STATE_SUSPEND_ONE, CSK_RELAXED);
    if (!ends) csk_workqueue_note_suspension(queue);
    csk_workqueue_unlock(queue);
    return most ? EAGAIN : 0;
}

int csk_workqueue_resume(csk_workqueue_t *queue) {
    csk_workqueue_lock(queue);
    bool ends = is_ending(queue), suspended = (csk_load(&queue->state, CSK_RELAXED) & STATE_SUSPENDS) != 0;
    if (suspended) csk_fetch_add(&queue->state, -STATE_SUSPEND_ONE, CSK_SEQ_CST);
    bool goes_on = (csk_load(&queue->state, CSK_RELAXED) & STATE_SUSPENDS) == 0;
    bool listed = goes_on && is_no_longer_suspended(queue);
    bool is_long = csk_work_sort_piece(queue);
    if (is_long) {
        csk_workqueue_pin(queue); /* the lock is let go, and the queue's own work may release it then */
        csk_work_sort_rest(queue);
    }
    csk_workqueue_unlock_and_look(queue);
    if (listed) take_off(queue);
    if (is_long) csk_workqueue_unpin(queue);
    return suspended || ends ? 0 : EPERM;
}

void csk_workqueue_shutdown(csk_workqueue_t *queue, bool cancel) {
    csk_refusal_t refusal;
    csk_told_works_t refused = { 0 };
    csk_workqueue_lock(queue);
    csk_workqueue_pin(queue); /* as in csk_workqueue_resume */
    csk_fetch_or(&queue->state, STATE_SHUT, CSK_SEQ_CST);
    csk_work_sort(queue); /* the queue may be suspended, and nothing of it begins before it is taken out */
    queue->refuses = 1;
    csk_work_t *first = cancel ? csk_work_remove_all(queue) : NULL;
    if (first != NULL) csk_work_begin_refusal(queue, first, &refusal);
    csk_workqueue_wait_t *rooms = csk_rooms_close(queue);
    for (const csk_workqueue_wait_t *room = rooms; room != NULL; room = room->next) refused.refused++;
    csk_tell_works(queue->name, &refused);
    bool listed = end_suspension(queue, STATE_SHUT);
    csk_workqueue_unlock_and_look(queue);
    if (listed) take_off(queue);
    if (csk_waits_call(rooms) && first != NULL) csk_work_refuse(&refusal);
    csk_workqueue_unpin(queue);
}

uint32_t csk_workqueue_waiting(csk_workqueue_t *queue) {
    csk_workqueue_lock(queue);
    csk_work_sort(queue);
    uint32_t waiting = queue->waiting;
    csk_workqueue_unlock_and_look(queue);
    return waiting;
}

uint32_t csk_workqueue_beyond_bound(csk_workqueue_t *queue) {
    uint32_t waiting = csk_workqueue_waiting(queue);
    return queue->capacity != 0 && waiting > queue->capacity ? waiting - queue->capacity : 0;
}

uint32_t csk_workqueue_running(csk_workqueue_t *queue) {
    csk_workqueue_lock(queue);
    uint32_t running = queue->running;
    csk_workqueue_unlock(queue);
    return running;
}
