/* run.h: what the parts of the core share while a schedule runs: core.c, which runs it, choices.c, which has what can
 * happen next, fibers.c, system.c with pthread_explored.c, accesses.c, allocation.c, graph.c, trace.c, and explorer.c.
 * What the memory models see of it is in machine.h. */
#ifndef EXPLORER_RUN_H
#define EXPLORER_RUN_H

#include "machine.h"

typedef struct {
    const explore_client_t *client;
    const model_t *model;
    int64_t now;
    bool somebody_yielded; /* since a fiber went on last */
} run_t;

extern run_t run;

/* ---- A schedule begins ------------------------------------------------------------------------------------------- */

void fibers_begin(void);
/* All have ended: what is called from now on has no thread-local variables of theirs. */
void fibers_end(void);
void allocation_begin(void);
void graph_begin(void);
void trace_begin(void);
void choices_begin(void);

/* ---- fibers.c ---------------------------------------------------------------------------------------------------- */

fiber_t *new_fiber(void (*body)(void *), void *context, bool daemon);
/* The scheduler lets this fiber go on, and comes back when the fiber has called `to_scheduler`. */
void to_fiber(fiber_t *fiber);
void to_scheduler(void);
/* Whose stack the address is on, or NULL. */
const fiber_t *fiber_on_stack(const void *address);

/* ---- choices.c --------------------------------------------------------------------------------------------------- */

/* No time passes while there is something that the memory must do: a schedule could let it pass for ever.
 * What can happen next; the first is to go on with the fiber that ran last. Who yields goes behind all others, and
 * behind what the memory does. */
int list_choices(int last, choice_t *choices);
/* It happens. A fiber that has made the step is the last one. */
void perform(int actor, int *last);
bool is_enabled(const fiber_t *fiber);
/* Whether a thread goes round a loop in vain. */
bool somebody_spins(void);
/* With all clients gone, only sleeping helpers are left, and nothing that the memory has to do. */
bool is_quiet(void);

/* ---- Others ------------------------------------------------------------------------------------------------------ */

/* What stands for time in the graph: who reads the clock reads it, and time that passes writes it. */
extern uint64_t time_in_graph;
bool trace_is_full(void);
/* Sleeps on an address: a futex's or a condition variable's; whatever must be atomic with falling asleep has been
 * done. */
int sleep_on(void *address, int64_t deadline, const char *site);

#endif
