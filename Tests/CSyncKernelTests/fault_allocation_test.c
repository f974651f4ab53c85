/* fault_allocation_test.c: each allocation that the kernel causes fails once, and none is caused where none is
 * promised.
 *
 * The modules tested here never allocate but for csk_workqueue_create (no_allocator_test shows that they do not know
 * how). Starting a thread makes the C library do it: those allocations fail here one after the other, in a child each,
 * since a process starts the timer thread once. This program's allocator stands in front of the C library's; sanitizers
 * bring their own, so they don't build this. */
#include "child.h"

#include <csynckernel/csynckernel.h>
#include <sys/resource.h>

/* ---- An allocator that counts and fails -------------------------------------------------------------------------- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

static bool counting;
static int64_t allocations, alive, failing; /* since `start_counting`; `failing` 0: none fails */

static void start_counting(int64_t which_fails) {
    STORE(&allocations, 0);
    STORE(&alive, 0);
    STORE(&failing, which_fails);
    STORE(&counting, true);
}

static int64_t stop_counting(void) {
    STORE(&counting, false);
    return LOAD(&allocations);
}

static bool refused(void) {
    if (!LOAD(&counting)) return false;
    if (ADD(&allocations, 1) == LOAD(&failing)) {
        errno = ENOMEM;
        return true;
    }
    ADD(&alive, 1);
    return false;
}

void *malloc(size_t size) { return refused() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return refused() ? NULL : __libc_calloc(count, size); }
void *realloc(void *block, size_t size) { return refused() ? NULL : __libc_realloc(block, size); }
void *memalign(size_t alignment, size_t size) { return refused() ? NULL : __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **block, size_t alignment, size_t size) {
    void *made = memalign(alignment, size);
    if (made != NULL) *block = made;
    return made != NULL ? 0 : ENOMEM;
}
void free(void *block) {
    if (block != NULL && LOAD(&counting)) ADD(&alive, -1);
    __libc_free(block);
}

static void the_allocator_counts_and_fails(void) {
    start_counting(2);
    void *volatile first = malloc(1), *volatile second = calloc(1, 1), *volatile third = NULL;
    int status = posix_memalign((void **)&third, 64, 1);
    CHECK_EQ(stop_counting(), 3);
    CHECK(first != NULL && second == NULL && status == 0 && third != NULL);
    CHECK_EQ(alive, 2);
    free(first);
    free(third);
    pthread_attr_t attributes;
    start_counting(1); /* the C library's own allocations come by here too */
    pthread_attr_init(&attributes);
    cpu_set_t processors;
    CPU_ZERO(&processors);
    CHECK_EQ(pthread_attr_setaffinity_np(&attributes, sizeof processors, &processors), ENOMEM);
    stop_counting();
}

/* ---- What allocates nothing -------------------------------------------------------------------------------------- */

typedef struct {
    csk_gate_t gate;
    csk_mutex_t mutex;
    csk_pqueue_t queue;
} objects_t;

static uint32_t resolved, go, finished;

static void note(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    *(int *)context = status;
    ADD(&resolved, 1);
}

static void ignore_event(const csk_observer_t *observer, const csk_event_t *event) {
    (void)observer;
    (void)event;
}

/* By a thread that neither holds the gate nor the mutex, which another does. */
static void time_out_everywhere(objects_t *objects) {
    csk_pqueue_item_t *item;
    CHECK_STATUS(csk_gate_timedlock(&objects->gate, 0, csk_deadline_after(1000000)), ETIMEDOUT);
    CHECK_STATUS(csk_gate_trylock(&objects->gate, 0), EBUSY);
    CHECK_STATUS(csk_gate_unlock(&objects->gate), EPERM);
    CHECK_STATUS(csk_mutex_timedlock(&objects->mutex, csk_deadline_after(1000000)), ETIMEDOUT);
    CHECK_STATUS(csk_pqueue_timedpop(&objects->queue, &item, csk_deadline_after(1000000)), ETIMEDOUT);
}

