/* gate_alone_test.c: a program that uses the gate alone: a thread is known as the holder that it is. */
#include "alone.h"

#include <csynckernel/gate.h>

static void *lock_and_leave(void *unused) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK(csk_gate_is_mine(&gate));
    CHECK_STATUS(csk_gate_lock(&gate, 0), EDEADLK);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK(!csk_gate_is_mine(&gate));
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
    CHECK_EQ(csk_self() % 16, 0);
    return unused;
}
static void a_holder_is_known_where_nothing_else_is_used(void) { on_several_threads(lock_and_leave); }

TEST_MAIN(TEST(a_holder_is_known_where_nothing_else_is_used))
