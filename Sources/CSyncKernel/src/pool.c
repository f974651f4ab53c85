/* pool.c: all state is under `lock`; a worker that sleeps does so on a word of its own, which who takes it off the idle stack sets. */
#include "csynckernel/pool.h"

#include <pthread.h>

#include "csynckernel/timer.h"
#include "internal/observe.h"
#include "internal/pool.h"
#include "internal/queue_lock.h"

typedef struct worker {
    struct worker *next_idle;
    struct worker *next, *previous; /* of all, the youngest first */
    int32_t thread_id;
    uint32_t epoch; /* of the process in which it is one of the workers */
    uint32_t word; /* 0: about to sleep; 1: told to look; 2: asleep */
} worker_t;

typedef struct {
    csk_pool_item_t *first, *last;
} level_t;

static const int64_t spin_ns = 5000;               /* about what a wake costs */
static const int64_t stalled_ns = 1000000;
static const uint32_t turn_of_lowest = 64;

static struct {
    uint32_t lock;
    uint32_t workers, wanted;                      /* wanted: as many as there are processors */
    bool starting;                                 /* the first worker */
    uint32_t most;                                 /* of those that don't sleep inside their functions */
    int64_t idle_ns;                               /* how long a worker beyond `wanted` sleeps before it ends */
    int64_t resigned_ns;                           /* how long the clock pauses when no other worker could be started */
    level_t levels[CSK_POOL_LEVELS];
    uint64_t queued, taken;
    worker_t *all, *idle;
    bool waking;                                   /* a worker was told and has not looked yet */
    bool watching;                                 /* the clock below runs */
    bool resigned;                                 /* it will be asked to later */
    bool fork_handled;
    uint64_t taken_before;                         /* when it was started */
    csk_timer_t watch, pause;
} pool = { .most = CSK_POOL_WORKERS_MAX, .idle_ns = 10000000000, .resigned_ns = 50000000 };

/* The timer's thread asks for these; too much for its stack. */
static int32_t thread_ids[CSK_POOL_THREADS_MAX];

/* The order in which levels are served. */
static const uint8_t order[CSK_POOL_LEVELS] = { CSK_POOL_URGENT, CSK_POOL_NORMAL, CSK_POOL_BACKGROUND };

struct csk_pool_process csk_pool_process = { .epoch = 1 };

_Thread_local csk_pool_frame_t *csk_pool_frame __attribute__((tls_model("initial-exec")));

static void run_worker(void *context);

/* Under the lock. */
static void is_ready(void) { csk_store(&csk_pool_process.ready, csk_pool_epoch(), CSK_RELAXED); }

/* Under the lock; others look at both without it. */
static void count_workers(uint32_t change) { csk_store(&pool.workers, pool.workers + change, CSK_RELAXED); }
static void count_queued(uint64_t change) { csk_store(&pool.queued, pool.queued + change, CSK_RELAXED); }

static void before_fork(void) { csk_queue_lock(&pool.lock); }
static void after_fork_in_parent(void) { csk_queue_unlock(&pool.lock); }
static void after_fork_in_child(void) {
    pool.workers = 0;
    for (int level = 0; level < CSK_POOL_LEVELS; level++) pool.levels[level] = (level_t){ NULL, NULL };
    pool.queued = 0;
    pool.all = pool.idle = NULL;
    csk_pool_process = (struct csk_pool_process){ .epoch = csk_pool_process.epoch + 1 };
    pool.waking = pool.watching = pool.resigned = pool.starting = false;
    pool.fork_handled = true;
    csk_queue_unlock(&pool.lock);
}

/* The caller has counted the worker. */
static int start_worker(void) {
    int error = csk_platform_start_thread(run_worker, NULL, "csk-worker");
    if (error == 0) return 0;
    csk_queue_lock(&pool.lock);
    count_workers(-1u);
    csk_queue_unlock(&pool.lock);
    return error;
}

