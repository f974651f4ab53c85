/* metrics.c: the table of counters and histograms. See metrics.h. */
#include "observe/metrics.h"

#include "base/report.h"
#include "observe/slots.h"
#include "base/text.h"

#include <string.h>

/* The explorer fills a smaller one. */
#ifndef CSK_METRICS_ENTRIES
#define CSK_METRICS_ENTRIES 4096
#endif
enum { NAME_SIZE = CSK_TEXT_ROOM };
enum { GRANTED = 0, TIMED_OUT, REFUSED, OUTCOMES };

typedef struct {
    uint64_t buckets[CSK_METRICS_BUCKETS];
    uint64_t sum_ns;
    int64_t longest_ns;
} spans_t;

/* A work that carries the time. The thread that queues the work takes a free stamp by a compare-and-swap; afterwards it
 * belongs to the work's owner. */
typedef struct {
    const void *work;
    int64_t since_ns;
} stamp_t;
enum { STAMPS = 8 };

struct csk_metrics_waits {
    csk_slot_t slot;
    uint32_t object_kind;
    uint32_t waits_for; /* of a work queue; 0 is for its works */
    char name[NAME_SIZE];
    uint64_t outcomes[OUTCOMES];
    uint64_t dropped;
    int64_t most_waiting;
    spans_t spans, runs;
    int64_t last_waited_ns; /* of a work that had a stamp; 0: of none yet */
    stamp_t stamps[STAMPS];
};

typedef struct {
    csk_metrics_waits_t waits[CSK_METRICS_ENTRIES];
    spans_t lateness;
    uint64_t lost;
} table_t;

static void *mapped;

static table_t *the_table(void) { return csk_slots_table(&mapped); }

int csk_metrics_start(void) {
    int error = csk_slots_map(&mapped, sizeof(table_t), true);
    if (error == 0) csk_counting_begin(CSK_COUNTS_METRICS);
    return error;
}

void csk_metrics_stop(void) { csk_counting_end(CSK_COUNTS_METRICS); }

bool csk_metrics_is_running(void) { return csk_is_counting(CSK_COUNTS_METRICS); }

/* ---- Counting ---------------------------------------------------------------------------------------------------- */

/* `name` is changed where it is no UTF-8. */
static csk_metrics_waits_t *find_named(table_t *in, uint32_t object_kind, uint32_t waits_for, char *name) {
    csk_make_utf8(name);
    bool is_new;
    uint32_t number = csk_slot_claim(in->waits, sizeof in->waits[0], CSK_METRICS_ENTRIES,
                                     csk_slot_hash_text(waits_for << 8 | object_kind, name), &is_new);
    if (number == 0) {
        csk_fetch_add(&in->lost, UINT64_C(1), CSK_RELAXED);
        return NULL;
    }
    csk_metrics_waits_t *waits = &in->waits[number - 1];
    if (is_new) {
        waits->object_kind = object_kind;
        waits->waits_for = waits_for;
        strcpy(waits->name, name);
        csk_slot_become_ready(&waits->slot);
    }
    return waits;
}

csk_metrics_waits_t *csk_metrics_find(const void *object, uint32_t object_kind) {
    table_t *in = the_table();
    char name[NAME_SIZE];
    if (CSK_UNLIKELY(in == NULL) || !csk_observe_find_name(object, object_kind, name, sizeof name)) return NULL;
    return find_named(in, object_kind, 0, name);
}

csk_metrics_waits_t *csk_metrics_find_named(uint32_t object_kind, uint32_t waits_for, const char *name) {
    table_t *in = the_table();
    char text[NAME_SIZE];
    if (CSK_UNLIKELY(in == NULL) || name[0] == 0) return NULL;
    csk_copy_text(text, sizeof text, name);
    return find_named(in, object_kind, waits_for, text);
}

/* Bucket 0 is for up to 1 us, bucket i for up to 2^i us. */
static uint32_t bucket_of(int64_t span_ns) {
    if (span_ns <= 1000) return 0;
    uint32_t bucket = 64 - (uint32_t)__builtin_clzll((uint64_t)(span_ns - 1) / 1000);
    return bucket < CSK_METRICS_BUCKETS ? bucket : CSK_METRICS_BUCKETS - 1;
}

static void raise_to(int64_t *most, int64_t value) {
    int64_t found = csk_load(most, CSK_RELAXED);
    while (value > found && !csk_cas(most, &found, value, CSK_RELAXED)) {}
}

static void add_spans(spans_t *spans, int64_t span_ns, uint64_t count) {
    if (span_ns < 0) span_ns = 0;
    csk_fetch_add(&spans->buckets[bucket_of(span_ns)], count, CSK_RELAXED);
    csk_fetch_add(&spans->sum_ns, (uint64_t)span_ns * count, CSK_RELAXED);
    raise_to(&spans->longest_ns, span_ns);
}

void csk_metrics_count(csk_metrics_waits_t *waits, int64_t waited_ns, int status) {
    if (waits == NULL) return;
    int outcome = status == 0 ? GRANTED : status == ETIMEDOUT ? TIMED_OUT : REFUSED;
    csk_fetch_add(&waits->outcomes[outcome], UINT64_C(1), CSK_RELAXED);
    add_spans(&waits->spans, waited_ns, 1);
}

