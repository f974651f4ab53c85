/* slots.c: see slots.h. */
#include "observe/slots.h"

#include <sys/mman.h>

enum { PROBES = 64 };

uint32_t csk_slot_claim(void *entries, size_t size, uint32_t count, uint64_t hash, bool *is_new) {
    if (hash == 0) hash = 1;
    for (uint32_t probe = 0; probe < PROBES; probe++) {
        uint32_t number = (uint32_t)(hash + probe) % count;
        csk_slot_t *slot = (csk_slot_t *)((char *)entries + number * size);
        uint64_t found = csk_load(&slot->hash, CSK_RELAXED);
        *is_new = found == 0 && csk_cas(&slot->hash, &found, hash, CSK_RELAXED);
        if (*is_new || found == hash) return number + 1;
    }
    *is_new = false;
    return 0;
}

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

int csk_slots_map(void **table, size_t size, bool wipes) {
    void *known = csk_slots_table(table);
    if (known != NULL) return 0;
    int saved = errno;
    void *made = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool failed = made == MAP_FAILED;
    if (!failed && wipes) madvise(made, size, MADV_WIPEONFORK); /* older systems refuse that: see metrics.h */
    errno = saved;
    if (failed) return ENOMEM;
    if (csk_cas(table, &known, made, CSK_RELEASE)) return 0;
    munmap(made, size);
    (void)csk_slots_table(table);
    return 0;
}
