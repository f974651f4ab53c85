/* kernel_rcu_readers.c: the kernel's rcu_readers.c, and the way back to its first state. A thread's id is 1 + its
 * index. */
#include "rcu_explored.h"

#include "explorer.h"
#include "internal.h"

static int32_t thread_id(void) { return explore_thread() + 1; }
#define csk_platform_thread_id thread_id
#include "rcu/rcu_readers.c"

void kernel_reset_rcu_readers(void) { readers = (__typeof__(readers)){ 0 }; }

bool explored_nobody_reads(void) {
    csk_queue_lock(&readers.lock);
    bool nobody = readers.first == NULL;
    csk_queue_unlock(&readers.lock);
    return nobody;
}
