/* hooks.h: the one place at which the kernel reports waits, grants, ends of waits and works to whoever watches it.
 * These are tracers, by static probes (USDT, probe.c), and the subscribers of the layer `observe`: the observer, the
 * contention profile, the metrics, the deadlock watch's stacks, and the views' list of callbacks. The layers below
 * `observe` know this header alone.
 *
 * What the word says. A path that waits tests one word, once: whether any of them hears of waits. It pays the same as
 * it would pay for the observer alone. What is behind the test is out of line and cold (csk_told_...): it fires the
 * probes, and calls the subscribers' functions.
 *
 *   bits  0-15  BY_PROGRAM  how many of observer, profile, metrics, deadlock watch and list of callbacks are on.
 *                           csk_tell_program changes it.
 *   bits 16-31  WAIT_BEGIN  }
 *   bits 32-47  WAIT_END    } Semaphores. Tracers change them from outside, 16 bits each.
 *   bits 48-63  GRANT       }
 *
 * The word of works is made likewise: it counts those that want the list of callbacks, and since when works run
 * (csk_inspect_callbacks).
 *
 * Who changes it. A subscriber that is switched on attaches the table of all subscribers' functions (csk_hooks), for
 * good, and then counts itself in; switched off it counts itself out. The changes of all callers add up, in any order,
 * to what is attached in the end. A tracer changes its semaphores from outside at any moment, without a call: so the
 * probes, unlike the subscribers, must be in each program. A program that switches nothing on links no subscriber.
 *
 * Why a stale read is harmless. The word and csk_hooks order nothing, and all reads of them are relaxed. A thread that
 * reads an old word, or a new word and no table yet, misses an event; one that reads a count that is gone calls a
 * subscriber that finds itself off. The table is constant. What a subscriber keeps (a pointer to the observer, a mapped
 * table) is published by that subscriber, and alone decides. The two ends of one wait agree without the word: the
 * beginning leaves a mark in what the waiter owns (csk_waiter_t.has_waited, csk_workqueue_wait_t.since_ns, the time
 * that csk_tell_came returns), and the end looks at that mark. It was written by a thread that had the table, and the
 * queue lock or the thread itself hands it on: so whoever finds a mark finds the table.
 *
 * What a subscriber may do. Each function says on which thread it is called, and under which lock. Where it says no
 * lock, it may call the user's code, look for names, block and allocate nothing of its thread's: the thread stands in a
 * queue. Under an internal lock it reads the clock and its own tables, and no name. It must not change the waiter but
 * for the fields that are the subscribers': has_waited by its result, `stack`, `task`. */
#ifndef CSK_INTERNAL_HOOKS_H
#define CSK_INTERNAL_HOOKS_H

#include "csynckernel/gate.h"
#include "csynckernel/observe.h"
#include "base/platform.h"

/* ---- The word ---------------------------------------------------------------------------------------------------- */

enum { TOLD_BY_PROGRAM = 0, TOLD_WAIT_BEGIN, TOLD_WAIT_END, TOLD_GRANT };
enum { TOLD_WORK_BY_PROGRAM = 0, TOLD_WORK_BEGIN, TOLD_WORK_END };

typedef struct csk_told {
    union {
        uint64_t any;
        uint16_t each[4];
    } of_waits;
    union {
        uint64_t any;
        uint16_t each[4];
    } of_works;
    uint16_t of_refusals;
} csk_told_t;

extern csk_told_t csk_told __attribute__((visibility("hidden")));

/* Whether a subscriber or a tracer hears of waits. */
static inline bool csk_waits_are_told(void) { return CSK_UNLIKELY(csk_load(&csk_told.of_waits.any, CSK_RELAXED) != 0); }
/* Whether a tracer observes works, or views need to know since when they run. */
static inline bool csk_works_are_told(void) { return CSK_UNLIKELY(csk_load(&csk_told.of_works.any, CSK_RELAXED) != 0); }
static inline bool csk_refusals_are_traced(void) { return csk_load(&csk_told.of_refusals, CSK_RELAXED) != 0; }

/* Something of the program's was attached, detached, or replaced. */
static inline void csk_tell_program(bool before, bool now) {
    uint16_t *count = &csk_told.of_waits.each[TOLD_BY_PROGRAM];
    if (before != now) csk_fetch_add(count, (uint16_t)(now - before), CSK_RELAXED);
}

/* ---- What is reported -------------------------------------------------------------------------------------------- */

/* What a thread waits for. It stands on the thread's stack. The record of the thread leads to it for views (waits.h),
 * and the subscribers and probes are given it: one account of the wait for all. */
typedef struct csk_wait {
    const void *object;
    uint32_t object_kind;   /* CSK_OBJECT_GATE, ... */
    uint32_t waits_for;     /* CSK_WAITS_TO_ENTER, ...; 0: the waiter's mode says it */
    const void *waiter;     /* what stands in the object's queue for the thread */
    const csk_gate_t *gate; /* of a condition variable */
    csk_rank_t rank;
    int64_t ticket;
    int64_t since_ns, deadline_ns; /* since_ns: 0 stands for now */
    bool noted;
} csk_wait_t;
typedef int (*csk_await_t)(csk_wait_t *wait);