/* Under the lock, when there is work and nobody to call: whether to start the clock. */
static bool begin_watch(void) {
    if (pool.watching || pool.waking) return false;
    pool.watching = true;
    pool.taken_before = pool.taken;
    return true;
}

static void look_for_progress(csk_timer_t *timer, void *context);
static void watch(void) {
    if (csk_timer_start(&pool.watch, csk_deadline_after(stalled_ns), look_for_progress, NULL) == 0) return;
    /* A child of fork may have no timer thread: the next post tries again. */
    csk_queue_lock(&pool.lock);
    pool.watching = false;
    csk_queue_unlock(&pool.lock);
}

/* When nobody could be started, since enough workers run or the system has no thread to give: those may come to sleep, and others may end. */
static void look_again(csk_timer_t *timer, void *context) {
    (void)timer, (void)context;
    csk_queue_lock(&pool.lock);
    pool.resigned = false;
    bool watches = pool.queued != 0 && pool.idle == NULL && begin_watch();
    csk_queue_unlock(&pool.lock);
    if (watches) watch();
}

/* Under the lock: takes the worker that went to sleep last off the stack, for the caller to wake. */
static worker_t *call_worker(void) {
    worker_t *worker = pool.idle;
    if (worker == NULL || pool.waking) return NULL;
    pool.idle = worker->next_idle;
    pool.waking = true;
    return worker;
}

/* The worker may have looked, worked and ended before the wake: only its address is used then. */
static void wake(worker_t *worker) {
    if (csk_exchange(&worker->word, 1u, CSK_ACQ_REL) == 2) csk_platform_wake(&worker->word, 1);
}

/* How many of the workers run: those that sleep inside their functions leave their processor to others. Not all are asked where enough run. */
static uint32_t count_running(uint32_t workers) {
    csk_queue_lock(&pool.lock);
    uint32_t count = 0;
    for (const worker_t *worker = pool.all; worker != NULL && count < CSK_POOL_THREADS_MAX; worker = worker->next) thread_ids[count++] = worker->thread_id;
    csk_queue_unlock(&pool.lock);
    uint32_t running = workers > count ? workers - count : 0; /* those that are just starting */
    for (uint32_t i = 0; i < count && running < pool.most; i++) running += !csk_platform_thread_sleeps(thread_ids[i]);
    return running;
}

/* Work waits, and for 1 ms no worker has come for any: they are all inside functions that block, or take long. As many are started as
 * are missing while others sleep; else one. */
static void look_for_progress(csk_timer_t *timer, void *context) {
    (void)timer, (void)context;
    csk_queue_lock(&pool.lock);
    bool stalled = pool.queued != 0 && pool.idle == NULL && pool.taken == pool.taken_before;
    uint32_t workers = pool.workers;
    csk_queue_unlock(&pool.lock);
    uint32_t running = stalled && workers < CSK_POOL_THREADS_MAX ? count_running(workers) : 0, more = 0;
    csk_queue_lock(&pool.lock);
    stalled = stalled && pool.taken == pool.taken_before;
    if (stalled) {
        more = running < pool.wanted ? pool.wanted - running : running < pool.most;
        /* Where many sleep, more of what waits is likely to do so too. */
        if (running < pool.wanted && more < (workers - running) / 8) more = (workers - running) / 8;
        if (more > pool.most) more = pool.most;
        if (more > pool.queued) more = (uint32_t)pool.queued;
        if (more > CSK_POOL_THREADS_MAX - pool.workers) more = CSK_POOL_THREADS_MAX - pool.workers;
    }
    count_workers(more);
    pool.taken_before = pool.taken;
    csk_queue_unlock(&pool.lock);
    bool started = false;
    for (; more > 0; more--) started |= start_worker() == 0;
    csk_queue_lock(&pool.lock);
    /* A worker that was told to look will watch, if there is more than it can take. */
    bool again = pool.queued != 0 && pool.idle == NULL && !pool.waking;
    pool.watching = again && (started || !stalled);
    bool pauses = again && !pool.watching && !pool.resigned;
    pool.resigned |= pauses;
    bool watches = pool.watching;
    csk_queue_unlock(&pool.lock);
    if (watches) watch();
    if (pauses) csk_timer_start(&pool.pause, csk_deadline_after(pool.resigned_ns), look_again, NULL);
}

