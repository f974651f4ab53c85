/* profiled.h: what the profile says of waits at a place: a function of the test's own, which the stacks name. */
#ifndef CSK_TEST_PROFILED_H
#define CSK_TEST_PROFILED_H

#include "test.h"

#include "csynckernel/profile.h"
#include "observe/symbols.h"

/* The innermost function of the stack whose name begins so; NULL: none. */
static inline const char *function_in_stack(const csk_symbols_t *symbols, const csk_profile_entry_t *entry,
                                            const char *prefix) {
    for (uint32_t frame = 0; frame < entry->depth; frame++) {
        const csk_module_t *module = csk_symbols_module(symbols, entry->frames[frame] - 1);
        const char *name = module != NULL ? csk_symbols_name(module, entry->frames[frame] - 1) : NULL;
        if (name != NULL && strncmp(name, prefix, strlen(prefix)) == 0) return name;
    }
    return NULL;
}

/* The waits at the object of that name, all of which wait in that way, in the function `place`. */
typedef struct {
    const csk_symbols_t *symbols;
    const char *name, *place;
    uint32_t waiter; /* CSK_PROFILE_THREAD, ... */
    double contentions;
    int64_t delay_ns;
} profiled_t;

/* For csk_profile_read. Functions that wait are called wait_... */
static inline void add_profiled(const csk_profile_entry_t *entry, void *context) {
    profiled_t *wanted = context;
    if (entry->name == NULL || strcmp(entry->name, wanted->name) != 0) return;
    CHECK_EQ(entry->side, CSK_PROFILE_WAITED);
    CHECK_EQ(entry->waiter, wanted->waiter);
    const char *name = function_in_stack(wanted->symbols, entry, "wait_");
    CHECK(name != NULL && strcmp(name, wanted->place) == 0);
    wanted->contentions += entry->contentions;
    wanted->delay_ns += entry->delay_ns;
}

#endif
