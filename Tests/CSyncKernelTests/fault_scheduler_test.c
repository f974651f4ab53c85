/* fault_scheduler_test.c: on one processor, a real-time thread waits for a step of a usual thread that it has taken the
 * processor from. Yielding gives the processor to nobody of a lower class: the other came to its step when the system
 * throttled real-time threads, after 0.95 s, or never. */
#include "child.h"

#include <csynckernel/csynckernel.h>
#include <dlfcn.h>

#include "queue/workqueue.h"

/* This program's own pthread_create, in front of the C library's: what it is to do first. */
static void (*before_next_thread)(void);

typedef int (*create_t)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*body)(void *),
                   void *restrict context) {
    void (*first)(void) = before_next_thread;
    before_next_thread = NULL;
    if (first != NULL) first();
    create_t real;
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    CHECK(real != NULL);
    return real(thread, attributes, body, context);
}

static csk_workqueue_t queue;
static csk_work_t work;
static csk_pool_item_t items[2];
static void (*waits)(void);
static pthread_t waiter;
static int64_t busy_ns;

static int64_t own_time_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void *wait_in_real_time(void *unused) {
    int64_t before_ns = own_time_ns();
    waits();
    busy_ns = own_time_ns() - before_ns;
    return unused;
}

/* The calling thread goes on only when the new one lets it. */
static int create_in_real_time(void *(*body)(void *)) {
    pthread_attr_t attributes;
    struct sched_param priority = { .sched_priority = 1 };
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &priority);
    int error = pthread_create(&waiter, &attributes, body, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}
static void start_waiter(void) { CHECK_EQ(create_in_real_time(wait_in_real_time), 0); }

static void expect_little(const char *what) {
    CHECK(pthread_join(waiter, NULL) == 0);
    if (busy_ns > 200000000) printf("%s: busy for %" PRId64 " ms; ", what, busy_ns / 1000000);
    CHECK_LE(busy_ns, 200000000);
}

static void wait_for_timers(void) { CHECK_STATUS(csk_timer_prepare(), 0); }
static void do_nothing(csk_pool_item_t *item) { (void)item; }
static void wait_for_pool(void) { CHECK_STATUS(csk_pool_post(&items[1], do_nothing), 0); }
static void wait_for_link(void) { CHECK_EQ(csk_workqueue_waiting(&queue), 1); }
static void wait_for_pin(void) { CHECK_STATUS(csk_workqueue_destroy(&queue), 0); }

static void run(csk_work_t *ran, int status) { (void)ran, (void)status; }

static void wait_each_way(void *unused) {
    (void)unused;
    waits = wait_for_timers;
    before_next_thread = start_waiter;
    CHECK_STATUS(csk_timer_prepare(), 0);
    expect_little("while the timer thread is being started");

    waits = wait_for_pool;
    before_next_thread = start_waiter;
    CHECK_STATUS(csk_pool_post(&items[0], do_nothing), 0);
    expect_little("while the first worker is being started");

    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    CHECK_STATUS(csk_workqueue_enqueue(&queue, &work, run), 0);
    CHECK_STATUS(csk_workqueue_cancel(&queue, &work), 0);
    waits = wait_for_link;
    work.node.next = NULL;
    work.place = PLACE_INBOX;
    (void)csk_exchange(&queue.inbox_last, &work, CSK_SEQ_CST);
    start_waiter();
    csk_store(&queue.inbox_first, &work, CSK_RELEASE);
    expect_little("while work is being linked");
    CHECK_STATUS(csk_workqueue_cancel(&queue, &work), 0);

    waits = wait_for_pin;
    csk_workqueue_pin(&queue);
    start_waiter();
    csk_workqueue_unpin(&queue);
    expect_little("while a worker leaves");
}

static void *end_at_once(void *unused) { return unused; }

static void real_time_threads_let_others_make_the_step_that_they_wait_for(void) {
    cpu_set_t one;
    CHECK_EQ(sched_getaffinity(0, sizeof one, &one), 0);
    int processor = 0;
    while (!CPU_ISSET(processor, &one)) processor++;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    if (create_in_real_time(end_at_once) != 0) {
        printf("no real-time threads are permitted; ");
        return;
    }
    join_thread(waiter);
    in_a_child(wait_each_way, NULL);
}

TEST_MAIN(TEST(real_time_threads_let_others_make_the_step_that_they_wait_for))
