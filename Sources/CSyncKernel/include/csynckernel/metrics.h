/* metrics.h: how often and how long the program waits, by the names of what it waits for, as counters and histograms
 * for a monitoring system.
 *
 * Waits of threads and of callbacks at gates, mutexes, semaphores and read-write locks are counted, and waits of
 * threads for the signal of a condition variable, and at a work queue for a turn (csk_workqueue_sync); of both at a
 * work queue for room, and until it is drained; and those of tasks at objects of their runtime's (task.h). A wait
 * begins when a thread has failed to enter and begins to spin, or when a callback is queued. It ends when the thread or
 * callback goes on, whether it got what it waited for or not.
 *
 * Only objects with a name or a place (name.h) are counted. Objects of one kind and one name share an entry, which
 * outlives them: give one name to what you want to see as one. How late timers are is counted too, and of work queues
 * that were made with a name, what they refuse and drop, how much has waited, and how long works wait and run.
 *
 * What it costs. While it is off, nothing: a path that waits looks at the same word as for the profile, and an
 * uncontended path at none. While it is on, a wait finds its entry by the object's name, mostly before it parks, and
 * changes three counters and the longest when it is over; queueing a work on a queue with a name reads the clock. No
 * memory is allocated, and no lock is taken but that of the names, where csk_name has given any.
 *
 * No function here may be called from a signal handler, but csk_metrics_bound_ns.
 *
 * fork. In a child nothing has been counted yet, and it counts on if the parent did. Where the system does not know
 * MADV_WIPEONFORK (Linux before 4.14), the child goes on from the counts of the parent.
 *
 * Example: what is counted is written to the standard output.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *
 *     static int print(void *file, const void *bytes, size_t size) {
 *         return fwrite(bytes, 1, size, file) == size ? 0 : errno;
 *     }
 *
 *     int main(void) {
 *         static csk_mutex_t sessions = CSK_MUTEX_INITIALIZER;
 *         if (csk_name(&sessions, "sessions") != 0) return 1;
 *         if (csk_metrics_start() != 0) return 1;
 *         // What the program does.
 *         return csk_metrics_print(print, stdout);
 *     }
 */
#ifndef CSK_METRICS_H
#define CSK_METRICS_H

#include "base.h"

CSK_BEGIN_DECLS

/* Begins to count, or goes on from where the counts were. Waits that are under way are not counted. The first call
 * takes some 3 MiB of address space, of which pages are used as they are needed, for the rest of the process. Returns 0
 * or ENOMEM. May be called from any thread; never blocks. */
CSK_API int csk_metrics_start(void);
/* Ends the counting. What was counted stays, and waits under way are still counted. May be called from any thread;
 * never blocks. */
CSK_API void csk_metrics_stop(void);

/* Returns true while waits are counted. Never blocks. */
CSK_API bool csk_metrics_is_running(void);

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* Bucket `i` counts spans longer than that before it and of at most 2^i us: the first those of up to 1 us, the last but
 * one those of up to 67.108864 s, and the last all longer ones. */
enum { CSK_METRICS_BUCKETS = 28 };

/* The longest span that the bucket counts, in nanoseconds; INT64_MAX for the last. */
static inline int64_t csk_metrics_bound_ns(uint32_t bucket) {
    return bucket < CSK_METRICS_BUCKETS - 1 ? INT64_C(1000) << bucket : INT64_MAX;
}

/* How many spans of time there were, and how long. */
typedef struct csk_metrics_histogram {
    uint64_t buckets[CSK_METRICS_BUCKETS]; /* each has only its own spans, not those of the buckets before it */
    uint64_t count;                        /* the sum of the buckets */
    int64_t sum_ns, longest_ns;
} csk_metrics_histogram_t;

/* csk_metrics_entry_t.what */
enum {
    CSK_METRICS_WAITS = 1,  /* waits for the objects of one kind and name; `spans` has how long they took */
    CSK_METRICS_TIMERS = 2, /* the one entry of timers, without a name; `spans` has how long after its deadline the
                               function of each was called. A deadline that had passed when the thread of the timers
                               last went to sleep was set late, and is not counted */
    CSK_METRICS_WORKS = 3   /* the work queues that were made with one name (csk_workqueue_attr_t.name); `spans` has how
                               long works waited to begin, and `runs` how long they ran */
};

