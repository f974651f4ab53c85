/* accesses.c: the atomic accesses of the kernel's sources, as hooks.h has them. A thread's goes to the memory model;
 * one in setup, check or an invariant, which are no thread, is made at once. */
#include "run.h"

#include <string.h>

#include "hooks.h"
#include "weaken.h"

uint64_t read_memory(const void *address, unsigned size) {
    uint64_t value = 0;
    memcpy(&value, address, size);
    return value;
}

uint64_t changed_value(uint64_t before, int operation, uint64_t operand) {
    switch (operation) {
    case EXPLORE_ADD: return before + operand;
    case EXPLORE_OR: return before | operand;
    case EXPLORE_AND: return before & operand;
    default: return operand;
    }
}

uint64_t explore_load(const void *address, unsigned size, int order, const char *site) {
    if (current == NULL) return read_memory(address, size);
    return run.model->load(address, size, weakened("load", order, site), site);
}

void explore_store(void *address, unsigned size, uint64_t value, int order, const char *site) {
    if (current == NULL) memcpy(address, &value, size);
    else run.model->store(address, size, value, weakened("store", order, site), site);
}

uint64_t explore_rmw(void *address, unsigned size, int operation, uint64_t operand, int order, const char *site) {
    static const char *const names[] = { "exchange", "add", "or", "and" };
    if (current != NULL)
        return run.model->rmw(address, size, operation, operand, weakened(names[operation], order, site), site);
    uint64_t before = read_memory(address, size), after = changed_value(before, operation, operand);
    memcpy(address, &after, size);
    return before;
}

bool explore_cas(void *address, unsigned size, void *expected, uint64_t desired, int success, int failure,
                 const char *site) {
    if (current != NULL)
        return run.model->cas(address, size, expected, desired, weakened("cas", success, site),
                              weakened("failure", failure, site), site);
    bool swapped = memcmp(address, expected, size) == 0;
    if (swapped) memcpy(address, &desired, size);
    else memcpy(expected, address, size);
    return swapped;
}

void explore_fence(int order, const char *site) {
    int weaker = current != NULL ? weakened("fence", order, site) : -1;
    if (weaker != -1) run.model->fence(weaker, site);
}
