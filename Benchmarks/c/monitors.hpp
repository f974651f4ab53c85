// monitors.hpp: a lock with what one waits at it for, every library's under one shape. `enter` takes the lock once
// `holds(state)` is true; `leave` gives it back, and says which condition may have become true by that. Those of
// condition variables have one for each condition, and signal while they hold the lock, which suits all of them better;
// those that know predicates take no notice of which it is.
#pragma once

#include <pthread.h>

#include "csynckernel/csynckernel.h"
#include "peers.hpp"

constexpr int most_conditions = 8;

struct KernelPredicates {
    static constexpr auto name = "csk_gate_lock_when";
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    template <auto holds, class State>
    void enter(int, State *state) {
        auto predicate = [](void *context) { return holds(static_cast<State *>(context)); };
        (void)!csk_gate_lock_when(&gate, 0, predicate, state, CSK_NEVER);
    }
    void leave(int) { csk_gate_unlock(&gate); }
    void leave_to_all() { csk_gate_unlock(&gate); }
    void lock() { (void)csk_gate_lock(&gate, 0); }
};

struct KernelConditions {
    static constexpr auto name = "csk_cond";
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    csk_cond_t conditions[most_conditions];
    KernelConditions() {
        for (auto &condition : conditions) csk_cond_init(&condition, &gate);
    }
    template <auto holds, class State>
    void enter(int which, State *state) {
        lock();
        while (!holds(state)) csk_cond_wait(&conditions[which], 0);
    }
    void leave(int which) {
        csk_cond_signal(&conditions[which]);
        csk_gate_unlock(&gate);
    }
    void leave_to_all() {
        for (auto &condition : conditions) csk_cond_broadcast(&condition);
        csk_gate_unlock(&gate);
    }
    void lock() { (void)csk_gate_lock(&gate, 0); }
};

struct PthreadConditions {
    static constexpr auto name = "pthread_cond";
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t conditions[most_conditions];
    PthreadConditions() {
        for (auto &condition : conditions) pthread_cond_init(&condition, nullptr);
    }
    template <auto holds, class State>
    void enter(int which, State *state) {
        lock();
        while (!holds(state)) pthread_cond_wait(&conditions[which], &mutex);
    }
    void leave(int which) {
        pthread_cond_signal(&conditions[which]);
        pthread_mutex_unlock(&mutex);
    }
    void leave_to_all() {
        for (auto &condition : conditions) pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(&mutex);
    }
    void lock() { pthread_mutex_lock(&mutex); }
};

#ifdef HAVE_ABSL
struct AbslPredicates {
    static constexpr auto name = "absl::Mutex LockWhen";
    absl::Mutex mutex;
    template <auto holds, class State>
    void enter(int, State *state) {
        mutex.LockWhen(absl::Condition(holds, state));
    }
    void leave(int) { mutex.Unlock(); }
    void leave_to_all() { mutex.Unlock(); }
    void lock() { mutex.Lock(); }
};

struct AbslConditions {
    static constexpr auto name = "absl::CondVar";
    absl::Mutex mutex;
    absl::CondVar conditions[most_conditions];
    template <auto holds, class State>
    void enter(int which, State *state) {
        lock();
        while (!holds(state)) conditions[which].Wait(&mutex);
    }
    void leave(int which) {
        conditions[which].Signal();
        mutex.Unlock();
    }
    void leave_to_all() {
        for (auto &condition : conditions) condition.SignalAll();
        mutex.Unlock();
    }
    void lock() { mutex.Lock(); }
};
#endif
