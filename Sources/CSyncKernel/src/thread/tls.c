/* tls.c: the names of all slots, and the tables of the threads.
 *
 * Slots are never removed. So the names need no lock, and a fork at any moment leaves them whole:
 * - `newest` links all slots, each to the one made before it. Its compare-and-swap gives out the indices without a gap.
 * - A trie of the names' hashes, with four children at each node, finds a name. One compare-and-swap links a slot into
 *   the first empty place on its hash's path. A place is never emptied, so a later call with the same name meets the
 *   slot. The idea of a hash trie whose nodes are the entries themselves is Christopher Wellons's.
 *
 * A slot enters the list before the trie. A thread that loses the trie's place to another slot of the same name takes
 * that slot. Its own slot remains, unused. There is at most one such slot for each thread that opens a new name at the
 * same moment.
 *
 * A table's entries repeat the destructors, so that the end of a thread needs nothing but the table. */
#include "csynckernel/tls.h"

#include <stdlib.h>
#include <string.h>

#include "thread/thread_exit.h"

struct slot {
    struct slot *older;
    struct slot *children[4];
    csk_tls_destructor_t destructor;
    uint64_t hash;
    size_t length;
    csk_tls_slot_t index;
    char name[];
};

static struct slot *newest;
static struct slot *names;

struct entry {
    void *value;
    csk_tls_destructor_t destructor;
};

/* The calling thread's table. Entry 0 is never set. Slots from `count` on have no value and no entry yet; `count` is 0
 * without a table. */
static _Thread_local struct {
    struct entry *entries;
    uint64_t count;
    uint64_t capacity;
    bool ended;
} mine __attribute__((tls_model("initial-exec")));

/* ---- Names ------------------------------------------------------------------------------------------------------- */

/* FNV-1a. Its bits are then mixed, since the trie takes the highest bits first. */
static uint64_t hash_of(const unsigned char *name, size_t length) {
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < length; i++) hash = (hash ^ name[i]) * UINT64_C(0x100000001B3);
    hash = (hash ^ hash >> 32) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

static struct slot *make_slot(const void *name, size_t length, uint64_t hash, csk_tls_destructor_t destructor) {
    struct slot *slot = calloc(1, sizeof *slot + length);
    if (slot == NULL) return NULL;
    if (length != 0) memcpy(slot->name, name, length);
    slot->length = length;
    slot->hash = hash;
    slot->destructor = destructor;
    return slot;
}

/* Gives the slot its index. EAGAIN when there are none left. */
static int number_slot(struct slot *slot) {
    struct slot *older;
    do {
        older = csk_load(&newest, CSK_ACQUIRE); /* pairs with the release below */
        csk_tls_slot_t last = older == NULL ? 0 : older->index;
        if (last == UINT32_MAX) return EAGAIN;
        slot->older = older;
        slot->index = last + 1;
    } while (!csk_cas(&newest, &older, slot, CSK_RELEASE));
    return 0;
}

/* Finds the place of that name. The place holds the slot, or held NULL at the moment of the look. */
static struct slot **find_place(struct slot **place, uint64_t way, uint64_t hash, const void *name, size_t length,
                                struct slot **found, uint64_t *way_on) {
    struct slot *slot;
    while ((slot = csk_load(place, CSK_ACQUIRE)) != NULL) {
        if (slot->hash == hash && slot->length == length && (length == 0 || memcmp(slot->name, name, length) == 0))
            break;
        place = &slot->children[way >> 62];
        way <<= 2; /* names with the same hash go on along the first child */
    }
    *found = slot;
    *way_on = way;
    return place;
}

static int open_anonymous(csk_tls_destructor_t destructor, csk_tls_slot_t *index) {
    struct slot *slot = make_slot(NULL, 0, 0, destructor);
    if (slot == NULL) return ENOMEM;
    int error = number_slot(slot);
    if (error != 0) free(slot);
    else *index = slot->index;
    return error;
}

