/* snapshot.c: values are published under a gate, and reclaimed by RCU.
 *
 * The new value's function is kept in its node until the value is replaced. A replaced value is retired after the gate
 * was left: retiring may wait for room, and others can update meanwhile. */
#include "csynckernel/snapshot.h"

#include "base/platform.h"
#include "thread/name.h"

int csk_snapshot_update_begin(csk_snapshot_t *snapshot, const void **value, int64_t deadline_ns) {
    int error = csk_gate_timedlock(&snapshot->updating, 0, deadline_ns);
    if (error != 0) return error;
    *value = csk_load(&snapshot->value, CSK_RELAXED);
    return 0;
}

int csk_snapshot_update_end(csk_snapshot_t *snapshot, const void *value, csk_rcu_node_t *node,
                            csk_rcu_function_t reclaim) {
    if (!csk_gate_is_mine(&snapshot->updating)) return EPERM;
    if (value != NULL && (node == NULL || reclaim == NULL)) return EINVAL;
    csk_rcu_node_t *old = snapshot->node;
    if (value == NULL) node = NULL;
    if (node != NULL && node == old) return EINVAL;
    if (node != NULL) node->function = reclaim;
    snapshot->node = node;
    csk_store(&snapshot->value, value, CSK_RELEASE);
    csk_gate_unlock(&snapshot->updating);
    return old == NULL ? 0 : csk_rcu_retire_always(old, old->function);
}

int csk_snapshot_update_cancel(csk_snapshot_t *snapshot) { return csk_gate_unlock(&snapshot->updating); }

int csk_snapshot_store(csk_snapshot_t *snapshot, const void *value, csk_rcu_node_t *node, csk_rcu_function_t reclaim) {
    const void *old;
    int error = csk_snapshot_update_begin(snapshot, &old, CSK_NEVER);
    if (error != 0) return error;
    error = csk_snapshot_update_end(snapshot, value, node, reclaim);
    if (error != 0) csk_snapshot_update_cancel(snapshot);
    return error;
}

int csk_snapshot_destroy(csk_snapshot_t *snapshot) {
    int error = csk_gate_destroy(&snapshot->updating);
    if (error != 0) return error;
    csk_name_end(snapshot);
    csk_rcu_node_t *node = snapshot->node;
    csk_store(&snapshot->value, NULL, CSK_RELAXED);
    snapshot->node = NULL;
    if (node != NULL) node->function(node);
    return 0;
}
