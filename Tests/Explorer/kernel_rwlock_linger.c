/* kernel_rwlock_linger.c: the kernel's rwlock_linger.c and the way back to its first state. */
#include "internal.h"

#include <string.h>

/* A worker whose first spinning was in vain spins every other time. */
#define CSK_SPIN_LIMITS
enum { CSK_SPIN_VAIN = 1, CSK_SPIN_SKIPS = 2 };
#include "readwrite/rwlock_linger.c"

void kernel_reset_linger(void) { memset(places, 0, sizeof places); }
