/* torture_late.c: threads that are stopped while they sleep in a gate, at its condition variable, or in a read-write
 * lock, and do not come when they are told, for as long as the part lasts. All others go on, and end, while those are
 * stopped. Whoever has the lock is let go: that one is waited for. */
#include "torture.h"

#include <errno.h>

#include "base/platform.h"
#include "lock/gate_queue.h"
#include "torture_stops.h"

enum { LATE = 3, WORKERS = 4, SLEEPERS = 3, URGENT = 9, ABOVE = 1 };
/* An urgent thread waits for none that is late, so for a section or two, and for its processor. */
static const int64_t urgent_ns = INT64_C(2000000000) * TEST_SLOWDOWN;

static uint32_t inside, may_come, stops;

/* ---- The late ones ----------------------------------------------------------------------------------------------- */

typedef struct {
    pthread_t thread;
    int32_t thread_id;
    uint32_t waits; /* it is in a call that may sleep */
    void (*call)(void);
} late_t;
static late_t late[LATE];

/* What the part is about: how many are late, how often one of them is stopped, and whether the calling thread has the
 * lock. */
static struct {
    int count;
    int64_t pause_ns;
    bool (*has_lock)(void);
} part;

/* Who has the lock goes on, and is stopped again another time. */
static void stays_late(int number) {
    (void)number;
    int saved = errno;
    ADD(&stops, 1);
    while (!LOAD(&may_come) && !part.has_lock()) nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
    errno = saved;
}
static void *is_late(void *context) {
    late_t *self = context;
    STORE(&self->thread_id, csk_platform_thread_id());
    while (!LOAD(&may_come)) {
        STORE(&self->waits, 1);
        self->call();
        STORE(&self->waits, 0);
        dawdle();
    }
    return NULL;
}
/* It stops whoever sleeps in one of its calls. */
static void *stops_them(void *context) {
    (void)context;
    while (!stopped()) {
        late_t *one = &late[below((uint64_t)part.count)];
        bool asleep = LOAD(&one->waits) && csk_platform_thread_state(LOAD(&one->thread_id)) == CSK_THREAD_SLEEPS;
        if (asleep) CHECK_EQ(pthread_kill(one->thread, SIGUSR1), 0);
        nanosleep(&(struct timespec){ .tv_nsec = part.pause_ns }, NULL);
    }
    return NULL;
}
static void begin_late(int count, int64_t pause_ns, bool (*has_lock)(void), void (*const *calls)(void)) {
    part = (__typeof__(part)){ count, pause_ns, has_lock };
    STORE(&may_come, 0);
    STORE(&stops, 0);
    torture_handle(SIGUSR1, stays_late);
    for (int i = 0; i < count; i++) {
        late[i] = (late_t){ .call = calls[i] };
        late[i].thread = start_thread(is_late, &late[i]);
    }
}
static void join_late(void) {
    for (int i = 0; i < part.count; i++) join_thread(late[i].thread);
}

/* ---- At a gate --------------------------------------------------------------------------------------------------- */

static csk_gate_t gate;
static csk_cond_t cond;
static uint32_t tokens, sleepers_left;

static bool has_gate(void) { return csk_gate_holder(&gate) == csk_self(); }

static void section(void) {
    CHECK_EQ(__atomic_fetch_add(&inside, 1, __ATOMIC_RELAXED), 0);
    tally(GRANTS);
    if (one_in(64)) sched_yield();
    CHECK_EQ(__atomic_fetch_sub(&inside, 1, __ATOMIC_RELAXED), 1);
}
static void enter(int32_t priority) {
    CHECK_STATUS(csk_gate_lock(&gate, priority), 0);
    section();
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}
static void take_token(int32_t priority) {
    CHECK_STATUS(csk_gate_lock(&gate, priority), 0);
    while (tokens == 0) CHECK_STATUS(csk_cond_wait(&cond, priority), 0);
    tokens--;
    section();
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}
static void give_tokens(uint32_t count) {
    CHECK_STATUS(csk_gate_lock(&gate, URGENT), 0);
    tokens += count;
    CHECK_STATUS(count > 1 ? csk_cond_broadcast(&cond) : csk_cond_signal(&cond), 0);
    section();
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}

