/* model_sb.c: memory as sequential consistency with store buffers: a plain or release store reaches memory in a step of
 * its own, some time later, and its thread's own loads see it before that. Loads are never reordered. */
#include <string.h>

#include "hooks.h"
#include "internal.h"
#include "machine.h"
#include "spin.h"

enum { BUFFER_SIZE = 32 };

typedef struct {
    void *address;
    unsigned size;
    bool release;
    uint64_t value, hash;
    const char *site;
} entry_t;

typedef struct {
    entry_t entries[BUFFER_SIZE];
    int count;
    uint64_t chain;
} buffer_t;

static buffer_t buffers[MAX_FIBERS];
static bool weak; /* relaxed stores may overtake each other */
static uint64_t order_state;

static void begin(const schedule_t *schedule) {
    weak = schedule->memory == MEMORY_WEAK_BUFFERS;
    order_state = schedule->seed;
}

static void thread_begins(int thread) {
    buffers[thread].count = 0;
    buffers[thread].chain = mix((uint64_t)thread + 1, 19);
}

static buffer_t *own(void) { return &buffers[index_of(current)]; }

static void arrive(int thread, int which) {
    buffer_t *buffer = &buffers[thread];
    entry_t entry = buffer->entries[which];
    memmove(&buffer->entries[which], &buffer->entries[which + 1], (size_t)(buffer->count - which - 1) * sizeof entry);
    buffer->count--;
    check_alive(entry.address, entry.site);
    memcpy(entry.address, &entry.value, entry.size);
    buffer->chain = mix(buffer->chain, entry.hash);
    happened(&buffer->chain, entry.address, true);
    note(ACTOR_BUFFER + thread, OP_FLUSH, entry.site, entry.address, entry.value);
}

static void drain(int thread) {
    while (buffers[thread].count > 0) arrive(thread, 0);
    fibers[thread].chain = mix(fibers[thread].chain, buffers[thread].chain);
}
static void drain_own(void) { drain(index_of(current)); }

static bool releases(int order) { return order != __ATOMIC_RELAXED && order != __ATOMIC_ACQUIRE; }

/* Before a read-modify-write. Where stores overtake each other, and the client wants it, one that is no release
 * overtakes them too, but for those to its own address and what must be before these. */
static void drain_before(const void *address, int order) {
    buffer_t *buffer = own();
    int count = buffer->count;
    if (weak && core_changes_overtake() && !releases(order))
        while (count > 0 && buffer->entries[count - 1].address != address) count--;
    if (count == buffer->count) drain_own();
    else
        for (; count > 0; count--) arrive(index_of(current), 0);
}

static bool may_arrive(const buffer_t *buffer, int which) {
    if (which == 0) return true;
    if (!weak || buffer->entries[which].release) return false;
    for (int i = 0; i < which; i++)
        if (buffer->entries[i].address == buffer->entries[which].address) return false;
    return true;
}

/* One store of the buffer reaches memory; where stores overtake any that may. */
static void perform(int actor) {
    int thread = actor - ACTOR_BUFFER, which = 0;
    if (weak) {
        do which = (int)(random_next(&order_state) % (uint64_t)buffers[thread].count);
        while (!may_arrive(&buffers[thread], which));
    }
    arrive(thread, which);
}

static uint64_t load(const void *address, unsigned size, int order, const char *site) {
    (void)order;
    point(OP_LOAD, address, site);
    check_alive(address, site);
    const buffer_t *buffer = own();
    for (int i = buffer->count - 1; i >= 0; i--) {
        if (buffer->entries[i].address != address) continue;
        note(index_of(current), OP_LOAD, site, address, buffer->entries[i].value);
        spin_reads(SPIN_MEMORY, address, buffer->entries[i].hash, buffer->entries[i].value);
        return buffer->entries[i].value;
    }
    uint64_t value = read_memory(address, size);
    spin_reads(SPIN_MEMORY, address, happened(&current->chain, address, false), value);
    note(index_of(current), OP_LOAD, site, address, value);
    return value;
}

static uint64_t rmw(void *address, unsigned size, int operation, uint64_t operand, int order, const char *site) {
    point(OP_RMW, address, site);
    drain_before(address, order);
    check_alive(address, site);
    happened(&current->chain, address, true);
    uint64_t before = read_memory(address, size), after = changed_value(before, operation, operand);
    memcpy(address, &after, size);
    spin_changes();
    note(index_of(current), OP_RMW, site, address, after);
    return before;
}

