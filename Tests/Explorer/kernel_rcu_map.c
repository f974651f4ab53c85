/* kernel_rcu_map.c: the kernel's rcu_map.c with small tables in the memory of one schedule. */
#include <stdlib.h>

#include "arena.h"

#define calloc(count, size) arena_allocate((count) * (size))
#define aligned_alloc(alignment, size) arena_allocate(size)
#define free(memory) arena_free(memory)
#include "rcu/rcu_map.c"

__attribute__((constructor)) static void make_tables_small(void) { fewest_slots = 4; }
