/* rcu.h: read-copy-update. Readers enter a read section without a lock, a call or a shared write. What a writer has
 * taken out of their sight is reclaimed once every section that may have seen it has ended. The time until then is a
 * grace period. Grace periods are those of liburcu, in its flavour for libraries, urcu-bp; or the library's own, by the
 * same algorithm, where it is built without liburcu. Threads come and go by themselves.
 *
 * A section must not wait for anything that waits for a grace period. It delays every reclamation for as long as it
 * lasts. While one lasts for a second and longer, that is reported: see csk_rcu_report_after.
 *
 * No function here may be called from a signal handler.
 *
 * fork. A fork waits for nothing here: it takes a few microseconds more. A child goes on with the sections of the
 * thread that forked, and with what is retired. That is reclaimed by a thread of the child's own, which the first call
 * starts there that retires something or waits for it. Other threads' sections don't exist in the child, and the child
 * waits for none of liburcu's locks. A function that was reclaiming something at the fork goes on in the child only if
 * it forked itself. What it had not yet freed, and what another thread was just retiring, stays allocated there. A node
 * must not lie on the stack of another thread than the one that forks, since a child's threads get such stacks. (A
 * program that uses urcu-bp itself besides this library, and forks, must do what liburcu asks for around a fork. Its
 * own grace periods in a child may hang otherwise.)
 *
 * Example: a configuration that is replaced while others read it.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *     #include <stdlib.h>
 *
 *     struct config {
 *         csk_rcu_node_t node;
 *         int limit;
 *     };
 *
 *     static struct config *current;
 *
 *     static int limit_now(void) {
 *         csk_rcu_read_lock();
 *         struct config *config = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
 *         int limit = config != NULL ? config->limit : 0;
 *         csk_rcu_read_unlock();  // config is not valid any more
 *         return limit;
 *     }
 *
 *     static void free_config(csk_rcu_node_t *node) { free(node); }
 *
 *     static int set_limit(int limit) {
 *         struct config *fresh = malloc(sizeof *fresh), *old;
 *         if (fresh == NULL) return ENOMEM;
 *         fresh->limit = limit;
 *         old = __atomic_exchange_n(&current, fresh, __ATOMIC_ACQ_REL);
 *         // Returns at once; free_config runs after a grace period.
 *         return old != NULL ? csk_rcu_retire_always(&old->node, free_config) : 0;
 *     }
 *
 *     int main(void) {
 *         if (set_limit(10) != 0 || set_limit(20) != 0) return 1;
 *         printf("%d\n", limit_now());
 *         return csk_rcu_barrier() != 0 || csk_rcu_pending() != 0;
 *     }
 */
#ifndef CSK_RCU_H
#define CSK_RCU_H

#include "base.h"

CSK_BEGIN_DECLS

typedef struct csk_rcu_node csk_rcu_node_t;
typedef void (*csk_rcu_function_t)(csk_rcu_node_t *node);

/* A csk_rcu_node_t is a part of whatever is to be reclaimed. It needs no initialization. */
struct csk_rcu_node {
    void *reserved[2];           /* for csk_rcu_retire */
    csk_rcu_function_t function; /* for csk_rcu_retire */
    void *context;               /* the owner's; the library does not read it */
};

/* ---- For the inline functions ---------------------------------------------------------------------------------------
 *
 * There is one word for each thread, which is liburcu's where there is liburcu. Its low half counts the levels of the
 * thread's section, and its high half is the phase of the grace period in which the section began. csk_rcu_levels is
 * the address of the calling thread's word. It is NULL until the thread's first section, in threads that are ending,
 * where the system refuses membarrier, for a second copy of this library in the process, and under ThreadSanitizer:
 * then a call does the work. */
typedef struct csk_rcu_period {
    unsigned long phase; /* what the word becomes at the first level: the phase, and one level */
} csk_rcu_period_t;

CSK_API extern __thread unsigned long *csk_rcu_levels __attribute__((tls_model("initial-exec")));
CSK_API extern const csk_rcu_period_t *csk_rcu_period;

CSK_API int csk_rcu_read_lock_slow(void);
CSK_API int csk_rcu_read_unlock_slow(void);

