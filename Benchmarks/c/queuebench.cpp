// queuebench: blocking queues and pools of threads side by side in one run; see harness.hpp for how the rows are made.
//
//   queuebench [--rounds N] [--tsv FILE] [--only TEXT]     the rows, or groups with TEXT in their names
//
// What one end does with an item is nothing, so that only the hand-over is measured.
#include <string>
#include <thread>

#include <unistd.h>

#include "harness.hpp"
#include "queues.hpp"

#define QUEUES PriorityQueue WITH_TBB(TBBQueue) WITH_MOODYCAMEL(Moodycamel)
#define POOLS Pool, Concurrent WITH_TBB(TBBArena) WITH_UV(UV)

static const int times = 40000;

template <class F>
static void on_threads(int threads, F &&body) {
    std::vector<std::thread> team;
    for (int t = 0; t < threads; t++) team.emplace_back([&, t] { body(t); });
    for (auto &thread : team) thread.join();
}

// Each consumer takes its share of the items.
template <class Queue>
static void through(Table &table, int producers, int consumers) {
    Queue queue;
    int share = times / producers;
    std::vector<Item> items(size_t(share) * producers);
    for (size_t i = 0; i < items.size(); i++) items[i].number = long(i);
    int64_t begin = csk_now();
    on_threads(producers + consumers, [&](int t) {
        if (t < producers)
            for (int i = 0; i < share; i++) queue.push(&items[size_t(t) * share + i]);
        else
            for (int i = 0; i < share * producers / consumers; i++) queue.pop();
    });
    table.add(Queue::name, "ns", double(csk_now() - begin) / times);
}

// From a push until its answer is there, each end asleep in between.
template <class Queue>
static void there_and_back(Table &table) {
    Queue there, back;
    const int n = 2000;
    Item item{};
    std::thread echo([&] {
        for (int i = 0; i < n; i++) back.push(there.pop());
    });
    Histogram samples;
    for (int i = 0; i < n; i++) {
        int64_t begin = csk_now();
        there.push(&item);
        back.pop();
        samples.record(uint64_t(csk_now() - begin));
    }
    echo.join();
    table.pools[Queue::name].push_back(samples);
}

template <class Pool>
static void jobs(Table &table, int submitters) {
    Pool pool;
    int share = times / submitters;
    std::vector<Job> all(size_t(share) * submitters);
    int64_t begin = csk_now();
    on_threads(submitters, [&](int t) {
        typename Pool::On on(pool);
        Countdown countdown(share);
        for (int i = 0; i < share; i++) {
            Job &job = all[size_t(t) * share + i];
            job.countdown = &countdown;
            on.submit(&job);
        }
        on.finish(countdown);
    });
    table.add(Pool::name, "ns", double(csk_now() - begin) / times);
}

int main(int argc, char **argv) {
    // Every round is as long as its items take, whatever --millis says.
    take_options(argc, argv, "queuebench [--rounds N] [--tsv FILE] [--only TEXT]");
    // libuv's pool has four threads unless it is told; the others have as many as there are processors.
    setenv("UV_THREADPOOL_SIZE", std::to_string(sysconf(_SC_NPROCESSORS_ONLN)).c_str(), 0);
    for (auto [producers, consumers] : {std::pair(1, 1), std::pair(4, 1), std::pair(4, 4)})
        measure_if_named<QUEUES>("items through a queue, " + std::to_string(producers) + " to " +
                                     std::to_string(consumers),
                                 "ns", [&, producers = producers, consumers = consumers]<class S>(Table &t) {
                                     through<S>(t, producers, consumers);
                                 });
    measure_if_named<QUEUES>("an item to another thread and back", "",
                             [&]<class S>(Table &t) { there_and_back<S>(t); });
    for (int submitters : {1, 4})
        measure_if_named<POOLS>("jobs of a pool, " + std::to_string(submitters) +
                                    (submitters == 1 ? " submitter" : " submitters"),
                                "ns", [&]<class S>(Table &t) { jobs<S>(t, submitters); });
    return 0;
}