static void contend(objects_t *objects) {
    for (int i = 0; i < 2000; i++) {
        CHECK_STATUS(csk_gate_lock(&objects->gate, i % 3), 0);
        if (i % 16 == 0) sched_yield();
        CHECK_STATUS(csk_gate_unlock(&objects->gate), 0);
        CHECK_STATUS(csk_mutex_lock(&objects->mutex), 0);
        CHECK_STATUS(csk_mutex_unlock(&objects->mutex), 0);
    }
}

static void *help(void *objects) {
    wait_until(LOAD(&go) == 1);
    time_out_everywhere(objects);
    ADD(&finished, 1);
    wait_until(LOAD(&go) == 2);
    contend(objects);
    ADD(&finished, 1);
    return NULL;
}

static void *end_inside(void *objects) {
    CHECK_STATUS(csk_gate_lock(&((objects_t *)objects)->gate, 0), 0);
    return NULL;
}

static void wait_without_deadlines(objects_t *objects) {
    csk_waiter_t waiter = { .word = 0 }, closer = { .word = 0 };
    int status = -1;
    CHECK_STATUS(csk_gate_lock(&objects->gate, 0), 0);
    CHECK_STATUS(csk_gate_lock_async(&objects->gate, 0, &waiter, CSK_NEVER, note, &status), 0);
    CHECK_STATUS(csk_gate_cancel(&objects->gate, &waiter), 0);
    CHECK_STATUS(status, ECANCELED);
    CHECK_STATUS(csk_gate_lock_async(&objects->gate, 0, &waiter, CSK_NEVER, note, &status), 0);
    CHECK_STATUS(csk_gate_unlock(&objects->gate), 0);
    CHECK_STATUS(status, 0);
    CHECK_STATUS(csk_gate_unlock(&objects->gate), 0);
    CHECK_STATUS(csk_gate_close(&objects->gate, &closer, note, &status), 0);
    CHECK_STATUS(csk_gate_lock(&objects->gate, 0), ESHUTDOWN);
    CHECK_STATUS(csk_gate_destroy(&objects->gate), 0);
}

static void use_a_queue(objects_t *objects) {
    csk_pqueue_item_t items[3], *item;
    for (int i = 0; i < 3; i++) CHECK_STATUS(csk_pqueue_push(&objects->queue, i, &items[i]), 0);
    CHECK_STATUS(csk_pqueue_pop(&objects->queue, &item), 0);
    CHECK(item == &items[2]);
    CHECK_EQ(csk_pqueue_drain(&objects->queue, &item), 2);
    CHECK_STATUS(csk_pqueue_close(&objects->queue), 0);
    CHECK_STATUS(csk_pqueue_destroy(&objects->queue), 0);
}

static void use_what_needs_no_timer(void *context) {
    static const csk_observer_t observer = { ignore_event, NULL };
    for (uint32_t policy = 0; policy < 3; policy++) {
        objects_t objects;
        memset(&objects, 0, sizeof objects);
        csk_gate_attr_t attr = { .policy = policy };
        STORE(&go, 0);
        STORE(&finished, 0);
        pthread_t helpers[] = { start_thread(help, &objects), start_thread(help, &objects) };
        start_counting(0);
        CHECK_STATUS(csk_gate_init(&objects.gate, &attr), 0);
        CHECK_STATUS(csk_mutex_init(&objects.mutex), 0);
        csk_observe(policy == 1 ? &observer : NULL);
        CHECK_STATUS(csk_gate_lock(&objects.gate, 0), 0);
        CHECK_STATUS(csk_mutex_lock(&objects.mutex), 0);
        STORE(&go, 1);
        wait_until(LOAD(&finished) == 2);
        CHECK_STATUS(csk_gate_unlock(&objects.gate), 0);
        CHECK_STATUS(csk_mutex_unlock(&objects.mutex), 0);
        STORE(&go, 2);
        wait_until(LOAD(&finished) == 4);
        use_a_queue(&objects);
        wait_without_deadlines(&objects);
        CHECK_EQ(stop_counting(), 0);
        for (int i = 0; i < 2; i++) join_thread(helpers[i]);
    }
    (void)context;
}