static int prepare(void) {
    if (CSK_LIKELY(csk_load(&pool.wanted, CSK_ACQUIRE) != 0)) return 0;
    int error = csk_timer_prepare();
    if (error != 0) return error;
    csk_queue_lock(&pool.lock);
    bool register_fork = !pool.fork_handled;
    pool.fork_handled = true;
    csk_queue_unlock(&pool.lock);
    if (register_fork) error = csk_platform_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    if (error != 0) {
        csk_queue_lock(&pool.lock);
        pool.fork_handled = false;
        csk_queue_unlock(&pool.lock);
        return error;
    }
    uint32_t processors = csk_platform_processors();
    csk_store(&pool.wanted, processors < 2 ? 2 : processors > pool.most ? pool.most : processors, CSK_RELEASE);
    return 0;
}

int csk_pool_prepare(void) {
    if (CSK_LIKELY(csk_pool_ready() != 0)) return 0;
    int error = prepare();
    if (error != 0) return error;
    csk_queue_lock(&pool.lock);
    while (pool.starting) {
        csk_queue_unlock(&pool.lock);
        csk_platform_yield();
        csk_queue_lock(&pool.lock);
    }
    bool first = pool.starting = csk_pool_ready() == 0;
    count_workers(first);
    csk_queue_unlock(&pool.lock);
    if (!first) return 0;
    /* Nobody else may count on it before it is known that it runs. */
    error = start_worker();
    csk_queue_lock(&pool.lock);
    pool.starting = false;
    if (error == 0) is_ready();
    csk_queue_unlock(&pool.lock);
    return error;
}

int csk_pool_post(csk_pool_item_t *item, csk_pool_function_t function) {
    if (function == NULL || item->level >= CSK_POOL_LEVELS) return EINVAL;
    /* Before the item is queued: without any worker it is refused. */
    int error = csk_pool_prepare();
    if (error != 0) return error;
    item->function = function;
    item->next = NULL;
    csk_queue_lock(&pool.lock);
    level_t *level = &pool.levels[item->level];
    if (level->last != NULL) level->last->next = item;
    else level->first = item;
    level->last = item;
    count_queued(1);
    bool start = pool.idle == NULL && pool.workers < csk_load(&pool.wanted, CSK_RELAXED);
    count_workers(start);
    worker_t *worker = call_worker();
    /* Also what tries again when a worker could not be started. */
    bool watches = worker == NULL && begin_watch();
    csk_queue_unlock(&pool.lock);
    if (worker != NULL) wake(worker);
    if (start) start_worker();
    if (watches) watch();
    return 0;
}

/* Under the lock. */
static csk_pool_item_t *take(void) {
    if (pool.queued == 0) return NULL;
    bool lowest = ++pool.taken % turn_of_lowest == 0;
    for (int i = 0; i < CSK_POOL_LEVELS; i++) {
        level_t *level = &pool.levels[order[lowest ? CSK_POOL_LEVELS - 1 - i : i]];
        csk_pool_item_t *item = level->first;
        if (item == NULL) continue;
        level->first = item->next;
        if (level->first == NULL) level->last = NULL;
        count_queued(-UINT64_C(1));
        return item;
    }
    return NULL;
}

/* Under the lock. */
static void join(worker_t *self) {
    self->next = pool.all;
    if (pool.all != NULL) pool.all->previous = self;
    pool.all = self;
}
static void part(worker_t *self) {
    if (self->previous != NULL) self->previous->next = self->next;
    else pool.all = self->next;
    if (self->next != NULL) self->next->previous = self->previous;
    count_workers(-1u);
}

