/* clients_pool.c: the pool, and writes that run on it. */
#include "csynckernel/gate.h"
#include "csynckernel/rwlock.h"
#include "explorer.h"

static struct {
    csk_pool_item_t items[5];
    csk_rwlock_t lock;
    csk_rwlock_write_t writes[3];
    csk_rwlock_work_t alone;
    csk_gate_t gates[2];
    uint32_t done, flags[3], inside, entered, accepted;
    int order[3], accepted_as[3];
} * shared;

static void make(void) {
    csk_rwlock_attr_t attr = { .policy = CSK_RWLOCK_STRICT };
    shared = explore_allocate(sizeof *shared);
    EXPECT_EQUAL(csk_rwlock_init(&shared->lock, &attr), 0);
}

static void counts(csk_pool_item_t *item) {
    (void)item;
    explore_point();
    explore_set(&shared->done, __atomic_fetch_add(&shared->inside, 1, __ATOMIC_SEQ_CST) + 1);
}
static void post(int index, csk_pool_function_t function) {
    EXPECT_EQUAL(csk_pool_post(&shared->items[index], function), 0);
}
static void posts_and_waits(void) {
    post(0, counts);
    explore_wait(&shared->done, 1);
}
static void posts_two(void) {
    post(0, counts);
    post(1, counts);
}
static void posts_third(void) { post(2, counts); }
static void all_ran(void) { EXPECT_EQUAL(shared->inside, 3); }
static void nothing_is_left(void) { EXPECT_EQUAL(csk_pool_queued(), 0); }
CLIENT(pool_one, .setup = make, .threads = { posts_and_waits }, .check = nothing_is_left, .preemptions = 2)
CLIENT(pool_three, .setup = make, .threads = { posts_two, posts_third }, .check = all_ran, .preemptions = 1)

/* Two functions that wait for a third one: another worker comes for it. */
static void waits_for_third(csk_pool_item_t *item) {
    (void)item;
    explore_wait(&shared->flags[0], 1);
}
static void is_third(csk_pool_item_t *item) {
    (void)item;
    explore_set(&shared->flags[0], 1);
}
static void posts_blocking(void) {
    post(0, waits_for_third);
    post(1, waits_for_third);
    post(2, is_third);
    explore_wait(&shared->flags[0], 1);
}
CLIENT(pool_blocked_workers, .setup = make, .threads = { posts_blocking }, .check = nothing_is_left)

/* kernel_pool.c */
void kernel_prepare_pool(uint64_t taken, int64_t idle_ns);
extern uint32_t kernel_workers_ended;

/* Of the turns, each 64th begins with background work, however much is urgent. Both workers are held, and one is let
 * go. */
static void make_before_a_64th_turn(void) {
    make();
    kernel_prepare_pool(61, INT64_MAX);
}
/* And each second one of these with normal work. */
static void make_before_a_128th_turn(void) {
    make();
    kernel_prepare_pool(125, INT64_MAX);
}
static void notes_order(csk_pool_item_t *item) {
    shared->order[__atomic_fetch_add(&shared->entered, 1, __ATOMIC_SEQ_CST)] = (int)(item - shared->items);
    __atomic_fetch_add(&shared->done, 1, __ATOMIC_SEQ_CST);
}
static void waits_for_its_flag(csk_pool_item_t *item) {
    (void)item;
    explore_wait(&shared->flags[0], __atomic_fetch_add(&shared->inside, 1, __ATOMIC_SEQ_CST) + 1);
}
static void posts_urgent_and(int count, const uint32_t *levels) {
    shared->items[0].level = CSK_POOL_URGENT;
    for (int i = 0; i < count; i++) shared->items[1 + i].level = levels[i];
    post(3, waits_for_its_flag);
    post(4, waits_for_its_flag);
    explore_wait(&shared->inside, 2);
    for (int i = 0; i <= count; i++) post(i, notes_order);
    explore_set(&shared->flags[0], 1);
    explore_wait(&shared->done, (uint32_t)count + 1);
    explore_set(&shared->flags[0], 2);
}
static void posts_urgent_and_background(void) { posts_urgent_and(1, (const uint32_t[]){ CSK_POOL_BACKGROUND }); }
static void posts_all_levels(void) { posts_urgent_and(2, (const uint32_t[]){ CSK_POOL_NORMAL, CSK_POOL_BACKGROUND }); }
/* A third worker may have come meanwhile, and turns that overlap end in any order. */
static void lower_was_first(void) { EXPECT(csk_pool_workers() > 2 || shared->order[0] == 1); }

