/* clients_rcu_map.c: the hash table, whose first table has 4 slots and is full with 3: each step of a move among
 * lookups, writers and other movers. Entries are freed as soon as a grace period allows it. */
#include "csynckernel/rcu_map.h"
#include "explorer.h"

struct item {
    csk_rcu_map_entry_t entry;
    uint64_t key, value;
    uint32_t written;
};

static struct {
    csk_rcu_map_t *map;
    uint32_t live, inserted, removed, done;
} * shared;

/* Half of the keys begin at one slot in tables of up to eight slots, and all have one tag. */
static uint64_t hash_of(uint64_t key) { return key % 2 * 8 + (key << 32); }

static bool has_key(const csk_rcu_map_entry_t *entry, const void *key) {
    if (explore_thread() >= 0) explore_point();
    EXPECT(((const struct item *)entry)->value != 0xDDDDDDDDDDDDDDDD);
    return ((const struct item *)entry)->key == *(const uint64_t *)key;
}
static void reclaim(csk_rcu_node_t *node) {
    struct item *item = (struct item *)((char *)node - offsetof(struct item, entry.node));
    shared->live--;
    explore_free(item, sizeof *item);
}
static struct item *make_item(uint64_t key, uint64_t value) {
    struct item *item = explore_allocate(sizeof *item);
    item->key = key;
    item->value = value;
    shared->live++;
    return item;
}
static uint64_t get(uint64_t key) {
    csk_rcu_read_lock();
    struct item *item = (struct item *)csk_rcu_map_find(shared->map, hash_of(key), &key);
    uint64_t value = item != NULL ? item->value : 0;
    csk_rcu_read_unlock();
    return value;
}
static uint64_t put(uint64_t key, uint64_t value) {
    csk_rcu_map_entry_t *old;
    csk_rcu_read_lock();
    EXPECT_EQUAL(csk_rcu_map_replace(shared->map, hash_of(key), &key, &make_item(key, value)->entry, &old), 0);
    uint64_t before = old != NULL ? ((struct item *)old)->value : 0;
    if (old != NULL) EXPECT_EQUAL(csk_rcu_retire(&old->node, reclaim), 0);
    csk_rcu_read_unlock();
    return before;
}
static uint64_t drop(uint64_t key) {
    csk_rcu_read_lock();
    csk_rcu_map_entry_t *old = csk_rcu_map_remove(shared->map, hash_of(key), &key);
    uint64_t before = old != NULL ? ((struct item *)old)->value : 0;
    if (old != NULL) EXPECT_EQUAL(csk_rcu_retire(&old->node, reclaim), 0);
    csk_rcu_read_unlock();
    return before;
}

static void make(void) {
    shared = explore_allocate(sizeof *shared);
    EXPECT_EQUAL(csk_rcu_map_create(&shared->map, has_key), 0);
}
static void make_with_two(void) {
    make();
    put(1, 10);
    put(2, 20);
}
static void make_full(void) {
    make_with_two();
    put(3, 30);
}
static void end_with(uint64_t count) {
    EXPECT_EQUAL(csk_rcu_map_count(shared->map), count);
    csk_rcu_map_cursor_t cursor;
    uint64_t walked = 0;
    csk_rcu_read_lock();
    for (csk_rcu_map_entry_t *at = csk_rcu_map_first(shared->map, &cursor); at != NULL;
         at = csk_rcu_map_next(&cursor), walked++)
        EXPECT_EQUAL(get(((struct item *)at)->key), ((struct item *)at)->value);
    csk_rcu_read_unlock();
    EXPECT_EQUAL(walked, count);
    EXPECT_EQUAL(shared->live, count);
    EXPECT_EQUAL(csk_rcu_map_destroy(shared->map, reclaim), 0);
    EXPECT_EQUAL(shared->live, 0);
}

/* What is there is found at every instant of a move; what is not there is not. */
static void inserts_fourth(void) { EXPECT_EQUAL(put(4, 40), 0); }
static void inserts_fifth(void) { EXPECT_EQUAL(put(5, 50), 0); }
static void finds_all(void) {
    EXPECT_EQUAL(get(1), 10);
    EXPECT_EQUAL(get(3), 30);
    EXPECT_EQUAL(get(7), 0);
    EXPECT_EQUAL(get(2), 20);
}
static void are_four(void) { end_with(4); }
static void are_five(void) { end_with(5); }
CLIENT(rcu_map_lookups_while_it_grows, .setup = make_full, .threads = { inserts_fourth, finds_all }, .check = are_four,
       .preemptions = 3)
