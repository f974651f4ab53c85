/* kernel_pool.c: the kernel's pool.c and the way back to its first state. */
#include "pool.c"

#include "internal.h"

void kernel_reset_pool(void) { pool = (__typeof__(pool)){ 0 }; }
