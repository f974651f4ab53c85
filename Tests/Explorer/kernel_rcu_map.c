/* kernel_rcu_map.c: the kernel's rcu_map.c with small tables in the memory of one schedule. */
#include "explorer.h"

#include <stdlib.h>

#include "internal.h"

/* What is freed must be known by its size. */
static void *allocate(size_t size) {
    size_t *memory = explore_allocate(64 + size);
    *memory = size;
    return (char *)memory + 64;
}

static void release(void *memory) {
    if (memory != NULL) explore_free(memory, *(size_t *)((char *)memory - 64));
}

#define calloc(count, size) allocate((count) * (size))
#define aligned_alloc(alignment, size) allocate(size)
#define free(memory) release(memory)
#include "rcu_map.c"

__attribute__((constructor)) static void make_tables_small(void) { fewest_slots = 4; }
