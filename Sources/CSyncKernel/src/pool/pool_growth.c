/* pool_growth.c: starting workers, and the supervisor. This thread looks while work waits and no worker can be called.
 * It finds out whether the workers run, and how many more are needed. pool_watch.c has what it asks the system. */
#include "pool/pool_state.h"

#include "wait/announce.h"
#include "wait/queue_lock.h"

static const int64_t stalled_ns = 1000000;

/* The workers that the supervisor asks about. Only the supervisor uses this, which is too large for a stack. */
static csk_pool_look_t looks[CSK_POOL_THREADS_MAX];

csk_pool_state_t csk_pool = {
    .most = CSK_POOL_WORKERS_MAX, .idle_ns = 10000000000, .resigned_ns = 50000000, .look_ns = INT64_MAX
};

_Thread_local bool csk_pool_is_supervisor __attribute__((tls_model("initial-exec")));

int csk_pool_start_worker(void) {
    int error = csk_platform_start_sized_thread(csk_pool.work, (void *)(uintptr_t)csk_pool_epoch(), "csk-worker",
                                                csk_pool.attr.stack_size);
    if (error == 0) return 0;
    csk_queue_lock(&csk_pool.lock);
    csk_pool_count_workers(-1u);
    csk_queue_unlock(&csk_pool.lock);
    return error;
}

static void supervise(void *context);
/* A reporter may end it. */
static const csk_lasting_thread_t supervisor = { .body = supervise, .name = "csk-pool" };

int csk_pool_start_supervisor(void) { return csk_service_start(&csk_pool.supervisor, &supervisor); }

/* The supervisor may be about to go to sleep for longer, and then finds the work under the lock. Or it looks once for
 * nothing. */
void csk_pool_call_supervisor(void) {
    if (CSK_UNLIKELY(csk_pool_start_supervisor() != 0)) {
        csk_queue_lock(&csk_pool.lock);
        csk_pool.watching = false; /* the next post tries again */
        csk_queue_unlock(&csk_pool.lock);
        return;
    }
    csk_store(&csk_pool.look_ns, csk_deadline_after(stalled_ns), CSK_RELAXED);
    csk_fetch_add(&csk_pool.signal, 1u, CSK_RELEASE);
    csk_platform_wake(&csk_pool.signal, 1);
}

/* Called under the lock. How many workers wait inside the library, and in `since_before` how many of these were in the
 * same wait at the last look already. */
static uint32_t count_announced(uint32_t *since_before) {
    uint32_t count = 0;
    *since_before = 0;
    for (csk_pool_worker_t *worker = csk_pool.all; worker != NULL; worker = worker->next) {
        uint32_t announced = csk_load(&worker->announced, CSK_RELAXED);
        if (announced % 2 == 0) continue;
        count++;
        *since_before += announced == worker->look.waits;
        worker->look.waits = announced;
    }
    return count;
}

/* Called under the lock. Gathers the workers that have announced no wait: the system is asked about these. */
static uint32_t gather(void) {
    uint32_t count = 0;
    for (const csk_pool_worker_t *worker = csk_pool.all; worker != NULL && count < CSK_POOL_THREADS_MAX;
         worker = worker->next)
        if (csk_load(&worker->announced, CSK_RELAXED) % 2 == 0) looks[count++] = worker->look;
    return count;
}

/* Called under the lock. Writes what was found out back to the workers that are still there. They are in the same
 * order, and younger ones stand before them. */
static void scatter(uint32_t count) {
    uint32_t next = 0;
    for (csk_pool_worker_t *worker = csk_pool.all; worker != NULL; worker = worker->next) {
        uint32_t at = next;
        while (at < count && looks[at].thread_id != worker->look.thread_id) at++;
        if (at == count) continue;
        worker->look = looks[at];
        next = at + 1;
    }
}

/* How many of the workers run. Those that sleep inside their functions leave their processor to others. Where enough
 * run, not all are asked about. */
static uint32_t count_running(uint32_t workers) {
    uint32_t since_before;
    bool by_clocks;
    csk_queue_lock(&csk_pool.lock);
    uint32_t count = gather(), known = count + count_announced(&since_before);
    csk_queue_unlock(&csk_pool.lock);
    uint32_t starting = workers > known ? workers - known : 0;
    uint32_t running = starting + csk_pool_count_running(looks, count, csk_pool.most, csk_pool.wanted,
                                                         csk_pool.throttled, &by_clocks);
    if (by_clocks) {
        csk_queue_lock(&csk_pool.lock);
        scatter(count);
        csk_queue_unlock(&csk_pool.lock);
    }
    return running;
}

