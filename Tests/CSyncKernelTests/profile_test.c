/* profile_test.c: the contention profile's sums beside clocks around each call, its stacks, its sampling, its files,
 * and its refusals. With CSK_PROFILE_ROUNDS threads pass five places so often, and the sums of that are compared.
 *
 * More than 400 lines: the files are read back and compared with what the other tests have counted here. */
#include "child.h"

#include <csynckernel/csynckernel.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/profile.h"
#include "base/slots.h"
#include "profiled.h"

enum { PLACES = 5, THREADS = 4 };

static csk_gate_t gate = CSK_GATE_INITIALIZER;
static csk_gate_t strict;
static csk_mutex_t mutex = CSK_MUTEX_INITIALIZER;
static csk_sem_t sem;
static csk_rwlock_t rwlock;
static int64_t truth_ns[PLACES];
static int64_t held_ns = 200000;
static int rounds, holders, stay;
static const char strict_name[] = "the strict one";

static void hold(void) {
    ADD(&holders, 1);
    wait_until(!LOAD(&stay));
    int64_t until_ns = csk_platform_now() + held_ns;
    while (csk_platform_now() < until_ns) csk_platform_park(&(uint32_t){ 0 }, 0, until_ns);
    ADD(&holders, -1);
}

/* Functions that aren't inlined, and whose last step isn't a jump into the library, which would leave them out of the
 * stack of whoever leaves. */
#define PLACE(number, enter, leave)                                                             \
    __attribute__((noinline)) void place_##number(void);                                        \
    void place_##number(void) {                                                                 \
        int64_t since_ns = csk_platform_now();                                                  \
        CHECK_STATUS(enter, 0);                                                                 \
        __atomic_fetch_add(&truth_ns[number], csk_platform_now() - since_ns, __ATOMIC_RELAXED); \
        hold();                                                                                 \
        CHECK_STATUS(leave, 0);                                                                 \
    }
PLACE(0, csk_gate_lock(&gate, 0), csk_gate_unlock(&gate))
PLACE(1, csk_gate_lock(&strict, 7), csk_gate_unlock(&strict))
PLACE(2, csk_mutex_lock(&mutex), csk_mutex_unlock(&mutex))
PLACE(3, csk_sem_wait(&sem, -7, 1), csk_sem_signal(&sem, 1))
PLACE(4, csk_rwlock_wrlock(&rwlock), csk_rwlock_unlock(&rwlock))

static void (*const places[PLACES])(void) = { place_0, place_1, place_2, place_3, place_4 };

/* Each thread has an order of its own, or they would follow each other from place to place. */
static void *visit(void *thread) {
    int step = 1 + *(int *)thread;
    for (int i = 0; i < rounds * PLACES; i++) places[i * step % PLACES]();
    return NULL;
}

typedef struct {
    int64_t delay_ns[2][PLACES];
    double contentions[2][PLACES];
    int32_t priority[PLACES];
} sums_t;

static csk_symbols_t symbols;

static int place_of(const csk_profile_entry_t *entry) {
    const char *name = function_in_stack(&symbols, entry, "place_");
    return name != NULL ? name[6] - '0' : -1;
}

static void add_up(const csk_profile_entry_t *entry, void *context) {
    sums_t *sums = context;
    int place = place_of(entry);
    if (place < 0) return;
    CHECK_EQ(entry->waiter, CSK_PROFILE_THREAD);
    /* One object has a name. Who lets others in does not look for it. */
    if (place == 1 && entry->side == CSK_PROFILE_WAITED) CHECK(strcmp(entry->name, strict_name) == 0);
    else CHECK(entry->name == NULL);
    sums->delay_ns[entry->side][place] += entry->delay_ns;
    sums->contentions[entry->side][place] += entry->contentions;
    sums->priority[place] = entry->priority;
}

static sums_t sums_now(void) {
    sums_t sums = { 0 };
    csk_profile_read(add_up, &sums);
    return sums;
}

static void make_objects(void) {
    csk_gate_attr_t attr = { .policy = CSK_GATE_STRICT };
    CHECK_STATUS(csk_gate_init(&strict, &attr), 0);
    CHECK_STATUS(csk_name(&strict, strict_name), 0);
    CHECK_STATUS(csk_sem_init(&sem, 1, 1), 0);
    CHECK_STATUS(csk_rwlock_init(&rwlock, NULL), 0);
    CHECK_STATUS(csk_symbols_open(&symbols), 0);
}

