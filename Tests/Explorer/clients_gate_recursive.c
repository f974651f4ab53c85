/* clients_gate_recursive.c: re-entrant use of the gate. A thread has its number from its first lock, and enters by the
 * inline path from its second on. */
#include "gate_fixture.h"

static void enters(void) {
    EXPECT_EQUAL(csk_gate_lock_recursive(gate, 0, CSK_NEVER), 0);
    section();
    EXPECT_EQUAL(csk_gate_unlock_recursive(gate), 0);
}
static void enters_again(void) {
    enters();
    EXPECT_EQUAL(csk_gate_lock_recursive(gate, 0, CSK_NEVER), 0);
    enters();
    EXPECT_EQUAL(csk_gate_unlock_recursive(gate), 0);
}
static void are_four(void) { EXPECT_EQUAL(shared->count, 4); }
CLIENT_FAST_COMPACT_STRICT(gate_recursive, .threads = { enters_again, enters_again }, .check = are_four,
                           .preemptions = 1)
