/* inspect.h: a live view of waiters and holders, and of where every worker and every thread of the program is stuck.
 *
 * Each thread that parks in a wait of this library says in a record of its own for what it waits. The view is taken
 * from these records. At each object it reads the holders and the queue. Nothing has to be switched on for waits of
 * threads: a record costs some ten instructions for each park, on a cache line of the thread's own, and an operation
 * that does not wait costs nothing. Waits of callbacks are found where a thread waits at the same object, and at all
 * objects while csk_inspect_callbacks is on.
 *
 *     csk_inspect_print(NULL, CSK_INSPECT_TEXT, print, stderr);     from any thread
 *     int status = csk_inspect_serve("/run/server.waits", SIGUSR2); socat - UNIX-CONNECT:/run/server.waits
 *
 * What a view shows. Each object is read at one instant, different objects at different ones. So a chain of waits that
 * a single view shows may never have existed at once. Two views tell: a wait that has the same thread, the same number
 * (`wait`) and the same object in both of them lasted from the first to the second.
 *
 * Nothing is waited for. Internal locks are tried for a moment, and what could not be read is shown as busy
 * (CSK_INSPECT_BUSY), with those waiters whose records name it. A thread whose record or object is being read can't
 * return from its wait before that is done, which takes some microseconds, and some milliseconds at most. Nothing is
 * allocated under a lock.
 *
 * Waits for internal locks, waits that are spent spinning, and waits outside of this library are not shown, nor are
 * those for the end of a timer's function, for readers under RCU, and for the library's own threads. A thread whose end
 * can't be noticed (no pthread key is left, or its last destructors run) has no record: it is seen in the queue where
 * it stands, without the number of its wait.
 *
 * No function here may be called from a signal handler.
 *
 * fork. A child has the records of its own thread alone. Callbacks that wait in the parent do not wait in the child,
 * and whether callbacks are listed stays as it is. The child does not serve: it closes its copies of the socket, the
 * parent's file stays, and the signal has the disposition that it had before csk_inspect_serve.
 *
 * Example: a program that can be asked what its threads wait for, and asks itself.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <signal.h>
 *     #include <stdio.h>
 *
 *     static int print(void *stream, const void *bytes, size_t size) {
 *         return fwrite(bytes, 1, size, stream) == size ? 0 : errno;
 *     }
 *
 *     int main(void) {
 *         if (csk_inspect_serve(NULL, SIGUSR2) != 0) return 1;
 *         if (csk_inspect_print(NULL, CSK_INSPECT_TEXT, print, stdout) != 0) return 1;
 *
 *         csk_inspected_object_t objects[16];
 *         csk_inspection_t view = { .objects = objects, .object_room = 16 };
 *         if (csk_inspect(&view) != 0) return 1;
 *         for (uint32_t i = 0; i < view.object_count; i++)
 *             printf("%p is waited for\n", (void *)objects[i].address);
 *         return csk_inspect_end_serving();
 *     }
 */
#ifndef CSK_INSPECT_H
#define CSK_INSPECT_H

#include "gate.h"
#include "observe.h"

CSK_BEGIN_DECLS

/* What a waiter waits for. */
enum {
    CSK_WAITS_OTHER = 0,
    CSK_WAITS_TO_ENTER = 1,      /* a gate or mutex */
    CSK_WAITS_FOR_PREDICATE = 2, /* at a gate or mutex: see await.h */
    CSK_WAITS_FOR_SIGNAL = 3,    /* of a condition variable. Once it is signalled the thread waits to enter the gate */
    CSK_WAITS_FOR_PERMITS = 4,   /* of a semaphore */
    CSK_WAITS_TO_READ = 5,       /* under a read-write lock */
    CSK_WAITS_TO_WRITE = 6,
    CSK_WAITS_TO_UPGRADE = 7,   /* it reads, and waits until no other does */
    CSK_WAITS_FOR_ITEM = 8,     /* of a priority queue */
    CSK_WAITS_FOR_PLACE = 9,    /* in a full priority queue */
    CSK_WAITS_FOR_TURN = 10,    /* of a queue: a caller of sync, or a task */
    CSK_WAITS_FOR_ROOM = 11,    /* in a full queue */
    CSK_WAITS_FOR_DRAINED = 12, /* until what a queue had accepted has ended */
    CSK_WAITS_FOR_RESOURCE = 13 /* of a resource pool, or until one is made */
};

