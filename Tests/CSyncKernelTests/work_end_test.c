/* work_end_test.c: functions that end the worker on which they run: what they were part of ends with them, is reported,
 * and the pool goes on. */
#include "test.h"

#include <csynckernel/csynckernel.h>

enum { WORKS = 40 };

static uint32_t reports, begun, destroyed;
static const void *reported;
static char reported_name[100]; /* "-": none */
static pthread_mutex_t naming = PTHREAD_MUTEX_INITIALIZER;

static void note_report(const csk_event_t *event) {
    CHECK_EQ(event->kind, CSK_EVENT_THREAD_ENDED_BY_WORK);
    CHECK_STATUS(event->status, ECANCELED);
    CHECK_EQ(event->thread_id, csk_thread_id());
    pthread_mutex_lock(&naming);
    snprintf(reported_name, sizeof reported_name, "%s", event->name != NULL ? event->name : "-");
    pthread_mutex_unlock(&naming);
    STORE(&reported, event->object);
    ADD(&reports, 1);
}

static void begin(void) {
    STORE(&reports, 0);
    STORE(&begun, 0);
    STORE(&reported, NULL);
    csk_set_reporter(note_report);
}

/* ---- Work queues ------------------------------------------------------------------------------------------------- */

static csk_work_t works[WORKS];

/* The memory of a work is not the queue's any more. */
static void end_or_return(csk_work_t *work, int status) {
    CHECK_STATUS(status, 0);
    bool ends = (work - works) % 4 != 3;
    memset(work, 0xAB, sizeof *work);
    ADD(&begun, 1);
    if (ends) pthread_exit(NULL);
}

static void queue_all_and_drain(csk_workqueue_t *queue, bool barriers) {
    for (int i = 0; i < WORKS; i++) {
        if (barriers && i % 5 == 0)
            CHECK_STATUS(csk_workqueue_submit(queue, 0, &works[i], CSK_WORK_BARRIER, CSK_NEVER, end_or_return), 0);
        else CHECK_STATUS(csk_workqueue_enqueue(queue, &works[i], end_or_return), 0);
    }
    CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), 0);
    CHECK_EQ(LOAD(&begun), WORKS);
    wait_until(LOAD(&reports) == WORKS * 3 / 4);
    CHECK(reported == queue);
    CHECK_EQ(strcmp(reported_name, csk_workqueue_name(queue) != NULL ? csk_workqueue_name(queue) : "-"), 0);
    CHECK_EQ(csk_workqueue_running(queue), 0);
    CHECK_STATUS(csk_workqueue_destroy(queue), 0);
}

static void a_serial_queue_goes_on_after_a_work_that_ends_its_thread(void) {
    csk_workqueue_t queue = { 0 };
    begin();
    queue_all_and_drain(&queue, false);
}

static void a_barrier_that_ends_its_thread_ends(void) {
    csk_workqueue_attr_t attr = { .width = 3, .name = "three at once" };
    csk_workqueue_t queue;
    begin();
    CHECK_STATUS(csk_workqueue_init(&queue, &attr), 0);
    queue_all_and_drain(&queue, true);
}

static void count(void *context) {
    (void)context;
    ADD(&begun, 1);
}

static void a_caller_gets_its_turn_after_a_work_that_ends_its_thread(void) {
    csk_workqueue_t queue = { 0 };
    begin();
    for (uint32_t i = 0; i < 20; i++) {
        STORE(&begun, 0);
        CHECK_STATUS(csk_workqueue_enqueue(&queue, &works[0], end_or_return), 0);
        CHECK_STATUS(csk_workqueue_sync(&queue, csk_rank(0, CSK_PLACE_BACK), 0, CSK_NEVER, count, NULL), 0);
        CHECK_EQ(LOAD(&begun), 2);
    }
    wait_until(LOAD(&reports) == 20);
    CHECK_STATUS(csk_workqueue_destroy(&queue), 0);
}

