/* torture_workqueue.c: work queues under a crowd that queues, calls, cancels, suspends and drains: each work that was
 * accepted is called once or was cancelled, what is of its own turn with 0, no more run than may, barriers run alone,
 * and a serial queue keeps each thread's order within a class, but for what waits for room without its thread. */
#include "torture.h"

enum { WORKS = 8, CLASSES = 3 };

typedef struct arena arena_t;

typedef struct {
    csk_work_t work;
    arena_t *arena;
    csk_workqueue_wait_t room;
    uint32_t waits; /* 1 from before it is queued until it is called or was cancelled */
    uint32_t asks;  /* 1 until it is known whether there is room */
    int owner, class;
    uint64_t sequence;
    bool barrier, stays, asked;
} job_t;

struct arena {
    csk_workqueue_t queue;
    uint32_t width, next_worker, inside, drains;
    uint64_t accepted, called, cancelled, last[TORTURE_MAX_THREADS][CLASSES];
    job_t jobs[][WORKS]; /* a row for each thread */
};

static void enter(arena_t *arena, bool alone) {
    uint32_t inside = ADD(&arena->inside, 1);
    CHECK_LE(inside, alone ? 1 : arena->width);
    CHECK(csk_workqueue_is_current(&arena->queue));
    if (one_in(32)) CHECK_STATUS(csk_workqueue_drain(&arena->queue, CSK_NEVER), EDEADLK);
}

static void leave(arena_t *arena, bool alone) {
    dawdle();
    if (alone) CHECK_EQ(LOAD(&arena->inside), 1);
    ADD(&arena->inside, -1);
}

static void run_job(csk_work_t *work, int status) {
    job_t *job = (job_t *)work;
    arena_t *arena = job->arena;
    if (status == 0) {
        bool alone = arena->width == 1 || job->barrier;
        enter(arena, alone);
        if (arena->width == 1 && !job->asked) {
            uint64_t *last = &arena->last[job->owner][job->class];
            CHECK(job->sequence > *last);
            *last = job->sequence;
        }
        leave(arena, alone);
        tally(GRANTS);
    } else {
        CHECK(!job->stays);
        CHECK_STATUS(status, ECANCELED);
        tally(CANCELS);
    }
    ADD(&arena->called, 1);
    CHECK_EQ(__atomic_exchange_n(&job->waits, 0, __ATOMIC_SEQ_CST), 1);
}

static void is_told(csk_workqueue_wait_t *wait) {
    CHECK_STATUS(wait->status, 0);
    STORE(&((job_t *)wait->context)->asks, 0);
}

static int queue_job(job_t *job, csk_rank_t rank, int64_t deadline_ns) {
    csk_workqueue_t *queue = &job->arena->queue;
    uint32_t flags = job->barrier ? CSK_WORK_BARRIER : 0;
    if (job->asked)
        return csk_workqueue_submit_when_room(queue, rank, &job->work, flags, run_job, &job->room, is_told, job);
    if (job->stays) flags |= CSK_WORK_OWN_TURN;
    if (flags == 0 && job->class == 1 && one_in(2)) return csk_workqueue_enqueue(queue, &job->work, run_job);
    return csk_workqueue_submit(queue, rank, &job->work, flags, deadline_ns, run_job);
}

static void queue_one(arena_t *arena, int which, uint64_t *sequence) {
    job_t *job = &arena->jobs[which][below(WORKS)];
    if (LOAD(&job->waits) || LOAD(&job->asks)) return;
    bool drops = arena->queue.when_full == CSK_WORKQUEUE_DROP_OLDEST;
    int64_t deadline_ns = one_in(2) ? CSK_NEVER : near_deadline();
    job->owner = which;
    job->class = drops ? 1 : (int)below(CLASSES);
    job->sequence = ++*sequence;
    job->barrier = job->class == 1 && one_in(4);
    job->stays = one_in(8);
    job->asked = !job->stays && one_in(4);
    STORE(&job->asks, job->asked);
    STORE(&job->waits, 1);
    ADD(&arena->accepted, 1);
    int status = queue_job(job, csk_rank(job->class - 1, CSK_PLACE_BACK), deadline_ns);
    if (status == EINPROGRESS) return;
    STORE(&job->asks, 0);
    if (status == 0) return;
    CHECK(!job->stays);
    if (status == ETIMEDOUT) CHECK_GE(csk_now(), deadline_ns);
    else CHECK_STATUS(status, EBUSY);
    ADD(&arena->accepted, UINT64_MAX);
    STORE(&job->waits, 0);
    tally(status == EBUSY ? REFUSED : TIMEOUTS);
}

struct call {
    arena_t *arena;
    bool alone, done;
};

static void run_call(void *context) {
    struct call *call = context;
    enter(call->arena, call->alone);
    leave(call->arena, call->alone);
    call->done = true;
}

