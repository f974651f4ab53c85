/* rcu_child.h: sections in a child of fork, for rcu.c. */
#ifndef CSK_INTERNAL_RCU_CHILD_H
#define CSK_INTERNAL_RCU_CHILD_H

#include "csynckernel/rcu.h"

/* A thread, for the grace periods of a child to look at. */
typedef struct csk_rcu_reader {
    unsigned long *word;  /* NULL: not in the list */
    struct csk_rcu_reader *newer, *older;
    unsigned long own;    /* the word of a thread that has no other */
} csk_rcu_reader_t;

bool csk_rcu_is_child(void);
/* In the child, before it has another thread: sections are the child's own from here on. `word` is the thread's so far,
 * or NULL. Gives the phase that sections begin in. */
const csk_rcu_period_t *csk_rcu_child_begin(csk_rcu_reader_t *reader, unsigned long *word);
/* Held over a fork. */
void csk_rcu_child_hold(void);
void csk_rcu_child_let_go(void);

/* Grace periods see the thread from here on, or no more. */
void csk_rcu_child_enter(csk_rcu_reader_t *reader);
void csk_rcu_child_leave(csk_rcu_reader_t *reader);
/* `by_membarrier`: readers execute no fence. */
void csk_rcu_child_grace_period(bool by_membarrier);

#endif
