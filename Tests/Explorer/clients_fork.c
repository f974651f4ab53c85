/* clients_fork.c: a thread forks at any step of the others, and goes on alone, with whatever they were in the middle
 * of.
 *
 * More than 400 lines: each client is short, and what a thread forks beside is the same record. */
#include "csynckernel/delayed.h"
#include "csynckernel/lanes.h"
#include "csynckernel/mutex.h"
#include "csynckernel/rwlock.h"

#include "explorer.h"
#include "base/platform.h"

static struct {
    csk_gate_t gate;
    csk_mutex_t mutex;
    csk_rwlock_t lock;
    csk_workqueue_t queue;
    csk_work_t works[3];
    csk_delayed_t delayed;
    csk_waiter_t waiter, others[2];
    csk_gate_lane_t lane;
    csk_timer_t timer, other;
    uint32_t is_child, fired, called, ran, ended;
    csk_rwlock_write_t writes[3];
    csk_rwlock_work_t section;
} * shared;

static void make(void) { shared = explore_allocate(sizeof *shared); }
static void fork_here(void) {
    explore_fork();
    shared->is_child = 1;
}

/* ---- Locks ------------------------------------------------------------------------------------------------------- */

static void make_gate(uint32_t policy) {
    make();
    EXPECT_EQUAL(csk_gate_init(&shared->gate, &(csk_gate_attr_t){ .policy = policy }), 0);
}
static void make_fast(void) { make_gate(CSK_GATE_FAST); }
static void make_compact(void) { make_gate(CSK_GATE_COMPACT); }
static void make_strict(void) { make_gate(CSK_GATE_STRICT); }

static void wants_gate(void) {
    EXPECT_EQUAL(csk_gate_lock(&shared->gate, 0), 0);
    EXPECT_EQUAL(csk_gate_unlock(&shared->gate), 0);
}
static void wants_gate_until(void) {
    int status = csk_gate_timedlock(&shared->gate, 1, explore_now() + 3000);
    if (status == 0) EXPECT_EQUAL(csk_gate_unlock(&shared->gate), 0);
}
static void uses_gate_alone(void) {
    EXPECT_EQUAL(csk_gate_lock(&shared->gate, 0), 0);
    EXPECT_EQUAL(csk_gate_unlock(&shared->gate), 0);
    EXPECT_EQUAL(csk_gate_trylock(&shared->gate, -5), 0);
    EXPECT_EQUAL(csk_gate_unlock(&shared->gate), 0);
    EXPECT_EQUAL(csk_gate_destroy(&shared->gate), 0);
}
static void uses_gate_once_entered(void) {
    EXPECT_EQUAL(csk_gate_unlock(&shared->gate), 0);
    uses_gate_alone();
}
static void forks_with_gate(void) {
    EXPECT_EQUAL(csk_gate_lock(&shared->gate, 0), 0);
    fork_here();
    EXPECT_EQUAL(csk_gate_unlock(&shared->gate), 0);
    uses_gate_alone();
}
/* Somebody may have been designated. Once the child has looked the inline entry is open again. */
static void forks_with_fast_gate(void) {
    wants_gate();
    EXPECT_EQUAL(csk_gate_lock(&shared->gate, 0), 0);
    fork_here();
    EXPECT_EQUAL(csk_gate_waiting(&shared->gate), 0);
    EXPECT_EQUAL(csk_gate_unlock(&shared->gate), 0);
    EXPECT(csk_gate_enter_fast(&shared->gate));
    EXPECT_EQUAL(csk_gate_unlock(&shared->gate), 0);
    uses_gate_alone();
}
CLIENT(fork_with_fast_gate, .setup = make_fast, .threads = { forks_with_fast_gate, wants_gate }, .preemptions = 1)
CLIENT(fork_with_gate_fast, .setup = make_fast, .threads = { forks_with_gate, wants_gate, wants_gate_until },
       .preemptions = 1)
CLIENT(fork_with_gate_compact, .setup = make_compact, .threads = { forks_with_gate, wants_gate, wants_gate_until },
       .preemptions = 1)
