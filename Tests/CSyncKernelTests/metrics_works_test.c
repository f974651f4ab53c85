/* metrics_works_test.c: what is counted of work queues that were made with a name. */
#include <csynckernel/csynckernel.h>
#include <string.h>

#include "observe/metrics.h"
#include "test.h"

typedef struct {
    const char *name;
    int found;
    csk_metrics_entry_t entry;
} wanted_t;

static void look(const csk_metrics_entry_t *entry, void *context) {
    wanted_t *wanted = context;
    if (entry->what != CSK_METRICS_WORKS || strcmp(entry->name, wanted->name) != 0) return;
    CHECK_EQ(entry->object_kind, CSK_OBJECT_WORKQUEUE);
    wanted->found++;
    wanted->entry = *entry;
}
static csk_metrics_entry_t counted(const char *name) {
    wanted_t wanted = { .name = name };
    csk_metrics_read(look, &wanted);
    CHECK_LE(wanted.found, 1);
    return wanted.entry;
}

#define CHECK_WORKS(name, all_refused, all_dropped)     \
    do {                                                \
        csk_metrics_entry_t entry_ = counted(name);     \
        CHECK_EQ(entry_.refused, (all_refused));        \
        CHECK_EQ(entry_.dropped, (all_dropped));        \
        CHECK_EQ(entry_.granted + entry_.timed_out, 0); \
    } while (0)

enum { MOST = 40 };
static csk_work_t works[MOST];
static int ran, refused;

static void note(csk_work_t *work, int status) {
    (void)work;
    if (status == 0) ADD(&ran, 1);
    else ADD(&refused, 1);
}

/* It is suspended: what is queued waits. */
static csk_workqueue_t *make(const char *name, uint32_t capacity, int32_t when_full) {
    csk_workqueue_t *queue;
    csk_workqueue_attr_t attr = { .name = name, .capacity = capacity, .when_full = when_full };
    CHECK_STATUS(csk_workqueue_create(&queue, &attr), 0);
    CHECK_STATUS(csk_workqueue_suspend(queue), 0);
    STORE(&ran, 0);
    STORE(&refused, 0);
    return queue;
}

static void nothing(void *unused) { (void)unused; }

static void what_a_full_queue_refuses_is_counted(void) {
    CHECK_STATUS(csk_metrics_start(), 0);
    csk_workqueue_t *queue = make("refuses", 2, CSK_WORKQUEUE_REFUSE);
    for (int i = 0; i < 5; i++) CHECK_STATUS(csk_workqueue_enqueue(queue, &works[i], note), i < 2 ? 0 : EBUSY);
    CHECK_WORKS("refuses", 3, 0);
    CHECK_STATUS(csk_workqueue_sync(queue, csk_rank(0, CSK_PLACE_BACK), 0, CSK_NEVER, nothing, NULL), EBUSY);
    CHECK_WORKS("refuses", 4, 0);
    CHECK_STATUS(csk_workqueue_cancel(queue, &works[0]), 0); /* in neither */
    CHECK_STATUS(csk_workqueue_resume(queue), 0);
    CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), 0);
    CHECK_EQ(LOAD(&ran), 1);
    CHECK_WORKS("refuses", 4, 0);
    csk_workqueue_release(queue);
}

static void what_a_full_queue_drops_is_counted(void) {
    csk_workqueue_t *queue = make("drops", 2, CSK_WORKQUEUE_DROP_OLDEST);
    for (int i = 0; i < 5; i++) CHECK_STATUS(csk_workqueue_enqueue(queue, &works[i], note), 0);
    CHECK_EQ(LOAD(&refused), 3);
    CHECK_WORKS("drops", 0, 3);
    CHECK_STATUS(csk_workqueue_resume(queue), 0);
    CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), 0);
    CHECK_WORKS("drops", 0, 3);
    csk_workqueue_release(queue);
}

static int told;
static void tell(csk_workqueue_wait_t *wait) { STORE(&told, wait->status); }

