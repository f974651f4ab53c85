// locks_peers.h: locks of other libraries, each compiled in when the build found it.
#pragma once

#include <cstdint>

#include "bench_clock.h"

#ifdef HAVE_ABSL
#include <absl/synchronization/mutex.h>

class AbslLock {
public:
    static constexpr bool timed = false;
    void lock(int) ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex.Lock(); }
    void unlock() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex.Unlock(); }
    bool timed_lock(int64_t) { return false; }

private:
    absl::Mutex mutex;
};
#endif

#ifdef HAVE_NSYNC
#include <nsync.h>

class NsyncLock {
public:
    static constexpr bool timed = false;
    void lock(int) { nsync_mu_lock(&mutex); }
    void unlock() { nsync_mu_unlock(&mutex); }
    bool timed_lock(int64_t) { return false; }

private:
    nsync_mu mutex = NSYNC_MU_INIT;
};
#endif

#ifdef HAVE_CK
extern "C" {
#include <spinlock/fas.h> // the other spinlocks of the library are C only
}

// Fetch-and-store with exponential back-off. The ordered spinlocks of this library (ticket, MCS) need a processor for each
// thread: with more threads every hand-over waits for a time slice.
class CkLock {
public:
    static constexpr bool timed = false;
    void lock(int) { ck_spinlock_fas_lock_eb(&spinlock); }
    void unlock() { ck_spinlock_fas_unlock(&spinlock); }
    bool timed_lock(int64_t) { return false; }

private:
    ck_spinlock_fas_t spinlock = CK_SPINLOCK_FAS_INITIALIZER;
};
#endif

#ifdef HAVE_PARKING_LOT
extern "C" {
// A raw mutex of parking_lot is one byte, free when zero.
void bench_parking_lot_lock(uint8_t *mutex);
void bench_parking_lot_unlock(uint8_t *mutex);
bool bench_parking_lot_lock_for(uint8_t *mutex, uint64_t nanoseconds);
}

class ParkingLotLock {
public:
    static constexpr bool timed = true;
    void lock(int) { bench_parking_lot_lock(&mutex); }
    void unlock() { bench_parking_lot_unlock(&mutex); }
    bool timed_lock(int64_t deadline_ns) {
        const int64_t remaining = deadline_ns - bench_now_ns();
        return bench_parking_lot_lock_for(&mutex, remaining > 0 ? static_cast<uint64_t>(remaining) : 0);
    }

private:
    uint8_t mutex = 0;
};
#endif
