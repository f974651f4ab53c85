/* weaken.c: the step that orders.py asks for, and which accesses a client comes to. */
#include "weaken.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool weaken_lists_sites, weaken_sees_accesses;

enum { KNOWN = 1 << 14 };

/* Where the step is; a site is the text of one address, which stays the same, so the address decides after a look. */
static char place[256], operation_there[16];
static int order_there, weaker;
static struct {
    const char *site;
    bool is_place;
} known[KNOWN];

bool weaken(const char *text) {
    char *end, copy[256];
    if (strlen(text) >= sizeof copy) return false;
    strcpy(copy, text);
    for (int field = 0; field < 3; field++) {
        char *colon = strrchr(copy, ':');
        if (colon == NULL) return false;
        *colon = 0;
        if (field == 2) {
            if (strlen(colon + 1) >= sizeof operation_there) return false;
            strcpy(operation_there, colon + 1);
            break;
        }
        *(field == 0 ? &weaker : &order_there) = (int)strtol(colon + 1, &end, 10);
        if (*end != 0) return false;
    }
    strcpy(place, copy);
    weaken_sees_accesses = true;
    return place[0] != 0;
}

static bool ends_with_place(const char *site) {
    size_t length = strlen(site), wanted = strlen(place);
    return length > wanted && site[length - wanted - 1] == '/' && strcmp(site + length - wanted, place) == 0;
}

static const char *listing_for;
static unsigned listing;
static struct {
    const char *site;
    unsigned listed;
} listed[KNOWN];

void weaken_list_from(const char *client) {
    weaken_sees_accesses = true;
    listing_for = client;
    listing++;
}

static size_t slot_of(const char *site) { return (uintptr_t)site * UINT64_C(0x9E3779B97F4A7C15) >> 50; }

static void list(const char *site) {
    size_t slot = slot_of(site);
    while (listed[slot].site != NULL && listed[slot].site != site) slot = (slot + 1) % KNOWN;
    if (listed[slot].listed == listing) return;
    listed[slot].site = site;
    listed[slot].listed = listing;
    printf("%s %s\n", listing_for, site);
}

int weaken_order(const char *operation, int order, const char *site) {
    if (listing_for != NULL) list(site);
    if (place[0] == 0 || order != order_there) return order;
    size_t slot = slot_of(site);
    while (known[slot].site != NULL && known[slot].site != site) slot = (slot + 1) % KNOWN;
    if (known[slot].site == NULL) {
        known[slot].site = site;
        known[slot].is_place = ends_with_place(site);
    }
    return known[slot].is_place && strcmp(operation, operation_there) == 0 ? weaker : order;
}
