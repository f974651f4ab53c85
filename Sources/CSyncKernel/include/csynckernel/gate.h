/* gate.h: the gate, a lock whose waiters are ordered by priority, have deadlines, can be cancelled, and are threads or
 * callbacks.
 *
 * One holder at a time. Waiters are granted by rank: higher priority first, within one priority by arrival. A waiter is
 * a thread that blocks in csk_gate_lock, or a caller-owned csk_gate_waiter_t whose function is called when the gate is
 * its.
 *
 * Policies
 *   CSK_GATE_FAST    (zero) Enters by compare-and-swap, leaves by a plain store. A newcomer may take a free gate if its
 *                    rank is at least the highest that waits; a waiter that was overtaken for 0.25 to 0.75 ms gets a
 *                    direct hand-over. Among waiters the order is strict at every instant.
 *                    The gate must outlive the call that leaves it: it is ILLEGAL to free it as soon as one has it
 *                    unlocked oneself while another thread's csk_gate_unlock may still be returning. (csk_mutex has no
 *                    such rule.)
 *   CSK_GATE_COMPACT The same promises from one word, two locked instructions a round; the gate may be freed as soon as
 *                    it is unlocked. FAST turns into this where the system lacks membarrier, and under a bypass limit.
 *   CSK_GATE_STRICT  One word, direct hand-over: nobody overtakes a waiter that has been queued, and every wake is paid
 *                    for.
 *
 * Zero-filled memory (CSK_GATE_INITIALIZER) is a free FAST gate with no bypass limit.
 *
 * Status values: 0; EDEADLK, the calling thread holds this gate; ETIMEDOUT, the deadline passed first, never early;
 * EBUSY; EPERM, unlocking what one does not hold; ESHUTDOWN, the gate was closed; EINVAL.
 *
 * It is ILLEGAL for a thread to end while it holds a gate; the gate stays held then, until it is initialized anew. A
 * thread that waits finds out and reports it: see csk_set_reporter in observe.h. A plain gate knows its holder by the
 * thread pointer, which a later thread gets where it gets the ended one's memory. Until the report such a thread passes
 * for the holder: its lock is EDEADLK, its unlock leaves the gate. Mutexes and recursive gates know their holder by a
 * number that is never used twice, and mistake nobody.
 *
 * No function here may be called from a signal handler.
 *
 * fork. The child's thread holds what it held, and may leave it: in a handler of pthread_atfork too, if that was
 * registered after the library was loaded, and whoever waited in the parent. Nobody waits in the child for a gate of the parent, and no function is called there for those that did:
 * their waiters are idle (csk_gate_cancel gives EBUSY), lanes are empty, and both may be used again. A grant that nobody
 * had adopted is the parent's; the gate is free in the child. A gate that another thread held stays held, since what it
 * protects may be half changed: initialize it anew. So does one that was granted to a waiter that needs no adoption, or
 * disowned: any thread of the child may unlock it. A closed gate stays closed. It is ILLEGAL to fork in a waiter's
 * function, unless the child only calls exec or _exit.
 *
 *     static csk_gate_t gate = CSK_GATE_INITIALIZER;
 *     if (csk_gate_timedlock(&gate, 10, csk_deadline_after(5000000)) == 0) { ...; csk_gate_unlock(&gate); }
 */
#ifndef CSK_GATE_H
#define CSK_GATE_H

#include "timer.h"

CSK_BEGIN_DECLS

typedef struct csk_gate csk_gate_t;
typedef struct csk_gate_waiter csk_gate_waiter_t;
typedef struct csk_gate_lane csk_gate_lane_t;

enum { CSK_GATE_FAST = 0, CSK_GATE_COMPACT = 1, CSK_GATE_STRICT = 2 };

typedef struct csk_gate_attr {
    uint32_t policy;
    uint32_t bypass_limit;  /* a waiter that this many later arrivals have overtaken goes next; 0: strict priority */
    uint32_t grace_us;      /* how long a provisional grant stays when others wait, the first time; 0: 1000 */
} csk_gate_attr_t;

