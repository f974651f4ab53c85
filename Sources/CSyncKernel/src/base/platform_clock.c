/* platform_clock.c: the clock, and waits with a deadline that are not late by the thread's timer slack.
 *
 * The system ends a timed wait between its deadline and the deadline plus the thread's slack. It fires at the end of
 * that span, unless the processor is awake for another timer before. A slack of 1 ns for as long as the wait takes two
 * system calls, and to know what to go back to takes a third. So a wait asks for a deadline that is earlier by the
 * slack, and ends when it should, with no call but its own. Where it ends before that, or where less than the slack is
 * left, the rest is waited for with a slack of 1 ns.
 *
 * Each thread remembers its slack. A user may change it at any time:
 *
 *   to a smaller one   A wait ends early, and the rest of it, or the next one, reads the slack again.
 *   to a larger one    A wait that lasts to its deadline ends late by the difference: once, or each time where that is
 *                      not more than `late_ns`. A thread that was late for whatever reason reads the slack again at
 *                      its next wait.
 *
 * The thread that has forked goes on in the child with its slack, and with what it remembers of it. A handler of a
 * signal that comes during a wait with a slack of 1 ns may remember that; the end of the wait puts it right. */
#include "base/platform.h"

#include <sys/prctl.h>
#include <time.h>

int64_t csk_platform_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A wait that is later than this may have been late by its slack. */
static const int64_t late_ns = 20000;

/* The slack plus one; 0 where it is not known. */
static _Thread_local uint32_t remembered __attribute__((tls_model("initial-exec")));

/* Returns 0 where the system doesn't say. */
static int32_t read_slack(void) {
    int slack_ns = prctl(PR_GET_TIMERSLACK);
    return slack_ns > 0 ? slack_ns : 0;
}

csk_timed_wait_t csk_platform_begin_timed(int64_t deadline_ns) {
    if (CSK_UNLIKELY(remembered == 0)) remembered = (uint32_t)read_slack() + 1;
    int64_t slack_ns = (int64_t)remembered - 1;
    csk_timed_wait_t wait = { .deadline_ns = deadline_ns, .until_ns = deadline_ns };
    if (slack_ns <= 1) return wait;
    int64_t now_ns = csk_platform_now();
    if (CSK_LIKELY(deadline_ns > now_ns + slack_ns)) wait.until_ns = deadline_ns - slack_ns;
    if (wait.until_ns != deadline_ns || deadline_ns <= now_ns) return wait;
    wait.slack_ns = read_slack();
    remembered = (uint32_t)wait.slack_ns + 1;
    if (wait.slack_ns > 1) prctl(PR_SET_TIMERSLACK, 1UL);
    return wait;
}

void csk_platform_end_timed(const csk_timed_wait_t *wait, int64_t now_ns) {
    if (wait->slack_ns > 1) {
        prctl(PR_SET_TIMERSLACK, (unsigned long)wait->slack_ns);
        remembered = (uint32_t)wait->slack_ns + 1;
    } else if (now_ns - late_ns > wait->deadline_ns) {
        remembered = 0;
    }
}
