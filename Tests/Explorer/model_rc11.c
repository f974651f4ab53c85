/* model_rc11.c: memory as RC11 has it, with C++20's release sequences, and without load buffering: program order is
 * kept, so no load returns what comes after it in program order and reads-from.
 *
 * Each location has its messages in modification order. Each thread has views, which say how far it has come at each
 * location: a load may read any message that is not behind its view, a store may stand anywhere after it, and a
 * read-modify-write stands directly behind what it reads. A release gives its message the thread's view, an acquire
 * takes the message's. That is coherence: the views are the locations' part of happens-before, and the clocks in front
 * of them the threads' part. Sequentially consistent accesses and fences are checked against the definition itself
 * (rc11_psc.c), whenever something is chosen that is not the newest.
 *
 * More than 400 lines: views, messages and the accesses are one machine; what could be taken apart is in rc11_psc.c and
 * rc11_races.c.
 *
 * Sources: Lahav et al., "Repairing sequential consistency in C/C++11" (2017); the machine without promises of Kang et
 * al., "A promising semantics for relaxed-memory concurrency" (2017).
 *
 * More than 400 lines: one machine, whose parts (messages, views, the choices of loads and stores) use each other. */
#include <stdlib.h>
#include <string.h>

#include "hooks.h"
#include "internal.h"
#include "rc11.h"
#include "spin.h"

enum {
    LOCATIONS = 1000,
    VIEW_MAX = MAX_FIBERS + LOCATIONS,
    MESSAGES_MAX = 2 * MAX_STEPS,
    VIEWS_MAX = 16 << 20,
    GAP = 1 << 10 /* between the places of two stores that come one after the other */
};

/* Clocks of threads first, then places at locations; what lies behind the end is 0. */
typedef struct view {
    uint32_t count;
    uint32_t at[];
} view_t;

struct message {
    uint64_t value, hash;
    uint32_t place;
    bool followed;      /* a read-modify-write stands directly behind it */
    bool plain;         /* its value is what memory holds until the next message comes */
    const view_t *view; /* what acquiring it brings; NULL: nothing */
    message_t *older, *newer;
};

typedef struct {
    const void *address;
    unsigned size;
    message_t *newest;
    cell_t *cell;
} location_t;

typedef struct {
    uint32_t current[VIEW_MAX], acquired[VIEW_MAX]; /* what an acquire fence adds */
    const view_t *released;                         /* what a release fence has left for relaxed stores */
    bool acquires;                                  /* whether anything is in `acquired` */
    uint32_t interrupts;                            /* threads whose membarrier still wants a fence of this one */
    int begun;                                      /* the event that began this thread's membarrier */
    int fences[MAX_FIBERS], fence_count;            /* of other threads, for it */
} thread_t;

static thread_t threads[MAX_FIBERS];
static location_t locations[LOCATIONS];
static int location_count, locations_used;
static message_t *messages;
static int message_count;
static uint32_t *views;
static size_t views_used;

/* ---- Views ------------------------------------------------------------------------------------------------------- */

static thread_t *own(void) { return &threads[index_of(current)]; }

static size_t view_size(void) { return MAX_FIBERS + (size_t)location_count; }

static view_t *new_view(void) {
    size_t size = view_size();
    if (views_used + size + 1 > VIEWS_MAX) explore_fail("too much memory for views");
    view_t *view = (view_t *)(views + views_used);
    views_used += size + 1;
    view->count = (uint32_t)size;
    return view;
}

static void join(uint32_t *into, const view_t *view) {
    if (view == NULL) return;
    for (uint32_t i = 0; i < view->count; i++)
        if (view->at[i] > into[i]) into[i] = view->at[i];
}

static const view_t *snapshot(const uint32_t *from) {
    view_t *view = new_view();
    memcpy(view->at, from, view->count * sizeof *from);
    return view;
}

static const view_t *joined(const view_t *a, const view_t *b) {
    if (a == NULL || b == NULL) return a != NULL ? a : b;
    view_t *view = new_view();
    memset(view->at, 0, view->count * sizeof *view->at);
    join(view->at, a);
    join(view->at, b);
    return view;
}

static bool acquires(int order) {
    return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME || order == __ATOMIC_ACQ_REL ||
           order == __ATOMIC_SEQ_CST;
}
static bool releases(int order) {
    return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}
static int sc(int order) { return order == __ATOMIC_SEQ_CST ? EVENT_SC : 0; }

/* ---- Locations and messages -------------------------------------------------------------------------------------- */

