/* rcu_own.c: sections and grace periods without liburcu: in a child of fork, and everywhere where the library is built
 * without liburcu. The algorithm is liburcu's, and so is the word, so that the inline functions serve both.
 *
 * Why a child of fork does without liburcu. Any thread of the parent may have been inside liburcu at the fork, and may
 * have held its locks. It may be the reclaiming thread in a grace period, which lasts as long as some section, and as
 * long as the forking thread's own. It may be a thread that ended, or another user of liburcu. Nothing says whether
 * there is such a thread. No such lock can be taken without the risk of waiting for ever, and a fork that waits for
 * these locks may wait for itself. liburcu's before_fork doesn't help. It takes the locks before the fork, where
 * another user may have taken them already, or where a section is waited for. Called in the child, it waits for the
 * locks that another user's before_fork has taken and gives back a moment later.
 *
 * A grace period looks at the words of the list of threads (rcu_readers.c), whose one lock every fork holds. Words are
 * in thread-local memory, but for a thread that has forked: it keeps the word that it had, since it may be inside a
 * section.
 *
 *   word      The low half has the levels of the thread's section, 0 outside. The high half has the phase in which the
 *             section began. Only the word's thread writes it.
 *   phase     It has one level, and the phase in the high half. Only the grace period writes it.
 *
 * A grace period waits until no section is of another phase than the current one, changes the phase, and waits once
 * more. A section that began before the grace period is of the one phase or of the other. It is waited for in the first
 * wait or in the second. A reader that has loaded the phase and not yet stored it may store an old one after the first
 * wait: the second wait finds that. After that each new section is of the new phase, so that the wait ends. So the
 * phase orders nothing: a section of an old one is waited for, if for longer than it need be. The word that the forking
 * thread had may be used by others, with liburcu's phase: any phase will do for a section that stays.
 *
 *   this                                          pairs with                      so that
 *   a reader's store of its word, kept apart      the first membarrier of a       the grace period sees the section, or
 *   from its loads by a compiler fence alone      grace period (a fence)          the section sees what was published
 *   (a fence where membarrier is refused)
 *   release of the word at the section's end      the last membarrier (a fence),  what the section has done comes
 *                                                 behind the relaxed loads        before what is reclaimed
 *   the list's lock where a thread joins, before  the lock where words are        a thread that is not in the list yet
 *   its first store of the word                   looked at, behind the first     sees what was published
 *                                                 membarrier
 *
 * A fork. The list's lock is held, so the child finds the list whole. In the child it has the forking thread alone:
 * sections of others don't exist there, and the thread-local memory with their words may be used anew. A grace period
 * of the parent ends unfinished. It leaves one phase or the other, and each will do.
 *
 * Source: Desnoyers et al., "User-level implementations of read-copy update" (2012), the flavour with two phases. */
#include "rcu/rcu_own.h"

#include "rcu/rcu_order.h"

csk_rcu_period_t csk_rcu_own_period = { .phase = 1 };
/* A grace period looks at the words this many times before it sleeps between two looks. */
static int busy_looks = 100;

void csk_rcu_own_enter(csk_rcu_reader_t *reader) { csk_rcu_readers_add(reader, &reader->own); }

void csk_rcu_own_leave(csk_rcu_reader_t *reader) {
    unsigned long *word = reader->word;
    if (word == NULL) return;
    csk_rcu_readers_remove(reader);
    csk_store(word, 0UL, CSK_RELAXED);
}

/* ---- Grace periods ----------------------------------------------------------------------------------------------- */

/* Whether no section is of another phase. */
static bool is_quiet(unsigned long phase) {
    int32_t found;
    return csk_rcu_readers_find(phase, &found, 1) == 0;
}

static void await_quiet(unsigned long phase) {
    for (int looks = 0; !is_quiet(phase); looks++) {
        if (looks < busy_looks) {
            csk_platform_pause();
            continue;
        }
        /* No thread wakes this word, so that no reader need check whether a grace period waits. */
        uint32_t nothing = 0;
        csk_platform_park(&nothing, 0, csk_deadline_after(1000000));
    }
}

static void order_readers(bool by_membarrier) {
    if (by_membarrier) csk_platform_membarrier();
    else csk_rcu_fence();
}

void csk_rcu_own_grace_period(bool by_membarrier) {
    /* Each reader that has seen what was taken out has its word stored. This pairs with the reader's store of its word
     * before its loads. */
    order_readers(by_membarrier);
    unsigned long phase = csk_rcu_own_period.phase;
    await_quiet(phase);
    phase ^= CSK_RCU_PHASE;
    csk_store(&csk_rcu_own_period.phase, phase, CSK_RELAXED);
    await_quiet(phase);
    /* All that the sections have done comes before anything is reclaimed. This pairs with the release of the words
     * that csk_rcu_readers_find has loaded. */
    order_readers(by_membarrier);
}
