/* metrics_test.c: what is counted of waits and timers, by which names, and when. metrics_text_test.c has the text, and
 * metrics_works_test.c the work queues.
 *
 * More than 400 lines: all tests count at the same objects, and know what the earlier ones have counted there. */
#include <csynckernel/csynckernel.h>
#include <string.h>

#include "observe/metrics.h"
#include "child.h"

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

typedef struct {
    uint32_t object_kind;
    const char *name;
    int found;
    csk_metrics_entry_t entry;
} wanted_t;

static void look(const csk_metrics_entry_t *entry, void *context) {
    wanted_t *wanted = context;
    uint64_t count = 0;
    for (int i = 0; i < CSK_METRICS_BUCKETS; i++) count += entry->spans.buckets[i];
    CHECK_EQ(entry->spans.count, count);
    CHECK_EQ(entry->what, entry->name != NULL ? CSK_METRICS_WAITS : CSK_METRICS_TIMERS);
    if (entry->object_kind != wanted->object_kind || (entry->name == NULL) != (wanted->name == NULL)) return;
    if (entry->name != NULL && strcmp(entry->name, wanted->name) != 0) return;
    wanted->found++;
    wanted->entry = *entry;
}

/* What was counted; nothing where there is no entry. */
static csk_metrics_entry_t counted(uint32_t object_kind, const char *name) {
    wanted_t wanted = { .object_kind = object_kind, .name = name };
    csk_metrics_read(look, &wanted);
    CHECK_LE(wanted.found, 1);
    return wanted.entry;
}
static csk_metrics_entry_t timers(void) { return counted(CSK_OBJECT_OTHER, NULL); }

#define CHECK_OUTCOMES(kind, name, all_granted, all_timed_out, all_refused)            \
    do {                                                                               \
        csk_metrics_entry_t entry_ = counted((kind), (name));                          \
        CHECK_EQ(entry_.granted, (all_granted));                                       \
        CHECK_EQ(entry_.timed_out, (all_timed_out));                                   \
        CHECK_EQ(entry_.refused, (all_refused));                                       \
        CHECK_EQ(entry_.spans.count, (all_granted) + (all_timed_out) + (all_refused)); \
    } while (0)

static void count_entries(const csk_metrics_entry_t *entry, void *count) {
    (void)entry;
    ++*(int *)count;
}

static void before_the_start_there_is_nothing(void) {
    int entries = 0;
    CHECK(!csk_metrics_is_running());
    csk_metrics_read(count_entries, &entries);
    CHECK_EQ(entries, 0);
    CHECK_EQ(csk_metrics_lost(), 0);
    csk_metrics_stop();
    CHECK(!csk_metrics_is_running());
    csk_metrics_count(csk_metrics_find(&entries, CSK_OBJECT_OTHER), 1, 0);
    csk_metrics_late(1);
    CHECK_STATUS(csk_metrics_start(), 0);
    CHECK(csk_metrics_is_running());
    CHECK_STATUS(csk_metrics_start(), 0);
    CHECK_EQ(timers().spans.count, 0);
}

/* ---- Spans ------------------------------------------------------------------------------------------------------- */

static uint32_t bucket_with_one(const csk_metrics_histogram_t *after, const csk_metrics_histogram_t *before) {
    CHECK_EQ(after->count, before->count + 1);
    uint32_t bucket = 0;
    while (after->buckets[bucket] == before->buckets[bucket]) bucket++;
    CHECK_EQ(after->buckets[bucket], before->buckets[bucket] + 1);
    return bucket;
}

