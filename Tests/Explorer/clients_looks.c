/* clients_looks.c: waiters look in turns for whom they wait: no two turns overlap, whoever comes at one moment. */
#include "explorer.h"
#include "wait/watch.h"

enum { LOOKERS = 3, LOOK_NS = 1000, TURN_NS = 20 * LOOK_NS };

/* Between which moments each turn begins. */
static struct {
    int64_t from_ns[LOOKERS];
    int64_t to_ns[LOOKERS];
} * shared;

/* A look has taken so long that others have to wait for their turns. */
static void make(void) {
    shared = explore_allocate(sizeof *shared);
    csk_watch_t watch = csk_begin_watch(explore_now(), CSK_WATCH_ENDED_NS);
    EXPECT(csk_watch_may_look(&watch));
    csk_watch_looked(&watch, explore_now() - LOOK_NS);
}

static void takes_turn(int looker) {
    csk_watch_t watch = csk_begin_watch(explore_now(), CSK_WATCH_ENDED_NS);
    shared->from_ns[looker] = explore_now();
    if (csk_watch_may_look(&watch)) {
        EXPECT(!watch.has_turn);
        shared->to_ns[looker] = explore_now();
        return;
    }
    EXPECT(watch.has_turn && watch.look_ns > shared->from_ns[looker]);
    shared->from_ns[looker] = shared->to_ns[looker] = watch.look_ns;
    EXPECT(csk_watch_may_look(&watch)); /* its turn is its own, however late it comes */
    EXPECT(!watch.has_turn);
}
static void takes_turn_0(void) { takes_turn(0); }
static void takes_turn_1(void) { takes_turn(1); }
static void takes_turn_2(void) { takes_turn(2); }

static void no_two_overlap(void) {
    for (int i = 0; i < LOOKERS; i++)
        for (int j = 0; j < i; j++)
            EXPECT(shared->to_ns[i] - shared->from_ns[j] >= TURN_NS ||
                   shared->to_ns[j] - shared->from_ns[i] >= TURN_NS);
}
CLIENT(looks_in_turns, .setup = make, .threads = { takes_turn_0, takes_turn_1, takes_turn_2 }, .check = no_two_overlap,
       .preemptions = 3)

/* A child has no waiters of the parent's, and so none of their turns. */
static void forks_and_looks(void) {
    csk_watch_t watch = csk_begin_watch(explore_now(), CSK_WATCH_ENDED_NS);
    csk_watch_may_look(&watch);
    explore_fork();
    watch = csk_begin_watch(explore_now(), CSK_WATCH_ENDED_NS);
    EXPECT(csk_watch_may_look(&watch));
}
CLIENT(looks_in_a_child, .setup = make, .threads = { takes_turn_0, takes_turn_1, forks_and_looks }, .preemptions = 2)
