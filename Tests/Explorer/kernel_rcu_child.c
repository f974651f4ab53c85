/* kernel_rcu_child.c: the kernel's rcu_child.c, with each fiber's reader, and sections as the inline functions have
 * them. A grace period that sleeps between two looks wakes when somebody has left a section: nothing else can make a
 * look come out otherwise. Where no thread has ever read, a grace period has no fence, as liburcu's has none. */
#include "rcu_explored.h"

#include "explorer.h"
#include "internal.h"

static int park_until_somebody_leaves(uint32_t *word, uint32_t expected, int64_t deadline_ns);
#define csk_platform_park park_until_somebody_leaves
#include "rcu/rcu_child.c"
#undef csk_platform_park

enum { FIBERS = 32 };
static csk_rcu_reader_t readers[FIBERS];
static uint32_t leaves, leaves_seen;

EXPLORE_UNSEEN static int park_until_somebody_leaves(uint32_t *word, uint32_t expected, int64_t deadline_ns) {
    (void)word, (void)expected, (void)deadline_ns;
    explore_wait(&leaves, leaves_seen + 1);
    leaves_seen = leaves;
    return ETIMEDOUT;
}

const csk_rcu_period_t *csk_rcu_period = &period;

void kernel_reset_rcu_child(void) {
    is_child = true;
    period.phase = 1;
    for (int i = 0; i < FIBERS; i++) readers[i] = (csk_rcu_reader_t){ .word = NULL };
    leaves = leaves_seen = 0;
    busy_looks = 0;
}

static csk_rcu_reader_t *reader(void) { return &readers[explore_thread() < 0 ? FIBERS - 1 : explore_thread()]; }

bool csk_rcu_is_reading(void) { return reader()->word != NULL && (uint32_t)*reader()->word != 0; }

void explored_read_begin(void) {
    csk_rcu_reader_t *self = reader();
    if (self->word == NULL) csk_rcu_child_enter(self);
    csk_rcu_begin_section(self->word);
    if (!csk_platform_has_membarrier()) csk_rcu_fence();
}

EXPLORE_UNSEEN void explored_read_end(void) {
    csk_rcu_end_level(reader()->word, 0);
    explore_set(&leaves, leaves + 1);
}

EXPLORE_UNSEEN void explored_reader_ends(void) {
    csk_rcu_child_leave(reader());
    explore_set(&leaves, leaves + 1);
}

void csk_rcu_grace_period(void) {
    if (!explored_nobody_reads()) csk_rcu_child_grace_period(csk_platform_has_membarrier());
}
