/* workqueue_fixture.h: work that notes when it was called, and a queue that is held still while work is queued on
 * it. */
#ifndef CSK_WORKQUEUE_FIXTURE_H
#define CSK_WORKQUEUE_FIXTURE_H

#include <csynckernel/csynckernel.h>

#include "ranks.h"
#include "test.h"

enum { NOTES_MAX = 4096 };

/* What was called, in this order. */
static int notes[NOTES_MAX], note_count;

typedef struct {
    csk_work_t work;
    int name, status;
    uint32_t calls, *go; /* go: it ends once that is not 0 */
} job_t;

static inline void forget_notes(void) { STORE(&note_count, 0); }
static inline int notes_so_far(void) { return LOAD(&note_count); }

static inline void note(int name) {
    int place = ADD(&note_count, 1) - 1;
    CHECK(place < NOTES_MAX);
    STORE(&notes[place], name);
}

static inline void run_job(csk_work_t *work, int status) {
    job_t *job = (job_t *)work;
    uint32_t *go = job->go;
    job->status = status;
    note(job->name);
    ADD(&job->calls, 1); /* from here on its memory may go */
    if (go != NULL) wait_until(LOAD(go));
}

static inline job_t job_named(int name) { return (job_t){ .name = name, .status = -1 }; }

static inline void queue_job(csk_workqueue_t *queue, job_t *job) {
    CHECK_STATUS(csk_workqueue_enqueue(queue, &job->work, run_job), 0);
}

static inline void queue_jobs(csk_workqueue_t *queue, job_t *jobs, int count) {
    for (int i = 0; i < count; i++) {
        jobs[i] = job_named(i);
        queue_job(queue, &jobs[i]);
    }
}

#define CHECK_NOTES(...)                                                                                     \
    do {                                                                                                     \
        int wanted_[] = { __VA_ARGS__ };                                                                     \
        CHECK_EQ(notes_so_far(), sizeof wanted_ / sizeof wanted_[0]);                                        \
        for (size_t i_ = 0; i_ < sizeof wanted_ / sizeof wanted_[0]; i_++) CHECK_EQ(notes[i_], wanted_[i_]); \
    } while (0)

static inline csk_workqueue_t queue_of(uint32_t width, uint32_t capacity, int32_t when_full) {
    csk_workqueue_t queue;
    csk_workqueue_attr_t attr = { .width = width, .capacity = capacity, .when_full = when_full };
    CHECK_STATUS(csk_workqueue_init(&queue, &attr), 0);
    return queue;
}

static inline void drain(csk_workqueue_t *queue) { CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), 0); }

static inline void end_queue(csk_workqueue_t *queue) {
    drain(queue);
    CHECK_STATUS(csk_workqueue_destroy(queue), 0);
}

#endif
