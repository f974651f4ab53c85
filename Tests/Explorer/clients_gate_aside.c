/* clients_gate_aside.c: threads that keep passing a gate, and step aside for a waiter that is late. Under the explorer
 * each departure looks. */
#include <string.h>

#include "gate_fixture.h"
#include "lock/gate_aside.h"

static void let_pass(int64_t ns) {
    for (int64_t end = explore_now() + ns; explore_now() < end;) explore_pause("let_pass");
}

/* ---- One thread, and a waiter that never comes ------------------------------------------------------------------- */

static csk_waiter_t *never_comes;
static void make_with_waiter(uint32_t policy) {
    make_gate(policy, 0, 0);
    never_comes = explore_allocate(sizeof *never_comes);
}
static void make_fast_with_waiter(void) { make_with_waiter(CSK_GATE_FAST); }
static void make_compact_with_waiter(void) { make_with_waiter(CSK_GATE_COMPACT); }

static void queue_it(void) {
    csk_rank_t rank = csk_rank(0, CSK_PLACE_BACK);
    csk_effects_t effects = { 0 };
    csk_waiter_for_thread(never_comes, rank, 0x7000);
    csk_gate_lock_queue(gate);
    never_comes->node.ticket = csk_waiter_ticket(&gate->next_ticket, rank);
    csk_gate_insert(gate, never_comes);
    csk_gate_settle(gate, &effects);
    csk_queue_unlock(&gate->queue_lock);
}
static void take_it_out(void) {
    csk_effects_t effects = { 0 };
    csk_gate_lock_queue(gate);
    csk_gate_queue_kind.remove(gate, never_comes);
    csk_gate_settle(gate, &effects);
    csk_queue_unlock(&gate->queue_lock);
}
static bool would_step_aside(int32_t priority) {
    csk_gate_lock_queue(gate);
    bool aside = csk_gate_steps_aside(gate, csk_rank(priority, CSK_PLACE_BACK));
    csk_queue_unlock(&gate->queue_lock);
    return aside;
}
static void passes_it(int32_t priority, int64_t ns) {
    lock(priority);
    section();
    let_pass(ns);
    shared->noted_ns = explore_now();
    unlock();
}
/* Where its time has begun since `shared->noted_ns`. Time may pass between any two steps. */
static void expect_in_time(void) {
    int64_t begun_ns = shared->noted_ns;
    passes_it(1, 0);
    if (explore_now() - begun_ns <= GATE_LATE_NS) EXPECT(csk_gate_marked == NULL);
}
/* At priority 1 it need not step aside. */
static void passes_who_never_comes(void) {
    lock(0);
    queue_it();
    shared->noted_ns = explore_now();
    unlock();
    EXPECT_EQUAL(never_comes->word, WORD_TRY);
    expect_in_time();
    passes_it(1, GATE_LATE_NS + 5000);
    EXPECT(csk_gate_marked == gate);
    EXPECT(would_step_aside(0));
    EXPECT(!would_step_aside(1));
    expect_in_time(); /* the note has begun the time anew, and this entry forgets it */
    passes_it(1, GATE_LATE_NS + 5000);
    EXPECT(csk_gate_marked == gate);
    take_it_out();
    EXPECT(!would_step_aside(0));
    passes_it(1, 0);
}
static void idle_after_5(void) { expect_idle(5); }
CLIENT(gate_aside_never_comes_fast, .setup = make_fast_with_waiter, .threads = { passes_who_never_comes },
       .check = idle_after_5)
CLIENT(gate_aside_never_comes_compact, .setup = make_compact_with_waiter, .threads = { passes_who_never_comes },
       .check = idle_after_5)

/* ---- Several threads --------------------------------------------------------------------------------------------- */

static void enters_once(int32_t priority, int who) {
    lock(priority);
    section();
    shared->flags[who] = 1;
    unlock();
}
/* Whoever has marked the gate comes in only after the one that was late: thread 1 is the only one that waits. */
static void keeps_passing(void) {
    lock(0);
    explore_set(&shared->flags[3], 1);
    await_waiting(1);
    unlock();
    for (int i = 0; i < 3; i++) {
        bool noted = csk_gate_marked == gate;
        lock(0);
        section();
        if (noted) EXPECT_EQUAL(shared->flags[1], 1);
        let_pass(GATE_LATE_NS);
        unlock();
    }
}
static void passes_three_times(void) {
    for (int i = 0; i < 3; i++) passes_it(1, GATE_LATE_NS);
}
static void comes(void) { enters_once(0, 1); }
static void comes_while_held(void) {
    explore_wait(&shared->flags[3], 1);
    comes();
}
static void comes_too(void) { enters_once(0, 2); }
static void comes_timed(void) {
    int status = csk_gate_timedlock(gate, 0, explore_now() + 2 * GATE_LATE_NS);
    if (status != 0) return;
    section();
    unlock();
}
static void idle_after_4(void) { expect_idle(4); }
static void idle_after_7(void) { expect_idle(7); }
static void idle_at_last(void) { expect_idle(shared->count); }
CLIENT_FAST_COMPACT_STRICT(gate_aside, .threads = { keeps_passing, comes_while_held }, .check = idle_after_4,
                           .preemptions = 1)
CLIENT_FAST_COMPACT_STRICT(gate_aside_four, .threads = { passes_three_times, passes_three_times, comes, comes_too },
                           .check = idle_at_last)
CLIENT_FAST_COMPACT_STRICT(gate_aside_timed, .threads = { passes_three_times, passes_three_times, comes, comes_timed },
                           .check = idle_at_last)
CLIENT_FAST_COMPACT_STRICT(gate_aside_three, .threads = { passes_three_times, passes_three_times, comes },
                           .check = idle_after_7)
