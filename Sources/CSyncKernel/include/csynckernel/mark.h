/* mark.h: threads that must not block, and reports when they do.
 *
 * A thread that runs many things in turn (an event loop, a thread of a cooperative pool, a main thread that serves a
 * queue) holds all of them up while it waits for a lock. Such a thread marks itself. When it has then waited for 100 ms
 * or longer at an object of this library, that is reported: CSK_EVENT_LONG_WAIT, once for each such wait, with the
 * object, its name, and the thread. A thread of the library's own reports it, after 150 ms at most where it gets a
 * processor, also where all threads of the program are stuck.
 *
 *     csk_thread_mark(CSK_THREAD_EVENT_LOOP);       at the beginning of the loop's thread
 *     ... csynckernel: "sessions" at 0x5581...: thread 812, which must not block, has waited for it for 0.1 s
 *
 * The report says what kind of thread it is: in csk_event_t.rank, and a main thread is called that.
 *
 * A wait is seen once its thread has parked. An operation that doesn't park costs nothing for it, and a park a load.
 * While there are marked threads, the library's thread checks every 50 ms; without any it sleeps.
 *
 * No function here may be called from a signal handler.
 *
 * fork. The child's thread is not marked. The function of csk_thread_mark_by is asked in the child too, but no thread
 * checks there until the child marks a thread, gives such a function itself, begins the watch of deadlock.h, or has a
 * grace period of rcu.h.
 *
 * Example: an event loop's thread waits for a gate that another thread holds.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <pthread.h>
 *     #include <sched.h>
 *
 *     static csk_gate_t sessions;
 *     static int reports;
 *
 *     static void count(const csk_event_t *event) {
 *         if (event->kind == CSK_EVENT_LONG_WAIT)
 *             __atomic_fetch_add(&reports, 1, __ATOMIC_RELAXED);
 *     }
 *
 *     static void *loop(void *unused) {
 *         (void)unused;
 *         if (csk_thread_mark(CSK_THREAD_EVENT_LOOP) != 0) return &reports;
 *         if (csk_gate_lock(&sessions, 0) != 0) return &reports;
 *         csk_gate_leave(&sessions);
 *         return NULL;
 *     }
 *
 *     int main(void) {
 *         pthread_t thread;
 *         void *failed;
 *         csk_set_reporter(count);
 *         if (csk_gate_lock(&sessions, 0) != 0) return 1;
 *         if (pthread_create(&thread, NULL, loop, NULL) != 0) return 1;
 *         while (__atomic_load_n(&reports, __ATOMIC_RELAXED) == 0) sched_yield();
 *         csk_gate_leave(&sessions);
 *         pthread_join(thread, &failed);
 *         return failed != NULL;
 *     }
 */
#ifndef CSK_MARK_H
#define CSK_MARK_H

#include "base.h"

CSK_BEGIN_DECLS

enum {
    CSK_THREAD_PLAIN = 0, /* it may block */
    CSK_THREAD_COOPERATIVE = 1,
    CSK_THREAD_EVENT_LOOP = 2,
    CSK_THREAD_MAIN = 3
};

/* A wait of that length is reported. */
#define CSK_LONG_WAIT_NS INT64_C(100000000)

/* Marks the calling thread, until it ends or is marked anew. Returns 0; EINVAL for another kind; EAGAIN or ENOMEM where
 * the library's thread could not be started, or no record of the thread could be made. */
CSK_API int csk_thread_mark(uint32_t kind);

/* Has a function say what a thread is that has not marked itself, at each of its waits: one for threads that others
 * made. It is called on the thread that is about to park, perhaps under an internal lock. It must not block, allocate,
 * or call this library. NULL ends that. Returns 0, EAGAIN or ENOMEM. */
CSK_API int csk_thread_mark_by(uint32_t (*kind_of_thread)(void));

CSK_END_DECLS

#endif
