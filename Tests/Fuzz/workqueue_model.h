/* workqueue_model.h: what two work queues must do, call by call, in plain C: arrays of what was accepted, searched each
 * time.
 *
 * Entries are whatever may stand in a queue: works, delayed works, and callers that wait for their turn. Waits are
 * drains, and works that wait for room, without a thread. Each thread has a stack of what it is in the middle of:
 * workers that serve, functions, calls. A worker takes the next work as soon as one has ended, so waits are told when
 * the next one is taken already. */
#ifndef CSK_WORKQUEUE_MODEL_H
#define CSK_WORKQUEUE_MODEL_H

#include "fuzz.h"

enum { QUEUES = 2, WORKS = 8, DELAYED = 3, SYNCS = 6, ENTRIES = WORKS + DELAYED + SYNCS, WAITS = 4 };
enum { FIRST_DELAYED = WORKS, FIRST_SYNC = WORKS + DELAYED };
enum { MODEL_WAITS = -1 }; /* else a status */
/* How work comes to a full or shut queue: over the bound when full; in any case. */
enum { BY_THE_BOUND, BEYOND_THE_BOUND, ALWAYS_IN };

void model_begin(void);
/* A queue in place of the one that is gone. */
void model_make(int queue, const csk_workqueue_attr_t *attr, bool on_heap, const csk_pool_item_t *item);
bool model_exists(int queue); /* and may be called, by its owner or who retains it */
bool model_is_owned(int queue);
bool model_is_gone(int queue); /* it was released, and nobody uses it any more */
bool model_is_on_heap(int queue);
csk_rank_t model_rank(int queue);
uint32_t model_level(int queue);
bool model_is_idle(int entry);
int model_queue_of(int entry); /* the last that it was in */
uint32_t model_waiting(int queue);
uint32_t model_running(int queue);
uint32_t model_beyond_bound(int queue);
bool model_is_current(int queue);
bool model_is_suspended(int queue);
/* Something may begin, and nobody who is there will look. */
bool model_needs_worker(int queue);
/* Whether the calling thread may be left waiting for others without stopping what they need. */
bool model_may_block(void);
/* Whether the calling thread may stop for a while: not inside a wait's function, since its worker may have taken a
 * caller, who is told after that. */
bool model_may_pause(void);
/* Calls that end the queue, which must not be made where they are illegal or would wait. */
bool model_may_destroy(int queue);
bool model_may_release(int queue);
int model_destroy(int queue);
void model_release(int queue);
void model_retain(int queue);
bool model_may_unretain(int queue);
void model_unretain(int queue);

/* How a work is queued next: with a place by which the bypass limit counts it. */
void model_has_place(int work, bool has_place);
/* Each before the call; where it may wait, what it gave is known after it. `waits`: it may. */
int model_enqueue(int entry, int queue, csk_rank_t rank, bool barrier, int how, bool waits);
int model_room_ended(int status, int64_t deadline_ns);
/* The same without a thread: EINPROGRESS. */
int model_enqueue_when_room(int wait, int entry, int queue, csk_rank_t rank, bool barrier);
int model_room_cancel(int wait, int queue);
int model_cancel(int entry, int queue);
void model_suspend(int queue);
int model_resume(int queue);
void model_shutdown(int queue, bool cancel);
int model_sync(int entry, int queue, csk_rank_t rank, bool barrier, bool always, int64_t deadline_ns);
bool model_sync_is_at_once(int queue, csk_rank_t rank, bool barrier, bool always);
int model_sync_ended(int status);
int model_drain(int queue);
int model_drain_ended(int status, int64_t deadline_ns);
void model_drain_async(int wait, int queue);
bool model_is_wait_idle(int wait);
int model_drain_cancel(int wait, int queue);
bool model_is_drain(int wait);
int model_queue_of_wait(int wait); /* the last that it was given to */
int model_delayed_start(int delayed, int queue, csk_rank_t rank, int64_t deadline_ns, int64_t period_ns);
int model_delayed_cancel(int delayed);
int model_delayed_cancel_ended(int delayed);

/* A worker came for the queue, found nothing more to do and watches for more, was asked whether it has other work,
 * left. */
void model_worker_comes(int queue);
void model_worker_asks_between(void);
void model_worker_lingers(void);
void model_worker_left(void);

/* A function is called on this thread with that status; it returns. */
void model_called(int entry, int status);
void model_returned(void);
void model_wait_called(int wait, int status);
void model_wait_returned(void);

/* No function is due any more, but on a thread that pauses. */
void model_expect_none_due(void);
/* The timer thread has done all that was due. */
void model_timers_ran(void);
/* Nothing is left. */
bool model_is_quiet(void);

#endif
