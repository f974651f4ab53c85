/* deadlock_test.c: planted deadlocks are named, each once and by exactly its parties; what is none is not. Parties stay
 * stuck until the program ends.
 *
 * More than 400 lines: one test for each kind of circle, and for each that is none. */
#include "deadlock_fixture.h"

static const int64_t short_ns = 20000000, in_time_ns = INT64_C(1500000000) * TEST_SLOWDOWN;

static int gates(int place) { return (void)place, A_GATE; }
static int mutexes(int place) { return (void)place, A_MUTEX; }
static int rwlocks(int place) { return (void)place, A_RWLOCK; }
static int queues(int place) { return (void)place, A_QUEUE; }
static int sems(int place) { return (void)place, A_SEM; }
static int noted_sems(int place) { return (void)place, A_NOTED_SEM; }
static int all_kinds(int place) { return place % KINDS; }

/* All of them at once, by the limit that users have. */
static void rings_of_each_kind_and_size_are_named_in_time(void) {
    static const int sizes[] = { 2, 3, 8 };
    ring_t *rings[40];
    int count = 0;
    watch(0);
    uint32_t before = LOAD(&report_count);
    for (int i = 0; i < 3; i++) {
        rings[count++] = plant("gates", sizes[i], gates, TO_WRITE, TO_WRITE);
        rings[count++] = plant("mutexes", sizes[i], mutexes, TO_WRITE, TO_WRITE);
        rings[count++] = plant("write, write", sizes[i], rwlocks, TO_WRITE, TO_WRITE);
        rings[count++] = plant("read, write", sizes[i], rwlocks, TO_READ, TO_WRITE);
        rings[count++] = plant("write, read", sizes[i], rwlocks, TO_WRITE, TO_READ);
        rings[count++] = plant("queues", sizes[i], queues, TO_WRITE, TO_WRITE);
        rings[count++] = plant("semaphores", sizes[i], sems, TO_WRITE, TO_WRITE);
        rings[count++] = plant("semaphores that note", sizes[i], noted_sems, TO_WRITE, TO_WRITE);
        rings[count++] = plant("mixed", sizes[i], all_kinds, TO_WRITE, TO_WRITE);
    }
    for (int i = 0; i < count; i++) check_ring(rings[i], in_time_ns);
    CHECK_EQ(LOAD(&report_count), before + (uint32_t)count);
}

/* Whatever stood before a deadlock was looked at when that is reported. */
static uint32_t await_control(void) {
    ring_t *control = plant("control", 2, gates, TO_WRITE, TO_WRITE);
    check_ring(control, INT64_MAX);
    return LOAD(&report_count);
}

/* ---- Read-write locks -------------------------------------------------------------------------------------------- */

/* Each test has its own, since threads stay in those of the tests before. */
typedef struct {
    csk_rwlock_t lock;
    csk_gate_t gate, other;
    int32_t ids[4];
    int steps;
} scene_t;

static scene_t *scene;

static void begin(int64_t after_ns) {
    scene = allocate_for_good(sizeof *scene);
    CHECK_STATUS(csk_gate_init(&scene->gate, NULL), 0);
    CHECK_STATUS(csk_gate_init(&scene->other, NULL), 0);
    watch(after_ns);
}

static void check_parties(const int32_t *expected, uint32_t count) {
    csk_deadlock_party_t parties[CSK_DEADLOCK_PARTIES];
    const report_t *report;
    wait_until(LOAD(&expected[0]) != 0);
    wait_until((report = find_report(LOAD(&expected[0]))) != NULL);
    CHECK_EQ(csk_deadlock_parties(report->number, parties, CSK_DEADLOCK_PARTIES), count);
    uint32_t first = 0;
    while (first < count && LOAD(&expected[first]) != parties[0].thread.id) first++;
    for (uint32_t i = 0; i < count; i++) CHECK_EQ(parties[i].thread.id, LOAD(&expected[(first + i) % count]));
}

