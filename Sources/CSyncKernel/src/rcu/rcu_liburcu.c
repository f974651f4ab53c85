/* rcu_liburcu.c: see rcu_liburcu.h. It is the flavour that is made for libraries, urcu-bp.
 *
 * Others may use liburcu beside this library: a program, or a second copy of this library. So nothing here assumes that
 * liburcu is ours alone. Threads are registered at their first section, and being registered twice does no harm.
 * No default of others is changed. A fork touches nothing of liburcu (rcu_own.c).
 *
 * The end of a thread. liburcu gives each thread a word in liburcu's own memory. It takes the word back in the
 * destructor of a pthread key of its own, and gives it to a later thread. Destructors run in an order that can't be
 * chosen: one that runs later may read, and the inline functions would write into a word of another thread. So the
 * key's value is taken out when the thread registers. Our own stage of the thread's end puts it back, when
 * csk_rcu_levels is NULL for good.
 *
 * liburcu does not say which key is its own. It is found as the one whose value is the thread's word. If there is none,
 * the word can't be kept. */
#include "rcu/rcu_liburcu.h"
#ifndef CSK_WITHOUT_LIBURCU
#include <limits.h>

_Static_assert(offsetof(csk_rcu_period_t, phase) == offsetof(struct urcu_bp_gp, ctr), "liburcu's layout");
_Static_assert(offsetof(struct urcu_bp_reader, ctr) == 0, "liburcu's layout");
_Static_assert(sizeof(((struct urcu_bp_reader *)0)->ctr) == sizeof(*csk_rcu_levels), "liburcu's layout");
_Static_assert(URCU_BP_GP_CTR_PHASE == CSK_RCU_PHASE, "liburcu's layout");
_Static_assert(URCU_BP_GP_CTR_NEST_MASK == UINT32_MAX && URCU_BP_GP_COUNT == 1, "levels are counted in 32 bits");

/* The key that was liburcu's when it was found last. The program's last thread takes the key away, and a later thread
 * makes another. */
static uint32_t likely_key;

static bool has_word(pthread_key_t key) { return pthread_getspecific(key) == (void *)urcu_bp_reader; }

bool csk_liburcu_keep_word(pthread_key_t *kept) {
    pthread_key_t key = csk_load(&likely_key, CSK_RELAXED);
    if (!has_word(key)) {
        for (key = 0; key < PTHREAD_KEYS_MAX && !has_word(key);) key++;
        if (key == PTHREAD_KEYS_MAX) return false;
        csk_store(&likely_key, key, CSK_RELAXED);
    }
    *kept = key;
    return pthread_setspecific(key, NULL) == 0;
}

void csk_liburcu_give_word_back(pthread_key_t key) { pthread_setspecific(key, urcu_bp_reader); }

void csk_liburcu_register(void) { urcu_bp_register_thread(); }

void csk_liburcu_decide_form(void) {
#ifndef urcu_bp_has_sys_membarrier
    csk_platform_has_membarrier();
    if (csk_platform_avoids_membarrier()) csk_store(&urcu_bp_has_sys_membarrier, 0, CSK_RELAXED);
#endif
}

void csk_liburcu_grace_period(void) { urcu_bp_synchronize_rcu(); }

#endif
