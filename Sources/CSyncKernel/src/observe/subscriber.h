/* subscriber.h: what the layer `observe` hears of waits and works: base/hooks.h has which function is called when, on
 * which thread, and under which lock. */
#ifndef CSK_INTERNAL_SUBSCRIBER_H
#define CSK_INTERNAL_SUBSCRIBER_H

#include "base/hooks.h"
#include "base/report.h"

/* Attaches the table of all subscribers, for good. Called by each before it counts itself in (csk_tell_program). */
void csk_subscribe(void);

/* The observer: observer.c. */
bool csk_is_observed(void);
void csk_observer_hears(uint32_t kind, uint32_t object_kind, const void *object, csk_rank_t rank, int64_t since_ns,
                        int status);
/* The same for an object that may be gone, and whose name the caller has copied. `name` may be NULL. */
void csk_observer_hears_named(uint32_t kind, uint32_t object_kind, const void *object, const char *name,
                              csk_rank_t rank, int64_t since_ns, int status);
void csk_observer_hears_report(const csk_event_t *event);

/* Waits of threads: wait_thread.c. */
int csk_subscribed_wait(csk_wait_t *wait, csk_await_t await);
int64_t csk_subscribed_came(int64_t now_ns);
void csk_subscribed_entered(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns, bool looked);
void csk_subscribed_called(const csk_called_t *called);

/* Waits without a thread, and who is let in: wait_callback.c. */
uint32_t csk_subscribed_callback(csk_waiter_t *waiter, uint32_t object_kind, bool again);
void csk_subscribed_callback_end(csk_waiter_t *waiter, const void *object, int status);
void csk_subscribed_grants(struct csk_effects *effects, void (*perform)(struct csk_effects *effects));
void csk_subscribed_queue_wait(const void *queue, struct csk_workqueue_wait *wait, uint32_t waits_for);
void csk_subscribed_queue_wait_end(const struct csk_workqueue_wait *wait, int status);

#endif