/* The place of a message that comes directly behind this one. */
static uint32_t place_behind(const message_t *older) {
    return older->newer == NULL ? older->place + GAP : (older->place + older->newer->place) / 2;
}

static message_t *new_message(location_t *at, message_t *older, uint64_t value, uint64_t hash) {
    if (message_count == MESSAGES_MAX) explore_fail("too many messages");
    message_t *message = &messages[message_count++];
    message_t *newer = older != NULL ? older->newer : NULL;
    *message = (message_t){ .value = value, .hash = hash, .older = older, .newer = newer };
    message->place = older == NULL ? GAP : place_behind(older);
    if (older != NULL) older->newer = message;
    if (newer != NULL) newer->older = message;
    else at->newest = message;
    /* The order is part of the state: which message stands behind which. */
    uint64_t key = mix((uintptr_t)at->address, 7);
    uint64_t before = older != NULL ? older->hash : 0;
    if (newer != NULL) state_hash += mix(mix(key, hash), newer->hash) - mix(mix(key, before), newer->hash);
    state_hash += mix(mix(key, before), hash);
    return message;
}

/* Tells a message from others, and its value from another that it had. */
static uint64_t mark_of(const message_t *message) { return mix(message->hash, message->value); }

static int index_at(const location_t *at) { return (int)(at - locations); }
static uint32_t *place_of(uint32_t *view, const location_t *at) { return &view[MAX_FIBERS + index_at(at)]; }

/* What was written by no access that the explorer sees counts as the running thread's. */
static void refresh(location_t *at) {
    message_t *newest = at->newest;
    uint64_t found = read_memory(at->address, at->size);
    if (newest->plain) newest->value = found;
    if (newest->value == found) return;
    message_t *message = new_message(at, newest, found, mix(newest->hash, found));
    *place_of(own()->current, at) = message->place;
}

