/* slow_clock.c: loaded before a test, lets a thread lose the processor now and then just after it read the clock.
 *
 * A test that compares a time with one that it read before is right only if the system may stop the thread in between.
 * On a quiet machine that takes thousands of runs to meet. Here one reading of CSK_TEST_SLOW_CLOCK (8 unless given) is
 * followed by a sleep of 0.5 to 2.5 ms. */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef int (*clock_function_t)(clockid_t, struct timespec *);

static clock_function_t read_clock;
static uint64_t one_of = 8;

__attribute__((constructor)) static void prepare(void) {
    const char *given = getenv("CSK_TEST_SLOW_CLOCK");
    if (given != NULL && strtoull(given, NULL, 10) != 0) one_of = strtoull(given, NULL, 10);
}

/* Xorshift, by a state of each thread's own. */
static uint64_t draw(const struct timespec *now) {
    static __thread uint64_t state;
    if (state == 0) state = ((uint64_t)syscall(SYS_gettid) * 0x9E3779B97F4A7C15u ^ (uint64_t)now->tv_nsec) | 1;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    clock_function_t function = __atomic_load_n(&read_clock, __ATOMIC_RELAXED);
    if (function == NULL) {
        void *symbol = dlsym(RTLD_NEXT, "clock_gettime");
        __builtin_memcpy(&function, &symbol, sizeof function);
        __atomic_store_n(&read_clock, function, __ATOMIC_RELAXED);
    }
    int status = function(clock, now);
    uint64_t drawn = draw(now);
    if (drawn % one_of == 0) {
        int saved = errno;
        struct timespec pause = { .tv_nsec = 500000 + (long)(drawn >> 20) % 2000000 };
        syscall(SYS_nanosleep, &pause, NULL); /* no cancellation point */
        errno = saved;
    }
    return status;
}