typedef struct csk_metrics_entry {
    uint32_t what;
    uint32_t object_kind; /* CSK_OBJECT_GATE, ... (observe.h); CSK_OBJECT_OTHER for timers */
    const char *name;     /* the name or place, in UTF-8, up to 127 bytes of it; valid for good. What is no UTF-8 was
                             replaced by U+FFFD. NULL for timers */
    /* Of waits, how many ended by entering or by a signal; at their deadline; and in another way, such as a
     * cancellation. */
    uint64_t granted, timed_out, refused;
    /* Of works, `refused` counts those and callers that a queue did not accept: it was full, shut down, or had no room
     * by their deadline. `dropped` counts those that it had accepted and ended with ECANCELED, since others came or it
     * was shut down. What csk_workqueue_cancel takes out is in neither. `most_waiting` is the most that is known to
     * have waited in a queue. Without a bound it is what workers found, which sort new work when nothing else is left.
     * With a bound it is what waited when a caller found the queue full. */
    uint64_t dropped, most_waiting;
    /* Of works one in 1024 is timed, by chance, and counts as 1024. Of one name it is known of eight at once how long
     * they have waited: in a line of more than some thousands the others count as having waited as long as the last of
     * these. Works of their own turn, callers, and works that wait for room without a thread are not timed. */
    csk_metrics_histogram_t spans, runs;
    /* Of waits at a work queue, for what: CSK_WAITS_FOR_TURN, CSK_WAITS_FOR_ROOM or CSK_WAITS_FOR_DRAINED (inspect.h),
     * each of which is an entry of its own. 0 elsewhere. */
    uint32_t waits_for;
} csk_metrics_entry_t;

/* Calls `each` for what was counted so far, in no particular order; for timers also where there was none. Does nothing
 * before the first start. Others go on counting meanwhile: each number is right for some moment during the call, and
 * none is ever less than it was in an earlier call. Never blocks by itself. */
CSK_API void csk_metrics_read(void (*each)(const csk_metrics_entry_t *entry, void *context), void *context);

/* Waits that were not counted, because the table was full: it holds some 4000 entries. Never blocks. */
CSK_API uint64_t csk_metrics_lost(void);

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

/* Writes what was counted as text of OpenMetrics 1.0, which Prometheus and others read, with "# EOF" at its end. Serve
 * it as "application/openmetrics-text; version=1.0.0; charset=utf-8". These are its families, the first three with the
 * labels "kind" ("gate", "rwlock", "semaphore", "condition", "workqueue_turn", "workqueue_room", "workqueue_drain",
 * "fifo_queue", "actor_queue", "resource_pool", "task_queue") and "name":
 *
 *     csk_wait_seconds           histogram: how long waits took, whatever became of them
 *     csk_waits                  counter: waits by "outcome": "granted", "timed_out" or "refused"
 *     csk_longest_wait_seconds   gauge: the longest wait so far
 *     csk_timer_lateness_seconds histogram: how long after their deadlines the functions of timers were called
 *     csk_works_refused          counter, with "name": works and callers that work queues did not accept
 *     csk_works_dropped          counter, with "name": works that were accepted and ended with ECANCELED
 *     csk_work_waiting_seconds   histogram, with "name": how long works waited to begin; of one work in 1024
 *     csk_work_running_seconds   histogram, with "name": how long they ran
 *     csk_most_works_waiting     gauge, with "name": the most that has waited in a queue (with a bound: when full)
 *     csk_metrics_lost           counter: waits that were not counted
 *
 * Before the first start they have no samples, but for csk_metrics_lost. Returns 0, or what `print` returned. It
 * neither allocates nor blocks by itself, and calls `print` with cancellation disabled. */
CSK_API int csk_metrics_print(csk_print_t print, void *context);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_metrics_entry_t) == 560, "csk_metrics_entry_t is part of the ABI");

#endif