static void *upgrade(void *unused) {
    (void)unused;
    STORE(&scene->ids[0], csk_thread_id());
    CHECK_STATUS(csk_gate_lock(&scene->gate, 0), 0);
    CHECK_STATUS(csk_rwlock_rdlock(&scene->lock), 0);
    ADD(&scene->steps, 1);
    wait_until(LOAD(&scene->steps) == 2);
    (void)!csk_rwlock_timedupgrade(&scene->lock, CSK_NEVER);
    return NULL;
}
static void *read_and_lock(void *unused) {
    (void)unused;
    STORE(&scene->ids[1], csk_thread_id());
    CHECK_STATUS(csk_rwlock_rdlock(&scene->lock), 0);
    ADD(&scene->steps, 1);
    wait_until(LOAD(&scene->steps) == 2);
    (void)csk_gate_lock(&scene->gate, 0);
    return NULL;
}
static void an_upgrade_waits_for_the_other_readers(void) {
    begin(short_ns);
    detach(upgrade, NULL);
    detach(read_and_lock, NULL);
    check_parties(scene->ids, 2);
}

/* 0 reads, and waits for the gate of 1, which waits to read behind 2, which waits to write until 0 reads no more. */
static void *read_first(void *unused) {
    (void)unused;
    STORE(&scene->ids[0], csk_thread_id());
    CHECK_STATUS(csk_rwlock_rdlock(&scene->lock), 0);
    STORE(&scene->steps, 1);
    wait_until(LOAD(&scene->steps) == 2 && csk_rwlock_waiting(&scene->lock) == 2);
    (void)csk_gate_lock(&scene->gate, 0);
    return NULL;
}
static void *read_behind(void *unused) {
    (void)unused;
    STORE(&scene->ids[1], csk_thread_id());
    CHECK_STATUS(csk_gate_lock(&scene->gate, 0), 0);
    STORE(&scene->steps, 2);
    wait_until(csk_rwlock_waiting(&scene->lock) == 1);
    (void)!csk_rwlock_rdlock(&scene->lock);
    return NULL;
}
static void *write_between(void *unused) {
    (void)unused;
    STORE(&scene->ids[2], csk_thread_id());
    (void)!csk_rwlock_wrlock(&scene->lock);
    return NULL;
}
static void *write_for_long(void *unused) {
    (void)unused;
    (void)!csk_rwlock_timedwrlock(&scene->lock, csk_deadline_after(INT64_C(3600000000000)));
    return NULL;
}
static void plant_behind(void *(*writer)(void *)) {
    begin(short_ns);
    CHECK_STATUS(csk_rwlock_init(&scene->lock, &(csk_rwlock_attr_t){ .policy = CSK_RWLOCK_STRICT }), 0);
    detach(read_first, NULL);
    wait_until(LOAD(&scene->steps) == 1);
    detach(writer, NULL);
    wait_until(csk_rwlock_waiting(&scene->lock) == 1);
    detach(read_behind, NULL);
    wait_until(csk_gate_waiting(&scene->gate) == 1);
}
static void a_reader_waits_for_the_writer_before_it(void) {
    plant_behind(write_between);
    check_parties(scene->ids, 3);
}
static void a_reader_behind_a_timed_writer_is_in_no_deadlock(void) {
    plant_behind(write_for_long);
    uint32_t before = LOAD(&report_count);
    CHECK_EQ(await_control(), before + 1);
}

/* ---- What is none ------------------------------------------------------------------------------------------------ */

static void *lock_gate_then_other(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_gate_lock(&scene->gate, 0), 0);
    ADD(&scene->steps, 1);
    wait_until(LOAD(&scene->steps) == 2);
    (void)csk_gate_lock(&scene->other, 0);
    return NULL;
}
static void *lock_other_then_gate_timed(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_gate_lock(&scene->other, 0), 0);
    ADD(&scene->steps, 1);
    wait_until(LOAD(&scene->steps) == 2);
    (void)!csk_gate_timedlock(&scene->gate, 0, csk_deadline_after(INT64_C(3600000000000)));
    return NULL;
}
static void a_circle_with_a_timed_wait_is_none(void) {
    begin(short_ns);
    detach(lock_gate_then_other, NULL);
    detach(lock_other_then_gate_timed, NULL);
    wait_until(csk_gate_waiting(&scene->gate) == 1 && csk_gate_waiting(&scene->other) == 1);
    uint32_t before = LOAD(&report_count);
    CHECK_EQ(await_control(), before + 1);
}