static void what_finds_no_room_is_counted(void) {
    csk_workqueue_t *queue = make("room", 1, CSK_WORKQUEUE_WAIT);
    csk_workqueue_wait_t wait;
    csk_rank_t rank = csk_rank(0, CSK_PLACE_BACK);
    CHECK_STATUS(csk_workqueue_enqueue(queue, &works[0], note), 0);
    CHECK_STATUS(csk_workqueue_submit(queue, rank, &works[1], 0, csk_deadline_after(1000), note), ETIMEDOUT);
    CHECK_WORKS("room", 1, 0);
    CHECK_STATUS(csk_workqueue_sync(queue, rank, 0, csk_deadline_after(1000), nothing, NULL), ETIMEDOUT);
    CHECK_WORKS("room", 2, 0);
    CHECK_STATUS(csk_workqueue_submit_when_room(queue, rank, &works[1], 0, note, &wait, tell, NULL), EINPROGRESS);
    CHECK_STATUS(csk_workqueue_wait_cancel(queue, &wait), 0); /* in neither */
    CHECK_STATUS(csk_workqueue_submit_when_room(queue, rank, &works[1], 0, note, &wait, tell, NULL), EINPROGRESS);
    CHECK_WORKS("room", 2, 0);
    csk_workqueue_shutdown(queue, true);
    CHECK_STATUS(LOAD(&told), ESHUTDOWN);
    CHECK_EQ(LOAD(&refused), 1);
    CHECK_WORKS("room", 3, 1);
    csk_workqueue_release(queue);
}

static void what_comes_after_a_shutdown_is_counted(void) {
    csk_workqueue_t *queue = make("shut", 0, CSK_WORKQUEUE_WAIT);
    for (int i = 0; i < 4; i++) CHECK_STATUS(csk_workqueue_enqueue(queue, &works[i], note), 0);
    csk_workqueue_shutdown(queue, true);
    CHECK_WORKS("shut", 0, 4);
    CHECK_STATUS(csk_workqueue_enqueue(queue, &works[0], note), ESHUTDOWN);
    CHECK_STATUS(csk_workqueue_sync(queue, csk_rank(0, CSK_PLACE_BACK), 0, CSK_NEVER, nothing, NULL), ESHUTDOWN);
    CHECK_WORKS("shut", 2, 4);
    csk_workqueue_release(queue);
}

static void the_longest_line_is_known(void) {
    csk_workqueue_t *queue = make("line", 0, CSK_WORKQUEUE_WAIT);
    for (int i = 0; i < MOST; i++) CHECK_STATUS(csk_workqueue_enqueue(queue, &works[i], note), 0);
    CHECK_STATUS(csk_workqueue_resume(queue), 0);
    CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), 0);
    CHECK_EQ(LOAD(&ran), MOST);
    CHECK_EQ(counted("line").most_waiting, MOST);
    for (int i = 0; i < 3; i++) CHECK_STATUS(csk_workqueue_enqueue(queue, &works[i], note), 0);
    CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), 0);
    CHECK_EQ(counted("line").most_waiting, MOST);
    csk_workqueue_release(queue);
}

/* Whoever finds a queue full knows how many wait. A queue that never was has told of nobody. */
static void the_longest_line_of_a_bounded_queue_is_its_bound_once_it_was_full(void) {
    csk_rank_t rank = csk_rank(0, CSK_PLACE_BACK);
    csk_workqueue_t *refuses = make("bound: refuses", 3, CSK_WORKQUEUE_REFUSE),
                    *drops = make("bound: drops", 3, CSK_WORKQUEUE_DROP_OLDEST),
                    *waits = make("bound: waits", 3, CSK_WORKQUEUE_WAIT),
                    *calls = make("bound: calls", 1, CSK_WORKQUEUE_WAIT);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(csk_workqueue_enqueue(refuses, &works[i], note), 0);
        CHECK_STATUS(csk_workqueue_enqueue(drops, &works[10 + i], note), 0);
        CHECK_STATUS(csk_workqueue_enqueue(waits, &works[20 + i], note), 0);
    }
    CHECK_STATUS(csk_workqueue_enqueue(calls, &works[30], note), 0);
    CHECK_EQ(counted("bound: refuses").most_waiting, 0);
    CHECK_STATUS(csk_workqueue_enqueue(refuses, &works[3], note), EBUSY);
    CHECK_EQ(counted("bound: refuses").most_waiting, 3);
    CHECK_STATUS(csk_workqueue_enqueue(drops, &works[13], note), 0);
    CHECK_EQ(counted("bound: drops").most_waiting, 3);
    csk_workqueue_wait_t wait;
    CHECK_EQ(counted("bound: waits").most_waiting, 0);
    CHECK_STATUS(csk_workqueue_submit_when_room(waits, rank, &works[23], 0, note, &wait, tell, NULL), EINPROGRESS);
    CHECK_STATUS(csk_workqueue_wait_cancel(waits, &wait), 0);
    CHECK_EQ(counted("bound: waits").most_waiting, 3);
    CHECK_STATUS(csk_workqueue_sync(calls, rank, 0, csk_deadline_after(1000), nothing, NULL), ETIMEDOUT);
    CHECK_EQ(counted("bound: calls").most_waiting, 1);
    csk_workqueue_t *all[] = { refuses, drops, waits, calls };
    for (int i = 0; i < 4; i++) {
        CHECK_STATUS(csk_workqueue_resume(all[i]), 0);
        CHECK_STATUS(csk_workqueue_drain(all[i], CSK_NEVER), 0);
        csk_workqueue_release(all[i]);
    }
}

