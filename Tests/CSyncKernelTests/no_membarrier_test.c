/* no_membarrier_test.c: where a filter refuses membarrier, FAST gates take the one-word form, read-write locks stay without bias,
 * and all are whole all the same.
 *
 * The decision is made once per process, so each test runs in a child of its own; this program itself uses no gate. */
#include <csynckernel/csynckernel.h>

#include <sys/wait.h>

#include "internal/gate_queue.h"
#include "system_calls.h"

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
        int status = i % 8 != 7 ? csk_gate_lock(&gate, priority) : csk_gate_timedlock(&gate, priority, csk_deadline_after(20000));
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
    csk_rwlock_attr_t attr = { CSK_RWLOCK_FAST, 1 };
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

static void in_a_child_without_membarrier(uint32_t error) {
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(TEST_WATCHDOG_S);
        refuse_membarrier(error);
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
        _exit(0);
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
}

static void refused_by_a_sandbox(void) { in_a_child_without_membarrier(EPERM); }
static void unknown_to_the_system(void) { in_a_child_without_membarrier(ENOSYS); }

static void usable_elsewhere(void) {
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_EQ(LOAD(&gate.summary), syscall(SYS_membarrier, 0, 0, 0) > 0 ? GATE_READY : GATE_ONE_WORD);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}

TEST_MAIN(TEST(refused_by_a_sandbox), TEST(unknown_to_the_system), TEST(usable_elsewhere))