static void a_span_stands_in_the_first_bucket_that_holds_it(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    CHECK_STATUS(csk_name(&gate, "bounds"), 0);
    csk_metrics_waits_t *waits = csk_metrics_find(&gate, CSK_OBJECT_GATE);
    CHECK(waits != NULL);
    csk_metrics_histogram_t before = { .count = 0 };
    int64_t sum_ns = 0, longest_ns = 0, bound_ns = 1000;
    CHECK_EQ(csk_metrics_bound_ns(0), 1000);
    CHECK_EQ(csk_metrics_bound_ns(CSK_METRICS_BUCKETS - 2), INT64_C(67108864000));
    CHECK_EQ(csk_metrics_bound_ns(CSK_METRICS_BUCKETS - 1), INT64_MAX);
    for (uint32_t bucket = 0; bucket < CSK_METRICS_BUCKETS; bucket++, bound_ns *= 2) {
        bool last = bucket == CSK_METRICS_BUCKETS - 1;
        int64_t least_ns = bucket == 0 ? 0 : bound_ns / 2 + 1, most_ns = last ? INT64_C(1) << 50 : bound_ns;
        if (!last) CHECK_EQ(csk_metrics_bound_ns(bucket), bound_ns);
        for (int i = 0; i < 2; i++) {
            int64_t span_ns = i == 0 ? least_ns : most_ns;
            csk_metrics_count(waits, span_ns, 0);
            csk_metrics_histogram_t after = counted(CSK_OBJECT_GATE, "bounds").spans;
            CHECK_EQ(bucket_with_one(&after, &before), bucket);
            CHECK_EQ(after.sum_ns, sum_ns += span_ns);
            CHECK_EQ(after.longest_ns, longest_ns = span_ns);
            before = after;
        }
    }
    csk_metrics_count(waits, -5, 0); /* counts as none */
    csk_metrics_histogram_t after = counted(CSK_OBJECT_GATE, "bounds").spans;
    CHECK_EQ(bucket_with_one(&after, &before), 0);
    CHECK_EQ(after.sum_ns, sum_ns);
    CHECK_EQ(after.longest_ns, longest_ns);
    csk_unname(&gate);
}

enum { ADDERS = 8, ADDITIONS = 40000 / TEST_SLOWDOWN, NAMES = 16 };
static csk_gate_t many[ADDERS][NAMES];
static int adding;

/* Each thread has objects of its own; the names are the same. */
static void *add(void *context) {
    csk_gate_t *gates = context;
    uint64_t seed = test_seed((uint64_t)(uintptr_t)context);
    for (int i = 0; i < ADDITIONS; i++) {
        uint64_t random = test_random(&seed);
        int status = i % 4 == 0 ? ETIMEDOUT : i % 4 == 1 ? ECANCELED : 0;
        csk_metrics_count(csk_metrics_find(&gates[random % NAMES], CSK_OBJECT_GATE), i, status);
    }
    ADD(&adding, -1);
    return NULL;
}

typedef struct {
    uint64_t granted, timed_out, refused, count;
    int64_t sum_ns, longest_ns;
} sums_t;

static void add_up(const csk_metrics_entry_t *entry, void *context) {
    sums_t *sums = context;
    if (entry->name == NULL || strncmp(entry->name, "many ", 5) != 0) return;
    sums->granted += entry->granted;
    sums->timed_out += entry->timed_out;
    sums->refused += entry->refused;
    sums->count += entry->spans.count;
    sums->sum_ns += entry->spans.sum_ns;
    if (entry->spans.longest_ns > sums->longest_ns) sums->longest_ns = entry->spans.longest_ns;
}

