/* kernel_rcu.c: the kernel's rcu.c, as it is without liburcu. A thread's word is not in its thread-local memory, which
 * other fibers can't read. Sections are calls: the inline functions read the word plainly, past the thread's store
 * buffer. Where no thread reads, a grace period has no fence, as liburcu's has none. */
#define CSK_WITHOUT_LIBURCU 1
#include "rcu_explored.h"

#include "explorer.h"
#include "internal.h"
#include "rcu/rcu_own.h"
#include "thread/thread_exit.h"

enum { FIBERS = 32 };
static csk_rcu_reader_t readers[FIBERS];

static csk_rcu_reader_t *reader(void) { return &readers[explore_thread() < 0 ? FIBERS - 1 : explore_thread()]; }

static void enter_outside(csk_rcu_reader_t *self) {
    csk_rcu_own_enter(reader());
    self->word = reader()->word;
}
static void leave_outside(csk_rcu_reader_t *self) {
    csk_rcu_own_leave(reader());
    self->word = NULL;
    explored_somebody_leaves();
}
static void begin_outside(csk_rcu_reader_t *self, unsigned long *word) {
    (void)self;
    csk_rcu_readers_begin_in_child(reader(), word);
}

#define csk_rcu_own_enter enter_outside
#define csk_rcu_own_leave leave_outside
#define csk_rcu_readers_begin_in_child begin_outside
#define csk_rcu_grace_period grace_period_beside_readers
#include "rcu/rcu.c"
#undef csk_rcu_grace_period

void csk_rcu_grace_period(void) {
    if (!explored_nobody_reads()) grace_period_beside_readers();
}

void kernel_reset_rcu(void) {
    for (int i = 0; i < FIBERS; i++) readers[i] = (csk_rcu_reader_t){ .word = NULL };
}

void explored_read_begin(void) { EXPECT_EQUAL(csk_rcu_read_lock_slow(), 0); }
void explored_read_end(void) {
    EXPECT_EQUAL(csk_rcu_read_unlock_slow(), 0);
    explored_somebody_leaves();
}
