// queues.hpp: queues and pools of threads behind one interface each, so that queuebench drives all of them the same
// way.
//
// A queue: push(T *) from any thread, pop() waits for an item. A pool: post(Job *) from any thread; its threads call
// the job. `parallel` is how many jobs of it may run at once.
#pragma once

#include <atomic>
#include <cstdlib>

#include <semaphore.h>

#include "csynckernel/csynckernel.h"
#include "peers.hpp"

#ifdef HAVE_TBB
#include <tbb/concurrent_queue.h>
#include <tbb/task_arena.h>
#endif
#ifdef HAVE_MOODYCAMEL
#include <concurrentqueue/blockingconcurrentqueue.h>
#endif
#ifdef HAVE_UV
#include <uv.h>
#endif

// What is moved through queues. Each queue that links its items finds the link inside.
struct Item {
    csk_pqueue_item_t link;
    long number;
};

struct PriorityQueue {
    static constexpr const char *name = "csk_pqueue";
    csk_pqueue_t queue = CSK_PQUEUE_INITIALIZER;
    void push(Item *item) {
        if (csk_pqueue_push(&queue, int32_t(item->number % 3), &item->link) != 0) abort();
    }
    Item *pop() {
        csk_pqueue_item_t *link;
        if (csk_pqueue_pop(&queue, &link) != 0) abort();
        return reinterpret_cast<Item *>(link);
    }
};

#ifdef HAVE_TBB
struct TBBQueue {
    static constexpr const char *name = "TBB bounded_queue";
    tbb::concurrent_bounded_queue<Item *> queue;
    void push(Item *item) { queue.push(item); }
    Item *pop() {
        Item *item;
        queue.pop(item);
        return item;
    }
};
#endif

#ifdef HAVE_MOODYCAMEL
struct Moodycamel {
    static constexpr const char *name = "moodycamel";
    moodycamel::BlockingConcurrentQueue<Item *> queue;
    void push(Item *item) {
        if (!queue.enqueue(item)) abort();
    }
    Item *pop() {
        Item *item;
        queue.wait_dequeue(item);
        return item;
    }
};
#endif

// A job counts down, and the last one tells the thread that waits.
struct Countdown {
    std::atomic<long> left;
    sem_t ended;
    explicit Countdown(long jobs) : left(jobs) { sem_init(&ended, 0, 0); }
    ~Countdown() { sem_destroy(&ended); }
    void done() {
        if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) sem_post(&ended);
    }
    void wait() {
        while (sem_wait(&ended) != 0) {}
    }
};

struct Job {
    union {
        csk_pool_item_t pool;
        csk_work_t work;
#ifdef HAVE_UV
        uv_work_t uv;
#endif
    };
    Countdown *countdown;
    Job() {}
    static Job *of(void *member) { return static_cast<Job *>(member); }
};

// A pool's On is what one thread submits with, made by that thread; its `finish` returns when all its jobs have ended.
struct Submitter {
    void finish(Countdown &countdown) { countdown.wait(); }
};

struct Pool {
    static constexpr const char *name = "csk_pool";
    struct On : Submitter {
        explicit On(Pool &) {}
        void submit(Job *job) {
            job->pool.level = CSK_POOL_NORMAL;
            if (csk_pool_post(&job->pool, [](csk_pool_item_t *item) { Job::of(item)->countdown->done(); }) != 0)
                abort();
        }
    };
};

struct Concurrent {
    static constexpr const char *name = "csk_workqueue, wide";
    csk_workqueue_t *queue;
    Concurrent() {
        csk_workqueue_attr_t attr{};
        attr.width = 64;
        if (csk_workqueue_create(&queue, &attr) != 0) abort();
    }
    ~Concurrent() { csk_workqueue_release(queue); }
    struct On : Submitter {
        csk_workqueue_t *queue;
        explicit On(Concurrent &pool) : queue(pool.queue) {}
        void submit(Job *job) {
            if (csk_workqueue_enqueue(queue, &job->work,
                                      [](csk_work_t *work, int) { Job::of(work)->countdown->done(); }) != 0)
                abort();
        }
    };
};

#ifdef HAVE_TBB
struct TBBArena {
    static constexpr const char *name = "TBB task_arena";
    tbb::task_arena arena{tbb::task_arena::automatic};
    struct On : Submitter {
        tbb::task_arena &arena;
        explicit On(TBBArena &pool) : arena(pool.arena) {}
        void submit(Job *job) {
            arena.enqueue([job] { job->countdown->done(); });
        }
    };
};
#endif

#ifdef HAVE_UV
// A loop belongs to its thread, which alone may queue work, and which is told of each job's end. The pool is one for
// all loops.
struct UV {
    static constexpr const char *name = "libuv uv_queue_work";
    struct On {
        uv_loop_t loop;
        explicit On(UV &) {
            if (uv_loop_init(&loop) != 0) abort();
        }
        ~On() {
            if (uv_loop_close(&loop) != 0) abort();
        }
        void submit(Job *job) {
            if (uv_queue_work(
                    &loop, &job->uv, [](uv_work_t *work) { Job::of(work)->countdown->done(); },
                    [](uv_work_t *, int) {}) != 0)
                abort();
        }
        void finish(Countdown &countdown) {
            uv_run(&loop, UV_RUN_DEFAULT);
            countdown.wait();
        }
    };
};
#endif
