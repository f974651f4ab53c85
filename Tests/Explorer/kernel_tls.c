/* kernel_tls.c: the kernel's tls.c with its memory in that of one schedule, and the way back to its first state. */
#include "explorer.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"

#define calloc(count, size) arena_allocate((count) * (size))
#define realloc(memory, size) arena_extend((memory), (size))
#define free(memory) arena_free(memory)
#include "thread/tls.c"

#include "internal.h"

void kernel_reset_tls(void) { newest = names = NULL; }
