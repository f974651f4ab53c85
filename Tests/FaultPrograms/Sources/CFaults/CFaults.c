#include "CFaults.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

typedef struct {
    int64_t asked, which;
    bool failed;
} marker_t;
static marker_t *marker; /* shared with the parent; NULL before the marker */

static bool refused(void) {
    if (__atomic_load_n(&marker, __ATOMIC_ACQUIRE) == NULL) return false;
    if (__atomic_add_fetch(&marker->asked, 1, __ATOMIC_RELAXED) != marker->which) return false;
    marker->failed = true;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size) { return refused() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return refused() ? NULL : __libc_calloc(count, size); }
void *realloc(void *block, size_t size) { return refused() ? NULL : __libc_realloc(block, size); }
void *memalign(size_t alignment, size_t size) { return refused() ? NULL : __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **block, size_t alignment, size_t size) {
    void *made = memalign(alignment, size);
    if (made != NULL) *block = made;
    return made != NULL ? 0 : ENOMEM;
}

/* Says in which library a null pointer was used, or a trap stands, and lets the signal end the child. */
static void say_where(int signal_number, siginfo_t *info, void *context) {
    const mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
    void *at = (void *)machine->gregs[REG_RIP];
#elif defined(__aarch64__)
    void *at = (void *)machine->pc;
#endif
    Dl_info found = { .dli_fname = NULL };
    bool is_null = signal_number != SIGSEGV || (uintptr_t)info->si_addr < 4096;
    const char *name = dladdr(at, &found) != 0 && is_null ? found.dli_fname : "?";
    dprintf(STDERR_FILENO, "stopped in %s\n", strrchr(name, '/') != NULL ? strrchr(name, '/') + 1 : name);
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void watch_signals(void) {
    const int numbers[] = { SIGSEGV, SIGILL, SIGTRAP, SIGBUS };
    struct sigaction action = { .sa_sigaction = say_where, .sa_flags = SA_SIGINFO };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) sigaction(numbers[i], &action, NULL);
}

fault_attempt_t fault_attempt(int64_t which, unsigned limit_s, void (*work)(void)) {
    fault_attempt_t attempt = { .failed = false };
    marker_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int output = memfd_create("output", 0);
    if (shared == MAP_FAILED || output < 0) abort();
    shared->which = which;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) {
        dup2(output, STDERR_FILENO);
        watch_signals();
        alarm(limit_s);
        work();
        __atomic_store_n(&marker, shared, __ATOMIC_RELEASE);
        work();
        _exit(0);
    }
    waitpid(child, &attempt.status, 0);
    attempt.failed = shared->failed;
    attempt.asked = shared->asked;
    ssize_t got = pread(output, attempt.output, sizeof attempt.output - 1, 0);
    attempt.output[got > 0 ? got : 0] = '\0';
    close(output);
    munmap(shared, 4096);
    return attempt;
}

bool fault_exited_well(const fault_attempt_t *attempt) {
    return WIFEXITED(attempt->status) && WEXITSTATUS(attempt->status) == 0;
}
int fault_signal(const fault_attempt_t *attempt) {
    return WIFSIGNALED(attempt->status) ? WTERMSIG(attempt->status) : 0;
}
const char *fault_output(const fault_attempt_t *attempt) { return attempt->output; }

static bool refuses_threads;

void fault_refuse_threads(bool refuse) { __atomic_store_n(&refuses_threads, refuse, __ATOMIC_RELEASE); }

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*body)(void *),
                   void *restrict argument) {
    int (*real)(pthread_t *restrict, const pthread_attr_t *restrict, void *(*)(void *), void *restrict);
    Dl_info caller, own;
    if (__atomic_load_n(&refuses_threads, __ATOMIC_ACQUIRE) && dladdr(__builtin_return_address(0), &caller) != 0 &&
        dladdr(&refuses_threads, &own) != 0 && caller.dli_fbase == own.dli_fbase)
        return EAGAIN;
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return real(thread, attributes, body, argument);
}
