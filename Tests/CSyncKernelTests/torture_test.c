/* torture_test.c: everything at once from many more threads than cores, part by part and round by round.
 *
 *     torture_test [--seconds N] [--events N | --races N] [--threads N] [--seed S] [--pinned] [--stops] [PART ...]
 *
 * Without options: a few seconds, 16 threads for each core, the seed of CSK_TEST_SEED or the fixed one. --pinned keeps
 * the process on one core, where threads meet at other places than on many. With --stops threads are stopped at random
 * by a handler of a signal, for up to 50 ms, whatever they hold. A part gets at most 5 seconds in one round,
 * and the rounds go on, each with seeds of its own, until the time is over, and so many --events were counted, or in
 * each part so many --races of grants with timeouts, and as many with cancellations. */
#include "torture.h"

#include <getopt.h>

#include "torture_stops.h"

struct torture_counts torture_counts[TORTURE_MAX_THREADS + 8];
_Thread_local int torture_slot;
_Thread_local uint64_t torture_random_state;
uint64_t torture_round_seed;
int torture_threads, torture_stop;
bool torture_with_stops;

static const char *const counter_names[CANCELLED] = {
    "grants", "timeouts",  "cancels", "refused", "closed", "adopted",
    "lost",   "forgotten", "resized", "writes",  "timed",  "cancelable",
};

static const struct part {
    const char *name;
    void (*late)(uint32_t policy);
    void (*gate)(uint32_t policy, uint32_t bypass_limit);
    uint32_t policy, bypass_limit;
    void (*plain)(void);
    bool races; /* it counts races */
    void (*pqueue)(uint64_t capacity);
    uint64_t capacity;
    void (*rwlock)(uint32_t policy, uint32_t reader_bias);
    uint32_t reader_bias;
    void (*workqueue)(uint32_t width, uint32_t room, int32_t when_full);
    uint32_t width, room;
    int32_t when_full;
    void (*rcu_map)(bool one_hash);
    bool one_hash;
} parts[] = {
    { .name = "gate-fast", .gate = torture_gate, .policy = CSK_GATE_FAST },
    { .name = "gate-compact", .gate = torture_gate, .policy = CSK_GATE_COMPACT },
    { .name = "gate-strict", .gate = torture_gate, .policy = CSK_GATE_STRICT },
    { .name = "gate-fast-limit", .gate = torture_gate, .policy = CSK_GATE_FAST, .bypass_limit = 3 },
    { .name = "gate-strict-limit", .gate = torture_gate, .policy = CSK_GATE_STRICT, .bypass_limit = 1 },
    { .name = "late-fast", .late = torture_late, .policy = CSK_GATE_FAST },
    { .name = "late-compact", .late = torture_late, .policy = CSK_GATE_COMPACT },
    { .name = "late-rwlock", .plain = torture_late_rwlock },
    { .name = "mutex", .plain = torture_mutex },
    { .name = "pqueue", .pqueue = torture_pqueue },
    { .name = "pqueue-bounded", .pqueue = torture_pqueue, .capacity = 4 },
    { .name = "pqueue-one", .pqueue = torture_pqueue, .capacity = 1 },
    { .name = "pqueue-races", .plain = torture_pqueue_races, .races = true },
    { .name = "rwlock-fast", .rwlock = torture_rwlock, .policy = CSK_RWLOCK_FAST },
    { .name = "rwlock-strict", .rwlock = torture_rwlock, .policy = CSK_RWLOCK_STRICT },
    { .name = "rwlock-biased", .rwlock = torture_rwlock, .policy = CSK_RWLOCK_FAST, .reader_bias = 1 },
    { .name = "rwlock-strict-biased", .rwlock = torture_rwlock, .policy = CSK_RWLOCK_STRICT, .reader_bias = 1 },
    { .name = "sem", .plain = torture_sem },
    { .name = "sem-races", .plain = torture_sem_races, .races = true },
    { .name = "workqueue-serial", .workqueue = torture_workqueue, .width = 1 },
    { .name = "workqueue-wide", .workqueue = torture_workqueue, .width = 3 },
    { .name = "workqueue-waits", .workqueue = torture_workqueue, .width = 1, .room = 4 },
    { .name = "workqueue-wide-waits", .workqueue = torture_workqueue, .width = 3, .room = 2 },
    { .name = "workqueue-refuses",
      .workqueue = torture_workqueue,
      .width = 2,
      .room = 8,
      .when_full = CSK_WORKQUEUE_REFUSE },
    { .name = "workqueue-drops",
      .workqueue = torture_workqueue,
      .width = 2,
      .room = 4,
      .when_full = CSK_WORKQUEUE_DROP_OLDEST },
    { .name = "pool", .plain = torture_pool },
    { .name = "delayed-serial", .workqueue = torture_delayed, .width = 1 },
    { .name = "delayed-wide", .workqueue = torture_delayed, .width = 3 },
    { .name = "delayed-waits", .workqueue = torture_delayed, .width = 1, .room = 2 },
    { .name = "delayed-refuses",
      .workqueue = torture_delayed,
      .width = 2,
      .room = 4,
      .when_full = CSK_WORKQUEUE_REFUSE },
    { .name = "delayed-drops",
      .workqueue = torture_delayed,
      .width = 2,
      .room = 4,
      .when_full = CSK_WORKQUEUE_DROP_OLDEST },
    { .name = "tls", .plain = torture_tls },
    { .name = "rcu_map", .rcu_map = torture_rcu_map },
    { .name = "rcu_map-one-hash", .rcu_map = torture_rcu_map, .one_hash = true },
};
enum { PARTS = sizeof parts / sizeof parts[0], PROGRESS_S = 5 };
static uint64_t totals[PARTS][COUNTERS];
static bool chosen[PARTS];

