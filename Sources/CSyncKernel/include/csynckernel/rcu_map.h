/* rcu_map.h: a hash table whose lookups take no lock and never wait, also while it grows. Writers are lock-free. A
 * writer that finds the table too full or too empty makes one of another size, and moves what is in it while all others
 * go on.
 *
 * Entries belong to the caller, have a csk_rcu_map_entry_t inside, and don't change while they are in the table. Keys
 * are the caller's: a hash, and a function that compares an entry with a key.
 *
 * What was replaced or removed is the caller's to retire, once. It must not be freed or inserted anew before that.
 * Writers need no lock among themselves. None of these functions may be called from a signal handler. For fork the
 * rules of rcu.h hold.
 *
 * Example: a session that is replaced and found.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *     #include <stdlib.h>
 *
 *     struct session {
 *         csk_rcu_map_entry_t entry;
 *         uint64_t id;
 *         int state;
 *     };
 *
 *     static bool has_id(const csk_rcu_map_entry_t *entry, const void *id) {
 *         return ((const struct session *)entry)->id == *(const uint64_t *)id;
 *     }
 *
 *     static void free_session(csk_rcu_node_t *node) { free(node); }
 *
 *     static int put(csk_rcu_map_t *map, uint64_t id, int state) {
 *         struct session *fresh = malloc(sizeof *fresh);
 *         if (fresh == NULL) return ENOMEM;
 *         fresh->id = id;
 *         fresh->state = state;
 *         csk_rcu_map_entry_t *old;
 *         int status = csk_rcu_map_replace(map, csk_hash_int(id), &id, &fresh->entry, &old);
 *         if (status != 0) free(fresh);
 *         else if (old != NULL) csk_rcu_retire_always(&old->node, free_session);
 *         return status;
 *     }
 *
 *     int main(void) {
 *         csk_rcu_map_t *map;
 *         uint64_t id = 42;
 *         if (csk_rcu_map_create(&map, has_id) != 0) return 1;
 *         if (put(map, id, 1) != 0 || put(map, id, 2) != 0) return 1;
 *
 *         csk_rcu_read_lock();
 *         struct session *session =
 *             (struct session *)csk_rcu_map_find(map, csk_hash_int(id), &id);
 *         int state = session != NULL ? session->state : 0;
 *         csk_rcu_read_unlock();  // session is not valid any more
 *         printf("%d\n", state);
 *         return state != 2 || csk_rcu_map_destroy(map, free_session) != 0 ||
 *                csk_rcu_barrier() != 0;
 *     }
 */
#ifndef CSK_RCU_MAP_H
#define CSK_RCU_MAP_H

#include "rcu.h"

CSK_BEGIN_DECLS

typedef struct csk_rcu_map csk_rcu_map_t;

/* A csk_rcu_map_entry_t needs no initialization. */
typedef struct csk_rcu_map_entry {
    csk_rcu_node_t node;
    uint64_t hash; /* belongs to the table; it is last, so that a key that follows is on the line that a lookup
                             has fetched */
} csk_rcu_map_entry_t;

/* The place in a walk, used by one thread, inside one read section. */
typedef struct csk_rcu_map_cursor {
    const void *table;
    uint64_t place, hash;
    bool moved;
} csk_rcu_map_cursor_t;

/* Returns true if the entry's key is `key`. It is called inside a read section, with no lock held, for entries with the
 * same hash, on any thread. */
typedef bool (*csk_rcu_map_match_t)(const csk_rcu_map_entry_t *entry, const void *key);

/* Hashes for keys that are integers or bytes. The tables use the lowest and the highest bits of a hash, and these
 * functions mix all bits of the key into them. They are not secret: for keys that come from strangers take a keyed
 * hash. */
