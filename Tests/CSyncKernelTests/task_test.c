/* task_test.c: tasks that wait at objects of their runtime's are shown, named and counted. task_holder_test.c has those
 * that have such an object. */
#include "task_fixture.h"

static char pool;

static void nobody_is_told_unless_somebody_asks(void) {
    CHECK(!csk_task_waits_are_told());
    csk_inspect_callbacks(true);
    CHECK(csk_task_waits_are_told());
    csk_inspect_callbacks(false);
    CHECK(!csk_task_waits_are_told());
    CHECK_STATUS(csk_metrics_start(), 0);
    CHECK(csk_task_waits_are_told());
    csk_metrics_stop();
    CHECK_STATUS(csk_profile_start(1000), 0);
    CHECK(csk_task_waits_are_told());
    csk_profile_stop();
    CHECK(!csk_task_waits_are_told());
}

static void a_task_is_shown_with_its_name_and_what_it_waits_for(void) {
    csk_inspect_callbacks(true);
    csk_task_wait_t first = wait_at_queue(0x1000, "reader"), second = wait_at_queue(0x2000, NULL);
    second.deadline_ns = csk_now() + INT64_C(60000000000);
    csk_task_wait_begin(&first);
    csk_task_wait_begin(&second);
    const csk_inspected_object_t *seen = look_for(&queue, CSK_OBJECT_FIFO_QUEUE);
    CHECK(seen != NULL);
    CHECK_EQ(strcmp(seen->name, "Test/uploads.swift:12"), 0);
    CHECK_EQ(seen->waiter_count, 2);
    CHECK_EQ(seen->waiting, 2);
    CHECK(seen->since_ns != 0);
    const csk_inspected_waiter_t *at = &waiters[seen->first_waiter];
    CHECK_EQ(at[0].task, 0x1000);
    CHECK_EQ(strcmp(at[0].task_name, "reader"), 0);
    CHECK_EQ(at[0].waits_for, CSK_WAITS_FOR_TURN);
    CHECK_EQ(at[0].kind, CSK_WAITER_CALLBACK);
    CHECK(at[0].deadline_ns == CSK_NEVER && at[0].since_ns <= at[1].since_ns && at[0].since_ns != 0);
    CHECK_EQ(at[1].task, 0x2000);
    CHECK(at[1].task_name[0] == 0 && at[1].deadline_ns != CSK_NEVER);
    csk_task_wait_end(&first, 0);
    seen = look_for(&queue, CSK_OBJECT_FIFO_QUEUE);
    CHECK(seen != NULL && seen->waiter_count == 1 && waiters[seen->first_waiter].task == 0x2000);
    csk_task_wait_end(&second, ETIMEDOUT);
    CHECK(look_for(&queue, CSK_OBJECT_FIFO_QUEUE) == NULL);
    csk_inspect_callbacks(false);
}

static void tasks_stand_by_rank_and_ticket(void) {
    csk_inspect_callbacks(true);
    csk_task_wait_t waits[3];
    for (int i = 0; i < 3; i++) {
        waits[i] = wait_at_queue((uint64_t)(i + 1) << 12, NULL);
        waits[i].object = &pool;
        waits[i].object_kind = CSK_OBJECT_RESOURCE_POOL;
        waits[i].waits_for = CSK_WAITS_FOR_RESOURCE;
        waits[i].rank = csk_rank(i == 2 ? 8 : 0, CSK_PLACE_BACK);
        waits[i].ticket = 9 - i;
        csk_task_wait_begin(&waits[i]);
    }
    const csk_inspected_object_t *seen = look_for(&pool, CSK_OBJECT_RESOURCE_POOL);
    CHECK(seen != NULL && seen->waiter_count == 3);
    const csk_inspected_waiter_t *at = &waiters[seen->first_waiter];
    CHECK(at[0].task == 0x3000 && at[1].task == 0x2000 && at[2].task == 0x1000);
    for (int i = 0; i < 3; i++) csk_task_wait_end(&waits[i], 0);
    csk_inspect_callbacks(false);
}

static bool is_over(const void *waiter) { return *(const bool *)waiter; }

