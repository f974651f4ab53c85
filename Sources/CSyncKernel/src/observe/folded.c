/* folded.c: a profile as folded stacks. */
#include <stdio.h>
#include <string.h>

#include "observe/places.h"

static int print_place(const csk_place_t *place, csk_print_t print, void *context) {
    char address[32];
    const char *name = csk_place_name(place);
    if (name == NULL) {
        snprintf(address, sizeof address, "0x%lx", (unsigned long)place->address);
        name = address;
    }
    /* A name may contain what separates names. */
    for (size_t length; *name != 0; name += length) {
        length = strcspn(name, ";\n");
        int status = length > 0 ? print(context, name, length) : print(context, ":", length = 1);
        if (status != 0) return status;
    }
    return 0;
}

static int print_entry(const csk_places_t *places, const csk_profile_entry_t *entry, csk_print_t print, void *context) {
    for (uint32_t frame = entry->depth; frame-- > 0;) {
        int status = print_place(&places->places[csk_places_of(places, entry->frames[frame])], print, context);
        if (status == 0 && frame > 0) status = print(context, ";", 1);
        if (status != 0) return status;
    }
    char end[32];
    return print(context, end, (size_t)snprintf(end, sizeof end, " %lld\n", (long long)entry->delay_ns));
}

int csk_profile_print_folded(const csk_profile_entry_t *entries, size_t count, uint32_t side, csk_print_t print,
                             void *context) {
    csk_places_t places;
    int status = csk_places_open(&places, entries, count, side);
    if (status != 0) return status;
    for (size_t i = 0; i < count && status == 0; i++)
        if (entries[i].side == side) status = print_entry(&places, &entries[i], print, context);
    csk_places_close(&places);
    return status;
}
