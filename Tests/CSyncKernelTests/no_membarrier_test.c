/* no_membarrier_test.c: where a filter refuses membarrier, FAST gates take the one-word form, read-write locks stay
 * without bias, and all are whole all the same.
 *
 * The decision is made once per process, so each test runs in a child of its own; this program itself uses no gate. */
#include "child.h"
#include "lock/gate_queue.h"
#include "system_calls.h"

#include <csynckernel/csynckernel.h>
#include <ucontext.h>

static void refuse_membarrier(int error) {
    refuse_call(SYS_membarrier, error);
    CHECK_EQ(syscall(SYS_membarrier, 0, 0, 0), -1);
    CHECK_EQ(errno, error);
}

enum { THREADS = 8, ROUNDS = 100000 };
static csk_gate_t gate = CSK_GATE_INITIALIZER;
static long inside, entered;

static void *take_turns(void *context) {
    for (int i = 0; i < ROUNDS / TEST_SLOWDOWN; i++) {
        int32_t priority = (int32_t)(intptr_t)context + i % 3;
        int status = i % 8 != 7 ? csk_gate_lock(&gate, priority)
                                : csk_gate_timedlock(&gate, priority, csk_deadline_after(20000));
        if (status == ETIMEDOUT) continue;
        CHECK_STATUS(status, 0);
        CHECK_EQ(++inside, 1);
        entered++;
        inside--;
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
    }
    return NULL;
}

static csk_rwlock_t biased;
static long written, reading, writing;

static void *read_mostly(void *context) {
    for (int i = 0; i < ROUNDS / 4 / TEST_SLOWDOWN; i++) {
        if (i % 16 == (intptr_t)context) {
            CHECK_STATUS(csk_rwlock_wrlock(&biased), 0);
            CHECK_EQ(LOAD(&reading), 0);
            CHECK_EQ(++writing, 1);
            written++;
            writing--;
        } else {
            CHECK_STATUS(csk_rwlock_rdlock(&biased), 0);
            ADD(&reading, 1);
            CHECK_EQ(writing, 0);
            ADD(&reading, -1);
        }
        CHECK_EQ(LOAD(&biased.bias), 0);
        CHECK_STATUS(csk_rwlock_unlock(&biased), 0);
    }
    return NULL;
}

static void read_without_bias(void) {
    csk_rwlock_attr_t attr = { .policy = CSK_RWLOCK_FAST, .reader_bias = 1 };
    pthread_t threads[THREADS];
    CHECK_STATUS(csk_rwlock_init(&biased, &attr), 0);
    CHECK_STATUS(csk_rwlock_wrlock(&biased), 0); /* so that all begin together */
    for (intptr_t i = 0; i < THREADS; i++) threads[i] = start_thread(read_mostly, (void *)i);
    wait_until(csk_rwlock_waiting(&biased) == THREADS);
    CHECK_STATUS(csk_rwlock_unlock(&biased), 0);
    for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
    CHECK_GE(written, THREADS * (ROUNDS / 4 / TEST_SLOWDOWN / 16));
    CHECK_STATUS(csk_rwlock_destroy(&biased), 0);
}

