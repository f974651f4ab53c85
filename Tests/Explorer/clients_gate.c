/* clients_gate.c: the gate entered by threads. */
#include "csynckernel/gate.h"

#include "explorer.h"

static csk_gate_t *gate;
static uint32_t *inside, *count;

static void make(uint32_t policy, uint32_t bypass_limit) {
    csk_gate_attr_t attr = { .policy = policy, .bypass_limit = bypass_limit };
    gate = explore_allocate(sizeof *gate);
    inside = explore_allocate(sizeof *inside);
    count = explore_allocate(sizeof *count);
    EXPECT_EQUAL(csk_gate_init(gate, &attr), 0);
}
static void make_fast(void) { make(CSK_GATE_FAST, 0); }
static void make_compact(void) { make(CSK_GATE_COMPACT, 0); }
static void make_strict(void) { make(CSK_GATE_STRICT, 0); }

/* A section whose effects go through the store buffers, so that a gate that does not order them loses a count. */
static void section(void) {
    EXPECT_EQUAL(__atomic_load_n(inside, __ATOMIC_RELAXED), 0);
    __atomic_store_n(inside, 1, __ATOMIC_RELAXED);
    uint32_t before = __atomic_load_n(count, __ATOMIC_RELAXED);
    __atomic_store_n(count, before + 1, __ATOMIC_RELAXED);
    __atomic_store_n(inside, 0, __ATOMIC_RELAXED);
}
static void enter_once(void) {
    EXPECT_EQUAL(csk_gate_lock(gate, 0), 0);
    section();
    EXPECT_EQUAL(csk_gate_unlock(gate), 0);
}
static void enter_twice(void) {
    enter_once();
    enter_once();
}
static void is_idle_after_2(void) {
    EXPECT_EQUAL(*count, 2);
    EXPECT_EQUAL(csk_gate_waiting(gate), 0);
    EXPECT_EQUAL(csk_gate_destroy(gate), 0);
}
static void is_idle_after_3(void) {
    EXPECT_EQUAL(*count, 3);
    EXPECT_EQUAL(csk_gate_destroy(gate), 0);
}
static void is_idle_after_4(void) {
    EXPECT_EQUAL(*count, 4);
    EXPECT_EQUAL(csk_gate_destroy(gate), 0);
}

CLIENT(gate_fast_two_threads, .setup = make_fast, .threads = { enter_once, enter_once }, .check = is_idle_after_2, .preemptions = 3)
CLIENT(gate_fast_three_threads, .setup = make_fast, .threads = { enter_once, enter_once, enter_once }, .check = is_idle_after_3, .preemptions = 2)
CLIENT(gate_fast_twice, .setup = make_fast, .threads = { enter_twice, enter_twice }, .check = is_idle_after_4, .preemptions = 2)
CLIENT(gate_fast_spurious, .setup = make_fast, .threads = { enter_once, enter_once }, .check = is_idle_after_2, .preemptions = 2, .spurious = 1)
CLIENT(gate_fast_without_membarrier, .setup = make_fast, .threads = { enter_once, enter_once }, .check = is_idle_after_2, .preemptions = 2, .without_membarrier = true)
CLIENT(gate_compact_two_threads, .setup = make_compact, .threads = { enter_once, enter_once }, .check = is_idle_after_2, .preemptions = 3)
CLIENT(gate_compact_three_threads, .setup = make_compact, .threads = { enter_once, enter_once, enter_once }, .check = is_idle_after_3, .preemptions = 2)
CLIENT(gate_strict_two_threads, .setup = make_strict, .threads = { enter_once, enter_once }, .check = is_idle_after_2, .preemptions = 3)
CLIENT(gate_strict_three_threads, .setup = make_strict, .threads = { enter_once, enter_once, enter_once }, .check = is_idle_after_3, .preemptions = 2)