/* Begins a section of the thread whose word this is. */
static inline void csk_rcu_begin_section(unsigned long *word) {
    __atomic_store_n(word, __atomic_load_n(&csk_rcu_period->phase, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    /* Orders the section behind the store in the program only. The grace period's membarrier orders it in the
     * machine. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
/* What the word becomes at the end of a level. Release: a grace period that finds the section ended has all that it
 * did. It polls the word, so no notification is needed. */
static inline void csk_rcu_end_level(unsigned long *word, unsigned long becomes) {
    CSK_SECTION_ENDS();
    __atomic_store_n(word, becomes, __ATOMIC_RELEASE);
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* Begins a read section of the calling thread, or one more level of it. Returns 0, or EAGAIN at 2^32 - 1 levels. Never
 * blocks, but for a thread's first section, which registers the thread under a short lock. A section ends on the thread
 * that began it. One that is still open when its thread ends, ends with it. */
static inline int csk_rcu_read_lock(void) {
    unsigned long *levels = csk_rcu_levels;
    if (CSK_UNLIKELY(levels == NULL) || CSK_UNLIKELY((uint32_t)*levels != 0)) return csk_rcu_read_lock_slow();
    csk_rcu_begin_section(levels);
    return 0;
}

/* Ends one level. Returns 0, or EPERM outside of a section. Never blocks. */
static inline int csk_rcu_read_unlock(void) {
    unsigned long *levels = csk_rcu_levels;
    if (CSK_UNLIKELY(levels == NULL) || CSK_UNLIKELY((uint32_t)*levels != 1)) return csk_rcu_read_unlock_slow();
    csk_rcu_end_level(levels, 0);
    return 0;
}

/* Returns true inside a read section of the calling thread. Never blocks. */
CSK_API bool csk_rcu_is_reading(void);

/* ---- Reclaiming -------------------------------------------------------------------------------------------------- */

/* Has function(node) called after a grace period, on the reclaiming thread. A section that begins from now on must not
 * find the object any more. Functions run one after the other, in the order of one thread's calls. They may retire,
 * read and free, and must not wait for a section to end. Usually some 2 ms pass before the function is called, and as
 * long as the longest section takes. What is still retired when the process ends is not reclaimed.
 *
 * The call waits for no grace period. But where more are retired than the limit allows (csk_rcu_set_limit), each call
 * waits for room, for 10 ms at most. It never waits inside a section or a reclaiming function.
 *
 * The process's first call starts the reclaiming thread. Where the system refuses that (EAGAIN, ENOMEM), csk_rcu_retire
 * gives its error, and the node is the caller's. csk_rcu_retire_always keeps the node, which is reclaimed once a later
 * call gets the thread. Both return 0, or EINVAL without a function. */
CSK_API CSK_MUST_USE int csk_rcu_retire(csk_rcu_node_t *node, csk_rcu_function_t function);
CSK_API int csk_rcu_retire_always(csk_rcu_node_t *node, csk_rcu_function_t function);

/* Starts the reclaiming thread if it does not run. Returns 0, after which csk_rcu_retire is refused no more in this
 * process, or EAGAIN or ENOMEM. A child of fork needs a thread of its own. */
CSK_API CSK_MUST_USE int csk_rcu_prepare(void);

/* Sets how many may be retired and not yet reclaimed before csk_rcu_retire slows its callers. The limit is 32 768
 * unless it is set. Returns 0, or EINVAL for 0 and for more than INT64_MAX. */
CSK_API int csk_rcu_set_limit(uint64_t limit);

/* The number that is retired and not yet reclaimed, at some instant during the call. It is 0 after a csk_rcu_barrier,
 * if nothing is retired meanwhile. Never blocks. */
CSK_API uint64_t csk_rcu_pending(void);

/* Waits until every section that had begun before the call has ended, and everything retired before it is reclaimed.
 * Returns 0; EDEADLK inside a section or a reclaiming function; EAGAIN or ENOMEM where the system refuses the
 * reclaiming thread. It takes as long as the longest section and what is reclaimed; some 100 us without readers. */
CSK_API CSK_MUST_USE int csk_rcu_barrier(void);

/* Sets after how long a grace period is reported that has not ended (CSK_EVENT_MEMORY_WAITS, observe.h). It is 1 s
 * unless it is set, for which 0 stands; CSK_NEVER reports none. A grace period is under way only while something is
 * retired, or a barrier waits. It is reported once, at latest after one and a half times the limit, and once more when
 * it has ended. The first report names the threads that are inside of a section for so long, and says what they do. A
 * thread is not known whose section is not this library's, or whose end can't be noticed.
 *
 * The library's thread "csk-watchdog", which mark.h and deadlock.h share, checks and reports. The process's first grace
 * period starts it. It checks twice within the limit while there are grace periods, and else sleeps. Sections cost
 * nothing for it.
 *
 * The limit holds for grace periods that begin from now on; for the present one too, unless the limit was CSK_NEVER.
 * Returns 0, or EINVAL for a negative limit. Never blocks. */
CSK_API int csk_rcu_report_after(int64_t after_ns);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_rcu_node_t) == 32, "csk_rcu_node_t is part of the ABI");

#endif
