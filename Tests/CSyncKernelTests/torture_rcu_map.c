/* torture_rcu_map.c: a table under a crowd that looks up, puts in, replaces, takes out and walks, while it grows and
 * shrinks: nothing is reclaimed that somebody reads, each entry leaves the table once, and what one thread alone writes
 * is found as it was put in, and never becomes older. */
#include "torture.h"

enum { OWN = 32, CONTENDED = 16, INSIDE = 1, TAKEN_OUT = 2, RECLAIMED = 3 };

/* The key says whose it is: the first CONTENDED are everybody's, then OWN for each thread. */
typedef struct {
    csk_rcu_map_entry_t entry;
    uint64_t key, version;
    uint32_t state;
} item_t;

typedef struct {
    uint64_t versions[OWN];
    uint32_t which;
} writer_t; /* 0: it isn't there */

static struct {
    csk_rcu_map_t *map;
    uint32_t next_writer, shrinks; /* shrinks: odd when more is taken out than put in */
    bool one_hash;                 /* for 16 keys: long searches */
    uint64_t *seen;                /* the latest version of each thread's own key that was put in */
} arena;
static uint64_t made, reclaimed, put_in, taken_out;

static uint64_t hash_of(uint64_t key) { return arena.one_hash ? csk_hash_int(key / 16) : csk_hash_int(key); }
static bool has_key(const csk_rcu_map_entry_t *entry, const void *key) {
    return ((const item_t *)entry)->key == *(const uint64_t *)key;
}

static void reclaim(csk_rcu_node_t *node) {
    item_t *item = (item_t *)((char *)node - offsetof(item_t, entry.node));
    uint32_t state = __atomic_exchange_n(&item->state, RECLAIMED, __ATOMIC_SEQ_CST);
    CHECK(state == TAKEN_OUT || (state == INSIDE && stopped())); /* inside: of the table that is destroyed */
    ADD(&reclaimed, 1);
    free(item);
}

/* Marked as inside before it is, since others may take it out at once. */
static item_t *make(uint64_t key, uint64_t version) {
    item_t *item = calloc(1, sizeof *item);
    CHECK(item != NULL);
    *item = (item_t){ .key = key, .version = version, .state = INSIDE };
    ADD(&made, 1);
    return item;
}

/* Whoever gets an entry out of the table does this, once. */
static void retire_if_any(csk_rcu_map_entry_t *entry) {
    if (entry == NULL) return;
    CHECK_EQ(__atomic_exchange_n(&((item_t *)entry)->state, TAKEN_OUT, __ATOMIC_SEQ_CST), INSIDE);
    ADD(&taken_out, 1);
    CHECK_STATUS(csk_rcu_retire(&entry->node, reclaim), 0);
}

/* What never came in, nobody else has seen. */
static void discard(item_t *item) {
    CHECK_EQ(item->state, INSIDE);
    ADD(&reclaimed, 1);
    free(item);
}

/* Inside a section: not reclaimed, now and a while later. The versions of a key that one thread writes only grow. */
static void look_at(const item_t *item) {
    uint64_t key = item->key, version = item->version;
    for (int i = 0; i < 2; i++, dawdle()) CHECK_LE(LOAD(&item->state), TAKEN_OUT);
    CHECK(item->key == key && item->version == version);
}

static void read_one(uint64_t key) {
    int levels = 1 + (int)below(2);
    uint64_t seen = key < CONTENDED ? 0 : LOAD(&arena.seen[key]);
    for (int i = 0; i < levels; i++) CHECK_STATUS(csk_rcu_read_lock(), 0);
    item_t *item = (item_t *)csk_rcu_map_find(arena.map, hash_of(key), &key);
    if (item != NULL) {
        CHECK_EQ(item->key, key);
        look_at(item);
        if (key >= CONTENDED) CHECK_GE(item->version, seen);
        tally(GRANTS);
    }
    for (int i = 0; i < levels; i++) CHECK_STATUS(csk_rcu_read_unlock(), 0);
}

static int put(uint64_t key, item_t *item, bool replaces) {
    csk_rcu_map_entry_t *old = NULL;
    int status = replaces ? csk_rcu_map_replace(arena.map, hash_of(key), &key, &item->entry, &old)
                          : csk_rcu_map_insert(arena.map, hash_of(key), &key, &item->entry, NULL);
    tally(status == 0 ? WRITES : REFUSED);
    if (status != 0) {
        CHECK_STATUS(status, replaces ? 0 : EEXIST);
        discard(item);
        return status;
    }
    ADD(&put_in, 1);
    retire_if_any(old);
    return 0;
}

