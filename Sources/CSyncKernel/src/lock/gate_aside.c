/* gate_aside.c: which threads step aside for a waiter that is on its way. See gate_aside.h. */
#include "lock/gate_aside.h"

__thread uint32_t csk_gate_departures __attribute__((tls_model("initial-exec")));
__thread const csk_gate_t *csk_gate_marked __attribute__((tls_model("initial-exec")));

void csk_gate_look_for_late(csk_gate_t *gate) {
    csk_gate_lock_queue(gate);
    csk_waiter_t *next = csk_gate_next(gate);
    int64_t now_ns = csk_platform_now();
    bool coming = next != NULL && csk_load(&next->word, CSK_RELAXED) == WORD_TRY;
    if (coming && now_ns - next->told_ns > GATE_LATE_NS) {
        if (csk_gate_pass_over(gate, now_ns)) csk_gate_publish(gate); /* this thread has the gate */
        next->told_ns = now_ns;
        csk_gate_marked = gate;
    }
    csk_queue_unlock(&gate->queue_lock);
}

bool csk_gate_steps_aside(const csk_gate_t *gate, csk_rank_t rank) {
    const csk_waiter_t *next = csk_gate_next(gate);
    return next != NULL && next->node.rank >= rank;
}
