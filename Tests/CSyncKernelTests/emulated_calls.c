/* emulated_calls.c: see emulated_calls.h. qemu 7.2 has neither get_robust_list nor process_vm_readv, nor filters, nor
 * memory that a fork wipes.
 *
 * A robust list is given by where it would stand: at one distance from each thread's pointer. A thread notes its own
 * when it begins (the linker sends pthread_create here). The system still says which threads there are, since threads
 * of the program are threads of the system. It names a thread of the emulator, too, which is given a list of zeros. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "emulated_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#if !defined(__aarch64__)
#error "name the instruction of a system call"
#endif

enum { THREADS = 4096, REFUSALS = 8, WIPED = 8, ARGUMENTS = 6, MOST_READ = 4096, DISTANCE = 512 };

typedef struct {
    long thread_id; /* 0: nobody; -1: of a thread that begins */
    uintptr_t pointer;
    void *(*body)(void *);
    void *context;
    bool counted; /* in `starting` */
} noted_t;
static noted_t threads[THREADS];
static uintptr_t zeros[2 * MOST_READ]; /* of a thread that is not the program's, a list is in the middle */

static struct {
    long call;
    int error;
    long (*answer)(long argument);
} refusals[REFUSALS];
static int refusal_count;

/* The result, or a negative error. */
static long make_call(long number, const long *argument) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = argument[0];
    register long x1 __asm__("x1") = argument[1];
    register long x2 __asm__("x2") = argument[2];
    register long x3 __asm__("x3") = argument[3];
    register long x4 __asm__("x4") = argument[4];
    register long x5 __asm__("x5") = argument[5];
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}

static long call(long number, long first, long second, long third) {
    return make_call(number, (long[ARGUMENTS]){ first, second, third });
}

/* ---- Memory that a child finds empty ----------------------------------------------------------------------------- */

static struct {
    void *begin;
    size_t size;
} wiped[WIPED];
static int wiped_count;

