/* arrivals.h: a limit on how often a waiter is overtaken.
 *
 * A list of the waiters, by arrival, beside the heap that orders them. Once so many later arrivals as the limit says
 * have gone before one of them, that one is the next. The count is exact, and costs O(1) for each that comes or goes.
 * Nothing allocates, and nothing blocks. The list is not synchronized: the lock of its owner protects it. So a signal
 * handler, or a child of fork, may use it if no other thread was changing it. Zero-filled memory is an empty list, of
 * CSK_BYPASS_UNNAMED.
 *
 * How it counts. Only the oldest one's count is kept (`oldest_passed`). `passed` of any is the difference between its
 * count and that of the next newer one. So if X goes, one is added for all that are older, by adding to X's older
 * neighbour alone. Counts grow with age: if the oldest has not been passed too often, none has.
 *
 * Some may be under no limit. They stand in the list only while an older waiter is under one, since that waiter counts
 * them. So the oldest is always under the limit, but for a moment after a long row of others: each step takes
 * CSK_ARRIVALS_STEPS of these out at most.
 *
 * Example: one that is overtaken twice at most.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *
 *     int main(void) {
 *         csk_arrivals_t arrivals = { .limit = 2 };
 *         csk_arrival_t first;
 *         csk_arrivals_add(&arrivals, &first, false);
 *         for (int i = 0; i < 2; i++) csk_arrivals_pass(&arrivals);
 *         bool is_next = csk_arrivals_overdue(&arrivals) == &first;
 *         printf("%s\n", is_next ? "it goes next" : "it waits");
 *         return is_next ? 0 : 1;
 *     }
 */
#ifndef CSK_ARRIVALS_H
#define CSK_ARRIVALS_H

#include "base.h"

CSK_BEGIN_DECLS

/* A part of whatever waits. It needs no initialization, and stays at its address while it is in the list. */
typedef struct csk_arrival {
    struct csk_arrival *older, *newer; /* a ring; NULL outside of the list */
    uint32_t passed;
    uint32_t is_bounded; /* CSK_ARRIVAL_... */
} csk_arrival_t;

/* BEHIND: under no limit, and no older waiter is under one; used by gates alone. */
enum { CSK_ARRIVAL_FREE = 0, CSK_ARRIVAL_BOUNDED = 1, CSK_ARRIVAL_BEHIND = 2 };

enum { CSK_BYPASS_UNNAMED = 64 }; /* the limit for waiters of unnamed priority, where the limit is 0 */
#ifndef CSK_ARRIVALS_STEPS        /* the explorer has fewer */
enum { CSK_ARRIVALS_STEPS = 32 };
#endif
#define CSK_BYPASS_NEVER UINT32_MAX /* as a limit: no waiter is under one */

typedef struct csk_arrivals {
    csk_arrival_t *oldest;
    uint32_t oldest_passed;
    uint32_t limit; /* for all; or CSK_BYPASS_NEVER; or 0 */
} csk_arrivals_t;

/* For the inline functions only: where a waiter is, or may be, under the limit. */
CSK_API void csk_arrivals_add_slow(csk_arrivals_t *arrivals, csk_arrival_t *arrival, bool unnamed);
CSK_API void csk_arrivals_remove_slow(csk_arrivals_t *arrivals, csk_arrival_t *arrival, bool served);

/* A waiter has come. `unnamed`: its priority was not named, which counts where the limit is 0. */
static inline void csk_arrivals_add(csk_arrivals_t *arrivals, csk_arrival_t *arrival, bool unnamed) {
    if (CSK_LIKELY(arrivals->limit == 0) && CSK_LIKELY(!unnamed) && CSK_LIKELY(arrivals->oldest == NULL))
        arrival->older = NULL;
    else csk_arrivals_add_slow(arrivals, arrival, unnamed);
}
/* One goes: `served` says that it goes before all that are older. */
static inline void csk_arrivals_remove(csk_arrivals_t *arrivals, csk_arrival_t *arrival, bool served) {
    if (CSK_UNLIKELY(arrivals->oldest != NULL)) csk_arrivals_remove_slow(arrivals, arrival, served);
}
/* A newcomer that never stood here was served before them all. */
CSK_API void csk_arrivals_pass(csk_arrivals_t *arrivals);
/* How often a waiter may be overtaken where `limit` is 0, or a number. */
static inline uint32_t csk_arrivals_limit(uint32_t limit) { return limit != 0 ? limit : (uint32_t)CSK_BYPASS_UNNAMED; }
/* The one that has to go next, whatever its rank; NULL if there is none. */
static inline csk_arrival_t *csk_arrivals_overdue(const csk_arrivals_t *arrivals) {
    const csk_arrival_t *oldest = arrivals->oldest;
    if (oldest == NULL || !oldest->is_bounded) return NULL;
    return arrivals->oldest_passed >= csk_arrivals_limit(arrivals->limit) ? arrivals->oldest : NULL;
}

/* The list itself, for callers that keep its ends elsewhere. The first two return the oldest. */
CSK_API csk_arrival_t *csk_arrivals_link(csk_arrival_t *oldest, csk_arrival_t *arrival);
CSK_API csk_arrival_t *csk_arrivals_unlink(csk_arrival_t *oldest, uint32_t *oldest_passed, csk_arrival_t *arrival,
                                           bool served);
/* A waiter was served before all of the list up to `newest`. */
static inline void csk_arrivals_pass_to(csk_arrival_t *newest, uint32_t *oldest_passed) {
    newest->passed++;
    (*oldest_passed)++;
}

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_arrival_t) == 24, "csk_arrival_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_arrivals_t) == 16, "csk_arrivals_t is part of the ABI");

#endif
