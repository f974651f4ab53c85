/* deadlock_views.c: what several views show together, and which queues stand still in one. */
#include "observe/deadlock.h"

#include <string.h>

static const deadlock_cycle_t *find_before(const deadlock_tables_t *tables, uint64_t hash) {
    for (uint32_t i = 0; i < tables->before_count; i++)
        if (tables->before[i].hash == hash) return &tables->before[i];
    return NULL;
}

bool csk_deadlock_count_views(deadlock_tables_t *tables, int64_t after_ns) {
    if (tables->lacks_view) {
        tables->cycle_count = 0;
        return true;
    }
    bool some = false;
    uint32_t old = 0;
    int64_t latest_ns = tables->view.began_ns - after_ns;
    for (uint32_t i = 0; i < tables->cycle_count; i++) {
        deadlock_cycle_t *cycle = &tables->cycles[i];
        if (cycle->since_ns > latest_ns) continue;
        const deadlock_cycle_t *before = find_before(tables, cycle->hash);
        if (before != NULL) cycle->views = before->views + 1;
        some |= !csk_deadlock_is_certain(cycle);
        tables->cycles[old++] = *cycle;
    }
    tables->cycle_count = tables->before_count = old;
    memcpy(tables->before, tables->cycles, old * sizeof tables->before[0]);
    return some;
}

void csk_deadlock_note_told(deadlock_tables_t *tables, uint64_t hash) {
    tables->told[tables->told_count++ % DEADLOCK_TOLD] = hash;
}

/* Whether work or callers stand behind the work of that serial queue. */
static bool holds_up_others(const csk_inspected_object_t *queue) {
    if (queue->kind != CSK_OBJECT_WORKQUEUE || queue->width != 1 || queue->flags & CSK_INSPECT_BUSY) return false;
    return queue->running != 0 && (queue->count != 0 || queue->waiter_count != 0);
}

/* A view that is not whole may lack the rest of a circle. */
bool csk_deadlock_finds_stalled(deadlock_tables_t *tables, uint32_t holder, int64_t after_ns,
                                deadlock_stalled_t *stalled) {
    int32_t thread_id = tables->holders[holder].thread_id;
    const csk_inspected_object_t *queue = &tables->objects[tables->holders[holder].object];
    if (tables->view.records_busy != 0 || tables->view.list_busy || !holds_up_others(queue)) return false;
    const csk_inspected_waiter_t *waiter = NULL;
    for (uint32_t i = 0; i < tables->view.waiter_count && waiter == NULL; i++) {
        const csk_inspected_waiter_t *seen = &tables->waiters[i];
        if (seen->thread.id != thread_id || seen->wait == 0) continue;
        if (tables->in_cycle[i]) return false;
        waiter = seen;
    }
    if (waiter == NULL || tables->view.began_ns - waiter->since_ns < after_ns) return false;
    uint64_t hash = csk_deadlock_hash_wait(waiter, queue->address) ^ UINT64_MAX;
    if (csk_deadlock_was_told(tables, hash)) return false;
    csk_deadlock_note_told(tables, hash);
    *stalled = (deadlock_stalled_t){ .queue = queue->address, .since_ns = waiter->since_ns, .thread_id = thread_id };
    memcpy(stalled->name, queue->name, sizeof stalled->name);
    return true;
}