/* Workers beyond those that the pool keeps end once they have slept for a while. */
static void make_with_idle_workers(void) {
    make();
    kernel_prepare_pool(0, 1000);
}
static void posts_blocking_and_waits(void) {
    posts_blocking();
    explore_wait(&kernel_workers_ended, 1);
}
static void two_are_left(void) { EXPECT(csk_pool_workers() >= 2); }
CLIENT(pool_shrinks, .setup = make_with_idle_workers, .threads = { posts_blocking_and_waits }, .check = two_are_left)

/* Two workers are idle. The second of two items is posted while the first one's worker is on its way, and that worker
 * calls the other one: the supervisor would come for it a millisecond later. */
static void waits_for_the_next(csk_pool_item_t *item) {
    (void)item;
    explore_wait(&shared->flags[1], 1);
}
static void is_the_next(csk_pool_item_t *item) {
    (void)item;
    explore_set(&shared->flags[1], 1);
}
static void posts_to_two_idle(void) {
    post(3, waits_for_its_flag);
    post(4, waits_for_its_flag);
    explore_wait(&shared->inside, 2);
    explore_set(&shared->flags[0], 1);
    explore_set(&shared->flags[0], 2);
    for (int64_t end = explore_now() + 100000; explore_now() < end;) explore_pause("until both are idle");
    post(0, waits_for_the_next);
    post(1, is_the_next);
    explore_wait(&shared->flags[1], 1);
}
CLIENT(pool_calls_the_next, .setup = make, .threads = { posts_to_two_idle }, .check = nothing_is_left,
       .without_time = true)
CLIENT(pool_turn_of_background, .setup = make_before_a_64th_turn, .threads = { posts_urgent_and_background },
       .check = lower_was_first)
CLIENT(pool_turn_of_normal, .setup = make_before_a_128th_turn, .threads = { posts_all_levels },
       .check = lower_was_first)

/* Workers that wait inside the library, once and again, make place for others by saying so: the third of three, which
 * the others wait for, runs. */
void kernel_limit_pool(uint32_t most);
extern uint32_t csk_announced_count;
static void make_with_two_that_run(void) {
    make();
    kernel_limit_pool(2);
    for (int i = 0; i < 2; i++) EXPECT_EQUAL(csk_gate_init(&shared->gates[i], NULL), 0);
}
static void waits_at_both_gates(csk_pool_item_t *item) {
    (void)item;
    for (int i = 0; i < 2; i++) {
        EXPECT_EQUAL(csk_gate_lock(&shared->gates[i], 0), 0);
        EXPECT_EQUAL(csk_gate_unlock(&shared->gates[i]), 0);
        __atomic_fetch_add(&shared->done, 1, __ATOMIC_SEQ_CST);
    }
}
static void holds_gates(void) {
    for (int i = 0; i < 2; i++) EXPECT_EQUAL(csk_gate_lock(&shared->gates[i], 0), 0);
    post(0, waits_at_both_gates);
    post(1, waits_at_both_gates);
    EXPECT_EQUAL(csk_gate_unlock(&shared->gates[0]), 0);
    explore_wait(&shared->done, 2);
    explore_wait(&csk_announced_count, 2);
    post(2, is_third);
    explore_wait(&shared->flags[0], 1);
    EXPECT_EQUAL(csk_gate_unlock(&shared->gates[1]), 0);
    explore_wait(&shared->done, 4);
}
CLIENT(pool_announced, .setup = make_with_two_that_run, .threads = { holds_gates }, .check = nothing_is_left)

