/* deadlock_graph.c: the graph of waits in a view, and its circles. */
#include "observe/slots.h"
#include "observe/deadlock.h"

#include <string.h>

/* ---- Waiters by identity ----------------------------------------------------------------------------------------- */

/* A wait that ends by itself is no part of a deadlock, and one that has no number can't be known again. */
static bool may_be_party(const csk_inspected_waiter_t *waiter) {
    if (waiter->deadline_ns != CSK_NEVER) return false;
    return waiter->kind == CSK_WAITER_THREAD ? waiter->wait != 0 && waiter->thread.id != 0
                                             : waiter->waiter != NULL && waiter->since_ns != 0;
}

static uint32_t place_of(uint64_t number) { return (uint32_t)csk_slot_mix(number) % DEADLOCK_HASHES; }

static void put(uint32_t *table, uint64_t number, uint32_t waiter) {
    uint32_t place = place_of(number);
    while (table[place] != 0) place = (place + 1) % DEADLOCK_HASHES;
    table[place] = waiter + 1;
}

static void index_waiters(deadlock_tables_t *tables) {
    memset(tables->by_thread, 0, sizeof tables->by_thread);
    memset(tables->by_task, 0, sizeof tables->by_task);
    for (uint32_t i = 0; i < tables->view.waiter_count; i++) {
        const csk_inspected_waiter_t *waiter = &tables->waiters[i];
        if (!may_be_party(waiter)) continue;
        if (waiter->kind == CSK_WAITER_THREAD) put(tables->by_thread, (uint64_t)waiter->thread.id, i);
        if (waiter->task != 0) put(tables->by_task, waiter->task, i);
    }
}

/* These return 1 + the index, or 0. */
static uint32_t find(const deadlock_tables_t *tables, const uint32_t *table, uint64_t number) {
    for (uint32_t place = place_of(number), found; (found = table[place]) != 0; place = (place + 1) % DEADLOCK_HASHES) {
        const csk_inspected_waiter_t *waiter = &tables->waiters[found - 1];
        if ((table == tables->by_task ? waiter->task : (uint64_t)waiter->thread.id) == number) return found;
    }
    return 0;
}
static uint32_t of_thread(const deadlock_tables_t *tables, int32_t thread_id) {
    return find(tables, tables->by_thread, (uint64_t)thread_id);
}
static uint32_t of_task(const deadlock_tables_t *tables, uint64_t task) { return find(tables, tables->by_task, task); }

const csk_inspected_waiter_t *csk_deadlock_waiter_of(const deadlock_tables_t *tables, int32_t thread_id) {
    uint32_t found = of_thread(tables, thread_id);
    return found != 0 ? &tables->waiters[found - 1] : NULL;
}

/* ---- Edges ------------------------------------------------------------------------------------------------------- */

static void index_holders(deadlock_tables_t *tables) {
    memset(tables->first_holder, 0, sizeof tables->first_holder);
    for (uint32_t i = tables->more.holder_count; i-- > 0;) {
        uint32_t *first = &tables->first_holder[tables->holders[i].object];
        tables->next_holder[i] = *first;
        *first = i + 1;
    }
}

/* `to` is 1 + an index, or 0. No waiter waits for itself here: locks refuse that, and a waiter that was let in looks
 * like one until it has noticed. */
static void add_edge(deadlock_tables_t *tables, uint32_t from, uint32_t to) {
    if (to == 0 || to - 1 == from || tables->edge_count == DEADLOCK_EDGES) return;
    tables->edges[tables->edge_count] = (deadlock_edge_t){ to - 1, tables->first_edge[from] };
    tables->first_edge[from] = ++tables->edge_count;
}

static void add_edges_to_holders(deadlock_tables_t *tables, uint32_t from) {
    uint32_t holder = tables->first_holder[tables->waiters[from].object];
    for (; holder != 0; holder = tables->next_holder[holder - 1])
        add_edge(tables, from, of_thread(tables, tables->holders[holder - 1].thread_id));
}

