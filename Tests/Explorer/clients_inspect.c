/* clients_inspect.c: a reader of the records of waits, and of the list of objects at which callbacks wait, never
 * touches an object whose wait has returned, or whose callback was called. */
#include "csynckernel/sem.h"
#include "observe/listed.h"
#include "observe/tasks.h"
#include "wait/waits.h"

#include "explorer.h"
#include "internal.h"

static struct {
    uint32_t *objects[2];
    csk_sem_t *sem;
    csk_waiter_t *waiter;
    uint32_t seen;
    uint32_t called;
} * shared;

static void make(void) {
    kernel_notes_waits = true;
    shared = explore_allocate(sizeof *shared);
    for (int i = 0; i < 2; i++) shared->objects[i] = explore_allocate(sizeof *shared->objects[i]);
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

static void wait_for(int which) {
    csk_wait_t wait = { .object = shared->objects[which], .since_ns = 1, .deadline_ns = CSK_NEVER };
    csk_waits_note(&wait);
    EXPECT(wait.noted);
    explore_point();
    csk_waits_end(&wait);
    explore_free(shared->objects[which], sizeof *shared->objects[which]);
}
static void waits_first(void) { wait_for(0); }
static void waits_second(void) { wait_for(1); }
static void waits_twice(void) {
    csk_wait_t wait = { .object = shared->objects[1], .since_ns = 1, .deadline_ns = CSK_NEVER };
    csk_waits_note(&wait);
    csk_waits_end(&wait);
    wait_for(0);
}

static void reads_records(void) {
    csk_waits_seen_t seen = { 0 };
    for (csk_wait_record_t *record = NULL; (record = csk_waits_next(record, CSK_NEVER, &seen)) != NULL;) {
        EXPECT_EQUAL(__atomic_load_n((const uint32_t *)record->wait->object, __ATOMIC_RELAXED), 0);
        shared->seen++;
    }
    EXPECT_EQUAL(seen.busy, 0);
    EXPECT(!seen.list_is_busy);
}
static void nobody_waits(void) {
    csk_waits_seen_t seen = { 0 };
    EXPECT(csk_waits_next(NULL, CSK_NEVER, &seen) == NULL);
}

CLIENT(waits_read, .setup = make, .threads = { waits_first, reads_records }, .check = nobody_waits, .preemptions = 3)
CLIENT(waits_read_again, .setup = make, .threads = { waits_twice, reads_records }, .check = nobody_waits,
       .preemptions = 3)
CLIENT(waits_read_two, .setup = make, .threads = { waits_first, waits_second, reads_records }, .check = nobody_waits,
       .preemptions = 2)

static void forks_and_reads(void) {
    csk_sem_t sem = CSK_SEM_INITIALIZER;
    EXPECT_EQUAL(csk_sem_timedwait(&sem, 0, 1, explore_now() + 1000000), ETIMEDOUT);
    explore_fork();
    csk_waits_seen_t seen = { 0 };
    EXPECT(csk_waits_next(NULL, CSK_NEVER, &seen) == NULL);
    EXPECT_EQUAL(seen.threads, 0);
    csk_wait_t wait = { .object = &sem, .since_ns = 1, .deadline_ns = CSK_NEVER };
    csk_waits_note(&wait);
    csk_waits_end(&wait);
    EXPECT(csk_waits_next(NULL, CSK_NEVER, &seen) == NULL);
    EXPECT_EQUAL(seen.threads, 1);
}
CLIENT(waits_fork, .setup = make, .threads = { forks_and_reads, waits_first }, .preemptions = 2)

/* A semaphore goes as soon as the wait at it has returned, and the reader tries its lock. */
static void make_sem(void) {
    make();
    shared->sem = explore_allocate(sizeof *shared->sem);
    shared->waiter = explore_allocate(sizeof *shared->waiter);
}
static void waits_and_frees(void) {
    EXPECT_EQUAL(csk_sem_timedwait(shared->sem, 0, 1, explore_now() + 1000000), ETIMEDOUT);
    explore_free(shared->sem, sizeof *shared->sem);
}
static void reads_sems(void) {
    csk_waits_seen_t seen = { 0 };
    for (csk_wait_record_t *record = NULL; (record = csk_waits_next(record, CSK_NEVER, &seen)) != NULL;) {
        csk_sem_t *sem = (csk_sem_t *)record->wait->object;
        if (!csk_waits_try_lock(record, &sem->queue_lock, explore_now() + 100000)) continue;
        EXPECT_EQUAL(__atomic_load_n(&sem->state, __ATOMIC_RELAXED) >> 32, 0);
        csk_queue_unlock(&sem->queue_lock);
    }
}
CLIENT(waits_sem_goes, .setup = make_sem, .threads = { waits_and_frees, reads_sems }, .check = nobody_waits,
       .preemptions = 2)

/* ---- The list of objects ----------------------------------------------------------------------------------------- */

static void lists_and_frees(void) {
    EXPECT(csk_listed_add(shared->objects[0], CSK_OBJECT_SEM));
    csk_listed_take_off(shared->objects[0]);
    explore_free(shared->objects[0], sizeof *shared->objects[0]);
}
static void lists_twice_and_frees(void) {
    EXPECT(csk_listed_add(shared->objects[0], CSK_OBJECT_SEM));
    EXPECT(csk_listed_add(shared->objects[1], CSK_OBJECT_SEM));
    EXPECT(csk_listed_add(shared->objects[0], CSK_OBJECT_SEM));
    csk_listed_take_off(shared->objects[0]);
    csk_listed_take_off(shared->objects[1]);
    explore_free(shared->objects[1], sizeof *shared->objects[1]);
    csk_listed_take_off(shared->objects[0]);
    explore_free(shared->objects[0], sizeof *shared->objects[0]);
}
static void reads_list(void) {
    csk_listed_cursor_t cursor = { 0 };
    csk_listed_t listed;
    bool busy = false;
    while (csk_listed_next(&cursor, &listed, CSK_NEVER, &busy))
        __atomic_load_n((const uint32_t *)listed.object, __ATOMIC_RELAXED);
    EXPECT(!busy);
}
static void nothing_is_listed(void) {
    csk_listed_cursor_t cursor = { 0 };
    csk_listed_t listed;
    bool busy = false;
    EXPECT(!csk_listed_next(&cursor, &listed, CSK_NEVER, &busy));
}
CLIENT(listed_read, .setup = make, .threads = { lists_and_frees, reads_list }, .check = nothing_is_listed,
       .preemptions = 3)
CLIENT(listed_read_two, .setup = make, .threads = { lists_twice_and_frees, reads_list }, .check = nothing_is_listed,
       .preemptions = 2)

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

static void task_waits_and_frees(void) {
    csk_inspect_callbacks(true);
    csk_task_wait_t wait = { .task = 1, .object = shared->objects[0], .deadline_ns = CSK_NEVER };
    csk_task_wait_begin(&wait);
    explore_point();
    csk_task_wait_end(&wait, 0);
    explore_free(shared->objects[0], sizeof *shared->objects[0]);
}
static bool reads_task(const csk_task_wait_t *wait, void *context) {
    (void)context;
    __atomic_load_n((const uint32_t *)wait->object, __ATOMIC_RELAXED);
    shared->seen++;
    return true;
}
static void reads_tasks(void) {
    for (uint32_t part = 0; part < CSK_TASK_PARTS; part++)
        EXPECT(csk_task_waits_read(part, CSK_NEVER, reads_task, NULL));
}
static void no_task_waits(void) {
    shared->seen = 0;
    reads_tasks();
    EXPECT_EQUAL(shared->seen, 0);
}
CLIENT(tasks_read, .setup = make, .threads = { task_waits_and_frees, reads_tasks }, .check = no_task_waits,
       .preemptions = 2)

/* Work that is no task passes its object on. At each moment that a reader sees, what waits does so for what has it. */
static void pass_on(uint64_t task) {
    csk_inspect_callbacks(true);
    csk_task_wait_t works[2];
    for (uint32_t i = 0; i < 2; i++) {
        works[i] = (csk_task_wait_t){ .object = shared->objects[0], .has_object = 1 - i, .deadline_ns = CSK_NEVER };
        works[i].task = task * (i + 1);
        csk_task_wait_begin(&works[i]);
    }
    csk_task_wait_pass(&works[0], &works[1]);
    works[0].object = NULL; /* it may go */
    csk_task_wait_end(&works[1], 0);
    explore_free(shared->objects[0], sizeof *shared->objects[0]);
}
static void passes_on(void) { pass_on(0); }
static void passes_on_to_a_task(void) { pass_on(1); }
typedef struct {
    uint32_t holders, waiters;
} passed_t;
static bool counts_work(const csk_task_wait_t *wait, void *context) {
    passed_t *passed = context;
    __atomic_load_n((const uint32_t *)wait->object, __ATOMIC_RELAXED);
    if (wait->has_object) passed->holders++;
    else passed->waiters++;
    return true;
}
static void reads_who_has_it(void) {
    passed_t passed = { 0, 0 };
    for (uint32_t part = 0; part < CSK_TASK_PARTS; part++)
        EXPECT(csk_task_waits_read(part, CSK_NEVER, counts_work, &passed));
    EXPECT(passed.holders <= 1 && passed.waiters <= passed.holders);
}
CLIENT(tasks_pass, .setup = make, .threads = { passes_on, reads_who_has_it }, .check = no_task_waits, .preemptions = 3)
CLIENT(tasks_pass_between_tasks, .setup = make, .threads = { passes_on_to_a_task, reads_tasks }, .check = no_task_waits,
       .preemptions = 2)

/* The callback frees the semaphore at which it has waited. */
static void frees_sem(csk_waiter_t *waiter, void *context, int status) {
    (void)context;
    EXPECT_EQUAL(status, 0);
    EXPECT(waiter == shared->waiter);
    explore_free(shared->sem, sizeof *shared->sem);
    explore_set(&shared->called, 1);
}
static void waits_by_callback(void) {
    csk_inspect_callbacks(true);
    EXPECT_EQUAL(
        csk_sem_wait_async(shared->sem, csk_rank(0, CSK_PLACE_BACK), shared->waiter, 1, CSK_NEVER, frees_sem, NULL), 0);
    explore_set(&shared->seen, 1);
}
static void signals(void) {
    explore_wait(&shared->seen, 1);
    EXPECT_EQUAL(csk_sem_post(shared->sem, 1), 0);
}
static void reads_listed_sems(void) {
    csk_listed_cursor_t cursor = { 0 };
    csk_listed_t listed;
    bool busy = false;
    while (csk_listed_next(&cursor, &listed, CSK_NEVER, &busy)) {
        csk_sem_t *sem = (csk_sem_t *)listed.object;
        if (!csk_waits_try_lock(NULL, &sem->queue_lock, explore_now() + 100000)) continue;
        csk_queue_unlock(&sem->queue_lock);
    }
}
static void was_called(void) {
    EXPECT_EQUAL(shared->called, 1);
    nothing_is_listed();
}
CLIENT(listed_sem_goes, .setup = make_sem, .threads = { waits_by_callback, signals, reads_listed_sems },
       .check = was_called, .preemptions = 2)
