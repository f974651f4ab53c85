/* rcu_readers.h: the threads whose sections others check: our own grace periods (rcu_own.c), and the watch
 * (rcu_watch.c). */
#ifndef CSK_INTERNAL_RCU_READERS_H
#define CSK_INTERNAL_RCU_READERS_H

#include "csynckernel/rcu.h"

/* The bit of a word, and of csk_rcu_period, that is the phase. Below it are levels. */
#define CSK_RCU_PHASE (1UL << 32)

typedef struct csk_rcu_reader {
    unsigned long *word; /* NULL: not in the list */
    struct csk_rcu_reader *newer, *older;
    unsigned long own; /* the word of a thread that has no other */
    int32_t thread_id;
} csk_rcu_reader_t;

/* From the first call on others see the calling thread, whose word that is. From the second call on they don't, and
 * the word may go. */
void csk_rcu_readers_add(csk_rcu_reader_t *reader, unsigned long *word);
void csk_rcu_readers_remove(csk_rcu_reader_t *reader);

/* Looks for threads whose section is of another phase than this one. Writes the ids of the first `most`, and returns
 * how many it has written. */
uint32_t csk_rcu_readers_find(unsigned long phase, int32_t *thread_ids, uint32_t most);

/* The list is held over a fork. In the child it is made anew, with the word of the thread that has forked, or empty if
 * that is NULL. */
void csk_rcu_readers_hold(void);
void csk_rcu_readers_let_go(void);
void csk_rcu_readers_begin_in_child(csk_rcu_reader_t *reader, unsigned long *word);

#endif
