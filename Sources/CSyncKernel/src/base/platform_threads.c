/* platform_threads.c: the library's own threads: how they start, and what the system says about them.
 *
 * A crash inside a function of the user's belongs to that function, so the signals that it raises are open on these
 * threads. SIGPROF is open too, for profilers. All other signals are blocked, and go to threads of the program. Each
 * thread has an alternate stack for signals, so a handler with SA_ONSTACK runs although the stack has overflowed. What
 * a thread needs to begin lies above that stack, so the thread that starts it waits for nothing. */
#include "base/load_time.h"
#include "base/platform.h"
#include "base/quota.h"
#include "base/small_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
static const unsigned close_in_own_table = 2; /* CLOSE_RANGE_UNSHARE: nothing of what is closed is copied before */

static const int open_signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF };

/* Lies at the upper end of a mapping, which contains a page without access, the signal stack, and this. */
typedef struct {
    void (*body)(void *);
    void *context;
    const char *name;
    const csk_lasting_thread_t *lasting; /* NULL: no thread takes its place */
    char *mapping;
    size_t page, length; /* `length`: that of the mapping */
    bool has_stack;      /* the thread uses this signal stack */
    bool has_returned;   /* its body has */
    bool is_replaced, has_left;
    stack_t before;
} start_t;

void (*csk_platform_held_back)(int error);
void (*csk_platform_replaced)(const char *name);

/* The stack has room for a handler that prints a backtrace, and for the processor's registers. */
static size_t signal_stack_size(size_t page) {
    size_t size = 64 * 1024, least = getauxval(AT_MINSIGSTKSZ) + 32 * 1024;
#ifdef _SC_SIGSTKSZ
    long usual = sysconf(_SC_SIGSTKSZ);
    if (usual > 0 && (size_t)usual > least) least = (size_t)usual;
#endif
    if (size < least) size = least;
    return (size + page - 1) / page * page;
}

static start_t *make_start(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), length = page + signal_stack_size(page) + page;
    char *mapping = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return NULL;
    if (mprotect(mapping + page, length - page, PROT_READ | PROT_WRITE) != 0) {
        munmap(mapping, length);
        return NULL;
    }
    start_t *start = (start_t *)(mapping + length - page);
    *start = (start_t){ .mapping = mapping, .page = page, .length = length };
    return start;
}

static void take_signal_stack(start_t *start) {
    stack_t mine = { .ss_sp = start->mapping + start->page, .ss_size = start->length - 2 * start->page };
    if (sigaltstack(NULL, &start->before) != 0) return;
    /* A sanitizer has given the thread one already, and takes it back itself. */
    if (!(start->before.ss_flags & SS_DISABLE)) return;
    start->has_stack = sigaltstack(&mine, NULL) == 0;
}

/* A function that this calls may end the thread once more: then this goes on with what is left. */
static void leave(void *argument) {
    start_t *start = argument;
    if (start->lasting->leave == NULL || start->has_left) return;
    pthread_cleanup_push(leave, start);
    start->lasting->leave();
    start->has_left = true;
    pthread_cleanup_pop(0);
}

/* Something that the body called has ended the thread. It does not end before another one was started: where the system
 * has no thread to give, it tries again. A reporter may end the thread once more. With glibc that comes here again. */
static void replace(start_t *start) {
    const csk_lasting_thread_t *lasting = start->lasting;
    if (!start->is_replaced) {
        start->is_replaced = true;
        if (lasting->mend != NULL) lasting->mend();
        for (uint32_t looks = 0; csk_platform_start_lasting_thread(lasting) != 0; looks++)
            csk_platform_await_step(looks);
        pthread_cleanup_push(leave, start);
        if (csk_platform_replaced != NULL) csk_platform_replaced(lasting->name);
        pthread_cleanup_pop(0);
    }
    leave(start);
}

/* Runs when the thread ends, also where a function of the user's ends it. */
static void end_thread(void *argument) {
    start_t *start = argument;
    if (!start->has_returned && start->lasting != NULL) replace(start);
    /* The system refuses this to a handler that runs on the signal stack. Then the stack stays. */
    if (start->has_stack && sigaltstack(&start->before, NULL) != 0) return;
    munmap(start->mapping, start->length);
}

static void *thread_entry(void *argument) {
    start_t *start = argument;
    pthread_cleanup_push(end_thread, start);
    take_signal_stack(start);
    prctl(PR_SET_TIMERSLACK, 1UL);
    int error = csk_load_time_restore();
    pthread_setname_np(pthread_self(), start->name); /* a thread that is found by its name has its class */
    if (error != 0 && csk_platform_held_back != NULL) csk_platform_held_back(error);
    start->body(start->context);
    start->has_returned = true;
    pthread_cleanup_pop(1);
    return NULL;
}

