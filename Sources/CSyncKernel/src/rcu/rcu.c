/* rcu.c: sections and grace periods by liburcu, in the flavour that is made for libraries, urcu-bp.
 *
 * Others may use liburcu beside this library: a program, or a second copy of this library. So nothing here assumes that
 * liburcu is ours alone. Threads are registered at their first section, and being registered twice does no harm.
 * No default of others is changed. A fork touches nothing of liburcu (rcu_child.c).
 *
 * The end of a thread. liburcu gives each thread a word in liburcu's own memory. It takes the word back in the
 * destructor of a pthread key of its own, and gives it to a later thread. Destructors run in an order that can't be
 * chosen: one that runs later may read, and the inline functions would write into a word of another thread. So the
 * key's value is taken out when the thread registers. Our own stage of the thread's end puts it back, when
 * csk_rcu_levels is NULL for good. A thread is in one of four states:
 *
 *   NEW      The thread has had no section yet. Others may have registered it.
 *   KEEPS    We have the key's value. The word is the thread's until we put the value back, and csk_rcu_levels may be
 *            its address.
 *   PLAIN    The system gives us no call at the thread's end, or another copy of this library has the value. liburcu
 *            takes the word when it likes. Each section looks where the word is, and registers anew where there is
 *            none.
 *   LEFT     The same, after our stage of the thread's end.
 *
 * liburcu does not say which key is its own. It is found as the one whose value is the thread's word. If there is none,
 * the thread is PLAIN. */
#include "rcu/rcu_form.h"
#ifndef CSK_WITHOUT_RCU
#include "rcu/rcu.h"

#include "rcu/rcu_child.h"
#include "rcu/rcu_order.h"
#include "thread/thread_exit.h"

#include <limits.h>
#include <pthread.h>
/* Only liburcu's small inline functions are used: code under any licence may use these. _LGPL_SOURCE is never defined:
 * it would make all functions inline. */
#define URCU_INLINE_SMALL_FUNCTIONS
#include <urcu/urcu-bp.h>
#include <urcu/static/urcu-bp.h>

_Static_assert(offsetof(csk_rcu_period_t, phase) == offsetof(struct urcu_bp_gp, ctr), "liburcu's layout");
_Static_assert(offsetof(struct urcu_bp_reader, ctr) == 0, "liburcu's layout");
_Static_assert(sizeof(((struct urcu_bp_reader *)0)->ctr) == sizeof(*csk_rcu_levels), "liburcu's layout");
_Static_assert(URCU_BP_GP_CTR_PHASE == CSK_RCU_PHASE, "liburcu's layout");
_Static_assert(URCU_BP_GP_CTR_NEST_MASK == UINT32_MAX && URCU_BP_GP_COUNT == 1, "levels are counted in 32 bits");

__thread unsigned long *csk_rcu_levels __attribute__((tls_model("initial-exec")));
const csk_rcu_period_t *csk_rcu_period = (const csk_rcu_period_t *)&urcu_bp_gp;
#ifdef CSK_UNDER_TSAN
char csk_rcu_order;
#endif

enum thread_state { NEW, KEEPS, PLAIN, LEFT };

static _Thread_local struct {
    uint8_t state;
    pthread_key_t key;       /* liburcu's key, in state KEEPS */
    csk_rcu_reader_t reader; /* listed in state KEEPS, and in a child of fork whatever the state */
} self __attribute__((tls_model("initial-exec")));

/* Returns the calling thread's word, or NULL before its first section. The word is the first field of liburcu's struct.
 * liburcu doesn't align the struct as its type asks for, so no access may go through the struct. */
static unsigned long *own_word(void) {
    return CSK_UNLIKELY(csk_rcu_is_child()) ? self.reader.word : (unsigned long *)(void *)urcu_bp_reader;
}

static uint32_t own_levels(void) {
    const unsigned long *word = own_word();
    return word != NULL ? (uint32_t)*word : 0;
}

bool csk_rcu_is_reading(void) { return own_levels() != 0; }

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* The key that was liburcu's when it was found last. The program's last thread takes the key away, and a later thread
 * makes another. */
static uint32_t likely_key;

static bool has_word(pthread_key_t key) { return pthread_getspecific(key) == (void *)urcu_bp_reader; }

