/* metrics.h: the calls by which waits and timers reach the counters of csynckernel/metrics.h.
 *
 * An entry of the table is for one kind of object and one name; slots.h has the argument for its slot. All that is
 * counted is changed by relaxed read-modify-writes: each number is a sum or a greatest value of its own, and a reader
 * makes the count of a histogram from its buckets. */
#ifndef CSK_INTERNAL_METRICS_H
#define CSK_INTERNAL_METRICS_H

#include "csynckernel/metrics.h"
#include "base/counting.h"

typedef struct csk_metrics_waits csk_metrics_waits_t;

/* The entry of the object's kind and name. NULL where it has no name; also where the table is full, and then a wait
 * counts as lost. The object must exist, and no internal lock may be held: see csk_observe_find_name. */
csk_metrics_waits_t *csk_metrics_find(const void *object, uint32_t object_kind);
/* A wait is over. `waits` may be NULL. */
void csk_metrics_count(csk_metrics_waits_t *waits, int64_t waited_ns, int status);
/* Both at once, for a wait since then that ends now. */
void csk_metrics_waited(const void *object, uint32_t object_kind, int64_t since_ns, int status);
/* For the work queues of this name, which may be NULL: what was refused and dropped, and how many wait now. It may be
 * called under an internal lock. */
typedef struct csk_metrics_works {
    uint64_t refused, dropped, waiting;
} csk_metrics_works_t;
void csk_metrics_add_works(const char *name, const csk_metrics_works_t *works);
/* The function of a timer is called so long after its deadline. */
void csk_metrics_late(int64_t late_ns);

#endif
