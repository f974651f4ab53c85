/* task.h: for runtimes with tasks that suspend. Such a runtime has queues and pools of its own, at which its tasks
 * wait, and its tasks have names. By this header it says so, and views (inspect.h), metrics and the contention profile
 * show these waits beside those at the kernel's objects.
 *
 * A wait is reported while the task is suspended, and only while callbacks are listed or waits are counted. Its memory
 * is the runtime's. In the same way the runtime may report the holder of such an object (`has_object`).
 *
 * A view keeps the lock of a list while it copies up to 4096 records. A thread that begins, passes or ends a wait there
 * blocks for that long.
 *
 * No function here may be called from a signal handler. A child of fork shows none of the parent's waits; later waits
 * are reported anew.
 *
 * Example: a task waits for its turn at a queue.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *
 *     static int print(void *stream, const void *bytes, size_t size) {
 *         return fwrite(bytes, 1, size, stream) == size ? 0 : errno;
 *     }
 *
 *     int main(void) {
 *         static char uploads;
 *         csk_inspect_callbacks(true);
 *         csk_task_wait_t wait = { .task = 1,
 *                                  .task_name = "thumbnails",
 *                                  .object = &uploads,
 *                                  .object_kind = CSK_OBJECT_FIFO_QUEUE,
 *                                  .waits_for = CSK_WAITS_FOR_TURN,
 *                                  .place = { "uploads", 0 },
 *                                  .deadline_ns = CSK_NEVER };
 *         if (csk_task_waits_are_told()) csk_task_wait_begin(&wait);
 *         int status = csk_inspect_print(NULL, CSK_INSPECT_TEXT, print, stdout);
 *         csk_task_wait_end(&wait, 0);
 *         return status;
 *     }
 */
#ifndef CSK_TASK_H
#define CSK_TASK_H

#include "gate.h"
#include "inspect.h"
#include "name.h"

CSK_BEGIN_DECLS

/* A task that waits. What the runtime does not know is 0, or NULL. */
typedef struct csk_task_wait {
    uint64_t task;           /* a number that no other task has as long as this one exists; 0 for work that is none */
    const char *task_name;   /* valid until the wait has ended; shown with spaces for control characters */
    const void *context;     /* where the task goes on, as csk_profile_suspend takes it; used by the begin alone */
    const void *object;      /* for what it waits: only its address is used. NULL: it waits at an object of the kernel,
                                as a callback (csk_deadlock_suspend), and only the task's name is reported */
    uint32_t object_kind;    /* CSK_OBJECT_FIFO_QUEUE, ... of observe.h */
    uint32_t waits_for;      /* CSK_WAITS_FOR_TURN, ... of inspect.h */
    csk_place_t place;       /* the name of the object, or where it was made; valid until the wait has ended. This is
                                shown, whatever csk_name says of the address */
    csk_rank_t rank;         /* where the object has an order by rank */
    int64_t ticket;          /* orders those of one rank; 0: they stand by when they began to wait */
    int64_t deadline_ns;     /* CSK_NEVER: it has none */
    uint32_t is_not_counted; /* it is shown, and no wait for metrics and profile */
    uint32_t has_object; /* it does not wait: it has the object. A view shows it as the holder, and for how long. Not
                                counted either; `waits_for`, `rank`, `ticket` and `deadline_ns` say nothing */
    const void *waiter;  /* shown as the waiter's address */
    /* May be NULL. Says whether the wait has ended, although csk_task_wait_end is yet to be called: then it is not
     * shown. It is called under an internal lock by the thread that takes a view, with `waiter`. It must not wait,
     * allocate, or call this library. */
    bool (*is_over)(const void *waiter);
    /* The library's. */
    struct csk_task_wait *next, *previous;
    int64_t since_ns;
    uint32_t part, mark, counted, stack;
} csk_task_wait_t;

/* Whether waits are reported: callbacks are listed (csk_inspect_callbacks), waits are counted, or an observer is
 * attached. One load. */
CSK_API bool csk_task_waits_are_told(void);
/* The task is about to be suspended. The wait stays where it is until it has ended. It takes a short lock, and
 * allocates nothing. */
CSK_API void csk_task_wait_begin(csk_task_wait_t *wait);
/* The task goes on: 0 where it has what it waited for, ETIMEDOUT, or another status. Each wait that has begun has to
 * end so, once, on any thread, before its task, its object and its memory go. */
CSK_API void csk_task_wait_end(csk_task_wait_t *wait, int status);
/* The object of `last`, which has it, passes to `next`, which waits for it. Both have ended, the wait of `next` with 0,
 * and `next` has the object from now on, until its own end: `has_object` is set. Where both are work that is no task
 * (`task` is 0), no view sees a moment between. `last` may be NULL: it was not reported. */
CSK_API void csk_task_wait_pass(csk_task_wait_t *last, csk_task_wait_t *next);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_task_wait_t) == 144, "csk_task_wait_t is part of the ABI");

#endif
