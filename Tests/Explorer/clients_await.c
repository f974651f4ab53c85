/* clients_await.c: predicates of the gate: nobody whose predicate is true is left asleep, whoever holds the gate finds
 * its predicate true, one change wakes one thread, deadlines, order, recursive gates, and children of fork.
 * More than 400 lines: all clients share the items, who takes and who puts them, and what is checked of the list. */
#include "csynckernel/await.h"

#include "gate_fixture.h"
#include "lock/gate_await.h"

static uint32_t items(void) { return __atomic_load_n(&shared->flags[0], __ATOMIC_RELAXED); }
static void set_items(uint32_t count) { __atomic_store_n(&shared->flags[0], count, __ATOMIC_RELAXED); }
static bool some(void *unused) {
    (void)unused;
    EXPECT(csk_gate_is_mine(gate));
    return items() >= 1;
}
static bool two(void *unused) {
    (void)unused;
    return items() >= 2;
}
static bool never(void *unused) {
    (void)unused;
    return false;
}

static uint32_t awaiting(void) { return csk_gate_waiting(gate); }
/* For a thread that comes once so many wait for predicates: each says so while it holds the gate. */
static void await_waits(uint32_t count) { explore_wait(&shared->flags[1], count); }
static void says_that_it_waits(void) { __atomic_fetch_add(&shared->flags[1], 1, __ATOMIC_RELAXED); }

