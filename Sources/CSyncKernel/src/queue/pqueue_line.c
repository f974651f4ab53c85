/* pqueue_line.c: the lines of a blocking priority queue. See pqueue_line.h. */
#include "queue/pqueue_line.h"

#include "base/list.h"

CSK_LIST(waiters, csk_waiter_t, newer, older);

csk_pqueue_item_t *csk_pqueue_remove_limited(csk_pqueue_t *queue) {
    csk_arrival_t *overdue = csk_arrivals_overdue(&queue->arrivals);
    csk_pqueue_item_t *item = overdue == NULL
                                  ? (csk_pqueue_item_t *)csk_heap_top(&queue->heap)
                                  : (csk_pqueue_item_t *)((char *)overdue - offsetof(csk_pqueue_item_t, arrival));
    csk_heap_remove(&queue->heap, &item->node);
    csk_arrivals_remove(&queue->arrivals, &item->arrival, true);
    return item;
}

static pthread_cond_t *condition_of(csk_waiter_t *waiter) { return &((csk_pqueue_thread_t *)waiter)->condition; }

void csk_pqueue_stand(csk_pqueue_t *queue, csk_pqueue_line_t *line, csk_waiter_t *waiter) {
    waiters_put_last(&line->first, &line->last, waiter);
    if (line->unpromised == NULL) line->unpromised = waiter;
    queue->waiting++;
}

void csk_pqueue_leave(csk_pqueue_t *queue, csk_pqueue_line_t *line, csk_waiter_t *waiter) {
    if (csk_pqueue_is_promised(waiter)) line->promised--;
    else if (line->unpromised == waiter) line->unpromised = waiter->newer;
    waiters_take_out(&line->first, &line->last, waiter);
    queue->waiting--;
}

void csk_pqueue_end(csk_pqueue_t *queue, csk_waiter_t *waiter, int status, csk_effects_t *effects) {
    csk_pqueue_leave(queue, csk_pqueue_line_of(queue, waiter), waiter);
    csk_waiter_set(waiter, WAITER_IDLE);
    csk_waiter_finish(waiter, status, effects);
}

/* Gives the first waiter without a promise what it waits for, if there is one, and a unit for it. */
static bool serve_first(csk_pqueue_t *queue, csk_pqueue_line_t *line, uint64_t supply, csk_effects_t *effects) {
    csk_waiter_t *waiter = line->unpromised;
    if (waiter == NULL || line->promised >= supply) return false;
    if (waiter->function == NULL) {
        line->unpromised = waiter->newer;
        line->promised++;
        csk_store(&waiter->word, (uint32_t)WORD_GRANTED, CSK_RELAXED);
        pthread_cond_signal(condition_of(waiter));
        return true;
    }
    csk_pqueue_end(queue, waiter, 0, effects);
    if (line == &queue->poppers) waiter->item = csk_pqueue_remove_first(queue);
    else csk_pqueue_insert(queue, waiter->item);
    return true;
}

void csk_pqueue_serve(csk_pqueue_t *queue, csk_effects_t *effects) {
    while (serve_first(queue, &queue->poppers, queue->count, effects) ||
           serve_first(queue, &queue->pushers, csk_pqueue_places(queue), effects)) {}
}

void csk_pqueue_revoke(csk_pqueue_line_t *line) {
    for (csk_waiter_t *waiter = line->first; waiter != line->unpromised; waiter = waiter->newer)
        csk_store(&waiter->word, (uint32_t)WORD_WAITING, CSK_RELAXED);
    line->unpromised = line->first;
    line->promised = 0;
}

/* Threads find out by themselves that the queue is closed. */
void csk_pqueue_tell_closed(csk_pqueue_t *queue, csk_pqueue_line_t *line, csk_effects_t *effects) {
    for (csk_waiter_t *waiter = line->first, *next; waiter != NULL; waiter = next) {
        next = waiter->newer;
        if (waiter->function == NULL) pthread_cond_signal(condition_of(waiter));
        else csk_pqueue_end(queue, waiter, ESHUTDOWN, effects);
    }
}
