/* torture_delayed.c: delayed work under a crowd that starts and cancels it, once and with periods, on queues of all
 * kinds: never early, never twice at once, called for the last time or cancelled exactly once for each start, with
 * ECANCELED to periodic work as often as was promised. */
#include "torture.h"

enum { WORKS = 8, STARTING = INT32_MIN / 2 };

typedef struct arena arena_t;

typedef struct {
    csk_delayed_t delayed;
    arena_t *arena;
    int32_t cancelling; /* who cancels it just now; far below 0 while it is started: the caller has to order the two */
    uint32_t started;   /* 1 from before it is started until it was called for the last time, or cancelled */
    uint32_t inside;
    int64_t not_before_ns, period_ns;
} job_t;

struct arena {
    csk_workqueue_t queue;
    uint32_t width, inside, next_worker;
    uint64_t starts, ends, cancelled, promised, last_calls;
    job_t jobs[][WORKS]; /* a row for each thread */
};

/* False, with `expected` as it is, where another thread was first. */
static bool change(int32_t *word, int32_t *expected, int32_t to) {
    return __atomic_compare_exchange_n(word, expected, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static void end(job_t *job) {
    ADD(&job->arena->ends, 1);
    CHECK_EQ(__atomic_exchange_n(&job->started, 0, __ATOMIC_SEQ_CST), 1);
}

static void run_in_time(job_t *job) {
    arena_t *arena = job->arena;
    CHECK_GE(csk_now(), job->not_before_ns);
    job->not_before_ns += job->period_ns;
    CHECK_LE(ADD(&arena->inside, 1), arena->width);
    CHECK_EQ(LOAD(&job->started), 1);
    dawdle();
    ADD(&arena->inside, -1);
    tally(GRANTS);
}

static void ring(csk_work_t *work, int status) {
    job_t *job = (job_t *)work;
    arena_t *arena = job->arena;
    bool is_last = job->period_ns == 0 || status != 0;
    CHECK_EQ(ADD(&job->inside, 1), 1);
    CHECK(csk_workqueue_is_current(&arena->queue));
    if (status == 0) run_in_time(job);
    else if (job->period_ns != 0) CHECK_STATUS(status, ECANCELED);
    else CHECK_STATUS(status, arena->queue.when_full == CSK_WORKQUEUE_REFUSE ? EBUSY : ECANCELED);
    if (status != 0) tally(status == EBUSY ? REFUSED : CANCELS);
    if (is_last && job->period_ns != 0) ADD(&arena->last_calls, 1);
    ADD(&job->inside, -1);
    if (is_last) end(job);
}

/* One of this thread's that is over. */
static void start_one(job_t *job) {
    arena_t *arena = job->arena;
    int32_t nobody = 0;
    if (LOAD(&job->started) || !change(&job->cancelling, &nobody, STARTING)) return;
    int64_t deadline_ns = one_in(16) ? CSK_NEVER : near_deadline();
    int64_t period_ns = one_in(3) ? 20000 + (int64_t)below(300000) : 0;
    job->not_before_ns = deadline_ns;
    job->period_ns = period_ns;
    STORE(&job->started, 1);
    ADD(&arena->starts, 1);
    csk_rank_t rank = csk_rank((int)below(3) - 1, CSK_PLACE_BACK);
    bool drops = arena->queue.when_full == CSK_WORKQUEUE_DROP_OLDEST;
    csk_delayed_t *delayed = &job->delayed;
    if (drops || one_in(2)) CHECK_STATUS(csk_delayed_start(delayed, &arena->queue, deadline_ns, period_ns, ring), 0);
    else CHECK_STATUS(csk_delayed_start_ranked(delayed, rank, &arena->queue, deadline_ns, period_ns, ring), 0);
    ADD(&job->cancelling, -STARTING);
}

/* Anybody's. */
static void cancel_one(job_t *job) {
    int32_t others = LOAD(&job->cancelling);
    do {
        if (others < 0) return;
    } while (!change(&job->cancelling, &others, others + 1));
    int status = csk_delayed_cancel(&job->delayed);
    if (status == 0) {
        ADD(&job->arena->cancelled, 1);
        tally(CANCELLED);
        end(job);
    } else if (status == EBUSY) {
        ADD(&job->arena->promised, 1);
    } else {
        CHECK_STATUS(status, ENOENT);
    }
    ADD(&job->cancelling, -1);
}

static void *start_and_cancel(void *context) {
    arena_t *arena = context;
    job_t *own = arena->jobs[ADD(&arena->next_worker, 1) - 1];
    while (!stopped()) {
        switch (below(8)) {
        case 0:
            if (one_in(32)) suspend_a_while(&arena->queue);
            break;
        case 1: cancel_one(&own[below(WORKS)]); break;
        case 2: cancel_one(&arena->jobs[below((uint64_t)torture_threads)][below(WORKS)]); break;
        default: start_one(&own[below(WORKS)]);
        }
        dawdle();
    }
    for (int i = 0; i < WORKS; i++) cancel_one(&own[i]);
    return NULL;
}

/* Who cancelled a job meanwhile has seen it end, or it ends by itself. */
static void await_ends(arena_t *arena) {
    for (int i = 0; i < torture_threads; i++)
        for (int j = 0; j < WORKS; j++) {
            job_t *job = &arena->jobs[i][j];
            cancel_one(job);
            wait_until(LOAD(&job->started) == 0);
            CHECK_STATUS(csk_delayed_cancel(&job->delayed), ENOENT);
            CHECK_EQ(LOAD(&job->inside), 0);
        }
}

void torture_delayed(uint32_t width, uint32_t capacity, int32_t when_full) {
    static struct crowd workers;
    arena_t *arena = calloc(1, sizeof *arena + sizeof arena->jobs[0] * (size_t)torture_threads);
    CHECK(arena != NULL);
    csk_workqueue_attr_t attr = { .width = width, .capacity = capacity, .when_full = when_full };
    CHECK_STATUS(csk_workqueue_init(&arena->queue, &attr), 0);
    arena->width = width;
    for (int i = 0; i < torture_threads; i++)
        for (int j = 0; j < WORKS; j++) arena->jobs[i][j].arena = arena;
    crowd_start(&workers, torture_threads, start_and_cancel, arena);
    torture_wait();
    STORE(&torture_stop, 1);
    crowd_join(&workers);
    await_ends(arena);
    CHECK_STATUS(csk_workqueue_drain(&arena->queue, CSK_NEVER), 0);
    CHECK_STATUS(csk_workqueue_destroy(&arena->queue), 0);
    CHECK_EQ(arena->ends, arena->starts);
    CHECK_EQ(arena->promised, arena->last_calls);
    CHECK_EQ(arena->cancelled, torture_total(CANCELLED));
    free(arena);
}
