/* rcu_model.c: sections and retirement as rcu.h promises them, for the modules above: what is retired is reclaimed in
 * the step in which the last section ends that had begun before. No grace period ends later than that; what a reader
 * may still hold must not need one to. */
#include "rcu/rcu_reclaim.h"
#include "explorer.h"

#include "internal.h"

enum { RETIRED_MAX = 32 };

__thread unsigned long *csk_rcu_levels;
static const csk_rcu_period_t period;
const csk_rcu_period_t *csk_rcu_period = &period;

static struct {
    uint32_t levels[EXPLORE_THREADS + 1];
    struct {
        csk_rcu_node_t *node;
        uint32_t readers;
    } retired[RETIRED_MAX];
} rcu;

void kernel_reset_rcu_model(void) { rcu = (__typeof__(rcu)){ 0 }; }

/* Sections that have ended come before what is reclaimed, and what was retired before it, before later sections. */
static void step(void) {
    if (explore_thread() >= 0) explore_point();
    explore_order(&rcu);
}

/* The last place is for setup and check. */
static int reader(void) {
    int thread = explore_thread();
    return thread < 0 ? EXPLORE_THREADS : thread;
}

static void reclaim(int place) {
    csk_rcu_node_t *node = rcu.retired[place].node;
    rcu.retired[place].node = NULL;
    node->function(node);
}

int csk_rcu_read_lock_slow(void) {
    step();
    rcu.levels[reader()]++;
    return 0;
}

int csk_rcu_read_unlock_slow(void) {
    step();
    int self = reader();
    if (rcu.levels[self] == 0) explore_fail("a section is left that was not entered");
    if (--rcu.levels[self] != 0) return 0;
    for (int i = 0; i < RETIRED_MAX; i++) {
        rcu.retired[i].readers &= ~(1u << self);
        if (rcu.retired[i].node != NULL && rcu.retired[i].readers == 0) reclaim(i);
    }
    return 0;
}

bool csk_rcu_is_reading(void) { return rcu.levels[reader()] != 0; }

void csk_rcu_next_step(csk_rcu_steps_t *steps, csk_rcu_function_t function) {
    csk_rcu_retire_always(&steps->node, function);
}
void csk_rcu_end_steps(csk_rcu_steps_t *steps) { (void)steps; }

int csk_rcu_retire(csk_rcu_node_t *node, csk_rcu_function_t function) { return csk_rcu_retire_always(node, function); }

int csk_rcu_retire_always(csk_rcu_node_t *node, csk_rcu_function_t function) {
    step();
    node->function = function;
    uint32_t readers = 0;
    for (int i = 0; i <= EXPLORE_THREADS; i++) readers |= (uint32_t)(rcu.levels[i] != 0) << i;
    int place = 0;
    while (rcu.retired[place].node != NULL)
        if (++place == RETIRED_MAX) explore_fail("more is retired than the model has room for");
    rcu.retired[place].node = node;
    rcu.retired[place].readers = readers;
    if (readers == 0) reclaim(place);
    return 0;
}
