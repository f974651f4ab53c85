/* rcu_map.c: an open-addressed table of entries. Each change of it is one compare-and-swap of one slot.
 *
 * More than 400 lines: a sixth of them is the argument, and all of them work on one table.
 *
 *   slot                      means                                              becomes
 *   0                         empty: a search ends here                          an entry | sealed
 *   tag address               an entry                                           another with its key | frozen | dead
 *   tag address FROZEN        the same, while it is being moved                  moved
 *   tag address MOVED         it is in the next table, or was                    -
 *   FROZEN                    dead: its entry was removed                        -
 *   MOVED                     sealed: empty, and entries come to the next table  -
 *
 * A slot has entries of only one key in its life, and is never empty again. So a search that has passed a slot need not
 * come back:
 *
 *   One entry for a key. A thread that inserts a key has passed all slots before the first empty one. None of these has
 *   the key or will have it. The thread takes the empty slot, or looks at it again. So two threads that insert one key
 *   meet at one slot.
 *
 *   Moving. All of a table that is full, or nearly empty, is moved to the next table: empty slots are sealed; entries
 *   are frozen, put into the next table, and marked moved. An entry that is not marked moved is current, and is changed
 *   nowhere but in its slot. A writer that finds an entry frozen does that move itself. So a search that does not find
 *   the key here looks in the next table if it has met a seal, or a moved entry that may have been the one wanted. At a
 *   slot that is simply empty it need not look further: an entry of this key, on its way to the next table, would have
 *   sealed that slot.
 *
 *   One place for a moved entry. Several threads may move one entry. Each looks for the entry up to the first empty
 *   slot of the next table. Then it checks that the entry is still frozen here. Then it takes that slot by
 *   compare-and-swap. If that succeeds, no other thread has put the entry in. It is not before the slot: others would
 *   have had to find a slot empty that this thread found taken, and no thread can have removed the entry from there
 *   while it was frozen. It is not behind the slot, since the slot was empty.
 *
 * Only the current table gets a next one, and it is the current one no longer when all of it has been moved. So a
 * search meets more than two tables only if others fill whole tables meanwhile. A removed entry is retired when no
 * table has it except as moved; searches don't follow the address of a moved entry. A walk does follow it. But a walk
 * begins in a table without a next one: an entry that it finds moved was moved after the walk had begun, and was
 * retired after that too, if it was.
 *
 * Orders. A change of a slot releases: the entry, or that there is a next table, or that the entry stands in the next
 * table. It need not acquire: on success it reads a message that its thread has loaded with acquire before, since no
 * word comes to a slot twice while a section lasts; or it reads 0, which no thread has written. So do the changes of
 * `map->table` and `next`. `used` only counts, and every change of it is a read-modify-write. `dead` acquires what was
 * inserted before it was removed: without that, a removal could be counted whose insertion is not yet counted (load
 * buffering).
 *
 * Sources: Cliff Click's lock-free hash table for the slots that are never reused; the move of whole entries is
 * simpler. */
#include "csynckernel/rcu_map.h"

#include "base/platform.h"
#include "rcu/rcu_reclaim.h"
#include "thread/name.h"

#include <stdlib.h>
#include <string.h>

enum { FROZEN = CSK_RCU_MAP_FROZEN, MOVED = CSK_RCU_MAP_MOVED };

static const uint64_t dead = FROZEN, sealed = MOVED;
static uint64_t fewest_slots = 64;

/* A flag in `used`: the table gets a next one, or would get one if there were memory for it. */
#define CLOSED (UINT64_C(1) << 62)

typedef struct csk_rcu_map_table table_t;

struct table {
    table_t shared;
    csk_rcu_node_t node;
    uint64_t limit, expected;                   /* how many slots may be taken; what `used` began with */
    uint64_t used __attribute__((aligned(64))); /* slots not empty or about to be taken; at most `limit` */
    uint64_t dead;
    uint64_t slots[];
};

struct map {
    csk_rcu_map_t shared;
    csk_rcu_map_match_t match;
    csk_rcu_steps_t end;
    csk_rcu_function_t reclaim; /* for the entries of a destroyed map */
    csk_rcu_map_cursor_t reclaimed;
    int64_t count __attribute__((aligned(64))); /* in the writers' cache line, which readers don't touch */
};

static struct map *map_of(csk_rcu_map_t *map) { return (struct map *)map; }
static struct table *counts_of(table_t *table) { return (struct table *)table; }
static table_t *current(csk_rcu_map_t *map) { return csk_load(&map->table, CSK_ACQUIRE); }
static table_t *next_of(table_t *table) { return csk_load(&table->next, CSK_ACQUIRE); }
static bool is_free(uint64_t slot) { return (slot & ~sealed) == 0; }
static bool has_tag(uint64_t slot, uint64_t hash) { return slot >> CSK_RCU_MAP_TAG_SHIFT == csk_rcu_map_tag(hash); }

