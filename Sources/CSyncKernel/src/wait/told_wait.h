/* told_wait.h: a thread's wait that is reported: to the observer, tracers, the contention profile, the metrics or the
 * deadlock watch. A path that waits looks at the word of all of them (probe.h), and comes here where it is not zero:
 *
 *     csk_told_wait_t told = { .object = queue, .object_kind = CSK_OBJECT_WORKQUEUE, .waits_for = CSK_WAITS_FOR_TURN };
 *     csk_told_wait_begin(&told);
 *     int status = ...;
 *     csk_told_wait_end(&told, status);
 *
 * It is begun by the thread that waits, in the queue already, with no internal lock held. What takes long is done then,
 * while the thread would wait anyway. The object must exist at the beginning, and may be gone at the end: its name is
 * copied. A thread whose deadline has passed is out of the queue, and a gate may be closed and freed before its call
 * has returned. An observer that missed the start of a wait gets no end event.
 *
 * Of the profile it is the side of the waiter. */
#ifndef CSK_INTERNAL_TOLD_WAIT_H
#define CSK_INTERNAL_TOLD_WAIT_H

#include "base/metrics.h"
#include "base/observe.h"
#include "base/profile.h"

/* The first six are the caller's to fill in. */
typedef struct csk_told_wait {
    const void *object;
    uint32_t object_kind;
    uint32_t waits_for; /* CSK_WAITS_FOR_TURN, ...: the metrics count apart by it */
    csk_rank_t rank;
    int64_t since_ns;                   /* 0: the thread waits since now */
    uint32_t not_for;                   /* of CSK_COUNTS_...: not reported there */
    uint32_t counting;                  /* what counted at the beginning: CSK_COUNTS_... */
    uint32_t name_number, stack_number; /* of the profile */
    bool observed, has_name;
    csk_metrics_waits_t *waits;
    const csk_stack_t *outer;
    csk_stack_t stack;
    char name[CSK_OBSERVED_NAME_SIZE];
} csk_told_wait_t;

void csk_told_wait_begin(csk_told_wait_t *told);
void csk_told_wait_end(csk_told_wait_t *told, int status);

#endif
