/* late.h: a thread of a test that is late: it was told to come, and is in a handler of a signal until the test lets it
 * go. */
#ifndef CSK_TEST_LATE_H
#define CSK_TEST_LATE_H

#include <sched.h>
#include <signal.h>

#include "base/platform.h"
#include "test.h"

static uint32_t is_in_handler, may_leave_handler;

static inline void stays_in_handler(int number) {
    (void)number;
    STORE(&is_in_handler, 1);
    while (!LOAD(&may_leave_handler)) sched_yield();
}

static inline void prepare_handler(void) {
    STORE(&is_in_handler, 0);
    STORE(&may_leave_handler, 0);
    /* Not restarted: ThreadSanitizer puts handlers off until the thread calls something that it knows. */
    struct sigaction action = { .sa_handler = stays_in_handler };
    CHECK_STATUS(sigaction(SIGPROF, &action, NULL), 0);
}

/* Once it sleeps in a lock the thread has no internal lock. */
static inline void await_sleep(const int32_t *thread_id) {
    wait_until(csk_platform_thread_state(LOAD(thread_id)) == CSK_THREAD_SLEEPS);
}

static inline void send_into_handler(pthread_t thread) {
    CHECK_STATUS(pthread_kill(thread, SIGPROF), 0);
    wait_until(LOAD(&is_in_handler));
}

#endif
