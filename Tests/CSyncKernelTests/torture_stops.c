/* torture_stops.c: threads that are stopped, by a handler of a signal that waits. With the option --stops each crowd's
 * threads are, at any instruction, for 50 ms at most: whoever is stopped may hold anything. */
#include "torture.h"

#include <errno.h>
#include <signal.h>

#include "torture_stops.h"

enum { LONGEST_NS = 50000000 };

static _Thread_local uint64_t stop_random_state;

static void sleep_for(int64_t ns) { nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL); }

/* Most stops are short, so that many fit. */
static void is_stopped(int number) {
    (void)number;
    int saved = errno;
    if (stop_random_state == 0) stop_random_state = test_seed(torture_round_seed + 7 * (uint64_t)torture_slot);
    bool is_long = test_random_below(&stop_random_state, 16) == 0;
    sleep_for((int64_t)test_random_below(&stop_random_state, is_long ? LONGEST_NS : LONGEST_NS / 50));
    errno = saved;
}

void torture_handle(int signal_number, void (*handler)(int)) {
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
    sigemptyset(&action.sa_mask);
    CHECK_EQ(sigaction(signal_number, &action, NULL), 0);
}

static void *stop_some(void *context) {
    struct crowd *crowd = context;
    uint64_t state = test_seed(torture_round_seed + 3);
    while (!LOAD(&crowd->stopper_ends)) {
        uint64_t which = test_random_below(&state, (uint64_t)crowd->count);
        int status = pthread_kill(crowd->threads[which], SIGUSR2);
        CHECK(status == 0 || status == ESRCH); /* it may have ended by now */
        sleep_for((int64_t)test_random_below(&state, 1000000));
    }
    return NULL;
}

void torture_stops_begin(struct crowd *crowd) {
    torture_handle(SIGUSR2, is_stopped);
    STORE(&crowd->stopper_ends, 0);
    crowd->stopper = start_thread(stop_some, crowd);
}

/* Before any of the crowd is joined. */
void torture_stops_end(struct crowd *crowd) {
    STORE(&crowd->stopper_ends, 1);
    join_thread(crowd->stopper);
}
