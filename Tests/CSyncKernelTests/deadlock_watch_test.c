/* deadlock_watch_test.c: when the watch looks, and what it does not tell: young circles, what is found while it is off,
 * and queues behind which nobody waits. Parties stay stuck until the program ends. */
#include "deadlock_fixture.h"

static const int64_t short_ns = 20000000, long_ns = INT64_C(3600000000000);

static int gates(int place) { return (void)place, A_GATE; }

static void await_span(int64_t span_ns) {
    int64_t until = csk_deadline_after(span_ns);
    wait_until(csk_deadline_after(0) >= until);
}

static void count_end(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)status;
    ADD((int *)context, 1);
}

/* While a callback waits, a view is taken every quarter of a second, whatever is old. */
static void a_young_circle_is_not_told_though_views_show_it(void) {
    static csk_sem_t nothing_free;
    static csk_waiter_t callback;
    static int ends;
    watch(long_ns);
    CHECK_STATUS(csk_sem_init(&nothing_free, 0, 1), 0);
    CHECK_STATUS(csk_sem_wait_async(&nothing_free, 0, &callback, 1, CSK_NEVER, count_end, &ends), 0);
    ring_t *ring = plant("young", 2, gates, TO_WRITE, TO_WRITE);
    wait_until(csk_gate_waiting(&ring->objects[0].gate) == 1 && csk_gate_waiting(&ring->objects[1].gate) == 1);
    await_span(INT64_C(800000000));
    CHECK_EQ(LOAD(&report_count), 0);
    watch(short_ns);
    check_ring(ring, INT64_MAX);
    CHECK_STATUS(csk_sem_cancel(&nothing_free, &callback), 0);
    CHECK_EQ(ends, 1);
}

static void while_it_is_off_nothing_is_told(void) {
    watch(short_ns);
    csk_deadlock_end_watching();
    uint32_t before = LOAD(&report_count);
    ring_t *ring = plant("off", 2, gates, TO_WRITE, TO_WRITE);
    wait_until(csk_gate_waiting(&ring->objects[0].gate) == 1 && csk_gate_waiting(&ring->objects[1].gate) == 1);
    await_span(15 * short_ns);
    CHECK_EQ(LOAD(&report_count), before);
    watch(short_ns);
    wait_until(find_report(LOAD(&ring->parties[0].id)) != NULL);
}

/* Two threads wait for long already when it becomes known that the second has what the first waits for. No wait has
 * begun since, so the watch comes back to waits that it has looked at. */
static csk_held_sem_t permits[2];
static int32_t ids[2];
static void *wait_for_permit(void *place) {
    int at = *(int *)place;
    STORE(&ids[at], csk_thread_id());
    (void)!csk_sem_wait(&permits[at].placed.sem, 0, 1);
    return NULL;
}
static void old_waits_are_looked_at_again(void) {
    static int places[2] = { 0, 1 };
    watch(short_ns);
    uint32_t before = LOAD(&report_count);
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(csk_sem_init(&permits[i].placed.sem, 0, 1), 0);
        csk_held_sem_begin(&permits[i]);
        detach(wait_for_permit, &places[i]);
        wait_until(csk_sem_waiting(&permits[i].placed.sem) == 1);
    }
    csk_sem_set_holding_thread(&permits[1].placed.sem, LOAD(&ids[0]));
    await_span(15 * short_ns);
    CHECK_EQ(LOAD(&report_count), before);
    csk_sem_set_holding_thread(&permits[0].placed.sem, LOAD(&ids[1]));
    wait_until(find_report(LOAD(&ids[0])) != NULL);
}

static csk_gate_t gate;
static csk_workqueue_t queue;
static void lock_in_work(csk_work_t *work, int status) {
    (void)work;
    CHECK_STATUS(status, 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}
static void a_queue_behind_which_nobody_waits_is_not_stalled(void) {
    static csk_work_t first;
    watch(short_ns);
    CHECK_STATUS(csk_gate_init(&gate, NULL), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_workqueue_init(&queue, &(csk_workqueue_attr_t){ .name = "alone" }), 0);
    uint32_t before = LOAD(&report_count);
    CHECK_STATUS(csk_workqueue_enqueue(&queue, &first, lock_in_work), 0);
    wait_until(csk_gate_waiting(&gate) == 1);
    ring_t *control = plant("control", 2, gates, TO_WRITE, TO_WRITE);
    check_ring(control, INT64_MAX);
    CHECK_EQ(LOAD(&report_count), before + 1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_workqueue_drain(&queue, CSK_NEVER), 0);
}

TEST_MAIN(TEST(a_young_circle_is_not_told_though_views_show_it), TEST(while_it_is_off_nothing_is_told),
          TEST(old_waits_are_looked_at_again), TEST(a_queue_behind_which_nobody_waits_is_not_stalled))
