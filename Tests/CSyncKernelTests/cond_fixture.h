/* cond_fixture.h: what two tests of condition variables share: one gate, one condition variable, and who signals. */
#ifndef CSK_TEST_COND_FIXTURE_H
#define CSK_TEST_COND_FIXTURE_H

#include "child.h"

#include <csynckernel/csynckernel.h>

static csk_gate_t gate;
static csk_cond_t cond;
static uint32_t ready, came_out;

static inline void make_with(csk_gate_attr_t attr) {
    CHECK_STATUS(csk_gate_init(&gate, &attr), 0);
    CHECK_STATUS(csk_cond_init(&cond, &gate), 0);
    ready = came_out = 0;
}
static inline void make(uint32_t policy) { make_with((csk_gate_attr_t){ .policy = policy }); }
static inline void check_idle(void) {
    CHECK_EQ(csk_cond_waiting(&cond), 0);
    CHECK_STATUS(csk_cond_destroy(&cond), 0);
    CHECK_EQ(csk_gate_waiting(&gate), 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}
static inline void signal_and_leave(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    CHECK_STATUS(status, 0);
    ready = 1;
    CHECK_STATUS(csk_cond_signal(&cond), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}
static inline void signal_inside(void) {
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    ready = 1;
    CHECK_STATUS(csk_cond_signal(&cond), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}

#endif