/* Takes the value out of liburcu's key. */
static bool take_value(void) {
    pthread_key_t key = csk_load(&likely_key, CSK_RELAXED);
    if (!has_word(key)) {
        for (key = 0; key < PTHREAD_KEYS_MAX && !has_word(key);) key++;
        if (key == PTHREAD_KEYS_MAX) return false;
        csk_store(&likely_key, key, CSK_RELAXED);
    }
    self.key = key;
    return pthread_setspecific(key, NULL) == 0;
}

/* In a child of fork the word and liburcu's lock are as the parent's threads left them: the thread ends without
 * them. */
static void leave_thread(void) {
    csk_rcu_levels = NULL;
    uint8_t before = self.state;
    self.state = LEFT;
    if (csk_rcu_is_child()) {
        csk_rcu_child_leave(&self.reader);
    } else if (before == KEEPS) {
        csk_rcu_readers_remove(&self.reader);
        *own_word() = 0;
        pthread_setspecific(self.key, urcu_bp_reader);
    }
}

static bool will_notice_end(void) { return csk_thread_exit_enroll(CSK_THREAD_EXIT_RCU, leave_thread) == 0; }

/* liburcu has decided when it was loaded. Called before it is used: here the decision comes from then on. */
static void decide_form(void) {
#ifndef urcu_bp_has_sys_membarrier
    csk_platform_has_membarrier();
    if (csk_platform_avoids_membarrier()) csk_store(&urcu_bp_has_sys_membarrier, 0, CSK_RELAXED);
#endif
}

static void enter_liburcu(void) {
    urcu_bp_register_thread();
    if (self.state == NEW) self.state = will_notice_end() && take_value() ? KEEPS : PLAIN;
    if (self.state == KEEPS && self.reader.word == NULL) csk_rcu_readers_add(&self.reader, own_word());
}

/* Called before a section of the thread, which may be its first. */
static void enter(void) {
    if (self.state == NEW) decide_form(); /* once for each thread: without membarrier each section comes here */
    if (!csk_rcu_is_child()) {
        enter_liburcu();
    } else if (self.reader.word == NULL) {
        csk_rcu_child_enter(&self.reader);
        if (self.state == NEW) self.state = will_notice_end() ? KEEPS : PLAIN;
    }
#ifndef CSK_UNDER_TSAN
    if (self.state == KEEPS && urcu_bp_has_sys_membarrier) csk_rcu_levels = own_word();
#endif
}

/* ---- Sections ---------------------------------------------------------------------------------------------------- */

int csk_rcu_read_lock_slow(void) {
    uint32_t levels = own_levels();
    if (levels == UINT32_MAX) return EAGAIN;
    if (levels == 0) enter();
    unsigned long *word = own_word();
    if (levels != 0) {
        csk_store(word, *word + 1, CSK_RELAXED);
        return 0;
    }
    csk_rcu_begin_section(word);
    /* This pairs with the grace period's fence where there is no membarrier. */
    if (!urcu_bp_has_sys_membarrier) csk_rcu_fence();
    return 0;
}

int csk_rcu_read_unlock_slow(void) {
    if (!csk_rcu_is_reading()) return EPERM;
    csk_rcu_tell_release();
    unsigned long *word = own_word();
    csk_rcu_end_level(word, *word - 1);
    /* In a child no other step takes a thread out whose end goes unnoticed here. */
    bool may_end_unheard = CSK_UNLIKELY(csk_rcu_is_child()) && self.state != KEEPS;
    if (may_end_unheard && !csk_rcu_is_reading()) csk_rcu_child_leave(&self.reader);
    return 0;
}

void csk_rcu_grace_period(void) {
    decide_form();
    if (csk_rcu_is_child()) csk_rcu_child_grace_period(urcu_bp_has_sys_membarrier);
    else urcu_bp_synchronize_rcu();
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

void csk_rcu_sections_before_fork(void) { csk_rcu_readers_hold(); }
void csk_rcu_sections_after_fork_in_parent(void) { csk_rcu_readers_let_go(); }

void csk_rcu_sections_after_fork_in_child(void) { csk_rcu_period = csk_rcu_child_begin(&self.reader, own_word()); }

#endif
