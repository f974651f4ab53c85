/* rcu_plugin.h: what a plugin that contains this library's archive gives to rcu_foreign_test. */
#ifndef CSK_TEST_RCU_PLUGIN_H
#define CSK_TEST_RCU_PLUGIN_H

#include <csynckernel/rcu.h>

typedef struct {
    int (*lock)(void);
    int (*unlock)(void);
    int (*retire)(csk_rcu_node_t *node, csk_rcu_function_t function);
    int (*barrier)(void);
} rcu_plugin_t;

#endif
