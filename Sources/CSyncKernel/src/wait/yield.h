/* yield.h: a thread that has spun in vain yields its processor a few times before it parks.
 *
 * What it waits for may be the step of a thread that has lost its processor, to this very thread or to another one that
 * waits as well. A yield gives that thread the processor at once, and this thread has it back as soon as the other one
 * waits in its turn. Parking would give it too. But then another thread has to wake this one, which takes many times as
 * long once a processor has fallen asleep.
 *
 * Where other threads run that wait for nothing, a yield gives them a time slice, which is milliseconds. A park does
 * not: a thread that was woken comes soon. So a thread whose yield took long parks at once the next CSK_YIELD_SKIPS
 * times. This decides how long a thread stays awake, and nothing else. */
#ifndef CSK_INTERNAL_YIELD_H
#define CSK_INTERNAL_YIELD_H

#include "base/platform.h"

/* The explorer's threads yield once. */
#ifndef CSK_YIELDS
#define CSK_YIELDS 7
#endif
enum { CSK_YIELD_SKIPS = 64 };
/* A round among threads that wait for the same takes less. */
#define CSK_YIELD_LONG_NS INT64_C(100000)

typedef struct csk_yields {
    uint32_t left;
    int64_t since_ns; /* the end of the last yield, or the beginning */
} csk_yields_t;

csk_yields_t csk_yields_begin(void);
/* Yields once. Returns false, without a yield, once the thread has yielded often enough. */
bool csk_yield(csk_yields_t *yields);

#endif
