/* snapshot_test.c: what readers see, updates that lose nothing, values that are reclaimed once and in time, misuse. */
#include <csynckernel/csynckernel.h>

#include "test.h"

enum { WORDS = 8 };

/* All words are equal, so that a torn or reclaimed value shows. */
struct value {
    long words[WORDS];
    csk_rcu_node_t node;
};

static int alive;

static struct value *make(long word) {
    struct value *value = calloc(1, sizeof *value);
    for (int i = 0; i < WORDS; i++) value->words[i] = word;
    ADD(&alive, 1);
    return value;
}

static void reclaim(csk_rcu_node_t *node) {
    struct value *value = (struct value *)((char *)node - offsetof(struct value, node));
    memset(value->words, 0xA5, sizeof value->words);
    ADD(&alive, -1);
    free(value);
}

static int store(csk_snapshot_t *snapshot, long word) {
    struct value *value = make(word);
    return csk_snapshot_store(snapshot, value, &value->node, reclaim);
}

static long read_word(csk_snapshot_t *snapshot) {
    const struct value *value = csk_snapshot_read_begin(snapshot);
    long word = value != NULL ? value->words[0] : -1;
    for (int i = 1; value != NULL && i < WORDS; i++) CHECK_EQ(value->words[i], word);
    CHECK_STATUS(csk_snapshot_read_end(), 0);
    return word;
}

static void increment(csk_snapshot_t *snapshot) {
    const void *old;
    CHECK_STATUS(csk_snapshot_update_begin(snapshot, &old, CSK_NEVER), 0);
    struct value *fresh = make(((const struct value *)old)->words[0] + 1);
    CHECK_STATUS(csk_snapshot_update_end(snapshot, fresh, &fresh->node, reclaim), 0);
}

static void values_come_and_go(void) {
    csk_snapshot_t snapshot = CSK_SNAPSHOT_INITIALIZER;
    CHECK_EQ(read_word(&snapshot), -1);
    CHECK_STATUS(store(&snapshot, 1), 0);
    increment(&snapshot);
    CHECK_EQ(read_word(&snapshot), 2);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(alive, 1);
    CHECK_STATUS(csk_snapshot_store(&snapshot, NULL, NULL, NULL), 0);
    CHECK_EQ(read_word(&snapshot), -1);
    CHECK_STATUS(csk_snapshot_destroy(&snapshot), 0);
    CHECK_STATUS(store(&snapshot, 3), 0);
    increment(&snapshot);
    CHECK_STATUS(csk_snapshot_destroy(&snapshot), 0);
    CHECK_EQ(read_word(&snapshot), -1);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(alive, 0);
}

static void *may_not_end(void *context) {
    csk_snapshot_t *snapshot = context;
    const void *value;
    CHECK_STATUS(csk_snapshot_update_end(snapshot, NULL, NULL, NULL), EPERM);
    CHECK_STATUS(csk_snapshot_update_cancel(snapshot), EPERM);
    int64_t deadline = csk_deadline_after(2000000);
    CHECK_STATUS(csk_snapshot_update_begin(snapshot, &value, deadline), ETIMEDOUT);
    CHECK_GE(csk_now(), deadline);
    return NULL;
}

static void misuse_is_refused_and_changes_nothing(void) {
    csk_snapshot_t snapshot = CSK_SNAPSHOT_INITIALIZER;
    const void *value;
    CHECK_STATUS(store(&snapshot, 7), 0);
    CHECK_STATUS(csk_snapshot_update_end(&snapshot, NULL, NULL, NULL), EPERM);
    CHECK_STATUS(csk_snapshot_update_cancel(&snapshot), EPERM);
    CHECK_STATUS(csk_snapshot_update_begin(&snapshot, &value, CSK_NEVER), 0);
    CHECK_STATUS(csk_snapshot_update_begin(&snapshot, &value, CSK_NEVER), EDEADLK);
    CHECK_STATUS(csk_snapshot_store(&snapshot, NULL, NULL, NULL), EDEADLK);
    CHECK_STATUS(csk_snapshot_destroy(&snapshot), EBUSY);
    struct value *current = (struct value *)(uintptr_t)value;
    CHECK_STATUS(csk_snapshot_update_end(&snapshot, current, &current->node, reclaim), EINVAL);
    CHECK_STATUS(csk_snapshot_update_end(&snapshot, current, NULL, reclaim), EINVAL);
    CHECK_STATUS(csk_snapshot_update_end(&snapshot, current, &current->node, NULL), EINVAL);
    join_thread(start_thread(may_not_end, &snapshot));
    CHECK_EQ(read_word(&snapshot), 7);
    CHECK_STATUS(csk_snapshot_update_cancel(&snapshot), 0);
    CHECK_STATUS(csk_snapshot_store(&snapshot, current, NULL, NULL), EINVAL);
    increment(&snapshot);
    CHECK_EQ(read_word(&snapshot), 8);
    CHECK_STATUS(csk_snapshot_destroy(&snapshot), 0);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(alive, 0);
}

