/* gate.h: the gate, a lock whose waiters are ordered by priority, have deadlines, can be cancelled, and are threads or
 * callbacks.
 *
 * A gate has one holder at a time. Waiters are granted by rank: a higher priority goes first, and within one priority
 * the earliest arrival. A waiter is a thread that blocks in csk_gate_lock, or a caller-owned csk_waiter_t whose
 * function is called when the gate is granted to it.
 *
 * Policies
 *   CSK_GATE_FAST    (zero) The gate is entered by one compare-and-swap and left by a plain store. A newcomer may take
 *                    a free gate if its rank is at least the highest that waits. A waiter that finds the gate taken
 *                    when it tries, 0.25 to 0.78 ms or more after it came, is handed the gate directly. Among waiters
 *                    the order is strict at every instant. But the waiter that is designated to try may have no
 *                    processor. An arrival of higher rank does not wait for it. Once it is 100 ms late, waiters behind
 *                    it may go first, until it tries and has its place again. The gate must outlive all calls of it: it
 *                    is ILLEGAL to free the gate after one's own unlock while another thread's csk_gate_unlock, or any
 *                    other call, may still be returning. (A csk_mutex has no such rule.)
 *   CSK_GATE_COMPACT This policy keeps the same promises with one word, at two locked instructions a round. The gate
 *                    may be freed as soon as it is unlocked. A FAST gate turns into a COMPACT one where the system
 *                    lacks membarrier, and under a bypass limit of its own.
 *   CSK_GATE_STRICT  This policy has one word and direct hand-over: no arrival overtakes a queued waiter, and every
 *                    hand-over costs a wake. A granted waiter is the holder before it runs, and the others wait for it.
 *
 * Zero-filled memory (CSK_GATE_INITIALIZER) is a free FAST gate with no bypass limit of its own. A waiter whose rank is
 * CSK_PLACE_UNNAMED, since its priority was not named, is overtaken by at most CSK_BYPASS_UNNAMED other waiters.
 * Newcomers that find the gate free may go uncounted, whatever their rank: the rule of FAST bounds these. Every 32
 * older named waiters allow one more pass. A limit of the gate's own counts newcomers too. Neither limit covers waits
 * for predicates.
 *
 * A status is 0 or one of these. EDEADLK: the calling thread holds this gate. ETIMEDOUT: the deadline passed first;
 * this is never early. EPERM: the caller does not hold the gate that it unlocks. ESHUTDOWN: the gate was closed. EBUSY,
 * EINVAL and others: see the functions.
 *
 * It is ILLEGAL for a thread to end while it holds a gate. The gate then stays held until it is initialized anew. With
 * glibc a waiting thread detects and reports it: see csk_set_reporter in observe.h. A plain gate knows its holder by
 * the thread pointer. A later thread has the same pointer if it gets the ended thread's memory. Until the report, which
 * with musl never comes, such a thread is taken for the holder: its lock gives EDEADLK, and its unlock leaves the gate.
 * Mutexes and recursive gates know their holder by a number that is never used twice, so they confuse no two threads.
 *
 * No function here may be called from a signal handler.
 *
 * fork. The child's thread holds what it held before, and may leave it, even if others waited in the parent. It may
 * also leave it in a pthread_atfork handler that was registered after the library was loaded. No waiter of the parent
 * waits in the child, and its function is not called there. Such waiters are idle (csk_gate_cancel gives ENOENT), and
 * may be used again. A grant that was not adopted is the parent's; the gate is free in the child. A gate that another
 * thread held stays held, since what it protects may be half changed: initialize it anew. A gate that was disowned, or
 * granted to a waiter that needs no adoption, stays held too, and any thread of the child may unlock it. A closed gate
 * stays closed. It is ILLEGAL to fork in a waiter's function, unless the child only calls exec or _exit.
 *
 * Example: a thread and a callback take turns.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *
 *     static csk_gate_t gate = CSK_GATE_INITIALIZER;
 *     static long balance;
 *
 *     static void add_interest(csk_waiter_t *waiter, void *context, int status) {
 *         (void)waiter;
 *         if (status != 0) return;  // ETIMEDOUT, ECANCELED: not granted
 *         balance += *(const long *)context;
 *         csk_gate_unlock(&gate);
 *     }
 *
 *     int main(void) {
 *         static csk_waiter_t waiter;
 *         static long interest = 7;
 *
 *         // Priority 10
 *         if (csk_gate_timedlock(&gate, 10, csk_deadline_after(csk_ms(5))) != 0) return 1;
 *         balance += 100;
 *         // Granted when this thread leaves.
 *         int status = csk_gate_lock_async(&gate, 0, &waiter, CSK_NEVER, add_interest, &interest);
 *         if (status != 0) return 1;
 *         csk_gate_unlock(&gate);
 *
 *         if (csk_gate_lock(&gate, 0) != 0) return 1;
 *         printf("%ld\n", balance);
 *         csk_gate_unlock(&gate);
 *         return balance != 107 || csk_gate_destroy(&gate) != 0;
 *     }
 */
