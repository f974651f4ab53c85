#include "csynckernel/arrivals.h"

csk_arrival_t *csk_arrivals_link(csk_arrival_t *oldest, csk_arrival_t *arrival) {
    arrival->passed = 0;
    if (oldest == NULL) return arrival->older = arrival->newer = arrival;
    csk_arrival_t *newest = oldest->older;
    arrival->older = newest;
    arrival->newer = oldest;
    newest->newer = arrival;
    oldest->older = arrival;
    return oldest;
}

csk_arrival_t *csk_arrivals_unlink(csk_arrival_t *oldest, uint32_t *oldest_passed, csk_arrival_t *arrival,
                                   bool served) {
    csk_arrival_t *newer = arrival->newer;
    if (arrival == oldest) {
        *oldest_passed -= arrival->passed;
        oldest = newer == arrival ? NULL : newer;
    } else {
        arrival->older->passed += arrival->passed + (served ? 1 : 0);
        *oldest_passed += served ? 1 : 0;
    }
    arrival->older->newer = newer;
    newer->older = arrival->older;
    arrival->older = arrival->newer = NULL;
    return oldest;
}

static void unlink_from(csk_arrivals_t *arrivals, csk_arrival_t *arrival, bool served) {
    arrivals->oldest = csk_arrivals_unlink(arrivals->oldest, &arrivals->oldest_passed, arrival, served);
}

/* Takes some of the oldest out that are under no limit. */
static void trim(csk_arrivals_t *arrivals) {
    for (int steps = CSK_ARRIVALS_STEPS; steps > 0; steps--) {
        if (arrivals->oldest == NULL || arrivals->oldest->is_bounded) return;
        unlink_from(arrivals, arrivals->oldest, false);
    }
}

void csk_arrivals_add_slow(csk_arrivals_t *arrivals, csk_arrival_t *arrival, bool unnamed) {
    trim(arrivals);
    arrival->is_bounded = arrivals->limit == 0 ? unnamed : arrivals->limit != CSK_BYPASS_NEVER;
    arrival->older = arrival->newer = NULL;
    if (!arrival->is_bounded && arrivals->oldest == NULL) return;
    arrivals->oldest = csk_arrivals_link(arrivals->oldest, arrival);
}

void csk_arrivals_remove_slow(csk_arrivals_t *arrivals, csk_arrival_t *arrival, bool served) {
    if (arrival->older != NULL) unlink_from(arrivals, arrival, served);
    trim(arrivals);
}

void csk_arrivals_pass(csk_arrivals_t *arrivals) {
    trim(arrivals);
    if (arrivals->oldest != NULL) csk_arrivals_pass_to(arrivals->oldest->older, &arrivals->oldest_passed);
}
