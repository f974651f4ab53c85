// lockbench: locks side by side in one run. All subjects take their turn in each round, in an order that changes from
// round to round; a row is the median over the rounds, percentiles are those of the samples of all rounds together.
//
//   lockbench [--rounds N] [--millis N] [--tsv FILE] [--only AREA]...    the rows, or those of locks, priority,
//                                                                       passes, tail, timers, observation
//   lockbench --loop NAME N                              N lock-unlock pairs of one lock, for counting instructions
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "harness.hpp"
#include "locks.hpp"

template <class Lock>
static void pairs(Lock &lock, long n) {
    for (long i = 0; i < n; i++) {
        lock.lock();
        lock.unlock();
    }
}

// Before a lock's first measured use: its code, its memory, and what it sets up when first used are then there.
template <class Lock>
static void warm(Lock &lock) {
    pairs(lock, 1000);
}

template <class Lock>
static void uncontended(Table &table) {
    Lock lock;
    warm(lock);
    const int n = 400000;
    int64_t begin = csk_now();
    pairs(lock, n);
    table.add(Lock::name, "ns", double(csk_now() - begin) / n);
}

template <class Lock>
static void throughput(Table &table, int threads, double section_ns, const char *name) {
    Lock lock;
    warm(lock);
    long inside = 0, turns = long(section_ns / loop_ns);
    std::atomic<int> arrived{0};
    std::atomic<bool> go{false}, stop{false};
    std::vector<Counter> counters(threads);
    std::vector<std::thread> team;
    for (int t = 0; t < threads; t++)
        team.emplace_back([&, t] {
            arrived++;
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
    while (arrived < threads) std::this_thread::yield();
    int64_t begin = csk_now();
    go = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(window_ms));
    stop = true;
    double ns = double(csk_now() - begin);
    long total = 0;
    for (auto &thread : team) thread.join();
    for (auto &counter : counters) total += counter.value;
    if (total != inside) abort();
    table.add(name, "Mops/s", total * 1e3 / ns);
}

// Waits of all of so many threads that want the same, and how many times the least served of them was inside for each
// time of the most served; or waits of one urgent thread among so many others.
template <class Lock>
static void waits(Table &table, int others, bool urgent_only, double section_ns) {
    Lock lock;
    warm(lock);
    long turns = long(section_ns / loop_ns);
    int threads = urgent_only ? others + 1 : others;
    std::atomic<int> arrived{0};
    std::atomic<bool> go{false}, stop{false};
    std::vector<Histogram> samples(threads);
    std::vector<std::thread> team;
    for (int t = 0; t < threads; t++)
        team.emplace_back([&, t] {
            bool urgent = t == others;
            arrived++;
            while (!go) std::this_thread::yield();
            while (!stop.load(std::memory_order_relaxed)) {
                if (urgent) std::this_thread::sleep_for(std::chrono::microseconds(200));
                int64_t begin = csk_now();
                if (urgent) lock.lock_urgent();
                else lock.lock();
                int64_t waited = csk_now() - begin;
                busy(turns);
                lock.unlock();
                if (urgent || !urgent_only) samples[t].record(uint64_t(waited));
                if (!urgent) busy(turns);
            }
        });
    while (arrived < threads) std::this_thread::yield();
    go = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(window_ms * (urgent_only ? 5 : 12)));
    stop = true;
    for (auto &thread : team) thread.join();
    Histogram all;
    uint64_t least = UINT64_MAX, most = 0;
    for (auto &some : samples) {
        all.add(some);
        least = std::min(least, some.size()), most = std::max(most, some.size());
    }
    table.pools[Lock::name].push_back(all);
    if (!urgent_only) table.add(Lock::name, "least/most served", most ? double(least) / double(most) : 0);
}

// Whether the calling thread has stood in a gate's queue since this was false.
static thread_local bool has_waited;
static const csk_observer_t notes_waits = {
    [](const csk_observer_t *, const csk_event_t *event) { has_waited |= event->kind == CSK_EVENT_WAIT_END; }, nullptr};

