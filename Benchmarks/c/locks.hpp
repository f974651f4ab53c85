// locks.hpp: every lock under one shape: lock(), unlock(), and where it has one a timed lock and a high-priority lock.
#pragma once

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "csynckernel/csynckernel.h"
#include "peers.hpp"

#ifdef HAVE_CK
extern "C" {
#include <spinlock/fas.h> // the others of this library are C only
}
#endif

template <int Kind, int Protocol>
struct PthreadMutex {
    pthread_mutex_t mutex;
    PthreadMutex() {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_settype(&attributes, Kind);
        pthread_mutexattr_setprotocol(&attributes, Protocol);
        pthread_mutex_init(&mutex, &attributes);
    }
    void lock() { pthread_mutex_lock(&mutex); }
    void lock_urgent() { lock(); }
    void unlock() { pthread_mutex_unlock(&mutex); }
    bool lock_until(int64_t deadline_ns) {
        timespec deadline{deadline_ns / 1000000000, deadline_ns % 1000000000};
        return pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &deadline) == 0;
    }
};
struct Pthread : PthreadMutex<PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE> {
    static constexpr auto name = "pthread_mutex";
};
struct PthreadAdaptive : PthreadMutex<PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PRIO_NONE> {
    static constexpr auto name = "pthread adaptive";
};
struct PthreadInherit : PthreadMutex<PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT> {
    static constexpr auto name = "pthread PI";
    bool lock_until(int64_t) = delete;
};

static inline void pause_once() {
#ifdef __x86_64__
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
}

// Mutex as Swift has it on Linux after 6.3 (swiftlang/swift, pull request 88523), written anew: a futex of three
// states. A thread looks up to 20 times, 64 pauses and a few more apart. It does not if four are there already and the
// word says that some are parked.
struct SwiftMutex {
    static constexpr auto name = "Swift 6.4's Mutex";
    enum : uint32_t { FREE, HELD, CONTENDED };
    std::atomic<uint32_t> word{FREE}, depth{0};
    void lock() {
        uint32_t found = FREE;
        if (!word.compare_exchange_strong(found, HELD, std::memory_order_acquire)) lock_slowly();
    }
    void lock_urgent() { lock(); }
    void unlock() {
        if (word.exchange(FREE, std::memory_order_release) == CONTENDED)
            syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
    __attribute__((noinline)) void lock_slowly() {
        bool crowded = depth.fetch_add(1, std::memory_order_relaxed) >= 4 && word == CONTENDED;
        if (crowded || !spin())
            while (word.exchange(CONTENDED, std::memory_order_acquire) != FREE)
                syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, CONTENDED, nullptr, nullptr, 0);
        depth.fetch_sub(1, std::memory_order_relaxed);
    }
    bool spin() {
        for (int64_t look = 0, jitter = csk_now(); look < 20; look++) {
            for (int64_t pause = 64 + (jitter >> look) % 32; pause > 0; pause--) pause_once();
            uint32_t found = FREE;
            if (word.load(std::memory_order_relaxed) == FREE &&
                word.compare_exchange_strong(found, HELD, std::memory_order_acquire))
                return true;
        }
        return false;
    }
};

template <uint32_t Policy>
struct Gate {
    csk_gate_t gate;
    Gate() {
        csk_gate_attr_t attributes{0, Policy, 0, 0};
        csk_gate_init(&gate, &attributes);
    }
    // Where it is taken at once the status is known when it is compiled.
    void lock() {
        if (csk_gate_lock(&gate, 0) != 0) std::abort();
    }
    void lock_urgent() {
        if (csk_gate_lock(&gate, 1) != 0) std::abort();
    }
    // Below the others, as a priority that nobody named.
    void lock_unnamed() {
        if (csk_gate_lock_ranked(&gate, csk_rank(-1, CSK_PLACE_UNNAMED), CSK_NEVER) != 0) std::abort();
    }
    void unlock() { csk_gate_unlock(&gate); }
    bool lock_until(int64_t deadline_ns) { return csk_gate_timedlock(&gate, 0, deadline_ns) == 0; }
};
struct GateFast : Gate<CSK_GATE_FAST> {
    static constexpr auto name = "csk_gate FAST";
};
struct GateCompact : Gate<CSK_GATE_COMPACT> {
    static constexpr auto name = "csk_gate COMPACT";
};
struct GateStrict : Gate<CSK_GATE_STRICT> {
    static constexpr auto name = "csk_gate STRICT";
};
struct KernelMutex {
    static constexpr auto name = "csk_mutex";
    csk_mutex_t mutex = CSK_MUTEX_INITIALIZER;
    void lock() { csk_mutex_lock(&mutex); }
    void lock_urgent() { lock(); }
    void unlock() { csk_mutex_unlock(&mutex); }
    bool lock_until(int64_t deadline_ns) { return csk_mutex_timedlock(&mutex, deadline_ns) == 0; }
};

#ifdef HAVE_ABSL
struct Absl {
    static constexpr auto name = "absl::Mutex";
    absl::Mutex mutex;
    void lock() { mutex.Lock(); }
    void lock_urgent() { lock(); }
    void unlock() { mutex.Unlock(); }
};
#endif
#ifdef HAVE_NSYNC
struct Nsync {
    static constexpr auto name = "nsync_mu";
    nsync::nsync_mu mutex = NSYNC_MU_INIT;
    void lock() { nsync::nsync_mu_lock(&mutex); }
    void lock_urgent() { lock(); }
    void unlock() { nsync::nsync_mu_unlock(&mutex); }
};
#endif
#ifdef HAVE_CK
// A spinlock: it shows what not parking costs once threads outnumber processors.
struct CkSpin {
    static constexpr auto name = "ck_spinlock_fas";
    ck_spinlock_fas_t spin = CK_SPINLOCK_FAS_INITIALIZER;
    void lock() { ck_spinlock_fas_lock(&spin); }
    void lock_urgent() { lock(); }
    void unlock() { ck_spinlock_fas_unlock(&spin); }
};
#endif
#ifdef HAVE_PARKING_LOT
// parking_lot's raw mutex is one byte, free when zero.
extern "C" {
void bench_parking_lot_lock(uint8_t *mutex);
void bench_parking_lot_unlock(uint8_t *mutex);
bool bench_parking_lot_lock_for(uint8_t *mutex, uint64_t nanoseconds);
}
struct ParkingLot {
    static constexpr auto name = "parking_lot";
    uint8_t mutex = 0;
    void lock() { bench_parking_lot_lock(&mutex); }
    void lock_urgent() { lock(); }
    void unlock() { bench_parking_lot_unlock(&mutex); }
    bool lock_until(int64_t deadline_ns) {
        return bench_parking_lot_lock_for(&mutex, uint64_t(deadline_ns - csk_now()));
    }
};
#endif
