/* emulator_probe.c: what an emulator of Linux programs lacks. scripts/test-arm64 runs it under qemu, and leaves out the
 * tests that emulator_needs.txt lists for what it names: one line for each thing that is missing.
 *
 *   seccomp          filters of system calls, where emulated_calls.c can't stand in for one
 *   memory-limit     RLIMIT_AS
 *   busy-fork        a fork while other threads run, after which the child can start threads, and each of its threads
 *                    can end, the one that forked too */
#include "child.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static void report(const char *need, bool is_there) {
    if (!is_there) printf("%s\n", need);
    fflush(stdout);
}

static void install_a_filter(void *unused) {
    struct sock_filter rules[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
    struct sock_fprog program = { 1, rules };
    (void)unused;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(1);
}

/* A stack of 256 MiB does not fit into what the process may have. */
static void *do_nothing(void *context) { return context; }
static void start_a_thread_without_memory(void *unused) {
    struct rlimit limit = { (rlim_t)64 << 20, (rlim_t)64 << 20 };
    pthread_attr_t attributes;
    pthread_t thread;
    (void)unused;
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    CHECK_EQ(pthread_attr_init(&attributes), 0);
    CHECK_EQ(pthread_attr_setstacksize(&attributes, (size_t)256 << 20), 0);
    if (pthread_create(&thread, &attributes, do_nothing, NULL) == 0) _exit(1);
}

static bool goes_well(void (*body)(void *)) { return wait_for_child(start_child(body, NULL)) == 0; }

/* ---- Forks ------------------------------------------------------------------------------------------------------- */

enum { BUSY = 3, FORKS = 400 };
static uint32_t stop, word;

/* One in three starts threads. The others change one word, sleep on it and wake each other, as contended locks do. */
static void *be_busy(void *context) {
    while (!LOAD(&stop)) {
        uint32_t seen = ADD(&word, 1);
        if ((intptr_t)context == 0) join_thread(start_thread(do_nothing, NULL));
        else if (seen % 3 == 0) {
            struct timespec a_moment = { 0, 20000 };
            syscall(SYS_futex, &word, 128, seen, &a_moment);
        } else syscall(SYS_futex, &word, 129, 1);
    }
    return NULL;
}

static void start_threads(void *unused) {
    for (int i = 0; i < 3; i++) join_thread(start_thread(do_nothing, unused));
}

/* A child that hangs does so in the emulator, where no signal of its own ends it. */
static bool ends_in_time(pid_t child) {
    int64_t limit_ns = csk_deadline_after(INT64_C(5000000000));
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (csk_now() > limit_ns) {
            kill(child, SIGKILL);
            CHECK_EQ(waitpid(child, &status, 0), child);
            return false;
        }
        sched_yield();
    }
    return status == 0;
}

static bool forks_beside_threads(void) {
    pthread_t threads[BUSY];
    bool well = true;
    for (intptr_t i = 0; i < BUSY; i++) threads[i] = start_thread(be_busy, (void *)i);
    for (int i = 0; i < FORKS && well; i++) well = ends_in_time(start_child(start_threads, NULL));
    STORE(&stop, 1);
    for (int i = 0; i < BUSY; i++) join_thread(threads[i]);
    return well;
}

int main(void) {
    report("seccomp", goes_well(install_a_filter));
    report("memory-limit", goes_well(start_a_thread_without_memory));
    report("busy-fork", forks_beside_threads());
    return 0;
}
