// lockbench: locks side by side in one run. Every row is the median over rounds in which all subjects take their turn.
//
//   lockbench [--rounds N] [--millis N] [--tsv FILE]     the rows
//   lockbench --loop NAME N                              N lock-unlock pairs of one lock, for counting instructions
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "locks.hpp"

static int rounds = 7, window_ms = 60;
static FILE *tsv;
static double loop_ns;  // of one turn of busy()

static inline void busy(long turns) {
    unsigned long x = turns;
    for (long i = 0; i < turns; i++) {
        x = x * 3 + 1;
        __asm__ volatile("" : "+r"(x));
    }
}

// The lowest of several, so that a preempted one doesn't count.
static void calibrate() {
    loop_ns = 1e9;
    for (int i = 0; i < 20; i++) {
        int64_t begin = csk_now();
        busy(2000000);
        loop_ns = std::min(loop_ns, double(csk_now() - begin) / 2e6);
    }
}

static double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

static double percentile(const std::vector<double> &sorted, double p) {
    return sorted.empty() ? 0 : sorted[std::min(sorted.size() - 1, size_t(p * sorted.size()))];
}

// A row of one group: subject -> metric -> values, one a round.
struct Table {
    std::string group;
    std::vector<std::string> order;
    std::map<std::string, std::map<std::string, std::vector<double>>> cells;
    void add(const std::string &subject, const std::string &metric, double value) {
        if (!cells.count(subject)) order.push_back(subject);
        cells[subject][metric].push_back(value);
    }
    void print(const std::string &ratio_metric = "") {
        printf("\n%s\n", group.c_str());
        double base = ratio_metric.empty() ? 0 : median(cells[order[0]][ratio_metric]);
        for (auto &subject : order) {
            printf("  %-18s", subject.c_str());
            for (auto &[metric, values] : cells[subject]) {
                printf("  %s %10.2f", metric.c_str(), median(values));
                fprintf(tsv, "c\t%s\t%s\t%s\t%.4f\n", group.c_str(), subject.c_str(), metric.c_str(), median(values));
            }
            if (base > 0) printf("  (%.2fx)", median(cells[subject][ratio_metric]) / base);
            printf("\n");
        }
        fflush(stdout);
    }
};

template <class Lock>
static void uncontended(Table &table) {
    Lock lock;
    const int pairs = 400000;
    int64_t begin = csk_now();
    for (int i = 0; i < pairs; i++) {
        lock.lock();
        lock.unlock();
    }
    table.add(Lock::name, "ns", double(csk_now() - begin) / pairs);
}

struct alignas(128) Counter { long value = 0; };

template <class Lock>
static void throughput(Table &table, int threads, double section_ns) {
    Lock lock;
    long inside = 0, turns = long(section_ns / loop_ns);
    std::atomic<bool> go{false}, stop{false};
    std::vector<Counter> counters(threads);
    std::vector<std::thread> team;
    for (int t = 0; t < threads; t++)
        team.emplace_back([&, t] {
            while (!go) std::this_thread::yield();
            long count = 0;
            while (!stop.load(std::memory_order_relaxed)) {
                lock.lock();
                inside++;
                busy(turns);
                lock.unlock();
                count++;
                busy(turns);
            }
            counters[t].value = count;
        });
    int64_t begin = csk_now();
    go = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(window_ms));
    stop = true;
    double ns = double(csk_now() - begin);
    long total = 0;
    for (auto &thread : team) thread.join();
    for (auto &counter : counters) total += counter.value;
    if (total != inside) abort();
    table.add(Lock::name, "Mops/s", total * 1e3 / ns);
}

// Waits of all of 8 threads, or of one urgent thread among 8 others.
template <class Lock>
static void waits(Table &table, bool urgent_only, double section_ns) {
    Lock lock;
    long turns = long(section_ns / loop_ns);
    std::atomic<bool> stop{false};
    std::vector<std::vector<double>> samples(9);
    std::vector<std::thread> team;
    for (int t = 0; t < 8; t++)
        team.emplace_back([&, t] {
            while (!stop.load(std::memory_order_relaxed)) {
                int64_t begin = csk_now();
                lock.lock();
                int64_t waited = csk_now() - begin;
                busy(turns);
                lock.unlock();
                if (!urgent_only) samples[t].push_back(waited / 1e3);
                busy(turns);
            }
        });
    if (urgent_only)
        team.emplace_back([&] {
            while (!stop.load(std::memory_order_relaxed)) {
                std::this_thread::sleep_for(std::chrono::microseconds(200));
                int64_t begin = csk_now();
                lock.lock_urgent();
                int64_t waited = csk_now() - begin;
                busy(turns);
                lock.unlock();
                samples[8].push_back(waited / 1e3);
            }
        });
    std::this_thread::sleep_for(std::chrono::milliseconds(window_ms * 5));
    stop = true;
    for (auto &thread : team) thread.join();
    std::vector<double> all;
    for (auto &some : samples) all.insert(all.end(), some.begin(), some.end());
    std::sort(all.begin(), all.end());
    table.add(Lock::name, "p50 us", percentile(all, .5));
    table.add(Lock::name, "p99 us", percentile(all, .99));
    table.add(Lock::name, "p99.9 us", percentile(all, .999));
    table.add(Lock::name, "max us", all.empty() ? 0 : all.back());
}

