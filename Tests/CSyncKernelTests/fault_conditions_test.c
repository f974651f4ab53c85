/* fault_conditions_test.c: processes as administrators set them up: one processor, nice, real-time, half a processor's
 * quota, no descriptors, no further threads, no /proc, refused system calls. Each condition stands before the library
 * is loaded: this program starts itself under it, and `what_is_documented_holds` shows the workers, the threads' class
 * and how late timers are. */
#include "child.h"
#include "system_calls.h"

#include <csynckernel/csynckernel.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "pool/pool.c"

/* ---- What holds -------------------------------------------------------------------------------------------------- */

enum { BLOCKED = 100, TIMERS = 20 };
static uint32_t begun, ended, fired;
static int pipe_ends[2];
static int64_t latest_ns;

static void block(csk_pool_item_t *item) {
    char byte;
    (void)item;
    ADD(&begun, 1);
    CHECK_EQ(read(pipe_ends[0], &byte, 1), 0); /* until its other end is closed */
    ADD(&ended, 1);
}

/* Asleep in the system nearly all the time, though none of its sleeps is long. */
static void nap(csk_pool_item_t *item) {
    (void)item;
    ADD(&begun, 1);
    while (LOAD(&begun) < BLOCKED) usleep(1000);
    ADD(&ended, 1);
}

static void all_that_sleep_begin(csk_pool_function_t sleeps) {
    static csk_pool_item_t items[BLOCKED];
    for (int i = 0; i < BLOCKED; i++) CHECK_STATUS(csk_pool_post(&items[i], sleeps), 0);
    while (LOAD(&begun) < BLOCKED) usleep(1000);
    close(pipe_ends[1]);
    while (LOAD(&ended) < BLOCKED) usleep(1000);
}

static int policy_of_worker = -1, niceness_of_worker;
static cpu_set_t processors_of_worker;

static void look(csk_pool_item_t *item) {
    (void)item;
    niceness_of_worker = getpriority(PRIO_PROCESS, (id_t)csk_thread_id());
    sched_getaffinity(0, sizeof processors_of_worker, &processors_of_worker);
    STORE(&policy_of_worker, sched_getscheduler(0));
}

static void workers_are_as_the_process(void) {
    static csk_pool_item_t item;
    cpu_set_t mine;
    CHECK_STATUS(csk_pool_post(&item, look), 0);
    while (LOAD(&policy_of_worker) == -1) usleep(1000);
    if (sched_getaffinity(0, sizeof mine, &mine) == 0) CHECK(CPU_EQUAL(&mine, &processors_of_worker));
    CHECK_EQ(policy_of_worker, sched_getscheduler(0));
    CHECK_EQ(niceness_of_worker, getpriority(PRIO_PROCESS, 0));
    if (getenv("CSK_PROCESSORS") != NULL) CHECK_EQ(csk_pool.wanted, atoi(getenv("CSK_PROCESSORS")));
}

static void note_lateness(csk_timer_t *timer, void *deadline_ns) {
    (void)timer;
    int64_t late_ns = csk_now() - *(const int64_t *)deadline_ns;
    CHECK_GE(late_ns, 0);
    if (late_ns > latest_ns) latest_ns = late_ns;
    ADD(&fired, 1);
}

/* Never early, and late by no more than such a process is kept from its processor. */
static void timers_fire(void) {
    static csk_timer_t timers[TIMERS];
    static int64_t deadlines_ns[TIMERS];
    for (int i = 0; i < TIMERS; i++) {
        deadlines_ns[i] = csk_deadline_after(1000000);
        CHECK_STATUS(csk_timer_start(&timers[i], deadlines_ns[i], note_lateness, &deadlines_ns[i]), 0);
        while (LOAD(&fired) <= (uint32_t)i) usleep(1000);
    }
    CHECK_LE(latest_ns, INT64_C(10000000000));
}

