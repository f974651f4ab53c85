/* metrics_text_test.c: what csk_metrics_print writes, read back by a checker that is as strict as the specification of
 * OpenMetrics 1.0: lines, families, types, units, labels, histograms, and the end. */
#include <csynckernel/csynckernel.h>
#include <string.h>

#include "observe/metrics.h"
#include "test.h"

/* ---- What was written -------------------------------------------------------------------------------------------- */

typedef struct {
    char *bytes;
    size_t size;
    int pieces, fails_at;
} text_t;

static int keep(void *context, const void *bytes, size_t size) {
    text_t *text = context;
    if (++text->pieces == text->fails_at) return ENOMEM;
    text->bytes = realloc(text->bytes, text->size + size + 1);
    CHECK(text->bytes != NULL);
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = 0;
    return 0;
}

static char *printed(void) {
    text_t text = { 0 };
    CHECK_STATUS(csk_metrics_print(keep, &text), 0);
    CHECK_EQ(strlen(text.bytes), text.size);
    return text.bytes;
}

/* ---- The checker ------------------------------------------------------------------------------------------------- */

enum { MOST = 20000, MOST_LABELS = 4 };
typedef enum { COUNTER, GAUGE, HISTOGRAM } type_t;

typedef struct {
    char name[64];
    char labels[1024]; /* all but le, as they were written */
    char le[32];
    double value;
} sample_t;

static sample_t samples[MOST];
static size_t sample_count;
static char families[32][64];
static size_t family_count;

static bool is_name(char byte, bool first) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
           (!first && byte >= '0' && byte <= '9');
}
static const char *take_name(const char *at, char *name, size_t size) {
    size_t length = 0;
    while (is_name(at[length], length == 0)) length++;
    CHECK(length > 0 && length < size);
    memcpy(name, at, length);
    name[length] = 0;
    return at + length;
}
static const char *take(const char *at, const char *text) {
    CHECK(strncmp(at, text, strlen(text)) == 0);
    return at + strlen(text);
}

/* Takes a value in quotes, and decodes it. */
static const char *take_value(const char *at, char *value, size_t size) {
    size_t length = 0;
    for (at = take(at, "\""); *at != '"'; at++) {
        CHECK(*at != 0 && *at != '\n');
        char byte = *at;
        if (byte == '\\') {
            byte = *++at;
            CHECK(byte == '\\' || byte == '"' || byte == 'n');
            if (byte == 'n') byte = '\n';
        }
        CHECK(length + 1 < size);
        value[length++] = byte;
    }
    value[length] = 0;
    return at + 1;
}

static const char *take_labels(const char *at, sample_t *sample) {
    char names[MOST_LABELS][64], value[512] = "";
    int count = 0;
    if (*at != '{') return at;
    do {
        const char *begin = at + 1;
        CHECK(count < MOST_LABELS);
        at = take(take_name(begin, names[count], sizeof names[0]), "=");
        at = take_value(at, value, sizeof value);
        for (int i = 0; i < count; i++) CHECK(strcmp(names[i], names[count]) != 0);
        CHECK(strcmp(names[count], "le") != 0 || strlen(value) < sizeof sample->le);
        if (strcmp(names[count], "le") == 0) memcpy(sample->le, value, strlen(value));
        else strncat(sample->labels, begin, (size_t)(at - begin));
        count++;
    } while (*at == ',');
    return take(at, "}");
}

/* A line without its end. */
static void take_sample(const char *at, const char *end, const char *family, type_t type) {
    CHECK(sample_count < MOST);
    sample_t *sample = &samples[sample_count];
    memset(sample, 0, sizeof *sample);
    at = take_labels(take_name(at, sample->name, sizeof sample->name), sample);
    at = take(at, " ");
    char *after;
    CHECK(*at >= '0' && *at <= '9');
    sample->value = strtod(at, &after);
    CHECK(after == end);
    const char *suffix = take(sample->name, family);
    bool bucket = strcmp(suffix, "_bucket") == 0;
    switch (type) {
    case COUNTER: CHECK(strcmp(suffix, "_total") == 0); break;
    case GAUGE: CHECK(strcmp(suffix, "") == 0); break;
    case HISTOGRAM: CHECK(bucket || strcmp(suffix, "_count") == 0 || strcmp(suffix, "_sum") == 0); break;
    }
    CHECK_EQ(sample->le[0] != 0, bucket);
    for (size_t i = 0; i < sample_count; i++)
        CHECK(strcmp(samples[i].name, sample->name) != 0 || strcmp(samples[i].labels, sample->labels) != 0 ||
              strcmp(samples[i].le, sample->le) != 0);
    sample_count++;
}

