/* clients_rcu.c: retired objects, the thread that reclaims them, sections and grace periods without liburcu. */
#include "rcu_explored.h"

#include "explorer.h"
#include "rcu/rcu_readers.h"
#include "thread/thread_exit.h"

enum { OBJECTS = 4 };

struct object {
    csk_rcu_node_t node;
    csk_rcu_steps_t steps;
    uint32_t value; /* 0: reclaimed */
    uint32_t retired, used;
};

static struct {
    struct object *current;
    uint32_t reclaimed, last, calls, begun;
    struct object objects[OBJECTS];
} * shared;

static void make(void) {
    shared = explore_allocate(sizeof *shared);
    for (int i = 0; i < OBJECTS; i++) shared->objects[i].value = (uint32_t)i + 1;
    shared->current = &shared->objects[0];
}
static void make_small(void) {
    make();
    EXPECT_EQUAL(csk_rcu_set_limit(1), 0);
}

static void reclaim(csk_rcu_node_t *node) {
    struct object *object = (struct object *)node;
    EXPECT(object->value != 0);
    /* What sections have written comes before this. */
    __atomic_store_n(&object->used, 1, __ATOMIC_RELAXED);
    EXPECT_EQUAL(__atomic_load_n(&object->used, __ATOMIC_RELAXED), 1);
    __atomic_store_n(&object->value, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&shared->reclaimed, shared->reclaimed + 1, __ATOMIC_RELEASE);
}

static void retire(int which) {
    EXPECT_EQUAL(csk_rcu_retire(&shared->objects[which].node, reclaim), 0);
    __atomic_store_n(&shared->objects[which].retired, 1, __ATOMIC_RELAXED);
}

static void check_all(uint32_t count) {
    EXPECT_EQUAL(shared->reclaimed, count);
    EXPECT_EQUAL(csk_rcu_pending(), 0);
}
static void check_1(void) { check_all(1); }
static void check_2(void) { check_all(2); }
static void check_4(void) { check_all(4); }

/* Time stands still once all threads have ended: somebody waits for the worker, which gathers for a while. */
static void await(uint32_t count) { explore_wait(&shared->reclaimed, count); }
static void awaits_2(void) { await(2); }
static void awaits_4(void) { await(4); }

static void retires_0(void) { retire(0); }
static void retires_1(void) { retire(1); }
static void retires_2(void) { retire(2); }
static void retires_0_1(void) {
    retire(0);
    retire(1);
}
static void retires_2_3(void) {
    retire(2);
    retire(3);
}

/* ---- Nobody's wake is lost --------------------------------------------------------------------------------------- */

CLIENT(rcu_two_retire, .setup = make, .threads = { retires_0, retires_1, awaits_2 }, .check = check_2, .preemptions = 2)
CLIENT(rcu_retires_again, .setup = make, .threads = { retires_0_1, retires_2_3, awaits_4 }, .check = check_4,
       .preemptions = 2, .spurious = 1)
CLIENT(rcu_beyond_the_limit, .setup = make_small, .threads = { retires_0_1, retires_2_3, awaits_4 }, .check = check_4,
       .preemptions = 1)

static void make_small_for_long(void) {
    make_small();
    explored_wait_long_for_room();
}
CLIENT(rcu_room_is_told, .setup = make_small_for_long, .threads = { retires_0_1, retires_2_3, awaits_4 },
       .check = check_4, .preemptions = 1)

/* Without a check of the end: who waits sleeps for ever unless it is woken. */
CLIENT(rcu_room_is_told_to_all, .setup = make_small_for_long, .threads = { retires_0_1, retires_2 }, .preemptions = 1)

/* Without membarrier, which would be a fence of the thread that looks. */
static void looks(void) {
    EXPECT(csk_rcu_pending() <= 2);
    await(2);
}
CLIENT(rcu_pending_is_no_less_than_none, .setup = make, .threads = { retires_0_1, looks }, .check = check_2,
       .preemptions = 2, .without_membarrier = true)

/* There is never more than one: what a thread retires after a barrier comes after what was reclaimed before it. */
static void retires_one_after_the_other(void) {
    for (int i = 0; i < 2; i++) {
        retire(i);
        EXPECT_EQUAL(csk_rcu_barrier(), 0);
    }
}
static void looks_for_one(void) { EXPECT(csk_rcu_pending() <= 1); }
CLIENT(rcu_pending_is_so_at_some_instant, .setup = make, .threads = { retires_one_after_the_other, looks_for_one },
       .check = check_2, .preemptions = 2)

static void retires_later(void) {
    await(1);
    retire(1);
    await(2);
}
CLIENT(rcu_retires_when_the_worker_sleeps, .setup = make, .threads = { retires_0, retires_later }, .check = check_2,
       .preemptions = 3)

/* ---- Order, barriers --------------------------------------------------------------------------------------------- */

