// work_exception_test.cpp: an exception that escapes from a function on a thread of the library ends the program, as
// with std::thread.
#include <csynckernel/csynckernel.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

enum { TERMINATED = 42, WENT_ON = 43 };

static csk_workqueue_t queue;
static csk_rwlock_t rwlock;
static csk_work_t work, next;
static csk_delayed_t delayed;
static csk_pool_item_t item;
static csk_rwlock_work_t section;
static csk_rwlock_write_t write_section;
static csk_timer_t timer;
static csk_rcu_node_t node;

[[noreturn]] static void fail() { throw std::runtime_error("escapes"); }

static void expect_zero(int status) {
    if (status != 0) _exit(WENT_ON);
}

static void throws_in_a_work() {
    expect_zero(csk_workqueue_enqueue(&queue, &work, [](csk_work_t *, int) { fail(); }));
    expect_zero(csk_workqueue_enqueue(&queue, &next, [](csk_work_t *, int) { _exit(WENT_ON); }));
}
static void throws_in_a_delayed_work() {
    expect_zero(csk_delayed_start(&delayed, &queue, csk_deadline_after(1000000), 1000000,
                                  [](csk_work_t *, int) { fail(); }));
}
static void throws_in_an_item() {
    expect_zero(csk_pool_post(&item, [](csk_pool_item_t *) { fail(); }));
}
static void throws_in_a_section() {
    expect_zero(csk_rwlock_enqueue(
        &rwlock, &section, CSK_RWLOCK_READ, CSK_NEVER, [](csk_rwlock_work_t *, void *, int) { fail(); }, nullptr));
}
static void throws_in_a_write() {
    expect_zero(csk_rwlock_enqueue_write(&rwlock, &write_section, [](csk_rwlock_write_t *) { fail(); }));
}
static void throws_in_a_timer() {
    expect_zero(csk_timer_start(
        &timer, csk_deadline_after(1000000), [](csk_timer_t *, void *) { fail(); }, nullptr));
}
static void throws_in_a_reclaiming_function() {
    expect_zero(csk_rcu_retire(&node, [](csk_rcu_node_t *) { fail(); }));
}

static int run(void (*throws)()) {
    std::fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        std::set_terminate([] { _exit(TERMINATED); });
        throws();
        for (;;) pause();
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int main() {
    static const struct {
        const char *name;
        void (*throws)();
    } cases[] = {
        { "a work", throws_in_a_work },
        { "a delayed work", throws_in_a_delayed_work },
        { "an item of the pool", throws_in_an_item },
        { "a section", throws_in_a_section },
        { "a write", throws_in_a_write },
        { "a timer's function", throws_in_a_timer },
        { "a reclaiming function", throws_in_a_reclaiming_function },
    };
    int failures = 0;
    for (const auto &one : cases) {
        int status = run(one.throws);
        std::printf("%-24s %s (%d)\n", one.name, status == TERMINATED ? "ok" : "FAILED", status);
        failures += status != TERMINATED;
    }
    return failures != 0;
}
