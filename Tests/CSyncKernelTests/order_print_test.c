/* order_print_test.c: what is told of a circle, and printed: names, both stacks, and what is not covered. */
#include "order_fixture.h"

#include "observe/order.h"

static char printed[1 << 20];

static int append(void *context, const void *bytes, size_t size) {
    size_t *length = context;
    if (*length + size < sizeof printed) {
        memcpy(printed + *length, bytes, size);
        *length += size;
    }
    return 0;
}
static int refuse(void *context, const void *bytes, size_t size) {
    (void)context, (void)bytes, (void)size;
    return EIO;
}

__attribute__((noinline)) void takes_left_first(csk_gate_t *left, csk_gate_t *right) {
    lock(left);
    lock(right);
    unlock(right);
    unlock(left);
}
__attribute__((noinline)) void takes_right_first(csk_gate_t *left, csk_gate_t *right) {
    lock(right);
    lock(left);
    unlock(left);
    unlock(right);
}

/* The first test: what is printed is the first circle. */
static void both_stacks_are_printed(void) {
    static csk_gate_t left, right;
    CHECK_STATUS(csk_name(&left, "left"), 0);
    CHECK_STATUS(csk_name(&right, "right"), 0);
    takes_left_first(&left, &right);
    takes_right_first(&left, &right);
    check_reports(1, "right -> left -> right");
    size_t length = 0;
    CHECK_STATUS(csk_order_print(append, &length), 0);
    CHECK(strstr(printed, "\"left\" was entered inside of \"right\"") != NULL);
    CHECK(strstr(printed, "\"right\" was entered inside of \"left\"") != NULL);
    CHECK(strstr(printed, "takes_left_first") != NULL);
    CHECK(strstr(printed, "takes_right_first") != NULL);
    CHECK_STATUS(csk_order_print(refuse, NULL), EIO);
}

static csk_gate_t before_start;
static void *wait_at_it(void *unused) {
    (void)unused;
    lock(&before_start);
    unlock(&before_start);
    return NULL;
}

static void what_is_not_covered_is_listed_once(void) {
    csk_order_counts_t before, after;
    csk_order_count(&before);
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        lock(&before_start);
        CHECK_STATUS(pthread_create(&thread, NULL, wait_at_it, NULL), 0);
        while (csk_gate_waiting(&before_start) == 0) sched_yield();
        unlock(&before_start);
        pthread_join(thread, NULL);
    }
    csk_order_count(&after);
    CHECK_EQ(after.uncovered, before.uncovered + 1);
    size_t length = 0;
    memset(printed, 0, sizeof printed);
    CHECK_STATUS(csk_order_print(append, &length), 0);
    CHECK(strstr(printed, "not covered: \"too early\"") != NULL);
}

