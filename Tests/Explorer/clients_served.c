/* clients_served.c: a view reads the queues that workers serve, and none that is gone: a worker gives up its pin, or
 * posts the queue again, once the pool knows that it has left. And it reads those that are suspended, which are listed
 * until they go on. */
#include "csynckernel/observe.h"
#include "csynckernel/workqueue.h"
#include "explorer.h"
#include "observe/inspect.h"
#include "internal.h"
#include "pool/pool.h"
#include "observe/listed.h"

/* kernel_pool.c */
void kernel_end_worker(void);

static struct {
    csk_workqueue_t *queues[2];
    csk_work_t works[3];
    uint32_t ran;
} * shared;

static void make(void) {
    shared = explore_allocate(sizeof *shared);
    EXPECT_EQUAL(csk_pool_prepare(), 0);
    for (int i = 0; i < 2; i++) EXPECT_EQUAL(csk_workqueue_create(&shared->queues[i], NULL), 0);
}

static void runs(csk_work_t *work, int status) {
    (void)work;
    EXPECT_EQUAL(status, 0);
    __atomic_fetch_add(&shared->ran, 1, __ATOMIC_SEQ_CST);
}
static void ends_its_thread(csk_work_t *work, int status) {
    runs(work, status);
    kernel_end_worker();
}
static void enqueue(int queue, int work, csk_work_function_t function) {
    EXPECT_EQUAL(csk_workqueue_enqueue(shared->queues[queue], &shared->works[work], function), 0);
}
static void give_up(int queue) { csk_workqueue_release(shared->queues[queue]); }

/* The worker's pin is the last, so the queue goes with it. */
static void enqueues_and_releases(void) {
    enqueue(0, 0, runs);
    give_up(0);
}
static void enqueues_for_an_end(void) {
    enqueue(0, 0, ends_its_thread);
    enqueue(0, 1, runs);
    give_up(0);
}
/* The worker gives way to the other queue, and another worker may come for the first one, which then goes. */
static void enqueues_at_both(void) {
    enqueue(0, 0, runs);
    enqueue(0, 1, runs);
    enqueue(1, 2, runs);
    give_up(0);
    give_up(1);
}

static void takes_view(void) {
    static csk_inspected_object_t objects[4];
    static csk_inspected_waiter_t waiters[1];
    static csk_inspected_worker_t workers[4];
    static csk_look_t look;
    csk_inspection_t view = {
        .objects = objects, .waiters = waiters, .workers = workers, .object_room = 4, .waiter_room = 1, .worker_room = 4
    };
    look = (csk_look_t){ .view = &view, .now_ns = explore_now(), .ends_ns = explore_now() + 50000000 };
    csk_look_at_pool(&look);
    csk_look_at_kept_queues(&look);
    for (uint32_t i = 0; i < view.object_count; i++)
        if (!(objects[i].flags & CSK_INSPECT_BUSY)) EXPECT(objects[i].running <= 1 && objects[i].count <= 2);
}

/* Works that go when they have run, while a view counts them one at a time. */
static void runs_and_goes(csk_work_t *work, int status) {
    runs(work, status);
    explore_free(work, sizeof *work);
}
static void enqueues_two(void) {
    for (int i = 0; i < 2; i++) {
        csk_work_t *work = explore_allocate(sizeof *work);
        EXPECT_EQUAL(csk_workqueue_enqueue(shared->queues[0], work, runs_and_goes), 0);
    }
    give_up(0);
}
static void goes(csk_work_t *work, int status) {
    EXPECT(status == 0 || status == ECANCELED);
    __atomic_fetch_add(&shared->ran, 1, __ATOMIC_SEQ_CST);
    explore_free(work, sizeof *work);
}
static void enqueues_two_and_refuses(void) {
    for (int i = 0; i < 2; i++) {
        csk_work_t *work = explore_allocate(sizeof *work);
        EXPECT_EQUAL(csk_workqueue_enqueue(shared->queues[0], work, goes), 0);
    }
    csk_workqueue_shutdown(shared->queues[0], true);
    give_up(0);
}
static void takes_view_of_two(void) {
    static csk_inspected_object_t objects[4];
    static csk_inspected_worker_t workers[4];
    static csk_look_t look;
    csk_inspection_t view = { .objects = objects, .workers = workers, .object_room = 4, .worker_room = 4 };
    look = (csk_look_t){ .view = &view, .now_ns = explore_now(), .ends_ns = explore_now() + 50000000 };
    csk_look_at_pool(&look);
    csk_look_at_kept_queues(&look);
    for (uint32_t i = 0; i < view.object_count; i++)
        if (!(objects[i].flags & CSK_INSPECT_BUSY)) EXPECT(objects[i].running + objects[i].count <= 2);
}

static void one_ran(void) { EXPECT_EQUAL(shared->ran, 1); }
static void two_ran(void) { EXPECT_EQUAL(shared->ran, 2); }
static void three_ran(void) { EXPECT_EQUAL(shared->ran, 3); }
static void releases_other(void) { give_up(1); }
static void make_one(void) {
    make();
    releases_other();
}
static void ignore(const csk_event_t *event) { (void)event; }
static void make_for_an_end(void) {
    make_one();
    csk_set_reporter(ignore);
}

CLIENT(served_goes, .setup = make_one, .threads = { enqueues_and_releases, takes_view }, .check = one_ran,
       .preemptions = 1)
