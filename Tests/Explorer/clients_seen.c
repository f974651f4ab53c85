/* clients_seen.c: what a thread wrote before it left an object, or told another thread, is seen by whoever learns of
 * that from the object alone. */
#include "base/ordering.h"
#include "csynckernel/mutex.h"
#include "csynckernel/rwlock.h"
#include "csynckernel/sem.h"
#include "explorer.h"
#include "observe/inspect.h"
#include "lock/gate_queue.h"
#include "queue/workqueue.h"
#include "wait/waiter.h"

static struct {
    uint32_t written, told;
    csk_sem_t sem;
    csk_mutex_t mutex;
    csk_rwlock_t lock;
    csk_workqueue_t queue;
    csk_work_t works[2];
    csk_waiter_t waiter;
} * shared;
static csk_gate_t *gate;
static csk_waiter_t *waiter;

static void write_it(void) { __atomic_store_n(&shared->written, 1, __ATOMIC_RELAXED); }
static void expect_written(void) { EXPECT_EQUAL(__atomic_load_n(&shared->written, __ATOMIC_RELAXED), 1); }

static void make(void) { shared = explore_allocate(sizeof *shared); }

/* ---- Semaphores: what a signal leaves behind those that waited --------------------------------------------------- */

static void waits_for_one(void) {
    int status = csk_sem_timedwait(&shared->sem, 0, 1, explore_now() + 20000);
    EXPECT(status == 0 || status == ETIMEDOUT);
}
static void writes_and_signals_two(void) {
    write_it();
    EXPECT_EQUAL(csk_sem_post(&shared->sem, 2), 0);
}
static void tries_one(void) {
    if (csk_sem_trywait(&shared->sem, 0, 1) == 0) expect_written();
}
CLIENT(seen_behind_a_wait, .setup = make, .threads = { waits_for_one, writes_and_signals_two, tries_one },
       .preemptions = 2)

/* ---- Gates ------------------------------------------------------------------------------------------------------- */

static void make_gate(uint32_t policy) {
    make();
    gate = explore_allocate(sizeof *gate);
    csk_gate_attr_t attr = { .policy = policy };
    EXPECT_EQUAL(csk_gate_init(gate, &attr), 0);
    EXPECT_EQUAL(csk_gate_lock(gate, 0), 0);
    EXPECT_EQUAL(csk_gate_unlock(gate), 0);
}
static void make_compact(void) { make_gate(CSK_GATE_COMPACT); }
static void make_strict(void) { make_gate(CSK_GATE_STRICT); }

/* Leaving a gate of one word is the last access to it. */
static void enters_and_writes(void) {
    EXPECT_EQUAL(csk_gate_lock(gate, 0), 0);
    explore_set(&shared->told, 1);
    write_it();
    EXPECT_EQUAL(csk_gate_unlock(gate), 0);
}
static void destroys_when_free(void) {
    explore_wait(&shared->told, 1);
    if (csk_gate_destroy(gate) != 0) return;
    expect_written();
    explore_free(gate, sizeof *gate);
}
CLIENT(seen_by_who_destroys_compact, .setup = make_compact, .threads = { enters_and_writes, destroys_when_free },
       .preemptions = 2)
CLIENT(seen_by_who_destroys_strict, .setup = make_strict, .threads = { enters_and_writes, destroys_when_free },
       .preemptions = 2)

/* Whoever is refused knows that the gate was closed, and by whom. */
static void is_closed(csk_waiter_t *closer, void *context, int status) {
    (void)closer, (void)context;
    EXPECT_EQUAL(status, 0);
}
static void writes_and_closes(void) {
    write_it();
    EXPECT_EQUAL(csk_gate_close(gate, &shared->waiter, is_closed, NULL), 0);
}
static void is_refused(void) {
    int status = csk_gate_lock(gate, 0);
    EXPECT(status == 0 || status == ESHUTDOWN);
    if (status == 0) EXPECT_EQUAL(csk_gate_unlock(gate), 0);
    else expect_written();
}
static void make_fast(void) { make_gate(CSK_GATE_FAST); }
CLIENT(seen_by_who_is_refused_fast, .setup = make_fast, .threads = { writes_and_closes, is_refused }, .preemptions = 2)
CLIENT(seen_by_who_is_refused_compact, .setup = make_compact, .threads = { writes_and_closes, is_refused },
       .preemptions = 2)

