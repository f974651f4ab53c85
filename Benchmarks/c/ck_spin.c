/* ck's headers are C only. */
#include "ck_spin.h"

#include <ck_spinlock.h>

_Static_assert(sizeof(ck_spinlock_fas_t) <= sizeof(struct ck_spin), "room for the spinlock");

void ck_spin_init(struct ck_spin *spin) { ck_spinlock_fas_init((ck_spinlock_fas_t *)spin); }
void ck_spin_lock(struct ck_spin *spin) { ck_spinlock_fas_lock((ck_spinlock_fas_t *)spin); }
void ck_spin_unlock(struct ck_spin *spin) { ck_spinlock_fas_unlock((ck_spinlock_fas_t *)spin); }
