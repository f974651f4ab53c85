/* base.h: status codes, deadlines, ranks, visibility, version.
 *
 * Every function of the kernel that can fail returns 0 or one of the error numbers of errno.h. None sets errno or any
 * other global variable, but that the allocator sets errno where it has no memory. A deadline is an absolute
 * CLOCK_MONOTONIC time in nanoseconds, so a step of the wall clock changes nothing.
 *
 * Arguments stand in one order: the object; second, the priority or the rank; what is given to the object (a waiter, an
 * item, a predicate with its context), or where to store what it gives; in what way (a mode, a number of permits); the
 * deadline; and last the function that is called, with its context. One call gives two things,
 * csk_workqueue_submit_when_room: what belongs to the work stands before the wait.
 *
 * Attributes and views begin with a member `size`, so that a later version may have more members at their ends. It is
 * sizeof of the struct, or 0, which stands for the size in version 0.1. A size that the library does not know is
 * EINVAL. An attribute that is 0 has its default.
 *
 * Some errors say the same everywhere. ETIMEDOUT: the deadline passed first. EBUSY: the call would have to wait and may
 * not, or what it would use, end or set up is in use. ENOENT: too late, since what a call would cancel, raise or take
 * out does not wait any more, or never did. EDEADLK: the thread would wait for itself. EPERM: the caller does not hold
 * it, or has not begun what it would end. ESHUTDOWN: it was closed. EAGAIN or ENOMEM: the system gives no thread or no
 * memory, or a count is at its limit. EAGAIN also says that a grant was taken back (csk_gate_adopt), or that a checker
 * was never started (order.h).
 *
 * Where its header does not say otherwise, a function may be called from any thread at any time. But what makes or ends
 * an object needs it for itself.
 *
 * pthread_cancel. No function of the library is a cancellation point. A thread that is cancelled while it waits in one
 * waits on, returns as if it had not been cancelled, and ends at its next cancellation point. Observers, reporters, and
 * the functions that run while their thread stands in a queue are called with cancellation disabled. Other functions
 * that the library calls have cancellation as their thread has it. Where such a function ends its thread, what it was
 * part of stays unfinished, unless the header of its module says otherwise. If that thread is the library's own, which
 * runs timers, reclaims, watches for deadlocks or serves views, another one takes its place, and that is reported
 * (CSK_EVENT_THREAD_ENDED_BY_WORK in observe.h). It is ILLEGAL to call the library with the asynchronous cancel type
 * (PTHREAD_CANCEL_ASYNCHRONOUS).
 *
 * fork. A child may call what this header declares.
 *
 * Example: a wait of 2 ms at most, and what became of it.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *         static csk_gate_t gate = CSK_GATE_INITIALIZER;
 *         int64_t deadline = csk_deadline_after(csk_ms(2));
 *         csk_rank_t rank = csk_rank(10, CSK_PLACE_FRONT);
 *         int status = csk_gate_lock_ranked(&gate, rank, deadline);
 *         printf("%s with version %s\n", csk_status_text(status), csk_version());
 *         if (status != 0) return 1;
 *         csk_gate_unlock(&gate);
 *         return csk_now() > csk_deadline_after(csk_s(1));
 *     }
 */
#ifndef CSK_BASE_H
#define CSK_BASE_H

#if !defined(__linux__)
#error "CSyncKernel and SwiftSync run on Linux alone: they are built on its futex, membarrier and /proc"
#endif

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define CSK_BEGIN_DECLS extern "C" {
#define CSK_END_DECLS }
#define CSK_STATIC_ASSERT(condition, message) static_assert(condition, message)
#else
#define CSK_BEGIN_DECLS
#define CSK_END_DECLS
#define CSK_STATIC_ASSERT(condition, message) _Static_assert(condition, message)
#endif

#if defined(__GNUC__)
#define CSK_API __attribute__((visibility("default")))
/* Marks functions whose status says whether the caller has got what it asked for, and so whether what follows may be
 * done: entering, waiting and trying, adopting, queueing and starting, making what needs memory, taking a view, and
 * destroying a work queue, whose works may still run. Not marked are those that fail only after a mistake (making in
 * place, leaving, posting, destroying), those that say whether there was something to end (cancelling, raising), waits
 * for a signal, after which the program looks for itself, and those without which it does the same: names, marks, and
 * whatever watches. Swift code says so itself where it ignores such a status. SHOULD_USE is for a call that fails only
 * after a mistake, or where the program closes the object: a cast to void tells GCC too that the status is not
 * needed. */
#if defined(__swift__)
#define CSK_MUST_USE
#else
#define CSK_MUST_USE __attribute__((warn_unused_result))
#endif
#if !defined(__clang__) && __GNUC__ >= 10
#define CSK_SHOULD_USE __extension__ [[nodiscard]]
#else
#define CSK_SHOULD_USE CSK_MUST_USE
#endif
#define CSK_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define CSK_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#else
#error "CSyncKernel needs the __atomic builtins and attributes of GCC or Clang"
#endif

/* For the inline functions: the thread pointer. GCC before 11 has no builtin function for it on x86-64, nor has Clang
 * before 14. */
#if defined(__has_builtin)
#define CSK_HAS_BUILTIN(name) __has_builtin(name)
#else
#define CSK_HAS_BUILTIN(name) 1
#endif
#if defined(__x86_64__) && (defined(CSK_WITHOUT_THREAD_POINTER_BUILTIN) || (!defined(__clang__) && __GNUC__ < 11) || \
                            !CSK_HAS_BUILTIN(__builtin_thread_pointer))
static inline void *csk_thread_pointer(void) {
    void *pointer;
    __asm__("movq %%fs:0, %0" : "=r"(pointer));
    return pointer;
}
#define CSK_THREAD_POINTER() csk_thread_pointer()
#else
#define CSK_THREAD_POINTER() __builtin_thread_pointer()
#endif

