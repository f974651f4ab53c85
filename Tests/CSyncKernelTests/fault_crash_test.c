/* fault_crash_test.c: a crash inside a function that the library runs on a thread of its own is the program's: its
 * signal handler runs, on a signal stack, and can say whose work it was. Each crash is a child's end. */
#include "child.h"

#include <csynckernel/csynckernel.h>
#include <sys/prctl.h>

enum { HANDLED = 42 };

static struct report {
    char thread[16], work[32];
    int signal_number;
    bool on_own_stack;
} * report;

static const char *lowest_of_thread, *highest_of_thread; /* the stack on which the function runs that crashes */

/* A handler as programs have it: it writes down what it can, and ends the process. */
static void handle(int number, siginfo_t *info, void *context) {
    char here;
    (void)info, (void)context;
    prctl(PR_GET_NAME, report->thread);
    report->signal_number = number;
    report->on_own_stack = &here < lowest_of_thread || &here > highest_of_thread;
    const csk_workqueue_t *queue = csk_workqueue_current();
    if (queue != NULL && csk_workqueue_name(queue) != NULL)
        strncpy(report->work, csk_workqueue_name(queue), sizeof report->work - 1);
    _exit(HANDLED);
}

static void catch_crashes(void) {
    static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT };
    struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) CHECK_EQ(sigaction(signals[i], &action, NULL), 0);
}

/* ---- Ways to crash ----------------------------------------------------------------------------------------------- */

static int which_signal; /* 0: by an overflow of the stack */

static volatile int64_t depth = INT64_MAX;

__attribute__((noinline)) static int overflow(void) {
    volatile char frame[4096];
    frame[0] = 0;
    return depth-- > 0 ? overflow() + frame[0] : 0;
}

static void note_stack(void) {
    pthread_attr_t attributes;
    void *lowest;
    size_t size;
    CHECK_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
    CHECK_EQ(pthread_attr_getstack(&attributes, &lowest, &size), 0);
    pthread_attr_destroy(&attributes);
    lowest_of_thread = lowest;
    highest_of_thread = lowest_of_thread + size;
}

static void crash(void) {
    note_stack();
    if (which_signal == 0) overflow();
    pthread_kill(pthread_self(), which_signal);
}

static void crash_in_item(csk_pool_item_t *item) { (void)item, crash(); }
static void crash_in_work(csk_work_t *work, int status) { (void)work, (void)status, crash(); }
static void crash_in_timer(csk_timer_t *timer, void *context) { (void)timer, (void)context, crash(); }
static void crash_in_write(csk_rwlock_write_t *write) { (void)write, crash(); }

static void post_an_item(void) {
    static csk_pool_item_t item;
    CHECK_STATUS(csk_pool_post(&item, crash_in_item), 0);
}
static void queue_a_work(void) {
    static csk_workqueue_t *queue;
    static csk_work_t work;
    CHECK_STATUS(csk_workqueue_create(&queue, &(csk_workqueue_attr_t){ .name = "crashing" }), 0);
    CHECK_STATUS(csk_workqueue_enqueue(queue, &work, crash_in_work), 0);
}
static void delay_a_work(void) {
    static csk_workqueue_t queue;
    static csk_delayed_t delayed;
    CHECK_STATUS(csk_workqueue_init(&queue, &(csk_workqueue_attr_t){ .name = "delayed" }), 0);
    CHECK_STATUS(csk_delayed_start(&delayed, &queue, csk_deadline_after(1000000), 0, crash_in_work), 0);
}
static void start_a_timer(void) {
    static csk_timer_t timer;
    CHECK_STATUS(csk_timer_start(&timer, csk_now(), crash_in_timer, NULL), 0);
}
static void enqueue_a_write(void) {
    static csk_rwlock_t lock = CSK_RWLOCK_INITIALIZER;
    static csk_rwlock_write_t write;
    CHECK_STATUS(csk_rwlock_enqueue_write(&lock, &write, crash_in_write), 0);
}

static void crash_there(void *start) {
    catch_crashes();
    (*(void (**)(void))start)();
    for (;;) pause();
}

static void expect_report(void (*start)(void), int number, const char *thread, const char *work) {
    which_signal = number;
    memset(report, 0, sizeof *report);
    int status = wait_for_child(start_child(crash_there, &start));
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), HANDLED);
    if (number != 0) CHECK_EQ(report->signal_number, number);
    CHECK(strcmp(report->thread, thread) == 0);
    CHECK(strcmp(report->work, work) == 0);
    CHECK(report->on_own_stack);
}

static void expect_reports(int number) {
    report = shared_page();
    expect_report(post_an_item, number, "csk-worker", "");
    expect_report(queue_a_work, number, "csk-worker", "crashing");
    expect_report(delay_a_work, number, "csk-worker", "delayed");
    expect_report(start_a_timer, number, "csk-timer", "");
    expect_report(enqueue_a_write, number, "csk-worker", "");
}

static void a_handler_runs_for_a_crash_in_a_function(void) {
    static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT };
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) expect_reports(signals[i]);
}

/* Which needs a stack other than the one that has overflowed. */
static void a_handler_runs_when_the_stack_of_a_function_overflows(void) { expect_reports(0); }

/* ---- Signals of others ------------------------------------------------------------------------------------------- */

static sigset_t seen;
static uint32_t done;

static void look_at_mask(csk_pool_item_t *item) {
    (void)item;
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &seen), 0);
    STORE(&done, 1);
}

static void look_from_worker(void *context) {
    static csk_pool_item_t item;
    (void)context;
    CHECK_STATUS(csk_pool_post(&item, look_at_mask), 0);
    wait_until(LOAD(&done));
}

static void what_is_for_the_program_goes_to_its_threads(void) {
    static const int blocked[] = {
        SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGALRM, SIGUSR1, SIGUSR2, SIGIO, SIGPIPE, SIGWINCH
    };
    static const int open[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF };
    look_from_worker(NULL);
    for (size_t i = 0; i < sizeof blocked / sizeof blocked[0]; i++) CHECK_EQ(sigismember(&seen, blocked[i]), 1);
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) CHECK_EQ(sigismember(&seen, open[i]), 0);
}

TEST_MAIN(TEST(a_handler_runs_for_a_crash_in_a_function), TEST(a_handler_runs_when_the_stack_of_a_function_overflows),
          TEST(what_is_for_the_program_goes_to_its_threads))
