/* rcu_map_test.c: a table against what it must hold, keys with one hash, growth under lookups, writers against each
 * other. */
#include <csynckernel/csynckernel.h>

#include "test.h"

struct item {
    csk_rcu_map_entry_t entry;
    uint64_t key;
    long value;
};

static int alive;

static bool has_key(const csk_rcu_map_entry_t *entry, const void *key) {
    return ((const struct item *)entry)->key == *(const uint64_t *)key;
}

static void reclaim(csk_rcu_node_t *node) {
    struct item *item = (struct item *)((char *)node - offsetof(struct item, entry.node));
    item->value = -1;
    ADD(&alive, -1);
    free(item);
}

static struct item *make(uint64_t key, long value) {
    struct item *item = calloc(1, sizeof *item);
    item->key = key;
    item->value = value;
    ADD(&alive, 1);
    return item;
}

typedef uint64_t (*hash_t)(uint64_t key);
static uint64_t one_of_four(uint64_t key) { return key % 4; }

static void put(csk_rcu_map_t *map, hash_t hash, uint64_t key, long value) {
    csk_rcu_map_entry_t *old;
    CHECK_STATUS(csk_rcu_map_replace(map, hash(key), &key, &make(key, value)->entry, &old), 0);
    if (old != NULL) CHECK_STATUS(csk_rcu_retire(&old->node, reclaim), 0);
}

static bool drop(csk_rcu_map_t *map, hash_t hash, uint64_t key) {
    csk_rcu_map_entry_t *old = csk_rcu_map_remove(map, hash(key), &key);
    if (old != NULL) CHECK_STATUS(csk_rcu_retire(&old->node, reclaim), 0);
    return old != NULL;
}

static long get(csk_rcu_map_t *map, hash_t hash, uint64_t key) {
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    struct item *item = (struct item *)csk_rcu_map_find(map, hash(key), &key);
    long value = item != NULL ? item->value : 0;
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    return value;
}

static void end(csk_rcu_map_t *map) {
    CHECK_STATUS(csk_rcu_map_destroy(map, NULL), EINVAL);
    CHECK_STATUS(csk_rcu_map_destroy(map, reclaim), 0);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(alive, 0);
}

/* Random operations beside an array that knows the answers. */
static void as_an_array(hash_t hash) {
    enum { KEYS = 64 };
    long expected[KEYS] = { 0 }, present = 0;
    uint64_t random = test_seed(1);
    csk_rcu_map_t *map;
    CHECK_STATUS(csk_rcu_map_create(&map, NULL), EINVAL);
    CHECK_STATUS(csk_rcu_map_create(&map, has_key), 0);
    for (long round = 1; round <= 20000 / TEST_SLOWDOWN; round++) {
        uint64_t key = test_random_below(&random, KEYS);
        switch (test_random_below(&random, 4)) {
        case 0: {
            struct item *item = make(key, round);
            csk_rcu_map_entry_t *found = NULL;
            CHECK_STATUS(csk_rcu_read_lock(), 0);
            int status = csk_rcu_map_insert(map, hash(key), &key, &item->entry, &found);
            CHECK_STATUS(status, expected[key] != 0 ? EEXIST : 0);
            if (status == 0) expected[key] = round, present++;
            else CHECK_EQ(((struct item *)found)->value, expected[key]);
            CHECK_STATUS(csk_rcu_read_unlock(), 0);
            if (status != 0) reclaim(&item->entry.node);
            break;
        }
        case 1:
            put(map, hash, key, round);
            present += expected[key] == 0;
            expected[key] = round;
            break;
        case 2:
            CHECK_EQ(drop(map, hash, key), expected[key] != 0);
            present -= expected[key] != 0;
            expected[key] = 0;
            break;
        default: CHECK_EQ(get(map, hash, key), expected[key]);
        }
        CHECK_EQ(csk_rcu_map_count(map), present);
    }
    csk_rcu_map_cursor_t cursor;
    long walked = 0;
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    for (csk_rcu_map_entry_t *at = csk_rcu_map_first(map, &cursor); at != NULL;
         at = csk_rcu_map_next(&cursor), walked++)
        CHECK_EQ(((struct item *)at)->value, expected[((struct item *)at)->key]);
    CHECK_EQ(walked, present);
    walked = 0;
    for (csk_rcu_map_entry_t *at = csk_rcu_map_first_of(map, hash(1), &cursor); at != NULL;
         at = csk_rcu_map_next_of(&cursor), walked++)
        CHECK_EQ(hash(((struct item *)at)->key), hash(1));
    long same = 0;
    for (uint64_t key = 0; key < KEYS; key++) same += expected[key] != 0 && hash(key) == hash(1);
    CHECK_EQ(walked, same);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    end(map);
}