static void use_gate_and_lock(void) {
    pthread_t threads[THREADS];
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0); /* so that all begin together */
    for (intptr_t i = 0; i < THREADS; i++) threads[i] = start_thread(take_turns, (void *)i);
    wait_until(csk_gate_waiting(&gate) >= THREADS - 1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
    CHECK_GE(entered, THREADS * (ROUNDS / TEST_SLOWDOWN) * 7 / 8);
    CHECK_EQ(LOAD(&gate.summary), GATE_ONE_WORD);
    CHECK_EQ(csk_gate_waiting(&gate), 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
    read_without_bias();
}

static void use_without_membarrier(void *error) {
    refuse_membarrier(*(int *)error);
    use_gate_and_lock();
}
static void in_a_child_without_membarrier(int error) { in_a_child(use_without_membarrier, &error); }

static void refused_by_a_sandbox(void) { in_a_child_without_membarrier(EPERM); }
static void unknown_to_the_system(void) { in_a_child_without_membarrier(ENOSYS); }

/* ---- A system that refuses it once the gate's form is decided ---------------------------------------------------- */

static uint32_t refusals_left, refused, executed;

enum { PASSES = 77 }; /* in the place of an argument that the command does not use */

#ifdef CSK_TEST_EMULATED
static long pass(long command) { return emulated_pass(SYS_membarrier, command); }
#else
static long pass(long command) { return syscall(SYS_membarrier, command, 0, PASSES); }
#endif

/* Refuses some calls for want of memory, and makes the others itself. */
static long answer_command(long command) {
    bool refuses = LOAD(&refusals_left) != 0;
    ADD(refuses ? &refused : &executed, 1);
    if (refuses && LOAD(&refusals_left) != UINT32_MAX) ADD(&refusals_left, -1);
    return refuses ? -ENOMEM : pass(command);
}

#ifdef CSK_TEST_EMULATED
static void watch_membarrier(void) { emulated_answer(SYS_membarrier, answer_command); }
#else
static void answer_membarrier(int signal_number, siginfo_t *info, void *context) {
    (void)signal_number, (void)info;
    ucontext_t *thread = context;
#if defined(__x86_64__)
    thread->uc_mcontext.gregs[REG_RAX] = answer_command(thread->uc_mcontext.gregs[REG_RDI]);
#else
    thread->uc_mcontext.regs[0] = (uint64_t)answer_command((long)thread->uc_mcontext.regs[0]);
#endif
}

static void watch_membarrier(void) {
    struct sigaction action = { .sa_sigaction = answer_membarrier, .sa_flags = SA_SIGINFO };
    CHECK_EQ(sigaction(SIGSYS, &action, NULL), 0);
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PASSES, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    install_filter(rules, sizeof rules / sizeof rules[0]);
}
#endif

static void *enter_once(void *context) {
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    return context;
}

/* The first waiter of an episode executes membarrier. */
static void wait_while_it_is_refused(void *times) {
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_EQ(LOAD(&gate.summary), GATE_READY);
    watch_membarrier();
    STORE(&refusals_left, *(uint32_t *)times);
    pthread_t waiter = start_thread(enter_once, NULL);
    wait_until(csk_gate_waiting(&gate) == 1 && LOAD(&refused) >= 1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    join_thread(waiter);
    CHECK_EQ(LOAD(&refused), *(uint32_t *)times);
    CHECK_GE(LOAD(&executed), 1);
}

/* ---- A process that decides in advance --------------------------------------------------------------------------- */

static void note_reclaimed(csk_rcu_node_t *node) { (void)node, ADD(&executed, 1); }
static void read_and_reclaim(void) {
    static csk_rcu_node_t node;
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    csk_rcu_read_unlock();
    CHECK_STATUS(csk_rcu_retire(&node, note_reclaimed), 0);
    CHECK_STATUS(csk_rcu_barrier(), 0);
    CHECK_EQ(LOAD(&executed), 1);
}

/* Here liburcu, too, would end the process at the first refusal. */
static void avoid_and_be_refused(void *context) {
    (void)context;
    CHECK_STATUS(csk_avoid_membarrier(), 0);
    CHECK_STATUS(csk_avoid_membarrier(), 0);
    refuse_membarrier(EPERM);
    use_gate_and_lock();
    read_and_reclaim();
}
/* In a process that no fork has made: in a child of fork liburcu is not used. */
static void begin_anew(void *test) {
    char program[512] = { 0 };
    CHECK_GE(readlink("/proc/self/exe", program, sizeof program - 1), 1);
    setenv("CSK_TEST_BEGUN_ANEW", "1", 1);
    run_program(program, program, test);
}
static void a_process_that_avoids_it_is_refused_nothing(void) {
    if (getenv("CSK_TEST_BEGUN_ANEW") != NULL) {
        avoid_and_be_refused(NULL);
        return;
    }
    in_a_child(avoid_and_be_refused, NULL);
    in_a_child(begin_anew, (void *)"a_process_that_avoids_it_is_refused_nothing");
}

static void use_and_avoid(void *reads) {
    if (*(bool *)reads) {
        read_and_reclaim();
    } else {
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
    }
    CHECK_STATUS(csk_avoid_membarrier(), EBUSY);
}
static void what_counts_on_it_already_keeps_it(void) {
    if (syscall(SYS_membarrier, 0, 0, 0) <= 0) {
        printf("the system has none; ");
        return;
    }
    bool reads = false;
    in_a_child(use_and_avoid, &reads);
    reads = true;
    in_a_child(use_and_avoid, &reads);
}

/* Else no gate has the form that needs it. */
static bool has_membarrier(void) { return syscall(SYS_membarrier, 0, 0, 0) > 0; }

static void refused_for_a_moment_it_is_tried_again(void) {
    if (!has_membarrier()) {
        printf("the system has none; ");
        return;
    }
    uint32_t times = 5;
    in_a_child(wait_while_it_is_refused, &times);
}

static void *enter_with_own_affinity(void *context) {
    cpu_set_t before, after;
    CHECK_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    enter_once(NULL);
    CHECK_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    CHECK(CPU_EQUAL(&before, &after));
    return context;
}
/* The first waiter of each episode visits the processors. */
static void wait_though_it_is_refused(void *context) {
    (void)context;
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_EQ(LOAD(&gate.summary), GATE_READY);
    watch_membarrier();
    STORE(&refusals_left, UINT32_MAX);
    for (int episode = 0; episode < 3; episode++) {
        if (episode != 0) CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        uint32_t refused_before = LOAD(&refused);
        pthread_t waiter = start_thread(enter_with_own_affinity, NULL);
        wait_until(csk_gate_waiting(&gate) == 1 && LOAD(&refused) > refused_before);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        join_thread(waiter);
    }
    CHECK_EQ(LOAD(&executed), 0);
}
static void refused_for_good_the_processors_are_visited(void) {
    if (!has_membarrier()) {
        printf("the system has none; ");
        return;
    }
    in_a_child(wait_though_it_is_refused, NULL);
}

static void wait_with_standard_error(void *end) {
    uint32_t always = UINT32_MAX;
    CHECK_EQ(dup2(*(int *)end, STDERR_FILENO), STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);
    refuse_call(SYS_sched_setaffinity, EPERM);
    wait_while_it_is_refused(&always);
}

/* A wake-up could have been lost in silence. */
static void where_processors_cannot_be_visited_it_ends_the_process_with_a_message(void) {
    if (!has_membarrier()) {
        printf("the system has none; ");
        return;
    }
    int ends[2];
    char text[200];
    CHECK_EQ(pipe(ends), 0);
    int status = wait_for_child(start_child(wait_with_standard_error, &ends[1]));
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGABRT);
    close(ends[1]);
    ssize_t length = read(ends[0], text, sizeof text - 1);
    CHECK_GE(length, 1);
    text[length] = 0;
    CHECK(strncmp(text, "csynckernel: membarrier failed (errno 12)", 41) == 0);
    close(ends[0]);
}

static void usable_elsewhere(void) {
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_EQ(LOAD(&gate.summary), has_membarrier() ? GATE_READY : GATE_ONE_WORD);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}

TEST_MAIN(TEST(refused_by_a_sandbox), TEST(unknown_to_the_system), TEST(a_process_that_avoids_it_is_refused_nothing),
          TEST(what_counts_on_it_already_keeps_it), TEST(refused_for_a_moment_it_is_tried_again),
          TEST(refused_for_good_the_processors_are_visited),
          TEST(where_processors_cannot_be_visited_it_ends_the_process_with_a_message), TEST(usable_elsewhere))
