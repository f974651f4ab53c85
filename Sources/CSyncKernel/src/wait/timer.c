/* timer.c: one thread, one heap of deadlines.
 *
 * All state is protected by `lock`. The thread sleeps until the first deadline that it knew. Starting a timer wakes it
 * only when the new deadline comes before that. Cancelling never wakes it: it wakes once for nothing, and sleeps on.
 *
 * Cancelling waits for the timer's function if that runs. It never waits for the functions of asynchronous waiters that
 * this function granted something: those are held back until the timer no longer counts as firing. So they may block on
 * a canceller. */
#include "csynckernel/timer.h"

#include "base/hooks.h"
#include "wait/announce.h"
#include "wait/queue_lock.h"
#include "wait/service.h"
#include "wait/timers.h"
#include "wait/trampoline.h"
#include "wait/waits.h"

static struct {
    uint32_t lock;
    uint32_t signal; /* the thread's park word: incremented to make it look again */
    uint32_t fired;  /* incremented after each function, for threads that wait in cancel */
    uint32_t cancel_waiters;
    uint64_t count;  /* timers in the heap */
    csk_heap_t heap; /* the earliest deadline has the highest rank; equal ones in the order of their starts */
    int64_t starts;
    int64_t slept_ns;       /* when the thread last began to sleep; before that, when the thread was started */
    int64_t sleeping_until; /* CSK_NEVER when asleep without a deadline; INT64_MIN while awake */
    csk_timer_t *firing;
    csk_service_t thread;
} timers = { .sleeping_until = INT64_MIN };

static _Thread_local bool is_timer_thread __attribute__((tls_model("initial-exec")));

/* The complement does not overflow, whatever the deadline is. */
static csk_rank_t rank_of(int64_t deadline_ns) { return ~deadline_ns; }
static int64_t deadline_of(const csk_timer_t *timer) { return ~timer->node.rank; }

static void wake_thread(void) {
    csk_fetch_add(&timers.signal, 1u, CSK_RELAXED);
    csk_platform_wake(&timers.signal, 1);
}

static void fire(csk_timer_t *timer, int64_t now_ns) {
    int64_t deadline_ns = deadline_of(timer);
    /* What was due before the thread slept was started after that, and late. */
    bool is_told = csk_waits_are_told() && deadline_ns >= timers.slept_ns;
    csk_heap_remove(&timers.heap, &timer->node);
    timers.count--;
    timer->epoch = 0;
    timers.firing = timer;
    csk_timer_function_t function = timer->function;
    void *context = timer->context;
    csk_queue_unlock(&timers.lock);
    if (is_told) csk_told_timer(now_ns - deadline_ns);
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
        int64_t now_ns = csk_platform_now();
        if (first != NULL && deadline_of(first) <= now_ns) {
            fire(first, now_ns);
            continue;
        }
        int64_t until = first != NULL ? deadline_of(first) : CSK_NEVER;
        uint32_t seen = csk_load(&timers.signal, CSK_RELAXED);
        timers.slept_ns = now_ns;
        timers.sleeping_until = until;
        csk_queue_unlock(&timers.lock);
        csk_platform_park(&timers.signal, seen, until);
        csk_queue_lock(&timers.lock);
        timers.sleeping_until = INT64_MIN;
    }
}

/* The function of a timer has ended the thread, or that of a waiter which it granted something. In a child that the
 * function has forked it may be that of a timer of the parent, for which no thread waits. */
static void end_firing(void) {
    is_timer_thread = false; /* the one that takes its place is */
    csk_queue_lock(&timers.lock);
    timers.firing = NULL;
    timers.fired++;
    csk_queue_unlock(&timers.lock);
    csk_platform_wake(&timers.fired, INT32_MAX);
}
static const csk_lasting_thread_t timer_thread = { run_timers, "csk-timer", end_firing, csk_trampoline_end_hold };

/* Makes the timers anew, whatever a thread of the parent was in the middle of. A timer's function that forks goes on in
 * the child. The thread that it runs on becomes the child's timer thread once the function returns. A second timer
 * thread would run functions beside it. */
static void after_fork_in_child(void) {
    timers.heap.root = NULL;
    timers.count = 0;
    if (is_timer_thread) csk_service_goes_on(&timers.thread);
    else timers.firing = NULL;
    timers.cancel_waiters = 0;
    timers.sleeping_until = INT64_MIN;
}

__attribute__((constructor(101))) static void enroll_fork(void) {
    csk_fork_enroll(CSK_FORK_TIMERS, &(csk_fork_functions_t){ .in_child = after_fork_in_child });
}

int csk_timer_prepare(void) {
    if (CSK_LIKELY(csk_service_runs(&timers.thread))) return 0;
    int status = csk_service_begin(&timers.thread);
    if (status != EINPROGRESS) return status;
    /* The thread alone reads it, and none runs yet. But one that started it before, and was refused, has written it. */
    csk_queue_lock(&timers.lock);
    timers.slept_ns = csk_platform_now();
    csk_queue_unlock(&timers.lock);
    return csk_service_end(&timers.thread, csk_platform_start_lasting_thread(&timer_thread));
}

int csk_timer_start(csk_timer_t *timer, int64_t deadline_ns, csk_timer_function_t function, void *context) {
    if (function == NULL) return EINVAL;
    int error = csk_timer_prepare();
    if (error != 0) return error;
    csk_queue_lock(&timers.lock);
    if (timer->epoch == csk_process_epoch()) {
        csk_queue_unlock(&timers.lock);
        return EBUSY;
    }
    timer->epoch = csk_process_epoch();
    timer->function = function;
    timer->context = context;
    timer->node.rank = rank_of(deadline_ns);
    timer->node.ticket = ++timers.starts;
    csk_heap_insert(&timers.heap, &timer->node);
    timers.count++;
    bool wake = deadline_ns < timers.sleeping_until;
    /* Later starts need not wake the thread again for any deadline after this one. */
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
        /* This is checked again after each wait: a function may start its own timer anew, before or after the timer was
         * taken out here. */
        if (timer->epoch == csk_process_epoch()) {
            csk_heap_remove(&timers.heap, &timer->node);
            timers.count--;
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

bool csk_timers_look(csk_inspected_timers_t *seen, int64_t until_ns) {
    if (!csk_waits_try_or_take_over(NULL, &timers.lock, until_ns)) return false;
    const csk_timer_t *first = (const csk_timer_t *)csk_heap_top(&timers.heap);
    seen->count = timers.count;
    seen->firing = timers.firing != NULL;
    seen->next_ns = first != NULL ? deadline_of(first) : CSK_NEVER;
    csk_queue_unlock(&timers.lock);
    return true;
}
