/* platform.h: what the kernel asks of the machine and the operating system: atomics, park and wake on a 32-bit word,
 * the clock, membarrier, thread identity, thread start. Apart from pqueue, which is the classical pthread construction,
 * this is the only header that knows futex and pthread. A second implementation of it can drive the same sources
 * schedule by schedule.
 *
 * Atomic accesses go through the macros below, which name the order at each use. */
#ifndef CSK_INTERNAL_PLATFORM_H
#define CSK_INTERNAL_PLATFORM_H

#include <pthread.h>

#include "csynckernel/base.h"

#define CSK_RELAXED __ATOMIC_RELAXED
#define CSK_ACQUIRE __ATOMIC_ACQUIRE
#define CSK_RELEASE __ATOMIC_RELEASE
#define CSK_ACQ_REL __ATOMIC_ACQ_REL
#define CSK_SEQ_CST __ATOMIC_SEQ_CST

#define csk_load(address, order) __atomic_load_n((address), (order))
#define csk_store(address, value, order) __atomic_store_n((address), (value), (order))
#define csk_exchange(address, value, order) __atomic_exchange_n((address), (value), (order))
#define csk_fetch_or(address, value, order) __atomic_fetch_or((address), (value), (order))
#define csk_fetch_and(address, value, order) __atomic_fetch_and((address), (value), (order))
#define csk_fetch_add(address, value, order) __atomic_fetch_add((address), (value), (order))
/* Strong compare-and-swap; on failure *expected holds what was found. */
#define csk_cas(address, expected, desired, success_order) \
    __atomic_compare_exchange_n((address), (expected), (desired), 0, (success_order), __ATOMIC_RELAXED)

/* GCC and clang say differently which sanitizer a build is for. */
#ifdef __has_feature
#define CSK_HAS_FEATURE(feature) __has_feature(feature)
#else
#define CSK_HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || CSK_HAS_FEATURE(thread_sanitizer)
#define CSK_UNDER_TSAN 1
#else
#define CSK_UNDER_TSAN 0
#endif
#if defined(__SANITIZE_ADDRESS__) || CSK_HAS_FEATURE(address_sanitizer)
#define CSK_UNDER_ASAN 1
#else
#define CSK_UNDER_ASAN 0
#endif

/* Goes around a call that has no reason to fail where it stands, since what it may need was prepared before. */
static inline void csk_cannot_fail(int status) { (void)status; }

static inline void csk_platform_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("isb" ::: "memory");
#endif
}

/* These two go around functions of users that are called where a cancelled thread would leave something half done. */
static inline int csk_platform_keep_thread(void) {
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}
static inline void csk_platform_let_thread_go(int before) { pthread_setcancelstate(before, NULL); }

int64_t csk_platform_now(void);

/* Called after each look for a step that another thread makes with its next instructions. That thread does not report
 * the step, so that it pays nothing for the waiters. `looks` counts from 0. The other thread may have lost its
 * processor in between, to the very thread that waits. Under SCHED_FIFO a yield would never give the processor to a
 * thread of lower priority. So after a few looks this sleeps between them. */
void csk_platform_await_step(uint32_t looks);

/* Gives the processor to another thread that could run, if there is one. */
void csk_platform_yield(void);

/* Sleeps while *word == expected, until a wake, a signal or the deadline (CSK_NEVER: none). May return spuriously. A
 * deadline is not missed by the thread's timer slack. Returns ETIMEDOUT only once the deadline has passed. */
int csk_platform_park(uint32_t *word, uint32_t expected, int64_t deadline_ns);
/* These two go around one timed wait of the calling thread by whatever call of the system: it waits until `until_ns`,
 * which may be too early by the thread's timer slack, and then once more if the deadline has not come. `now_ns` is read
 * after a wait that its time has ended, and otherwise 0. */
typedef struct {
    int64_t deadline_ns, until_ns;
    int32_t slack_ns; /* to be set again; 0: it was not touched */
} csk_timed_wait_t;
csk_timed_wait_t csk_platform_begin_timed(int64_t deadline_ns);
void csk_platform_end_timed(const csk_timed_wait_t *wait, int64_t now_ns);
/* The same for a wait without a deadline that returns now and then all the same: some time after `look_ns`, as late as
 * the thread's own timer slack makes it. */
void csk_platform_park_to_look(uint32_t *word, uint32_t expected, int64_t look_ns);
/* Wakes at most `count` threads that are parked on the address. Only the address is used: the memory behind it may be
 * gone. */
void csk_platform_wake(uint32_t *word, int count);

/* Returns whether this process may use csk_platform_membarrier. That is decided at the first call, and stays the same
 * for the rest of the process. */
bool csk_platform_has_membarrier(void);
/* On return every other thread of the process has executed a full memory fence since the call. If the system goes on
 * refusing that, the calling thread visits all processors instead; where that is refused too, the process ends with a
 * message. */