int __real_madvise(void *begin, size_t size, int advice);
int __wrap_madvise(void *begin, size_t size, int advice);
int __wrap_madvise(void *begin, size_t size, int advice) {
    if (advice != MADV_WIPEONFORK) return __real_madvise(begin, size, advice);
    if (wiped_count == WIPED) abort();
    wiped[wiped_count].begin = begin;
    wiped[wiped_count++].size = size;
    return 0;
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static bool is_there(long thread_id) { return call(SYS_tgkill, call(SYS_getpid, 0, 0, 0), thread_id, 0) == 0; }

/* A place that nobody has, or whose thread has ended. */
static noted_t *new_place(void) {
    for (;;)
        for (int i = 0; i < THREADS; i++) {
            long found = __atomic_load_n(&threads[i].thread_id, __ATOMIC_ACQUIRE);
            if (found == -1 || (found != 0 && is_there(found))) continue;
            if (__atomic_compare_exchange_n(&threads[i].thread_id, &found, -1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
                return &threads[i];
        }
}

static void note_this(noted_t *place) {
    place->pointer = (uintptr_t)__builtin_thread_pointer();
    __atomic_store_n(&place->thread_id, call(SYS_gettid, 0, 0, 0), __ATOMIC_RELEASE);
}

/* qemu 7.2 starts a thread under a lock of its own (clone_lock), which a fork by another thread leaves locked in the
 * child: who starts a thread there waits for good. So nobody forks here while a thread is being started, until it runs:
 * by then that lock is free. */
enum { FORKS = 1 };
static uint32_t starting;        /* FORKS, and 2 for each thread that is being started */
static _Thread_local bool forks; /* functions that are called at a fork may start threads */

static void begin_start(void) {
    uint32_t seen = __atomic_load_n(&starting, __ATOMIC_RELAXED);
    do {
        while ((seen & FORKS) && !forks) {
            call(SYS_sched_yield, 0, 0, 0);
            seen = __atomic_load_n(&starting, __ATOMIC_RELAXED);
        }
    } while (!__atomic_compare_exchange_n(&starting, &seen, seen + 2, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
}
static void end_start(void) { __atomic_fetch_sub(&starting, 2, __ATOMIC_RELEASE); }

/* What the file of that pthread_create calls itself does not come by here. */
static bool is_noted(const void *context) {
    return (uintptr_t)context >= (uintptr_t)threads && (uintptr_t)context < (uintptr_t)(threads + THREADS);
}
void emulated_begin_start(void *context) {
    if (!is_noted(context)) return;
    ((noted_t *)context)->counted = true;
    begin_start();
}
void emulated_end_start(void *context) {
    noted_t *place = context;
    if (!is_noted(context)) return;
    if (place->counted) end_start();
    place->counted = false;
}

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __wrap_fork(void) {
    while (__atomic_fetch_or(&starting, FORKS, __ATOMIC_ACQUIRE) & FORKS) call(SYS_sched_yield, 0, 0, 0);
    while (__atomic_load_n(&starting, __ATOMIC_ACQUIRE) != FORKS) call(SYS_sched_yield, 0, 0, 0);
    forks = true;
    pid_t child = __real_fork();
    forks = false;
    __atomic_fetch_and(&starting, ~(uint32_t)FORKS, __ATOMIC_RELEASE);
    return child;
}

static void *begin_thread(void *context) {
    noted_t *place = context;
    emulated_end_start(place);
    void *(*body)(void *) = place->body;
    context = place->context;
    note_this(place);
    return body(context);
}

/* The program has a pthread_create of its own in front of the C library's, which may wait for a fork: see
 * emulated_begin_start. */
static bool has_its_own;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *context);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *context);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *context) {
    noted_t *place = new_place();
    place->body = body;
    place->context = context;
    if (!has_its_own) emulated_begin_start(place);
    int error = __real_pthread_create(thread, attributes, begin_thread, place);
    if (error == 0) return 0;
    emulated_end_start(place);
    __atomic_store_n(&place->thread_id, 0, __ATOMIC_RELEASE);
    return error;
}

static void begin_in_child(void) {
    for (int i = 0; i < wiped_count; i++) memset(wiped[i].begin, 0, wiped[i].size);
    memset(threads, 0, sizeof threads);
    note_this(&threads[0]);
}
__attribute__((constructor(101))) static void begin(void) {
    note_this(&threads[0]);
    has_its_own = (uintptr_t)dlsym(RTLD_NEXT, "pthread_create") != (uintptr_t)__real_pthread_create;
    pthread_atfork(NULL, NULL, begin_in_child);
}

static long find_list(long thread_id, uintptr_t *list) {
    if (thread_id == 0) thread_id = call(SYS_gettid, 0, 0, 0);
    if (!is_there(thread_id)) return -ESRCH;
    *list = (uintptr_t)&zeros[MOST_READ];
    for (int i = 0; i < THREADS; i++)
        if (__atomic_load_n(&threads[i].thread_id, __ATOMIC_ACQUIRE) == thread_id)
            *list = threads[i].pointer - DISTANCE;
    return 0;
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* The system refuses to write what is not there. */
static long read_memory(const struct iovec *to, const struct iovec *from) {
    int ends[2];
    if (from->iov_len > MOST_READ || to->iov_len < from->iov_len) return -EINVAL;
    long result = call(SYS_pipe2, (long)ends, 0, 0);
    if (result < 0) return result;
    result = call(SYS_write, ends[1], (long)from->iov_base, (long)from->iov_len);
    if (result > 0) result = call(SYS_read, ends[0], (long)to->iov_base, result);
    for (int i = 0; i < 2; i++) call(SYS_close, ends[i], 0, 0);
    return result;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

void emulated_refuse(long refused, int error) {
    refusals[refusal_count].call = refused;
    refusals[refusal_count++].error = error;
}
void emulated_answer(long answered, long (*answer)(long argument)) {
    refusals[refusal_count].call = answered;
    refusals[refusal_count++].answer = answer;
}

long emulated_pass(long passed, long argument) { return call(passed, argument, 0, 0); }

static long answer(long number, const long *argument) {
    for (int i = 0; i < refusal_count; i++)
        if (refusals[i].call == number)
            return refusals[i].answer != NULL ? refusals[i].answer(argument[0]) : -refusals[i].error;
    long result = make_call(number, argument);
    if (result != -ENOSYS) return result;
    if (number == SYS_get_robust_list) return find_list(argument[0], (uintptr_t *)argument[1]);
    if (number == SYS_process_vm_readv)
        return read_memory((const struct iovec *)argument[1], (const struct iovec *)argument[3]);
    return result;
}

long syscall(long number, ...) {
    long argument[ARGUMENTS];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < ARGUMENTS; i++) argument[i] = va_arg(arguments, long);
    va_end(arguments);
    long result = answer(number, argument);
    if (result >= 0 || result < -4095) return result;
    errno = (int)-result;
    return -1;
}
