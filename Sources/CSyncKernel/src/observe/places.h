/* places.h: the places in code that the stacks of some entries name, each once, with its function's name. */
#ifndef CSK_INTERNAL_PLACES_H
#define CSK_INTERNAL_PLACES_H

#include "csynckernel/profile.h"
#include "observe/symbols.h"

typedef struct csk_place {
    uintptr_t address; /* in the call: a return address may belong to the next function */
    const csk_module_t *module;
    const char *linked; /* the linker's name; NULL for none */
    char *name;         /* as the source has it; NULL where `linked` is that */
} csk_place_t;

typedef struct csk_places {
    csk_symbols_t symbols;
    csk_place_t *places; /* by address */
    size_t count;
    int cancellation; /* as it was before: it is disabled until csk_places_close */
} csk_places_t;

/* Returns 0 or ENOMEM. */
int csk_places_open(csk_places_t *places, const csk_profile_entry_t *entries, size_t count, uint32_t side);
void csk_places_close(csk_places_t *places);
/* The number of the place to which a frame returns. */
size_t csk_places_of(const csk_places_t *places, uintptr_t frame);

static inline const char *csk_place_name(const csk_place_t *place) {
    return place->name != NULL ? place->name : place->linked;
}

#endif
