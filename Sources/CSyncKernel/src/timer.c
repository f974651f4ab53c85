/* timer.c: one thread, one heap of deadlines.
 *
 * All state is under `lock`. The thread sleeps until the first deadline it knew; starting a timer wakes it only when the new
 * deadline comes before that, and cancelling never does: it wakes once for nothing and sleeps on.
 *
 * Cancelling waits for a function that runs, but never for the functions of asynchronous waiters which that one granted:
 * those are held back until the timer no longer counts as firing, so they may block on whoever cancels. */
#include "csynckernel/timer.h"

#include <unistd.h>

#include "internal/announce.h"
#include "internal/queue_lock.h"
#include "internal/trampoline.h"

static struct {
    uint32_t lock;
    uint32_t signal;         /* the thread's park word: bumped to make it look again */
    uint32_t fired;          /* bumped after each function, for those who wait in cancel */
    uint32_t cancel_waiters;
    csk_heap_t heap;         /* rank 0, ticket = deadline */
    int64_t sleeping_until;  /* CSK_NEVER when asleep without a deadline; INT64_MIN while awake */
    csk_timer_t *firing;
    uint64_t epoch;          /* 1 + the number of forks that led here */
    bool thread_runs;
    bool starting;
    uint32_t fork_handled;   /* 0; the process in which a thread is just registering the handlers; FORKS_ARE_HANDLED */
} timers = { .epoch = 1, .sleeping_until = INT64_MIN };

#define FORKS_ARE_HANDLED UINT32_MAX

static _Thread_local bool is_timer_thread __attribute__((tls_model("initial-exec")));

static void wake_thread(void) {
    csk_fetch_add(&timers.signal, 1u, CSK_RELEASE);
    csk_platform_wake(&timers.signal, 1);
}

static void fire(csk_timer_t *timer) {
    csk_heap_remove(&timers.heap, &timer->node);
    timer->epoch = 0;
    timers.firing = timer;
    csk_timer_function_t function = timer->function;
    void *context = timer->context;
    csk_queue_unlock(&timers.lock);
    csk_trampoline_hold();
    function(timer, context);
    csk_queue_lock(&timers.lock);
    timers.firing = NULL;
    bool wake = timers.cancel_waiters != 0;
    timers.fired++;
    csk_queue_unlock(&timers.lock);
    if (wake) csk_platform_wake(&timers.fired, INT32_MAX);
    csk_trampoline_release();
    csk_queue_lock(&timers.lock);
}

static void run_timers(void *context) {
    (void)context;
    is_timer_thread = true;
    csk_queue_lock(&timers.lock);
    for (;;) {
        csk_timer_t *first = (csk_timer_t *)csk_heap_top(&timers.heap);
        if (first != NULL && first->node.ticket <= csk_platform_now()) {
            fire(first);
            continue;
        }
        int64_t until = first != NULL ? first->node.ticket : CSK_NEVER;
        uint32_t seen = csk_load(&timers.signal, CSK_RELAXED);
        timers.sleeping_until = until;
        csk_queue_unlock(&timers.lock);
        csk_platform_park(&timers.signal, seen, until);
        csk_queue_lock(&timers.lock);
        timers.sleeping_until = INT64_MIN;
    }
}

/* A child that was forked amid the registration may have registered them again: once for each fork is enough. */
static _Thread_local bool forks __attribute__((tls_model("initial-exec")));

static void before_fork(void) {
    if (!forks) csk_queue_lock(&timers.lock);
    forks = true;
}
static void after_fork_in_parent(void) {
    if (forks) csk_queue_unlock(&timers.lock);
    forks = false;
}
static void after_fork_in_child(void) {
    if (!forks) return;
    forks = false;
    timers.heap.root = NULL;
    timers.epoch++;
    timers.thread_runs = timers.starting = false;
    timers.firing = NULL;
    timers.cancel_waiters = 0;
    timers.sleeping_until = INT64_MIN;
    /* Handlers are inherited, although the thread that was just registering them may not be there to say so. */
    csk_store(&timers.fork_handled, FORKS_ARE_HANDLED, CSK_RELEASE);
    is_timer_thread = false;
    csk_queue_unlock(&timers.lock);
}

/* Before anything that a child of fork could find half done. */
static int handle_forks(void) {
    uint32_t process = (uint32_t)getpid(), seen = csk_load(&timers.fork_handled, CSK_ACQUIRE);
    while (seen != FORKS_ARE_HANDLED) {
        if (seen == process) {
            csk_platform_yield();
            seen = csk_load(&timers.fork_handled, CSK_ACQUIRE);
        } else if (csk_cas(&timers.fork_handled, &seen, process, CSK_ACQ_REL)) {
            int error = csk_platform_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
            csk_store(&timers.fork_handled, error == 0 ? FORKS_ARE_HANDLED : 0u, CSK_RELEASE);
            return error;
        }
    }
    return 0;
}

int csk_timer_prepare(void) {
    if (CSK_LIKELY(csk_load(&timers.thread_runs, CSK_ACQUIRE))) return 0;
    int error = handle_forks();
    if (error != 0) return error;
    csk_queue_lock(&timers.lock);
    while (timers.starting) {
        csk_queue_unlock(&timers.lock);
        csk_platform_yield();
        csk_queue_lock(&timers.lock);
    }
    if (timers.thread_runs) {
        csk_queue_unlock(&timers.lock);
        return 0;
    }
    timers.starting = true;
    csk_queue_unlock(&timers.lock);
    error = csk_platform_start_thread(run_timers, NULL, "csk-timer");
    csk_queue_lock(&timers.lock);
    timers.starting = false;
    csk_store(&timers.thread_runs, error == 0, CSK_RELEASE);
    csk_queue_unlock(&timers.lock);
    return error;
}

int csk_timer_start(csk_timer_t *timer, int64_t deadline_ns, csk_timer_function_t function, void *context) {
    if (function == NULL) return EINVAL;
    int error = csk_timer_prepare();
    if (error != 0) return error;
    csk_queue_lock(&timers.lock);
    if (timer->epoch == timers.epoch) {
        csk_queue_unlock(&timers.lock);
        return EBUSY;
    }
    timer->epoch = timers.epoch;
    timer->function = function;
    timer->context = context;
    timer->node.rank = 0;
    timer->node.ticket = deadline_ns;
    csk_heap_insert(&timers.heap, &timer->node);
    bool wake = deadline_ns < timers.sleeping_until;
    /* Later starts need not wake it again for anything after this. */
    if (wake) timers.sleeping_until = deadline_ns;
    csk_queue_unlock(&timers.lock);
    if (wake) wake_thread();
    return 0;
}

bool csk_timer_is_current(void) { return is_timer_thread; }

int csk_timer_cancel(csk_timer_t *timer) {
    csk_queue_lock(&timers.lock);
    int status = ENOENT;
    for (;;) {
        /* Again after each wait: a function may start its own timer anew, before or after it was taken out here. */
        if (timer->epoch == timers.epoch) {
            csk_heap_remove(&timers.heap, &timer->node);
            timer->epoch = 0;
            status = 0;
        }
        if (timers.firing != timer || is_timer_thread) break;
        uint32_t seen = timers.fired;
        timers.cancel_waiters++;
        csk_queue_unlock(&timers.lock);
        csk_wait_park(&timers.fired, seen, CSK_NEVER);
        csk_queue_lock(&timers.lock);
        timers.cancel_waiters--;
    }
    csk_queue_unlock(&timers.lock);
    return status;
}
