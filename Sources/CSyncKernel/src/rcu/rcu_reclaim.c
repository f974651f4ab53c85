/* rcu_reclaim.c: retired nodes, a bound on their number, the thread that reclaims them, barriers, and fork.
 *
 * More than 400 lines: all of it works on one set of lists and counts, and a quarter is the argument for them.
 *
 * The way of a node. Lists are linked through a node's reserved word; `lock` protects the three in the middle.
 *
 *   incoming   Each retired node is pushed here, lock-free, the newest first. The worker takes the whole list.
 *   taken      The worker reverses this list into the next one, 256 nodes at a time under the lock.
 *   waiting    It has the oldest node first. It is complete when `taken` is empty, and then waits for a grace period.
 *   ready      The worker takes out one node after the other and calls its function.
 *   running    The node whose function is being called.
 *
 * So functions run in the order of the pushes. All of this stands in memory that any thread could go on with, as the
 * next worker does in a child of fork.
 *
 * The worker's sleep. `call` is its sleep word:
 *
 *   AWAKE     The worker will look at `incoming` before it sleeps.   set by the worker, and by a thread that wakes it
 *   IDLE      The worker sleeps until something is pushed.           set by the worker
 *   GATHERS   The worker sleeps for a millisecond, so that one       set by the worker
 *             grace period serves many.
 *
 * No wake-up is lost. The worker stores IDLE and then looks at `incoming`. A thread that retires pushes and then looks
 * at `call`. Both are sequentially consistent, so that one of the two sees the other. A thread that can't wait for the
 * millisecond (a barrier, a call that waits for room) counts itself in `hurried` and then looks for GATHERS. The worker
 * stores GATHERS and then looks at `hurried`. The thread that changes `call` to AWAKE wakes the worker, and park
 * compares the word.
 *
 * Backlog. `retired` counts what was ever retired, and `reclaimed` what of it was reclaimed. The rest is pending. The
 * thread that meets the limit gives its place back and waits for room. A thread inside a section must not wait, since
 * its section may be what the grace period waits for. Nor must the worker, which makes the room.
 *
 * The worker counts by plain stores, and in memory that no other thread writes. Threads that retire read `counted`,
 * which the worker brings up to date now and then: after 64 nodes, after each list, and after each node while a thread
 * waits for room. So a thread that retires never loads what the worker has just written, but it may find up to 63 too
 * many pending. No wake-up is lost by that: the worker exchanges `counted` and then looks at `blocked`. A thread counts
 * itself in `blocked` and then looks at `counted`. Both are sequentially consistent. `retired` needs no such order. A
 * thread gives its place back before it counts itself in `blocked`, so a thread that finds it counted there no longer
 * finds the place taken. A thread that is not counted there yet will find what `counted` has become, and tries again.
 *
 * The worker starts at the first call that needs it (service.h). Where that is refused the next call tries again. Nodes
 * that were retired by csk_rcu_retire_always meanwhile stand in `incoming` and wait for that. What the worker works on
 * comes to it by `incoming`, and a thread that finds that it runs reads nothing of it.
 *
 * fork. The lock is held over a fork, for a few microseconds. A child sees memory as at one instant. It sees the three
 * lists whole, since no thread is changing them. Of a push, or of the worker's step to the next node, it sees either
 * nothing or the whole, since that is one atomic instruction, before what follows from it. A child has no worker, and
 * starts one when it needs it. That worker goes on with the lists. It does not go on with the function that the
 * parent's worker was in (the node is `running`, and in no list): half of that function has happened. If the forking
 * thread itself is that worker, it goes on, and is the worker of the child. Markers of barriers lie on stacks that the
 * child has lost, and are taken out. */
#include "rcu/rcu_reclaim.h"

#include "rcu/rcu.h"
#include "rcu/rcu_order.h"
#include "rcu/rcu_watch.h"
#include "wait/announce.h"
#include "wait/queue_lock.h"
#include "wait/service.h"

enum { AWAKE, IDLE, GATHERS };

static int64_t room_wait_ns = 10 * 1000000;
static int64_t gather_ns = 1000000;
static int turned_at_once = 256;

static const uint64_t counted_at_once = 64;

