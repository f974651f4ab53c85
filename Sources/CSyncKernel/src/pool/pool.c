/* pool.c: the pool's queue and its workers. All state is protected by `lock`. A worker sleeps on a word of its own,
 * which is set by the thread that takes the worker off the stack of idle workers.
 *
 * A worker that waits inside the library has announced it (wait/announce.h). A post then starts another worker in its
 * place at once. For all other cases there is the supervisor (pool_growth.c), a thread that looks while work waits and
 * no worker can be called. */
#include "pool/pool_state.h"

#include <pthread.h>

#include "base/list.h"
#include "base/report.h"
#include "base/sizes.h"
#include "wait/announce.h"
#include "wait/queue_lock.h"
#include "wait/spin_park.h"

/* What it may take to wake a thread whose processor sleeps: the thread that posts next is often one that the last item
 * has woken. So a worker whose spinning pays once is there each time. */
static const int64_t spin_ns = 30000;
static const uint32_t turn_of_lower = 64;

struct csk_pool_process csk_pool_process;

_Thread_local csk_pool_frame_t *csk_pool_frame __attribute__((tls_model("initial-exec")));

/* Called under the lock. */
static void is_ready(void) { csk_store(&csk_pool_process.ready, csk_pool_epoch(), CSK_RELAXED); }

/* Called under the lock. Others read the count without it. */
static void count_queued(uint64_t change) { csk_store(&csk_pool.queued, csk_pool.queued + change, CSK_RELAXED); }

/* Makes the pool anew, whatever a thread of the parent was in the middle of. */
static void after_fork_in_child(void) {
    csk_pool.workers = 0;
    for (int level = 0; level < CSK_POOL_LEVELS; level++) csk_pool.levels[level] = (csk_pool_queue_t){ NULL, NULL };
    csk_pool.queued = 0;
    csk_pool.all = csk_pool.idle = NULL;
    csk_pool_process.ready = 0;
    csk_pool.waking = csk_pool.watching = false;
    if (csk_pool_is_supervisor) csk_service_goes_on(&csk_pool.supervisor); /* a reporter has forked */
    csk_announced = NULL; /* until this thread counts as a worker again */
    csk_announced_count = 0;
}

static void run_worker(void *context);

__attribute__((constructor(101))) static void enroll(void) {
    csk_pool.work = run_worker;
    csk_fork_enroll(CSK_FORK_POOL, &(csk_fork_functions_t){ .in_child = after_fork_in_child });
}

/* Called under the lock. How many workers have not announced that they wait. */
static uint32_t unannounced(void) {
    uint32_t announced = csk_load(&csk_announced_count, CSK_RELAXED);
    return csk_pool.workers > announced ? csk_pool.workers - announced : 0;
}

/* Called under the lock, when there is work. Whether to start a worker at once. Where at least one worker runs, the
 * supervisor decides about more. Otherwise workers that wait for each other for a moment would be followed by ever more
 * workers. */
static bool lacks_worker(void) {
    return csk_pool.idle == NULL &&
           (csk_pool.workers < csk_load(&csk_pool.wanted, CSK_RELAXED) || unannounced() == 0) &&
           csk_pool.workers < csk_pool.attr.most;
}

/* Called under the lock. While a designated worker is on its way, others are called by that one. If it is late, the
 * supervisor calls them once something else was posted. */
static csk_pool_worker_t *call_worker(void) { return csk_pool.waking ? NULL : csk_pool_take_idle(); }

static void learn_processors(void) {
    csk_processors_t processors = csk_platform_processors();
    csk_queue_lock(&csk_pool.lock);
    csk_pool_attr_t *attr = &csk_pool.attr;
    if (attr->most == 0) attr->most = CSK_POOL_THREADS_MAX;
    uint32_t wanted = attr->least != 0 ? attr->least : processors.count;
    if (wanted > attr->most) wanted = attr->most;
    if (csk_pool.most < wanted) csk_pool.most = wanted;
    csk_pool.throttled = processors.throttled;
    csk_store(&csk_pool.wanted, wanted, CSK_RELAXED);
    csk_queue_unlock(&csk_pool.lock);
}

/* No other thread may count on the worker before it is known that it runs. */
static int start_first(void) {
    if (csk_pool_ready() != 0) return 0; /* a worker goes on in this child */
    if (csk_load(&csk_pool.wanted, CSK_RELAXED) == 0) learn_processors();
    int error = csk_pool_start_supervisor();
    if (error != 0) return error;
    csk_queue_lock(&csk_pool.lock);
    csk_pool_count_workers(1);
    csk_queue_unlock(&csk_pool.lock);
    error = csk_pool_start_worker();
    csk_queue_lock(&csk_pool.lock);
    if (error == 0) is_ready();
    csk_queue_unlock(&csk_pool.lock);
    return error;
}

