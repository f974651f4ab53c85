/* kernel_rcu_watch.c: the kernel's rcu_watch.c, and the way back to its first state. Its clients call what the
 * reclaiming thread does; those of rcu_reclaim.c are not watched, which would only make their schedules longer. */
#include "rcu_explored.h"

#include "rcu/rcu_watch.c"

#include "internal.h"

void kernel_reset_rcu_watch(void) {
    watch = (__typeof__(watch)){ .after_ns = second_ns };
    memset(&seen, 0, sizeof seen);
    csk_rcu_watch_pending = NULL;
}
