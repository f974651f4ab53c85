/* inspect_test.c: a view shows who waits for whom, also where everybody is stuck, and never looks at what is gone.
 *
 * More than 400 lines: one test for each kind of object. */
#include "child.h"
#include "collected_text.h"

#include <csynckernel/csynckernel.h>
#include <sys/syscall.h>

enum { OBJECTS = 256, WAITERS = 1024, WORKERS = 256 };

/* ThreadSanitizer starts no threads in a forked child. */
#ifdef __SANITIZE_THREAD__
enum { THREADS_IN_CHILDREN = 0 };
#else
enum { THREADS_IN_CHILDREN = 1 };
#endif

static csk_inspected_object_t objects[OBJECTS];
static csk_inspected_waiter_t waiters[WAITERS];
static csk_inspected_worker_t workers[WORKERS];
static csk_inspection_t view = { .objects = objects,
                                 .waiters = waiters,
                                 .workers = workers,
                                 .object_room = OBJECTS,
                                 .waiter_room = WAITERS,
                                 .worker_room = WORKERS };

static const csk_inspected_object_t *look_for(const void *address, uint32_t kind) {
    CHECK_STATUS(csk_inspect(&view), 0);
    for (uint32_t i = 0; i < view.object_count; i++)
        if (objects[i].address == address && objects[i].kind == kind) return &objects[i];
    return NULL;
}

/* Until so many threads that wait at the object have parked, which gives them a number of their wait. */
static const csk_inspected_object_t *await_parked(const void *address, uint32_t kind, uint32_t count) {
    for (;;) {
        const csk_inspected_object_t *object = look_for(address, kind);
        uint32_t parked = 0;
        for (uint32_t i = 0; object != NULL && i < object->waiter_count; i++) {
            const csk_inspected_waiter_t *waiter = &waiters[object->first_waiter + i];
            parked += waiter->kind == CSK_WAITER_CALLBACK || waiter->wait != 0;
        }
        if (parked == count && object->waiter_count == count && !(object->flags & CSK_INSPECT_BUSY)) return object;
        sched_yield();
    }
}

static const csk_inspected_waiter_t *waiter_at(const csk_inspected_object_t *object, uint32_t place) {
    CHECK(place < object->waiter_count);
    return &waiters[object->first_waiter + place];
}

static void check_held_by_this_thread(const csk_inspected_object_t *object) {
    CHECK_EQ(object->holder.kind, CSK_HELD_BY_THREAD);
#ifdef __GLIBC__
    CHECK_EQ(object->holder.thread.id, csk_thread_id());
    char name[16];
    CHECK_EQ(pthread_getname_np(pthread_self(), name, sizeof name), 0);
    CHECK_EQ(strcmp(object->holder.thread.name, name), 0);
#endif
}

/* ---- Each kind of object ----------------------------------------------------------------------------------------- */

typedef struct {
    void (*wait)(void *object, int which);
    void *object;
    int which;
    int32_t id;
    pthread_t thread;
} waiting_t;

static void *wait_as(void *context) {
    waiting_t *self = context;
    char name[16];
    snprintf(name, sizeof name, "waits %d", self->which);
    pthread_setname_np(pthread_self(), name);
    STORE(&self->id, csk_thread_id());
    self->wait(self->object, self->which);
    return NULL;
}
static void begin_wait(waiting_t *waiting, void (*wait)(void *, int), void *object, int which) {
    *waiting = (waiting_t){ .wait = wait, .object = object, .which = which };
    waiting->thread = start_thread(wait_as, waiting);
}

static void check_thread(const csk_inspected_waiter_t *waiter, const waiting_t *waiting, uint32_t waits_for,
                         int priority) {
    CHECK_EQ(waiter->kind, CSK_WAITER_THREAD);
    CHECK_EQ(waiter->waits_for, waits_for);
    CHECK_EQ(waiter->rank >> 2, priority);
    CHECK_EQ(waiter->thread.id, LOAD(&waiting->id));
    CHECK(waiter->thread.number != 0);
    char name[16];
    snprintf(name, sizeof name, "waits %d", waiting->which);
    CHECK_EQ(strcmp(waiter->thread.name, name), 0);
    CHECK(waiter->since_ns != 0 && waiter->since_ns <= view.ended_ns);
    CHECK(waiter->wait != 0);
}

static void lock_gate(void *object, int priority) {
    CHECK_STATUS(csk_gate_lock(object, priority), 0);
    CHECK_STATUS(csk_gate_unlock(object), 0);
}

