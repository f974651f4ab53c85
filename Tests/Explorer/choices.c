/* choices.c: what can happen next in a schedule, and that it happens: a thread's step, a step of the memory model, time
 * that passes, a wake without a reason. */
#include "run.h"

#include <string.h>

#include "spin.h"
#include "turns.h"

static int spurious_left, jumps_left;

void choices_begin(void) {
    spurious_left = run.client->spurious;
    jumps_left = run.client->without_time ? 0 : 2;
    run.somebody_yielded = false;
}

/* ---- Who can go on ----------------------------------------------------------------------------------------------- */

/* In a park, or at a pthread mutex that is held; or it has ended. */
static bool is_asleep(const fiber_t *fiber) {
    if (fiber->done) return true;
    if (fiber->op == OP_LOCK) return *(const uint32_t *)fiber->address != 0;
    return fiber->op == OP_PARKED && !fiber->woken && fiber->deadline > run.now;
}

static bool is_late_here(const fiber_t *fiber) {
    return fiber->op == OP_PARKED && run.client->is_late(index_of(fiber), fiber->address);
}
/* Whether no thread is left that is not late. */
static bool only_late_are_left(void) {
    for (int i = 0; i < fiber_count; i++)
        if (!fibers[i].done && !fibers[i].daemon && !is_late_here(&fibers[i])) return false;
    return true;
}
static bool is_held_up(const fiber_t *fiber) {
    return run.client->is_late != NULL && is_late_here(fiber) && !only_late_are_left();
}

bool is_enabled(const fiber_t *fiber) {
    if (!fiber->exists || fiber->done || (fiber->blocked && spin_is_blocked(index_of(fiber)))) return false;
    switch (fiber->op) {
    case OP_PARKED: return (fiber->woken || fiber->deadline <= run.now) && !is_held_up(fiber);
    case OP_LOCK: return *(const uint32_t *)fiber->address == 0;
    case OP_UNTIL: return *(const uint32_t *)fiber->address >= fiber->awaited;
    case OP_UNTIL_ASLEEP: return is_asleep(&fibers[fiber->awaited]);
    case OP_MEMBARRIER_END: return run.model->is_enabled(index_of(fiber));
    default: return true;
    }
}

static int64_t next_deadline(void) {
    int64_t first = INT64_MAX;
    for (int i = 0; i < fiber_count; i++) {
        const fiber_t *fiber = &fibers[i];
        bool sleeps = !fiber->done && fiber->op == OP_PARKED && !fiber->woken && fiber->deadline > run.now;
        if (sleeps && fiber->deadline < first && !is_held_up(fiber)) first = fiber->deadline;
    }
    return first;
}

/* Who reads the clock again and again goes on when time passes. */
static bool somebody_reads_the_clock(void) {
    for (int i = 0; i < fiber_count; i++)
        if (spin_is_blocked(i) && spin_reads_clock(i)) return true;
    return false;
}
bool somebody_spins(void) {
    for (int i = 0; i < fiber_count; i++)
        if (!fibers[i].done && spin_is_blocked(i)) return true;
    return false;
}

int list_choices(int last, choice_t *choices) {
    choice_t memory[2 * MAX_FIBERS];
    int must = run.model->must(choices), count = must, may = run.model->may(memory);
    bool preempting = must > 0, goes_on = last >= 0 && is_enabled(&fibers[last]) && !fibers[last].yielded;
    if (goes_on) choices[count++] = (choice_t){ (uint8_t)last, preempting ? COST_PREEMPTION : 0 };
    preempting = preempting || goes_on;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < fiber_count; i++) {
            int f = (last + 1 + i) % fiber_count;
            if ((f == last && goes_on) || !is_enabled(&fibers[f]) || fibers[f].yielded != (round == 1)) continue;
            choices[count++] = (choice_t){ (uint8_t)f, preempting };
        }
        if (count != 0 || may != 0) break;
    }
    bool nobody = count == 0;
    memcpy(choices + count, memory, sizeof *choices * (size_t)may);
    count += may;
    bool jumps = nobody ? somebody_reads_the_clock() : jumps_left > 0;
    if (must == 0 && (next_deadline() != INT64_MAX || jumps)) choices[count++] = (choice_t){ ACTOR_TIME, !nobody };
    if (spurious_left > 0)
        for (int i = 0; i < fiber_count; i++)
            if (!fibers[i].done && fibers[i].op == OP_PARKED && !is_enabled(&fibers[i]))
                choices[count++] = (choice_t){ (uint8_t)(ACTOR_SPURIOUS + i), COST_PREEMPTION };
    return count;
}

bool is_quiet(void) {
    choice_t memory[2 * MAX_FIBERS];
    for (int i = 0; i < fiber_count; i++)
        if (is_enabled(&fibers[i])) return false;
    return run.model->must(memory) + run.model->may(memory) == 0;
}

/* ---- It happens -------------------------------------------------------------------------------------------------- */

void perform(int actor, int *last) {
    if (actor >= ACTOR_INTERRUPT || (actor >= ACTOR_BUFFER && actor < ACTOR_TIME)) {
        run.model->perform(actor);
    } else if (actor >= ACTOR_SPURIOUS) {
        fiber_t *fiber = &fibers[actor - ACTOR_SPURIOUS];
        spurious_left--;
        fiber->woken = true;
        happened(&fiber->chain, (char *)fiber->address + 1, true);
        note(actor, OP_SPURIOUS, fiber->site, fiber->address, 0);
    } else if (actor == ACTOR_TIME) {
        static uint64_t chain;
        if (next_deadline() != INT64_MAX) {
            run.now = next_deadline();
        } else {
            run.now += 1000000;
            if (jumps_left > 0) jumps_left--;
        }
        chain = (uint64_t)run.now;
        turns_clock();
        happened(&chain, &time_in_graph, true);
        note(actor, OP_TIME, "", NULL, (uint64_t)run.now);
    } else {
        fiber_t *fiber = &fibers[actor];
        for (int i = 0; run.somebody_yielded && i < fiber_count; i++) fibers[i].yielded = false;
        run.somebody_yielded = false;
        if (fiber->op == OP_PARKED) fiber->timed_out = !fiber->woken;
        if (fiber->op == OP_START) stepped(fiber, OP_START);
        *last = actor;
        if (fiber->blocked) fiber->blocked = false, fiber->reads = 0; /* it may read something else */
        to_fiber(fiber);
        if (fiber->reads >= SPIN_WINDOW && !fiber->done) spin_arrives(fiber);
    }
}
