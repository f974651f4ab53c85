/* pool.h: worker threads that run short functions, the oldest first.
 *
 * There is one pool in a process. It has as many workers as the process may use processors, and starts them when they
 * are first needed. These are as many as the affinity allows that stood when the library was loaded, and no more than
 * the CPU quota of the process's cgroups, rounded up; at least one. Workers have that affinity, and the scheduling
 * class and the niceness of that time, whatever thread uses the pool first. CSK_EVENT_HELD_BACK is reported where the
 * niceness is not permitted.
 *
 * A worker that waits inside this library says so, and the pool starts another one in its place: at once when none
 * runs, else within some milliseconds. For functions that block elsewhere, a thread of the pool checks when no worker
 * has come for waiting work for 1 ms. It asks the system which of the workers sleep inside their functions, and starts
 * others in their place, at most CSK_POOL_THREADS_MAX in all. Where all of them run, it starts one more every
 * millisecond, up to CSK_POOL_WORKERS_MAX, or as many as there are processors. Without /proc it goes by the threads'
 * processor times. Workers beyond the first ones end after 10 s without work.
 *
 * The worker that went to sleep last is woken first, one wake at a time: it wakes the next if there is more to do. A
 * pool that can't go on and may start no other worker reports that (CSK_EVENT_POOL_STUCK, observe.h).
 *
 * Of the signals, workers take those that a crash inside a function raises, and SIGPROF. They have an alternate signal
 * stack, and the name "csk-worker".
 *
 * Urgent items come before normal ones, and normal items before background ones. But one item in 64 is taken from one
 * of the two lower levels, in turn: while others keep coming, a level gets one item in 128, and one in 64 where the
 * other one is empty.
 *
 * Where a function ends its thread, by pthread_exit, or at a cancellation point after the worker was cancelled, it also
 * ends what it was part of. That is reported (CSK_EVENT_THREAD_ENDED_BY_WORK in observe.h), and another worker takes
 * the thread's place. A C++ exception that escapes from a function ends the program by std::terminate, as with
 * std::thread.
 *
 * No function here may be called from a signal handler.
 *
 * fork. A child may post from the start. It has no workers until it does. What was queued at the fork is not run there,
 * and such items may be posted again. A function that forks may return in the child, where its thread becomes a worker.
 *
 * Example: a log that is flushed on a worker.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *
 *     static csk_gate_t done = CSK_GATE_INITIALIZER;
 *
 *     static void flush_log(csk_pool_item_t *item) {
 *         (void)item;
 *         fflush(stdout);
 *         csk_gate_unlock(&done);
 *     }
 *
 *     int main(void) {
 *         static csk_pool_item_t item;
 *         csk_pool_attr_t attr = { .most = 16, .stack_size = 1 << 18 };
 *         if (csk_pool_configure(&attr) != 0) return 1;
 *
 *         // Held until the function runs.
 *         if (csk_gate_lock(&done, 0) != 0) return 1;
 *         csk_gate_disown(&done);
 *         printf("a line\n");
 *         if (csk_pool_post(&item, flush_log) != 0) return 1;
 *         if (csk_gate_lock(&done, 0) != 0) return 1;
 *         return csk_gate_unlock(&done);
 *     }
 */
#ifndef CSK_POOL_H
#define CSK_POOL_H

#include "base.h"

CSK_BEGIN_DECLS

enum {
    CSK_POOL_WORKERS_MAX = 64,   /* besides workers that block; more where there are more processors */
    CSK_POOL_THREADS_MAX = 2048, /* all workers, with those that block */
    CSK_POOL_STACK_MIN = 65536,
    CSK_POOL_STACK_MAX = 1 << 30
};

/* A member that is 0 stands for its default. */
typedef struct csk_pool_attr {
    size_t size;                  /* see base.h */
    uint32_t least;               /* workers that are started without a need for more, and stay; by default as many as
                                     processors */
    uint32_t most;                /* the most workers there may be, with those that block; by default, and at most,
                                     CSK_POOL_THREADS_MAX */
    size_t stack_size;            /* the stack of each worker, in bytes, from CSK_POOL_STACK_MIN to CSK_POOL_STACK_MAX;
                                     by default the system's */
    void (*start)(void *context); /* called on each worker before its first item; it may use this library, and block */
    void *context;
} csk_pool_attr_t;

/* Sets up the pool before anything uses it: before the first work, csk_workqueue_sync, delayed work or enqueued write
 * of the process. Until then each call replaces all that the one before has said, and the last one counts. `attr` is
 * copied. Never blocks. Returns 0; EINVAL: `attr` is NULL, more than CSK_POOL_THREADS_MAX are asked for, `least` is
 * above `most`, or the stack is outside of its bounds; EBUSY: the pool has been used already, here or before the fork
 * that led here. After an error the pool is as it was. What the system has no memory for shows when the first worker is
 * started. */
CSK_API CSK_MUST_USE int csk_pool_configure(const csk_pool_attr_t *attr);

/* The level of an item says what comes first when several items wait. */
enum { CSK_POOL_NORMAL = 0, CSK_POOL_URGENT = 1, CSK_POOL_BACKGROUND = 2, CSK_POOL_LEVELS = 3 };

/* An item is a part of whatever is to be worked on. The caller keeps it in place until its function is called. It is
 * ILLEGAL to post it again before that, which nothing detects. */
typedef struct csk_pool_item csk_pool_item_t;
typedef void (*csk_pool_function_t)(csk_pool_item_t *item);
struct csk_pool_item {
    csk_pool_item_t *next;
    csk_pool_function_t function;
    uint32_t level;    /* CSK_POOL_NORMAL, ...; the caller sets it before each post, or zero-fills the item once */
    uint32_t since_ms; /* belongs to the pool */
};

/* Queues `item` at its level. `function` is called once with it, on a worker; then the item may be freed, or posted
 * again. Never blocks; may start a worker. O(1). Returns 0; EINVAL (no function, or a level that isn't named above);
 * EAGAIN or ENOMEM when no worker runs and none can be started. */
CSK_API CSK_MUST_USE int csk_pool_post(csk_pool_item_t *item, csk_pool_function_t function);

/* How many workers there are, and how many items wait, at some instant during the call, for statistics and tests. */
CSK_API uint32_t csk_pool_workers(void);
CSK_API uint64_t csk_pool_queued(void);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_pool_attr_t) == 40, "csk_pool_attr_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_pool_item_t) == 24, "csk_pool_item_t is part of the ABI");

#endif
