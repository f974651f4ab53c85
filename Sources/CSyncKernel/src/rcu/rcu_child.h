/* rcu_child.h: sections in a child of fork, for rcu.c. */
#ifndef CSK_INTERNAL_RCU_CHILD_H
#define CSK_INTERNAL_RCU_CHILD_H

#include "rcu/rcu_readers.h"

bool csk_rcu_is_child(void);
/* Called in the child, before it has another thread. From here on sections are the child's own. `word` is the word that
 * the thread has had so far, or NULL. Returns the phase in which sections begin. */
const csk_rcu_period_t *csk_rcu_child_begin(csk_rcu_reader_t *reader, unsigned long *word);

/* From the first call on grace periods see the thread. From the second call on they don't. */
void csk_rcu_child_enter(csk_rcu_reader_t *reader);
void csk_rcu_child_leave(csk_rcu_reader_t *reader);
/* With `by_membarrier` the readers execute no fence. */
void csk_rcu_child_grace_period(bool by_membarrier);

#endif