/* A histogram's samples stand together: buckets with rising bounds and counts up to +Inf, the same count, the sum. */
static size_t check_histogram(size_t first) {
    double bound = -1, count = -1;
    size_t at = first;
    for (bool last = false; !last; at++) {
        CHECK(at < sample_count && samples[at].le[0] != 0 && strcmp(samples[at].labels, samples[first].labels) == 0);
        last = strcmp(samples[at].le, "+Inf") == 0;
        char *end;
        double le = last ? bound + 1 : strtod(samples[at].le, &end);
        CHECK(last || *end == 0);
        CHECK(le > bound && samples[at].value >= count);
        bound = le;
        count = samples[at].value;
    }
    CHECK_EQ(at - first, CSK_METRICS_BUCKETS);
    CHECK(at + 1 < sample_count && strstr(samples[at].name, "_count") != NULL && samples[at].value == count);
    CHECK(strcmp(samples[at].labels, samples[first].labels) == 0);
    CHECK(strstr(samples[at + 1].name, "_sum") != NULL);
    CHECK(strcmp(samples[at + 1].labels, samples[first].labels) == 0);
    return at + 2;
}

/* Takes a family's lines of metadata: its type, its unit if its name ends in one, and what it is. */
static const char *take_head(const char *at, char *family, size_t size, type_t *type) {
    char word[64];
    at = take(take_name(take(at, "# TYPE "), family, size), " ");
    at = take(take_name(at, word, sizeof word), "\n");
    *type = strcmp(word, "counter") == 0 ? COUNTER : strcmp(word, "gauge") == 0 ? GAUGE : HISTOGRAM;
    CHECK(*type != HISTOGRAM || strcmp(word, "histogram") == 0);
    size_t length = strlen(family);
    bool in_seconds = length > 8 && strcmp(family + length - 8, "_seconds") == 0;
    if (in_seconds) at = take(take(take(at, "# UNIT "), family), " seconds\n");
    at = take(take(take(at, "# HELP "), family), " ");
    CHECK(strcspn(at, "\\\"\n") == strcspn(at, "\n"));
    return strchr(at, '\n') + 1;
}

static void check_text(const char *at) {
    sample_count = family_count = 0;
    while (strncmp(at, "# TYPE ", 7) == 0) {
        CHECK(family_count < sizeof families / sizeof families[0]);
        char *family = families[family_count];
        type_t type;
        at = take_head(at, family, sizeof families[0], &type);
        for (size_t i = 0; i < family_count; i++) CHECK(strcmp(families[i], family) != 0);
        family_count++;
        size_t first = sample_count;
        for (const char *end; *at != '#'; at = end + 1) {
            end = strchr(at, '\n');
            CHECK(end != NULL);
            take_sample(at, end, family, type);
        }
        while (type == HISTOGRAM && first < sample_count) first = check_histogram(first);
    }
    CHECK(strcmp(at, "# EOF\n") == 0);
}