static void reclaim_in_order(csk_rcu_node_t *node) {
    EXPECT_EQUAL(((struct object *)node)->value, shared->last + 1);
    shared->last++;
    reclaim(node);
}
static void retires_in_order(void) {
    for (int i = 0; i < 3; i++) EXPECT_EQUAL(csk_rcu_retire(&shared->objects[i].node, reclaim_in_order), 0);
}
static void retires_another(void) {
    retire(3);
    await(4);
}
CLIENT(rcu_one_threads_order, .setup = make, .threads = { retires_in_order, retires_another }, .check = check_4,
       .preemptions = 2)

static void retires_and_waits_0(void) {
    retire(0);
    EXPECT_EQUAL(csk_rcu_barrier(), 0);
    EXPECT_EQUAL(shared->objects[0].value, 0);
}
static void retires_and_waits_1(void) {
    retire(1);
    EXPECT_EQUAL(csk_rcu_barrier(), 0);
    EXPECT_EQUAL(shared->objects[1].value, 0);
    await(2);
}
CLIENT(rcu_barriers, .setup = make, .threads = { retires_and_waits_0, retires_and_waits_1 }, .check = check_2,
       .preemptions = 2)

/* Without virtual time that passes: a barrier doesn't wait until the worker has gathered. */
static void retires_and_hurries(void) {
    int64_t begin = explore_now();
    retire(0);
    EXPECT_EQUAL(csk_rcu_barrier(), 0);
    EXPECT_EQUAL(shared->objects[0].value, 0);
    shared->calls = explore_now() - begin >= 1000000;
    await(2);
}
CLIENT(rcu_barrier_beside_a_retirement, .setup = make, .threads = { retires_and_hurries, retires_1 }, .check = check_2,
       .preemptions = 2)

/* The worker gathers for ever, unless who waits for a barrier is heard. */
static void make_gathering(void) {
    make();
    explored_gather_for_long();
}
static void only_waits(void) {
    retire(0);
    EXPECT_EQUAL(csk_rcu_barrier(), 0);
}
CLIENT(rcu_barrier_hurries, .setup = make_gathering, .threads = { only_waits }, .preemptions = 3)

static void step(csk_rcu_node_t *node) {
    csk_rcu_steps_t *steps = (csk_rcu_steps_t *)node;
    if (++shared->calls < 3) csk_rcu_next_step(steps, step);
    else csk_rcu_end_steps(steps);
}
static void ends_in_steps(void) {
    EXPECT_EQUAL(csk_rcu_retire_always(&shared->objects[0].steps.node, step), 0);
    EXPECT_EQUAL(csk_rcu_barrier(), 0);
    EXPECT_EQUAL(shared->calls, 3);
    await(1);
}
CLIENT(rcu_barrier_waits_for_steps, .setup = make, .threads = { ends_in_steps, retires_1 }, .check = check_1,
       .preemptions = 2)

/* ---- Grace periods ----------------------------------------------------------------------------------------------- */

static void read_once(void) {
    explored_read_begin();
    struct object *object = __atomic_load_n(&shared->current, __ATOMIC_ACQUIRE);
    explore_point();
    EXPECT(__atomic_load_n(&object->value, __ATOMIC_RELAXED) != 0);
    __atomic_store_n(&object->used, 2, __ATOMIC_RELAXED);
    explored_read_end();
}
static void reads(void) { read_once(); }
static void reads_twice(void) {
    read_once();
    read_once();
}
static void replace(int with) {
    struct object *old = __atomic_exchange_n(&shared->current, &shared->objects[with], __ATOMIC_ACQ_REL);
    EXPECT_EQUAL(csk_rcu_retire(&old->node, reclaim), 0);
}
static void replaces(void) {
    replace(1);
    await(1);
}
static void replaces_twice(void) {
    replace(1);
    replace(2);
    await(2);
}
CLIENT(rcu_reader, .setup = make, .threads = { reads, replaces }, .check = check_1, .preemptions = 3)
CLIENT(rcu_reader_without_membarrier, .setup = make, .threads = { reads, replaces }, .check = check_1, .preemptions = 3,
       .without_membarrier = true)
CLIENT(rcu_readers_come_and_go, .setup = make, .threads = { reads_twice, reads, replaces_twice }, .check = check_2,
       .preemptions = 2)
CLIENT(rcu_reader_again, .setup = make, .threads = { reads_twice, replaces_twice }, .check = check_2, .preemptions = 2)
CLIENT(rcu_reader_again_without_membarrier, .setup = make, .threads = { reads_twice, replaces_twice }, .check = check_2,
       .preemptions = 2, .without_membarrier = true)

/* A reader that has loaded the phase before a grace period stores it behind that: the next one must not take its
 * section for a newer one. */
static void replaces_one_after_the_other(void) {
    for (int with = 1; with <= 2; with++) {
        replace(with);
        EXPECT_EQUAL(csk_rcu_barrier(), 0); /* without time that passes */
    }
}
CLIENT(rcu_reader_with_an_old_phase, .setup = make, .threads = { reads, replaces_one_after_the_other },
       .check = check_2, .preemptions = 2)