CLIENT(served_counts, .setup = make_one, .threads = { enqueues_two, takes_view_of_two }, .check = two_ran)
CLIENT(served_counts_what_is_refused, .setup = make_one, .threads = { enqueues_two_and_refuses, takes_view_of_two },
       .check = two_ran)
CLIENT(served_gives_way, .setup = make, .threads = { enqueues_at_both, takes_view }, .check = three_ran)
CLIENT(served_by_a_thread_that_ends, .setup = make_for_an_end, .threads = { enqueues_for_an_end, takes_view },
       .check = two_ran)

/* ---- Suspended queues -------------------------------------------------------------------------------------------- */

static void make_listed(void) {
    make();
    csk_inspect_callbacks(true);
}
static void suspends_and_releases(void) {
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queues[0]), 0);
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queues[0]), 0);
    EXPECT_EQUAL(csk_workqueue_resume(shared->queues[0]), 0);
    EXPECT_EQUAL(csk_workqueue_resume(shared->queues[0]), 0);
    give_up(0);
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queues[1]), 0);
    give_up(1);
}
static void suspends_and_destroys(void) {
    csk_workqueue_t *queue = explore_allocate(sizeof *queue);
    EXPECT_EQUAL(csk_workqueue_suspend(queue), 0);
    EXPECT_EQUAL(csk_workqueue_destroy(queue), 0);
    explore_free(queue, sizeof *queue);
    csk_workqueue_shutdown(shared->queues[0], false);
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queues[0]), 0);
    give_up(0);
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queues[1]), 0);
    csk_workqueue_shutdown(shared->queues[1], false);
    give_up(1);
}

static void reads_suspended(void) {
    static csk_inspected_object_t object;
    static csk_look_t look;
    csk_inspection_t view = { .objects = &object, .object_room = 1 };
    csk_listed_cursor_t cursor = { 0 };
    csk_listed_t listed;
    bool busy = false;
    look = (csk_look_t){ .view = &view, .now_ns = explore_now(), .ends_ns = explore_now() + 50000000 };
    while (csk_listed_next(&cursor, &listed, CSK_NEVER, &busy)) {
        object = (csk_inspected_object_t){ .address = listed.object, .kind = listed.kind };
        csk_look_at_workqueue(&look, &object, explore_now() + 2000000);
        EXPECT(object.count <= 1 && object.running <= 1);
    }
    EXPECT(!busy);
}
static bool is_any_listed(void) {
    csk_listed_cursor_t cursor = { 0 };
    csk_listed_t listed;
    bool busy = false, found = csk_listed_next(&cursor, &listed, CSK_NEVER, &busy);
    while (csk_listed_next(&cursor, &listed, CSK_NEVER, &busy)) {}
    return found;
}
static void nothing_is_listed(void) { EXPECT(!is_any_listed()); }

/* Its own work gives the queue up as soon as it may begin: whoever has let it begin is still inside of the call. */
static void runs_and_releases(csk_work_t *work, int status) {
    runs(work, status);
    give_up(0);
}
static void resumes_what_releases(void) {
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queues[0]), 0);
    enqueue(0, 0, runs_and_releases);
    EXPECT_EQUAL(csk_workqueue_resume(shared->queues[0]), 0);
}
static void shuts_down_what_releases(void) {
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queues[0]), 0);
    enqueue(0, 0, runs_and_releases);
    csk_workqueue_shutdown(shared->queues[0], false);
}
static void make_one_listed(void) {
    make_one();
    csk_inspect_callbacks(true);
}
static void it_ran(void) {
    one_ran();
    nothing_is_listed();
}
static void suspends_and_resumes(void) {
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queues[0]), 0);
    EXPECT_EQUAL(csk_workqueue_resume(shared->queues[0]), 0);
}
/* What was suspended while nobody wanted the list is in it once it is suspended again. */
static void suspends_while_unwanted(void) {
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queues[0]), 0);
    csk_inspect_callbacks(true);
    suspends_and_resumes();
    EXPECT_EQUAL(csk_workqueue_suspend(shared->queues[0]), 0);
    csk_inspect_callbacks(false);
    EXPECT_EQUAL(csk_workqueue_resume(shared->queues[0]), 0);
    EXPECT_EQUAL(csk_workqueue_resume(shared->queues[0]), 0);
}

CLIENT(suspended_released_inside, .setup = make_one_listed, .threads = { resumes_what_releases, reads_suspended },
       .check = it_ran)
CLIENT(suspended_shut_down_released_inside, .setup = make_one_listed,
       .threads = { shuts_down_what_releases, reads_suspended }, .check = it_ran)
CLIENT(suspended_by_two_and_read, .setup = make_listed,
       .threads = { suspends_and_resumes, suspends_and_resumes, reads_suspended }, .check = nothing_is_listed)
CLIENT(suspended_while_unwanted, .setup = make, .threads = { suspends_while_unwanted, suspends_and_resumes },
       .check = nothing_is_listed, .preemptions = 2)
CLIENT(suspended_goes, .setup = make_listed, .threads = { suspends_and_releases, reads_suspended },
       .check = nothing_is_listed, .preemptions = 2)
CLIENT(suspended_ends, .setup = make_listed, .threads = { suspends_and_destroys, reads_suspended },
       .check = nothing_is_listed, .preemptions = 2)
