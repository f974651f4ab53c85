/* kernel_waits.c: the kernel's waits.c, whose records lie outside of the thread-local variables, since these are
 * elsewhere while their thread does not run. A client that is about the records says so: in others a wait is not
 * noted, which would only make their schedules longer. */
#include "explorer.h"
#include "wait/waits.h"

#include <string.h>

#define CSK_WAITS_EXPLORED
static csk_wait_record_t records[EXPLORE_THREADS + 6];
bool kernel_notes_waits;

static csk_wait_record_t *my_record(void) { return &records[explore_thread()]; }
static bool are_noted(void) { return kernel_notes_waits; }

#include "wait/waits.c"

#include "internal.h"

void kernel_reset_waits(void) {
    memset(records, 0, sizeof records);
    all.lock = 0;
    all.first = NULL;
    kernel_notes_waits = false;
    csk_waits_marked = 0;
    csk_waits_asks = NULL;
    csk_waits_task = NULL;
    csk_waits_current_task = NULL;
}
