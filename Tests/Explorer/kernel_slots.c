/* kernel_slots.c: the kernel's slots.c with its tables in the memory of one schedule. */
#include "explorer.h"

#include <sys/mman.h>

#include "arena.h"

/* The system's is that of the one thread on which all threads of a schedule run. */
#undef errno
#define errno explored_errno
static _Thread_local int explored_errno;

#define mmap(address, size, protection, flags, file, offset) arena_allocate(size)
#define munmap(memory, size) arena_free(memory)
#define madvise(memory, size, advice) ((void)(memory))
#include "base/slots.c"
