/* await_bypass_test.c: who waits for a predicate is overtaken so often and no more. Threads that come in vain are the
 * explorer's, clients_await_passed.c. */
#include "csynckernel/await.h"
#include "ranks.h"
#include "test.h"

enum { LOW = -3, HIGH = 7, NEVER_SERVED = 300 };

static csk_gate_t gate;
static int items, overtaken;
static bool is_served, is_open;
static csk_rank_t low_rank; /* with which it goes */
static csk_gate_condition_t low, high, closed;

static bool has_items(void *unused) {
    (void)unused;
    return items > 0;
}
static bool opens(void *unused) {
    (void)unused;
    return is_open;
}
static void is_low(csk_gate_condition_t *condition, void *context, int status) {
    (void)context;
    if (status != 0) return;
    items--;
    is_served = true;
    low_rank = csk_gate_condition_rank(condition);
}
static void is_closed(csk_gate_condition_t *condition, void *context, int status) {
    (void)condition, (void)context, (void)status;
}
/* Takes an item, and waits for the next. */
static void is_high(csk_gate_condition_t *condition, void *context, int status) {
    if (status != 0) return;
    items--;
    overtaken++;
    CHECK_STATUS(csk_gate_watch(&gate, back(HIGH), condition, has_items, NULL, is_high, context), 0);
}

static void enter(void) { CHECK_STATUS(csk_gate_lock(&gate, 0), 0); }
static void leave(void) { CHECK_STATUS(csk_gate_unlock(&gate), 0); }

/* How often one that waits with that rank is overtaken by urgent ones, of which one always waits. */
static int passes_before(csk_gate_attr_t attr, csk_rank_t rank) {
    CHECK_STATUS(csk_gate_init(&gate, &attr), 0);
    items = overtaken = 0;
    is_served = is_open = false;
    enter();
    CHECK_STATUS(csk_gate_watch(&gate, back(HIGH), &high, has_items, NULL, is_high, NULL), 0);
    CHECK_STATUS(csk_gate_watch(&gate, unnamed(LOW), &closed, opens, NULL, is_closed, NULL), 0);
    CHECK_STATUS(csk_gate_watch(&gate, rank, &low, has_items, NULL, is_low, NULL), 0);
    leave();
    items = 1;
    enter();
    leave(); /* it came later than the urgent one, which does not overtake it */
    CHECK_EQ(overtaken, 1);
    while (!is_served && overtaken <= NEVER_SERVED) {
        enter();
        items = 1;
        leave();
    }
    int passes = overtaken - 1;
    CHECK_STATUS(csk_gate_raise_watch(&gate, unnamed(HIGH), &high), EINVAL);
    CHECK_STATUS(csk_gate_unwatch(&gate, &high), 0);
    CHECK_STATUS(csk_gate_unwatch(&gate, &closed), 0);
    CHECK_STATUS(csk_gate_unwatch(&gate, &low), is_served ? ENOENT : 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
    return passes;
}

static void one_that_names_no_priority_is_overtaken_so_often(void) {
    for (uint32_t policy = CSK_GATE_FAST; policy <= CSK_GATE_STRICT; policy++) {
        csk_gate_attr_t attr = { .policy = policy };
        CHECK_EQ(passes_before(attr, unnamed(LOW)), CSK_BYPASS_UNNAMED);
        CHECK_EQ(low_rank, csk_rank(INT32_MAX, CSK_PLACE_FRONT));
        CHECK_EQ(passes_before(attr, back(LOW)), NEVER_SERVED);
    }
}
static void a_limit_of_the_gates_own_is_for_all(void) {
    for (uint32_t policy = CSK_GATE_FAST; policy <= CSK_GATE_STRICT; policy++) {
        csk_gate_attr_t few = { .policy = policy, .bypass_limit = 3 };
        CHECK_EQ(passes_before(few, unnamed(LOW)), 3);
        CHECK_EQ(passes_before(few, back(LOW)), 3);
        csk_gate_attr_t never = { .policy = policy, .bypass_limit = CSK_BYPASS_NEVER };
        CHECK_EQ(passes_before(never, unnamed(LOW)), NEVER_SERVED);
    }
}

/* ---- Several that are overtaken ---------------------------------------------------------------------------------- */

enum { SEVERAL = 3 };

static csk_gate_condition_t several[SEVERAL];
static int served[SEVERAL], served_count;

static bool has_two_items(void *unused) {
    (void)unused;
    return items > 1;
}
static void is_one_of_several(csk_gate_condition_t *condition, void *number, int status) {
    (void)condition;
    if (status != 0) return;
    items = 0;
    served[served_count++] = (int)(intptr_t)number;
}
static void watch_several(int number, csk_gate_predicate_t predicate) {
    CHECK_STATUS(csk_gate_watch(&gate, unnamed(LOW), &several[number], predicate, NULL, is_one_of_several,
                                (void *)(intptr_t)number),
                 0);
}
static void give_items(int count) {
    enter();
    items = count;
    leave();
}

/* All are passed at once, and go in the order in which they came. */
static void those_that_are_overtaken_go_in_their_order(void) {
    CHECK_STATUS(csk_gate_init(&gate, NULL), 0);
    items = overtaken = served_count = 0;
    enter();
    for (int i = 0; i < SEVERAL; i++) watch_several(i, has_items);
    CHECK_STATUS(csk_gate_watch(&gate, back(HIGH), &high, has_items, NULL, is_high, NULL), 0);
    leave();
    for (int i = 0; i < CSK_BYPASS_UNNAMED + SEVERAL; i++) give_items(1);
    CHECK_EQ(overtaken, CSK_BYPASS_UNNAMED);
    for (int i = 0; i < SEVERAL; i++) CHECK_EQ(served[i], i);
    CHECK_STATUS(csk_gate_unwatch(&gate, &high), 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

/* Others that are overtaken as often do not pass one that was before. */
static void who_was_overtaken_first_goes_first(void) {
    CHECK_STATUS(csk_gate_init(&gate, NULL), 0);
    items = overtaken = served_count = 0;
    enter();
    watch_several(0, has_two_items);
    CHECK_STATUS(csk_gate_watch(&gate, back(HIGH), &high, has_items, NULL, is_high, NULL), 0);
    leave();
    for (int i = 0; i < CSK_BYPASS_UNNAMED; i++) give_items(1);
    enter();
    watch_several(1, has_items);
    leave();
    give_items(1); /* the urgent one came before it */
    for (int i = 0; i < CSK_BYPASS_UNNAMED; i++) give_items(1);
    CHECK_EQ(served_count, 0);
    give_items(2);
    give_items(1);
    CHECK_EQ(served_count, 2);
    CHECK_EQ(served[0], 0);
    CHECK_EQ(served[1], 1);
    CHECK_STATUS(csk_gate_unwatch(&gate, &high), 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

TEST_MAIN(TEST(those_that_are_overtaken_go_in_their_order), TEST(who_was_overtaken_first_goes_first),
          TEST(one_that_names_no_priority_is_overtaken_so_often), TEST(a_limit_of_the_gates_own_is_for_all))