/* The last thing that holds the queue is the work. */
static void a_queue_on_the_heap_is_freed_after_a_work_that_ends_its_thread(void) {
    csk_workqueue_t *queue;
    begin();
    CHECK_STATUS(csk_workqueue_create(&queue, NULL), 0);
    CHECK_STATUS(csk_workqueue_enqueue(queue, &works[0], end_or_return), 0);
    csk_workqueue_release(queue);
    wait_until(LOAD(&reports) == 1);
    CHECK_EQ(strcmp(reported_name, "-"), 0);
}

/* Also where the queue goes with its last work; cut where it is longer than a report has room for. */
static void the_report_names_the_queue_whose_work_it_was(void) {
    static const char name[] = "a name of 63 bytes, all of which a queue keeps, and a report has";
    csk_workqueue_t *queue, in_place;
    begin();
    CHECK_STATUS(csk_workqueue_create(&queue, &(csk_workqueue_attr_t){ .name = name }), 0);
    CHECK_STATUS(csk_workqueue_enqueue(queue, &works[0], end_or_return), 0);
    csk_workqueue_release(queue);
    wait_until(LOAD(&reports) == 1);
    CHECK_EQ(strlen(reported_name), CSK_WORKQUEUE_NAME_MAX);
    CHECK_EQ(strncmp(reported_name, name, CSK_WORKQUEUE_NAME_MAX), 0);
    CHECK_STATUS(csk_workqueue_init(&in_place, &(csk_workqueue_attr_t){ .name = name }), 0);
    CHECK_STATUS(csk_workqueue_enqueue(&in_place, &works[0], end_or_return), 0);
    wait_until(LOAD(&reports) == 2);
    CHECK_EQ(strlen(reported_name), CSK_WORKQUEUE_NAME_MAX);
    while (csk_workqueue_destroy(&in_place) == EBUSY) sched_yield();
}

static void end_each_time(csk_work_t *work, int status) {
    (void)work;
    ADD(&begun, 1);
    if (status == 0) pthread_exit(NULL);
}

static void periodic_work_goes_on_after_it_ended_its_thread(void) {
    csk_workqueue_t queue = CSK_WORKQUEUE_INITIALIZER(.name = "periodic");
    csk_delayed_t delayed = { .period_ns = 0 };
    begin();
    CHECK_STATUS(csk_delayed_start(&delayed, &queue, csk_now(), 1000000, end_each_time), 0);
    wait_until(LOAD(&begun) >= 5);
    int status = csk_delayed_cancel(&delayed);
    CHECK(status == 0 || status == EBUSY);
    CHECK_STATUS(csk_workqueue_drain(&queue, CSK_NEVER), 0);
    CHECK_STATUS(csk_delayed_cancel(&delayed), ENOENT);
    wait_until(LOAD(&reports) + (status == EBUSY) == LOAD(&begun));
    CHECK_EQ(strcmp(reported_name, "periodic"), 0);
    CHECK_STATUS(csk_workqueue_destroy(&queue), 0);
}

/* ---- Sections of read-write locks -------------------------------------------------------------------------------- */

static csk_rwlock_t lock;

static void end_inside(csk_rwlock_work_t *work, void *context, int status) {
    (void)work;
    CHECK_STATUS(status, 0);
    CHECK_EQ(context == NULL ? csk_rwlock_is_reading(&lock) : csk_rwlock_is_writing(&lock), true);
    ADD(&begun, 1);
    pthread_exit(NULL);
}

static void a_section_that_ends_its_thread_is_left(void) {
    csk_rwlock_work_t sections[WORKS];
    begin();
    memset(sections, 0, sizeof sections);
    for (int i = 0; i < WORKS; i++) {
        bool writes = i % 3 == 1;
        CHECK_STATUS(csk_rwlock_enqueue(&lock, &sections[i], writes ? CSK_RWLOCK_WRITE : CSK_RWLOCK_READ, CSK_NEVER,
                                        end_inside, writes ? &lock : NULL),
                     0);
    }
    CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
    CHECK_EQ(LOAD(&begun), WORKS);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    wait_until(LOAD(&reports) == WORKS);
    CHECK(reported == &lock);
    CHECK_EQ(strcmp(reported_name, "-"), 0);
    CHECK_STATUS(csk_rwlock_destroy(&lock), 0);
}

