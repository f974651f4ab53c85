/* ordering.h: how locks report to the checker of lock order (observe/order.c), which lies above them. It observes the
 * objects that are ordered: each object decides that once, at its first use (docs/design/order.md). */
#ifndef CSK_INTERNAL_ORDERING_H
#define CSK_INTERNAL_ORDERING_H

#include "base/platform.h"

/* None is called under an internal lock. Objects are those of csk_event_t, with their kinds. */
typedef struct csk_ordering {
    /* The calling thread is about to enter, and may wait for that. */
    void (*comes)(const void *object, uint32_t kind);
    /* It has entered, whether it could have waited or not. */
    void (*entered)(const void *object, uint32_t kind);
    /* It leaves what it has perhaps entered. */
    void (*leaves)(const void *object);
    /* A thread is about to wait at an object that is not ordered. */
    void (*uncovered)(const void *object, uint32_t kind);
    /* An object begins at that address. */
    void (*begins)(const void *object);
} csk_ordering_t;

/* NULL until the checker is started for the first time; for good from then on. */
extern const csk_ordering_t *csk_ordering;

static inline const csk_ordering_t *csk_current_ordering(void) { return csk_load(&csk_ordering, CSK_ACQUIRE); }

static inline void csk_ordering_misses(const void *object, uint32_t kind) {
    if (CSK_UNLIKELY(csk_current_ordering() != NULL)) csk_current_ordering()->uncovered(object, kind);
}

#endif