/* Of a key that others write too: what was found may be gone. */
static void change_found(uint64_t key) {
    csk_rcu_map_entry_t *gone = NULL;
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    csk_rcu_map_entry_t *found = csk_rcu_map_find(arena.map, hash_of(key), &key);
    if (found != NULL) {
        item_t *fresh = one_in(2) ? make(key, 0) : NULL;
        dawdle();
        int status = fresh != NULL ? csk_rcu_map_replace_entry(arena.map, found, &fresh->entry)
                                   : csk_rcu_map_remove_entry(arena.map, found);
        CHECK(status == 0 || status == ENOENT);
        if (status == 0) gone = found;
        else tally(LOST);
        if (status == 0 && fresh != NULL) ADD(&put_in, 1);
        if (status != 0 && fresh != NULL) discard(fresh);
    }
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    retire_if_any(gone);
}

static void write_contended(void) {
    uint64_t key = below(CONTENDED);
    if (one_in(3)) change_found(key);
    else if (one_in(2)) put(key, make(key, 0), one_in(2));
    else retire_if_any(csk_rcu_map_remove(arena.map, hash_of(key), &key));
}

/* A key of this thread's alone: it knows the answers. */
static void write_own(writer_t *writer, uint64_t *version) {
    uint64_t which = below(OWN), key = CONTENDED + (uint64_t)writer->which * OWN + which;
    uint64_t *there = &writer->versions[which];
    if (one_in(8) == (LOAD(&arena.shrinks) % 2 != 0)) {
        bool replaces = one_in(2);
        int status = put(key, make(key, ++*version), replaces);
        CHECK_EQ(status, replaces || *there == 0 ? 0 : EEXIST);
        if (status == 0) STORE(&arena.seen[key], *there = *version);
    } else {
        csk_rcu_map_entry_t *old = csk_rcu_map_remove(arena.map, hash_of(key), &key);
        CHECK_EQ(old != NULL ? ((item_t *)old)->version : 0, *there);
        *there = 0;
        retire_if_any(old);
    }
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    item_t *item = (item_t *)csk_rcu_map_find(arena.map, hash_of(key), &key);
    CHECK_EQ(item != NULL ? item->version : 0, *there);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
}

/* All entries that are there from the beginning to the end: those of this thread, once each. */
static void walk(const writer_t *writer) {
    uint64_t mine = 0, expected = 0, first = CONTENDED + (uint64_t)writer->which * OWN;
    csk_rcu_map_cursor_t cursor;
    for (int i = 0; i < OWN; i++) expected += writer->versions[i] != 0;
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    for (csk_rcu_map_entry_t *at = csk_rcu_map_first(arena.map, &cursor); at != NULL; at = csk_rcu_map_next(&cursor)) {
        item_t *item = (item_t *)at;
        CHECK(LOAD(&item->state) == INSIDE || LOAD(&item->state) == TAKEN_OUT);
        if (item->key < first || item->key >= first + OWN) continue;
        CHECK_EQ(item->version, writer->versions[item->key - first]);
        mine++;
    }
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    CHECK_EQ(mine, expected);
}

static void *read_and_write(void *unused) {
    writer_t writer = { .which = ADD(&arena.next_writer, 1) - 1 };
    uint64_t version = 0, keys = CONTENDED + (uint64_t)torture_threads * OWN;
    while (!stopped()) {
        if (one_in(8192)) ADD(&arena.shrinks, 1);
        uint64_t what = below(16);
        if (what < 6) read_one(below(keys));
        else if (what < 8) read_one(below(CONTENDED));
        else if (what < 12) write_own(&writer, &version);
        else if (one_in(64)) walk(&writer);
        else write_contended();
    }
    walk(&writer);
    return unused;
}

void torture_rcu_map(bool one_hash) {
    static struct crowd workers;
    memset(&arena, 0, sizeof arena);
    arena.one_hash = one_hash;
    arena.seen = calloc(CONTENDED + (size_t)torture_threads * OWN, sizeof *arena.seen);
    made = reclaimed = put_in = taken_out = 0;
    CHECK(arena.seen != NULL);
    CHECK_STATUS(csk_rcu_map_create(&arena.map, has_key), 0);
    crowd_start(&workers, torture_threads, read_and_write, NULL);
    torture_wait();
    STORE(&torture_stop, 1);
    crowd_join(&workers);
    CHECK_EQ(csk_rcu_map_count(arena.map), put_in - taken_out);
    CHECK_STATUS(csk_rcu_map_destroy(arena.map, reclaim), 0);
    while (csk_rcu_pending() != 0) CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(reclaimed, made);
    free(arena.seen);
}
