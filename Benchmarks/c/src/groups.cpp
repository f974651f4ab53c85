#include "groups.h"

#include <algorithm>
#include <cmath>

namespace {

uint64_t steps(double nanoseconds) {
    static const double step_ns = bench_step_ns();
    return static_cast<uint64_t>(std::lround(nanoseconds / step_ns));
}

int64_t clock_ns() {
    static const int64_t cost = bench_clock_cost_ns();
    return cost;
}

// Calls sample(subject, its index) for each subject in each round. Every round begins with another subject, so that what the
// machine does meanwhile meets all alike.
template <class Sample>
void interleave(const Plan &plan, Sample sample) {
    const size_t count = plan.subjects.size();
    for (unsigned round = 0; round < plan.rounds; round++) {
        for (size_t turn = 0; turn < count; turn++) {
            const size_t index = (turn + round) % count;
            sample(plan.subjects[index], index);
        }
    }
}

template <class Sample>
std::vector<Row> medians(const Plan &plan, const char *group, const std::string &column, const char *unit, Sample sample) {
    std::vector<std::vector<double>> found(plan.subjects.size());
    interleave(plan, [&](const Subject &subject, size_t index) { found[index].push_back(sample(subject)); });
    std::vector<Row> rows;
    for (size_t index = 0; index < found.size(); index++) {
        rows.push_back(summarize(group, column, plan.subjects[index].name, unit, found[index]));
    }
    return rows;
}

std::vector<Row> measure_uncontended(const Plan &plan) {
    const auto pairs = static_cast<uint64_t>(plan.round_ns / 12);
    return medians(plan, "uncontended", "pair", "ns", [&](const Subject &subject) { return subject.uncontended(pairs); });
}

std::vector<Row> measure_throughput(const Plan &plan, const char *group, std::vector<unsigned> threads, Work work) {
    std::vector<Row> rows;
    for (unsigned count : threads) {
        const auto more = medians(plan, group, std::to_string(count), "Mops/s", [&](const Subject &subject) {
            return subject.throughput(count, work, plan.round_ns);
        });
        rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
}

// The percentiles of all rounds together, in microseconds; low and high are those of single rounds.
template <class Sample>
std::vector<Row> percentiles(const Plan &plan, const char *group, std::vector<double> shares, Sample sample) {
    std::vector<std::vector<Histogram>> found(plan.subjects.size());
    interleave(plan, [&](const Subject &subject, size_t index) { found[index].push_back(sample(subject)); });
    std::vector<Row> rows;
    for (size_t index = 0; index < found.size(); index++) {
        Histogram all;
        for (const Histogram &round : found[index]) all.merge(round);
        for (double share : shares) {
            char column[16] = "max";
            if (share < 1) std::snprintf(column, sizeof column, "p%g", share * 100);
            std::vector<double> rounds;
            for (const Histogram &round : found[index]) rounds.push_back(static_cast<double>(round.percentile(share)) / 1000);
            Row row = summarize(group, column, plan.subjects[index].name, "us", rounds);
            row.value = static_cast<double>(all.percentile(share)) / 1000;
            rows.push_back(row);
        }
    }
    return rows;
}

std::vector<Row> measure_waits(const Plan &plan) {
    const Work work{steps(100), steps(100)};
    return percentiles(plan, "wait at 8 threads", {.5, .99, .999, 1}, [&](const Subject &subject) {
        return subject.waits(8, work, plan.round_ns, clock_ns());
    });
}

std::vector<Row> measure_priority(const Plan &plan) {
    const Work low{steps(10000), steps(100)};
    // An arrival takes 200 us and its wait: four times the usual span gives some 1 500 of them a round where waits are short.
    return percentiles(plan, "high-priority wait", {.5, .99, 1}, [&](const Subject &subject) {
        return subject.priority_waits(8, low, plan.round_ns * 4, clock_ns());
    });
}

std::vector<Row> measure_timeouts(const Plan &plan) {
    Plan timed = plan;
    auto &subjects = timed.subjects;
    subjects.erase(std::remove_if(subjects.begin(), subjects.end(), [](const Subject &s) { return !s.timed; }), subjects.end());
    std::vector<std::vector<double>> early(subjects.size());
    std::vector<Row> rows;
    for (unsigned span_ms : {1u, 5u, 50u}) {
        std::vector<std::vector<double>> found(subjects.size());
        const unsigned attempts = std::max(1u, timed.timeouts_1ms / span_ms);
        interleave(timed, [&](const Subject &subject, size_t index) {
            for (int64_t late : subject.lateness(span_ms * 1000000ll, attempts)) {
                found[index].push_back(static_cast<double>(late) / 1000);
            }
        });
        for (size_t index = 0; index < subjects.size(); index++) {
            rows.push_back(summarize("timeout late by", std::to_string(span_ms) + " ms", subjects[index].name, "us", found[index]));
            for (double late : found[index]) early[index].push_back(late < 0);
        }
    }
    for (size_t index = 0; index < subjects.size(); index++) {
        const auto count = static_cast<unsigned>(early[index].size());
        const double sum = static_cast<double>(std::count(early[index].begin(), early[index].end(), 1.0));
        rows.push_back({"timeout fired early", "times", subjects[index].name, sum, "of all attempts", sum, sum, count});
    }
    return rows;
}

}  // namespace

const std::vector<Group> &all_groups() {
    static const std::vector<Group> groups = {
        {"uncontended", measure_uncontended},
        {"throughput", [](const Plan &plan) {
            return measure_throughput(plan, "throughput 100 ns", {2, 4, 8, 16, 32}, {steps(100), steps(100)});
        }},
        {"empty", [](const Plan &plan) { return measure_throughput(plan, "throughput empty", {2, 8, 32}, {0, 0}); }},
        {"wait", measure_waits},
        {"priority", measure_priority},
        {"timeout", measure_timeouts},
    };
    return groups;
}