enum { CSK_WAITER_THREAD = 0, CSK_WAITER_CALLBACK = 1 };

/* The most bytes of a thread's, a task's and an object's name, with the zero that ends it. */
enum { CSK_INSPECT_THREAD_NAME = 16, CSK_INSPECT_TASK_NAME = 64, CSK_INSPECT_NAME = 128 };

/* A thread as the view shows it. What is not known is 0, or an empty name. */
typedef struct csk_inspected_thread {
    uint64_t identity; /* its thread pointer, as csk_self gives it; or its number as csk_thread_number has it */
    uint64_t number;   /* 1, 2, ...: no two threads of the process ever have the same. 0 for one that has no number */
    int32_t id;        /* as gettid() gives it */
    char name[CSK_INSPECT_THREAD_NAME];
} csk_inspected_thread_t;

/* One that waits. Those of one object stand in the order in which they come by rank and arrival, which is that in
 * which they are served unless a bypass limit or a lane says otherwise. Those that wait to enter a gate come before
 * those that wait for a predicate there; at a work queue those for a turn come first, then those for room, then
 * drains. */
typedef struct csk_inspected_waiter {
    uint32_t object;    /* the index of the object in the view */
    uint32_t kind;      /* CSK_WAITER_THREAD, ... */
    uint32_t waits_for; /* CSK_WAITS_TO_ENTER, ... */
    uint32_t permits;   /* how many it asks a semaphore for; 0 elsewhere */
    csk_rank_t rank;    /* 0 where the object knows no ranks. The priority is rank >> 2 */
    int64_t ticket;     /* orders those of one rank: a lower one comes first; 0 where it is not known */
    int64_t since_ns;   /* when it began to wait, by CLOCK_MONOTONIC; 0 where that is not known, as with a callback that
                           came while callbacks were not listed (see csk_inspect_callbacks) */
    int64_t deadline_ns;           /* CSK_NEVER: it has none, or it is not known */
    csk_inspected_thread_t thread; /* of a thread; zero for a callback */
    uint64_t wait;                 /* which of the thread's waits it is: another number for each wait. 0: not known */
    const void *waiter;            /* of a callback: the caller's csk_waiter_t, csk_gate_condition_t, or
                                      csk_workqueue_wait_t; of a task at an object of its runtime's what task.h says.
                                      Only its address may be used */
    const void *function;          /* of a callback: its function; NULL for a task at an object of its runtime's */
    const void *lane;              /* of a callback at a gate: its lane, if it has one */
    uint64_t task; /* the task that waits by a callback, or that runs on the thread: see deadlock.h and task.h; 0: none,
                      or it is not known */
    char
        task_name[CSK_INSPECT_TASK_NAME]; /* the task's name, cut to that; empty where it has none, runs on a thread, or
                                              it could not be looked for: then `list_busy` is set */
} csk_inspected_waiter_t;

enum {
    CSK_HELD_BY_NOBODY = 0,   /* it is free; or objects of this kind have no holder */
    CSK_HELD_BY_THREAD = 1,   /* `thread` */
    CSK_HELD_BY_READERS = 2,  /* `count` of them, and `thread` is one of those that are known */
    CSK_HELD_BY_CALLBACK = 3, /* a callback that was granted it, or a thread that has disowned it. `waiter` and `lane`
                                 where the grant was not adopted yet */
    CSK_HELD_BY_ENDED = 4,    /* `thread` has ended, and will never leave */
    CSK_HELD_BY_CALLER = 5,   /* a work queue: a caller of sync, whose thread is not known */
    CSK_HELD_BY_UNKNOWN = 6,  /* it could not be read */
    CSK_HELD_BY_TASK = 7      /* `task`: a semaphore that knows its holder (csk_held_sem_t). Or what has an object of a
                                 runtime's (task.h): `task`, if that is one, and `task_name`, if it has one */
};

typedef struct csk_inspected_holder {
    uint32_t kind;  /* CSK_HELD_BY_THREAD, ... */
    uint32_t count; /* readers; works of a work queue that run; tasks that have an object of a runtime's */
    csk_inspected_thread_t thread;
    const void *waiter;
    const void *lane;
    uint64_t task;
    char task_name[CSK_INSPECT_TASK_NAME]; /* cut to that; empty where it has none, or is not known */
} csk_inspected_holder_t;

