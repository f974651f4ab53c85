#include "bench_support.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <time.h>

static int64_t allocations;

int64_t bench_allocations(void) { return __atomic_load_n(&allocations, __ATOMIC_RELAXED); }

int64_t bench_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void bench_sleep(int64_t nanoseconds) {
    struct timespec span = { nanoseconds / 1000000000, nanoseconds % 1000000000 };
    nanosleep(&span, NULL);
}

void bench_yield(void) { sched_yield(); }

/* glibc's own entries, behind which its allocator stands whoever interposes the public ones. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static void count(void) { __atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED); }

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}
void *calloc(size_t number, size_t size) {
    count();
    return __libc_calloc(number, size);
}
void *realloc(void *old, size_t size) {
    count();
    return __libc_realloc(old, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}
int posix_memalign(void **result, size_t alignment, size_t size) {
    count();
    *result = __libc_memalign(alignment, size);
    return *result == NULL ? ENOMEM : 0;
}
