/* clients_pool_late.c: a worker that was called has no processor, and none for as long as a client's thread is there.
 * The supervisor sees after a millisecond that nothing was taken, and calls another one, or starts one. */
#include "explorer.h"
#include "pool/pool.h"
#include "wait/spin_park.h"

static struct {
    csk_pool_item_t items[5];
    uint32_t flags[2], done, inside;
} * shared;

/* From a moment on the first worker that is called while it sleeps is late. The client has one thread. */
static int late_worker;
static bool is_called(int thread, const void *word) {
    if (thread == 0 || !shared->flags[1] || !explore_is_own(thread, word) || *(const uint32_t *)word != CSK_WORD_ANSWER)
        return false;
    if (late_worker == 0) late_worker = thread;
    return late_worker == thread;
}
static void make(void) {
    shared = explore_allocate(sizeof *shared);
    late_worker = 0;
}
static void post(int index, csk_pool_function_t function) {
    EXPECT_EQUAL(csk_pool_post(&shared->items[index], function), 0);
}
static void waits_for_its_flag(csk_pool_item_t *item) {
    (void)item;
    __atomic_fetch_add(&shared->inside, 1, __ATOMIC_SEQ_CST);
    explore_wait(&shared->flags[0], 1);
}
static void counts(csk_pool_item_t *item) {
    (void)item;
    __atomic_fetch_add(&shared->done, 1, __ATOMIC_SEQ_CST);
}
static void does_nothing(csk_pool_item_t *item) { (void)item; }
static void until_idle(void) {
    for (int64_t end = explore_now() + 100000; explore_now() < end;) explore_pause("until all are idle");
}
/* Whoever is told of the last one may be late with nothing posted behind it: nobody looks for that. */
static void posts_late(void) {
    uint32_t done = shared->done + 2;
    until_idle();
    explore_set(&shared->flags[1], 1);
    post(0, counts);
    post(1, counts);
    post(4, does_nothing);
    explore_wait(&shared->done, done);
}

/* Two workers sleep. The one that is called first is late, and the other one does the items. */
static void posts_to_two(void) {
    post(2, waits_for_its_flag);
    post(3, waits_for_its_flag);
    explore_wait(&shared->inside, 2);
    explore_set(&shared->flags[0], 1);
    posts_late();
}
CLIENT(pool_late_beside_another, .setup = make, .is_late = is_called, .threads = { posts_to_two })

/* One worker sleeps, and is late. */
static void posts_to_one(void) {
    post(2, counts);
    explore_wait(&shared->done, 1);
    posts_late();
}
CLIENT(pool_late_alone, .setup = make, .is_late = is_called, .threads = { posts_to_one })
