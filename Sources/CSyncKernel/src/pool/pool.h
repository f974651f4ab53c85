/* pool.h: what other modules ask of the pool. */
#ifndef CSK_INTERNAL_POOL_H
#define CSK_INTERNAL_POOL_H

#include <string.h>

#include "csynckernel/pool.h"
#include "thread/fork.h"
#include "wait/spin_park.h"

/* Makes sure that at least one worker runs or can be had. After it has returned 0, csk_pool_post does not fail any
 * more. */
int csk_pool_prepare(void);

/* The level of work of that priority. */
static inline uint32_t csk_pool_level(int32_t priority) {
    return priority >= 1024 ? CSK_POOL_URGENT : priority <= -1024 ? CSK_POOL_BACKGROUND : CSK_POOL_NORMAL;
}

/* Read before each work that is queued. */
extern struct csk_pool_process {
    uint32_t ready; /* the process's epoch once there is a worker that stays; 0 before */
} csk_pool_process __attribute__((visibility("hidden")));

/* Returns the object that an item belongs to, and its name if it has one. Set by work queues; used for reports. */
extern const void *(*csk_pool_describe)(csk_pool_item_t *item, const char **name) __attribute__((visibility("hidden")));

/* A function of a work queue that runs on this thread, and the one around it. */
typedef struct csk_section {
    struct csk_workqueue *queue;
    struct csk_section *outer;
    int64_t arrival;
    uint32_t epoch; /* of the process in which it began; in a child forked inside it the queue knows nothing of it */
    bool alone;     /* nothing else begins before it has ended */
    bool refuses;   /* it is a csk_refusal_t's */
} csk_section_t;

enum { CSK_POOL_NAME_SIZE = 64 };

/* What a worker is in the middle of. It does not lie on the stack of the function, which is gone when something that
 * the function calls has ended the thread. In that case `abandon` does what the function has left undone, and returns
 * the object that the report names. The item's function sets `abandon`, and it is NULL again once that function has
 * returned. */
typedef struct csk_pool_frame {
    const void *(*abandon)(struct csk_pool_frame *frame);
    /* What the item's function leaves to be done once the pool no longer says that this worker has the item: until then
     * a view may read what the item belongs to (inspect_pool.c). NULL: nothing. It calls no code of users. */
    void (*leave)(void *left);
    void *left;
    csk_section_t section;
    int64_t running_ns;              /* when the work of a queue began, for views; 0: not recorded. Relaxed */
    csk_spin_habit_t lingers;        /* at queues that are empty: queue/workqueue_serve.c */
    void (*end_work)(void *context); /* what a work still has to do when its own function has ended */
    void *context;
    char name[CSK_POOL_NAME_SIZE]; /* the object's, if it has one: `abandon` copies it, since the object may go */
} csk_pool_frame_t;

/* The calling worker's frame. */
extern _Thread_local csk_pool_frame_t *csk_pool_frame __attribute__((tls_model("initial-exec")));

static inline uint32_t csk_pool_epoch(void) { return csk_process_epoch(); }
static inline uint32_t csk_pool_ready(void) { return csk_load(&csk_pool_process.ready, CSK_RELAXED); }

/* csk_pool_queued, for a worker between two works. Apart, so that the fuzzer's model of a worker knows where it is. */
uint64_t csk_pool_queued_between(void);

#endif
