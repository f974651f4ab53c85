// team.hpp: threads that begin together, and go on until they are told to stop.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "csynckernel/csynckernel.h"

// Calls body(number, stop) on each of so many threads, and meanwhile() on the calling one. Then `stop` is true. Returns
// how long it took until then, in nanoseconds.
template <class Body, class Meanwhile>
static double together(int threads, Body &&body, Meanwhile &&meanwhile) {
    std::atomic<int> arrived{0};
    std::atomic<bool> go{false}, stop{false};
    std::vector<std::thread> team;
    for (int t = 0; t < threads; t++)
        team.emplace_back([&, t] {
            arrived++;
            while (!go) std::this_thread::yield();
            body(t, stop);
        });
    while (arrived < threads) std::this_thread::yield();
    int64_t begin = csk_now();
    go = true;
    meanwhile();
    stop = true;
    double ns = double(csk_now() - begin);
    for (auto &thread : team) thread.join();
    return ns;
}

// Meanwhile nothing happens.
static inline auto for_millis(int millis) {
    return [millis] { std::this_thread::sleep_for(std::chrono::milliseconds(millis)); };
}