CLIENT(fork_with_gate_strict, .setup = make_strict, .threads = { forks_with_gate, wants_gate, wants_gate_until },
       .preemptions = 1)

/* Who holds it holds it for ever; else it is the child's. */
static void forks_beside_gate(void) {
    fork_here();
    int status = csk_gate_trylock(&shared->gate, 0);
    EXPECT_EQUAL(csk_gate_waiting(&shared->gate), 0);
    if (status == 0) EXPECT_EQUAL(csk_gate_unlock(&shared->gate), 0);
    else EXPECT_EQUAL(csk_gate_init(&shared->gate, NULL), 0);
    uses_gate_alone();
}
CLIENT(fork_beside_gate_fast, .setup = make_fast, .threads = { forks_beside_gate, wants_gate, wants_gate_until },
       .preemptions = 1)
CLIENT(fork_beside_gate_strict, .setup = make_strict, .threads = { forks_beside_gate, wants_gate, wants_gate_until },
       .preemptions = 1)

/* Grants that nobody has adopted yet: of a waiter or, with a lane, of an executor's tasks, which the clock takes back
 * or passes on. At any step of that a child finds the gate free, or held by a thread that is not there: never by
 * nobody. */
static void is_granted(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    explore_set(&shared->called, shared->called + 1);
}
static void queues_to_adopt(void) {
    EXPECT_EQUAL(csk_gate_lock_async_ranked(&shared->gate, csk_rank(1, CSK_PLACE_BACK), &shared->waiter, true,
                                            CSK_NEVER, is_granted, NULL),
                 0);
}
static void queues_two_to_adopt(void) {
    queues_to_adopt();
    EXPECT_EQUAL(csk_gate_lock_async_ranked(&shared->gate, csk_rank(0, CSK_PLACE_BACK), &shared->others[0], true,
                                            CSK_NEVER, is_granted, NULL),
                 0);
    explore_wait(&shared->called, 2); /* the first had the grant until the clock took it back */
}
static void suspend(int index, int32_t priority) {
    EXPECT_EQUAL(csk_gate_lock_lane(&shared->gate, csk_rank(priority, CSK_PLACE_BACK), &shared->others[index],
                                    &shared->lane, CSK_NEVER, is_granted, NULL),
                 0);
}
static void suspends(void) { suspend(0, 0); }
static void suspends_two_and_gives_way(void) {
    suspend(0, 0);
    suspend(1, 1);
    int status = csk_gate_adopt(&shared->gate, &shared->others[0]);
    EXPECT_EQUAL(status, EAGAIN);
    EXPECT_EQUAL(csk_gate_relock_async(&shared->gate, &shared->others[0]), 0);
}
static void forks_beside_grants(void) {
    fork_here();
    int status = csk_gate_trylock(&shared->gate, 0);
    if (status != 0) EXPECT((shared->gate.held & ~UINT64_C(7)) != CSK_GATE_NOBODY);
    else uses_gate_once_entered();
}
CLIENT(fork_beside_a_lost_grant_fast, .setup = make_fast, .changes_overtake = true,
       .threads = { forks_beside_grants, queues_to_adopt, wants_gate }, .preemptions = 1)
CLIENT(fork_beside_a_lost_grant_strict, .setup = make_strict,
       .threads = { forks_beside_grants, queues_to_adopt, wants_gate }, .preemptions = 1)
/* The grant of one that was taken. */
static void passes_a_task(void) {
    EXPECT_EQUAL(csk_gate_lock(&shared->gate, 0), 0);
    suspend(0, 0);
    EXPECT_EQUAL(csk_gate_unlock(&shared->gate), 0);
    EXPECT_EQUAL(csk_gate_trylock_keyed(&shared->gate, csk_rank(1, CSK_PLACE_BACK), NULL, 0), 0);
    EXPECT_EQUAL(csk_gate_unlock(&shared->gate), 0);
}
CLIENT(fork_beside_a_grant_that_is_taken, .setup = make_fast, .threads = { forks_beside_grants, passes_a_task },
       .preemptions = 2)
