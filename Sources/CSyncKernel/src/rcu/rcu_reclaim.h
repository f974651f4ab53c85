/* rcu_reclaim.h: what is retired in parts, for rcu_map.c. */
#ifndef CSK_INTERNAL_RCU_RECLAIM_H
#define CSK_INTERNAL_RCU_RECLAIM_H

#include "csynckernel/rcu.h"

/* Reclaiming in steps, so that what others have retired has its turn in between. A barrier waits for all steps. */
typedef struct csk_rcu_steps {
    csk_rcu_node_t node;          /* retired by csk_rcu_retire_always for the first step */
    struct csk_rcu_steps *older;
    uint64_t number;              /* 0 before the second step is asked for */
} csk_rcu_steps_t;

/* In a reclaiming function: has function(&steps->node) called once more, behind what is retired already. */
void csk_rcu_next_step(csk_rcu_steps_t *steps, csk_rcu_function_t function);
/* After the last step. */
void csk_rcu_end_steps(csk_rcu_steps_t *steps);

#endif
