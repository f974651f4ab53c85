// subject.h: one lock under test, with its workloads compiled for it.
#pragma once

#include <string>
#include <vector>

#include "workloads.h"

struct Subject {
    std::string name;
    bool ours;
    bool timed;
    double (*uncontended)(uint64_t pairs);
    double (*throughput)(unsigned threads, Work work, int64_t duration_ns);
    Histogram (*waits)(unsigned threads, Work work, int64_t duration_ns, int64_t clock_ns);
    Histogram (*priority_waits)(unsigned threads, Work low, int64_t duration_ns, int64_t clock_ns);
    std::vector<int64_t> (*lateness)(int64_t span_ns, unsigned attempts);
    void (*single)(uint64_t pairs);
};

// The first one is what the others are compared with.
const std::vector<Subject> &all_subjects();
