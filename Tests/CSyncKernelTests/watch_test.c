/* watch_test.c: waiters of one process look after those they wait for in turns. */
#include "wait/watch.h"

#include "child.h"

static const int64_t look_ns = 10000000;

static csk_watch_t begin_look(void) { return csk_begin_watch(csk_platform_now(), CSK_WATCH_ENDED_NS); }

static void looks_take_a_twentieth_of_a_processor(void *unused) {
    (void)unused;
    csk_watch_t first = begin_look(), second = begin_look(), third = begin_look(), fourth = begin_look();
    CHECK(csk_watch_may_look(&first));
    csk_watch_looked(&first, csk_platform_now() - look_ns);
    CHECK(csk_watch_may_look(&second));
    int64_t now_ns = csk_platform_now();
    CHECK(!csk_watch_may_look(&third));
    CHECK_GE(third.look_ns, now_ns + 18 * look_ns);
    CHECK(!csk_watch_may_look(&fourth));
    CHECK_GE(fourth.look_ns, third.look_ns + 20 * look_ns);
    /* Who had to wait for its turn has it, however late it comes. */
    CHECK(csk_watch_may_look(&third));
    csk_watch_looked(&third, csk_platform_now());
    CHECK(!third.has_turn);
    CHECK_GE(third.look_ns, csk_platform_now());
}

static void waiters_look_in_turns(void) { looks_take_a_twentieth_of_a_processor(NULL); }

static void a_child_has_turns_of_its_own(void) { in_a_child(looks_take_a_twentieth_of_a_processor, NULL); }

TEST_MAIN(TEST(waiters_look_in_turns), TEST(a_child_has_turns_of_its_own))
