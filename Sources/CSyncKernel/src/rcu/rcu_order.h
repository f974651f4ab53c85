/* rcu_order.h: RCU's fence, and what ThreadSanitizer must be told. */
#ifndef CSK_INTERNAL_RCU_ORDER_H
#define CSK_INTERNAL_RCU_ORDER_H

#include "base/platform.h"

/* liburcu is not instrumented, so ThreadSanitizer does not see that a reclaiming function runs after the sections that
 * ended before it, nor that an entry was complete before it stood in a hash table. In builds with it, leaving a
 * section, retiring and inserting release one variable, and reclaiming functions and lookups acquire it. That promises
 * no more than liburcu does. */
#if CSK_UNDER_TSAN
void __tsan_acquire(void *);
void __tsan_release(void *);
extern char csk_rcu_order;
static inline void csk_rcu_tell_release(void) { __tsan_release(&csk_rcu_order); }
static inline void csk_rcu_tell_acquire(void) { __tsan_acquire(&csk_rcu_order); }
/* ThreadSanitizer has no model of fences, and GCC warns of each. Its library executes one. */
void __tsan_atomic_thread_fence(int order);
static inline void csk_rcu_fence(void) { __tsan_atomic_thread_fence(__ATOMIC_SEQ_CST); }
#else
static inline void csk_rcu_tell_release(void) {}
static inline void csk_rcu_tell_acquire(void) {}
static inline void csk_rcu_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
#endif

#endif
