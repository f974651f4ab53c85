/* bench_support.h: work that the optimizer can't remove, a count of allocations, and the monotonic clock. */
#ifndef BENCH_SUPPORT_H
#define BENCH_SUPPORT_H

#include <stdint.h>

static inline void bench_busy(long turns) {
    unsigned long x = (unsigned long)turns;
    for (long i = 0; i < turns; i++) {
        x = x * 3 + 1;
        __asm__ volatile("" : "+r"(x));
    }
}

/* No instruction, but the optimizer doesn't know that. */
static inline void bench_nothing(void) { __asm__ volatile(""); }

/* Allocations of the whole process so far, by malloc, calloc, realloc and the aligned forms. */
int64_t bench_allocations(void);

int64_t bench_now_ns(void);

void bench_sleep(int64_t nanoseconds) __attribute__((swift_name("bench_sleep(nanoseconds:)")));

/* Read sections of liburcu, each with one read of *value inside; their sum. */
long bench_urcu_reads(long times, const long *value);

/* Lets other threads run. */
void bench_yield(void);

#endif
