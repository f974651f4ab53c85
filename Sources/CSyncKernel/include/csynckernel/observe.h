/* observe.h: where counters, histograms and recorders attach. When nothing is attached a waiting path pays one load,
 * and an uncontended path nothing at all.
 *
 * No function here may be called from a signal handler. A child of fork has the observer and the reporter of the
 * parent.
 *
 * Example: a count of waits.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *
 *     static unsigned waits;
 *
 *     static void count(const csk_observer_t *observer, const csk_event_t *event) {
 *         (void)observer;
 *         if (event->kind == CSK_EVENT_WAIT_BEGIN)
 *             __atomic_fetch_add(&waits, 1, __ATOMIC_RELAXED);
 *     }
 *
 *     static void leave(csk_waiter_t *waiter, void *context, int status) {
 *         (void)waiter;
 *         if (status == 0) csk_gate_unlock(context);
 *     }
 *
 *     int main(void) {
 *         static const csk_observer_t observer = { count, NULL };
 *         static csk_gate_t gate = CSK_GATE_INITIALIZER;
 *         static csk_waiter_t waiter;
 *         csk_observe(&observer);
 *         if (csk_gate_lock(&gate, 0) != 0) return 1;
 *         // Waits for the gate without a thread.
 *         if (csk_gate_lock_async(&gate, 0, &waiter, CSK_NEVER, leave, &gate)) return 1;
 *         csk_gate_unlock(&gate);
 *         csk_observe(NULL);
 *         printf("%u\n", waits);
 *         return waits != 1;
 *     }
 */
#ifndef CSK_OBSERVE_H
#define CSK_OBSERVE_H

#include "base.h"

CSK_BEGIN_DECLS

enum {
    CSK_EVENT_WAIT_BEGIN = 1,   /* a waiter was put into an object's queue */
    CSK_EVENT_WAIT_END = 2,     /* the waiter left the queue: status 0 (granted), ETIMEDOUT or ECANCELED; waited_ns says
                                  after how long. Of a waiter without a thread that came before the observer, nothing
                                  is said */
    CSK_EVENT_GRANT_LOST = 3,   /* a grant that had not begun in time was taken back while others waited */
    CSK_EVENT_HOLDER_ENDED = 4, /* status EOWNERDEAD: the thread that holds the object has ended, so the object will
                                   never be left */
    CSK_EVENT_LONG_READ = 5,    /* status EBUSY: a writer waits for the thread `thread_id`, which has been reading for
                                   as long or longer */
    CSK_EVENT_POOL_STUCK = 6,   /* status EAGAIN: the pool takes no work and can have no further worker. `object` is a
                                   queue that waits for one, `name` is its name, and waited_ns says for how long at
                                   least */
    CSK_EVENT_HELD_BACK = 7,    /* status EPERM: a thread of the library may not have the niceness that stood when the
                                   library was loaded */
    CSK_EVENT_LOCK_ORDER = 9,   /* status EDEADLK: by the order in which locks were taken so far, some threads can wait
                                 for each other for ever. `object` is the one that the calling thread was about to
                                 enter, and `name` has the circle, "A -> B -> A": see order.h */
    CSK_EVENT_LONG_WAIT = 10,   /* status EBUSY: the thread `thread_id`, which has said that it must not block
                                 (csk_thread_mark), has waited for the object for waited_ns and waits on. `rank` is
                                 the kind of the thread, CSK_THREAD_...: see mark.h */
    CSK_EVENT_DEADLOCK = 11, /* status EDEADLK: threads or tasks wait for each other for good. `object` is the one for
                                   which the first of them waits, since waited_ns, and `name` has all of them, with what
                                   they wait for: see deadlock.h */
    CSK_EVENT_QUEUE_STALLED = 12, /* status EBUSY: work or callers wait for a serial work queue, whose work runs on the
                                     thread `thread_id` and has itself waited for waited_ns: see deadlock.h */
    CSK_EVENT_MEMORY_WAITS = 13,  /* status EBUSY: what csk_rcu_retire keeps waits for read sections that have lasted
                                    for waited_ns. `rank` says how many nodes are retired and not yet reclaimed,
                                    thread_id is the first thread that is in such a section, and `name` has up to four,
                                    with what they do: NULL where none is known. Status 0: these sections have ended,
                                    after waited_ns: see csk_rcu_report_after in rcu.h */
    CSK_EVENT_THREAD_ENDED_BY_WORK = 8 /* status ECANCELED: a function that ran on the pool's worker `thread_id` has
                                          ended that thread. Its section has ended. `object` is its work queue or
                                          read-write lock, or NULL for another item of the pool; `name` is the queue's
                                          name. The object may be gone already. The same of another thread of the
                                          library, which is replaced too: `object` is NULL, and `name` is "csk-timer",
                                          "csk-rcu", "csk-pool", "csk-watchdog" or "csk-inspect" */
};

