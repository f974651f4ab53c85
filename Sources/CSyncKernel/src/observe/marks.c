/* marks.c: the watchdog looks at the waits of marked threads. It reads the records of waits as a view does
 * (wait/waits.h), so it never waits. It reports once it has given each record back, so the object may be gone by then:
 * the report has its address and its name. */
#include "csynckernel/mark.h"

#include "base/report.h"
#include "wait/watchdog.h"
#include "wait/waits.h"

enum { ROUND_NS = 50000000, READING_NS = 2000000, REPORTS = 16 };

typedef struct {
    const void *object;
    uint32_t object_kind;
    int64_t since_ns;
    int32_t thread_id;
    uint32_t thread_kind; /* CSK_THREAD_...: what it has said, or else what was asked; main before all */
    char name[128];
} long_wait_t;

/* The record is READ. */
static bool is_long(csk_wait_record_t *record, int64_t now_ns, long_wait_t *found) {
    const csk_wait_t *wait = record->wait;
    if ((record->marked | record->asked) == CSK_THREAD_PLAIN || record->told == record->number) return false;
    if (now_ns - wait->since_ns < CSK_LONG_WAIT_NS) return false;
    record->told = record->number;
    found->object = wait->object;
    found->object_kind = wait->object_kind;
    found->since_ns = wait->since_ns;
    found->thread_id = record->thread_id;
    found->thread_kind = record->marked == CSK_THREAD_MAIN || record->asked == CSK_THREAD_MAIN ? CSK_THREAD_MAIN
                         : record->marked != CSK_THREAD_PLAIN                                  ? record->marked
                                                                                               : record->asked;
    csk_waits_name(wait, found->name, sizeof found->name);
    return true;
}

static uint32_t look(long_wait_t *found) {
    csk_waits_seen_t seen = { 0 };
    uint32_t count = 0;
    int64_t now_ns = csk_platform_now(), until_ns = now_ns + READING_NS;
    csk_wait_record_t *record = csk_waits_next(NULL, until_ns, &seen);
    for (; record != NULL; record = csk_waits_next(record, until_ns, &seen))
        if (count < REPORTS && is_long(record, now_ns, &found[count])) count++;
    return count;
}

static bool somebody_is_marked(void) {
    return csk_load(&csk_waits_marked, CSK_RELAXED) != 0 || csk_load(&csk_waits_asks, CSK_RELAXED) != NULL;
}

static int64_t look_and_tell(void) {
    static long_wait_t found[REPORTS];
    if (!somebody_is_marked()) return CSK_NEVER;
    uint32_t count = look(found);
    for (uint32_t i = 0; i < count; i++)
        csk_observe_report_long_wait(found[i].object_kind, found[i].object,
                                     found[i].name[0] != 0 ? found[i].name : NULL, found[i].since_ns,
                                     found[i].thread_id, found[i].thread_kind);
    return csk_platform_now() + ROUND_NS;
}

static int start(void) { return csk_watchdog_start(CSK_WATCHDOG_MARKS, look_and_tell); }

int csk_thread_mark(uint32_t kind) {
    if (kind > CSK_THREAD_MAIN) return EINVAL;
    int status = kind != CSK_THREAD_PLAIN ? start() : 0;
    if (status == 0 && !csk_waits_mark(kind)) status = ENOMEM;
    if (status == 0) csk_watchdog_wake();
    return status;
}

int csk_thread_mark_by(uint32_t (*kind_of_thread)(void)) {
    int status = kind_of_thread != NULL ? start() : 0;
    if (status != 0) return status;
    csk_store(&csk_waits_asks, kind_of_thread, CSK_RELEASE);
    csk_watchdog_wake();
    return 0;
}