void csk_platform_membarrier(void);
/* Whether csk_avoid_membarrier has decided that. */
bool csk_platform_avoids_membarrier(void);
/* The same by a visit of all processors, which takes some 10 us for each and its turn there. False: it is refused. */
bool csk_platform_visit_processors(void);

/* Starts a detached thread, and doesn't wait for it to run. On that thread the signals that a crash raises and SIGPROF
 * are open, all others are blocked, and there is an alternate stack for signals. It has the affinity, the class and the
 * niceness that stood when the library was loaded, and a timer slack of 1 ns. The caller keeps `name` valid for good.
 * Returns 0, EAGAIN, ENOMEM, or EINVAL for a stack size that the system refuses; 0 means the system's own size. */
int csk_platform_start_thread(void (*body)(void *), void *context, const char *name);
int csk_platform_start_sized_thread(void (*body)(void *), void *context, const char *name, size_t stack_size);

/* A thread of the library's that lasts. Where a function that its body calls ends the thread, by pthread_exit or at a
 * cancellation point after it was cancelled, another one takes its place. It is described by a constant. */
typedef struct csk_lasting_thread {
    void (*body)(void *unused);
    const char *name;
    void (*mend)(void); /* NULL or: called first, on the thread that ends. Ends what the function was part of, and calls
                            no functions of users */
    void (*leave)(void); /* NULL or: called there once the other thread was started. May call functions of users */
} csk_lasting_thread_t;
/* Starts it as csk_platform_start_thread does. */
int csk_platform_start_lasting_thread(const csk_lasting_thread_t *thread);
/* Called there as well, before `leave`. Set when the library is loaded. */
extern void (*csk_platform_replaced)(const char *name);

/* Called on a thread that starts and is not permitted that class or niceness. `error` says why. Set when the library is
 * loaded. */
extern void (*csk_platform_held_back)(int error);

/* Reads at most `size` bytes of a file. Returns how many it read, or an errno value below 0. It is no cancellation
 * point, and leaves errno alone. */
long csk_platform_read_file(const char *path, char *text, size_t size);
/* Gives the calling thread a table of descriptors of its own, in which nothing is open. False: the system refuses it,
 * and nothing has changed. */
bool csk_platform_have_own_descriptors(void);

/* The system's number for the calling thread. */
int32_t csk_platform_thread_id(void);

/* What the system says about that thread of this process. SLEEPS: it sleeps, waits for a device, or was stopped.
 * UNKNOWN: the system says nothing. Takes some 10 us; where the process has no descriptor left, some 30, and up to 10
 * ms where the processors are busy. */
typedef enum { CSK_THREAD_UNKNOWN, CSK_THREAD_RUNS, CSK_THREAD_SLEEPS } csk_thread_state_t;
csk_thread_state_t csk_platform_thread_state(int32_t thread_id);

/* The processor time of that thread, and of all threads except the calling one, in nanoseconds; -1 where the system
 * does not say. They need no descriptor. */
int64_t csk_platform_thread_time(int32_t thread_id);
int64_t csk_platform_time_of_others(void);

/* How many processors the process may use: the affinity at the library's load allows them, and the quota of the
 * process's cgroups gives them. At least 1. Reads files. */
typedef struct {
    uint32_t count;
    bool throttled; /* all threads may stand still at once: there is a quota, or it is not known that there is none */
} csk_processors_t;
csk_processors_t csk_platform_processors(void);

/* Has `function` called with some argument when the calling thread ends. That is good for one call, also when it is
 * asked for from within that call. Every call in the process must give the same function. Returns 0, ENOMEM, or EAGAIN
 * when the process has no pthread key left. */
int csk_platform_call_at_thread_end(void (*function)(void *));

/* Returns a number for the calling thread, in the form of csk_thread_number. No number is given twice. */
uint64_t csk_platform_new_thread_number(void);

/* True means that no thread of this process has had this thread pointer, or this number, for as long as the call took.
 * False means that one has, or that the system does not say. Allocates nothing; makes O(threads) system calls. */
bool csk_platform_thread_has_ended(uint64_t identity);

/* For each identity, a thread pointer or a number, the system's number of the thread that has it, or 0 where none was
 * found. Allocates nothing; makes O(threads) system calls. */
void csk_platform_find_threads(const uint64_t *identities, int32_t *thread_ids, int count);

/* Writes the name of that thread of this process, at most `size` - 1 bytes and a zero; an empty one where the system
 * does not say. */
void csk_platform_thread_name(int32_t thread_id, char *name, size_t size);

/* Makes one write to the standard error stream. That is no cancellation point, and raises no SIGPIPE where the stream
 * has no reader any more. */
void csk_platform_write_error(const char *text, size_t length);

/* Has the functions called at each fork: before it, and after it in the parent and in the child. Returns 0 or ENOMEM.
 * Only fork.c calls it. */
int csk_platform_call_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

#endif