static void call_one(arena_t *arena) {
    struct call call = { .arena = arena, .alone = arena->width == 1 || one_in(4) };
    int64_t deadline_ns = one_in(2) ? CSK_NEVER : near_deadline();
    bool drops = arena->queue.when_full == CSK_WORKQUEUE_DROP_OLDEST;
    csk_rank_t rank = csk_rank(drops ? 0 : (int)below(CLASSES) - 1, CSK_PLACE_BACK);
    bool refuses = arena->queue.when_full == CSK_WORKQUEUE_REFUSE, always = one_in(4);
    uint32_t flags = (call.alone ? CSK_WORK_BARRIER : 0) | (always ? CSK_WORK_OWN_TURN : 0);
    int status = csk_workqueue_sync(&arena->queue, rank, flags, deadline_ns, run_call, &call);
    CHECK_EQ(call.done, status == 0);
    tally(status == 0 ? GRANTS : status == ETIMEDOUT ? TIMEOUTS : status == EBUSY ? REFUSED : CANCELS);
    if (status == ETIMEDOUT) CHECK_GE(csk_now(), deadline_ns);
    else CHECK(status == 0 || (!always && ((drops && status == ECANCELED) || (refuses && status == EBUSY))));
}

static void cancel_one(arena_t *arena) {
    job_t *job = &arena->jobs[below((uint64_t)torture_threads)][below(WORKS)];
    int status = csk_workqueue_cancel(&arena->queue, &job->work);
    if (status != 0) {
        CHECK_STATUS(status, ENOENT);
        return;
    }
    ADD(&arena->cancelled, 1);
    tally(CANCELLED);
    CHECK_EQ(__atomic_exchange_n(&job->waits, 0, __ATOMIC_SEQ_CST), 1);
}

/* A work of this thread's that waits for room. */
static void give_up_one(arena_t *arena, int which) {
    job_t *job = &arena->jobs[which][below(WORKS)];
    if (!LOAD(&job->asks) || csk_workqueue_wait_cancel(&arena->queue, &job->room) != 0) return;
    tally(CANCELLED);
    ADD(&arena->accepted, UINT64_MAX);
    STORE(&job->asks, 0);
    STORE(&job->waits, 0);
}

static void note_drain(csk_workqueue_wait_t *wait) {
    ADD((uint32_t *)wait->context, -1);
    free(wait);
}

static void drain_one(arena_t *arena) {
    if (one_in(2)) {
        csk_workqueue_wait_t *wait = malloc(sizeof *wait);
        ADD(&arena->drains, 1);
        csk_workqueue_drain_async(&arena->queue, wait, note_drain, &arena->drains);
        return;
    }
    int64_t deadline_ns = near_deadline();
    int status = csk_workqueue_drain(&arena->queue, deadline_ns);
    if (status == 0) return;
    CHECK_STATUS(status, ETIMEDOUT);
    CHECK_GE(csk_now(), deadline_ns);
    tally(TIMEOUTS);
}

static void *take_part(void *context) {
    arena_t *arena = context;
    int which = (int)ADD(&arena->next_worker, 1) - 1;
    uint64_t sequence = 0;
    while (!stopped()) {
        switch (below(16)) {
        case 0: suspend_a_while(&arena->queue); break;
        case 1: drain_one(arena); break;
        case 2:
        case 3: cancel_one(arena); break;
        case 7: give_up_one(arena, which); break;
        case 4:
        case 5:
        case 6: call_one(arena); break;
        default: queue_one(arena, which, &sequence);
        }
    }
    return NULL;
}

void torture_workqueue(uint32_t width, uint32_t capacity, int32_t when_full) {
    arena_t *arena = calloc(1, sizeof *arena + sizeof arena->jobs[0] * (size_t)torture_threads);
    CHECK_STATUS(
        csk_workqueue_init(&arena->queue,
                           &(csk_workqueue_attr_t){ .width = width, .capacity = capacity, .when_full = when_full }),
        0);
    arena->width = width;
    for (int i = 0; i < torture_threads; i++)
        for (int j = 0; j < WORKS; j++) arena->jobs[i][j].arena = arena;
    struct crowd crowd;
    crowd_start(&crowd, torture_threads, take_part, arena);
    torture_wait();
    STORE(&torture_stop, 1);
    crowd_join(&crowd);
    for (int i = 0; i < torture_threads; i++)
        for (int j = 0; j < WORKS; j++) wait_until(LOAD(&arena->jobs[i][j].asks) == 0);
    CHECK_STATUS(csk_workqueue_drain(&arena->queue, CSK_NEVER), 0);
    CHECK_EQ(csk_workqueue_waiting(&arena->queue), 0);
    CHECK_EQ(csk_workqueue_running(&arena->queue), 0);
    wait_until(LOAD(&arena->drains) == 0);
    CHECK_STATUS(csk_workqueue_destroy(&arena->queue), 0);
    CHECK_EQ(arena->accepted, arena->called + arena->cancelled);
    for (int i = 0; i < torture_threads; i++)
        for (int j = 0; j < WORKS; j++) CHECK_EQ(arena->jobs[i][j].waits, 0);
    free(arena);
}
