/* task_holder_test.c: tasks that have an object of their runtime's are shown as its holders, and pass it on. */
#include "task_fixture.h"

/* What has the object and what waits for it are told in the same way. */
static void a_task_that_has_an_object_is_its_holder(void) {
    csk_inspect_callbacks(true);
    csk_task_wait_t holds = wait_at_queue(0, "resize"), waits = wait_at_queue(0, "upload"), also = holds;
    holds.has_object = also.has_object = 1;
    csk_task_wait_begin(&holds);
    csk_task_wait_begin(&waits);
    const csk_inspected_object_t *seen = look_for(&queue, CSK_OBJECT_FIFO_QUEUE);
    CHECK(seen != NULL && seen->waiter_count == 1 && seen->waiting == 1);
    CHECK(seen->holder.kind == CSK_HELD_BY_TASK && seen->holder.count == 1 && seen->holder.task == 0);
    CHECK_EQ(strcmp(seen->holder.task_name, "resize"), 0);
    CHECK(seen->running_ns == holds.since_ns && seen->running_ns != 0);
    CHECK_EQ(strcmp(waiters[seen->first_waiter].task_name, "upload"), 0);
    also.task_name = "another";
    csk_task_wait_begin(&also);
    seen = look_for(&queue, CSK_OBJECT_FIFO_QUEUE);
    CHECK(seen->holder.count == 2 && seen->running_ns == holds.since_ns);
    csk_task_wait_end(&also, 0);
    csk_task_wait_end(&waits, 0);
    seen = look_for(&queue, CSK_OBJECT_FIFO_QUEUE);
    CHECK(seen != NULL && seen->waiting == 0 && seen->holder.kind == CSK_HELD_BY_TASK);
    csk_task_wait_end(&holds, 0);
    CHECK(look_for(&queue, CSK_OBJECT_FIFO_QUEUE) == NULL);
    csk_inspect_callbacks(false);
}

/* Work that is no task passes its object on: the one that waited has it, and its wait was counted. */
static void what_passes_its_object_on_has_ended(void) {
    CHECK_STATUS(csk_metrics_start(), 0);
    csk_inspect_callbacks(true);
    csk_task_wait_t works[3];
    for (int i = 0; i < 3; i++) {
        works[i] = wait_at_queue(0, (const char *[]){ "one", "two", "three" }[i]);
        works[i].has_object = i == 0;
        works[i].ticket = i + 1;
        csk_task_wait_begin(&works[i]);
    }
    int64_t began_ns = works[1].since_ns;
    csk_task_wait_pass(&works[0], &works[1]);
    CHECK(works[1].has_object && works[1].since_ns >= began_ns);
    const csk_inspected_object_t *seen = look_for(&queue, CSK_OBJECT_FIFO_QUEUE);
    CHECK(seen != NULL && seen->holder.kind == CSK_HELD_BY_TASK && seen->holder.count == 1);
    CHECK_EQ(strcmp(seen->holder.task_name, "two"), 0);
    CHECK(seen->waiting == 1 && strcmp(waiters[seen->first_waiter].task_name, "three") == 0);
    csk_task_wait_pass(NULL, &works[2]); /* of the one before nobody was told */
    CHECK_EQ(look_for(&queue, CSK_OBJECT_FIFO_QUEUE)->holder.count, 2);
    csk_task_wait_end(&works[1], 0);
    csk_task_wait_end(&works[2], 0);
    CHECK(look_for(&queue, CSK_OBJECT_FIFO_QUEUE) == NULL);
    metered_t metered = { .found = { .what = 0 } };
    csk_metrics_read(find_queue, &metered);
    CHECK(metered.found.granted == 2 && metered.found.refused == 0 && metered.found.spans.count == 2);
    csk_inspect_callbacks(false);
    csk_metrics_stop();
}