/* Sleeps until somebody has taken the worker off the stack: true; or for so long that it is not needed any more. */
static bool sleep_until_called(worker_t *self) {
    int64_t end_ns = csk_platform_now() + spin_ns;
    while (csk_load(&self->word, CSK_ACQUIRE) == 0 && csk_platform_now() < end_ns)
        for (int pauses = 0; pauses < 8; pauses++) csk_platform_pause();
    uint32_t told = 0;
    csk_cas(&self->word, &told, 2u, CSK_ACQ_REL);
    while (csk_load(&self->word, CSK_ACQUIRE) == 2) {
        /* Those that the pool keeps anyway need not wake up to find that out. */
        bool spare = csk_load(&pool.workers, CSK_RELAXED) > csk_load(&pool.wanted, CSK_RELAXED);
        if (csk_platform_park(&self->word, 2, spare ? csk_deadline_after(csk_load(&pool.idle_ns, CSK_RELAXED)) : CSK_NEVER) != ETIMEDOUT) continue;
        csk_queue_lock(&pool.lock);
        worker_t **place = &pool.idle;
        while (*place != NULL && *place != self) place = &(*place)->next_idle;
        bool ends = *place == self && pool.workers > csk_load(&pool.wanted, CSK_RELAXED);
        if (ends) {
            *place = self->next_idle;
            part(self);
        }
        csk_queue_unlock(&pool.lock);
        if (ends) return false;
    }
    return true;
}

/* The function of an item has ended this thread, by pthread_exit or because it was cancelled there. Another worker takes its place. */
static void replace_worker(void *context) {
    worker_t *self = context;
    const void *object = csk_pool_frame->abandon != NULL ? csk_pool_frame->abandon(csk_pool_frame) : NULL;
    csk_queue_lock(&pool.lock);
    bool known = self->epoch == csk_pool_epoch(); /* not in a child that the function has forked */
    if (known) part(self);
    bool waits = known && pool.queued != 0 && pool.idle == NULL, start = waits && pool.workers < csk_load(&pool.wanted, CSK_RELAXED);
    count_workers(start);
    bool watches = waits && begin_watch();
    csk_queue_unlock(&pool.lock);
    if (start) start_worker();
    if (watches) watch();
    csk_observe_report(CSK_EVENT_THREAD_ENDED_BY_WORK, object, 0, csk_platform_now(), ECANCELED, self->thread_id);
}

static void run_worker(void *context) {
    (void)context;
    worker_t self = { .thread_id = csk_platform_thread_id() };
    csk_queue_lock(&pool.lock);
    self.epoch = csk_pool_epoch();
    join(&self);
    csk_queue_unlock(&pool.lock);
    csk_pool_frame_t frame = { .abandon = NULL };
    csk_pool_frame = &frame;
    pthread_cleanup_push(replace_worker, &self);
    for (bool called = false;;) {
        csk_queue_lock(&pool.lock);
        if (called) pool.waking = false;
        if (CSK_UNLIKELY(self.epoch != csk_pool_epoch())) {
            /* The item's function has forked: in the child this worker is the first. */
            self = (worker_t){ .thread_id = csk_platform_thread_id(), .epoch = csk_pool_epoch() };
            count_workers(1);
            is_ready();
            join(&self);
        }
        csk_pool_item_t *item = take();
        worker_t *next = pool.queued != 0 ? call_worker() : NULL;
        bool watches = pool.queued != 0 && next == NULL && begin_watch();
        if (item == NULL) {
            self.word = 0;
            self.next_idle = pool.idle;
            pool.idle = &self;
        }
        csk_queue_unlock(&pool.lock);
        if (next != NULL) wake(next);
        if (watches) watch();
        called = item == NULL;
        if (item != NULL) {
            item->function(item);
            frame.abandon = NULL;
        } else if (!sleep_until_called(&self)) {
            break;
        }
    }
    pthread_cleanup_pop(0);
}

uint32_t csk_pool_workers(void) {
    csk_queue_lock(&pool.lock);
    uint32_t workers = pool.workers;
    csk_queue_unlock(&pool.lock);
    return workers;
}

uint64_t csk_pool_queued(void) { return csk_load(&pool.queued, CSK_RELAXED); }
