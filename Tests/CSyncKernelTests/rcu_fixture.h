/* rcu_fixture.h: objects that are retired one by one, and count when they are freed. */
#ifndef CSK_RCU_FIXTURE_H
#define CSK_RCU_FIXTURE_H

#include <csynckernel/csynckernel.h>

#include "test.h"

static inline void reclaim(csk_rcu_node_t *node) {
    ADD((int *)node->context, 1);
    free(node);
}

static inline void retire_one(int *freed) {
    csk_rcu_node_t *node = calloc(1, sizeof *node);
    node->context = freed;
    CHECK_STATUS(csk_rcu_retire(node, reclaim), 0);
}

static inline void *read_once(void *unused) {
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    return unused;
}

#endif
