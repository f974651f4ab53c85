/* rc11_psc.c: whether sequentially consistent accesses and fences are in an order: RC11's condition that psc has no
 * cycle, by its definition (Lahav et al. 2017, section 4; rc11.cat of herd):
 *
 *   scb   = sb | sb\loc; hb; sb\loc | hb&loc | mo | rb
 *   pscb  = ([SC] | [F&SC]; hb?); scb; ([SC] | hb?; [F&SC])
 *   pscf  = [F&SC]; (hb | hb; eco; hb); [F&SC]
 *   psc   = pscb | pscf | (the points of a membarrier)
 *
 * What is newest closes no cycle: nothing leads from it yet. So only an event that reads or writes something else is
 * checked, against all events before it. */
#include <string.h>

#include "rc11.h"

enum { EVENTS_MAX = 2 * MAX_STEPS, NODES_MAX = 256, WORDS = NODES_MAX / 64, ORDERED_MAX = 4096 };

typedef struct {
    uint64_t words[WORDS];
} set_t;

static event_t events[EVENTS_MAX];
static int event_count;
static int last_in_thread[MAX_FIBERS];
static int last_at_location[1 << 10];
static int sc_count, sc_events[NODES_MAX]; /* the nodes: indices of events */
static bool sc_all;                        /* no more than there is room for */
static struct { int before, after; } ordered[ORDERED_MAX];
static int ordered_count;

void psc_begin(void) {
    event_count = sc_count = ordered_count = 0;
    sc_all = true;
    memset(last_in_thread, -1, sizeof last_in_thread);
    memset(last_at_location, -1, sizeof last_at_location);
}

int psc_add(int thread, int kind, int location, uint32_t read, uint32_t written, const uint32_t *clock) {
    if (event_count == EVENTS_MAX) explore_fail("too many events");
    event_t *event = &events[event_count];
    *event = (event_t){ .thread = (uint8_t)thread,
                        .kind = (uint8_t)kind,
                        .location = (int16_t)location,
                        .number = clock[thread],
                        .read = read,
                        .written = written };
    event->before_in_thread = last_in_thread[thread];
    event->before_at_location = location >= 0 ? last_at_location[location] : -1;
    memcpy(event->clock, clock, sizeof event->clock);
    last_in_thread[thread] = event_count;
    if (location >= 0) last_at_location[location] = event_count;
    if (kind & EVENT_SC) {
        if (sc_count < NODES_MAX) sc_events[sc_count++] = event_count;
        else sc_all = false;
    }
    return event_count++;
}

void psc_order(int before, int after) {
    if (ordered_count == ORDERED_MAX) explore_fail("too many membarriers");
    ordered[ordered_count].before = before;
    ordered[ordered_count++].after = after;
}

static bool happens_before(const event_t *a, const event_t *b) { return a != b && b->clock[a->thread] >= a->number; }
static bool is_fence(const event_t *event) { return event->kind & EVENT_FENCE; }

static void add(set_t *set, int node) { set->words[node / 64] |= UINT64_C(1) << node % 64; }
static bool has(const set_t *set, int node) { return set->words[node / 64] >> node % 64 & 1; }
static void join(set_t *into, const set_t *set) {
    for (int i = 0; i < WORDS; i++) into->words[i] |= set->words[i];
}

/* Of an event: the nodes whose edges may begin with a step from it, and those whose edges may end with a step to it.
 * Fences apart, since only between them does a step of eco that ends in a read count. */
typedef struct {
    set_t from, to, fences_from, fences_to;
} reach_t;
static reach_t reach[EVENTS_MAX];
static set_t edges[NODES_MAX];

static void find_reach(int which) {
    const event_t *event = &events[which];
    reach_t *found = &reach[which];
    memset(found, 0, sizeof *found);
    for (int node = 0; node < sc_count; node++) {
        const event_t *sc = &events[sc_events[node]];
        if (sc == event) {
            add(&found->from, node);
            add(&found->to, node);
        } else if (is_fence(sc)) {
            if (happens_before(sc, event)) add(&found->fences_from, node);
            if (happens_before(event, sc)) add(&found->fences_to, node);
        }
    }
    join(&found->from, &found->fences_from);
    join(&found->to, &found->fences_to);
}

/* mo, rb, and what else is in eco: a's place at their location is before b's. */
static bool leads_to_write(const event_t *a, const event_t *b) {
    if (!(b->kind & EVENT_WRITES)) return false;
    return ((a->kind & EVENT_WRITES) && a->written < b->written) ||
           ((a->kind & EVENT_READS) && a->read < b->written && a != b);
}
static bool leads_to_read(const event_t *a, const event_t *b) {
    if (!(b->kind & EVENT_READS) || a == b) return false;
    return ((a->kind & EVENT_WRITES) && a->written <= b->read) || ((a->kind & EVENT_READS) && a->read < b->read);
}

