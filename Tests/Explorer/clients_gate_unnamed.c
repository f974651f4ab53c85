/* clients_gate_unnamed.c: threads and callbacks whose priority nobody named are overtaken so often and no more, at a
 * gate without a limit. They count from a number just below it, so that a schedule needs few passes. */
#include "lane_fixture.h"

enum { LOW = -3, HIGH = 7 };

static void all_are_passed(int times) {
    csk_gate_lock_queue(gate);
    for (int i = 0; i < times; i++) csk_gate_count_pass(gate);
    csk_gate_publish(gate);
    csk_queue_unlock(&gate->queue_lock);
}
static void one_pass_is_left(void) { all_are_passed(CSK_BYPASS_UNNAMED - 1); }

/* ---- Those that stand in the queue ------------------------------------------------------------------------------- */

/* Until as many wait, each lets the next come. */
static void let_come(uint32_t from, uint32_t to) {
    for (uint32_t i = from; i <= to; i++) {
        explore_set(&shared->flags[i], 1);
        await_waiting(i);
    }
}
static void comes(int who, csk_rank_t rank) {
    explore_wait(&shared->flags[who], 1);
    EXPECT_EQUAL(csk_gate_lock_ranked(gate, rank, CSK_NEVER), 0);
    enter_as(who);
    unlock();
}
static void named_low_1(void) { comes(1, csk_rank(LOW, CSK_PLACE_BACK)); }
static void unnamed_1(void) { comes(1, csk_rank(LOW, CSK_PLACE_UNNAMED)); }
static void unnamed_2(void) { comes(2, csk_rank(LOW, CSK_PLACE_UNNAMED)); }
static void high_2(void) { comes(2, csk_rank(HIGH, CSK_PLACE_BACK)); }
static void high_3(void) { comes(3, csk_rank(HIGH, CSK_PLACE_BACK)); }
static void high_4(void) { comes(4, csk_rank(HIGH, CSK_PLACE_BACK)); }

static void leaves_when_all_wait(void) {
    lock(0);
    let_come(1, 1);
    one_pass_is_left();
    let_come(2, 3);
    unlock();
}
static void goes_second(void) { expect_order(3, (int[]){ 2, 1, 3 }); }
CLIENT_FAST_COMPACT_STRICT(gate_unnamed, .threads = { leaves_when_all_wait, unnamed_1, high_2, high_3 },
                           .check = goes_second)

/* One that is older, of the same priority, which is named: it has no limit, and hides nobody who has one. */
static void leaves_when_four_wait(void) {
    lock(0);
    let_come(1, 2);
    one_pass_is_left();
    let_come(3, 4);
    unlock();
}
static void goes_before_the_named_one(void) { expect_order(4, (int[]){ 3, 2, 4, 1 }); }
CLIENT_FAST_COMPACT_STRICT(gate_unnamed_behind_named,
                           .threads = { leaves_when_four_wait, named_low_1, unnamed_2, high_3, high_4 },
                           .check = goes_before_the_named_one, .preemptions = 1)

/* An older one that goes first has not passed it. */
static void urgent_1(void) { comes(1, csk_rank(HIGH, CSK_PLACE_BACK)); }
static void goes_third(void) { expect_order(4, (int[]){ 1, 3, 2, 4 }); }
CLIENT_FAST_COMPACT_STRICT(gate_unnamed_behind_urgent,
                           .threads = { leaves_when_four_wait, urgent_1, unnamed_2, high_3, high_4 },
                           .check = goes_third, .preemptions = 1)

/* ---- Those that give up, and callbacks --------------------------------------------------------------------------- */

static void newcomer(int who) {
    explore_wait(&shared->flags[0], 1);
    once(HIGH, who);
}
static void newcomer_2(void) { newcomer(2); }
static void newcomer_3(void) { newcomer(3); }
/* The one that goes after the next pass gives up, at any moment. */
static void gives_up(void) {
    explore_wait(&shared->flags[1], 1);
    int status = csk_gate_lock_ranked(gate, csk_rank(LOW, CSK_PLACE_UNNAMED), explore_now() + 20000);
    if (status == ETIMEDOUT) return;
    EXPECT_EQUAL(status, 0);
    enter_as(1);
    unlock();
}
static void leaves_to_one_that_gives_up(void) {
    lock(0);
    explore_set(&shared->flags[1], 1);
    one_pass_is_left(); /* if it has come */
    explore_set(&shared->flags[0], 1);
    unlock();
}
static void some_enter(void) { EXPECT(shared->entered >= 2); }
static void one_enters(void) { EXPECT(shared->entered >= 1); }
CLIENT(gate_unnamed_gives_up_fast, .setup = make_fast, .invariant = is_published,
       .threads = { leaves_to_one_that_gives_up, gives_up, newcomer_2 }, .check = one_enters)
CLIENT(gate_unnamed_gives_up_compact, .setup = make_compact, .invariant = is_published,
       .threads = { leaves_to_one_that_gives_up, gives_up, newcomer_2, newcomer_3 }, .check = some_enter,
       .preemptions = 1)
CLIENT(gate_unnamed_gives_up_strict, .setup = make_strict, .invariant = is_published,
       .threads = { leaves_to_one_that_gives_up, gives_up, newcomer_2, newcomer_3 }, .check = some_enter,
       .preemptions = 1)

