/* kernel_watch.c: the kernel's watch.c, and the way back to its first state. */
#include "wait/watch.c"

#include "internal.h"

void kernel_reset_watch(void) {
    next_turn_ns = turn_ns = 0;
    turns_of = 0;
}