static struct {
    /* Read by each thread that retires, and written seldom. */
    uint64_t limit __attribute__((aligned(64)));
    uint64_t counted; /* what `reclaimed` was some time ago */
    csk_service_t worker;
    uint32_t call;
    uint32_t room;    /* raised by one when there is room */
    uint32_t blocked; /* the number of threads that wait for room */
    uint32_t hurried;

    /* Written by each thread that retires. */
    csk_rcu_node_t *incoming __attribute__((aligned(64)));
    uint64_t retired;

    /* Written by the worker for each node. */
    uint32_t lock __attribute__((aligned(64))); /* protects taken, waiting, ready and steps */
    csk_rcu_node_t *taken, *waiting, *ready;
    csk_rcu_node_t *running;
    csk_rcu_steps_t *steps; /* those that have begun and not ended, the newest first */
    uint64_t steps_numbers;
    uint64_t reclaimed;
} rcu = { .limit = 32768 };

static _Thread_local bool is_worker __attribute__((tls_model("initial-exec")));

static bool may_wait(void) { return !is_worker && !csk_rcu_is_reading(); }

static csk_rcu_node_t **next_of(csk_rcu_node_t *node) { return (csk_rcu_node_t **)&node->reserved[0]; }

/* ---- The worker's sleep ------------------------------------------------------------------------------------------ */

/* AWAKE orders nothing: it ends a sleep, and before the next one the worker looks again. */
static void wake_from(uint32_t sleep) {
    if (CSK_LIKELY(csk_load(&rcu.call, CSK_SEQ_CST) != sleep)) return;
    if (csk_cas(&rcu.call, &sleep, (uint32_t)AWAKE, CSK_RELAXED)) csk_platform_wake(&rcu.call, 1);
}

static void hurry(void) {
    csk_fetch_add(&rcu.hurried, 1u, CSK_SEQ_CST);
    wake_from(GATHERS);
}

static void end_hurry(void) { csk_fetch_add(&rcu.hurried, UINT32_MAX, CSK_RELAXED); }

static void sleep_until_pushed(void) {
    (void)csk_exchange(&rcu.call, (uint32_t)IDLE, CSK_SEQ_CST);
    while (csk_load(&rcu.incoming, CSK_SEQ_CST) == NULL && csk_load(&rcu.call, CSK_RELAXED) == IDLE)
        csk_platform_park(&rcu.call, IDLE, CSK_NEVER);
    csk_store(&rcu.call, (uint32_t)AWAKE, CSK_RELAXED);
}

static void gather(void) {
    if (csk_rcu_pending() > csk_load(&rcu.limit, CSK_RELAXED) / 2) return;
    int64_t deadline_ns = csk_deadline_after(gather_ns);
    (void)csk_exchange(&rcu.call, (uint32_t)GATHERS, CSK_SEQ_CST);
    while (csk_load(&rcu.hurried, CSK_SEQ_CST) == 0 && csk_load(&rcu.call, CSK_RELAXED) == GATHERS)
        if (csk_platform_park(&rcu.call, GATHERS, deadline_ns) == ETIMEDOUT) break;
    csk_store(&rcu.call, (uint32_t)AWAKE, CSK_RELAXED);
}

/* ---- Backlog ----------------------------------------------------------------------------------------------------- */

static void make_room(void) {
    csk_fetch_add(&rcu.room, 1u, CSK_RELEASE);
    csk_platform_wake(&rcu.room, INT32_MAX);
}

/* `counted` is loaded first, so that it is not above `retired`. A place that a thread has given back may still be
 * counted, unless that thread stood in `blocked` before: see the head of this file. */
static uint64_t pending_at_most(void) {
    uint64_t counted = csk_load(&rcu.counted, CSK_SEQ_CST);
    return csk_load(&rcu.retired, CSK_RELAXED) - counted;
}