// How many sections of four urgent threads there are between the moment at which a thread that names no priority comes
// and the one at which it is served: of those that had waited, of which up to four may have come before it, and in all.
template <class Gate>
static void passes(Table &table, double section_ns) {
    Gate gate;
    warm(gate);
    csk_observe(&notes_waits);
    const int urgent = 4;
    long turns = long(section_ns / loop_ns);
    std::atomic<long> all{0}, waiters{0};
    std::atomic<int> arrived{0};
    std::atomic<bool> stop{false};
    std::vector<std::thread> team;
    for (int t = 0; t < urgent; t++)
        team.emplace_back([&] {
            arrived++;
            while (!stop.load(std::memory_order_relaxed)) {
                has_waited = false;
                gate.lock_urgent();
                all++;
                if (has_waited) waiters++;
                busy(turns);
                gate.unlock();
            }
        });
    while (arrived < urgent) std::this_thread::yield();
    std::vector<double> of_all, of_waiters;
    int64_t end_ns = csk_now() + window_ms * int64_t(5000000);
    while (of_all.empty() || csk_now() < end_ns) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        long all_before = all, waiters_before = waiters;
        gate.lock_unnamed();
        of_all.push_back(double(all - all_before));
        of_waiters.push_back(double(waiters - waiters_before));
        gate.unlock();
    }
    stop = true;
    for (auto &thread : team) thread.join();
    csk_observe(nullptr);
    table.add(Gate::name, "of waiters", median(of_waiters));
    table.add(Gate::name, "of waiters, most", *std::max_element(of_waiters.begin(), of_waiters.end()));
    table.add(Gate::name, "in all", median(of_all));
    table.add(Gate::name, "times served", double(of_all.size()));
}

template <class Lock>
static void lateness(Table &table, int64_t timeout_ns, int tries) {
    Lock lock;
    warm(lock);
    lock.lock();
    std::thread([&] {
        for (int i = 0; i < tries; i++) {
            int64_t deadline = csk_now() + timeout_ns;
            if (lock.lock_until(deadline)) abort();
            double late = double(csk_now() - deadline) / 1e3;
            if (late < 0) {
                fprintf(stderr, "%s: a timeout fired early\n", Lock::name);
                exit(1);
            }
            table.add(Lock::name, "late us", late);
        }
    }).join();
    lock.unlock();
}

#define OURS GateFast, GateCompact, KernelMutex
#define PEERS Pthread, PthreadAdaptive, SwiftMutex WITH_ABSL(Absl) WITH_NSYNC(Nsync) WITH_PARKING_LOT(ParkingLot)
#define ALL PEERS, PthreadInherit, OURS, GateStrict WITH_CK(CkSpin)

// Its own function: beside the loops of other locks its instructions would depend on which registers those leave.
template <class Lock>
__attribute__((noinline)) static bool loop(const char *name, long n) {
    if (strcmp(name, Lock::name) != 0) return false;
    Lock lock;
    for (long i = 0; i < n; i++) {
        lock.lock();
        lock.unlock();
    }
    return true;
}

template <class... Locks>
static bool any_loop(const char *name, long n) {
    return (loop<Locks>(name, n) || ...);
}

static bool wanted(const char *area) { return only.empty() || std::find(only.begin(), only.end(), area) != only.end(); }

static std::string threads_of(int count) { return std::to_string(count) + (count == 1 ? " thread" : " threads"); }

static void run_locks() {
    measure<ALL>("uncontended lock and unlock", "ns", [&]<class Lock>(Table &t) { uncontended<Lock>(t); });
    for (double section : {100.0, 0.0})
        for (int threads : {1, 2, 4, 8, 16, 32})
            measure<PEERS, OURS>(threads_of(threads) + ", " + (section > 0 ? "100 ns sections" : "empty sections"),
                                 "Mops/s",
                                 [&]<class Lock>(Table &t) { throughput<Lock>(t, threads, section, Lock::name); });
    measure<Pthread, PthreadInherit, GateStrict>("8 threads, 100 ns sections, direct hand-over", "Mops/s",
                                                 [&]<class Lock>(Table &t) {
                                                     throughput<Lock>(t, 8, 100, Lock::name);
                                                 });
}

