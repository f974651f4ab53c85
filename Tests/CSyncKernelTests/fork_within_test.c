/* fork_within_test.c: functions of the library's threads that fork, and return or end their thread in the child:
 * nothing of the parent's goes on there, and nothing of the child's is lost.
 *
 * More than 400 lines: every kind of function, by the same steps in parent and child. */
#include "child.h"
#ifdef CSK_TEST_EMULATED
#include "emulated_calls.h"
#endif

#include <dirent.h>

#include <csynckernel/csynckernel.h>
#include <csynckernel/lanes.h>
#include <dlfcn.h>
#include <signal.h>

/* This program's own pthread_create, in front of the C library's: refuses, or keeps the thread that `is_held` in it
 * until the fork. */
static uint32_t refuse_with, forked;
static _Thread_local bool is_held;

/* The library's threads, and who starts them, block the watchdog's signal. */
static void let_the_watchdog_in(void) {
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
}

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*body)(void *),
                   void *restrict context) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (LOAD(&refuse_with) != 0) return (int)LOAD(&refuse_with);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
#ifdef CSK_TEST_EMULATED
    emulated_begin_start(context);
#endif
    int error = real(thread, attributes, body, context);
#ifdef CSK_TEST_EMULATED
    if (error != 0) emulated_end_start(context);
#endif
    if (is_held) {
        let_the_watchdog_in();
        wait_until(LOAD(&forked));
    }
    return error;
}

static uint32_t is_child, parents_in_child, ran_in_child, may_end, thread_ended, grandchild_failed;
static void *(*check_child)(void *);

static void *end_child(void *unused) {
    check_child(unused);
    CHECK_EQ(LOAD(&parents_in_child), 0);
    fflush(stdout);
    _exit(0);
}

/* True in the child, where a thread checks what has to be true and ends the process; in the parent once the child has
 * ended. */
static bool fork_here(void *(*check)(void *)) {
    check_child = check;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        let_the_watchdog_in();
        alarm(TEST_WATCHDOG_S);
        STORE(&is_child, 1);
        start_thread(end_child, NULL);
        return true;
    }
    int status = wait_for_child(child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) STORE(&grandchild_failed, 1);
    STORE(&forked, 1);
    return false;
}

/* Destructors of thread-local values run after whatever the library does for the end of its thread. */
static void note_end(void *unused) {
    (void)unused;
    STORE(&thread_ended, 1);
}
static void end_thread(void) {
    pthread_key_t key;
    CHECK_EQ(pthread_key_create(&key, note_end), 0);
    CHECK_EQ(pthread_setspecific(key, &thread_ended), 0);
    pthread_exit(NULL);
}

static void await_fork(void) {
    wait_until(LOAD(&forked));
    CHECK_EQ(LOAD(&grandchild_failed), 0);
}

/* ---- Writes ------------------------------------------------------------------------------------------------------ */

static csk_rwlock_t lock;
static csk_rwlock_write_t writes[4];

static void write_of_child(csk_rwlock_write_t *write) {
    (void)write;
    STORE(&ran_in_child, 1);
    CHECK_STATUS(csk_rwlock_finish_write(&lock), 0);
}
static void write_of_parent(csk_rwlock_write_t *write) {
    (void)write;
    if (LOAD(&is_child)) ADD(&parents_in_child, 1);
    CHECK_STATUS(csk_rwlock_finish_write(&lock), 0);
}

static void *await_own_write(void *unused) {
    wait_until(LOAD(&ran_in_child));
    CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
    return unused;
}
static void fork_and_enqueue(csk_rwlock_write_t *write) {
    (void)write;
    if (fork_here(await_own_write)) CHECK_STATUS(csk_rwlock_enqueue_write(&lock, &writes[1], write_of_child), 0);
    CHECK_STATUS(csk_rwlock_finish_write(&lock), 0);
}
static void enqueue_in_child(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_rwlock_enqueue_write(&lock, &writes[0], fork_and_enqueue), 0);
    await_fork();
}
static void what_a_child_enqueues_in_a_write_runs(void) { in_a_child(enqueue_in_child, NULL); }

static void *enter_after_the_thread(void *unused) {
    wait_until(LOAD(&thread_ended));
    CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
    return unused;
}
static void fork_and_end(csk_rwlock_write_t *write) {
    (void)write;
    if (fork_here(enter_after_the_thread)) end_thread();
    CHECK_STATUS(csk_rwlock_finish_write(&lock), 0);
}
static void end_in_a_batch(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
    CHECK_STATUS(csk_rwlock_enqueue_write(&lock, &writes[0], fork_and_end), 0);
    for (int i = 1; i < 4; i++) CHECK_STATUS(csk_rwlock_enqueue_write(&lock, &writes[i], write_of_parent), 0);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    await_fork();
}
static void a_thread_that_ends_in_a_child_leaves_the_parents_writes_to_it(void) { in_a_child(end_in_a_batch, NULL); }

