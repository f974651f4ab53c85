/* fault_inherit_test.c: whoever uses the library first may be pinned, a real-time thread and nice; the library's
 * threads have what stood when the library was loaded. Each test in a process of its own. */
#include "child.h"

#include <csynckernel/csynckernel.h>
#include <sys/resource.h>
#include <sys/syscall.h>

typedef struct {
    int policy, priority, niceness;
    cpu_set_t processors;
    uint32_t done;
} state_t;

static state_t at_load, of_worker, of_timer, of_supervisor;

static void look_at(state_t *state, int32_t thread_id) {
    struct sched_param parameters;
    state->policy = sched_getscheduler(thread_id);
    CHECK_EQ(sched_getparam(thread_id, &parameters), 0);
    state->priority = parameters.sched_priority;
    state->niceness = getpriority(PRIO_PROCESS, (id_t)thread_id);
    CHECK_EQ(sched_getaffinity(thread_id, sizeof state->processors, &state->processors), 0);
    STORE(&state->done, 1);
}

static void look_in_item(csk_pool_item_t *item) {
    (void)item;
    look_at(&of_worker, csk_thread_id());
}
static void look_in_timer(csk_timer_t *timer, void *context) {
    (void)timer, (void)context;
    look_at(&of_timer, csk_thread_id());
}

static bool has_name(char *path, size_t size, const char *name) {
    char command[128];
    snprintf(command, sizeof command, "grep -lx %s /proc/%d/task/*/comm", name, (int)getpid());
    FILE *found = popen(command, "r");
    CHECK(found != NULL);
    bool is_there = fgets(path, (int)size, found) != NULL;
    pclose(found);
    return is_there;
}

/* Of a thread that runs nothing of the test's. It may have yet to begin, and has its name once it is as it stays. */
static int32_t find_thread(const char *name) {
    char path[128] = "";
    wait_until(has_name(path, sizeof path, name));
    return (int32_t)atoi(strstr(path, "/task/") + 6);
}

static void use_all(void) {
    static csk_pool_item_t item;
    static csk_timer_t timer;
    CHECK_STATUS(csk_pool_post(&item, look_in_item), 0);
    CHECK_STATUS(csk_timer_start(&timer, csk_now(), look_in_timer, NULL), 0);
    wait_until(LOAD(&of_worker.done) && LOAD(&of_timer.done));
}

static void expect_load_time(const state_t *state, bool with_niceness) {
    CHECK_EQ(state->policy, at_load.policy);
    CHECK_EQ(state->priority, at_load.priority);
    if (with_niceness) CHECK_EQ(state->niceness, at_load.niceness);
    CHECK(CPU_EQUAL(&state->processors, &at_load.processors));
}

/* What is refused stays out: the rest shows enough. */
static void become_special(int policy) {
    cpu_set_t first;
    CPU_ZERO(&first);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&first) == 0; i++)
        if (CPU_ISSET(i, &at_load.processors)) CPU_SET(i, &first);
    CHECK_EQ(sched_setaffinity(0, sizeof first, &first), 0);
    CHECK_EQ(setpriority(PRIO_PROCESS, 0, 19), 0);
    sched_setscheduler(0, policy,
                       &(struct sched_param){ .sched_priority = policy == SCHED_FIFO || policy == SCHED_RR ? 10 : 0 });
}

static void *use_from_special_thread(void *policy) {
    become_special(*(int *)policy);
    use_all();
    return NULL;
}

static uint32_t held_back;
static void note_report(const csk_event_t *event) {
    if (event->kind == CSK_EVENT_HELD_BACK) CHECK_EQ(event->status, EPERM);
    ADD(&held_back, event->kind == CSK_EVENT_HELD_BACK);
}

static bool may_take_niceness_back(void) {
    int before = getpriority(PRIO_PROCESS, 0);
    setpriority(PRIO_PROCESS, 0, before + 1);
    return setpriority(PRIO_PROCESS, 0, before) == 0;
}

/* The thread that is held back reports it while others already run works. */
static void wait_until_reported(void) { wait_until(LOAD(&held_back) != 0); }