static void use_up_descriptors(void) {
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 64, 64 }), 0);
    while (dup(pipe_ends[0]) >= 0) {}
    CHECK_EQ(errno, EMFILE);
}

static void what_is_documented_holds(void) {
    CHECK_EQ(pipe(pipe_ends), 0);
    if (getenv("CSK_NO_DESCRIPTORS") != NULL) use_up_descriptors();
    workers_are_as_the_process();
    timers_fire();
    all_that_sleep_begin(getenv("CSK_NAPS") != NULL ? nap : block);
    if (getenv("CSK_NO_PROC") != NULL) _exit(0); /* a sanitizer that looks for leaks would read it */
}

/* ---- Conditions -------------------------------------------------------------------------------------------------- */

static char program[4096];

typedef bool (*condition_t)(void);

static void start_under(void *condition) {
    if (!(*(condition_t *)condition)()) {
        printf("(the system does not let this test try) ");
        fflush(stdout);
        _exit(0);
    }
    int output = open("/dev/null", O_WRONLY);
    if (output >= 0) dup2(output, STDOUT_FILENO);
    run_program(program, program, "what_is_documented_holds");
    _exit(3);
}

static void holds_under(condition_t condition) {
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    CHECK(length > 0);
    program[length] = 0;
    in_a_child(start_under, &condition);
}

static void set_processors(uint32_t count) {
    char text[16];
    snprintf(text, sizeof text, "%u", count);
    setenv("CSK_PROCESSORS", text, 1);
}

static bool on_one_processor(void) {
    cpu_set_t all, first;
    CPU_ZERO(&first);
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&first) == 0; i++)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &first);
    set_processors(1);
    return sched_setaffinity(0, sizeof first, &first) == 0;
}
static bool nicest(void) { return setpriority(PRIO_PROCESS, 0, 19) == 0; }
static bool in_real_time(void) {
    return sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 10 }) == 0;
}
static bool in_real_time_on_one_processor(void) { return on_one_processor() && in_real_time(); }
static bool without_descriptors(void) { return setenv("CSK_NO_DESCRIPTORS", "1", 1) == 0; }
static bool without_descriptors_napping(void) { return without_descriptors() && setenv("CSK_NAPS", "1", 1) == 0; }
static bool without_proc(void) {
    setenv("CSK_NO_PROC", "1", 1);
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", "/proc", "tmpfs", 0, NULL) == 0;
}
static bool with_a_filter(void) {
    static const long calls[] = { SYS_sched_setaffinity, SYS_sched_getattr,   SYS_sched_setattr,
                                  SYS_membarrier,        SYS_get_robust_list, SYS_setpriority };
    static const long of_sanitizers[] = { SYS_sched_getaffinity, SYS_sigaltstack }; /* they insist on these */
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) refuse_call(calls[i], EPERM);
    for (size_t i = 0; i < sizeof of_sanitizers / sizeof of_sanitizers[0]; i++)
        if (!TEST_IS_SANITIZED) refuse_call(of_sanitizers[i], EPERM);
    return true;
}

static void on_one_processor_there_is_one_worker(void) { holds_under(on_one_processor); }
static void the_nicest_process_has_nice_workers(void) { holds_under(nicest); }
static void a_real_time_process_has_real_time_workers(void) {
    holds_under(in_real_time);
    holds_under(in_real_time_on_one_processor);
}
static void without_a_descriptor_all_that_block_begin(void) { holds_under(without_descriptors); }
static void without_a_descriptor_all_that_nap_begin(void) { holds_under(without_descriptors_napping); }
static void without_proc_all_that_block_begin(void) { holds_under(without_proc); }
static void a_filter_of_system_calls_stops_nothing(void) { holds_under(with_a_filter); }

/* ---- Half a processor -------------------------------------------------------------------------------------------- */

static char group[64];

static bool write_to_group(const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", group, name);
    int file = open(path, O_WRONLY);
    if (file < 0) return false;
    bool written = write(file, text, strlen(text)) == (ssize_t)strlen(text);
    close(file);
    return written;
}