static void published_with_conditions(void) {
    is_published();
    if (gate->queue_lock != 0 || gate->summary == 0) return;
    EXPECT_EQUAL((gate->summary & GATE_LOOKS) != 0, csk_gate_conditions(gate) != NULL);
}
/* One client for each form of the gate. With three threads the other two forms have too many schedules. */
#define CLIENT_AWAIT_FAST(name, ...) \
    CLIENT(name##_fast, .setup = make_fast, .invariant = published_with_conditions, __VA_ARGS__)
#define CLIENT_AWAIT_COMPACT(name, ...) \
    CLIENT(name##_compact, .setup = make_compact, .invariant = published_with_conditions, __VA_ARGS__)
#define CLIENT_AWAIT_STRICT(name, ...) \
    CLIENT(name##_strict, .setup = make_strict, .invariant = published_with_conditions, __VA_ARGS__)
#define CLIENT_AWAIT(name, ...)                               \
    CLIENT_AWAIT_FAST(name, __VA_ARGS__, .preemptions = 1)    \
    CLIENT_AWAIT_COMPACT(name, __VA_ARGS__, .preemptions = 1) \
    CLIENT_AWAIT_STRICT(name, __VA_ARGS__, .preemptions = 1)
#define CLIENT_AWAIT_THREE(name, ...)                         \
    CLIENT_AWAIT_FAST(name, __VA_ARGS__)                      \
    CLIENT_AWAIT_COMPACT(name, __VA_ARGS__, .preemptions = 1) \
    CLIENT_AWAIT_STRICT(name, __VA_ARGS__)
#define CLIENT_AWAIT_RANDOM(name, ...)      \
    CLIENT_AWAIT_FAST(name, __VA_ARGS__)    \
    CLIENT_AWAIT_COMPACT(name, __VA_ARGS__) \
    CLIENT_AWAIT_STRICT(name, __VA_ARGS__)

static void nothing_is_left(void) {
    EXPECT_EQUAL(items(), 0);
    EXPECT(csk_gate_conditions(gate) == NULL);
    expect_idle(shared->count);
}

/* ---- Nobody is left asleep --------------------------------------------------------------------------------------- */

static void takes_as(int32_t priority, int who) {
    EXPECT_EQUAL(csk_gate_lock_when(gate, priority, some, NULL, CSK_NEVER), 0);
    EXPECT(csk_gate_is_mine(gate));
    EXPECT(items() >= 1);
    set_items(items() - 1);
    enter_as(who);
    unlock();
}
static void takes(void) { takes_as(0, 1); }
static void takes_urgently(void) { takes_as(1, 2); }
static void puts_items(uint32_t count) {
    lock(0);
    set_items(items() + count);
    section();
    unlock();
}
static void puts_one(void) { puts_items(1); }
static void puts_two(void) { puts_items(2); }
static void comes_by(void) {
    lock(0);
    section();
    unlock();
}
CLIENT_AWAIT(await_one, .threads = { takes, puts_one }, .check = nothing_is_left)
CLIENT_AWAIT(await_one_spurious, .threads = { takes, puts_one }, .check = nothing_is_left, .spurious = 1)
CLIENT_AWAIT_THREE(await_beside_others, .threads = { takes, puts_one, comes_by }, .check = nothing_is_left)
CLIENT_AWAIT_THREE(await_two, .threads = { takes, takes_urgently, puts_two }, .check = nothing_is_left)
CLIENT_AWAIT_RANDOM(await_two_changes, .threads = { takes, takes_urgently, puts_one, puts_one },
                    .check = nothing_is_left)

/* Different predicates: the one that stands before is false, and bars nobody. */
static void takes_two(void) {
    lock(1);
    says_that_it_waits();
    EXPECT_EQUAL(csk_gate_await(gate, 1, two, NULL, CSK_NEVER), 0);
    EXPECT(items() >= 2);
    set_items(items() - 2);
    section();
    unlock();
}
static void takes_one_behind(void) {
    await_waits(1);
    takes();
    __atomic_store_n(&shared->flags[2], 1, __ATOMIC_RELAXED);
}
static void puts_one_and_then_two(void) {
    await_waits(1);
    puts_one();
    explore_wait(&shared->flags[2], 1);
    puts_two();
}
CLIENT_AWAIT_RANDOM(await_false_one_before, .threads = { takes_two, takes_one_behind, puts_one_and_then_two },
                    .check = nothing_is_left)

/* A thread that waits inside of its section changes something before it does: its own leaving looks too. */
static void puts_and_takes(void) {
    lock(0);
    set_items(items() + 1);
    section();
    EXPECT_EQUAL(csk_gate_await(gate, 0, two, NULL, CSK_NEVER), 0);
    set_items(items() - 2);
    section();
    unlock();
}
static void takes_and_gives_back(void) {
    EXPECT_EQUAL(csk_gate_lock_when(gate, 1, some, NULL, CSK_NEVER), 0);
    set_items(items() + 1);
    section();
    unlock();
}
CLIENT_AWAIT(await_inside, .threads = { takes_and_gives_back, puts_and_takes }, .check = nothing_is_left)

/* No lock of the library's is held while a predicate is asked. */
static bool some_and_looks(void *unused) {
    (void)csk_gate_waiting(gate);
    return some(unused);
}
static void takes_looking(void) {
    EXPECT_EQUAL(csk_gate_lock_when(gate, 0, some_and_looks, NULL, CSK_NEVER), 0);
    set_items(items() - 1);
    section();
    unlock();
}
CLIENT_AWAIT(await_looks, .threads = { takes_looking, puts_one }, .check = nothing_is_left)

/* ---- Deadlines --------------------------------------------------------------------------------------------------- */

static void takes_in_time(void) {
    int64_t deadline = explore_now() + 20000;
    lock(0);
    int status = csk_gate_await(gate, 0, some, NULL, deadline);
    EXPECT(csk_gate_is_mine(gate));
    EXPECT(status == 0 || status == ETIMEDOUT);
    EXPECT(status == 0 || explore_now() >= deadline);
    EXPECT_EQUAL(status == 0, items() != 0);
    if (status == 0) set_items(items() - 1);
    section();
    unlock();
}
static void may_be_left(void) {
    set_items(0);
    nothing_is_left();
}
CLIENT_AWAIT(await_deadline, .threads = { takes_in_time, puts_one }, .check = may_be_left)
CLIENT_AWAIT_THREE(await_deadline_beside_others, .threads = { takes_in_time, puts_one, comes_by }, .check = may_be_left)
/* The one whose deadline passes stood before the other, and was chosen perhaps. The item reaches one of them. */
static void takes_urgently_in_time(void) {
    int status = csk_gate_lock_when(gate, 1, two, NULL, explore_now() + 20000);
    EXPECT(status == 0 || status == ETIMEDOUT);
    EXPECT_EQUAL(csk_gate_is_mine(gate), status == 0);
    if (status != 0) return;
    section();
    unlock();
}
CLIENT_AWAIT_THREE(await_behind_a_deadline, .threads = { takes, takes_urgently_in_time, puts_one },
                   .check = nothing_is_left)
static void looks_in_time(void) {
    int status = csk_gate_lock_when(gate, 1, some, NULL, explore_now() + 20000);
    EXPECT_EQUAL(csk_gate_is_mine(gate), status == 0);
    if (status == 0) unlock();
}
CLIENT_AWAIT_THREE(await_chosen_with_deadline, .threads = { takes, looks_in_time, puts_one }, .check = nothing_is_left)

/* It is chosen, but the item may be gone when it comes. It goes on waiting, until its deadline,
 * which is longer than it sleeps before it looks after the holder. */
static void puts_one_and_takes_it_back(void) {
    puts_one();
    lock(9);
    set_items(0);
    section();
    unlock();
}
static void takes_in_time_perhaps(void) {
    int64_t deadline = explore_now() + 3000000000;
    lock(0);
    int status = csk_gate_await(gate, 0, some, NULL, deadline);
    EXPECT(status == 0 || (status == ETIMEDOUT && explore_now() >= deadline));
    section();
    unlock();
}
CLIENT_AWAIT(await_deadline_in_vain, .threads = { takes_in_time_perhaps, puts_one_and_takes_it_back },
             .check = may_be_left)

/* ---- Order ------------------------------------------------------------------------------------------------------- */

static bool open_for_all(void *unused) {
    (void)unused;
    return items() != 0;
}
static void waits_as(int32_t priority, int who) {
    lock(priority);
    says_that_it_waits();
    EXPECT_EQUAL(csk_gate_await(gate, priority, open_for_all, NULL, CSK_NEVER), 0);
    enter_as(who);
    unlock();
}
static void first_low(void) { waits_as(-1, 1); }
static void then_normal(void) {
    await_waits(1);
    waits_as(0, 2);
}
static void then_normal_again(void) {
    await_waits(2);
    waits_as(0, 3);
}
static void opens(void) {
    await_waits(3);
    lock(9); /* by now all three wait */
    EXPECT_EQUAL(awaiting(), 3);
    set_items(1);
    section();
    unlock();
}
static void went_by_priority(void) {
    expect_order(3, (const int[]){ 2, 3, 1 });
    set_items(0);
    nothing_is_left();
}
CLIENT_AWAIT_RANDOM(await_order, .threads = { first_low, then_normal, then_normal_again, opens },
                    .check = went_by_priority)

/* One item for three: the gate's queue gets one of them, however often the gate is left before it comes. */
static void one_is_on_its_way(void) {
    await_waits(2);
    lock(9);
    set_items(1);
    section();
    unlock();
    for (int visits = 0; visits < 3; visits++) {
        lock(9);
        EXPECT(gate->waiting <= 1);
        EXPECT(items() == 0 || gate->waiting == 1);
        EXPECT(csk_gate_waiting(gate) <= 2);
        section();
        unlock();
    }
    puts_items(1);
}
static void takes_openly(int32_t priority) {
    lock(priority);
    says_that_it_waits();
    EXPECT_EQUAL(csk_gate_await(gate, priority, some, NULL, CSK_NEVER), 0);
    set_items(items() - 1);
    section();
    unlock();
}
static void takes_openly_first(void) { takes_openly(0); }
static void takes_openly_then(void) {
    await_waits(1);
    takes_openly(0);
}
CLIENT_AWAIT_RANDOM(await_no_stampede, .threads = { takes_openly_first, takes_openly_then, one_is_on_its_way },
                    .check = nothing_is_left, .without_time = true)

/* The chosen one is passed by one that takes the item. It goes on waiting, at its old place, and is asked again. */
static void takes_by_the_way(void) {
    lock(5);
    if (items() != 0) {
        set_items(items() - 1);
        shared->flags[2] = 1;
    }
    section();
    unlock();
}
static void puts_until_taken(void) {
    await_waits(1);
    puts_one();
    explore_wait(&shared->flags[3], 1);
    lock(0);
    if (shared->flags[2]) set_items(items() + 1);
    section();
    unlock();
}
static void passes(void) {
    await_waits(1);
    takes_by_the_way();
    __atomic_store_n(&shared->flags[3], 1, __ATOMIC_RELAXED);
}
CLIENT_AWAIT_THREE(await_passed, .threads = { takes_openly_first, passes, puts_until_taken }, .check = nothing_is_left)

/* ---- Refusals, forms, children ----------------------------------------------------------------------------------- */

static void nobody_is_called(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context, (void)status;
    EXPECT(false);
}
static void refuses(void) {
    await_waits(1);
    EXPECT_EQUAL(csk_gate_destroy(gate), EBUSY);
    lock(9);
    EXPECT_EQUAL(csk_gate_close(gate, &shared->waiters[0], nobody_is_called, NULL), EBUSY);
    EXPECT_EQUAL(csk_gate_destroy(gate), EBUSY);
    EXPECT_EQUAL(csk_gate_lock_when(gate, 0, some, NULL, CSK_NEVER), EDEADLK);
    EXPECT_EQUAL(csk_gate_await(gate, 0, NULL, NULL, CSK_NEVER), EINVAL);
    EXPECT_EQUAL(csk_gate_await(gate, 0, never, NULL, 0), ETIMEDOUT);
    set_items(1);
    section();
    unlock();
    EXPECT_EQUAL(csk_gate_await(gate, 0, some, NULL, CSK_NEVER), EPERM);
}
CLIENT(await_refusals, .setup = make_compact, .threads = { takes_openly_first, refuses }, .check = nothing_is_left,
       .preemptions = 0)

static void takes_recursively(void) {
    EXPECT_EQUAL(csk_gate_lock_recursive(gate, 0, CSK_NEVER), 0);
    EXPECT_EQUAL(csk_gate_lock_recursive(gate, 0, CSK_NEVER), 0);
    EXPECT_EQUAL(csk_gate_await(gate, 0, some, NULL, CSK_NEVER), 0);
    set_items(items() - 1);
    section();
    EXPECT_EQUAL(csk_gate_unlock_recursive(gate), 0);
    EXPECT(csk_gate_is_mine(gate));
    EXPECT_EQUAL(csk_gate_unlock_recursive(gate), 0);
}
static void puts_recursively(void) {
    EXPECT_EQUAL(csk_gate_lock_recursive(gate, 0, CSK_NEVER), 0);
    set_items(items() + 1);
    section();
    EXPECT_EQUAL(csk_gate_unlock_recursive(gate), 0);
}
static void nothing_is_left_recursively(void) {
    EXPECT_EQUAL(items(), 0);
    EXPECT(csk_gate_conditions(gate) == NULL && csk_gate_waiting(gate) == 0 && gate->held == 0);
}
CLIENT_AWAIT(await_recursive, .threads = { takes_recursively, puts_recursively }, .check = nothing_is_left_recursively)

/* Under a bypass limit the arrivals are counted, whose head is in the list of conditions then. */
static void make_limited(void) { make_gate(CSK_GATE_FAST, 1, 0); }
CLIENT(await_limit, .setup = make_limited, .invariant = published_with_conditions,
       .threads = { takes, takes_urgently, puts_two, comes_by }, .check = nothing_is_left, .preemptions = 0)

/* A gate is closed by who holds it, and the holder does not wait any more. */
static void closed_well(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    shared->called++;
}
static void closes_and_waits(void) {
    lock(0);
    EXPECT_EQUAL(csk_gate_close(gate, &shared->waiters[0], closed_well, NULL), 0);
    EXPECT_EQUAL(csk_gate_await(gate, 0, some, NULL, CSK_NEVER), ESHUTDOWN);
    unlock();
}
static void is_closed(void) {
    EXPECT_EQUAL(shared->called, 1);
    EXPECT_EQUAL(csk_gate_destroy(gate), 0);
}
CLIENT(await_closed, .setup = make_compact, .threads = { closes_and_waits }, .check = is_closed, .preemptions = 1)

/* The callback is let in by the thread that begins to wait. What it leaves for later must not run there. */
static void puts_and_leaves(csk_waiter_t *waiter, void *context, int status) {
    static csk_gate_later_t later;
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    EXPECT(!csk_gate_call_later(&later));
    set_items(items() + 1);
    section();
    unlock();
}
static void notes_a_later_call(csk_gate_later_t *later) {
    (void)later;
    shared->called++;
}
static void lets_a_callback_in(void) {
    static csk_gate_later_t afterwards = { .function = notes_a_later_call };
    lock(0);
    EXPECT_EQUAL(csk_gate_lock_async(gate, 0, &shared->waiters[0], CSK_NEVER, puts_and_leaves, NULL), 0);
    EXPECT_EQUAL(csk_gate_await(gate, 0, some, NULL, CSK_NEVER), 0);
    set_items(items() - 1);
    section();
    unlock();
    EXPECT(csk_gate_call_later(&afterwards));
    EXPECT_EQUAL(shared->called, 1);
}
CLIENT_AWAIT(await_lets_a_callback_in, .threads = { lets_a_callback_in }, .check = nothing_is_left)

/* ---- Asynchronously ---------------------------------------------------------------------------------------------- */

static csk_gate_condition_t *condition;
static void with_condition(void) { condition = explore_allocate(sizeof *condition); }
static void make_watched_fast(void) { make_fast(), with_condition(); }
static void make_watched_compact(void) { make_compact(), with_condition(); }
static void make_watched_strict(void) { make_strict(), with_condition(); }
#define CLIENT_WATCH_FAST(name, ...) \
    CLIENT(name##_fast, .setup = make_watched_fast, .invariant = published_with_conditions, __VA_ARGS__)
#define CLIENT_WATCH_COMPACT(name, ...) \
    CLIENT(name##_compact, .setup = make_watched_compact, .invariant = published_with_conditions, __VA_ARGS__)
#define CLIENT_WATCH_STRICT(name, ...) \
    CLIENT(name##_strict, .setup = make_watched_strict, .invariant = published_with_conditions, __VA_ARGS__)
#define CLIENT_WATCH(name, ...)                               \
    CLIENT_WATCH_FAST(name, __VA_ARGS__)                      \
    CLIENT_WATCH_COMPACT(name, __VA_ARGS__, .preemptions = 1) \
    CLIENT_WATCH_STRICT(name, __VA_ARGS__)

static void is_found(csk_gate_condition_t *found, void *context, int status);
static void watch_again(void) {
    EXPECT_EQUAL(csk_gate_watch(gate, csk_rank(1, CSK_PLACE_BACK), condition, some, NULL, is_found, shared), 0);
}
static void has_the_gate(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    if (items() == 0) watch_again();
    else {
        set_items(items() - 1);
        shared->called++;
        section();
    }
    unlock();
}
static void is_found(csk_gate_condition_t *found, void *context, int status) {
    EXPECT(found == condition && context == shared);
    EXPECT(status == 0 || status == ECANCELED);
    shared->status[0] = status;
    if (status != 0) {
        shared->called++;
        return;
    }
    EXPECT(csk_gate_is_mine(gate) && items() >= 1);
    EXPECT_EQUAL(csk_gate_lock_async(gate, 1, &shared->waiters[0], CSK_NEVER, has_the_gate, NULL), 0);
}
static void watches(void) {
    lock(0);
    if (items() == 0) {
        watch_again();
    } else {
        set_items(items() - 1);
        shared->called++;
        section();
    }
    unlock();
}
static void was_called_once(void) {
    EXPECT_EQUAL(shared->called, 1);
    if (shared->status[0] != 0) set_items(0);
    nothing_is_left();
}
CLIENT_WATCH(await_watch_one, .threads = { watches, puts_one }, .check = was_called_once)
CLIENT_WATCH(await_watch_beside_others, .threads = { watches, puts_one, comes_by }, .check = was_called_once)
CLIENT_WATCH(await_watch_beside_thread, .threads = { watches, takes, puts_two }, .check = was_called_once)
static void gives_up(void) {
    int status = csk_gate_unwatch(gate, condition);
    EXPECT(status == 0 || status == ENOENT);
    shared->flags[4] = status == 0;
}
static void was_called_once_as_told(void) {
    if (shared->flags[4]) EXPECT_EQUAL(shared->status[0], ECANCELED);
    was_called_once();
}
CLIENT_WATCH(await_watch_or_cancel, .threads = { watches, puts_one, gives_up }, .check = was_called_once_as_told)
/* The one that is cancelled while it is asked leaves the others their turn. It takes nothing if it is not. */
static void has_the_gate_and_looks(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
    shared->called++;
    section();
    unlock();
}
static void is_found_and_looks(csk_gate_condition_t *found, void *context, int status) {
    (void)found, (void)context;
    if (status != 0) shared->called++;
    else EXPECT_EQUAL(csk_gate_lock_async(gate, 1, &shared->waiters[0], CSK_NEVER, has_the_gate_and_looks, NULL), 0);
}
static void watches_to_look(void) {
    lock(0);
    csk_rank_t rank = csk_rank(1, CSK_PLACE_BACK);
    EXPECT_EQUAL(csk_gate_watch(gate, rank, condition, some, NULL, is_found_and_looks, shared), 0);
    says_that_it_waits();
    unlock();
}
static void takes_behind(void) {
    await_waits(1);
    lock(0);
    says_that_it_waits();
    EXPECT_EQUAL(csk_gate_await(gate, 0, some, NULL, CSK_NEVER), 0);
    set_items(items() - 1);
    section();
    unlock();
}
static void puts_for_both(void) {
    await_waits(2);
    puts_one();
}
static void gives_up_to_look(void) {
    await_waits(2);
    csk_gate_unwatch(gate, condition);
}
CLIENT(await_watch_cancelled_beside_thread, .setup = make_watched_compact, .invariant = published_with_conditions,
       .threads = { watches_to_look, takes_behind, puts_for_both, gives_up_to_look }, .check = was_called_once)

/* A grant that nobody adopts is taken back in favour of one that waits for a predicate, although nobody queues. */
static void is_granted_in_vain(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    EXPECT_EQUAL(status, 0);
}
static void is_found_in_vain(csk_gate_condition_t *found, void *context, int status) {
    (void)found, (void)context;
    EXPECT_EQUAL(status, 0);
    EXPECT_EQUAL(csk_gate_lock_async_ranked(gate, csk_rank(1, CSK_PLACE_BACK), &shared->waiters[0], true, CSK_NEVER,
                                            is_granted_in_vain, NULL),
                 0);
}
static void watches_in_vain(void) {
    lock(0);
    EXPECT_EQUAL(csk_gate_watch(gate, csk_rank(1, CSK_PLACE_BACK), condition, some, NULL, is_found_in_vain, shared), 0);
    __atomic_store_n(&shared->flags[5], 1, __ATOMIC_RELAXED);
    unlock();
}
static void takes_after(void) {
    explore_wait(&shared->flags[5], 1);
    takes();
}
static void puts_after(void) {
    explore_wait(&shared->flags[5], 1);
    puts_one();
}
static void lost_its_grant(void) {
    if (csk_gate_conditions(gate) != NULL) csk_gate_unwatch(gate, condition);
    csk_gate_forget(gate, &shared->waiters[0]);
    EXPECT_EQUAL(items(), 0);
}
CLIENT(await_lost_grant_fast, .setup = make_watched_fast, .invariant = published_with_conditions,
       .threads = { watches_in_vain, takes_after, puts_after }, .check = lost_its_grant)
CLIENT(await_lost_grant_compact, .setup = make_watched_compact, .invariant = published_with_conditions,
       .threads = { watches_in_vain, takes_after, puts_after }, .check = lost_its_grant)

/* The lane's task lost its grant, and the thread that it needs waits for the predicate. What a function queues in that
 * lane can't be granted: the thread behind is asked. */
static csk_gate_lane_t *stalled_lane;
static void make_stalled_fast(void) { make_watched_fast(), stalled_lane = explore_allocate(sizeof *stalled_lane); }
static void make_stalled_compact(void) {
    make_watched_compact(), stalled_lane = explore_allocate(sizeof *stalled_lane);
}
static void queue_in_stalled_lane(csk_waiter_t *waiter) {
    csk_rank_t rank = csk_rank(1, CSK_PLACE_BACK);
    EXPECT_EQUAL(csk_gate_lock_lane(gate, rank, waiter, stalled_lane, CSK_NEVER, is_granted_in_vain, NULL), 0);
}
static void is_found_for_stalled_lane(csk_gate_condition_t *found, void *context, int status) {
    (void)found, (void)context;
    EXPECT_EQUAL(status, 0);
    queue_in_stalled_lane(&shared->waiters[1]);
}
static void takes_behind_stalled_lane(void) {
    queue_in_stalled_lane(&shared->waiters[0]);
    lock(0); /* after that grant was lost */
    csk_rank_t rank = csk_rank(1, CSK_PLACE_BACK);
    EXPECT_EQUAL(csk_gate_watch(gate, rank, condition, some, NULL, is_found_for_stalled_lane, NULL), 0);
    __atomic_store_n(&shared->flags[5], 1, __ATOMIC_RELAXED);
    EXPECT_EQUAL(csk_gate_await(gate, 0, some, NULL, CSK_NEVER), 0);
    set_items(items() - 1);
    section();
    unlock();
}
static void lost_two_grants(void) {
    csk_gate_forget(gate, &shared->waiters[0]);
    csk_gate_forget(gate, &shared->waiters[1]);
    nothing_is_left();
}
CLIENT(await_behind_stalled_lane_fast, .setup = make_stalled_fast, .invariant = published_with_conditions,
       .threads = { takes_behind_stalled_lane, puts_after }, .check = lost_two_grants, .preemptions = 1)
CLIENT(await_behind_stalled_lane_compact, .setup = make_stalled_compact, .invariant = published_with_conditions,
       .threads = { takes_behind_stalled_lane, puts_after }, .check = lost_two_grants, .preemptions = 1)

/* The thread that waits does so in the parent. */
static void waits_in_parent(void) {
    EXPECT_EQUAL(csk_gate_lock_when(gate, 0, never, NULL, explore_now() + 20000), ETIMEDOUT);
}
static void forks_beside_who_waits(void) {
    explore_fork();
    EXPECT_EQUAL(csk_gate_waiting(gate), 0);
    if (csk_gate_trylock(gate, 0) != 0) return;
    EXPECT_EQUAL(csk_gate_await(gate, 0, never, NULL, explore_now() + 20000), ETIMEDOUT);
    unlock();
    EXPECT(csk_gate_conditions(gate) == NULL);
    EXPECT_EQUAL(csk_gate_destroy(gate), 0);
}
CLIENT(await_fork_fast, .setup = make_fast, .threads = { waits_in_parent, forks_beside_who_waits }, .preemptions = 1)
CLIENT(await_fork_compact, .setup = make_compact, .threads = { waits_in_parent, forks_beside_who_waits },
       .preemptions = 1)
