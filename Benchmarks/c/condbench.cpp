// condbench: predicates and condition variables side by side in one run; see harness.hpp for how the rows are made.
//
//   condbench [--rounds N] [--millis N] [--tsv FILE] [--only TEXT]   the rows, or groups with TEXT in their names
#include <atomic>
#include <chrono>
#include <thread>

#include <unistd.h>

#include "harness.hpp"
#include "monitors.hpp"

#ifdef HAVE_ABSL
#define ABSL_ONES , AbslPredicates, AbslConditions
#else
#define ABSL_ONES
#endif
#define ALL PthreadConditions ABSL_ONES, KernelPredicates, KernelConditions

// Lets `body(number)` run on so many threads at once for a window, until `end` has told them to return; the sum of what
// they return, and how long it took.
struct Outcome {
    long sum;
    double ns;
};
template <class Body, class End>
static Outcome together(int threads, Body &&body, End &&end) {
    std::atomic<int> arrived{0};
    std::atomic<bool> go{false};
    std::vector<Counter> counters(threads);
    std::vector<std::thread> team;
    for (int t = 0; t < threads; t++)
        team.emplace_back([&, t] {
            arrived++;
            while (!go) std::this_thread::yield();
            counters[t].value = body(t);
        });
    while (arrived < threads) std::this_thread::yield();
    int64_t begin = csk_now();
    go = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(window_ms));
    end();
    double ns = double(csk_now() - begin);
    long sum = 0;
    for (auto &thread : team) thread.join();
    for (auto &counter : counters) sum += counter.value;
    return {sum, ns};
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
    auto [items, ns] = together(2 * each, body, [&] { buffer.end(); });
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
    auto [taken, ns] = together(threads, body, [&] { turns.end(); });
    table.add(Monitor::name, "ns", ns / double(taken));
}

int main(int argc, char **argv) {
#ifdef HAVE_ABSL
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
    std::vector<std::string> only;
    tsv = fopen("/dev/null", "w");
    // glibc drops its atomics before the first thread exists.
    std::thread([] {
        for (;;) pause();
    }).detach();
    for (int i = 1; i < argc; i++) {
        if (take_option(argc, argv, i, only)) continue;
        fprintf(stderr, "usage: condbench [--rounds N] [--millis N] [--tsv FILE] [--only TEXT]\n");
        return 2;
    }
    auto group = [&](const std::string &name, const char *ratio, auto &&body) {
        if (is_named(name, only)) run(name, ratio, [&](Table &t) { each_round<ALL>(t, [&](auto *l) { body(t, l); }); });
    };
    for (int each : {1, 2, 8})
        group("bounded buffer of 16, " + std::to_string(each) + " to " + std::to_string(each), "Mops/s",
              [&](Table &t, auto *m) { bounded_buffer<std::remove_pointer_t<decltype(m)>>(t, each); });
    group("hand-over to one of 8 that wait, each for something else", "ns",
          [&](Table &t, auto *m) { hand_over<std::remove_pointer_t<decltype(m)>>(t, most_conditions); });
    return 0;
}
