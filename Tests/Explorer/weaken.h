/* weaken.h: one memory order of the kernel weaker than it stands in its sources, for orders.py. */
#ifndef EXPLORER_WEAKEN_H
#define EXPLORER_WEAKEN_H

#include <stdbool.h>

/* "FILE:LINE:OPERATION:ORDER:WEAKER", as order_sites.py names a step. False: this is no step. */
bool weaken(const char *text);
/* From here on the sites that clients come to are printed, each once a client. */
extern bool weaken_lists_sites;
void weaken_list_from(const char *client);

extern bool weaken_sees_accesses;
int weaken_order(const char *operation, int order, const char *site);

/* The order of an access: as it stands, unless this is the one that is weakened; -1 for a fence that is gone. */
static inline int weakened(const char *operation, int order, const char *site) {
    return weaken_sees_accesses ? weaken_order(operation, order, site) : order;
}

#endif
