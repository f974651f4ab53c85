/* openmetrics.c: what was counted as text of OpenMetrics 1.0
 * (github.com/OpenObservability/OpenMetrics/blob/main/specification/OpenMetrics.md).
 *
 * The samples of one family stand together, so the table is read once for each family. */
#include "csynckernel/metrics.h"

#include "csynckernel/inspect.h"
#include "csynckernel/observe.h"
#include "base/platform.h"
#include "observe/writer.h"

/* Names are in UTF-8, of which these three bytes alone are written in another way. */
static void put_escaped(writer_t *writer, const char *name) {
    for (; *name != 0; name++) {
        if (*name == '\n') put(writer, "\\n");
        else if (*name == '\\' || *name == '"') put_bytes(writer, (const char[]){ '\\', *name }, 2);
        else put_bytes(writer, name, 1);
    }
}

static const char *workqueue_kind(uint32_t waits_for) {
    switch (waits_for) {
    case CSK_WAITS_FOR_TURN: return "workqueue_turn";
    case CSK_WAITS_FOR_ROOM: return "workqueue_room";
    case CSK_WAITS_FOR_DRAINED: return "workqueue_drain";
    default: return "workqueue";
    }
}

static const char *kind_of(const csk_metrics_entry_t *entry) {
    switch (entry->object_kind) {
    case CSK_OBJECT_GATE: return "gate";
    case CSK_OBJECT_RWLOCK: return "rwlock";
    case CSK_OBJECT_SEM: return "semaphore";
    case CSK_OBJECT_COND: return "condition";
    case CSK_OBJECT_WORKQUEUE: return workqueue_kind(entry->waits_for);
    case CSK_OBJECT_FIFO_QUEUE: return "fifo_queue";
    case CSK_OBJECT_ACTOR_QUEUE: return "actor_queue";
    case CSK_OBJECT_RESOURCE_POOL: return "resource_pool";
    case CSK_OBJECT_TASK_QUEUE: return "task_queue";
    default: return "other";
    }
}

/* The name of a sample, and its labels up to the last one, which has the label and value, if `label` is not NULL. */
static void begin_sample(writer_t *writer, const char *family, const char *suffix, const csk_metrics_entry_t *entry,
                         const char *label, const char *value) {
    putf(writer, "%s%s", family, suffix);
    if (entry->name != NULL) {
        put(writer, "{");
        if (entry->what == CSK_METRICS_WAITS) putf(writer, "kind=\"%s\",", kind_of(entry));
        put(writer, "name=\"");
        put_escaped(writer, entry->name);
        put(writer, "\"");
    }
    if (label != NULL) putf(writer, "%s%s=\"%s\"", entry->name != NULL ? "," : "{", label, value);
    put(writer, entry->name != NULL || label != NULL ? "} " : " ");
}

static void put_number(writer_t *writer, uint64_t number) { putf(writer, "%llu\n", (unsigned long long)number); }
static void put_seconds(writer_t *writer, int64_t span_ns) {
    putf(writer, "%lld.%09lld\n", (long long)(span_ns / 1000000000), (long long)(span_ns % 1000000000));
}

/* ---- Families ---------------------------------------------------------------------------------------------------- */

/* 2^i us, as OpenMetrics wants numbers in this label to be written. */
static const char *const bounds[CSK_METRICS_BUCKETS] = {
    "1e-06",    "2e-06",    "4e-06",    "8e-06",     "1.6e-05",   "3.2e-05",   "6.4e-05",
    "0.000128", "0.000256", "0.000512", "0.001024",  "0.002048",  "0.004096",  "0.008192",
    "0.016384", "0.032768", "0.065536", "0.131072",  "0.262144",  "0.524288",  "1.048576",
    "2.097152", "4.194304", "8.388608", "16.777216", "33.554432", "67.108864", "+Inf",
};

/* What is said of a family, and what is written of each entry of one kind: `at` is where the entry has it. */
typedef struct {
    const char *name, *type, *help;
    uint32_t what;
    void (*put)(writer_t *writer, const char *family, const csk_metrics_entry_t *entry, const void *at);
    size_t at;
} family_t;

static void put_spans(writer_t *writer, const char *family, const csk_metrics_entry_t *entry, const void *at) {
    const csk_metrics_histogram_t *spans = at;
    uint64_t up_to = 0;
    for (uint32_t i = 0; i < CSK_METRICS_BUCKETS; i++) {
        begin_sample(writer, family, "_bucket", entry, "le", bounds[i]);
        put_number(writer, up_to += spans->buckets[i]);
    }
    begin_sample(writer, family, "_count", entry, NULL, NULL);
    put_number(writer, spans->count);
    begin_sample(writer, family, "_sum", entry, NULL, NULL);
    put_seconds(writer, spans->sum_ns);
}

