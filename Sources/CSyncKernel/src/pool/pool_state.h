/* pool_state.h: what pool.c (the queue and its workers) and pool_growth.c (the supervisor) share. The first uses the
 * second: a thread that posts starts a worker or calls the supervisor. What a worker does is registered. */
#ifndef CSK_INTERNAL_POOL_STATE_H
#define CSK_INTERNAL_POOL_STATE_H

#include "pool/pool.h"
#include "pool/pool_watch.h"
#include "wait/service.h"

enum { CSK_POOL_CALLED = CSK_WORD_ANSWER }; /* csk_pool_worker_t.word */

typedef struct csk_pool_worker {
    struct csk_pool_worker *next_idle;
    struct csk_pool_worker *next, *previous; /* in `all`, the youngest first */
    csk_pool_look_t look;
    const csk_pool_frame_t *frame; /* on its stack too */
    uint32_t epoch;                /* of the process in which it is one of the workers */
    bool joined;                   /* it stands in `all`; before that it is only counted */
    uint32_t announced;            /* odd: it waits inside the library */
    uint32_t word;                 /* see wait/spin_park.h: the one answer says to look */
    /* Under the lock: what it runs, or ran last; NULL: nothing. The item of a work queue is there, see
     * inspect_pool.c; others may be gone. */
    const csk_pool_item_t *item;
    csk_pool_function_t function;
    csk_spin_habit_t spins;
} csk_pool_worker_t;

typedef struct {
    csk_pool_item_t *first, *last;
} csk_pool_queue_t;

/* The order in which levels are served. */
static const uint8_t csk_pool_order[CSK_POOL_LEVELS] = { CSK_POOL_URGENT, CSK_POOL_NORMAL, CSK_POOL_BACKGROUND };

typedef struct csk_pool_state {
    uint32_t lock;
    uint32_t workers, wanted; /* `wanted`: as many as there are processors */
    bool throttled;           /* all threads may stand still at once: see pool_watch.c */
    uint32_t most;            /* the limit for workers that don't sleep inside their functions */
    csk_pool_attr_t attr;     /* its `most`: the limit that includes those that sleep */
    int64_t idle_ns;          /* how long a worker beyond `wanted` sleeps before it ends */
    int64_t resigned_ns;      /* how long the clock pauses when no other worker could be started */
    csk_pool_queue_t levels[CSK_POOL_LEVELS];
    uint64_t queued, taken;
    csk_pool_worker_t *all, *idle;
    bool waking;            /* a worker was designated, and has not looked yet */
    bool watching;          /* the supervisor looks again after stalled_ns */
    uint64_t taken_before;  /* `taken` at its last look, or when the watch began */
    int64_t look_ns;        /* when it looks next; CSK_NEVER: not before a watch begins */
    csk_pool_stall_t stall; /* what is reported when nothing can be done */
    uint32_t signal;        /* the supervisor's park word */
    csk_service_t supervisor;
    csk_service_t first;         /* the first worker */
    void (*work)(void *context); /* what a worker does, in the process of the epoch `context` */
} csk_pool_state_t;
extern csk_pool_state_t csk_pool __attribute__((visibility("hidden")));

extern _Thread_local bool csk_pool_is_supervisor __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Called under the lock. Others read the count without it. */
static inline void csk_pool_count_workers(uint32_t change) {
    csk_store(&csk_pool.workers, csk_pool.workers + change, CSK_RELAXED);
}

/* Called under the lock, when there is work and no worker to call, or a designated one may be late. Whether to call the
 * supervisor. */
static inline bool csk_pool_begin_watch(void) {
    if (csk_pool.watching) return false;
    csk_pool.watching = true;
    csk_pool.taken_before = csk_pool.taken;
    return true;
}

/* Called under the lock, for a worker that is designated, or NULL: the one that went to sleep last. Without the lock
 * the caller wakes the worker. */
static inline csk_pool_worker_t *csk_pool_take_idle(void) {
    csk_pool_worker_t *worker = csk_pool.idle;
    if (worker == NULL) return NULL;
    csk_pool.idle = worker->next_idle;
    csk_pool.waking = true;
    return worker;
}

/* The worker may have looked, worked and ended before the wake. Then only the address of its word is used. */
static inline void csk_pool_wake(csk_pool_worker_t *worker) { csk_word_answer(&worker->word, CSK_POOL_CALLED); }

/* ---- pool_growth.c ---- */

/* The caller has counted the worker. */
int csk_pool_start_worker(void);
/* A child of fork has no supervisor; one is started for its first watch. */
int csk_pool_start_supervisor(void);
/* Called after csk_pool_begin_watch, without the lock. */
void csk_pool_call_supervisor(void);

#endif
