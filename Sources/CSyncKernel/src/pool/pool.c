/* pool.c: all state is under `lock`; a worker that sleeps does so on a word of its own, which who takes it off the idle stack sets.
 *
 * Who waits inside the library has announced it (wait/announce.h): a post then starts another worker in its place at once. For all else there is the
 * supervisor, a thread that looks while work waits and nobody can be called. pool_watch.c has what it asks the system. */
#include "pool/pool.h"

#include <pthread.h>

#include "base/observe.h"
#include "pool/pool_watch.h"
#include "wait/announce.h"
#include "wait/queue_lock.h"

typedef struct worker {
    struct worker *next_idle;
    struct worker *next, *previous; /* of all, the youngest first */
    csk_pool_look_t look;
    uint32_t epoch; /* of the process in which it is one of the workers */
    bool joined;    /* it is one of `all`; before that it is only counted */
    uint32_t announced; /* odd: it waits inside the library */
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
    bool throttled;                                /* all threads may stand still at once: see pool_watch.c */
    uint32_t most;                                 /* of those that don't sleep inside their functions */
    csk_pool_attr_t attr;                          /* its `most`: with those that sleep */
    int64_t idle_ns;                               /* how long a worker beyond `wanted` sleeps before it ends */
    int64_t resigned_ns;                           /* how long the clock pauses when no other worker could be started */
    level_t levels[CSK_POOL_LEVELS];
    uint64_t queued, taken;
    worker_t *all, *idle;
    bool waking;                                   /* a worker was told and has not looked yet */
    bool watching;                                 /* the supervisor looks again after stalled_ns */
    uint64_t taken_before;                         /* at its last look, or when the watch began */
    int64_t look_ns;                               /* when it looks; CSK_NEVER: not before a watch begins */
    csk_pool_stall_t stall;                        /* what is reported when nothing can be done */
    uint32_t signal;                               /* the supervisor's park word */
    uint32_t supervised;                           /* 1: there is a supervisor, or it is being started */
} pool = { .most = CSK_POOL_WORKERS_MAX, .idle_ns = 10000000000, .resigned_ns = 50000000, .look_ns = INT64_MAX };

/* The supervisor's, too much for a stack: the workers that it asks about. */
static csk_pool_look_t looks[CSK_POOL_THREADS_MAX];

const void *(*csk_pool_describe)(csk_pool_item_t *item, const char **name);

/* The order in which levels are served. */
static const uint8_t order[CSK_POOL_LEVELS] = { CSK_POOL_URGENT, CSK_POOL_NORMAL, CSK_POOL_BACKGROUND };

struct csk_pool_process csk_pool_process;

_Thread_local csk_pool_frame_t *csk_pool_frame __attribute__((tls_model("initial-exec")));

static void run_worker(void *context);

/* Under the lock. */
static void is_ready(void) { csk_store(&csk_pool_process.ready, csk_pool_epoch(), CSK_RELAXED); }

/* Under the lock; others look at both without it. */
static void count_workers(uint32_t change) { csk_store(&pool.workers, pool.workers + change, CSK_RELAXED); }
static void count_queued(uint64_t change) { csk_store(&pool.queued, pool.queued + change, CSK_RELAXED); }

static _Thread_local bool is_supervisor __attribute__((tls_model("initial-exec")));

/* Whatever a thread was in the middle of. */
static void after_fork_in_child(void) {
    pool.workers = 0;
    for (int level = 0; level < CSK_POOL_LEVELS; level++) pool.levels[level] = (level_t){ NULL, NULL };
    pool.queued = 0;
    pool.all = pool.idle = NULL;
    csk_pool_process.ready = 0;
    pool.waking = pool.watching = pool.starting = false;
    pool.supervised = is_supervisor; /* a reporter has forked, on the supervisor's thread */
    csk_announced = NULL; /* until this thread counts as a worker again */
    csk_announced_count = 0;
}

__attribute__((constructor(101))) static void enroll_fork(void) {
    csk_fork_enroll(CSK_FORK_POOL, &(csk_fork_functions_t){ .in_child = after_fork_in_child });
}

/* The caller has counted the worker. */
static int start_worker(void) {
    int error = csk_platform_start_sized_thread(run_worker, (void *)(uintptr_t)csk_pool_epoch(), "csk-worker", pool.attr.stack_size);
    if (error == 0) return 0;
    csk_queue_lock(&pool.lock);
    count_workers(-1u);
    csk_queue_unlock(&pool.lock);
    return error;
}

