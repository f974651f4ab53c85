/* kernel_timer.c: the kernel's timer.c and, beside it, the way back to its first state: the one static state that the kernel has. */
#include "timer.c"

#include <string.h>

#include "internal.h"

void kernel_reset(void) {
    static char initial[sizeof timers];
    static bool known;
    if (!known) {
        memcpy(initial, &timers, sizeof timers);
        known = true;
    }
    memcpy(&timers, initial, sizeof timers);
}
