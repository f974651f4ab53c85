/* clients_observe.c: an observer, or what a reporter uses, is whole for whoever calls it or gets it back. */
#include "base/hooks.h"
#include "base/report.h"
#include "csynckernel/observe.h"

#include "explorer.h"

static struct {
    csk_observer_t observer;
    uint32_t written, called;
} * shared;

static void expect_written(void) { EXPECT_EQUAL(__atomic_load_n(&shared->written, __ATOMIC_RELAXED), 1); }
static void hears(const csk_observer_t *observer, const csk_event_t *event) {
    EXPECT(observer == &shared->observer && event->object == shared);
    expect_written();
}
static void says_nothing(const csk_event_t *event) { (void)event; }
static void reports(const csk_event_t *event) {
    EXPECT(event->object == shared);
    expect_written();
}

static void make(void) {
    shared = explore_allocate(sizeof *shared);
    csk_observe(NULL);
    csk_set_reporter(says_nothing);
}
static void ends(void) {
    csk_observe(NULL);
    csk_set_reporter(NULL);
}

static void attaches(void) {
    __atomic_store_n(&shared->written, 1, __ATOMIC_RELAXED);
    shared->observer.event = hears;
    csk_observe(&shared->observer);
}
static void emits(void) { csk_told_event(CSK_EVENT_WAIT_BEGIN, CSK_OBJECT_GATE, shared, 0, 0); }
static void reports_that(void) { csk_observe_report(CSK_EVENT_LONG_READ, CSK_OBJECT_RWLOCK, shared, 0, 0, 0, 1); }
static void detaches(void) {
    if (csk_observe(NULL) == &shared->observer) expect_written();
}
CLIENT(observe_attached, .setup = make, .threads = { attaches, emits }, .check = ends, .preemptions = 2)
CLIENT(observe_in_a_report, .setup = make, .threads = { attaches, reports_that }, .check = ends, .preemptions = 2)
CLIENT(observe_detached, .setup = make, .threads = { attaches, detaches }, .check = ends, .preemptions = 2)

static void sets(void) {
    __atomic_store_n(&shared->written, 1, __ATOMIC_RELAXED);
    csk_set_reporter(reports);
}
static void takes_back(void) {
    if (csk_set_reporter(says_nothing) == reports) expect_written();
}
CLIENT(observe_reporter, .setup = make, .threads = { sets, reports_that }, .check = ends, .preemptions = 2)
CLIENT(observe_former_reporter, .setup = make, .threads = { sets, takes_back }, .check = ends, .preemptions = 2)
