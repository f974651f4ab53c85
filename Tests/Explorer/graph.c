/* graph.c: a hash of the happens-before graph. Schedules that lead to the same one are equivalent. */
#include "run.h"

enum { MAP_SIZE = 1 << 13 };

typedef struct {
    const void *address;
    uint64_t epoch, written, read;
} cell_t;

uint64_t state_hash;
uint64_t time_in_graph;
static uint64_t epoch; /* the schedule's number: a cell with another one is empty */
static cell_t cells[MAP_SIZE];

void graph_begin(void) {
    epoch++;
    state_hash = 0;
}

static cell_t *cell_of(const void *address) {
    size_t slot = (size_t)(mix((uintptr_t)address, 3) % MAP_SIZE);
    for (;; slot = (slot + 1) % MAP_SIZE) {
        cell_t *cell = &cells[slot];
        if (cell->epoch != epoch) {
            *cell = (cell_t){ address, epoch, 0, 0 };
            return cell;
        }
        if (cell->address == address) return cell;
    }
}

uint64_t happened(uint64_t *chain, const void *address, bool writes) {
    cell_t *cell = cell_of(address);
    uint64_t hash = mix(*chain, cell->written);
    if (writes) {
        hash = mix(hash, cell->read);
        cell->written = hash;
        cell->read = 0;
    } else cell->read += hash;
    *chain = hash;
    state_hash += hash;
    return cell->written;
}

void stepped(fiber_t *fiber, uint64_t what) {
    fiber->chain = mix(fiber->chain, what);
    state_hash += fiber->chain;
}

uint64_t core_written(const void *address) { return cell_of(address)->written; }

uint64_t core_state_of_cells(void) {
    uint64_t hash = 0;
    for (size_t i = 0; i < MAP_SIZE; i++)
        if (cells[i].epoch == epoch)
            hash += mix((uintptr_t)cells[i].address, *(const uint64_t *)((uintptr_t)cells[i].address & ~(uintptr_t)7));
    return hash;
}
