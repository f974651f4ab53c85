/* ck_pflock.c: the phase-fair lock of ck, which is C only; one call each, as the other libraries' locks have. */
#include <ck_pflock.h>

void bench_ck_pflock_rdlock(ck_pflock_t *lock) { ck_pflock_read_lock(lock); }
void bench_ck_pflock_rdunlock(ck_pflock_t *lock) { ck_pflock_read_unlock(lock); }
void bench_ck_pflock_wrlock(ck_pflock_t *lock) { ck_pflock_write_lock(lock); }
void bench_ck_pflock_wrunlock(ck_pflock_t *lock) { ck_pflock_write_unlock(lock); }
