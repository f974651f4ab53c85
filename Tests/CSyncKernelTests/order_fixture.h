/* order_fixture.h: what the checker of lock order reports, and locks that are entered inside of each other. */
#ifndef CSK_ORDER_FIXTURE_H
#define CSK_ORDER_FIXTURE_H

#include <csynckernel/csynckernel.h>

#include "test.h"

static int reports;
static char last[512];

static inline void keep(const csk_event_t *event) {
    if (event->kind != CSK_EVENT_LOCK_ORDER) return;
    reports++;
    snprintf(last, sizeof last, "%s", event->name);
    CHECK_STATUS(event->status, EDEADLK);
}

static inline void check_reports(int expected, const char *circle) {
    CHECK_EQ(reports, expected);
    if (circle != NULL && strcmp(last, circle) != 0) {
        fprintf(stderr, "reported: %s, not %s\n", last, circle);
        CHECK(false);
    }
    reports = 0;
}

/* Before any test. A gate whose form was decided before the checker was started is not ordered. */
static inline void start_checker(void) {
    csk_set_reporter(keep);
    CHECK_STATUS(csk_order_start(), 0);
}

static inline void lock(csk_gate_t *gate) { CHECK_STATUS(csk_gate_lock(gate, 0), 0); }
static inline void unlock(csk_gate_t *gate) { CHECK_STATUS(csk_gate_unlock(gate), 0); }
static inline void within(csk_gate_t *outer, csk_gate_t *inner) {
    lock(outer);
    lock(inner);
    unlock(inner);
    unlock(outer);
}

static inline void enter_one_more(const char *object) {
    csk_order_comes(object, CSK_OBJECT_OTHER);
    csk_order_entered(object, CSK_OBJECT_OTHER);
}

#endif
