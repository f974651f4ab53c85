/* places.c: see places.h. */
#include "observe/places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/platform.h"

static int compare(const void *a, const void *b) {
    uintptr_t left = ((const csk_place_t *)a)->address, right = ((const csk_place_t *)b)->address;
    return left < right ? -1 : left > right;
}

int csk_places_open(csk_places_t *places, const csk_profile_entry_t *entries, size_t count, uint32_t side) {
    /* Files are read, and a thread that was cancelled meanwhile would lose memory. */
    *places = (csk_places_t){ .cancellation = csk_platform_keep_thread() };
    int status = csk_symbols_open(&places->symbols);
    if (status != 0) {
        csk_platform_let_thread_go(places->cancellation);
        return status;
    }
    size_t frames = 0, kept = 0;
    for (size_t i = 0; i < count; i++) frames += entries[i].side == side ? entries[i].depth : 0;
    places->places = calloc(frames + 1, sizeof *places->places);
    if (places->places == NULL) {
        csk_symbols_close(&places->symbols);
        csk_platform_let_thread_go(places->cancellation);
        return ENOMEM;
    }
    for (size_t i = 0; i < count; i++)
        for (uint32_t frame = 0; entries[i].side == side && frame < entries[i].depth; frame++)
            places->places[places->count++].address = entries[i].frames[frame] - 1;
    qsort(places->places, places->count, sizeof *places->places, compare);
    for (size_t i = 0; i < places->count; i++)
        if (i == 0 || places->places[i].address != places->places[kept - 1].address)
            places->places[kept++] = places->places[i];
    places->count = kept;
    for (size_t i = 0; i < kept; i++) {
        csk_place_t *place = &places->places[i];
        place->module = csk_symbols_module(&places->symbols, place->address);
        if (place->module != NULL) place->linked = csk_symbols_name(place->module, place->address);
        if (place->linked != NULL) place->name = csk_symbols_name_in_source(place->linked);
    }
    return 0;
}

void csk_places_close(csk_places_t *places) {
    for (size_t i = 0; i < places->count; i++) free(places->places[i].name);
    free(places->places);
    csk_symbols_close(&places->symbols);
    csk_platform_let_thread_go(places->cancellation);
}

size_t csk_places_of(const csk_places_t *places, uintptr_t frame) {
    csk_place_t wanted = { .address = frame - 1 };
    const csk_place_t *found = bsearch(&wanted, places->places, places->count, sizeof wanted, compare);
    return (size_t)(found - places->places);
}
