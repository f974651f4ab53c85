/* rcu_watch_test.c: a read section that lasts, while memory or a barrier waits for it, is reported with its thread;
 * once, and once more when it has ended. No watch was begun for that. */
#include "child.h"

#include <csynckernel/csynckernel.h>

#include "base/platform.h"

static const int64_t limit_ns = 50000000;

/* What was reported last. The counts are raised last. Ends are kept apart: what tells of one is the reader's word in
 * liburcu, of which ThreadSanitizer doesn't know, so it may not be written where a test has read a begin. */
static csk_event_t last, last_end;
static char text[512];
static int begins, ends;

static void keep(const csk_event_t *event) {
    if (event->kind != CSK_EVENT_MEMORY_WAITS) return;
    if (event->status == 0) {
        last_end = *event;
        ADD(&ends, 1);
        return;
    }
    last = *event;
    snprintf(text, sizeof text, "%s", event->name != NULL ? event->name : "");
    ADD(&begins, 1);
}

static void begin(void) {
    csk_set_reporter(keep);
    STORE(&begins, 0);
    STORE(&ends, 0);
    CHECK_STATUS(csk_rcu_report_after(limit_ns), 0);
    CHECK(!csk_deadlock_is_watching());
}

/* More looks than would be needed for another report. */
static void let_time_pass(void) {
    int64_t until_ns = csk_deadline_after(3 * limit_ns);
    wait_until(csk_deadline_after(0) >= until_ns);
}

static void reclaim(csk_rcu_node_t *node) { ADD((int *)node->context, 1); }

/* ---- Readers ----------------------------------------------------------------------------------------------------- */

struct reader {
    void (*stay)(struct reader *);
    int leave, inside;
    int32_t thread_id;
};

static csk_gate_t gate;

static void stay_at_the_gate(struct reader *reader) {
    (void)reader;
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}
static void stay_awake(struct reader *reader) {
    while (!LOAD(&reader->leave)) {}
}
static void stay_asleep(struct reader *reader) { wait_until(LOAD(&reader->leave)); }

static void *read_once(void *context) {
    struct reader *reader = context;
    pthread_setname_np(pthread_self(), "test reader");
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    reader->thread_id = csk_platform_thread_id();
    STORE(&reader->inside, 1);
    reader->stay(reader);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    return NULL;
}

static pthread_t start_reader(struct reader *reader) {
    pthread_t thread = start_thread(read_once, reader);
    wait_until(LOAD(&reader->inside));
    return thread;
}

