/* rcu_explored.h: the kernel's rcu.c, rcu_own.c and rcu_reclaim.c under names of their own, beside the model in
 * rcu_model.c that the hash table's clients have: sections, and how retired objects are reclaimed, without liburcu. */
#ifndef EXPLORER_RCU_EXPLORED_H
#define EXPLORER_RCU_EXPLORED_H

#define csk_rcu_levels explored_rcu_levels
#define csk_rcu_period explored_rcu_period
#define csk_rcu_is_reading explored_rcu_is_reading
#define csk_rcu_read_lock_slow explored_rcu_read_lock_slow
#define csk_rcu_read_unlock_slow explored_rcu_read_unlock_slow
#define csk_rcu_retire explored_rcu_retire
#define csk_rcu_retire_always explored_rcu_retire_always
#define csk_rcu_prepare explored_rcu_prepare
#define csk_rcu_pending explored_rcu_pending
#define csk_rcu_set_limit explored_rcu_set_limit
#define csk_rcu_barrier explored_rcu_barrier
#define csk_rcu_next_step explored_rcu_next_step
#define csk_rcu_end_steps explored_rcu_end_steps
#define csk_rcu_report_after explored_rcu_report_after

#include "rcu/rcu.h"
#include "rcu/rcu_order.h"
#include "rcu/rcu_reclaim.h"

/* They begin and end a level. The second wakes a grace period. */
void explored_read_begin(void);
void explored_read_end(void);
void explored_somebody_leaves(void);

/* Whether no thread is in the list of those that read. */
bool explored_nobody_reads(void);

/* Who finds no room waits for as long as there is none, so that a lost wake-up shows. */
void explored_wait_long_for_room(void);
/* The worker gathers until somebody hurries. */
void explored_gather_for_long(void);

/* A fork holds the list of readers, and a child begins it anew. Without this call it does not, which would
 * only make the schedules of other clients longer. */
void explored_forks_readers(void);

/* What a child would have of a fork at this step, while the lock is held: `look` is called with its state, which then
 * is the parent's again. */
void explored_fork(void (*look)(void));
/* In `look`: how often the node is in a list of the child, and whether its function was running; what csk_rcu_pending
 * would say. */
int explored_places(const csk_rcu_node_t *node);
bool explored_is_lost(const csk_rcu_node_t *node);
int explored_pending(void);

#endif
