/* deadlock_graph_test.c: which circles are found in views that are made by hand: what real threads come to only by
 * chance, and what makes a circle known again; what several views show together, and which queues stand still in one.
 *
 * More than 400 lines: one small test for each rule, and they share how views are made. */
#include "observe/slots.h"
#include "observe/deadlock.h"
#include "test.h"

static deadlock_tables_t *tables;

static void begin(void) {
    CHECK_STATUS(csk_slots_map((void **)&tables, sizeof *tables, false), 0);
    tables->view = (csk_inspection_t){ .objects = tables->objects, .waiters = tables->waiters };
    tables->more = (csk_look_more_t){ .holders = tables->holders };
    tables->told_count = 0;
}

/* Objects are numbers from 0 on, and stand at one address in each view. */
static csk_inspected_object_t *object(uint32_t kind) {
    csk_inspected_object_t *made = &tables->objects[tables->view.object_count];
    *made = (csk_inspected_object_t){ .kind = kind, .width = 1 };
    made->address = (const void *)(uintptr_t)(0x1000 + 64 * tables->view.object_count++);
    return made;
}
static csk_inspected_object_t *held(uint32_t kind, int32_t thread_id) {
    csk_inspected_object_t *made = object(kind);
    made->holder.kind = CSK_HELD_BY_THREAD;
    made->holder.thread.id = thread_id;
    return made;
}
static void runs_in(const csk_inspected_object_t *at, int32_t thread_id) {
    uint32_t number = (uint32_t)(at - tables->objects);
    tables->holders[tables->more.holder_count++] = (csk_look_holder_t){ number, thread_id };
}

/* Whoever waits at an object is added one after the other. */
static csk_inspected_waiter_t *add_waiter(csk_inspected_object_t *at, uint32_t waits_for) {
    uint32_t number = tables->view.waiter_count++;
    csk_inspected_waiter_t *made = &tables->waiters[number];
    *made = (csk_inspected_waiter_t){ .object = (uint32_t)(at - tables->objects), .waits_for = waits_for };
    made->deadline_ns = CSK_NEVER;
    made->since_ns = 1000 + number;
    if (at->waiter_count++ == 0) at->first_waiter = number;
    return made;
}
static csk_inspected_waiter_t *thread_waits(int32_t thread_id, csk_inspected_object_t *at, uint32_t waits_for) {
    csk_inspected_waiter_t *made = add_waiter(at, waits_for);
    made->kind = CSK_WAITER_THREAD;
    made->thread.id = thread_id;
    made->wait = 7;
    return made;
}
static csk_inspected_waiter_t *task_waits(uint64_t task, csk_inspected_object_t *at) {
    csk_inspected_waiter_t *made = add_waiter(at, CSK_WAITS_FOR_PERMITS);
    made->kind = CSK_WAITER_CALLBACK;
    made->waiter = (const void *)(uintptr_t)(0x9000 + 64 * task);
    made->task = task;
    return made;
}

/* Threads first, first + 1, ... each hold a gate, and wait for that of the next. */
static void ring(int32_t first, uint32_t count) {
    csk_inspected_object_t *gates = &tables->objects[tables->view.object_count];
    for (uint32_t i = 0; i < count; i++) held(CSK_OBJECT_GATE, first + (int32_t)i);
    for (uint32_t i = 0; i < count; i++) thread_waits(first + (int32_t)i, &gates[(i + 1) % count], CSK_WAITS_TO_ENTER);
}

static void expect_cycles(uint32_t count) {
    csk_deadlock_find_cycles(tables);
    CHECK_EQ(tables->cycle_count, count);
}
/* The parties, from whichever of them on. */
static void expect_parties(const deadlock_cycle_t *cycle, const int32_t *thread_ids, uint32_t count) {
    uint32_t first = 0;
    CHECK_EQ(cycle->count, count);
    while (first < count && tables->waiters[cycle->waiters[0]].thread.id != thread_ids[first]) first++;
    for (uint32_t i = 0; i < count; i++)
        CHECK_EQ(tables->waiters[cycle->waiters[i]].thread.id, thread_ids[(first + i) % count]);
}