template <class Lock>
static void lateness(Table &table, int64_t timeout_ns, int tries) {
    Lock lock;
    lock.lock();
    std::thread([&] {
        for (int i = 0; i < tries; i++) {
            int64_t deadline = csk_now() + timeout_ns;
            if (lock.lock_until(deadline)) abort();
            double late = double(csk_now() - deadline) / 1e3;
            if (late < 0) { fprintf(stderr, "%s: a timeout fired early\n", Lock::name); exit(1); }
            table.add(Lock::name, "late us", late);
        }
    }).join();
    lock.unlock();
}

template <class... Locks, class F>
static void each_round(F &&f) {
    for (int round = 0; round < rounds; round++) {
        (f(static_cast<Locks *>(nullptr)), ...);
        fprintf(stderr, ".");
    }
    fprintf(stderr, "\n");
}

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
#ifdef HAVE_CK
#define CK_ONE , CkSpin
#else
#define CK_ONE
#endif
#ifdef HAVE_PARKING_LOT
#define PARKING_LOT_ONE , ParkingLot
#else
#define PARKING_LOT_ONE
#endif
#define OURS GateFast, GateCompact, KernelMutex
#define PEERS Pthread, PthreadAdaptive ABSL_ONE NSYNC_ONE PARKING_LOT_ONE

template <class Lock>
static bool loop(const char *name, long n) {
    if (strcmp(name, Lock::name) != 0) return false;
    Lock lock;
    for (long i = 0; i < n; i++) {
        lock.lock();
        lock.unlock();
    }
    return true;
}

template <class... Locks>
static bool any_loop(const char *name, long n) { return (loop<Locks>(name, n) || ...); }

int main(int argc, char **argv) {
#ifdef HAVE_ABSL
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
    tsv = fopen("/dev/null", "w");
    // glibc drops its atomics before the first thread exists.
    std::thread([] { for (;;) pause(); }).detach();
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--rounds") && i + 1 < argc) rounds = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--millis") && i + 1 < argc) window_ms = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--tsv") && i + 1 < argc) tsv = fopen(argv[++i], "a");
        else if (!strcmp(argv[i], "--loop") && i + 2 < argc)
            return any_loop<PEERS, PthreadInherit, OURS, GateStrict CK_ONE>(argv[i + 1], atol(argv[i + 2])) ? 0 : 2;
        else { fprintf(stderr, "usage: lockbench [--rounds N] [--millis N] [--tsv FILE] [--loop NAME N]\n"); return 2; }
    }
    calibrate();
    auto run = [](std::string group, std::string ratio, auto &&body) {
        Table table{group, {}, {}};
        fprintf(stderr, "%s ", group.c_str());
        body(table);
        table.print(ratio);
    };
    run("uncontended lock and unlock", "ns", [](Table &t) {
        each_round<PEERS, PthreadInherit, OURS, GateStrict CK_ONE>([&](auto *l) { uncontended<std::remove_pointer_t<decltype(l)>>(t); });
    });
    for (double section : {100.0, 0.0})
        for (int threads : {2, 8, 32})
            run(std::to_string(threads) + " threads, " + (section > 0 ? "100 ns sections" : "empty sections"), "Mops/s", [&](Table &t) {
                each_round<PEERS, OURS>([&](auto *l) { throughput<std::remove_pointer_t<decltype(l)>>(t, threads, section); });
            });
    run("8 threads, 100 ns sections, direct hand-over", "Mops/s", [&](Table &t) {
        each_round<Pthread, PthreadInherit, GateStrict>([&](auto *l) { throughput<std::remove_pointer_t<decltype(l)>>(t, 8, 100); });
    });
    run("8 threads, 100 ns sections, waits", "", [&](Table &t) {
        each_round<PEERS, OURS, GateStrict>([&](auto *l) { waits<std::remove_pointer_t<decltype(l)>>(t, false, 100); });
    });
    run("urgent thread among 8, 10 us sections, its waits", "p99 us", [&](Table &t) {
        each_round<PEERS, OURS, GateStrict>([&](auto *l) { waits<std::remove_pointer_t<decltype(l)>>(t, true, 10000); });
    });
    for (int64_t ms : {1, 5, 50})
        run("timeout of " + std::to_string(ms) + " ms", "late us", [&](Table &t) {
            each_round<Pthread PARKING_LOT_ONE, OURS>([&](auto *l) { lateness<std::remove_pointer_t<decltype(l)>>(t, ms * 1000000, ms > 5 ? 1 : 5); });
        });
    return 0;
}
