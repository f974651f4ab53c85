/* platform_census.c: which threads the process has, and whether one has ended.
 *
 * glibc gives each thread a robust list before the thread runs anything of its user's. The list lies at the same
 * distance from the thread pointer in all threads. The system says for each thread where its list is, until the thread
 * begins to end. So the list of the process's threads becomes a list of thread pointers, without a look at any thread's
 * memory. musl gives few threads such a list, so with musl nothing is found.
 *
 * A thread's number stands at a fixed distance from its robust list too. The number's memory may go away while it is
 * read, so the system reads it.
 *
 * A reading may pass a thread over while others end: when the system is asked for more, it finds its place by counting.
 * Two readings that agree, and whose threads all still existed after they were named, have missed no thread that
 * existed throughout. To lose the place takes a thread that was named and has ended, and the second reading doesn't
 * name that thread. */
#include "base/platform.h"

#include "csynckernel/gate.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct directory_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
};

static uint64_t robust_list_of(pid_t thread_id, bool *exists) {
    uint64_t head = 0;
    size_t size;
    *exists = syscall(SYS_get_robust_list, thread_id, &head, &size) == 0;
    return head;
}

typedef struct {
    uint64_t wanted, self; /* robust lists, or the first a thread's number */
    uint64_t named;        /* a hash of the thread ids, in their order */
    bool complete;         /* all threads were read, and each of them existed when it was asked about */
    bool found_wanted, found_self;
} reading_t;

/* Reads the word at that address, if there is memory. */
static bool read_word(uint64_t address, uint64_t *word) {
    struct iovec here = { word, sizeof *word }, there = { (void *)(uintptr_t)address, sizeof *word };
    return syscall(SYS_process_vm_readv, getpid(), &here, 1UL, &there, 1UL, 0UL) == (long)sizeof *word;
}

static pid_t thread_id_of(const char *name) {
    pid_t thread_id = 0;
    for (; *name >= '0' && *name <= '9'; name++) thread_id = thread_id * 10 + (*name - '0');
    return thread_id;
}

/* Calls `each` for the threads of the process, in the system's order. Returns whether all of them could be named. */
static bool visit_threads(void (*each)(void *context, pid_t thread_id), void *context) {
    /* This goes through syscall, which is no cancellation point. */
    int folder = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return false;
    _Alignas(struct directory_entry) char entries[2048];
    long length;
    while ((length = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0)
        for (long at = 0; at < length; at += ((struct directory_entry *)(entries + at))->length) {
            pid_t thread_id = thread_id_of(((struct directory_entry *)(entries + at))->name);
            if (thread_id != 0) each(context, thread_id);
        }
    syscall(SYS_close, folder);
    return length == 0;
}

static void read_thread(void *context, pid_t thread_id) {
    reading_t *reading = context;
    bool exists;
    uint64_t head = robust_list_of(thread_id, &exists);
    reading->named = (reading->named ^ (uint64_t)thread_id) * UINT64_C(0x100000001B3);
    uint64_t found = head;
    if (exists && (int64_t)reading->wanted < 0)
        exists = read_word(head + ((uint64_t)(uintptr_t)&csk_thread_number - reading->self), &found);
    reading->complete &= exists;
    reading->found_wanted |= found == reading->wanted;
    reading->found_self |= head == reading->self;
}

static reading_t read_threads(uint64_t wanted, uint64_t self) {
    reading_t reading = { .wanted = wanted, .self = self, .complete = true };
    reading.complete &= visit_threads(read_thread, &reading);
    return reading;
}

uint64_t csk_platform_new_thread_number(void) {
    static uint64_t last;
    return UINT64_C(1) << 63 | (csk_fetch_add(&last, UINT64_C(1), CSK_RELAXED) + 1) << 4;
}

bool csk_platform_thread_has_ended(uint64_t identity) {
#if !defined(__GLIBC__)
    /* musl gives a thread its list when the thread first takes a robust mutex: a thread without one may be alive. */
    (void)identity, (void)read_threads;
    return false;
#endif
    int saved = errno;
    bool known, ended = false;
    uint64_t self = robust_list_of(0, &known),
             wanted = (int64_t)identity < 0 ? identity : identity + (self - csk_self());
    if (known && self != 0) {
        reading_t first = read_threads(wanted, self);
        if (first.complete && first.found_self && !first.found_wanted) {
            reading_t second = read_threads(wanted, self);
            ended = second.complete && !second.found_wanted && second.named == first.named;
        }
    }
    errno = saved;
    return ended;
}

/* ---- Threads by identity ----------------------------------------------------------------------------------------- */

typedef struct {
    const uint64_t *identities;
    int32_t *thread_ids;
    int count;
    bool numbers;  /* some of the identities are */
    uint64_t self; /* the calling thread's robust list */
} wanted_t;

static void note_identity(const wanted_t *wanted, uint64_t identity, pid_t thread_id) {
    for (int i = 0; i < wanted->count; i++)
        if (wanted->identities[i] == identity) wanted->thread_ids[i] = thread_id;
}

static void look_at(void *context, pid_t thread_id) {
    const wanted_t *wanted = context;
    bool exists;
    uint64_t head = robust_list_of(thread_id, &exists), number;
    if (head == 0 || !exists) return;
    uint64_t pointer = head - (wanted->self - csk_self());
    note_identity(wanted, pointer, thread_id);
    if (wanted->numbers && read_word(pointer + ((uint64_t)(uintptr_t)&csk_thread_number - csk_self()), &number))
        note_identity(wanted, number, thread_id);
}

void csk_platform_find_threads(const uint64_t *identities, int32_t *thread_ids, int count) {
    int saved = errno;
    bool known;
    wanted_t wanted = { identities, thread_ids, count, false, robust_list_of(0, &known) };
    for (int i = 0; i < count; i++) {
        thread_ids[i] = 0;
        wanted.numbers |= (int64_t)identities[i] < 0;
    }
    if (known && wanted.self != 0 && count != 0) visit_threads(look_at, &wanted);
    errno = saved;
}
