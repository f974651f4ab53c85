/* clients_metrics.c: threads that start, stop, count and read the metrics at once. The table has two entries. */
#include "csynckernel/metrics.h"
#include "csynckernel/name.h"
#include "csynckernel/workqueue.h"

#include <errno.h>
#include <string.h>

#include "observe/metrics.h"
#include "explorer.h"
#include "pool/pool.h"

static csk_placed_gate_t *gates;
static const char *const names[] = { "one", "two", "three" };

static void make(void) {
    gates = explore_allocate(3 * sizeof *gates);
    for (int i = 0; i < 3; i++) csk_gate_set_place(&gates[i], (csk_place_t){ names[i], 0 });
}
static void start(void) { EXPECT_EQUAL(csk_metrics_start(), 0); }
static void make_started(void) {
    make();
    start();
}
static void count(int gate, int64_t waited_ns, int status) {
    csk_metrics_count(csk_metrics_find(&gates[gate], CSK_OBJECT_GATE), waited_ns, status);
}

typedef struct {
    int entries[3];
    uint64_t counts[3], all;
    int64_t sums_ns[3], longest_ns[3];
} found_t;

/* Whatever is read of an entry is that entry's. */
static void look(const csk_metrics_entry_t *entry, void *context) {
    found_t *found = context;
    if (entry->what == CSK_METRICS_TIMERS) return;
    int i = 0;
    while (i < 3 && strcmp(entry->name, names[i]) != 0) i++;
    EXPECT(i < 3);
    EXPECT_EQUAL(entry->object_kind, CSK_OBJECT_GATE);
    found->entries[i]++;
    found->counts[i] += entry->spans.count;
    found->all += entry->spans.count;
    found->sums_ns[i] += entry->spans.sum_ns;
    found->longest_ns[i] = entry->spans.longest_ns;
}
static found_t read_all(void) {
    found_t found = { .all = 0 };
    csk_metrics_read(look, &found);
    for (int i = 0; i < 3; i++) EXPECT(found.entries[i] <= 1);
    return found;
}

static void counts_five(void) { count(0, 5, 0); }
static void counts_seven(void) { count(0, 7, ETIMEDOUT); }
static void one_has_both(void) {
    found_t found = read_all();
    EXPECT_EQUAL(found.counts[0], 2);
    EXPECT_EQUAL(found.all, 2);
    EXPECT_EQUAL(found.sums_ns[0], 12);
    EXPECT_EQUAL(found.longest_ns[0], 7);
}

/* Two that come with one name at the same moment use one entry, and none of what they add is lost. */
CLIENT(metrics_one_name, .setup = make_started, .threads = { counts_five, counts_seven }, .check = one_has_both,
       .preemptions = 3)

static void counts_second(void) { count(1, 7, 0); }
static void both_have_their_own(void) {
    found_t found = read_all();
    EXPECT_EQUAL(found.counts[0], 1);
    EXPECT_EQUAL(found.counts[1], 1);
    EXPECT_EQUAL(found.sums_ns[0], 5);
    EXPECT_EQUAL(found.sums_ns[1], 7);
}
static void counts_first(void) { count(0, 5, 0); }
static void reads(void) {
    found_t first = read_all(), second = read_all();
    for (int i = 0; i < 3; i++) {
        EXPECT(second.entries[i] >= first.entries[i]);
        EXPECT(second.counts[i] >= first.counts[i]);
        EXPECT(second.sums_ns[i] >= first.sums_ns[i]);
    }
}

/* Two names never share an entry, and a reader sees no entry before it is whole. */
CLIENT(metrics_two_names_read, .setup = make_started, .threads = { counts_first, counts_second, reads },
       .check = both_have_their_own, .preemptions = 2)

static void counts_third(void) { count(2, 9, 0); }
static void one_is_lost(void) {
    EXPECT_EQUAL(read_all().all, 2);
    EXPECT_EQUAL(csk_metrics_lost(), 1);
}

