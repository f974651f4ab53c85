// rwlocks.hpp: every read-write lock under one shape.
#pragma once

#include <pthread.h>

#include "csynckernel/csynckernel.h"
#include "peers.hpp"

template <uint32_t Policy, uint32_t Bias>
struct Kernel {
    csk_rwlock_t lock;
    Kernel() {
        csk_rwlock_attr_t attributes{0, Policy, Bias};
        csk_rwlock_init(&lock, &attributes);
    }
    void rdlock() { (void)!csk_rwlock_rdlock(&lock); }
    void rdunlock() { csk_rwlock_unlock(&lock); }
    void wrlock() { (void)!csk_rwlock_wrlock(&lock); }
    void wrunlock() { csk_rwlock_unlock(&lock); }
};
struct Fast : Kernel<CSK_RWLOCK_FAST, 0> {
    static constexpr auto name = "csk_rwlock FAST";
};
struct Strict : Kernel<CSK_RWLOCK_STRICT, 0> {
    static constexpr auto name = "csk_rwlock STRICT";
};
struct Biased : Kernel<CSK_RWLOCK_FAST, 1> {
    static constexpr auto name = "csk_rwlock biased";
};

struct Pthread {
    static constexpr auto name = "pthread_rwlock";
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    void rdlock() { pthread_rwlock_rdlock(&lock); }
    void rdunlock() { pthread_rwlock_unlock(&lock); }
    void wrlock() { pthread_rwlock_wrlock(&lock); }
    void wrunlock() { pthread_rwlock_unlock(&lock); }
};

// The form in which no reader passes a writer that waits, and a reader can't read once more.
struct PthreadWriters : Pthread {
    static constexpr auto name = "pthread, writers";
    PthreadWriters() {
        pthread_rwlockattr_t attributes;
        pthread_rwlockattr_init(&attributes);
        pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
        pthread_rwlock_init(&lock, &attributes);
        pthread_rwlockattr_destroy(&attributes);
    }
};

#ifdef HAVE_CK
// Spins, like ck_spinlock: it shows what not parking brings, and costs.
extern "C" {
struct bench_ck_pflock {
    uint32_t words[4];
};
void bench_ck_pflock_rdlock(bench_ck_pflock *lock);
void bench_ck_pflock_rdunlock(bench_ck_pflock *lock);
void bench_ck_pflock_wrlock(bench_ck_pflock *lock);
void bench_ck_pflock_wrunlock(bench_ck_pflock *lock);
}
struct CkPhaseFair {
    static constexpr auto name = "ck_pflock";
    bench_ck_pflock lock{};
    void rdlock() { bench_ck_pflock_rdlock(&lock); }
    void rdunlock() { bench_ck_pflock_rdunlock(&lock); }
    void wrlock() { bench_ck_pflock_wrlock(&lock); }
    void wrunlock() { bench_ck_pflock_wrunlock(&lock); }
};
#endif
#ifdef HAVE_ABSL
struct Absl {
    static constexpr auto name = "absl::Mutex";
    absl::Mutex lock;
    void rdlock() { lock.ReaderLock(); }
    void rdunlock() { lock.ReaderUnlock(); }
    void wrlock() { lock.Lock(); }
    void wrunlock() { lock.Unlock(); }
};
#endif
#ifdef HAVE_NSYNC
struct Nsync {
    static constexpr auto name = "nsync_mu";
    nsync::nsync_mu lock = NSYNC_MU_INIT;
    void rdlock() { nsync::nsync_mu_rlock(&lock); }
    void rdunlock() { nsync::nsync_mu_runlock(&lock); }
    void wrlock() { nsync::nsync_mu_lock(&lock); }
    void wrunlock() { nsync::nsync_mu_unlock(&lock); }
};
#endif
#ifdef HAVE_PARKING_LOT
extern "C" {
void bench_parking_lot_rdlock(uintptr_t *lock);
void bench_parking_lot_rdunlock(uintptr_t *lock);
void bench_parking_lot_wrlock(uintptr_t *lock);
void bench_parking_lot_wrunlock(uintptr_t *lock);
}
struct ParkingLot {
    static constexpr auto name = "parking_lot";
    uintptr_t lock = 0;
    void rdlock() { bench_parking_lot_rdlock(&lock); }
    void rdunlock() { bench_parking_lot_rdunlock(&lock); }
    void wrlock() { bench_parking_lot_wrlock(&lock); }
    void wrunlock() { bench_parking_lot_wrunlock(&lock); }
};
#endif
