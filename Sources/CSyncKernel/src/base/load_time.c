/* load_time.c: the affinity, the scheduling class and the niceness that stood when the library was loaded. A thread
 * inherits those of the thread that starts it. The first caller of the library may be pinned, a real-time thread or
 * nice. The threads that all callers share must not be. */
#include "base/load_time.h"

#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* There is room for 65 536 processors. Linux knows 8192 at most. */
enum { WORDS = 65536 / 64 };

/* This is struct sched_attr, which older C libraries don't have. */
typedef struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
} class_t;

static struct {
    uint64_t affinity[WORDS];
    long bytes; /* the length of `affinity`; 0 or less: it is not known */
    class_t class;
    bool class_known;
} at_load;

static bool get_class(class_t *class) {
    memset(class, 0, sizeof *class);
    return syscall(SYS_sched_getattr, 0, class, (unsigned)sizeof *class, 0u) == 0;
}

static int set_class(const class_t *class) { return syscall(SYS_sched_setattr, 0, class, 0u) == 0 ? 0 : errno; }

__attribute__((constructor(101))) static void look_at_process(void) {
    int saved = errno;
    at_load.bytes = syscall(SYS_sched_getaffinity, 0, sizeof at_load.affinity, at_load.affinity);
    /* A thread with a deadline can't start others. */
    at_load.class_known = get_class(&at_load.class) && at_load.class.policy <= SCHED_IDLE;
    at_load.class.size = sizeof at_load.class;
    at_load.class.flags = 0;
    errno = saved;
}

static void restore_affinity(void) {
    if (at_load.bytes <= 0) return;
    uint64_t mine[WORDS];
    long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mine, mine);
    /* It is set only where it differs: an affinity that was set stays when the system gives the process more
     * processors. */
    if (bytes == at_load.bytes && memcmp(mine, at_load.affinity, (size_t)bytes) == 0) return;
    syscall(SYS_sched_setaffinity, 0, (size_t)at_load.bytes, at_load.affinity);
}

static int restore_class(void) {
    class_t mine;
    const class_t *wanted = &at_load.class;
    if (!at_load.class_known || !get_class(&mine)) return 0;
    if (mine.policy == wanted->policy && mine.nice == wanted->nice && mine.priority == wanted->priority) return 0;
    int error = set_class(wanted);
    if (error == 0 || mine.policy == wanted->policy) return error;
    /* Without the privilege for the niceness, only the class is restored. */
    class_t without = *wanted;
    without.nice = mine.nice;
    set_class(&without);
    return error;
}

int csk_load_time_restore(void) {
    int saved = errno;
    restore_affinity();
    int error = restore_class();
    errno = saved;
    return error;
}

uint32_t csk_load_time_processors(void) {
    if (at_load.bytes <= 0) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        return online > 0 ? (uint32_t)online : 1;
    }
    uint32_t count = 0;
    for (long i = 0; i < at_load.bytes / 8; i++) count += (uint32_t)__builtin_popcountll(at_load.affinity[i]);
    return count > 0 ? count : 1;
}