#ifndef CSK_GATE_H
#define CSK_GATE_H

#include "waiter.h"

CSK_BEGIN_DECLS

enum { CSK_GATE_FAST = 0, CSK_GATE_COMPACT = 1, CSK_GATE_STRICT = 2 };

typedef struct csk_gate_attr {
    size_t size; /* see base.h */
    uint32_t policy;
    uint32_t bypass_limit; /* a waiter that this many later arrivals have overtaken goes next; 0: that holds of those
                              whose rank is CSK_PLACE_UNNAMED, after CSK_BYPASS_UNNAMED. CSK_BYPASS_NEVER: strict
                              priority */
    uint32_t grace_us;     /* how long a provisional grant stays the first time when others wait; 0: 1000. At most
                              INT32_MAX */
} csk_gate_attr_t;

/* The fields belong to the library; src/lock/gate_words.h says what may change each. */
struct csk_gate {
    uint64_t held;
    uint64_t summary;
    uint32_t queue_lock;
    uint32_t bypass_limit;
    csk_heap_t waiters;
    int64_t next_ticket;
    union {
        csk_waiter_t *oldest;
        struct csk_gate_conditions *conditions; /* where `looks` says that there are some: `oldest` stands there */
    };
    csk_waiter_t *pending;
    uint32_t oldest_bypassed;
    uint32_t bounded; /* waiters that are under a limit */
    uint32_t waiting;
    uint32_t lost_grants;
    union {
        uint32_t depth;   /* levels of a re-entrant holder */
        uint32_t section; /* of tasks: see src/lock/gate_section.h */
    };
    uint8_t policy;
    uint8_t hand_over;
    uint8_t closed;
    uint8_t looks;
    uint32_t grace_and_place; /* bit 0: it is a csk_placed_gate_t's (name.h); above: grace_us. Never changes */
};

#ifdef __cplusplus
#define CSK_GATE_INITIALIZER \
    {}
#else
#define CSK_GATE_INITIALIZER \
    { 0 }
#endif

/* Makes a free gate with the attributes of `attr`. NULL stands for FAST without a limit of its own. Returns 0, or
 * EINVAL for an unknown policy or size, or too long a grace. */
CSK_API int csk_gate_init(csk_gate_t *gate, const csk_gate_attr_t *attr);
/* Ends the use of a gate. Returns EBUSY while the gate is held or has waiters; it stays usable then. A closed gate that
 * its closing waiter holds can be destroyed. */
CSK_API int csk_gate_destroy(csk_gate_t *gate);

/* ---- Entering and leaving by threads ----------------------------------------------------------------------------- */

/* For the inline functions only. */
#define CSK_GATE_READY UINT64_C(1)   /* `summary` of a FAST gate without waiters */
#define CSK_GATE_NOBODY UINT64_C(16) /* `held` of a gate that is held by no thread in particular */

/* For the inline functions only: what they call where the inline path ends. */
CSK_API int csk_gate_lock_slow(csk_gate_t *gate, csk_rank_t rank, int64_t deadline_ns);
CSK_API int csk_gate_trylock_slow(csk_gate_t *gate, csk_rank_t rank);
CSK_API int csk_gate_unlock_slow(csk_gate_t *gate);
CSK_API void csk_gate_post(csk_gate_t *gate);
CSK_API int csk_gate_lock_recursive_slow(csk_gate_t *gate, csk_rank_t rank, int64_t deadline_ns);
CSK_API int csk_gate_trylock_recursive_slow(csk_gate_t *gate, csk_rank_t rank);
CSK_API int csk_gate_unlock_recursive_slow(csk_gate_t *gate);