static void read_again_and_end(csk_rwlock_work_t *work, void *context, int status) {
    for (int level = 0; level < 2; level++) CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
    end_inside(work, context, status);
}

static void a_section_that_reads_several_times_is_left_too(void) {
    csk_rwlock_work_t section = { .queued = 0 };
    begin();
    CHECK_STATUS(csk_rwlock_enqueue(&lock, &section, CSK_RWLOCK_READ, CSK_NEVER, read_again_and_end, NULL), 0);
    wait_until(LOAD(&reports) == 1);
    CHECK_STATUS(csk_rwlock_trywrlock(&lock), 0);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    CHECK_STATUS(csk_rwlock_destroy(&lock), 0);
}

static csk_rwlock_write_t writes[WORKS];

/* Some end their thread inside, some after they have finished, some leave the lock for others before that, some
 * return. */
static void write_or_end(csk_rwlock_write_t *write) {
    int which = (int)(write - writes);
    CHECK_EQ(ADD(&begun, 1), which + 1);
    if (which % 4 == 0) pthread_exit(NULL);
    if (which % 4 == 2) CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    else CHECK_STATUS(csk_rwlock_finish_write(&lock), 0);
    if (which % 4 != 3) pthread_exit(NULL);
}

static void the_rest_of_a_batch_of_writes_goes_on_in_order(void) {
    begin();
    CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
    for (int i = 0; i < WORKS; i++) CHECK_STATUS(csk_rwlock_enqueue_write(&lock, &writes[i], write_or_end), 0);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    wait_until(LOAD(&begun) == WORKS);
    wait_until(LOAD(&reports) == WORKS * 3 / 4);
    CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    CHECK_STATUS(csk_rwlock_destroy(&lock), 0);
}

/* ---- The pool ---------------------------------------------------------------------------------------------------- */

static void destroy_value(void *value) {
    (void)value;
    ADD(&destroyed, 1);
}

static csk_tls_slot_t slot;
static csk_pool_item_t items[WORKS];

static void end_with_a_value(csk_pool_item_t *item) {
    CHECK_STATUS(csk_tls_set(slot, item), 0);
    ADD(&begun, 1);
    pthread_exit(NULL);
}

static void return_at_once(csk_pool_item_t *item) {
    (void)item;
    ADD(&begun, 1);
}

static void the_pool_replaces_workers_that_items_have_ended(void) {
    begin();
    CHECK_STATUS(csk_tls_open(&slot, "work_end_test", destroy_value), 0);
    for (int i = 0; i < WORKS; i++) CHECK_STATUS(csk_pool_post(&items[i], end_with_a_value), 0);
    wait_until(LOAD(&reports) == WORKS);
    wait_until(LOAD(&destroyed) == WORKS);
    CHECK(LOAD(&reported) == NULL);
    CHECK_EQ(LOAD(&begun), WORKS);
    for (int i = 0; i < WORKS; i++) CHECK_STATUS(csk_pool_post(&items[i], return_at_once), 0);
    wait_until(LOAD(&begun) == 2 * WORKS);
    CHECK_GE(csk_pool_workers(), 1);
}

TEST_MAIN(TEST(a_serial_queue_goes_on_after_a_work_that_ends_its_thread), TEST(a_barrier_that_ends_its_thread_ends),
          TEST(a_caller_gets_its_turn_after_a_work_that_ends_its_thread),
          TEST(a_queue_on_the_heap_is_freed_after_a_work_that_ends_its_thread),
          TEST(the_report_names_the_queue_whose_work_it_was), TEST(periodic_work_goes_on_after_it_ended_its_thread),
          TEST(a_section_that_ends_its_thread_is_left), TEST(a_section_that_reads_several_times_is_left_too),
          TEST(the_rest_of_a_batch_of_writes_goes_on_in_order), TEST(the_pool_replaces_workers_that_items_have_ended))
