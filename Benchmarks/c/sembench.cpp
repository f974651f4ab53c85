// sembench: counting semaphores side by side in one run; see harness.hpp for how the rows are made.
//
//   sembench [--rounds N] [--millis N] [--tsv FILE] [--only TEXT]   the rows, or groups with TEXT in their names
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <unistd.h>

#include "harness.hpp"
#include "sems.hpp"

#ifdef HAVE_ABSL
#define ABSL_ONE , Absl
#else
#define ABSL_ONE
#endif
#ifdef HAVE_NSYNC
#define NSYNC_ONE , Nsync
#else
#define NSYNC_ONE
#endif
#ifdef HAVE_MOODYCAMEL
#define MOODYCAMEL_ONE , Moodycamel
#else
#define MOODYCAMEL_ONE
#endif
#define ALL Posix, Standard, PthreadCondition ABSL_ONE NSYNC_ONE MOODYCAMEL_ONE, Kernel

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
    std::atomic<int> arrived{0};
    std::atomic<bool> go{false}, stop{false};
    std::vector<Counter> counters(threads);
    std::vector<std::thread> team;
    for (int t = 0; t < threads; t++)
        team.emplace_back([&, t] {
            arrived++;
            while (!go) std::this_thread::yield();
            long count = 0;
            for (; !stop.load(std::memory_order_relaxed); count++) {
                holder.sem.wait();
                busy(turns);
                holder.sem.signal();
                busy(turns);
            }
            counters[t].value = count;
        });
    while (arrived < threads) std::this_thread::yield();
    int64_t begin = csk_now();
    go = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(window_ms));
    stop = true;
    double ns = double(csk_now() - begin);
    for (auto &thread : team) thread.join();
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
    std::atomic<int> arrived{0};
    std::atomic<bool> stop{false};
    std::vector<std::thread> team;
    for (int t = 0; t < others; t++)
        team.emplace_back([&] {
            arrived++;
            while (!stop.load(std::memory_order_relaxed)) {
                holder.sem.wait();
                busy(turns);
                holder.sem.signal();
                busy(turns);
            }
        });
    while (arrived < others) std::this_thread::yield();
    Histogram samples;
    int64_t end = csk_now() + window_ms * INT64_C(5000000);
    while (csk_now() < end) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        int64_t begin = csk_now();
        holder.sem.wait_urgently();
        samples.record(uint64_t(csk_now() - begin));
        busy(turns);
        holder.sem.signal();
    }
    stop = true;
    for (auto &thread : team) thread.join();
    table.pools[Sem::name].push_back(samples);
}

int main(int argc, char **argv) {
#ifdef HAVE_ABSL
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
    std::vector<std::string> only;
    tsv = fopen("/dev/null", "w");
    // glibc drops its atomics before the first thread exists.
    std::thread([] {
        for (;;) pause();
    }).detach();
    for (int i = 1; i < argc; i++) {
        if (take_option(argc, argv, i, only)) continue;
        fprintf(stderr, "usage: sembench [--rounds N] [--millis N] [--tsv FILE] [--only TEXT]\n");
        return 2;
    }
    calibrate();
    auto group = [&](const std::string &name, const char *ratio, auto &&body) {
        if (is_named(name, only)) run(name, ratio, [&](Table &t) { each_round<ALL>(t, [&](auto *l) { body(t, l); }); });
    };
    group("semaphore, uncontended wait and signal", "ns",
          [&](Table &t, auto *s) { uncontended<std::remove_pointer_t<decltype(s)>>(t); });
    group("semaphore, round trip of two threads", "ns",
          [&](Table &t, auto *s) { ping_pong<std::remove_pointer_t<decltype(s)>>(t); });
    for (int threads : {2, 8})
        group("semaphore of one, " + std::to_string(threads) + " threads, 100 ns sections", "Mops/s",
              [&](Table &t, auto *s) { throughput<std::remove_pointer_t<decltype(s)>>(t, threads, 1, 100); });
    group("semaphore of two, 8 threads, 1 us sections", "Mops/s",
          [&](Table &t, auto *s) { throughput<std::remove_pointer_t<decltype(s)>>(t, 8, 2, 1000); });
    group("semaphore of two, urgent thread among 8, 10 us sections, its waits", "",
          [&](Table &t, auto *s) { urgent_waits<std::remove_pointer_t<decltype(s)>>(t, 8, 2, 10000); });
    return 0;
}
