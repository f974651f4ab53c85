/* profile_test.c: the contention profile's sums beside clocks around each call. With CSK_PROFILE_ROUNDS threads pass
 * five places so often, and the sums of that are compared. */
#include "profile_fixture.h"
#include "profiled.h"

enum { THREADS = 4 };
static int rounds;

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

static void check_sums(const sums_t *before, const sums_t *after, int place) {
    double delay_ns =
        (double)(after->delay_ns[CSK_PROFILE_WAITED][place] - before->delay_ns[CSK_PROFILE_WAITED][place]);
    CHECK(delay_ns > 0.95 * (double)truth_ns[place] && delay_ns < 1.05 * (double)truth_ns[place]);
    CHECK(after->contentions[CSK_PROFILE_WAITED][place] > before->contentions[CSK_PROFILE_WAITED][place]);
    /* Who is let in is counted up to that moment. */
    CHECK(after->delay_ns[CSK_PROFILE_LET_IN][place] > before->delay_ns[CSK_PROFILE_LET_IN][place]);
}

/* Waits of tens of milliseconds. The clocks stand around the call, so they may see some microseconds more. */
static void long_waits_are_those_of_clocks(void) {
    static const int64_t thresholds_ns[] = { 1000, 10000, 100000 };
    static const int32_t priorities[PLACES] = { 0, 7, 0, -7, 0 };
    make_objects();
    CHECK_STATUS(csk_symbols_open(&symbols), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(csk_profile_start(thresholds_ns[i]), 0);
        for (int place = 0; place < PLACES; place++) {
            sums_t before = sums_now();
            held_ns = INT64_C(30000000) * TEST_SLOWDOWN;
            meet_at(place);
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
    CHECK_STATUS(csk_symbols_open(&symbols), 0);
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

TEST_MAIN(TEST(long_waits_are_those_of_clocks), TEST(sums_of_many_are_those_of_clocks))
