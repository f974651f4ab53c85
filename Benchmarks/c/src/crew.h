// crew.h: threads that begin together and stop together.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <semaphore.h>
#include <thread>
#include <vector>

#include "bench_clock.h"

class Crew {
public:
    std::atomic<bool> stop{false};

    // Runs body(index) on `threads` threads from one common start, raises `stop` after `duration_ns`, and joins them.
    // Gives the time from the start to the stop, in nanoseconds.
    template <class Body>
    int64_t run(unsigned threads, int64_t duration_ns, Body body) {
        std::vector<std::thread> members;
        for (unsigned index = 0; index < threads; index++) {
            members.emplace_back([this, index, &body] {
                ready.fetch_add(1, std::memory_order_acq_rel);
                while (!go.load(std::memory_order_acquire)) std::this_thread::yield();
                body(index);
            });
        }
        while (ready.load(std::memory_order_acquire) < threads) std::this_thread::yield();
        const int64_t begin = bench_now_ns();
        go.store(true, std::memory_order_release);
        sleep_until(begin + duration_ns);
        const int64_t end = bench_now_ns();
        stop.store(true, std::memory_order_release);
        for (auto &member : members) member.join();
        return end - begin;
    }

    bool stopped() const { return stop.load(std::memory_order_relaxed); }

    static void sleep_until(int64_t deadline_ns) {
        const timespec until{static_cast<time_t>(deadline_ns / 1000000000), static_cast<long>(deadline_ns % 1000000000)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
        }
    }

private:
    std::atomic<unsigned> ready{0};
    std::atomic<bool> go{false};
};

// A thread that only exists: glibc and others leave out atomics in a process that never had a second one.
class IdleThread {
public:
    IdleThread() {
        sem_init(&released, 0, 0);
        thread = std::thread([this] {
            while (sem_wait(&released) != 0) {
            }
        });
    }
    ~IdleThread() {
        sem_post(&released);
        thread.join();
        sem_destroy(&released);
    }

private:
    sem_t released;
    std::thread thread;
};
