#include "CCosts.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <valgrind/callgrind.h>

#include "bench_support.h"

static int64_t allocations;

void costs_begin(void) {
    allocations = bench_allocations();
    CALLGRIND_TOGGLE_COLLECT;
}

void costs_end(const char *name) {
    CALLGRIND_TOGGLE_COLLECT;
    int64_t made = bench_allocations() - allocations;
    CALLGRIND_DUMP_STATS_AT(name);
    printf("%s\t%lld\n", name, (long long)made);
    fflush(stdout);
}

#define NOPS(count) __asm__ volatile(".rept " #count "\n\tnop\n\t.endr")

__attribute__((noinline)) void costs_hundred(void) { NOPS(99); }
__attribute__((noinline)) void costs_one_more(void) { NOPS(100); }
__attribute__((noinline)) void costs_four_more(void) { NOPS(103); }
__attribute__((noinline)) void costs_allocate(void) {
    void *volatile made = malloc(16);
    free(made);
}
