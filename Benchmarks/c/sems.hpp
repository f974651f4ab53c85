// sems.hpp: every counting semaphore under one shape.
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include "csynckernel/csynckernel.h"

#ifdef HAVE_ABSL
#include <absl/synchronization/mutex.h>
#endif
#ifdef HAVE_NSYNC
#include <nsync.h>
#endif

struct Kernel {
    static constexpr auto name = "csk_sem";
    csk_sem_t sem;
    explicit Kernel(unsigned permits) { csk_sem_init(&sem, permits, 0); }
    void wait() { (void)!csk_sem_wait(&sem, 0, 1); }
    void signal() { csk_sem_signal(&sem, 1); }
};

struct Posix {
    static constexpr auto name = "sem_t";
    sem_t sem;
    explicit Posix(unsigned permits) { sem_init(&sem, 0, permits); }
    ~Posix() { sem_destroy(&sem); }
    void wait() {
        while (sem_wait(&sem) != 0) {}
    }
    void signal() { sem_post(&sem); }
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
    void signal() {
        nsync::nsync_mu_lock(&mutex);
        count++;
        nsync::nsync_cv_signal(&condition);
        nsync::nsync_mu_unlock(&mutex);
    }
};
#endif