static void add_edges(const set_t *from, const set_t *to) {
    for (int word = 0; word < WORDS; word++)
        for (uint64_t rest = from->words[word]; rest != 0; rest &= rest - 1)
            join(&edges[word * 64 + __builtin_ctzll(rest)], to);
}

static void add_edges_of_locations(void) {
    for (int i = 0; i < event_count; i++)
        if (events[i].location >= 0 || (events[i].kind & EVENT_SC)) find_reach(i);
    for (int i = 0; i < event_count; i++) {
        if (events[i].location < 0) continue;
        for (int j = events[i].before_at_location; j >= 0; j = events[j].before_at_location)
            for (int turn = 0; turn < 2; turn++) {
                int a = turn == 0 ? i : j, b = turn == 0 ? j : i;
                if (leads_to_write(&events[a], &events[b])) add_edges(&reach[a].from, &reach[b].to);
                if (leads_to_read(&events[a], &events[b])) add_edges(&reach[a].fences_from, &reach[b].fences_to);
            }
    }
}

/* The event behind a in its thread that is at another location, or before b; NULL: none. */
static const event_t *next_elsewhere(int a) {
    const event_t *found = NULL;
    for (int i = last_in_thread[events[a].thread]; i > a; i = events[i].before_in_thread)
        if (events[i].location != events[a].location) found = &events[i];
    return found;
}
static const event_t *last_elsewhere(int b) {
    for (int i = events[b].before_in_thread; i >= 0; i = events[i].before_in_thread)
        if (events[i].location != events[b].location) return &events[i];
    return NULL;
}

/* Whether an access at a's location follows a in happens-before, and is b or happens before it; or the other way
 * round: precedes b, and is a or follows it. */
static bool by_location_of_a(int a, int b) {
    for (int i = last_at_location[events[a].location]; i >= 0; i = events[i].before_at_location)
        if (happens_before(&events[a], &events[i]) && (i == b || happens_before(&events[i], &events[b]))) return true;
    return false;
}
static bool by_location_of_b(int a, int b) {
    for (int i = last_at_location[events[b].location]; i >= 0; i = events[i].before_at_location)
        if (happens_before(&events[i], &events[b]) && (i == a || happens_before(&events[a], &events[i]))) return true;
    return false;
}

/* What of psc lies in happens-before. */
static bool ordered_by_happening(int a, int b) {
    const event_t *first = &events[a], *second = &events[b];
    if (!happens_before(first, second)) return false;
    if (first->thread == second->thread || (is_fence(first) && is_fence(second))) return true;
    if (is_fence(first)) {
        int before = second->before_in_thread;
        return (before >= 0 && happens_before(first, &events[before])) || by_location_of_b(a, b);
    }
    if (is_fence(second)) return second->clock[first->thread] > first->number || by_location_of_a(a, b);
    if (first->location == second->location) return true;
    const event_t *from = next_elsewhere(a), *to = last_elsewhere(b);
    return from != NULL && to != NULL && happens_before(from, to);
}

static bool has_cycle(void) {
    for (int via = 0; via < sc_count; via++)
        for (int i = 0; i < sc_count; i++)
            if (has(&edges[i], via)) join(&edges[i], &edges[via]);
    for (int i = 0; i < sc_count; i++)
        if (has(&edges[i], i)) return true;
    return false;
}

static int node_of(int event) {
    for (int node = 0; node < sc_count; node++)
        if (sc_events[node] == event) return node;
    return -1;
}

static bool is_consistent(void) {
    memset(edges, 0, sizeof *edges * (size_t)sc_count);
    for (int a = 0; a < sc_count; a++)
        for (int b = 0; b < sc_count; b++)
            if (a != b && ordered_by_happening(sc_events[a], sc_events[b])) add(&edges[a], b);
    for (int i = 0; i < ordered_count; i++) add(&edges[node_of(ordered[i].before)], node_of(ordered[i].after));
    add_edges_of_locations();
    return !has_cycle();
}

/* A cycle through the event needs a node that leads to it: itself, or a fence that happens before it. */
static bool matters(int kind, const uint32_t *clock) {
    if (kind & EVENT_SC) return sc_count > 0;
    for (int node = 0; node < sc_count; node++) {
        const event_t *sc = &events[sc_events[node]];
        if (is_fence(sc) && clock[sc->thread] >= sc->number) return true;
    }
    return false;
}

bool psc_allows(int thread, int kind, int location, uint32_t read, uint32_t written, const uint32_t *clock) {
    if (!sc_all || ((kind & EVENT_SC) && sc_count == NODES_MAX)) return false;
    if (!matters(kind, clock)) return true;
    int before = last_in_thread[thread], sc_before = sc_count;
    int event = psc_add(thread, kind, location, read, written, clock);
    bool allowed = is_consistent();
    last_in_thread[thread] = before;
    last_at_location[location] = events[event].before_at_location;
    sc_count = sc_before;
    event_count = event;
    return allowed;
}
