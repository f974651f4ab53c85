/* kernel_metrics.c: the kernel's metrics.c with a table of two entries, and the way back to its first state. */
#include "explorer.h"

#define CSK_METRICS_ENTRIES 2
#include "observe/metrics.c"

#include "internal.h"

void kernel_reset_metrics(void) {
    mapped = NULL;
    csk_counting = 0;
    csk_hooks = NULL;
    csk_told = (csk_told_t){ { 0 }, { 0 }, 0 };
    csk_metrics_one_in = 1024;
}
