/* rc11_races.c: data races: two accesses of one address of which one writes and one is plain, and neither happens
 * before the other. Plain accesses are seen where the compiler calls for each as it does for ThreadSanitizer
 * (-fsanitize=thread), whose functions these are; they are the kernel's own, not the clients'.
 *
 * An address is known by itself: what overlaps it with another beginning is another address, but for large accesses,
 * which count as many of 4 bytes. */
#include <string.h>

#include "rc11.h"

enum { CELLS = 1 << 13 };

static cell_t cells[CELLS];
static uint64_t epoch;
static int used;

/* What the system has mapped counts as written plainly, as for ThreadSanitizer, by the thread that asked for it. */
enum { REGIONS = 8 };
static struct {
    const char *begin, *end;
    int8_t writer;
    uint32_t write;
    const void *code;
} regions[REGIONS];
static int region_count;

void races_begin(void) {
    epoch++;
    used = region_count = 0;
}

void races_mapped(const void *memory, size_t size) {
    if (current == NULL || !core_checks_races()) return;
    if (region_count == REGIONS) explore_fail("too many mapped regions");
    int self = index_of(current);
    const char *begin = memory;
    uint32_t next = rc11_clock()[self] + 1;
    regions[region_count++] = (__typeof__(regions[0])){ begin, begin + size, (int8_t)self, next,
                                                        __builtin_return_address(0) };
}

static void know_region(cell_t *cell) {
    for (int i = 0; i < region_count; i++) {
        if ((const char *)cell->address < regions[i].begin || (const char *)cell->address >= regions[i].end) continue;
        cell->plain_writer = regions[i].writer;
        cell->plain_write = regions[i].write;
        cell->plain_site = regions[i].code;
    }
}

cell_t *races_cell(const void *address) {
    uint64_t hash = ((uintptr_t)address >> 2) * UINT64_C(0x9E3779B97F4A7C15);
    for (size_t slot = (size_t)(hash >> 51);; slot = (slot + 1) % CELLS) {
        cell_t *cell = &cells[slot];
        if (cell->epoch == epoch) {
            if (cell->address == address) return cell;
            continue;
        }
        if (++used == CELLS) explore_fail("too many addresses");
        memset(cell, 0, sizeof *cell);
        cell->address = address;
        cell->epoch = epoch;
        cell->location = -1;
        cell->plain_writer = -1;
        know_region(cell);
        return cell;
    }
}

static bool is_before(const uint32_t *clocks, int self) {
    const uint32_t *clock = rc11_clock();
    for (int i = 0; i < MAX_FIBERS; i++)
        if (clocks[i] > clock[i] && i != self) return false;
    return true;
}
static bool plain_write_is_before(const cell_t *cell, int self) {
    return cell->plain_writer < 0 || cell->plain_writer == self ||
           cell->plain_write <= rc11_clock()[cell->plain_writer];
}

__attribute__((noreturn)) static void race(const cell_t *cell, const char *site, const void *code, const char *other) {
    if (site != NULL) explore_fail("data race: %s, with a plain %s (code at %p)", site, other, cell->plain_site);
    explore_fail("data race at %p: code at %p, with %s", cell->address, code, other);
}

void races_atomic(cell_t *cell, bool reads, bool writes, const char *site) {
    int self = index_of(current);
    uint32_t number = rc11_clock()[self];
    if (!plain_write_is_before(cell, self)) race(cell, site, NULL, "write");
    if (writes && !is_before(cell->plain_reads, self)) race(cell, site, NULL, "read");
    if (reads) cell->atomic_reads[self] = number;
    if (writes) cell->atomic_writes[self] = number;
}

/* A plain access counts with the thread's next event: only a release after it brings it to others. */
static void plain(const void *address, bool writes, const void *code) {
    int self = index_of(current);
    cell_t *cell = races_cell(address);
    if (!plain_write_is_before(cell, self)) race(cell, NULL, code, "a plain write");
    if (!is_before(cell->atomic_writes, self)) race(cell, NULL, code, "an atomic write");
    cell->plain_site = code;
    if (!writes) {
        cell->plain_reads[self] = rc11_clock()[self] + 1;
        return;
    }
    if (!is_before(cell->plain_reads, self)) race(cell, NULL, code, "a plain read");
    if (!is_before(cell->atomic_reads, self)) race(cell, NULL, code, "an atomic read");
    cell->plain_writer = (int8_t)self;
    cell->plain_write = rc11_clock()[self] + 1;
    if (cell->location >= 0) rc11_plain_write(cell->location);
}

void races_freed(void *memory, size_t size) {
    for (size_t at = 0; at < size; at += 4) plain((char *)memory + at, true, __builtin_return_address(0));
}

/* ---- What the compiler calls ------------------------------------------------------------------------------------- */

static void access_plainly(const void *address, size_t size, bool writes, const void *code) {
    if (current == NULL || !core_checks_races() || is_thread_local(address)) return;
    check_alive(address, "a plain access");
    if (size <= 8) plain(address, writes, code);
    else
        for (size_t at = 0; at < size; at += 4) plain((const char *)address + at, writes, code);
}

#define ACCESS(name, size, writes)           \
    void __tsan_##name(const void *address); \
    void __tsan_##name(const void *address) { access_plainly(address, (size), (writes), __builtin_return_address(0)); }
#define RANGE(name, writes)                                                   \
    void __tsan_##name(const void *address, size_t size);                     \
    void __tsan_##name(const void *address, size_t size) {                    \
        access_plainly(address, size, (writes), __builtin_return_address(0)); \
    }
ACCESS(read1, 1, false)
ACCESS(read2, 2, false)
ACCESS(read4, 4, false)
ACCESS(read8, 8, false)
ACCESS(read16, 16, false)
ACCESS(write1, 1, true)
ACCESS(write2, 2, true)
ACCESS(write4, 4, true)
ACCESS(write8, 8, true)
ACCESS(write16, 16, true)
ACCESS(unaligned_read2, 2, false)
ACCESS(unaligned_read4, 4, false)
ACCESS(unaligned_read8, 8, false)
ACCESS(unaligned_write2, 2, true)
ACCESS(unaligned_write4, 4, true)
ACCESS(unaligned_write8, 8, true)
RANGE(read_range, false)
RANGE(write_range, true)
void __tsan_init(void);
void __tsan_init(void) {}
void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void);
void __tsan_func_exit(void) {}
void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order) { (void)order; }