CLIENT(fork_beside_two_grants, .setup = make_fast, .threads = { forks_beside_grants, queues_two_to_adopt },
       .preemptions = 1)
CLIENT(fork_beside_a_lost_task_fast, .setup = make_fast, .threads = { forks_beside_grants, suspends, wants_gate },
       .preemptions = 1)
CLIENT(fork_beside_a_lost_task_strict, .setup = make_strict, .threads = { forks_beside_grants, suspends, wants_gate },
       .preemptions = 1)
CLIENT(fork_beside_a_task_that_gives_way, .setup = make_fast,
       .threads = { forks_beside_grants, suspends_two_and_gives_way }, .preemptions = 1)

static void make_granted(void) {
    make_fast();
    queues_to_adopt();
}
static void adopts(void) {
    EXPECT_EQUAL(csk_gate_adopt(&shared->gate, &shared->waiter), 0);
    EXPECT_EQUAL(csk_gate_unlock(&shared->gate), 0);
}
CLIENT(fork_beside_an_adoption, .setup = make_granted, .threads = { forks_beside_grants, adopts }, .preemptions = 2)

static void make_strict_prepared(void) {
    make_strict();
    EXPECT_EQUAL(csk_timer_prepare(), 0);
}
static void hands_over_to_one_that_adopts(void) {
    EXPECT_EQUAL(csk_gate_lock(&shared->gate, 0), 0);
    queues_to_adopt();
    explore_set(&shared->fired, 1);
    EXPECT_EQUAL(csk_gate_unlock(&shared->gate), 0);
}
static void forks_beside_a_hand_over(void) {
    explore_wait(&shared->fired, 1);
    forks_beside_grants();
}
CLIENT(fork_beside_a_hand_over, .setup = make_strict_prepared, .changes_overtake = true,
       .threads = { forks_beside_a_hand_over, hands_over_to_one_that_adopts }, .preemptions = 2)

static void wants_mutex(void) {
    EXPECT_EQUAL(csk_mutex_lock(&shared->mutex), 0);
    EXPECT_EQUAL(csk_mutex_unlock(&shared->mutex), 0);
}
static void forks_with_mutex(void) {
    EXPECT_EQUAL(csk_mutex_lock(&shared->mutex), 0);
    fork_here();
    EXPECT_EQUAL(csk_mutex_unlock(&shared->mutex), 0);
    EXPECT_EQUAL(csk_mutex_trylock(&shared->mutex), 0);
    EXPECT_EQUAL(csk_mutex_unlock(&shared->mutex), 0);
    wants_mutex();
    EXPECT_EQUAL(csk_mutex_destroy(&shared->mutex), 0);
}
CLIENT(fork_with_mutex, .setup = make, .threads = { forks_with_mutex, wants_mutex, wants_mutex }, .preemptions = 1)

static void make_lock(csk_rwlock_attr_t attr) {
    make();
    EXPECT_EQUAL(csk_rwlock_init(&shared->lock, &attr), 0);
    shared->lock.bias = attr.reader_bias; /* on */
}
static void make_lock_fast(void) { make_lock((csk_rwlock_attr_t){ 0 }); }
static void make_lock_strict(void) { make_lock((csk_rwlock_attr_t){ .policy = CSK_RWLOCK_STRICT }); }
static void make_lock_biased(void) { make_lock((csk_rwlock_attr_t){ .reader_bias = 1 }); }

static void wants_to_write(void) {
    EXPECT_EQUAL(csk_rwlock_wrlock(&shared->lock), 0);
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
}
static void wants_to_read(void) {
    EXPECT_EQUAL(csk_rwlock_rdlock(&shared->lock), 0);
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
}
static void uses_lock_alone(void) {
    EXPECT_EQUAL(csk_rwlock_trywrlock(&shared->lock), 0);
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
    wants_to_read();
    wants_to_write();
    EXPECT_EQUAL(csk_rwlock_waiting(&shared->lock), 0);
    EXPECT_EQUAL(csk_rwlock_destroy(&shared->lock), 0);
}
static void forks_writing(void) {
    EXPECT_EQUAL(csk_rwlock_wrlock(&shared->lock), 0);
    fork_here();
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
    uses_lock_alone();
}
static void forks_reading(void) {
    EXPECT_EQUAL(csk_rwlock_rdlock(&shared->lock), 0);
    fork_here();
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
    uses_lock_alone();
}
CLIENT(fork_writing_fast, .setup = make_lock_fast, .threads = { forks_writing, wants_to_read, wants_to_write },
       .preemptions = 1)
