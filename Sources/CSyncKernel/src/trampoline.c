#include "internal/trampoline.h"

#include "internal/platform.h"

static _Thread_local struct {
    csk_gate_waiter_t *first, *last;
    unsigned depth;
} ready __attribute__((tls_model("initial-exec")));

void csk_trampoline_hold(void) { ready.depth++; }

void csk_trampoline_release(void) {
    if (ready.depth > 1) {
        ready.depth--;
        return;
    }
    while (ready.first != NULL) {
        csk_gate_waiter_t *waiter = ready.first;
        ready.first = waiter->next_ready;
        csk_store(&waiter->due, 0, CSK_RELAXED);
        /* The function may free the waiter or queue it again: it is not touched after the call. */
        waiter->function(waiter, waiter->context, waiter->status);
    }
    ready.depth = 0;
}

void csk_trampoline_run(csk_gate_waiter_t *first) {
    if (first == NULL) return;
    csk_gate_waiter_t *last = first;
    while (last->next_ready != NULL) last = last->next_ready;
    if (ready.first == NULL) ready.first = first;
    else ready.last->next_ready = first;
    ready.last = last;
    csk_trampoline_hold();
    csk_trampoline_release();
}
