/* rcu_map.c: liburcu's rculfhash with entries that carry their own retirement. Each call that writes is a read section of its own,
 * as the table demands; lookups and walks are in the caller's.
 *
 * The table is resized from here, on the reclaiming thread: rculfhash's own rule grows a table only where its size and count meet at a
 * power of two, and lets chains become eight entries long. Here it grows to the next power of two
 * above its count, when the count has passed the buckets. `resizing` says that the thread has been asked; only who sets it may hand it the node. */
#include "csynckernel/rcu_map.h"

#include "internal/rcu.h"
#include "internal/platform.h"

#include <stdlib.h>
#include <string.h>
#include <urcu/rculfhash.h>

_Static_assert(sizeof(struct cds_lfht_node) == sizeof(((csk_rcu_map_entry_t *)0)->reserved), "liburcu's node fits");
_Static_assert(sizeof(struct cds_lfht_iter) == sizeof(csk_rcu_map_cursor_t), "liburcu's iterator fits");

enum { FIRST_BUCKETS = 256 };

struct csk_rcu_map {
    csk_rcu_node_t end, resize;
    struct cds_lfht *table;
    csk_rcu_map_match_t match;
    csk_rcu_function_t reclaim;                   /* of a destroyed one's entries */
    uint64_t buckets;
    uint32_t resizing;
    int64_t count __attribute__((aligned(64)));  /* writers' line; readers don't touch it */
};

struct probe {
    csk_rcu_map_match_t match;
    const void *key;
};

static struct cds_lfht_node *node_of(csk_rcu_map_entry_t *entry) { return (struct cds_lfht_node *)entry->reserved; }

static csk_rcu_map_entry_t *entry_of(struct cds_lfht_node *node) {
    /* The table is not instrumented: what its writers have done before is known from here on. */
    csk_rcu_tell_acquire();
    return node == NULL ? NULL : (csk_rcu_map_entry_t *)((char *)node - offsetof(csk_rcu_map_entry_t, reserved));
}

static int matches(struct cds_lfht_node *node, const void *key) {
    const struct probe *probe = key;
    return probe->match(entry_of(node), probe->key);
}

static int has_the_hash(struct cds_lfht_node *node, const void *key) {
    (void)node, (void)key;
    return 1;
}

static bool has_wrong_size(const csk_rcu_map_t *map, uint64_t count) {
    uint64_t buckets = csk_load(&map->buckets, CSK_RELAXED);
    return count > buckets || (buckets > FIRST_BUCKETS && count < buckets / 16);
}

static void resize(csk_rcu_node_t *node) {
    csk_rcu_map_t *map = node->context;
    do {
        uint64_t wanted = FIRST_BUCKETS;
        while (csk_rcu_map_count(map) >= wanted) wanted *= 2;
        cds_lfht_resize(map->table, wanted);
        csk_store(&map->buckets, wanted, CSK_RELAXED);
    } while (has_wrong_size(map, csk_rcu_map_count(map)));
    csk_store(&map->resizing, 0, CSK_RELEASE);
}

/* Inside a section, where retiring waits for nothing. */
static void count(csk_rcu_map_t *map, int64_t change) {
    int64_t now = csk_fetch_add(&map->count, change, CSK_RELAXED) + change;
    if (CSK_LIKELY(now < 0 || !has_wrong_size(map, (uint64_t)now)) || csk_load(&map->resizing, CSK_RELAXED) != 0) return;
    if (csk_exchange(&map->resizing, 1u, CSK_ACQUIRE) != 0) return;
    map->resize.context = map;
    csk_rcu_retire(&map->resize, resize);
}

uint64_t csk_hash_bytes(const void *bytes, size_t size) {
    const unsigned char *next = bytes;
    uint64_t hash = csk_hash_int(size), word = 0;
    for (; size >= sizeof word; next += sizeof word, size -= sizeof word) {
        memcpy(&word, next, sizeof word);
        hash = csk_hash_int(hash ^ word);
    }
    word = 0;
    memcpy(&word, next, size);
    return csk_hash_int(hash ^ word);
}

int csk_rcu_map_create(csk_rcu_map_t **map, csk_rcu_map_match_t match) {
    if (match == NULL) return EINVAL;
    csk_rcu_map_t *made = aligned_alloc(64, sizeof *made);
    if (made == NULL) return ENOMEM;
    *made = (csk_rcu_map_t){ .match = match, .buckets = FIRST_BUCKETS };
    made->table = cds_lfht_new_flavor(FIRST_BUCKETS, FIRST_BUCKETS, 0, 0, &urcu_memb_flavor, NULL);
    if (made->table == NULL) {
        free(made);
        return ENOMEM;
    }
    *map = made;
    return 0;
}

