/* timer_slack_test.c: waits with a deadline are not late by the thread's timer slack, leave it as it was, and after the
 * first one make no system call for that. */
#include "base/platform.h"

#include <csynckernel/csynckernel.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* Stands in front of the C library's own function, and counts the calls about the slack. */
static _Thread_local int calls;

int prctl(int option, ...) {
    va_list arguments;
    va_start(arguments, option);
    unsigned long values[4];
    for (int i = 0; i < 4; i++) values[i] = va_arg(arguments, unsigned long);
    va_end(arguments);
    calls += option == PR_GET_TIMERSLACK || option == PR_SET_TIMERSLACK;
    return (int)syscall(SYS_prctl, option, values[0], values[1], values[2], values[3]);
}

static int slack(void) { return prctl(PR_GET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL); }
static void set_slack(unsigned long slack_ns) { CHECK_EQ(prctl(PR_SET_TIMERSLACK, slack_ns, 0UL, 0UL, 0UL), 0); }

/* A timed wait that is over at once, since its word has changed. Returns how many calls it made about the slack. */
static int calls_of_a_wait(void) {
    uint32_t word = 1;
    int before = calls;
    CHECK_EQ(csk_platform_park(&word, 0, csk_deadline_after(1000000000)), 0);
    return calls - before;
}

static void wait_to_the_deadline(int64_t span_ns) {
    uint32_t word = 0;
    int64_t deadline_ns = csk_deadline_after(span_ns);
    while (csk_platform_park(&word, 0, deadline_ns) != ETIMEDOUT) CHECK_GE(deadline_ns, 0);
    CHECK_GE(csk_now(), deadline_ns);
}

static void *make_waits(void *unused) {
    CHECK_EQ(calls_of_a_wait(), 1); /* asks how large the slack is */
    for (int i = 0; i < 100; i++) CHECK_EQ(calls_of_a_wait(), 0);
    CHECK_GE(slack(), 2);
    return unused;
}

static void a_timed_wait_asks_for_the_slack_once(void) {
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, make_waits, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void a_wait_shorter_than_the_slack_restores_it(void) {
    set_slack(3000000);
    for (int i = 0; i < 20; i++) wait_to_the_deadline(2000000);
    CHECK_EQ(slack(), 3000000);
    set_slack(50000);
}

/* Waits until one has asked for the slack. A busy machine may end a wait late enough to hide how it should have ended,
 * but not each. */
static void wait_until_asked(int64_t span_ns) {
    for (int before = calls; calls == before;) wait_to_the_deadline(span_ns);
}

static void a_smaller_slack_is_noticed_by_a_wait_that_ends_early(void) {
    set_slack(50000);
    wait_until_asked(10000);
    set_slack(1000);
    wait_until_asked(1000000);
    CHECK_EQ(slack(), 1000);
    set_slack(50000);
}

static void a_larger_slack_is_noticed_by_a_wait_that_ends_late(void) {
    set_slack(50000);
    wait_until_asked(10000);
    set_slack(3000000);
    wait_until_asked(100000);
    wait_to_the_deadline(1000000);
    CHECK_EQ(slack(), 3000000);
    set_slack(50000);
}

static void a_child_of_fork_remembers_the_slack_that_it_has(void) {
    set_slack(70000);
    wait_to_the_deadline(10000); /* shorter than the slack: reads it */
    pid_t child = fork();
    CHECK_GE(child, 0);
    if (child == 0) {
        CHECK_EQ(calls_of_a_wait(), 0);
        wait_to_the_deadline(1000000);
        CHECK_EQ(slack(), 70000);
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    set_slack(50000);
}

TEST_MAIN(TEST(a_timed_wait_asks_for_the_slack_once), TEST(a_wait_shorter_than_the_slack_restores_it),
          TEST(a_smaller_slack_is_noticed_by_a_wait_that_ends_early),
          TEST(a_larger_slack_is_noticed_by_a_wait_that_ends_late),
          TEST(a_child_of_fork_remembers_the_slack_that_it_has))