static void check_sums(const sums_t *before, const sums_t *after, int place) {
    double delay_ns =
        (double)(after->delay_ns[CSK_PROFILE_WAITED][place] - before->delay_ns[CSK_PROFILE_WAITED][place]);
    CHECK(delay_ns > 0.95 * (double)truth_ns[place] && delay_ns < 1.05 * (double)truth_ns[place]);
    CHECK(after->contentions[CSK_PROFILE_WAITED][place] > before->contentions[CSK_PROFILE_WAITED][place]);
    /* Who is let in is counted up to that moment. */
    CHECK(after->delay_ns[CSK_PROFILE_LET_IN][place] > before->delay_ns[CSK_PROFILE_LET_IN][place]);
}

static void *visit_one(void *place) {
    places[*(int *)place]();
    return NULL;
}
static uint32_t waiting_at(int place) {
    csk_gate_t *const gates[] = { &gate, &strict, &mutex.gate };
    return place < 3    ? csk_gate_waiting(gates[place])
           : place == 3 ? csk_sem_waiting(&sem)
                        : csk_rwlock_waiting(&rwlock);
}

/* A thread holds the place for tens of milliseconds once another one waits. The clocks stand around the call, so they
 * may see some microseconds more. */
static void long_waits_are_those_of_clocks(void) {
    static const int64_t thresholds_ns[] = { 1000, 10000, 100000 };
    static const int32_t priorities[PLACES] = { 0, 7, 0, -7, 0 };
    make_objects();
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(csk_profile_start(thresholds_ns[i]), 0);
        for (int place = 0; place < PLACES; place++) {
            sums_t before = sums_now();
            pthread_t threads[2];
            held_ns = INT64_C(30000000) * TEST_SLOWDOWN;
            STORE(&stay, 1);
            threads[0] = start_thread(visit_one, &place);
            wait_until(LOAD(&holders) == 1);
            truth_ns[place] = 0;
            threads[1] = start_thread(visit_one, &place);
            wait_until(waiting_at(place) == 1);
            STORE(&stay, 0);
            for (int thread = 0; thread < 2; thread++) join_thread(threads[thread]);
            sums_t after = sums_now();
            check_sums(&before, &after, place);
            CHECK_EQ(after.priority[place], priorities[place]);
        }
        csk_profile_stop();
    }
    CHECK_EQ(csk_profile_lost(), 0);
    csk_symbols_close(&symbols);
}

/* Threads that meet at all five places, as often as CSK_PROFILE_ROUNDS says: with thousands of waits the moments in
 * which the system takes a processor from a thread between its clock and its wait don't count any more. Calls that find
 * the place free are in the clocks' sums as well: beside waits of 40 us on average they were 3 % of it. */
static void sums_of_many_are_those_of_clocks(void) {
    static const int64_t thresholds_ns[] = { 1000, 10000, 100000 };
    const char *wanted = getenv("CSK_PROFILE_ROUNDS");
    make_objects();
    /* The first call at a gate registers for membarrier, which takes the system 20 ms once there are threads. */
    rounds = 1;
    visit(&(int){ 0 });
    rounds = wanted != NULL ? atoi(wanted) : 0;
    for (int i = 0; i < 3 && rounds > 0; i++) {
        sums_t before = sums_now();
        memset(truth_ns, 0, sizeof truth_ns);
        held_ns = 500000;
        CHECK_STATUS(csk_profile_start(thresholds_ns[i]), 0);
        pthread_t threads[THREADS];
        int numbers[THREADS];
        for (int thread = 0; thread < THREADS; thread++) {
            numbers[thread] = thread;
            threads[thread] = start_thread(visit, &numbers[thread]);
        }
        for (int thread = 0; thread < THREADS; thread++) join_thread(threads[thread]);
        csk_profile_stop();
        sums_t after = sums_now();
        for (int place = 0; place < PLACES; place++) {
            printf("threshold %lld us, place %d: %.0f waits, %.3f of the clocks' sum\n",
                   (long long)thresholds_ns[i] / 1000, place,
                   after.contentions[0][place] - before.contentions[0][place],
                   (double)(after.delay_ns[0][place] - before.delay_ns[0][place]) / (double)truth_ns[place]);
            check_sums(&before, &after, place);
        }
    }
    csk_symbols_close(&symbols);
}