static void *lock_gate(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_gate_lock(&scene->gate, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&scene->gate), 0);
    return NULL;
}
static void a_long_wait_without_a_circle_is_none(void) {
    begin(short_ns);
    CHECK_STATUS(csk_gate_lock(&scene->gate, 0), 0);
    pthread_t thread = start_thread(lock_gate, NULL);
    wait_until(csk_gate_waiting(&scene->gate) == 1);
    uint32_t before = LOAD(&report_count);
    CHECK_EQ(await_control(), before + 1);
    CHECK_STATUS(csk_gate_unlock(&scene->gate), 0);
    join_thread(thread);
}

/* Those that wait for a party are not named, and a deadlock is told once however long it lasts. */
static void who_waits_for_a_party_is_none_and_nothing_is_told_twice(void) {
    begin(short_ns);
    ring_t *ring = plant("gates", 3, gates, TO_WRITE, TO_WRITE);
    check_ring(ring, INT64_MAX);
    uint32_t before = LOAD(&report_count);
    for (int i = 0; i < 3; i++) {
        party_t *late = allocate_for_good(sizeof *late);
        late->ring = ring;
        late->place = i - 1 + ring->count;
        STORE(&ring->inside, ring->count - 1);
        detach((void *(*)(void *))(void (*)(void))wait_for_next, late);
        wait_until(csk_gate_waiting(&ring->objects[i].gate) == 2);
    }
    CHECK_EQ(await_control(), before + 1);
    CHECK_EQ(await_control(), before + 2);
}

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

/* A task is a number, and waits by a callback. */
static csk_held_sem_t held[8];
static csk_waiter_t task_waiters[8];

static void ended(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)status;
    ADD((int *)context, 1);
}

static void make_held(int count) {
    for (int i = 0; i < count; i++) {
        CHECK_STATUS(csk_sem_init(&held[i].placed.sem, 1, 1), 0);
        csk_held_sem_begin(&held[i]);
        CHECK_STATUS(csk_sem_wait(&held[i].placed.sem, 0, 1), 0);
        csk_sem_set_holder(&held[i].placed.sem, (uint64_t)(100 + i));
    }
    memset(task_waiters, 0, sizeof task_waiters);
}
static void task_waits(int task, int at, int *ends) {
    csk_deadlock_suspend((uint64_t)(100 + task));
    CHECK_STATUS(csk_sem_wait_async(&held[at].placed.sem, 0, &task_waiters[task], 1, CSK_NEVER, ended, ends), 0);
    csk_deadlock_suspend(0);
}

static const report_t *await_next_report(uint32_t before) {
    wait_until(LOAD(&report_count) > before);
    return &reports[before];
}

static void tasks_that_wait_for_each_other_are_named(void) {
    static const int sizes[] = { 2, 3, 8 };
    for (int s = 0; s < 3; s++) {
        int count = sizes[s], ends = 0;
        begin(short_ns);
        make_held(count);
        uint32_t before = LOAD(&report_count);
        for (int i = 0; i < count; i++) task_waits(i, (i + 1) % count, &ends);
        const report_t *report = await_next_report(before);
        csk_deadlock_party_t parties[CSK_DEADLOCK_PARTIES];
        CHECK_EQ(csk_deadlock_parties(report->number, parties, CSK_DEADLOCK_PARTIES), count);
        for (int i = 0; i < count; i++) {
            int task = (int)parties[i].task - 100;
            CHECK(task >= 0 && task < count);
            CHECK_EQ(parties[i].thread.id, 0);
            CHECK(parties[i].waiter == &task_waiters[task]);
            CHECK(parties[i].object == &held[(task + 1) % count]);
            CHECK_EQ(parties[(i + 1) % count].task, 100 + (task + 1) % count);
        }
        for (int i = 0; i < count; i++)
            CHECK_STATUS(csk_sem_cancel(&held[(i + 1) % count].placed.sem, &task_waiters[i]), 0);
        CHECK_EQ(ends, count);
    }
}

static __thread uint64_t task_of_thread;
static uint64_t current_task(void) { return task_of_thread; }

