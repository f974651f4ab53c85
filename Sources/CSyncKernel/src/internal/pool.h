/* pool.h: what other modules ask of the pool. */
#ifndef CSK_INTERNAL_POOL_H
#define CSK_INTERNAL_POOL_H

#include "csynckernel/pool.h"
#include "internal/fork.h"

/* Sees to it that at least one worker runs or can be had: after 0, csk_pool_post does not fail any more. */
int csk_pool_prepare(void);

/* The level of work of that priority. */
static inline uint32_t csk_pool_level(int32_t priority) {
    return priority >= 1024 ? CSK_POOL_URGENT : priority <= -1024 ? CSK_POOL_BACKGROUND : CSK_POOL_NORMAL;
}

/* Looked at before each work that is queued. */
extern struct csk_pool_process {
    uint32_t ready; /* the process's epoch once there is a worker that stays; 0 before */
} csk_pool_process __attribute__((visibility("hidden")));

/* Gives the object that an item belongs to, and its name if it has one; set by work queues. For reports. */
extern const void *(*csk_pool_describe)(csk_pool_item_t *item, const char **name) __attribute__((visibility("hidden")));

static inline uint32_t csk_pool_epoch(void) { return csk_process_epoch(); }
static inline uint32_t csk_pool_ready(void) { return csk_load(&csk_pool_process.ready, CSK_RELAXED); }

#endif
