/* entered.c: the functions of the kernel that a client enters. */
#include "entered.h"

#include <stdint.h>
#include <stdio.h>

enum { KNOWN = 1 << 14 };

static const char *listing_for;
static unsigned listing;
static struct {
    void *function;
    unsigned listed;
} known[KNOWN];

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

void entered_list_from(const char *client) {
    listing_for = client;
    listing++;
}

void __cyg_profile_func_enter(void *function, void *caller) {
    (void)caller;
    if (listing_for == NULL) return;
    size_t slot = (uintptr_t)function * UINT64_C(0x9E3779B97F4A7C15) >> 50;
    while (known[slot].function != NULL && known[slot].function != function) slot = (slot + 1) % KNOWN;
    if (known[slot].listed == listing) return;
    known[slot].function = function;
    known[slot].listed = listing;
    printf("%s %p\n", listing_for, function);
}

void __cyg_profile_func_exit(void *function, void *caller) { (void)function, (void)caller; }