/* The fields are the library's own; src/lock/gate_queue.h says who may change which. */
struct csk_gate {
    uint64_t held;
    uint64_t summary;
    uint32_t queue_lock;
    uint32_t bypass_limit;
    csk_heap_t waiters;
    int64_t next_ticket;
    csk_gate_waiter_t *oldest;
    csk_gate_waiter_t *pending;
    uint32_t oldest_bypassed;
    uint32_t waiting;
    uint32_t lost_grants;
    uint32_t depth;
    uint8_t policy;
    uint8_t designated;
    uint8_t hand_over;
    uint8_t closed;
    uint32_t grace_us;
};

#ifdef __cplusplus
#define CSK_GATE_INITIALIZER {}
#else
#define CSK_GATE_INITIALIZER { 0 }
#endif

/* Called once for each accepted asynchronous waiter: status 0, the gate is the waiter's and must be unlocked in the
 * end; ETIMEDOUT or ECANCELED, it is not. Runs on the thread that left the gate, cancelled, or fired the deadline,
 * possibly before csk_gate_lock_async returns; never recursively: what is granted meanwhile runs after it returns. No
 * lock is held. It must not block: the thread may be on its way into, or out of, any gate. The waiter is the caller's
 * again, except that an adoptable one stays in use until csk_gate_adopt has returned 0. */
typedef void (*csk_gate_function_t)(csk_gate_waiter_t *waiter, void *context, int status);

/* An asynchronous waiter. The caller owns the memory, zero-fills it once, and keeps it in place while it waits. */
struct csk_gate_waiter {
    csk_heap_node_t node;
    csk_gate_waiter_t *older, *newer;
    union {
        csk_gate_t *gate;
        struct csk_rwlock *rwlock;
        void *object;
    };
    csk_gate_function_t function;
    void *context;  /* the caller's */
    csk_gate_lane_t *lane;
    int64_t deadline_ns;
    int64_t since_ns;
    int64_t granted_ns;
    int64_t grace_ns;
    csk_gate_waiter_t *next_ready;
    uint64_t thread;
    uint32_t word;
    uint32_t state;
    uint32_t bypassed;
    int32_t status;
    uint8_t adoptable;
    uint8_t deadline_started;
    uint8_t grace_started;
    uint8_t due;
    uint8_t has_waited;
    uint8_t mode;
    uint8_t stays;  /* can't be cancelled */
    uint8_t timers; /* that have to be stopped before its function is called */
    csk_timer_t deadline;
    csk_timer_t grace;
};

/* Says that the gate was granted to a lane. Runs like the function of a waiter. Calls csk_gate_lane_taken first, once
 * it has made sure that gate and lane stay in place, and hands on to the lane's queue that csk_gate_begin is to be
 * called there. */
typedef void (*csk_gate_lane_function_t)(csk_gate_lane_t *lane, void *context);

/* What is performed on one queue or executor: see csk_gate_lock_lane. The caller owns the memory, zero-fills it, may
 * set `function` and `context` before the first use, and keeps it in place while it has waiters, a grant, or a begin is
 * owed. */
struct csk_gate_lane {
    csk_gate_lane_function_t function;  /* NULL: of an executor, whose waiters have functions of their own */
    void *context;
    csk_heap_t waiters;
    csk_heap_t lost;
    csk_gate_waiter_t *front;
    csk_gate_lane_t *next_ready;
    uint8_t granted;
    uint8_t stalled;
    uint8_t forced;
    uint8_t due;
    uint32_t mark;
};

/* 0, or EINVAL for an unknown policy. `attr` NULL means FAST without a bypass limit. */
CSK_API int csk_gate_init(csk_gate_t *gate, const csk_gate_attr_t *attr);
/* EBUSY while it is held or has waiters; it stays usable then. A closed gate that its closing waiter holds can be
 * destroyed. */