/* ---- Work -------------------------------------------------------------------------------------------------------- */

static csk_workqueue_t queue;
static csk_delayed_t delayed;
static csk_work_t works[4];

static void *await_end_of_thread(void *unused) {
    wait_until(LOAD(&thread_ended));
    CHECK_STATUS(csk_workqueue_drain(&queue, CSK_NEVER), 0);
    return unused;
}
static void fork_in_period(csk_work_t *work, int status) {
    (void)work, (void)status;
    if (LOAD(&is_child)) ADD(&parents_in_child, 1);
    else if (!LOAD(&forked) && fork_here(await_end_of_thread)) end_thread();
}
static void end_in_a_period(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_delayed_start(&delayed, &queue, csk_deadline_after(1000000), 1000000, fork_in_period), 0);
    await_fork();
}
static void periodic_work_that_ends_its_thread_in_a_child_is_not_called_there(void) {
    in_a_child(end_in_a_period, NULL);
}

static void work_of_parent(csk_work_t *work, int status) {
    (void)work, (void)status;
    if (LOAD(&is_child)) ADD(&parents_in_child, 1);
    wait_until(LOAD(&may_end) || LOAD(&is_child));
}
static void work_of_child(csk_work_t *work, int status) {
    (void)work;
    CHECK_STATUS(status, 0);
    STORE(&ran_in_child, 1);
}
static void *use_queue_anew(void *unused) {
    CHECK_STATUS(csk_workqueue_enqueue(&queue, &works[3], work_of_child), 0);
    wait_until(LOAD(&ran_in_child));
    CHECK_STATUS(csk_workqueue_drain(&queue, CSK_NEVER), 0);
    return unused;
}
static void fork_when_drained(csk_workqueue_wait_t *wait) {
    (void)wait;
    fork_here(use_queue_anew);
}
static void fork_in_a_drain(void *unused) {
    static csk_workqueue_wait_t drained;
    (void)unused;
    CHECK_STATUS(csk_workqueue_enqueue(&queue, &works[0], work_of_parent), 0);
    csk_workqueue_drain_async(&queue, &drained, fork_when_drained, NULL);
    CHECK_STATUS(csk_workqueue_enqueue(&queue, &works[1], work_of_parent), 0);
    CHECK_STATUS(csk_workqueue_enqueue(&queue, &works[2], work_of_parent), 0);
    STORE(&may_end, 1);
    await_fork();
}
static void what_comes_after_a_drain_that_forks_runs_in_the_parent_alone(void) { in_a_child(fork_in_a_drain, NULL); }

static void *drain_queue(void *unused) {
    CHECK_STATUS(csk_workqueue_drain(&queue, CSK_NEVER), 0);
    return unused;
}
static void refuse_work(csk_work_t *work, int status) {
    CHECK_STATUS(status, ECANCELED);
    if (work != &works[0]) {
        if (LOAD(&is_child)) ADD(&parents_in_child, 1);
    } else if (fork_here(drain_queue)) {
        STORE(&thread_ended, 0);
    }
}
/* The thread that shuts down goes on in both. */
static void fork_in_a_refusal(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    for (int i = 0; i < 3; i++) CHECK_STATUS(csk_workqueue_enqueue(&queue, &works[i], refuse_work), 0);
    csk_workqueue_shutdown(&queue, true);
    CHECK_EQ(LOAD(&parents_in_child), 0);
    if (!LOAD(&is_child)) await_fork();
}
static void what_a_shutdown_refuses_is_told_in_the_parent_alone(void) { in_a_child(fork_in_a_refusal, NULL); }

/* ---- The pool's hook --------------------------------------------------------------------------------------------- */

static csk_pool_item_t item, ending;

static void run_item(csk_pool_item_t *unused) {
    (void)unused;
    ADD(&ran_in_child, 1);
}
static void end_item(csk_pool_item_t *unused) {
    (void)unused;
    end_thread();
}
static void *end_workers(void *unused) {
    for (uint32_t i = 1; i <= 4; i++) {
        uint32_t before = LOAD(&ran_in_child);
        CHECK_STATUS(csk_pool_post(&item, run_item), 0);
        wait_until(LOAD(&ran_in_child) > before);
        STORE(&thread_ended, 0);
        CHECK_STATUS(csk_pool_post(&ending, end_item), 0);
        wait_until(LOAD(&thread_ended));
    }
    return unused;
}
static void fork_at_start(void *unused) {
    (void)unused;
    static uint32_t starts;
    if (ADD(&starts, 1) == 1) fork_here(end_workers);
}
static void fork_in_the_hook(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_pool_configure(&(csk_pool_attr_t){ .least = 1, .start = fork_at_start }), 0);
    CHECK_STATUS(csk_pool_post(&item, run_item), 0);
    await_fork();
}
static void a_childs_workers_are_counted_where_the_start_hook_forks(void) { in_a_child(fork_in_the_hook, NULL); }

