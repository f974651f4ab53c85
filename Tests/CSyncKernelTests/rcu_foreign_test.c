/* rcu_foreign_test.c: other users of liburcu in the process: of another flavour, of the same, and a second copy of this
 * library. Each test is a program of its own, since it registers fork handlers, and since a child of fork does without
 * liburcu. */
#define TEST_WATCHDOG_S 60
#include "child.h"

#include <csynckernel/csynckernel.h>
#include <dlfcn.h>
#include <urcu/urcu-memb.h>
#include <urcu/urcu-bp.h>

#include "rcu_plugin.h"

/* Starts this program anew for the test, and does `body` there. */
static void in_a_program(const char *test, void (*body)(void)) {
    if (getenv("CSK_TEST_IS_PROGRAM") != NULL) {
        body();
        return;
    }
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        setenv("CSK_TEST_IS_PROGRAM", "1", 1);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        char program[4096];
        ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
        CHECK(length > 0);
        program[length] = 0;
        run_program(program, "rcu_foreign_test", test);
        _exit(127);
    }
    int status = wait_for_child(child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
}

#define PROGRAM_TEST(name, body) \
    static void name(void) { in_a_program(#name, body); }

static void reclaim(csk_rcu_node_t *node) { ADD((int *)node->context, 1); }

static void *read_once(void *unused) {
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    return unused;
}

static void use_ours(void) {
    int freed = 0;
    csk_rcu_node_t node = { .context = &freed };
    read_once(NULL);
    CHECK_STATUS(csk_rcu_retire(&node, reclaim), 0);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(freed, 1);
}

/* ---- Another flavour --------------------------------------------------------------------------------------------- */

static int theirs;

static void reclaim_theirs(struct rcu_head *head) {
    free(head);
    ADD(&theirs, 1);
}

static void use_memb(void) {
    int before = LOAD(&theirs);
    urcu_memb_read_lock();
    urcu_memb_call_rcu(calloc(1, sizeof(struct rcu_head)), reclaim_theirs);
    urcu_memb_read_unlock();
    urcu_memb_barrier();
    CHECK_GE(LOAD(&theirs), before + 1);
    urcu_memb_synchronize_rcu();
}

static void use_both(void *unused) {
    (void)unused;
    use_memb();
    use_ours();
}

/* What liburcu's documentation tells a program to do that forks. */
static void advise_memb(void) {
    CHECK_EQ(pthread_atfork(urcu_memb_call_rcu_before_fork, urcu_memb_call_rcu_after_fork_parent,
                            urcu_memb_call_rcu_after_fork_child),
             0);
    urcu_memb_register_thread();
    use_both(NULL);
    for (int i = 0; i < 5; i++) in_a_child(use_both, NULL);
    use_both(NULL);
    urcu_memb_unregister_thread();
}

PROGRAM_TEST(a_program_may_do_what_liburcu_asks_for_around_fork, advise_memb)

static void register_with_memb(void) {
    read_once(NULL);
    urcu_memb_register_thread();
    use_both(NULL);
    urcu_memb_unregister_thread();
    use_ours();
}

PROGRAM_TEST(a_thread_that_has_read_may_register_with_another_flavour, register_with_memb)

/* ---- The same flavour -------------------------------------------------------------------------------------------- */

static int stop, started;

/* Inside liburcu most of the time. */
static void *synchronize_on(void *unused) {
    ADD(&started, 1);
    while (!LOAD(&stop)) urcu_bp_synchronize_rcu();
    return unused;
}

static void *read_theirs_on(void *unused) {
    ADD(&started, 1);
    while (!LOAD(&stop)) {
        urcu_bp_read_lock();
        urcu_bp_read_unlock();
        sched_yield(); /* outside: liburcu waits without its locks */
    }
    return unused;
}

static void *begin_threads_on(void *unused) {
    ADD(&started, 1);
    while (!LOAD(&stop)) join_thread(start_thread(read_once, NULL));
    return unused;
}

static void use_ours_in_threads(void *unused) {
    (void)unused;
    read_once(NULL);
    use_ours();
    for (int i = 0; i < 4; i++) join_thread(start_thread(read_once, NULL));
    use_ours();
}

static void fork_on(int rounds, void (*body)(void *)) {
    void *(*bodies[])(void *) = { synchronize_on, read_theirs_on, begin_threads_on };
    pthread_t threads[3];
    use_ours();
    for (int i = 0; i < 3; i++) threads[i] = start_thread(bodies[i], NULL);
    wait_until(LOAD(&started) == 3);
    for (int round = 0; round < rounds; round++) {
        if (round % 2) CHECK_STATUS(csk_rcu_read_lock(), 0);
        pid_t child = start_child(body, NULL);
        if (round % 2) CHECK_STATUS(csk_rcu_read_unlock(), 0);
        CHECK_EQ(wait_for_child(child), 0);
    }
    STORE(&stop, 1);
    for (int i = 0; i < 3; i++) join_thread(threads[i]);
    use_ours();
}

static void *go_on_alone(void *unused) {
    (void)unused;
    wait_until(has_first_thread_ended());
    use_ours_in_threads(NULL);
    fflush(stdout);
    _exit(0);
}

/* liburcu takes its lock when a thread ends that is registered with it. */
static void leave_and_end(void *unused) {
    (void)unused;
    while (csk_rcu_is_reading()) CHECK_STATUS(csk_rcu_read_unlock(), 0);
    use_ours_in_threads(NULL);
    start_thread(go_on_alone, NULL);
    pthread_exit(NULL);
}

/* It has liburcu's locks at most of the forks, and does nothing about it: the child's sections and reclaiming need none
 * of them. */
static void ignore_forks(void) { fork_on(200, leave_and_end); }

static void use_both_of_bp(void *unused) {
    use_ours_in_threads(unused);
    urcu_bp_synchronize_rcu();
}

/* Its handlers hold liburcu's locks over the fork; ours were registered first, and its child handler comes after ours.
 * Outside of sections, for which its handler would wait. */
static void advise_bp(void) {
    CHECK_EQ(pthread_atfork(urcu_bp_before_fork, urcu_bp_after_fork_parent, urcu_bp_after_fork_child), 0);
    pthread_t thread = start_thread(begin_threads_on, NULL);
    for (int i = 0; i < 50; i++) in_a_child(use_both_of_bp, NULL);
    STORE(&stop, 1);
    join_thread(thread);
    use_both_of_bp(NULL);
}

/* It has no section, so nothing but its memory is new to a grace period. */
static void *wait_for_grace(void *unused) {
    CHECK_STATUS(csk_rcu_barrier(), 0);
    return unused;
}

/* A thread that the program alone has registered forks, and ends in the child. Later threads have its memory. */
static void *go_on_with_its_memory(void *unused) {
    (void)unused;
    wait_until(has_first_thread_ended());
    for (int i = 0; i < 4; i++) join_thread(start_thread(wait_for_grace, NULL));
    use_ours_in_threads(NULL);
    fflush(stdout);
    _exit(0);
}

static void end_unknown(void *unused) {
    (void)unused;
    CHECK_EQ(pthread_detach(pthread_self()), 0);
    start_thread(go_on_with_its_memory, NULL);
    pthread_exit(NULL);
}

static void leave_theirs_and_end(void *unused) {
    urcu_bp_read_unlock();
    end_unknown(unused);
}

static void *fork_unknown(void *unused) {
    urcu_bp_read_lock();
    in_a_child(leave_theirs_and_end, NULL);
    urcu_bp_read_unlock();
    in_a_child(end_unknown, NULL);
    return unused;
}

static void fork_from_theirs(void) { join_thread(start_thread(fork_unknown, NULL)); }

PROGRAM_TEST(children_need_none_of_the_locks_of_liburcu, ignore_forks)
PROGRAM_TEST(the_same_flavour_may_be_held_over_a_fork, advise_bp)
PROGRAM_TEST(a_child_forgets_a_thread_of_others_that_ends, fork_from_theirs)

/* ---- Two copies of this library ---------------------------------------------------------------------------------- */

static const rcu_plugin_t *load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) test_fail(__FILE__, __LINE__, "%s", dlerror());
    const rcu_plugin_t *(*plugin)(void) = NULL;
    *(void **)&plugin = dlsym(library, "rcu_plugin");
    CHECK(plugin != NULL);
    return plugin();
}

