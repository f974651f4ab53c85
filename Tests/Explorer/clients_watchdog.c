/* clients_watchdog.c: the watchdog is started and woken, and what it looks at is switched on and off, by several
 * threads at once. */
#include "wait/watchdog.h"

#include "csynckernel/deadlock.h"
#include "csynckernel/mark.h"
#include "explorer.h"
#include "internal.h"
#include "wait/waits.h"

static struct { uint32_t written, seen, looks, asked, located, waits; } * shared;

static void make(void) {
    kernel_notes_waits = true;
    shared = explore_allocate(sizeof *shared);
}

static void write_it(void) { __atomic_store_n(&shared->written, 1, __ATOMIC_RELAXED); }
static void expect_written(void) { EXPECT_EQUAL(__atomic_load_n(&shared->written, __ATOMIC_RELAXED), 1); }

/* ---- The thread -------------------------------------------------------------------------------------------------- */

static int64_t looks_for_it(void) {
    shared->looks++;
    if (__atomic_load_n(&shared->written, __ATOMIC_RELAXED) != 0) explore_set(&shared->seen, 1);
    return CSK_NEVER;
}
static void starts(void) { EXPECT_EQUAL(csk_watchdog_start(CSK_WATCHDOG_MARKS, looks_for_it), 0); }
static void starts_writes_and_wakes(void) {
    starts();
    write_it();
    csk_watchdog_wake();
    explore_wait(&shared->seen, 1);
}
static void starts_another(void) {
    EXPECT_EQUAL(csk_watchdog_start(CSK_WATCHDOG_DEADLOCKS, looks_for_it), 0);
    csk_watchdog_wake();
}
static void has_looked(void) { EXPECT(shared->looks != 0); }
/* Whoever wakes it is heard, and it is one thread that looks, whoever starts it. */
CLIENT(watchdog_woken, .setup = make, .threads = { starts_writes_and_wakes }, .check = has_looked, .preemptions = 2)
CLIENT(watchdog_started_by_two, .setup = make, .threads = { starts_writes_and_wakes, starts_another },
       .check = has_looked, .preemptions = 1)

/* ---- Marks ------------------------------------------------------------------------------------------------------- */

static void waits_once(void) {
    csk_wait_t wait = { .object = shared, .object_kind = CSK_OBJECT_OTHER, .since_ns = 1, .deadline_ns = CSK_NEVER };
    csk_waits_note(&wait);
    explore_point();
    csk_waits_end(&wait);
}
static uint32_t kind_of_thread(void) {
    expect_written();
    return CSK_THREAD_PLAIN;
}
static void marks_others(void) {
    write_it();
    EXPECT_EQUAL(csk_thread_mark_by(kind_of_thread), 0);
}
/* What is asked of a thread that waits finds what was written before it was to be asked. */
CLIENT(watchdog_marks_others, .setup = make, .threads = { marks_others, waits_once }, .preemptions = 2)

static void is_marked_for_a_while(void) {
    EXPECT_EQUAL(csk_thread_mark(CSK_THREAD_EVENT_LOOP), 0);
    EXPECT_EQUAL(csk_thread_mark(CSK_THREAD_PLAIN), 0);
}
static void nobody_is_marked(void) { EXPECT_EQUAL(csk_waits_marked, 0); }
CLIENT(watchdog_marks, .setup = make, .threads = { is_marked_for_a_while, is_marked_for_a_while },
       .check = nobody_is_marked, .preemptions = 1)

/* ---- Deadlocks --------------------------------------------------------------------------------------------------- */

static uint64_t current(void) {
    expect_written();
    shared->asked++;
    return 1;
}
static const void *context(uint64_t task) {
    EXPECT_EQUAL(task, 1);
    expect_written();
    shared->located++;
    return NULL;
}
static void watches(void) { EXPECT_EQUAL(csk_deadlock_watch(1), 0); }
static void ends_watching(void) { csk_deadlock_end_watching(); }
static void is_watched(void) {
    EXPECT(csk_deadlock_is_watching());
    EXPECT_EQUAL(csk_deadlock_count(), 0);
}
/* Its tables are there for a watchdog that runs already, whichever thread of two has made them. */
CLIENT(watchdog_watch, .setup = make, .threads = { starts, watches }, .check = is_watched, .preemptions = 2)
CLIENT(watchdog_watch_and_wait, .setup = make, .threads = { starts, watches, waits_once }, .check = is_watched,
       .preemptions = 1)
CLIENT(watchdog_two_watch, .setup = make, .threads = { starts, watches, watches, waits_once }, .check = is_watched)
CLIENT(watchdog_ends, .setup = make, .threads = { watches, ends_watching }, .preemptions = 2)

static void makes_tasks_known(void) {
    write_it();
    csk_deadlock_know_tasks(current, context);
}
static void watches_and_waits(void) {
    watches();
    waits_once();
}
static void tasks_are_asked(void) { is_watched(); }
CLIENT(watchdog_knows_tasks, .setup = make, .threads = { makes_tasks_known, watches, waits_once },
       .check = tasks_are_asked, .preemptions = 1)
CLIENT(watchdog_asks_tasks, .setup = make, .threads = { makes_tasks_known, watches_and_waits },
       .check = tasks_are_asked, .preemptions = 2)