static void what_many_threads_count_adds_up_while_others_read(void) {
    pthread_t threads[ADDERS];
    char name[16];
    for (int i = 0; i < ADDERS * NAMES; i++) {
        snprintf(name, sizeof name, "many %d", i % NAMES);
        CHECK_STATUS(csk_name(&many[i / NAMES][i % NAMES], name), 0);
    }
    adding = ADDERS;
    for (int i = 0; i < ADDERS; i++) threads[i] = start_thread(add, many[i]);
    sums_t sums = { 0 }, former;
    do {
        former = sums;
        memset(&sums, 0, sizeof sums);
        csk_metrics_read(add_up, &sums);
        CHECK_GE(sums.granted, former.granted);
        CHECK_GE(sums.count, former.count);
        CHECK_GE(sums.sum_ns, former.sum_ns);
        CHECK_GE(sums.longest_ns, former.longest_ns);
    } while (LOAD(&adding) > 0);
    for (int i = 0; i < ADDERS; i++) join_thread(threads[i]);
    memset(&sums, 0, sizeof sums);
    csk_metrics_read(add_up, &sums);
    CHECK_EQ(sums.granted, ADDERS * ADDITIONS / 2);
    CHECK_EQ(sums.timed_out, ADDERS * ADDITIONS / 4);
    CHECK_EQ(sums.refused, ADDERS * ADDITIONS / 4);
    CHECK_EQ(sums.count, ADDERS * ADDITIONS);
    CHECK_EQ(sums.sum_ns, (int64_t)ADDERS * ADDITIONS * (ADDITIONS - 1) / 2);
    CHECK_EQ(sums.longest_ns, ADDITIONS - 1);
    for (int i = 0; i < ADDERS * NAMES; i++) csk_unname(&many[i / NAMES][i % NAMES]);
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

static void wait_once(const void *object, uint32_t object_kind) {
    csk_metrics_waited(object, object_kind, csk_platform_now(), 0);
}

static void objects_of_one_kind_and_name_share_an_entry(void) {
    csk_gate_t gates[3] = { CSK_GATE_INITIALIZER, CSK_GATE_INITIALIZER, CSK_GATE_INITIALIZER };
    csk_sem_t sem = CSK_SEM_INITIALIZER;
    CHECK_STATUS(csk_name(&gates[0], "shared"), 0);
    CHECK_STATUS(csk_name(&gates[1], "shared"), 0);
    CHECK_STATUS(csk_name(&sem, "shared"), 0);
    for (int i = 0; i < 3; i++) wait_once(&gates[i], CSK_OBJECT_GATE); /* the last has no name */
    wait_once(&sem, CSK_OBJECT_SEM);
    CHECK_OUTCOMES(CSK_OBJECT_GATE, "shared", 2, 0, 0);
    CHECK_OUTCOMES(CSK_OBJECT_SEM, "shared", 1, 0, 0);
    /* It outlives them, and goes on with the next of that name. */
    CHECK_STATUS(csk_gate_destroy(&gates[0]), 0);
    CHECK_STATUS(csk_gate_destroy(&gates[1]), 0);
    CHECK_STATUS(csk_sem_destroy(&sem), 0);
    CHECK_STATUS(csk_name(&gates[2], "shared"), 0);
    wait_once(&gates[2], CSK_OBJECT_GATE);
    CHECK_OUTCOMES(CSK_OBJECT_GATE, "shared", 3, 0, 0);
    csk_unname(&gates[2]);
}

/* The two names differ in their first letters, by the same bits as the two kinds do. */
static void objects_of_two_kinds_share_no_entry(void) {
    char gate[] = "a lock", rwlock[] = "a lock";
    rwlock[0] ^= CSK_OBJECT_GATE ^ CSK_OBJECT_RWLOCK;
    CHECK(csk_metrics_find_named(CSK_OBJECT_GATE, 0, gate) != csk_metrics_find_named(CSK_OBJECT_RWLOCK, 0, rwlock));
}

static void an_object_without_a_name_is_counted_by_its_place(void) {
    csk_placed_gate_t gate = { .gate = CSK_GATE_INITIALIZER };
    csk_gate_set_place(&gate, (csk_place_t){ "file.c", 12 });
    wait_once(&gate, CSK_OBJECT_GATE);
    CHECK_OUTCOMES(CSK_OBJECT_GATE, "file.c:12", 1, 0, 0);
}

static void names_are_text(void) {
    static const struct {
        const char *name, *text;
    } names[] = {
        { "gr\xC3\xB6\xC3\x9F"
          "e \xE2\x82\xAC \xF0\x9F\x98\x80",
          "gr\xC3\xB6\xC3\x9F"
          "e \xE2\x82\xAC \xF0\x9F\x98\x80" },
        { "a\xFFz", "a\xEF\xBF\xBDz" },
        { "\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD" },                 /* longer than need be */
        { "\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" }, /* a surrogate */
        { "\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD" },
        { "end\xE2\x82", "end\xEF\xBF\xBD\xEF\xBF\xBD" },
    };
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CHECK_STATUS(csk_name(&gate, names[i].name), 0);
        wait_once(&gate, CSK_OBJECT_GATE);
        CHECK_OUTCOMES(CSK_OBJECT_GATE, names[i].text, 1, 0, 0);
    }
    /* What is too long ends with a whole character. */
    char name[CSK_NAME_MAX + 1], text[CSK_NAME_MAX + 1];
    memset(name, 'n', CSK_NAME_MAX);
    name[CSK_NAME_MAX] = 0;
    memcpy(name + CSK_NAME_MAX - 2, "\xE2\x82", 2);
    CHECK_STATUS(csk_name(&gate, name), 0);
    wait_once(&gate, CSK_OBJECT_GATE);
    memset(text, 'n', CSK_NAME_MAX - 2);
    text[CSK_NAME_MAX - 2] = 0;
    CHECK_OUTCOMES(CSK_OBJECT_GATE, text, 1, 0, 0);
    csk_unname(&gate);
}

