/* timer.h: one-shot timers on one thread of the library's own, at 1 ns timer slack, ordered by a heap of deadlines.
 *
 * The caller owns the timer's memory and keeps it in place while the timer is started. Functions run on the timer
 * thread, one after the other, with no lock held. They must be short, and may start and cancel timers. Zero-filled
 * memory is a stopped timer.
 *
 * Timers of one deadline fire in the order in which they were started.
 *
 * No function here may be called from a signal handler.
 *
 * fork. In the child no timer of the parent is started. Each may be started there, and fires there. A function that
 * forks goes on in the child on what is the child's timer thread. Until it returns no other function runs there, and a
 * cancel of its timer waits for it. A child that has more to do than exec or _exit therefore does that elsewhere.
 *
 * Example: a function that is called 5 ms later, and one that is not called at all.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *
 *     static csk_gate_t done = CSK_GATE_INITIALIZER;
 *
 *     static void ring(csk_timer_t *timer, void *context) {
 *         (void)timer;
 *         printf("%s\n", (const char *)context);
 *         csk_gate_unlock(&done);
 *     }
 *
 *     int main(void) {
 *         static csk_timer_t soon, never;
 *         static char text[] = "5 ms have passed";
 *         // Held until the function runs.
 *         if (csk_gate_lock(&done, 0) != 0) return 1;
 *         csk_gate_disown(&done);
 *
 *         int64_t deadline = csk_deadline_after(csk_ms(5));
 *         if (csk_timer_start(&soon, deadline, ring, text) != 0) return 1;
 *         if (csk_timer_start(&never, CSK_NEVER, ring, NULL) != 0) return 1;
 *         if (csk_gate_lock(&done, 0) != 0) return 1;
 *         csk_gate_unlock(&done);
 *         return csk_now() < deadline || csk_timer_cancel(&never) != 0;
 *     }
 */
#ifndef CSK_TIMER_H
#define CSK_TIMER_H

#include "heap.h"

CSK_BEGIN_DECLS

typedef struct csk_timer csk_timer_t;
typedef void (*csk_timer_function_t)(csk_timer_t *timer, void *context);

/* The fields belong to the library. */
struct csk_timer {
    csk_heap_node_t node;
    csk_timer_function_t function;
    void *context;
    uint64_t epoch; /* the epoch of the process that started it; 0 when the timer is stopped */
};

/* Makes sure that the timer thread runs, so that no later start can fail for want of a thread. Returns 0, EAGAIN or
 * ENOMEM. It may allocate, and waits while another thread starts the timer thread. */
CSK_API CSK_MUST_USE int csk_timer_prepare(void);

/* Has function(timer, context) called at `deadline_ns`, and never early. Returns 0; EINVAL without a function; EBUSY
 * when the timer is started already; EAGAIN or ENOMEM when the thread can't be created. O(log n). After
 * csk_timer_prepare it fails only with EINVAL or EBUSY, and does not allocate. */
CSK_API CSK_MUST_USE int csk_timer_start(csk_timer_t *timer, int64_t deadline_ns, csk_timer_function_t function,
                                         void *context);

/* Stops a timer. After 0 the timer will not fire. After ENOENT the timer was not started or has fired, and its function
 * has returned. On the timer thread the function may still be running, since that thread does not wait for itself.
 * Blocks while the function runs. O(log n). */
CSK_API int csk_timer_cancel(csk_timer_t *timer);

/* Returns true on the thread that runs the functions of timers, where nothing may block. */
CSK_API bool csk_timer_is_current(void);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_timer_t) == 64, "csk_timer_t is part of the ABI");

#endif
