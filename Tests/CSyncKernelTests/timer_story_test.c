/* timer_story_test.c: mistakes that the timers once made. Each test tells one of them and fails if it comes back. */
#include "child.h"

#include <csynckernel/csynckernel.h>
#include <dlfcn.h>

/* This program's own pthread_create, in front of the C library's. */
static uint32_t hold_back, held_back, refuse;

typedef int (*create_t)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*body)(void *), void *restrict context) {
    if (LOAD(&hold_back)) {
        STORE(&held_back, 1);
        wait_until(!LOAD(&hold_back));
    }
    if (LOAD(&refuse)) {
        errno = EAGAIN; /* as the C library does when the system refuses */
        return EAGAIN;
    }
    create_t real;
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    CHECK(real != NULL);
    return real(thread, attributes, body, context);
}

/* A timer thread that could not be started left its error in errno, though no function of the kernel sets that. */
static void be_refused(void *context) {
    (void)context;
    STORE(&refuse, 1);
    errno = 4711;
    CHECK_STATUS(csk_timer_prepare(), EAGAIN);
    CHECK_EQ(errno, 4711);
}

static void a_thread_that_can_not_start_leaves_errno_alone(void) { in_a_child(be_refused, NULL); }

/* A fork while another thread was starting the timer thread: the child inherited the fork handlers but not the note that they
 * are registered, and registered them again. Its own next fork then took the timers' lock twice, for ever. */
static void *prepare(void *context) {
    STORE(&hold_back, 1); /* from here on, threads are created only once `hold_back` is 0 again */
    CHECK_STATUS(csk_timer_prepare(), 0);
    return context;
}

static void do_nothing(void *context) { (void)context; }

static void fork_again(void *context) {
    STORE(&hold_back, 0);
    CHECK_STATUS(csk_timer_prepare(), 0);
    alarm(10);
    in_a_child(do_nothing, context);
}

static void fork_while_the_thread_starts(void *context) {
#ifdef __SANITIZE_THREAD__
    /* It counts the parent's threads as alive in the child. */
    (void)context;
    return;
#endif
    pthread_t thread = start_thread(prepare, NULL);
    wait_until(LOAD(&held_back));
    in_a_child(fork_again, context);
    STORE(&hold_back, 0);
    join_thread(thread);
}

static void a_child_of_a_process_that_starts_its_timers_may_fork(void) { in_a_child(fork_while_the_thread_starts, NULL); }

TEST_MAIN(TEST(a_thread_that_can_not_start_leaves_errno_alone), TEST(a_child_of_a_process_that_starts_its_timers_may_fork))