static void check_gate(uint32_t policy) {
    csk_gate_t gate;
    csk_gate_attr_t attr = { .policy = policy };
    waiting_t waiting[3];
    CHECK_STATUS(csk_gate_init(&gate, &attr), 0);
    CHECK_STATUS(csk_name(&gate, "accounts"), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    for (int i = 0; i < 3; i++) {
        begin_wait(&waiting[i], lock_gate, &gate, i == 1 ? 7 : 3);
        await_parked(&gate, CSK_OBJECT_GATE, (uint32_t)i + 1);
    }
    const csk_inspected_object_t *object = await_parked(&gate, CSK_OBJECT_GATE, 3);
    check_held_by_this_thread(object);
    CHECK_EQ(strcmp(object->name, "accounts"), 0);
    CHECK_EQ(object->waiting, 3);
    check_thread(waiter_at(object, 0), &waiting[1], CSK_WAITS_TO_ENTER, 7);
    check_thread(waiter_at(object, 1), &waiting[0], CSK_WAITS_TO_ENTER, 3);
    check_thread(waiter_at(object, 2), &waiting[2], CSK_WAITS_TO_ENTER, 3);
    CHECK_EQ(object->since_ns, waiter_at(object, 1)->since_ns);
    CHECK_EQ(waiter_at(object, 0)->deadline_ns, CSK_NEVER);
    /* The same waits have the same numbers in the next view. */
    uint64_t numbers[3];
    for (uint32_t i = 0; i < 3; i++) numbers[i] = waiter_at(object, i)->wait;
    object = await_parked(&gate, CSK_OBJECT_GATE, 3);
    for (uint32_t i = 0; i < 3; i++) CHECK_EQ(waiter_at(object, i)->wait, numbers[i]);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    for (int i = 0; i < 3; i++) join_thread(waiting[i].thread);
    CHECK(look_for(&gate, CSK_OBJECT_GATE) == NULL);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

static void a_gate_shows_its_holder_and_its_waiters_in_order(void) {
    check_gate(CSK_GATE_FAST);
    check_gate(CSK_GATE_COMPACT);
    check_gate(CSK_GATE_STRICT);
}

static csk_mutex_t mutex = CSK_MUTEX_INITIALIZER;
static void lock_mutex(void *object, int which) {
    (void)which;
    CHECK_STATUS(csk_mutex_lock(object), 0);
    CHECK_STATUS(csk_mutex_unlock(object), 0);
}
static void a_mutex_shows_its_holder_by_number(void) {
    waiting_t waiting;
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    begin_wait(&waiting, lock_mutex, &mutex, 0);
    const csk_inspected_object_t *object = await_parked(&mutex, CSK_OBJECT_GATE, 1);
    check_held_by_this_thread(object);
    CHECK_EQ(object->holder.thread.identity, csk_thread_number);
    CHECK_EQ(object->holder.thread.number, (csk_thread_number & INT64_MAX) >> 4);
    check_thread(waiter_at(object, 0), &waiting, CSK_WAITS_TO_ENTER, 0);
    CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
    join_thread(waiting.thread);
}

static void read_lock(void *object, int which) {
    (void)which;
    CHECK_STATUS(csk_rwlock_rdlock(object), 0);
    CHECK_STATUS(csk_rwlock_unlock(object), 0);
}
static void write_lock(void *object, int which) {
    (void)which;
    CHECK_STATUS(csk_rwlock_wrlock(object), 0);
    CHECK_STATUS(csk_rwlock_unlock(object), 0);
}
static void a_read_write_lock_shows_readers_and_writers(void) {
    csk_rwlock_t lock = CSK_RWLOCK_INITIALIZER;
    waiting_t waiting[2];
    CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
    begin_wait(&waiting[0], write_lock, &lock, 0);
    await_parked(&lock, CSK_OBJECT_RWLOCK, 1);
    begin_wait(&waiting[1], read_lock, &lock, 1);
    const csk_inspected_object_t *object = await_parked(&lock, CSK_OBJECT_RWLOCK, 2);
    CHECK_EQ(object->holder.kind, CSK_HELD_BY_READERS);
    CHECK_EQ(object->holder.count, 1);
    CHECK_EQ(object->holder.thread.id, csk_thread_id());
    check_thread(waiter_at(object, 0), &waiting[0], CSK_WAITS_TO_WRITE, 0);
    check_thread(waiter_at(object, 1), &waiting[1], CSK_WAITS_TO_READ, 0);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    for (int i = 0; i < 2; i++) join_thread(waiting[i].thread);
    CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
    begin_wait(&waiting[1], read_lock, &lock, 1);
    check_held_by_this_thread(await_parked(&lock, CSK_OBJECT_RWLOCK, 1));
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    join_thread(waiting[1].thread);
}

static void a_writer_that_waits_for_biased_readers_is_shown(void) {
    csk_rwlock_t lock;
    csk_rwlock_attr_t attr = { .reader_bias = 1 };
    CHECK_STATUS(csk_rwlock_init(&lock, &attr), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
        CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    }
    CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
    waiting_t waiting;
    begin_wait(&waiting, write_lock, &lock, 0);
    const csk_inspected_object_t *object = await_parked(&lock, CSK_OBJECT_RWLOCK, 1);
    CHECK_EQ(object->holder.kind, CSK_HELD_BY_READERS);
    CHECK_EQ(object->holder.thread.id, csk_thread_id());
    check_thread(waiter_at(object, 0), &waiting, CSK_WAITS_TO_WRITE, 0);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    join_thread(waiting.thread);
}

static void take_two(void *object, int priority) { CHECK_STATUS(csk_sem_wait(object, priority, 2), 0); }
static void a_semaphore_shows_permits(void) {
    csk_sem_t sem;
    waiting_t waiting[2];
    CHECK_STATUS(csk_sem_init(&sem, 1, 0), 0);
    begin_wait(&waiting[0], take_two, &sem, 1);
    await_parked(&sem, CSK_OBJECT_SEM, 1);
    begin_wait(&waiting[1], take_two, &sem, 2);
    const csk_inspected_object_t *object = await_parked(&sem, CSK_OBJECT_SEM, 2);
    CHECK_EQ(object->count, 1);
    CHECK_EQ(object->most, 1);
    CHECK_EQ(object->holder.kind, CSK_HELD_BY_NOBODY);
    check_thread(waiter_at(object, 0), &waiting[1], CSK_WAITS_FOR_PERMITS, 2);
    check_thread(waiter_at(object, 1), &waiting[0], CSK_WAITS_FOR_PERMITS, 1);
    CHECK_EQ(waiter_at(object, 0)->permits, 2);
    CHECK_STATUS(csk_sem_signal(&sem, 3), 0);
    for (int i = 0; i < 2; i++) join_thread(waiting[i].thread);
}

static csk_gate_t of_cond = CSK_GATE_INITIALIZER;
static int64_t signal_deadline_ns;
static void wait_for_signal(void *object, int priority) {
    CHECK_STATUS(csk_gate_lock(&of_cond, 0), 0);
    CHECK_STATUS(csk_cond_wait_ranked(object, csk_rank(priority, CSK_PLACE_BACK), signal_deadline_ns), 0);
    CHECK_STATUS(csk_gate_unlock(&of_cond), 0);
}
static void a_condition_variable_shows_who_waits_for_a_signal_and_then_for_the_gate(void) {
    csk_cond_t *cond = malloc(sizeof *cond);
    CHECK_STATUS(csk_cond_init(cond, &of_cond), 0);
    waiting_t waiting[2];
    signal_deadline_ns = csk_deadline_after(INT64_C(100000000000));
    for (int i = 0; i < 2; i++) {
        begin_wait(&waiting[i], wait_for_signal, cond, i + 1);
        await_parked(cond, CSK_OBJECT_COND, (uint32_t)i + 1);
    }
    const csk_inspected_object_t *object = await_parked(cond, CSK_OBJECT_COND, 2);
    CHECK(object->gate == &of_cond);
    check_thread(waiter_at(object, 0), &waiting[1], CSK_WAITS_FOR_SIGNAL, 2);
    check_thread(waiter_at(object, 1), &waiting[0], CSK_WAITS_FOR_SIGNAL, 1);
    CHECK_EQ(waiter_at(object, 0)->deadline_ns, signal_deadline_ns);
    CHECK_STATUS(csk_gate_lock(&of_cond, 0), 0);
    CHECK_STATUS(csk_cond_broadcast(cond), 0);
    /* The condition variable may go: nobody stands in it. Their threads sleep on in its name. */
    CHECK_STATUS(csk_cond_destroy(cond), 0);
    volatile uintptr_t former = (uintptr_t)cond; /* the compiler takes the address for a use */
    free(cond);
    object = look_for(&of_cond, CSK_OBJECT_GATE);
    CHECK(object != NULL);
    CHECK_EQ(object->waiter_count, 2);
    check_held_by_this_thread(object);
    check_thread(waiter_at(object, 0), &waiting[1], CSK_WAITS_TO_ENTER, 2);
    CHECK(look_for((const void *)former, CSK_OBJECT_COND) == NULL);
    CHECK_STATUS(csk_gate_unlock(&of_cond), 0);
    for (int i = 0; i < 2; i++) join_thread(waiting[i].thread);
}

static bool is_set(void *flag) { return LOAD((uint32_t *)flag) != 0; }
static uint32_t flag;
static void await_flag(void *object, int priority) {
    CHECK_STATUS(csk_gate_lock_when(object, is_set, &flag, priority, CSK_NEVER), 0);
    CHECK_STATUS(csk_gate_unlock(object), 0);
}
static void who_waits_for_a_predicate_comes_behind_who_waits_to_enter(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    waiting_t waiting[2];
    begin_wait(&waiting[0], await_flag, &gate, 9);
    await_parked(&gate, CSK_OBJECT_GATE, 1);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    begin_wait(&waiting[1], lock_gate, &gate, 1);
    const csk_inspected_object_t *object = await_parked(&gate, CSK_OBJECT_GATE, 2);
    check_thread(waiter_at(object, 0), &waiting[1], CSK_WAITS_TO_ENTER, 1);
    check_thread(waiter_at(object, 1), &waiting[0], CSK_WAITS_FOR_PREDICATE, 9);
    STORE(&flag, 1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    for (int i = 0; i < 2; i++) join_thread(waiting[i].thread);
}

static void pop_one(void *object, int which) {
    (void)which;
    csk_pqueue_item_t *item;
    CHECK_STATUS(csk_pqueue_pop(object, &item), 0);
}
static void push_one(void *object, int which) {
    static csk_pqueue_item_t items[2];
    CHECK_STATUS(csk_pqueue_push(object, &items[which], which), 0);
}
static void a_priority_queue_shows_both_lines(void) {
    csk_pqueue_t queue;
    waiting_t waiting[2];
    CHECK_STATUS(csk_pqueue_init(&queue, 1), 0);
    for (int i = 0; i < 2; i++) {
        begin_wait(&waiting[i], pop_one, &queue, i);
        await_parked(&queue, CSK_OBJECT_PQUEUE, (uint32_t)i + 1);
    }
    const csk_inspected_object_t *object = await_parked(&queue, CSK_OBJECT_PQUEUE, 2);
    for (uint32_t i = 0; i < 2; i++) check_thread(waiter_at(object, i), &waiting[i], CSK_WAITS_FOR_ITEM, 0);
    CHECK_EQ(object->most, 1);
    csk_pqueue_item_t items[3];
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(csk_pqueue_push(&queue, &items[i], 0), 0);
        join_thread(waiting[i].thread);
    }
    CHECK_STATUS(csk_pqueue_push(&queue, &items[2], 0), 0);
    begin_wait(&waiting[0], push_one, &queue, 0);
    object = await_parked(&queue, CSK_OBJECT_PQUEUE, 1);
    check_thread(waiter_at(object, 0), &waiting[0], CSK_WAITS_FOR_PLACE, 0);
    CHECK_EQ(object->count, 1);
    csk_pqueue_item_t *item;
    CHECK_STATUS(csk_pqueue_pop(&queue, &item), 0);
    join_thread(waiting[0].thread);
    CHECK_STATUS(csk_pqueue_pop(&queue, &item), 0);
    CHECK_STATUS(csk_pqueue_destroy(&queue), 0);
}

/* ---- Work queues, and a program that is stuck -------------------------------------------------------------------- */

static void get_stuck(csk_work_t *work, int status) {
    (void)work, (void)status;
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
}
static void do_nothing(csk_work_t *work, int status) { (void)work, (void)status; }
static void nothing(void *context) { (void)context; }
static void call_sync(void *object, int priority) {
    CHECK_STATUS(csk_workqueue_sync(object, csk_rank(priority, CSK_PLACE_BACK), false, CSK_NEVER, nothing, NULL), 0);
}
static void call_drain(void *object, int which) {
    (void)which;
    CHECK_STATUS(csk_workqueue_drain(object, CSK_NEVER), 0);
}

static void a_stuck_work_queue_shows_who_runs_it_and_what_that_waits_for(void) {
    static csk_workqueue_t queue = CSK_WORKQUEUE_INITIALIZER(.name = "reports");
    static csk_work_t work[3];
    waiting_t waiting[3];
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    CHECK_STATUS(csk_workqueue_enqueue(&queue, &work[0], get_stuck), 0);
    const csk_inspected_object_t *object = await_parked(&mutex, CSK_OBJECT_GATE, 1);
    int32_t worker = waiter_at(object, 0)->thread.id;
    CHECK_EQ(strcmp(waiter_at(object, 0)->thread.name, "csk-worker"), 0);
    for (int i = 1; i < 3; i++) CHECK_STATUS(csk_workqueue_enqueue(&queue, &work[i], do_nothing), 0);
    begin_wait(&waiting[0], call_sync, &queue, 0);
    await_parked(&queue, CSK_OBJECT_WORKQUEUE, 1);
    begin_wait(&waiting[1], call_sync, &queue, 5);
    await_parked(&queue, CSK_OBJECT_WORKQUEUE, 2);
    begin_wait(&waiting[2], call_drain, &queue, 0);
    object = await_parked(&queue, CSK_OBJECT_WORKQUEUE, 3);
    CHECK_EQ(strcmp(object->name, "reports"), 0);
    CHECK_EQ(object->holder.kind, CSK_HELD_BY_THREAD);
    CHECK_EQ(object->holder.thread.id, worker);
    CHECK_EQ(object->count, 4);
    CHECK_EQ(object->running, 1);
    CHECK_EQ(object->width, 1);
    CHECK(object->flags & CSK_INSPECT_RUNS);
    check_thread(waiter_at(object, 0), &waiting[1], CSK_WAITS_FOR_TURN, 5);
    check_thread(waiter_at(object, 1), &waiting[0], CSK_WAITS_FOR_TURN, 0);
    check_thread(waiter_at(object, 2), &waiting[2], CSK_WAITS_FOR_DRAINED, 0);
    CHECK_GE(view.pool.workers, 1);
    CHECK_GE(view.pool.waiting, 1);
    CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
    for (int i = 0; i < 3; i++) join_thread(waiting[i].thread);
    CHECK_STATUS(csk_workqueue_drain(&queue, CSK_NEVER), 0);
    CHECK_STATUS(csk_workqueue_destroy(&queue), 0);
}

static uint32_t spins;
static int64_t spin_began_ns;
static void spin(csk_work_t *work, int status) {
    (void)work, (void)status;
    spin_began_ns = csk_now();
    STORE(&spins, 1);
    while (LOAD(&spins) == 1) sched_yield();
}
/* How long the worker at the queue has run its work, by the object and by the worker; nothing else leads there. */
static int64_t running_since(const csk_workqueue_t *queue) {
    const csk_inspected_object_t *object = look_for(queue, CSK_OBJECT_WORKQUEUE);
    CHECK(object != NULL && object->holder.kind == CSK_HELD_BY_THREAD);
    CHECK(object->flags & CSK_INSPECT_RUNS);
    for (uint32_t i = 0; i < view.worker_count; i++)
        if (workers[i].queue == queue) {
            CHECK_EQ(workers[i].thread.id, object->holder.thread.id);
            CHECK_EQ(workers[i].running_ns, object->running_ns);
        }
    return object->running_ns;
}
static void the_age_of_a_work_is_known_while_callbacks_are_listed(void) {
    static csk_workqueue_t queue;
    static csk_work_t work;
    for (int listed = 0; listed < 2; listed++) {
        if (listed) csk_inspect_callbacks(true);
        int64_t before_ns = csk_now();
        CHECK_STATUS(csk_workqueue_enqueue(&queue, &work, spin), 0);
        wait_until(LOAD(&spins) == 1);
        int64_t since_ns = running_since(&queue);
        if (listed) {
            CHECK_GE(since_ns, before_ns);
            CHECK_LE(since_ns, spin_began_ns);
        } else CHECK_EQ(since_ns, 0);
        STORE(&spins, 0);
        CHECK_STATUS(csk_workqueue_drain(&queue, CSK_NEVER), 0);
    }
    /* The work before it is over, and nobody asks any more. */
    csk_inspect_callbacks(false);
    CHECK_STATUS(csk_workqueue_enqueue(&queue, &work, spin), 0);
    wait_until(LOAD(&spins) == 1);
    CHECK_EQ(running_since(&queue), 0);
    STORE(&spins, 0);
    CHECK_STATUS(csk_workqueue_drain(&queue, CSK_NEVER), 0);
    CHECK_STATUS(csk_workqueue_destroy(&queue), 0);
}

/* Nobody waits for the queue, and its work waits for nothing of this library's. */
static const csk_inspected_object_t *await_read(const csk_workqueue_t *queue) {
    for (;;) {
        const csk_inspected_object_t *object = look_for(queue, CSK_OBJECT_WORKQUEUE);
        if (object != NULL && !(object->flags & CSK_INSPECT_BUSY)) return object;
    }
}
static void let_go_and_release(csk_workqueue_t *queue) {
    STORE(&spins, 0);
    CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), 0);
    csk_workqueue_release(queue);
}
static void a_queue_whose_work_waits_for_nothing_shows_how_many_wait(void) {
    enum { MANY = 5000 };
    csk_workqueue_t *queue;
    csk_work_t work, *more = calloc(MANY, sizeof *more);
    CHECK_STATUS(csk_workqueue_create(&queue, &(csk_workqueue_attr_t){ .width = 1, .name = "busy" }), 0);
    CHECK_STATUS(csk_workqueue_enqueue(queue, &work, spin), 0);
    wait_until(LOAD(&spins) == 1);
    for (int i = 0; i < MANY; i++) {
        if (i == 3) {
            const csk_inspected_object_t *object = await_read(queue);
            CHECK_EQ(object->count, 3);
            CHECK_EQ(object->running, 1);
            CHECK_EQ(object->width, 1);
            CHECK_EQ(object->most, 0);
            CHECK_EQ(object->holder.kind, CSK_HELD_BY_THREAD);
            CHECK_EQ(object->holder.count, 1);
            CHECK_EQ(object->flags, CSK_INSPECT_RUNS);
            CHECK_EQ(strcmp(object->name, "busy"), 0);
            static text_t printed;
            CHECK_STATUS(csk_inspect_print(&view, CSK_INSPECT_TEXT, collect, &printed), 0);
            CHECK(strstr(printed.text, "3 works wait, 1 of 1 run, served by a worker\n") != NULL);
        }
        CHECK_STATUS(csk_workqueue_enqueue(queue, &more[i], do_nothing), 0);
    }
    /* They stand in the inbox, in which a view does not go on for ever. */
    const csk_inspected_object_t *object = await_read(queue);
    CHECK(object->flags & CSK_INSPECT_AT_LEAST);
    CHECK_GE(object->count, 4000);
    CHECK_LE(object->count, MANY);
    static text_t text, json;
    CHECK_STATUS(csk_inspect_print(&view, CSK_INSPECT_TEXT, collect, &text), 0);
    CHECK(strstr(text.text, ", at least 4") != NULL);
    CHECK_STATUS(csk_inspect_print(&view, CSK_INSPECT_JSON, collect, &json), 0);
    CHECK(strstr(json.text, "\"at_least\":true") != NULL);
    let_go_and_release(queue);
    free(more);
}
static void what_csk_name_says_of_a_served_queue_is_shown_and_goes_with_it(void) {
    csk_workqueue_t *queue;
    csk_work_t work;
    CHECK_STATUS(csk_workqueue_create(&queue, &(csk_workqueue_attr_t){ .width = 3 }), 0);
    CHECK_STATUS(csk_name(queue, "named later"), 0);
    CHECK_STATUS(csk_workqueue_enqueue(queue, &work, spin), 0);
    wait_until(LOAD(&spins) == 1);
    const csk_inspected_object_t *object = await_read(queue);
    CHECK_EQ(strcmp(object->name, "named later"), 0);
    CHECK_EQ(object->width, 3);
    CHECK_EQ(object->count, 0);
    const csk_workqueue_t *gone = queue;
    let_go_and_release(queue);
    /* The worker has left once it has looked at the pool again. */
    while (look_for(gone, CSK_OBJECT_WORKQUEUE) != NULL) sched_yield();
}