/* The thread that ends is counted no more, and another comes although there may be one only. */
static uint32_t hook_starts;
static void end_at_first_starts(void *unused) {
    (void)unused;
    if (ADD(&hook_starts, 1) <= 3) end_thread();
}
static void say_nothing(const csk_event_t *event) { (void)event; }
static void end_in_the_hook(void *unused) {
    (void)unused;
    (void)csk_set_reporter(say_nothing);
    CHECK_STATUS(csk_pool_configure(&(csk_pool_attr_t){ .least = 1, .most = 1, .start = end_at_first_starts }), 0);
    CHECK_STATUS(csk_pool_post(&item, run_item), 0);
    wait_until(LOAD(&ran_in_child));
    CHECK_EQ(LOAD(&hook_starts), 4);
    CHECK_EQ(csk_pool_workers(), 1);
}
static void a_worker_whose_start_hook_ends_its_thread_is_replaced(void) { in_a_child(end_in_the_hook, NULL); }

/* ---- The supervisor ---------------------------------------------------------------------------------------------- */

static int count_threads(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    CHECK(folder != NULL);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}
static void *post_first(void *unused) {
    int before = count_threads();
    CHECK_STATUS(csk_pool_post(&item, run_item), 0);
    CHECK_EQ(count_threads(), before + 1); /* a worker: it is the supervisor that has forked */
    wait_until(LOAD(&ran_in_child));
    return unused;
}
static void fork_once_stuck(const csk_event_t *event) {
    if (event->kind == CSK_EVENT_POOL_STUCK && !LOAD(&forked)) fork_here(post_first);
}
static void await_the_fork(csk_pool_item_t *unused) {
    (void)unused;
    wait_until(LOAD(&forked));
}
static void fork_in_a_reporter(void *unused) {
    (void)unused;
    static csk_pool_item_t first;
    (void)csk_set_reporter(fork_once_stuck);
    CHECK_STATUS(csk_pool_configure(&(csk_pool_attr_t){ .least = 1, .most = 1 }), 0);
    CHECK_STATUS(csk_pool_post(&first, await_the_fork), 0);
    CHECK_STATUS(csk_pool_post(&ending, run_item), 0);
    await_fork();
}
static void a_child_of_the_supervisor_has_no_other_one(void) { in_a_child(fork_in_a_reporter, NULL); }

/* ---- The reclaiming thread --------------------------------------------------------------------------------------- */

static csk_rcu_node_t forks, reclaimed;

static void note_reclaimed(csk_rcu_node_t *unused) {
    (void)unused;
    STORE(&ran_in_child, 1);
}
static void *retire_another(void *unused) {
    CHECK_STATUS(csk_rcu_retire(&reclaimed, note_reclaimed), 0);
    wait_until(LOAD(&ran_in_child));
    return unused;
}
static void fork_in_function(csk_rcu_node_t *unused) {
    (void)unused;
    fork_here(retire_another);
}
/* What was refused a thread waits already, and its function forks before who has started the thread can say so. */
static void fork_before_the_thread_is_known(void *unused) {
    (void)unused;
    STORE(&refuse_with, EAGAIN);
    CHECK_STATUS(csk_rcu_retire_always(&forks, fork_in_function), 0);
    STORE(&refuse_with, 0);
    is_held = true;
    CHECK_STATUS(csk_rcu_prepare(), 0);
    await_fork();
}
static void a_reclaiming_thread_that_forks_at_once_is_known_in_the_child(void) {
    in_a_child(fork_before_the_thread_is_known, NULL);
}

/* ---- Grants ------------------------------------------------------------------------------------------------------ */

static csk_gate_t gate;
static csk_waiter_t waiter;
static csk_gate_lane_t lane; /* of an executor */
static uint32_t stop, adoptions;

static void do_nothing(csk_waiter_t *unused, void *context, int status) { (void)unused, (void)context, (void)status; }

