/* workqueue_line_test.c: callers that can be refused wait for room as work does; what can't be refused takes none. */
#include "queue/workqueue.h"
#include "workqueue_fixture.h"

typedef struct {
    job_t job;
    csk_workqueue_wait_t wait;
    int status;
    uint32_t told;
} waiter_t;

static csk_workqueue_t narrow;
static job_t busy, waits;
static uint32_t release;

static void is_told(csk_workqueue_wait_t *wait) {
    waiter_t *waiter = wait->context;
    waiter->status = wait->status;
    ADD(&waiter->told, 1);
}

static void ask(waiter_t *waiter, int name) {
    *waiter = (waiter_t){ .job = job_named(name), .status = -1 };
    CHECK_STATUS(csk_workqueue_submit_when_room(&narrow, back(0), &waiter->job.work, 0, run_job, &waiter->wait, is_told,
                                                waiter),
                 EINPROGRESS);
}

/* One job runs until `release`, another waits. */
static void fill(void) {
    CHECK_STATUS(csk_workqueue_init(&narrow, &(csk_workqueue_attr_t){ .capacity = 1 }), 0);
    STORE(&release, 0);
    waits = job_named(0);
    busy = job_named(-1);
    busy.go = &release;
    queue_job(&narrow, &busy);
    wait_until(LOAD(&busy.calls) == 1);
    queue_job(&narrow, &waits);
    forget_notes();
}

static void go_on(void) {
    STORE(&release, 1);
    drain(&narrow);
    end_queue(&narrow);
}

static int in_line(void) {
    int count = 0;
    csk_workqueue_lock(&narrow);
    for (const csk_workqueue_wait_t *room = narrow.rooms; room != NULL; room = room->next) count++;
    csk_workqueue_unlock(&narrow);
    return count;
}

struct caller {
    bool always;
    int name, status;
    int64_t deadline_ns;
};

static void note_call(void *name) { note((int)(intptr_t)name); }

static void *call(void *context) {
    struct caller *caller = context;
    caller->status = csk_workqueue_sync(&narrow, back(0),
                                        caller->always ? CSK_WORK_OWN_TURN
                                        : 0            ? CSK_WORK_BARRIER
                                                       : 0,
                                        caller->deadline_ns, note_call, (void *)(intptr_t)caller->name);
    return NULL;
}

static pthread_t start_caller(struct caller *caller, int before) {
    pthread_t thread = start_thread(call, caller);
    wait_until(in_line() == before + 1);
    return thread;
}

static void who_calls_stands_in_the_line_for_room(void) {
    struct caller caller = { .name = 2, .deadline_ns = CSK_NEVER };
    waiter_t first, last;
    fill();
    ask(&first, 1);
    pthread_t thread = start_caller(&caller, 1);
    ask(&last, 3);
    CHECK_EQ(csk_workqueue_waiting(&narrow), 1);
    STORE(&release, 1);
    join_thread(thread);
    wait_until(LOAD(&last.told) == 1);
    drain(&narrow);
    CHECK_NOTES(0, 1, 2, 3);
    CHECK_STATUS(caller.status, 0);
    end_queue(&narrow);
}

static void own_turns_take_no_room(void) {
    struct caller caller = { .always = true, .name = 2, .deadline_ns = CSK_NEVER };
    job_t own = job_named(1), last = job_named(3), refused = job_named(4);
    CHECK_STATUS(
        csk_workqueue_init(&narrow, &(csk_workqueue_attr_t){ .capacity = 1, .when_full = CSK_WORKQUEUE_REFUSE }), 0);
    CHECK_STATUS(csk_workqueue_suspend(&narrow), 0);
    forget_notes();
    CHECK_STATUS(csk_workqueue_submit(&narrow, back(0), &own.work, CSK_WORK_OWN_TURN, CSK_NEVER, run_job), 0);
    pthread_t thread = start_thread(call, &caller);
    wait_until(csk_workqueue_waiting(&narrow) == 2);
    CHECK_STATUS(csk_workqueue_enqueue(&narrow, &last.work, run_job), 0); /* the one place is free */
    CHECK_STATUS(csk_workqueue_enqueue(&narrow, &refused.work, run_job), EBUSY);
    CHECK_EQ(csk_workqueue_beyond_bound(&narrow), 2);
    CHECK_STATUS(csk_workqueue_resume(&narrow), 0);
    join_thread(thread);
    drain(&narrow);
    CHECK_NOTES(1, 2, 3);
    end_queue(&narrow);
}

/* Jobs that came again and again took each place that was left: whoever waited for room, and a caller of its own turn
 * behind it, waited for good. */
typedef struct {
    csk_work_t work;
    uint32_t *ends;
} endless_t;

