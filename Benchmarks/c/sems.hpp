// sems.hpp: every counting semaphore under one shape. Only one of them knows priorities; at the others an urgent wait
// is like any other.
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <chrono>
#include <semaphore>

#include "csynckernel/csynckernel.h"
#include "peers.hpp"

#ifdef HAVE_MOODYCAMEL
// Of the two the second needs the first.
// clang-format off
#include <concurrentqueue/concurrentqueue.h>
#include <concurrentqueue/lightweightsemaphore.h>
// clang-format on
#endif

struct Kernel {
    static constexpr auto name = "csk_sem";
    csk_sem_t sem;
    explicit Kernel(unsigned permits) { csk_sem_init(&sem, permits, 0); }
    void wait() { (void)!csk_sem_wait(&sem, 0, 1); }
    void wait_urgently() { (void)!csk_sem_wait(&sem, 10, 1); }
    void signal() { csk_sem_post(&sem, 1); }
};

struct Posix {
    static constexpr auto name = "sem_t";
    sem_t sem;
    explicit Posix(unsigned permits) { sem_init(&sem, 0, permits); }
    ~Posix() { sem_destroy(&sem); }
    void wait() {
        while (sem_wait(&sem) != 0) {}
    }
    void wait_urgently() { wait(); }
    void signal() { sem_post(&sem); }
};

// libstdc++ spins and yields first, and then waits at a futex.
struct Standard {
    static constexpr auto name = "std::counting_semaphore";
    std::counting_semaphore<> sem;
    explicit Standard(unsigned permits) : sem(permits) {}
    /* `acquire` of libstdc++ 12 can lose a wake, and then sleeps for ever. This looks again. */
    void wait() {
        while (!sem.try_acquire_for(std::chrono::milliseconds(100))) {}
    }
    void wait_urgently() { wait(); }
    void signal() { sem.release(); }
};

struct PthreadCondition {
    static constexpr auto name = "pthread_cond";
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    unsigned count;
    explicit PthreadCondition(unsigned permits) : count(permits) {}
    void wait() {
        pthread_mutex_lock(&mutex);
        while (count == 0) pthread_cond_wait(&condition, &mutex);
        count--;
        pthread_mutex_unlock(&mutex);
    }
    void wait_urgently() { wait(); }
    void signal() {
        pthread_mutex_lock(&mutex);
        count++;
        pthread_mutex_unlock(&mutex);
        pthread_cond_signal(&condition);
    }
};

#ifdef HAVE_ABSL
struct Absl {
    static constexpr auto name = "absl::Mutex";
    absl::Mutex mutex;
    unsigned count;
    explicit Absl(unsigned permits) : count(permits) {}
    static bool has_one(unsigned *count) { return *count != 0; }
    void wait() {
        mutex.LockWhen(absl::Condition(has_one, &count));
        count--;
        mutex.Unlock();
    }
    void wait_urgently() { wait(); }
    void signal() {
        mutex.Lock();
        count++;
        mutex.Unlock();
    }
};
#endif
#ifdef HAVE_NSYNC
struct Nsync {
    static constexpr auto name = "nsync_cv";
    nsync::nsync_mu mutex = NSYNC_MU_INIT;
    nsync::nsync_cv condition = NSYNC_CV_INIT;
    unsigned count;
    explicit Nsync(unsigned permits) : count(permits) {}
    void wait() {
        nsync::nsync_mu_lock(&mutex);
        while (count == 0) nsync::nsync_cv_wait(&condition, &mutex);
        count--;
        nsync::nsync_mu_unlock(&mutex);
    }
    void wait_urgently() { wait(); }
    void signal() {
        nsync::nsync_mu_lock(&mutex);
        count++;
        nsync::nsync_cv_signal(&condition);
        nsync::nsync_mu_unlock(&mutex);
    }
};
#endif
#ifdef HAVE_MOODYCAMEL
// Spins for up to 10 000 turns before it waits.
struct Moodycamel {
    static constexpr auto name = "moodycamel";
    moodycamel::LightweightSemaphore sem;
    explicit Moodycamel(unsigned permits) : sem(permits) {}
    void wait() { sem.wait(); }
    void wait_urgently() { wait(); }
    void signal() { sem.signal(); }
};
#endif