/* Called under the lock. How many workers to start: as many as are missing while others sleep, otherwise one. */
static uint32_t count_missing(uint32_t running) {
    uint32_t workers = csk_pool.workers,
             more = running < csk_pool.wanted ? csk_pool.wanted - running : running < csk_pool.most;
    /* Where many sleep, more of the work that waits is likely to sleep too. */
    if (running < csk_pool.wanted && workers > running && more < (workers - running) / 8)
        more = (workers - running) / 8;
    if (more > csk_pool.most) more = csk_pool.most;
    if (more > csk_pool.queued) more = (uint32_t)csk_pool.queued;
    uint32_t room = csk_pool.attr.most > workers ? csk_pool.attr.most - workers : 0;
    return more < room ? more : room;
}

/* Called under the lock, when work waits and some of it is taken. How many workers to start in place of those that have
 * waited inside the library for as long as the watch. */
static uint32_t count_replacements(void) {
    if (csk_pool.queued == 0 || csk_pool.idle != NULL || csk_load(&csk_announced_count, CSK_RELAXED) == 0) return 0;
    uint32_t waiting;
    count_announced(&waiting);
    return csk_pool.workers - waiting < csk_pool.wanted ? count_missing(csk_pool.workers - waiting) : 0;
}

/* Called under the lock. Whether a report is due. The items that wait first are stamped each time, so how long they
 * have waited is known to within the time between two looks. */
static bool note_stall(bool stuck, int64_t now_ns) {
    bool reports = stuck && csk_pool_stall_lasts(&csk_pool.stall, now_ns);
    if (!stuck) csk_pool.stall.since_ns = 0;
    for (int i = 0; i < CSK_POOL_LEVELS; i++) {
        csk_pool_item_t *item = csk_pool.levels[csk_pool_order[i]].first;
        for (int seen = 0; item != NULL && seen < CSK_POOL_REPORTED; item = item->next, seen++) {
            if (item->since_ms == 0) item->since_ms = csk_pool_stamp(now_ns);
            if (reports) csk_pool_stall_add(&csk_pool.stall, item, now_ns);
        }
    }
    return reports && csk_pool.stall.count != 0;
}

/* Work waits, and for 1 ms no worker has come for any. All workers are inside functions that block or take long; or the
 * designated one is late, and the next one is designated. */
static void look_for_progress(void) {
    csk_queue_lock(&csk_pool.lock);
    bool nothing_taken = csk_pool.queued != 0 && csk_pool.taken == csk_pool.taken_before;
    csk_pool_worker_t *next = nothing_taken ? csk_pool_take_idle() : NULL;
    bool stalled = nothing_taken && next == NULL;
    uint32_t workers = csk_pool.workers;
    csk_queue_unlock(&csk_pool.lock);
    if (next != NULL) csk_pool_wake(next);
    uint32_t running = stalled && workers < csk_pool.attr.most ? count_running(workers) : 0, more = 0;
    csk_queue_lock(&csk_pool.lock);
    stalled = stalled && csk_pool.taken == csk_pool.taken_before;
    if (stalled) {
        more = count_missing(running);
    } else if (next == NULL) {
        more = count_replacements();
    }
    csk_pool_count_workers(more);
    csk_pool.taken_before = csk_pool.taken;
    csk_queue_unlock(&csk_pool.lock);
    bool started = false;
    for (; more > 0; more--) started |= csk_pool_start_worker() == 0;
    int64_t now_ns = csk_platform_now();
    csk_queue_lock(&csk_pool.lock);
    /* A worker that has looked calls the next one, if there is more than it can take. A designated worker may be
     * late. */
    bool again = csk_pool.queued != 0 && (csk_pool.idle == NULL || csk_pool.waking);
    /* Where no worker could be started, enough workers run, or the system has no thread to give. Those workers may come
     * to sleep, and other threads may end. So the supervisor looks again later. */
    csk_pool.watching = again && (started || !stalled);
    int64_t pause_ns = csk_pool.watching ? stalled_ns : csk_pool.resigned_ns;
    csk_store(&csk_pool.look_ns, !again || pause_ns > CSK_NEVER - now_ns ? CSK_NEVER : now_ns + pause_ns, CSK_RELAXED);
    bool reports = note_stall(again && stalled && !started, now_ns);
    csk_queue_unlock(&csk_pool.lock);
    if (reports) csk_pool_report(&csk_pool.stall);
}

static void supervise(void *context) {
    (void)context;
    csk_pool_is_supervisor = true;
    for (;;) {
        uint32_t seen = csk_load(&csk_pool.signal, CSK_ACQUIRE);
        int64_t look_ns = csk_load(&csk_pool.look_ns, CSK_RELAXED);
        if (csk_platform_now() < look_ns) csk_platform_park(&csk_pool.signal, seen, look_ns);
        else look_for_progress();
    }
}