/* How a waiter was let in. */
enum { GRANTED_THREAD = 0, GRANTED_FUNCTION = 1, GRANTED_TRY = 2 };
/* The waiter that a leaver calls, copied while it is there; the object may be gone when this is reported. */
typedef struct csk_called {
    const void *object;
    uint32_t object_kind;
    csk_rank_t rank;
    int64_t since_ns;      /* since when it waits */
    int64_t waited_ns;     /* of a thread: for how long, or for how long since it was called before */
    uint32_t how;          /* GRANTED_THREAD, or GRANTED_TRY */
    bool is_thread, again; /* again: it was called before */
    bool told;             /* all that stands before is known */
} csk_called_t;

/* What became of works of a queue, and how many wait now. */
typedef struct csk_told_works {
    uint64_t refused, dropped, waiting;
} csk_told_works_t;
enum { WORKS_NOT_COUNTED = 0, WORK_NOT_TIMED, WORK_IS_TIMED };

struct csk_effects;
struct csk_workqueue_wait;

/* The subscribers' functions. None is NULL. */
typedef struct csk_hooks {
    /* A thread waits, in the queue already; by that thread, under no lock. Calls `await` once, which waits, and returns
     * what that returns. The object exists before `await`, and may be gone after it. */
    int (*thread_waits)(csk_wait_t *wait, csk_await_t await);
    /* A thread comes to wait, and spins first; by that thread, under no lock. Returns the time, with a bit of the
     * subscribers' own, or 0. Then it has got what it wants without a place in a queue; `looked`: it has spun for
     * CSK_SPIN_NS at most. The object exists. */
    int64_t (*thread_came)(int64_t now_ns);
    void (*thread_entered)(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns, bool looked);
    /* Under the queue lock: a callback waits from now on, or again. Returns who hears of the end (waiter.h). */
    uint32_t (*callback_waits)(csk_waiter_t *waiter, uint32_t object_kind, bool again);
    /* Its wait is over; by the thread that ended it, under no lock, before its function is called. */
    void (*callback_ended)(csk_waiter_t *waiter, const void *object, int status);
    /* A callback waits at the object, or a work queue is suspended; under its queue lock. Returns whether it is listed
     * for views, and then it is taken off, under no lock. */
    bool (*lists)(const void *object, uint32_t object_kind);
    void (*takes_off)(const void *object);
    /* A callback was queued (CSK_EVENT_WAIT_BEGIN), or lost its grant; by any thread, under no lock. */
    void (*event)(uint32_t kind, uint32_t object_kind, const void *object, csk_rank_t rank, int64_t since_ns);
    /* Waiters are let in by `perform`, which this calls once; by any thread, under no lock. */
    void (*lets_in)(struct csk_effects *effects, void (*perform)(struct csk_effects *effects));
    /* A leaver has called a waiter; by the leaver, after its release, under no lock. */
    void (*called)(const csk_called_t *called);
    /* A wait without a thread at a work queue, for room or its end: before it stands in line, and when it is over. By
     * any thread, under no lock. */
    void (*queue_wait_begins)(const void *queue, struct csk_workqueue_wait *wait, uint32_t waits_for);
    void (*queue_wait_ended)(const struct csk_workqueue_wait *wait, int status);
    /* Works of the queue of this name, which may be NULL. `works` and `work_taken` may be called under an internal
     * lock. `works` returns whether anybody counts works; `work_comes` one of WORK_IS_TIMED, ... A timed work is taken
     * once, by its owner: that gives the time at which it was queued, or 0. Then it has run. */
    bool (*works)(const char *name, const csk_told_works_t *works);
    int (*work_comes)(const char *name, const void *work);
    int64_t (*work_taken)(const char *name, const void *work);
    void (*work_ran)(const char *name, int64_t waited_ns, int64_t ran_ns);
    /* A timer's function is called so long after its deadline; by the timers' thread, under no lock. */
    void (*timer_fires)(int64_t late_ns);
    /* A fault is reported (report.h); by any thread, under no lock. */
    void (*reported)(const csk_event_t *event);
} csk_hooks_t;

extern const csk_hooks_t *csk_hooks __attribute__((visibility("hidden")));
/* NULL where no subscriber was ever switched on. */
static inline const csk_hooks_t *csk_hooks_attached(void) { return csk_load(&csk_hooks, CSK_RELAXED); }

/* ---- What the core calls; each csk_told_... is out of line, behind the test -------------------------------------- */

/* For a thread that is in a queue, where csk_waits_are_told. Fills in since_ns where it is 0. */
int csk_told_wait(csk_wait_t *wait, csk_await_t await);
/* Waits, and reports it where waits are reported. `await` is inlined where they are not. */
static inline __attribute__((always_inline)) int csk_tell_wait(csk_wait_t *wait, csk_await_t await) {
    return csk_waits_are_told() ? csk_told_wait(wait, await) : await(wait);
}