static void updates_inside_a_read_section(void) {
    csk_snapshot_t snapshot = CSK_SNAPSHOT_INITIALIZER;
    CHECK_STATUS(store(&snapshot, 1), 0);
    const struct value *seen = csk_snapshot_read_begin(&snapshot);
    for (int i = 0; i < 100; i++) increment(&snapshot);
    CHECK_EQ(seen->words[WORDS - 1], 1);
    CHECK_EQ(read_word(&snapshot), 101);
    CHECK_EQ(LOAD(&alive), 101);
    CHECK_STATUS(csk_snapshot_read_end(), 0);
    CHECK_STATUS(csk_snapshot_destroy(&snapshot), 0);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(alive, 0);
}

/* ---- Many threads ------------------------------------------------------------------------------------------------ */

static csk_snapshot_t shared;
static int stop;

static void *keep_reading(void *unused) {
    long last = 0;
    while (!LOAD(&stop)) {
        long word = read_word(&shared);
        CHECK_GE(word, last);
        last = word;
    }
    return unused;
}

static void *keep_updating(void *rounds) {
    for (intptr_t i = 0; i < (intptr_t)rounds; i++) increment(&shared);
    return NULL;
}

static void no_update_is_lost(void) {
    intptr_t rounds = 20000 / TEST_SLOWDOWN;
    pthread_t readers[4], updaters[4];
    STORE(&stop, 0);
    CHECK_STATUS(store(&shared, 0), 0);
    for (int i = 0; i < 4; i++) readers[i] = start_thread(keep_reading, NULL);
    for (int i = 0; i < 4; i++) updaters[i] = start_thread(keep_updating, (void *)rounds);
    for (int i = 0; i < 4; i++) join_thread(updaters[i]);
    STORE(&stop, 1);
    for (int i = 0; i < 4; i++) join_thread(readers[i]);
    CHECK_EQ(read_word(&shared), 4 * rounds);
    CHECK_STATUS(csk_snapshot_destroy(&shared), 0);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(alive, 0);
}

struct stay {
    int inside, leave;
};

static void *stay_inside(void *context) {
    struct stay *stay = context;
    const struct value *value = csk_snapshot_read_begin(&shared);
    STORE(&stay->inside, 1);
    wait_until(LOAD(&stay->leave));
    CHECK_EQ(value->words[0], 5);
    CHECK_STATUS(csk_snapshot_read_end(), 0);
    return NULL;
}

/* The reader leaves only after all updates have returned: they can't have waited for it. */
static void updates_wait_for_no_reader(void) {
    struct stay stay = { 0, 0 };
    CHECK_STATUS(store(&shared, 5), 0);
    pthread_t thread = start_thread(stay_inside, &stay);
    wait_until(LOAD(&stay.inside));
    for (int i = 0; i < 1000; i++) increment(&shared);
    /* The one that the reader has, those replaced since, and the current one. */
    CHECK_EQ(LOAD(&alive), 1001);
    CHECK_STATUS(csk_snapshot_destroy(&shared), 0);
    STORE(&stay.leave, 1);
    join_thread(thread);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(alive, 0);
}

TEST_MAIN(TEST(values_come_and_go), TEST(misuse_is_refused_and_changes_nothing), TEST(updates_inside_a_read_section),
          TEST(no_update_is_lost), TEST(updates_wait_for_no_reader))