/* Task 100 runs on a thread, has permit 0, and blocks at the gate of a thread, which waits for permit 1 of task 101,
 * which waits for permit 0. */
static void *block_as_task(void *unused) {
    (void)unused;
    task_of_thread = 100;
    STORE(&scene->ids[0], csk_thread_id());
    CHECK_STATUS(csk_gate_lock(&scene->gate, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&scene->gate), 0);
    return NULL;
}
static void *wait_for_permit(void *unused) {
    (void)unused;
    STORE(&scene->ids[1], csk_thread_id());
    CHECK_STATUS(csk_gate_lock(&scene->gate, 0), 0);
    STORE(&scene->steps, 1);
    CHECK_STATUS(csk_sem_wait(&held[1].placed.sem, 0, 1), 0);
    CHECK_STATUS(csk_gate_unlock(&scene->gate), 0);
    return NULL;
}
static void threads_and_tasks_that_wait_for_each_other_are_named(void) {
    int ends = 0;
    csk_deadlock_know_tasks(current_task, NULL);
    begin(short_ns);
    make_held(2);
    uint32_t before = LOAD(&report_count);
    pthread_t threads[2];
    threads[1] = start_thread(wait_for_permit, NULL);
    wait_until(LOAD(&scene->steps) == 1);
    threads[0] = start_thread(block_as_task, NULL);
    task_waits(1, 0, &ends);
    const report_t *report = await_next_report(before);
    csk_deadlock_party_t parties[CSK_DEADLOCK_PARTIES];
    CHECK_EQ(csk_deadlock_parties(report->number, parties, CSK_DEADLOCK_PARTIES), 3);
    int first = 0;
    while (first < 3 && parties[first].thread.id != LOAD(&scene->ids[0])) first++;
    CHECK(first < 3);
    CHECK_EQ(parties[first].task, 100);
    CHECK_EQ(parties[(first + 1) % 3].thread.id, LOAD(&scene->ids[1]));
    CHECK_EQ(parties[(first + 2) % 3].thread.id, 0);
    CHECK_EQ(parties[(first + 2) % 3].task, 101);
    CHECK_STATUS(csk_sem_cancel(&held[0].placed.sem, &task_waiters[1]), 0);
    csk_sem_set_holder(&held[1].placed.sem, 0);
    CHECK_STATUS(csk_sem_post(&held[1].placed.sem, 1), 0);
    join_thread(threads[0]);
    join_thread(threads[1]);
    csk_deadlock_know_tasks(NULL, NULL);
}

/* Eight parties. The fourth and the last are tasks: they have an async mutex, and the permit of a semaphore that notes
 * its holder, and wait at gates by callbacks. The others are threads. */
enum { FIRST_TASK = 3, SECOND_TASK = 7 };
static int threads_and_tasks(int place) {
    static const int kinds[MOST_PARTIES] = {
        A_GATE, A_NOTED_SEM, A_MUTEX, A_SEM, A_GATE, A_RWLOCK, A_QUEUE, A_NOTED_SEM
    };
    return kinds[place];
}
static void never_granted(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    test_fail(__FILE__, __LINE__, "the wait of a party ended: %d", status);
}
static void make_task(ring_t *ring, int place) {
    static csk_waiter_t taken;
    csk_sem_t *sem = &ring->objects[place].sem.placed.sem;
    uint64_t task = ring->parties[place].task = (uint64_t)(200 + place);
    int ends = 0;
    if (ring->objects[place].kind == A_SEM) {
        CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
        csk_sem_set_holder(sem, task);
    } else {
        csk_deadlock_suspend(task);
        CHECK_STATUS(csk_sem_wait_async(sem, 0, &taken, 1, CSK_NEVER, ended, &ends), 0);
        csk_deadlock_suspend(0);
        CHECK_EQ(ends, 1);
    }
    ADD(&ring->inside, 1);
}
static void task_waits_for_next(ring_t *ring, int place) {
    csk_waiter_t *waiter = allocate_for_good(sizeof *waiter);
    csk_deadlock_suspend(ring->parties[place].task);
    CHECK_STATUS(csk_gate_lock_async(&ring->objects[(place + 1) % ring->count].gate, 0, waiter, CSK_NEVER,
                                     never_granted, NULL),
                 0);
    csk_deadlock_suspend(0);
}
static void a_ring_of_threads_and_tasks_at_objects_of_all_kinds_is_named_in_time(void) {
    watch(0);
    uint32_t before = LOAD(&report_count);
    ring_t *ring = make_ring("threads and tasks", MOST_PARTIES, threads_and_tasks, TO_WRITE, TO_WRITE);
    make_task(ring, FIRST_TASK);
    make_task(ring, SECOND_TASK);
    for (int i = 0; i < ring->count; i++)
        if (ring->parties[i].task == 0) detach(run_party, &ring->parties[i]);
    wait_until(LOAD(&ring->inside) == ring->count);
    task_waits_for_next(ring, FIRST_TASK);
    task_waits_for_next(ring, SECOND_TASK);
    check_ring(ring, in_time_ns);
    CHECK_EQ(LOAD(&report_count), before + 1);
}