/* Keeps what a section did before the store that ends it. The store's release order keeps memory accesses there. To
 * Swift's optimizer a retain is no memory access: it moves one behind plain and atomic stores, and not behind this.
 * Else a value that leaves the section would be retained when another thread may have released it. It costs nothing. */
#define CSK_SECTION_ENDS() __asm__ volatile("" ::: "memory")

#if !defined(__LP64__)
#error "CSyncKernel packs a thread identity and flags into one 64-bit word and needs a 64-bit target"
#endif

#define CSK_VERSION_MAJOR 0
#define CSK_VERSION_MINOR 1
#define CSK_VERSION_PATCH 0

CSK_BEGIN_DECLS

/* The identity of the calling thread in plain gates: its thread pointer, whose low four bits are zero. Another thread
 * may have the same one once this thread has ended. */
static inline uint64_t csk_self(void) { return (uint64_t)(uintptr_t)CSK_THREAD_POINTER(); }

/* The identity of the calling thread in mutexes and recursive gates: a number that no other thread of the process ever
 * has, with bit 63 set and the low four bits zero. It is CSK_THREAD_UNNUMBERED until the thread first needs a
 * number. */
#define CSK_THREAD_UNNUMBERED UINT64_C(32)
CSK_API extern __thread uint64_t csk_thread_number __attribute__((tls_model("initial-exec")));

/* The version of the library that the program is linked with, for example "0.1.0". It may differ from the header's
 * version. Never blocks. */
CSK_API const char *csk_version(void);

/* A deadline that never comes. */
static const int64_t CSK_NEVER = INT64_MAX;

/* For the inline functions only: `count` units, as far as INT64_MIN and INT64_MAX. */
static inline int64_t csk_span(int64_t count, int64_t unit_ns) {
    int64_t span_ns;
    if (CSK_LIKELY(!__builtin_mul_overflow(count, unit_ns, &span_ns))) return span_ns;
    return count < 0 ? INT64_MIN : INT64_MAX;
}

/* So many microseconds, milliseconds or seconds, in nanoseconds, as in csk_deadline_after(csk_ms(5)). What is too long
 * for that is INT64_MAX, from which csk_deadline_after makes CSK_NEVER. */
static inline int64_t csk_us(int64_t microseconds) { return csk_span(microseconds, 1000); }
static inline int64_t csk_ms(int64_t milliseconds) { return csk_span(milliseconds, 1000000); }
static inline int64_t csk_s(int64_t seconds) { return csk_span(seconds, 1000000000); }

/* The deadline that is `nanoseconds` from now, or CSK_NEVER where the sum would be too large. A negative span gives a
 * deadline that has passed. Never blocks; may be called from a signal handler. */
CSK_API int64_t csk_deadline_after(int64_t nanoseconds);

/* The time of CLOCK_MONOTONIC now, in nanoseconds. Never blocks; may be called from a signal handler. */
CSK_API int64_t csk_now(void);

/* The system's number for the calling thread, by one system call each time. Never blocks; may be called from a signal
 * handler. */
CSK_API int32_t csk_thread_id(void);

/* Has the process do without the system call membarrier, for one whose sandbox refuses it later: it calls this before
 * it uses anything else of the library, and of liburcu. From then on FAST gates have the one-word form, with a second
 * locked instruction; read-write locks have no bias; and read sections are calls, with fences. Returns 0; or EBUSY
 * where something that counts on membarrier was used already: then nothing changes. Never blocks. */
CSK_API int csk_avoid_membarrier(void);

/* One line of text for a status that a csk_ function returned, for example "timed out". The string is static, and never
 * NULL. */
CSK_API const char *csk_status_text(int status);

/* Takes what a function prints, piece by piece. Returns 0, or an errno value, which ends the printing. */
typedef int (*csk_print_t)(void *context, const void *bytes, size_t size);

/* Where a waiter stands inside its priority class. */
enum {
    CSK_PLACE_LAST = 0,  /* after every other waiter of the class, and among themselves by arrival */
    CSK_PLACE_BACK = 1,  /* by arrival; this is what a plain priority means */
    CSK_PLACE_FRONT = 2, /* before every other waiter of the class; the last to arrive stands first */
    /* As BACK, for an unnamed priority: such a waiter is not overtaken for ever (arrivals.h). Gates, semaphores and
     * work queues take it. Condition variables and the calls that raise a waiter refuse it (EINVAL). */
    CSK_PLACE_UNNAMED = 3
};

/* The order of waiters: a higher rank is granted first. Ranks order by priority, then by place.
 *
 * Some functions take a priority, others a rank, as their declarations say. Both are numbers, so no compiler reports
 * one in place of the other: a priority of 10, passed as a rank, is csk_rank(2, CSK_PLACE_FRONT). */
typedef int64_t csk_rank_t;

/* Makes a rank. The priority is any number. It orders waiters, and changes nothing in how the system schedules
 * threads. */
static inline csk_rank_t csk_rank(int32_t priority, int place) { return (csk_rank_t)priority * 4 + place; }
/* Returns true for a rank of CSK_PLACE_UNNAMED. */
static inline bool csk_rank_is_unnamed(csk_rank_t rank) { return (rank & 3) == CSK_PLACE_UNNAMED; }
/* The rank by which it is ordered: that of BACK for UNNAMED. */
static inline csk_rank_t csk_rank_in_order(csk_rank_t rank) {
    return csk_rank_is_unnamed(rank) ? rank - (CSK_PLACE_UNNAMED - CSK_PLACE_BACK) : rank;
}

CSK_END_DECLS

#endif
