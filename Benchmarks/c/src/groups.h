// groups.h: the groups of rows, each measured with all subjects interleaved in rounds.
#pragma once

#include <functional>

#include "rows.h"
#include "subject.h"

struct Plan {
    unsigned rounds;
    int64_t round_ns;         // how long a subject runs in a round
    unsigned timeouts_1ms;    // attempts per round; the longer spans get fewer
    std::vector<Subject> subjects;
};

struct Group {
    std::string name;
    std::function<std::vector<Row>(const Plan &)> measure;
};

const std::vector<Group> &all_groups();
