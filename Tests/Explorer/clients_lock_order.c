/* clients_lock_order.c: the checker of lock order is started, told of locks, counted and printed by several threads at
 * once. (clients_order.c has what locks tell it.) */
#include "base/ordering.h"
#include "csynckernel/name.h"
#include "csynckernel/observe.h"
#include "csynckernel/order.h"

#include <string.h>

#include "explorer.h"

static struct {
    csk_gate_t gates[4];
    uint32_t entered, reported;
    char report[256];
    size_t printed;
} * shared;

static void hears(const csk_event_t *event) {
    EXPECT_EQUAL(event->kind, CSK_EVENT_LOCK_ORDER);
    shared->reported++;
    strncpy(shared->report, event->name, sizeof shared->report - 1);
}
static void make(void) {
    shared = explore_allocate(sizeof *shared);
    csk_set_reporter(hears);
}
static void start(void) { EXPECT_EQUAL(csk_order_start(), 0); }
static void make_started(void) {
    make();
    start();
}
static void end(void) { csk_set_reporter(NULL); }

static csk_order_counts_t counts(void) {
    csk_order_counts_t found;
    csk_order_count(&found);
    EXPECT_EQUAL(found.lost, 0);
    return found;
}
static void enters(int gate) {
    const csk_ordering_t *ordering = csk_current_ordering();
    if (ordering == NULL) return;
    ordering->comes(&shared->gates[gate], CSK_OBJECT_GATE);
    ordering->entered(&shared->gates[gate], CSK_OBJECT_GATE);
}
static void leaves(int gate) {
    if (csk_current_ordering() != NULL) csk_current_ordering()->leaves(&shared->gates[gate]);
}
static void enters_inside(int outer, int inner) {
    enters(outer);
    enters(inner);
    leaves(inner);
    leaves(outer);
}

/* ---- Starting ---------------------------------------------------------------------------------------------------- */

/* Whoever hears of the checker finds its tables, whichever thread of two that start it has made them. */
static void is_told(void) { enters_inside(0, 1); }
static void one_step_at_most(void) {
    csk_order_counts_t found = counts();
    EXPECT(found.steps <= 1);
    EXPECT(found.classes <= 2);
    end();
}
CLIENT(lock_order_started, .setup = make, .threads = { start, is_told }, .check = one_step_at_most, .preemptions = 2)
CLIENT(lock_order_started_twice, .setup = make, .threads = { start, start, is_told }, .check = one_step_at_most,
       .preemptions = 2)

/* Nobody says that the checker is there to whoever tells it of its own locks. */
static void tells(void) {
    csk_order_comes(&shared->gates[0], CSK_OBJECT_OTHER);
    csk_order_entered(&shared->gates[0], CSK_OBJECT_OTHER);
    csk_order_comes(&shared->gates[1], CSK_OBJECT_OTHER);
    csk_order_leaves(&shared->gates[0]);
}
CLIENT(lock_order_told, .setup = make, .threads = { start, tells }, .check = one_step_at_most, .preemptions = 2)

static void gives_level(void) {
    int status = csk_order_level(&shared->gates[0], 1);
    EXPECT(status == 0 || status == EAGAIN);
}
CLIENT(lock_order_level, .setup = make, .threads = { start, gives_level }, .check = end, .preemptions = 2)

static int takes_text(void *context, const void *bytes, size_t size) {
    (void)context, (void)bytes;
    shared->printed += size;
    return 0;
}
static void prints(void) { EXPECT_EQUAL(csk_order_print(takes_text, NULL), 0); }
static void misses(void) {
    if (csk_current_ordering() != NULL) csk_current_ordering()->uncovered(&shared->gates[0], CSK_OBJECT_COND);
}
static void starts_and_misses(void) {
    start();
    misses();
}
static void one_is_missing(void) {
    EXPECT_EQUAL(counts().uncovered, 1);
    prints();
    EXPECT(shared->printed > strlen("not covered: "));
    end();
}
CLIENT(lock_order_uncovered, .setup = make, .threads = { starts_and_misses, prints }, .check = one_is_missing,
       .preemptions = 2)