static void run_priority() {
    for (int others : {1, 2, 4, 7, 8, 16})
        measure<PEERS, OURS, GateStrict>("urgent thread among " + std::to_string(others) +
                                             ", 10 us sections, its waits",
                                         "", [&]<class Lock>(Table &t) { waits<Lock>(t, others, true, 10000); });
}

static void run_passes() {
    measure<GateFast, GateCompact, GateStrict>(
        "passes before a thread that names no priority among 4 urgent, 10 us sections", "",
        [&]<class Lock>(Table &t) { passes<Lock>(t, 10000); });
}

static void run_tail() {
    for (int threads : {8, 32})
        measure<PEERS, OURS, GateStrict>(threads_of(threads) + ", 100 ns sections, waits", "",
                                         [&]<class Lock>(Table &t) { waits<Lock>(t, threads, false, 100); });
}

// What the library may be asked to tell.
struct Observer {
    const char *name;
    int (*start)();
    void (*stop)();
};
static const Observer observers[] = {
    {"nothing on", [] { return 0; }, [] {}},
    {"nothing on, again", [] { return 0; }, [] {}},
    {"contention profile, 10 us", [] { return csk_profile_start(10000); }, csk_profile_stop},
    {"metrics", csk_metrics_start, csk_metrics_stop},
    {"lock order", csk_order_start, csk_order_stop},
};

// A gate with a name, as metrics want it, that is observed. All observers have this one type, since the same loop in
// two copies differs by 8 %. What asks comes first: a gate decides at its first use whether its order is checked.
struct Observed {
    static const Observer *by;
    struct Asks {
        Asks() {
            if (by->start() != 0) std::abort();
        }
        ~Asks() { by->stop(); }
    } asks;
    GateFast named;
    Observed() {
        if (csk_name(&named.gate, "observed") != 0) std::abort();
    }
    ~Observed() { csk_unname(&named.gate); }
    void lock() { named.lock(); }
    void unlock() { named.unlock(); }
};
const Observer *Observed::by;

static void run_observation() {
    for (int threads : {2, 8})
        run(threads_of(threads) + ", 100 ns sections, observed", "Mops/s", [&](Table &t) {
            std::vector<Subject> subjects;
            for (const Observer &observer : observers)
                subjects.push_back({observer.name, [&] {
                                        Observed::by = &observer;
                                        throughput<Observed>(t, threads, 100, observer.name);
                                    }});
            take_turns(t, subjects);
        });
}

static void run_timers() {
    for (int64_t ms : {1, 5, 50})
        measure<Pthread WITH_PARKING_LOT(ParkingLot), OURS>("timeout of " + std::to_string(ms) + " ms", "late us",
                                                            [&]<class Lock>(Table &t) {
                                                                lateness<Lock>(t, ms * 1000000, ms > 5 ? 1 : 5);
                                                            });
}

int main(int argc, char **argv) {
    prepare_for_locks();
    const char *usage = "lockbench [--rounds N] [--millis N] [--tsv FILE] [--only AREA]... [--loop NAME N]";
    take_options(argc, argv, usage, [&](int i) {
        if (strcmp(argv[i], "--loop") != 0 || i + 2 >= argc) return -1;
        return any_loop<ALL>(argv[i + 1], atol(argv[i + 2])) ? 0 : 2;
    });
    calibrate();
    {
        // The first gate of a process prepares what all share, which takes milliseconds.
        GateFast gate;
        Table unused;
        warm(gate);
        throughput<GateFast>(unused, 2, 0, GateFast::name);
    }
    if (wanted("locks")) run_locks();
    if (wanted("priority")) run_priority();
    if (wanted("priority") || wanted("passes")) run_passes();
    if (wanted("tail")) run_tail();
    if (wanted("timers")) run_timers();
    if (wanted("observation")) run_observation();
    return 0;
}
