/* openmetrics.c: what was counted as text of OpenMetrics 1.0
 * (github.com/OpenObservability/OpenMetrics/blob/main/specification/OpenMetrics.md).
 *
 * The samples of one family stand together, so the table is read once for each family. No number is written in the way
 * of the program's locale. */
#include "csynckernel/metrics.h"

#include <stdio.h>
#include <string.h>

#include "csynckernel/inspect.h"
#include "csynckernel/observe.h"
#include "base/platform.h"

typedef struct {
    csk_print_t print;
    void *context;
    int status;
    size_t size;
    char text[2048];
} writer_t;

static void flush(writer_t *writer) {
    if (writer->status == 0 && writer->size != 0)
        writer->status = writer->print(writer->context, writer->text, writer->size);
    writer->size = 0;
}
static void put_bytes(writer_t *writer, const char *bytes, size_t size) {
    if (size > sizeof writer->text - writer->size) flush(writer);
    memcpy(writer->text + writer->size, bytes, size);
    writer->size += size;
}
static void put(writer_t *writer, const char *text) { put_bytes(writer, text, strlen(text)); }
static void put_number(writer_t *writer, uint64_t number) {
    char text[24];
    put_bytes(writer, text, (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)number));
}
static void put_seconds(writer_t *writer, int64_t span_ns) {
    char text[40];
    long long s = (long long)(span_ns / 1000000000), ns = (long long)(span_ns % 1000000000);
    put_bytes(writer, text, (size_t)snprintf(text, sizeof text, "%lld.%09lld", s, ns));
}

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

/* The name of a sample, and its labels up to the last one, which the caller writes with the brace behind it. */
static void begin_sample(writer_t *writer, const char *sample, const csk_metrics_entry_t *entry) {
    put(writer, sample);
    if (entry->name == NULL) return;
    put(writer, "{");
    if (entry->what == CSK_METRICS_WAITS) {
        put(writer, "kind=\"");
        put(writer, kind_of(entry));
        put(writer, "\",");
    }
    put(writer, "name=\"");
    put_escaped(writer, entry->name);
    put(writer, "\"");
}
static void end_labels(writer_t *writer, const csk_metrics_entry_t *entry) {
    put(writer, entry->name != NULL ? "} " : " ");
}
static void put_label(writer_t *writer, const csk_metrics_entry_t *entry, const char *label, const char *value) {
    put(writer, entry->name != NULL ? "," : "{");
    put(writer, label);
    put(writer, "=\"");
    put(writer, value);
    put(writer, "\"} ");
}

/* ---- Histograms -------------------------------------------------------------------------------------------------- */

/* 2^i us, as OpenMetrics wants numbers in this label to be written. */
static const char *const bounds[CSK_METRICS_BUCKETS] = {
    "1e-06",    "2e-06",    "4e-06",    "8e-06",     "1.6e-05",   "3.2e-05",   "6.4e-05",
    "0.000128", "0.000256", "0.000512", "0.001024",  "0.002048",  "0.004096",  "0.008192",
    "0.016384", "0.032768", "0.065536", "0.131072",  "0.262144",  "0.524288",  "1.048576",
    "2.097152", "4.194304", "8.388608", "16.777216", "33.554432", "67.108864", "+Inf",
};

typedef struct {
    const char *bucket, *count, *sum;
} histogram_t;

static void put_histogram(writer_t *writer, const histogram_t *samples, const csk_metrics_histogram_t *spans,
                          const csk_metrics_entry_t *entry) {
    uint64_t up_to = 0;
    for (uint32_t i = 0; i < CSK_METRICS_BUCKETS; i++) {
        begin_sample(writer, samples->bucket, entry);
        put_label(writer, entry, "le", bounds[i]);
        put_number(writer, up_to += spans->buckets[i]);
        put(writer, "\n");
    }
    begin_sample(writer, samples->count, entry);
    end_labels(writer, entry);
    put_number(writer, spans->count);
    put(writer, "\n");
    begin_sample(writer, samples->sum, entry);
    end_labels(writer, entry);
    put_seconds(writer, spans->sum_ns);
    put(writer, "\n");
}

/* ---- Families ---------------------------------------------------------------------------------------------------- */

static void waits(const csk_metrics_entry_t *entry, void *writer) {
    static const histogram_t samples = { "csk_wait_seconds_bucket", "csk_wait_seconds_count", "csk_wait_seconds_sum" };
    if (entry->what == CSK_METRICS_WAITS) put_histogram(writer, &samples, &entry->spans, entry);
}

static void outcomes(const csk_metrics_entry_t *entry, void *writer) {
    static const char *const names[] = { "granted", "timed_out", "refused" };
    const uint64_t numbers[] = { entry->granted, entry->timed_out, entry->refused };
    for (int i = 0; i < 3 && entry->what == CSK_METRICS_WAITS; i++) {
        begin_sample(writer, "csk_waits_total", entry);
        put_label(writer, entry, "outcome", names[i]);
        put_number(writer, numbers[i]);
        put(writer, "\n");
    }
}

