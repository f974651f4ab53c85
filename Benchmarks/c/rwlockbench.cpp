// rwlockbench: read-write locks side by side in one run; see harness.hpp for how the rows are made.
//
//   rwlockbench [--rounds N] [--millis N] [--tsv FILE] [--only TEXT]   the rows, or groups with TEXT in their names
//   rwlockbench --loop NAME read|write N                               N pairs of one lock, for counting instructions
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "harness.hpp"
#include "rwlocks.hpp"
#include "team.hpp"

#define ALL                                                                                                            \
    Pthread, PthreadWriters WITH_CK(CkPhaseFair) WITH_ABSL(Absl) WITH_NSYNC(Nsync) WITH_PARKING_LOT(ParkingLot), Fast, \
        Strict, Biased

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
    auto body = [&](int t, std::atomic<bool> &stop) {
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
    };
    double ns = together(threads, body, for_millis(window_ms));
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
    auto body = [&](int t, std::atomic<bool> &stop) {
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
    };
    together(readers + 1, body, for_millis(window_ms * 5));
    table.pools[Lock::name].push_back(samples);
}

// Its own function: beside the loops of other locks its instructions would depend on which registers those leave.
template <class Lock>
__attribute__((noinline)) static bool loop(const char *name, bool write, long n) {
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
    prepare_for_locks();
    const char *usage = "rwlockbench [--rounds N] [--millis N] [--tsv FILE] [--only TEXT] [--loop NAME read|write N]";
    take_options(argc, argv, usage, [&](int i) {
        if (strcmp(argv[i], "--loop") != 0 || i + 3 >= argc) return -1;
        return any_loop<ALL>(argv[i + 1], strcmp(argv[i + 2], "write") == 0, atol(argv[i + 3])) ? 0 : 2;
    });
    calibrate();
    for (bool write : {false, true})
        measure_if_named<ALL>(write ? "uncontended write" : "uncontended read", "ns",
                              [&]<class Lock>(Table &t) { uncontended<Lock>(t, write); });
    for (int writes_one_in : {0, 100, 10})
        for (int threads : {2, 8}) {
            const char *mix = writes_one_in == 0     ? "reads only"
                              : writes_one_in == 100 ? "99 reads to 1 write"
                                                     : "90 reads to 10 writes";
            measure_if_named<ALL>(std::to_string(threads) + " threads, " + mix, "Mops/s",
                                  [&]<class Lock>(Table &t) { throughput<Lock>(t, threads, uint64_t(writes_one_in)); });
        }
    for (int readers : {2, 4, 8})
        measure_if_named<ALL>("writer among " + std::to_string(readers) + " readers, 1 us sections, its waits",
                              "p99 us", [&]<class Lock>(Table &t) { writer_waits<Lock>(t, readers); });
    return 0;
}
