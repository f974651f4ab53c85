/* clients_name.c: names that threads give, end, read and take over a fork at once. */
#include "csynckernel/name.h"

#include <string.h>

#include "explorer.h"

static csk_gate_t *gates;
static uint32_t *named;

static void make(void) {
    gates = explore_allocate(3 * sizeof *gates);
    named = explore_allocate(sizeof *named);
}

static bool is_called(const csk_gate_t *gate, const char *name) {
    char found[16];
    size_t length = csk_name_of(gate, CSK_OBJECT_GATE, found, sizeof found);
    EXPECT_EQUAL(length, strlen(found));
    return strcmp(found, name) == 0;
}
static void names_first(void) {
    EXPECT_EQUAL(csk_name(&gates[0], "first"), 0);
    EXPECT(is_called(&gates[0], "first"));
}
static void names_second(void) {
    EXPECT_EQUAL(csk_name(&gates[1], "second"), 0);
    EXPECT(is_called(&gates[1], "second"));
}
static void both_are_called(void) {
    EXPECT(is_called(&gates[0], "first"));
    EXPECT(is_called(&gates[1], "second"));
}

/* The first two names make the lists at once. */
CLIENT(name_two, .setup = make, .threads = { names_first, names_second }, .check = both_are_called, .preemptions = 3)

static void names_and_unnames(void) {
    EXPECT_EQUAL(csk_name(&gates[0], "short"), 0);
    EXPECT_EQUAL(csk_name(&gates[0], "rather long"), 0);
    csk_unname(&gates[0]);
}
static void reads(void) {
    char found[16];
    csk_name_of(&gates[0], CSK_OBJECT_GATE, found, sizeof found);
    EXPECT(strcmp(found, "") == 0 || strcmp(found, "short") == 0 || strcmp(found, "rather long") == 0);
}
static void none_is_called(void) { EXPECT(is_called(&gates[0], "")); }

/* What is read is copied before it is freed. */
CLIENT(name_read, .setup = make, .threads = { names_and_unnames, reads, reads }, .check = none_is_called,
       .preemptions = 2)

static void names_and_tells(void) {
    EXPECT_EQUAL(csk_name(&gates[0], "first"), 0);
    explore_set(named, 1);
}
/* Another name comes and goes meanwhile, so the count is never certain. */
static void names_another(void) {
    EXPECT_EQUAL(csk_name(&gates[1], "second"), 0);
    csk_unname(&gates[1]);
}
static void destroys(void) {
    explore_wait(named, 1);
    EXPECT_EQUAL(csk_gate_destroy(&gates[0]), 0);
    EXPECT(is_called(&gates[0], ""));
}

/* Who destroys an object that somebody else has named sees that there is a name. */
CLIENT(name_ends, .setup = make, .threads = { names_and_tells, names_another, destroys }, .check = none_is_called,
       .preemptions = 2)

static void forks(void) {
    explore_fork();
    EXPECT(is_called(&gates[0], "first") || is_called(&gates[0], ""));
    EXPECT_EQUAL(csk_name(&gates[0], "of child"), 0);
    EXPECT(is_called(&gates[0], "of child"));
    EXPECT_EQUAL(csk_name(&gates[2], "third"), 0);
    EXPECT(is_called(&gates[2], "third"));
}

/* The child finds the table whole and nobody in it. */
CLIENT(name_fork, .setup = make, .threads = { forks, names_first }, .preemptions = 2)
