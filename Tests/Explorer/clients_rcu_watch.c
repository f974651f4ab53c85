/* clients_rcu_watch.c: a grace period that does not end is reported, and its end is, whatever the watchdog and the
 * reclaiming thread do at the same time. Here the client's first thread does what the reclaiming one does. */
#include "rcu_explored.h"

#include "base/report.h"
#include "explorer.h"
#include "rcu/rcu_watch.h"

enum { READER = 1 };
static const int64_t limit_ns = 8000000;

static struct {
    uint32_t begins, ends, inside, nothing;
    int64_t reads_since_ns, set_ns;
} * shared;

static void hears(const csk_event_t *event) {
    EXPECT_EQUAL(event->kind, CSK_EVENT_MEMORY_WAITS);
    if (event->status == 0) {
        explore_set(&shared->ends, shared->ends + 1);
        return;
    }
    EXPECT_EQUAL(event->status, EBUSY);
    EXPECT(event->waited_ns >= limit_ns);
    EXPECT(event->thread_id == 0 || event->thread_id == READER + 1);
    if (event->thread_id != 0) EXPECT(explore_now() - shared->reads_since_ns >= limit_ns / 2);
    if (shared->set_ns != 0) EXPECT(explore_now() - shared->set_ns < 10 * limit_ns);
    explore_set(&shared->begins, shared->begins + 1);
}

static void make(void) {
    shared = explore_allocate(sizeof *shared);
    csk_observe(NULL);
    csk_set_reporter(hears);
    EXPECT_EQUAL(csk_rcu_report_after(limit_ns), 0);
}

/* Time stands still by now: nobody waits for a look to tell of an end. */
static void each_end_is_told(void) {
    EXPECT_EQUAL(shared->begins, shared->ends);
    csk_set_reporter(NULL);
}

static void lasts_until_it_is_reported(void) {
    csk_rcu_watch_begin();
    explore_point();
    explore_wait(&shared->begins, 1);
    csk_rcu_watch_end();
}
static void is_told_once(void) {
    EXPECT_EQUAL(shared->begins, 1);
    each_end_is_told();
}
CLIENT(rcu_watch_reports, .setup = make, .threads = { lasts_until_it_is_reported }, .check = is_told_once,
       .preemptions = 3)

/* The watchdog may be about to sleep, since the one before has ended. */
static void lasts_the_second_time(void) {
    csk_rcu_watch_begin();
    csk_rcu_watch_end();
    lasts_until_it_is_reported();
}
CLIENT(rcu_watch_reports_the_second, .setup = make, .threads = { lasts_the_second_time }, .check = each_end_is_told,
       .preemptions = 2, .spurious = 1)

/* It may end while it is being reported. */
static void lasts_for_some_time(void) {
    csk_rcu_watch_begin();
    csk_platform_park(&shared->nothing, 0, explore_now() + limit_ns);
    csk_rcu_watch_end();
}
CLIENT(rcu_watch_ends, .setup = make, .threads = { lasts_for_some_time }, .check = each_end_is_told, .preemptions = 3)

static void end_twice(void) {
    lasts_for_some_time();
    lasts_for_some_time();
}
CLIENT(rcu_watch_ends_twice, .setup = make, .threads = { end_twice }, .check = each_end_is_told, .preemptions = 2)

/* The phase changes when the grace period is old already. The section has the phase before it, though it is new. */
static void reads_until_it_is_reported(void) {
    csk_platform_park(&shared->nothing, 0, explore_now() + limit_ns * 3 / 4);
    shared->reads_since_ns = explore_now();
    explored_read_begin();
    explore_set(&shared->inside, 1);
    explore_wait(&shared->begins, 1);
    explored_read_end();
}
static void waits_for_that(void) {
    csk_rcu_watch_begin();
    explore_wait(&shared->inside, 1);
    csk_rcu_grace_period();
    csk_rcu_watch_end();
}
CLIENT(rcu_watch_names_who_reads_for_long, .setup = make, .threads = { waits_for_that, reads_until_it_is_reported },
       .check = is_told_once, .preemptions = 2)

/* A new limit holds at once. */
static void make_with_a_long_limit(void) {
    make();
    EXPECT_EQUAL(csk_rcu_report_after(1000 * limit_ns), 0);
}
static void sets_a_limit(void) {
    EXPECT_EQUAL(csk_rcu_report_after(limit_ns), 0);
    shared->set_ns = explore_now();
}
CLIENT(rcu_watch_has_another_limit, .setup = make_with_a_long_limit,
       .threads = { lasts_until_it_is_reported, sets_a_limit }, .check = is_told_once, .preemptions = 2)