static location_t *location_of(const void *address, unsigned size) {
    cell_t *cell = races_cell(address);
    if (cell->location < 0) {
        if (location_count == LOCATIONS) explore_fail("too many locations");
        location_t *at = &locations[location_count];
        *at = (location_t){ .address = address, .size = size, .cell = cell };
        cell->location = (int16_t)location_count++;
        new_message(at, NULL, read_memory(address, size), mix((uintptr_t)address, 11));
        return at;
    }
    location_t *at = &locations[cell->location];
    if (size > at->size) at->size = size, at->newest->plain = true;
    refresh(at);
    return at;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

/* The next event of a thread, whose clock counts it. */
static int add_event(int thread, int kind, int location, uint32_t read, uint32_t written) {
    threads[thread].current[thread]++;
    return psc_add(thread, kind, location, read, written, threads[thread].current);
}

/* The thread has read the message. */
static void take(thread_t *self, location_t *at, const message_t *message, int order) {
    uint32_t *place = place_of(self->current, at);
    if (message->place > *place) *place = message->place;
    if (message->view == NULL) return;
    if (acquires(order)) join(self->current, message->view);
    join(self->acquired, message->view);
    self->acquires = true;
}

/* What acquiring the running thread's next message at this place brings. `before`: that of the message that a
 * read-modify-write reads, whose release sequence it continues. */
static const view_t *view_for(thread_t *self, int order, const view_t *before) {
    const view_t *view = releases(order) ? snapshot(self->current) : self->released;
    return before != NULL ? joined(view, before) : view;
}

static void see(location_t *at, uint64_t hash) {
    current->chain = mix(mix(current->chain, (uintptr_t)at->address), hash);
    state_hash += current->chain;
}

/* ---- Choosing a message ------------------------------------------------------------------------------------------ */

typedef struct {
    int kind, order;
    bool compares; /* only a message of the value `wanted` is written behind, any other is only read */
    uint64_t wanted;
    int failure; /* the order then */
} access_t;

static bool has_room_behind(const message_t *message) {
    return !message->followed && (message->newer == NULL || message->newer->place - message->place > 1);
}

static access_t access_to(const message_t *message, const access_t *access) {
    if (!access->compares || message->value == access->wanted) return *access;
    return (access_t){ .kind = EVENT_READS, .order = access->failure };
}

static bool is_consistent(const location_t *at, const message_t *message, const access_t *access) {
    access_t done = access_to(message, access);
    uint32_t clock[MAX_FIBERS];
    memcpy(clock, own()->current, sizeof clock);
    clock[index_of(current)]++;
    if ((done.kind & EVENT_READS) && acquires(done.order) && message->view != NULL)
        for (int i = 0; i < MAX_FIBERS; i++)
            if (message->view->at[i] > clock[i]) clock[i] = message->view->at[i];
    return psc_allows(index_of(current), done.kind | sc(done.order), index_at(at), message->place,
                      place_behind(message), clock);
}

/* What the access reads, or what it is written behind: any message that is not behind the thread's view; the newest
 * unless the schedule says otherwise. A strong compare-and-swap does not fail where it finds what it wants. */
static message_t *choose_message(location_t *at, const access_t *access) {
    uint32_t seen = *place_of(own()->current, at);
    message_t *found[MAX_MESSAGES];
    choice_t choices[MAX_MESSAGES];
    int count = 0;
    for (message_t *m = at->newest; m != NULL && m->place >= seen && count < MAX_MESSAGES; m = m->older) {
        if ((access_to(m, access).kind & EVENT_WRITES) && !has_room_behind(m)) continue;
        choices[count] = (choice_t){ (uint8_t)(ACTOR_MESSAGE + count), count == 0 ? 0 : COST_STALE };
        found[count++] = m;
    }
    if (count == 1) return found[0];
    uint64_t state = mix(current->chain, (uintptr_t)at->address + (uint64_t)access->kind);
    message_t *message = found[choose_among(choices, count, state)];
    return message == found[0] || is_consistent(at, message, access) ? message : found[0];
}

/* ---- Accesses ---------------------------------------------------------------------------------------------------- */

static uint64_t load(const void *address, unsigned size, int order, const char *site) {
    if (is_thread_local(address)) return read_memory(address, size);
    point(OP_LOAD, address, site);
    check_alive(address, site);
    location_t *at = location_of(address, size);
    message_t *message = choose_message(at, &(access_t){ .kind = EVENT_READS, .order = order });
    thread_t *self = own();
    take(self, at, message, order);
    add_event(index_of(current), EVENT_READS | sc(order), index_at(at), message->place, 0);
    races_atomic(at->cell, true, false, site);
    see(at, message->hash);
    uint64_t value = 0;
    memcpy(&value, &message->value, size);
    spin_reads(SPIN_MEMORY, address, mark_of(message), value);
    note(index_of(current), message == at->newest ? OP_LOAD : OP_STALE_LOAD, site, address, value);
    return value;
}

/* Writes a message behind `older`, which a read-modify-write has read. */
static void write_behind(location_t *at, message_t *older, bool reads, uint64_t value, int order, const char *site) {
    thread_t *self = own();
    spin_changes();
    uint32_t place = place_behind(older);
    *place_of(self->current, at) = place;
    add_event(index_of(current), (reads ? EVENT_READS : 0) | EVENT_WRITES | sc(order), index_at(at), older->place,
              place);
    races_atomic(at->cell, reads, true, site);
    see(at, mix(reads ? older->hash : 0, value));
    message_t *message = new_message(at, older, value, current->chain);
    message->view = view_for(self, order, reads ? older->view : NULL);
    older->followed = reads;
    if (message == at->newest) memcpy((void *)at->address, &value, at->size);
}

static void store(void *address, unsigned size, uint64_t value, int order, const char *site) {
    if (is_thread_local(address)) {
        memcpy(address, &value, size);
        return;
    }
    point(OP_STORE, address, site);
    check_alive(address, site);
    location_t *at = location_of(address, size);
    message_t *older = choose_message(at, &(access_t){ .kind = EVENT_WRITES, .order = order });
    note(index_of(current), older == at->newest ? OP_STORE : OP_EARLIER_STORE, site, address, value);
    write_behind(at, older, false, value, order, site);
}

static uint64_t rmw(void *address, unsigned size, int operation, uint64_t operand, int order, const char *site) {
    point(OP_RMW, address, site);
    check_alive(address, site);
    location_t *at = location_of(address, size);
    message_t *older = choose_message(at, &(access_t){ .kind = EVENT_READS | EVENT_WRITES, .order = order });
    uint64_t before = older->value, after = 0, whole = changed_value(before, operation, operand);
    memcpy(&after, &whole, size);
    note(index_of(current), OP_RMW, site, address, after);
    take(own(), at, older, order);
    write_behind(at, older, true, after, order, site);
    return before;
}

static bool cas(void *address, unsigned size, void *expected, uint64_t desired, int success, int failure,
                const char *site) {
    point(OP_CAS, address, site);
    check_alive(address, site);
    location_t *at = location_of(address, size);
    uint64_t wanted = read_memory(expected, size), value = 0;
    memcpy(&value, &desired, size);
    access_t access = { EVENT_READS | EVENT_WRITES, success, true, wanted, failure };
    message_t *found = choose_message(at, &access);
    bool swapped = found->value == wanted;
    note(index_of(current), OP_CAS, site, address, swapped ? value : found->value);
    if (swapped) {
        take(own(), at, found, success);
        write_behind(at, found, true, value, success, site);
        return true;
    }
    take(own(), at, found, failure);
    add_event(index_of(current), EVENT_READS | sc(failure), index_at(at), found->place, 0);
    races_atomic(at->cell, true, false, site);
    see(at, found->hash);
    memcpy(expected, &found->value, size);
    spin_reads(SPIN_MEMORY, address, mark_of(found), found->value);
    return false;
}

/* ---- Fences ------------------------------------------------------------------------------------------------------ */

static int add_fence(int thread, int order) {
    thread_t *self = &threads[thread];
    if (acquires(order) && self->acquires) {
        for (size_t i = 0; i < view_size(); i++)
            if (self->acquired[i] > self->current[i]) self->current[i] = self->acquired[i];
    }
    int event = add_event(thread, EVENT_FENCE | sc(order), -1, 0, 0);
    if (releases(order)) self->released = snapshot(self->current);
    return event;
}

static void fence(int order, const char *site) {
    point(OP_FENCE, NULL, site);
    add_fence(index_of(current), order);
    stepped(current, OP_FENCE);
    spin_reads(SPIN_NOTHING, NULL, 0, 0);
    note(index_of(current), OP_FENCE, site, NULL, 0);
}

/* A fence of each other thread at a point of its own, between two of the caller's: in the order of sequentially
 * consistent steps these stand behind the first and before the second. Nothing synchronizes. Threads that have ended
 * have their point at their end. */
static void interrupt(int thread) {
    thread_t *self = &threads[thread];
    int event = add_fence(thread, __ATOMIC_SEQ_CST);
    uint64_t chain = mix(fibers[thread].chain, OP_INTERRUPT);
    for (int i = 0; i < fiber_count; i++) {
        if (!(self->interrupts >> i & 1)) continue;
        psc_order(threads[i].begun, event);
        threads[i].fences[threads[i].fence_count++] = event;
        chain = mix(chain, fibers[i].chain);
    }
    self->interrupts = 0;
    fibers[thread].chain = chain;
    state_hash += chain;
    note(ACTOR_INTERRUPT + thread, OP_INTERRUPT, "", NULL, 0);
}

static void membarrier(const char *site) {
    point(OP_MEMBARRIER, NULL, site);
    spin_changes();
    int caller = index_of(current);
    thread_t *self = own();
    self->begun = add_fence(caller, __ATOMIC_SEQ_CST);
    self->fence_count = 0;
    stepped(current, OP_MEMBARRIER);
    note(caller, OP_MEMBARRIER, site, NULL, 0);
    for (int i = 0; i < fiber_count; i++) {
        if (i == caller) continue;
        threads[i].interrupts |= 1u << caller;
        if (fibers[i].done) interrupt(i);
    }
    point(OP_MEMBARRIER_END, NULL, site);
    int ends = add_fence(caller, __ATOMIC_SEQ_CST);
    uint64_t seen = 0;
    for (int i = 0; i < self->fence_count; i++) psc_order(self->fences[i], ends);
    for (int i = 0; i < fiber_count; i++) seen += fibers[i].chain;
    stepped(current, seen);
    note(caller, OP_MEMBARRIER_END, site, NULL, 0);
}

static int must(choice_t *choices) {
    int count = 0;
    for (int i = 0; i < fiber_count; i++)
        if (threads[i].interrupts != 0) choices[count++] = (choice_t){ (uint8_t)(ACTOR_INTERRUPT + i), 0 };
    return count;
}
static int may(choice_t *choices) {
    (void)choices;
    return 0;
}
static void perform(int actor) { interrupt(actor - ACTOR_INTERRUPT); }
static bool is_enabled(int thread) {
    for (int i = 0; i < fiber_count; i++)
        if (threads[i].interrupts >> thread & 1) return false;
    return true;
}

/* ---- Threads that spin ------------------------------------------------------------------------------------------- */

static uint64_t newest(int thread, const void *address) {
    (void)thread;
    location_t *at = &locations[races_cell(address)->location];
    if (at->newest->plain) at->newest->value = read_memory(address, at->size);
    return mark_of(at->newest);
}

static void hurry(int thread, const void *address) {
    location_t *at = &locations[races_cell(address)->location];
    uint32_t *seen = place_of(threads[thread].current, at);
    if (at->newest->place <= *seen) return;
    message_t *next = at->newest;
    while (next->older != NULL && next->older->place > *seen) next = next->older;
    *seen = next->place;
}

static uint64_t pending(void) {
    uint64_t hash = 0;
    for (int i = 0; i < fiber_count; i++) hash = mix(hash, threads[i].interrupts);
    for (int i = 0; i < location_count; i++)
        hash = mix(mix(hash, (uintptr_t)locations[i].address), read_memory(locations[i].address, locations[i].size));
    return hash;
}

/* ---- Threads and the system -------------------------------------------------------------------------------------- */

static void begin(const schedule_t *schedule) {
    (void)schedule;
    if (messages == NULL) {
        messages = malloc(sizeof *messages * MESSAGES_MAX);
        views = malloc(sizeof *views * VIEWS_MAX);
    }
    locations_used = location_count > locations_used ? location_count : locations_used;
    location_count = message_count = 0;
    views_used = 0;
    psc_begin();
    races_begin();
}

/* A thread begins with what its creator has done. */
static void thread_begins(int thread) {
    thread_t *self = &threads[thread];
    size_t size = sizeof *self->current * (MAX_FIBERS + (size_t)locations_used + (size_t)location_count);
    if (size > sizeof self->current) size = sizeof self->current;
    memset(self->current, 0, size);
    memset(self->acquired, 0, size);
    self->released = NULL;
    self->acquires = false;
    self->interrupts = 0;
    if (current == NULL) return;
    int creator = index_of(current);
    add_event(creator, 0, -1, 0, 0);
    memcpy(self->current, threads[creator].current, sizeof *self->current * view_size());
}

static void system_call(void) {}

/* All that the other threads have done so far happens before what the running one does next. */
static void follow_all(void) {
    thread_t *self = own();
    for (int i = 0; i < fiber_count; i++) {
        if (&fibers[i] == current) continue;
        for (size_t at = 0; at < view_size(); at++)
            if (threads[i].current[at] > self->current[at]) self->current[at] = threads[i].current[at];
        /* What it did plainly since its last event counts with the next one. */
        threads[i].current[i]++;
        self->current[i] = threads[i].current[i];
    }
}

/* With explore_wait a client puts its threads where it wants them: what they have done happens before what follows.
 * What the system reads, by contrast, synchronizes with nothing. */
static void look(const void *address, bool synchronizes) {
    location_t *at = location_of(address, sizeof(uint32_t));
    if (synchronizes) {
        follow_all();
        take(own(), at, at->newest, __ATOMIC_ACQUIRE);
        add_event(index_of(current), EVENT_READS, index_at(at), at->newest->place, 0);
    }
    see(at, at->newest->hash);
}

static void locked(const void *mutex) {
    join(own()->current, races_cell(mutex)->edge);
    add_event(index_of(current), 0, -1, 0, 0);
}

static void unlocking(const void *mutex) {
    add_event(index_of(current), 0, -1, 0, 0);
    races_cell(mutex)->edge = snapshot(own()->current);
}

/* The child has what memory holds. */
static void forked(void) {
    follow_all();
    for (int i = 0; i < fiber_count; i++) threads[i].interrupts = 0;
    for (int i = 0; i < location_count; i++) *place_of(own()->current, &locations[i]) = locations[i].newest->place;
    add_event(index_of(current), 0, -1, 0, 0);
}

/* ---- For the races ----------------------------------------------------------------------------------------------- */

const uint32_t *rc11_clock(void) { return own()->current; }

void rc11_plain_write(int location) {
    location_t *at = &locations[location];
    refresh(at);
    at->newest->plain = false;
    see(at, 13);
    message_t *message = new_message(at, at->newest, at->newest->value, current->chain);
    message->plain = true;
    *place_of(own()->current, at) = message->place;
}

const model_t model_rc11 = {
    .begin = begin,
    .thread_begins = thread_begins,
    .load = load,
    .store = store,
    .rmw = rmw,
    .cas = cas,
    .fence = fence,
    .membarrier = membarrier,
    .system_call = system_call,
    .look = look,
    .locked = locked,
    .unlocking = unlocking,
    .forked = forked,
    .freed = races_freed,
    .must = must,
    .may = may,
    .perform = perform,
    .is_enabled = is_enabled,
    .newest = newest,
    .hurry = hurry,
    .pending = pending,
};