CLIENT(lock_order_uncovered_once, .setup = make_started, .threads = { misses, misses }, .check = one_is_missing,
       .preemptions = 2)

static void stops(void) { csk_order_stop(); }
CLIENT(lock_order_stops, .setup = make_started, .threads = { stops, is_told }, .check = one_step_at_most,
       .preemptions = 2)

/* ---- Classes and circles ----------------------------------------------------------------------------------------- */

static void name_all(const char *name) {
    for (int i = 0; i < 4; i++) EXPECT_EQUAL(csk_name(&shared->gates[i], name), 0);
}
static void make_one_class(void) {
    make_started();
    name_all("users");
}
/* Two threads come with a class that is new. Whoever reports it has its whole text, which it may have written. */
static void enters_first(void) {
    enters(0);
    leaves(0);
}
static void makes_circle(void) { enters_inside(1, 2); }
static void class_is_in_circle(void) {
    csk_order_counts_t found = counts();
    EXPECT_EQUAL(found.classes, 1);
    EXPECT_EQUAL(found.circles, 1);
    EXPECT_EQUAL(shared->reported, 1);
    EXPECT(strcmp(shared->report, "users -> users") == 0);
    end();
}
CLIENT(lock_order_of_one_class, .setup = make_one_class, .threads = { enters_first, makes_circle },
       .check = class_is_in_circle, .preemptions = 2)

/* The thread that reports may know both objects' class by its number alone, from the thread that made the class. */
static void enters_one_after_the_other(void) {
    enters(1);
    leaves(1);
    enters(2);
    leaves(2);
}
CLIENT(lock_order_of_a_class_that_others_made, .setup = make_one_class,
       .threads = { enters_one_after_the_other, makes_circle }, .check = class_is_in_circle, .preemptions = 2)

/* The circle is closed once, and who prints meanwhile finds it whole, or not yet. */
static void enters_there(void) { enters_inside(0, 1); }
static void enters_back(void) { enters_inside(1, 0); }
static void circle_is_whole(void) {
    csk_order_counts_t found = counts();
    EXPECT_EQUAL(found.classes, 2);
    EXPECT_EQUAL(found.steps, 2);
    EXPECT_EQUAL(found.circles, 1);
    EXPECT_EQUAL(shared->reported, 1);
    prints();
    EXPECT(shared->printed != 0);
    end();
}
CLIENT(lock_order_circle, .setup = make_started, .threads = { enters_there, enters_back }, .check = circle_is_whole,
       .preemptions = 1)

static void closes_circle(void) {
    enters_there();
    enters_back();
}
CLIENT(lock_order_circle_of_two, .setup = make_started, .threads = { closes_circle, closes_circle },
       .check = circle_is_whole, .preemptions = 1)
CLIENT(lock_order_printed, .setup = make_started, .threads = { closes_circle, prints }, .check = circle_is_whole,
       .preemptions = 1)

/* An object's class is found anew once it has begun anew, or has a level, while another thread uses it. */
static void begins_anew(void) {
    csk_current_ordering()->begins(&shared->gates[0]);
    EXPECT_EQUAL(csk_order_level(&shared->gates[0], 3), 0);
}
static void uses_and_is_left(void) {
    enters_inside(0, 1);
    enters_inside(0, 1);
}
static void classes_are_few(void) {
    csk_order_counts_t found = counts();
    EXPECT(found.classes >= 2 && found.classes <= 4);
    enters_inside(0, 1);
    EXPECT_EQUAL(counts().circles, 0);
    end();
}
CLIENT(lock_order_begins_anew, .setup = make_started, .threads = { begins_anew, uses_and_is_left },
       .check = classes_are_few, .preemptions = 2)
