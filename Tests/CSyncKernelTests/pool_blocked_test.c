/* pool_blocked_test.c: how the pool finds out which of its workers wait: those in the library say so, the others are
 * asked about, by their state or by their processor time. The pool's sources are a part of this program, which has no
 * other, so that it can hide what the system shows. */
#include "child.h"

#include <csynckernel/csynckernel.h>
#include <sys/prctl.h>

#include "base/platform.h"

/* What the system says: everything; of all threads that they run; nothing; nothing, not even their processor time. */
enum { SHOWS_ALL, SHOWS_RUNNING, SHOWS_TIMES, SHOWS_NOTHING };
static uint32_t system_shows, questions, strange_askers;

static csk_thread_state_t shown_state(int32_t thread_id) {
    char name[16];
    CHECK_EQ(prctl(PR_GET_NAME, name), 0);
    ADD(&questions, 1);
    ADD(&strange_askers, strcmp(name, "csk-pool") != 0);
    uint32_t shows = LOAD(&system_shows);
    if (shows == SHOWS_ALL) return csk_platform_thread_state(thread_id);
    return shows == SHOWS_RUNNING ? CSK_THREAD_RUNS : CSK_THREAD_UNKNOWN;
}
static int64_t shown_time(int32_t thread_id) {
    return LOAD(&system_shows) == SHOWS_NOTHING ? -1 : csk_platform_thread_time(thread_id);
}

#define csk_platform_thread_state shown_state
#define csk_platform_thread_time shown_time
#include "pool/pool.c"
#include "pool/pool_growth.c"
#include "pool/pool_watch.c"

enum { MANY = CSK_POOL_WORKERS_MAX + 40 };
static uint32_t begun, ended, go;

typedef struct {
    csk_pool_item_t item;
    int number;
} task_t;
static task_t tasks[MANY];
static csk_pool_item_t last;

static void begin(void *shows) { STORE(&system_shows, *(const uint32_t *)shows); }

static void post_all(csk_pool_function_t function) {
    for (int i = 0; i < MANY; i++) {
        tasks[i].number = i;
        CHECK_STATUS(csk_pool_post(&tasks[i].item, function), 0);
    }
}

/* ---- Waits inside the library ------------------------------------------------------------------------------------ */

static csk_gate_t gate = CSK_GATE_INITIALIZER;
static csk_mutex_t mutex;
static csk_rwlock_t rwlock = CSK_RWLOCK_INITIALIZER;
static csk_sem_t sem;
static csk_pqueue_t pqueue;
static csk_workqueue_t queue;

static void run_nothing(void *context) { (void)context; }

static void wait_in_library(csk_pool_item_t *item) {
    csk_pqueue_item_t *popped;
    ADD(&begun, 1);
    switch (((task_t *)item)->number % 9) {
    case 0:
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        csk_gate_unlock(&gate);
        break;
    case 1:
        CHECK_STATUS(csk_gate_timedlock(&gate, 0, csk_deadline_after(INT64_C(600000000000))), 0);
        csk_gate_unlock(&gate);
        break;
    case 2:
        CHECK_STATUS(csk_mutex_lock(&mutex), 0);
        csk_mutex_unlock(&mutex);
        break;
    case 3:
        CHECK_STATUS(csk_rwlock_rdlock(&rwlock), 0);
        csk_rwlock_unlock(&rwlock);
        break;
    case 4:
        CHECK_STATUS(csk_rwlock_wrlock(&rwlock), 0);
        csk_rwlock_unlock(&rwlock);
        break;
    case 5: CHECK_STATUS(csk_pqueue_pop(&pqueue, &popped), 0); break;
    case 6: CHECK_STATUS(csk_workqueue_sync(&queue, 0, 0, CSK_NEVER, run_nothing, NULL), 0); break;
    case 8: CHECK_STATUS(csk_sem_wait(&sem, 0, 1), 0); break;
    default: CHECK_STATUS(csk_pqueue_timedpop(&pqueue, &popped, csk_deadline_after(INT64_C(600000000000))), 0);
    }
    ADD(&ended, 1);
}

static void note_last(csk_pool_item_t *item) {
    (void)item;
    STORE(&go, 1);
}

static void let_all_go(void) {
    static csk_pqueue_item_t items[MANY];
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
    CHECK_STATUS(csk_rwlock_unlock(&rwlock), 0);
    CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    CHECK_STATUS(csk_sem_post(&sem, MANY), 0);
    for (int i = 0; i < MANY; i++)
        if (i % 9 == 5 || i % 9 == 7) CHECK_STATUS(csk_pqueue_push(&pqueue, 0, &items[i]), 0);
    wait_until(LOAD(&ended) == MANY);
    CHECK_STATUS(csk_pqueue_destroy(&pqueue), 0);
    CHECK_STATUS(csk_workqueue_drain(&queue, CSK_NEVER), 0);
    wait_until(LOAD(&csk_announced_count) == 0);
}