static void enters_above(void) { enter(ABOVE); }
static void takes_token_above(void) { take_token(ABOVE); }
static void *works(void *context) {
    (void)context;
    while (!stopped()) enter(0);
    return NULL;
}
static void *sleeps(void *context) {
    (void)context;
    while (!stopped()) take_token(0);
    ADD(&sleepers_left, -1u);
    return NULL;
}
static void *is_urgent(void *context) {
    (void)context;
    while (!stopped()) {
        int64_t began_ns = csk_now();
        enter(URGENT);
        if (!torture_with_stops) CHECK_LE(csk_now() - began_ns, urgent_ns);
        give_tokens(1 + (uint32_t)below(2));
        nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
    }
    return NULL;
}

void torture_late(uint32_t policy) {
    static struct crowd workers, sleepers, urgent, stopper;
    CHECK_STATUS(csk_gate_init(&gate, &(csk_gate_attr_t){ .policy = policy }), 0);
    CHECK_STATUS(csk_cond_init(&cond, &gate), 0);
    STORE(&sleepers_left, SLEEPERS);
    tokens = 0;
    begin_late(LATE, 1000000, has_gate, (void (*const[])(void)){ enters_above, enters_above, takes_token_above });
    crowd_start(&workers, WORKERS, works, NULL);
    crowd_start(&sleepers, SLEEPERS, sleeps, NULL);
    crowd_start(&urgent, 1, is_urgent, NULL);
    crowd_start(&stopper, 1, stops_them, NULL);
    torture_wait();
    STORE(&torture_stop, 1);
    /* All but the late ones end, while these are stopped. */
    crowd_join(&stopper);
    crowd_join(&urgent);
    crowd_join(&workers);
    while (LOAD(&sleepers_left) != 0) give_tokens(SLEEPERS + LATE);
    crowd_join(&sleepers);
    CHECK_GE(LOAD(&stops), 1);
    STORE(&may_come, 1);
    give_tokens(2 * LATE);
    join_late();
    CHECK_EQ(csk_gate_waiting(&gate), 0);
    CHECK_STATUS(csk_cond_destroy(&cond), 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

/* ---- At a read-write lock ---------------------------------------------------------------------------------------- */

static csk_rwlock_t rwlock;
static uint32_t readers_inside;

static bool has_rwlock(void) { return csk_rwlock_is_writing(&rwlock); }

static void write_once(void) {
    CHECK_STATUS(csk_rwlock_wrlock(&rwlock), 0);
    CHECK_EQ(__atomic_load_n(&readers_inside, __ATOMIC_RELAXED), 0);
    section();
    CHECK_STATUS(csk_rwlock_unlock(&rwlock), 0);
}
static void read_once(void) {
    CHECK_STATUS(csk_rwlock_rdlock(&rwlock), 0);
    __atomic_fetch_add(&readers_inside, 1, __ATOMIC_RELAXED);
    CHECK_EQ(__atomic_load_n(&inside, __ATOMIC_RELAXED), 0);
    tally(GRANTS);
    if (one_in(64)) sched_yield();
    __atomic_fetch_sub(&readers_inside, 1, __ATOMIC_RELAXED);
    CHECK_STATUS(csk_rwlock_unlock(&rwlock), 0);
}
static void *reads_and_writes(void *context) {
    (void)context;
    while (!stopped())
        if (one_in(3)) write_once();
        else read_once();
    return NULL;
}

/* Who stands behind the late one looks after a second: so the part may take that much longer than its time. */
void torture_late_rwlock(void) {
    static struct crowd workers, stopper;
    CHECK_STATUS(csk_rwlock_init(&rwlock, &(csk_rwlock_attr_t){ .policy = CSK_RWLOCK_FAST }), 0);
    begin_late(1, 200000, has_rwlock, (void (*const[])(void)){ write_once });
    crowd_start(&workers, WORKERS, reads_and_writes, NULL);
    crowd_start(&stopper, 1, stops_them, NULL);
    torture_wait();
    STORE(&torture_stop, 1);
    crowd_join(&stopper);
    crowd_join(&workers);
    STORE(&may_come, 1);
    join_late();
    CHECK_EQ(csk_rwlock_waiting(&rwlock), 0);
    CHECK_STATUS(csk_rwlock_destroy(&rwlock), 0);
}