/* The second grace period begins once the section has. */
static void reads_and_says_so(void) {
    explored_read_begin();
    struct object *object = __atomic_load_n(&shared->current, __ATOMIC_ACQUIRE);
    explore_set(&shared->begun, 1);
    EXPECT(__atomic_load_n(&object->value, __ATOMIC_RELAXED) != 0);
    explored_read_end();
}
static void replaces_what_is_read(void) {
    replace(1);
    EXPECT_EQUAL(csk_rcu_barrier(), 0);
    explore_wait(&shared->begun, 1);
    replace(2);
    EXPECT_EQUAL(csk_rcu_barrier(), 0);
}
CLIENT(rcu_reader_with_the_phase_before, .setup = make, .threads = { reads_and_says_so, replaces_what_is_read },
       .check = check_2)

/* ---- Levels, and the ends of threads ----------------------------------------------------------------------------- */

static struct object *begin_and_find(void) {
    explored_read_begin();
    return __atomic_load_n(&shared->current, __ATOMIC_ACQUIRE);
}
static void use(struct object *object) {
    explore_point();
    EXPECT(__atomic_load_n(&object->value, __ATOMIC_RELAXED) != 0);
    __atomic_store_n(&object->used, 2, __ATOMIC_RELAXED);
}

/* What the outer level has found stays behind the inner one. */
static void reads_in_levels(void) {
    struct object *object = begin_and_find();
    explored_read_begin();
    explored_read_end();
    EXPECT(csk_rcu_is_reading());
    use(object);
    explored_read_end();
    EXPECT(!csk_rcu_is_reading());
    EXPECT_EQUAL(csk_rcu_read_unlock_slow(), EPERM);
}
CLIENT(rcu_reader_in_levels, .setup = make, .threads = { reads_in_levels, replaces }, .check = check_1,
       .preemptions = 2)
CLIENT(rcu_reader_in_levels_without_membarrier, .setup = make, .threads = { reads_in_levels, replaces },
       .check = check_1, .preemptions = 2, .without_membarrier = true)

static void ends_inside(void) {
    use(begin_and_find());
    explored_read_begin();
}
CLIENT(rcu_reader_ends_inside, .setup = make, .threads = { ends_inside, replaces }, .check = check_1, .preemptions = 2)

/* A stage of the thread's end that comes behind ours. */
static void read_at_the_end(void) { use(begin_and_find()); }
static void reads_at_its_end(void) {
    read_once();
    EXPECT_EQUAL(csk_thread_exit_enroll(CSK_THREAD_EXIT_ORDER, read_at_the_end), 0);
}
CLIENT(rcu_reader_at_its_end, .setup = make, .threads = { reads_at_its_end, replaces }, .check = check_1,
       .preemptions = 2)

/* ---- fork -------------------------------------------------------------------------------------------------------- */

/* A child goes on with all that was retired, but for what the worker is in the middle of. */
static void look(void) {
    int there = 0;
    for (int i = 0; i < OBJECTS; i++) {
        struct object *object = &shared->objects[i];
        int places = explored_places(&object->node);
        there += places;
        EXPECT(places <= 1);
        if (places == 1) EXPECT(object->value != 0);
        else if (object->retired && object->value != 0) EXPECT(explored_is_lost(&object->node));
    }
    EXPECT_EQUAL(explored_pending(), there);
}
static void forks(void) {
    explored_fork(look);
    await(4);
}
static void forks_once(void) {
    explored_fork(look);
    await(2);
}
CLIENT(rcu_fork, .setup = make, .threads = { retires_0_1, retires_2_3, forks }, .check = check_4, .preemptions = 2,
       .without_rc11 = true)

/* The child has the section of the thread that forked, and no other one. */
static uint32_t sections(void) {
    int32_t thread_id;
    return csk_rcu_readers_find(0, &thread_id, 1) + csk_rcu_readers_find(CSK_RCU_PHASE, &thread_id, 1);
}
static void make_forking(void) {
    make();
    explored_forks_readers();
}
static void goes_on_alone(void) {
    EXPECT_EQUAL(sections(), 0);
    EXPECT_EQUAL(csk_rcu_barrier(), 0);
    read_once();
    EXPECT_EQUAL(sections(), 0);
}
static void forks_inside(void) {
    struct object *object = begin_and_find();
    explore_fork();
    EXPECT(csk_rcu_is_reading());
    EXPECT_EQUAL(sections(), 1);
    use(object);
    explored_read_end();
    goes_on_alone();
}
static void forks_outside(void) {
    explore_fork();
    goes_on_alone();
}
CLIENT(rcu_fork_inside, .setup = make_forking, .threads = { forks_inside, reads, replaces }, .preemptions = 1)
CLIENT(rcu_fork_outside, .setup = make_forking, .threads = { forks_outside, reads, replaces }, .preemptions = 1)
CLIENT(rcu_fork_beside_a_barrier, .setup = make, .threads = { retires_and_waits_0, forks_once, retires_1 },
       .check = check_2, .preemptions = 2, .without_rc11 = true)