/* After a grace period nobody is left who may see the entries, so that they need no grace periods of their own; a million of those
 * would take all the room that others' retirements have. */
static void free_map(csk_rcu_node_t *node) {
    csk_rcu_map_t *map = (csk_rcu_map_t *)node;
    csk_rcu_map_cursor_t cursor;
    csk_rcu_read_lock();
    for (csk_rcu_map_entry_t *entry = csk_rcu_map_first(map, &cursor), *next; entry != NULL; entry = next) {
        next = csk_rcu_map_next(map, &cursor);
        cds_lfht_del(map->table, node_of(entry));
        map->reclaim(&entry->node);
    }
    csk_rcu_read_unlock();
    cds_lfht_destroy(map->table, NULL);
    free(map);
}

int csk_rcu_map_destroy(csk_rcu_map_t *map, csk_rcu_function_t reclaim) {
    if (reclaim == NULL) return EINVAL;
    map->reclaim = reclaim;
    return csk_rcu_retire(&map->end, free_map);
}

csk_rcu_map_entry_t *csk_rcu_map_find(csk_rcu_map_t *map, uint64_t hash, const void *key) {
    struct probe probe = { map->match, key };
    struct cds_lfht_iter found;
    cds_lfht_lookup(map->table, hash, matches, &probe, &found);
    return entry_of(found.node);
}

int csk_rcu_map_insert(csk_rcu_map_t *map, uint64_t hash, const void *key, csk_rcu_map_entry_t *entry, csk_rcu_map_entry_t **found) {
    struct probe probe = { map->match, key };
    csk_rcu_read_lock();
    csk_rcu_tell_release();
    struct cds_lfht_node *there = cds_lfht_add_unique(map->table, hash, matches, &probe, node_of(entry));
    bool is_new = there == node_of(entry);
    if (is_new) count(map, 1);
    else if (found != NULL) *found = entry_of(there);
    csk_rcu_read_unlock();
    return is_new ? 0 : EEXIST;
}

csk_rcu_map_entry_t *csk_rcu_map_replace(csk_rcu_map_t *map, uint64_t hash, const void *key, csk_rcu_map_entry_t *entry) {
    struct probe probe = { map->match, key };
    csk_rcu_read_lock();
    csk_rcu_tell_release();
    struct cds_lfht_node *old = cds_lfht_add_replace(map->table, hash, matches, &probe, node_of(entry));
    if (old == NULL) count(map, 1);
    csk_rcu_read_unlock();
    return entry_of(old);
}

int csk_rcu_map_remove_entry(csk_rcu_map_t *map, csk_rcu_map_entry_t *entry) {
    if (cds_lfht_del(map->table, node_of(entry)) != 0) return ENOENT;
    count(map, -1);
    return 0;
}

csk_rcu_map_entry_t *csk_rcu_map_remove(csk_rcu_map_t *map, uint64_t hash, const void *key) {
    csk_rcu_map_entry_t *entry;
    csk_rcu_read_lock();
    /* Another thread may take the one that was found, and a third insert anew. */
    do entry = csk_rcu_map_find(map, hash, key);
    while (entry != NULL && csk_rcu_map_remove_entry(map, entry) != 0);
    csk_rcu_read_unlock();
    return entry;
}

csk_rcu_map_entry_t *csk_rcu_map_first(csk_rcu_map_t *map, csk_rcu_map_cursor_t *cursor) {
    struct cds_lfht_iter *place = (struct cds_lfht_iter *)cursor;
    cds_lfht_first(map->table, place);
    return entry_of(place->node);
}

csk_rcu_map_entry_t *csk_rcu_map_next(csk_rcu_map_t *map, csk_rcu_map_cursor_t *cursor) {
    struct cds_lfht_iter *place = (struct cds_lfht_iter *)cursor;
    cds_lfht_next(map->table, place);
    return entry_of(place->node);
}

csk_rcu_map_entry_t *csk_rcu_map_first_of(csk_rcu_map_t *map, uint64_t hash, csk_rcu_map_cursor_t *cursor) {
    struct cds_lfht_iter *place = (struct cds_lfht_iter *)cursor;
    cds_lfht_lookup(map->table, hash, has_the_hash, NULL, place);
    return entry_of(place->node);
}

csk_rcu_map_entry_t *csk_rcu_map_next_of(csk_rcu_map_t *map, csk_rcu_map_cursor_t *cursor) {
    struct cds_lfht_iter *place = (struct cds_lfht_iter *)cursor;
    cds_lfht_next_duplicate(map->table, has_the_hash, NULL, place);
    return entry_of(place->node);
}

uint64_t csk_rcu_map_count(const csk_rcu_map_t *map) {
    int64_t count = csk_load(&map->count, CSK_RELAXED);
    return count > 0 ? (uint64_t)count : 0;
}