/* The first that is to write, of those that stand before it. */
static void add_edge_to_writer_before(deadlock_tables_t *tables, uint32_t from) {
    const csk_inspected_object_t *lock = &tables->objects[tables->waiters[from].object];
    for (uint32_t i = lock->first_waiter; i < from; i++) {
        const csk_inspected_waiter_t *before = &tables->waiters[i];
        if (before->waits_for == CSK_WAITS_TO_READ || !may_be_party(before)) continue;
        add_edge(tables, from, i + 1);
        return;
    }
}

static void add_edges_at_rwlock(deadlock_tables_t *tables, uint32_t from) {
    const csk_inspected_waiter_t *waiter = &tables->waiters[from];
    const csk_inspected_object_t *lock = &tables->objects[waiter->object];
    if (lock->holder.kind == CSK_HELD_BY_THREAD) add_edge(tables, from, of_thread(tables, lock->holder.thread.id));
    else if (waiter->waits_for != CSK_WAITS_TO_READ) add_edges_to_holders(tables, from);
    /* The order is known where the queue could be read. */
    if (waiter->waits_for == CSK_WAITS_TO_READ && !(lock->flags & CSK_INSPECT_BUSY))
        add_edge_to_writer_before(tables, from);
}

static void add_edges(deadlock_tables_t *tables, uint32_t from) {
    const csk_inspected_waiter_t *waiter = &tables->waiters[from];
    const csk_inspected_object_t *object = &tables->objects[waiter->object];
    switch (object->kind) {
    case CSK_OBJECT_GATE:
        if (waiter->waits_for == CSK_WAITS_TO_ENTER && object->holder.kind == CSK_HELD_BY_THREAD)
            add_edge(tables, from, of_thread(tables, object->holder.thread.id));
        break;
    case CSK_OBJECT_RWLOCK: add_edges_at_rwlock(tables, from); break;
    case CSK_OBJECT_SEM:
        if (object->holder.kind == CSK_HELD_BY_THREAD)
            add_edge(tables, from, of_thread(tables, object->holder.thread.id));
        else if (object->holder.kind == CSK_HELD_BY_TASK) add_edge(tables, from, of_task(tables, object->holder.task));
        break;
    case CSK_OBJECT_WORKQUEUE:
        /* Of several works at once, one that came after the drain may run: the drain does not wait for that. */
        if (object->width == 1 &&
            (waiter->waits_for == CSK_WAITS_FOR_DRAINED || waiter->waits_for == CSK_WAITS_FOR_TURN))
            add_edges_to_holders(tables, from);
        break;
    default: break;
    }
}

static void make_graph(deadlock_tables_t *tables) {
    index_waiters(tables);
    index_holders(tables);
    tables->edge_count = 0;
    memset(tables->first_edge, 0, tables->view.waiter_count * sizeof tables->first_edge[0]);
    for (uint32_t i = 0; i < tables->view.waiter_count; i++)
        if (may_be_party(&tables->waiters[i])) add_edges(tables, i);
}

/* ---- Circles ----------------------------------------------------------------------------------------------------- */

bool csk_deadlock_was_told(const deadlock_tables_t *known, uint64_t hash) {
    uint64_t count = known->told_count < DEADLOCK_TOLD ? known->told_count : DEADLOCK_TOLD;
    for (uint64_t i = 0; i < count; i++)
        if (known->told[i] == hash) return true;
    return false;
}

uint64_t csk_deadlock_hash_wait(const csk_inspected_waiter_t *waiter, const void *object) {
    uint64_t who = waiter->kind == CSK_WAITER_THREAD
                       ? csk_slot_mix((uint64_t)waiter->thread.id) ^ waiter->wait
                       : csk_slot_mix((uint64_t)(uintptr_t)waiter->waiter) ^ (uint64_t)waiter->since_ns;
    return csk_slot_mix(csk_slot_mix(who) ^ (uint64_t)(uintptr_t)object);
}

static uint64_t hash_of(const deadlock_tables_t *tables, uint32_t waiter) {
    const csk_inspected_waiter_t *wait = &tables->waiters[waiter];
    return csk_deadlock_hash_wait(wait, tables->objects[wait->object].address);
}