/* Under the lock, when there is work and nobody to call: whether to tell the supervisor. */
static bool begin_watch(void) {
    if (pool.watching || pool.waking) return false;
    pool.watching = true;
    pool.taken_before = pool.taken;
    return true;
}

static void supervise(void *context);

/* A child of fork has no supervisor; one is started for its first watch. */
static int start_supervisor(void) {
    uint32_t seen = csk_load(&pool.supervised, CSK_RELAXED);
    if (CSK_LIKELY(seen != 0) || !csk_cas(&pool.supervised, &seen, 1u, CSK_RELAXED)) return 0;
    int error = csk_platform_start_thread(supervise, NULL, "csk-pool");
    if (error != 0) csk_store(&pool.supervised, 0u, CSK_RELAXED);
    return error;
}

/* The supervisor may be about to go to sleep for longer, and then finds the work under the lock; or looks once for nothing. */
static void watch(void) {
    if (CSK_UNLIKELY(start_supervisor() != 0)) {
        csk_queue_lock(&pool.lock);
        pool.watching = false; /* the next post tries again */
        csk_queue_unlock(&pool.lock);
        return;
    }
    csk_store(&pool.look_ns, csk_deadline_after(stalled_ns), CSK_RELAXED);
    csk_fetch_add(&pool.signal, 1u, CSK_RELEASE);
    csk_platform_wake(&pool.signal, 1);
}

/* Under the lock: how many workers run, as far as they have announced that they don't. */
static uint32_t unannounced(void) {
    uint32_t announced = csk_load(&csk_announced_count, CSK_RELAXED);
    return pool.workers > announced ? pool.workers - announced : 0;
}

/* Under the lock, when there is work: whether to start a worker at once. Where one runs the supervisor sees to the others: those that wait for each other
 * for a moment would otherwise be followed by ever more. */
