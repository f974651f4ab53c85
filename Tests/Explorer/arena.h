/* arena.h: malloc's functions in the memory of one schedule, for the kernel's modules that allocate: what is freed is
 * known by its size. */
#ifndef EXPLORER_ARENA_H
#define EXPLORER_ARENA_H

#include <string.h>

#include "explorer.h"

enum { ARENA_HEADER = 64 };

static inline size_t *arena_size(void *memory) { return (size_t *)((char *)memory - ARENA_HEADER); }

static inline void *arena_allocate(size_t size) {
    char *memory = (char *)explore_allocate(ARENA_HEADER + size) + ARENA_HEADER;
    *arena_size(memory) = size;
    return memory;
}

static inline void arena_free(void *memory) {
    if (memory != NULL) explore_free(memory, *arena_size(memory));
}

static inline void *arena_extend(void *memory, size_t size) {
    void *larger = arena_allocate(size);
    if (memory != NULL) memcpy(larger, memory, *arena_size(memory));
    arena_free(memory);
    return larger;
}

#endif
