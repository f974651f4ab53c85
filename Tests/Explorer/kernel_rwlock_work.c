/* kernel_rwlock_work.c: the kernel's rwlock_work.c with its batches in the memory of a schedule. */
#include <stdlib.h>

#include "arena.h"

#define malloc(size) arena_allocate(size)
#define free(memory) arena_free(memory)
#include "readwrite/rwlock_work.c"