static void a_wait_that_is_over_is_not_shown(void) {
    csk_inspect_callbacks(true);
    bool over = false;
    csk_task_wait_t wait = wait_at_queue(0x1000, NULL);
    wait.waiter = &over;
    wait.is_over = is_over;
    csk_task_wait_begin(&wait);
    CHECK(look_for(&queue, CSK_OBJECT_FIFO_QUEUE) != NULL);
    over = true;
    CHECK(look_for(&queue, CSK_OBJECT_FIFO_QUEUE) == NULL);
    csk_task_wait_end(&wait, 0);
    csk_inspect_callbacks(false);
}

/* Each is asked whether it is over. */
static uint32_t asked;
static bool count_question(const void *waiter) {
    (void)waiter;
    asked++;
    return false;
}
/* Those of one task stand in one list, whose lock a view has while it reads. */
static void a_view_of_a_long_list_of_tasks_ends_and_says_so(void) {
    enum { MANY = 6000, READ = 4096 };
    csk_task_wait_t *waits = calloc(MANY, sizeof *waits);
    csk_inspect_callbacks(true);
    for (int i = 0; i < MANY; i++) {
        waits[i] = wait_at_queue(0x5000, NULL);
        waits[i].waiter = &waits[i];
        waits[i].is_over = count_question;
        csk_task_wait_begin(&waits[i]);
    }
    const csk_inspected_object_t *seen = look_for(&queue, CSK_OBJECT_FIFO_QUEUE);
    CHECK_LE(asked, READ);
    CHECK_EQ(seen->waiting, asked);
    CHECK_EQ(seen->waiter_count, WAITERS);
    CHECK_EQ(view.list_busy, 1);
    static text_t printed;
    CHECK_STATUS(csk_inspect_print(&view, CSK_INSPECT_TEXT, collect, &printed), 0);
    CHECK(strstr(printed.text, "busy: more threads, callbacks or tasks may wait") != NULL);
    for (int i = 2000; i < MANY; i++) csk_task_wait_end(&waits[i], 0);
    asked = 0;
    seen = look_for(&queue, CSK_OBJECT_FIFO_QUEUE);
    if (!view.list_busy) CHECK_EQ(asked, 2000);
    for (int i = 0; i < 2000; i++) csk_task_wait_end(&waits[i], 0);
    CHECK(look_for(&queue, CSK_OBJECT_FIFO_QUEUE) == NULL);
    CHECK_EQ(view.list_busy, 0);
    csk_inspect_callbacks(false);
    free(waits);
}

static void nothing(csk_waiter_t *waiter, void *context, int status) { (void)waiter, (void)context, (void)status; }

static void a_task_at_an_object_of_the_kernel_has_its_name(void) {
    csk_inspect_callbacks(true);
    csk_sem_t sem;
    csk_waiter_t waiter = { 0 };
    CHECK_STATUS(csk_sem_init(&sem, 0, 1), 0);
    csk_task_wait_t name = { .task = 0x7000, .task_name = "writer" };
    csk_task_wait_begin(&name);
    csk_deadlock_suspend(0x7000);
    CHECK_STATUS(csk_sem_wait_async(&sem, 0, &waiter, 1, CSK_NEVER, nothing, NULL), 0);
    csk_deadlock_suspend(0);
    const csk_inspected_object_t *seen = look_for(&sem, CSK_OBJECT_SEM);
    CHECK(seen != NULL && seen->waiter_count == 1);
    CHECK_EQ(waiters[seen->first_waiter].task, 0x7000);
    CHECK_EQ(strcmp(waiters[seen->first_waiter].task_name, "writer"), 0);
    CHECK_STATUS(csk_sem_cancel(&sem, &waiter), 0);
    csk_task_wait_end(&name, ECANCELED);
    CHECK_STATUS(csk_sem_destroy(&sem), 0);
    csk_inspect_callbacks(false);
}

