/* rcu_reclaim.h: objects that are reclaimed in parts, for rcu_map.c. */
#ifndef CSK_INTERNAL_RCU_RECLAIM_H
#define CSK_INTERNAL_RCU_RECLAIM_H

#include "csynckernel/rcu.h"

/* An object that is reclaimed in steps, so that nodes that others have retired have their turn in between. A barrier
 * waits for all steps. */
typedef struct csk_rcu_steps {
    csk_rcu_node_t node; /* retired by csk_rcu_retire_always for the first step */
    struct csk_rcu_steps *older;
    uint64_t number; /* 0 before the second step is asked for */
} csk_rcu_steps_t;

/* Called in a reclaiming function. function(&steps->node) will be called once more, behind what is retired already. */
void csk_rcu_next_step(csk_rcu_steps_t *steps, csk_rcu_function_t function);
/* Called after the last step. */
void csk_rcu_end_steps(csk_rcu_steps_t *steps);

#endif
