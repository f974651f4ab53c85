/* allocation.c: the memory of one schedule, and accesses to what is no longer there: memory that was freed, frames that
 * have returned. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "spin.h"

enum { ARENA_SIZE = 256 << 10, FREED_MAX = 128 };

static char *arena, *arena_next;
static struct { char *begin, *end; } freed[FREED_MAX];
static int freed_count;

void allocation_begin(void) {
    if (arena == NULL) arena = malloc(ARENA_SIZE);
    if (arena == NULL) abort();
    arena_next = arena;
    freed_count = 0;
}

void *explore_allocate(size_t size) {
    size = (size + 63) & ~(size_t)63;
    if (arena_next + size > arena + ARENA_SIZE) abort();
    void *memory = arena_next;
    arena_next += size;
    memset(memory, 0, size);
    return memory;
}

void explore_free(void *memory, size_t size) {
    if (current != NULL) run.model->freed(memory, size);
    spin_changes();
    memset(memory, 0xDD, size);
    if (freed_count == FREED_MAX) abort();
    freed[freed_count].begin = memory;
    freed[freed_count++].end = (char *)memory + size;
}

void core_arena(const void **begin, const void **end) { *begin = arena, *end = arena_next; }

void check_alive(const void *address, const char *site) {
    const char *byte = address;
    for (int i = 0; i < freed_count; i++)
        if (byte >= freed[i].begin && byte < freed[i].end) explore_fail("%s: access to freed memory", site);
    const fiber_t *fiber = fiber_on_stack(address);
    if (fiber != NULL && fiber != current && (fiber->done || byte < (char *)fiber->sp))
        explore_fail("%s: access to a frame of thread %d that has returned", site, index_of(fiber));
}
