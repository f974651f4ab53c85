/* strategy.h: which schedules are run. */
#ifndef EXPLORER_STRATEGY_H
#define EXPLORER_STRATEGY_H

#include "core.h"

typedef struct {
    uint64_t schedules, skipped;          /* skipped: given up because an equivalent schedule had been run */
    bool complete;                        /* exhaustive: nothing within the bound is left */
    result_t failure;                     /* its outcome says whether there was one */
    uint64_t seed;                        /* of a random failure */
    void (*each)(const result_t *result); /* if not NULL, called after each schedule of an exhaustive search */
} search_t;

/* By which memory model, and how many messages that are not the newest may be read or placed in a schedule of an
 * exhaustive search. Preemptions: -1 for as many as the client says. COST_MOST: no bound. */
extern memory_t search_memory;
extern int search_preemptions, search_stale;

/* Random schedules with the seeds first, first + 1, ...; stops at the first failure. */
void search_randomly(const explore_client_t *client, uint64_t first, uint64_t count, search_t *search);
/* All schedules with at most so many preemptions and stale messages, fewest first; gives up after `limit` of them. */
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
