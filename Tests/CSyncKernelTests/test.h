/* test.h: the harness of the kernel's tests. One header per test program:
 *
 *     static void takes_what_it_gives(void) { CHECK_EQ(1 + 1, 2); }
 *     TEST_MAIN(TEST(takes_what_it_gives))
 *
 * The program runs every test, or those named as arguments, and prints one line for each. The first check that fails
 * ends it with its place and its values. Nothing can hang: a watchdog ends the program after TEST_WATCHDOG_S seconds.
 *
 * Threads wait for each other with wait_until(), which polls; sleeping until something "must have happened" proves
 * nothing. CSK_TEST_SEED in the environment replaces the fixed seed of test_random(). CSK_TEST_LEAVE_OUT names tests
 * that can't run there, with a space between two: they are left out, and a program of such tests alone ends with 77. */
#ifndef CSK_TEST_H
#define CSK_TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <csynckernel/base.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef __GLIBC__
/* Other C libraries don't say how much memory they have given out. */
struct mallinfo2 {
    size_t arena, hblkhd, uordblks;
};
static inline struct mallinfo2 mallinfo2(void) { return (struct mallinfo2){ .arena = 0 }; }
/* musl has these only to say ENOSYS: Linux gives them for a thread, POSIX wants them for a process. */
#include <sys/syscall.h>
static inline int of_thread(long call, int thread, const void *argument) {
    return (int)syscall(call, thread, argument, 0L);
}
#define sched_getscheduler(thread) of_thread(SYS_sched_getscheduler, (thread), NULL)
#define sched_getparam(thread, parameters) of_thread(SYS_sched_getparam, (thread), (parameters))
#endif

#ifndef TEST_WATCHDOG_S
#define TEST_WATCHDOG_S 120
#endif

/* gcc defines it, and clang says it by another name. */
#if defined(__has_feature) && !defined(__SANITIZE_ADDRESS__)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
/* What sanitizers and emulators slow down is done in fewer rounds. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TEST_IS_SANITIZED 1
#define TEST_SLOWDOWN 4
#else
#define TEST_IS_SANITIZED 0
#ifdef CSK_TEST_SLOWDOWN
#define TEST_SLOWDOWN CSK_TEST_SLOWDOWN
#else
#define TEST_SLOWDOWN 1
#endif
#endif
/* The rounds of what takes seconds: a fifth of what else is done under sanitizers, which look at each access. */
#define TEST_ROUNDS(rounds) ((rounds) / (TEST_SLOWDOWN * (TEST_IS_SANITIZED ? 5 : 1)))

typedef struct {
    const char *name;
    void (*run)(void);
} test_t;

#define TEST(function) \
    { #function, function }

__attribute__((noreturn, format(printf, 3, 4))) static inline void test_fail(const char *file, int line,
                                                                             const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    flockfile(stdout);
    printf("FAILED\n%s:%d: ", file, line);
    vprintf(format, arguments);
    putchar('\n');
    fflush(stdout);
    va_end(arguments);
    _exit(1); /* other threads may still use what exit handlers would take away */
}

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) test_fail(__FILE__, __LINE__, "%s is false", #condition); \
    } while (0)

/* Two integers, as int64_t. */
#define CHECK_EQ(actual, expected) TEST_COMPARE_(actual, ==, expected)
#define CHECK_GE(actual, expected) TEST_COMPARE_(actual, >=, expected)
#define CHECK_LE(actual, expected) TEST_COMPARE_(actual, <=, expected)
#define TEST_COMPARE_(actual, operator, expected)                                                                  \
    do {                                                                                                           \
        int64_t actual_ = (int64_t)(actual), expected_ = (int64_t)(expected);                                      \
        if (!(actual_ operator expected_))                                                                         \
            test_fail(__FILE__, __LINE__, "%s %s %s: %" PRId64 " against %" PRId64, #actual, #operator, #expected, \
                      actual_, expected_);                                                                         \
    } while (0)

/* A status of the library, shown as text. */
#define CHECK_STATUS(actual, expected)                                                        \
    do {                                                                                      \
        int actual_ = (actual), expected_ = (expected);                                       \
        if (actual_ != expected_)                                                             \
            test_fail(__FILE__, __LINE__, "%s: %d (%s) instead of %d (%s)", #actual, actual_, \
                      csk_status_text(actual_), expected_, csk_status_text(expected_));       \
    } while (0)

