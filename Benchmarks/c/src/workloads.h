// workloads.h: what is done with a lock to measure it. Templates, so that a lock's own inline code is inlined, as in a user's
// program, and no indirect call is timed.
#pragma once

#include <cstdlib>
#include <cstdio>

#include "crew.h"
#include "histogram.h"

// Steps of bench_spin for the work inside and outside the section.
struct Work {
    uint64_t inside;
    uint64_t outside;
};

// The lock and what it protects, from the start of a cache line.
template <class Lock>
struct alignas(64) Protected {
    Lock lock;
    uint64_t counter = 0;

    // One more section of thread `priority`; the counter is what shows a lock that does not exclude.
    void section(int priority, uint64_t steps) {
        lock.lock(priority);
        counter++;
        bench_spin(steps);
        lock.unlock();
    }

    void expect(uint64_t sections) const {
        if (counter == sections) return;
        std::fprintf(stderr, "lockbench: %llu sections changed the counter by %llu: the lock does not exclude\n",
                     static_cast<unsigned long long>(sections), static_cast<unsigned long long>(counter));
        std::exit(1);
    }
};

// Lock and unlock in a row, `pairs` times.
template <class Lock>
__attribute__((noinline)) void single_operations(Lock &lock, uint64_t pairs) {
    for (uint64_t pair = 0; pair < pairs; pair++) {
        lock.lock(0);
        __asm__ volatile("" ::: "memory");
        lock.unlock();
    }
}

// Nanoseconds per pair.
template <class Lock>
double uncontended(uint64_t pairs) {
    IdleThread second;
    Protected<Lock> target;
    single_operations(target.lock, 1000);
    const int64_t begin = bench_now_ns();
    single_operations(target.lock, pairs);
    return static_cast<double>(bench_now_ns() - begin) / static_cast<double>(pairs);
}

// Sections per microsecond of all threads together: Mops/s.
template <class Lock>
double throughput(unsigned threads, Work work, int64_t duration_ns) {
    Protected<Lock> target;
    Crew crew;
    std::atomic<uint64_t> sections{0};
    const int64_t took = crew.run(threads, duration_ns, [&](unsigned) {
        uint64_t mine = 0;
        for (; !crew.stopped(); mine++) {
            target.section(0, work.inside);
            bench_spin(work.outside);
        }
        sections += mine;
    });
    target.expect(sections);
    return static_cast<double>(sections) * 1000 / static_cast<double>(took);
}

// How long each of the threads waited to enter.
template <class Lock>
Histogram waits(unsigned threads, Work work, int64_t duration_ns, int64_t clock_ns) {
    Protected<Lock> target;
    Crew crew;
    std::vector<Histogram> found(threads);
    crew.run(threads, duration_ns, [&](unsigned index) {
        Histogram mine;
        while (!crew.stopped()) {
            const int64_t begin = bench_now_ns();
            target.lock.lock(0);
            const int64_t waited = bench_now_ns() - begin - clock_ns;
            bench_spin(work.inside);
            target.lock.unlock();
            mine.record(waited);
            bench_spin(work.outside);
        }
        found[index] = mine;
    });
    for (unsigned index = 1; index < threads; index++) found[0].merge(found[index]);
    return found[0];
}

// How long one thread of high priority waited that comes every 150 to 250 us among `threads` of low priority.
template <class Lock>
Histogram priority_waits(unsigned threads, Work low, int64_t duration_ns, int64_t clock_ns) {
    Protected<Lock> target;
    Crew crew;
    Histogram found;
    crew.run(threads + 1, duration_ns, [&](unsigned index) {
        if (index > 0) {
            while (!crew.stopped()) {
                target.section(-10, low.inside);
                bench_spin(low.outside);
            }
            return;
        }
        // Pauses of changing length, so that the arrivals don't fall into step with the sections.
        uint64_t random = 1;
        while (!crew.stopped()) {
            random = random * UINT64_C(6364136223846793005) + 1;
            Crew::sleep_until(bench_now_ns() + 150000 + static_cast<int64_t>((random >> 33) % 100000));
            const int64_t begin = bench_now_ns();
            target.lock.lock(10);
            const int64_t waited = bench_now_ns() - begin - clock_ns;
            target.lock.unlock();
            found.record(waited);
        }
    });
    return found;
}

// By how many nanoseconds timed locks of `span_ns` on a lock that another thread holds gave up after their deadline;
// negative: before it.
template <class Lock>
std::vector<int64_t> lateness(int64_t span_ns, unsigned attempts) {
    std::vector<int64_t> found;
    Lock lock;
    lock.lock(0);
    std::thread waiter([&] {
        for (unsigned attempt = 0; attempt < attempts; attempt++) {
            const int64_t deadline_ns = bench_now_ns() + span_ns;
            const bool entered = lock.timed_lock(deadline_ns);
            found.push_back(bench_now_ns() - deadline_ns);
            if (!entered) continue;
            std::fputs("lockbench: a timed lock entered a lock that was held\n", stderr);
            std::exit(1);
        }
    });
    waiter.join();
    lock.unlock();
    return found;
}
