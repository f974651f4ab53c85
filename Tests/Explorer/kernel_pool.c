/* kernel_pool.c: the kernel's pool.c and the way back to its first state, with no more workers than there are fibers: none of them ends, and
 * nobody looks again in vain. */
#include "pool.c"

#include "internal.h"

void kernel_reset_pool(void) {
    pool = (__typeof__(pool)){ .most = 5, .idle_ns = INT64_MAX, .resigned_ns = INT64_MAX };
    csk_pool_process = (struct csk_pool_process){ .epoch = 1 };
}