static void leave(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    shared->status[(intptr_t)context] = status;
    EXPECT_EQUAL(status, 0);
    enter_as((int)(intptr_t)context);
    unlock();
}
static void callback(int who, csk_rank_t rank) {
    EXPECT_EQUAL(csk_gate_lock_async_ranked(gate, rank, &shared->waiters[who], false, CSK_NEVER, leave,
                                            (void *)(intptr_t)who),
                 0);
}
static void queues_callbacks(void) {
    lock(0);
    callback(0, csk_rank(LOW - 1, CSK_PLACE_BACK));
    callback(1, csk_rank(LOW, CSK_PLACE_UNNAMED));
    one_pass_is_left();
    callback(2, csk_rank(HIGH, CSK_PLACE_BACK));
    callback(3, csk_rank(HIGH, CSK_PLACE_BACK));
    unlock();
}
static void a_try(void) {
    if (csk_gate_trylock(gate, HIGH) == 0) unlock();
}
static void second_is_the_unnamed(void) {
    EXPECT_EQUAL(shared->entered, 4);
    for (int i = 0; i < 4; i++)
        if (shared->order[i] == 1) EXPECT(i < 2);
    EXPECT_EQUAL(shared->order[3], 0);
}
CLIENT_FAST_COMPACT_STRICT(gate_unnamed_callbacks, .threads = { queues_callbacks, a_try },
                           .check = second_is_the_unnamed)

/* ---- Behind a row of named ones ---------------------------------------------------------------------------------- */

static void callbacks(int first, int last, csk_rank_t rank) {
    for (int who = first; who <= last; who++) callback(who, rank);
}
static void queue_in_lane(int index, csk_rank_t rank) {
    shared->lane.function = is_dispatched;
    EXPECT_EQUAL(csk_gate_lock_lane(gate, rank, &shared->waiters[index], &shared->lane, CSK_NEVER, failed, NULL), 0);
}

/* The oldest of those under a limit has been passed too often, and waits for its queue. The look for another one ends
 * with the row, so that it does not take longer the more wait. It goes on past a row that has become shorter. */
static void queues_for_a_busy_queue(void) { queue_in_lane(0, csk_rank(LOW, CSK_PLACE_UNNAMED)); }
static void queues_behind_a_row(void) {
    explore_wait(&shared->blocks, 1);
    lock(0);
    callbacks(1, 2, csk_rank(LOW, CSK_PLACE_BACK));
    callback(3, csk_rank(LOW, CSK_PLACE_UNNAMED));
    one_pass_is_left();
    callbacks(4, 5, csk_rank(HIGH, CSK_PLACE_BACK));
    unlock();
    explore_set(&shared->flags[0], 1);
}
static void serves_one_late(void) { serve_when_passed(1); }
static void the_look_ends_with_the_row(void) { expect_order(6, (int[]){ 4, 5, 1, 3, 2, 10 }); }
CLIENT_FAST_COMPACT_STRICT(gate_unnamed_behind_a_row,
                           .threads = { queues_for_a_busy_queue, serves_one_late, queues_behind_a_row },
                           .check = the_look_ends_with_the_row, .preemptions = 1)

/* Who stands behind a row has been passed too often, and so has the oldest, which gives up. That takes half of the row
 * out of the way. The other half goes when somebody queues behind others of a lane, who shows nothing of it himself. */
static void queues_behind_others_of_a_lane(void) {
    lock(0);
    let_come(1, 1);
    EXPECT_EQUAL(csk_gate_lock_async_ranked(gate, csk_rank(LOW, CSK_PLACE_UNNAMED), &shared->waiters[2], false,
                                            CSK_NEVER, failed, NULL),
                 0);
    callbacks(3, 5, csk_rank(LOW, CSK_PLACE_BACK));
    callback(6, csk_rank(LOW, CSK_PLACE_UNNAMED));
    queue_in_lane(0, csk_rank(LOW - 1, CSK_PLACE_BACK));
    all_are_passed(CSK_BYPASS_UNNAMED);
    EXPECT_EQUAL(csk_gate_cancel(gate, &shared->waiters[2]), 0);
    queue_in_lane(1, csk_rank(LOW - 1, CSK_PLACE_BACK));
    unlock();
}
static void high_1(void) { comes(1, csk_rank(HIGH, CSK_PLACE_BACK)); }
static void serves_two_beside_one_that_fails(void) { serve(3); }
static void goes_before_the_high_one(void) { expect_order(7, (int[]){ 6, 1, 3, 4, 5, 10, 11 }); }
#define CLIENT_ROW(name, setup_function)                                                            \
    CLIENT(name, .setup = setup_function, .invariant = shows_the_queue,                             \
           .threads = { queues_behind_others_of_a_lane, high_1, serves_two_beside_one_that_fails }, \
           .check = goes_before_the_high_one, .preemptions = 1)
CLIENT_ROW(gate_unnamed_shown_in_a_lane_fast, make_fast)
CLIENT_ROW(gate_unnamed_shown_in_a_lane_compact, make_compact)
CLIENT_ROW(gate_unnamed_shown_in_a_lane_strict, make_strict)
