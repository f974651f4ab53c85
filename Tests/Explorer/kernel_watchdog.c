/* kernel_watchdog.c: the kernel's watchdog.c and the way back to its first state. */
#include "wait/watchdog.c"

#include <string.h>

#include "internal.h"

void kernel_reset_watchdog(void) {
    wakes = 0;
    memset(looks, 0, sizeof looks);
    watchdog = (__typeof__(watchdog)){ 0 };
}