static inline uint64_t csk_hash_int(uint64_t key) {
    key = (key ^ (key >> 32)) * UINT64_C(0x9E3779B97F4A7C15);
    key = (key ^ (key >> 29)) * UINT64_C(0xBF58476D1CE4E5B9);
    return key ^ (key >> 32);
}
CSK_API uint64_t csk_hash_bytes(const void *bytes, size_t count);

/* Makes an empty table and stores it in `*map`. Returns 0, EINVAL without a function, or ENOMEM. */
CSK_API CSK_MUST_USE int csk_rcu_map_create(csk_rcu_map_t **map, csk_rcu_map_match_t match);

/* Retires the table as one: after a grace period each entry is given to `reclaim`, and the table is freed. No thread
 * may use the table any more, readers included. It waits for no grace period, as csk_rcu_retire_always. Returns 0, or
 * EINVAL without a function. O(1). */
CSK_API int csk_rcu_map_destroy(csk_rcu_map_t *map, csk_rcu_function_t reclaim);

/* Returns the entry with the key, or NULL. It is called inside a read section of the caller, and the entry is valid
 * until that section ends. It never waits. O(1) expected, and as much again for each time that the table is replaced by
 * one of another size meanwhile. */
CSK_API csk_rcu_map_entry_t *csk_rcu_map_find(csk_rcu_map_t *map, uint64_t hash, const void *key);

/* Inserts the entry unless there is one with its key. Returns 0, or EEXIST with nothing changed; where `found` is not
 * NULL, the other entry is then in *found, and valid to the end of the read section that the caller is in. ENOMEM: the
 * table is full, and there is no memory for a larger one. EINVAL: the entry has an address of more than 48 bits.
 * Lock-free. O(1) amortized. */
CSK_API CSK_MUST_USE int csk_rcu_map_insert(csk_rcu_map_t *map, uint64_t hash, const void *key,
                                            csk_rcu_map_entry_t *entry, csk_rcu_map_entry_t **found);

/* Inserts the entry in place of the one with its key. That one is stored in *old, and is the caller's to retire then;
 * *old is NULL where there was none. Lookups find the one or the other at every instant. Returns 0, or an error of
 * csk_rcu_map_insert with nothing changed and *old NULL. Lock-free. O(1) amortized. */
CSK_API CSK_MUST_USE int csk_rcu_map_replace(csk_rcu_map_t *map, uint64_t hash, const void *key,
                                             csk_rcu_map_entry_t *entry, csk_rcu_map_entry_t **old);

/* Puts `entry`, which has the same key, in the place of `old`. The caller found `old` in the read section that it is
 * in, and `old` is then the caller's to retire. Returns 0; ENOENT when another thread has replaced or removed `old`; or
 * EINVAL as above. What is computed from the entry that was found is thus put in only if that entry is still there.
 * Lock-free. */
CSK_API CSK_MUST_USE int csk_rcu_map_replace_entry(csk_rcu_map_t *map, csk_rcu_map_entry_t *old,
                                                   csk_rcu_map_entry_t *entry);

/* Takes the entry with the key out. It is then the caller's to retire. Returns NULL where there was none. Lock-free.
 * O(1) amortized. */
CSK_API csk_rcu_map_entry_t *csk_rcu_map_remove(csk_rcu_map_t *map, uint64_t hash, const void *key);

/* Takes out an entry that the caller found in the read section that it is in. Returns 0, or ENOENT when another thread
 * was first. Lock-free. */
CSK_API CSK_MUST_USE int csk_rcu_map_remove_entry(csk_rcu_map_t *map, csk_rcu_map_entry_t *entry);

/* These walk all entries, in no particular order, inside one read section of the caller. Entries that are there from
 * the beginning of the walk to its end come once; those that come or go meanwhile, perhaps. NULL at the end. */
CSK_API csk_rcu_map_entry_t *csk_rcu_map_first(csk_rcu_map_t *map, csk_rcu_map_cursor_t *cursor);
CSK_API csk_rcu_map_entry_t *csk_rcu_map_next(csk_rcu_map_cursor_t *cursor);

