/* pool_watch.h: what the pool's supervisor asks the system about workers, and what it reports. Only the supervisor
 * calls these functions. */
#ifndef CSK_INTERNAL_POOL_WATCH_H
#define CSK_INTERNAL_POOL_WATCH_H

#include "base/platform.h"
#include "pool/pool.h"

/* A worker, and what its clock showed. */
typedef struct {
    int32_t thread_id;
    uint32_t waits;    /* the wait inside the library in which the last look found it; odd */
    int64_t time_ns;   /* its processor time */
    int64_t others_ns; /* the processor time of all other threads when this one was first seen to stand still */
    int64_t still_since_ns;
} csk_pool_look_t;

/* How many of the workers run, counted up to `most`. `by_clocks` is set where the system does not show the state of
 * all. In that case the looks have changed. */
uint32_t csk_pool_count_running(csk_pool_look_t *looks, uint32_t count, uint32_t most, uint32_t processors,
                                bool throttled, bool *by_clocks);

enum { CSK_POOL_REPORTED = 4 };

/* A stall: no work is taken and no worker can be added. Says since when, when that is reported next, and for whom. */
typedef struct {
    int64_t since_ns, report_ns, span_ns;
    uint32_t count;
    struct {
        const void *object;
        int64_t since_ns;
        char name[CSK_POOL_NAME_SIZE];
    } waiting[CSK_POOL_REPORTED];
} csk_pool_stall_t;

/* Called under the pool's lock. Whether it is time for a report. */
bool csk_pool_stall_lasts(csk_pool_stall_t *stall, int64_t now_ns);
/* Called under the pool's lock. Adds the item to the report, unless it has waited for less than a second itself. */
void csk_pool_stall_add(csk_pool_stall_t *stall, csk_pool_item_t *item, int64_t now_ns);
/* Called without the lock. */
void csk_pool_report(const csk_pool_stall_t *stall);

/* Milliseconds as an item keeps them, rounded up, so that nothing counts as older than it is; never 0. */
static inline uint32_t csk_pool_stamp(int64_t now_ns) {
    uint32_t stamp = (uint32_t)((now_ns + 999999) / 1000000);
    return stamp != 0 ? stamp : 1;
}

#endif