__attribute__((noinline)) void csk_metrics_waited(const void *object, uint32_t object_kind, int64_t since_ns,
                                                  int status) {
    int64_t waited_ns = csk_platform_now() - since_ns;
    csk_metrics_count(csk_metrics_find(object, object_kind), waited_ns, status);
}

static csk_metrics_waits_t *find_works(const char *name) {
    return name != NULL ? csk_metrics_find_named(CSK_OBJECT_WORKQUEUE, 0, name) : NULL;
}

__attribute__((noinline)) void csk_metrics_add_works(const char *name, const csk_told_works_t *works) {
    csk_metrics_waits_t *of = find_works(name);
    if (of == NULL) return;
    if (works->refused != 0) csk_fetch_add(&of->outcomes[REFUSED], works->refused, CSK_RELAXED);
    if (works->dropped != 0) csk_fetch_add(&of->dropped, works->dropped, CSK_RELAXED);
    raise_to(&of->most_waiting, (int64_t)works->waiting);
}

uint32_t csk_metrics_one_in = 1024;

bool csk_metrics_stamp(const char *name, const void *work) {
    int64_t now_ns = csk_platform_now();
    if (csk_slot_mix((uint64_t)now_ns ^ (uintptr_t)work) % csk_metrics_one_in != 0) return false;
    csk_metrics_waits_t *of = find_works(name);
    for (int i = 0; of != NULL && i < STAMPS; i++) {
        const void *found = csk_load(&of->stamps[i].work, CSK_RELAXED);
        if (found != NULL || !csk_cas(&of->stamps[i].work, &found, work, CSK_ACQUIRE)) continue;
        csk_store(&of->stamps[i].since_ns, now_ns, CSK_RELAXED);
        return true;
    }
    return of != NULL;
}

int64_t csk_metrics_take_stamp(const char *name, const void *work) {
    csk_metrics_waits_t *of = find_works(name);
    for (int i = 0; of != NULL && i < STAMPS; i++) {
        if (csk_load(&of->stamps[i].work, CSK_RELAXED) != work) continue;
        int64_t since_ns = csk_load(&of->stamps[i].since_ns, CSK_RELAXED);
        csk_store(&of->stamps[i].work, NULL, CSK_RELEASE);
        return since_ns;
    }
    return 0;
}

void csk_metrics_ran(const char *name, int64_t waited_ns, int64_t ran_ns) {
    csk_metrics_waits_t *of = find_works(name);
    if (of == NULL) return;
    if (waited_ns >= 0) csk_store(&of->last_waited_ns, waited_ns + 1, CSK_RELAXED);
    else waited_ns = csk_load(&of->last_waited_ns, CSK_RELAXED) - 1;
    if (waited_ns >= 0) add_spans(&of->spans, waited_ns, csk_metrics_one_in);
    add_spans(&of->runs, ran_ns, csk_metrics_one_in);
}

__attribute__((noinline)) void csk_metrics_late(int64_t late_ns) {
    table_t *in = the_table();
    if (in != NULL) add_spans(&in->lateness, late_ns, 1);
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static void read_spans(const spans_t *from, csk_metrics_histogram_t *to) {
    to->count = 0;
    for (uint32_t i = 0; i < CSK_METRICS_BUCKETS; i++)
        to->count += to->buckets[i] = csk_load(&from->buckets[i], CSK_RELAXED);
    to->sum_ns = (int64_t)csk_load(&from->sum_ns, CSK_RELAXED);
    to->longest_ns = csk_load(&from->longest_ns, CSK_RELAXED);
}

void csk_metrics_read(void (*each)(const csk_metrics_entry_t *, void *), void *context) {
    const table_t *in = the_table();
    if (in == NULL) return;
    csk_metrics_entry_t entry;
    for (uint32_t i = 0; i < CSK_METRICS_ENTRIES; i++) {
        const csk_metrics_waits_t *waits = &in->waits[i];
        if (!csk_slot_is_ready(&waits->slot)) continue;
        entry = (csk_metrics_entry_t){
            .what = waits->object_kind == CSK_OBJECT_WORKQUEUE && waits->waits_for == 0 ? CSK_METRICS_WORKS
                                                                                        : CSK_METRICS_WAITS,
            .object_kind = waits->object_kind,
            .waits_for = waits->waits_for,
            .name = waits->name,
            .granted = csk_load(&waits->outcomes[GRANTED], CSK_RELAXED),
            .timed_out = csk_load(&waits->outcomes[TIMED_OUT], CSK_RELAXED),
            .refused = csk_load(&waits->outcomes[REFUSED], CSK_RELAXED),
            .dropped = csk_load(&waits->dropped, CSK_RELAXED),
            .most_waiting = (uint64_t)csk_load(&waits->most_waiting, CSK_RELAXED),
        };
        read_spans(&waits->spans, &entry.spans);
        read_spans(&waits->runs, &entry.runs);
        each(&entry, context);
    }
    entry = (csk_metrics_entry_t){ .what = CSK_METRICS_TIMERS };
    read_spans(&in->lateness, &entry.spans);
    each(&entry, context);
}

uint64_t csk_metrics_lost(void) {
    const table_t *in = the_table();
    return in != NULL ? csk_load(&in->lost, CSK_RELAXED) : 0;
}
