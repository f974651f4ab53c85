/* clients_gate_leave.c: a leaver of the one-word form whose designated waiter gives up before the word is free. It
 * designates twice, and then grants. */
#include "gate_fixture.h"

/* Thread 0 leaves while somebody waits. flags[1] is 1 meanwhile, flags[2] says whether somebody is designated, and
 * flags[3] counts how often that began before it had left: while the gate is held, only its holder designates. Each
 * change is seen here, since unlocking the queue is a step. */
static void designates_twice_at_most(void) {
    is_published();
    if (gate->queue_lock != 0) return;
    bool leaves = shared->flags[1] && (int64_t)csk_gate_holder(gate) == shared->noted_ns;
    bool designated = (gate->summary & GATE_DESIGNATED) != 0;
    if (leaves && designated && !shared->flags[2]) shared->flags[3]++;
    shared->flags[2] = designated;
    EXPECT(shared->flags[3] <= 2);
}
static void leaves(void) {
    lock(0);
    shared->noted_ns = (int64_t)csk_gate_holder(gate);
    section();
    explore_set(&shared->flags[0], 1);
    explore_wait(&gate->waiting, 1);
    shared->flags[1] = 1;
    unlock();
    shared->flags[1] = 0;
}
static void idle_after_2(void) { expect_idle(2); }

/* ---- A waiter that gives up as soon as it is told ---------------------------------------------------------------- */

/* It stands in for threads with short deadlines, of which another comes as soon as one has gone. */
static csk_waiter_t *brief;

static void queue_it(void) {
    csk_rank_t rank = csk_rank(0, CSK_PLACE_BACK);
    csk_effects_t effects = { 0 };
    csk_waiter_for_thread(brief, rank, csk_self());
    csk_gate_lock_queue(gate);
    brief->node.ticket = csk_waiter_ticket(&gate->next_ticket, rank);
    csk_gate_insert(gate, brief);
    csk_gate_settle(gate, &effects);
    csk_queue_unlock(&gate->queue_lock);
}
/* True if it was granted the gate instead. */
static bool take_it_out(void) {
    csk_effects_t effects = { 0 };
    csk_gate_lock_queue(gate);
    bool granted = csk_waiter_state(brief) == WAITER_GRANTED;
    if (!granted) {
        csk_gate_queue_kind.remove(gate, brief);
        csk_gate_settle(gate, &effects);
    }
    csk_queue_unlock(&gate->queue_lock);
    return granted;
}
static void gives_up_thrice(void) {
    brief = &shared->waiters[0];
    explore_wait(&shared->flags[0], 1);
    bool granted = false;
    for (int times = 0; times < 3 && !granted; times++) {
        queue_it();
        explore_wait(&brief->word, WORD_TRY);
        granted = take_it_out();
    }
    if (!granted) lock(0);
    section();
    unlock();
}
CLIENT(gate_leaver_beside_brief_waiters_compact, .setup = make_compact, .invariant = designates_twice_at_most,
       .threads = { leaves, gives_up_thrice }, .check = idle_after_2, .preemptions = 2)

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static void comes_thrice_in_vain(void) {
    explore_wait(&shared->flags[0], 1);
    int status = ETIMEDOUT;
    for (int times = 0; times < 3 && status != 0; times++) {
        status = csk_gate_timedlock(gate, 0, explore_now() + 20000);
        EXPECT(status == 0 || status == ETIMEDOUT);
    }
    if (status != 0) lock(0);
    section();
    unlock();
}
CLIENT(gate_leaver_beside_deadlines_compact, .setup = make_compact, .invariant = designates_twice_at_most,
       .threads = { leaves, comes_thrice_in_vain }, .check = idle_after_2, .preemptions = 1, .spurious = 1)