static uint64_t slot_for(csk_rcu_map_entry_t *entry, uint64_t hash) {
    return (uint64_t)(uintptr_t)entry | csk_rcu_map_tag(hash) << CSK_RCU_MAP_TAG_SHIFT;
}

static bool change(uint64_t *slot, uint64_t from, uint64_t to) { return csk_cas(slot, &from, to, CSK_RELEASE); }

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

/* ---- Tables ------------------------------------------------------------------------------------------------------ */

/* The table has at least twice as many slots as there are entries. It is full when three quarters of the slots are
 * taken. */
static struct table *make_table(uint64_t entries) {
    uint64_t slots = fewest_slots;
    while (slots < 2 * entries) slots *= 2;
    struct table *table = calloc(1, sizeof *table + slots * sizeof table->slots[0]);
    if (table == NULL) return NULL;
    table->shared.mask = slots - 1;
    table->shared.slots = table->slots;
    table->limit = slots / 4 * 3;
    table->used = table->expected = entries;
    return table;
}

static void free_table(csk_rcu_node_t *node) { free((char *)node - offsetof(struct table, node)); }

/* Puts a frozen entry into the next table, unless another thread has. The look at `from` is relaxed. Where another
 * thread has changed what a third one put in, it had found `from` moved: a thread that meets its change by the
 * acquiring load finds `from` moved too. */
static void place(uint64_t *from, uint64_t frozen, table_t *next) {
    csk_rcu_map_entry_t *entry = csk_rcu_map_entry_of(frozen);
    for (uint64_t at = entry->hash;; at++) {
        uint64_t *slot = &next->slots[at & next->mask], found;
        while (is_free(found = csk_load(slot, CSK_ACQUIRE))) {
            if (csk_load(from, CSK_RELAXED) != frozen || change(slot, 0, frozen & ~(uint64_t)FROZEN)) return;
        }
        if (csk_rcu_map_entry_of(found) == entry) return;
    }
}

/* Moves one slot. Returns what the slot is from then on for good: dead, sealed or moved. */
static uint64_t move_slot(uint64_t *slot, table_t *next) {
    for (;;) {
        uint64_t found = csk_load(slot, CSK_ACQUIRE);
        if (found == dead || (found & MOVED)) return found;
        if (found == 0) {
            change(slot, 0, sealed);
        } else if (!(found & FROZEN)) {
            change(slot, found, found | FROZEN);
        } else {
            place(slot, found, next);
            change(slot, found, found ^ (FROZEN | MOVED));
        }
    }
}

/* Moves all entries that are still in the table. The table has a next one, and is the map's current table, or was. */
static void move_all(csk_rcu_map_t *map, table_t *table) {
    table_t *next = next_of(table);
    uint64_t moved = 0;
    for (uint64_t i = 0; i <= table->mask; i++)
        moved += csk_rcu_map_entry_of(move_slot(&table->slots[i], next)) != NULL;
    if (!csk_cas(&map->table, &table, next, CSK_RELEASE)) return;
    /* Room was also claimed for entries that were removed before they could be moved. */
    csk_fetch_add(&counts_of(next)->used, moved - counts_of(next)->expected, CSK_RELAXED);
    csk_rcu_retire_always(&counts_of(table)->node, free_table);
}

/* Makes sure that the table has a next one. Returns 0 or ENOMEM. It is called inside a section, where retiring waits
 * for nothing. */
static int replace_table(csk_rcu_map_t *map, table_t *table) {
    for (table_t *older; (older = current(map)) != table && next_of(table) == NULL;) move_all(map, older);
    if (next_of(table) != NULL) return 0;
    struct table *counts = counts_of(table);
    /* `dead` is read before `used`: so the difference is at least the number of entries that may still be there to be
     * moved. */
    uint64_t removed = csk_load(&counts->dead, CSK_ACQUIRE);
    struct table *made = make_table((csk_fetch_or(&counts->used, CLOSED, CSK_RELAXED) & ~CLOSED) - removed);
    if (made == NULL) return ENOMEM;
    table_t *none = NULL;
    if (csk_cas(&table->next, &none, &made->shared, CSK_RELEASE)) move_all(map, table);
    else free(made);
    return 0;
}

/* Begins a walk, in a table without a next one. */
static void find_table(csk_rcu_map_t *map, csk_rcu_map_cursor_t *cursor) {
    table_t *table;
    while (next_of(table = current(map)) != NULL) move_all(map, table);
    *cursor = (csk_rcu_map_cursor_t){ .table = table };
}