static void await_room(int64_t deadline_ns) {
    csk_fetch_add(&rcu.blocked, 1u, CSK_SEQ_CST);
    hurry();
    uint32_t seen = csk_load(&rcu.room, CSK_ACQUIRE);
    /* The worker raises `counted` and looks at `blocked` afterwards: one of the two sees the other. A thread that gives
     * its place back need not look, since it tries again: either it finds room, and the worker looks once it has
     * reclaimed what that thread retires, or another thread has found it. */
    if (pending_at_most() >= csk_load(&rcu.limit, CSK_RELAXED)) csk_wait_park(&rcu.room, seen, deadline_ns);
    end_hurry();
    csk_fetch_add(&rcu.blocked, UINT32_MAX, CSK_RELAXED);
}

static void publish_count(void) {
    uint64_t reclaimed = csk_load(&rcu.reclaimed, CSK_RELAXED);
    if (csk_load(&rcu.counted, CSK_RELAXED) == reclaimed) return;
    (void)csk_exchange(&rcu.counted, reclaimed, CSK_SEQ_CST);
    if (csk_load(&rcu.blocked, CSK_SEQ_CST) == 0) return;
    /* Room is made at half the limit, so that each wake lets many in. */
    if (pending_at_most() <= csk_load(&rcu.limit, CSK_RELAXED) / 2) make_room();
}

/* The worker has reclaimed a node. Relaxed: its fence before the node's function releases, to a thread that finds this,
 * that the node was retired. */
static void count_down(void) {
    uint64_t reclaimed = csk_load(&rcu.reclaimed, CSK_RELAXED) + 1;
    csk_store(&rcu.reclaimed, reclaimed, CSK_RELAXED);
    bool due = reclaimed - csk_load(&rcu.counted, CSK_RELAXED) >= counted_at_once;
    if (due || csk_load(&rcu.blocked, CSK_RELAXED) != 0) publish_count();
}

/* Returns true where the limit leaves no room. It releases to csk_rcu_pending what the thread knows to be reclaimed. */
static bool count_up(void) {
    uint64_t counted = csk_load(&rcu.counted, CSK_RELAXED);
    return csk_fetch_add(&rcu.retired, 1u, CSK_RELEASE) - counted >= csk_load(&rcu.limit, CSK_RELAXED);
}

static void count_up_or_wait(void) {
    if (CSK_LIKELY(!count_up()) || !may_wait()) return;
    int64_t deadline_ns = csk_deadline_after(room_wait_ns);
    do {
        csk_fetch_add(&rcu.retired, UINT64_MAX, CSK_RELAXED);
        await_room(deadline_ns);
    } while (count_up() && csk_platform_now() < deadline_ns);
}

int csk_rcu_set_limit(uint64_t limit) {
    if (limit == 0 || limit > INT64_MAX) return EINVAL;
    csk_store(&rcu.limit, limit, CSK_RELAXED);
    make_room();
    return 0;
}

/* Where nothing is reclaimed between the two looks at `reclaimed`, that is what is pending at the look at `retired`.
 * Acquire: what was reclaimed before the last of these was retired is found by the second look. */
uint64_t csk_rcu_pending(void) {
    uint64_t reclaimed, retired;
    do {
        reclaimed = csk_load(&rcu.reclaimed, CSK_ACQUIRE);
        retired = csk_load(&rcu.retired, CSK_ACQUIRE);
    } while (csk_load(&rcu.reclaimed, CSK_RELAXED) != reclaimed);
    return retired - reclaimed;
}

/* ---- The worker -------------------------------------------------------------------------------------------------- */

/* It need not release: a thread that pushes onto the empty list reads nothing that the worker has written. */
static void take_incoming(void) {
    csk_queue_lock(&rcu.lock);
    csk_store(&rcu.taken, csk_exchange(&rcu.incoming, (csk_rcu_node_t *)NULL, CSK_ACQUIRE), CSK_RELAXED);
    csk_queue_unlock(&rcu.lock);
}

/* It goes in pieces, so that no fork waits for a long list. */
static void turn_round(void) {
    while (rcu.taken != NULL) {
        csk_queue_lock(&rcu.lock);
        for (int i = 0; i < turned_at_once && rcu.taken != NULL; i++) {
            csk_rcu_node_t *node = rcu.taken;
            rcu.taken = *next_of(node);
            *next_of(node) = rcu.waiting;
            rcu.waiting = node;
        }
        csk_queue_unlock(&rcu.lock);
    }
}

