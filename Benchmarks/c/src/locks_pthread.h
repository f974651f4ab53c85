// locks_pthread.h: the mutexes of the C library. Every lock here and in its sister files has the same four members; those that
// know no priorities ignore them, and `timed` says whether timed_lock exists.
#pragma once

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <pthread.h>

inline timespec to_timespec(int64_t deadline_ns) {
    return {static_cast<time_t>(deadline_ns / 1000000000), static_cast<long>(deadline_ns % 1000000000)};
}

// `type` and `protocol` as pthread_mutexattr_ takes them.
template <int type, int protocol>
class PthreadLock {
public:
    static constexpr bool timed = protocol == PTHREAD_PRIO_NONE;

    PthreadLock() {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_settype(&attributes, type);
        pthread_mutexattr_setprotocol(&attributes, protocol);
        pthread_mutex_init(&mutex, &attributes);
        pthread_mutexattr_destroy(&attributes);
    }
    ~PthreadLock() { pthread_mutex_destroy(&mutex); }
    PthreadLock(const PthreadLock &) = delete;

    void lock(int) { pthread_mutex_lock(&mutex); }
    void unlock() { pthread_mutex_unlock(&mutex); }
    bool timed_lock(int64_t deadline_ns) {
        const timespec until = to_timespec(deadline_ns);
        return pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &until) == 0;
    }

private:
    pthread_mutex_t mutex;
};

using PthreadPlain = PthreadLock<PTHREAD_MUTEX_DEFAULT, PTHREAD_PRIO_NONE>;
using PthreadAdaptive = PthreadLock<PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PRIO_NONE>;
using PthreadInherit = PthreadLock<PTHREAD_MUTEX_DEFAULT, PTHREAD_PRIO_INHERIT>;