/* The uncontended entry alone. Returns true when the gate was taken. False gives no reason. */
static inline bool csk_gate_enter_fast(csk_gate_t *gate) {
    uint64_t expected = 0;
    return CSK_LIKELY(__atomic_load_n(&gate->summary, __ATOMIC_RELAXED) == CSK_GATE_READY) &&
           CSK_LIKELY(__atomic_compare_exchange_n(&gate->held, &expected, csk_self(), 0, __ATOMIC_ACQUIRE,
                                                  __ATOMIC_RELAXED));
}

/* Takes the gate at `rank`, and waits until `deadline_ns`: CSK_NEVER waits for ever, and a deadline that has passed
 * tries once. A rank that csk_rank does not give is EINVAL. An idle gate may be taken all the same, since the rank has
 * no meaning there. */
CSK_MUST_USE static inline int csk_gate_lock_ranked(csk_gate_t *gate, csk_rank_t rank, int64_t deadline_ns) {
    return csk_gate_enter_fast(gate) ? 0 : csk_gate_lock_slow(gate, rank, deadline_ns);
}
/* Takes the gate, and waits by priority while it is held. Returns 0, EDEADLK or ESHUTDOWN. Without contention a FAST
 * gate that has been used before costs one locked instruction and no call, for entering and leaving together. The other
 * policies cost two of each. Where the thread can't hold the gate, and nobody closes it, (void)csk_gate_lock(...) will
 * do. */
CSK_SHOULD_USE static inline int csk_gate_lock(csk_gate_t *gate, int32_t priority) {
    return csk_gate_lock_ranked(gate, csk_rank(priority, CSK_PLACE_BACK), CSK_NEVER);
}
/* Takes the gate, and waits by priority until an absolute CLOCK_MONOTONIC deadline. Also returns ETIMEDOUT. */
CSK_MUST_USE static inline int csk_gate_timedlock(csk_gate_t *gate, int32_t priority, int64_t deadline_ns) {
    return csk_gate_lock_ranked(gate, csk_rank(priority, CSK_PLACE_BACK), deadline_ns);
}
/* Takes the gate if it can without waiting. Returns EBUSY when the gate is held, by the caller too, or when a waiter of
 * higher rank waits; ESHUTDOWN when it was closed and has no holder yet. */
