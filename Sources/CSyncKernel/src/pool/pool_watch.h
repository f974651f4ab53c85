/* pool_watch.h: what the pool's supervisor asks the system about workers, and what it reports. Called by the supervisor
 * alone. */
#ifndef CSK_INTERNAL_POOL_WATCH_H
#define CSK_INTERNAL_POOL_WATCH_H

#include "base/platform.h"
#include "pool/pool.h"

/* A worker, and what its clock showed. */
typedef struct {
    int32_t thread_id;
    uint32_t waits;        /* of its waits inside the library: the one that the last look found; odd */
    int64_t time_ns;       /* its processor time */
    int64_t others_ns;     /* that of all other threads when it was first seen to stand still */
    int64_t still_since_ns;
} csk_pool_look_t;

/* How many of them run, counted up to `most`. `by_clocks` is set where the system does not show the state of all: then
 * the looks have changed. */
uint32_t csk_pool_count_running(csk_pool_look_t *looks, uint32_t count, uint32_t most, uint32_t processors,
                                bool throttled, bool *by_clocks);

enum { CSK_POOL_REPORTED = 4 };

/* No work is taken and no worker can be added: since when, when that is reported next, and for whom. */
typedef struct {
    int64_t since_ns, report_ns, span_ns;
    uint32_t count;
    struct {
        const void *object;
        int64_t since_ns;
        char name[CSK_POOL_NAME_SIZE];
    } waiting[CSK_POOL_REPORTED];
} csk_pool_stall_t;

/* Under the pool's lock. Whether it is time for a report. */
bool csk_pool_stall_lasts(csk_pool_stall_t *stall, int64_t now_ns);
/* Unless the item itself has waited for less than a second. */
void csk_pool_stall_add(csk_pool_stall_t *stall, csk_pool_item_t *item, int64_t now_ns);
/* Not under it. */
void csk_pool_report(const csk_pool_stall_t *stall);

/* Milliseconds as an item keeps them, rounded up, so that nothing counts as older than it is; never 0. */
static inline uint32_t csk_pool_stamp(int64_t now_ns) {
    uint32_t stamp = (uint32_t)((now_ns + 999999) / 1000000);
    return stamp != 0 ? stamp : 1;
}

#endif