/* Claims room for one more entry. Returns false when the table is full. */
static bool reserve(table_t *table) {
    struct table *counts = counts_of(table);
    if (csk_fetch_add(&counts->used, 1u, CSK_RELAXED) < counts->limit) return true;
    csk_fetch_add(&counts->used, UINT64_MAX, CSK_RELAXED);
    return false;
}

static bool take_free(table_t *table, uint64_t *slot, uint64_t value) {
    if (change(slot, 0, value)) return true;
    csk_fetch_add(&counts_of(table)->used, UINT64_MAX, CSK_RELAXED);
    return false;
}

/* ---- The map ----------------------------------------------------------------------------------------------------- */

int csk_rcu_map_create(csk_rcu_map_t **map, csk_rcu_map_match_t match) {
    if (match == NULL) return EINVAL;
    struct table *table = make_table(0);
    struct map *made = aligned_alloc(64, sizeof *made);
    if (table == NULL || made == NULL) {
        free(table);
        free(made);
        return ENOMEM;
    }
    *made = (struct map){ .shared.table = &table->shared, .match = match };
    *map = &made->shared;
    return 0;
}

static struct map *ended(csk_rcu_node_t *node) { return (struct map *)((char *)node - offsetof(struct map, end.node)); }

/* Does a millisecond's work at a time, or a 64th of all. So what others have retired meanwhile doesn't wait for the end
 * of a million entries. */
static void free_more(csk_rcu_node_t *node) {
    struct map *map = ended(node);
    table_t *table = map->shared.table;
    uint64_t slots = (table->mask + 1) / 64 < 8192 ? 8192 : (table->mask + 1) / 64, end = map->reclaimed.place + slots;
    while (map->reclaimed.place < end) {
        csk_rcu_map_entry_t *entry = csk_rcu_map_next(&map->reclaimed);
        if (entry == NULL) {
            csk_rcu_end_steps(&map->end);
            free(table);
            free(map);
            return;
        }
        map->reclaim(&entry->node);
    }
    csk_rcu_next_step(&map->end, free_more);
}

/* It is called after a grace period. No thread is left that may see the entries, so they need no grace periods of their
 * own. A million of those would take all the room that others' retirements have. A child of fork may find a table that
 * was being moved. */
static void free_map(csk_rcu_node_t *node) {
    struct map *map = ended(node);
    csk_rcu_read_lock();
    find_table(&map->shared, &map->reclaimed);
    csk_rcu_read_unlock();
    free_more(node);
}

int csk_rcu_map_destroy(csk_rcu_map_t *map, csk_rcu_function_t reclaim) {
    if (reclaim == NULL) return EINVAL;
    csk_name_end(map);
    map_of(map)->reclaim = reclaim;
    return csk_rcu_retire_always(&map_of(map)->end.node, free_map);
}

csk_rcu_map_entry_t *csk_rcu_map_find(csk_rcu_map_t *map, uint64_t hash, const void *key) {
    csk_rcu_map_cursor_t cursor;
    csk_rcu_map_entry_t *entry = csk_rcu_map_first_of(map, hash, &cursor);
    while (entry != NULL && !map_of(map)->match(entry, key)) entry = csk_rcu_map_next_of(&cursor);
    return entry;
}

/* Inserts the entry, or finds the entry that has the key, and replaces it if `replaces`. */
static int put(csk_rcu_map_t *map, uint64_t hash, const void *key, csk_rcu_map_entry_t *entry, bool replaces,
               csk_rcu_map_entry_t **there) {
    uint64_t value = slot_for(entry, hash);
    entry->hash = hash;
    table_t *table = current(map);
    for (uint64_t at = hash;; at++) {
        uint64_t *slot = &table->slots[at & table->mask], found = csk_load(slot, CSK_ACQUIRE);
        if (found == 0) {
            table_t *next = next_of(table);
            if (next != NULL) {
                change(slot, 0, sealed);
            } else if (reserve(table)) {
                if (take_free(table, slot, value)) return 0;
            } else {
                int error = replace_table(map, table);
                if (error != 0) return error;
            }
            at--;
        } else if (found == sealed) {
            table = next_of(table);
            at = hash - 1;
        } else if (has_tag(found, hash) && !(found & MOVED)) {
            csk_rcu_map_entry_t *other = csk_rcu_map_entry_of(found);
            if (other->hash != hash || !map_of(map)->match(other, key)) continue;
            if (!replaces || (!(found & FROZEN) && change(slot, found, value))) {
                *there = other;
                return EEXIST;
            }
            if (found & FROZEN) move_slot(slot, next_of(table));
            at--;
        }
    }
}