/* What an event's object is. That of CSK_EVENT_LONG_WAIT, CSK_EVENT_DEADLOCK and CSK_EVENT_QUEUE_STALLED may be gone,
 * and so may that of a CSK_EVENT_WAIT_END with ETIMEDOUT: the kind says what it was, and its name is to be taken from
 * the event, not asked for (csk_name_of). */
enum {
    CSK_OBJECT_OTHER = 0, /* none, one that may be gone, or one of another kind */
    CSK_OBJECT_GATE = 1,  /* csk_gate_t or csk_mutex_t */
    CSK_OBJECT_RWLOCK = 2,
    CSK_OBJECT_SEM = 3,
    CSK_OBJECT_COND = 4,
    CSK_OBJECT_PQUEUE = 5,
    CSK_OBJECT_WORKQUEUE = 6,
    /* Objects of a runtime's own, at which its tasks wait: see task.h. Only their addresses may be used. */
    CSK_OBJECT_FIFO_QUEUE = 7,
    CSK_OBJECT_ACTOR_QUEUE = 8,
    CSK_OBJECT_RESOURCE_POOL = 9,
    CSK_OBJECT_TASK_QUEUE = 10
};

typedef struct csk_event {
    uint32_t kind;
    int32_t status;
    const void *object; /* the gate or read-write lock, or what else the kind says; only its address may be used */
    csk_rank_t rank;
    int32_t thread_id;    /* the thread as gettid() gives it; 0 where it is not known */
    uint32_t object_kind; /* CSK_OBJECT_GATE, ... */
    int64_t waited_ns;
    const char *name;    /* the name or place of the object, where it has one (name.h); valid during the call only. Of
                            a wait without a thread that begins, and of a lost grant, only what csk_name gave is
                            reported, since the object may be gone */
    const char *running; /* the name of the work queue whose work the reporting thread runs; NULL for none, or for one
                            without a name */
} csk_event_t;

typedef struct csk_observer {
    /* Called on the thread where the event happened, with no lock held and with cancellation disabled. It must not use
     * the object that it reports. */
    void (*event)(const struct csk_observer *observer, const csk_event_t *event);
    void *context;
} csk_observer_t;

/* Attaches an observer, or detaches with NULL. The observer must stay valid for the rest of the process, since calls of
 * it may be under way. Returns the observer that was attached before. Never blocks. */
CSK_API const csk_observer_t *csk_observe(const csk_observer_t *observer);

/* A reporter is called whether an observer is attached or not. A thread that waits for a gate or a mutex checks after
 * one second, and then ever more rarely, whether the holder still exists. If not, it reports CSK_EVENT_HOLDER_ENDED,
 * once for the object, and waits on. The object stays held for good, also against a later thread that the system gives
 * the same address. The waiting thread checks only while it is the next in order. A check takes some microseconds for
 * each thread of the process, and all checks together at most a twentieth of a processor: a thousand threads that wait
 * at locks of their own check in turns. That needs glibc: with musl no thread is ever found to have ended. Nor can it
 * find out where the system does not show the threads (without /proc, or under a filter of system calls), or where a
 * new thread has the address already. No live thread is ever reported as ended.
 *
 * A writer that waits for a read-write lock checks likewise. It reports CSK_EVENT_LONG_READ for up to four threads that
 * read the lock, once each time it waits. It reports CSK_EVENT_HOLDER_ENDED, within the same bounds, for those of them
 * that have ended, and for a writer that has.
 *
 * The pool reports CSK_EVENT_POOL_STUCK, on a thread of its own, when it has taken no work for a second and no worker
 * can be added either: there are as many as may be, or the system refuses. It reports again after two seconds more,
 * then four, and so on up to 64. Each time it reports up to four queues that have themselves waited for a second or
 * longer. CSK_EVENT_HELD_BACK comes once. */
typedef void (*csk_reporter_t)(const csk_event_t *event);

/* Replaces what is called for such a report. A reporter is called on the thread that waits, or on one of the library's,
 * with no lock held. It must not use the object, wait for anything of the library (csk_rcu_barrier among that), or
 * fork. NULL brings back the library's own reporter, which writes one line to the standard error stream. Returns the
 * reporter that stood before. Never blocks. */
CSK_API csk_reporter_t csk_set_reporter(csk_reporter_t reporter);

/* How that line is written, for use in reporters: by one write to the standard error stream, which is no
 * cancellation point, raises no SIGPIPE and leaves errno alone. What can't be written is lost. It may block where
 * that stream does. */
CSK_API void csk_write_error(const char *text, size_t length);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_event_t) == 56, "csk_event_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_observer_t) == 16, "csk_observer_t is part of the ABI");

#endif
