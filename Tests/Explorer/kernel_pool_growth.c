/* kernel_pool_growth.c: the kernel's pool_growth.c, whose supervisor does not look again and again while nobody has
 * woken it: see kernel_pool.c. */
#include "base/platform.h"
#include "internal.h"

/* Threads of the explorer have stacks of one size. */
#define csk_platform_start_sized_thread(body, context, name, stack_size) csk_platform_start_thread(body, context, name)
#define csk_platform_park kernel_park_counted
#include "pool/pool_growth.c"
