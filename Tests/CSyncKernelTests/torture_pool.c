/* torture_pool.c: the pool under a crowd that posts at all levels: each item is called once for each time that it was
 * posted, also where it posts itself again, is freed inside its function, or waits there for another item. */
#include "torture.h"

#include <semaphore.h>

enum { AT_ONCE = 16, OF_ONE_THREAD = 64 };

typedef struct {
    uint32_t unfinished, slot;
} poster_t;

typedef struct {
    csk_pool_item_t item;
    poster_t *poster;
    uint32_t waits; /* 1 from before it is posted until it is called */
    uint32_t turns; /* how often it is still posted again */
    bool is_on_heap;
} job_t;

/* On the stack of who waits for it. */
typedef struct {
    csk_pool_item_t item;
    sem_t called;
} call_t;

static uint64_t posted, called;

static uint32_t any_level(void) { return (uint32_t)below(CSK_POOL_LEVELS); }

static void post(csk_pool_item_t *item, csk_pool_function_t function) {
    item->level = any_level();
    ADD(&posted, 1);
    CHECK_STATUS(csk_pool_post(item, function), 0);
}

static void note_call(void) {
    ADD(&called, 1);
    tally(GRANTS);
}

static void answer(csk_pool_item_t *item) {
    note_call();
    CHECK_EQ(sem_post(&((call_t *)item)->called), 0);
}

/* Blocks outside of the library until another item was called: also where all workers do so. */
static void wait_for_another(void) {
    call_t call = { .item = { .next = NULL } };
    CHECK_EQ(sem_init(&call.called, 0, 0), 0);
    post(&call.item, answer);
    while (sem_wait(&call.called) != 0) continue;
    CHECK_EQ(sem_destroy(&call.called), 0);
}

static void run_job(csk_pool_item_t *item) {
    job_t *job = (job_t *)item;
    poster_t *poster = job->poster;
    torture_slot = (int)poster->slot;
    CHECK_EQ(__atomic_exchange_n(&job->waits, 0, __ATOMIC_SEQ_CST), 1);
    note_call();
    if (one_in(256)) wait_for_another();
    dawdle();
    if (job->turns > 0) {
        job->turns--;
        STORE(&job->waits, 1);
        post(&job->item, run_job); /* and may be called at once, and freed */
        return;
    }
    if (job->is_on_heap) {
        memset(job, 0xA5, sizeof *job);
        free(job);
    }
    ADD(&poster->unfinished, -1);
}

static void post_job(poster_t *poster, job_t *job, bool is_on_heap) {
    job->poster = poster;
    job->is_on_heap = is_on_heap;
    job->turns = one_in(8) ? (uint32_t)below(8) : 0;
    STORE(&job->waits, 1);
    ADD(&poster->unfinished, 1);
    post(&job->item, run_job);
}

/* Items in place, posted together, as soon as all of the last time were called. */
static void post_together(poster_t *poster, job_t *jobs) {
    uint64_t count = 1 + below(AT_ONCE);
    wait_until(LOAD(&poster->unfinished) == 0);
    for (uint64_t i = 0; i < AT_ONCE; i++) CHECK_EQ(LOAD(&jobs[i].waits), 0);
    for (uint64_t i = 0; i < count; i++) post_job(poster, &jobs[i], false);
}

static void *post_on(void *context) {
    poster_t *poster = &((poster_t *)context)[torture_slot];
    job_t *jobs = calloc(AT_ONCE, sizeof *jobs);
    CHECK(jobs != NULL);
    poster->slot = (uint32_t)torture_slot;
    while (!stopped()) {
        if (LOAD(&poster->unfinished) < OF_ONE_THREAD && !one_in(16)) {
            job_t *job = calloc(1, sizeof *job);
            CHECK(job != NULL);
            post_job(poster, job, true);
        } else {
            post_together(poster, jobs);
        }
        CHECK_LE(csk_pool_workers(), CSK_POOL_THREADS_MAX);
        dawdle();
    }
    wait_until(LOAD(&poster->unfinished) == 0);
    free(jobs);
    return NULL;
}

void torture_pool(void) {
    static struct crowd workers;
    poster_t *posters = calloc(TORTURE_MAX_THREADS + 8, sizeof *posters);
    CHECK(posters != NULL);
    posted = called = 0;
    crowd_start(&workers, torture_threads, post_on, posters);
    torture_wait();
    STORE(&torture_stop, 1);
    crowd_join(&workers);
    CHECK_EQ(LOAD(&called), LOAD(&posted));
    CHECK_EQ(LOAD(&called), torture_total(GRANTS));
    CHECK_EQ(csk_pool_queued(), 0);
    free(posters);
}