static bool takes_all_time(const void *waiter) {
    (void)waiter;
    for (int64_t end_ns = csk_now() + 60000000; csk_now() < end_ns;) {}
    return false;
}
/* It looked like a task without a name. */
static void a_view_that_had_no_time_for_the_name_of_a_task_says_so(void) {
    csk_inspect_callbacks(true);
    csk_sem_t sem;
    csk_waiter_t waiter = { 0 };
    CHECK_STATUS(csk_sem_init(&sem, 0, 1), 0);
    csk_task_wait_t name = { .task = 0x7000, .task_name = "writer" }, slow = wait_at_queue(0x1000, NULL);
    slow.waiter = &slow;
    slow.is_over = takes_all_time;
    csk_task_wait_begin(&name);
    csk_task_wait_begin(&slow);
    csk_deadlock_suspend(0x7000);
    CHECK_STATUS(csk_sem_wait_async(&sem, 0, &waiter, 1, CSK_NEVER, nothing, NULL), 0);
    csk_deadlock_suspend(0);
    const csk_inspected_object_t *seen = look_for(&sem, CSK_OBJECT_SEM);
    CHECK(seen != NULL && seen->waiter_count == 1);
    CHECK_EQ(waiters[seen->first_waiter].task_name[0], 0);
    CHECK_EQ(view.list_busy, 1);
    CHECK_STATUS(csk_sem_cancel(&sem, &waiter), 0);
    csk_task_wait_end(&slow, ECANCELED);
    csk_task_wait_end(&name, ECANCELED);
    CHECK_STATUS(csk_sem_destroy(&sem), 0);
    csk_inspect_callbacks(false);
}

static void waits_are_counted_by_the_metrics(void) {
    CHECK_STATUS(csk_metrics_start(), 0);
    csk_task_wait_t waits[3];
    for (int i = 0; i < 3; i++) {
        waits[i] = wait_at_queue((uint64_t)(i + 1) << 12, NULL);
        csk_task_wait_begin(&waits[i]);
    }
    csk_task_wait_t uncounted = wait_at_queue(0x9000, NULL);
    uncounted.is_not_counted = 1;
    csk_task_wait_begin(&uncounted);
    csk_task_wait_end(&uncounted, 0);
    csk_task_wait_t holds = wait_at_queue(0x9000, NULL);
    holds.has_object = 1;
    csk_task_wait_begin(&holds);
    csk_task_wait_end(&holds, 0);
    csk_task_wait_end(&waits[0], 0);
    csk_task_wait_end(&waits[1], ETIMEDOUT);
    csk_task_wait_end(&waits[2], ECANCELED);
    metered_t metered = { .found = { .what = 0 } };
    csk_metrics_read(find_queue, &metered);
    CHECK_EQ(metered.found.what, CSK_METRICS_WAITS);
    CHECK_EQ(strcmp(metered.found.name, "Test/uploads.swift:12"), 0);
    CHECK(metered.found.granted == 1 && metered.found.timed_out == 1 && metered.found.refused == 1);
    CHECK_EQ(metered.found.spans.count, 3);
    CHECK(metered.found.spans.longest_ns > 0);
    csk_metrics_stop();
}

typedef struct {
    int entries;
    int64_t delay_ns;
    uint32_t depth;
} profiled_t;

static void find_uploads(const csk_profile_entry_t *entry, void *context) {
    profiled_t *profiled = context;
    if (entry->name == NULL || strcmp(entry->name, "Test/uploads.swift:12") != 0) return;
    CHECK_EQ(entry->side, CSK_PROFILE_WAITED);
    CHECK_EQ(entry->waiter, CSK_PROFILE_CALLBACK);
    profiled->entries++;
    profiled->delay_ns += entry->delay_ns;
    profiled->depth = entry->depth;
}

static void waits_are_in_the_profile_with_the_contexts_of_the_task(void) {
    /* Two functions that await each other: each context has the address of the caller's, and where that goes on. */
    static const uintptr_t outer[2] = { 0, 0x4000 };
    static const uintptr_t inner[2] = { (uintptr_t)outer, 0x5000 };
    CHECK_STATUS(csk_profile_start(1), 0);
    csk_task_wait_t wait = wait_at_queue(0x1000, NULL);
    wait.context = inner;
    csk_task_wait_begin(&wait);
    csk_task_wait_end(&wait, 0);
    csk_profile_stop();
    profiled_t profiled = { 0, 0, 0 };
    csk_profile_read(find_uploads, &profiled);
    CHECK_EQ(profiled.entries, 1);
    CHECK(profiled.delay_ns > 0);
    CHECK_EQ(profiled.depth, 2);
}