/* ---- Waits of threads -------------------------------------------------------------------------------------------- */

static csk_gate_t gate = CSK_GATE_INITIALIZER;
static csk_sem_t sem = CSK_SEM_INITIALIZER;
static csk_rwlock_t rwlock = CSK_RWLOCK_INITIALIZER;
static csk_cond_t cond;
static const int64_t moment_ns = 2000000;

static void name_all(void) {
    CHECK_STATUS(csk_cond_init(&cond, &gate), 0);
    CHECK_STATUS(csk_name(&gate, "the gate"), 0);
    CHECK_STATUS(csk_name(&sem, "the semaphore"), 0);
    CHECK_STATUS(csk_name(&rwlock, "the lock"), 0);
    CHECK_STATUS(csk_name(&cond, "the condition"), 0);
}

enum { WAITERS = 6 };
static int64_t truth_ns;

static void *passes_gate(void *unused) {
    int64_t since_ns = csk_platform_now();
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    ADD(&truth_ns, csk_platform_now() - since_ns);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    return unused;
}
static void *takes_permit(void *unused) {
    int64_t since_ns = csk_platform_now();
    CHECK_STATUS(csk_sem_wait(&sem, 0, 1), 0);
    ADD(&truth_ns, csk_platform_now() - since_ns);
    CHECK_STATUS(csk_sem_post(&sem, 1), 0);
    return unused;
}
static void *writes(void *unused) {
    int64_t since_ns = csk_platform_now();
    CHECK_STATUS(csk_rwlock_wrlock(&rwlock), 0);
    ADD(&truth_ns, csk_platform_now() - since_ns);
    CHECK_STATUS(csk_rwlock_unlock(&rwlock), 0);
    return unused;
}
static uint32_t at_gate(void) { return csk_gate_waiting(&gate); }
static uint32_t at_sem(void) { return csk_sem_waiting(&sem); }
static uint32_t at_rwlock(void) { return csk_rwlock_waiting(&rwlock); }
static int leave_gate(void) { return csk_gate_unlock(&gate); }
static int leave_sem(void) { return csk_sem_post(&sem, 1); }
static int leave_rwlock(void) { return csk_rwlock_unlock(&rwlock); }

/* The caller holds the object. Threads come, each waits once, and the sum is that of clocks around their calls. */
static void waits_are_those_of_clocks(uint32_t kind, const char *name, void *(*waits)(void *),
                                      uint32_t (*waiting)(void), int (*leave)(void)) {
    pthread_t threads[WAITERS];
    csk_metrics_entry_t before = counted(kind, name);
    STORE(&truth_ns, 0);
    for (int i = 0; i < WAITERS; i++) threads[i] = start_thread(waits, NULL);
    wait_until(waiting() == WAITERS);
    int64_t all_wait_ns = csk_platform_now();
    while (csk_platform_now() < all_wait_ns + moment_ns) sched_yield();
    int64_t left_ns = csk_platform_now();
    CHECK_STATUS(leave(), 0);
    for (int i = 0; i < WAITERS; i++) join_thread(threads[i]);
    csk_metrics_entry_t after = counted(kind, name);
    CHECK_EQ(after.granted, before.granted + WAITERS);
    CHECK_EQ(after.timed_out, before.timed_out);
    CHECK_EQ(after.refused, before.refused);
    CHECK_LE(after.spans.sum_ns - before.spans.sum_ns, LOAD(&truth_ns));
    CHECK_GE(after.spans.sum_ns - before.spans.sum_ns, WAITERS * (left_ns - all_wait_ns));
    CHECK_GE(after.spans.longest_ns, left_ns - all_wait_ns);
}