static void let_ready(void) {
    csk_queue_lock(&rcu.lock);
    rcu.ready = rcu.waiting;
    rcu.waiting = NULL;
    csk_queue_unlock(&rcu.lock);
}

static void pass(csk_rcu_node_t *node);

/* Release: a child that finds this finds all that the function has done. */
static void has_run(csk_rcu_function_t function) {
    csk_store(&rcu.running, (csk_rcu_node_t *)NULL, CSK_RELEASE);
    if (function != pass) count_down();
}

static void run_ready(void) {
    for (csk_rcu_node_t *node; (node = rcu.ready) != NULL;) {
        csk_rcu_function_t function = node->function;
        csk_store(&rcu.running, node, CSK_RELAXED);
        /* For a child that another thread forks here. Release: it finds the node in the list, or as what runs. The
         * fence: it finds nothing of what the function does while the node is in the list. */
        csk_store(&rcu.ready, *next_of(node), CSK_RELEASE);
        csk_rcu_fence();
        csk_rcu_tell_acquire();
        function(node);
        has_run(function);
    }
    publish_count();
}

/* It begins with what a parent's worker has left. */
static void reclaim_more(void) {
    run_ready();
    turn_round();
    if (rcu.waiting == NULL) {
        if (csk_load(&rcu.incoming, CSK_RELAXED) == NULL) sleep_until_pushed();
        gather();
        take_incoming();
        turn_round();
    }
    csk_rcu_watch_begin();
    csk_rcu_grace_period();
    csk_rcu_watch_end();
    let_ready();
}

static void run_worker(void *unused) {
    (void)unused;
    is_worker = true;
    for (;;) reclaim_more();
}

/* Called under the lock for steps that have ended. Those whose function has ended with its thread, or ran in the
 * parent, won't end, unless that function had asked for the next step. */
static void forget_steps(const csk_rcu_node_t *node) {
    csk_rcu_steps_t **place = &rcu.steps;
    while (*place != NULL && &(*place)->node != node) place = &(*place)->older;
    if (*place != NULL) *place = (*place)->older;
}

/* The function of a node has ended the thread. What is left, the next worker begins with. */
static void end_node(void) {
    is_worker = false;
    const csk_rcu_node_t *node = csk_load(&rcu.running, CSK_RELAXED);
    if (node == NULL) return;
    csk_queue_lock(&rcu.lock);
    forget_steps(node);
    csk_queue_unlock(&rcu.lock);
    has_run(NULL);
}
static const csk_lasting_thread_t worker = { .body = run_worker, .name = "csk-rcu", .mend = end_node };

int csk_rcu_prepare(void) {
    return CSK_LIKELY(csk_service_runs(&rcu.worker)) ? 0 : csk_service_start(&rcu.worker, &worker);
}

/* ---- Retiring ---------------------------------------------------------------------------------------------------- */

static void enlist(csk_rcu_node_t *node, csk_rcu_function_t function) {
    node->function = function;
    csk_rcu_tell_release();
    csk_rcu_node_t *newest = csk_load(&rcu.incoming, CSK_RELAXED);
    do *next_of(node) = newest;
    while (!csk_cas(&rcu.incoming, &newest, node, CSK_SEQ_CST));
    wake_from(IDLE);
}

static void push(csk_rcu_node_t *node, csk_rcu_function_t function) {
    count_up_or_wait();
    enlist(node, function);
}

int csk_rcu_retire(csk_rcu_node_t *node, csk_rcu_function_t function) {
    if (function == NULL) return EINVAL;
    int error = csk_rcu_prepare();
    if (CSK_UNLIKELY(error != 0)) return error;
    push(node, function);
    return 0;
}

int csk_rcu_retire_always(csk_rcu_node_t *node, csk_rcu_function_t function) {
    if (function == NULL) return EINVAL;
    int error = csk_rcu_prepare();
    (void)error; /* a later call may get the worker started */
    push(node, function);
    return 0;
}

/* ---- Steps and barriers ------------------------------------------------------------------------------------------ */