static void nothing_but_the_timer_thread_allocates(void) { in_a_child(use_what_needs_no_timer, NULL); }

static void count_report(const csk_event_t *event) {
    (void)event;
    ADD(&resolved, 1);
}

static void finding_out_an_ended_holder_allocates_nothing(void) {
    objects_t objects;
    memset(&objects, 0, sizeof objects);
    csk_set_reporter(count_report);
    STORE(&resolved, 0);
    join_thread(start_thread(end_inside, &objects));
    start_counting(0);
    CHECK_STATUS(csk_gate_timedlock(&objects.gate, 0, csk_deadline_after(1200000000)), ETIMEDOUT);
    CHECK_EQ(stop_counting(), 0);
    CHECK_EQ(resolved, 1);
    csk_set_reporter(NULL);
}

/* ---- What the timer thread needs --------------------------------------------------------------------------------- */

static void fire(csk_timer_t *timer, void *context) {
    (void)timer;
    ADD((uint32_t *)context, 1);
}

typedef struct {
    int64_t fail, allocations, alive, refusals;
    int first_call;
} attempt_t;

/* Refused at most once, since one allocation fails once; then it works. */
static int again(attempt_t *attempt, int status) {
    if (status == 0) return 0;
    CHECK(status == ENOMEM || status == EAGAIN);
    CHECK_EQ(++attempt->refusals, 1);
    return status;
}

/* Each of the calls that may start the timer thread is the first that does, in a child of its own. */
static void use_what_needs_the_timer(void *context) {
    attempt_t *attempt = context;
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    csk_waiter_t waiter = { .word = 0 };
    csk_timer_t timer = { .context = NULL };
    uint32_t fired = 0;
    int status = -1;
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    STORE(&resolved, 0);
    start_counting(attempt->fail);
    if (attempt->first_call == 0)
        while (again(attempt, csk_timer_prepare())) {}
    if (attempt->first_call <= 1)
        while (again(attempt, csk_timer_start(&timer, csk_now(), fire, &fired))) {}
    while (again(attempt, csk_gate_lock_async(&gate, 0, &waiter, csk_deadline_after(1000000), note, &status))) {}
    wait_until(LOAD(&resolved) == 1);
    CHECK_STATUS(LOAD(&status), ETIMEDOUT);
    if (attempt->first_call <= 1) wait_until(LOAD(&fired) == 1);
    CHECK_STATUS(csk_gate_lock_async_ranked(&gate, 0, &waiter, true, CSK_NEVER, note, &status), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_gate_adopt(&gate, &waiter), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
    attempt->allocations = stop_counting();
    attempt->alive = LOAD(&alive);
}

static void each_allocation_of_the_timer_thread_may_fail(void) {
    attempt_t *attempt = shared_page();
    for (int first_call = 0; first_call < 3; first_call++) {
        *attempt = (attempt_t){ .first_call = first_call };
        in_a_child(use_what_needs_the_timer, attempt);
        int64_t needed = attempt->allocations, kept = attempt->alive;
        CHECK_EQ(attempt->refusals, 0);
        CHECK_GE(needed, 1);
        for (int64_t fail = 1; fail <= needed; fail++) {
            *attempt = (attempt_t){ .first_call = first_call, .fail = fail };
            in_a_child(use_what_needs_the_timer, attempt);
            CHECK_EQ(attempt->refusals, 1);
            CHECK_EQ(attempt->alive, kept);
        }
    }
}

/* The stack comes from mmap, past every allocator: a process that may not grow has none to give. */
static void use_timers_without_memory(void *context) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    csk_waiter_t waiter = { .word = 0 };
    int status = -1;
    struct rlimit before, none = { 0, 0 };
    (void)context;
    CHECK_EQ(getrlimit(RLIMIT_AS, &before), 0);
    none.rlim_max = before.rlim_max;
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_EQ(setrlimit(RLIMIT_AS, &none), 0);
    for (int i = 0; i < 100; i++) {
        CHECK_STATUS(csk_timer_prepare(), EAGAIN);
        CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiter, csk_now(), note, &status), EAGAIN);
    }
    CHECK_EQ(setrlimit(RLIMIT_AS, &before), 0);
    STORE(&resolved, 0);
    CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiter, csk_now(), note, &status), 0);
    wait_until(LOAD(&resolved) == 1);
    CHECK_STATUS(LOAD(&status), ETIMEDOUT);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}