static void *adopt_again_and_again(void *in_lane) {
    csk_rank_t rank = csk_rank(0, CSK_PLACE_BACK);
    while (!LOAD(&stop)) {
        if (in_lane != NULL)
            CHECK_STATUS(csk_gate_lock_lane(&gate, rank, &waiter, &lane, CSK_NEVER, do_nothing, NULL), 0);
        else CHECK_STATUS(csk_gate_lock_async_ranked(&gate, rank, &waiter, true, CSK_NEVER, do_nothing, NULL), 0);
        CHECK_STATUS(csk_gate_adopt(&gate, &waiter), 0);
        ADD(&adoptions, 1);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
    }
    return NULL;
}
static void look_at_gate(void *unused) {
    (void)unused;
    int status = csk_gate_trylock(&gate, 0);
    /* the other thread's, which has adopted it */
    if (status != 0) CHECK((gate.held & ~UINT64_C(15)) != CSK_GATE_NOBODY);
}
static void fork_amid(uint32_t policy, void *in_lane) {
    CHECK_STATUS(csk_gate_init(&gate, &(csk_gate_attr_t){ .policy = policy }), 0);
    pthread_t thread = start_thread(adopt_again_and_again, in_lane);
    for (int i = 0; i < TEST_ROUNDS(400); i++) {
        uint32_t before = LOAD(&adoptions);
        wait_until(LOAD(&adoptions) != before);
        in_a_child(look_at_gate, NULL);
    }
    STORE(&stop, 1);
    join_thread(thread);
}
static void fork_amid_adoptions(void *policy) { fork_amid(*(const uint32_t *)policy, NULL); }
static void fork_amid_tasks(void *policy) { fork_amid(*(const uint32_t *)policy, &lane); }
static void no_child_finds_a_tasks_grant_that_nobody_can_adopt(void) {
    for (uint32_t policy = CSK_GATE_FAST; policy <= CSK_GATE_STRICT; policy++) in_a_child(fork_amid_tasks, &policy);
}
static void no_child_finds_a_grant_that_nobody_can_adopt(void) {
    for (uint32_t policy = CSK_GATE_FAST; policy <= CSK_GATE_STRICT; policy++) in_a_child(fork_amid_adoptions, &policy);
}

/* ---- Stacks ------------------------------------------------------------------------------------------------------ */

static void count_work(csk_work_t *work, int status) {
    (void)work, (void)status;
    STORE(&ran_in_child, 1);
}
static void *enqueue_first(void *unused) {
    CHECK_STATUS(csk_workqueue_enqueue(&queue, &works[0], count_work), 0);
    return unused;
}
static void begin_on_a_small_stack(void *unused) {
    (void)unused;
    pthread_attr_t attr;
    pthread_t thread;
    CHECK_EQ(pthread_attr_init(&attr), 0);
    CHECK_EQ(pthread_attr_setstacksize(&attr, test_stack_size(TEST_IS_SANITIZED ? 256 * 1024 : 16 * 1024)), 0);
    CHECK_EQ(pthread_create(&thread, &attr, enqueue_first, NULL), 0);
    join_thread(thread);
    wait_until(LOAD(&ran_in_child));
}
static void the_first_work_of_a_process_takes_little_stack(void) { in_a_child(begin_on_a_small_stack, NULL); }

/* ---- The C library ----------------------------------------------------------------------------------------------- */

static void *return_at_once(void *unused) { return unused; }
static void *go_on_without_it(void *unused) {
    wait_until(has_first_thread_ended());
    for (int i = 0; i < 3; i++) join_thread(start_thread(return_at_once, unused));
    return unused;
}
static void *fork_and_return(void *unused) {
    fork_here(go_on_without_it);
    return unused;
}
static void fork_in_a_thread(void *unused) {
    join_thread(start_thread(fork_and_return, unused));
    await_fork();
}
/* The library sees to it, where the C library does not: see platform_fork.c. */
static void threads_begin_and_end_in_a_child_after_the_one_that_forked(void) { in_a_child(fork_in_a_thread, NULL); }

TEST_MAIN(TEST(threads_begin_and_end_in_a_child_after_the_one_that_forked),
          TEST(the_first_work_of_a_process_takes_little_stack), TEST(what_a_child_enqueues_in_a_write_runs),
          TEST(a_thread_that_ends_in_a_child_leaves_the_parents_writes_to_it),
          TEST(periodic_work_that_ends_its_thread_in_a_child_is_not_called_there),
          TEST(what_comes_after_a_drain_that_forks_runs_in_the_parent_alone),
          TEST(what_a_shutdown_refuses_is_told_in_the_parent_alone),
          TEST(a_childs_workers_are_counted_where_the_start_hook_forks),
          TEST(no_child_finds_a_grant_that_nobody_can_adopt), TEST(no_child_finds_a_tasks_grant_that_nobody_can_adopt),
          TEST(a_worker_whose_start_hook_ends_its_thread_is_replaced),
          TEST(a_reclaiming_thread_that_forks_at_once_is_known_in_the_child),
          TEST(a_child_of_the_supervisor_has_no_other_one))
