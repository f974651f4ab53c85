/* strategy.h: which schedules are run. */
#ifndef EXPLORER_STRATEGY_H
#define EXPLORER_STRATEGY_H

#include "core.h"

typedef struct {
    uint64_t schedules, skipped; /* skipped: given up because an equivalent schedule had been run */
    bool complete;               /* exhaustive: nothing within the bound is left */
    result_t failure;            /* its outcome says whether there was one */
    uint64_t seed;               /* of a random failure */
} search_t;

/* Random schedules with the seeds first, first + 1, ...; stops at the first failure. */
void search_randomly(const explore_client_t *client, uint64_t first, uint64_t count, search_t *search);
/* All schedules with at most client->preemptions preemptions, fewest first; gives up after `limit` of them. */
void search_exhaustively(const explore_client_t *client, uint64_t limit, search_t *search);
/* Whether that client has more than can all be run each time (partly.c). */
bool is_partly_explored(const char *client);

/* Runs the schedule that ran last again and again, each time with one deviation from going on as before less, as long
 * as it fails; leaves the shortest as the last one run and returns how many deviations it has. */
int shorten(const explore_client_t *client, result_t *result);
/* The deviations as text, "step:actor,...", and back. */
void print_deviations(void);
bool run_deviations(const explore_client_t *client, const char *text, result_t *result);

#endif
