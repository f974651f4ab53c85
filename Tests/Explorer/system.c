/* system.c: what the system does for the kernel in a schedule: the clock, sleeping and waking, membarriers, threads and
 * forks. platform_explored.c calls it, pthread_explored.c sleeps and wakes by it. */
#include "run.h"

#include "csynckernel/base.h"
#include "internal.h"
#include "spin.h"
#include "turns.h"

/* ---- Time -------------------------------------------------------------------------------------------------------- */

void explore_pause(const char *site) {
    (void)site;
    run.now += 2500;
    if (current != NULL) happened(&current->chain, &time_in_graph, true);
}

int64_t core_clock(const char *site) {
    if (current == NULL) return run.now;
    point(OP_CLOCK, NULL, site);
    happened(&current->chain, &time_in_graph, false);
    turns_clock();
    spin_reads(SPIN_CLOCK, NULL, (uint64_t)run.now, (uint64_t)run.now);
    note(index_of(current), OP_CLOCK, site, NULL, (uint64_t)run.now);
    return run.now;
}

void core_yield(const char *site) {
    if (current == NULL) return;
    current->yielded = run.somebody_yielded = true;
    point(OP_YIELD, NULL, site);
    stepped(current, OP_YIELD);
    spin_reads(SPIN_NOTHING, NULL, 0, 0);
    note(index_of(current), OP_YIELD, site, NULL, 0);
}

void core_await(const char *site) {
    if (current != NULL) spin_awaits();
    core_yield(site);
}

/* ---- Sleeping and waking ----------------------------------------------------------------------------------------- */

int sleep_on(void *address, int64_t deadline, const char *site) {
    static unsigned long park_count;
    current->woken = current->timed_out = false;
    current->deadline = deadline;
    current->park_order = ++park_count;
    spin_changes();
    point(OP_PARKED, address, site);
    current->deadline = INT64_MAX;
    bool timed_out = !current->woken && current->timed_out;
    happened(&current->chain, timed_out ? (void *)&time_in_graph : (char *)address + 1, true);
    note(index_of(current), OP_PARKED, site, address, (uint64_t)timed_out);
    return timed_out ? ETIMEDOUT : 0;
}

int core_park(uint32_t *word, uint32_t expected, int64_t deadline, const char *site) {
    if (current == NULL) explore_fail("a park in setup or check");
    point(OP_PARK, word, site);
    run.model->system_call();
    check_alive(word, site);
    run.model->look(word, false);
    happened(&current->chain, (char *)word + 1, true);
    note(index_of(current), OP_PARK, site, word, *word);
    if (*word == expected) return sleep_on(word, deadline, site);
    spin_reads(SPIN_MEMORY, word, run.model->newest(index_of(current), word), *word);
    return 0;
}

static void wake_sleepers(const void *address, int count) {
    for (; count > 0; count--) {
        fiber_t *first = NULL;
        for (int i = 0; i < fiber_count; i++) {
            fiber_t *fiber = &fibers[i];
            bool sleeps = !fiber->done && fiber->op == OP_PARKED && !fiber->woken && fiber->address == address;
            if (sleeps && (first == NULL || fiber->park_order < first->park_order)) first = fiber;
        }
        if (first == NULL) return;
        first->woken = true;
    }
}

void core_wake(const void *address, int count, const char *site) {
    if (current == NULL) {
        wake_sleepers(address, count);
        return;
    }
    point(OP_WAKE, address, site);
    run.model->system_call();
    spin_changes();
    happened(&current->chain, (const char *)address + 1, true);
    note(index_of(current), OP_WAKE, site, address, (uint64_t)count);
    wake_sleepers(address, count);
}

/* ---- Membarriers, forks, threads --------------------------------------------------------------------------------- */

bool core_looks(void) { return run.client->is_late != NULL && !run.client->without_time; }
bool core_has_membarrier(void) { return !run.client->without_membarrier; }
bool core_changes_overtake(void) { return run.client->changes_overtake; }

void core_membarrier(const char *site) {
    if (current != NULL) run.model->membarrier(site);
}

/* What the others have on their stacks is not for the child: it counts as returned. */
void core_fork(const char *site) {
    point(OP_FORK, NULL, site);
    run.model->system_call();
    spin_changes();
    for (int i = 0; i < fiber_count; i++) {
        current->chain = mix(current->chain, fibers[i].chain);
        if (&fibers[i] != current) fibers[i].done = true;
    }
    run.model->forked();
    state_hash += current->chain;
    note(index_of(current), OP_FORK, site, NULL, 0);
}

int core_start_thread(void (*body)(void *), void *context) {
    if (current != NULL) run.model->system_call();
    spin_changes();
    if (fiber_count == MAX_FIBERS) return EAGAIN;
    fiber_t *fiber = new_fiber(body, context, true);
    if (current != NULL) fiber->chain = mix(fiber->chain, current->chain);
    return 0;
}