/* The sums of many short waits are right on average: 6 standard deviations here. */
static void short_waits_are_weighted(void) {
    enum { WAITS = 200000 };
    static const int64_t lengths_ns[] = { 100, 1000, 5000, 9999 };
    CHECK_STATUS(csk_profile_start(10000), 0);
    for (int i = 0; i < 4; i++) {
        double contentions = 0, delay_ns = 0;
        for (int wait = 0; wait < WAITS; wait++) {
            csk_profile_sample_t sample;
            if (!csk_profile_keeps(lengths_ns[i], &sample)) continue;
            contentions += sample.contentions;
            delay_ns += (double)sample.delay_ns;
        }
        double expected = WAITS, bound = i == 0 ? 0.14 : 0.04;
        CHECK(contentions > (1 - bound) * expected && contentions < (1 + bound) * expected);
        expected *= (double)lengths_ns[i];
        CHECK(delay_ns > (1 - bound) * expected && delay_ns < (1 + bound) * expected);
    }
    csk_profile_sample_t sample;
    CHECK(csk_profile_keeps(10000, &sample) && sample.contentions == 1 && sample.delay_ns == 10000);
    CHECK(!csk_profile_keeps(0, &sample));
    csk_profile_stop();
}

static void add_of_priority_43(const csk_profile_entry_t *entry, void *sums) {
    if (entry->priority != 43 || entry->side != CSK_PROFILE_WAITED) return;
    ((sums_t *)sums)->contentions[CSK_PROFILE_WAITED][0] += entry->contentions;
    ((sums_t *)sums)->delay_ns[CSK_PROFILE_WAITED][0] += entry->delay_ns;
}
/* One in 32 of these is kept: 6 standard deviations. A thread that loses its processor in between makes the sum longer,
 * not shorter. */
static void looks_are_weighted(void) {
    enum { LOOKS = 800000, LENGTH_NS = 5000 };
    sums_t sums = { 0 };
    CHECK_STATUS(csk_profile_start(10000), 0);
    for (int look = 0; look < LOOKS; look++)
        csk_counts_end_of_look(&gate, CSK_OBJECT_GATE, csk_rank(43, CSK_PLACE_BACK),
                               csk_counts_since(csk_platform_now() - LENGTH_NS));
    csk_profile_stop();
    csk_profile_read(add_of_priority_43, &sums);
    double contentions = sums.contentions[CSK_PROFILE_WAITED][0];
    CHECK(contentions > 0.96 * LOOKS && contentions < 1.04 * LOOKS);
    CHECK((double)sums.delay_ns[CSK_PROFILE_WAITED][0] > 0.96 * LOOKS * LENGTH_NS);
}

static void add_of_priority_44(const csk_profile_entry_t *entry, void *contentions) {
    if (entry->priority == 44 && entry->side == CSK_PROFILE_LET_IN) *(double *)contentions += entry->contentions;
}
static void *take_one(void *permits) {
    CHECK_STATUS(csk_sem_wait(permits, 44, 1), 0);
    return NULL;
}
/* Whoever lets in more than there is room to copy once forgot the rest. */
static void those_let_in_at_once_all_count(void) {
    enum { WAITERS = 40 };
    csk_sem_t permits;
    pthread_t threads[WAITERS];
    double contentions = 0;
    CHECK_STATUS(csk_sem_init(&permits, 0, WAITERS), 0);
    CHECK_STATUS(csk_profile_start(1), 0);
    for (int i = 0; i < WAITERS; i++) threads[i] = start_thread(take_one, &permits);
    wait_until(csk_sem_waiting(&permits) == WAITERS);
    CHECK_STATUS(csk_sem_signal(&permits, WAITERS), 0);
    for (int i = 0; i < WAITERS; i++) join_thread(threads[i]);
    csk_profile_stop();
    csk_profile_read(add_of_priority_44, &contentions);
    CHECK(contentions > WAITERS - 0.01 && contentions < WAITERS + 0.01);
    CHECK_STATUS(csk_sem_destroy(&permits), 0);
}

/* Threads that are let in on the leaver's processor, and have long sections. Those were once counted as waits behind
 * the leaver, who read the clock too late. */