CLIENT(fork_writing_strict, .setup = make_lock_strict, .threads = { forks_writing, wants_to_read, wants_to_write },
       .preemptions = 1)
CLIENT(fork_reading_fast, .setup = make_lock_fast, .threads = { forks_reading, wants_to_write, wants_to_write },
       .preemptions = 1)
CLIENT(fork_reading_biased, .setup = make_lock_biased, .threads = { forks_reading, wants_to_write }, .preemptions = 1)

/* The lock is free although somebody waited for it. */
static void forks_and_tries(void) {
    fork_here();
    if ((shared->lock.state & ~UINT64_C(14)) == 0) uses_lock_alone();
}
CLIENT(fork_beside_writers, .setup = make_lock_fast, .threads = { forks_and_tries, wants_to_write, wants_to_write },
       .preemptions = 2)

/* The marks of the others are not in the child. */
static void forks_and_writes(void) {
    fork_here();
    uses_lock_alone();
}
CLIENT(fork_beside_biased_readers, .setup = make_lock_biased,
       .threads = { forks_and_writes, wants_to_read, wants_to_read }, .preemptions = 1)

uint32_t kernel_reads_looked_at(void);

/* The child knows its thread's record, whoever has just made another one. */
static void forks_with_a_record(void) {
    EXPECT_EQUAL(csk_rwlock_rdlock(&shared->lock), 0);
    fork_here();
    EXPECT_EQUAL(kernel_reads_looked_at(), 1);
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
}
CLIENT(fork_beside_a_new_reader, .setup = make_lock_biased, .threads = { forks_with_a_record, wants_to_read },
       .preemptions = 2)

/* Of two writers of the child, one that has just entered is not taken for the parent's by the other. */
static void writes_in_child(void) {
    EXPECT_EQUAL(csk_rwlock_wrlock(&shared->lock), 0);
    EXPECT_EQUAL(shared->called++, 0);
    explore_point();
    shared->called--;
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
}
static void writes_beside(void *unused) {
    (void)unused;
    writes_in_child();
    explore_set(&shared->ended, 1);
}
static void forks_reading_and_two_write(void) {
    EXPECT_EQUAL(csk_rwlock_rdlock(&shared->lock), 0);
    fork_here();
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
    EXPECT_EQUAL(csk_platform_start_thread(writes_beside, NULL, "writer"), 0);
    writes_in_child();
    explore_wait(&shared->ended, 1);
}
CLIENT(fork_reading_biased_two_write, .setup = make_lock_biased,
       .threads = { forks_reading_and_two_write, wants_to_write }, .preemptions = 1)

/* ---- Timers ------------------------------------------------------------------------------------------------------ */

static void fires(csk_timer_t *timer, void *context) {
    (void)timer;
    EXPECT_EQUAL(shared->is_child, context != NULL);
    explore_set(&shared->fired, shared->fired + 1);
}
static void starts_and_cancels(void) {
    EXPECT_EQUAL(csk_timer_start(&shared->timer, explore_now() + 5000, fires, NULL), 0);
    csk_timer_cancel(&shared->timer);
}
static void forks_and_starts(void) {
    fork_here();
    uint32_t before = shared->fired;
    EXPECT_EQUAL(csk_timer_cancel(&shared->timer), ENOENT);
    EXPECT_EQUAL(csk_timer_start(&shared->other, explore_now() + 1000, fires, shared), 0);
    explore_wait(&shared->fired, before + 1);
}
CLIENT(fork_beside_timers, .setup = make, .threads = { forks_and_starts, starts_and_cancels }, .preemptions = 2)