/* Another than the one that has it signals: it is no lock, so nobody is its holder. */
static void *signal_held(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_sem_post(&held[0].placed.sem, 1), 0);
    return NULL;
}
static void *take_permit_and_lock_later(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_sem_wait(&held[0].placed.sem, 0, 1), 0);
    STORE(&scene->steps, 1);
    wait_until(LOAD(&scene->steps) == 3);
    CHECK_STATUS(csk_gate_lock(&scene->gate, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&scene->gate), 0);
    return NULL;
}
static void *lock_and_take_permit(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_gate_lock(&scene->gate, 0), 0);
    STORE(&scene->steps, 2);
    CHECK_STATUS(csk_sem_wait(&held[0].placed.sem, 0, 1), 0);
    CHECK_STATUS(csk_gate_unlock(&scene->gate), 0);
    return NULL;
}
static void a_semaphore_that_others_signal_is_in_no_deadlock(void) {
    begin(short_ns);
    CHECK_STATUS(csk_sem_init(&held[0].placed.sem, 1, 1), 0);
    csk_held_sem_begin_noting(&held[0]);
    CHECK_STATUS(csk_sem_wait(&held[0].placed.sem, 0, 1), 0);
    pthread_t other = start_thread(signal_held, NULL);
    join_thread(other);
    uint32_t before = LOAD(&report_count);
    pthread_t threads[2];
    threads[0] = start_thread(take_permit_and_lock_later, NULL);
    wait_until(LOAD(&scene->steps) == 1);
    threads[1] = start_thread(lock_and_take_permit, NULL);
    wait_until(csk_sem_waiting(&held[0].placed.sem) == 1);
    STORE(&scene->steps, 3);
    wait_until(csk_gate_waiting(&scene->gate) == 1);
    CHECK_EQ(await_control(), before + 1);
    CHECK_STATUS(csk_sem_post(&held[0].placed.sem, 1), 0);
    join_thread(threads[0]);
    join_thread(threads[1]);
}

/* It is over before it is old enough to be looked at. */
static void a_circle_that_dissolves_is_none(void) {
    int ends = 0;
    begin(10 * CSK_LONG_WAIT_NS);
    make_held(2);
    uint32_t before = LOAD(&report_count);
    task_waits(0, 1, &ends);
    task_waits(1, 0, &ends);
    CHECK_STATUS(csk_sem_cancel(&held[1].placed.sem, &task_waiters[0]), 0);
    watch(short_ns);
    CHECK_EQ(await_control(), before + 1);
    CHECK_STATUS(csk_sem_cancel(&held[0].placed.sem, &task_waiters[1]), 0);
}

/* Permits are not owned: what nobody says is not guessed. */
static void who_has_a_plain_semaphore_is_not_known(void) {
    int ends = 0;
    begin(short_ns);
    make_held(2);
    csk_sem_set_holder(&held[1].placed.sem, 0);
    uint32_t before = LOAD(&report_count);
    task_waits(0, 1, &ends);
    task_waits(1, 0, &ends);
    CHECK_EQ(await_control(), before + 1);
    CHECK_STATUS(csk_sem_cancel(&held[1].placed.sem, &task_waiters[0]), 0);
    CHECK_STATUS(csk_sem_cancel(&held[0].placed.sem, &task_waiters[1]), 0);
}