static void queues_of_one_name_share_an_entry_and_those_without_have_none(void) {
    csk_workqueue_t *queues[] = { make("both", 1, CSK_WORKQUEUE_REFUSE), make("both", 1, CSK_WORKQUEUE_REFUSE),
                                  make(NULL, 1, CSK_WORKQUEUE_REFUSE) };
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(csk_workqueue_enqueue(queues[i], &works[2 * i], note), 0);
        CHECK_STATUS(csk_workqueue_enqueue(queues[i], &works[2 * i + 1], note), EBUSY);
    }
    CHECK_WORKS("both", 2, 0);
    csk_metrics_stop();
    CHECK_STATUS(csk_workqueue_enqueue(queues[0], &works[1], note), EBUSY);
    csk_workqueue_shutdown(queues[1], true);
    CHECK_WORKS("both", 2, 0);
    for (int i = 0; i < 3; i++) csk_workqueue_release(queues[i]);
    CHECK_EQ(csk_metrics_lost(), 0);
}

static int64_t slow_ns = 3000000;
static void slow(csk_work_t *work, int status) {
    int64_t until_ns = csk_now() + slow_ns;
    while (csk_now() < until_ns) sched_yield();
    note(work, status);
}

static uint64_t stamped(const char *name) {
    uint64_t before = counted(name).spans.count;
    /* Each of the stamps is free: so many works carry the time at once, and no more. */
    static csk_work_t others[20];
    uint64_t taken = 0;
    for (int i = 0; i < 20; i++) CHECK(csk_metrics_stamp(name, &others[i]));
    for (int i = 0; i < 20; i++) taken += csk_metrics_take_stamp(name, &others[i]) != 0;
    CHECK_EQ(counted(name).spans.count, before);
    return taken;
}

static void works_are_timed_from_the_call_to_their_end(void) {
    csk_metrics_one_in = 1;
    csk_workqueue_t *queue = make("timed", 0, CSK_WORKQUEUE_WAIT);
    for (int i = 0; i < 4; i++) CHECK_STATUS(csk_workqueue_enqueue(queue, &works[i], slow), 0);
    CHECK_STATUS(csk_workqueue_resume(queue), 0);
    CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), 0);
    wait_until(counted("timed").runs.count == 4); /* the last is counted by its worker before it ends the section */
    csk_metrics_entry_t entry = counted("timed");
    CHECK_EQ(entry.spans.count, 4);
    CHECK_GE(entry.runs.sum_ns, 4 * slow_ns);
    CHECK_GE(entry.spans.sum_ns, (1 + 2 + 3) * slow_ns);
    CHECK_GE(entry.spans.longest_ns, 3 * slow_ns);
    CHECK_EQ(stamped("timed"), 8);
    /* Callers, and works of their own turn, aren't timed. */
    CHECK_STATUS(csk_workqueue_sync(queue, 1, 0, CSK_NEVER, nothing, NULL), 0);
    CHECK_STATUS(csk_workqueue_submit(queue, 1, &works[0], CSK_WORK_OWN_TURN, CSK_NEVER, note), 0);
    CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), 0);
    CHECK_EQ(counted("timed").runs.count, 4);
    csk_workqueue_release(queue);
    csk_metrics_one_in = 1024;
}

static void whatever_becomes_of_a_timed_work_frees_its_stamp(void) {
    csk_metrics_one_in = 1;
    for (int round = 0; round < 5; round++) {
        csk_workqueue_t *queue = make("freed", 2, CSK_WORKQUEUE_REFUSE),
                        *drops = make("freed", 1, CSK_WORKQUEUE_DROP_OLDEST);
        csk_workqueue_t *waits = make("freed", 1, CSK_WORKQUEUE_WAIT), *open = make("freed", 0, CSK_WORKQUEUE_WAIT);
        for (int i = 0; i < 4; i++) CHECK_STATUS(csk_workqueue_enqueue(queue, &works[i], note), i < 2 ? 0 : EBUSY);
        for (int i = 4; i < 8; i++) CHECK_STATUS(csk_workqueue_enqueue(drops, &works[i], note), 0);
        CHECK_STATUS(csk_workqueue_enqueue(waits, &works[8], note), 0);
        CHECK_STATUS(csk_workqueue_submit(waits, 1, &works[9], 0, csk_deadline_after(1000), note), ETIMEDOUT);
        CHECK_STATUS(csk_workqueue_cancel(queue, &works[0]), 0);
        CHECK_STATUS(csk_workqueue_enqueue(open, &works[10], note), 0);
        csk_workqueue_shutdown(open, true);
        CHECK_STATUS(csk_workqueue_enqueue(open, &works[11], note), ESHUTDOWN);
        csk_workqueue_t *queues[] = { queue, drops, waits, open };
        for (int i = 0; i < 4; i++) {
            csk_workqueue_resume(queues[i]);
            CHECK_STATUS(csk_workqueue_drain(queues[i], CSK_NEVER), 0);
            csk_workqueue_release(queues[i]);
        }
        CHECK_EQ(stamped("freed"), 8);
    }
    CHECK_EQ(counted("freed").runs.count, 5 * 3);
    csk_metrics_one_in = 1024;
}