static void waits_of_threads_are_those_of_clocks(void) {
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    waits_are_those_of_clocks(CSK_OBJECT_GATE, "the gate", passes_gate, at_gate, leave_gate);
    CHECK_STATUS(csk_rwlock_wrlock(&rwlock), 0);
    waits_are_those_of_clocks(CSK_OBJECT_RWLOCK, "the lock", writes, at_rwlock, leave_rwlock);
    waits_are_those_of_clocks(CSK_OBJECT_SEM, "the semaphore", takes_permit, at_sem, leave_sem);
}

static const csk_metrics_entry_t *former;

/* A thread that the system keeps away until its deadline has passed has not waited, and comes again. */
static void *times_out(void *unused) {
    while (counted(CSK_OBJECT_GATE, "the gate").timed_out == former[0].timed_out)
        CHECK_STATUS(csk_gate_timedlock(&gate, 0, csk_deadline_after(moment_ns)), ETIMEDOUT);
    while (counted(CSK_OBJECT_RWLOCK, "the lock").timed_out == former[1].timed_out)
        CHECK_STATUS(csk_rwlock_timedwrlock(&rwlock, csk_deadline_after(moment_ns)), ETIMEDOUT);
    while (counted(CSK_OBJECT_SEM, "the semaphore").timed_out == former[2].timed_out)
        CHECK_STATUS(csk_sem_timedwait(&sem, 0, 1, csk_deadline_after(moment_ns)), ETIMEDOUT);
    return unused;
}

static void waits_that_time_out_are_counted_as_such(void) {
    csk_metrics_entry_t before[] = { counted(CSK_OBJECT_GATE, "the gate"), counted(CSK_OBJECT_RWLOCK, "the lock"),
                                     counted(CSK_OBJECT_SEM, "the semaphore") };
    former = before;
    CHECK_STATUS(csk_sem_trywait(&sem, 0, 1), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_rwlock_wrlock(&rwlock), 0);
    join_thread(start_thread(times_out, NULL));
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_rwlock_unlock(&rwlock), 0);
    CHECK_STATUS(csk_sem_post(&sem, 1), 0);
    CHECK_OUTCOMES(CSK_OBJECT_GATE, "the gate", before[0].granted, before[0].timed_out + 1, before[0].refused);
    CHECK_OUTCOMES(CSK_OBJECT_RWLOCK, "the lock", before[1].granted, before[1].timed_out + 1, before[1].refused);
    CHECK_OUTCOMES(CSK_OBJECT_SEM, "the semaphore", before[2].granted, before[2].timed_out + 1, before[2].refused);
}

static void *passes_often(void *unused) {
    for (int i = 0; i < 20000 / TEST_SLOWDOWN; i++) {
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
    }
    return unused;
}

/* Most of them enter while they spin. */
static void threads_that_enter_while_they_spin_are_counted(void) {
    pthread_t threads[4];
    csk_metrics_entry_t before = counted(CSK_OBJECT_GATE, "the gate"), after;
    do {
        for (int i = 0; i < 4; i++) threads[i] = start_thread(passes_often, NULL);
        for (int i = 0; i < 4; i++) join_thread(threads[i]);
        after = counted(CSK_OBJECT_GATE, "the gate");
        CHECK_EQ(after.granted - before.granted, after.spans.count - before.spans.count);
    } while (after.granted == before.granted);
    int64_t since_ns = csk_tell_came(csk_platform_now());
    CHECK(since_ns != 0);
    csk_tell_entered(&gate, CSK_OBJECT_GATE, 0, since_ns, false);
    CHECK_OUTCOMES(CSK_OBJECT_GATE, "the gate", after.granted + 1, after.timed_out, after.refused);
    csk_tell_entered(&gate, CSK_OBJECT_GATE, 0, 0, false); /* of a thread that came while nothing was counted */
    CHECK_OUTCOMES(CSK_OBJECT_GATE, "the gate", after.granted + 1, after.timed_out, after.refused);
}

