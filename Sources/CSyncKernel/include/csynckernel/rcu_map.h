/* rcu_map.h: a hash table whose lookups are wait-free, also while it grows. liburcu's rculfhash, a split-ordered list; it grows and
 * shrinks by itself, on the reclaiming thread, some 10 ms after it should.
 *
 * Entries belong to the caller, have a csk_rcu_map_entry_t inside, and don't change while they are in the table. Keys are the
 * caller's: a hash, and a function that says whether an entry has a key.
 *
 *     csk_rcu_read_lock();
 *     struct session *session = (struct session *)csk_rcu_map_find(map, csk_hash_int(id), &id);
 *     ...                                            (valid until the section ends)
 *     csk_rcu_read_unlock();
 *
 *     csk_rcu_map_entry_t *old = csk_rcu_map_replace(map, csk_hash_int(id), &id, &fresh->entry);
 *     if (old != NULL) csk_rcu_retire(&old->node, free_session);
 *
 * What was replaced or removed is the caller's to retire, once; it must not be freed or inserted anew before that. Writers need no lock among
 * themselves. None of this may be called from a signal handler; fork as for rcu.h. */
#ifndef CSK_RCU_MAP_H
#define CSK_RCU_MAP_H

#include "rcu.h"

CSK_BEGIN_DECLS

typedef struct csk_rcu_map csk_rcu_map_t;

/* Needs no initialization. */
typedef struct csk_rcu_map_entry {
    csk_rcu_node_t node;
    void *reserved[2];    /* the table's; last, so that a key that follows is on the line that a lookup has fetched */
} csk_rcu_map_entry_t;

/* A place in a walk; used by one thread, inside one read section. */
typedef struct csk_rcu_map_cursor {
    void *reserved[2];
} csk_rcu_map_cursor_t;

/* Whether the entry's key is `key`. Called inside a read section, with no lock held, for entries with the same hash; any thread's. */
typedef bool (*csk_rcu_map_match_t)(const csk_rcu_map_entry_t *entry, const void *key);

/* Hashes for keys that are integers or bytes. The tables use the low bits first; these mix all into them. They are not secret: for keys that
 * come from strangers take a keyed hash. */
static inline uint64_t csk_hash_int(uint64_t key) {
    key = (key ^ (key >> 32)) * UINT64_C(0x9E3779B97F4A7C15);
    key = (key ^ (key >> 29)) * UINT64_C(0xBF58476D1CE4E5B9);
    return key ^ (key >> 32);
}
CSK_API uint64_t csk_hash_bytes(const void *bytes, size_t count);

/* Makes an empty table: 0, EINVAL without a function, ENOMEM. */
CSK_API int csk_rcu_map_create(csk_rcu_map_t **map, csk_rcu_map_match_t match);

/* Retires the table as one: after a grace period each entry is given to `reclaim`, and the table is freed. Nobody may use it any more,
 * readers included. Waits for no grace period, as csk_rcu_retire. 0, or EINVAL without a function. O(1). */
CSK_API int csk_rcu_map_destroy(csk_rcu_map_t *map, csk_rcu_function_t reclaim);

/* The entry with the key, or NULL. Inside a read section of the caller, until whose end the entry is valid. Wait-free; O(1) expected. */
CSK_API csk_rcu_map_entry_t *csk_rcu_map_find(csk_rcu_map_t *map, uint64_t hash, const void *key);

/* Inserts the entry unless there is one with its key: 0, or EEXIST with nothing changed and, where `found` is not NULL, the other in
 * *found, which is valid to the end of the read section that the caller is in. Lock-free. */
CSK_API int csk_rcu_map_insert(csk_rcu_map_t *map, uint64_t hash, const void *key, csk_rcu_map_entry_t *entry,
                               csk_rcu_map_entry_t **found);

/* Inserts the entry in place of the one with its key, which is the caller's to retire then; NULL where there was none. Lookups find the
 * one or the other at every instant. Lock-free. */
CSK_API csk_rcu_map_entry_t *csk_rcu_map_replace(csk_rcu_map_t *map, uint64_t hash, const void *key, csk_rcu_map_entry_t *entry);

/* Takes the entry with the key out, which is the caller's to retire then; NULL where there was none. Lock-free. */
CSK_API csk_rcu_map_entry_t *csk_rcu_map_remove(csk_rcu_map_t *map, uint64_t hash, const void *key);

/* Takes out an entry that the caller found in the read section that it is in: 0, or ENOENT when another thread was first. Lock-free. */
CSK_API int csk_rcu_map_remove_entry(csk_rcu_map_t *map, csk_rcu_map_entry_t *entry);

/* Walks all entries, in no particular order, inside one read section of the caller: those that are there from its beginning to its end once,
 * those that come or go meanwhile perhaps. NULL at the end. */
CSK_API csk_rcu_map_entry_t *csk_rcu_map_first(csk_rcu_map_t *map, csk_rcu_map_cursor_t *cursor);
CSK_API csk_rcu_map_entry_t *csk_rcu_map_next(csk_rcu_map_t *map, csk_rcu_map_cursor_t *cursor);

/* The same for the entries with one hash: what csk_rcu_map_find does, for callers that compare keys themselves. */
CSK_API csk_rcu_map_entry_t *csk_rcu_map_first_of(csk_rcu_map_t *map, uint64_t hash, csk_rcu_map_cursor_t *cursor);
CSK_API csk_rcu_map_entry_t *csk_rcu_map_next_of(csk_rcu_map_t *map, csk_rcu_map_cursor_t *cursor);

/* Entries inside, at some instant during the call where nobody writes meanwhile; else off by the writes in progress. O(1). */
CSK_API uint64_t csk_rcu_map_count(const csk_rcu_map_t *map);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_rcu_map_entry_t) == 48, "csk_rcu_map_entry_t is part of the ABI");

#endif