static void fires_after(csk_timer_t *timer, void *context) {
    (void)timer, (void)context;
    EXPECT_EQUAL(shared->ended, 1);
    shared->fired++;
}
static void cancels_what_forked(void *unused) {
    (void)unused;
    EXPECT_EQUAL(csk_timer_cancel(&shared->timer), ENOENT);
    EXPECT_EQUAL(shared->ended, 1);
}
static void forks_in_function(csk_timer_t *timer, void *context) {
    (void)timer, (void)context;
    fork_here();
    EXPECT_EQUAL(csk_platform_start_thread(cancels_what_forked, NULL, "canceller"), 0);
    EXPECT_EQUAL(csk_timer_start(&shared->other, explore_now(), fires_after, NULL), 0);
    explore_point();
    explore_point();
    shared->ended = 1;
}
static void starts_one_that_forks(void) {
    EXPECT_EQUAL(csk_timer_start(&shared->timer, explore_now(), forks_in_function, NULL), 0);
}
static void the_other_fired_after(void) { EXPECT_EQUAL(shared->fired, 1); }
CLIENT(fork_in_a_timer, .setup = make, .threads = { starts_one_that_forks }, .check = the_other_fired_after,
       .preemptions = 2)

/* ---- Callbacks, work --------------------------------------------------------------------------------------------- */

static void is_called(csk_waiter_t *waiter, void *context, int status) {
    EXPECT_EQUAL(shared->is_child, context != NULL);
    if (status == 0) EXPECT_EQUAL(csk_gate_unlock(waiter->gate), 0);
    shared->called++;
}
static void queues_callback(void) {
    EXPECT_EQUAL(csk_gate_lock_async(&shared->gate, 0, &shared->waiter, explore_now() + 4000, is_called, NULL), 0);
}
static void forks_and_cancels(void) {
    EXPECT_EQUAL(csk_gate_lock(&shared->gate, 0), 0);
    fork_here();
    EXPECT_EQUAL(csk_gate_cancel(&shared->gate, &shared->waiter), ENOENT);
    uint32_t before = shared->called;
    EXPECT_EQUAL(csk_gate_lock_async(&shared->gate, 0, &shared->waiter, CSK_NEVER, is_called, shared), 0);
    EXPECT_EQUAL(csk_gate_unlock(&shared->gate), 0);
    EXPECT_EQUAL(shared->called, before + 1);
    uses_gate_alone();
}
CLIENT(fork_with_a_callback, .setup = make_compact, .threads = { forks_and_cancels, queues_callback }, .preemptions = 1)

static void runs_in_parent(csk_work_t *work, int status) {
    (void)work, (void)status;
    EXPECT_EQUAL(shared->is_child, 0);
}
static void runs_in_child(csk_work_t *work, int status) {
    (void)work;
    EXPECT_EQUAL(status, 0);
    EXPECT_EQUAL(shared->is_child, 1);
    explore_set(&shared->ran, shared->ran + 1);
}
static void queues_work(void) {
    EXPECT_EQUAL(csk_workqueue_enqueue(&shared->queue, &shared->works[0], runs_in_parent), 0);
}
static void queues_ranked(void) {
    EXPECT_EQUAL(csk_workqueue_submit(&shared->queue, csk_rank(1, CSK_PLACE_BACK), &shared->works[1], 0, CSK_NEVER,
                                      runs_in_parent),
                 0);
    csk_workqueue_cancel(&shared->queue, &shared->works[1]);
}
static void forks_and_queues(void) {
    fork_here();
    EXPECT_EQUAL(csk_workqueue_cancel(&shared->queue, &shared->works[0]), ENOENT);
    EXPECT_EQUAL(csk_workqueue_waiting(&shared->queue), 0);
    EXPECT_EQUAL(csk_workqueue_enqueue(&shared->queue, &shared->works[0], runs_in_child), 0);
    EXPECT_EQUAL(csk_workqueue_submit(&shared->queue, csk_rank(1, CSK_PLACE_BACK), &shared->works[1], 0, CSK_NEVER,
                                      runs_in_child),
                 0);
    explore_wait(&shared->ran, 2);
    EXPECT_EQUAL(csk_workqueue_drain(&shared->queue, CSK_NEVER), 0);
    EXPECT_EQUAL(csk_workqueue_destroy(&shared->queue), 0);
}
CLIENT(fork_beside_work, .setup = make, .threads = { forks_and_queues, queues_work, queues_ranked })

