/* child.h: tests that need a process of their own. Fork before this process has threads: ThreadSanitizer wants that, and so
 * does a child that is to begin with a kernel that was never used. */
#ifndef CSK_TEST_CHILD_H
#define CSK_TEST_CHILD_H

#include "test.h"

#include <dirent.h>
#include <sys/mman.h>
#include <sys/syscall.h>
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

/* AddressSanitizer allocates when a thread begins, and its allocator's locks stay as they were in the child of a fork: a test that forks where the
 * library has just started threads waits until these sleep. */
static inline void await_begun_threads(void) {
#ifdef __SANITIZE_ADDRESS__
    for (bool sleeps = false; !sleeps;) {
        char path[512], text[256];
        DIR *folder = opendir("/proc/self/task");
        CHECK(folder != NULL);
        sleeps = true;
        for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
            if (entry->d_name[0] == '.' || atoi(entry->d_name) == (int)syscall(SYS_gettid)) continue;
            snprintf(path, sizeof path, "/proc/self/task/%s/stat", entry->d_name);
            FILE *file = fopen(path, "r");
            size_t length = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
            if (file != NULL) fclose(file);
            text[length] = 0;
            const char *name_end = strrchr(text, ')');
            sleeps &= name_end == NULL || name_end[2] == 'S';
        }
        closedir(folder);
    }
#endif
}

/* Zero-filled memory that parent and children share. */
static inline void *shared_page(void) {
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    return page;
}

#endif