static void enters_meanwhile(void) {
    int status = csk_gate_lock(gate, 0);
    EXPECT(status == 0 || status == ESHUTDOWN);
    if (status == 0) EXPECT_EQUAL(csk_gate_unlock(gate), 0);
}
CLIENT(seen_by_who_is_refused_while_it_is_held, .setup = make_compact,
       .threads = { writes_and_closes, is_refused, enters_meanwhile })

/* ---- The checker of lock order ----------------------------------------------------------------------------------- */

static void note(const void *object, uint32_t kind) { (void)object, (void)kind; }
static void note_object(const void *object) { (void)object; }
static const csk_ordering_t checker = { note, note, note_object, note, note_object };
static void starts_checker(void) { __atomic_store_n(&csk_ordering, &checker, __ATOMIC_RELEASE); }

static void make_undecided(void) {
    make();
    gate = explore_allocate(sizeof *gate);
}
static void enters(void) {
    EXPECT_EQUAL(csk_gate_lock(gate, 0), 0);
    EXPECT_EQUAL(csk_gate_unlock(gate), 0);
}
static void tries_to_enter(void) {
    if (csk_gate_trylock(gate, 0) == 0) EXPECT_EQUAL(csk_gate_unlock(gate), 0);
}
static void locks_mutex(void) {
    EXPECT_EQUAL(csk_mutex_lock(&shared->mutex), 0);
    EXPECT_EQUAL(csk_mutex_unlock(&shared->mutex), 0);
}
/* An object that is ordered has a checker, for each thread that finds it so. */
CLIENT(seen_of_the_checker_by_gates, .setup = make_undecided, .threads = { starts_checker, enters, enters })
CLIENT(seen_of_the_checker_by_tries, .setup = make_undecided, .threads = { starts_checker, enters, tries_to_enter })
CLIENT(seen_of_the_checker_by_mutexes, .setup = make, .threads = { starts_checker, locks_mutex, locks_mutex })

/* ---- Read-write locks -------------------------------------------------------------------------------------------- */

static void make_lock(void) {
    make();
    EXPECT_EQUAL(csk_rwlock_init(&shared->lock, NULL), 0);
}
static void is_granted(csk_waiter_t *granted, void *context, int status) {
    (void)granted, (void)context;
    EXPECT_EQUAL(status, 0);
}
static void writes_inside(void) {
    EXPECT_EQUAL(csk_rwlock_wrlock(&shared->lock), 0);
    write_it();
    explore_set(&shared->told, 1);
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
}
static void queue_waiter(int mode) {
    explore_wait(&shared->told, 1);
    EXPECT_EQUAL(csk_rwlock_lock_async(&shared->lock, &shared->waiter, mode, CSK_NEVER, is_granted, NULL), 0);
}
static void queues_reader(void) { queue_waiter(CSK_RWLOCK_READ); }
static void queues_writer(void) { queue_waiter(CSK_RWLOCK_WRITE); }
static void adopt(int mode) {
    if (csk_rwlock_adopt(&shared->lock, mode) != 0) return;
    expect_written();
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
}
static void adopts_read(void) { adopt(CSK_RWLOCK_READ); }
static void adopts_write(void) { adopt(CSK_RWLOCK_WRITE); }
/* Whoever adopts what was granted has entered. */
CLIENT(seen_by_who_adopts_a_read, .setup = make_lock, .threads = { writes_inside, queues_reader, adopts_read })
CLIENT(seen_by_who_adopts_a_write, .setup = make_lock, .threads = { writes_inside, queues_writer, adopts_write })

static void enters_lock_and_writes(void) {
    EXPECT_EQUAL(csk_rwlock_wrlock(&shared->lock), 0);
    explore_set(&shared->told, 1);
    write_it();
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
}
static void destroys_lock(void) {
    explore_wait(&shared->told, 1);
    if (csk_rwlock_destroy(&shared->lock) == 0) expect_written();
}
CLIENT(seen_by_who_destroys_a_lock, .setup = make_lock, .threads = { enters_lock_and_writes, destroys_lock },
       .preemptions = 2)