/* While the list is switched on and off, and behind a fork. */
static csk_task_wait_t passed_first, passed_second;
static void passes_in_child(void *unused) {
    (void)unused;
    csk_inspect_callbacks(true);
    csk_task_wait_pass(&passed_first, &passed_second);
    const csk_inspected_object_t *seen = look_for(&queue, CSK_OBJECT_FIFO_QUEUE);
    CHECK(seen != NULL && seen->holder.count == 1 && seen->waiting == 0);
    csk_task_wait_end(&passed_second, 0);
    CHECK(look_for(&queue, CSK_OBJECT_FIFO_QUEUE) == NULL);
}
static void an_object_is_passed_on_whoever_was_told(void) {
    for (int round = 0; round < 8; round++) {
        csk_task_wait_t first = wait_at_queue(0, "first"), second = wait_at_queue(0, "second");
        first.has_object = 1;
        if (round & 1) csk_inspect_callbacks(true);
        csk_task_wait_begin(&first);
        if (round & 1) csk_inspect_callbacks(false);
        if (round & 2) csk_inspect_callbacks(true);
        csk_task_wait_begin(&second);
        if (round & 2) csk_inspect_callbacks(false);
        if (round & 4) csk_inspect_callbacks(true);
        csk_task_wait_pass(&first, &second);
        const csk_inspected_object_t *seen = look_for(&queue, CSK_OBJECT_FIFO_QUEUE);
        CHECK((seen != NULL) == ((round & (2 | 4)) != 0)); /* what is listed stays so until it ends */
        if (seen != NULL) CHECK(strcmp(seen->holder.task_name, "second") == 0 && seen->waiting == 0);
        csk_task_wait_end(&second, 0);
        if (round & 4) csk_inspect_callbacks(false);
        CHECK(look_for(&queue, CSK_OBJECT_FIFO_QUEUE) == NULL);
    }
    passed_first = passed_second = wait_at_queue(0, "of the parent");
    passed_first.has_object = 1;
    csk_task_wait_begin(&passed_first);
    csk_task_wait_begin(&passed_second);
    in_a_child(passes_in_child, NULL);
    csk_task_wait_end(&passed_first, 0);
    csk_task_wait_end(&passed_second, 0);
}

/* The work that has an object is seen however many wait behind it, and those that have waited longest. */
static void the_beginning_of_a_long_list_says_most(void) {
    enum { MANY = 6000 };
    csk_task_wait_t *waits = calloc(MANY, sizeof *waits);
    csk_inspect_callbacks(true);
    for (int i = 0; i < MANY; i++) {
        waits[i] = wait_at_queue(0, i == 1 ? "second" : "another");
        waits[i].ticket = i + 1;
        csk_task_wait_begin(&waits[i]);
    }
    waits[0].task_name = "first";
    csk_task_wait_pass(NULL, &waits[0]);
    const csk_inspected_object_t *seen = look_for(&queue, CSK_OBJECT_FIFO_QUEUE);
    CHECK(seen != NULL && view.list_busy);
    CHECK_EQ(strcmp(seen->holder.task_name, "first"), 0);
    CHECK_EQ(strcmp(waiters[seen->first_waiter].task_name, "second"), 0);
    for (int i = 0; i < MANY; i++) csk_task_wait_end(&waits[i], 0);
    CHECK(look_for(&queue, CSK_OBJECT_FIFO_QUEUE) == NULL);
    csk_inspect_callbacks(false);
    free(waits);
}

static void nothing(csk_waiter_t *waiter, void *context, int status) { (void)waiter, (void)context, (void)status; }
/* A task that has the permit of a semaphore, and waits elsewhere: its name is told there. */
static void who_has_a_semaphore_and_waits_elsewhere_is_named(void) {
    csk_inspect_callbacks(true);
    static csk_held_sem_t held;
    csk_sem_t *sem = &held.placed.sem;
    csk_waiter_t waiter = { 0 };
    CHECK_STATUS(csk_sem_init(sem, 0, 1), 0);
    csk_held_sem_begin(&held);
    csk_sem_set_holder(sem, 0x7000);
    csk_task_wait_t elsewhere = wait_at_queue(0x7000, "writer");
    csk_task_wait_begin(&elsewhere);
    CHECK_STATUS(csk_sem_wait_async(sem, 0, &waiter, 1, CSK_NEVER, nothing, NULL), 0);
    const csk_inspected_object_t *seen = look_for(sem, CSK_OBJECT_SEM);
    CHECK(seen != NULL && seen->holder.kind == CSK_HELD_BY_TASK && seen->holder.task == 0x7000);
    CHECK_EQ(strcmp(seen->holder.task_name, "writer"), 0);
    csk_task_wait_end(&elsewhere, 0);
    CHECK_EQ(look_for(sem, CSK_OBJECT_SEM)->holder.task_name[0], 0);
    CHECK_STATUS(csk_sem_cancel(sem, &waiter), 0);
    CHECK_STATUS(csk_sem_destroy(sem), 0);
    csk_inspect_callbacks(false);
}

TEST_MAIN(TEST(a_task_that_has_an_object_is_its_holder), TEST(what_passes_its_object_on_has_ended),
          TEST(an_object_is_passed_on_whoever_was_told), TEST(the_beginning_of_a_long_list_says_most),
          TEST(who_has_a_semaphore_and_waits_elsewhere_is_named))