static void expect_reader(const struct reader *reader, const char *what_it_does) {
    char wanted[128];
    snprintf(wanted, sizeof wanted, "thread %d \"test reader\"%s", (int)reader->thread_id, what_it_does);
    CHECK_EQ(strncmp(text, wanted, strlen(wanted)), 0);
    CHECK(strchr(text, ';') == NULL);
    CHECK_EQ(last.thread_id, reader->thread_id);
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void a_section_that_lasts_is_reported_once_and_so_is_its_end(void) {
    begin();
    CHECK_STATUS(csk_gate_init(&gate, NULL), 0);
    CHECK_STATUS(csk_name(&gate, "sessions"), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    struct reader reader = { .stay = stay_at_the_gate };
    pthread_t thread = start_reader(&reader);
    int reclaimed = 0;
    csk_rcu_node_t nodes[3] = { { .context = &reclaimed }, { .context = &reclaimed }, { .context = &reclaimed } };
    for (int i = 0; i < 3; i++) CHECK_STATUS(csk_rcu_retire(&nodes[i], reclaim), 0);
    wait_until(LOAD(&begins) == 1);
    expect_reader(&reader, ", which waits for \"sessions\" at 0x");
    CHECK_STATUS(last.status, EBUSY);
    CHECK_GE(last.waited_ns, limit_ns);
    CHECK_EQ(last.rank, 3);
    let_time_pass();
    CHECK_EQ(LOAD(&begins), 1);
    CHECK_EQ(LOAD(&ends), 0);
    CHECK_EQ(LOAD(&reclaimed), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    wait_until(LOAD(&ends) == 1);
    CHECK_STATUS(last_end.status, 0);
    CHECK_GE(last_end.waited_ns, 4 * limit_ns);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(reclaimed, 3);
    join_thread(thread);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

static void *run_barrier(void *unused) {
    CHECK_STATUS(csk_rcu_barrier(), 0);
    return unused;
}

/* Each is a grace period of its own. A barrier alone waits too, and nothing is retired. */
static void each_that_lasts_is_reported(void) {
    begin();
    for (int i = 1; i <= 2; i++) {
        struct reader reader = { .stay = stay_awake };
        pthread_t thread = start_reader(&reader), waits = start_thread(run_barrier, NULL);
        wait_until(LOAD(&begins) == i);
        expect_reader(&reader, ", which runs");
        CHECK_EQ(last.rank, 0);
        STORE(&reader.leave, 1);
        join_thread(waits);
        join_thread(thread);
        wait_until(LOAD(&ends) == i);
    }
}

/* The phase changes once the grace period has begun. */
static void one_that_began_later_is_not_named(void) {
    begin();
    struct reader first = { .stay = stay_asleep }, later = { .stay = stay_asleep };
    pthread_t thread = start_reader(&first);
    unsigned long before = LOAD(&csk_rcu_period->phase);
    pthread_t waits = start_thread(run_barrier, NULL);
    wait_until(LOAD(&csk_rcu_period->phase) != before);
    pthread_t another = start_reader(&later);
    wait_until(LOAD(&begins) == 1);
    expect_reader(&first, "");
    STORE(&first.leave, 1);
    join_thread(waits);
    wait_until(LOAD(&ends) == 1);
    STORE(&later.leave, 1);
    join_thread(another);
    join_thread(thread);
    CHECK_STATUS(csk_rcu_barrier(), 0);
}

static void several_are_named_and_others_are_said_to_be_there(void) {
    begin();
    enum { READERS = 6 };
    struct reader readers[READERS];
    pthread_t threads[READERS];
    for (int i = 0; i < READERS; i++) {
        readers[i] = (struct reader){ .stay = stay_asleep };
        threads[i] = start_reader(&readers[i]);
    }
    pthread_t waits = start_thread(run_barrier, NULL);
    wait_until(LOAD(&begins) == 1);
    int named = 0;
    for (const char *at = text; (at = strstr(at, "\"test reader\"")) != NULL; at++) named++;
    CHECK_EQ(named, 4);
    CHECK(strstr(text, "; and others") != NULL);
    for (int i = 0; i < READERS; i++) STORE(&readers[i].leave, 1);
    join_thread(waits);
    for (int i = 0; i < READERS; i++) join_thread(threads[i]);
    wait_until(LOAD(&ends) == 1);
}

static void nothing_is_reported_where_that_is_not_wanted(void) {
    begin();
    CHECK_STATUS(csk_rcu_report_after(-1), EINVAL);
    CHECK_STATUS(csk_rcu_report_after(CSK_NEVER), 0);
    struct reader reader = { .stay = stay_asleep };
    pthread_t thread = start_reader(&reader), waits = start_thread(run_barrier, NULL);
    let_time_pass();
    STORE(&reader.leave, 1);
    join_thread(waits);
    join_thread(thread);
    CHECK_EQ(LOAD(&begins) + LOAD(&ends), 0);
}

static void a_new_limit_holds_for_the_present_one(void) {
    begin();
    CHECK_STATUS(csk_rcu_report_after(3600 * INT64_C(1000000000)), 0);
    struct reader reader = { .stay = stay_asleep };
    pthread_t thread = start_reader(&reader);
    unsigned long before = LOAD(&csk_rcu_period->phase);
    pthread_t waits = start_thread(run_barrier, NULL);
    wait_until(LOAD(&csk_rcu_period->phase) != before);
    CHECK_STATUS(csk_rcu_report_after(limit_ns), 0);
    wait_until(LOAD(&begins) == 1);
    expect_reader(&reader, "");
    STORE(&reader.leave, 1);
    join_thread(waits);
    join_thread(thread);
    wait_until(LOAD(&ends) == 1);
}

/* ---- Children ---------------------------------------------------------------------------------------------------- */

static void expect_the_forking_thread(void *unused) {
    (void)unused;
    begin();
    pthread_t waits = start_thread(run_barrier, NULL);
    wait_until(LOAD(&begins) == 1);
    CHECK_EQ(last.thread_id, getpid());
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    join_thread(waits);
    wait_until(LOAD(&ends) == 1);
    each_that_lasts_is_reported();
}

static void a_child_has_a_watch_of_its_own(void) {
    NOT_UNDER_TSAN();
    begin();
    struct reader reader = { .stay = stay_asleep };
    pthread_t thread = start_reader(&reader), waits = start_thread(run_barrier, NULL);
    wait_until(LOAD(&begins) == 1);
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    pid_t child = start_child(expect_the_forking_thread, NULL);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    CHECK_EQ(wait_for_child(child), 0);
    STORE(&reader.leave, 1);
    join_thread(waits);
    join_thread(thread);
    wait_until(LOAD(&ends) == 1);
}

/* Without a reporter a line says it. */
static void read_for_long(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_rcu_report_after(limit_ns), 0);
    struct reader reader = { .stay = stay_asleep };
    pthread_t thread = start_reader(&reader), waits = start_thread(run_barrier, NULL);
    char lines[1024];
    size_t length = 0;
    int pipe_ends[2];
    CHECK_EQ(pipe(pipe_ends), 0);
    CHECK_EQ(dup2(pipe_ends[1], STDERR_FILENO), STDERR_FILENO);
    for (int line = 0; line < 2; line++) {
        do CHECK_EQ(read(pipe_ends[0], &lines[length++], 1), 1);
        while (lines[length - 1] != '\n' && length < sizeof lines - 1);
        STORE(&reader.leave, 1);
    }
    lines[length] = 0;
    CHECK(strstr(lines, "csynckernel: reclaiming has waited for ") == lines);
    CHECK(strstr(lines, " s for read sections, with 0 retired nodes: thread ") != NULL);
    CHECK(strstr(lines, " \"test reader\"") != NULL);
    CHECK(strstr(lines, "\ncsynckernel: reclaiming goes on after ") != NULL);
    join_thread(waits);
    join_thread(thread);
}

static void lines_say_it(void) { in_a_child(read_for_long, NULL); }

TEST_MAIN(TEST(lines_say_it), TEST(a_section_that_lasts_is_reported_once_and_so_is_its_end),
          TEST(each_that_lasts_is_reported), TEST(one_that_began_later_is_not_named),
          TEST(several_are_named_and_others_are_said_to_be_there), TEST(nothing_is_reported_where_that_is_not_wanted),
          TEST(a_new_limit_holds_for_the_present_one), TEST(a_child_has_a_watch_of_its_own))