/* Searches in breadth for the shortest way from `start` back to it. came_by of each waiter that it passed is 1 + the
 * one before. Returns the last waiter of the way, or UINT32_MAX. */
static uint32_t search(deadlock_tables_t *tables, uint32_t start) {
    uint32_t first = 0, end = 0;
    memset(tables->came_by, 0, tables->view.waiter_count * sizeof tables->came_by[0]);
    tables->line[end++] = start;
    while (first < end) {
        uint32_t from = tables->line[first++];
        for (uint32_t edge = tables->first_edge[from]; edge != 0; edge = tables->edges[edge - 1].next) {
            uint32_t to = tables->edges[edge - 1].to;
            if (to == start) return from;
            if (tables->came_by[to] != 0) continue;
            tables->came_by[to] = from + 1;
            tables->line[end++] = to;
        }
    }
    return UINT32_MAX;
}

/* The way goes from `last` backwards to `start`. The party whose wait has the lowest hash comes first, so that the same
 * circle is the same wherever the search began. */
static void keep_cycle(deadlock_tables_t *tables, uint32_t start, uint32_t last) {
    uint32_t *way = tables->line, count = 0, least = 0; /* the line is no longer needed */
    for (uint32_t at = last;; at = tables->came_by[at] - 1) {
        way[count++] = at;
        if (at == start) break;
    }
    for (uint32_t i = 0; i < count; i++) {
        tables->in_cycle[way[i]] = 1;
        if (hash_of(tables, way[i]) < hash_of(tables, way[least])) least = i;
    }
    deadlock_cycle_t *cycle = &tables->cycles[tables->cycle_count];
    cycle->count = count;
    cycle->hash = count;
    cycle->views = 1;
    cycle->since_ns = INT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t waiter = way[(least + count - i) % count];
        int64_t since_ns = tables->waiters[waiter].since_ns;
        if (since_ns < cycle->since_ns) cycle->since_ns = since_ns;
        cycle->hash = csk_slot_mix(cycle->hash ^ hash_of(tables, waiter));
        if (i < CSK_DEADLOCK_PARTIES) cycle->waiters[i] = waiter;
    }
    if (!csk_deadlock_was_told(tables, cycle->hash)) tables->cycle_count++;
}

/* Removes the edges to those that do not wait. Returns whether there were any. */
static bool prune_ends(deadlock_tables_t *tables, uint32_t from) {
    bool some = false;
    for (uint32_t *edge = &tables->first_edge[from]; *edge != 0;) {
        deadlock_edge_t *found = &tables->edges[*edge - 1];
        if (tables->first_edge[found->to] == 0) *edge = found->next, some = true;
        else {
            tables->in_cycle[found->to] = 1;
            edge = &found->next;
        }
    }
    return some;
}

/* A waiter that waits for no other waiter is in no circle, nor is one for which none waits. Takes these out until none
 * is left. in_cycle says meanwhile for which ones others wait. */
static void prune(deadlock_tables_t *tables) {
    uint32_t count = tables->view.waiter_count;
    for (bool again = true; again;) {
        again = false;
        memset(tables->in_cycle, 0, count);
        for (uint32_t i = 0; i < count; i++) again |= prune_ends(tables, i);
        for (uint32_t i = 0; i < count; i++) {
            if (tables->first_edge[i] == 0 || tables->in_cycle[i]) continue;
            tables->first_edge[i] = 0;
            again = true;
        }
    }
    memset(tables->in_cycle, 0, count);
}

void csk_deadlock_find_cycles(deadlock_tables_t *tables) {
    make_graph(tables);
    tables->cycle_count = 0;
    prune(tables);
    for (uint32_t i = 0; i < tables->view.waiter_count && tables->cycle_count < DEADLOCK_CYCLES; i++) {
        if (tables->first_edge[i] == 0 || tables->in_cycle[i]) continue;
        uint32_t last = search(tables, i);
        if (last != UINT32_MAX) keep_cycle(tables, i, last);
    }
}
