/* rcu.h (internal): liburcu, and what ThreadSanitizer must be told about it.
 *
 * liburcu is not instrumented, so ThreadSanitizer does not see that a reclaiming function runs after the sections that ended
 * before it, nor that an entry was complete before it stood in a hash table. In builds with it, leaving a section, retiring and
 * inserting release one variable, which reclaiming functions and lookups acquire: no more than liburcu promises of them. */
#ifndef CSK_INTERNAL_RCU_H
#define CSK_INTERNAL_RCU_H

#include "csynckernel/rcu.h"

/* Small inline functions, which any licence may use; never _LGPL_SOURCE, which makes all of them inline. */
#define URCU_INLINE_SMALL_FUNCTIONS
#include <urcu/urcu-memb.h>

#if defined(__SANITIZE_THREAD__)
#define CSK_UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CSK_UNDER_TSAN 1
#endif
#endif

/* Reclaiming in steps, so that what others have retired has its turn in between. A barrier waits for all steps. */
typedef struct csk_rcu_steps {
    csk_rcu_node_t node;          /* retired by csk_rcu_retire for the first step */
    struct csk_rcu_steps *older;
    uint64_t number;              /* 0 before the second step is asked for */
} csk_rcu_steps_t;

/* In a reclaiming function: has function(&steps->node) called once more, behind what is retired already. */
void csk_rcu_next_step(csk_rcu_steps_t *steps, csk_rcu_function_t function);
/* After the last step. */
void csk_rcu_end_steps(csk_rcu_steps_t *steps);

#ifdef CSK_UNDER_TSAN
void __tsan_acquire(void *);
void __tsan_release(void *);
extern char csk_rcu_order;
static inline void csk_rcu_tell_release(void) { __tsan_release(&csk_rcu_order); }
static inline void csk_rcu_tell_acquire(void) { __tsan_acquire(&csk_rcu_order); }
#else
static inline void csk_rcu_tell_release(void) {}
static inline void csk_rcu_tell_acquire(void) {}
#endif

#endif
