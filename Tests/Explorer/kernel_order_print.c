/* kernel_order_print.c: the kernel's order_print.c and output.c with small tables, in a program whose functions have no
 * names. */
#include "order_explored.h"

#include "observe/symbols.h"

int csk_symbols_open(csk_symbols_t *symbols) {
    *symbols = (csk_symbols_t){ 0 };
    return 0;
}
void csk_symbols_close(csk_symbols_t *symbols) { (void)symbols; }
const csk_module_t *csk_symbols_module(const csk_symbols_t *symbols, uintptr_t address) {
    (void)symbols, (void)address;
    return NULL;
}
const char *csk_symbols_name(const csk_module_t *module, uintptr_t address) {
    (void)module, (void)address;
    return NULL;
}

#include "observe/order_print.c"
#include "observe/output.c"