/* ---- Enqueued writes --------------------------------------------------------------------------------------------- */

static void write_once(csk_rwlock_write_t *write) {
    (void)write;
    EXPECT_EQUAL(csk_rwlock_finish_write(&shared->lock), 0);
    explore_set(&shared->ran, shared->ran + 1);
}
static void enqueue_write(int index) {
    EXPECT_EQUAL(csk_rwlock_enqueue_write(&shared->lock, &shared->writes[index], write_once), 0);
}
/* The first has run, on a worker of the parent. */
static void forks_after_a_write(void) {
    enqueue_write(0);
    explore_wait(&shared->ran, 1);
    fork_here();
    enqueue_write(1);
    explore_wait(&shared->ran, 2);
    enqueue_write(2);
    explore_wait(&shared->ran, 3);
}
CLIENT(fork_after_a_write, .setup = make, .threads = { forks_after_a_write })

/* Where the parent's worker had the lock, that stays taken, and what had been enqueued for it is the parent's. */
static void forks_beside_writes(void) {
    enqueue_write(0);
    enqueue_write(1);
    fork_here();
    bool taken = csk_rwlock_trywrlock(&shared->lock) != 0;
    if (!taken) EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
    enqueue_write(2);
    if (taken) EXPECT_EQUAL(csk_rwlock_waiting(&shared->lock), 1);
}
CLIENT(fork_beside_writes, .setup = make, .threads = { forks_beside_writes }, .preemptions = 1)
/* The child's first call at the lock enqueues. */
static void forks_beside_writes_and_enqueues(void) {
    enqueue_write(0);
    fork_here();
    bool taken = (shared->lock.state & CSK_RWLOCK_TAKEN) != 0;
    enqueue_write(1);
    if (taken) EXPECT_EQUAL(csk_rwlock_waiting(&shared->lock), 1);
}
CLIENT(fork_beside_writes_and_enqueues, .setup = make, .threads = { forks_beside_writes_and_enqueues },
       .preemptions = 1)
/* A section that the parent has queued may be queued anew in the child. It runs there unless the lock is taken. */
static void runs_section(csk_rwlock_work_t *work, void *context, int status) {
    (void)work;
    EXPECT_EQUAL(status, 0);
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
    EXPECT_EQUAL(context != NULL, shared->is_child);
    explore_set(&shared->ran, shared->ran + 1);
}
static void forks_beside_a_section(void) {
    EXPECT_EQUAL(csk_rwlock_enqueue(&shared->lock, &shared->section, CSK_RWLOCK_READ, CSK_NEVER, runs_section, NULL),
                 0);
    fork_here();
    uint32_t ran = shared->ran;
    EXPECT_EQUAL(csk_rwlock_enqueue(&shared->lock, &shared->section, CSK_RWLOCK_READ, CSK_NEVER, runs_section, shared),
                 0);
    explore_wait(&shared->ran, ran + 1);
}
CLIENT(fork_beside_a_section, .setup = make, .threads = { forks_beside_a_section }, .preemptions = 1)

static void starts_delayed(void) {
    EXPECT_EQUAL(csk_delayed_start(&shared->delayed, &shared->queue, explore_now() + 1000, 0, runs_in_parent), 0);
}
static void forks_and_delays(void) {
    fork_here();
    EXPECT_EQUAL(csk_delayed_cancel(&shared->delayed), ENOENT);
    EXPECT_EQUAL(csk_delayed_start(&shared->delayed, &shared->queue, explore_now() + 1000, 0, runs_in_child), 0);
    explore_wait(&shared->ran, 1);
}
CLIENT(fork_beside_delayed_work, .setup = make, .threads = { forks_and_delays, starts_delayed }, .preemptions = 1)
