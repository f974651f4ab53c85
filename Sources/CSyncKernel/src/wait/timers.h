/* timers.h: what a view of inspect.h shows of the timers. */
#ifndef CSK_INTERNAL_TIMERS_H
#define CSK_INTERNAL_TIMERS_H

#include "csynckernel/inspect.h"

/* Reads them. Returns false where their lock could not be had until `until_ns`. */
bool csk_timers_look(csk_inspected_timers_t *seen, int64_t until_ns);

#endif
