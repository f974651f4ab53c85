/* profile_callback_test.c: the profile counts entries that wait as callbacks by who queued them, with that one's stack.
 * A child of fork begins to count anew. */
#include <csynckernel/csynckernel.h>

#include "observe/stack.h"
#include "child.h"

static csk_gate_t gate = CSK_GATE_INITIALIZER;

static void hold(void) {
    int64_t until_ns = csk_platform_now() + 200000;
    while (csk_platform_now() < until_ns) csk_platform_park(&(uint32_t){ 0 }, 0, until_ns);
}

static void leave(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    CHECK_EQ(status, 0);
    ADD((int *)context, 1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}

static void find_callback(const csk_profile_entry_t *entry, void *context) {
    if (entry->waiter == CSK_PROFILE_CALLBACK && entry->side == CSK_PROFILE_WAITED && entry->priority == 42)
        *(csk_profile_entry_t *)context = *entry;
}

static void callbacks_are_counted_by_who_queued_them(void) {
    csk_waiter_t waiter = { 0 };
    CHECK_STATUS(csk_name(&gate, "of callbacks"), 0);
    csk_profile_entry_t found = { 0 };
    int calls = 0;
    CHECK_STATUS(csk_profile_start(1), 0);
    CHECK(csk_profile_is_running());
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_gate_lock_async(&gate, 42, &waiter, CSK_NEVER, leave, &calls), 0);
    hold();
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    csk_profile_stop();
    CHECK_EQ(calls, 1);
    csk_profile_read(find_callback, &found);
    CHECK(found.contentions == 1 && found.delay_ns > 100000 && found.depth > 1);
    CHECK(strcmp(found.name, "of callbacks") == 0);
    csk_unname(&gate);
}

static void find_of_priority_41(const csk_profile_entry_t *entry, void *sum) {
    if (entry->priority == 41 && entry->side == CSK_PROFILE_WAITED) *(double *)sum += entry->contentions;
}
static double waits_of_priority_41(void) {
    double sum = 0;
    csk_profile_read(find_of_priority_41, &sum);
    return sum;
}
static void wait_at_priority_41(void) {
    csk_waiter_t waiter = { 0 };
    int calls = 0;
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_gate_lock_async(&gate, 41, &waiter, CSK_NEVER, leave, &calls), 0);
    hold();
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_EQ(calls, 1);
}
static void counts_from_nothing(void *unused) {
    (void)unused;
    CHECK(csk_profile_is_running());
    CHECK(waits_of_priority_41() == 0);
    wait_at_priority_41();
    CHECK(waits_of_priority_41() == 1);
}

static void a_child_of_fork_counts_from_nothing(void) {
    CHECK_STATUS(csk_profile_start(1), 0);
    for (int i = 0; i < 2; i++) wait_at_priority_41();
    in_a_child(counts_from_nothing, NULL);
    CHECK(waits_of_priority_41() == 2);
    csk_profile_stop();
}

/* A task of a language is a chain of contexts, here of three. */
static void suspended_tasks_have_the_stack_of_their_contexts(void) {
    typedef struct link {
        const struct link *caller;
        uintptr_t code;
    } link_t;
    link_t outer = { NULL, 3000 }, middle = { &outer, 2000 }, inner = { &middle, 1000 };
    csk_waiter_t waiter = { 0 };
    csk_profile_entry_t found = { 0 };
    int calls = 0;
    CHECK_STATUS(csk_profile_start(1), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    csk_profile_suspend(&inner);
    CHECK_STATUS(csk_gate_lock_async(&gate, 42, &waiter, CSK_NEVER, leave, &calls), 0);
    csk_profile_suspend(NULL);
    hold();
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    csk_profile_stop();
    csk_stack_t stack;
    csk_stack_take_suspended(&stack, (const void *)64); /* no memory */
    CHECK_EQ(stack.depth, 0);
    csk_stack_take_suspended(&stack, &inner);
    CHECK_EQ(stack.depth, 3);
    for (uintptr_t i = 0; i < 3; i++) CHECK_EQ(stack.frames[i], (i + 1) * 1000 + 1);
    csk_profile_read(find_callback, &found);
    CHECK_EQ(calls, 1);
}

TEST_MAIN(TEST(a_child_of_fork_counts_from_nothing), TEST(callbacks_are_counted_by_who_queued_them),
          TEST(suspended_tasks_have_the_stack_of_their_contexts))