/* ---- What is found ----------------------------------------------------------------------------------------------- */

static void a_circle_is_found_in_order_and_is_as_old_as_its_first_wait(void) {
    begin();
    ring(1, 3);
    tables->waiters[1].since_ns = 5;
    expect_cycles(1);
    expect_parties(&tables->cycles[0], (int32_t[]){ 1, 2, 3 }, 3);
    CHECK_EQ(tables->cycles[0].since_ns, 5);
    CHECK_EQ(tables->cycles[0].views, 1);
}

/* Those that wait for a party, and theirs, and those whose holder waits for nobody, are in none. */
static void chains_are_in_no_circle(void) {
    begin();
    enum { LENGTH = 20 };
    csk_inspected_object_t *gates[LENGTH];
    for (int32_t i = 0; i < LENGTH; i++) gates[i] = held(CSK_OBJECT_GATE, 100 + i);
    for (int32_t i = 1; i < LENGTH; i++) thread_waits(100 + i, gates[i - 1], CSK_WAITS_TO_ENTER);
    expect_cycles(0);
    ring(1, 2);
    thread_waits(100, &tables->objects[LENGTH], CSK_WAITS_TO_ENTER);
    expect_cycles(1);
    expect_parties(&tables->cycles[0], (int32_t[]){ 1, 2 }, 2);
    for (uint32_t i = 0; i < tables->view.waiter_count; i++)
        CHECK_EQ(tables->in_cycle[i], tables->waiters[i].thread.id <= 2);
}

/* A writer waits for two readers. One leads back in one step, the other in two, by a party of its own. */
static void each_party_is_in_a_circle_that_is_found_the_shortest_first(void) {
    begin();
    csk_inspected_object_t *lock = object(CSK_OBJECT_RWLOCK);
    lock->holder.kind = CSK_HELD_BY_READERS;
    runs_in(lock, 2);
    runs_in(lock, 3);
    csk_inspected_object_t *of_writer = held(CSK_OBJECT_GATE, 1), *between = held(CSK_OBJECT_GATE, 4);
    thread_waits(1, lock, CSK_WAITS_TO_WRITE);
    thread_waits(3, between, CSK_WAITS_TO_ENTER);
    thread_waits(2, of_writer, CSK_WAITS_TO_ENTER);
    thread_waits(4, of_writer, CSK_WAITS_TO_ENTER);
    expect_cycles(2);
    expect_parties(&tables->cycles[0], (int32_t[]){ 1, 2 }, 2);
    expect_parties(&tables->cycles[1], (int32_t[]){ 1, 3, 4 }, 3);
}

static void a_party_may_be_a_task_or_a_thread_that_runs_one(void) {
    begin();
    csk_inspected_object_t *of_task = object(CSK_OBJECT_SEM), *of_thread = held(CSK_OBJECT_SEM, 5);
    of_task->holder.kind = CSK_HELD_BY_TASK;
    of_task->holder.task = 11;
    csk_inspected_waiter_t *blocked = thread_waits(4, of_thread, CSK_WAITS_FOR_PERMITS);
    blocked->task = 11;
    thread_waits(5, of_task, CSK_WAITS_FOR_PERMITS);
    expect_cycles(1);
    expect_parties(&tables->cycles[0], (int32_t[]){ 4, 5 }, 2);
    blocked->task = 12; /* it runs another one */
    expect_cycles(0);

    begin();
    csk_inspected_object_t *permits[2];
    for (uint64_t i = 0; i < 2; i++) {
        permits[i] = object(CSK_OBJECT_SEM);
        permits[i]->holder.kind = CSK_HELD_BY_TASK;
        permits[i]->holder.task = 21 + i;
    }
    task_waits(21, permits[1]);
    task_waits(22, permits[0]);
    expect_cycles(1);
    CHECK_EQ(tables->cycles[0].count, 2);
}