/* ---- Work queues ------------------------------------------------------------------------------------------------- */

static csk_workqueue_t work_queues[3];
static csk_work_t works[3], behind;

static void sync_to_next(csk_work_t *work, int status) {
    CHECK_STATUS(status, 0);
    int place = (int)(work - works);
    STORE(&scene->ids[place], csk_thread_id());
    ADD(&scene->steps, 1);
    wait_until(LOAD(&scene->steps) == 3);
    (void)!csk_workqueue_sync(&work_queues[(place + 1) % 3], csk_rank(0, CSK_PLACE_BACK), 0, CSK_NEVER, nothing, NULL);
}
static void works_that_call_sync_round_are_named(void) {
    begin(short_ns);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(csk_workqueue_init(&work_queues[i], NULL), 0);
        CHECK_STATUS(csk_workqueue_enqueue(&work_queues[i], &works[i], sync_to_next), 0);
    }
    check_parties(scene->ids, 3);
}

static csk_workqueue_t stuck_queue;
static void lock_in_work(csk_work_t *work, int status) {
    (void)work;
    CHECK_STATUS(status, 0);
    STORE(&scene->ids[3], csk_thread_id());
    CHECK_STATUS(csk_gate_lock(&scene->gate, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&scene->gate), 0);
}
static void run_behind(csk_work_t *work, int status) {
    (void)work;
    CHECK_STATUS(status, 0);
    STORE(&scene->steps, 1);
}
static void a_queue_whose_work_waits_is_stalled_and_no_deadlock(void) {
    static csk_work_t first;
    begin(short_ns);
    CHECK_STATUS(csk_gate_lock(&scene->gate, 0), 0);
    CHECK_STATUS(csk_workqueue_init(&stuck_queue, &(csk_workqueue_attr_t){ .name = "orders" }), 0);
    uint32_t before = LOAD(&report_count);
    CHECK_STATUS(csk_workqueue_enqueue(&stuck_queue, &first, lock_in_work), 0);
    CHECK_STATUS(csk_workqueue_enqueue(&stuck_queue, &behind, run_behind), 0);
    const report_t *report = await_next_report(before);
    CHECK_EQ(report->kind, CSK_EVENT_QUEUE_STALLED);
    CHECK(report->object == &stuck_queue);
    CHECK_EQ(report->thread_id, LOAD(&scene->ids[3]));
    CHECK_EQ(strcmp(report->text, "orders"), 0);
    CHECK_EQ(await_control(), before + 2);
    CHECK_STATUS(csk_gate_unlock(&scene->gate), 0);
    wait_until(LOAD(&scene->steps) == 1);
}

/* ---- The watch itself -------------------------------------------------------------------------------------------- */

static int append_text(void *context, const void *bytes, size_t size) {
    char *text = context;
    size_t length = strlen(text);
    if (length + size < 1 << 20) {
        memcpy(text + length, bytes, size);
        text[length + size] = 0;
    }
    return 0;
}
static int refuse_text(void *context, const void *bytes, size_t size) {
    (void)context, (void)bytes, (void)size;
    return EIO;
}

static void what_was_found_is_printed_with_stacks(void) {
    static char text[1 << 20];
    begin(short_ns);
    await_control();
    CHECK_STATUS(csk_deadlock_print(append_text, text), 0);
    char title[64];
    snprintf(title, sizeof title, "deadlock %u of 2 parties\n", (unsigned)csk_deadlock_count());
    const char *last = strstr(text, title);
    CHECK(last != NULL);
    CHECK(strstr(last, "waits for thread") != NULL);
#ifndef __SANITIZE_ADDRESS__
    CHECK(strstr(last, "run_party") != NULL);
#endif
    CHECK_STATUS(csk_deadlock_print(refuse_text, NULL), EIO);
    csk_deadlock_party_t party;
    CHECK_EQ(csk_deadlock_parties(csk_deadlock_count(), &party, 1), 0);
    CHECK_EQ(csk_deadlock_parties(csk_deadlock_count() - 1, &party, 1), 2);
}