enum { LONG_SECTION_NS = 5000000 };
static void stay_awake(void) {
    int64_t until_ns = csk_platform_now() + LONG_SECTION_NS;
    while (csk_platform_now() < until_ns) {}
}
#define LET_IN_TO(kind, enter, leave)             \
    static void *let_in_to_##kind(void *unused) { \
        CHECK_STATUS(enter, 0);                   \
        stay_awake();                             \
        CHECK_STATUS(leave, 0);                   \
        return unused;                            \
    }
LET_IN_TO(gate, csk_gate_lock(&gate, 45), csk_gate_unlock(&gate))
LET_IN_TO(strict, csk_gate_lock(&strict, 45), csk_gate_unlock(&strict))
LET_IN_TO(sem, csk_sem_wait(&sem, 45, 1), csk_sem_signal(&sem, 1))
LET_IN_TO(rwlock, csk_rwlock_wrlock(&rwlock), csk_rwlock_unlock(&rwlock))

static void add_up_sides(const csk_profile_entry_t *entry, void *delay_ns) {
    ((int64_t *)delay_ns)[entry->side] += entry->delay_ns;
}

static void who_lets_in_is_counted_up_to_then(void) {
    static void *(*const bodies[])(void *) = { let_in_to_gate, let_in_to_strict, let_in_to_sem, let_in_to_rwlock };
    cpu_set_t all, one;
    int processor = 0;
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(processor, &all)) processor++;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    make_objects();
    int64_t before_ns[2] = { 0 }, after_ns[2] = { 0 };
    csk_profile_read(add_up_sides, before_ns);
    CHECK_STATUS(csk_profile_start(1), 0);
    for (int round = 0; round < 12; round++) {
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) threads[i] = start_thread(bodies[round % 4], NULL);
        for (int i = 0; i < 3; i++) join_thread(threads[i]);
    }
    csk_profile_stop();
    csk_profile_read(add_up_sides, after_ns);
    csk_symbols_close(&symbols);
    CHECK_EQ(sched_setaffinity(0, sizeof all, &all), 0);
    int64_t waited_ns = after_ns[CSK_PROFILE_WAITED] - before_ns[CSK_PROFILE_WAITED];
    CHECK_GE(waited_ns, LONG_SECTION_NS);
    CHECK_LE(after_ns[CSK_PROFILE_LET_IN] - before_ns[CSK_PROFILE_LET_IN], waited_ns);
}

/* ---- Callbacks --------------------------------------------------------------------------------------------------- */

static void leave(csk_gate_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    CHECK_EQ(status, 0);
    ADD((int *)context, 1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}

static void find_callback(const csk_profile_entry_t *entry, void *context) {
    if (entry->waiter == CSK_PROFILE_CALLBACK && entry->side == CSK_PROFILE_WAITED && entry->priority == 42)
        *(csk_profile_entry_t *)context = *entry;
}

static void callbacks_are_counted_by_who_queued_them(void) {
    csk_gate_waiter_t waiter = { 0 };
    CHECK_STATUS(csk_name(&gate, "of callbacks"), 0);
    csk_profile_entry_t found = { 0 };
    int calls = 0;
    CHECK_STATUS(csk_profile_start(1), 0);
    CHECK(csk_profile_is_running());
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_gate_lock_async(&gate, &waiter, 42, CSK_NEVER, leave, &calls), 0);
    hold();
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    csk_profile_stop();
    CHECK_EQ(calls, 1);
    csk_profile_read(find_callback, &found);
    CHECK(found.contentions == 1 && found.delay_ns > 100000 && found.depth > 1);
    CHECK(strcmp(found.name, "of callbacks") == 0);
    csk_unname(&gate);
}

static void find_of_priority_41(const csk_profile_entry_t *entry, void *sum) {
    if (entry->priority == 41 && entry->side == CSK_PROFILE_WAITED) *(double *)sum += entry->contentions;
}
static double waits_of_priority_41(void) {
    double sum = 0;
    csk_profile_read(find_of_priority_41, &sum);
    return sum;
}
static void wait_at_priority_41(void) {
    csk_gate_waiter_t waiter = { 0 };
    int calls = 0;
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_gate_lock_async(&gate, &waiter, 41, CSK_NEVER, leave, &calls), 0);
    hold();
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_EQ(calls, 1);
}
static void counts_from_nothing(void *unused) {
    (void)unused;
    CHECK(csk_profile_is_running());
    CHECK(waits_of_priority_41() == 0);
    wait_at_priority_41();
    CHECK(waits_of_priority_41() == 1);
}