static void use_first_from_special_thread(void *policy) {
    bool may = may_take_niceness_back();
    csk_set_reporter(note_report);
    look_at(&at_load, csk_thread_id());
    join_thread(start_thread(use_from_special_thread, policy));
    look_at(&of_supervisor, find_thread("csk-pool"));
    expect_load_time(&of_worker, may);
    expect_load_time(&of_timer, may);
    expect_load_time(&of_supervisor, may);
    if (!may) wait_until_reported();
    CHECK_EQ(LOAD(&held_back), !may);
}

static void threads_have_what_stood_at_the_load(void) {
    static const int policies[] = { SCHED_OTHER, SCHED_FIFO, SCHED_RR, SCHED_BATCH, SCHED_IDLE };
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++)
        in_a_child(use_first_from_special_thread, (void *)&policies[i]);
}

/* ---- Niceness that is not permitted ------------------------------------------------------------------------------ */

static void *use_from_nice_thread(void *unused) {
    (void)unused;
    become_special(SCHED_BATCH);
    use_all();
    return NULL;
}

static void use_without_privilege(void *unused) {
    (void)unused;
    CHECK(setuid(65534) == 0 || getuid() != 0);
    CHECK_EQ(setrlimit(RLIMIT_NICE, &(struct rlimit){ 0, 0 }), 0);
    csk_set_reporter(note_report);
    look_at(&at_load, csk_thread_id());
    join_thread(start_thread(use_from_nice_thread, NULL));
    expect_load_time(&of_worker, false);
    CHECK_EQ(of_worker.niceness, 19);
    wait_until_reported();
    CHECK_EQ(LOAD(&held_back), 1);
}

static void niceness_that_is_not_permitted_is_reported_once(void) { in_a_child(use_without_privilege, NULL); }

/* ---- Configuration ----------------------------------------------------------------------------------------------- */

enum { BEYOND = 10, MOST = 3 };
static uint32_t starts, begun, go, stuck, names_seen;
static int hook_context;
static size_t smallest_stack = SIZE_MAX;
static int64_t longest_ns;