/* The system says of all workers that they run, so nobody but themselves can have told. What is posted last runs while
 * all before it wait. */
static void wait_everywhere(void *shows) {
    begin(shows);
    CHECK_STATUS(csk_pqueue_init(&pqueue, 0), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    CHECK_STATUS(csk_rwlock_wrlock(&rwlock), 0);
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    post_all(wait_in_library);
    CHECK_STATUS(csk_pool_post(&last, note_last), 0);
    wait_until(LOAD(&go));
    /* each was taken before the last; its worker may not have come to its first line */
    wait_until(LOAD(&begun) == MANY);
    wait_until(LOAD(&csk_announced_count) == MANY);
    let_all_go();
}

static void waits_inside_the_library_are_known_without_asking(void) {
    in_a_child(wait_everywhere, &(uint32_t){ SHOWS_RUNNING });
    in_a_child(wait_everywhere, &(uint32_t){ SHOWS_NOTHING });
}

/* When all workers wait a post starts another one itself, and doesn't leave it to the next look. */
static void post_while_all_wait(void *shows) {
    begin(shows);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    for (uint32_t i = 0; i < 20; i++) {
        tasks[i].number = 0;
        uint32_t workers = csk_pool_workers();
        /* after the post the item itself may wait in one that was spare */
        bool all_wait = workers == LOAD(&csk_announced_count);
        CHECK_STATUS(csk_pool_post(&tasks[i].item, wait_in_library), 0);
        /* At least: if the thread is slow to start, a look that finds one processor without a worker may be there
         * before the check. */
        if (i >= 2 && all_wait) CHECK_GE(csk_pool_workers(), workers + 1);
        wait_until(LOAD(&csk_announced_count) == i + 1);
    }
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    wait_until(LOAD(&ended) == 20);
}

static void a_post_that_finds_all_workers_waiting_starts_another(void) {
    in_a_child(post_while_all_wait, &(uint32_t){ SHOWS_ALL });
}

/* One worker waits for long, and the other has enough to do: a third one comes, though there is progress. */
static void run_and_post_again(csk_pool_item_t *item) {
    if (!LOAD(&go)) CHECK_STATUS(csk_pool_post(item, run_and_post_again), 0);
    else ADD(&ended, 1);
}
static void wait_beside_others(void *shows) {
    begin(shows);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    tasks[0].number = 0;
    CHECK_STATUS(csk_pool_post(&tasks[0].item, wait_in_library), 0);
    wait_until(LOAD(&csk_announced_count) == 1);
    for (int i = 1; i < 20; i++) CHECK_STATUS(csk_pool_post(&tasks[i].item, run_and_post_again), 0);
    wait_until(csk_pool_workers() > csk_pool.wanted);
    STORE(&go, 1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    wait_until(LOAD(&ended) == 20);
}
static void a_long_wait_gives_its_processor_to_another_worker(void) {
    in_a_child(wait_beside_others, &(uint32_t){ SHOWS_NOTHING });
}

/* ---- Waits elsewhere --------------------------------------------------------------------------------------------- */

static int pipe_ends[2];

static void wait_in_system(csk_pool_item_t *item) {
    char byte;
    (void)item;
    ADD(&begun, 1);
    CHECK_EQ(read(pipe_ends[0], &byte, 1), 0); /* until it is closed */
    ADD(&ended, 1);
}
static void close_pipe(csk_pool_item_t *item) {
    (void)item;
    close(pipe_ends[1]);
}

static void wait_outside(void *shows) {
    begin(shows);
    CHECK_EQ(pipe(pipe_ends), 0);
    post_all(wait_in_system);
    CHECK_STATUS(csk_pool_post(&last, close_pipe), 0);
    while (LOAD(&ended) < MANY) usleep(1000);
    CHECK_GE(LOAD(&questions), 1);
    CHECK_EQ(LOAD(&strange_askers), 0);
}

static void what_blocks_elsewhere_is_found_by_the_pool_s_own_thread(void) {
    in_a_child(wait_outside, &(uint32_t){ SHOWS_ALL });
}
static void without_proc_the_processor_times_tell(void) { in_a_child(wait_outside, &(uint32_t){ SHOWS_TIMES }); }

/* No thread is started for them beyond those that may run. */
static void spin(csk_pool_item_t *item) {
    (void)item;
    ADD(&begun, 1);
    while (!LOAD(&go)) __asm__ volatile("" ::: "memory");
    ADD(&ended, 1);
}
static void ignore_report(const csk_event_t *event) { (void)event; }
static void let_spin(void *shows) {
    begin(shows);
    csk_set_reporter(ignore_report); /* that the pool is at its limit, which it is */
    post_all(spin);
    wait_until(csk_pool_workers() >= CSK_POOL_WORKERS_MAX);
    uint32_t questions_before = LOAD(&questions);
    while (LOAD(&questions) < questions_before + 10 / TEST_SLOWDOWN * CSK_POOL_WORKERS_MAX) usleep(1000);
    CHECK_EQ(csk_pool_workers(), CSK_POOL_WORKERS_MAX);
    STORE(&go, 1);
    wait_until(LOAD(&ended) == MANY);
}
static void threads_that_wait_for_a_processor_do_not_count_as_asleep(void) {
    in_a_child(let_spin, &(uint32_t){ SHOWS_ALL });
}

/* ---- All stand still together ------------------------------------------------------------------------------------ */

static void *sleep_until_told(void *thread_id) {
    char byte;
    STORE((int32_t *)thread_id, csk_thread_id());
    CHECK_EQ(read(pipe_ends[0], &byte, 1), 0);
    return NULL;
}

/* As under a quota that is used up, which lasts for a second at most: nothing follows from it before, if there may be a
 * quota. */
static void a_quota_that_is_used_up_is_not_taken_for_sleep(void) {
    int32_t thread_id = 0;
    CHECK_EQ(pipe(pipe_ends), 0);
    pthread_t thread = start_thread(sleep_until_told, &thread_id);
    STORE(&system_shows, SHOWS_ALL);
    wait_until(LOAD(&thread_id) != 0 && shown_state(thread_id) == CSK_THREAD_SLEEPS);
    STORE(&system_shows, SHOWS_TIMES);
    for (int throttled = 0; throttled < 2; throttled++) {
        csk_pool_look_t look = { .thread_id = thread_id };
        moment_t moment = { .now_ns = 1, .others_ns = 5, .patience_ns = still_ns, .throttled = throttled != 0 };
        CHECK(!stands_still(&look, &moment)); /* seen for the first time */
        moment.now_ns = still_ns / 2;
        CHECK(!stands_still(&look, &moment));
        moment.now_ns = 2 * still_ns;
        CHECK_EQ(stands_still(&look, &moment), !throttled);
        moment.now_ns = 1000000000;
        CHECK_EQ(stands_still(&look, &moment), !throttled);
        moment.others_ns = 6; /* somebody else has moved meanwhile */
        CHECK(stands_still(&look, &moment));
        moment.others_ns = 5;
        moment.now_ns = 2 * throttled_ns;
        CHECK(stands_still(&look, &moment));
    }
    close(pipe_ends[1]);
    join_thread(thread);
}

/* ---- A pool that can't go on ------------------------------------------------------------------------------------- */

/* Reported when the first has waited for a second, who came later only after a second of its own: not a nanosecond
 * early. */
static void a_queue_is_reported_after_a_second_of_its_own(void) {
    enum { MS = 1000000, SECOND = 1000 * MS };
    static const int64_t begins_ns[] = { 5 * (int64_t)SECOND, 5 * (int64_t)SECOND + 1, 5 * (int64_t)SECOND + 999999 };
    for (size_t i = 0; i < sizeof begins_ns / sizeof begins_ns[0]; i++) {
        csk_pool_stall_t stall = { 0 };
        csk_pool_item_t first = { 0 }, later = { 0 };
        int64_t now_ns = begins_ns[i], reports = 0;
        CHECK(csk_load(&csk_pool_describe, CSK_RELAXED) == NULL);
        for (; reports < 2; now_ns += MS / 2) {
            if (now_ns == begins_ns[i]) first.since_ms = csk_pool_stamp(now_ns);
            if (now_ns == begins_ns[i] + 300 * MS) later.since_ms = csk_pool_stamp(now_ns);
            if (!csk_pool_stall_lasts(&stall, now_ns)) continue;
            csk_pool_stall_add(&stall, &first, now_ns);
            csk_pool_stall_add(&stall, &later, now_ns);
            CHECK_EQ(stall.count, ++reports);
            CHECK(stall.waiting[0].object == &first);
            CHECK_GE(now_ns, begins_ns[i] + SECOND);
            CHECK_GE(stall.waiting[0].since_ns, begins_ns[i]);
            CHECK_LE(stall.waiting[0].since_ns, begins_ns[i] + MS);
        }
        CHECK(stall.waiting[1].object == &later);
        CHECK_GE(stall.waiting[1].since_ns, begins_ns[i] + 300 * MS);
    }
}

TEST_MAIN(TEST(a_queue_is_reported_after_a_second_of_its_own), TEST(waits_inside_the_library_are_known_without_asking),
          TEST(a_post_that_finds_all_workers_waiting_starts_another),
          TEST(a_long_wait_gives_its_processor_to_another_worker),
          TEST(what_blocks_elsewhere_is_found_by_the_pool_s_own_thread), TEST(without_proc_the_processor_times_tell),
          TEST(threads_that_wait_for_a_processor_do_not_count_as_asleep),
          TEST(a_quota_that_is_used_up_is_not_taken_for_sleep))
