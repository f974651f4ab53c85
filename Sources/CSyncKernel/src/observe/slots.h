/* slots.h: tables of fixed size whose entries are found by 64-bit hashes of what they are for, and are added to by any
 * thread while others read. The contention profile and the metrics keep what they count in such tables.
 *
 * An entry begins with a slot. A slot is taken by a compare-and-swap from 0 to the hash. The thread that took it fills
 * the entry and then says so (`ready`, release; readers acquire). No thread waits for that: what is added to are
 * counters, and others know an entry by its number. Slots are never given back. So two threads that come with one hash
 * at the same moment use one entry, and a reader leaves out what is not filled yet. */
#ifndef CSK_INTERNAL_SLOTS_H
#define CSK_INTERNAL_SLOTS_H

#include "base/platform.h"

typedef struct csk_slot {
    uint64_t hash; /* 0: free */
    uint32_t ready;
} csk_slot_t;

/* Returns the number, from 1 on, of the entry that is this hash's from now on; 0 where the table is full around it.
 * `size` is that of an entry. `is_new` says whether the caller is to fill it, and to say that it is ready. */
uint32_t csk_slot_claim(void *entries, size_t size, uint32_t count, uint64_t hash, bool *is_new);
static inline void csk_slot_become_ready(csk_slot_t *slot) { csk_store(&slot->ready, 1u, CSK_RELEASE); }
static inline bool csk_slot_is_ready(const csk_slot_t *slot) { return csk_load(&slot->ready, CSK_ACQUIRE) != 0; }

/* The finalizer of SplitMix64 (Steele, Lea and Flood, 2014). */
static inline uint64_t csk_slot_mix(uint64_t value) {
    value = (value ^ (value >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94D049BB133111EB);
    return value ^ (value >> 31);
}
/* The hash of a number and a text. The number is mixed before the first byte is added: two numbers that differ by the
 * same bits as the first bytes of two texts would make one hash of both pairs otherwise. */
static inline uint64_t csk_slot_hash_text(uint64_t number, const char *text) {
    uint64_t hash = csk_slot_mix(number);
    for (; *text != 0; text++) hash = csk_slot_mix(hash ^ (unsigned char)*text);
    return hash;
}

/* The table, or NULL before it was made. Acquire: its zeros were written before its address. */
static inline void *csk_slots_table(void *const *table) { return csk_load(table, CSK_ACQUIRE); }
/* Makes the table at *table, for good and full of zeros, unless there is one. With `wipes` it is full of zeros again in
 * a child of fork. Returns 0 or ENOMEM. After 0 the caller has acquired the table, whatever thread made it: a thread
 * that gets the table from the caller finds it too. */
int csk_slots_map(void **table, size_t size, bool wipes);

#endif
