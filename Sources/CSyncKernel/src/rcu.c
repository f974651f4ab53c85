/* rcu.c: threads that register by themselves, a bound on what waits to be reclaimed, and fork, around liburcu.
 *
 * Threads. liburcu scans a list of registered threads in each grace period. A thread is put there at its first section and taken out
 * when it ends. A destructor of another thread-local value may run after that, and read: such a section registers for its own
 * length. The same way reads a thread that the system refuses a place for its exit handler.
 *
 * Backlog. `pending` counts what is retired and not yet reclaimed. The one that meets the limit gives its place back and
 * waits for room; a section must not, since it may be what the grace period waits for, nor the reclaiming thread, which makes the room.
 *
 * fork. The child has one thread and must find liburcu at rest: nobody registering (our lock), nothing in flight to the
 * reclaiming thread (`pending` is 0 and held there), that thread paused. Then the dead threads are taken out of the child's
 * list. Where rest can't be had, `detached` is set in the child: nothing is reclaimed any more, so sections need not be seen by
 * anybody, and the child touches nothing of liburcu but the calling thread's own word. */
#include "internal/rcu.h"

#include "internal/queue_lock.h"
#include "internal/thread_exit.h"

#include <pthread.h>
#include <signal.h>
#include <urcu/static/urcu-memb.h>

_Static_assert(offsetof(csk_rcu_period_t, phase) == offsetof(struct urcu_gp, ctr), "liburcu's layout");
_Static_assert(offsetof(csk_rcu_period_t, sleeper) == offsetof(struct urcu_gp, futex), "liburcu's layout");
_Static_assert(URCU_GP_CTR_NEST_MASK == UINT32_MAX && URCU_GP_COUNT == 1, "the inline functions count levels in 32 bits");
_Static_assert(sizeof(struct rcu_head) == sizeof(((csk_rcu_node_t *)0)->reserved), "liburcu's node fits");

#define HELD (UINT64_C(1) << 62)  /* in `pending`: a fork waits for the backlog; retire nothing more */

static const int64_t room_wait_ns = 10 * 1000000, fork_wait_ns = 1000 * 1000000;

__thread unsigned long *csk_rcu_levels __attribute__((tls_model("initial-exec")));
const csk_rcu_period_t *csk_rcu_period = (const csk_rcu_period_t *)&urcu_memb_gp;
#ifdef CSK_UNDER_TSAN
char csk_rcu_order;
#endif

/* One thread, in the list of those that this file registered. */
struct thread {
    struct urcu_reader *reader;  /* NULL: not registered by us */
    struct thread *newer, *older;
    bool is_temporary;           /* registers for the length of a section only */
    bool must_not_wait;          /* runs a reclaiming function, or forks */
};

static struct {
    uint32_t lock;      /* the lists, and all registrations */
    struct thread *threads;
    csk_rcu_steps_t *steps;   /* newest first: those that have begun and not ended */
    uint64_t steps_numbers;

    uint64_t pending;
    uint64_t limit;
    uint32_t room;      /* bumped when there is room */
    uint32_t waiting;   /* threads that wait for it */
    bool worker_runs;

    bool is_quiet;      /* of the fork that is in progress */
    bool detached;
} rcu = { .limit = 32768 };

static __thread struct thread self __attribute__((tls_model("initial-exec")));

static unsigned long *own_levels(void) { return &urcu_memb_reader.ctr; }
static bool is_reading(void) { return (uint32_t)*own_levels() != 0; }
static bool may_wait(void) { return !self.must_not_wait && !is_reading(); }

/* ---- Threads ------------------------------------------------------------------------------------------------------------ */

static void register_thread(void) {
    if (rcu.detached) return;
    csk_queue_lock(&rcu.lock);
    urcu_memb_register_thread();
    self.reader = &urcu_memb_reader;
    self.newer = NULL;
    self.older = rcu.threads;
    if (self.older != NULL) self.older->newer = &self;
    rcu.threads = &self;
    csk_queue_unlock(&rcu.lock);
}

static void unlink_thread(struct thread *thread) {
    if (thread->newer != NULL) thread->newer->older = thread->older;
    else rcu.threads = thread->older;
    if (thread->older != NULL) thread->older->newer = thread->newer;
    thread->reader = NULL;
}

static void unregister_thread(void) {
    if (rcu.detached || self.reader == NULL) return;
    csk_queue_lock(&rcu.lock);
    unlink_thread(&self);
    urcu_memb_unregister_thread();
    csk_queue_unlock(&rcu.lock);
}

