/* kernel_rcu_own.c: the kernel's rcu_own.c, and the way back to its first state. A grace period that sleeps between two
 * looks wakes when a thread has left a section: nothing else can make a look come out otherwise. */
#include "rcu_explored.h"

#include "explorer.h"
#include "internal.h"

static int park_until_somebody_leaves(uint32_t *word, uint32_t expected, int64_t deadline_ns);
#define csk_platform_park park_until_somebody_leaves
#include "rcu/rcu_own.c"

static uint32_t leaves, leaves_seen;

EXPLORE_UNSEEN static int park_until_somebody_leaves(uint32_t *word, uint32_t expected, int64_t deadline_ns) {
    (void)word, (void)expected, (void)deadline_ns;
    explore_wait(&leaves, leaves_seen + 1);
    leaves_seen = leaves;
    return ETIMEDOUT;
}
EXPLORE_UNSEEN void explored_somebody_leaves(void) { explore_set(&leaves, leaves + 1); }

void kernel_reset_rcu_own(void) {
    csk_rcu_own_period.phase = 1;
    leaves = leaves_seen = 0;
    busy_looks = 0;
}