static void a_child_of_fork_counts_from_nothing(void) {
    held_ns = 200000;
    CHECK_STATUS(csk_profile_start(1), 0);
    for (int i = 0; i < 2; i++) wait_at_priority_41();
    in_a_child(counts_from_nothing, NULL);
    CHECK(waits_of_priority_41() == 2);
    csk_profile_stop();
}

/* A task of a language is a chain of contexts, here of three. */
static void suspended_tasks_have_the_stack_of_their_contexts(void) {
    typedef struct link {
        const struct link *caller;
        uintptr_t code;
    } link_t;
    link_t outer = { NULL, 3000 }, middle = { &outer, 2000 }, inner = { &middle, 1000 };
    csk_gate_waiter_t waiter = { 0 };
    csk_profile_entry_t found = { 0 };
    int calls = 0;
    CHECK_STATUS(csk_profile_start(1), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    csk_profile_suspend(&inner);
    CHECK_STATUS(csk_gate_lock_async(&gate, &waiter, 42, CSK_NEVER, leave, &calls), 0);
    csk_profile_suspend(NULL);
    hold();
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    csk_profile_stop();
    csk_stack_t stack;
    csk_stack_take_suspended(&stack, (const void *)64); /* no memory */
    CHECK_EQ(stack.depth, 0);
    csk_stack_take_suspended(&stack, &inner);
    CHECK_EQ(stack.depth, 3);
    for (uintptr_t i = 0; i < 3; i++) CHECK_EQ(stack.frames[i], (i + 1) * 1000 + 1);
    csk_profile_read(find_callback, &found);
    CHECK_EQ(calls, 1);
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

typedef struct {
    unsigned char *bytes;
    size_t size;
    int status; /* what the printing is to end with, once there are `most` bytes */
    size_t most;
} output_t;

static int keep(void *context, const void *bytes, size_t size) {
    output_t *output = context;
    if (output->status != 0 && output->size + size > output->most) return output->status;
    output->bytes = realloc(output->bytes, output->size + size + 1);
    memcpy(output->bytes + output->size, bytes, size);
    output->size += size;
    output->bytes[output->size] = 0;
    return 0;
}

typedef struct {
    csk_profile_entry_t entries[256];
    size_t count;
} entries_t;
static void collect(const csk_profile_entry_t *entry, void *context) {
    entries_t *entries = context;
    if (entries->count < 256) entries->entries[entries->count++] = *entry;
}

static void folded_stacks_name_functions(const entries_t *entries) {
    output_t output = { 0 };
    CHECK_STATUS(csk_profile_print_folded(entries->entries, entries->count, CSK_PROFILE_WAITED, keep, &output), 0);
    const char *names[] = { ";place_0", ";place_1", ";place_2", ";place_3", ";place_4" };
    for (int place = 0; place < PLACES; place++) CHECK(strstr((char *)output.bytes, names[place]) != NULL);
    free(output.bytes);
    output = (output_t){ .status = ENOSPC, .most = 3 };
    CHECK_STATUS(csk_profile_print_folded(entries->entries, entries->count, CSK_PROFILE_WAITED, keep, &output), ENOSPC);
    free(output.bytes);
}

/* A number of Protocol Buffers, and where it ends. */
static uint64_t number_at(const unsigned char **at) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        uint64_t byte = *(*at)++;
        value |= (byte & 127) << shift;
        if (byte < 128) return value;
    }
}

/* Takes the blocks of gzip apart, checks their lengths, and returns the profile. */
static size_t unpack(const output_t *output, unsigned char *bytes) {
    const unsigned char head[] = { 0x1F, 0x8B, 8 };
    CHECK(output->size > 23 && memcmp(output->bytes, head, 3) == 0);
    size_t size = 0, at = 10;
    for (bool last = false; !last;) {
        const unsigned char *block = output->bytes + at;
        size_t length = block[1] | (size_t)block[2] << 8;
        last = block[0] == 1;
        CHECK_EQ(length ^ 0xFFFF, block[3] | (size_t)block[4] << 8);
        memcpy(bytes + size, block + 5, length);
        size += length;
        at += 5 + length;
    }
    CHECK_EQ(at + 8, output->size);
    const unsigned char *tail = output->bytes + at + 4;
    CHECK_EQ(size, tail[0] | (size_t)tail[1] << 8 | (size_t)tail[2] << 16 | (size_t)tail[3] << 24);
    return size;
}