/* At the thread's end. Sections that begin after that register for their own length. */
static void leave_thread(void) {
    csk_rcu_levels = NULL;
    self.is_temporary = true;
    *own_levels() = 0;
    unregister_thread();
}

static bool will_notice_end(void) { return csk_thread_exit_enroll(CSK_THREAD_EXIT_RCU, leave_thread) == 0; }

/* A thread that somebody else has registered (liburcu's own, or the user's) is left as it is. */
static void enter_rcu(void) {
    if (self.reader != NULL || urcu_memb_reader.registered) return;
    if (!self.is_temporary && !will_notice_end()) self.is_temporary = true;
    register_thread();
#ifndef CSK_UNDER_TSAN
    if (!self.is_temporary && urcu_memb_has_sys_membarrier) csk_rcu_levels = own_levels();
#endif
}

int csk_rcu_read_lock_slow(void) {
    uint32_t levels = (uint32_t)*own_levels();
    if (levels == UINT32_MAX) return EAGAIN;
    if (levels == 0) enter_rcu();
    urcu_memb_read_lock();
    return 0;
}

int csk_rcu_read_unlock_slow(void) {
    if (!is_reading()) return EPERM;
    csk_rcu_tell_release();
    urcu_memb_read_unlock();
    if (self.is_temporary && !is_reading()) unregister_thread();
    return 0;
}

/* Leaving a section wakes a period that sleeps; this one is over at once. */
void csk_rcu_wake_period(void) {
    urcu_memb_read_lock();
    urcu_memb_read_unlock();
}

bool csk_rcu_is_reading(void) { return is_reading(); }

/* ---- Backlog ------------------------------------------------------------------------------------------------------------ */

static void make_room(void) {
    csk_fetch_add(&rcu.room, 1u, CSK_RELEASE);
    csk_platform_wake(&rcu.room, INT32_MAX);
}

static void await_room(int64_t deadline_ns) {
    csk_fetch_add(&rcu.waiting, 1u, CSK_SEQ_CST);
    uint32_t seen = csk_load(&rcu.room, CSK_ACQUIRE);
    /* Whoever lowers `pending` looks at `waiting` after: one of the two sees the other. */
    uint64_t pending = csk_load(&rcu.pending, CSK_SEQ_CST);
    if (pending >= csk_load(&rcu.limit, CSK_RELAXED)) csk_platform_park(&rcu.room, seen, pending >= HELD ? CSK_NEVER : deadline_ns);
    csk_fetch_add(&rcu.waiting, UINT32_MAX, CSK_RELAXED);
}

static void count_down(void) {
    uint64_t left = csk_fetch_add(&rcu.pending, UINT64_MAX, CSK_SEQ_CST) - 1;
    if (csk_load(&rcu.waiting, CSK_SEQ_CST) == 0) return;
    /* Half the limit: each wake lets many in. */
    if ((left & ~HELD) <= csk_load(&rcu.limit, CSK_RELAXED) / 2) make_room();
}

static void count_up(void) {
    uint64_t before = csk_fetch_add(&rcu.pending, 1u, CSK_SEQ_CST);
    if (CSK_LIKELY(before < csk_load(&rcu.limit, CSK_RELAXED)) || !may_wait()) return;
    int64_t deadline_ns = csk_deadline_after(room_wait_ns);
    do {
        count_down();
        await_room(deadline_ns);
        before = csk_fetch_add(&rcu.pending, 1u, CSK_SEQ_CST);
    } while (before >= HELD || (before >= csk_load(&rcu.limit, CSK_RELAXED) && csk_platform_now() < deadline_ns));
}

static void run(struct rcu_head *head) {
    csk_rcu_node_t *node = (csk_rcu_node_t *)head;
    csk_rcu_tell_acquire();
    self.must_not_wait = true;
    node->function(node);
    self.must_not_wait = false;
    count_down();
}

/* liburcu's thread takes the signals that its creator takes. */
static void without_signals(void (*start)(void)) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    start();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void start_worker(void) {
    urcu_memb_get_default_call_rcu_data();
    csk_store(&rcu.worker_runs, true, CSK_RELEASE);
}

static void enqueue(csk_rcu_node_t *node, csk_rcu_function_t function) {
    node->function = function;
    csk_rcu_read_lock(); /* registers the thread, which liburcu asks for */
    if (CSK_UNLIKELY(!csk_load(&rcu.worker_runs, CSK_ACQUIRE))) without_signals(start_worker);
    csk_rcu_tell_release();
    urcu_memb_call_rcu((struct rcu_head *)node->reserved, run);
    csk_rcu_read_unlock();
}

