// sembench: counting semaphores side by side in one run; see harness.hpp for how the rows are made.
//
//   sembench [--rounds N] [--millis N] [--tsv FILE] [--only TEXT]   the rows, or groups with TEXT in their names
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "harness.hpp"
#include "sems.hpp"
#include "team.hpp"

#define ALL Posix, Standard, PthreadCondition WITH_ABSL(Absl) WITH_NSYNC(Nsync) WITH_MOODYCAMEL(Moodycamel), Kernel

template <class Sem>
static void pairs(Sem &sem, long n) {
    for (long i = 0; i < n; i++) {
        sem.wait();
        sem.signal();
    }
}

template <class Sem>
static void uncontended(Table &table) {
    Sem sem(1);
    const int n = 400000;
    pairs(sem, 1000);
    int64_t begin = csk_now();
    pairs(sem, n);
    table.add(Sem::name, "ns", double(csk_now() - begin) / n);
}

// Two threads let each other go in turn, by a semaphore each.
template <class Sem>
static void ping_pong(Table &table) {
    struct alignas(128) {
        Sem sem{0};
    } there, back;
    std::atomic<bool> stop{false};
    std::thread other([&] {
        for (;;) {
            there.sem.wait();
            if (stop.load(std::memory_order_relaxed)) return;
            back.sem.signal();
        }
    });
    auto round_trip = [&] {
        there.sem.signal();
        back.sem.wait();
    };
    for (int i = 0; i < 100; i++) round_trip();
    long count = 0;
    int64_t begin = csk_now(), end = begin + window_ms * INT64_C(1000000), now;
    do {
        for (int i = 0; i < 16; i++) round_trip();
        count += 16;
    } while ((now = csk_now()) < end);
    stop = true;
    there.sem.signal();
    other.join();
    table.add(Sem::name, "ns", double(now - begin) / double(count));
}

// Each thread takes a permit, works, and gives it back.
template <class Sem>
static void throughput(Table &table, int threads, unsigned permits, double section_ns) {
    struct alignas(128) Holder {
        Sem sem;
        explicit Holder(unsigned permits) : sem(permits) {}
    } holder(permits);
    const long turns = long(section_ns / loop_ns);
    std::vector<Counter> counters(threads);
    auto body = [&](int t, std::atomic<bool> &stop) {
        long count = 0;
        for (; !stop.load(std::memory_order_relaxed); count++) {
            holder.sem.wait();
            busy(turns);
            holder.sem.signal();
            busy(turns);
        }
        counters[t].value = count;
    };
    double ns = together(threads, body, for_millis(window_ms));
    long total = 0;
    for (auto &counter : counters) total += counter.value;
    table.add(Sem::name, "Mops/s", double(total) * 1e3 / ns);
}

// Threads keep the permits busy, and one more comes every 200 us, at high priority where the semaphore knows any: how
// long it waits for its permit.
template <class Sem>
static void urgent_waits(Table &table, int others, unsigned permits, double section_ns) {
    struct alignas(128) Holder {
        Sem sem;
        explicit Holder(unsigned permits) : sem(permits) {}
    } holder(permits);
    const long turns = long(section_ns / loop_ns);
    auto body = [&](int, std::atomic<bool> &stop) {
        while (!stop.load(std::memory_order_relaxed)) {
            holder.sem.wait();
            busy(turns);
            holder.sem.signal();
            busy(turns);
        }
    };
    Histogram samples;
    together(others, body, [&] {
        int64_t end = csk_now() + window_ms * INT64_C(5000000);
        while (csk_now() < end) {
            std::this_thread::sleep_for(std::chrono::microseconds(200));
            int64_t begin = csk_now();
            holder.sem.wait_urgently();
            samples.record(uint64_t(csk_now() - begin));
            busy(turns);
            holder.sem.signal();
        }
    });
    table.pools[Sem::name].push_back(samples);
}

int main(int argc, char **argv) {
    prepare_for_locks();
    take_options(argc, argv, "sembench [--rounds N] [--millis N] [--tsv FILE] [--only TEXT]");
    calibrate();
    measure_if_named<ALL>("semaphore, uncontended wait and signal", "ns",
                          [&]<class Sem>(Table &t) { uncontended<Sem>(t); });
    measure_if_named<ALL>("semaphore, round trip of two threads", "ns",
                          [&]<class Sem>(Table &t) { ping_pong<Sem>(t); });
    for (int threads : {2, 8})
        measure_if_named<ALL>("semaphore of one, " + std::to_string(threads) + " threads, 100 ns sections", "Mops/s",
                              [&]<class Sem>(Table &t) { throughput<Sem>(t, threads, 1, 100); });
    measure_if_named<ALL>("semaphore of two, 8 threads, 1 us sections", "Mops/s",
                          [&]<class Sem>(Table &t) { throughput<Sem>(t, 8, 2, 1000); });
    measure_if_named<ALL>("semaphore of two, urgent thread among 8, 10 us sections, its waits", "",
                          [&]<class Sem>(Table &t) { urgent_waits<Sem>(t, 8, 2, 10000); });
    return 0;
}