/* Polls until the condition holds; the watchdog ends it otherwise. The condition must read shared memory atomically. */
#define wait_until(condition)               \
    do {                                    \
        while (!(condition)) sched_yield(); \
    } while (0)

#define LOAD(address) __atomic_load_n((address), __ATOMIC_SEQ_CST)
#define STORE(address, value) __atomic_store_n((address), (value), __ATOMIC_SEQ_CST)
#define ADD(address, value) __atomic_add_fetch((address), (value), __ATOMIC_SEQ_CST)

/* That size, or what a thread needs here to start at all: some 16 KiB on x86-64, 128 KiB on arm64. */
static inline size_t test_stack_size(size_t wanted) {
    long least = sysconf(_SC_THREAD_STACK_MIN);
    return least > 0 && (size_t)least > wanted ? (size_t)least : wanted;
}

/* A thread with a small stack, so that many fit. */
static inline pthread_t start_thread(void *(*body)(void *), void *context) {
    pthread_t thread;
    pthread_attr_t attributes;
    CHECK_EQ(pthread_attr_init(&attributes), 0);
    CHECK_EQ(pthread_attr_setstacksize(&attributes, 256 * 1024), 0);
    CHECK_EQ(pthread_create(&thread, &attributes, body, context), 0);
    pthread_attr_destroy(&attributes);
    return thread;
}

static inline void *join_thread(pthread_t thread) {
    void *result;
    CHECK_EQ(pthread_join(thread, &result), 0);
    return result;
}

/* xorshift64*: each thread keeps a state of its own, made by test_seed(which). */
static inline uint64_t test_seed(uint64_t which) {
    const char *chosen = getenv("CSK_TEST_SEED");
    uint64_t seed = chosen != NULL ? strtoull(chosen, NULL, 0) : 20250607;
    return (seed + which) * UINT64_C(0x9E3779B97F4A7C15) | 1;
}

static inline uint64_t test_random(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545F4914F6CDD1D);
}

static inline uint64_t test_random_below(uint64_t *state, uint64_t bound) { return (test_random(state) >> 11) % bound; }

static inline void test_watchdog(int signal_number) {
    (void)signal_number;
    static const char message[] = "FAILED\nthe watchdog ended this program: a test hangs\n";
    ssize_t written = write(STDOUT_FILENO, message, sizeof message - 1);
    (void)written;
    signal(SIGABRT, SIG_DFL);
    abort();
}

static inline bool test_is_left_out(const char *name) {
    const char *names = getenv("CSK_TEST_LEAVE_OUT");
    size_t length = strlen(name);
    for (const char *at = names; at != NULL && (at = strstr(at, name)) != NULL; at += length)
        if ((at == names || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0)) return true;
    return false;
}

static inline void test_run(const test_t *test) {
    printf("%-48s ", test->name);
    fflush(stdout);
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    test->run();
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("ok %7.1f ms\n", (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6);
}

static inline int test_main(const test_t *tests, size_t count, int argc, char **argv) {
    signal(SIGALRM, test_watchdog);
    alarm(TEST_WATCHDOG_S);
    for (int wanted = 1; wanted < argc; wanted++) {
        size_t found = 0;
        while (found < count && strcmp(tests[found].name, argv[wanted]) != 0) found++;
        if (found == count) {
            printf("no test is named %s\n", argv[wanted]);
            return 2;
        }
    }
    size_t ran = 0, left_out = 0;
    for (size_t index = 0; index < count; index++) {
        bool chosen = argc < 2;
        for (int wanted = 1; wanted < argc; wanted++) chosen |= strcmp(tests[index].name, argv[wanted]) == 0;
        if (!chosen) continue;
        if (test_is_left_out(tests[index].name)) {
            printf("%-48s left out\n", tests[index].name);
            left_out++;
            continue;
        }
        test_run(&tests[index]);
        ran++;
    }
    return ran == 0 && left_out != 0 ? 77 : 0;
}

#define TEST_MAIN(...)                                                       \
    int main(int argc, char **argv) {                                        \
        static const test_t tests[] = { __VA_ARGS__ };                       \
        return test_main(tests, sizeof tests / sizeof tests[0], argc, argv); \
    }

#endif