static void note_start(void *context) {
    CHECK(context == &hook_context);
    pthread_attr_t attributes;
    size_t size;
    CHECK_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
    CHECK_EQ(pthread_attr_getstacksize(&attributes, &size), 0);
    pthread_attr_destroy(&attributes);
    for (size_t least = LOAD(&smallest_stack); size < least;) /* workers may start at the same time */
        if (__atomic_compare_exchange_n(&smallest_stack, &least, size, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            break;
    ADD(&starts, 1);
}

static void block(csk_work_t *work, int status) {
    CHECK_STATUS(status, 0);
    (void)work;
    CHECK_GE(LOAD(&starts), 1);
    ADD(&begun, 1);
    while (!LOAD(&go)) usleep(1000);
    ADD(&begun, -1);
}

static void note_stuck(const csk_event_t *event) {
    if (event->kind != CSK_EVENT_POOL_STUCK) return;
    CHECK_STATUS(event->status, EAGAIN);
    CHECK_GE(event->waited_ns, 1000000000);
    CHECK(event->name != NULL);
    for (int i = 0; i < BEYOND; i++) {
        char name[32];
        snprintf(name, sizeof name, "queue %d", i);
        if (strcmp(event->name, name) == 0) __atomic_fetch_or(&names_seen, 1u << i, __ATOMIC_SEQ_CST);
    }
    if (event->waited_ns > longest_ns) longest_ns = event->waited_ns;
    ADD(&stuck, 1);
}

static void use_three_workers(void *unused) {
    static csk_workqueue_t *queues[BEYOND];
    static csk_work_t works[BEYOND];
    (void)unused;
    csk_pool_attr_t attr = {
        .least = 1, .most = MOST, .stack_size = 512 * 1024, .start = note_start, .context = &hook_context
    };
    CHECK_STATUS(csk_pool_configure(&attr), 0);
    csk_set_reporter(note_stuck);
    for (int i = 0; i < BEYOND; i++) {
        char name[32];
        snprintf(name, sizeof name, "queue %d", i);
        CHECK_STATUS(csk_workqueue_create(&queues[i], &(csk_workqueue_attr_t){ .name = name }), 0);
        CHECK_STATUS(csk_workqueue_enqueue(queues[i], &works[i], block), 0);
    }
    wait_until(LOAD(&stuck) >= 8); /* four after a second, four after two more */
    CHECK_EQ(LOAD(&begun), MOST);
    CHECK_EQ(csk_pool_workers(), MOST);
    CHECK_EQ(LOAD(&starts), MOST);
    CHECK_EQ(names_seen, 0xfu << MOST);
    CHECK_GE(longest_ns, 2900000000);
    CHECK_GE(smallest_stack, 512 * 1024);
    CHECK_LE(smallest_stack, 1024 * 1024);
    CHECK_STATUS(csk_pool_configure(&attr), EBUSY);
    STORE(&go, 1);
    for (int i = 0; i < BEYOND; i++) {
        CHECK_STATUS(csk_workqueue_drain(queues[i], CSK_NEVER), 0);
        csk_workqueue_release(queues[i]);
    }
    CHECK_LE(csk_pool_workers(), MOST);
}

static void a_pool_at_its_limit_names_the_queues_that_wait(void) { in_a_child(use_three_workers, NULL); }

static void configure_badly(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_pool_configure(&(csk_pool_attr_t){ .most = CSK_POOL_THREADS_MAX + 1 }), EINVAL);
    CHECK_STATUS(csk_pool_configure(&(csk_pool_attr_t){ .least = CSK_POOL_THREADS_MAX + 1 }), EINVAL);
    CHECK_STATUS(csk_pool_configure(&(csk_pool_attr_t){ .least = 3, .most = 2 }), EINVAL);
    static const size_t sizes[] = { 1, CSK_POOL_STACK_MIN - 1, (size_t)CSK_POOL_STACK_MAX + 1, SIZE_MAX };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        CHECK_STATUS(csk_pool_configure(&(csk_pool_attr_t){ .stack_size = sizes[i] }), EINVAL);
    CHECK_STATUS(csk_pool_configure(&(csk_pool_attr_t){ .least = UINT32_MAX, .most = UINT32_MAX }), EINVAL);
    CHECK_STATUS(csk_pool_configure(NULL), EINVAL);
    CHECK_STATUS(csk_pool_configure(&(csk_pool_attr_t){ .least = 5 }), 0);
    use_all();
    CHECK_STATUS(csk_pool_configure(&(csk_pool_attr_t){ .least = 5 }), EBUSY);
    CHECK_STATUS(csk_pool_configure(NULL), EINVAL);
}

static void bad_configurations_are_refused(void) { in_a_child(configure_badly, NULL); }

static void never_start(void *context) { (void)context, abort(); }

/* The last of several that are accepted, as a whole; `most` 0 is the default. */
static void configure_often(void *unused) {
    (void)unused;
    csk_pool_attr_t attr = { .least = 9, .most = 9, .stack_size = CSK_POOL_STACK_MAX, .start = never_start };
    CHECK_STATUS(csk_pool_configure(&attr), 0);
    attr = (csk_pool_attr_t){ .least = 2, .stack_size = 512 * 1024, .start = note_start, .context = &hook_context };
    CHECK_STATUS(csk_pool_configure(&attr), 0);
    attr.start = never_start; /* it was copied */
    CHECK_STATUS(csk_pool_configure(&(csk_pool_attr_t){ .least = 9, .most = 8, .start = never_start }), EINVAL);
    use_all();
    CHECK_GE(LOAD(&starts), 1);
    CHECK_GE(smallest_stack, 512 * 1024);
    CHECK_LE(smallest_stack, 1024 * 1024);
}

static void the_last_configuration_before_the_first_use_counts(void) { in_a_child(configure_often, NULL); }

TEST_MAIN(TEST(threads_have_what_stood_at_the_load), TEST(niceness_that_is_not_permitted_is_reported_once),
          TEST(a_pool_at_its_limit_names_the_queues_that_wait), TEST(bad_configurations_are_refused),
          TEST(the_last_configuration_before_the_first_use_counts))