static void *begins_and_ends(void *context) {
    bool *stop = context;
    csk_task_wait_t waits[8];
    uint64_t task = (uint64_t)csk_thread_id() << 16;
    while (!LOAD(stop)) {
        for (int i = 0; i < 8; i++) {
            char *name = strdup("a name that goes");
            waits[i] = wait_at_queue(task + (uint64_t)i, name);
            csk_task_wait_begin(&waits[i]);
        }
        for (int i = 0; i < 8; i++) {
            char *name = (char *)(uintptr_t)waits[i].task_name;
            csk_task_wait_end(&waits[i], 0);
            memset(name, 'x', strlen(name));
            free(name);
        }
    }
    return NULL;
}

static void a_view_never_reads_a_wait_that_has_ended(void) {
    csk_inspect_callbacks(true);
    bool stop = false;
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) threads[i] = start_thread(begins_and_ends, &stop);
    int seen = 0;
    for (int round = 0; seen < 200 && round < 20000; round++) {
        const csk_inspected_object_t *object = look_for(&queue, CSK_OBJECT_FIFO_QUEUE);
        if (object == NULL) continue;
        seen++;
        for (uint32_t i = 0; i < object->waiter_count; i++)
            CHECK_EQ(strcmp(waiters[object->first_waiter + i].task_name, "a name that goes"), 0);
    }
    STORE(&stop, true);
    for (int i = 0; i < 3; i++) join_thread(threads[i]);
    CHECK(look_for(&queue, CSK_OBJECT_FIFO_QUEUE) == NULL);
    csk_inspect_callbacks(false);
}

static csk_task_wait_t of_parent;

static void ends_the_parents_wait(void *context) {
    (void)context;
    CHECK(look_for(&queue, CSK_OBJECT_FIFO_QUEUE) == NULL);
    csk_task_wait_t own = wait_at_queue(0x1000, "of the child");
    csk_task_wait_begin(&own);
    csk_task_wait_end(&of_parent, 0);
    const csk_inspected_object_t *seen = look_for(&queue, CSK_OBJECT_FIFO_QUEUE);
    CHECK(seen != NULL && seen->waiter_count == 1);
    CHECK_EQ(strcmp(waiters[seen->first_waiter].task_name, "of the child"), 0);
    csk_task_wait_end(&own, 0);
}

static void a_child_of_fork_has_its_own_waits_alone(void) {
    csk_inspect_callbacks(true);
    of_parent = wait_at_queue(0x1000, "of the parent");
    csk_task_wait_begin(&of_parent);
    in_a_child(ends_the_parents_wait, NULL);
    CHECK(look_for(&queue, CSK_OBJECT_FIFO_QUEUE) != NULL);
    csk_task_wait_end(&of_parent, 0);
    csk_inspect_callbacks(false);
}

static void add_up(const csk_metrics_entry_t *entry, void *context) {
    if (entry->object_kind == CSK_OBJECT_FIFO_QUEUE) *(uint64_t *)context += entry->granted;
}
static void add_contentions(const csk_profile_entry_t *entry, void *context) {
    *(double *)context += entry->contentions;
}
/* By the metrics, and by the profile. */
static uint64_t metered(void) {
    uint64_t granted = 0;
    csk_metrics_read(add_up, &granted);
    return granted;
}
static double profiled(void) {
    double contentions = 0;
    csk_profile_read(add_contentions, &contentions);
    return contentions;
}
/* Where the system does not wipe them (metrics.h) the parent's counts are there. */
static void ends_the_parents_counted_wait(void *context) {
    (void)context;
    uint64_t granted = metered();
    double contentions = profiled();
    csk_task_wait_end(&of_parent, 0);
    CHECK(metered() == granted && profiled() == contentions);
    csk_task_wait_t own = wait_at_queue(0x1000, NULL);
    csk_task_wait_begin(&own);
    csk_task_wait_end(&own, 0);
    CHECK(metered() == granted + 1 && profiled() == contentions + 1);
}
static void a_wait_that_began_before_a_fork_is_counted_in_the_parent_alone(void) {
    CHECK_STATUS(csk_metrics_start(), 0);
    CHECK_STATUS(csk_profile_start(1), 0);
    uint64_t granted = metered();
    double contentions = profiled();
    of_parent = wait_at_queue(0x1000, NULL);
    csk_task_wait_begin(&of_parent);
    in_a_child(ends_the_parents_counted_wait, NULL);
    csk_profile_stop();
    csk_metrics_stop();
    csk_task_wait_end(&of_parent, 0);
    CHECK(metered() == granted + 1 && profiled() == contentions + 1);
}