static void it_holds_what_was_put_in(void) { as_an_array(csk_hash_int); }
static void keys_with_one_hash_are_told_apart(void) { as_an_array(one_of_four); }

/* A slot has no room for more of an address. */
static void addresses_of_more_than_48_bits_are_refused(void) {
    csk_rcu_map_t *map;
    CHECK_STATUS(csk_rcu_map_create(&map, has_key), 0);
    csk_rcu_map_entry_t *far = (csk_rcu_map_entry_t *)(uintptr_t)(UINT64_C(1) << 48), *old = far, *found = far;
    uint64_t key = 1;
    CHECK_STATUS(csk_rcu_map_insert(map, csk_hash_int(key), &key, far, &found), EINVAL);
    CHECK_STATUS(csk_rcu_map_replace(map, csk_hash_int(key), &key, far, &old), EINVAL);
    CHECK(found == far && old == NULL);
    CHECK_EQ(csk_rcu_map_count(map), 0);
    put(map, csk_hash_int, 1, 1);
    CHECK_EQ(get(map, csk_hash_int, 1), 1);
    end(map);
}

/* Keys that come and go leave slots behind that are never used again: the table is replaced by one of the same size
 * before it is full of them. */
static void keys_that_come_and_go(void) {
    csk_rcu_map_t *map;
    CHECK_STATUS(csk_rcu_map_create(&map, has_key), 0);
    for (uint64_t key = 0; key < 20000 / TEST_SLOWDOWN; key++) {
        put(map, csk_hash_int, key, (long)key + 1);
        if (key >= 10) CHECK(drop(map, csk_hash_int, key - 10));
        CHECK_EQ(get(map, csk_hash_int, key), (long)key + 1);
        CHECK_EQ(get(map, csk_hash_int, key + 1), 0);
    }
    CHECK_EQ(csk_rcu_map_count(map), 10);
    /* The first table has 64 slots, and so has the last. */
    CHECK_EQ(map->table->mask, 63);
    end(map);
}

static void hashes_of_bytes(void) {
    char text[40] = "one and the same text, 40 bytes with it";
    for (size_t size = 0; size <= sizeof text; size++) {
        char copy[40];
        memcpy(copy, text, sizeof copy);
        CHECK(csk_hash_bytes(copy, size) == csk_hash_bytes(text, size));
        for (size_t i = 0; i < size; i++) {
            copy[i] ^= 1;
            CHECK(csk_hash_bytes(copy, size) != csk_hash_bytes(text, size));
            copy[i] ^= 1;
        }
        if (size > 0) CHECK(csk_hash_bytes(text, size) != csk_hash_bytes(text, size - 1));
    }
}

/* ---- Many threads ------------------------------------------------------------------------------------------------ */

static struct {
    csk_rcu_map_t *map;
    uint64_t grown;
    int stop;
} shared;
enum { KEPT = 100 };

/* Keys that are never removed are found at every instant, whatever the table does; those added are found once they were
 * added. */
static void *look_up(void *which) {
    uint64_t random = test_seed((uint64_t)(intptr_t)which);
    while (!LOAD(&shared.stop)) {
        uint64_t key = test_random_below(&random, KEPT + LOAD(&shared.grown));
        CHECK_EQ(get(shared.map, csk_hash_int, key), (long)key + 1);
    }
    return NULL;
}

