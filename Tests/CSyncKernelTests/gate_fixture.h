/* gate_fixture.h: what tests of gates begin with. */
#ifndef CSK_GATE_FIXTURE_H
#define CSK_GATE_FIXTURE_H

#include <csynckernel/csynckernel.h>

#include "test.h"

static inline void make(csk_gate_t *gate, uint32_t policy, uint32_t bypass_limit) {
    csk_gate_attr_t attr = { .policy = policy, .bypass_limit = bypass_limit };
    CHECK_STATUS(csk_gate_init(gate, &attr), 0);
}

#endif
