/* snapshot.h: a published value that readers see without a lock, and that writers replace.
 *
 * A value belongs to the caller, is never changed once it is published, and has a csk_rcu_node_t inside. Zero-filled
 * memory is a snapshot without a value.
 *
 * Updates are ordered by a gate, so none is lost. Publishing waits for no reader. The old value is reclaimed after a
 * grace period as csk_rcu_retire_always says, whose limit may slow an update down. A snapshot must not be freed before
 * csk_snapshot_update_end has returned to all callers. No function here may be called from a signal handler.
 *
 * fork. A child reads each snapshot of the parent, whatever was happening to it, and goes on with an update that its
 * thread began. What another thread was updating stays so: there the child can't update, unless csk_gate_init makes
 * `updating` anew. A version may then never be reclaimed. Reclaiming is as rcu.h says.
 *
 * Example: routes that are copied and changed while others read them.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *     #include <stdlib.h>
 *
 *     struct routes {
 *         csk_rcu_node_t node;
 *         int count;
 *     };
 *
 *     static csk_snapshot_t snapshot = CSK_SNAPSHOT_INITIALIZER;
 *
 *     static void free_routes(csk_rcu_node_t *node) { free(node); }
 *
 *     static int add_route(void) {
 *         const void *value;
 *         int status = csk_snapshot_update_begin(&snapshot, &value, CSK_NEVER);
 *         if (status != 0) return status;
 *         const struct routes *old = value;
 *         struct routes *fresh = malloc(sizeof *fresh);
 *         if (fresh == NULL) {
 *             csk_snapshot_update_cancel(&snapshot);
 *             return ENOMEM;
 *         }
 *         fresh->count = (old != NULL ? old->count : 0) + 1;
 *         return csk_snapshot_update_end(&snapshot, fresh, &fresh->node, free_routes);
 *     }
 *
 *     int main(void) {
 *         if (add_route() != 0 || add_route() != 0) return 1;
 *         const struct routes *routes = csk_snapshot_read_begin(&snapshot);
 *         int count = routes != NULL ? routes->count : 0;
 *         csk_snapshot_read_end();
 *         printf("%d\n", count);
 *         return count != 2 || csk_snapshot_destroy(&snapshot) != 0 ||
 *                csk_rcu_barrier() != 0;
 *     }
 */
#ifndef CSK_SNAPSHOT_H
#define CSK_SNAPSHOT_H

#include "gate.h"
#include "rcu.h"

CSK_BEGIN_DECLS

typedef struct csk_snapshot {
    const void *value;    /* what readers load */
    csk_rcu_node_t *node; /* the node of the value; protected by the gate */
    csk_gate_t updating;
} csk_snapshot_t;

#ifdef __cplusplus
#define CSK_SNAPSHOT_INITIALIZER \
    {}
#else
#define CSK_SNAPSHOT_INITIALIZER \
    { 0 }
#endif

/* Gives the value inside a read section of the caller, until whose end it stays valid, or NULL while there is none.
 * Never blocks. */
static inline const void *csk_snapshot_get(const csk_snapshot_t *snapshot) {
    return __atomic_load_n(&snapshot->value, __ATOMIC_ACQUIRE);
}

/* Begins a read section, and gives the value as csk_snapshot_get does. Never blocks, but for a thread's first section,
 * as csk_rcu_read_lock. */
static inline const void *csk_snapshot_read_begin(const csk_snapshot_t *snapshot) {
    (void)csk_rcu_read_lock();
    return csk_snapshot_get(snapshot);
}
/* Ends the read section. Returns 0, or EPERM outside of a section. */
static inline int csk_snapshot_read_end(void) { return csk_rcu_read_unlock(); }

/* Makes the caller the only updater, and waits for others until `deadline_ns`. It stores the value in `*value`, which
 * stays valid until the update ends. Reading goes on meanwhile. Returns 0, ETIMEDOUT, or EDEADLK when the calling
 * thread is updating this snapshot already. */
CSK_API CSK_MUST_USE int csk_snapshot_update_begin(csk_snapshot_t *snapshot, const void **value, int64_t deadline_ns);

/* Publishes `value`, ends the update and retires the old value. `node` is inside the new value; `reclaim` is called
 * with it once the value was replaced and a grace period has passed. `value` and `node` may be NULL: then there is no
 * value. Returns 0; EPERM when the calling thread is not updating the snapshot; or EINVAL when there is a value without
 * node or function, or the value is the current one. After an error nothing was changed. */
CSK_API CSK_MUST_USE int csk_snapshot_update_end(csk_snapshot_t *snapshot, const void *value, csk_rcu_node_t *node,
                                                 csk_rcu_function_t reclaim);

/* Ends the update and leaves the value as it is. Returns 0 or EPERM. */
CSK_API int csk_snapshot_update_cancel(csk_snapshot_t *snapshot);

/* Replaces the value, whatever it is: an update begun and ended. It waits for updates that are in progress. Returns 0,
 * EDEADLK or EINVAL. */
CSK_API CSK_MUST_USE int csk_snapshot_store(csk_snapshot_t *snapshot, const void *value, csk_rcu_node_t *node,
                                            csk_rcu_function_t reclaim);

/* Reclaims the value that is published, by its function and on the calling thread. No thread may use the snapshot any
 * more, readers included. Values replaced before are reclaimed in their own time. It waits for nothing. Returns 0, or
 * EBUSY while there is an update. */
CSK_API int csk_snapshot_destroy(csk_snapshot_t *snapshot);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_snapshot_t) == sizeof(csk_gate_t) + 16, "csk_snapshot_t is part of the ABI");

#endif
