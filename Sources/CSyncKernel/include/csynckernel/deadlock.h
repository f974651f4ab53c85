/* deadlock.h: finds threads and tasks that wait for each other, and names them.
 *
 * While the watch is on, a thread of the library's ("csk-watchdog", shared with mark.h and rcu.h) checks for waits
 * older than a second. Then it takes views (inspect.h), follows each waiter to the object, to its holder, and to what
 * the holder waits for. A circle of waits without a deadline that three views in a row show, with the same wait of each
 * party, is a deadlock. It is reported once (CSK_EVENT_DEADLOCK), by its parties alone: not by those that wait for one
 * of them.
 *
 *     int status = csk_deadlock_watch(0);       or CSK_DEADLOCK=1 in the environment of the process
 *     ...
 *     csynckernel: deadlock: thread 71 "reader" waits for thread 72 "writer" at mutex "users" 0x55..; thread 72 ...
 *
 * The environment is read where the watch is part of the program: with the shared library, and with the archive if the
 * program names a function of this header.
 *
 * What is reported is one. In the middle view a party holds what the one before it waits for. It was in the same wait
 * in the first view and in the last, so it waited at that moment, and a thread that waits leaves nothing.
 * Nothing but a call from outside can end that: one that cancels a wait, or shuts a queue down, or gives a permit that
 * the caller has not taken to a semaphore that notes its holder (csk_held_sem_begin_noting), or changes its size. Let
 * one that is an event, and no lock, note none.
 *
 * What is followed. A waiter at a gate or mutex waits for the thread that holds it. At a read-write lock it waits for
 * the writer, or for each reader that is known; a thread that is to read also waits for the writer that stands before
 * it. A caller of csk_workqueue_sync on a serial queue waits for the thread in the queue's section, and so does one
 * that drains a queue. A waiter of a csk_held_sem_t (name.h) waits for the task or thread that has the permit: the one
 * that was set, or that the semaphore has recorded.
 *
 * What is not: waits with a deadline; holders of another csk_sem_t, of a gate without a particular holder
 * (csk_gate_disown), or of a lock that a callback reads; a caller of sync or of a drain on a queue that runs several
 * works at once, and waits at a work queue for room, or without a thread; one that waits for its own permit; condition
 * variables, predicates and priority queues, which have no holder; and waits outside of this library, such as for the
 * value of a task. A serial queue whose work waits for so long, with works or callers behind it, is reported as stalled
 * (CSK_EVENT_QUEUE_STALLED), once for each such wait, unless it is part of a deadlock. A pool that can take no work is
 * reported as CSK_EVENT_POOL_STUCK.
 *
 * What it costs. Nothing without waits, but at semaphores that record their holder. A waiting thread records its stack,
 * by its frame pointers, in some 50 ns; a callback is listed (csk_inspect_callbacks). The watchdog looks at the records
 * of waiting threads every 50 ms, and takes a view when one of them has become old, and every quarter of a second while
 * callbacks wait. Waits that began before the watch are found too, without their stacks.
 *
 * No function here may be called from a signal handler. Reporters may call all. A child of fork has no watch until it
 * begins one.
 *
 * Example: two threads take two gates in opposite orders.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <pthread.h>
 *     #include <sched.h>
 *
 *     static csk_gate_t gates[2];
 *     static uint32_t inside;
 *
 *     static void ignore(const csk_event_t *event) { (void)event; }
 *
 *     static void *take_both(void *first) {
 *         csk_gate_t *other = first == &gates[0] ? &gates[1] : &gates[0];
 *         if (csk_gate_lock(first, 0) != 0) return NULL;
 *         __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
 *         while (__atomic_load_n(&inside, __ATOMIC_SEQ_CST) < 2) sched_yield();
 *         return csk_gate_lock(other, 0) == 0 ? other : NULL;
 *     }
 *
 *     int main(void) {
 *         pthread_t threads[2];
 *         csk_deadlock_party_t parties[2];
 *         csk_set_reporter(ignore);
 *         if (csk_deadlock_watch(csk_ms(50)) != 0) return 1;
 *         for (int i = 0; i < 2; i++)
 *             if (pthread_create(&threads[i], NULL, take_both, &gates[i]) != 0) return 1;
 *         while (csk_deadlock_count() == 0) sched_yield();
 *         return csk_deadlock_parties(0, parties, 2) == 2 ? 0 : 1;
 *     }
 */