/* Whoever prints takes no lock. Races are seen in the build with the thread sanitizer. */
static uint32_t stops_printing;
static int drop(void *context, const void *bytes, size_t size) {
    (void)context, (void)bytes, (void)size;
    return 0;
}
static void *print_again_and_again(void *unused) {
    (void)unused;
    do CHECK_STATUS(csk_order_print(drop, NULL), 0);
    while (!LOAD(&stops_printing));
    return NULL;
}
static void circles_are_printed_while_others_are_found(void) {
    enum { PAIRS = 20 };
    static csk_gate_t gates[2 * PAIRS];
    STORE(&stops_printing, 0);
    pthread_t printer = start_thread(print_again_and_again, NULL);
    for (int i = 0; i < PAIRS; i++) {
        takes_left_first(&gates[2 * i], &gates[2 * i + 1]);
        takes_right_first(&gates[2 * i], &gates[2 * i + 1]);
    }
    STORE(&stops_printing, 1);
    join_thread(printer);
    check_reports(PAIRS, NULL);
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

/* A thread has come with a name first, and has written a part of it so far. Another one that comes with that name finds
 * all of it, and so does a child of fork, in which the first does not go on. It comes before the tests that find more
 * circles than are kept, so that its own is printed. */
static void a_name_that_is_just_being_written_is_shown_whole(void) {
    static csk_gate_t half, whole;
    static const char *const name = "written by halves";
    bool is_new;
    CHECK_STATUS(csk_gate_init(&half, NULL), 0);
    CHECK_STATUS(csk_gate_init(&whole, NULL), 0);
    CHECK_STATUS(csk_name(&half, name), 0);
    CHECK_STATUS(csk_name(&whole, "whole"), 0);
    order_tables_t *tables = csk_order_tables;
    uint32_t number = csk_slot_claim(tables->classes, sizeof *tables->classes, ORDER_CLASSES,
                                     csk_slot_hash_text(1, name), &is_new);
    CHECK(number != 0 && is_new);
    memcpy(csk_order_class(number)->text, name, 8);
    within(&half, &whole);
    within(&whole, &half);
    check_reports(1, "whole -> written by halves -> whole");
    size_t length = 0;
    memset(printed, 0, sizeof printed);
    CHECK_STATUS(csk_order_print(append, &length), 0);
    CHECK(strstr(printed, "\"written by halves\" was entered inside of \"whole\"") != NULL);
    CHECK_STATUS(csk_gate_destroy(&half), 0);
    CHECK_STATUS(csk_gate_destroy(&whole), 0);
}

/* Threads that come with one name at once. The one that is told of a circle finds the names of both, whoever wrote
 * them. */
enum { NAMERS = 2, NAMED_ROUNDS = 200 };
static uint32_t rounds_begun, rounds_ended;
static char named_pairs[NAMERS][2];
static int wrong_texts;

static void check_text(const csk_event_t *event) {
    if (event->kind != CSK_EVENT_LOCK_ORDER) return;
    uint32_t round = (LOAD(&rounds_begun) - 1) / NAMERS;
    char here[96], there[96];
    snprintf(here, sizeof here, "left %u -> right %u -> left %u", round, round, round);
    snprintf(there, sizeof there, "right %u -> left %u -> right %u", round, round, round);
    if (strcmp(event->name, here) != 0 && strcmp(event->name, there) != 0) ADD(&wrong_texts, 1);
}
static void *enter_both_ways(void *pair) {
    char *own = pair;
    for (uint32_t round = 0; round < NAMED_ROUNDS; round++) {
        for (int side = 0; side < 2; side++) {
            char name[32];
            snprintf(name, sizeof name, side == 0 ? "left %u" : "right %u", round);
            csk_unname(&own[side]);
            CHECK_STATUS(csk_order_level(&own[side], 0), 0);
            CHECK_STATUS(csk_name(&own[side], name), 0);
        }
        ADD(&rounds_begun, 1);
        wait_until(LOAD(&rounds_begun) >= (round + 1) * NAMERS);
        for (int first = 0; first < 2; first++) {
            enter_one_more(&own[first]);
            enter_one_more(&own[1 - first]);
            csk_order_leaves(&own[1 - first]);
            csk_order_leaves(&own[first]);
        }
        ADD(&rounds_ended, 1);
        wait_until(LOAD(&rounds_ended) >= (round + 1) * NAMERS);
    }
    return NULL;
}
static void names_are_whole_where_threads_come_with_them_at_once(void) {
    pthread_t threads[NAMERS];
    csk_set_reporter(check_text);
    for (int i = 0; i < NAMERS; i++) threads[i] = start_thread(enter_both_ways, named_pairs[i]);
    for (int i = 0; i < NAMERS; i++) join_thread(threads[i]);
    csk_set_reporter(keep);
    CHECK_EQ(wrong_texts, 0);
    for (int i = 0; i < NAMERS; i++)
        for (int side = 0; side < 2; side++) csk_unname(&named_pairs[i][side]);
}

/* Before any test. A gate whose form was decided before the checker was started is not ordered. */
__attribute__((constructor)) static void start(void) {
    CHECK_STATUS(csk_name(&before_start, "too early"), 0);
    lock(&before_start);
    unlock(&before_start);
    start_checker();
}

TEST_MAIN(TEST(both_stacks_are_printed), TEST(a_name_that_is_just_being_written_is_shown_whole),
          TEST(what_is_not_covered_is_listed_once), TEST(circles_are_printed_while_others_are_found),
          TEST(names_are_whole_where_threads_come_with_them_at_once))