/* The number of entries inside, at some instant during the call if there are no writes meanwhile; else it is off by the
 * writes in progress. O(1). */
CSK_API uint64_t csk_rcu_map_count(const csk_rcu_map_t *map);

/* ---- For the inline functions ---------------------------------------------------------------------------------------
 *
 * A slot is a word: the entry's address, above it 15 bits of its hash and a one, and below it two flags.
 * src/rcu/rcu_map.c has the table of its values. A search looks at the slots one after the other, from the hash's low
 * bits on; the first empty slot ends it. */
typedef struct csk_rcu_map_table {
    uint64_t mask;                  /* slots - 1 */
    struct csk_rcu_map_table *next; /* the table to which entries are moved, or NULL */
    uint64_t *slots;
} csk_rcu_map_table_t;

struct csk_rcu_map {
    csk_rcu_map_table_t *table; /* the table with which lookups begin */
};

enum { CSK_RCU_MAP_FROZEN = 1, CSK_RCU_MAP_MOVED = 2, CSK_RCU_MAP_TAG_SHIFT = 48 };

static inline uint64_t csk_rcu_map_tag(uint64_t hash) { return (hash >> CSK_RCU_MAP_TAG_SHIFT) | 1; }

static inline csk_rcu_map_entry_t *csk_rcu_map_entry_of(uint64_t slot) {
    return (csk_rcu_map_entry_t *)(uintptr_t)(slot & ((UINT64_C(1) << CSK_RCU_MAP_TAG_SHIFT) - 4));
}

/* ---- Looking without a function that compares keys -----------------------------------------------------------------
 *
 * These two give the entries with one hash, for callers that compare keys themselves, as csk_rcu_map_find does. NULL at
 * the end. An entry may come twice where the table is replaced meanwhile. */

/* Gives the next one, inside the same read section. */
static inline csk_rcu_map_entry_t *csk_rcu_map_next_of(csk_rcu_map_cursor_t *cursor) {
    const csk_rcu_map_table_t *table = (const csk_rcu_map_table_t *)cursor->table;
    uint64_t tag = csk_rcu_map_tag(cursor->hash);
    for (;;) {
        uint64_t slot = __atomic_load_n(&table->slots[cursor->place++ & table->mask], __ATOMIC_ACQUIRE);
        if (slot >> CSK_RCU_MAP_TAG_SHIFT == tag) {
            if (CSK_UNLIKELY(slot & CSK_RCU_MAP_MOVED)) {
                cursor->moved = true;
            } else {
                csk_rcu_map_entry_t *entry = csk_rcu_map_entry_of(slot);
                if (CSK_LIKELY(entry->hash == cursor->hash)) return entry;
            }
        } else if ((slot & ~(uint64_t)CSK_RCU_MAP_MOVED) == 0) {
            if (CSK_LIKELY(slot == 0 && !cursor->moved)) return NULL;
            /* The thread that sealed or moved the slot had acquired this, and released it with the slot. */
            cursor->table = table = __atomic_load_n(&table->next, __ATOMIC_RELAXED);
            cursor->place = cursor->hash;
            cursor->moved = false;
        }
    }
}

/* Gives the first one, inside a read section of the caller. */
static inline csk_rcu_map_entry_t *csk_rcu_map_first_of(csk_rcu_map_t *map, uint64_t hash,
                                                        csk_rcu_map_cursor_t *cursor) {
    cursor->table = __atomic_load_n(&map->table, __ATOMIC_ACQUIRE);
    cursor->place = cursor->hash = hash;
    cursor->moved = false;
    return csk_rcu_map_next_of(cursor);
}

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_rcu_map_entry_t) == 40, "csk_rcu_map_entry_t is part of the ABI");
CSK_STATIC_ASSERT(sizeof(csk_rcu_map_cursor_t) == 32, "csk_rcu_map_cursor_t is part of the ABI");

#endif
