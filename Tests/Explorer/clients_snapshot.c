/* clients_snapshot.c: a value is whole for whoever reads it. */
#include "csynckernel/snapshot.h"

#include "explorer.h"

struct value {
    csk_rcu_node_t node;
    uint32_t written;
};
static struct {
    csk_snapshot_t snapshot;
    uint32_t reclaimed;
    struct value value;
} * shared;

static void make(void) { shared = explore_allocate(sizeof *shared); }
static void reclaim(csk_rcu_node_t *node) {
    __atomic_store_n(&((struct value *)node)->written, 2, __ATOMIC_RELAXED);
    shared->reclaimed++;
}
static void publishes(void) {
    __atomic_store_n(&shared->value.written, 1, __ATOMIC_RELAXED);
    EXPECT_EQUAL(csk_snapshot_store(&shared->snapshot, &shared->value, &shared->value.node, reclaim), 0);
}
static void reads(void) {
    const struct value *value = csk_snapshot_read_begin(&shared->snapshot);
    if (value != NULL) EXPECT_EQUAL(__atomic_load_n(&value->written, __ATOMIC_RELAXED), 1);
    EXPECT_EQUAL(csk_snapshot_read_end(), 0);
}
static void is_destroyed(void) {
    uint32_t before = shared->reclaimed;
    EXPECT_EQUAL(csk_snapshot_destroy(&shared->snapshot), 0);
    EXPECT_EQUAL(shared->reclaimed, before + 1);
}
CLIENT(rcu_snapshot, .setup = make, .threads = { publishes, reads }, .check = is_destroyed, .preemptions = 3)
