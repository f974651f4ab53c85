/* inspect_queue_test.c: a view shows work queues: those that are stuck, served or suspended, who runs their works, for
 * how long, and how many wait. */
#include "inspect_fixture.h"

/* ---- Work queues, and a program that is stuck -------------------------------------------------------------------- */

static csk_mutex_t mutex = CSK_MUTEX_INITIALIZER;
static void get_stuck(csk_work_t *work, int status) {
    (void)work, (void)status;
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
}
static void do_nothing(csk_work_t *work, int status) { (void)work, (void)status; }
static void nothing(void *context) { (void)context; }
static void call_sync(void *object, int priority) {
    CHECK_STATUS(csk_workqueue_sync(object, csk_rank(priority, CSK_PLACE_BACK), 0, CSK_NEVER, nothing, NULL), 0);
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
    CHECK_STATUS(csk_workqueue_sync(object, csk_rank(0, CSK_PLACE_BACK), 0, CSK_NEVER, wait_inside, &mutex), 0);
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

/* ---- Waits for room and for the end ------------------------------------------------------------------------------ */

static void told(csk_workqueue_wait_t *wait) { (void)wait; }
typedef struct {
    csk_workqueue_t *queue;
    csk_work_t work;
} sender_t;
static void wait_for_room(void *object, int which) {
    sender_t *sender = object;
    (void)which;
    CHECK_STATUS(csk_workqueue_submit(sender->queue, 0, &sender->work, 0, CSK_NEVER, do_nothing), 0);
}
/* Threads and those that wait without one stand in one order, by when they came, and all are counted. */
static void who_waits_at_a_queue_stands_by_when_it_came(void) {
    static csk_workqueue_t queue;
    static csk_work_t first, works[2];
    static csk_workqueue_wait_t rooms[2], drains[2];
    sender_t senders[2];
    waiting_t waiting[3];
    csk_inspect_callbacks(true);
    CHECK_STATUS(csk_workqueue_init(&queue, &(csk_workqueue_attr_t){ .capacity = 1 }), 0);
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    CHECK_STATUS(csk_workqueue_enqueue(&queue, &first, do_nothing), 0);
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_STATUS(csk_workqueue_submit_when_room(&queue, 0, &works[i], 0, do_nothing, &rooms[i], told, NULL),
                     EINPROGRESS);
        senders[i] = (sender_t){ .queue = &queue };
        begin_wait(&waiting[i], wait_for_room, &senders[i], (int)i);
        await_parked(&queue, CSK_OBJECT_WORKQUEUE, 2 * i + 2);
    }
    csk_workqueue_drain_async(&queue, &drains[0], told, NULL);
    begin_wait(&waiting[2], call_drain, &queue, 2);
    await_parked(&queue, CSK_OBJECT_WORKQUEUE, 6);
    csk_workqueue_drain_async(&queue, &drains[1], told, NULL);
    const csk_inspected_object_t *object = await_parked(&queue, CSK_OBJECT_WORKQUEUE, 7);
    CHECK_EQ(object->waiting, 7);
    const void *expected[] = { &rooms[0], NULL, &rooms[1], NULL, &drains[0], NULL, &drains[1] };
    const int threads[] = { 0, 0, 0, 1, 0, 2 };
    for (uint32_t i = 0; i < 7; i++) {
        const csk_inspected_waiter_t *seen = waiter_at(object, i);
        CHECK_EQ(seen->waits_for, i < 4 ? CSK_WAITS_FOR_ROOM : CSK_WAITS_FOR_DRAINED);
        if (expected[i] != NULL) CHECK(seen->waiter == expected[i]);
        else CHECK_EQ(seen->thread.id, LOAD(&waiting[threads[i]].id));
    }
    csk_inspected_object_t one[4];
    csk_inspected_waiter_t two[2];
    csk_inspection_t small = { .objects = one, .waiters = two, .object_room = 4, .waiter_room = 2 };
    CHECK_STATUS(csk_inspect(&small), 0);
    CHECK(small.waiter_count == 2 && small.waiters_left_out == 5 && small.objects[0].waiting == 7);
    CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    for (int i = 0; i < 3; i++) join_thread(waiting[i].thread);
    CHECK_STATUS(csk_workqueue_drain(&queue, CSK_NEVER), 0);
    csk_inspect_callbacks(false);
    CHECK_STATUS(csk_workqueue_destroy(&queue), 0);
}

/* ---- Suspended queues -------------------------------------------------------------------------------------------- */

