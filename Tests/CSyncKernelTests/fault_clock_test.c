/* fault_clock_test.c: a wall clock that jumps by an hour, either way, at every look: no timed wait notices.
 *
 * The machine's own clock is left alone: everybody on it would notice. Instead this program answers whoever asks for
 * the time, and a filter ends the process at a wait that the system would measure by the wall clock. What a wait by
 * CLOCK_MONOTONIC does when the wall clock is set is the system's promise. */
#include "child.h"
#include "system_calls.h"

#include <csynckernel/csynckernel.h>
#include <linux/futex.h>
#include <sys/time.h>

enum { HOUR_S = 3600 };

static uint32_t looks_at_the_wall_clock;

/* An hour ahead and an hour behind in turn. */
static int64_t next_jump_s(void) { return ADD(&looks_at_the_wall_clock, 1) % 2 ? HOUR_S : -HOUR_S; }

/* This program's own, in front of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock != CLOCK_MONOTONIC && result == 0) now->tv_sec += next_jump_s();
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int result = (int)syscall(SYS_gettimeofday, now, zone);
    now->tv_sec += next_jump_s();
    return result;
}

time_t time(time_t *now) {
    struct timeval value;
    gettimeofday(&value, NULL);
    if (now != NULL) *now = value.tv_sec;
    return value.tv_sec;
}

/* A wait without a timeout may name any clock, and the C library's do. */
static void forbid_waits_by_the_wall_clock(void) {
    enum { NUMBER = offsetof(struct seccomp_data, nr), ARGUMENTS = offsetof(struct seccomp_data, args) };
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCHITECTURE, 0, 12),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NUMBER),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 6),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENTS + 8), /* the operation */
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, FUTEX_CLOCK_REALTIME, 0, 8),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENTS + 24), /* the timeout's address: either half */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENTS + 28),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 4, 3),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_nanosleep, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENTS), /* the clock */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CLOCK_REALTIME, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    install_filter(rules, sizeof rules / sizeof rules[0]);
}

/* ---- The trap works ---------------------------------------------------------------------------------------------- */

static void wait_by_the_wall_clock(void *context) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec deadline;
    (void)context;
    forbid_waits_by_the_wall_clock();
    CHECK_EQ(clock_gettime(CLOCK_REALTIME, &deadline), 0);
    CHECK_EQ(LOAD(&looks_at_the_wall_clock), 1);
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    pthread_cond_timedwait(&condition, &mutex, &deadline);
}

static void a_wait_by_the_wall_clock_is_caught(void) {
    int status = wait_for_child(start_child(wait_by_the_wall_clock, NULL));
    CHECK(WIFSIGNALED(status));
    CHECK_EQ(WTERMSIG(status), SIGSYS);
}

/* ---- Timed waits ------------------------------------------------------------------------------------------------- */

static int async_status;
static uint32_t fired, grants;

static void note_status(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    CHECK_GE(csk_now(), *(int64_t *)context);
    STORE(&async_status, status);
}

static void note_firing(csk_timer_t *timer, void *context) {
    (void)timer;
    CHECK_GE(csk_now(), *(int64_t *)context);
    ADD(&fired, 1);
}

static void note_grant(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    (void)context;
    CHECK_STATUS(status, 0);
    ADD(&grants, 1);
}

struct timed {
    csk_gate_t *gate;
    csk_mutex_t *mutex;
    csk_pqueue_t *empty, *full;
};

static void expect_timeout(int status, int64_t deadline_ns) {
    CHECK_STATUS(status, ETIMEDOUT);
    CHECK_GE(csk_now(), deadline_ns);
}

/* On another thread than the one that holds the gate and the mutex. */
static void *wait_everywhere(void *context) {
    struct timed *timed = context;
    csk_pqueue_item_t item, *popped;
    int64_t deadline_ns = csk_deadline_after(2000000);
    expect_timeout(csk_gate_timedlock(timed->gate, 0, deadline_ns), deadline_ns);
    deadline_ns = csk_deadline_after(2000000);
    expect_timeout(csk_mutex_timedlock(timed->mutex, deadline_ns), deadline_ns);
    deadline_ns = csk_deadline_after(2000000);
    expect_timeout(csk_pqueue_timedpop(timed->empty, &popped, deadline_ns), deadline_ns);
    deadline_ns = csk_deadline_after(2000000);
    expect_timeout(csk_pqueue_timedpush(timed->full, 0, &item, deadline_ns), deadline_ns);
    return NULL;
}

static void lose_a_grant(csk_gate_t *gate) {
    csk_waiter_t waiter = { .word = 0 };
    CHECK_STATUS(csk_gate_lock_async_ranked(gate, 0, &waiter, true, CSK_NEVER, note_grant, NULL), 0);
    CHECK_STATUS(csk_gate_unlock(gate), 0);
    CHECK_STATUS(csk_gate_lock(gate, 0), 0); /* by the end of the grace */
    CHECK_STATUS(csk_gate_adopt(gate, &waiter), EAGAIN);
    CHECK_STATUS(csk_gate_forget(gate, &waiter), 0);
}

static void wait_in_every_way(void *context) {
    (void)context;
    forbid_waits_by_the_wall_clock();
    csk_mutex_t mutex = CSK_MUTEX_INITIALIZER;
    csk_pqueue_t empty = CSK_PQUEUE_INITIALIZER, full;
    csk_pqueue_item_t filler;
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    CHECK_STATUS(csk_pqueue_init(&full, 1), 0);
    CHECK_STATUS(csk_pqueue_push(&full, 0, &filler), 0);
    for (uint32_t policy = 0; policy < 3; policy++) {
        csk_gate_t gate;
        csk_gate_attr_t attr = { .policy = policy };
        csk_waiter_t waiter = { .word = 0 };
        csk_timer_t timer = { .context = NULL };
        struct timed timed = { &gate, &mutex, &empty, &full };
        CHECK_STATUS(csk_gate_init(&gate, &attr), 0);
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        join_thread(start_thread(wait_everywhere, &timed));
        int64_t deadline_ns = csk_deadline_after(2000000);
        STORE(&async_status, 0);
        CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiter, deadline_ns, note_status, &deadline_ns), 0);
        CHECK_STATUS(csk_timer_start(&timer, deadline_ns, note_firing, &deadline_ns), 0);
        wait_until(LOAD(&async_status) == ETIMEDOUT && LOAD(&fired) == policy + 1);
        CHECK_STATUS(csk_timer_cancel(&timer), ENOENT);
        lose_a_grant(&gate);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
    }
    CHECK_EQ(LOAD(&looks_at_the_wall_clock), 0);
}

static void no_wait_looks_at_the_wall_clock(void) { in_a_child(wait_in_every_way, NULL); }

TEST_MAIN(TEST(a_wait_by_the_wall_clock_is_caught), TEST(no_wait_looks_at_the_wall_clock))
