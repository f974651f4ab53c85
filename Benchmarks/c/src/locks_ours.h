// locks_ours.h: the kernel's gate under two policies, and its mutex.
#pragma once

#include "csynckernel/gate.h"
#include "csynckernel/mutex.h"

template <uint32_t policy>
class GateLock {
public:
    static constexpr bool timed = true;

    GateLock() {
        csk_gate_attr_t attributes = {};
        attributes.policy = policy;
        csk_gate_init(&gate, &attributes);
    }
    ~GateLock() { csk_gate_destroy(&gate); }
    GateLock(const GateLock &) = delete;

    void lock(int priority) { csk_gate_lock(&gate, priority); }
    void unlock() { csk_gate_unlock(&gate); }
    bool timed_lock(int64_t deadline_ns) { return csk_gate_timedlock(&gate, 0, deadline_ns) == 0; }

private:
    csk_gate_t gate = CSK_GATE_INITIALIZER;
};

class KernelMutex {
public:
    static constexpr bool timed = true;

    KernelMutex() = default;
    ~KernelMutex() { csk_mutex_destroy(&mutex); }
    KernelMutex(const KernelMutex &) = delete;

    void lock(int) { csk_mutex_lock(&mutex); }
    void unlock() { csk_mutex_unlock(&mutex); }
    bool timed_lock(int64_t deadline_ns) { return csk_mutex_timedlock(&mutex, deadline_ns) == 0; }

private:
    csk_mutex_t mutex = CSK_MUTEX_INITIALIZER;
};