/* Whether a sample has this label, whose key and text are numbers of strings. */
static bool has_label(const unsigned char *at, size_t size, uint64_t key, uint64_t text) {
    for (const unsigned char *end = at + size; at < end;) {
        uint64_t field = number_at(&at), length = number_at(&at);
        const unsigned char *next = at + length;
        if (field >> 3 == 3 && number_at(&at) == 8 && number_at(&at) == key && number_at(&at) == 16 &&
            number_at(&at) == text)
            return true;
        at = next;
    }
    return false;
}

static void pprof_has_samples_places_and_names(const entries_t *entries) {
    output_t output = { 0 };
    CHECK_STATUS(csk_profile_print_pprof(entries->entries, entries->count, CSK_PROFILE_WAITED, 1000000, keep, &output),
                 0);
    unsigned char *bytes = malloc(output.size);
    const unsigned char *at = bytes, *end = bytes + unpack(&output, bytes);
    size_t counts[16] = { 0 }, waiting = 0, labelled = 0, to_label = 0;
    uint64_t label = 0, label_text = 0; /* the numbers of the strings "name" and strict_name */
    bool named = false;
    while (at < end) {
        uint64_t key = number_at(&at);
        CHECK(key >> 3 < 16);
        counts[key >> 3]++;
        if ((key & 7) == 0) {
            number_at(&at);
            continue;
        }
        CHECK_EQ(key & 7, 2);
        uint64_t size = number_at(&at);
        if (key >> 3 == 6) {
            if (size == 7 && memcmp(at, "place_3", 7) == 0) named = true;
            if (size == 4 && memcmp(at, "name", 4) == 0) label = counts[6] - 1;
            if (size == strlen(strict_name) && memcmp(at, strict_name, size) == 0) label_text = counts[6] - 1;
        }
        if (key >> 3 == 2 && label_text != 0) labelled += has_label(at, size, label, label_text);
        at += size;
    }
    CHECK(at == end && named);
    for (size_t i = 0; i < entries->count; i++) {
        const csk_profile_entry_t *entry = &entries->entries[i];
        waiting += entry->side == CSK_PROFILE_WAITED;
        to_label += entry->name != NULL && strcmp(entry->name, strict_name) == 0;
    }
    CHECK(to_label > 0 && labelled == to_label);
    CHECK_EQ(counts[1], 2);       /* types of samples */
    CHECK_EQ(counts[2], waiting); /* samples */
    CHECK(counts[3] > 0 && counts[4] > 0 && counts[5] > 0 && counts[4] >= counts[5]);
    free(bytes);
    free(output.bytes);
}

/* The program itself reads the file, where it is installed: it shows the place, and counts by the label. */
static void go_reads_the_file(const entries_t *entries) {
    if (system("command -v go >/dev/null 2>&1 && go tool -n pprof >/dev/null 2>&1") != 0) return;
    char path[] = "/tmp/csk-profile-XXXXXX", command[128], line[256];
    output_t output = { 0 };
    CHECK_STATUS(csk_profile_print_pprof(entries->entries, entries->count, CSK_PROFILE_WAITED, 0, keep, &output), 0);
    int file = mkstemp(path);
    CHECK(file >= 0 && write(file, output.bytes, output.size) == (ssize_t)output.size);
    close(file);
    free(output.bytes);
    snprintf(command, sizeof command, "go tool pprof -top -tagfocus='name=%s' %s 2>&1", strict_name, path);
    FILE *pipe = popen(command, "r");
    bool shows_type = false, shows_place = false, shows_other = false;
    while (fgets(line, sizeof line, pipe) != NULL) {
        shows_type = shows_type || strcmp(line, "Type: delay\n") == 0;
        shows_place = shows_place || strstr(line, " place_1\n") != NULL;
        shows_other = shows_other || strstr(line, " place_2\n") != NULL;
    }
    CHECK_EQ(pclose(pipe), 0);
    unlink(path);
    CHECK(shows_type && shows_place && !shows_other);
}