static int create(start_t *start, size_t stack_size) {
    pthread_t thread;
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0) return error;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (stack_size != 0) error = pthread_attr_setstacksize(&attributes, stack_size);
    if (error == 0) error = pthread_create(&thread, &attributes, thread_entry, start);
    pthread_attr_destroy(&attributes);
    return error;
}

static int start_thread(const start_t *wanted, size_t stack_size) {
    int saved = errno; /* a pthread_create that is refused leaves its reason in errno */
    start_t *start = make_start();
    errno = saved;
    if (start == NULL) return EAGAIN; /* the same as when there is no memory for a thread's stack */
    start->body = wanted->body;
    start->context = wanted->context;
    start->name = wanted->name;
    start->lasting = wanted->lasting;
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof open_signals / sizeof open_signals[0]; i++) sigdelset(&blocked, open_signals[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int error = create(start, stack_size);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) munmap(start->mapping, start->length);
    errno = saved;
    return error;
}

int csk_platform_start_sized_thread(void (*body)(void *), void *context, const char *name, size_t stack_size) {
    return start_thread(&(start_t){ .body = body, .context = context, .name = name }, stack_size);
}

int csk_platform_start_thread(void (*body)(void *), void *context, const char *name) {
    return csk_platform_start_sized_thread(body, context, name, 0);
}

int csk_platform_start_lasting_thread(const csk_lasting_thread_t *thread) {
    return start_thread(&(start_t){ .body = thread->body, .name = thread->name, .lasting = thread }, 0);
}

/* It is read through syscall, which is no cancellation point. */
long csk_platform_read_file(const char *path, char *text, size_t size) {
    int saved = errno;
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    long length = file < 0 ? -1 : syscall(SYS_read, file, text, size);
    if (length < 0) length = -errno;
    if (file >= 0) syscall(SYS_close, file);
    errno = saved;
    return length;
}

bool csk_platform_have_own_descriptors(void) {
    int saved = errno;
    bool has = syscall(SYS_close_range, 0U, ~0U, close_in_own_table) == 0;
    errno = saved;
    return has;
}

int32_t csk_platform_thread_id(void) { return (int32_t)syscall(SYS_gettid); }

csk_thread_state_t csk_platform_thread_state(int32_t thread_id) {
    char path[CSK_SMALL_PATH], text[CSK_SMALL_FILE];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread_id);
    /* The file contains "ID (NAME) STATE ...". Workers' names are short and have no brackets. */
    long length = csk_small_file_read(path, text, sizeof text - 1);
    if (length <= 0) return CSK_THREAD_UNKNOWN;
    text[length] = 0;
    const char *end = strrchr(text, ')');
    if (end == NULL || end[1] != ' ' || end[2] == 0) return CSK_THREAD_UNKNOWN;
    return strchr("SDTt", end[2]) != NULL ? CSK_THREAD_SLEEPS : CSK_THREAD_RUNS;
}

void csk_platform_thread_name(int32_t thread_id, char *name, size_t size) {
    char path[CSK_SMALL_PATH];
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)thread_id);
    long length = csk_platform_read_file(path, name, size - 1);
    if (length > 0 && name[length - 1] == '\n') length--;
    name[length > 0 ? length : 0] = 0;
}

static int64_t time_of(clockid_t clock) {
    struct timespec time;
    int saved = errno;
    int status = clock_gettime(clock, &time);
    errno = saved;
    return status == 0 ? (int64_t)time.tv_sec * 1000000000 + time.tv_nsec : -1;
}

/* This computes the number of a thread's clock as the system does, since pthread_getcpuclockid needs a pthread_t. */
int64_t csk_platform_thread_time(int32_t thread_id) { return time_of((clockid_t)(~(uint32_t)thread_id << 3 | 6)); }

int64_t csk_platform_time_of_others(void) {
    int64_t all = time_of(CLOCK_PROCESS_CPUTIME_ID), mine = time_of(CLOCK_THREAD_CPUTIME_ID);
    return all < 0 || mine < 0 ? -1 : all - mine;
}

csk_processors_t csk_platform_processors(void) {
    csk_quota_t quota = csk_quota_read("");
    uint32_t allowed = csk_load_time_processors();
    return (csk_processors_t){
        .count = quota.processors != 0 && quota.processors < allowed ? quota.processors : allowed,
        .throttled = !quota.known || quota.processors != 0,
    };
}