static void come_again(csk_work_t *work, int status) {
    CHECK_STATUS(status, 0);
    if (!LOAD(((endless_t *)work)->ends))
        CHECK_STATUS(csk_workqueue_submit(&narrow, back(0), work, CSK_WORK_OWN_TURN, CSK_NEVER, come_again), 0);
}

static void jobs_that_come_again_and_again_leave_room_to_others(void) {
    static endless_t endless[4];
    struct caller own = { .always = true, .name = 8, .deadline_ns = CSK_NEVER },
                  other = { .name = 9, .deadline_ns = CSK_NEVER };
    uint32_t ends = 0;
    waiter_t waiter;
    fill();
    ask(&waiter, 1);
    for (int i = 0; i < 4; i++) {
        endless[i] = (endless_t){ .ends = &ends };
        CHECK_STATUS(csk_workqueue_submit(&narrow, back(0), &endless[i].work, CSK_WORK_OWN_TURN, CSK_NEVER, come_again),
                     0);
    }
    STORE(&release, 1);
    wait_until(LOAD(&waiter.told) == 1 && LOAD(&waiter.job.calls) == 1);
    call(&own);
    call(&other);
    CHECK_STATUS(own.status, 0);
    CHECK_STATUS(other.status, 0);
    STORE(&ends, 1);
    go_on();
}

static void a_caller_leaves_the_line_at_its_deadline(void) {
    struct caller late = { .name = 2, .deadline_ns = 0 };
    waiter_t first, last;
    fill();
    ask(&first, 1);
    late.deadline_ns = csk_deadline_after(2000000);
    call(&late);
    CHECK_STATUS(late.status, ETIMEDOUT);
    CHECK_EQ(in_line(), 1);
    ask(&last, 3);
    STORE(&release, 1);
    wait_until(LOAD(&last.told) == 1);
    drain(&narrow);
    CHECK_NOTES(0, 1, 3);
    end_queue(&narrow);
}

static void a_shutdown_refuses_a_caller_in_the_line(void) {
    struct caller caller = { .name = 2, .deadline_ns = CSK_NEVER };
    fill();
    pthread_t thread = start_caller(&caller, 0);
    csk_workqueue_shutdown(&narrow, false);
    join_thread(thread);
    CHECK_STATUS(caller.status, ESHUTDOWN);
    go_on();
}

/* A place in the queue is not a turn: it can still be lost to a shutdown that cancels. */
static void a_caller_from_the_line_is_refused_in_the_queue_as_others_are(void) {
    struct caller caller = { .name = 2, .deadline_ns = CSK_NEVER };
    waiter_t first;
    fill();
    ask(&first, 1);
    pthread_t thread = start_caller(&caller, 1);
    CHECK_STATUS(csk_workqueue_cancel(&narrow, &waits.work), 0);
    CHECK_STATUS(csk_workqueue_cancel(&narrow, &first.job.work), 0); /* its place went to the caller */
    CHECK_EQ(in_line(), 0);
    CHECK_EQ(csk_workqueue_waiting(&narrow), 1);
    csk_workqueue_shutdown(&narrow, true);
    join_thread(thread);
    CHECK_STATUS(caller.status, ECANCELED);
    go_on();
}

/* Who hands in a wait that still stands in the line is refused without harm to the line. */
static void a_wait_is_touched_only_where_it_will_wait(void) {
    waiter_t first, last;
    job_t other = job_named(7);
    fill();
    ask(&first, 1);
    ask(&last, 2);
    CHECK_STATUS(csk_workqueue_submit_when_room(&narrow, back(0), &other.work, 0, NULL, &first.wait, is_told, &first),
                 EINVAL);
    CHECK_STATUS(csk_workqueue_submit_when_room(&narrow, back(0), &other.work, UINT32_C(1) << 31, run_job, &first.wait,
                                                is_told, &first),
                 EINVAL);
    csk_workqueue_shutdown(&narrow, false);
    CHECK_EQ(first.told + last.told, 2);
    first.told = 0;
    CHECK_STATUS(csk_workqueue_submit_when_room(&narrow, back(0), &other.work, 0, run_job, &first.wait, NULL, NULL),
                 EINVAL);
    CHECK_STATUS(csk_workqueue_submit_when_room(&narrow, back(0), &other.work, 0, run_job, &first.wait, is_told, NULL),
                 ESHUTDOWN);
    CHECK(first.wait.context == &first);
    go_on();
}

TEST_MAIN(TEST(who_calls_stands_in_the_line_for_room), TEST(own_turns_take_no_room),
          TEST(jobs_that_come_again_and_again_leave_room_to_others), TEST(a_caller_leaves_the_line_at_its_deadline),
          TEST(a_shutdown_refuses_a_caller_in_the_line),
          TEST(a_caller_from_the_line_is_refused_in_the_queue_as_others_are),
          TEST(a_wait_is_touched_only_where_it_will_wait))