static void who_enters_a_free_gate_does_not_wait(void) {
    csk_gate_t fresh = CSK_GATE_INITIALIZER; /* its first entry sets it up */
    CHECK_STATUS(csk_name(&fresh, "the fresh gate"), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(csk_gate_lock(&fresh, 0), 0);
        CHECK_STATUS(csk_gate_unlock(&fresh), 0);
    }
    CHECK_OUTCOMES(CSK_OBJECT_GATE, "the fresh gate", 0, 0, 0);
    csk_unname(&fresh);
    CHECK_STATUS(csk_gate_destroy(&fresh), 0);
}

static int signals;

static void *awaits_signals(void *unused) {
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    for (int i = 0; i < signals; i++) CHECK_STATUS(csk_cond_wait(&cond, 0), 0);
    CHECK_STATUS(csk_cond_timedwait(&cond, 0, csk_deadline_after(moment_ns)), ETIMEDOUT);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    return unused;
}

static void waits_for_a_signal_are_counted(void) {
    signals = 3;
    pthread_t thread = start_thread(awaits_signals, NULL);
    for (int i = 0; i < signals; i++) {
        wait_until(csk_cond_waiting(&cond) == 1);
        CHECK_STATUS(csk_cond_signal(&cond), 0);
        wait_until(csk_gate_waiting(&gate) == 0);
    }
    join_thread(thread);
    CHECK_OUTCOMES(CSK_OBJECT_COND, "the condition", signals, 1, 0);
}

static csk_cond_t short_lived;

static void *awaits_broadcast(void *unused) {
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_cond_wait(&short_lived, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    return unused;
}
/* Its name was gone, and once its memory too, when the thread that it had let go looked for it. */
static void a_condition_may_be_destroyed_after_its_broadcast(void) {
    CHECK_STATUS(csk_cond_init(&short_lived, &gate), 0);
    CHECK_STATUS(csk_name(&short_lived, "the short-lived condition"), 0);
    pthread_t thread = start_thread(awaits_broadcast, NULL);
    wait_until(csk_cond_waiting(&short_lived) == 1);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_cond_broadcast(&short_lived), 0);
    CHECK_STATUS(csk_cond_destroy(&short_lived), 0);
    memset(&short_lived, 0xFF, sizeof short_lived);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    join_thread(thread);
    CHECK_OUTCOMES(CSK_OBJECT_COND, "the short-lived condition", 1, 0, 0);
}

/* ---- Callbacks --------------------------------------------------------------------------------------------------- */

static int called, last_status;
static void note(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context;
    STORE(&last_status, status);
    ADD(&called, 1);
}

static void callbacks_are_counted(void) {
    csk_sem_t permits = CSK_SEM_INITIALIZER;
    csk_waiter_t waiter = { .word = 0 };
    CHECK_STATUS(csk_name(&permits, "callbacks"), 0);
    STORE(&called, 0);
    CHECK_STATUS(csk_sem_wait_async(&permits, 0, &waiter, 1, CSK_NEVER, note, NULL), 0);
    CHECK_STATUS(csk_sem_post(&permits, 1), 0);
    wait_until(LOAD(&called) == 1);
    CHECK_OUTCOMES(CSK_OBJECT_SEM, "callbacks", 1, 0, 0);
    CHECK_STATUS(csk_sem_wait_async(&permits, 0, &waiter, 1, csk_deadline_after(moment_ns), note, NULL), 0);
    wait_until(LOAD(&called) == 2);
    CHECK_STATUS(LOAD(&last_status), ETIMEDOUT);
    CHECK_OUTCOMES(CSK_OBJECT_SEM, "callbacks", 1, 1, 0);
    CHECK_STATUS(csk_sem_wait_async(&permits, 0, &waiter, 1, CSK_NEVER, note, NULL), 0);
    CHECK_STATUS(csk_sem_cancel(&permits, &waiter), 0);
    CHECK_EQ(LOAD(&called), 3);
    CHECK_OUTCOMES(CSK_OBJECT_SEM, "callbacks", 1, 1, 1);
    /* One that need not wait isn't counted. */
    CHECK_STATUS(csk_sem_post(&permits, 1), 0);
    CHECK_STATUS(csk_sem_wait_async(&permits, 0, &waiter, 1, CSK_NEVER, note, NULL), 0);
    CHECK_EQ(LOAD(&called), 4);
    CHECK_OUTCOMES(CSK_OBJECT_SEM, "callbacks", 1, 1, 1);
    /* The profile and the metrics count the same wait. */
    CHECK_STATUS(csk_profile_start(1), 0);
    CHECK_STATUS(csk_sem_wait_async(&permits, 0, &waiter, 1, CSK_NEVER, note, NULL), 0);
    CHECK_STATUS(csk_sem_post(&permits, 1), 0);
    csk_profile_stop();
    CHECK(csk_metrics_is_running() && !csk_profile_is_running());
    CHECK_OUTCOMES(CSK_OBJECT_SEM, "callbacks", 2, 1, 1);
    CHECK_STATUS(csk_sem_destroy(&permits), 0);
}

