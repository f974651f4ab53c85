/* rcu.c: sections, and the threads that have them. A thread has a word, which sections write and grace periods look at.
 * There are two schemes, with the same word and the same algorithm:
 *
 *   liburcu's      where the library is built with it (rcu_liburcu.h). Its words may be shared with other users of it.
 *   our own        in a child of fork, and everywhere where the library is built without liburcu (rcu_own.h).
 *
 * A thread is in one of four states:
 *
 *   NEW      The thread has had no section yet. Others may have registered it with liburcu.
 *   KEEPS    Our stage of the thread's end will be called, and the word is the thread's until then. csk_rcu_levels may
 *            be its address.
 *   PLAIN    The system gives us no call at the thread's end, or another copy of this library has taken the word from
 *            liburcu. liburcu takes the word when it likes: each section looks where the word is, and registers anew
 *            where there is none. In our own scheme the thread is in the list of readers only inside of a section.
 *   LEFT     The same, after our stage of the thread's end. */
#include "rcu/rcu.h"

#include "rcu/rcu_liburcu.h"
#include "rcu/rcu_order.h"
#include "thread/thread_exit.h"

__thread unsigned long *csk_rcu_levels __attribute__((tls_model("initial-exec")));
const csk_rcu_period_t *csk_rcu_period = CSK_RCU_FIRST_PERIOD;
#if CSK_UNDER_TSAN
char csk_rcu_order;
#endif

/* A child of fork clears it before it has another thread. */
static bool by_liburcu = CSK_LIBURCU_IS_THERE;

enum thread_state { NEW, KEEPS, PLAIN, LEFT };

static _Thread_local struct {
    uint8_t state;
    pthread_key_t key;       /* liburcu's key, by liburcu in state KEEPS */
    csk_rcu_reader_t reader; /* listed in state KEEPS, and in our own scheme inside of each section */
} self __attribute__((tls_model("initial-exec")));

/* Returns the calling thread's word, or NULL before its first section. */
static unsigned long *own_word(void) { return CSK_LIKELY(by_liburcu) ? csk_liburcu_word() : self.reader.word; }

static uint32_t own_levels(void) {
    const unsigned long *word = own_word();
    return word != NULL ? (uint32_t)csk_load(word, CSK_RELAXED) : 0;
}

bool csk_rcu_is_reading(void) { return own_levels() != 0; }

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* In a child of fork liburcu's lock is as the parent's threads left it: the thread ends without liburcu. */
static void leave_thread(void) {
    csk_rcu_levels = NULL;
    uint8_t before = self.state;
    self.state = LEFT;
    if (!by_liburcu) {
        csk_rcu_own_leave(&self.reader);
    } else if (before == KEEPS) {
        csk_rcu_readers_remove(&self.reader);
        *own_word() = 0;
        csk_liburcu_give_word_back(self.key);
    }
}

static bool will_notice_end(void) { return csk_thread_exit_enroll(CSK_THREAD_EXIT_RCU, leave_thread) == 0; }

/* In our own scheme an open section ends with its thread only if that end is noticed. So the key for it is made while
 * the process has one left, as liburcu makes its own. */
void csk_rcu_sections_prepare(void) {
    if (!by_liburcu) (void)will_notice_end();
}

static void enter_liburcu(void) {
    csk_liburcu_register();
    if (self.state == NEW) self.state = will_notice_end() && csk_liburcu_keep_word(&self.key) ? KEEPS : PLAIN;
    if (self.state == KEEPS && self.reader.word == NULL) csk_rcu_readers_add(&self.reader, own_word());
}

static void enter_own(void) {
    if (self.reader.word != NULL) return;
    csk_rcu_own_enter(&self.reader);
    bool notices = will_notice_end(); /* a thread that has LEFT is asked once more: it may not end its section */
    if (self.state == NEW) self.state = notices ? KEEPS : PLAIN;
}

/* Called before a section of the thread, which may be its first. */
static void enter(void) {
    /* Once for each thread: without membarrier each section comes here. */
    if (self.state == NEW) csk_liburcu_decide_form();
    if (by_liburcu) enter_liburcu();
    else enter_own();
#if !CSK_UNDER_TSAN
    if (self.state == KEEPS && csk_liburcu_has_membarrier()) csk_rcu_levels = own_word();
#endif
}

/* ---- Sections ---------------------------------------------------------------------------------------------------- */

int csk_rcu_read_lock_slow(void) {
    uint32_t levels = own_levels();
    if (levels == UINT32_MAX) return EAGAIN;
    if (levels == 0) enter();
    unsigned long *word = own_word();
    if (levels != 0) {
        csk_store(word, csk_load(word, CSK_RELAXED) + 1, CSK_RELAXED);
        return 0;
    }
    csk_rcu_begin_section(word);
    /* This pairs with the grace period's fence where there is no membarrier. */
    if (!csk_liburcu_has_membarrier()) csk_rcu_fence();
    return 0;
}

int csk_rcu_read_unlock_slow(void) {
    if (!csk_rcu_is_reading()) return EPERM;
    csk_rcu_tell_release();
    unsigned long *word = own_word();
    csk_rcu_end_level(word, csk_load(word, CSK_RELAXED) - 1);
    /* In our own scheme no other step takes a thread out whose end goes unnoticed here. */
    bool may_end_unheard = CSK_UNLIKELY(!by_liburcu) && self.state != KEEPS;
    if (may_end_unheard && !csk_rcu_is_reading()) csk_rcu_own_leave(&self.reader);
    return 0;
}

void csk_rcu_grace_period(void) {
    csk_liburcu_decide_form();
    if (by_liburcu) csk_liburcu_grace_period();
    else csk_rcu_own_grace_period(csk_liburcu_has_membarrier());
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

void csk_rcu_sections_before_fork(void) { csk_rcu_readers_hold(); }
void csk_rcu_sections_after_fork_in_parent(void) { csk_rcu_readers_let_go(); }

/* The thread keeps the word that it has, since it may be inside a section. If another user of liburcu has registered
 * it, or another copy of this library has its word, its end may go unnoticed here. Then it is listed only if it is
 * inside a section, and its end is asked for. */
void csk_rcu_sections_after_fork_in_child(void) {
    bool stays = self.state == KEEPS || csk_rcu_is_reading();
    csk_rcu_readers_begin_in_child(&self.reader, stays ? own_word() : NULL);
    csk_rcu_period = &csk_rcu_own_period;
    by_liburcu = false;
    if (stays && self.state != KEEPS) (void)will_notice_end();
}