static const rcu_plugin_t *plugins[2];

static void *use_plugins(void *unused) {
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++) CHECK_STATUS(plugins[i]->lock(), 0);
        for (int i = 0; i < 2; i++) CHECK_STATUS(plugins[(i + round) % 2]->unlock(), 0);
    }
    return unused;
}

static void reclaim_with_plugins(void *unused) {
    for (int i = 0; i < 2; i++) {
        int freed = 0;
        csk_rcu_node_t node = { .context = &freed };
        CHECK_STATUS(plugins[i]->retire(&node, reclaim), 0);
        CHECK_STATUS(plugins[i]->barrier(), 0);
        CHECK_EQ(freed, 1);
    }
    use_plugins(unused);
    for (int i = 0; i < 4; i++) join_thread(start_thread(use_plugins, NULL));
}

static void use_two_plugins(void) {
    plugins[0] = load(PLUGIN_1);
    plugins[1] = load(PLUGIN_2);
    CHECK(plugins[0]->lock != plugins[1]->lock);
    for (int i = 0; i < 4; i++) join_thread(start_thread(use_plugins, NULL));
    reclaim_with_plugins(NULL);
    for (int i = 0; i < 5; i++) in_a_child(reclaim_with_plugins, NULL);
    reclaim_with_plugins(NULL);
}

