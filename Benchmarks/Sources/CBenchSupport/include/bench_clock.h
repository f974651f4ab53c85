/* bench_clock.h: the clock and the calibrated work that both benchmark programs share, so that their sections last equally. */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in nanoseconds. */
static inline int64_t bench_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Work that takes time and touches no memory: each step needs the one before, so neither the compiler nor the processor can
 * shorten or overlap it. Sections are timed by it, since a clock call costs a quarter of a 100 ns section. */
static inline uint64_t bench_spin(uint64_t steps) {
    uint64_t state = steps;
    for (uint64_t step = 0; step < steps; step++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        __asm__ volatile("" : "+r"(state));
    }
    return state;
}

/* Nanoseconds per step of bench_spin. The least of many short runs: whatever disturbs a run only lengthens it. */
static inline double bench_step_ns(void) {
    enum { steps = 20000, runs = 200 };
    int64_t least = INT64_MAX;
    for (int run = 0; run < runs; run++) {
        int64_t begin = bench_now_ns();
        bench_spin(steps);
        int64_t took = bench_now_ns() - begin;
        if (took < least) least = took;
    }
    return (double)least / steps;
}

/* What a measured span of two clock calls contains of the clock itself, in nanoseconds. */
static inline int64_t bench_clock_cost_ns(void) {
    int64_t least = INT64_MAX;
    for (int run = 0; run < 10000; run++) {
        int64_t begin = bench_now_ns();
        int64_t took = bench_now_ns() - begin;
        if (took < least) least = took;
    }
    return least;
}

#endif
