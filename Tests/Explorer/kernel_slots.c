/* kernel_slots.c: the kernel's slots.c with its tables in the memory of one schedule. */
#include "explorer.h"

#include <sys/mman.h>

#include "arena.h"
#include "internal.h"

/* The system's is that of the one thread on which all threads of a schedule run. */
#undef errno
#define errno explored_errno
static _Thread_local int explored_errno;

static void *map(size_t size) {
    void *memory = arena_allocate(size);
    races_mapped(memory, size);
    return memory;
}

#define mmap(address, size, protection, flags, file, offset) map(size)
#define munmap(memory, size) arena_free(memory)
#define madvise(memory, size, advice) ((void)(memory))
#include "observe/slots.c"