enum {
    CSK_INSPECT_BUSY = 1,      /* its lock could not be had: the holder may be stale, and the waiters are incomplete */
    CSK_INSPECT_MORE = 2,      /* more wait than are shown */
    CSK_INSPECT_CLOSED = 4,    /* it refuses newcomers */
    CSK_INSPECT_SUSPENDED = 8, /* a work queue that begins nothing until it is resumed */
    CSK_INSPECT_POSTED = 16,   /* it waits for a worker of the pool, since `posted_ns` where that is known */
    CSK_INSPECT_RUNS = 32,     /* a work queue: a worker of the pool serves it. `holder` is one that runs its work */
    CSK_INSPECT_AT_LEAST = 64  /* a work queue: more works wait than `count`, which are too many to be counted */
};

/* An object with waiters, or a work queue that waits for a worker or runs. */
typedef struct csk_inspected_object {
    const void *address;
    uint32_t kind;  /* CSK_OBJECT_GATE, ... of observe.h; a mutex is a gate */
    uint32_t flags; /* CSK_INSPECT_BUSY, ... */
    csk_inspected_holder_t holder;
    const void *gate;      /* of a condition variable: its gate or mutex */
    int64_t since_ns;      /* when the one of its waiters came that has waited longest; 0 where that is not known */
    int64_t posted_ns;     /* see CSK_INSPECT_POSTED; 0: not known. The pool notes it to within 2 ms, once it makes no
                              headway */
    int64_t running_ns;    /* when the work of a work queue began that its holder, a worker, runs; or since when its
                              holder has an object of a runtime's (task.h). 0: not known. It is recorded while callbacks
                              are listed (csk_inspect_callbacks) */
    uint32_t first_waiter; /* index of the first waiter in the view */
    uint32_t waiter_count; /* how many of them the view has */
    uint64_t waiting;      /* how many there are */
    int64_t count;         /* free permits of a semaphore; items of a priority queue; works that wait in a work queue */
    uint64_t most;         /* permits in all; capacity; 0 where there is no bound */
    uint32_t running;      /* a work queue: works and callers that run */
    uint32_t width;        /* a work queue: how many may run at once */
    char name[CSK_INSPECT_NAME]; /* its name or place (name.h), cut to that; empty where it has none */
} csk_inspected_object_t;

/* A worker of the pool. */
typedef struct csk_inspected_worker {
    csk_inspected_thread_t thread;
    uint32_t idle;      /* it has nothing to do */
    uint32_t waits;     /* it waits inside this library */
    int64_t running_ns; /* when the work began that it runs there; 0: not known, as for an object */
    const void *queue; /* the work queue that it serves, or has just left; NULL where that is none. Only its address may
                          be used */
} csk_inspected_worker_t;

typedef struct csk_inspected_pool {
    uint32_t busy;                   /* its lock could not be had: the numbers below are 0 */
    uint32_t workers, idle, waiting; /* `waiting`: inside this library */
    uint32_t wanted, most;           /* how many it keeps, and the limit, with those that sleep */
    uint64_t queued;                 /* items, mostly work queues, that wait for a worker */
    int64_t stalled_ns;              /* since when no work was taken and no worker could be added; 0: it goes on */
} csk_inspected_pool_t;

typedef struct csk_inspected_timers {
    uint32_t busy;
    uint32_t firing; /* a timer's function runs */
    uint64_t count;  /* timers that are started */
    int64_t next_ns; /* when the next is due; CSK_NEVER without one */
} csk_inspected_timers_t;

/* A view. The first members are the caller's: the arrays into which it is written, and how many each can take. Where an
 * array is full the rest is counted and left out, with an object its waiters, which are not counted. Of an object whose
 * waiters have no room those are shown that were found first, which need not be the first in order. */
typedef struct csk_inspection {
    size_t size; /* see base.h; it stands for the sizes of the elements too */
    csk_inspected_object_t *objects;
    csk_inspected_waiter_t *waiters;
    csk_inspected_worker_t *workers;
    uint32_t object_room, waiter_room, worker_room;
    /* What was found. */
    uint32_t object_count, waiter_count, worker_count;
    uint64_t objects_left_out, waiters_left_out, workers_left_out; /* an object as often as something led to it */
    uint64_t threads;            /* threads that have a record: they have parked once, and live */
    uint64_t records_busy;       /* threads whose records could not be read */
    uint32_t list_busy;          /* a list could not be read to its end: more threads, callbacks or tasks may wait, and
                                    tasks that have a name may be shown without it */
    int64_t began_ns, ended_ns;  /* when it was taken, by CLOCK_MONOTONIC */
    int32_t process;             /* as getpid() gives it */
    uint32_t lists_callbacks;    /* whether csk_inspect_callbacks was on */
    uint64_t callbacks_unlisted; /* callbacks and suspended queues that were not listed so far: the list was full */
    csk_inspected_pool_t pool;
    csk_inspected_timers_t timers;
} csk_inspection_t;