CSK_API int csk_gate_destroy(csk_gate_t *gate);

/* ---- Entering and leaving by threads ---------------------------------------------------------------------------------- */

#define CSK_GATE_READY UINT64_C(1) /* `summary` of a FAST gate with nobody waiting */
#define CSK_GATE_NOBODY UINT64_C(16) /* `held` of a gate that is held by no thread in particular */

/* The calling thread for plain gates: its thread pointer, whose low four bits are zero. Another thread may have it once
 * this one has ended. */
static inline uint64_t csk_self(void) { return (uint64_t)(uintptr_t)CSK_THREAD_POINTER(); }

/* The calling thread for mutexes and recursive gates: a number that no other thread of the process ever has, with bit 63
 * set and the low four bits zero; CSK_THREAD_UNNUMBERED until the thread first needs one. */
#define CSK_THREAD_UNNUMBERED UINT64_C(32)
CSK_API extern __thread uint64_t csk_thread_number __attribute__((tls_model("initial-exec")));

CSK_API int csk_gate_lock_slow(csk_gate_t *gate, csk_rank_t rank, int64_t deadline_ns);
CSK_API int csk_gate_trylock_slow(csk_gate_t *gate, csk_rank_t rank);
CSK_API int csk_gate_unlock_slow(csk_gate_t *gate);
CSK_API void csk_gate_post(csk_gate_t *gate);
CSK_API int csk_gate_lock_recursive_slow(csk_gate_t *gate, csk_rank_t rank, int64_t deadline_ns);
CSK_API int csk_gate_trylock_recursive_slow(csk_gate_t *gate, csk_rank_t rank);
CSK_API int csk_gate_unlock_recursive_slow(csk_gate_t *gate);