static void wait_inside(void *object) { lock_mutex(object, 0); }
static void sync_and_wait(void *object, int which) {
    (void)which;
    CHECK_STATUS(csk_workqueue_sync(object, csk_rank(0, CSK_PLACE_BACK), false, CSK_NEVER, wait_inside, &mutex), 0);
}
static void a_caller_of_sync_that_waits_inside_is_known_to_have_the_queue(void) {
    static csk_workqueue_t queue;
    waiting_t waiting;
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    begin_wait(&waiting, sync_and_wait, &queue, 0);
    await_parked(&mutex, CSK_OBJECT_GATE, 1);
    const csk_inspected_object_t *object = look_for(&queue, CSK_OBJECT_WORKQUEUE);
    CHECK(object != NULL);
    CHECK_EQ(object->holder.kind, CSK_HELD_BY_THREAD);
    CHECK_EQ(object->holder.thread.id, LOAD(&waiting.id));
    CHECK_EQ(object->running, 1);
    CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
    join_thread(waiting.thread);
    CHECK_STATUS(csk_workqueue_destroy(&queue), 0);
}

/* Every worker that the pool may have, and 8 threads, wait for each other. */
static void stuck_with_all_workers(void *unused) {
    (void)unused;
    enum { MOST = 4, THREADS = 8 };
    csk_pool_attr_t attr = { .least = MOST, .most = MOST };
    CHECK_STATUS(csk_pool_configure(&attr), 0);
    static csk_workqueue_t queues[MOST + 2];
    static csk_work_t work[MOST + 2];
    waiting_t waiting[THREADS];
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    for (int i = 0; i < MOST; i++) CHECK_STATUS(csk_workqueue_enqueue(&queues[i], &work[i], get_stuck), 0);
    await_parked(&mutex, CSK_OBJECT_GATE, MOST);
    for (int i = MOST; i < MOST + 2; i++) CHECK_STATUS(csk_workqueue_enqueue(&queues[i], &work[i], do_nothing), 0);
    for (int i = 0; i < THREADS; i++) begin_wait(&waiting[i], lock_mutex, &mutex, i);
    await_parked(&mutex, CSK_OBJECT_GATE, MOST + THREADS);
    int64_t before_ns = csk_now();
    const csk_inspected_object_t *object = look_for(&queues[MOST], CSK_OBJECT_WORKQUEUE);
    int64_t took_ns = csk_now() - before_ns;
    printf("(%lld us) ", (long long)(took_ns / 1000));
    CHECK_LE(took_ns, INT64_C(100000000) * TEST_SLOWDOWN);
    CHECK(object != NULL);
    CHECK(object->flags & CSK_INSPECT_POSTED);
    CHECK_EQ(object->count, 1);
    CHECK_EQ(view.pool.workers, MOST);
    CHECK_EQ(view.pool.most, MOST);
    CHECK_EQ(view.pool.waiting, MOST);
    CHECK_EQ(view.pool.idle, 0);
    CHECK_EQ(view.pool.queued, 2);
    CHECK_EQ(view.worker_count, MOST);
    CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
    for (int i = 0; i < THREADS; i++) join_thread(waiting[i].thread);
    for (int i = 0; i < MOST + 2; i++) CHECK_STATUS(csk_workqueue_drain(&queues[i], CSK_NEVER), 0);
}
static void a_program_that_is_stuck_with_all_workers_is_seen_at_once(void) {
    if (THREADS_IN_CHILDREN) in_a_child(stuck_with_all_workers, NULL);
}

