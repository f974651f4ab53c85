/* order_child_test.c: the checker of lock order in a child of fork, which goes on with what the parent has found, and
 * where no more objects have room. */
#include "order_fixture.h"

#include "child.h"
#include "observe/order.h"

static csk_gate_t parents, childs;
static void turn_around(void *unused) {
    (void)unused;
    within(&childs, &parents);
    check_reports(1, NULL);
}
static void a_child_checks_too(void) {
    within(&parents, &childs);
    in_a_child(turn_around, NULL);
    check_reports(0, NULL);
}

/* What a thread of the parent leaves in the child that was just keeping a long circle. */
static void turn_around_behind_half_a_circle(void *unused) {
    (void)unused;
    csk_order_counts_t counts;
    csk_order_count(&counts);
    order_circle_t *circle = &csk_order_tables->circles[counts.circles];
    circle->count = ORDER_CIRCLE_STEPS;
    within(&childs, &parents);
    check_reports(1, NULL);
    CHECK_EQ(circle->count, 2);
    CHECK_EQ(circle[1].count, 0);
}
static void a_circle_that_was_half_kept_at_a_fork_is_kept_anew(void) {
    within(&parents, &childs);
    in_a_child(turn_around_behind_half_a_circle, NULL);
    check_reports(0, NULL);
}

/* There is room for 65 536 addresses. Objects beyond are not checked, and counted; the others are checked as before. */
static void use_all_addresses_up(void *unused) {
    static char objects[2 * ORDER_OBJECTS];
    (void)unused;
    const char *beyond = NULL;
    int known = 0;
    for (int i = 0; i < 2 * ORDER_OBJECTS; i++) {
        int status = csk_order_level(&objects[i], 0);
        if (status == 0) known++;
        else {
            CHECK_STATUS(status, ENOBUFS);
            beyond = &objects[i];
        }
    }
    CHECK(known > ORDER_OBJECTS / 2 && known <= ORDER_OBJECTS);
    CHECK_STATUS(csk_order_ignore(beyond), ENOBUFS);
    csk_order_counts_t before, after;
    csk_order_count(&before);
    enter_one_more(beyond);
    csk_order_leaves(beyond);
    csk_order_count(&after);
    CHECK_EQ(after.lost, before.lost + 1);
    within(&childs, &parents);
    check_reports(1, NULL);
}
static void beyond_the_addresses_that_have_room_nothing_is_checked(void) {
    within(&parents, &childs);
    in_a_child(use_all_addresses_up, NULL);
    check_reports(0, NULL);
}

/* Before any test. */
__attribute__((constructor)) static void start(void) { start_checker(); }

TEST_MAIN(TEST(a_child_checks_too), TEST(a_circle_that_was_half_kept_at_a_fork_is_kept_anew),
          TEST(beyond_the_addresses_that_have_room_nothing_is_checked))
