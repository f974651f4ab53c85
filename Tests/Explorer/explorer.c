/* explorer.c: what explorer.h has for the threads of clients besides what the kernel does: they wait for each
 * other, and order what they do. Its memory is allocation.c's, and a failure ends the schedule in core.c. */
#include "run.h"

#include "hooks.h"
#include "spin.h"

int64_t explore_now(void) { return run.now; }

void explore_set(uint32_t *word, uint32_t value) {
    explore_rmw(word, sizeof *word, EXPLORE_EXCHANGE, value, __ATOMIC_ACQ_REL, "explore_set");
}

void explore_point(void) {
    point(OP_POINT, NULL, "point");
    stepped(current, OP_POINT);
    spin_reads(SPIN_NOTHING, NULL, 0, 0);
}

void explore_wait(const uint32_t *word, uint32_t value) {
    if (current == NULL) explore_fail("a wait in setup or check");
    run.model->system_call();
    current->awaited = value;
    point(OP_UNTIL, word, "explore_wait");
    check_alive(word, "explore_wait");
    run.model->look(word, true);
    spin_changes();
    note(index_of(current), OP_UNTIL, "explore_wait", word, *word);
}

/* What the other thread does next comes after this. */
void explore_wait_asleep(int thread) {
    if (current == NULL) explore_fail("a wait in setup or check");
    run.model->system_call();
    current->awaited = (uint32_t)thread;
    point(OP_UNTIL_ASLEEP, NULL, "explore_wait_asleep");
    const fiber_t *fiber = &fibers[thread];
    stepped(current, fiber->chain);
    if (!fiber->done) happened(&current->chain, (const char *)fiber->address + 1, true);
    spin_changes();
    note(index_of(current), OP_UNTIL_ASLEEP, "explore_wait_asleep", NULL, (uint64_t)thread);
}

void explore_order(const void *address) {
    if (current == NULL) return;
    run.model->locked(address);
    run.model->unlocking(address);
}