int csk_pool_configure(const csk_pool_attr_t *attr) {
    if (attr == NULL || !CSK_KNOWS_SIZE_OF(attr)) return EINVAL;
    if (attr->least > CSK_POOL_THREADS_MAX || attr->most > CSK_POOL_THREADS_MAX) return EINVAL;
    if (attr->most != 0 && attr->least > attr->most) return EINVAL;
    if (attr->stack_size != 0 && attr->stack_size < CSK_POOL_STACK_MIN) return EINVAL;
    if (attr->stack_size > CSK_POOL_STACK_MAX) return EINVAL;
    csk_queue_lock(&csk_pool.lock);
    bool used = csk_pool.wanted != 0;
    if (!used) csk_pool.attr = *attr;
    csk_queue_unlock(&csk_pool.lock);
    return used ? EBUSY : 0;
}

int csk_pool_prepare(void) {
    if (CSK_LIKELY(csk_pool_ready() != 0)) return 0;
    int status = csk_service_begin(&csk_pool.first);
    return status != EINPROGRESS ? status : csk_service_end(&csk_pool.first, start_first());
}

CSK_LINE(items, csk_pool_item_t, next);

int csk_pool_post(csk_pool_item_t *item, csk_pool_function_t function) {
    if (function == NULL || item->level >= CSK_POOL_LEVELS) return EINVAL;
    /* This comes before the item is queued: without any worker the item is refused. */
    int error = csk_pool_prepare();
    if (error != 0) return error;
    item->function = function;
    item->since_ms = 0;
    csk_queue_lock(&csk_pool.lock);
    csk_pool_queue_t *level = &csk_pool.levels[item->level];
    items_append(&level->first, &level->last, item);
    count_queued(1);
    bool start = lacks_worker();
    csk_pool_count_workers(start);
    csk_pool_worker_t *worker = call_worker();
    /* The watch also tries again when a worker could not be started. */
    bool watches = worker == NULL && csk_pool_begin_watch();
    csk_queue_unlock(&csk_pool.lock);
    if (worker != NULL) csk_pool_wake(worker);
    if (start) csk_pool_start_worker();
    if (watches) csk_pool_call_supervisor();
    return 0;
}

/* The level that is looked at as number `i` for item number `taken`. Every 64th item is looked for below the most
 * urgent level, and each level there comes first in its turn. So while others keep coming a level waits for as many
 * items at most as 64 times the number of levels below the first. */
static int level_in_order(uint64_t taken, int i) {
    enum { LOWER = CSK_POOL_LEVELS - 1 };
    if (CSK_LIKELY(taken % turn_of_lower != 0)) return csk_pool_order[i];
    return csk_pool_order[i < LOWER ? 1 + (taken / turn_of_lower + (uint32_t)i) % LOWER : 0];
}

/* Called under the lock. */
static csk_pool_item_t *take(void) {
    if (csk_pool.queued == 0) return NULL;
    csk_pool.taken++;
    for (int i = 0; i < CSK_POOL_LEVELS; i++) {
        csk_pool_queue_t *level = &csk_pool.levels[level_in_order(csk_pool.taken, i)];
        csk_pool_item_t *item = level->first;
        if (item == NULL) continue;
        level->first = item->next;
        count_queued(-UINT64_C(1));
        return item;
    }
    return NULL;
}

CSK_LIST(workers, csk_pool_worker_t, next, previous);

/* Both are called under the lock. */
static void join(csk_pool_worker_t *self) {
    workers_put_first(&csk_pool.all, NULL, self);
    self->joined = true;
    csk_announced = &self->announced;
}
static void part(csk_pool_worker_t *self) {
    csk_pool_count_workers(-1u);
    if (self->joined) workers_take_out(&csk_pool.all, NULL, self);
}

/* Sleeps until a thread has taken the worker off the stack, and returns true. Returns false when the worker has slept
 * for so long that it is not needed any more. */