/* Whether the objects at which callbacks wait are listed, for views. */
static inline bool csk_callbacks_are_listed(void) {
    return CSK_UNLIKELY(csk_load(&csk_told.of_works.each[TOLD_WORK_BY_PROGRAM], CSK_RELAXED) != 0);
}
bool csk_told_callback_waits(const void *object, uint32_t object_kind);
static inline void csk_tell_callback_is_off(const void *object) { csk_hooks_attached()->takes_off(object); }

int64_t csk_told_came(int64_t now_ns);
static inline int64_t csk_tell_came(int64_t now_ns) { return csk_waits_are_told() ? csk_told_came(now_ns) : 0; }
static inline void csk_tell_entered(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns,
                                    bool looked) {
    if (CSK_UNLIKELY(since_ns != 0)) csk_hooks_attached()->thread_entered(object, object_kind, rank, since_ns, looked);
}

/* Must not be called under an internal lock. `object_kind` is CSK_OBJECT_OTHER where the object may be gone. */
void csk_told_event(uint32_t kind, uint32_t object_kind, const void *object, csk_rank_t rank, int64_t since_ns);
static inline void csk_tell_event(uint32_t kind, const void *object, csk_rank_t rank, int64_t since_ns) {
    if (csk_waits_are_told()) csk_told_event(kind, CSK_OBJECT_OTHER, object, rank, since_ns);
}
/* Of a callback's end, for tracers. The object exists. */
void csk_told_end(uint32_t object_kind, const void *object, csk_rank_t rank, int64_t since_ns, int status);

void csk_told_called(const csk_called_t *called);
static inline void csk_tell_called(const csk_called_t *called) {
    if (CSK_UNLIKELY(called->told)) csk_told_called(called);
}

bool csk_told_works(const char *name, const csk_told_works_t *works);
static inline void csk_tell_works(const char *name, const csk_told_works_t *works) {
    if (csk_waits_are_told()) csk_told_works(name, works);
}
int csk_told_work_comes(const char *name, const void *work);
static inline int64_t csk_tell_work_taken(const char *name, const void *work) {
    return csk_hooks_attached()->work_taken(name, work);
}
/* A work is refused or dropped; for tracers, by the name of csk_name where there is one. Where the queue may be gone
 * `name_it` is false. */
void csk_told_refusal(const void *queue, const void *work, int status, bool name_it);
static inline void csk_tell_refusal(const void *queue, const void *work, int status, bool name_it) {
    if (CSK_UNLIKELY(csk_refusals_are_traced())) csk_told_refusal(queue, work, status, name_it);
}
void csk_told_timer(int64_t late_ns);
void csk_told_queue_wait_end(const struct csk_workqueue_wait *wait, int status);

/* ---- The probes: see csk_probes(7). Each stands in one place, in probe.c ----------------------------------------- */

/* Without probes for a compiler or a machine whose notes were not looked at. */
#if !defined(CSK_NO_PROBES) && !(defined(__ELF__) && (defined(__x86_64__) || defined(__aarch64__)))
#define CSK_NO_PROBES
#endif

/* `name` may be NULL. The waiter that was let in has waited since then; 0 where that is not known. Objects and works
 * may be gone: only their addresses are used. csk_probe_work_begin returns the time, for the end. */
void csk_probe_wait_begin(const void *object, uint32_t object_kind, csk_rank_t rank, const char *name);
void csk_probe_wait_end(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t waited_ns, int status,
                        const char *name);
void csk_probe_grant(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns, uint32_t how);
void csk_probe_hand_over(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns);
void csk_probe_refusal(const void *queue, const char *name, const void *work, int status);
int64_t csk_probe_work_begin(const void *queue, const char *name, const void *work);
void csk_probe_work_end(const void *queue, const char *name, const void *work, int64_t begun_ns);
#ifdef CSK_NO_PROBES
static inline bool csk_is_traced(uint16_t semaphore) { return (void)semaphore, false; }
#else
static inline bool csk_is_traced(uint16_t semaphore) { return semaphore != 0; }
#endif

static inline bool csk_wait_begins_are_traced(void) {
    return csk_is_traced(csk_load(&csk_told.of_waits.each[TOLD_WAIT_BEGIN], CSK_RELAXED));
}
static inline bool csk_wait_ends_are_traced(void) {
    return csk_is_traced(csk_load(&csk_told.of_waits.each[TOLD_WAIT_END], CSK_RELAXED));
}
static inline bool csk_grants_are_traced(void) {
    return csk_is_traced(csk_load(&csk_told.of_waits.each[TOLD_GRANT], CSK_RELAXED));
}
static inline bool csk_works_are_traced(void) {
    return csk_is_traced(csk_load(&csk_told.of_works.each[TOLD_WORK_BEGIN], CSK_RELAXED) |
                         csk_load(&csk_told.of_works.each[TOLD_WORK_END], CSK_RELAXED));
}

#endif
