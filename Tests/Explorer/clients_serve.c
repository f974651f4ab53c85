/* clients_serve.c: the server of views is begun and ended by several threads. */
#include <signal.h>

#include "csynckernel/inspect.h"

#include "explorer.h"

static uint32_t *counts;
static void make(void) { counts = explore_allocate(2 * sizeof *counts); }

static void serve(void) {
    int status = csk_inspect_serve(NULL, SIGUSR2);
    EXPECT(status == 0 || status == EBUSY);
    if (status == 0) __atomic_fetch_add(&counts[0], 1, __ATOMIC_RELAXED);
}
static void end(void) {
    int status = csk_inspect_end_serving();
    EXPECT(status == 0 || status == EPERM);
    if (status == 0) __atomic_fetch_add(&counts[1], 1, __ATOMIC_RELAXED);
}
static void serves_and_ends(void) {
    serve();
    end();
}
static void serves_twice(void) {
    EXPECT_EQUAL(csk_inspect_serve(NULL, SIGUSR2), 0);
    EXPECT_EQUAL(csk_inspect_end_serving(), 0);
    EXPECT_EQUAL(csk_inspect_serve(NULL, SIGUSR2), 0);
    EXPECT_EQUAL(csk_inspect_end_serving(), 0);
}
/* What was begun is ended once. */
static void is_off(void) { EXPECT(counts[0] == counts[1] || counts[0] == counts[1] + 1); }

/* No signal comes, and what ends the first serving is none for the second. */
extern uint32_t kernel_views_printed;
static void nobody_has_asked(void) { EXPECT_EQUAL(kernel_views_printed, 0); }

/* The second thread that serves finds all that the first one has used. */
CLIENT(serve_twice, .setup = make, .check = nobody_has_asked, .threads = { serves_twice }, .preemptions = 2)
CLIENT(serve_and_end, .setup = make, .threads = { serve, end }, .check = is_off, .preemptions = 2)
CLIENT(serve_two, .setup = make, .threads = { serves_and_ends, serves_and_ends }, .check = is_off, .preemptions = 1)