PROGRAM_TEST(two_plugins_may_contain_the_archive, use_two_plugins)

/* ---- Ends of threads --------------------------------------------------------------------------------------------- */

enum { KEYS = 8, LIVING = 16 };
static pthread_key_t keys[KEYS];
static int reads_at_end, torn;

/* liburcu may have taken the thread's word back, and given it to a thread that lives. */
static void read_at_end(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    for (int i = 0; i < 4; i++) sched_yield();
    if (!csk_rcu_is_reading()) ADD(&torn, 1);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    ADD(&reads_at_end, 1);
}

static void *set_keys(void *unused) {
    for (int i = 0; i < KEYS; i++) pthread_setspecific(keys[i], &torn);
    read_once(NULL);
    return unused;
}

static void *set_keys_on(void *unused) {
    while (!LOAD(&stop)) join_thread(start_thread(set_keys, NULL));
    return unused;
}

static void *live_shortly(void *unused) {
    for (int i = 0; i < 20; i++) {
        CHECK_STATUS(csk_rcu_read_lock(), 0);
        sched_yield();
        if (!csk_rcu_is_reading()) ADD(&torn, 1);
        CHECK_STATUS(csk_rcu_read_unlock(), 0);
    }
    return unused;
}

/* Keys on either side of liburcu's and of ours, whatever the order of destructors is. */
static void end_threads(void) {
    for (int i = 0; i < KEYS / 2; i++) CHECK_EQ(pthread_key_create(&keys[i], read_at_end), 0);
    read_once(NULL);
    for (int i = KEYS / 2; i < KEYS; i++) CHECK_EQ(pthread_key_create(&keys[i], read_at_end), 0);
    pthread_t enders[2], threads[LIVING];
    for (int i = 0; i < 2; i++) enders[i] = start_thread(set_keys_on, NULL);
    for (int round = 0; round < 12 / TEST_SLOWDOWN; round++) {
        for (int i = 0; i < LIVING; i++) threads[i] = start_thread(live_shortly, NULL);
        for (int i = 0; i < LIVING; i++) join_thread(threads[i]);
        use_ours();
    }
    STORE(&stop, 1);
    for (int i = 0; i < 2; i++) join_thread(enders[i]);
    CHECK_EQ(LOAD(&torn), 0);
    CHECK_GE(LOAD(&reads_at_end), KEYS);
    use_ours();
}

PROGRAM_TEST(destructors_read_in_their_own_words, end_threads)

TEST_MAIN(TEST(a_program_may_do_what_liburcu_asks_for_around_fork),
          TEST(a_thread_that_has_read_may_register_with_another_flavour),
          TEST(children_need_none_of_the_locks_of_liburcu), TEST(the_same_flavour_may_be_held_over_a_fork),
          TEST(a_child_forgets_a_thread_of_others_that_ends), TEST(two_plugins_may_contain_the_archive),
          TEST(destructors_read_in_their_own_words))
