/* rcu.h (internal): what rcu.c provides to rcu_reclaim.c. Each part of RCU knows only the parts above it in this list:
 *
 *   rcu_order.h    the fence, and what ThreadSanitizer must be told
 *   rcu_readers.c  the list of threads that read
 *   rcu_own.c      grace periods without liburcu: in a child of fork, and where the library is built without it
 *   rcu_liburcu.c  words of threads and grace periods by liburcu
 *   rcu.c          sections and threads; it chooses between the two
 *   rcu_watch.c    what is reported of a grace period that does not end
 *   rcu_reclaim.c  what is retired, the thread that reclaims it, barriers; fork
 *   snapshot.c, rcu_map.c */
#ifndef CSK_INTERNAL_RCU_H
#define CSK_INTERNAL_RCU_H

#include "csynckernel/rcu.h"

/* Waits until every section that had begun before the call has ended. Only the reclaiming thread calls it, outside of
 * sections. */
void csk_rcu_grace_period(void);

/* Called when the library is loaded. */
void csk_rcu_sections_prepare(void);

/* Called before and after a fork. */
void csk_rcu_sections_before_fork(void);
void csk_rcu_sections_after_fork_in_parent(void);
void csk_rcu_sections_after_fork_in_child(void);

#endif
