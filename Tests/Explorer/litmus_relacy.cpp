// litmus_relacy.cpp: runs litmus programs in Relacy (Debian's relacy-dev), which has a memory model of its own, and
// prints all that they ended with. litmus_relacy.py writes the input and compares.
//
//   litmus_relacy ITERATIONS      by Relacy's random scheduler, whose schedules are the same each time
//
// A line of the input is a program in numbers: how many threads it has; for each thread how many steps; for each step
//   kind  target  place  value  wanted  order  failure
// A value of 100 or more is register value-100. What is printed: by line of the input what it ended with, registers and
// then places, and an empty line.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>

#include "relacy/relacy.hpp"

namespace {

enum { REGISTERS = 8, PLACES = 8, THREADS = 4, STEPS = 16, ENDS = 4096, REGISTER = 100 };
enum kind { LOAD, STORE, SWAP, ADD, CAS, FENCE, BARRIER };

struct step {
    int kind, target, place;
    unsigned value, wanted;
    int order, failure;
};
struct end {
    unsigned registers[REGISTERS], places[PLACES];
};

step steps[THREADS][STEPS];
int counts[THREADS];
end ends[ENDS]; // no allocation within an iteration, which Relacy would count
int end_count;

const rl::memory_order orders[] = { rl::mo_relaxed, rl::mo_acquire, rl::mo_release, rl::mo_acq_rel, rl::mo_seq_cst };

void note(const end &found) {
    for (int i = 0; i < end_count; i++)
        if (memcmp(&ends[i], &found, sizeof found) == 0) return;
    if (end_count == ENDS) abort();
    ends[end_count++] = found;
}

template <rl::thread_id_t count>
struct litmus : rl::test_suite<litmus<count>, count> {
    rl::atomic<unsigned> places[PLACES];
    unsigned registers[REGISTERS];

    void before() {
        for (auto &place : places) place.store(0, rl::mo_relaxed, $);
        memset(registers, 0, sizeof registers);
    }
    unsigned of(unsigned value) const { return value < REGISTER ? value : registers[value - REGISTER]; }

    unsigned perform(const step &step) {
        rl::atomic<unsigned> &place = places[step.place];
        const rl::memory_order order = orders[step.order];
        unsigned seen = of(step.wanted);
        switch (step.kind) {
        case LOAD: return place.load(order, $);
        case STORE: place.store(of(step.value), order, $); return 0;
        case SWAP: return place.exchange(of(step.value), order, $);
        case ADD: return place.fetch_add(of(step.value), order, $);
        case CAS:
            place.compare_exchange(rl::bool_t<false>(), seen, of(step.value), order, orders[step.failure], $);
            return seen;
        case FENCE: rl::atomic_thread_fence(order, $); return 0;
        default: rl::systemwide_fence($); return 0;
        }
    }
    void thread(unsigned index) {
        for (int i = 0; i < counts[index]; i++) {
            unsigned seen = perform(steps[index][i]);
            if (steps[index][i].target >= 0) registers[steps[index][i].target] = seen;
        }
    }
    void after() {
        end found;
        memcpy(found.registers, registers, sizeof registers);
        for (int i = 0; i < PLACES; i++) found.places[i] = places[i].debug_value();
        note(found);
    }
};

template <rl::thread_id_t count>
bool simulate(rl::iteration_t iterations) {
    std::ostringstream said;
    rl::test_params parameters;
    parameters.iteration_count = iterations;
    parameters.output_stream = parameters.progress_stream = &said;
    if (rl::simulate<litmus<count>>(parameters)) return true;
    std::cerr << said.str();
    return false;
}

bool run(int threads, rl::iteration_t iterations) {
    switch (threads) {
    case 1: return simulate<1>(iterations);
    case 2: return simulate<2>(iterations);
    case 3: return simulate<3>(iterations);
    case 4: return simulate<4>(iterations);
    default: return false;
    }
}

bool read(std::istream &from, int &threads) {
    from >> threads;
    for (int t = 0; t < threads; t++) {
        from >> counts[t];
        for (int i = 0; i < counts[t]; i++) {
            step &to = steps[t][i];
            from >> to.kind >> to.target >> to.place >> to.value >> to.wanted >> to.order >> to.failure;
        }
    }
    return !from.fail();
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        int threads = 0;
        end_count = 0;
        if (!read(words, threads) || !run(threads, strtoull(argv[1], nullptr, 10))) return 1;
        for (int i = 0; i < end_count; i++) {
            for (unsigned value : ends[i].registers) printf("%u ", value);
            for (unsigned value : ends[i].places) printf("%u ", value);
            printf("\n");
        }
        printf("\n");
    }
    return 0;
}