static bool lacks_worker(void) {
    return pool.idle == NULL && (pool.workers < csk_load(&pool.wanted, CSK_RELAXED) || unannounced() == 0) && pool.workers < pool.attr.most;
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

/* Under the lock: how many workers wait inside the library; how many of them did so at the last look already. */
static uint32_t count_announced(uint32_t *since_before) {
    uint32_t count = 0;
    *since_before = 0;
    for (worker_t *worker = pool.all; worker != NULL; worker = worker->next) {
        uint32_t announced = csk_load(&worker->announced, CSK_RELAXED);
        if (announced % 2 == 0) continue;
        count++;
        *since_before += announced == worker->look.waits;
        worker->look.waits = announced;
    }
    return count;
}

/* Under the lock: the workers that have announced nothing, to be asked about. */
static uint32_t gather(void) {
    uint32_t count = 0;
    for (const worker_t *worker = pool.all; worker != NULL && count < CSK_POOL_THREADS_MAX; worker = worker->next)
        if (csk_load(&worker->announced, CSK_RELAXED) % 2 == 0) looks[count++] = worker->look;
    return count;
}

/* Under the lock: what was found out goes back to the workers that are still there. They are in the same order, younger ones before them. */
static void scatter(uint32_t count) {
    uint32_t next = 0;
    for (worker_t *worker = pool.all; worker != NULL; worker = worker->next) {
        uint32_t at = next;
        while (at < count && looks[at].thread_id != worker->look.thread_id) at++;
        if (at == count) continue;
        worker->look = looks[at];
        next = at + 1;
    }
}

/* How many of the workers run: those that sleep inside their functions leave their processor to others. Not all are asked where enough run. */
static uint32_t count_running(uint32_t workers) {
    uint32_t since_before;
    bool by_clocks;
    csk_queue_lock(&pool.lock);
    uint32_t count = gather(), known = count + count_announced(&since_before);
    csk_queue_unlock(&pool.lock);
    uint32_t starting = workers > known ? workers - known : 0;
    uint32_t running = starting + csk_pool_count_running(looks, count, pool.most, pool.wanted, pool.throttled, &by_clocks);
    if (by_clocks) {
        csk_queue_lock(&pool.lock);
        scatter(count);
        csk_queue_unlock(&pool.lock);
    }
    return running;
}

/* Under the lock: how many to start. As many as are missing while others sleep; else one. */
static uint32_t count_missing(uint32_t running) {
    uint32_t workers = pool.workers, more = running < pool.wanted ? pool.wanted - running : running < pool.most;
    /* Where many sleep, more of what waits is likely to do so too. */
    if (running < pool.wanted && workers > running && more < (workers - running) / 8) more = (workers - running) / 8;
    if (more > pool.most) more = pool.most;
    if (more > pool.queued) more = (uint32_t)pool.queued;
    uint32_t room = pool.attr.most > workers ? pool.attr.most - workers : 0;
    return more < room ? more : room;
}

/* Under the lock, when work waits and some of it is taken: how many to start for workers that have waited inside the library for as long as the watch. */
static uint32_t count_replacements(void) {
    if (pool.queued == 0 || pool.idle != NULL || csk_load(&csk_announced_count, CSK_RELAXED) == 0) return 0;
    uint32_t waiting;
    count_announced(&waiting);
    return pool.workers - waiting < pool.wanted ? count_missing(pool.workers - waiting) : 0;
}

/* Under the lock: whether a report is due. Who waits first is stamped each time: how long they have waited is known to a look. */
static bool note_stall(bool stuck, int64_t now_ns) {
    bool reports = stuck && csk_pool_stall_lasts(&pool.stall, now_ns);
    if (!stuck) pool.stall.since_ns = 0;
    for (int i = 0; i < CSK_POOL_LEVELS; i++) {
        csk_pool_item_t *item = pool.levels[order[i]].first;
        for (int seen = 0; item != NULL && seen < CSK_POOL_REPORTED; item = item->next, seen++) {
            if (item->since_ms == 0) item->since_ms = csk_pool_stamp(now_ns);
            if (reports) csk_pool_stall_add(&pool.stall, item, now_ns);
        }
    }
    return reports && pool.stall.count != 0;
}

/* Work waits, and for 1 ms no worker has come for any: they are all inside functions that block, or take long. */
static void look_for_progress(void) {
    csk_queue_lock(&pool.lock);
    bool stalled = pool.queued != 0 && pool.idle == NULL && pool.taken == pool.taken_before;
    uint32_t workers = pool.workers;
    csk_queue_unlock(&pool.lock);
    uint32_t running = stalled && workers < pool.attr.most ? count_running(workers) : 0, more = 0;
    csk_queue_lock(&pool.lock);
    stalled = stalled && pool.taken == pool.taken_before;
    if (stalled) {
        more = count_missing(running);
    } else {
        more = count_replacements();
    }
    count_workers(more);
    pool.taken_before = pool.taken;
    csk_queue_unlock(&pool.lock);
    bool started = false;
    for (; more > 0; more--) started |= start_worker() == 0;
    int64_t now_ns = csk_platform_now();
    csk_queue_lock(&pool.lock);
    /* A worker that was told to look will watch, if there is more than it can take. */
    bool again = pool.queued != 0 && pool.idle == NULL && !pool.waking;
    /* Where nobody could be started, since enough workers run or the system has no thread to give, those may come to sleep, and others may end: later. */
    pool.watching = again && (started || !stalled);
    int64_t pause_ns = pool.watching ? stalled_ns : pool.resigned_ns;
    csk_store(&pool.look_ns, !again || pause_ns > CSK_NEVER - now_ns ? CSK_NEVER : now_ns + pause_ns, CSK_RELAXED);
    bool reports = note_stall(again && stalled && !started, now_ns);
    csk_queue_unlock(&pool.lock);
    if (reports) csk_pool_report(&pool.stall);
}

static void supervise(void *context) {
    (void)context;
    is_supervisor = true;
    for (;;) {
        uint32_t seen = csk_load(&pool.signal, CSK_ACQUIRE);
        int64_t look_ns = csk_load(&pool.look_ns, CSK_RELAXED);
        if (csk_platform_now() < look_ns) csk_platform_park(&pool.signal, seen, look_ns);
        else look_for_progress();
    }
}

static void learn_processors(void) {
    csk_processors_t processors = csk_platform_processors();
    csk_queue_lock(&pool.lock);
    csk_pool_attr_t *attr = &pool.attr;
    if (attr->most == 0) attr->most = CSK_POOL_THREADS_MAX;
    uint32_t wanted = attr->least != 0 ? attr->least : processors.count;
    if (wanted > attr->most) wanted = attr->most;
    if (pool.most < wanted) pool.most = wanted;
    pool.throttled = processors.throttled;
    csk_store(&pool.wanted, wanted, CSK_RELEASE);
    csk_queue_unlock(&pool.lock);
}

/* The caller has counted the worker. */
static int start_first(void) {
    if (csk_load(&pool.wanted, CSK_RELAXED) == 0) learn_processors();
    int error = start_supervisor();
    if (error == 0) return start_worker();
    csk_queue_lock(&pool.lock);
    count_workers(-1u);
    csk_queue_unlock(&pool.lock);
    return error;
}

int csk_pool_configure(const csk_pool_attr_t *attr) {
    if (attr == NULL || attr->least > CSK_POOL_THREADS_MAX || attr->most > CSK_POOL_THREADS_MAX) return EINVAL;
    if (attr->most != 0 && attr->least > attr->most) return EINVAL;
    if (attr->stack_size != 0 && attr->stack_size < CSK_POOL_STACK_MIN) return EINVAL;
    if (attr->stack_size > CSK_POOL_STACK_MAX) return EINVAL;
    csk_queue_lock(&pool.lock);
    bool used = pool.wanted != 0 || pool.starting;
    if (!used) pool.attr = *attr;
    csk_queue_unlock(&pool.lock);
    return used ? EBUSY : 0;
}

int csk_pool_prepare(void) {
    if (CSK_LIKELY(csk_pool_ready() != 0)) return 0;
    int error = csk_fork_handled();
    if (error != 0) return error;
    csk_queue_lock(&pool.lock);
    for (uint32_t waits = 0; pool.starting; waits++) {
        csk_queue_unlock(&pool.lock);
        csk_platform_await_step(waits);
        csk_queue_lock(&pool.lock);
    }
    bool first = pool.starting = csk_pool_ready() == 0;
    count_workers(first);
    csk_queue_unlock(&pool.lock);
    if (!first) return 0;
    /* Nobody else may count on it before it is known that it runs. */
    error = start_first();
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
    item->since_ms = 0;
    csk_queue_lock(&pool.lock);
    level_t *level = &pool.levels[item->level];
    if (level->last != NULL) level->last->next = item;
    else level->first = item;
    level->last = item;
    count_queued(1);
    bool start = lacks_worker();
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
    self->joined = true;
    csk_announced = &self->announced;
}
static void part(worker_t *self) {
    count_workers(-1u);
    if (!self->joined) return;
    if (self->previous != NULL) self->previous->next = self->next;
    else pool.all = self->next;
    if (self->next != NULL) self->next->previous = self->previous;
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

/* The function of an item has ended this thread, by pthread_exit or because it was cancelled there. Another worker takes its place; where the start hook
 * has done it, which may do so each time, at the supervisor's next look. */
static void replace_worker(void *context) {
    worker_t *self = context;
    csk_announced = NULL;
    const void *object = csk_pool_frame->abandon != NULL ? csk_pool_frame->abandon(csk_pool_frame) : NULL;
    csk_queue_lock(&pool.lock);
    bool known = self->epoch == csk_pool_epoch(); /* not in a child that the function has forked */
    if (known) part(self);
    bool waits = known && pool.queued != 0, start = waits && self->joined && lacks_worker();
    count_workers(start);
    bool watches = waits && pool.idle == NULL && begin_watch();
    csk_queue_unlock(&pool.lock);
    if (start) start_worker();
    if (watches) watch();
    const char *name = csk_pool_frame->name;
    csk_observe_report_named(CSK_EVENT_THREAD_ENDED_BY_WORK, object, name[0] != 0 ? name : NULL, csk_platform_now(), ECANCELED,
                             self->look.thread_id);
}

static void run_worker(void *context) {
    worker_t self = { .look.thread_id = csk_platform_thread_id(), .epoch = (uint32_t)(uintptr_t)context };
    csk_pool_frame_t frame = { .abandon = NULL };
    csk_pool_frame = &frame;
    pthread_cleanup_push(replace_worker, &self);
    if (pool.attr.start != NULL) pool.attr.start(pool.attr.context);
    csk_queue_lock(&pool.lock);
    if (self.epoch == csk_pool_epoch()) join(&self); /* else its start has forked: see below */
    csk_queue_unlock(&pool.lock);
    for (bool called = false;;) {
        csk_queue_lock(&pool.lock);
        if (called) pool.waking = false;
        if (CSK_UNLIKELY(self.epoch != csk_pool_epoch())) {
            /* The item's function has forked: in the child this worker is the first. */
            self = (worker_t){ .look.thread_id = csk_platform_thread_id(), .epoch = csk_pool_epoch() };
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
    csk_announced = NULL; /* destructors of thread-local values may wait too */
}

uint32_t csk_pool_workers(void) {
    csk_queue_lock(&pool.lock);
    uint32_t workers = pool.workers;
    csk_queue_unlock(&pool.lock);
    return workers;
}

uint64_t csk_pool_queued(void) { return csk_load(&pool.queued, CSK_RELAXED); }