CSK_MUST_USE static inline int csk_gate_trylock(csk_gate_t *gate, int32_t priority) {
    return csk_gate_enter_fast(gate) ? 0 : csk_gate_trylock_slow(gate, csk_rank(priority, CSK_PLACE_BACK));
}
/* Returns true when the calling thread holds the gate. */
static inline bool csk_gate_is_mine(const csk_gate_t *gate) {
    uint64_t holder = __atomic_load_n(&gate->held, __ATOMIC_RELAXED) & ~UINT64_C(7);
    return holder == csk_self() || (CSK_UNLIKELY((int64_t)holder < 0) && holder == csk_thread_number);
}
/* For the inline functions only: frees a gate whose summary said that there are no waiters. */
static inline void csk_gate_free_and_look(csk_gate_t *gate) {
    CSK_SECTION_ENDS();
    __atomic_store_n(&gate->held, (uint64_t)0, __ATOMIC_RELEASE);
    /* Orders the two accesses in the program only. A first waiter's membarrier orders them in the machine. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (CSK_UNLIKELY(__atomic_load_n(&gate->summary, __ATOMIC_RELAXED) != CSK_GATE_READY)) csk_gate_post(gate);
}
/* Leaves a gate that the calling thread has entered and holds, as the end of a scope does, without checking the holder.
 * It is ILLEGAL elsewhere: for a gate of another thread, and after csk_gate_disown. Never blocks. It may run functions
 * of asynchronous waiters. */
static inline void csk_gate_leave(csk_gate_t *gate) {
    if (CSK_LIKELY(__atomic_load_n(&gate->summary, __ATOMIC_RELAXED) == CSK_GATE_READY)) {
        csk_gate_free_and_look(gate);
        return;
    }
    (void)csk_gate_unlock_slow(gate);
}
/* Leaves a gate that the calling thread holds, or that no particular thread holds (after csk_gate_disown, or after a
 * grant to an asynchronous waiter). Returns 0, or EPERM with nothing changed. Never blocks. It may run functions of
 * asynchronous waiters. */
static inline int csk_gate_unlock(csk_gate_t *gate) {
    if (CSK_LIKELY(__atomic_load_n(&gate->held, __ATOMIC_RELAXED) == csk_self())) {
        csk_gate_leave(gate);
        return 0;
    }
    return csk_gate_unlock_slow(gate);
}

/* Lets the calling thread go on without the gate while the gate stays held. From then on any thread may unlock it, and
 * the calling thread waits like others if it locks again. Returns EPERM when the caller does not hold the gate. Never
 * blocks. */
CSK_API int csk_gate_disown(csk_gate_t *gate);

/* ---- Re-entrant use -------------------------------------------------------------------------------------------------
 *
 * Each lock by the thread that holds the gate counts, and needs its own unlock. The recursive functions and the plain
 * ones must not be mixed on one gate. A lock returns EAGAIN at 2^32 levels. */

/* The uncontended entry alone, or one more level. Returns 0, EAGAIN, or EBUSY, which gives no reason. */
CSK_MUST_USE static inline int csk_gate_enter_recursive(csk_gate_t *gate) {
    uint64_t self = csk_thread_number, expected = 0;
    if (CSK_UNLIKELY(self == CSK_THREAD_UNNUMBERED)) return EBUSY;
    if ((__atomic_load_n(&gate->held, __ATOMIC_RELAXED) & ~UINT64_C(7)) == self) {
        if (CSK_UNLIKELY(gate->depth == UINT32_MAX)) return EAGAIN;
        gate->depth++;
        return 0;
    }
    return CSK_LIKELY(__atomic_load_n(&gate->summary, __ATOMIC_RELAXED) == CSK_GATE_READY) &&
                   CSK_LIKELY(__atomic_compare_exchange_n(&gate->held, &expected, self, 0, __ATOMIC_ACQUIRE,
                                                          __ATOMIC_RELAXED))
               ? 0
               : EBUSY;
}
/* Takes the gate, or one more level, and waits until `deadline_ns` at most. Returns 0, EAGAIN, ETIMEDOUT or
 * ESHUTDOWN. */
CSK_MUST_USE static inline int csk_gate_lock_recursive(csk_gate_t *gate, int32_t priority, int64_t deadline_ns) {
    int status = csk_gate_enter_recursive(gate);
    return CSK_LIKELY(status != EBUSY)
               ? status
               : csk_gate_lock_recursive_slow(gate, csk_rank(priority, CSK_PLACE_BACK), deadline_ns);
}
/* Takes the gate, or one more level, without waiting. Returns EBUSY when another thread holds the gate, or when a
 * waiter of higher rank waits. */
CSK_MUST_USE static inline int csk_gate_trylock_recursive(csk_gate_t *gate, int32_t priority) {
    int status = csk_gate_enter_recursive(gate);
    return CSK_LIKELY(status != EBUSY) ? status
                                       : csk_gate_trylock_recursive_slow(gate, csk_rank(priority, CSK_PLACE_BACK));
}
/* Gives back one level. Returns 0, or EPERM with nothing changed. Never blocks. It may run functions of asynchronous
 * waiters. */
static inline int csk_gate_unlock_recursive(csk_gate_t *gate) {
    uint64_t self = csk_thread_number, held = __atomic_load_n(&gate->held, __ATOMIC_RELAXED);
    if (CSK_UNLIKELY((held & ~UINT64_C(7)) != self)) return EPERM;
    if (gate->depth != 0) {
        gate->depth--;
        return 0;
    }
    if (CSK_UNLIKELY(held != self) || CSK_UNLIKELY(__atomic_load_n(&gate->summary, __ATOMIC_RELAXED) != CSK_GATE_READY))
        return csk_gate_unlock_recursive_slow(gate);
    csk_gate_free_and_look(gate);
    return 0;
}

/* ---- Asynchronous waiters ---------------------------------------------------------------------------------------- */

/* Queues `waiter`; `function` is called once, as waiter.h says, when the gate is granted to it or the deadline has
 * passed. With status 0 the waiter holds the gate, which must be unlocked in the end. With ETIMEDOUT or ECANCELED it
 * does not. An adoptable waiter stays in use until csk_gate_adopt has returned 0. Returns 0; ESHUTDOWN; EBUSY when the
 * waiter is in use; EINVAL without a function; EAGAIN or ENOMEM when the timer thread can't be started. Never waits for
 * the gate. The calling thread itself may hold the gate: the waiter is then granted the gate once the thread leaves. */
CSK_API CSK_MUST_USE int csk_gate_lock_async(csk_gate_t *gate, int32_t priority, csk_waiter_t *waiter,
                                             int64_t deadline_ns, csk_waiter_function_t function, void *context);
/* Queues `waiter` at any rank. EINVAL also for a rank that csk_rank does not give. The grant of an `adoptable` waiter
 * is provisional until csk_gate_adopt: see there. */
CSK_API CSK_MUST_USE int csk_gate_lock_async_ranked(csk_gate_t *gate, csk_rank_t rank, csk_waiter_t *waiter,
                                                    bool adoptable, int64_t deadline_ns, csk_waiter_function_t function,
                                                    void *context);

/* Takes a waiting waiter out. After 0 its function has been or is being called with ECANCELED. After ENOENT the waiter
 * does not wait, because it was never queued, was granted, or timed out, or is the one that closes the gate; nothing
 * has changed then. */
CSK_API int csk_gate_cancel(csk_gate_t *gate, csk_waiter_t *waiter);

/* Gives a waiting waiter a higher rank: among those of that rank it stands where it arrived. A rank that is not higher
 * changes nothing, and what was granted stays granted. Never waits. It may run functions of waiters, that of this one
 * too. O(log n). Returns 0; EINVAL for a rank that csk_rank does not give, or one of CSK_PLACE_UNNAMED; or ENOENT where
 * csk_gate_cancel does. A waiter that is queued again by csk_gate_relock_async has the rank that it had. */
CSK_API int csk_gate_raise(csk_gate_t *gate, csk_rank_t rank, csk_waiter_t *waiter);

/* Makes the calling thread the holder of what was granted to `waiter`. Returns 0, EAGAIN or EINVAL.
 *
 * It is for an adoptable waiter, whose function typically hands work to another thread. Until such a grant is adopted,
 * it is taken back once others have waited for 1 ms: for 2 ms the next time, and so on up to 1 s. So a work queue that
 * is stuck behind the gate can't stop the gate. After that csk_gate_adopt returns EAGAIN, the gate is not held, and
 * csk_gate_relock_async puts the waiter back at its old place.
 *
 * It is ILLEGAL to adopt for a waiter whose grant was unlocked already: while the gate is granted to another waiter
 * that needs no adoption, the two can't be told apart. */
CSK_API CSK_MUST_USE int csk_gate_adopt(csk_gate_t *gate, csk_waiter_t *waiter);
/* Queues a waiter that lost its grant again, under its old ticket; its function is called again. Returns 0 or
 * EINVAL. */
CSK_API CSK_MUST_USE int csk_gate_relock_async(csk_gate_t *gate, csk_waiter_t *waiter);
/* Gives up a grant that was lost, instead of queueing the waiter again. Returns 0 or EINVAL. */
CSK_API int csk_gate_forget(csk_gate_t *gate, csk_waiter_t *waiter);

/* Refuses all later arrivals (ESHUTDOWN), and queues `waiter` behind everything accepted so far. When its function is
 * called, the waiter holds the gate for good, and what the gate protects can be destroyed. Then the gate itself can be,
 * once the functions of all other waiters have been called; a FAST one only once each call of the gate has returned,
 * among them this one and the one that calls `function`. Returns 0; ESHUTDOWN the second time; EBUSY when the waiter is
 * in use; EINVAL without a function. If the gate has no holder, no waiter and no lost grant, `function` is called
 * before this returns, or after the function of a waiter that calls this. */
CSK_API CSK_MUST_USE int csk_gate_close(csk_gate_t *gate, csk_waiter_t *waiter, csk_waiter_function_t function,
                                        void *context);

/* ---- What must not run inside of functions of waiters ------------------------------------------------------------ */

/* A call that the function of an asynchronous waiter postpones because the call may block. It is for functions that
 * have to run code of others. */
typedef struct csk_gate_later csk_gate_later_t;
struct csk_gate_later {
    csk_gate_later_t *next;
    void (*function)(csk_gate_later_t *later);
};
/* Calls later->function(later), which may free `later`, once this thread is outside of all functions of waiters: at
 * once if the thread is there already. There the function may block and run any code, but not on the timers' thread
 * (csk_timer_is_current). If csk_gate_call_later returns false, the function is not called: the thread is about to
 * wait, so the call must be made on another one. If such a function leaves a gate, and the next one granted postpones a
 * call too, that call nests inside of the first: a long chain of them needs a stack. */
CSK_API bool csk_gate_call_later(csk_gate_later_t *later);

/* The number of waiters at some instant during the call, for statistics and tests. */
CSK_API uint32_t csk_gate_waiting(csk_gate_t *gate);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_gate_t) == 88, "csk_gate_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_gate_attr_t) == 24, "csk_gate_attr_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_gate_later_t) == 16, "csk_gate_later_t is part of the ABI");

#endif