/* ---- Waiters ----------------------------------------------------------------------------------------------------- */

static void make_waiter(void) {
    make();
    waiter = explore_allocate(sizeof *waiter);
    csk_waiter_for_thread(waiter, 0, 1);
}
static void lets_in(void) {
    csk_effects_t effects = { 0 };
    csk_waiter_let_in(waiter, &effects);
    csk_effects_perform(&effects);
}
static void awaits_and_frees(void) {
    csk_waiter_await_granter(waiter);
    explore_free(waiter, sizeof *waiter);
}
/* Once the word says GRANTED the granter has done with the waiter. */
CLIENT(seen_of_a_granter, .setup = make_waiter, .threads = { lets_in, awaits_and_frees }, .preemptions = 2)

/* ---- A child of fork with two threads ---------------------------------------------------------------------------- */

static void runs(csk_work_t *work, int status) { (void)work, (void)status; }
static void make_queue(void) {
    make();
    csk_workqueue_attr_t attr = { .width = 1 };
    EXPECT_EQUAL(csk_workqueue_init(&shared->queue, &attr), 0);
    EXPECT_EQUAL(csk_pool_prepare(), 0);
    EXPECT_EQUAL(csk_workqueue_ready(&shared->queue), 0);
}
static void asks_queue(void *unused) {
    (void)unused;
    EXPECT_EQUAL(csk_workqueue_running(&shared->queue), 0);
    EXPECT_EQUAL(csk_workqueue_waiting(&shared->queue), 0);
}
static void suspends_queue(void *unused) {
    (void)unused;
    EXPECT_EQUAL(csk_workqueue_suspend(&shared->queue), 0);
}
static void enqueues_in_child(void *unused) {
    (void)unused;
    EXPECT_EQUAL(csk_workqueue_enqueue(&shared->queue, &shared->works[1], runs), 0);
}
static void views_in_child(void *unused);
static void fork_and_start(void (*body)(void *)) {
    EXPECT_EQUAL(csk_workqueue_enqueue(&shared->queue, &shared->works[0], runs), 0);
    explore_fork();
    EXPECT_EQUAL(csk_pool_prepare(), 0);
    EXPECT_EQUAL(csk_platform_start_thread(body, NULL, ""), 0);
}
static void forks_and_asks(void) {
    fork_and_start(asks_queue);
    asks_queue(NULL);
}
static void forks_and_enqueues(void) {
    fork_and_start(enqueues_in_child);
    suspends_queue(NULL);
}
static void forks_and_views(void) {
    fork_and_start(views_in_child);
    asks_queue(NULL);
}
/* The thread that comes first makes the queue anew, for the other one too. */
CLIENT(seen_in_a_child_that_asks, .setup = make_queue, .threads = { forks_and_asks })
CLIENT(seen_in_a_child_that_enqueues, .setup = make_queue, .threads = { forks_and_enqueues })
CLIENT(seen_in_a_child_that_views, .setup = make_queue, .threads = { forks_and_views })

/* ---- Views of work queues ---------------------------------------------------------------------------------------- */

static void enqueues(void) { EXPECT_EQUAL(csk_workqueue_enqueue(&shared->queue, &shared->works[0], runs), 0); }
static void enqueues_another(void) { EXPECT_EQUAL(csk_workqueue_enqueue(&shared->queue, &shared->works[1], runs), 0); }
static void views_queue(void) {
    csk_inspected_object_t object = { .address = &shared->queue, .kind = CSK_OBJECT_WORKQUEUE };
    csk_inspected_waiter_t waiters[1];
    csk_inspection_t view = {
        .objects = &object, .object_count = 1, .object_room = 1, .waiters = waiters, .waiter_room = 1
    };
    static csk_look_t look;
    look = (csk_look_t){ .view = &view, .now_ns = explore_now(), .ends_ns = explore_now() + 50000000 };
    csk_look_at(&look, &object);
    EXPECT(object.count <= 2);
}
static void views_in_child(void *unused) {
    (void)unused;
    views_queue();
}
/* A view counts what stands in the inbox, as far as it is linked. */
CLIENT(seen_of_an_inbox, .setup = make_queue, .threads = { enqueues, enqueues_another, views_queue })