/* Takes a view into the arrays of `inspection`, whose other members it sets. An array may be NULL with no room. Returns
 * 0; EINVAL: an array is NULL that has room; or EBUSY: other threads take views, one after the other, for 100 ms.
 * Nothing is allocated. Never waits for other threads: each lock is tried for 2 ms at most, all of them together for 50
 * ms. Takes some microseconds for each object, and 10 us for each thread that waits or holds something, whose name is
 * read from /proc. */
CSK_API CSK_MUST_USE int csk_inspect(csk_inspection_t *inspection);

/* With `on`, objects are listed at which callbacks wait from now on, so that a view finds them where no thread waits,
 * and shows since when a callback waits. The wait of a callback then takes a short lock twice, and reads the clock.
 * Work queues are listed too that are suspended from now on. The list holds CSK_INSPECT_LISTED objects, fewer where
 * their addresses are alike. Workers note, too, since when they run a work of a queue, by two readings of the clock.
 * While it is off, each of these costs one load. It counts: each call with `on` needs one without, and once 65 535 of
 * these are missing it stays on. Never blocks. */
enum { CSK_INSPECT_LISTED = 2048 };
CSK_API void csk_inspect_callbacks(bool on);

/* ---- Printing ---------------------------------------------------------------------------------------------------- */

enum { CSK_INSPECT_TEXT = 0, CSK_INSPECT_JSON = 1 };

/* Writes a view: as text, a paragraph for each object, or as one object of JSON (docs/design/inspect.md has its
 * members). NULL stands for one that is taken now, into memory that is mapped for the call: 1024 objects, 8192 waiters
 * and CSK_POOL_THREADS_MAX workers. Returns 0; EINVAL for another format; what csk_inspect or `print` returned; or
 * ENOMEM. Uses neither malloc nor stdio. */
CSK_API int csk_inspect_print(const csk_inspection_t *inspection, uint32_t format, csk_print_t print, void *context);

/* ---- Serving ----------------------------------------------------------------------------------------------------- */

/* Starts a thread of the library, named "csk-inspect", which answers on a Unix socket and to a signal, whatever the
 * program's threads are doing. Callbacks are listed meanwhile, as by csk_inspect_callbacks.
 *
 * `path`: NULL for no socket. The file has the mode 0600, whatever the umask, and only processes of the same effective
 * user, and of root, are answered. A client writes one line, "text" or "json", and gets the view; then the connection
 * is closed. Another line gets "error: ..." . A client that has not sent its line after 2 s, or has not taken the
 * answer after 5 s, is dropped. Up to 8 are served at once; of more, those that came last wait.
 *
 * `signal`: 0 for none. From then on the signal writes the text to the standard error stream. What that has not taken
 * after 5 s, or when the serving ends, is lost.
 *
 * Returns 0 once both are in use; EINVAL: neither is asked for, no such signal, or one that can't be caught; or the
 * path is empty; ENAMETOOLONG; EBUSY: it serves already, or the signal has a handler already; EADDRINUSE: another
 * process serves there, or the file is no socket (that of a process that is gone is replaced); EAGAIN or ENOMEM: no
 * thread or memory; or what the system says of the path, such as EACCES and ENOENT. Blocks for no longer than the file
 * system does, and for 1 s at most while another process is about to serve in the same folder. */
CSK_API int csk_inspect_serve(const char *path, int signal);
/* Ends that: the file is removed, clients are dropped, the signal has its former disposition, unless the program has
 * given it another since, and the thread has ended. One file, an eventfd for the next serving, stays open. Returns 0,
 * or EPERM where it does not serve. It blocks until the thread has done what it is doing. */
CSK_API int csk_inspect_end_serving(void);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_inspected_object_t) == 352, "csk_inspected_object_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_inspected_waiter_t) == 192, "csk_inspected_waiter_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_inspected_worker_t) == 64, "csk_inspected_worker_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_inspection_t) == 200, "csk_inspection_t is part of the ABI");

#endif