static void put_outcomes(writer_t *writer, const char *family, const csk_metrics_entry_t *entry, const void *at) {
    static const char *const names[] = { "granted", "timed_out", "refused" };
    for (int i = 0; i < 3; i++) {
        begin_sample(writer, family, "_total", entry, "outcome", names[i]);
        put_number(writer, ((const uint64_t *)at)[i]);
    }
}
CSK_STATIC_ASSERT(offsetof(csk_metrics_entry_t, refused) == offsetof(csk_metrics_entry_t, granted) + 16, "in a row");

static void put_total(writer_t *writer, const char *family, const csk_metrics_entry_t *entry, const void *at) {
    begin_sample(writer, family, "_total", entry, NULL, NULL);
    put_number(writer, *(const uint64_t *)at);
}
static void put_gauge(writer_t *writer, const char *family, const csk_metrics_entry_t *entry, const void *at) {
    begin_sample(writer, family, "", entry, NULL, NULL);
    put_number(writer, *(const uint64_t *)at);
}
static void put_gauge_of_time(writer_t *writer, const char *family, const csk_metrics_entry_t *entry, const void *at) {
    begin_sample(writer, family, "", entry, NULL, NULL);
    put_seconds(writer, *(const int64_t *)at);
}

#define AT(member) offsetof(csk_metrics_entry_t, member)
static const family_t families[] = {
    { "csk_wait_seconds", "histogram", "How long waits took, whatever became of them.", CSK_METRICS_WAITS, put_spans,
      AT(spans) },
    { "csk_waits", "counter", "Waits that ended, by what became of them.", CSK_METRICS_WAITS, put_outcomes,
      AT(granted) },
    { "csk_longest_wait_seconds", "gauge", "The longest wait so far.", CSK_METRICS_WAITS, put_gauge_of_time,
      AT(spans.longest_ns) },
    { "csk_timer_lateness_seconds", "histogram", "How long after their deadlines the functions of timers were called.",
      CSK_METRICS_TIMERS, put_spans, AT(spans) },
    { "csk_works_refused", "counter", "Works and callers that work queues did not accept.", CSK_METRICS_WORKS,
      put_total, AT(refused) },
    { "csk_works_dropped", "counter", "Works that were accepted, and were dropped or cancelled by a shutdown.",
      CSK_METRICS_WORKS, put_total, AT(dropped) },
    { "csk_work_waiting_seconds", "histogram", "How long works waited to begin, estimated from one in 1024.",
      CSK_METRICS_WORKS, put_spans, AT(spans) },
    { "csk_work_running_seconds", "histogram", "How long works ran, estimated from one in 1024.", CSK_METRICS_WORKS,
      put_spans, AT(runs) },
    { "csk_most_works_waiting", "gauge", "The most works that have waited in a queue so far (with a bound: when full).",
      CSK_METRICS_WORKS, put_gauge, AT(most_waiting) },
};

typedef struct {
    writer_t writer;
    const family_t *family;
} text_t;

static void put_entry(const csk_metrics_entry_t *entry, void *context) {
    text_t *text = context;
    const family_t *family = text->family;
    if (entry->what == family->what) family->put(&text->writer, family->name, entry, (const char *)entry + family->at);
}

static void put_head(writer_t *writer, const char *name, const char *type, const char *help) {
    size_t length = strlen(name), unit = sizeof "_seconds" - 1;
    putf(writer, "# TYPE %s %s\n", name, type);
    if (length > unit && strcmp(name + length - unit, "_seconds") == 0) putf(writer, "# UNIT %s seconds\n", name);
    putf(writer, "# HELP %s %s\n", name, help);
}

int csk_metrics_print(csk_print_t print, void *context) {
    text_t text = { .writer = { .print = print, .context = context } };
    int before = csk_platform_keep_thread();
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        text.family = &families[i];
        put_head(&text.writer, text.family->name, text.family->type, text.family->help);
        csk_metrics_read(put_entry, &text);
    }
    put_head(&text.writer, "csk_metrics_lost", "counter", "Waits that were not counted, because the table was full.");
    put(&text.writer, "csk_metrics_lost_total ");
    put_number(&text.writer, csk_metrics_lost());
    put(&text.writer, "# EOF\n");
    flush(&text.writer);
    csk_platform_let_thread_go(before);
    return text.writer.status;
}