static void store(void *address, unsigned size, uint64_t value, int order, const char *site) {
    if (order == __ATOMIC_SEQ_CST) {
        rmw(address, size, EXPLORE_EXCHANGE, value, order, site);
        return;
    }
    /* Its place among the fiber's loads matters to nobody but a membarrier, which drains what has been stored, not what
     * will be. */
    if (core_has_membarrier()) point(OP_STORE, address, site);
    check_alive(address, site);
    buffer_t *buffer = own();
    if (buffer->count == BUFFER_SIZE) arrive(index_of(current), 0);
    stepped(current, value + 1);
    spin_changes();
    buffer->entries[buffer->count++] =
        (entry_t){ address, size, order == __ATOMIC_RELEASE, value, current->chain, site };
    note(index_of(current), OP_STORE, site, address, value);
}

static bool cas(void *address, unsigned size, void *expected, uint64_t desired, int success, int failure,
                const char *site) {
    (void)failure;
    point(OP_CAS, address, site);
    drain_before(address, success);
    check_alive(address, site);
    uint64_t found = read_memory(address, size), wanted = read_memory(expected, size);
    bool swapped = found == wanted;
    if (swapped) memcpy(address, &desired, size);
    else memcpy(expected, &found, size);
    uint64_t mark = happened(&current->chain, address, swapped);
    if (swapped) spin_changes();
    else spin_reads(SPIN_MEMORY, address, mark, found);
    note(index_of(current), OP_CAS, site, address, swapped ? desired : found);
    return swapped;
}

static void fence(int order, const char *site) {
    (void)order;
    point(OP_FENCE, NULL, site);
    drain_own();
    stepped(current, OP_FENCE);
    spin_reads(SPIN_NOTHING, NULL, 0, 0);
    note(index_of(current), OP_FENCE, site, NULL, 0);
}

static void membarrier(const char *site) {
    point(OP_MEMBARRIER, NULL, site);
    spin_changes();
    for (int i = 0; i < fiber_count; i++) {
        drain(i);
        current->chain = mix(current->chain, fibers[i].chain);
    }
    for (int i = 0; i < fiber_count; i++) fibers[i].chain = mix(fibers[i].chain, current->chain);
    state_hash += current->chain;
    note(index_of(current), OP_MEMBARRIER, site, NULL, 0);
}

static void look(const void *address, bool synchronizes) {
    (void)synchronizes;
    happened(&current->chain, address, false);
}

static void nothing(const void *mutex) { (void)mutex; }

/* Stores of others that have not arrived are not in the child's memory. */
static void forked(void) {
    for (int i = 0; i < fiber_count; i++)
        if (&fibers[i] != current) buffers[i].count = 0;
}

/* The thread's own stores came before; another's that has not arrived is a store that nothing orders before this. */
static void freed(void *memory, size_t size) {
    (void)memory, (void)size;
    drain_own();
}

static int must(choice_t *choices) {
    (void)choices;
    return 0;
}
static int may(choice_t *choices) {
    int count = 0;
    for (int i = 0; i < fiber_count; i++)
        if (buffers[i].count > 0) choices[count++] = (choice_t){ (uint8_t)(ACTOR_BUFFER + i), 0 };
    return count;
}
static bool is_enabled(int thread) {
    (void)thread;
    return true;
}

static uint64_t newest(int thread, const void *address) {
    const buffer_t *buffer = &buffers[thread];
    for (int i = buffer->count - 1; i >= 0; i--)
        if (buffer->entries[i].address == address) return buffer->entries[i].hash;
    return core_written(address);
}

/* Memory has one value for all. */
static void hurry(int thread, const void *address) { (void)thread, (void)address; }

static uint64_t pending(void) {
    uint64_t hash = 0;
    for (int i = 0; i < fiber_count; i++)
        for (int e = 0; e < buffers[i].count; e++)
            hash = mix(mix(hash, (uintptr_t)buffers[i].entries[e].address), buffers[i].entries[e].value + (uint64_t)i);
    return hash;
}

const model_t model_sb = {
    .begin = begin,
    .thread_begins = thread_begins,
    .load = load,
    .store = store,
    .rmw = rmw,
    .cas = cas,
    .fence = fence,
    .membarrier = membarrier,
    .system_call = drain_own,
    .look = look,
    .locked = nothing,
    .unlocking = nothing,
    .forked = forked,
    .freed = freed,
    .must = must,
    .may = may,
    .perform = perform,
    .is_enabled = is_enabled,
    .newest = newest,
    .hurry = hurry,
    .pending = pending,
};