/* A name stays on one line, and is cut between two characters. */
static void names_of_tasks_stay_on_one_line(void) {
    char name[200];
    memset(name, 'x', sizeof name);
    memcpy(name, "a\nb\tc\x7f", 6);
    memcpy(name + CSK_INSPECT_TASK_NAME - 3, "\xe2\x82\xac", 3); /* a character of which two bytes have room */
    name[199] = 0;
    csk_inspect_callbacks(true);
    csk_task_wait_t wait = wait_at_queue(0, name);
    csk_task_wait_begin(&wait);
    const csk_inspected_object_t *seen = look_for(&queue, CSK_OBJECT_FIFO_QUEUE);
    const char *shown = waiters[seen->first_waiter].task_name;
    CHECK_EQ(strlen(shown), CSK_INSPECT_TASK_NAME - 3);
    CHECK(memcmp(shown, "a b c ", 6) == 0);
    csk_task_wait_end(&wait, 0);
    memcpy(name + CSK_INSPECT_TASK_NAME - 4, "\xe2\x82\xac", 3); /* it just has room */
    wait = wait_at_queue(0, name);
    csk_task_wait_begin(&wait);
    seen = look_for(&queue, CSK_OBJECT_FIFO_QUEUE);
    CHECK_EQ(strlen(waiters[seen->first_waiter].task_name), CSK_INSPECT_TASK_NAME - 1);
    csk_task_wait_end(&wait, 0);
    csk_inspect_callbacks(false);
}

static void tasks_are_printed_as_text_and_as_json(void) {
    static text_t printed;
    csk_inspect_callbacks(true);
    csk_task_wait_t wait = wait_at_queue(0xabc0, "a \"reader\""), work = wait_at_queue(0, "a work"),
                    holds = wait_at_queue(0, "a step");
    holds.has_object = 1;
    csk_task_wait_begin(&wait);
    csk_task_wait_begin(&work);
    csk_task_wait_begin(&holds);
    CHECK_STATUS(csk_inspect_print(NULL, CSK_INSPECT_TEXT, collect, &printed), 0);
    CHECK(strstr(printed.text, "FIFO queue ") != NULL);
    CHECK(strstr(printed.text, "\"Test/uploads.swift:12\", held by task \"a step\", its work has run for ") != NULL);
    CHECK(strstr(printed.text, "; 2 wait") != NULL);
    CHECK(strstr(printed.text, "waits for its turn as task 0xabc0 \"a \"reader\"\"") != NULL);
    CHECK(strstr(printed.text, "waits for its turn \"a work\"") != NULL);
    printed.used = 0;
    CHECK_STATUS(csk_inspect_print(NULL, CSK_INSPECT_JSON, collect, &printed), 0);
    CHECK(strstr(printed.text, "\"kind\":\"fifo_queue\"") != NULL);
    CHECK(strstr(printed.text, "\"for\":\"turn\"") != NULL);
    CHECK(strstr(printed.text, "\"task\":\"0xabc0\",\"task_name\":\"a \\\"reader\\\"\"") != NULL);
    CHECK(strstr(printed.text, "\"holder\":{\"kind\":\"task\",\"count\":1,\"task_name\":\"a step\"}") != NULL);
    csk_task_wait_end(&wait, 0);
    csk_task_wait_end(&work, 0);
    csk_task_wait_end(&holds, 0);
    csk_inspect_callbacks(false);
}

TEST_MAIN(TEST(a_child_of_fork_has_its_own_waits_alone), TEST(nobody_is_told_unless_somebody_asks),
          TEST(a_task_is_shown_with_its_name_and_what_it_waits_for), TEST(tasks_stand_by_rank_and_ticket),
          TEST(a_wait_that_is_over_is_not_shown), TEST(a_view_of_a_long_list_of_tasks_ends_and_says_so),
          TEST(a_task_at_an_object_of_the_kernel_has_its_name),
          TEST(a_view_that_had_no_time_for_the_name_of_a_task_says_so), TEST(waits_are_counted_by_the_metrics),
          TEST(waits_are_in_the_profile_with_the_contexts_of_the_task), TEST(a_view_never_reads_a_wait_that_has_ended),
          TEST(a_wait_that_began_before_a_fork_is_counted_in_the_parent_alone), TEST(names_of_tasks_stay_on_one_line),
          TEST(tasks_are_printed_as_text_and_as_json))