static const csk_inspected_object_t *look_for_suspended(const csk_workqueue_t *queue) {
    const csk_inspected_object_t *object = look_for(queue, CSK_OBJECT_WORKQUEUE);
    CHECK(object == NULL || (object->flags & CSK_INSPECT_SUSPENDED));
    return object;
}
static csk_workqueue_t *suspended_with_a_work(csk_work_t *work) {
    csk_workqueue_t *queue;
    CHECK_STATUS(csk_workqueue_create(&queue, &(csk_workqueue_attr_t){ .name = "paused" }), 0);
    CHECK_STATUS(csk_workqueue_suspend(queue), 0);
    CHECK_STATUS(csk_workqueue_enqueue(queue, work, do_nothing), 0);
    return queue;
}
static void drain_and_release(csk_workqueue_t *queue) {
    CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), 0);
    csk_workqueue_release(queue);
}
static void a_suspended_queue_is_shown_until_it_goes_on(void) {
    csk_work_t work;
    csk_inspect_callbacks(true);
    csk_workqueue_t *queue = suspended_with_a_work(&work);
    CHECK_STATUS(csk_workqueue_suspend(queue), 0);
    CHECK_STATUS(csk_workqueue_resume(queue), 0);
    const csk_inspected_object_t *object = look_for_suspended(queue);
    CHECK(object != NULL && object->count == 1 && object->waiter_count == 0 && object->running == 0);
    CHECK_EQ(strcmp(object->name, "paused"), 0);
    static text_t printed;
    CHECK_STATUS(csk_inspect_print(&view, CSK_INSPECT_TEXT, collect, &printed), 0);
    CHECK(strstr(printed.text, "\"paused\", 1 works wait, 0 of 1 run, suspended\n") != NULL);
    CHECK_STATUS(csk_workqueue_resume(queue), 0);
    CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), 0);
    while (look_for(queue, CSK_OBJECT_WORKQUEUE) != NULL) sched_yield(); /* its worker has just left it */
    CHECK_STATUS(csk_workqueue_resume(queue), EPERM);
    csk_workqueue_release(queue);
    csk_inspect_callbacks(false);
}

/* Each way in which a suspension ends takes the queue off the list, and so does the end of the queue. */
static void a_queue_whose_suspension_ends_is_no_longer_shown(void) {
    csk_work_t work;
    csk_inspect_callbacks(true);
    csk_workqueue_t *queue = suspended_with_a_work(&work);
    CHECK(look_for_suspended(queue) != NULL);
    csk_workqueue_shutdown(queue, false);
    CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), 0);
    while (look_for(queue, CSK_OBJECT_WORKQUEUE) != NULL) sched_yield();
    CHECK_STATUS(csk_workqueue_suspend(queue), 0); /* it does nothing by now */
    CHECK(look_for(queue, CSK_OBJECT_WORKQUEUE) == NULL);
    csk_workqueue_release(queue);
    CHECK_STATUS(csk_workqueue_create(&queue, NULL), 0);
    CHECK_STATUS(csk_workqueue_suspend(queue), 0);
    CHECK(look_for_suspended(queue) != NULL);
    csk_workqueue_release(queue);
    CHECK(look_for(queue, CSK_OBJECT_WORKQUEUE) == NULL);
    static csk_workqueue_t own;
    CHECK_STATUS(csk_workqueue_suspend(&own), 0);
    CHECK_STATUS(csk_workqueue_enqueue(&own, &work, do_nothing), 0);
    CHECK_STATUS(csk_workqueue_destroy(&own), EBUSY);
    CHECK(look_for_suspended(&own) != NULL);
    CHECK_STATUS(csk_workqueue_cancel(&own, &work), 0);
    CHECK_STATUS(csk_workqueue_destroy(&own), 0);
    CHECK(look_for(&own, CSK_OBJECT_WORKQUEUE) == NULL);
    csk_inspect_callbacks(false);
}

/* A child has its own list, in which the queue is once it is used there. */
static void view_of_child(void *queue) {
    CHECK(look_for(queue, CSK_OBJECT_WORKQUEUE) == NULL);
    CHECK_EQ(csk_workqueue_waiting(queue), 0);
    CHECK(look_for_suspended(queue) != NULL);
    CHECK_STATUS(csk_workqueue_resume(queue), 0);
    CHECK(look_for(queue, CSK_OBJECT_WORKQUEUE) == NULL);
    CHECK_STATUS(csk_workqueue_suspend(queue), 0);
    CHECK(look_for_suspended(queue) != NULL);
    CHECK_STATUS(csk_workqueue_resume(queue), 0);
    CHECK(look_for(queue, CSK_OBJECT_WORKQUEUE) == NULL);
}
static void a_queue_that_was_suspended_otherwise_is_not_listed(void) {
    csk_work_t work;
    csk_workqueue_t *queue = suspended_with_a_work(&work);
    csk_inspect_callbacks(true);
    CHECK(look_for(queue, CSK_OBJECT_WORKQUEUE) == NULL);
    CHECK_STATUS(csk_workqueue_suspend(queue), 0);
    CHECK(look_for_suspended(queue) != NULL);
    for (int i = 0; i < 2; i++) CHECK_STATUS(csk_workqueue_resume(queue), 0);
    drain_and_release(queue);
    queue = suspended_with_a_work(&work);
    in_a_child(view_of_child, queue);
    csk_inspect_callbacks(false);
    CHECK(look_for_suspended(queue) != NULL);
    CHECK_STATUS(csk_workqueue_resume(queue), 0);
    drain_and_release(queue);
}

TEST_MAIN(TEST(a_program_that_is_stuck_with_all_workers_is_seen_at_once),
          TEST(a_stuck_work_queue_shows_who_runs_it_and_what_that_waits_for),
          TEST(a_caller_of_sync_that_waits_inside_is_known_to_have_the_queue),
          TEST(the_age_of_a_work_is_known_while_callbacks_are_listed),
          TEST(a_queue_whose_work_waits_for_nothing_shows_how_many_wait),
          TEST(what_csk_name_says_of_a_served_queue_is_shown_and_goes_with_it),
          TEST(who_waits_at_a_queue_stands_by_when_it_came), TEST(a_suspended_queue_is_shown_until_it_goes_on),
          TEST(a_queue_whose_suspension_ends_is_no_longer_shown),
          TEST(a_queue_that_was_suspended_otherwise_is_not_listed))
