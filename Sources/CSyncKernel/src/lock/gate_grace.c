#include "lock/gate_grace.h"

void csk_gate_start_grace(csk_gate_t *gate) {
    csk_waiter_t *pending = csk_gate_pending(gate);
    if (pending->granted_ns == 0) pending->granted_ns = csk_platform_now();
    if (pending->grace_started) return;
    pending->grace_started = 1;
    csk_cannot_fail(csk_timer_start(&pending->grace, pending->granted_ns + pending->grace_ns, pending->grace.function,
                                    gate));
}
