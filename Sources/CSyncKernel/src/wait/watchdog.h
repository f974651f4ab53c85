/* watchdog.h: csk-watchdog, the one thread of the library's that checks waits of other threads while that is wanted. It
 * never waits for a thread. It calls what the program has set for reports. */
#ifndef CSK_INTERNAL_WATCHDOG_H
#define CSK_INTERNAL_WATCHDOG_H

#include "base/platform.h"

enum { CSK_WATCHDOG_MARKS, CSK_WATCHDOG_DEADLOCKS, CSK_WATCHDOG_RCU, CSK_WATCHDOG_LOOKS };

/* Looks, on that thread. Returns when it is to look again: CSK_NEVER for not until csk_watchdog_wake is called. */
typedef int64_t (*csk_watchdog_look_t)(void);

/* Starts the thread if this process does not have it yet, and has it call `look`, at once and from then on. Returns 0,
 * EAGAIN or ENOMEM. */
int csk_watchdog_start(uint32_t which, csk_watchdog_look_t look);
/* There may be something to look at. */
void csk_watchdog_wake(void);

#endif
