/* waits_test.c: what a thread notes of its wait names no object that may be gone. */
#include "child.h"

#include <csynckernel/csynckernel.h>

#include "wait/waits.h"

static csk_gate_t gate;

static void *time_out(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_gate_timedlock(&gate, 0, csk_deadline_after(50000000)), ETIMEDOUT);
    return NULL;
}

static csk_wait_record_t *await_record(void) {
    csk_waits_seen_t seen = { 0 };
    csk_wait_record_t *record;
    while ((record = csk_waits_next(NULL, csk_deadline_after(1000000), &seen)) == NULL) sched_yield();
    return record;
}

/* Once nobody waits, a gate that is left by the one-word form may be closed and freed, although the call of a thread
 * that gave up has not returned. So a reader that has that thread's record must find it in the queue still. */
static void who_gives_up_takes_its_note_off_before_it_leaves_the_queue(void) {
    for (uint32_t policy = CSK_GATE_FAST; policy <= CSK_GATE_STRICT; policy++) {
        CHECK_STATUS(csk_gate_init(&gate, &(csk_gate_attr_t){ .policy = policy }), 0);
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        pthread_t thread = start_thread(time_out, NULL);
        csk_wait_record_t *record = await_record();
        CHECK(record->wait->object == &gate);
        wait_until(csk_load(&record->word, CSK_ACQUIRE) == WAIT_AWAITED);
        CHECK_EQ(csk_gate_waiting(&gate), 1);
        csk_waits_seen_t seen = { 0 };
        CHECK(csk_waits_next(record, csk_deadline_after(1000000), &seen) == NULL);
        join_thread(thread);
        CHECK_EQ(csk_gate_waiting(&gate), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_STATUS(csk_gate_destroy(&gate), 0);
    }
}

/* The watchdog of a child sleeps once none of the child's threads is marked. */
static void mark_and_end_that(void *unused) {
    (void)unused;
    CHECK(csk_waits_mark(CSK_THREAD_EVENT_LOOP));
    CHECK_EQ(csk_load(&csk_waits_marked, CSK_RELAXED), 1);
    CHECK(csk_waits_mark(CSK_THREAD_PLAIN));
    CHECK_EQ(csk_load(&csk_waits_marked, CSK_RELAXED), 0);
}
static void a_child_counts_none_of_the_parents_marks(void) {
    CHECK(csk_waits_mark(CSK_THREAD_MAIN));
    in_a_child(mark_and_end_that, NULL);
    mark_and_end_that(NULL);
}

TEST_MAIN(TEST(a_child_counts_none_of_the_parents_marks),
          TEST(who_gives_up_takes_its_note_off_before_it_leaves_the_queue))