static void lookups_while_it_grows(void) {
    uint64_t keys = 40000 / TEST_SLOWDOWN;
    shared.grown = shared.stop = 0;
    CHECK_STATUS(csk_rcu_map_create(&shared.map, has_key), 0);
    for (uint64_t key = 0; key < KEPT; key++) put(shared.map, csk_hash_int, key, (long)key + 1);
    pthread_t threads[3];
    for (intptr_t i = 0; i < 3; i++) threads[i] = start_thread(look_up, (void *)i);
    for (uint64_t key = KEPT; key < KEPT + keys; key++) {
        put(shared.map, csk_hash_int, key, (long)key + 1);
        STORE(&shared.grown, key + 1 - KEPT);
        /* Replaced by an equal one: lookups must find the one or the other. */
        put(shared.map, csk_hash_int, key / 2, (long)(key / 2) + 1);
    }
    STORE(&shared.stop, 1);
    for (int i = 0; i < 3; i++) join_thread(threads[i]);
    CHECK_EQ(csk_rcu_map_count(shared.map), KEPT + keys);
    end(shared.map);
}

static long inserted, removed;

static void *fight(void *which) {
    uint64_t random = test_seed((uint64_t)(intptr_t)which);
    for (int i = 0; i < 40000 / TEST_SLOWDOWN; i++) {
        uint64_t key = test_random_below(&random, 8);
        if (test_random_below(&random, 2) == 0) {
            ADD(&removed, drop(shared.map, csk_hash_int, key));
            continue;
        }
        struct item *item = make(key, 1);
        if (csk_rcu_map_insert(shared.map, csk_hash_int(key), &key, &item->entry, NULL) == 0) ADD(&inserted, 1);
        else reclaim(&item->entry.node);
    }
    return NULL;
}

/* Were an entry inserted twice, or removed by two, the sums would differ; reclaimed twice, AddressSanitizer would say
 * so. */
static void writers_against_each_other(void) {
    CHECK_STATUS(csk_rcu_map_create(&shared.map, has_key), 0);
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; i++) threads[i] = start_thread(fight, (void *)i);
    for (int i = 0; i < 4; i++) join_thread(threads[i]);
    CHECK_EQ(csk_rcu_map_count(shared.map), inserted - removed);
    long found = 0;
    for (uint64_t key = 0; key < 8; key++) found += get(shared.map, csk_hash_int, key);
    CHECK_EQ(found, inserted - removed);
    end(shared.map);
}

/* Puts a value computed from the one that is there in its place, unless that has gone meanwhile. */
static void add_one(hash_t hash, uint64_t key) {
    for (int status = ENOENT; status != 0;) {
        CHECK_STATUS(csk_rcu_read_lock(), 0);
        struct item *old = (struct item *)csk_rcu_map_find(shared.map, hash(key), &key),
                    *fresh = make(key, old != NULL ? old->value + 1 : 1);
        status = old != NULL ? csk_rcu_map_replace_entry(shared.map, &old->entry, &fresh->entry)
                             : csk_rcu_map_insert(shared.map, hash(key), &key, &fresh->entry, NULL);
        CHECK_STATUS(csk_rcu_read_unlock(), 0);
        if (status != 0) reclaim(&fresh->entry.node);
        else if (old != NULL) CHECK_STATUS(csk_rcu_retire(&old->entry.node, reclaim), 0);
    }
}

static void *count_up(void *which) {
    for (int i = 0; i < 20000 / TEST_SLOWDOWN; i++) {
        add_one(one_of_four, 1);
        if (which != NULL) put(shared.map, one_of_four, 1000 + (uint64_t)i % 200, 1);
        if (which != NULL && i % 200 == 199)
            for (uint64_t key = 1000; key < 1200; key++) CHECK(drop(shared.map, one_of_four, key));
    }
    return NULL;
}

/* A value that was computed from one that is not there any more is not put in: none of the counts is lost, whatever the
 * table does. */
static void counting_loses_none(void) {
    CHECK_STATUS(csk_rcu_map_create(&shared.map, has_key), 0);
    pthread_t threads[3];
    for (intptr_t i = 0; i < 3; i++) threads[i] = start_thread(count_up, i == 0 ? &shared : NULL);
    for (int i = 0; i < 3; i++) join_thread(threads[i]);
    CHECK_EQ(get(shared.map, one_of_four, 1), 3 * (20000 / TEST_SLOWDOWN));
    end(shared.map);
}

