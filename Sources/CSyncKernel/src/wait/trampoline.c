#include "wait/trampoline.h"

#include "base/list.h"
#include "base/platform.h"

CSK_LINE(lanes, csk_gate_lane_t, next_ready);
CSK_LINE(laters, csk_gate_later_t, next);

static _Thread_local struct {
    csk_waiter_t *first, *last;
    csk_gate_lane_t *first_lane, *last_lane;
    csk_gate_later_t *later, *last_later;
    unsigned depth;
    unsigned waits; /* calls of csk_trampoline_begin_wait that have not ended */
} ready __attribute__((tls_model("initial-exec")));

void csk_trampoline_hold(void) { ready.depth++; }

static void run_waiter(csk_waiter_t *waiter) {
    ready.first = waiter->next_ready;
    csk_waiter_function_t function = waiter->function;
    void *context = waiter->context;
    int status = waiter->status;
    /* From here on another thread may queue the waiter again, and the function may free it: it is not touched any more.
     * This pairs with the load in csk_waiter_is_due. */
    csk_store(&waiter->due, 0, CSK_RELEASE);
    function(waiter, context, status);
}

static void run_lane(csk_gate_lane_t *lane) {
    ready.first_lane = lane->next_ready;
    lane->function(lane, lane->context);
}

static inline void run_ready(void) {
    while (ready.first != NULL || ready.first_lane != NULL) {
        if (ready.first != NULL) run_waiter(ready.first);
        else run_lane(ready.first_lane);
    }
}

/* Whatever a call does, it finds this thread as if it were the first that runs on it. */
static void run_later(void) {
    while (ready.later != NULL) {
        csk_gate_later_t *later = ready.later;
        ready.later = later->next;
        later->function(later);
    }
}

void csk_trampoline_release(void) {
    if (ready.depth > 1) {
        ready.depth--;
        return;
    }
    if (CSK_LIKELY(ready.waits == 0)) {
        run_ready();
    } else {
        int before = csk_platform_keep_thread();
        run_ready();
        csk_platform_let_thread_go(before);
    }
    ready.depth = 0;
    /* Where this thread stands in a queue, it came there out of an earlier call of run_later, which goes on with the
     * other calls. */
    if (ready.waits == 0) run_later();
}

void csk_trampoline_end_hold(void) {
    ready.depth = ready.waits = 0;
    csk_trampoline_hold();
    csk_trampoline_release();
}

void csk_trampoline_run(csk_waiter_t *first, csk_gate_lane_t *lane) {
    if (first == NULL && lane == NULL) return;
    if (first != NULL) {
        csk_waiter_t *last = first;
        while (last->next_ready != NULL) last = last->next_ready;
        if (ready.first == NULL) ready.first = first;
        else ready.last->next_ready = first;
        ready.last = last;
    }
    if (lane != NULL) lanes_append(&ready.first_lane, &ready.last_lane, lane);
    csk_trampoline_hold();
    csk_trampoline_release();
}

void csk_trampoline_begin_wait(void) { ready.waits++; }
void csk_trampoline_end_wait(void) { ready.waits--; }

bool csk_gate_call_later(csk_gate_later_t *later) {
    if (ready.waits != 0) return false;
    laters_append(&ready.later, &ready.last_later, later);
    csk_trampoline_hold();
    csk_trampoline_release();
    return true;
}