#ifndef CSK_DEADLOCK_H
#define CSK_DEADLOCK_H

#include "inspect.h"

CSK_BEGIN_DECLS

enum { CSK_DEADLOCK_PARTIES = 32, CSK_DEADLOCK_FRAMES = 32, CSK_DEADLOCKS_KEPT = 32 };

/* Begins the watch, or changes its limit: waits are checked once they are `after_ns` old. 0 stands for 1 s. A deadlock
 * is reported after that and about 150 ms. The first call maps 4 MiB of address space for the rest of the process.
 * Returns 0, EINVAL for a negative limit, ENOMEM, or EAGAIN (no thread). Never blocks. */
CSK_API int csk_deadlock_watch(int64_t after_ns);
/* Ends the watch. What was reported stays. A check that has begun is completed. */
CSK_API void csk_deadlock_end_watching(void);
/* Returns true while the watch is on in this process. Never blocks. */
CSK_API bool csk_deadlock_is_watching(void);

/* One that waits, for the next party. */
typedef struct csk_deadlock_party {
    const void *object; /* at which it waits; only the address may be used */
    uint32_t object_kind;
    uint32_t waits_for;            /* CSK_WAITS_TO_ENTER, ... */
    csk_inspected_thread_t thread; /* zero for a task or callback that waits without a thread */
    uint64_t task;                 /* the task that waits, or that runs on the thread; 0: none, or it is not known */
    uint64_t wait;                 /* the number of the thread's wait */
    const void *waiter;            /* of a callback */
    int64_t since_ns;
    uint32_t frame_count;
    uintptr_t frames[CSK_DEADLOCK_FRAMES]; /* the addresses to which its calls return, the innermost first; none where
                                              it began to wait before the watch */
    char name[CSK_INSPECT_NAME];           /* of the object */
    char task_name[CSK_INSPECT_TASK_NAME]; /* of a task that waits without a thread (task.h) */
} csk_deadlock_party_t;

/* How many were found so far. */
CSK_API uint64_t csk_deadlock_count(void);
/* Writes the parties of one of them, which are numbered from 0 on. Each waits for the next, and the last for the first.
 * Returns how many there are, of which at most `room`, and at most CSK_DEADLOCK_PARTIES, were written; 0 for one that
 * is not known: the last CSK_DEADLOCKS_KEPT are. */
CSK_API uint32_t csk_deadlock_parties(uint64_t number, csk_deadlock_party_t *parties, uint32_t room);

/* Writes the deadlocks that are kept, each with the call stacks of its parties. Returns 0, what `print` returned, or
 * ENOMEM. It reads the files of the program for the names of functions, and allocates. */
CSK_API int csk_deadlock_print(csk_print_t print, void *context);

/* ---- For runtimes with tasks ------------------------------------------------------------------------------------- */

/* `current`: says which task the calling thread runs, by a number that no other task has as long as this one exists; 0
 * for none. It is called by a thread that is about to park. `context`: says where a task that is suspended goes on, as
 * csk_profile_suspend takes it. Neither may block, allocate, or call this library. */
CSK_API void csk_deadlock_know_tasks(uint64_t (*current)(void), const void *(*context)(uint64_t task));
/* Callbacks that the calling thread queues from now on are waits of that task; 0: of none. */
CSK_API void csk_deadlock_suspend(uint64_t task);
/* Calls `look` on the watch's thread at each check, while the watch is on: for queues of the runtime itself. It gets
 * the time and the watch's limit. It must not wait for any thread. NULL ends that; a call that has begun is completed.
 * Never blocks. */
CSK_API void csk_deadlock_look_along(void (*look)(int64_t now_ns, int64_t after_ns));

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_deadlock_party_t) == 544, "csk_deadlock_party_t is part of the ABI");

#endif