static bool sleep_until_called(csk_pool_worker_t *self) {
    if (csk_spin_pays_each(&self->spins, CSK_SPIN_SKIPS_LONG)) {
        csk_word_spin(&self->word, spin_ns);
        csk_spin_learn(&self->spins, csk_load(&self->word, CSK_RELAXED) != CSK_WORD_WAITS);
    }
    csk_word_begin_park(&self->word);
    int64_t deadline_ns = CSK_NEVER;
    while (csk_word_is_parked(&self->word)) {
        /* Workers that the pool keeps anyway need not wake up to find that out. */
        bool spare = csk_load(&csk_pool.workers, CSK_RELAXED) > csk_load(&csk_pool.wanted, CSK_RELAXED);
        if (!spare) deadline_ns = CSK_NEVER;
        else if (deadline_ns == CSK_NEVER) deadline_ns = csk_deadline_after(csk_load(&csk_pool.idle_ns, CSK_RELAXED));
        if (csk_platform_park(&self->word, CSK_WORD_PARKED, deadline_ns) != ETIMEDOUT) continue;
        csk_queue_lock(&csk_pool.lock);
        csk_pool_worker_t **place = &csk_pool.idle;
        while (*place != NULL && *place != self) place = &(*place)->next_idle;
        bool ends = *place == self && csk_pool.workers > csk_load(&csk_pool.wanted, CSK_RELAXED);
        if (ends) {
            *place = self->next_idle;
            part(self);
        }
        csk_queue_unlock(&csk_pool.lock);
        if (ends) return false;
        deadline_ns = CSK_NEVER;
    }
    return true;
}

/* Called without the lock, once `item` of this worker is another. */
static void leave(csk_pool_frame_t *frame) {
    void (*function)(void *) = frame->leave;
    if (function == NULL) return;
    frame->leave = NULL;
    function(frame->left);
}

/* The function of an item has ended this thread, by pthread_exit or because the thread was cancelled there. Another
 * worker takes its place. Where the start hook has ended the thread, which it may do each time, the other worker is
 * started at the supervisor's next look. */
static void replace_worker(void *context) {
    csk_pool_worker_t *self = context;
    csk_announced = NULL;
    const void *object = csk_pool_frame->abandon != NULL ? csk_pool_frame->abandon(csk_pool_frame) : NULL;
    csk_queue_lock(&csk_pool.lock);
    bool known = self->epoch == csk_pool_epoch(); /* false in a child that the function has forked */
    if (known) part(self);
    bool waits = known && csk_pool.queued != 0, start = waits && self->joined && lacks_worker();
    csk_pool_count_workers(start);
    bool watches = waits && (csk_pool.idle == NULL || csk_pool.waking) && csk_pool_begin_watch();
    csk_queue_unlock(&csk_pool.lock);
    leave(csk_pool_frame);
    if (start) csk_pool_start_worker();
    if (watches) csk_pool_call_supervisor();
    const char *name = csk_pool_frame->name;
    csk_observe_report_named(CSK_EVENT_THREAD_ENDED_BY_WORK, CSK_OBJECT_OTHER, object, name[0] != 0 ? name : NULL,
                             csk_platform_now(), ECANCELED, self->look.thread_id);
}

static void run_worker(void *context) {
    csk_pool_frame_t frame = { .abandon = NULL };
    csk_pool_worker_t self = { .look.thread_id = csk_platform_thread_id(),
                               .frame = &frame,
                               .epoch = (uint32_t)(uintptr_t)context };
    csk_pool_frame = &frame;
    pthread_cleanup_push(replace_worker, &self);
    if (csk_pool.attr.start != NULL) csk_pool.attr.start(csk_pool.attr.context);
    csk_queue_lock(&csk_pool.lock);
    if (self.epoch == csk_pool_epoch()) join(&self); /* else the start hook has forked: see below */
    csk_queue_unlock(&csk_pool.lock);
    for (bool called = false;;) {
        csk_queue_lock(&csk_pool.lock);
        if (called) csk_pool.waking = false;
        if (CSK_UNLIKELY(self.epoch != csk_pool_epoch())) {
            /* The item's function has forked: in the child this worker is the first. */
            self = (csk_pool_worker_t){ .look.thread_id = csk_platform_thread_id(),
                                        .frame = &frame,
                                        .epoch = csk_pool_epoch() };
            csk_pool_count_workers(1);
            is_ready();
            join(&self);
        }
        csk_pool_item_t *item = take();
        csk_pool_worker_t *next = csk_pool.queued != 0 ? call_worker() : NULL;
        /* A post has begun it already, unless the supervisor could not be started then. */
        bool watches = csk_pool.queued != 0 && next == NULL && csk_pool_begin_watch();
        self.item = item;
        if (item != NULL) self.function = item->function;
        if (item == NULL) {
            self.word = CSK_WORD_WAITS;
            self.next_idle = csk_pool.idle;
            csk_pool.idle = &self;
        }
        csk_queue_unlock(&csk_pool.lock);
        leave(&frame);
        if (next != NULL) csk_pool_wake(next);
        if (watches) csk_pool_call_supervisor();
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
    csk_queue_lock(&csk_pool.lock);
    uint32_t workers = csk_pool.workers;
    csk_queue_unlock(&csk_pool.lock);
    return workers;
}

uint64_t csk_pool_queued(void) { return csk_load(&csk_pool.queued, CSK_RELAXED); }
uint64_t csk_pool_queued_between(void) { return csk_pool_queued(); }
