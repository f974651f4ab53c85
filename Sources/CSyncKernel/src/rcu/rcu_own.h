/* rcu_own.h: sections and grace periods without liburcu, for rcu.c. */
#ifndef CSK_INTERNAL_RCU_OWN_H
#define CSK_INTERNAL_RCU_OWN_H

#include "rcu/rcu_readers.h"

/* The phase in which sections begin. */
extern csk_rcu_period_t csk_rcu_own_period;

/* From the first call on grace periods see the thread. From the second call on they don't. */
void csk_rcu_own_enter(csk_rcu_reader_t *reader);
void csk_rcu_own_leave(csk_rcu_reader_t *reader);
/* With `by_membarrier` the readers execute no fence. */
void csk_rcu_own_grace_period(bool by_membarrier);

#endif
