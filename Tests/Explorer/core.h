/* core.h: between the core, which runs one schedule, and the strategies, which choose it. */
#ifndef EXPLORER_CORE_H
#define EXPLORER_CORE_H

#include "explorer.h"

enum { MAX_FIBERS = EXPLORE_THREADS + 6, MAX_STEPS = 20000, MAX_MESSAGES = 24, MAX_CHOICES = 5 * MAX_FIBERS + 1 };

/* Who makes a step: a fiber, the store buffer of one, time, a wake without reason, or a membarrier's fence in a fiber.
 * Behind them which message a load reads or a store is placed behind, counted from the newest. */
enum {
    ACTOR_FIBER = 0,
    ACTOR_BUFFER = MAX_FIBERS,
    ACTOR_TIME = 2 * MAX_FIBERS,
    ACTOR_SPURIOUS = 2 * MAX_FIBERS + 1,
    ACTOR_INTERRUPT = 3 * MAX_FIBERS + 1,
    ACTOR_MESSAGE = 4 * MAX_FIBERS + 1,
    ACTORS = ACTOR_MESSAGE + MAX_MESSAGES
};

/* What a choice costs, and what a schedule has spent: of two budgets. */
enum {
    COST_PREEMPTION = 1, /* also a wake without reason, and time that passes while somebody could run */
    COST_STALE = 0x100,  /* a message that is not the newest */
    COST_MOST = 0xFF     /* of each: no bound */
};

typedef struct {
    uint8_t actor;
    uint16_t cost;
} choice_t;

/* Chooses among at least one; the first is to go on as before. -1: give this schedule up. `step` counts choices. */
typedef int (*chooser_t)(const choice_t *choices, int count, int step, uint64_t state);

/* What a load returns: by store buffers, by these with relaxed stores that overtake, by RC11's views. */
typedef enum { MEMORY_BUFFERS = 't', MEMORY_WEAK_BUFFERS = 'w', MEMORY_RC11 = 'r' } memory_t;

/* What belongs to a schedule besides its choices. */
typedef struct {
    memory_t memory;
    uint64_t seed; /* of MEMORY_WEAK_BUFFERS: which store overtakes which */
    int known;     /* so many of the first choices are those of an earlier schedule that passed them, but for the last
                    * one: what can happen besides is not asked again */
    int (*known_actor)(int choice);
} schedule_t;

typedef enum { OUTCOME_PASSED, OUTCOME_FAILED, OUTCOME_GIVEN_UP } outcome_t;

typedef struct {
    outcome_t outcome;
    int steps;
    char message[512];
} result_t;

void core_run(const explore_client_t *client, chooser_t choose, const schedule_t *schedule, result_t *result);
/* Prints the steps of the schedule that ran last. */
void core_print_trace(void);

static inline uint64_t random_next(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* Whom a crash is reported for. */
extern const char *core_client_name;

#endif
