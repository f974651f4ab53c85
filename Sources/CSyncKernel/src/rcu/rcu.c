/* rcu.c: sections and grace periods by liburcu, in the flavour that is made for libraries, urcu-bp.
 *
 * Others may use it beside us: a program, or a second copy of this library. So nothing here asks for the whole of it:
 * threads are registered at their first section, which may happen twice; nobody's default is changed; and fork touches
 * nothing of it (rcu_child.c).
 *
 * The end of a thread. liburcu gives a thread a word in memory of its own, and takes it back in the destructor of a
 * pthread key of its own, for the next thread to have. Destructors run in an order that nobody chooses: one that runs
 * later may read, and the inline functions would write into a word of another thread. So the key's value is taken out
 * when the thread registers, and put back by our own stage of the thread's end, when csk_rcu_levels is NULL for good:
 *
 *   new      no section yet; perhaps registered by others
 *   keeps    we have the key's value: the word is the thread's until we put that back, and csk_rcu_levels may be its
 *            address
 *   plain    the system gives us no call at the thread's end, or another copy of this library has the value: liburcu
 *            takes the word when it likes. Each section looks where the word is, and registers anew where there is none
 *   left     the same, after our stage of the thread's end
 *
 * liburcu names its key to nobody. It is found as the one whose value is the thread's word; if there is none, the
 * thread is plain. */
#include "rcu/rcu.h"

#include "rcu/rcu_child.h"
#include "rcu/rcu_order.h"
#include "thread/thread_exit.h"

#include <limits.h>
#include <pthread.h>
/* Only its small inline functions, which any licence may use; never _LGPL_SOURCE, which makes all of them inline. */
#define URCU_INLINE_SMALL_FUNCTIONS
#include <urcu/urcu-bp.h>
#include <urcu/static/urcu-bp.h>

_Static_assert(offsetof(csk_rcu_period_t, phase) == offsetof(struct urcu_bp_gp, ctr), "liburcu's layout");
_Static_assert(offsetof(struct urcu_bp_reader, ctr) == 0, "liburcu's layout");
_Static_assert(sizeof(((struct urcu_bp_reader *)0)->ctr) == sizeof(*csk_rcu_levels), "liburcu's layout");
_Static_assert(URCU_BP_GP_CTR_NEST_MASK == UINT32_MAX && URCU_BP_GP_COUNT == 1, "levels are counted in 32 bits");

__thread unsigned long *csk_rcu_levels __attribute__((tls_model("initial-exec")));
const csk_rcu_period_t *csk_rcu_period = (const csk_rcu_period_t *)&urcu_bp_gp;
#ifdef CSK_UNDER_TSAN
char csk_rcu_order;
#endif

enum thread_state { NEW, KEEPS, PLAIN, LEFT };

static _Thread_local struct {
    uint8_t state;
    pthread_key_t key;        /* KEEPS */
    csk_rcu_reader_t reader;  /* of a child */
} self __attribute__((tls_model("initial-exec")));

/* The calling thread's word, or NULL before its first section. It is the first of liburcu's struct, which liburcu
 * doesn't place as the struct asks for: no access may go through that. */
static unsigned long *own_word(void) {
    return CSK_UNLIKELY(csk_rcu_is_child()) ? self.reader.word : (unsigned long *)(void *)urcu_bp_reader;
}

static uint32_t own_levels(void) {
    const unsigned long *word = own_word();
    return word != NULL ? (uint32_t)*word : 0;
}

bool csk_rcu_is_reading(void) { return own_levels() != 0; }

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* Where liburcu's key was found last. The program's last thread takes the key away, and a later one makes another. */
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

/* In a child the word, and liburcu's lock, are what the parent's threads left: the thread ends without them. */
static void leave_thread(void) {
    csk_rcu_levels = NULL;
    uint8_t before = self.state;
    self.state = LEFT;
    if (csk_rcu_is_child()) {
        csk_rcu_child_leave(&self.reader);
    } else if (before == KEEPS) {
        *own_word() = 0;
        pthread_setspecific(self.key, urcu_bp_reader);
    }
}

static bool will_notice_end(void) { return csk_thread_exit_enroll(CSK_THREAD_EXIT_RCU, leave_thread) == 0; }

static void enter_liburcu(void) {
    urcu_bp_register_thread();
    if (self.state == NEW) self.state = will_notice_end() && take_value() ? KEEPS : PLAIN;
}

/* Before a thread's section: it may be the first. */
static void enter(void) {
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
    csk_store(word, csk_load(&csk_rcu_period->phase, CSK_RELAXED), CSK_RELAXED);
    /* The grace period's membarrier is the other half; without one, its fence. */
    if (urcu_bp_has_sys_membarrier) __atomic_signal_fence(__ATOMIC_SEQ_CST);
    else csk_rcu_fence();
    return 0;
}

int csk_rcu_read_unlock_slow(void) {
    if (!csk_rcu_is_reading()) return EPERM;
    csk_rcu_tell_release();
    unsigned long *word = own_word();
    csk_store(word, *word - 1, CSK_RELEASE);
    /* In a child nobody else takes a thread out that won't hear of its own end. */
    bool may_end_unheard = CSK_UNLIKELY(csk_rcu_is_child()) && self.state != KEEPS;
    if (may_end_unheard && !csk_rcu_is_reading()) csk_rcu_child_leave(&self.reader);
    return 0;
}

void csk_rcu_grace_period(void) {
    if (csk_rcu_is_child()) csk_rcu_child_grace_period(urcu_bp_has_sys_membarrier);
    else urcu_bp_synchronize_rcu();
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

void csk_rcu_sections_before_fork(void) { csk_rcu_child_hold(); }
void csk_rcu_sections_after_fork_in_parent(void) { csk_rcu_child_let_go(); }

void csk_rcu_sections_after_fork_in_child(void) { csk_rcu_period = csk_rcu_child_begin(&self.reader, own_word()); }
