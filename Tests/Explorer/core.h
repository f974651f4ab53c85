/* core.h: between the core, which runs one schedule, and the strategies, which choose it. */
#ifndef EXPLORER_CORE_H
#define EXPLORER_CORE_H

#include "explorer.h"

enum { MAX_FIBERS = EXPLORE_THREADS + 6, MAX_STEPS = 20000, MAX_CHOICES = 4 * MAX_FIBERS + 1 };

/* Who makes a step: a fiber, the store buffer of one, time, or a wake without reason. */
enum {
    ACTOR_FIBER = 0,
    ACTOR_BUFFER = MAX_FIBERS,
    ACTOR_TIME = 2 * MAX_FIBERS,
    ACTOR_SPURIOUS = 2 * MAX_FIBERS + 1,
    ACTORS = 3 * MAX_FIBERS + 1
};

typedef struct {
    uint8_t actor;
    uint8_t cost; /* 1 for a preemption, a wake without reason, time that passes while somebody could run */
} choice_t;

/* Chooses among at least one; the first is to go on as before. -1: give this schedule up. */
typedef int (*chooser_t)(const choice_t *choices, int count, int step, uint64_t state);

typedef enum { OUTCOME_PASSED, OUTCOME_FAILED, OUTCOME_GIVEN_UP } outcome_t;

typedef struct {
    outcome_t outcome;
    int steps;
    char message[512];
} result_t;

void core_run(const explore_client_t *client, chooser_t choose, bool weak, uint64_t order_seed, result_t *result);
/* Prints the steps of the schedule that ran last. */
void core_print_trace(void);

uint64_t random_next(uint64_t *state);

/* Whom a crash is reported for. */
extern const char *core_client_name;

#endif
