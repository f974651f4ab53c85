/* child.h: tests that need a process of their own. Fork before this process has threads: ThreadSanitizer wants that,
 * and so does a child that is to begin with a kernel that was never used. */
#ifndef CSK_TEST_CHILD_H
#define CSK_TEST_CHILD_H

#include "test.h"

#include <sys/mman.h>
#include <sys/wait.h>

/* The child runs body(context) under a watchdog and ends with 0, unless a check fails. */
static inline pid_t start_child(void (*body)(void *), void *context) {
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(TEST_WATCHDOG_S);
        body(context);
        fflush(stdout);
        _exit(0);
    }
    return child;
}

static inline int wait_for_child(pid_t child) {
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    return status;
}

static inline void in_a_child(void (*body)(void *), void *context) {
    int status = wait_for_child(start_child(body, context));
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
}

/* Starts the program of that path in the place of this one. CSK_TEST_EMULATOR, if it is set, runs programs: what the
 * system itself can't run is started by it. Returns if that failed. */
static inline void run_program(const char *program, const char *name, const char *test) {
    const char *emulator = getenv("CSK_TEST_EMULATOR");
    if (emulator != NULL) execl(emulator, emulator, program, test, (char *)NULL);
    else execl(program, name, test, (char *)NULL);
}

/* The process goes on without the thread that it began with: AddressSanitizer knows of no pthread_join for that one. In
 * the process's own file emulators write what they like. */
static inline bool has_first_thread_ended(void) {
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    const char *name_end = strrchr(text, ')');
    return name_end != NULL && name_end[2] == 'Z';
}

/* Zero-filled memory that parent and children share. */
static inline void *shared_page(void) {
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    return page;
}

/* ThreadSanitizer counts the parent's threads as alive in the child, and takes new ones with their ids for
 * duplicates. */
#ifdef __SANITIZE_THREAD__
#define NOT_UNDER_TSAN()                       \
    do {                                       \
        printf("not under ThreadSanitizer; "); \
        return;                                \
    } while (0)
#else
#define NOT_UNDER_TSAN() (void)0
#endif

#endif
