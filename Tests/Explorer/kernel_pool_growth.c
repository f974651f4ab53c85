/* kernel_pool_growth.c: the kernel's pool_growth.c, whose supervisor does not look again and again while nobody has
 * woken it: see kernel_pool.c. */
#include "base/platform.h"
#include "internal.h"

#define csk_platform_park kernel_park_counted
#include "pool/pool_growth.c"
