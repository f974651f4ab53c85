/* spin.c: finds threads that go round a loop in vain.
 *
 * A thread's reads since it changed something are a log. Somewhere in it is an anchor: a scheduling point with its
 * state. When the thread comes to the same point in the same state, what it has read in between is its loop. The anchor
 * moves on as the log grows, each time by twice as much (Brent, "An improved Monte Carlo factorization algorithm",
 * 1980), so a loop is found wherever it begins. The memory of the schedule belongs to the state only once the rest has
 * been the same, since it is large. */
#include "spin.h"

#include <stdio.h>
#include <string.h>

enum { LOG = 256 };

typedef struct {
    enum spin_place how;
    const void *address;
    uint64_t mark, value;
    const char *site;
    enum op op;
} read_t;

typedef struct {
    int count;             /* in the log: as many as the thread's `reads` */
    int anchor, window;    /* where in the log; -1: nowhere */
    int round, round_size; /* where the present round begins, and how many the last one had */
    bool deep;             /* the anchor's state has the memory of the schedule too */
    int from, to;          /* the loop */
    const char *site;
    const void *sp;
    uint64_t state, round_hash;
    read_t log[LOG];
} spin_t;

static spin_t spins[MAX_FIBERS];

static void forget(spin_t *self) {
    self->count = self->round = 0;
    self->round_size = -1;
    self->anchor = -1;
    self->window = SPIN_WINDOW;
}

void spin_reads(enum spin_place how, const void *address, uint64_t mark, uint64_t value) {
    spin_t *self = &spins[index_of(current)];
    if (current->reads == 0 || self->count == LOG) forget(self);
    self->log[self->count++] = (read_t){ how, address, mark, value, current->site, current->op };
    current->reads = self->count;
}

static void block(spin_t *self, int from) {
    fibers[self - spins].blocked = true;
    self->from = from;
    self->to = self->count;
    for (int i = from; i < self->to; i++)
        if (self->log[i].how == SPIN_MEMORY) core_model()->hurry((int)(self - spins), self->log[i].address);
}

void spin_awaits(void) {
    spin_t *self = &spins[index_of(current)];
    if (current->reads == 0) forget(self);
    uint64_t hash = 1;
    for (int i = self->round; i < self->count; i++)
        hash = mix(mix(hash, (uintptr_t)self->log[i].address), self->log[i].mark);
    int size = self->count - self->round;
    if (size == self->round_size && hash == self->round_hash) block(self, self->round);
    self->round = self->count;
    self->round_size = size;
    self->round_hash = hash;
}

/* ---- States ------------------------------------------------------------------------------------------------------ */

static uint64_t stir(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

/* In four lanes, since each step waits for the one before it. */
static uint64_t hash_words(uint64_t hash, const void *begin, const void *end) {
    const uint64_t *word = begin, *last = end;
    uint64_t a = hash, b = hash + 1, c = hash + 2, d = hash + 3;
    for (; last - word >= 4; word += 4) {
        a = stir(a, word[0]);
        b = stir(b, word[1]);
        c = stir(c, word[2]);
        d = stir(d, word[3]);
    }
    for (; word < last; word++) a = stir(a, *word);
    return mix(mix(a, b), mix(c, d));
}

static uint64_t state_of(const fiber_t *fiber) {
    uint64_t hash = mix((uintptr_t)fiber->address, (uint64_t)fiber->op);
    hash = hash_words(hash, fiber->sp, core_stack_end(fiber));
    const void *end, *begin = core_tls(fiber, &end);
    return hash_words(hash, begin, end);
}

static uint64_t state_of_memory(void) {
    const void *begin, *end;
    core_arena(&begin, &end);
    return hash_words(1, begin, end);
}

static bool is_at_anchor(spin_t *self, const fiber_t *fiber) {
    if (self->count == self->anchor || self->site != fiber->site || self->sp != fiber->sp) return false;
    uint64_t state = state_of(fiber);
    return self->state == (self->deep ? mix(state, state_of_memory()) : state);
}

static void drop_anchor(spin_t *self, const fiber_t *fiber, bool deep) {
    self->anchor = self->count;
    self->deep = deep;
    self->site = fiber->site;
    self->sp = fiber->sp;
    uint64_t state = state_of(fiber);
    self->state = deep ? mix(state, state_of_memory()) : state;
}

void spin_arrives(fiber_t *fiber) {
    spin_t *self = &spins[index_of(fiber)];
    if (fiber->blocked || fiber->op == OP_PARKED) return;
    if (self->anchor >= 0 && is_at_anchor(self, fiber)) {
        if (self->deep) block(self, self->anchor);
        else drop_anchor(self, fiber, true);
    } else if (self->anchor < 0 || self->count - self->anchor >= self->window) {
        if (self->anchor >= 0) self->window *= 2;
        drop_anchor(self, fiber, false);
    }
}

/* ---- What is blocked --------------------------------------------------------------------------------------------- */

static bool is_newest(int thread, const read_t *read) {
    switch (read->how) {
    case SPIN_MEMORY: return core_model()->newest(thread, read->address) == read->mark;
    case SPIN_MUTEX: return core_written(read->address) == read->mark;
    case SPIN_CLOCK: return (uint64_t)explore_now() == read->mark;
    default: return true;
    }
}

bool spin_is_blocked(int thread) {
    const spin_t *self = &spins[thread];
    if (!fibers[thread].blocked) return false;
    for (int i = self->from; i < self->to; i++)
        if (!is_newest(thread, &self->log[i])) return false;
    return true;
}

bool spin_reads_clock(int thread) {
    const spin_t *self = &spins[thread];
    for (int i = self->from; i < self->to; i++)
        if (self->log[i].how == SPIN_CLOCK) return true;
    return false;
}

int spin_describe(int thread, char *text, size_t size) {
    const spin_t *self = &spins[thread];
    size_t length = 0;
    for (int i = self->from; i < self->to && length < size; i++) {
        const read_t *read = &self->log[i];
        bool told = read->how == SPIN_NOTHING;
        for (int j = self->from; j < i; j++) told |= self->log[j].site == read->site;
        if (told) continue;
        const char *site = strrchr(read->site, '/');
        length += (size_t)snprintf(text + length, size - length, "%s%s %s", length == 0 ? "" : ", ",
                                   core_op_name(read->op), site != NULL ? site + 1 : read->site);
        if (read->address != NULL && length < size)
            length += (size_t)snprintf(text + length, size - length, " of %p (%#llx)", read->address,
                                       (unsigned long long)read->value);
    }
    return (int)(length < size ? length : size - 1);
}

/* ---- All threads ------------------------------------------------------------------------------------------------- */

uint64_t spin_state_of_all(void) {
    uint64_t hash = mix(state_of_memory(), core_state_of_cells());
    for (int i = 0; i < fiber_count; i++) {
        const fiber_t *fiber = &fibers[i];
        if (fiber->done) continue;
        uint64_t flags = (uint64_t)fiber->woken << 2 | (uint64_t)fiber->timed_out << 1 | fiber->yielded;
        hash = mix(mix(hash, state_of(fiber)), flags << 8 | (uint64_t)i << 1 | fiber->blocked);
    }
    return mix(hash, core_model()->pending());
}
