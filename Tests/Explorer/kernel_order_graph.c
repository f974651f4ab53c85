/* kernel_order_graph.c: the kernel's order_graph.c with small tables, and the way back to its first state. */
#include "order_explored.h"

#include "observe/order_graph.c"

#include "internal.h"

void kernel_reset_order_graph(void) {
    csk_order_tables = NULL;
    lock = 0;
}
