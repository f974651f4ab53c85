/* workqueue_line_test.c: callers, and work of its own turn, pass nobody who waits for room. */
#include "internal/workqueue.h"
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
    CHECK_STATUS(csk_workqueue_enqueue_when_room(&narrow, &waiter->job.work, back(0), false, run_job, &waiter->wait, is_told, waiter), EINPROGRESS);
}

static int ask_always(waiter_t *waiter, int name) {
    *waiter = (waiter_t){ .job = job_named(name), .status = -1 };
    return csk_workqueue_enqueue_always_in_line(&narrow, &waiter->job.work, back(0), false, run_job, &waiter->wait, is_told, waiter);
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

struct caller { bool always; int name, status; int64_t deadline_ns; };

static void note_call(void *name) { note((int)(intptr_t)name); }

static void *call(void *context) {
    struct caller *caller = context;
    int (*sync)(csk_workqueue_t *, csk_rank_t, bool, int64_t, void (*)(void *), void *) = caller->always ? csk_workqueue_sync_always : csk_workqueue_sync;
    caller->status = sync(&narrow, back(0), false, caller->deadline_ns, note_call, (void *)(intptr_t)caller->name);
    return NULL;
}

static pthread_t start_caller(struct caller *caller, int before) {
    pthread_t thread = start_thread(call, caller);
    wait_until(in_line() == before + 1);
    return thread;
}

static void who_calls_stands_behind_those_that_wait_for_room(void) {
    struct caller callers[2] = { { .name = 2, .deadline_ns = CSK_NEVER }, { .always = true, .name = 3, .deadline_ns = CSK_NEVER } };
    waiter_t first, own, last;
    pthread_t threads[2];
    fill();
    ask(&first, 1);
    for (int i = 0; i < 2; i++) threads[i] = start_caller(&callers[i], 1 + i);
    CHECK_STATUS(ask_always(&own, 4), EINPROGRESS);
    ask(&last, 5);
    CHECK_EQ(csk_workqueue_waiting(&narrow), 1); /* nobody came in over the bound */
    STORE(&release, 1);
    for (int i = 0; i < 2; i++) join_thread(threads[i]);
    wait_until(LOAD(&last.told) == 1);
    drain(&narrow);
    CHECK_NOTES(0, 1, 2, 3, 4, 5);
    for (int i = 0; i < 2; i++) CHECK_STATUS(callers[i].status, 0);
    CHECK_STATUS(own.status, 0);
    CHECK_EQ(own.told, 1);
    end_queue(&narrow);
}

static void a_caller_that_finds_no_line_counts_among_those_that_wait(void) {
    struct caller caller = { .name = 1, .deadline_ns = CSK_NEVER };
    waiter_t own;
    fill();
    pthread_t thread = start_thread(call, &caller);
    wait_until(csk_workqueue_waiting(&narrow) == 2);
    CHECK_STATUS(ask_always(&own, 2), 0);
    CHECK_EQ(csk_workqueue_beyond_bound(&narrow), 2);
    STORE(&release, 1);
    join_thread(thread);
    drain(&narrow);
    CHECK_NOTES(0, 1, 2);
    CHECK_EQ(own.told, 0);
    go_on();
}

/* Callers that came in before it leave no place to give, until as few wait as may. */
static void who_waits_for_room_is_passed_by_nobody_who_came_later(void) {
    enum { CALLERS = 3, CALLS = 2000 / TEST_SLOWDOWN };
    fill();
    STORE(&release, 1);
    drain(&narrow);
    for (int round = 0; round < CALLS; round++) {
        struct caller callers[CALLERS];
        pthread_t threads[CALLERS];
        waiter_t waiter = { .status = -1 };
        for (int i = 0; i < CALLERS; i++) {
            callers[i] = (struct caller){ .always = i % 2, .name = i, .deadline_ns = CSK_NEVER };
            threads[i] = start_thread(call, &callers[i]);
        }
        forget_notes();
        waiter.job = job_named(9);
        int status = csk_workqueue_enqueue_when_room(&narrow, &waiter.job.work, back(0), false, run_job, &waiter.wait, is_told, &waiter);
        CHECK(status == 0 || status == EINPROGRESS);
        for (int i = 0; i < CALLERS; i++) join_thread(threads[i]);
        if (status == EINPROGRESS) wait_until(LOAD(&waiter.told) == 1);
        drain(&narrow);
        CHECK_EQ(LOAD(&waiter.job.calls), 1);
        for (int i = 0; i < CALLERS; i++) CHECK_STATUS(callers[i].status, 0);
    }
    end_queue(&narrow);
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

/* What waits for its own turn gets it; others are told. */
static void a_shutdown_lets_in_who_waits_for_its_own_turn(void) {
    for (int cancels = 0; cancels < 2; cancels++) {
        struct caller callers[2] = { { .name = 2, .deadline_ns = CSK_NEVER }, { .always = true, .name = 3, .deadline_ns = CSK_NEVER } };
        waiter_t first, own;
        pthread_t threads[2];
        fill();
        ask(&first, 1);
        for (int i = 0; i < 2; i++) threads[i] = start_caller(&callers[i], 1 + i);
        CHECK_STATUS(ask_always(&own, 4), EINPROGRESS);
        csk_workqueue_shutdown(&narrow, cancels != 0);
        CHECK_EQ(own.told, 1);
        CHECK_STATUS(own.status, 0);
        CHECK_STATUS(first.status, ESHUTDOWN);
        join_thread(threads[0]);
        CHECK_STATUS(callers[0].status, ESHUTDOWN);
        CHECK_EQ(csk_workqueue_waiting(&narrow), cancels ? 2 : 3);
        STORE(&release, 1);
        join_thread(threads[1]);
        CHECK_STATUS(callers[1].status, 0);
        drain(&narrow);
        CHECK_EQ(waits.status, cancels ? ECANCELED : 0);
        CHECK_NOTES(0, 3, 4);
        end_queue(&narrow);
    }
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

TEST_MAIN(TEST(who_calls_stands_behind_those_that_wait_for_room), TEST(a_caller_that_finds_no_line_counts_among_those_that_wait),
          TEST(who_waits_for_room_is_passed_by_nobody_who_came_later), TEST(a_caller_leaves_the_line_at_its_deadline),
          TEST(a_shutdown_lets_in_who_waits_for_its_own_turn), TEST(a_caller_from_the_line_is_refused_in_the_queue_as_others_are))