/* The uncontended entry alone: true when the gate was taken. False says nothing about why. */
static inline bool csk_gate_enter_fast(csk_gate_t *gate) {
    uint64_t expected = 0;
    return CSK_LIKELY(__atomic_load_n(&gate->summary, __ATOMIC_RELAXED) == CSK_GATE_READY) &&
           CSK_LIKELY(__atomic_compare_exchange_n(&gate->held, &expected, csk_self(), 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
}

/* Takes the gate at `rank`, waiting until `deadline_ns` (CSK_NEVER: for ever; one that has passed tries once). A rank
 * that csk_rank does not give is EINVAL, unless the gate is idle and the rank has no meaning. */
CSK_MUST_USE static inline int csk_gate_lock_ranked(csk_gate_t *gate, csk_rank_t rank, int64_t deadline_ns) {
    return csk_gate_enter_fast(gate) ? 0 : csk_gate_lock_slow(gate, rank, deadline_ns);
}
/* Takes the gate, waiting by priority: 0, EDEADLK or ESHUTDOWN. Uncontended: one locked instruction, no call. */
CSK_MUST_USE static inline int csk_gate_lock(csk_gate_t *gate, int32_t priority) {
    return csk_gate_lock_ranked(gate, csk_rank(priority, CSK_PLACE_BACK), CSK_NEVER);
}
/* The same until an absolute CLOCK_MONOTONIC deadline: also ETIMEDOUT. */
CSK_MUST_USE static inline int csk_gate_timedlock(csk_gate_t *gate, int32_t priority, int64_t deadline_ns) {
    return csk_gate_lock_ranked(gate, csk_rank(priority, CSK_PLACE_BACK), deadline_ns);
}
/* Never waits: EBUSY when the gate is held, by the caller too, or when somebody of higher rank waits for it. */
CSK_MUST_USE static inline int csk_gate_trylock(csk_gate_t *gate, int32_t priority) {
    return csk_gate_enter_fast(gate) ? 0 : csk_gate_trylock_slow(gate, csk_rank(priority, CSK_PLACE_BACK));
}
/* True when the calling thread holds the gate. */
static inline bool csk_gate_is_mine(const csk_gate_t *gate) {
    uint64_t holder = __atomic_load_n(&gate->held, __ATOMIC_RELAXED) & ~UINT64_C(7);
    return holder == csk_self() || (CSK_UNLIKELY((int64_t)holder < 0) && holder == csk_thread_number);
}
/* Leaves a gate that the calling thread holds, or that nobody in particular holds (csk_gate_disown, an asynchronous
 * grant): 0, or EPERM with nothing changed. Never blocks; may run functions of asynchronous waiters. */
static inline int csk_gate_unlock(csk_gate_t *gate) {
    if (CSK_LIKELY(__atomic_load_n(&gate->held, __ATOMIC_RELAXED) == csk_self()) &&
        CSK_LIKELY(__atomic_load_n(&gate->summary, __ATOMIC_RELAXED) == CSK_GATE_READY)) {
        __atomic_store_n(&gate->held, 0, __ATOMIC_RELEASE);
        /* Orders the two accesses in the program only; a first waiter's membarrier does it in the machine. */
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        if (CSK_UNLIKELY(__atomic_load_n(&gate->summary, __ATOMIC_RELAXED) != CSK_GATE_READY)) csk_gate_post(gate);
        return 0;
    }
    return csk_gate_unlock_slow(gate);
}

/* The calling thread goes on without the gate while the gate stays held: any thread may unlock it then, and the calling
 * thread waits like others if it locks again. EPERM when the caller does not hold it. Never blocks. */
CSK_API int csk_gate_disown(csk_gate_t *gate);

/* Re-entrant use: each lock by the thread that holds the gate counts, and needs its own unlock. Both forms may not be
 * mixed with the plain ones on one gate. EAGAIN at 2^32 - 1 levels.
 *
 * The uncontended entry alone, or one more level: 0, EAGAIN, or EBUSY, which says nothing about why. */
CSK_MUST_USE static inline int csk_gate_enter_recursive(csk_gate_t *gate) {
    uint64_t self = csk_thread_number, expected = 0;
    if (CSK_UNLIKELY(self == CSK_THREAD_UNNUMBERED)) return EBUSY;
    if ((__atomic_load_n(&gate->held, __ATOMIC_RELAXED) & ~UINT64_C(7)) == self) {
        if (CSK_UNLIKELY(gate->depth == UINT32_MAX)) return EAGAIN;
        gate->depth++;
        return 0;
    }
    return CSK_LIKELY(__atomic_load_n(&gate->summary, __ATOMIC_RELAXED) == CSK_GATE_READY) &&
                   CSK_LIKELY(__atomic_compare_exchange_n(&gate->held, &expected, self, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
               ? 0
               : EBUSY;
}
CSK_MUST_USE static inline int csk_gate_lock_recursive(csk_gate_t *gate, int32_t priority, int64_t deadline_ns) {
    int status = csk_gate_enter_recursive(gate);
    return CSK_LIKELY(status != EBUSY) ? status : csk_gate_lock_recursive_slow(gate, csk_rank(priority, CSK_PLACE_BACK), deadline_ns);
}
/* Never waits: EBUSY when another thread holds it, or somebody of higher rank waits for it. */
CSK_MUST_USE static inline int csk_gate_trylock_recursive(csk_gate_t *gate, int32_t priority) {
    int status = csk_gate_enter_recursive(gate);
    return CSK_LIKELY(status != EBUSY) ? status : csk_gate_trylock_recursive_slow(gate, csk_rank(priority, CSK_PLACE_BACK));
}
static inline int csk_gate_unlock_recursive(csk_gate_t *gate) {
    uint64_t self = csk_thread_number, held = __atomic_load_n(&gate->held, __ATOMIC_RELAXED);
    if (CSK_UNLIKELY((held & ~UINT64_C(7)) != self)) return EPERM;
    if (gate->depth != 0) {
        gate->depth--;
        return 0;
    }
    if (CSK_UNLIKELY(held != self) || CSK_UNLIKELY(__atomic_load_n(&gate->summary, __ATOMIC_RELAXED) != CSK_GATE_READY))
        return csk_gate_unlock_recursive_slow(gate);
    /* As csk_gate_unlock. */
    __atomic_store_n(&gate->held, (uint64_t)0, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (CSK_UNLIKELY(__atomic_load_n(&gate->summary, __ATOMIC_RELAXED) != CSK_GATE_READY)) csk_gate_post(gate);
    return 0;
}

/* ---- Asynchronous waiters --------------------------------------------------------------------------------------------- */

/* Queues `waiter`; `function` is called once, when the gate is its or the deadline has passed. 0, ESHUTDOWN, EBUSY (the
 * waiter is in use), EINVAL (no function), EAGAIN or ENOMEM (the timer thread can't be started). Never waits for the
 * gate. The holder may be the calling thread: the waiter is granted once it leaves. */
CSK_API CSK_MUST_USE int csk_gate_lock_async(csk_gate_t *gate, csk_gate_waiter_t *waiter, int32_t priority,
                                             int64_t deadline_ns, csk_gate_function_t function, void *context);
/* The same at any rank. An `adoptable` waiter's grant is provisional until csk_gate_adopt: see there. */
CSK_API CSK_MUST_USE int csk_gate_lock_async_ranked(csk_gate_t *gate, csk_gate_waiter_t *waiter, csk_rank_t rank,
                                                    int64_t deadline_ns, bool adoptable, csk_gate_function_t function,
                                                    void *context);

/* Takes a waiting waiter out: 0, and its function has been or is being called with ECANCELED. EBUSY: it does not wait,
 * since it was never queued, was granted or timed out; then nothing changes. */
CSK_API int csk_gate_cancel(csk_gate_t *gate, csk_gate_waiter_t *waiter);

/* Makes the calling thread the holder of what was granted to `waiter`. For an adoptable waiter, or one of an executor's
 * lane, whose function typically hands work to another thread: as long as nobody has adopted it, the grant is taken
 * back after 1 ms if others wait (2 ms the next time, and so on to 1 s), so that a work queue that is stuck behind the
 * gate can't stop it. Then adopt answers EAGAIN, the gate is not held, and csk_gate_relock_async puts the waiter back
 * at its old place. In a lane EAGAIN also says that one which comes before it has come meanwhile, which is granted
 * then. 0, EAGAIN, or EINVAL. It is ILLEGAL for a waiter whose grant was unlocked already: while the gate is granted to
 * another that needs no adoption it can't be told from that one. */
CSK_API CSK_MUST_USE int csk_gate_adopt(csk_gate_t *gate, csk_gate_waiter_t *waiter);
/* Queues a waiter that lost its grant again, under its old ticket; its function is called again. 0 or EINVAL. */
CSK_API CSK_MUST_USE int csk_gate_relock_async(csk_gate_t *gate, csk_gate_waiter_t *waiter);
/* Gives up a grant that was lost, instead of relocking; for one of a lane also a grant that it has not adopted. 0 or
 * EINVAL. */
CSK_API int csk_gate_forget(csk_gate_t *gate, csk_gate_waiter_t *waiter);

/* Refuses whoever comes from now on (ESHUTDOWN) and queues `waiter` behind everybody accepted so far. When its function
 * is called the gate is its for good: what the gate protects can be destroyed, and then the gate (a FAST one only once
 * no other thread can still be returning from csk_gate_unlock). 0, or ESHUTDOWN the second time. */
CSK_API CSK_MUST_USE int csk_gate_close(csk_gate_t *gate, csk_gate_waiter_t *waiter, csk_gate_function_t function,
                                        void *context);

/* ---- Lanes: waiters that are performed on one queue or executor --------------------------------------------------------------
 *
 * A lane is one for each gate and queue. Waiters of one lane always begin in order: by rank, then ticket, among those
 * that have not begun. Each grant is provisional. If the queue has not begun within the grace (see csk_gate_adopt),
 * waiters of other lanes, and those without one, go first; nothing of the lane is granted until its queue comes, and
 * then its first is next. So at most one begin is owed at a time. Waiters of a lane that waits for its queue can time
 * out and be cancelled. A bypass limit is part of the order: what it makes next begins before higher ranks of its lane,
 * and while a lane waits for its queue, its waiters count those that overtake them.
 *
 * A queue's lane has a function, which is called when the gate is granted to the lane; whoever comes first on that
 * queue performs the lane's first (csk_gate_begin). The functions of its waiters are called for ETIMEDOUT and ECANCELED
 * only. An executor's lane has none: its waiters are tasks, of which none can begin in place of another. The function
 * of the one that was granted is called, and it adopts. */

/* csk_gate_lock_async_ranked for a waiter of a lane. */
CSK_API CSK_MUST_USE int csk_gate_lock_lane(csk_gate_t *gate, csk_gate_waiter_t *waiter, csk_rank_t rank,
                                            int64_t deadline_ns, csk_gate_lane_t *lane, csk_gate_function_t function,
                                            void *context);

CSK_API void csk_gate_restart_grace(csk_gate_t *gate);

/* By the holder: whether a grant was taken back whose waiter has not come since. Then a task must not enter by
 * csk_gate_lock or csk_gate_enter_fast: the waiter may be one of its executor, and come before it. */
static inline bool csk_gate_has_lost_grants(const csk_gate_t *gate) { return __atomic_load_n(&gate->lost_grants, __ATOMIC_RELAXED) != 0; }

/* By the lane's function: from now on the grant may be taken back, and the lane freed once nothing of it waits or is
 * owed. */
static inline void csk_gate_lane_taken(csk_gate_t *gate, csk_gate_lane_t *lane) {
    /* 2: the grace has ended meanwhile, and begins anew. */
    if (CSK_UNLIKELY(__atomic_exchange_n(&lane->due, 0, __ATOMIC_ACQ_REL) == 2)) csk_gate_restart_grace(gate);
}

/* On the queue of a lane whose function was called, once for each call: makes the calling thread the holder for the
 * lane's first at this moment, which is the caller's again. EAGAIN: there is nothing to perform now, since all have
 * timed out or been cancelled, or the grant was lost; the function is called again when it is the lane's turn. EINVAL:
 * no begin is owed. Never waits. O(log n) amortized. */
CSK_API CSK_MUST_USE int csk_gate_begin(csk_gate_t *gate, csk_gate_lane_t *lane, csk_gate_waiter_t **waiter);

/* Leaves a gate that the calling thread holds, for a thread that can begin on the lane's queue. True in *goes_on: the
 * gate was granted to that lane, its function is not called, and csk_gate_begin is owed. 0 or EPERM. */
CSK_API int csk_gate_unlock_lane(csk_gate_t *gate, csk_gate_lane_t *lane, bool *goes_on);

/* ---- What must not run inside of functions of waiters ------------------------------------------------------------------------- */

/* A call that a function of an asynchronous waiter leaves for later, since it may block: whoever has code of others to
 * run. */
typedef struct csk_gate_later csk_gate_later_t;
struct csk_gate_later {
    csk_gate_later_t *next;
    void (*function)(csk_gate_later_t *later);
};
/* Calls later->function(later), which may free it, once this thread is outside of all functions of waiters: at once
 * where it is. There it may block, and do whatever code of users may, but on the timers' thread (csk_timer_is_current).
 * False, and it is not called: the thread is about to wait itself, so the call must be made on another. */
CSK_API bool csk_gate_call_later(csk_gate_later_t *later);

/* How many wait, at some instant during the call: for statistics and tests. */
CSK_API uint32_t csk_gate_waiting(csk_gate_t *gate);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_gate_t) == 80, "csk_gate_t is part of the ABI");

#endif