static int64_t part_ns, started_ns, next_progress_ns;
static int last_slot;

uint64_t torture_total(int which) {
    uint64_t total = 0;
    for (size_t i = 0; i < sizeof torture_counts / sizeof torture_counts[0]; i++)
        total += __atomic_load_n(&torture_counts[i].of[which], __ATOMIC_RELAXED);
    return total;
}

struct start {
    void *(*body)(void *);
    void *context;
    int slot;
    uint32_t taken;
};

static void *enter_crowd(void *context) {
    struct start start = *(struct start *)context;
    torture_slot = start.slot;
    STORE(&((struct start *)context)->taken, 1);
    return start.body(start.context);
}

void crowd_start(struct crowd *crowd, int count, void *(*body)(void *), void *context) {
    crowd->count = count;
    for (int i = 0; i < count; i++) {
        struct start start = { body, context, ++last_slot, 0 };
        crowd->threads[i] = start_thread(enter_crowd, &start);
        wait_until(LOAD(&start.taken));
    }
    if (torture_with_stops) torture_stops_begin(crowd);
}

void crowd_join(struct crowd *crowd) {
    if (torture_with_stops) torture_stops_end(crowd);
    for (int i = 0; i < crowd->count; i++) join_thread(crowd->threads[i]);
}

void torture_wait(void) {
    int64_t end_ns = csk_deadline_after(part_ns);
    while (csk_now() < end_ns) {
        int64_t rest_ns = end_ns - csk_now(), step_ns = rest_ns < 100000000 ? rest_ns : 100000000;
        if (step_ns > 0) nanosleep(&(struct timespec){ .tv_nsec = step_ns }, NULL);
    }
}

static void print_counts(const char *name, const uint64_t *counts) {
    printf("%-20s", name);
    for (int i = 0; i < CANCELLED; i++)
        if (counts[i] != 0) printf(" %s %" PRIu64, counter_names[i], counts[i]);
    putchar('\n');
    fflush(stdout);
}

static void run_part(size_t which, uint64_t seed) {
    const struct part *part = &parts[which];
    alarm(TEST_WATCHDOG_S);
    memset(torture_counts, 0, sizeof torture_counts);
    torture_round_seed = seed;
    torture_random_state = 0;
    last_slot = 0;
    STORE(&torture_stop, 0);
    if (part->gate != NULL) part->gate(part->policy, part->bypass_limit);
    if (part->late != NULL) part->late(part->policy);
    if (part->plain != NULL) part->plain();
    if (part->pqueue != NULL) part->pqueue(part->capacity);
    if (part->rwlock != NULL) part->rwlock(part->policy, part->reader_bias);
    if (part->workqueue != NULL) part->workqueue(part->width, part->room, part->when_full);
    if (part->rcu_map != NULL) part->rcu_map(part->one_hash);
    for (int i = 0; i < COUNTERS; i++) totals[which][i] += torture_total(i);
    if (csk_now() < next_progress_ns) return;
    printf("%7.1f s, ", (double)(csk_now() - started_ns) / 1e9);
    print_counts(part->name, totals[which]);
    next_progress_ns = csk_deadline_after(PROGRESS_S * INT64_C(1000000000));
}

