/* platform_visit.c: what membarrier does, by a thread that visits each processor, for a process to which the system
 * refuses membarrier when others count on it already.
 *
 * A thread of the process that runs on a processor when the visit begins is switched out there before the visitor runs
 * there, and a switch is a full fence. It may have gone to another processor before: that is a switch too. A thread
 * that did not run when the visit began passes a switch before it runs. So on return each other thread has executed a
 * full fence since the call, whatever the machine. What changes a page's protection, by which other systems do this,
 * would say less: some machines notify the processors of that without stopping them.
 *
 * A processor that the visitor may not use is taken for one that no thread of the process may use: all of them have the
 * same cpuset. The visitor waits for its turn on each processor.
 *
 * The visitor passes switches itself, since it goes from one processor to another. Where there is one alone, all
 * threads take turns there, and each sees what was done before its turn. */
#include "base/platform.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MASK_BYTES = 1024, MASK_WORDS = MASK_BYTES / sizeof(unsigned long), WORD_BITS = 8 * sizeof(unsigned long) };

static bool visit(unsigned processor, size_t bytes) {
    unsigned long mask[MASK_WORDS] = { 0 };
    mask[processor / WORD_BITS] = 1UL << processor % WORD_BITS;
    return syscall(SYS_sched_setaffinity, 0, bytes, mask) == 0;
}

bool csk_platform_visit_processors(void) {
    unsigned long before[MASK_WORDS];
    int saved = errno;
    sigset_t all, signals; /* a handler would run on one processor, and so would what it starts */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &signals);
    long bytes = syscall(SYS_sched_getaffinity, 0, sizeof before, before);
    bool refused = bytes <= 0, any = false;
    for (unsigned processor = 0; !refused && processor < 8 * (unsigned)bytes; processor++) {
        if (visit(processor, (size_t)bytes)) any = true;
        else refused = errno != EINVAL; /* there is no such processor, or not for this process */
    }
    if (any && syscall(SYS_sched_setaffinity, 0, (size_t)bytes, before) != 0) {
        /* None of them is there any more: any processor will do. */
        memset(before, -1, sizeof before);
        syscall(SYS_sched_setaffinity, 0, (size_t)bytes, before);
    }
    pthread_sigmask(SIG_SETMASK, &signals, NULL);
    errno = saved;
    return any && !refused;
}
