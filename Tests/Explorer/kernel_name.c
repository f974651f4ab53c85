/* kernel_name.c: the kernel's name.c with its memory in that of one schedule, and the way back to its first state. */
#include "explorer.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"

#define malloc(size) arena_allocate(size)
#define calloc(count, size) arena_allocate((count) * (size))
#define free(memory) arena_free(memory)
#include "thread/name.c"

#include "internal.h"

void kernel_reset_names(void) {
    csk_name_count = list_count = 0;
    lists = NULL;
    mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}
/* As a fork does before it, and after it. */
void kernel_hold_names(void) { hold(); }
void kernel_let_go_of_names(void) { let_go(); }