static void an_entry_is_replaced_once(void) {
    CHECK_STATUS(csk_rcu_map_create(&shared.map, has_key), 0);
    put(shared.map, csk_hash_int, 1, 1);
    uint64_t key = 1;
    struct item *second = make(1, 2), *third = make(1, 3);
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    csk_rcu_map_entry_t *first = csk_rcu_map_find(shared.map, csk_hash_int(key), &key);
    CHECK_STATUS(csk_rcu_map_replace_entry(shared.map, first, (csk_rcu_map_entry_t *)(uintptr_t)(UINT64_C(1) << 48)),
                 EINVAL);
    CHECK_STATUS(csk_rcu_map_replace_entry(shared.map, first, &second->entry), 0);
    CHECK_STATUS(csk_rcu_map_replace_entry(shared.map, first, &third->entry), ENOENT);
    CHECK_STATUS(csk_rcu_map_remove_entry(shared.map, first), ENOENT);
    CHECK_STATUS(csk_rcu_retire(&first->node, reclaim), 0);
    CHECK_STATUS(csk_rcu_map_remove_entry(shared.map, &second->entry), 0);
    CHECK_STATUS(csk_rcu_map_replace_entry(shared.map, &second->entry, &third->entry), ENOENT);
    CHECK_STATUS(csk_rcu_retire(&second->entry.node, reclaim), 0);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    reclaim(&third->entry.node);
    CHECK_EQ(csk_rcu_map_count(shared.map), 0);
    end(shared.map);
}

/* A destroyed table may be resizing, for which liburcu waits: not on the caller, whose section that resize may wait
 * for. */
static void a_table_is_destroyed_inside_a_section_while_it_resizes(void) {
    for (int round = 0; round < 20; round++) {
        csk_rcu_map_t *map;
        CHECK_STATUS(csk_rcu_map_create(&map, has_key), 0);
        for (uint64_t key = 0; key < 5000; key++) put(map, csk_hash_int, key, 1);
        for (uint64_t key = 0; key < 4990; key++) CHECK(drop(map, csk_hash_int, key));
        CHECK_STATUS(csk_rcu_read_lock(), 0);
        CHECK_STATUS(csk_rcu_map_destroy(map, reclaim), 0);
        CHECK_STATUS(csk_rcu_read_unlock(), 0);
    }
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(alive, 0);
}

/* It used to retire each entry by itself: writers of everything else then waited for room until all were reclaimed. */
static void the_end_of_a_large_table_leaves_others_their_room(void) {
    csk_rcu_map_t *map;
    CHECK_STATUS(csk_rcu_map_create(&map, has_key), 0);
    for (uint64_t key = 0; key < 5000; key++) put(map, csk_hash_int, key, 1);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    CHECK_STATUS(csk_rcu_map_destroy(map, reclaim), 0);
    /* The table, and at most a resize and the barrier that are being counted down. */
    CHECK(csk_rcu_pending() <= 3);
    CHECK_EQ(alive, 5000);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(alive, 0);
}

static int alive_then;
static void look(csk_rcu_node_t *node) {
    (void)node;
    alive_then = alive;
}

/* It used to reclaim all entries at one go: what others had retired meanwhile waited, and then the others for room. */
static void the_end_of_a_large_table_goes_in_steps(void) {
    csk_rcu_map_t *map;
    CHECK_STATUS(csk_rcu_map_create(&map, has_key), 0);
    for (uint64_t key = 0; key < 40000; key++) put(map, csk_hash_int, key, 1);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    csk_rcu_node_t other;
    alive_then = -1;
    CHECK_STATUS(csk_rcu_map_destroy(map, reclaim), 0);
    CHECK_STATUS(csk_rcu_retire(&other, look), 0);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK(alive_then > 0 && alive_then < 40000);
    CHECK_EQ(alive, 0);
}

TEST_MAIN(TEST(it_holds_what_was_put_in), TEST(keys_with_one_hash_are_told_apart), TEST(hashes_of_bytes),
          TEST(addresses_of_more_than_48_bits_are_refused), TEST(keys_that_come_and_go), TEST(lookups_while_it_grows),
          TEST(writers_against_each_other), TEST(counting_loses_none), TEST(an_entry_is_replaced_once),
          TEST(a_table_is_destroyed_inside_a_section_while_it_resizes),
          TEST(the_end_of_a_large_table_leaves_others_their_room), TEST(the_end_of_a_large_table_goes_in_steps))