int csk_rcu_retire(csk_rcu_node_t *node, csk_rcu_function_t function) {
    if (function == NULL) return EINVAL;
    if (CSK_UNLIKELY(rcu.detached)) return 0;
    count_up();
    enqueue(node, function);
    return 0;
}

int csk_rcu_set_limit(uint64_t limit) {
    if (limit == 0 || limit >= HELD) return EINVAL;
    csk_store(&rcu.limit, limit, CSK_RELAXED);
    make_room();
    return 0;
}

uint64_t csk_rcu_pending(void) { return csk_load(&rcu.pending, CSK_RELAXED) & ~HELD; }

/* ---- Steps and barriers ------------------------------------------------------------------------------------------------- */

void csk_rcu_next_step(csk_rcu_steps_t *steps, csk_rcu_function_t function) {
    if (steps->number == 0) {
        csk_queue_lock(&rcu.lock);
        steps->number = ++rcu.steps_numbers;
        steps->older = rcu.steps;
        rcu.steps = steps;
        csk_queue_unlock(&rcu.lock);
    }
    csk_rcu_retire(&steps->node, function);
}

void csk_rcu_end_steps(csk_rcu_steps_t *steps) {
    if (steps->number == 0) return;
    csk_queue_lock(&rcu.lock);
    csk_rcu_steps_t **place = &rcu.steps;
    while (*place != steps) place = &(*place)->older;
    *place = steps->older;
    csk_queue_unlock(&rcu.lock);
}

struct marker {
    csk_rcu_node_t node;
    uint32_t passed;
    uint64_t number;     /* of steps, when the marker came by first */
};

/* True once all steps have ended that had begun when the marker came by first. */
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
        csk_rcu_retire(node, pass);
        return;
    }
    csk_store(&marker->passed, 1u, CSK_RELEASE);
    csk_platform_wake(&marker->passed, 1);
}

/* A marker behind everything retired before: one thread reclaims, in order. liburcu's own barrier would be out of the count that a
 * fork waits for. */
int csk_rcu_barrier(void) {
    if (!may_wait()) return EDEADLK;
    if (rcu.detached) return ENOTSUP;
    struct marker marker = { .passed = 0 };
    csk_rcu_retire(&marker.node, pass);
    while (csk_load(&marker.passed, CSK_ACQUIRE) == 0) csk_platform_park(&marker.passed, 0, CSK_NEVER);
    return 0;
}

/* ---- fork --------------------------------------------------------------------------------------------------------------- */

static bool drain_until(int64_t deadline_ns) {
    while (csk_rcu_pending() != 0) {
        if (csk_platform_now() >= deadline_ns) return false;
        /* Nobody wakes this word: the span of a look at `pending` that nothing else depends on. */
        uint32_t nothing = 0;
        csk_platform_park(&nothing, 0, csk_deadline_after(200000));
    }
    return true;
}

static __thread bool forks_in_function __attribute__((tls_model("initial-exec")));

static void before_fork(void) {
    csk_fetch_or(&rcu.pending, HELD, CSK_SEQ_CST);
    bool quiet = !rcu.detached && may_wait() && drain_until(csk_deadline_after(fork_wait_ns));
    forks_in_function = self.must_not_wait;
    self.must_not_wait = true; /* this thread's other handlers may retire */
    if (quiet) urcu_memb_call_rcu_before_fork();
    csk_queue_lock(&rcu.lock);
    rcu.is_quiet = quiet;
}

static void end_fork(void) {
    self.must_not_wait = forks_in_function;
    csk_fetch_and(&rcu.pending, ~HELD, CSK_SEQ_CST);
    make_room();
}

static void after_fork_in_parent(void) {
    bool quiet = rcu.is_quiet;
    csk_queue_unlock(&rcu.lock);
    if (quiet) urcu_memb_call_rcu_after_fork_parent();
    end_fork();
}

static void forget_dead_threads(void) {
    struct thread *older;
    for (struct thread *thread = rcu.threads; thread != NULL; thread = older) {
        older = thread->older;
        if (thread == &self) continue;
        cds_list_del(&thread->reader->node);
        unlink_thread(thread);
    }
}

static void after_fork_in_child(void) {
    bool quiet = rcu.is_quiet;
    if (quiet) forget_dead_threads();
    else rcu.detached = true;
    rcu.waiting = 0;
    csk_queue_unlock(&rcu.lock);
    if (quiet) without_signals(urcu_memb_call_rcu_after_fork_child);
    end_fork();
}

/* When the library is loaded: no thread can be in the middle of it when another forks. */
__attribute__((constructor(101))) static void prepare_process(void) {
    csk_platform_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
