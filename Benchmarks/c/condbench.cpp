// condbench: predicates and condition variables side by side in one run; see harness.hpp for how the rows are made.
//
//   condbench [--rounds N] [--millis N] [--tsv FILE] [--only TEXT]   the rows, or groups with TEXT in their names
#include <atomic>

#include "harness.hpp"
#include "monitors.hpp"
#include "team.hpp"

#define ALL PthreadConditions WITH_ABSL(AbslPredicates, AbslConditions), KernelPredicates, KernelConditions

// Lets body(number) run on so many threads at once for a window, until `end` has told them to return; the sum of what
// they return, and how long it took.
struct Outcome {
    long sum = 0;
    double ns;
};
template <class Body, class End>
static Outcome for_a_window(int threads, Body &&body, End &&end) {
    Outcome outcome;
    std::vector<Counter> counters(threads);
    outcome.ns = together(
        threads, [&](int t, std::atomic<bool> &) { counters[t].value = body(t); },
        [&] {
            for_millis(window_ms)();
            end();
        });
    for (auto &counter : counters) outcome.sum += counter.value;
    return outcome;
}

// Items are counted, not kept: what is measured is the waiting.
template <class Monitor>
struct alignas(128) Buffer {
    enum { HAS_ROOM, HAS_ITEMS, PLACES = 16 };
    Monitor monitor;
    int items = 0;
    bool ended = false;
    static bool has_room(Buffer *buffer) { return buffer->items < PLACES || buffer->ended; }
    static bool has_items(Buffer *buffer) { return buffer->items > 0 || buffer->ended; }
    bool put() {
        monitor.template enter<has_room>(HAS_ROOM, this);
        bool goes_on = !ended;
        items += goes_on;
        monitor.leave(HAS_ITEMS);
        return goes_on;
    }
    bool take() {
        monitor.template enter<has_items>(HAS_ITEMS, this);
        bool goes_on = !ended;
        items -= goes_on;
        monitor.leave(HAS_ROOM);
        return goes_on;
    }
    void end() {
        monitor.lock();
        ended = true;
        monitor.leave_to_all();
    }
};

// So many threads put items into a buffer, and as many take them out: items a second.
template <class Monitor>
static void bounded_buffer(Table &table, int each) {
    Buffer<Monitor> buffer;
    auto body = [&](int thread) {
        long taken = 0;
        if (thread % 2)
            while (buffer.put()) {}
        else
            while (buffer.take()) taken++;
        return taken;
    };
    auto [items, ns] = for_a_window(2 * each, body, [&] { buffer.end(); });
    table.add(Monitor::name, "Mops/s", double(items) * 1e3 / ns);
}

// Each of so many threads waits for its own turn. Whoever has it gives it to any other, so that those who wait stand in
// no particular order.
template <class Monitor>
struct alignas(128) Turns {
    struct Seat {
        Turns *turns;
        int number;
    };
    Monitor monitor;
    int turn = 0, seats;
    uint32_t choice = 1;
    bool ended = false;
    explicit Turns(int seats) : seats(seats) {}
    static bool is_turn(Seat *seat) { return seat->turns->turn == seat->number || seat->turns->ended; }
    bool take(Seat &seat) {
        monitor.template enter<is_turn>(seat.number, &seat);
        bool goes_on = !ended;
        choice = choice * 1664525 + 1013904223;
        int next = turn = (seat.number + 1 + int((choice >> 16) % uint32_t(seats - 1))) % seats;
        monitor.leave(next);
        return goes_on;
    }
    void end() {
        monitor.lock();
        ended = true;
        monitor.leave_to_all();
    }
};

template <class Monitor>
static void hand_over(Table &table, int threads) {
    Turns<Monitor> turns(threads);
    auto body = [&](int thread) {
        typename Turns<Monitor>::Seat seat = {&turns, thread};
        long taken = 0;
        while (turns.take(seat)) taken++;
        return taken;
    };
    auto [taken, ns] = for_a_window(threads, body, [&] { turns.end(); });
    // Where no turn was taken on a busy machine, one takes the window at least.
    table.add(Monitor::name, "ns", ns / double(std::max(taken, 1L)));
}

int main(int argc, char **argv) {
    prepare_for_locks();
    take_options(argc, argv, "condbench [--rounds N] [--millis N] [--tsv FILE] [--only TEXT]");
    for (int each : {1, 2, 8})
        measure_if_named<ALL>("bounded buffer of 16, " + std::to_string(each) + " to " + std::to_string(each), "Mops/s",
                              [&]<class Monitor>(Table &t) { bounded_buffer<Monitor>(t, each); });
    measure_if_named<ALL>("hand-over to one of 8 that wait, each for something else", "ns",
                          [&]<class Monitor>(Table &t) { hand_over<Monitor>(t, most_conditions); });
    return 0;
}
