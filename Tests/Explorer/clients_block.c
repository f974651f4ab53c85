/* clients_block.c: blocks that threads take, hand to each other and give back, and threads that end. A slab has two of
 * them here, and goes on as soon as one of them is free. */
#include "csynckernel/block.h"
#include "explorer.h"
#include "internal.h"

enum { PLACES = 6 };

static struct {
    void *places[PLACES];
    uint32_t filled[PLACES], given;
} * shared;

static void make(void) { shared = explore_allocate(sizeof *shared); }

/* A mark on what somebody has; the slab's own word is elsewhere. */
static uint64_t *mark(void *block) { return (uint64_t *)((char *)block + CSK_BLOCK_SIZE - sizeof(uint64_t)); }

static void *take(void) {
    void *block = csk_block_take();
    EXPECT(block != NULL);
    EXPECT(__atomic_exchange_n(mark(block), 1, __ATOMIC_RELAXED) == 0);
    /* What others wrote there, whoever had it before, comes before this. */
    uint64_t *used = mark(block) - 1, self = (uint64_t)explore_thread() + 1;
    __atomic_store_n(used, self, __ATOMIC_RELAXED);
    EXPECT_EQUAL(__atomic_load_n(used, __ATOMIC_RELAXED), self);
    return block;
}
static void give(void *block) {
    __atomic_store_n(mark(block) - 1, 99, __ATOMIC_RELAXED);
    EXPECT(__atomic_exchange_n(mark(block), 0, __ATOMIC_RELAXED) == 1);
    csk_block_give(block);
}
static void put(int place) {
    shared->places[place] = take();
    explore_set(&shared->filled[place], 1);
}
static void give_from(int place) {
    explore_wait(&shared->filled[place], 1);
    give(shared->places[place]);
}

/* All threads have ended: nobody has a block, and no slab is lost. */
static void none_is_lost(void) { EXPECT_EQUAL(kernel_blocks_lost(), 0); }

static void takes_and_gives(void) {
    void *blocks[3];
    for (int i = 0; i < 3; i++) blocks[i] = take();
    for (int i = 0; i < 3; i++) give(blocks[i]);
}
static void takes_one(void) { give(take()); }
CLIENT(block_two_threads, .setup = make, .threads = { takes_and_gives, takes_and_gives }, .check = none_is_lost)
CLIENT(block_three_threads, .setup = make, .threads = { takes_and_gives, takes_one, takes_and_gives },
       .check = none_is_lost)

static void fills_three(void) {
    for (int i = 0; i < 3; i++) put(i);
}
static void fills_three_others(void) {
    for (int i = 3; i < 6; i++) put(i);
}
static void gives_three(void) {
    for (int i = 0; i < 3; i++) give_from(i);
    takes_one();
}
static void gives_six(void) {
    for (int i = 0; i < 3; i++) give_from(i), give_from(i + 3);
}
CLIENT(block_from_hand_to_hand, .setup = make, .threads = { fills_three, gives_three }, .check = none_is_lost)
CLIENT(block_of_two_producers, .setup = make, .threads = { fills_three, fills_three_others, gives_six },
       .check = none_is_lost)

/* One slab whose blocks two threads give back. */
static void gives_first(void) { give_from(0); }
static void gives_second(void) {
    give_from(1);
    takes_one();
}
static void fills_two(void) {
    put(0);
    put(1);
}
CLIENT(block_given_by_two, .setup = make, .threads = { fills_two, gives_first, gives_second }, .check = none_is_lost)

/* Another thread takes the block that is back while its neighbour is still in use. */
static void gives_first_and_takes(void) {
    give_from(0);
    takes_and_gives();
}
CLIENT(block_whose_neighbour_stays, .setup = make, .threads = { fills_two, gives_first_and_takes, gives_second },
       .check = none_is_lost)

/* More slabs than are kept. */
static void takes_six(void) {
    void *blocks[6];
    for (int i = 0; i < 6; i++) blocks[i] = take();
    for (int i = 0; i < 6; i++) give(blocks[i]);
}
CLIENT(block_more_than_are_kept, .setup = make, .threads = { takes_six, takes_and_gives }, .check = none_is_lost)

/* The first thread can't hear of its end, so nothing may stay with it. */
static void make_refused(void) {
    make();
    kernel_blocks_refused = 1;
}
CLIENT(block_of_a_thread_that_keeps_nothing, .setup = make_refused, .threads = { fills_three, gives_three },
       .check = none_is_lost)
CLIENT(block_given_by_a_thread_that_keeps_nothing, .setup = make_refused, .threads = { gives_three, fills_three },
       .check = none_is_lost)