static void enters(int index) {
    EXPECT(csk_rwlock_is_writing(&shared->lock));
    EXPECT_EQUAL(__atomic_load_n(&shared->inside, __ATOMIC_RELAXED), 0);
    __atomic_store_n(&shared->inside, 1, __ATOMIC_RELAXED);
    shared->order[shared->entered++] = index;
    __atomic_store_n(&shared->inside, 0, __ATOMIC_RELAXED);
    EXPECT_EQUAL(csk_rwlock_finish_write(&shared->lock), 0);
}
static void writes(csk_rwlock_write_t *write) { enters((int)(write - shared->writes)); }
static void writes_alone(csk_rwlock_work_t *work, void *context, int status) {
    EXPECT(work == &shared->alone);
    EXPECT_EQUAL(status, 0);
    enters(*(const int *)context);
}
static void enqueue(int index) {
    EXPECT_EQUAL(csk_rwlock_enqueue_write(&shared->lock, &shared->writes[index], writes), 0);
}
static void enqueue_alone(void) {
    static const int index = 1;
    EXPECT_EQUAL(csk_rwlock_enqueue(&shared->lock, &shared->alone, CSK_RWLOCK_WRITE, CSK_NEVER, writes_alone,
                                    (void *)&index),
                 0);
}
static void enqueues_three(void) {
    enqueue(0);
    enqueue(1);
    enqueue(2);
}
static void reads(void) {
    EXPECT_EQUAL(csk_rwlock_rdlock(&shared->lock), 0);
    EXPECT_EQUAL(__atomic_load_n(&shared->inside, __ATOMIC_RELAXED), 0);
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
}
static void writes_here(void) {
    EXPECT_EQUAL(csk_rwlock_wrlock(&shared->lock), 0);
    EXPECT_EQUAL(__atomic_load_n(&shared->inside, __ATOMIC_RELAXED), 0);
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
}
static void in_order(void) {
    EXPECT_EQUAL(shared->entered, 3);
    EXPECT_EQUAL(csk_rwlock_waiting(&shared->lock), 0);
    for (int i = 0; i < 3; i++) EXPECT_EQUAL(shared->order[i], i);
    EXPECT_EQUAL(csk_rwlock_destroy(&shared->lock), 0);
}
static void enqueues_both_ways(void) {
    enqueue(0);
    enqueue_alone();
    enqueue(2);
}
/* Those that stand in the queue as one are all before the read that came after them. */
static void reads_after_three(void) {
    enqueues_three();
    EXPECT_EQUAL(csk_rwlock_rdlock(&shared->lock), 0);
    EXPECT_EQUAL(shared->entered, 3);
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
}
/* The first of them leaves the lock to others by itself: the worker has to come back for it. */
static void all_entered(void) {
    EXPECT_EQUAL(shared->entered, 3);
    EXPECT_EQUAL(csk_rwlock_destroy(&shared->lock), 0);
}
static void leaves_or_enters(csk_rwlock_write_t *write) {
    if (write != &shared->writes[0]) {
        writes(write);
        return;
    }
    shared->order[shared->entered++] = 0;
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
}
static void enqueues_behind_a_read(void) {
    EXPECT_EQUAL(csk_rwlock_rdlock(&shared->lock), 0);
    for (int i = 0; i < 3; i++)
        EXPECT_EQUAL(csk_rwlock_enqueue_write(&shared->lock, &shared->writes[i], leaves_or_enters), 0);
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
}
CLIENT(pool_writes_one_leaves, .setup = make, .threads = { enqueues_behind_a_read, writes_here }, .check = all_entered)
CLIENT(pool_writes_as_one, .setup = make, .threads = { reads_after_three, writes_here }, .check = in_order)
CLIENT(pool_writes_both_ways, .setup = make, .threads = { enqueues_both_ways, writes_here }, .check = in_order)
CLIENT(pool_writes_in_order, .setup = make, .threads = { enqueues_three }, .check = in_order)
CLIENT(pool_writes_and_others, .setup = make, .threads = { enqueues_three, reads, writes_here }, .check = in_order)

/* The order of one thread's calls: read after the write it enqueued, write after the read. */
static void reads_what_it_wrote(void) {
    enqueue(0);
    EXPECT_EQUAL(csk_rwlock_rdlock(&shared->lock), 0);
    EXPECT_EQUAL(shared->entered, 1);
    enqueue(1);
    EXPECT_EQUAL(shared->entered, 1);
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
    enqueue(2);
}
/* Writes of two threads, each of which reads behind its own. */
static void enqueues_and_reads(int index) {
    enqueue(index);
    EXPECT_EQUAL(csk_rwlock_rdlock(&shared->lock), 0);
    EXPECT(shared->order[0] == index || (shared->entered > 1 && shared->order[1] == index));
    EXPECT_EQUAL(csk_rwlock_unlock(&shared->lock), 0);
}
static void enqueues_and_reads_first(void) { enqueues_and_reads(0); }
static void enqueues_and_reads_second(void) { enqueues_and_reads(1); }
static void two_entered(void) {
    EXPECT_EQUAL(shared->entered, 2);
    EXPECT_EQUAL(csk_rwlock_waiting(&shared->lock), 0);
    EXPECT_EQUAL(csk_rwlock_destroy(&shared->lock), 0);
}
CLIENT(pool_writes_of_two, .setup = make, .threads = { enqueues_and_reads_first, enqueues_and_reads_second },
       .check = two_entered)