int csk_tls_open_bytes(csk_tls_slot_t *index, const void *name, size_t length, csk_tls_destructor_t destructor) {
    if (name == NULL) return open_anonymous(destructor, index);
    uint64_t hash = hash_of(name, length), way = hash;
    struct slot *found, *made = NULL, **place = find_place(&names, way, hash, name, length, &found, &way);
    if (found == NULL) {
        made = make_slot(name, length, hash, destructor);
        if (made == NULL) return ENOMEM;
        int error = number_slot(made);
        if (error != 0) {
            free(made);
            return error;
        }
    }
    while (found == NULL) {
        if (csk_cas(place, &found, made, CSK_RELEASE)) found = made;
        else place = find_place(place, way, hash, name, length, &found, &way);
    }
    if (found->destructor != destructor) return EINVAL;
    *index = found->index;
    return 0;
}

int csk_tls_open(csk_tls_slot_t *slot, const char *name, csk_tls_destructor_t destructor) {
    return csk_tls_open_bytes(slot, name, name == NULL ? 0 : strlen(name), destructor);
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

void *csk_tls_get(csk_tls_slot_t slot) { return CSK_LIKELY(slot < mine.count) ? mine.entries[slot].value : NULL; }

/* Takes each value out of its slot and destroys it, the newest slot's first. Destructors may set values and move the
 * table, so nothing of the table is remembered across a call. Returns true if there was a value. */
static bool destroy_round(void) {
    bool any = false;
    for (uint64_t index = mine.count; index-- > 0;) {
        struct entry taken = mine.entries[index];
        if (taken.value == NULL) continue;
        mine.entries[index].value = NULL;
        any = true;
        if (taken.destructor != NULL) taken.destructor(taken.value);
    }
    return any;
}

static void destroy_values(void) {
    int rounds = 0;
    while (rounds < CSK_TLS_ROUNDS && destroy_round()) rounds++;
    struct entry *entries = mine.entries;
    uint64_t count = mine.count;
    /* After the last round there may still be values. The thread gets no further ones, since it has no table and has
     * ended. */
    mine.ended = rounds == CSK_TLS_ROUNDS;
    mine.count = mine.capacity = 0;
    mine.entries = NULL;
    for (uint64_t index = count; index-- > 0;) {
        if (entries[index].value != NULL && entries[index].destructor != NULL)
            entries[index].destructor(entries[index].value);
    }
    free(entries);
}

/* Makes room for slots up to `last`. On failure all is as it was. */
static int grow(csk_tls_slot_t last) {
    uint64_t capacity = mine.capacity == 0 ? 8 : mine.capacity;
    while (capacity <= last) capacity *= 2;
    if (capacity == mine.capacity) return 0;
    struct entry *entries = realloc(mine.entries, capacity * sizeof *entries);
    if (entries == NULL) return ENOMEM;
    mine.entries = entries;
    mine.capacity = capacity;
    return 0;
}

/* Makes entries for all slots that were opened since the table was last extended, if they are needed. */
static int extend(csk_tls_slot_t slot, bool needed) {
    struct slot *last = csk_load(&newest, CSK_ACQUIRE); /* pairs with the release in number_slot */
    if (slot == 0 || last == NULL || slot > last->index) return EINVAL;
    if (!needed) return 0;
    if (mine.ended) return ESHUTDOWN;
    int error = mine.entries != NULL ? 0 : csk_thread_exit_enroll(CSK_THREAD_EXIT_TLS, destroy_values);
    if (error == 0) error = grow(last->index);
    if (error != 0) return error;
    for (struct slot *from = last; from != NULL && from->index >= mine.count; from = from->older) {
        mine.entries[from->index] = (struct entry){ .destructor = from->destructor };
    }
    if (mine.count == 0) mine.entries[0] = (struct entry){ .value = NULL };
    mine.count = (uint64_t)last->index + 1;
    return 0;
}

int csk_tls_set(csk_tls_slot_t slot, void *value) {
    if (CSK_UNLIKELY(slot >= mine.count)) {
        int error = extend(slot, value != NULL);
        if (error != 0 || value == NULL) return error;
    }
    if (CSK_UNLIKELY(slot == 0)) return EINVAL;
    mine.entries[slot].value = value;
    return 0;
}