static int put_in_section(csk_rcu_map_t *map, uint64_t hash, const void *key, csk_rcu_map_entry_t *entry, bool replaces,
                          csk_rcu_map_entry_t **there) {
    *there = NULL;
    if ((uintptr_t)entry >> CSK_RCU_MAP_TAG_SHIFT != 0) return EINVAL;
    csk_rcu_read_lock();
    int status = put(map, hash, key, entry, replaces, there);
    if (status == 0) csk_fetch_add(&map_of(map)->count, 1, CSK_RELAXED);
    csk_rcu_read_unlock();
    return status;
}

int csk_rcu_map_insert(csk_rcu_map_t *map, uint64_t hash, const void *key, csk_rcu_map_entry_t *entry,
                       csk_rcu_map_entry_t **found) {
    csk_rcu_map_entry_t *there;
    int status = put_in_section(map, hash, key, entry, false, &there);
    if (status == EEXIST && found != NULL) *found = there;
    return status;
}

int csk_rcu_map_replace(csk_rcu_map_t *map, uint64_t hash, const void *key, csk_rcu_map_entry_t *entry,
                        csk_rcu_map_entry_t **old) {
    int status = put_in_section(map, hash, key, entry, true, old);
    return status == EEXIST ? 0 : status;
}

/* A table that could be much smaller is replaced by a smaller one. Without memory for that, the next insertion tries
 * again. */
static void count_removed(csk_rcu_map_t *map, table_t *table) {
    int64_t left = csk_fetch_add(&map_of(map)->count, -1, CSK_RELAXED) - 1;
    csk_fetch_add(&counts_of(table)->dead, 1u, CSK_RELEASE);
    if (CSK_LIKELY(table->mask < fewest_slots || left > (int64_t)(table->mask / 16)) || next_of(table) != NULL) return;
    replace_table(map, table);
}

/* Puts `value` into the slot of an entry that the caller found in its read section. Returns the table, or NULL when the
 * entry is in no table any more. */
static table_t *change_entry(csk_rcu_map_t *map, csk_rcu_map_entry_t *entry, uint64_t value) {
    table_t *table = current(map);
    /* When the slot was moved, it may have had another entry of the key. In the next table this entry has then taken
     * that entry's place. */
    bool moved = false;
    for (uint64_t at = entry->hash;; at++) {
        uint64_t *slot = &table->slots[at & table->mask], found = csk_load(slot, CSK_ACQUIRE);
        if (found == 0 && !moved) return NULL;
        if (!is_free(found) && csk_rcu_map_entry_of(found) != entry) {
            moved |= (found & MOVED) && has_tag(found, entry->hash);
        } else if (found == 0 || (found & MOVED)) {
            table = next_of(table);
            at = entry->hash - 1;
            moved = false;
        } else if (found & FROZEN) {
            move_slot(slot, next_of(table));
            at--;
        } else if (change(slot, found, value)) {
            return table;
        } else {
            at--;
        }
    }
}

int csk_rcu_map_replace_entry(csk_rcu_map_t *map, csk_rcu_map_entry_t *old, csk_rcu_map_entry_t *entry) {
    if ((uintptr_t)entry >> CSK_RCU_MAP_TAG_SHIFT != 0) return EINVAL;
    entry->hash = old->hash;
    return change_entry(map, old, slot_for(entry, old->hash)) != NULL ? 0 : ENOENT;
}

int csk_rcu_map_remove_entry(csk_rcu_map_t *map, csk_rcu_map_entry_t *entry) {
    table_t *table = change_entry(map, entry, dead);
    if (table == NULL) return ENOENT;
    count_removed(map, table);
    return 0;
}

csk_rcu_map_entry_t *csk_rcu_map_remove(csk_rcu_map_t *map, uint64_t hash, const void *key) {
    csk_rcu_map_entry_t *entry;
    csk_rcu_read_lock();
    /* Another thread may remove the entry that was found, and a third thread may insert the key anew. */
    do entry = csk_rcu_map_find(map, hash, key);
    while (entry != NULL && csk_rcu_map_remove_entry(map, entry) != 0);
    csk_rcu_read_unlock();
    return entry;
}

csk_rcu_map_entry_t *csk_rcu_map_first(csk_rcu_map_t *map, csk_rcu_map_cursor_t *cursor) {
    find_table(map, cursor);
    return csk_rcu_map_next(cursor);
}

csk_rcu_map_entry_t *csk_rcu_map_next(csk_rcu_map_cursor_t *cursor) {
    const table_t *table = cursor->table;
    while (cursor->place <= table->mask) {
        csk_rcu_map_entry_t *entry = csk_rcu_map_entry_of(csk_load(&table->slots[cursor->place++], CSK_ACQUIRE));
        if (entry != NULL) return entry;
    }
    return NULL;
}

uint64_t csk_rcu_map_count(const csk_rcu_map_t *map) {
    int64_t count = csk_load(&((const struct map *)map)->count, CSK_RELAXED);
    return count > 0 ? (uint64_t)count : 0;
}