static const sample_t *find(const char *name, const char *labels, const char *le) {
    for (size_t i = 0; i < sample_count; i++)
        if (strcmp(samples[i].name, name) == 0 && strcmp(samples[i].labels, labels) == 0 &&
            strcmp(samples[i].le, le) == 0)
            return &samples[i];
    return NULL;
}
static double value_of(const char *name, const char *labels, const char *le) {
    const sample_t *sample = find(name, labels, le);
    CHECK(sample != NULL);
    return sample->value;
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static void before_the_start_there_are_families_without_samples(void) {
    char *text = printed();
    check_text(text);
    CHECK_EQ(family_count, 10);
    CHECK_EQ(sample_count, 1);
    CHECK(value_of("csk_metrics_lost_total", "", "") == 0);
    free(text);
}

static void count(const char *name, const void *object, uint32_t object_kind, int64_t waited_ns, int status) {
    if (name != NULL) CHECK_STATUS(csk_name(object, name), 0);
    csk_metrics_count(csk_metrics_find(object, object_kind), waited_ns, status);
}

static void numbers_are_those_that_were_counted(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    csk_sem_t sem = CSK_SEM_INITIALIZER;
    CHECK_STATUS(csk_metrics_start(), 0);
    count("one", &gate, CSK_OBJECT_GATE, 1000, 0);
    count(NULL, &gate, CSK_OBJECT_GATE, 1001, ETIMEDOUT);
    count(NULL, &gate, CSK_OBJECT_GATE, 3000000001, ECANCELED);
    count(NULL, &gate, CSK_OBJECT_GATE, 100000000000, 0);
    count("one", &sem, CSK_OBJECT_SEM, 5, 0);
    csk_metrics_late(250000);
    char *text = printed();
    check_text(text);
    const char *labels = "kind=\"gate\"name=\"one\"";
    CHECK(value_of("csk_wait_seconds_bucket", labels, "1e-06") == 1);
    CHECK(value_of("csk_wait_seconds_bucket", labels, "2e-06") == 2);
    CHECK(value_of("csk_wait_seconds_bucket", labels, "2.097152") == 2);
    CHECK(value_of("csk_wait_seconds_bucket", labels, "4.194304") == 3);
    CHECK(value_of("csk_wait_seconds_bucket", labels, "67.108864") == 3);
    CHECK(value_of("csk_wait_seconds_bucket", labels, "+Inf") == 4);
    CHECK(value_of("csk_wait_seconds_sum", labels, "") == 103.000002002);
    CHECK(value_of("csk_longest_wait_seconds", labels, "") == 100);
    CHECK(value_of("csk_waits_total", "kind=\"gate\"name=\"one\"outcome=\"granted\"", "") == 2);
    CHECK(value_of("csk_waits_total", "kind=\"gate\"name=\"one\"outcome=\"timed_out\"", "") == 1);
    CHECK(value_of("csk_waits_total", "kind=\"gate\"name=\"one\"outcome=\"refused\"", "") == 1);
    CHECK(value_of("csk_wait_seconds_count", "kind=\"semaphore\"name=\"one\"", "") == 1);
    CHECK(value_of("csk_timer_lateness_seconds_bucket", "", "0.000128") == 0);
    CHECK(value_of("csk_timer_lateness_seconds_bucket", "", "0.000256") == 1);
    CHECK(value_of("csk_timer_lateness_seconds_sum", "", "") == 0.00025);
    free(text);
    csk_unname(&gate);
    csk_unname(&sem);
}

static void bounds_are_written_exactly(void) {
    char *text = printed();
    check_text(text);
    uint32_t bucket = 0;
    for (size_t i = 0; i < sample_count && bucket < CSK_METRICS_BUCKETS - 1; i++) {
        if (strcmp(samples[i].name, "csk_timer_lateness_seconds_bucket") != 0) continue;
        CHECK_EQ((int64_t)(strtod(samples[i].le, NULL) * 1e9 + 0.5), csk_metrics_bound_ns(bucket));
        bucket++;
    }
    CHECK_EQ(bucket, CSK_METRICS_BUCKETS - 1);
    free(text);
}

/* Kinds of every object, and names and places with each byte that there may be. */
static void names_are_escaped(void) {
    csk_placed_gate_t placed = { .gate = CSK_GATE_INITIALIZER };
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    char all[64];
    csk_gate_set_place(&placed, (csk_place_t){ "a\\b\"c\nd.c", 7 });
    count(NULL, &placed, CSK_OBJECT_GATE, 1, 0);
    for (uint32_t kind = CSK_OBJECT_GATE; kind <= CSK_OBJECT_WORKQUEUE; kind++)
        count("of each kind", &gate, kind == CSK_OBJECT_WORKQUEUE ? CSK_OBJECT_COND : kind, 1, 0);
    for (int first = 1; first < 256; first += 63) {
        for (int i = 0; i < 63; i++) all[i] = (char)(first + i < 256 ? first + i : 'x');
        all[63] = 0;
        csk_gate_set_place(&placed, (csk_place_t){ all, 1 });
        count(NULL, &placed, CSK_OBJECT_GATE, 1, 0);
    }
    char *text = printed();
    check_text(text);
    CHECK(find("csk_wait_seconds_sum", "kind=\"gate\"name=\"a\\\\b\\\"c\\nd.c:7\"", "") != NULL);
    CHECK(find("csk_wait_seconds_sum", "kind=\"rwlock\"name=\"of each kind\"", "") != NULL);
    CHECK(find("csk_wait_seconds_sum", "kind=\"condition\"name=\"of each kind\"", "") != NULL);
    /* If there is a second checker, it reads the same. */
    const char *file = getenv("CSK_METRICS_TEXT");
    if (file != NULL) {
        FILE *out = fopen(file, "w");
        CHECK(out != NULL);
        fputs(text, out);
        fclose(out);
    }
    free(text);
    csk_unname(&gate);
}

static void what_print_returns_ends_the_writing(void) {
    text_t whole = { 0 };
    CHECK_STATUS(csk_metrics_print(keep, &whole), 0);
    CHECK(whole.pieces > 1);
    for (int at = 1; at <= whole.pieces; at++) {
        text_t part = { .fails_at = at };
        CHECK_STATUS(csk_metrics_print(keep, &part), ENOMEM);
        CHECK_EQ(part.pieces, at);
        CHECK(part.size == 0 || memcmp(part.bytes, whole.bytes, part.size) == 0);
        free(part.bytes);
    }
    free(whole.bytes);
}

TEST_MAIN(TEST(before_the_start_there_are_families_without_samples), TEST(numbers_are_those_that_were_counted),
          TEST(bounds_are_written_exactly), TEST(names_are_escaped), TEST(what_print_returns_ends_the_writing))