CLIENT(rcu_map_two_grow_it, .setup = make_full, .threads = { inserts_fourth, inserts_fifth, finds_all },
       .check = are_five, .preemptions = 1)

/* Two insert one key, each finding an empty slot. */
static void inserts_same(void) {
    csk_rcu_map_entry_t *there = NULL;
    struct item *item = make_item(4, 41);
    csk_rcu_read_lock();
    uint64_t key = 4;
    int status = csk_rcu_map_insert(shared->map, hash_of(4), &key, &item->entry, &there);
    if (status == 0) __atomic_fetch_add(&shared->inserted, 1, __ATOMIC_SEQ_CST);
    else EXPECT(status == EEXIST && ((struct item *)there)->key == 4);
    csk_rcu_read_unlock();
    if (status != 0) reclaim(&item->entry.node);
    EXPECT_EQUAL(get(4), 41);
}
static void one_inserted_with_two(void) {
    EXPECT_EQUAL(shared->inserted, 1);
    end_with(3);
}
static void one_inserted_with_three(void) {
    EXPECT_EQUAL(shared->inserted, 1);
    end_with(4);
}
CLIENT(rcu_map_same_key, .setup = make_with_two, .threads = { inserts_same, inserts_same },
       .check = one_inserted_with_two, .preemptions = 3)
CLIENT(rcu_map_same_key_while_it_grows, .setup = make_full, .threads = { inserts_same, inserts_same },
       .check = one_inserted_with_three, .preemptions = 2)

/* A key is replaced, removed and inserted anew while it is being moved: what was removed must not come back from the
 * old table. */
static void replaces_twice(void) {
    EXPECT_EQUAL(put(1, 11), 10);
    EXPECT_EQUAL(get(1), 11);
    EXPECT_EQUAL(put(1, 12), 11);
    EXPECT_EQUAL(get(1), 12);
}
static void removes(void) {
    EXPECT_EQUAL(drop(1), 10);
    EXPECT_EQUAL(get(1), 0);
    EXPECT_EQUAL(drop(1), 0);
}
static void removes_and_inserts(void) {
    removes();
    EXPECT_EQUAL(put(1, 13), 0);
    EXPECT_EQUAL(get(1), 13);
    EXPECT_EQUAL(drop(1), 13);
}
static void finds_others(void) {
    EXPECT_EQUAL(get(2), 20);
    EXPECT_EQUAL(get(3), 30);
}
static void are_three(void) {
    EXPECT_EQUAL(get(1), 0);
    end_with(3);
}
CLIENT(rcu_map_replace_while_it_grows, .setup = make_full, .threads = { inserts_fourth, replaces_twice },
       .check = are_four, .preemptions = 3)
CLIENT(rcu_map_remove_while_it_grows, .setup = make_full, .threads = { inserts_fourth, removes }, .check = are_three,
       .preemptions = 3)
CLIENT(rcu_map_removed_stays_removed, .setup = make_full,
       .threads = { inserts_fourth, removes_and_inserts, finds_others }, .check = are_three)

/* Each value is given to one of those who remove and replace. */
static void fights(void) {
    for (int i = 0; i < 2; i++) {
        uint64_t value = (uint64_t)(explore_thread() + 1) * 100 + (uint64_t)i;
        __atomic_fetch_add(&shared->inserted, (uint32_t)value, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&shared->removed, (uint32_t)put(1, value), __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&shared->removed, (uint32_t)drop(1), __ATOMIC_SEQ_CST);
    }
}
static void none_was_lost(void) {
    EXPECT_EQUAL(shared->removed + get(1), shared->inserted + 10);
    end_with(shared->live);
}
/* Whoever finds the table being moved goes on, although the mover stands still. */
CLIENT(rcu_map_fight, .setup = make_full, .threads = { fights, fights }, .check = none_was_lost, .preemptions = 1,
       .waits_for_nobody = true)
CLIENT(rcu_map_fight_while_it_grows, .setup = make_full, .threads = { fights, fights, inserts_fourth },
       .check = none_was_lost)

