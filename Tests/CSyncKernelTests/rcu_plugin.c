/* rcu_plugin.c: a plugin of rcu_foreign_test. */
#include "rcu_plugin.h"

static int lock(void) { return csk_rcu_read_lock(); }
static int unlock(void) { return csk_rcu_read_unlock(); }

__attribute__((visibility("default"))) const rcu_plugin_t *rcu_plugin(void) {
    static const rcu_plugin_t plugin = { lock, unlock, csk_rcu_retire, csk_rcu_barrier };
    return &plugin;
}
