// rwlockbench: read-write locks side by side in one run; see harness.hpp for how the rows are made.
//
//   rwlockbench [--rounds N] [--millis N] [--tsv FILE] [--only TEXT]   the rows, or groups with TEXT in their names
//   rwlockbench --loop NAME read|write N                               N pairs of one lock, for counting instructions
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <unistd.h>

#include "harness.hpp"
#include "rwlocks.hpp"

#ifdef HAVE_CK
#define CK_ONE , CkPhaseFair
#else
#define CK_ONE
#endif
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
#ifdef HAVE_PARKING_LOT
#define PARKING_LOT_ONE , ParkingLot
#else
#define PARKING_LOT_ONE
#endif
#define ALL Pthread, PthreadWriters CK_ONE ABSL_ONE NSYNC_ONE PARKING_LOT_ONE, Fast, Strict, Biased

template <class Lock>
static void pairs(Lock &lock, bool write, long n) {
    for (long i = 0; i < n; i++) {
        if (write) {
            lock.wrlock();
            lock.wrunlock();
        } else {
            lock.rdlock();
            lock.rdunlock();
        }
    }
}

template <class Lock>
static void uncontended(Table &table, bool write) {
    Lock lock;
    const int n = 400000;
    pairs(lock, write, 1000);
    int64_t begin = csk_now();
    pairs(lock, write, n);
    table.add(Lock::name, "ns", double(csk_now() - begin) / n);
}

// Calls body(number of the thread, stop) on each of a team that begins together, and says how long that took.
template <class F>
static double together(int threads, int millis, F &&body) {
    std::atomic<int> arrived{0};
    std::atomic<bool> go{false}, stop{false};
    std::vector<std::thread> team;
    for (int t = 0; t < threads; t++)
        team.emplace_back([&, t] {
            arrived++;
            while (!go) std::this_thread::yield();
            body(t, stop);
        });
    while (arrived < threads) std::this_thread::yield();
    int64_t begin = csk_now();
    go = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(millis));
    stop = true;
    double ns = double(csk_now() - begin);
    for (auto &thread : team) thread.join();
    return ns;
}

// What the lock protects: a writer changes both, a reader finds them equal.
struct alignas(128) Protected {
    long left = 0, right = 0;
};

// One operation in `writes_one_in` writes; 0: none does.
template <class Lock>
static void throughput(Table &table, int threads, uint64_t writes_one_in) {
    struct alignas(128) {
        Lock lock;
    } holder;
    Lock &lock = holder.lock;
    Protected data;
    pairs(lock, false, 1000);
    std::vector<Counter> counters(threads), written(threads);
    double ns = together(threads, window_ms, [&](int t, std::atomic<bool> &stop) {
        uint64_t random = uint64_t(t + 1) * 0x9E3779B97F4A7C15;
        long count = 0, writes = 0;
        while (!stop.load(std::memory_order_relaxed)) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            if (writes_one_in && (random >> 20) % writes_one_in == 0) {
                lock.wrlock();
                data.left++, data.right++;
                lock.wrunlock();
                writes++;
            } else {
                lock.rdlock();
                if (*const_cast<volatile long *>(&data.left) != *const_cast<volatile long *>(&data.right)) abort();
                lock.rdunlock();
            }
            count++;
        }
        counters[t].value = count;
        written[t].value = writes;
    });
    long total = 0, writes = 0;
    for (auto &counter : counters) total += counter.value;
    for (auto &counter : written) writes += counter.value;
    if (writes != data.left || writes != data.right) abort();
    table.add(Lock::name, "Mops/s", double(total) * 1e3 / ns);
}

// The readers read all the time, 1 us each; a writer comes every 200 us.
template <class Lock>
static void writer_waits(Table &table, int readers) {
    // Nothing that changes shares a line with the lock.
    struct alignas(128) {
        Lock lock;
    } holder;
    Lock &lock = holder.lock;
    struct alignas(128) {
        long turns = long(1000 / loop_ns);
    } section;
    Histogram samples;
    pairs(lock, false, 1000);
    together(readers + 1, window_ms * 5, [&](int t, std::atomic<bool> &stop) {
        while (!stop.load(std::memory_order_relaxed)) {
            if (t == readers) {
                std::this_thread::sleep_for(std::chrono::microseconds(200));
                int64_t begin = csk_now();
                lock.wrlock();
                samples.record(uint64_t(csk_now() - begin));
                lock.wrunlock();
            } else {
                lock.rdlock();
                busy(section.turns);
                lock.rdunlock();
            }
        }
    });
    table.pools[Lock::name].push_back(samples);
}

template <class Lock>
static bool loop(const char *name, bool write, long n) {
    if (strcmp(name, Lock::name) != 0) return false;
    Lock lock;
    pairs(lock, write, n);
    return true;
}

template <class... Locks>
static bool any_loop(const char *name, bool write, long n) {
    return (loop<Locks>(name, write, n) || ...);
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
        if (!strcmp(argv[i], "--loop") && i + 3 < argc)
            return any_loop<ALL>(argv[i + 1], !strcmp(argv[i + 2], "write"), atol(argv[i + 3])) ? 0 : 2;
        else {
            fprintf(
                stderr,
                "usage: rwlockbench [--rounds N] [--millis N] [--tsv FILE] [--only TEXT] [--loop NAME read|write N]\n");
            return 2;
        }
    }
    calibrate();
    auto group = [&](const std::string &name, const char *ratio, auto &&body) {
        if (is_named(name, only)) run(name, ratio, [&](Table &t) { each_round<ALL>(t, [&](auto *l) { body(t, l); }); });
    };
    for (bool write : {false, true})
        group(write ? "uncontended write" : "uncontended read", "ns",
              [&](Table &t, auto *l) { uncontended<std::remove_pointer_t<decltype(l)>>(t, write); });
    for (int writes_one_in : {0, 100, 10})
        for (int threads : {2, 8}) {
            const char *mix = writes_one_in == 0     ? "reads only"
                              : writes_one_in == 100 ? "99 reads to 1 write"
                                                     : "90 reads to 10 writes";
            group(std::to_string(threads) + " threads, " + mix, "Mops/s", [&](Table &t, auto *l) {
                throughput<std::remove_pointer_t<decltype(l)>>(t, threads, uint64_t(writes_one_in));
            });
        }
    for (int readers : {2, 4, 8})
        group("writer among " + std::to_string(readers) + " readers, 1 us sections, its waits", "p99 us",
              [&](Table &t, auto *l) { writer_waits<std::remove_pointer_t<decltype(l)>>(t, readers); });
    return 0;
}