/* ---- Starting and stopping --------------------------------------------------------------------------------------- */

static int begun;
static void note_begin(const csk_observer_t *observer, const csk_event_t *event) {
    (void)observer;
    if (event->kind == CSK_EVENT_WAIT_BEGIN && event->object == &gate) ADD(&begun, 1);
}

/* An observer is told that a thread waits after that thread has looked whether it is counted. */
static pthread_t start_waiter(void) {
    int before = LOAD(&begun);
    pthread_t thread = start_thread(passes_gate, NULL);
    wait_until(LOAD(&begun) == before + 1);
    return thread;
}

static void waits_under_way_are_counted_at_a_stop_and_not_at_a_start(void) {
    static const csk_observer_t observer = { .event = note_begin };
    csk_observe(&observer);
    csk_sem_t permits = CSK_SEM_INITIALIZER;
    csk_waiter_t waiters[2] = { { .word = 0 }, { .word = 0 } };
    CHECK_STATUS(csk_name(&permits, "late"), 0);
    csk_metrics_entry_t before = counted(CSK_OBJECT_GATE, "the gate");
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    pthread_t counted_one = start_waiter();
    CHECK_STATUS(csk_sem_wait_async(&permits, 0, &waiters[0], 1, CSK_NEVER, note, NULL), 0);
    csk_metrics_stop();
    CHECK(!csk_metrics_is_running());
    pthread_t late_one = start_waiter();
    CHECK_STATUS(csk_sem_wait_async(&permits, 0, &waiters[1], 1, CSK_NEVER, note, NULL), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_sem_post(&permits, 2), 0);
    join_thread(counted_one);
    join_thread(late_one);
    CHECK_OUTCOMES(CSK_OBJECT_GATE, "the gate", before.granted + 1, before.timed_out, before.refused);
    CHECK_OUTCOMES(CSK_OBJECT_SEM, "late", 1, 0, 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    late_one = start_waiter();
    CHECK_STATUS(csk_sem_wait_async(&permits, 0, &waiters[0], 1, CSK_NEVER, note, NULL), 0);
    CHECK_STATUS(csk_metrics_start(), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_sem_post(&permits, 1), 0);
    join_thread(late_one);
    CHECK_OUTCOMES(CSK_OBJECT_GATE, "the gate", before.granted + 1, before.timed_out, before.refused);
    CHECK_OUTCOMES(CSK_OBJECT_SEM, "late", 1, 0, 0);
    CHECK_STATUS(csk_sem_destroy(&permits), 0);
    csk_observe(NULL);
}

/* ---- Timers ------------------------------------------------------------------------------------------------------ */

static int fired;
static void fire(csk_timer_t *timer, void *context) {
    (void)timer, (void)context;
    ADD(&fired, 1);
}

static void timers_are_late_by_what_passes_after_the_deadline(void) {
    csk_timer_t timer = { .epoch = 0 };
    csk_metrics_histogram_t before = timers().spans, after;
    STORE(&fired, 0);
    int64_t deadline_ns = csk_deadline_after(moment_ns);
    CHECK_STATUS(csk_timer_start(&timer, deadline_ns, fire, NULL), 0);
    wait_until(LOAD(&fired) == 1);
    int64_t now_ns = csk_platform_now();
    after = timers().spans;
    CHECK_EQ(after.count, before.count + 1);
    CHECK_GE(after.sum_ns, before.sum_ns);
    CHECK_LE(after.sum_ns - before.sum_ns, now_ns - deadline_ns);
    /* What was due before the thread of the timers slept was started late, by somebody else. */
    csk_timer_cancel(&timer);
    CHECK_STATUS(csk_timer_start(&timer, 5, fire, NULL), 0);
    wait_until(LOAD(&fired) == 2);
    CHECK_EQ(timers().spans.count, after.count);
    csk_timer_cancel(&timer);
}

/* ---- Processes --------------------------------------------------------------------------------------------------- */

static void counts_from_nothing(void *unused) {
    (void)unused;
    int entries = 0;
    CHECK(csk_metrics_is_running());
    csk_metrics_read(count_entries, &entries);
    CHECK_EQ(entries, 1);
    CHECK_EQ(timers().spans.count, 0);
    wait_once(&gate, CSK_OBJECT_GATE);
    CHECK_OUTCOMES(CSK_OBJECT_GATE, "the gate", 1, 0, 0);
}

static void a_child_of_fork_counts_from_nothing(void) {
    csk_metrics_entry_t before = counted(CSK_OBJECT_GATE, "the gate");
    CHECK(before.spans.count != 0);
    in_a_child(counts_from_nothing, NULL);
    CHECK_OUTCOMES(CSK_OBJECT_GATE, "the gate", before.granted, before.timed_out, before.refused);
}

static void add_counts(const csk_metrics_entry_t *entry, void *sum) { *(uint64_t *)sum += entry->spans.count; }

/* In a child, which may find what its parent has counted where the system does not wipe it (metrics.h). */
static void fill_the_table(void *unused) {
    (void)unused;
    enum { TOO_MANY = 6000 };
    uint64_t before = 0;
    csk_metrics_read(add_counts, &before);
    csk_gate_t one = CSK_GATE_INITIALIZER;
    char name[16];
    for (int i = 0; i < TOO_MANY; i++) {
        snprintf(name, sizeof name, "gate %d", i);
        CHECK_STATUS(csk_name(&one, name), 0);
        wait_once(&one, CSK_OBJECT_GATE);
    }
    int entries = 0;
    uint64_t sum = 0;
    csk_metrics_read(count_entries, &entries);
    csk_metrics_read(add_counts, &sum);
    CHECK_GE(entries, 4000);
    CHECK(csk_metrics_lost() != 0);
    CHECK_EQ(sum - before + csk_metrics_lost(), TOO_MANY);
}

static void what_a_full_table_loses_is_counted(void) {
    CHECK_EQ(csk_metrics_lost(), 0);
    in_a_child(fill_the_table, NULL);
}

TEST_MAIN(TEST(before_the_start_there_is_nothing), TEST(a_span_stands_in_the_first_bucket_that_holds_it),
          TEST(what_many_threads_count_adds_up_while_others_read), TEST(objects_of_one_kind_and_name_share_an_entry),
          TEST(an_object_without_a_name_is_counted_by_its_place), TEST(objects_of_two_kinds_share_no_entry),
          TEST(names_are_text), { "name_all", name_all }, TEST(waits_of_threads_are_those_of_clocks),
          TEST(waits_that_time_out_are_counted_as_such), TEST(threads_that_enter_while_they_spin_are_counted),
          TEST(who_enters_a_free_gate_does_not_wait), TEST(waits_for_a_signal_are_counted),
          TEST(a_condition_may_be_destroyed_after_its_broadcast), TEST(callbacks_are_counted),
          TEST(waits_under_way_are_counted_at_a_stop_and_not_at_a_start),
          TEST(timers_are_late_by_what_passes_after_the_deadline), TEST(a_child_of_fork_counts_from_nothing),
          TEST(what_a_full_table_loses_is_counted))
