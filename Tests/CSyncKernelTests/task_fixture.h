/* task_fixture.h: waits of tasks at a queue of their runtime's, and what the metrics have of it. */
#ifndef CSK_TEST_TASK_FIXTURE_H
#define CSK_TEST_TASK_FIXTURE_H

#include "inspect_fixture.h"

static char queue;

static inline csk_task_wait_t wait_at_queue(uint64_t task, const char *name) {
    return (csk_task_wait_t){ .task = task,
                              .task_name = name,
                              .object = &queue,
                              .object_kind = CSK_OBJECT_FIFO_QUEUE,
                              .waits_for = CSK_WAITS_FOR_TURN,
                              .place = { "Test/uploads.swift", 12 },
                              .deadline_ns = CSK_NEVER };
}

typedef struct {
    csk_metrics_entry_t found;
} metered_t;

static inline void find_queue(const csk_metrics_entry_t *entry, void *context) {
    metered_t *metered = context;
    if (entry->object_kind == CSK_OBJECT_FIFO_QUEUE) metered->found = *entry;
}

#endif