/* ---- Callbacks --------------------------------------------------------------------------------------------------- */

static uint32_t called;
static void count_call(csk_gate_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context, (void)status;
    ADD(&called, 1);
}
static void callbacks_are_listed_while_somebody_wants_that(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    csk_sem_t sem = CSK_SEM_INITIALIZER;
    csk_rwlock_t lock = CSK_RWLOCK_INITIALIZER;
    csk_pqueue_t queue;
    csk_gate_waiter_t waiting[5];
    memset(waiting, 0, sizeof waiting);
    CHECK_STATUS(csk_pqueue_init(&queue, 0), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
    CHECK_STATUS(csk_gate_lock_async(&gate, &waiting[4], 1, CSK_NEVER, count_call, NULL), 0);
    CHECK(look_for(&gate, CSK_OBJECT_GATE) == NULL);
    CHECK_EQ(view.lists_callbacks, 0);
    csk_inspect_callbacks(true);
    int64_t deadline_ns = csk_deadline_after(INT64_C(100000000000));
    CHECK_STATUS(csk_gate_lock_async(&gate, &waiting[0], 2, deadline_ns, count_call, NULL), 0);
    CHECK_STATUS(csk_sem_wait_async(&sem, &waiting[1], csk_rank(3, 1), 4, CSK_NEVER, count_call, NULL), 0);
    CHECK_STATUS(csk_rwlock_lock_async(&lock, &waiting[2], CSK_RWLOCK_READ, CSK_NEVER, count_call, NULL), 0);
    CHECK_STATUS(csk_pqueue_pop_async(&queue, &waiting[3], CSK_NEVER, count_call, NULL), 0);
    const csk_inspected_object_t *object = look_for(&gate, CSK_OBJECT_GATE);
    CHECK(object != NULL);
    CHECK_EQ(view.lists_callbacks, 1);
    CHECK_EQ(view.timers.count, 1);
    CHECK_EQ(view.timers.next_ns, deadline_ns);
    check_held_by_this_thread(object);
    CHECK_EQ(object->waiter_count, 2);
    CHECK_EQ(waiter_at(object, 0)->kind, CSK_WAITER_CALLBACK);
    CHECK(waiter_at(object, 0)->waiter == &waiting[0]);
    CHECK(waiter_at(object, 0)->function == (const void *)(uintptr_t)count_call);
    CHECK_EQ(waiter_at(object, 0)->deadline_ns, deadline_ns);
    CHECK(waiter_at(object, 0)->since_ns != 0);
    CHECK(waiter_at(object, 1)->waiter == &waiting[4]);
    CHECK_EQ(waiter_at(object, 1)->since_ns, 0);
    object = look_for(&sem, CSK_OBJECT_SEM);
    CHECK(object != NULL && waiter_at(object, 0)->waiter == &waiting[1]);
    CHECK_EQ(waiter_at(object, 0)->permits, 4);
    object = look_for(&lock, CSK_OBJECT_RWLOCK);
    CHECK(object != NULL && waiter_at(object, 0)->waits_for == CSK_WAITS_TO_READ);
    object = look_for(&queue, CSK_OBJECT_PQUEUE);
    CHECK(object != NULL && waiter_at(object, 0)->waits_for == CSK_WAITS_FOR_ITEM);
    csk_inspect_callbacks(false);
    CHECK_STATUS(csk_gate_cancel(&gate, &waiting[0]), 0);
    CHECK_STATUS(csk_gate_cancel(&gate, &waiting[4]), 0);
    CHECK_STATUS(csk_sem_cancel(&sem, &waiting[1]), 0);
    CHECK_STATUS(csk_rwlock_cancel(&lock, &waiting[2]), 0);
    CHECK_STATUS(csk_pqueue_cancel(&queue, &waiting[3]), 0);
    CHECK_EQ(LOAD(&called), 5);
    CHECK_STATUS(csk_inspect(&view), 0);
    CHECK_EQ(view.object_count, 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    CHECK_STATUS(csk_pqueue_destroy(&queue), 0);
}

static void a_list_that_is_full_says_so(void) {
    enum { MANY = CSK_INSPECT_LISTED + 100 };
    csk_gate_t *gates = calloc(MANY, sizeof *gates);
    csk_gate_waiter_t *waiting = calloc(MANY, sizeof *waiting);
    csk_inspect_callbacks(true);
    for (int i = 0; i < MANY; i++) {
        CHECK_STATUS(csk_gate_lock(&gates[i], 0), 0);
        CHECK_STATUS(csk_gate_lock_async(&gates[i], &waiting[i], 0, CSK_NEVER, count_call, NULL), 0);
    }
    CHECK_STATUS(csk_inspect(&view), 0);
    CHECK_EQ(view.object_count, OBJECTS);
    CHECK_GE(view.callbacks_unlisted, 100);
    CHECK_EQ(view.objects_left_out + OBJECTS + view.callbacks_unlisted, MANY);
    csk_inspect_callbacks(false);
    for (int i = 0; i < MANY; i++) {
        CHECK_STATUS(csk_gate_cancel(&gates[i], &waiting[i]), 0);
        CHECK_STATUS(csk_gate_unlock(&gates[i]), 0);
    }
    CHECK_STATUS(csk_inspect(&view), 0);
    CHECK_EQ(view.object_count, 0);
    free(gates);
    free(waiting);
}

/* ---- Limits ------------------------------------------------------------------------------------------------------ */

static void what_has_no_room_is_counted(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    waiting_t waiting[3];
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    for (int i = 0; i < 3; i++) begin_wait(&waiting[i], lock_gate, &gate, i);
    await_parked(&gate, CSK_OBJECT_GATE, 3);
    csk_inspected_object_t one;
    csk_inspected_waiter_t two[2];
    csk_inspection_t small = { .objects = &one, .waiters = two, .object_room = 1, .waiter_room = 2 };
    CHECK_STATUS(csk_inspect(&small), 0);
    CHECK_EQ(small.object_count, 1);
    CHECK_EQ(small.waiter_count, 2);
    CHECK_GE(small.waiters_left_out, 1);
    CHECK(one.flags & CSK_INSPECT_MORE);
    CHECK_EQ(one.waiting, 3);
    csk_inspection_t none = { .objects = NULL };
    CHECK_STATUS(csk_inspect(&none), 0);
    CHECK_GE(none.objects_left_out, 1);
    none.waiter_room = 1;
    CHECK_STATUS(csk_inspect(&none), EINVAL);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    for (int i = 0; i < 3; i++) join_thread(waiting[i].thread);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Each object is freed as soon as the wait for it has returned. */
static uint32_t over;
static void *view_in_a_loop(void *unused) {
    (void)unused;
    uint64_t *views = malloc(sizeof *views);
    for (*views = 0; !LOAD(&over); ++*views) {
        int status = csk_inspect(&view);
        CHECK(status == 0 || status == EBUSY);
    }
    return views;
}
static void *free_after_the_wait(void *unused) {
    (void)unused;
    for (int round = 0; !LOAD(&over); round++) {
        csk_sem_t *sem = malloc(sizeof *sem);
        CHECK_STATUS(csk_sem_init(sem, 0, 0), 0);
        CHECK_STATUS(csk_sem_timedwait(sem, 0, 1, csk_deadline_after(20000 + round % 8 * 10000)), ETIMEDOUT);
        CHECK_STATUS(csk_sem_destroy(sem), 0);
        free(sem);
        csk_pqueue_t *queue = malloc(sizeof *queue);
        csk_pqueue_item_t *item;
        CHECK_STATUS(csk_pqueue_init(queue, 0), 0);
        CHECK_STATUS(csk_pqueue_timedpop(queue, &item, csk_deadline_after(30000)), ETIMEDOUT);
        CHECK_STATUS(csk_pqueue_destroy(queue), 0);
        free(queue);
    }
    return NULL;
}
typedef struct {
    csk_gate_t gate;
    csk_cond_t *cond;
    uint32_t waits;
} signalled_t;
static void *wait_once(void *context) {
    signalled_t *shared = context;
    CHECK_STATUS(csk_gate_lock(&shared->gate, 0), 0);
    shared->waits = 1;
    CHECK_STATUS(csk_cond_wait_ranked(shared->cond, csk_rank(0, 1), CSK_NEVER), 0);
    CHECK_STATUS(csk_gate_unlock(&shared->gate), 0);
    return NULL;
}
/* The condition variable goes as soon as it was signalled, while its waiter may still sleep. */
static void *free_after_the_signal(void *unused) {
    (void)unused;
    while (!LOAD(&over)) {
        signalled_t *shared = calloc(1, sizeof *shared);
        shared->cond = malloc(sizeof *shared->cond);
        CHECK_STATUS(csk_cond_init(shared->cond, &shared->gate), 0);
        pthread_t thread = start_thread(wait_once, shared);
        for (bool waits = false; !waits;) {
            CHECK_STATUS(csk_gate_lock(&shared->gate, 0), 0);
            waits = shared->waits != 0;
            if (waits) {
                CHECK_STATUS(csk_cond_signal(shared->cond), 0);
                CHECK_STATUS(csk_cond_destroy(shared->cond), 0);
                free(shared->cond);
            }
            CHECK_STATUS(csk_gate_unlock(&shared->gate), 0);
        }
        join_thread(thread);
        free(shared);
    }
    return NULL;
}
static void *free_in_the_callback(void *unused) {
    (void)unused;
    while (!LOAD(&over)) {
        csk_sem_t *sem = calloc(1, sizeof *sem);
        csk_gate_waiter_t *waiter = calloc(1, sizeof *waiter);
        uint32_t before = LOAD(&called);
        CHECK_STATUS(csk_sem_wait_async(sem, waiter, csk_rank(0, 1), 1, CSK_NEVER, count_call, NULL), 0);
        sched_yield();
        CHECK_STATUS(csk_sem_signal(sem, 1), 0);
        wait_until(LOAD(&called) != before);
        free(waiter);
        free(sem);
    }
    return NULL;
}
static uint32_t ended_works;
static void count_work(csk_work_t *work, int status) {
    (void)work;
    CHECK_STATUS(status, 0);
    __atomic_fetch_add(&ended_works, 1, __ATOMIC_RELEASE);
}
/* With a worker's last access to it, whoever of the two comes later. */
static void *give_up_queues(void *unused) {
    (void)unused;
    static csk_work_t works[3];
    while (!LOAD(&over)) {
        csk_workqueue_t *queue;
        uint32_t before = LOAD(&ended_works);
        CHECK_STATUS(csk_workqueue_create(&queue, &(csk_workqueue_attr_t){ .width = 2, .name = "short" }), 0);
        for (int i = 0; i < 3; i++) CHECK_STATUS(csk_workqueue_enqueue(queue, &works[i], count_work), 0);
        csk_workqueue_release(queue);
        wait_until(LOAD(&ended_works) == before + 3);
    }
    return NULL;
}
static void objects_may_go_as_soon_as_their_waits_have_returned(void) {
    csk_inspect_callbacks(true);
    pthread_t viewer = start_thread(view_in_a_loop, NULL), threads[5];
    threads[0] = start_thread(free_after_the_wait, NULL);
    threads[1] = start_thread(free_after_the_wait, NULL);
    threads[2] = start_thread(free_after_the_signal, NULL);
    threads[3] = start_thread(free_in_the_callback, NULL);
    threads[4] = start_thread(give_up_queues, NULL);
    struct timespec a_while = { .tv_sec = 1 };
    nanosleep(&a_while, NULL); /* how long it is tried, and nothing else */
    STORE(&over, 1);
    uint64_t *views = join_thread(viewer);
    for (int i = 0; i < 5; i++) join_thread(threads[i]);
    csk_inspect_callbacks(false);
    CHECK_GE(*views, 10);
    printf("(%" PRIu64 " views) ", *views);
    free(views);
}

/* ---- Fork -------------------------------------------------------------------------------------------------------- */

static csk_gate_t of_parent = CSK_GATE_INITIALIZER;
static csk_sem_t of_child = CSK_SEM_INITIALIZER;
static void *signal_child(void *unused) {
    (void)unused;
    await_parked(&of_child, CSK_OBJECT_SEM, 1);
    CHECK(look_for(&of_parent, CSK_OBJECT_GATE) == NULL);
    CHECK_EQ(view.object_count, 1);
    CHECK_EQ(waiters[0].thread.id, getpid());
    CHECK_STATUS(csk_sem_signal(&of_child, 1), 0);
    return NULL;
}
static void view_in_child(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_inspect(&view), 0);
    CHECK_EQ(view.waiter_count, 0);
    CHECK_EQ(view.process, getpid());
    pthread_t thread = start_thread(signal_child, NULL);
    CHECK_STATUS(csk_sem_wait(&of_child, 0, 1), 0);
    join_thread(thread);
}
static void a_child_of_fork_has_its_own_waits_alone(void) {
    if (!THREADS_IN_CHILDREN) return;
    waiting_t waiting;
    CHECK_STATUS(csk_gate_lock(&of_parent, 0), 0);
    begin_wait(&waiting, lock_gate, &of_parent, 0);
    await_parked(&of_parent, CSK_OBJECT_GATE, 1);
    /* This thread has a record too. */
    csk_sem_t sem = CSK_SEM_INITIALIZER;
    CHECK_STATUS(csk_sem_timedwait(&sem, 0, 1, csk_deadline_after(1000000)), ETIMEDOUT);
    in_a_child(view_in_child, NULL);
    CHECK_STATUS(csk_gate_unlock(&of_parent), 0);
    join_thread(waiting.thread);
}

/* ---- Printing ---------------------------------------------------------------------------------------------------- */

static int refuse(void *context, const void *bytes, size_t size) {
    (void)context, (void)bytes, (void)size;
    return EOVERFLOW;
}

/* Whether braces, brackets and strings of JSON match. */
static bool is_balanced(const char *text) {
    int depth = 0;
    bool quoted = false;
    for (; *text != 0; text++) {
        if (quoted && *text == '\\') text++;
        else if (*text == '"') quoted = !quoted;
        else if (!quoted) depth += (*text == '{' || *text == '[') - (*text == '}' || *text == ']');
        if (depth < 0) return false;
    }
    return depth == 0 && !quoted;
}

static void a_view_is_printed_as_text_and_as_json(void) {
    static text_t printed;
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    waiting_t waiting;
    CHECK_STATUS(csk_name(&gate, "a \"quoted\" \\ d\xc3\xa9p\xc3\xb4t \xff"), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    begin_wait(&waiting, lock_gate, &gate, 4);
    await_parked(&gate, CSK_OBJECT_GATE, 1);
    CHECK_STATUS(csk_inspect_print(&view, CSK_INSPECT_TEXT, collect, &printed), 0);
    CHECK(strstr(printed.text, "waits to enter, priority 4") != NULL);
    CHECK(strstr(printed.text, "held by thread") != NULL);
    printed.used = 0;
    CHECK_STATUS(csk_inspect_print(NULL, CSK_INSPECT_JSON, collect, &printed), 0);
    CHECK(is_balanced(printed.text));
    CHECK(strstr(printed.text, "\"name\":\"a \\\"quoted\\\" \\\\ d\xc3\xa9p\xc3\xb4t \\ufffd\"") != NULL);
    CHECK(strstr(printed.text, "\"for\":\"enter\",\"priority\":4") != NULL);
    CHECK_STATUS(csk_inspect_print(NULL, 2, collect, &printed), EINVAL);
    CHECK_STATUS(csk_inspect_print(NULL, CSK_INSPECT_TEXT, NULL, NULL), EINVAL);
    CHECK_STATUS(csk_inspect_print(NULL, CSK_INSPECT_TEXT, refuse, NULL), EOVERFLOW);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    join_thread(waiting.thread);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

TEST_MAIN(TEST(a_program_that_is_stuck_with_all_workers_is_seen_at_once),
          TEST(a_gate_shows_its_holder_and_its_waiters_in_order), TEST(a_mutex_shows_its_holder_by_number),
          TEST(a_read_write_lock_shows_readers_and_writers), TEST(a_writer_that_waits_for_biased_readers_is_shown),
          TEST(a_semaphore_shows_permits),
          TEST(a_condition_variable_shows_who_waits_for_a_signal_and_then_for_the_gate),
          TEST(who_waits_for_a_predicate_comes_behind_who_waits_to_enter), TEST(a_priority_queue_shows_both_lines),
          TEST(a_stuck_work_queue_shows_who_runs_it_and_what_that_waits_for),
          TEST(a_caller_of_sync_that_waits_inside_is_known_to_have_the_queue),
          TEST(the_age_of_a_work_is_known_while_callbacks_are_listed),
          TEST(a_queue_whose_work_waits_for_nothing_shows_how_many_wait),
          TEST(what_csk_name_says_of_a_served_queue_is_shown_and_goes_with_it),
          TEST(callbacks_are_listed_while_somebody_wants_that), TEST(a_list_that_is_full_says_so),
          TEST(what_has_no_room_is_counted), TEST(a_child_of_fork_has_its_own_waits_alone),
          TEST(a_view_is_printed_as_text_and_as_json), TEST(objects_may_go_as_soon_as_their_waits_have_returned))