static void at_a_serial_queue_alone_for_a_turn_and_until_it_is_drained(void) {
    static const struct {
        uint32_t waits_for, width, circles;
    } cases[] = { { CSK_WAITS_FOR_TURN, 1, 1 },
                  { CSK_WAITS_FOR_TURN, 4, 0 },
                  { CSK_WAITS_FOR_DRAINED, 1, 1 },
                  { CSK_WAITS_FOR_DRAINED, 4, 0 },
                  { CSK_WAITS_FOR_ROOM, 1, 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin();
        csk_inspected_object_t *queue = object(CSK_OBJECT_WORKQUEUE), *gate = held(CSK_OBJECT_GATE, 1);
        queue->width = cases[i].width;
        runs_in(queue, 2);
        thread_waits(1, queue, cases[i].waits_for);
        thread_waits(2, gate, CSK_WAITS_TO_ENTER);
        expect_cycles(cases[i].circles);
    }
}

/* Thread 1 reads, and waits for the gate of 2, which is to read behind 3, which is to write. */
static void a_reader_waits_for_the_first_writer_before_it(void) {
    static const struct {
        uint32_t flags;
        int64_t deadline_ns;
        uint32_t circles;
    } cases[] = { { 0, INT64_MAX, 1 }, { 0, 5, 0 }, { CSK_INSPECT_BUSY, INT64_MAX, 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin();
        csk_inspected_object_t *lock = object(CSK_OBJECT_RWLOCK), *gate = held(CSK_OBJECT_GATE, 2);
        lock->holder.kind = CSK_HELD_BY_READERS;
        lock->flags = cases[i].flags;
        runs_in(lock, 1);
        thread_waits(3, lock, CSK_WAITS_TO_WRITE)->deadline_ns = cases[i].deadline_ns;
        thread_waits(2, lock, CSK_WAITS_TO_READ);
        thread_waits(1, gate, CSK_WAITS_TO_ENTER);
        expect_cycles(cases[i].circles);
        if (cases[i].circles != 0) expect_parties(&tables->cycles[0], (int32_t[]){ 1, 2, 3 }, 3);
    }
}

/* One that has a deadline and came before may end. The reader waits for the one behind it all the same. */
static void a_timed_writer_hides_none_behind_it(void) {
    begin();
    csk_inspected_object_t *lock = object(CSK_OBJECT_RWLOCK), *gate = held(CSK_OBJECT_GATE, 2);
    lock->holder.kind = CSK_HELD_BY_READERS;
    runs_in(lock, 1);
    thread_waits(4, lock, CSK_WAITS_TO_WRITE)->deadline_ns = 5;
    thread_waits(3, lock, CSK_WAITS_TO_WRITE);
    thread_waits(2, lock, CSK_WAITS_TO_READ);
    thread_waits(1, gate, CSK_WAITS_TO_ENTER);
    expect_cycles(1);
    expect_parties(&tables->cycles[0], (int32_t[]){ 1, 2, 3 }, 3);
}

/* ---- What is none ------------------------------------------------------------------------------------------------ */

static void waits_that_end_by_themselves_or_have_no_number_are_none(void) {
    begin();
    ring(1, 2);
    csk_inspected_waiter_t *one = &tables->waiters[1], before = *one;
    one->deadline_ns = INT64_MAX - 1;
    expect_cycles(0);
    *one = before, one->wait = 0;
    expect_cycles(0);
    *one = before, one->thread.id = 0;
    expect_cycles(0);
    *one = before;
    expect_cycles(1);
}

static void nobody_waits_for_itself(void) {
    begin();
    ring(1, 1);
    expect_cycles(0);
}

static void whoever_waits_for_a_predicate_waits_for_nobody(void) {
    begin();
    ring(1, 2);
    tables->waiters[0].waits_for = CSK_WAITS_FOR_PREDICATE;
    expect_cycles(0);
}

static void nobody_waits_for_the_readers_to_read(void) {
    begin();
    csk_inspected_object_t *lock = object(CSK_OBJECT_RWLOCK), *gate = held(CSK_OBJECT_GATE, 2);
    lock->holder.kind = CSK_HELD_BY_READERS;
    runs_in(lock, 1);
    thread_waits(2, lock, CSK_WAITS_TO_READ);
    thread_waits(1, gate, CSK_WAITS_TO_ENTER);
    expect_cycles(0);
}

/* ---- Known again ------------------------------------------------------------------------------------------------- */

static uint64_t hash_of_ring(uint32_t begins, uint64_t wait, uintptr_t shift) {
    begin();
    csk_inspected_object_t *gates = &tables->objects[0];
    for (int32_t i = 0; i < 3; i++) held(CSK_OBJECT_GATE, 1 + i);
    gates[1].address = (const char *)gates[1].address + shift;
    for (uint32_t i = begins; i < begins + 3; i++)
        thread_waits(1 + (int32_t)(i % 3), &gates[(i + 1) % 3], CSK_WAITS_TO_ENTER)->wait = i % 3 == 0 ? wait : 7;
    expect_cycles(1);
    expect_parties(&tables->cycles[0], (int32_t[]){ 1, 2, 3 }, 3);
    return tables->cycles[0].hash;
}
static void a_circle_is_the_same_wherever_the_search_begins(void) {
    uint64_t hash = hash_of_ring(0, 7, 0);
    CHECK(hash_of_ring(1, 7, 0) == hash);
    CHECK(hash_of_ring(2, 7, 0) == hash);
    CHECK(hash_of_ring(0, 8, 0) != hash); /* another wait */
    CHECK(hash_of_ring(0, 7, 8) != hash); /* for another object */
}

static void what_was_told_is_not_found_again_but_the_rest_is(void) {
    enum { RINGS = DEADLOCK_CYCLES + 8 };
    begin();
    for (int32_t i = 0; i < RINGS; i++) ring(1 + 2 * i, 2);
    expect_cycles(DEADLOCK_CYCLES);
    for (uint32_t i = 0; i < DEADLOCK_CYCLES; i++) tables->told[tables->told_count++] = tables->cycles[i].hash;
    for (uint32_t i = 0; i < DEADLOCK_CYCLES; i++) CHECK(csk_deadlock_was_told(tables, tables->told[i]));
    CHECK(!csk_deadlock_was_told(tables, 0));
    expect_cycles(RINGS - DEADLOCK_CYCLES);
}

static void of_a_long_circle_the_first_parties_are_kept(void) {
    enum { LENGTH = 1000 };
    begin();
    ring(1, LENGTH);
    expect_cycles(1);
    const deadlock_cycle_t *cycle = &tables->cycles[0];
    CHECK_EQ(cycle->count, LENGTH);
    for (uint32_t i = 1; i < CSK_DEADLOCK_PARTIES; i++)
        CHECK_EQ(cycle->waiters[i], (cycle->waiters[i - 1] + 1) % LENGTH);
}

/* ---- What several views show ------------------------------------------------------------------------------------- */

enum { AFTER_NS = 500 };

/* A view in which circles 0 .. count - 1, of two threads each, are seen, apart from those that `leaves_out` has a bit
 * of. All waits began at 1000 and later. */
static void take_rings(uint32_t count, uint32_t leaves_out, int64_t at_ns) {
    tables->view.object_count = tables->view.waiter_count = tables->more.holder_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = tables->view.waiter_count;
        ring(10 * (int32_t)(i + 1), 2);
        for (uint32_t w = first; w < tables->view.waiter_count; w++) {
            tables->waiters[w].since_ns = 1000;
            if (leaves_out >> i & 1) tables->waiters[w].deadline_ns = 1;
        }
    }
    tables->view.began_ns = at_ns;
    csk_deadlock_find_cycles(tables);
}
static void begin_views(void) {
    begin();
    tables->cycle_count = tables->before_count = 0;
}
static void expect_certain(uint32_t circle, bool certain) {
    CHECK(circle < tables->cycle_count);
    CHECK_EQ(csk_deadlock_is_certain(&tables->cycles[circle]), certain);
}

static void a_circle_is_certain_once_three_views_in_a_row_have_shown_it(void) {
    begin_views();
    for (int view = 1; view <= 4; view++) {
        take_rings(1, 0, 2000);
        CHECK_EQ(csk_deadlock_count_views(tables, AFTER_NS), view < 3);
        expect_certain(0, view >= 3);
    }
    begin_views();
    take_rings(0, 0, 2000);
    CHECK(!csk_deadlock_count_views(tables, AFTER_NS));
}

/* A view says nothing where another thread takes one for too long. */
static void a_view_that_is_lacking_ends_no_row(void) {
    begin_views();
    for (int view = 1; view <= 3; view++) {
        take_rings(1, 0, 2000);
        CHECK_EQ(csk_deadlock_count_views(tables, AFTER_NS), view < 3);
        expect_certain(0, view >= 3);
        take_rings(0, 0, 2000);
        tables->lacks_view = true;
        CHECK(csk_deadlock_count_views(tables, AFTER_NS));
        CHECK_EQ(tables->cycle_count, 0);
        tables->lacks_view = false;
    }
}

/* Of two circles the second is missing in one view. */
static void what_a_view_does_not_show_is_counted_anew(void) {
    static const uint32_t left_out[] = { 0, 0, 2, 0, 0, 0 };
    begin_views();
    for (int view = 0; view < 6; view++) {
        take_rings(2, left_out[view], 2000);
        CHECK_EQ(csk_deadlock_count_views(tables, AFTER_NS), view < 2 || view == 3 || view == 4);
        CHECK_EQ(tables->cycle_count, left_out[view] != 0 ? 1 : 2);
        for (uint32_t i = 0; i < tables->cycle_count; i++) {
            bool is_first = tables->objects[tables->waiters[tables->cycles[i].waiters[0]].object].holder.thread.id < 20;
            expect_certain(i, is_first ? view >= 2 : view == 5);
        }
    }
}

/* The wait of one party is another one, or another has what it waits for: that is another circle. */
static void another_wait_is_another_circle(void) {
    begin_views();
    for (int view = 0; view < 4; view++) {
        take_rings(1, 0, 2000);
        if (view >= 2) {
            tables->waiters[0].wait++;
            csk_deadlock_find_cycles(tables);
        }
        CHECK(csk_deadlock_count_views(tables, AFTER_NS));
        expect_certain(0, false);
    }
}

static void a_young_circle_is_not_counted(void) {
    begin_views();
    for (int view = 0; view < 5; view++) {
        take_rings(1, 0, 1000 + AFTER_NS - 1);
        CHECK(!csk_deadlock_count_views(tables, AFTER_NS));
        CHECK_EQ(tables->cycle_count, 0);
        CHECK_EQ(tables->before_count, 0);
    }
    take_rings(1, 0, 1000 + AFTER_NS);
    CHECK(csk_deadlock_count_views(tables, AFTER_NS));
    expect_certain(0, false);
}

/* ---- Queues that stand still ------------------------------------------------------------------------------------- */

/* Thread 10 is in the work of a serial queue, behind which one stands, and waits for a gate of thread 20. */
static csk_inspected_object_t *stuck_queue(void) {
    begin();
    csk_inspected_object_t *queue = object(CSK_OBJECT_WORKQUEUE), *gate = held(CSK_OBJECT_GATE, 20);
    queue->running = 1;
    queue->count = 1;
    runs_in(queue, 10);
    thread_waits(10, gate, CSK_WAITS_TO_ENTER)->since_ns = 1000;
    tables->view.began_ns = 1000 + AFTER_NS;
    return queue;
}
static bool is_stalled(void) {
    deadlock_stalled_t stalled;
    csk_deadlock_find_cycles(tables);
    if (!csk_deadlock_finds_stalled(tables, 0, AFTER_NS, &stalled)) return false;
    CHECK(stalled.queue == tables->objects[0].address);
    CHECK_EQ(stalled.thread_id, 10);
    CHECK_EQ(stalled.since_ns, 1000);
    return true;
}

static void a_queue_is_stalled_once_for_each_wait_of_its_work(void) {
    stuck_queue();
    CHECK(is_stalled());
    CHECK(!is_stalled());
    tables->waiters[0].wait++;
    CHECK(is_stalled());
    /* A caller behind it is enough. */
    csk_inspected_object_t *queue = stuck_queue();
    queue->count = 0;
    thread_waits(30, queue, CSK_WAITS_FOR_TURN);
    CHECK(is_stalled());
}

static void what_is_not_seen_whole_is_not_called_stalled(void) {
    stuck_queue();
    tables->view.records_busy = 1;
    CHECK(!is_stalled());
    stuck_queue();
    tables->view.list_busy = true;
    CHECK(!is_stalled());
    stuck_queue()->flags = CSK_INSPECT_BUSY;
    CHECK(!is_stalled());
}

static void what_holds_up_nobody_is_not_stalled(void) {
    stuck_queue()->count = 0;
    CHECK(!is_stalled());
    stuck_queue()->running = 0;
    CHECK(!is_stalled());
    stuck_queue()->width = 2;
    CHECK(!is_stalled());
    stuck_queue()->kind = CSK_OBJECT_GATE;
    CHECK(!is_stalled());
    stuck_queue();
    tables->view.began_ns--;
    CHECK(!is_stalled());
    stuck_queue();
    tables->waiters[0].wait = 0;
    CHECK(!is_stalled());
    /* It is part of a deadlock, which says more. */
    stuck_queue();
    csk_inspected_object_t *other = held(CSK_OBJECT_GATE, 10);
    thread_waits(20, other, CSK_WAITS_TO_ENTER);
    CHECK(!is_stalled());
    CHECK_EQ(tables->cycle_count, 1);
}

TEST_MAIN(TEST(a_circle_is_found_in_order_and_is_as_old_as_its_first_wait), TEST(chains_are_in_no_circle),
          TEST(each_party_is_in_a_circle_that_is_found_the_shortest_first),
          TEST(a_party_may_be_a_task_or_a_thread_that_runs_one),
          TEST(at_a_serial_queue_alone_for_a_turn_and_until_it_is_drained),
          TEST(a_reader_waits_for_the_first_writer_before_it), TEST(a_timed_writer_hides_none_behind_it),
          TEST(waits_that_end_by_themselves_or_have_no_number_are_none), TEST(nobody_waits_for_itself),
          TEST(whoever_waits_for_a_predicate_waits_for_nobody), TEST(nobody_waits_for_the_readers_to_read),
          TEST(a_circle_is_the_same_wherever_the_search_begins), TEST(what_was_told_is_not_found_again_but_the_rest_is),
          TEST(of_a_long_circle_the_first_parties_are_kept),
          TEST(a_circle_is_certain_once_three_views_in_a_row_have_shown_it), TEST(a_view_that_is_lacking_ends_no_row),
          TEST(what_a_view_does_not_show_is_counted_anew), TEST(another_wait_is_another_circle),
          TEST(a_young_circle_is_not_counted), TEST(a_queue_is_stalled_once_for_each_wait_of_its_work),
          TEST(what_is_not_seen_whole_is_not_called_stalled), TEST(what_holds_up_nobody_is_not_stalled))
