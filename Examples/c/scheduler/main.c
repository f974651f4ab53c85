/* A job scheduler: workers pop jobs by priority and post what they did into one table.
 *
 * The table is behind a gate. The workers enter it at priority 0; the monitor, which has a look at it every few hundred
 * microseconds and little patience, enters at priority 10: it passes every worker that waits, and gives up at its
 * deadline. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <csynckernel/csynckernel.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { worker_count = 4, job_count = 20000, kind_count = 3 };

typedef struct {
    csk_pqueue_item_t item; /* first: an item's address is its job's */
    int kind;
    uint64_t input;
} job_t;

typedef struct {
    csk_pqueue_t jobs;
    csk_gate_t gate; /* protects the two below */
    uint64_t done[kind_count];
    uint64_t checksum;
    uint64_t late_looks; /* the monitor's own */
} scheduler_t;

static const int32_t priority_of_kind[kind_count] = { -5, 0, 5 };

static uint64_t collatz_steps(uint64_t number) {
    uint64_t steps = 0;
    for (; number > 1; steps++) number = number % 2 ? 3 * number + 1 : number / 2;
    return steps;
}

static void expect(int status, const char *what) {
    if (status == 0) return;
    fprintf(stderr, "%s: %s\n", what, csk_status_text(status));
    exit(1);
}

static void *work(void *context) {
    scheduler_t *scheduler = context;
    csk_pqueue_item_t *item;
    /* Ends with ESHUTDOWN, once the queue is closed and empty. */
    while (csk_pqueue_pop(&scheduler->jobs, &item) == 0) {
        job_t *job = (job_t *)item;
        uint64_t steps = collatz_steps(job->input);
        expect(csk_gate_lock(&scheduler->gate, 0), "lock");
        scheduler->done[job->kind]++;
        scheduler->checksum += steps;
        expect(csk_gate_unlock(&scheduler->gate), "unlock");
    }
    return NULL;
}

/* Reports until every job is done, and counts the looks at the table that missed their deadline. */
static void *monitor(void *context) {
    scheduler_t *scheduler = context;
    for (uint64_t total = 0, reported = 0; total < job_count;) {
        nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
        int status = csk_gate_timedlock(&scheduler->gate, 10, csk_deadline_after(csk_ms(2)));
        if (status == ETIMEDOUT) {
            scheduler->late_looks++;
            continue;
        }
        expect(status, "lock with a deadline");
        uint64_t done[kind_count];
        total = 0;
        for (int kind = 0; kind < kind_count; kind++) total += done[kind] = scheduler->done[kind];
        expect(csk_gate_unlock(&scheduler->gate), "unlock");
        if (total - reported >= job_count / 4) {
            reported = total;
            printf("%6" PRIu64 " done: %" PRIu64 " urgent, %" PRIu64 " normal, %" PRIu64 " background\n", total,
                   done[2], done[1], done[0]);
        }
    }
    return NULL;
}

int main(void) {
    static scheduler_t scheduler = { .gate = CSK_GATE_INITIALIZER };
    job_t *jobs = calloc(job_count, sizeof *jobs);
    pthread_t workers[worker_count], watcher;
    if (jobs == NULL) return 1;
    /* Bounded: whoever submits faster than the workers work is slowed down and does not fill the memory. */
    expect(csk_pqueue_init(&scheduler.jobs, 256), "init");
    for (int i = 0; i < worker_count; i++)
        expect(pthread_create(&workers[i], NULL, work, &scheduler), "pthread_create");
    expect(pthread_create(&watcher, NULL, monitor, &scheduler), "pthread_create");

    uint64_t expected = 0;
    for (int i = 0; i < job_count; i++) {
        jobs[i].kind = i % kind_count;
        jobs[i].input = (uint64_t)i + 1;
        expected += collatz_steps(jobs[i].input);
        expect(csk_pqueue_push(&scheduler.jobs, priority_of_kind[jobs[i].kind], &jobs[i].item), "push");
    }
    expect(csk_pqueue_close(&scheduler.jobs), "close");
    for (int i = 0; i < worker_count; i++) expect(pthread_join(workers[i], NULL), "pthread_join");
    expect(pthread_join(watcher, NULL), "pthread_join");
    expect(csk_pqueue_destroy(&scheduler.jobs), "destroy the queue");
    expect(csk_gate_destroy(&scheduler.gate), "destroy the gate");
    printf("csynckernel %s: %d jobs, checksum %" PRIu64 ", %" PRIu64 " late looks\n", csk_version(), job_count,
           scheduler.checksum, scheduler.late_looks);
    free(jobs);
    return scheduler.checksum == expected ? 0 : 1;
}