void csk_rcu_next_step(csk_rcu_steps_t *steps, csk_rcu_function_t function) {
    if (steps->number == 0) {
        csk_queue_lock(&rcu.lock);
        steps->number = ++rcu.steps_numbers;
        steps->older = rcu.steps;
        rcu.steps = steps;
        csk_queue_unlock(&rcu.lock);
    }
    push(&steps->node, function);
}

void csk_rcu_end_steps(csk_rcu_steps_t *steps) {
    if (steps->number == 0) return;
    csk_queue_lock(&rcu.lock);
    forget_steps(&steps->node);
    csk_queue_unlock(&rcu.lock);
}

struct marker {
    csk_rcu_node_t node;
    uint32_t passed;
    uint64_t number; /* the number among the steps, drawn when the marker came by first */
};

/* Returns true once all steps have ended that had begun when the marker came by first. */
static bool is_behind_steps(struct marker *marker) {
    csk_queue_lock(&rcu.lock);
    if (marker->number == 0) marker->number = ++rcu.steps_numbers;
    const csk_rcu_steps_t *steps = rcu.steps;
    while (steps != NULL && steps->number > marker->number) steps = steps->older;
    csk_queue_unlock(&rcu.lock);
    return steps == NULL;
}

static void pass(csk_rcu_node_t *node) {
    struct marker *marker = (struct marker *)node;
    if (!is_behind_steps(marker)) {
        enlist(node, pass);
        return;
    }
    csk_store(&marker->passed, 1u, CSK_RELEASE);
    csk_platform_wake(&marker->passed, 1);
}

/* A barrier is a marker behind everything that was retired before: one thread reclaims, in order. The marker is not
 * counted as pending. */
int csk_rcu_barrier(void) {
    if (!may_wait()) return EDEADLK;
    int error = csk_rcu_prepare();
    if (error != 0) return error;
    struct marker marker = { .passed = 0 };
    hurry();
    enlist(&marker.node, pass);
    while (csk_load(&marker.passed, CSK_ACQUIRE) == 0) csk_wait_park(&marker.passed, 0, CSK_NEVER);
    end_hurry();
    return 0;
}

/* ---- fork -------------------------------------------------------------------------------------------------------- */

static void before_fork(void) {
    csk_queue_lock(&rcu.lock);
    csk_rcu_sections_before_fork();
}

static void after_fork_in_parent(void) {
    csk_rcu_sections_after_fork_in_parent();
    csk_queue_unlock(&rcu.lock);
}

/* Takes the markers out of the list. Returns how many nodes are left, and sets *found if one of them is `wanted`. */
static uint64_t sweep(csk_rcu_node_t **place, const csk_rcu_node_t *wanted, bool *found) {
    uint64_t count = 0;
    for (csk_rcu_node_t *node; (node = *place) != NULL;) {
        if (node->function == pass) {
            *place = *next_of(node);
            continue;
        }
        *found |= node == wanted;
        count++;
        place = next_of(node);
    }
    return count;
}

static void after_fork_in_child(void) {
    bool is_there = false;
    uint64_t left = sweep(&rcu.incoming, rcu.running, &is_there) + sweep(&rcu.taken, rcu.running, &is_there) +
                    sweep(&rcu.waiting, rcu.running, &is_there) + sweep(&rcu.ready, rcu.running, &is_there);
    if (is_worker) {
        left++;
        csk_service_goes_on(&rcu.worker);
    } else {
        if (rcu.running != NULL && !is_there) forget_steps(rcu.running);
        rcu.running = NULL;
    }
    rcu.retired = left;
    rcu.reclaimed = rcu.counted = 0;
    rcu.blocked = rcu.hurried = 0;
    rcu.call = AWAKE;
    rcu.lock = csk_process_mark();
    csk_rcu_watch_after_fork_in_child();
    csk_rcu_sections_after_fork_in_child();
}

/* This runs when the library is loaded: no thread can be in the middle of it when another forks. */
__attribute__((constructor(101))) static void prepare_process(void) {
    csk_fork_enroll(CSK_FORK_RCU, &(csk_fork_functions_t){ before_fork, after_fork_in_parent, after_fork_in_child });
    csk_rcu_watch_pending = csk_rcu_pending;
    csk_rcu_sections_prepare();
}