/* Values computed from the one that was found: none is put in over one that it was not computed from. */
static void counts(void) {
    for (int status = ENOENT; status != 0;) {
        uint64_t key = 1;
        csk_rcu_read_lock();
        struct item *old = (struct item *)csk_rcu_map_find(shared->map, hash_of(key), &key),
                    *fresh = make_item(key, old != NULL ? old->value + 1 : 1);
        status = old != NULL ? csk_rcu_map_replace_entry(shared->map, &old->entry, &fresh->entry)
                             : csk_rcu_map_insert(shared->map, hash_of(key), &key, &fresh->entry, NULL);
        EXPECT(status == 0 || status == (old != NULL ? ENOENT : EEXIST));
        if (status == 0 && old != NULL) EXPECT_EQUAL(csk_rcu_retire(&old->entry.node, reclaim), 0);
        csk_rcu_read_unlock();
        if (status != 0) reclaim(&fresh->entry.node);
    }
}
static void counts_twice(void) {
    counts();
    counts();
}
static void takes_and_counts(void) {
    __atomic_fetch_add(&shared->removed, (uint32_t)drop(1), __ATOMIC_SEQ_CST);
    counts();
}
static void four_were_counted(void) {
    EXPECT_EQUAL(get(1), 14);
    end_with(2);
}
static void two_were_counted_among_four(void) {
    EXPECT_EQUAL(get(1), 12);
    end_with(4);
}
static void three_were_counted(void) {
    EXPECT_EQUAL(shared->removed + get(1), 13);
    end_with(4);
}
CLIENT(rcu_map_counts, .setup = make_with_two, .threads = { counts_twice, counts_twice }, .check = four_were_counted,
       .preemptions = 2)
CLIENT(rcu_map_counts_while_it_grows, .setup = make_full, .threads = { counts, counts, inserts_fourth },
       .check = two_were_counted_among_four, .preemptions = 1)
CLIENT(rcu_map_counts_and_removes_while_it_grows, .setup = make_full,
       .threads = { counts_twice, takes_and_counts, inserts_fourth }, .check = three_were_counted)

/* A walk meets each key that stays once. */
static void walks(void) {
    csk_rcu_map_cursor_t cursor;
    uint64_t seen[8] = { 0 };
    csk_rcu_read_lock();
    for (csk_rcu_map_entry_t *at = csk_rcu_map_first(shared->map, &cursor); at != NULL;
         at = csk_rcu_map_next(&cursor)) {
        explore_point();
        EXPECT(((struct item *)at)->key < 8);
        seen[((struct item *)at)->key]++;
    }
    csk_rcu_read_unlock();
    EXPECT_EQUAL(seen[2], 1);
    EXPECT_EQUAL(seen[3], 1);
    EXPECT(seen[4] <= 1);
}
CLIENT(rcu_map_walk_while_it_grows, .setup = make_full, .threads = { walks, inserts_fourth, removes },
       .check = are_three, .preemptions = 1)
static void removes_and_walks(void) {
    removes();
    walks();
}
CLIENT(rcu_map_walk_after_a_removal, .setup = make_full, .threads = { inserts_fourth, removes_and_walks },
       .check = are_three, .preemptions = 2)

/* What was written into an entry before it was inserted is there for a walk that meets it. */
static void inserts_written(void) {
    struct item *item = make_item(4, 40);
    uint64_t key = 4;
    __atomic_store_n(&item->written, 1, __ATOMIC_RELAXED);
    csk_rcu_read_lock();
    EXPECT_EQUAL(csk_rcu_map_insert(shared->map, hash_of(4), &key, &item->entry, NULL), 0);
    csk_rcu_read_unlock();
}
static void walks_over_written(void) {
    csk_rcu_map_cursor_t cursor;
    csk_rcu_read_lock();
    for (csk_rcu_map_entry_t *at = csk_rcu_map_first(shared->map, &cursor); at != NULL; at = csk_rcu_map_next(&cursor))
        if (((struct item *)at)->key == 4)
            EXPECT_EQUAL(__atomic_load_n(&((struct item *)at)->written, __ATOMIC_RELAXED), 1);
    csk_rcu_read_unlock();
}
static void are_three_inserted(void) { end_with(3); }
CLIENT(rcu_map_walk_sees_what_was_written, .setup = make_with_two, .threads = { walks_over_written, inserts_written },
       .check = are_three_inserted, .preemptions = 2)

/* From 16 slots down to 4, while others look and insert. */
static void make_sparse(void) {
    make_full();
    for (uint64_t key = 4; key < 8; key++) put(key, 10 * key);
    for (uint64_t key = 7; key > 1; key--) drop(key);
}
static void removes_last(void) { EXPECT_EQUAL(drop(1), 10); }
static void inserts_two(void) {
    EXPECT_EQUAL(put(2, 21), 0);
    EXPECT_EQUAL(put(3, 31), 0);
    EXPECT_EQUAL(get(2), 21);
    EXPECT_EQUAL(get(3), 31);
}
static void are_two(void) { end_with(2); }
CLIENT(rcu_map_shrinks, .setup = make_sparse, .threads = { removes_last, inserts_two }, .check = are_two,
       .preemptions = 2)