static bool in_half_a_processor(void) {
    set_processors(1);
    return group[0] != 0 && write_to_group("cgroup.procs", "0");
}

/* Of version 1 or 2; false where this process may not make one. */
static bool make_group(void) {
    snprintf(group, sizeof group, "/sys/fs/cgroup/cpu/csk_test_%d", (int)getpid());
    if (mkdir(group, 0755) == 0 && write_to_group("cpu.cfs_quota_us", "50000")) return true;
    rmdir(group);
    snprintf(group, sizeof group, "/sys/fs/cgroup/csk_test_%d", (int)getpid());
    if (mkdir(group, 0755) == 0 && write_to_group("cpu.max", "50000 100000")) return true;
    rmdir(group);
    group[0] = 0;
    return false;
}

static void half_a_processor_s_quota_makes_one_worker(void) {
    make_group();
    holds_under(in_half_a_processor);
    if (group[0] != 0) rmdir(group);
}

/* ---- No further threads ------------------------------------------------------------------------------------------ */

/* This one, the supervisor and a worker; ThreadSanitizer has one of its own. */
#ifdef __SANITIZE_THREAD__
enum { FEW_THREADS = 4 };
#else
enum { FEW_THREADS = 3 };
#endif

static uint32_t stuck;
static void note_stuck(const csk_event_t *event) {
    ADD(&stuck, event->kind == CSK_EVENT_POOL_STUCK && event->status == EAGAIN);
}

static void limit_threads(rlim_t count) {
    struct rlimit limit = { count, RLIM_INFINITY };
    struct rlimit now;
    CHECK_EQ(getrlimit(RLIMIT_NPROC, &now), 0);
    limit.rlim_max = now.rlim_max;
    CHECK_EQ(setrlimit(RLIMIT_NPROC, &limit), 0);
}

/* With one worker the pool goes on, says that it is stuck, and starts others when it may. */
static void be_refused_threads(void *unused) {
    static csk_pool_item_t items[BLOCKED];
    (void)unused;
    CHECK(setuid(61234) == 0 || getuid() != 0);
    csk_set_reporter(note_stuck);
    CHECK_EQ(pipe(pipe_ends), 0);
    limit_threads(1);
    CHECK_STATUS(csk_pool_post(&items[0], block), EAGAIN);
    CHECK_EQ(csk_pool_workers(), 0);
    if (getuid() == 61234) limit_threads(FEW_THREADS);
    else limit_threads(RLIM_INFINITY);
    int accepted = 0;
    while (accepted < 10) accepted += csk_pool_post(&items[accepted], block) == 0;
    if (getuid() == 61234) {
        while (LOAD(&stuck) == 0) usleep(1000);
        CHECK_EQ(csk_pool_workers(), 1);
        CHECK_EQ(LOAD(&begun), 1);
    }
    struct rlimit now;
    CHECK_EQ(getrlimit(RLIMIT_NPROC, &now), 0);
    limit_threads(now.rlim_max);
    while (LOAD(&begun) < 10) usleep(1000);
    close(pipe_ends[1]);
    while (LOAD(&ended) < 10) usleep(1000);
}

static void where_threads_are_refused_the_pool_says_that_it_is_stuck(void) { in_a_child(be_refused_threads, NULL); }

TEST_MAIN(TEST(on_one_processor_there_is_one_worker), TEST(the_nicest_process_has_nice_workers),
          TEST(a_real_time_process_has_real_time_workers), TEST(half_a_processor_s_quota_makes_one_worker),
          TEST(without_a_descriptor_all_that_block_begin), TEST(without_a_descriptor_all_that_nap_begin),
          TEST(without_proc_all_that_block_begin), TEST(a_filter_of_system_calls_stops_nothing),
          TEST(where_threads_are_refused_the_pool_says_that_it_is_stuck), TEST(what_is_documented_holds))
