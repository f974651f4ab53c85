/* load_time.h: the scheduling settings that the process had when the library was loaded. The library's threads have the
 * same. */
#ifndef CSK_INTERNAL_LOAD_TIME_H
#define CSK_INTERNAL_LOAD_TIME_H

#include "base/platform.h"

/* Gives the calling thread the affinity, the scheduling class and the niceness that stood when the library was loaded.
 * Returns 0, or the error for which the niceness or the class could not be had. */
int csk_load_time_restore(void);

/* How many processors the affinity of that time allows; at least 1. */
uint32_t csk_load_time_processors(void);

#endif
