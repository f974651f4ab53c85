// harness.hpp: what the benchmark programs share: their options, rounds in which every subject takes its turn, tables,
// percentiles, work of a set length. A row is the median over the rounds, percentiles are those of the samples of all
// rounds together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "csynckernel/csynckernel.h"
#include "peers.hpp"

static int rounds = 7, window_ms = 60;
static FILE *tsv;
static std::vector<std::string> only; // what is to be measured; empty: all
static double loop_ns;                // of one turn of busy()

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

// Waits in nanoseconds, counted in steps of less than a percent, so that millions cost no more room than a few.
class Histogram {
    static constexpr int step_bits = 8;
    std::vector<uint64_t> counts = std::vector<uint64_t>((64 - step_bits) << step_bits);
    uint64_t total = 0, largest = 0;

public:
    void record(uint64_t value) {
        int shift = value >> step_bits ? 63 - __builtin_clzll(value) - step_bits + 1 : 0;
        counts[(size_t(shift) << (step_bits - 1)) + (value >> shift)]++;
        total++;
        largest = std::max(largest, value);
    }
    void add(const Histogram &other) {
        for (size_t i = 0; i < counts.size(); i++) counts[i] += other.counts[i];
        total += other.total;
        largest = std::max(largest, other.largest);
    }
    uint64_t size() const { return total; }
    // The lower end of the step that holds the sample which share `p` of all precede.
    uint64_t percentile(double p) const {
        if (p >= 1) return largest;
        uint64_t rank = uint64_t(p * double(total)), seen = 0;
        for (size_t i = 0; i < counts.size(); i++) {
            seen += counts[i];
            if (seen <= rank) continue;
            int shift = i >> step_bits ? int(i >> (step_bits - 1)) - 1 : 0;
            return (uint64_t(i) - (uint64_t(shift) << (step_bits - 1))) << shift;
        }
        return largest;
    }
};

// The rows of one group: subject -> metric -> values, one a round, or the samples of each round.
struct Table {
    std::string group;
    std::vector<std::string> order;
    std::map<std::string, std::map<std::string, std::vector<double>>> cells;
    std::map<std::string, std::vector<Histogram>> pools;
    void add(const std::string &subject, const std::string &metric, double value) {
        cells[subject][metric].push_back(value);
    }
    // A row of the file: what holds for all rounds, then what each round gave by itself.
    void write(const std::string &subject, const std::string &metric, double value, const std::vector<double> &each) {
        printf(metric == "samples" ? "  %s %9.0f" : "  %s %10.2f", metric.c_str(), value);
        fprintf(tsv, "c\t%s\t%s\t%s\t%.4f\t", group.c_str(), subject.c_str(), metric.c_str(), value);
        for (size_t i = 0; i < each.size(); i++) fprintf(tsv, "%s%.6g", i ? " " : "", each[i]);
        fprintf(tsv, "\n");
    }
    void write_waits(const std::string &subject) {
        auto &rounds_of = pools[subject];
        Histogram all;
        for (auto &one : rounds_of) all.add(one);
        if (all.size() == 0) return;
        for (auto [metric, p] : {std::pair("p50 us", .5), std::pair("p90 us", .9), std::pair("p99 us", .99),
                                 std::pair("p99.9 us", .999), std::pair("p99.99 us", .9999), std::pair("max us", 1.)}) {
            std::vector<double> each;
            for (auto &one : rounds_of) each.push_back(double(one.percentile(p)) / 1e3);
            write(subject, metric, double(all.percentile(p)) / 1e3, each);
        }
        write(subject, "samples", double(all.size()), {});
    }
    void print(const std::string &ratio_metric = "") {
        printf("\n%s\n", group.c_str());
        auto value = [&](const std::string &subject) {
            auto &values = cells[subject][ratio_metric];
            return values.empty() ? 0 : median(values);
        };
        double base = ratio_metric.empty() ? 0 : value(order[0]);
        for (auto &subject : order) {
            printf("  %-18s", subject.c_str());
            write_waits(subject);
            for (auto &[metric, values] : cells[subject])
                if (!values.empty()) write(subject, metric, median(values), values);
            if (base > 0) printf("  (%.2fx)", value(subject) / base);
            printf("\n");
        }
        fflush(stdout);
        fflush(tsv);
    }
};

// Takes the option at argv[i], with its value, if it is one of those that all programs have.
static bool take_option(int argc, char **argv, int &i) {
    std::string name = argv[i];
    if (i + 1 >= argc || (name != "--rounds" && name != "--millis" && name != "--tsv" && name != "--only"))
        return false;
    const char *value = argv[++i];
    if (name == "--rounds") rounds = atoi(value);
    else if (name == "--millis") window_ms = atoi(value);
    else if (name == "--tsv") tsv = fopen(value, "a");
    else only.push_back(value);
    return true;
}

// Takes all options. own(i) takes one of the program's own, and says with which status the program ends by it, or -1
// where it doesn't know it.
static void take_options(
    int argc, char **argv, const char *usage, const std::function<int(int i)> &own = [](int) { return -1; }) {
    tsv = fopen("/dev/null", "w");
    for (int i = 1; i < argc; i++) {
        if (take_option(argc, argv, i)) continue;
        int status = own(i);
        if (status >= 0) exit(status);
        fprintf(stderr, "usage: %s\n", usage);
        exit(2);
    }
}

// What programs that measure locks begin with.
static inline void prepare_for_locks() {
#ifdef HAVE_ABSL
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
    // glibc drops its atomics before the first thread exists.
    std::thread([] {
        for (;;) pause();
    }).detach();
}

struct alignas(128) Counter {
    long value = 0;
};

// Which of `count` subjects has turn `position` of a round: 0, 1, count - 1, 2, count - 2 and so on, moved on by one
// each round. A mere rotation would let every subject follow the same one each time; here its predecessor changes from
// round to round.
static int turn(int round, int position, int count) {
    int first = position % 2 ? (position + 1) / 2 : count - position / 2;
    return (first + round) % count;
}

// One that is measured, and what measures it for one round.
struct Subject {
    std::string name;
    std::function<void()> turn;
};

static void take_turns(Table &table, const std::vector<Subject> &subjects) {
    const int count = int(subjects.size());
    for (const Subject &subject : subjects) table.order.push_back(subject.name);
    for (int round = 0; round < rounds; round++) {
        for (int position = 0; position < count; position++) subjects[turn(round, position, count)].turn();
        fprintf(stderr, "%d/%d ", round + 1, rounds);
    }
    fprintf(stderr, "\n");
}

template <class F>
static void run(const std::string &group, const std::string &ratio, F &&body) {
    Table table{group, {}, {}, {}};
    fprintf(stderr, "%s ", group.c_str());
    body(table);
    table.print(ratio);
}

// The rows of a group: body.operator()<Subject>(table) measures each subject for one round.
template <class... Subjects, class F>
static void measure(const std::string &group, const std::string &ratio, F &&body) {
    run(group, ratio, [&](Table &table) {
        take_turns(table, {{Subjects::name, [&] { body.template operator()<Subjects>(table); }}...});
    });
}

// The same where the group is to be measured: all are unless some were named by a part of their names.
template <class... Subjects, class F>
static void measure_if_named(const std::string &group, const std::string &ratio, F &&body) {
    auto names = [&](const std::string &part) { return group.find(part) != std::string::npos; };
    if (only.empty() || std::any_of(only.begin(), only.end(), names)) measure<Subjects...>(group, ratio, body);
}