static void longest(const csk_metrics_entry_t *entry, void *writer) {
    if (entry->what != CSK_METRICS_WAITS) return;
    begin_sample(writer, "csk_longest_wait_seconds", entry);
    end_labels(writer, entry);
    put_seconds(writer, entry->spans.longest_ns);
    put(writer, "\n");
}

static void lateness(const csk_metrics_entry_t *entry, void *writer) {
    static const histogram_t samples = { "csk_timer_lateness_seconds_bucket", "csk_timer_lateness_seconds_count",
                                         "csk_timer_lateness_seconds_sum" };
    if (entry->what == CSK_METRICS_TIMERS) put_histogram(writer, &samples, &entry->spans, entry);
}

static void works_spans(const csk_metrics_entry_t *entry, void *writer) {
    static const histogram_t samples = { "csk_work_waiting_seconds_bucket", "csk_work_waiting_seconds_count",
                                         "csk_work_waiting_seconds_sum" };
    if (entry->what == CSK_METRICS_WORKS) put_histogram(writer, &samples, &entry->spans, entry);
}
static void works_runs(const csk_metrics_entry_t *entry, void *writer) {
    static const histogram_t samples = { "csk_work_running_seconds_bucket", "csk_work_running_seconds_count",
                                         "csk_work_running_seconds_sum" };
    if (entry->what == CSK_METRICS_WORKS) put_histogram(writer, &samples, &entry->runs, entry);
}

static void put_works(writer_t *writer, const char *sample, const csk_metrics_entry_t *entry, uint64_t number) {
    if (entry->what != CSK_METRICS_WORKS) return;
    begin_sample(writer, sample, entry);
    end_labels(writer, entry);
    put_number(writer, number);
    put(writer, "\n");
}
static void works_refused(const csk_metrics_entry_t *entry, void *writer) {
    put_works(writer, "csk_works_refused_total", entry, entry->refused);
}
static void works_dropped(const csk_metrics_entry_t *entry, void *writer) {
    put_works(writer, "csk_works_dropped_total", entry, entry->dropped);
}
static void works_waiting(const csk_metrics_entry_t *entry, void *writer) {
    put_works(writer, "csk_most_works_waiting", entry, entry->most_waiting);
}

static void put_family(writer_t *writer, const char *head, void (*each)(const csk_metrics_entry_t *, void *)) {
    put(writer, head);
    csk_metrics_read(each, writer);
}

int csk_metrics_print(csk_print_t print, void *context) {
    writer_t writer = { .print = print, .context = context };
    int before = csk_platform_keep_thread();
    put_family(&writer,
               "# TYPE csk_wait_seconds histogram\n"
               "# UNIT csk_wait_seconds seconds\n"
               "# HELP csk_wait_seconds How long waits took, whatever became of them.\n",
               waits);
    put_family(&writer,
               "# TYPE csk_waits counter\n"
               "# HELP csk_waits Waits that ended, by what became of them.\n",
               outcomes);
    put_family(&writer,
               "# TYPE csk_longest_wait_seconds gauge\n"
               "# UNIT csk_longest_wait_seconds seconds\n"
               "# HELP csk_longest_wait_seconds The longest wait so far.\n",
               longest);
    put_family(
        &writer,
        "# TYPE csk_timer_lateness_seconds histogram\n"
        "# UNIT csk_timer_lateness_seconds seconds\n"
        "# HELP csk_timer_lateness_seconds How long after their deadlines the functions of timers were called.\n",
        lateness);
    put_family(&writer,
               "# TYPE csk_works_refused counter\n"
               "# HELP csk_works_refused Works and callers that work queues did not accept.\n",
               works_refused);
    put_family(&writer,
               "# TYPE csk_works_dropped counter\n"
               "# HELP csk_works_dropped Works that were accepted, and were dropped or cancelled by a shutdown.\n",
               works_dropped);
    put_family(&writer,
               "# TYPE csk_work_waiting_seconds histogram\n"
               "# UNIT csk_work_waiting_seconds seconds\n"
               "# HELP csk_work_waiting_seconds How long works waited to begin, estimated from one in 1024.\n",
               works_spans);
    put_family(&writer,
               "# TYPE csk_work_running_seconds histogram\n"
               "# UNIT csk_work_running_seconds seconds\n"
               "# HELP csk_work_running_seconds How long works ran, estimated from one in 1024.\n",
               works_runs);
    put_family(
        &writer,
        "# TYPE csk_most_works_waiting gauge\n"
        "# HELP csk_most_works_waiting The most works that have waited in a queue so far (with a bound: when full).\n",
        works_waiting);
    put(&writer, "# TYPE csk_metrics_lost counter\n"
                 "# HELP csk_metrics_lost Waits that were not counted, because the table was full.\n"
                 "csk_metrics_lost_total ");
    put_number(&writer, csk_metrics_lost());
    put(&writer, "\n# EOF\n");
    flush(&writer);
    csk_platform_let_thread_go(before);
    return writer.status;
}
