/* metrics.h: the calls by which waits and timers reach the counters of csynckernel/metrics.h.
 *
 * An entry of the table is for one kind of object, what it is waited for, and one name; slots.h has the argument for
 * its slot. All that is counted is changed by relaxed read-modify-writes: each number is a sum or a greatest value of
 * its own, and a reader makes the count of a histogram from its buckets. */
#ifndef CSK_INTERNAL_METRICS_H
#define CSK_INTERNAL_METRICS_H

#include "csynckernel/metrics.h"
#include "observe/counting.h"

typedef struct csk_metrics_waits csk_metrics_waits_t;

/* The entry of the object's kind and name. NULL where it has no name; also where the table is full, and then a wait
 * counts as lost. The object must exist, and no internal lock may be held: see csk_observe_find_name. */
csk_metrics_waits_t *csk_metrics_find(const void *object, uint32_t object_kind);
/* The same by the name, of which 127 bytes count, and by what is waited for, where an object can be waited for in
 * several ways (CSK_WAITS_FOR_TURN, ...); 0 elsewhere. An empty name is none. */
csk_metrics_waits_t *csk_metrics_find_named(uint32_t object_kind, uint32_t waits_for, const char *name);
/* A wait is over. `waits` may be NULL. */
void csk_metrics_count(csk_metrics_waits_t *waits, int64_t waited_ns, int status);
/* Both at once, for a wait since then that ends now. */
void csk_metrics_waited(const void *object, uint32_t object_kind, int64_t since_ns, int status);
/* For the work queues of this name, which may be NULL: what was refused and dropped, and how many wait now. It may be
 * called under an internal lock. */
void csk_metrics_add_works(const char *name, const csk_told_works_t *works);

/* One of so many works carries the time, by chance, and counts as so many. Tests change it. */
extern uint32_t csk_metrics_one_in __attribute__((visibility("hidden")));
/* For a work that is about to be queued, by its owner: returns whether it is timed from now on. It carries the time if
 * there was a stamp for that. What is timed is taken back once, by the work's owner then: before it runs, is refused,
 * or after it was taken out. That gives the time at which it was queued, or 0. */
bool csk_metrics_stamp(const char *name, const void *work);
int64_t csk_metrics_take_stamp(const char *name, const void *work);
/* Such a work has waited and run for so long. waited_ns: -1 where it had no stamp; then it counts as having waited as
 * long as the last one that had. */
void csk_metrics_ran(const char *name, int64_t waited_ns, int64_t ran_ns);
/* The function of a timer is called so long after its deadline. */
void csk_metrics_late(int64_t late_ns);

#endif
