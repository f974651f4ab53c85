/* rcu_liburcu.h: liburcu's words of threads and its grace periods, for rcu.c.
 *
 * A build without liburcu has the library's own scheme alone (rcu_own.h). CMake defines CSK_WITHOUT_LIBURCU for it.
 * SwiftPM can define a macro for a trait that is on, but none for a trait that is off. */
#ifndef CSK_INTERNAL_RCU_LIBURCU_H
#define CSK_INTERNAL_RCU_LIBURCU_H

#include "base/platform.h"
#include "rcu/rcu_own.h"

#if defined(CSK_BY_TRAITS) && !defined(CSK_TRAIT_RCU) && !defined(CSK_WITHOUT_LIBURCU)
#define CSK_WITHOUT_LIBURCU 1
#endif

#ifndef CSK_WITHOUT_LIBURCU
/* Only liburcu's small inline functions are used: code under any licence may use these. _LGPL_SOURCE is never defined:
 * it would make all functions inline. */
#define URCU_INLINE_SMALL_FUNCTIONS
#include <urcu/urcu-bp.h>
#include <urcu/static/urcu-bp.h>

#define CSK_LIBURCU_IS_THERE true
#define CSK_RCU_FIRST_PERIOD ((const csk_rcu_period_t *)&urcu_bp_gp)

/* The calling thread's word, or NULL where liburcu has none for it. The word is the first field of liburcu's struct.
 * liburcu doesn't align the struct as its type asks for, so no access may go through the struct. */
static inline unsigned long *csk_liburcu_word(void) { return (unsigned long *)(void *)urcu_bp_reader; }
static inline bool csk_liburcu_has_membarrier(void) { return urcu_bp_has_sys_membarrier; }

/* liburcu has decided when it was loaded whether it uses membarrier. Called before it is used: csk_avoid_membarrier
 * decides here, from then on. */
void csk_liburcu_decide_form(void);
/* Registers the calling thread, twice without harm. */
void csk_liburcu_register(void);
/* Takes the word of the calling thread from liburcu until it is given back. Returns false where another copy of this
 * library has it. */
bool csk_liburcu_keep_word(pthread_key_t *key);
void csk_liburcu_give_word_back(pthread_key_t key);
void csk_liburcu_grace_period(void);

#else
/* Of these only the second is called. */
#define CSK_LIBURCU_IS_THERE false
#define CSK_RCU_FIRST_PERIOD (&csk_rcu_own_period)
static inline unsigned long *csk_liburcu_word(void) { return NULL; }
static inline bool csk_liburcu_has_membarrier(void) { return csk_platform_has_membarrier(); }
static inline void csk_liburcu_decide_form(void) {}
static inline void csk_liburcu_register(void) {}
static inline bool csk_liburcu_keep_word(pthread_key_t *key) { return (void)key, false; }
static inline void csk_liburcu_give_word_back(pthread_key_t key) { (void)key; }
static inline void csk_liburcu_grace_period(void) {}
#endif

#endif