static void a_queue_of_before_the_start_is_timed_once_it_was_sorted(void) {
    csk_metrics_stop();
    csk_metrics_one_in = 1;
    csk_workqueue_t *queue = make("earlier", 0, CSK_WORKQUEUE_WAIT);
    CHECK_STATUS(csk_workqueue_resume(queue), 0);
    CHECK_STATUS(csk_metrics_start(), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(csk_workqueue_enqueue(queue, &works[0], note), 0);
        CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), 0);
    }
    CHECK_EQ(counted("earlier").runs.count, 1);
    csk_metrics_stop();
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(csk_workqueue_enqueue(queue, &works[0], note), 0);
        CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), 0);
    }
    CHECK_EQ(counted("earlier").runs.count, 1);
    CHECK_STATUS(csk_metrics_start(), 0);
    csk_workqueue_release(queue);
    csk_metrics_one_in = 1024;
}

static void one_work_in_many_counts_as_many(void) {
    enum { WORKS = 40000 };
    csk_metrics_one_in = 16;
    csk_workqueue_t *queue = make("many", 0, CSK_WORKQUEUE_WAIT);
    CHECK_STATUS(csk_workqueue_resume(queue), 0);
    for (int i = 0; i < WORKS; i++) {
        CHECK_STATUS(csk_workqueue_enqueue(queue, &works[i % MOST], note), 0);
        if (i % MOST == MOST - 1) wait_until(LOAD(&ran) == i + 1);
    }
    CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), 0);
    uint64_t count = counted("many").runs.count;
    CHECK_EQ(count % 16, 0);
    CHECK_GE(count, WORKS / 2); /* 20 standard deviations; all stamps may be taken now and then */
    CHECK_LE(count, WORKS * 5 / 4);
    csk_workqueue_release(queue);
    csk_metrics_one_in = 1024;
}

/* Far more works are to carry the time than there are stamps. */
static void a_long_line_counts_as_long_as_it_is(void) {
    const int64_t least_ns = 1000000;
    csk_metrics_one_in = 1;
    csk_workqueue_t *queue = make("all of a line", 0, CSK_WORKQUEUE_WAIT);
    for (int i = 0; i < MOST; i++) CHECK_STATUS(csk_workqueue_enqueue(queue, &works[i], note), 0);
    int64_t until_ns = csk_now() + least_ns;
    wait_until(csk_now() >= until_ns);
    CHECK_STATUS(csk_workqueue_resume(queue), 0);
    CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), 0);
    CHECK_EQ(counted("all of a line").spans.count, MOST);
    CHECK_EQ(counted("all of a line").runs.count, MOST);
    CHECK_GE(counted("all of a line").spans.sum_ns, MOST * least_ns);
    CHECK_EQ(stamped("all of a line"), 8);
    csk_workqueue_release(queue);
    csk_metrics_one_in = 1024;
}

TEST_MAIN(TEST(what_a_full_queue_refuses_is_counted), TEST(what_a_full_queue_drops_is_counted),
          TEST(what_finds_no_room_is_counted), TEST(what_comes_after_a_shutdown_is_counted),
          TEST(the_longest_line_is_known), TEST(the_longest_line_of_a_bounded_queue_is_its_bound_once_it_was_full),
          TEST(works_are_timed_from_the_call_to_their_end), TEST(whatever_becomes_of_a_timed_work_frees_its_stamp),
          TEST(a_queue_of_before_the_start_is_timed_once_it_was_sorted), TEST(one_work_in_many_counts_as_many),
          TEST(a_long_line_counts_as_long_as_it_is),
          TEST(queues_of_one_name_share_an_entry_and_those_without_have_none))
