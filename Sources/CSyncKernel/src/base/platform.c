/* platform.c: the Linux implementation of base/platform.h: park and wake, membarrier, and the calls at the end of a
 * thread. platform_visit.c has another way to do what membarrier does. platform_clock.c has the clock, and keeps timed
 * waits from being late. platform_fork.c has the calls at a fork. platform_threads.c starts threads and asks the system
 * about one thread. platform_census.c asks about all threads. */
#include "base/platform.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The headers of the Linux kernel are a package of their own, which systems with musl may lack. The numbers never
 * change: they are a part of what Linux promises to programs. */
#if __has_include(<linux/futex.h>) && __has_include(<linux/membarrier.h>)
#include <linux/futex.h>
#include <linux/membarrier.h>
#else
enum { FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129, FUTEX_WAIT_BITSET_PRIVATE = 137 };
enum { MEMBARRIER_CMD_PRIVATE_EXPEDITED = 8, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED = 16 };
#define FUTEX_BITSET_MATCH_ANY UINT32_MAX
#endif

static const int64_t ns_per_s = 1000000000;

static int park_until(uint32_t *word, uint32_t expected, int64_t deadline_ns) {
    csk_timed_wait_t wait = csk_platform_begin_timed(deadline_ns);
    int64_t clamped = wait.until_ns < 0 ? 0 : wait.until_ns;
    struct timespec until = { .tv_sec = clamped / ns_per_s, .tv_nsec = clamped % ns_per_s };
    /* FUTEX_WAIT_BITSET takes an absolute CLOCK_MONOTONIC time. FUTEX_WAIT would take a span. */
    long result = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, &until, NULL, FUTEX_BITSET_MATCH_ANY);
    bool timed_out = result == -1 && errno == ETIMEDOUT;
    int64_t now_ns = timed_out ? csk_platform_now() : 0;
    csk_platform_end_timed(&wait, now_ns);
    return timed_out && now_ns >= deadline_ns ? ETIMEDOUT : 0;
}

int csk_platform_park(uint32_t *word, uint32_t expected, int64_t deadline_ns) {
    int saved = errno, result = 0;
    if (deadline_ns == CSK_NEVER) syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
    else result = park_until(word, expected, deadline_ns);
    errno = saved;
    return result;
}

void csk_platform_park_to_look(uint32_t *word, uint32_t expected, int64_t look_ns) {
    int saved = errno;
    struct timespec until = { .tv_sec = look_ns / ns_per_s, .tv_nsec = look_ns % ns_per_s };
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, &until, NULL, FUTEX_BITSET_MATCH_ANY);
    errno = saved;
}

void csk_platform_await_step(uint32_t looks) {
    enum { LOOKS_AWAKE = 6 }; /* 63 pauses in all, some microseconds */
    static const int64_t sleep_ns = 50000;
    uint32_t nothing = 0;
    if (looks >= LOOKS_AWAKE) csk_platform_park(&nothing, 0, csk_platform_now() + sleep_ns);
    else
        for (uint32_t pauses = UINT32_C(1) << looks; pauses > 0; pauses--) csk_platform_pause();
}

void csk_platform_yield(void) { sched_yield(); }

void csk_platform_wake(uint32_t *word, int count) {
    int saved = errno;
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
    errno = saved;
}

/* Two threads that decide at once decide alike, or one of them is csk_avoid_membarrier: the first decides. Relaxed: the
 * word publishes nothing else. That the process is registered is for the system to know; a call that comes before the
 * system knows is refused, and tried again. */
static uint32_t membarrier_state;
enum { MEMBARRIER_UNKNOWN = 0, MEMBARRIER_USABLE, MEMBARRIER_REFUSED, MEMBARRIER_AVOIDED };

bool csk_platform_has_membarrier(void) {
    uint32_t state = csk_load(&membarrier_state, CSK_RELAXED);
    if (state == MEMBARRIER_UNKNOWN) {
        int saved = errno;
        bool has = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
        errno = saved;
        uint32_t decided = has ? MEMBARRIER_USABLE : MEMBARRIER_REFUSED;
        if (csk_cas(&membarrier_state, &state, decided, CSK_RELAXED)) state = decided;
    }
    return state == MEMBARRIER_USABLE;
}

int csk_avoid_membarrier(void) {
    uint32_t state = MEMBARRIER_UNKNOWN;
    csk_cas(&membarrier_state, &state, (uint32_t)MEMBARRIER_AVOIDED, CSK_RELAXED);
    return state == MEMBARRIER_USABLE ? EBUSY : 0;
}

bool csk_platform_avoids_membarrier(void) { return csk_load(&membarrier_state, CSK_RELAXED) == MEMBARRIER_AVOIDED; }

static _Noreturn void end_without_membarrier(int error) {
    char line[120];
    int length = snprintf(
        line, sizeof line,
        "csynckernel: membarrier failed (errno %d), without which a thread could wait for ever; the process ends\n",
        error);
    csk_platform_write_error(line, (size_t)length);
    abort();
}

/* The system has refused it for long; a sandbox was set up after the first use. Relaxed: it saves tries. */
static uint32_t membarrier_is_refused;

/* The system may lack memory for a moment, or learn just now that the process is registered. Callers rely on it:
 * without it a wake-up could be lost. */
void csk_platform_membarrier(void) {
    enum { ATTEMPTS = 1000 };
    static const int64_t pause_ns = 100000;
    int saved = errno;
    for (int attempt = 0; CSK_UNLIKELY(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0);
         attempt++) {
        if (attempt == ATTEMPTS || csk_load(&membarrier_is_refused, CSK_RELAXED)) {
            int error = errno;
            csk_store(&membarrier_is_refused, 1u, CSK_RELAXED);
            if (csk_platform_visit_processors()) break;
            end_without_membarrier(error);
        }
        uint32_t nobody_wakes = 0;
        csk_platform_park(&nobody_wakes, 0, csk_platform_now() + pause_ns);
    }
    errno = saved;
}

/* The key plus 1; 0 before the first use. There is no lock, so a fork leaves it usable, and a refused key can be asked
 * for again. Each use of the key, whatever thread made it, comes behind its making (release, acquire): what the C
 * library knows of a key is plain memory. */
static uint64_t thread_end_key;

int csk_platform_call_at_thread_end(void (*function)(void *)) {
    uint64_t known = csk_load(&thread_end_key, CSK_RELAXED);
    if (known == 0) {
        pthread_key_t key;
        int error = pthread_key_create(&key, function);
        if (error != 0) return error;
        if (!csk_cas(&thread_end_key, &known, (uint64_t)key + 1, CSK_RELEASE)) pthread_key_delete(key);
    }
    known = csk_load(&thread_end_key, CSK_ACQUIRE);
    return pthread_setspecific((pthread_key_t)(known - 1), &thread_end_key); /* any value but NULL */
}

/* SIGPIPE comes to the thread that writes. It is taken back, unless one was pending before: the two can't be told
 * apart. The write goes through syscall, which is no cancellation point. */
void csk_platform_write_error(const char *text, size_t length) {
    int saved = errno;
    sigset_t pipe, before, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    sigpending(&pending);
    long written;
    do written = syscall(SYS_write, STDERR_FILENO, text, length);
    while (written == -1 && errno == EINTR);
    if (written == -1 && errno == EPIPE && !sigismember(&pending, SIGPIPE)) {
        static const struct timespec at_once;
        while (syscall(SYS_rt_sigtimedwait, &pipe, NULL, &at_once, _NSIG / 8) == -1 && errno == EINTR) {}
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
}
