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

#ifdef HAVE_TBB
#define TBB_QUEUE , TBBQueue
#define TBB_POOL , TBBArena
#else
#define TBB_QUEUE
#define TBB_POOL
#endif
#ifdef HAVE_MOODYCAMEL
#define MOODYCAMEL_QUEUE , Moodycamel
#else
#define MOODYCAMEL_QUEUE
#endif
#ifdef HAVE_UV
#define UV_POOL , UV
#else
#define UV_POOL
#endif
#define QUEUES PriorityQueue TBB_QUEUE MOODYCAMEL_QUEUE
#define POOLS Pool, Concurrent TBB_POOL UV_POOL

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

template <class... Subjects, class F>
static void group(const std::string &name, const std::vector<std::string> &only, const char *ratio, F &&body) {
    if (!is_named(name, only)) return;
    run(name, ratio, [&](Table &t) { each_round<Subjects...>(t, [&](auto *subject) { body(t, subject); }); });
}

int main(int argc, char **argv) {
    std::vector<std::string> only;
    tsv = fopen("/dev/null", "w");
    // Every round is as long as its items take, whatever --millis says.
    for (int i = 1; i < argc; i++) {
        if (take_option(argc, argv, i, only)) continue;
        fprintf(stderr, "usage: queuebench [--rounds N] [--tsv FILE] [--only TEXT]\n");
        return 2;
    }
    // libuv's pool has four threads unless it is told; the others have as many as there are processors.
    setenv("UV_THREADPOOL_SIZE", std::to_string(sysconf(_SC_NPROCESSORS_ONLN)).c_str(), 0);
    for (auto [producers, consumers] : {std::pair(1, 1), std::pair(4, 1), std::pair(4, 4)})
        group<QUEUES>("items through a queue, " + std::to_string(producers) + " to " + std::to_string(consumers), only,
                      "ns", [&, producers = producers, consumers = consumers](Table &t, auto *subject) {
                          through<std::remove_pointer_t<decltype(subject)>>(t, producers, consumers);
                      });
    group<QUEUES>("an item to another thread and back", only, "",
                  [&](Table &t, auto *subject) { there_and_back<std::remove_pointer_t<decltype(subject)>>(t); });
    for (int submitters : {1, 4})
        group<POOLS>("jobs of a pool, " + std::to_string(submitters) + (submitters == 1 ? " submitter" : " submitters"),
                     only, "ns",
                     [&](Table &t, auto *subject) { jobs<std::remove_pointer_t<decltype(subject)>>(t, submitters); });
    return 0;
}