/* Of three names one finds the table full, and that is counted. */
CLIENT(metrics_full, .setup = make_started, .threads = { counts_first, counts_second, counts_third },
       .check = one_is_lost, .preemptions = 2)

static void starts_and_counts_five(void) {
    start();
    counts_five();
}
static void starts_and_counts_seven(void) {
    start();
    counts_seven();
}

/* Of two starts one makes the table, which both count in. */
CLIENT(metrics_two_starts, .setup = make, .threads = { starts_and_counts_five, starts_and_counts_seven },
       .check = one_has_both, .preemptions = 3)

static void begins_and_ends_a_profile(void) {
    csk_counting_begin(CSK_COUNTS_PROFILE);
    csk_counting_end(CSK_COUNTS_PROFILE);
}
static void metrics_alone_are_on(void) {
    EXPECT(csk_metrics_is_running());
    EXPECT(!csk_is_counting(CSK_COUNTS_PROFILE));
}

/* The profile and the metrics have one word, and neither changes the other's bit. */
CLIENT(metrics_beside_profile, .setup = make, .threads = { start, begins_and_ends_a_profile },
       .check = metrics_alone_are_on, .preemptions = 3)

/* ---- Works that carry the time ----------------------------------------------------------------------------------- */

enum { JOBS = 3, STAMPS = 8 };
static struct {
    csk_workqueue_t queue;
    csk_work_t works[JOBS];
    uint32_t accepted, ran, refused, cancelled;
} * shared;

/* Each work carries the time. */
static void make_queue(void) {
    shared = explore_allocate(sizeof *shared);
    start();
    csk_metrics_one_in = 1;
    EXPECT_EQUAL(csk_workqueue_init(&shared->queue, &(csk_workqueue_attr_t){ .name = "works" }), 0);
    EXPECT_EQUAL(csk_pool_prepare(), 0);
}
static void job(csk_work_t *work, int status) {
    (void)work;
    __atomic_fetch_add(status == 0 ? &shared->ran : &shared->refused, 1, __ATOMIC_RELAXED);
}
static void queue_job(int index) {
    int status = csk_workqueue_enqueue(&shared->queue, &shared->works[index], job);
    EXPECT(status == 0 || status == ESHUTDOWN);
    if (status == 0) __atomic_fetch_add(&shared->accepted, 1, __ATOMIC_RELAXED);
}
static void queues_and_cancels(void) {
    queue_job(0);
    if (csk_workqueue_cancel(&shared->queue, &shared->works[0]) == 0)
        __atomic_fetch_add(&shared->cancelled, 1, __ATOMIC_RELAXED);
}
static void queues_another(void) { queue_job(1); }
static void shuts_down(void) { csk_workqueue_shutdown(&shared->queue, true); }

static void look_at_works(const csk_metrics_entry_t *entry, void *context) {
    if (entry->what == CSK_METRICS_WORKS) *(csk_metrics_entry_t *)context = *entry;
}
/* Whatever became of a work, it has given its stamp back, and what ran is counted. */
static void all_stamps_are_back(void) {
    csk_metrics_entry_t entry = { .what = 0 };
    static const char others[STAMPS + 1];
    EXPECT_EQUAL(shared->ran + shared->refused + shared->cancelled, shared->accepted);
    csk_metrics_read(look_at_works, &entry);
    EXPECT_EQUAL(entry.runs.count, shared->ran);
    EXPECT_EQUAL(entry.spans.count, shared->ran);
    EXPECT_EQUAL(entry.dropped, shared->refused);
    for (int i = 0; i <= STAMPS; i++) EXPECT(csk_metrics_stamp("works", &others[i]));
    for (int i = 0; i <= STAMPS; i++) EXPECT_EQUAL(csk_metrics_take_stamp("works", &others[i]) != 0, i < STAMPS);
}

CLIENT(metrics_timed_works, .setup = make_queue, .threads = { queues_and_cancels, queues_another },
       .check = all_stamps_are_back)
CLIENT(metrics_timed_works_shut, .setup = make_queue, .threads = { queues_another, shuts_down },
       .check = all_stamps_are_back, .preemptions = 1)
