/* rcu_watch.h: says so when a grace period does not end. */
#ifndef CSK_INTERNAL_RCU_WATCH_H
#define CSK_INTERNAL_RCU_WATCH_H

#include "csynckernel/rcu.h"

/* Called by the reclaiming thread before and after each of its grace periods. */
void csk_rcu_watch_begin(void);
void csk_rcu_watch_end(void);
/* Called in a child of fork: no grace period is under way there, and no watch is on yet. */
void csk_rcu_watch_after_fork_in_child(void);

/* csk_rcu_pending. Set when the library is loaded. */
extern uint64_t (*csk_rcu_watch_pending)(void);

#endif