/* Somebody comes to write between two writes of a thread that knows of it. */
static void enqueues_around_a_waiter(void) {
    enqueue(0);
    explore_set(&shared->flags[0], 1);
    explore_wait(&shared->flags[1], 1);
    enqueue(2);
}
static void enqueues_alone_in_between(void) {
    explore_wait(&shared->flags[0], 1);
    enqueue_alone();
    explore_set(&shared->flags[1], 1);
}
CLIENT(pool_writes_around_another, .setup = make, .threads = { enqueues_around_a_waiter, enqueues_alone_in_between },
       .check = in_order, .preemptions = 1)
/* Each comes soon after the one before has run. */
static void enqueues_one_after_the_other(void) {
    for (int i = 0; i < 3; i++) {
        enqueue(i);
        explore_wait(&shared->entered, (uint32_t)i + 1);
    }
}
CLIENT(pool_writes_soon, .setup = make, .threads = { enqueues_one_after_the_other }, .check = in_order,
       .preemptions = 1)
/* A work that is queued once more, before or after it was granted, is refused and stays as it is. Once its function has
 * been called it is accepted. */
static void tells_and_writes(csk_rwlock_work_t *work, void *context, int status) {
    __atomic_fetch_add(&shared->done, 1, __ATOMIC_SEQ_CST);
    writes_alone(work, context, status);
}
static void enqueue_alone_or_not(int i) {
    static int indexes[] = { 0, 1, 2 };
    int status = csk_rwlock_enqueue(&shared->lock, &shared->alone, CSK_RWLOCK_WRITE, CSK_NEVER, tells_and_writes,
                                    &indexes[i]);
    if (status == 0) shared->accepted_as[__atomic_fetch_add(&shared->accepted, 1, __ATOMIC_SEQ_CST)] = i;
    else EXPECT_EQUAL(status, EBUSY);
}
static void enqueues_one_thrice(void) {
    for (int i = 0; i < 3; i++) enqueue_alone_or_not(i);
}
static void enqueues_it_too(void) { enqueue_alone_or_not(2); }
static void as_many_ran(void) {
    EXPECT_EQUAL(shared->entered, shared->accepted);
    EXPECT_EQUAL(csk_rwlock_waiting(&shared->lock), 0);
    EXPECT_EQUAL(csk_rwlock_destroy(&shared->lock), 0);
}
static void as_accepted(void) {
    for (uint32_t i = 0; i < shared->accepted; i++) EXPECT_EQUAL(shared->order[i], shared->accepted_as[i]);
    as_many_ran();
}
static void each_ran(void) {
    uint32_t ran = 0, accepted = 0;
    for (uint32_t i = 0; i < shared->entered; i++) ran |= 1u << shared->order[i];
    for (uint32_t i = 0; i < shared->accepted; i++) accepted |= 1u << shared->accepted_as[i];
    EXPECT_EQUAL(ran, accepted);
    as_many_ran();
}
static void enqueues_one_twice(void) {
    for (int i = 0; i < 2; i++) enqueue_alone_or_not(i);
}
static void enqueues_it_again_and_again(void) {
    for (uint32_t i = 0; i < 3; i++) {
        enqueue_alone_or_not((int)i);
        EXPECT_EQUAL(shared->accepted, i + 1);
        explore_wait(&shared->done, i + 1);
    }
}
CLIENT(pool_work_in_use, .setup = make, .threads = { enqueues_one_thrice, writes_here }, .check = as_accepted,
       .preemptions = 1)
CLIENT(pool_work_of_two, .setup = make, .threads = { enqueues_one_twice, enqueues_it_too }, .check = each_ran,
       .preemptions = 1)
CLIENT(pool_work_again, .setup = make, .threads = { enqueues_it_again_and_again }, .check = as_accepted,
       .preemptions = 1)
CLIENT(pool_reads_between_writes, .setup = make, .threads = { reads_what_it_wrote }, .check = in_order)
