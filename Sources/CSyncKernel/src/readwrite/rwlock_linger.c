#include "readwrite/rwlock_linger.h"

enum { PLACES = 16, SOON = 1, LOOKS = 3 }; /* SOON is a bit of LOOKS */
/* About what it takes to call a worker, which the one that calls spends, too. */
static const int64_t look_ns = 6000;
/* How long a granter waits for a worker that will look soon. */
static const int64_t soon_ns = 500;

static struct place { uint64_t word; } __attribute__((aligned(128))) places[PLACES];

static uint64_t *place_of(const csk_rwlock_t *lock) { return &places[(uintptr_t)lock / 64 % PLACES].word; }

/* Bits of an address that don't fit are lost, and then a worker is taken for one of another lock. It is as good. */
static uint64_t named(const csk_rwlock_t *lock, uint64_t what) {
    return (uint64_t)(uintptr_t)lock << 16 | (uint64_t)(csk_process_epoch() & 0x3FFF) << 2 | what;
}

void csk_linger_begin(csk_linger_t *self, const csk_rwlock_t *lock) {
    if (self->place != NULL || !csk_spin_pays(&self->habit)) return;
    uint64_t *place = place_of(lock), nobody = 0;
    if (csk_cas(place, &nobody, named(lock, SOON), CSK_RELAXED)) self->place = place;
}

void csk_linger_end(csk_linger_t *self) {
    if (self->place != NULL) csk_store(self->place, UINT64_C(0), CSK_RELAXED);
    self->place = NULL;
}

csk_rwlock_work_t *csk_linger_look(csk_linger_t *self) {
    uint64_t *place = self->place;
    if (place == NULL) return NULL;
    uint64_t looks = csk_load(place, CSK_RELAXED) | LOOKS;
    csk_store(place, looks, CSK_RELAXED);
    csk_spin_t spin = csk_spin_begin(look_ns);
    while (csk_load(place, CSK_RELAXED) == looks && csk_spin_lasts(&spin) && csk_pool_queued() == 0) csk_spin_pause(4);
    uint64_t found = csk_exchange(place, UINT64_C(0), CSK_ACQUIRE);
    self->place = NULL;
    csk_spin_learn(&self->habit, found != looks);
    return found != looks ? (csk_rwlock_work_t *)(uintptr_t)found : NULL;
}

bool csk_linger_hand(csk_rwlock_work_t *work) {
    const csk_rwlock_t *lock = work->waiter.rwlock;
    uint64_t *place = place_of(lock), soon = named(lock, SOON), looks = named(lock, LOOKS);
    if (csk_load(place, CSK_RELAXED) == soon) {
        csk_spin_t spin = csk_spin_begin(soon_ns);
        while (csk_load(place, CSK_RELAXED) == soon && csk_spin_lasts(&spin)) csk_spin_pause(4);
    }
    return csk_load(place, CSK_RELAXED) == looks && csk_cas(place, &looks, (uint64_t)(uintptr_t)work, CSK_RELEASE);
}