/* Whether a thread has gone to sleep at the object: by then it has decided whether it notes its stack. */
static bool somebody_sleeps_at(const void *object) {
    static csk_inspected_object_t objects[512];
    static csk_inspected_waiter_t waiters[2048];
    csk_inspection_t view = { .objects = objects, .waiters = waiters, .object_room = 512, .waiter_room = 2048 };
    CHECK_STATUS(csk_inspect(&view), 0);
    for (uint32_t i = 0; i < view.waiter_count; i++)
        if (objects[waiters[i].object].address == object && waiters[i].wait != 0) return true;
    return false;
}

static void what_began_before_the_watch_is_seen_too(void) {
    csk_deadlock_end_watching();
    CHECK(!csk_deadlock_is_watching());
    CHECK_STATUS(csk_deadlock_watch(-1), EINVAL);
    uint32_t before = LOAD(&report_count);
    ring_t *ring = plant("gates", 2, gates, TO_WRITE, TO_WRITE);
    wait_until(somebody_sleeps_at(&ring->objects[0].gate) && somebody_sleeps_at(&ring->objects[1].gate));
    CHECK_EQ(LOAD(&report_count), before);
    watch(short_ns);
    CHECK(csk_deadlock_is_watching());
    const report_t *report;
    wait_until((report = find_report(LOAD(&ring->parties[0].id))) != NULL);
    csk_deadlock_party_t parties[CSK_DEADLOCK_PARTIES];
    CHECK_EQ(csk_deadlock_parties(report->number, parties, CSK_DEADLOCK_PARTIES), 2);
    CHECK_EQ(parties[0].frame_count, 0);
}

static struct {
    uint32_t count;
    int32_t thread_id;
    int64_t now_ns, after_ns;
} looked;

static void look(int64_t now_ns, int64_t after_ns) {
    looked.thread_id = csk_thread_id();
    CHECK_GE(now_ns, looked.now_ns);
    looked.now_ns = now_ns;
    looked.after_ns = after_ns;
    ADD(&looked.count, 1);
}

static void a_runtime_looks_along_while_the_watch_is_on(void) {
    int64_t began_ns = csk_now();
    csk_deadlock_look_along(look);
    watch(short_ns);
    wait_until(LOAD(&looked.count) >= 3);
    csk_deadlock_end_watching();
    csk_deadlock_look_along(NULL);
    watch(2 * short_ns);
    /* The watch's thread looks once more, and no longer calls it. */
    await_control();
    uint32_t count = LOAD(&looked.count);
    await_control();
    CHECK_EQ(LOAD(&looked.count), count);
    CHECK_GE(looked.now_ns, began_ns);
    CHECK(looked.thread_id != csk_thread_id());
    CHECK_EQ(looked.after_ns, short_ns);
}

/* First tasks alone: no thread has waited, so nothing but the callbacks brings the watch to look. */
TEST_MAIN(TEST(tasks_that_wait_for_each_other_are_named), TEST(rings_of_each_kind_and_size_are_named_in_time),
          TEST(an_upgrade_waits_for_the_other_readers), TEST(a_reader_waits_for_the_writer_before_it),
          TEST(a_reader_behind_a_timed_writer_is_in_no_deadlock), TEST(a_circle_with_a_timed_wait_is_none),
          TEST(a_long_wait_without_a_circle_is_none), TEST(who_waits_for_a_party_is_none_and_nothing_is_told_twice),
          TEST(threads_and_tasks_that_wait_for_each_other_are_named),
          TEST(a_ring_of_threads_and_tasks_at_objects_of_all_kinds_is_named_in_time),
          TEST(a_semaphore_that_others_signal_is_in_no_deadlock), TEST(a_circle_that_dissolves_is_none),
          TEST(who_has_a_plain_semaphore_is_not_known), TEST(works_that_call_sync_round_are_named),
          TEST(a_queue_whose_work_waits_is_stalled_and_no_deadlock), TEST(what_was_found_is_printed_with_stacks),
          TEST(what_began_before_the_watch_is_seen_too), TEST(a_runtime_looks_along_while_the_watch_is_on))
