/* rcu.h (internal): what the parts of RCU give each other, and what ThreadSanitizer must be told about it.
 *
 *   rcu.c          sections, threads, and grace periods by liburcu
 *   rcu_child.c    the same without liburcu, in a child of fork
 *   rcu_reclaim.c  what is retired, the thread that reclaims it, barriers; fork */
#ifndef CSK_INTERNAL_RCU_H
#define CSK_INTERNAL_RCU_H

#include "csynckernel/rcu.h"

#include "base/platform.h"

#if defined(__SANITIZE_THREAD__)
#define CSK_UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CSK_UNDER_TSAN 1
#endif
#endif

/* ---- Sections ----------------------------------------------------------------------------------------------------------- */

/* Waits until every section that had begun before the call has ended. The reclaiming thread alone, outside of sections. */
void csk_rcu_grace_period(void);

/* Around a fork. */
void csk_rcu_sections_before_fork(void);
void csk_rcu_sections_after_fork_in_parent(void);
void csk_rcu_sections_after_fork_in_child(void);

/* ---- Sections in a child (rcu_child.c) ---------------------------------------------------------------------------------- */

/* A thread, for the grace periods of a child to look at. */
typedef struct csk_rcu_reader {
    unsigned long *word;  /* NULL: not in the list */
    struct csk_rcu_reader *newer, *older;
    unsigned long own;    /* the word of a thread that has no other */
} csk_rcu_reader_t;

bool csk_rcu_is_child(void);
/* In the child, before it has another thread: sections are the child's own from here on. `word` is the thread's so far,
 * or NULL. */
void csk_rcu_child_begin(csk_rcu_reader_t *reader, unsigned long *word);
/* Held over a fork. */
void csk_rcu_child_hold(void);
void csk_rcu_child_let_go(void);

/* Grace periods see the thread from here on, or no more. */
void csk_rcu_child_enter(csk_rcu_reader_t *reader);
void csk_rcu_child_leave(csk_rcu_reader_t *reader);
/* `by_membarrier`: readers execute no fence. */
void csk_rcu_child_grace_period(bool by_membarrier);

/* ---- Reclaiming --------------------------------------------------------------------------------------------------------- */

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

/* liburcu is not instrumented, so ThreadSanitizer does not see that a reclaiming function runs after the sections that
 * ended before it, nor that an entry was complete before it stood in a hash table. In builds with it, leaving a
 * section, retiring and inserting release one variable, which reclaiming functions and lookups acquire: no more than
 * liburcu promises of them. */
#ifdef CSK_UNDER_TSAN
void __tsan_acquire(void *);
void __tsan_release(void *);
extern char csk_rcu_order;
static inline void csk_rcu_tell_release(void) { __tsan_release(&csk_rcu_order); }
static inline void csk_rcu_tell_acquire(void) { __tsan_acquire(&csk_rcu_order); }
/* It has no model of fences. */
static inline void csk_rcu_fence(void) {
    uint32_t nothing = 0;
    (void)csk_exchange(&nothing, 1u, CSK_SEQ_CST);
}
#else
static inline void csk_rcu_tell_release(void) {}
static inline void csk_rcu_tell_acquire(void) {}
static inline void csk_rcu_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
#endif

#endif