static void no_memory_for_a_stack_is_told(void) { in_a_child(use_timers_without_memory, NULL); }

/* ---- What work queues need --------------------------------------------------------------------------------------- */

static void count_work(csk_work_t *work, int status) {
    (void)work;
    CHECK_STATUS(status, 0);
    ADD(&resolved, 1);
}

static void count_call(void *context) {
    (void)context;
    ADD(&resolved, 1);
}

/* Whichever call is the first to need the pool: it is refused, or the pool makes do with one worker; nothing that was
 * accepted is lost. */
static void use_what_needs_the_pool(void *context) {
    attempt_t *attempt = context;
    csk_workqueue_t *queue = NULL;
    csk_work_t work;
    csk_delayed_t delayed = { .state = 0 };
    STORE(&resolved, 0);
    start_counting(attempt->fail);
    while (again(attempt, csk_workqueue_create(&queue, NULL))) CHECK(queue == NULL);
    if (attempt->first_call == 0)
        while (again(attempt, csk_workqueue_enqueue(queue, &work, count_work))) {}
    if (attempt->first_call == 1)
        while (again(attempt, csk_workqueue_sync(queue, 0, 0, CSK_NEVER, count_call, NULL))) {}
    if (attempt->first_call == 2)
        while (again(attempt, csk_delayed_start(&delayed, queue, csk_now(), 0, count_work))) {}
    wait_until(LOAD(&resolved) == 1);
    CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), 0);
    for (uint32_t i = 2; i < 10; i++) {
        CHECK_STATUS(csk_workqueue_enqueue(queue, &work, count_work), 0);
        wait_until(LOAD(&resolved) == i);
    }
    CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), 0);
    csk_workqueue_release(queue);
    attempt->allocations = stop_counting();
}

static void each_allocation_of_work_queues_may_fail(void) {
    attempt_t *attempt = shared_page();
    for (int first_call = 0; first_call < 3; first_call++) {
        *attempt = (attempt_t){ .first_call = first_call };
        in_a_child(use_what_needs_the_pool, attempt);
        int64_t needed = attempt->allocations;
        CHECK_EQ(attempt->refusals, 0);
        CHECK_GE(needed, 3); /* the queue, the timer's thread, a worker */
        for (int64_t fail = 1; fail <= needed; fail++) {
            *attempt = (attempt_t){ .first_call = first_call, .fail = fail };
            in_a_child(use_what_needs_the_pool, attempt);
            CHECK_LE(attempt->refusals, 1);
            if (fail <= 3) CHECK_EQ(attempt->refusals, 1);
        }
    }
}

/* Children first: see child.h. */
TEST_MAIN(TEST(the_allocator_counts_and_fails), TEST(nothing_but_the_timer_thread_allocates),
          TEST(each_allocation_of_the_timer_thread_may_fail), TEST(no_memory_for_a_stack_is_told),
          TEST(each_allocation_of_work_queues_may_fail), TEST(finding_out_an_ended_holder_allocates_nothing))