static void refusals_and_nothing(void) {
    static entries_t entries;
    output_t output = { 0 };
    CHECK_STATUS(csk_profile_start(0), EINVAL);
    CHECK_STATUS(csk_profile_start(-1), EINVAL);
    CHECK(!csk_profile_is_running());
    CHECK_EQ(csk_profile_lost(), 0);
    csk_profile_stop();
    csk_profile_read(collect, &entries);
    CHECK_EQ(entries.count, 0);
    CHECK_STATUS(csk_profile_print_pprof(NULL, 0, CSK_PROFILE_WAITED, 0, keep, &output), 0);
    CHECK(output.size > 0);
    free(output.bytes);
}

static void entries_are_written(void) {
    static entries_t entries;
    csk_profile_read(collect, &entries);
    folded_stacks_name_functions(&entries);
    pprof_has_samples_places_and_names(&entries);
    go_reads_the_file(&entries);
}

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

typedef struct {
    const char *name;
    double contentions;
} of_name_t;
static void add_of_name(const csk_profile_entry_t *entry, void *context) {
    of_name_t *of = context;
    if (entry->name != NULL && strcmp(entry->name, of->name) == 0) of->contentions += entry->contentions;
}
static void expect_of_name(const char *name, double contentions) {
    of_name_t of = { .name = name };
    csk_profile_read(add_of_name, &of);
    CHECK(of.contentions == contentions);
}
static void count(uint32_t stack, uint32_t name, double contentions) {
    CHECK(stack != 0 && name != 0);
    csk_profile_add(&(csk_profile_key_t){ .stack = stack, .name = name },
                    &(csk_profile_sample_t){ .contentions = contentions, .delay_ns = 1 });
}
static uint32_t stack_of(uintptr_t frame) {
    return csk_profile_stack_number(&(csk_stack_t){ .depth = 1, .frames = { frame } });
}

/* A text whose number will be this one, of the 4096 that there are. */
static void make_name_of_number(uint32_t number, char *name, size_t size) {
    for (uint32_t i = 0;; i++) {
        snprintf(name, size, "crossed %u", (unsigned)i);
        if (csk_slot_hash_text(1, name) % 4096 + 1 == number) return;
    }
}
static void count_crossed_numbers(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_profile_start(1), 0);
    uint32_t stacks[2];
    uintptr_t frame = 1;
    for (int i = 0; i < 2; i++) {
        do stacks[i] = stack_of(frame++);
        while (stacks[i] > 4096);
    }
    char names[2][32];
    for (int i = 0; i < 2; i++) {
        make_name_of_number(stacks[i], names[i], sizeof names[i]);
        CHECK_EQ(csk_profile_number_of_name(names[i]), stacks[i]);
    }
    CHECK(stacks[0] != stacks[1]);
    count(stacks[0], stacks[1], 1);
    count(stacks[1], stacks[0], 2);
    count(stacks[0], stacks[0], 4);
    count(stacks[1], stacks[1], 8);
    expect_of_name(names[0], 2 + 4);
    expect_of_name(names[1], 1 + 8);
}
/* A stack and a name may have each other's numbers. In a child, whose table is empty. */
static void entries_whose_numbers_are_crossed_are_two(void) { in_a_child(count_crossed_numbers, NULL); }

static void a_long_name_ends_with_a_whole_character(void) {
    char name[160], kept[160];
    memset(name, 'x', sizeof name);
    strcpy(name + 126, "\xC3\xA9"); /* of which there is room for the first byte */
    memset(kept, 'x', 126);
    kept[126] = 0;
    CHECK_STATUS(csk_profile_start(1), 0);
    count(stack_of(1), csk_profile_number_of_name(name), 1);
    expect_of_name(kept, 1);
    count(stack_of(1), csk_profile_number_of_name("no \xFF text"), 1);
    expect_of_name("no \xEF\xBF\xBD text", 1);
    csk_profile_stop();
}

TEST_MAIN(TEST(refusals_and_nothing), TEST(a_child_of_fork_counts_from_nothing), TEST(long_waits_are_those_of_clocks),
          TEST(sums_of_many_are_those_of_clocks), TEST(short_waits_are_weighted), TEST(looks_are_weighted),
          TEST(those_let_in_at_once_all_count), TEST(who_lets_in_is_counted_up_to_then),
          TEST(callbacks_are_counted_by_who_queued_them), TEST(suspended_tasks_have_the_stack_of_their_contexts),
          TEST(entries_are_written), TEST(entries_whose_numbers_are_crossed_are_two),
          TEST(a_long_name_ends_with_a_whole_character))
