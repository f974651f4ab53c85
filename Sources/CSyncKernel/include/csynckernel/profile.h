/* profile.h: waits for locks: where they are, and behind which holders. Waits of threads and of callbacks at gates,
 * mutexes, condition variables (from the signal on), semaphores and read-write locks are counted by the stacks of the
 * waiters, and by the stacks of the threads that let them in. Waits at work queues (of threads for a turn; of threads
 * and callbacks for room, and until one is drained) are counted by the stacks of the waiters alone: a worker ends them,
 * whose work is over by then. So are waits of tasks at objects of their runtime's (task.h).
 *
 * A wait of at least the threshold is kept. A shorter one is kept with the probability of its length by the threshold,
 * and then counts as the threshold, and as correspondingly many waits. So the sums are right on average, whatever the
 * threshold (as in the block profile of Go since its change 299991).
 *
 * What it costs. While it is off, a path that waits pays one load, and an uncontended path nothing. While it is on, a
 * wait takes its stack by frame pointers before it parks, and is added to a table of fixed size when it is over: no
 * memory is allocated, and no lock is taken but that of the names, where csk_name has given any. Code that is compiled
 * without frame pointers is left out of stacks: compile with -fno-omit-frame-pointer what is to stand in them. A
 * function whose last step leaves a lock may do so by a jump, and is then not in the stack of the leaver:
 * -fno-optimize-sibling-calls keeps it there.
 *
 * No function here may be called from a signal handler.
 *
 * fork. In a child nothing has been counted yet, and it counts on if the parent did. Where the system does not know
 * MADV_WIPEONFORK (Linux before 4.14), the child goes on from the counts of the parent.
 *
 * Example: which stacks waited, and for how long.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *
 *     static void print(const csk_profile_entry_t *entry, void *context) {
 *         if (entry->side == CSK_PROFILE_WAITED)
 *             fprintf(context, "%.0f waits, %lld ns\n", entry->contentions,
 *                     (long long)entry->delay_ns);
 *     }
 *
 *     int main(void) {
 *         if (csk_profile_start(10000) != 0) return 1;
 *         // What the program does.
 *         csk_profile_stop();
 *         csk_profile_read(print, stdout);
 *         return csk_profile_lost() != 0;
 *     }
 */
#ifndef CSK_PROFILE_H
#define CSK_PROFILE_H

#include "base.h"

CSK_BEGIN_DECLS

enum { CSK_PROFILE_WAITED = 0, CSK_PROFILE_LET_IN = 1 };
enum { CSK_PROFILE_THREAD = 0, CSK_PROFILE_CALLBACK = 1 };

/* What waits with one stack, priority, kind of waiter and name have in common. */
typedef struct csk_profile_entry {
    uint32_t side;   /* whose stack it is: WAITED; or LET_IN for a thread that left or signalled and let the waiter in,
                        which is when the wait ends */
    uint32_t waiter; /* THREAD or CALLBACK: how it waited */
    int32_t priority;
    uint32_t depth;
    const uintptr_t *frames; /* return addresses, the innermost first; valid for good */
    const char *name;        /* the name or place (name.h) of what was waited for, up to 127 bytes of it; valid for
                                good. NULL where there is none, and for LET_IN */
    double contentions;      /* waits; not always a whole number, since short ones are weighted. A
                                waiter that came in vain counts at the one that called it first */
    int64_t delay_ns;        /* how long they took together */
} csk_profile_entry_t;

/* Begins the profile, or goes on with this threshold, which is at least 1. Counts go on from where they were. The first
 * call takes some 5 MiB of address space, of which pages are used as they are needed, for the rest of the process.
 * Returns 0, EINVAL or ENOMEM. May be called from any thread; never blocks. */
CSK_API int csk_profile_start(int64_t threshold_ns);
/* Ends the profile. What was counted stays, and waits under way are still counted. */
CSK_API void csk_profile_stop(void);

/* Returns true while the profile is on. */
CSK_API bool csk_profile_is_running(void);

/* For runtimes with tasks that suspend. Callbacks that the calling thread queues from now on are waits of a task, whose
 * stack is a chain of contexts that begins here: each begins with the address of the next, and with the address of the
 * code that goes on there. NULL ends that. */
CSK_API void csk_profile_suspend(const void *context);

/* Calls `each` for what was counted so far, in no particular order. Others go on counting meanwhile: each entry is
 * right for some moment during the call. Never blocks by itself. */
CSK_API void csk_profile_read(void (*each)(const csk_profile_entry_t *entry, void *context), void *context);
/* Waits that were not counted, because the table was full: it holds some 8000 stacks and 16 000 entries. Of names
 * it holds some 4000; waits for objects with others are counted without. */
CSK_API uint64_t csk_profile_lost(void);

/* ---- Writing entries --------------------------------------------------------------------------------------------- */

/* Writes those entries whose side is `side` as profile.proto, compressed in the way of gzip, with the values
 * "contentions/count" and "delay/nanoseconds", and the labels "priority", "waiter" and "name". `go tool pprof` shows
 * the file. A function has its name where its file has symbols, a Swift function as its source has it; of others there
 * are the address and the file's build id. `span_ns` is the time in which the entries were counted; 0: it is not said.
 * Returns 0, ENOMEM, or what `print` returned. It reads files, and allocates: call it where that may take its time.
 * `print` is called with cancellation disabled. */
CSK_API int csk_profile_print_pprof(const csk_profile_entry_t *entries, size_t count, uint32_t side, int64_t span_ns,
                                    csk_print_t print, void *context);
/* Prints folded stacks, a line for each, as csk_profile_print_pprof does: functions from the outermost to the innermost
 * with semicolons in between, a blank, and the delay in nanoseconds. flamegraph.pl and speedscope read it. */
CSK_API int csk_profile_print_folded(const csk_profile_entry_t *entries, size_t count, uint32_t side, csk_print_t print,
                                     void *context);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_profile_entry_t) == 48, "csk_profile_entry_t is part of the ABI");

#endif
