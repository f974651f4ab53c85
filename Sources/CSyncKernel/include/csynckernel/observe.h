/* observe.h: where counters, histograms and recorders attach. When nothing is attached a waiting path pays one load, and an
 * uncontended one nothing at all. */
#ifndef CSK_OBSERVE_H
#define CSK_OBSERVE_H

#include "base.h"

CSK_BEGIN_DECLS

enum {
    CSK_EVENT_WAIT_BEGIN = 1,  /* a waiter was put into an object's queue */
    CSK_EVENT_WAIT_END = 2,    /* it left: status 0 (granted), ETIMEDOUT or ECANCELED; waited_ns says after how long */
    CSK_EVENT_GRANT_LOST = 3   /* a grant that had not begun in time was taken back while others waited */
};

typedef struct csk_event {
    uint32_t kind;
    int32_t status;
    const void *object;  /* the gate; only its address may be used */
    csk_rank_t rank;
    int64_t waited_ns;
} csk_event_t;

typedef struct csk_observer {
    /* Called on the thread where it happened, with no lock held; must not use the object that it reports. */
    void (*event)(const struct csk_observer *observer, const csk_event_t *event);
    void *context;
} csk_observer_t;

/* Attaches an observer, which must stay valid for the rest of the process (calls may be under way), or detaches with NULL.
 * Returns the one attached before. Never blocks. */
CSK_API const csk_observer_t *csk_observe(const csk_observer_t *observer);

CSK_END_DECLS

#endif