static void pin_to_one_core(void) {
    cpu_set_t allowed, one;
    CHECK_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &allowed) && CPU_COUNT(&one) == 0) CPU_SET(i, &one);
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
}

static void choose_parts(char **names, int count) {
    for (size_t i = 0; i < PARTS; i++) chosen[i] = count == 0;
    for (int wanted = 0; wanted < count; wanted++) {
        size_t found = 0;
        while (found < PARTS && strcmp(parts[found].name, names[wanted]) != 0) found++;
        if (found == PARTS) {
            printf("no part is named %s\n", names[wanted]);
            exit(2);
        }
        chosen[found] = true;
    }
}

static double parse_options(int argc, char **argv, uint64_t *seed, uint64_t *events, uint64_t *races) {
    static const struct option options[] = {
        { "seconds", required_argument, NULL, 's' }, { "events", required_argument, NULL, 'e' },
        { "races", required_argument, NULL, 'c' },   { "threads", required_argument, NULL, 't' },
        { "seed", required_argument, NULL, 'r' },    { "pinned", no_argument, NULL, 'p' },
        { "stops", no_argument, NULL, 'h' },         { NULL, 0, NULL, 0 },
    };
    double seconds = TEST_IS_SANITIZED ? 2 : 4;
    /* As many as the machine has, even if this process may use fewer: pinned, the crowd is the same. */
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    torture_threads = cores > 16 ? 256 : (int)cores * 16;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 's': seconds = strtod(optarg, NULL); break;
        case 'e': *events = strtoull(optarg, NULL, 0); break;
        case 'c': *races = strtoull(optarg, NULL, 0); break;
        case 't': torture_threads = atoi(optarg); break;
        case 'r': *seed = strtoull(optarg, NULL, 0); break;
        case 'p': pin_to_one_core(); break;
        case 'h': torture_with_stops = true; break;
        default: exit(2);
        }
    }
    if (torture_threads < 4 || torture_threads > TORTURE_MAX_THREADS || !(seconds > 0)) {
        printf("--threads from 4 to %d, --seconds above 0\n", TORTURE_MAX_THREADS);
        exit(2);
    }
    choose_parts(argv + optind, argc - optind);
    return seconds;
}

static uint64_t events_so_far(void) {
    uint64_t events = 0;
    for (size_t i = 0; i < PARTS; i++)
        for (int which = 0; which < TIMED; which++) events += totals[i][which];
    return events;
}

/* In the part that has counted the fewest, of the kind of which it has counted fewer. */
static uint64_t races_so_far(void) {
    uint64_t races = UINT64_MAX;
    for (size_t i = 0; i < PARTS; i++) {
        if (!chosen[i] || !parts[i].races) continue;
        if (totals[i][TIMED] < races) races = totals[i][TIMED];
        if (totals[i][CANCELABLE] < races) races = totals[i][CANCELABLE];
    }
    return races;
}

int main(int argc, char **argv) {
    signal(SIGALRM, test_watchdog);
    uint64_t seed = 0, events = 0, races = 0;
    double seconds = parse_options(argc, argv, &seed, &events, &races);
    int count = 0;
    for (size_t i = 0; i < PARTS; i++) count += chosen[i];
    started_ns = csk_now();
    next_progress_ns = csk_deadline_after(PROGRESS_S * INT64_C(1000000000));
    part_ns = (int64_t)(seconds / count * 1e9);
    if (part_ns > INT64_C(5000000000)) part_ns = INT64_C(5000000000);
    printf("torture: %d threads, %.1f s, seed %" PRIu64 "\n", torture_threads, seconds, seed);
    fflush(stdout);
    int64_t end_ns = csk_deadline_after((int64_t)(seconds * 0.95e9));
    uint64_t round = 0;
    do {
        for (size_t i = 0; i < PARTS; i++)
            if (chosen[i]) run_part(i, (seed << 20) + (round++ << 10));
    } while (csk_now() < end_ns || events_so_far() < events || races_so_far() < races);
    for (size_t i = 0; i < PARTS; i++)
        if (chosen[i]) print_counts(parts[i].name, totals[i]);
    printf("ok %.1f s\n", (double)(csk_now() - started_ns) / 1e9);
    return 0;
}
