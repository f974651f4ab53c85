/* trampoline.h: runs the functions of asynchronous waiters on the thread that granted them, one after the other, so that a
 * chain of grant, function, unlock, grant needs no stack however long it is. */
#ifndef CSK_INTERNAL_TRAMPOLINE_H
#define CSK_INTERNAL_TRAMPOLINE_H

#include "csynckernel/gate.h"

/* Appends a chain linked by `next_ready` to the thread's list, and runs the list unless it is running or held back. */
void csk_trampoline_run(csk_gate_waiter_t *first);

/* Between these two the thread's list only grows; it runs at the end. */
void csk_trampoline_hold(void);
void csk_trampoline_release(void);

#endif
