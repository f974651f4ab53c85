/* kernel_order.c: the kernel's order.c with small tables, and lists in the memory of one schedule. */
#include "order_explored.h"

#include <stdlib.h>

#include "arena.h"

#define calloc(count, size) arena_allocate((count) * (size))
#define free(memory) arena_free(memory)
#include "observe/order.c"

#include "internal.h"

void kernel_reset_order(void) { is_on = 0; }
