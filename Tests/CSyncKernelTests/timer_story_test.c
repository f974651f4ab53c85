/* timer_story_test.c: mistakes that the timers once made. Each test tells one of them and fails if it comes back. */
#include "child.h"

#include <csynckernel/csynckernel.h>
#include <dlfcn.h>

/* This program's own pthread_create, in front of the C library's. */
static uint32_t hold_back, held_back, refuse;

typedef int (*create_t)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*body)(void *),
                   void *restrict context) {
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

/* A fork while another thread was starting the timer thread: the child inherited the fork handlers but not the note
 * that they are registered, and registered them again. Its own next fork then took the timers' lock twice, for ever. */
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

static void a_child_of_a_process_that_starts_its_timers_may_fork(void) {
    in_a_child(fork_while_the_thread_starts, NULL);
}

/* Timers of one deadline fired in whatever order the heap had them in: of six, 0 5 3 4 2 1. */
enum { EQUAL = 24 };
static csk_timer_t equal[EQUAL];
static uint32_t blocks, may_go_on, fired;
static intptr_t order[EQUAL];

static void block(csk_timer_t *timer, void *context) {
    (void)timer, (void)context;
    STORE(&blocks, 1);
    wait_until(LOAD(&may_go_on));
}

static void note_order(csk_timer_t *timer, void *context) {
    (void)context;
    order[LOAD(&fired)] = timer - equal;
    ADD(&fired, 1);
}

static void timers_of_one_deadline_fire_in_the_order_of_their_start(void) {
    csk_timer_t blocker = { .context = NULL };
    int64_t deadlines[] = { csk_deadline_after(2000000), csk_deadline_after(1000000), 0 };
    CHECK_STATUS(csk_timer_start(&blocker, csk_now(), block, NULL), 0);
    wait_until(LOAD(&blocks));
    for (int i = 0; i < EQUAL; i++)
        CHECK_STATUS(csk_timer_start(&equal[i], deadlines[i * 3 / EQUAL], note_order, NULL), 0);
    /* which gives the heap another shape */
    for (int i = 1; i < EQUAL; i += 5) CHECK_STATUS(csk_timer_cancel(&equal[i]), 0);
    while (csk_now() <= deadlines[0]) sched_yield();
    STORE(&may_go_on, 1);
    wait_until(LOAD(&fired) == EQUAL - 5);
    uint32_t place = 0;
    for (int third = 2; third >= 0; third--)
        for (int i = third * EQUAL / 3; i < (third + 1) * EQUAL / 3; i++)
            if (i % 5 != 1) CHECK_EQ(order[place++], i);
}

TEST_MAIN(TEST(a_thread_that_can_not_start_leaves_errno_alone),
          TEST(a_child_of_a_process_that_starts_its_timers_may_fork),
          TEST(timers_of_one_deadline_fire_in_the_order_of_their_start))
