// lockbench: measures the kernel's locks beside those of other libraries.
#include <cstdlib>
#include <cstring>
#include <getopt.h>
#include <regex>

#include "groups.h"

static void usage(std::FILE *out) {
    std::fputs("lockbench [options]\n"
               "  --rounds N        rounds per row (7)\n"
               "  --round-ms N      how long a lock runs in a round (60)\n"
               "  --quick           3 rounds of 20 ms\n"
               "  --rows PATTERN    only groups whose name matches: uncontended throughput empty wait priority timeout\n"
               "  --subjects PATTERN  only these locks\n"
               "  --tsv FILE        writes the rows to FILE too\n"
               "  --no-tables       prints no tables\n"
               "  --list            prints the names of the locks\n"
               "  --single NAME --iterations N   N pairs of lock and unlock of one lock, for an instruction counter\n",
               out);
}

static bool matches(const std::string &text, const std::string &pattern) {
    return std::regex_search(text, std::regex(pattern));
}

struct Options {
    Plan plan{7, 60 * 1000000ll, 10, {}};
    std::string rows = ".", subjects = ".", tsv, single;
    uint64_t iterations = 1000000;
    bool tables = true, list = false;
};

static Options parse(int count, char **arguments) {
    static const option known[] = {
        {"rounds", 1, nullptr, 'n'},   {"round-ms", 1, nullptr, 'm'}, {"quick", 0, nullptr, 'q'},
        {"rows", 1, nullptr, 'r'},     {"subjects", 1, nullptr, 's'}, {"tsv", 1, nullptr, 't'},
        {"no-tables", 0, nullptr, 'T'}, {"list", 0, nullptr, 'l'},    {"single", 1, nullptr, 'S'},
        {"iterations", 1, nullptr, 'i'}, {"help", 0, nullptr, 'h'},   {nullptr, 0, nullptr, 0},
    };
    Options options;
    for (int found; (found = getopt_long(count, arguments, "h", known, nullptr)) != -1;) {
        switch (found) {
        case 'n': options.plan.rounds = std::max(1, std::atoi(optarg)); break;
        case 'm': options.plan.round_ns = std::max(1, std::atoi(optarg)) * 1000000ll; break;
        case 'q': options.plan.rounds = 3, options.plan.round_ns = 20000000, options.plan.timeouts_1ms = 5; break;
        case 'r': options.rows = optarg; break;
        case 's': options.subjects = optarg; break;
        case 't': options.tsv = optarg; break;
        case 'T': options.tables = false; break;
        case 'l': options.list = true; break;
        case 'S': options.single = optarg; break;
        case 'i': options.iterations = std::strtoull(optarg, nullptr, 10); break;
        case 'h': usage(stdout); std::exit(0);
        default: usage(stderr); std::exit(2);
        }
    }
    for (const Subject &subject : all_subjects()) {
        if (matches(subject.name, options.subjects)) options.plan.subjects.push_back(subject);
    }
    return options;
}

static int run_single(const Options &options) {
    for (const Subject &subject : all_subjects()) {
        if (subject.name != options.single) continue;
        subject.single(options.iterations);
        return 0;
    }
    std::fprintf(stderr, "lockbench: no lock is named %s\n", options.single.c_str());
    return 2;
}

int main(int count, char **arguments) {
    const Options options = parse(count, arguments);
    if (options.list) {
        for (const Subject &subject : options.plan.subjects) std::printf("%s\n", subject.name.c_str());
        return 0;
    }
    if (!options.single.empty()) return run_single(options);

    std::vector<Row> rows;
    for (const Group &group : all_groups()) {
        if (!matches(group.name, options.rows)) continue;
        std::fprintf(stderr, "c: %s\n", group.name.c_str());
        const auto more = group.measure(options.plan);
        rows.insert(rows.end(), more.begin(), more.end());
    }
    if (options.tables) print_tables(rows, all_subjects().front().name);
    if (!options.tsv.empty() && !write_rows(options.tsv, rows)) {
        std::perror(options.tsv.c_str());
        return 1;
    }
    return 0;
}
