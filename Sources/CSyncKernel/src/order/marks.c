/* marks.c: the thread that looks at the waits of marked threads. It reads the records of waits as a view does
 * (wait/waits.h), so it waits for nobody. It reports once it has given each record back, so the object may be gone by
 * then: the report has its address and its name. */
#include "csynckernel/mark.h"

#include "base/observe.h"
#include "thread/name.h"
#include "wait/waits.h"

enum { ROUND_NS = 50000000, READING_NS = 2000000, REPORTS = 16 };

static uint32_t marks; /* raised with each mark; the thread parks on it */

static struct {
    uint32_t lock;
    uint32_t started;  /* 1 + the mark of the process in which the thread was started */
    uint32_t starting; /* the same of one in which somebody starts it: others wait for what becomes of that */
} watch;

typedef struct {
    const void *object;
    int64_t since_ns;
    int32_t thread_id;
    char name[128];
} long_wait_t;

static bool never_again(void *unused) {
    (void)unused;
    return false;
}

/* The record is READ. A condition variable may be gone, although its thread sleeps still. */
static bool is_long(csk_wait_record_t *record, int64_t now_ns, long_wait_t *found) {
    const csk_wait_t *wait = record->wait;
    if ((record->marked | record->asked) == CSK_THREAD_PLAIN || record->told == record->number) return false;
    if (now_ns - wait->since_ns < CSK_LONG_WAIT_NS) return false;
    record->told = record->number;
    found->object = wait->object;
    found->since_ns = wait->since_ns;
    found->thread_id = record->thread_id;
    uint32_t kind = wait->object_kind != CSK_OBJECT_COND ? wait->object_kind : CSK_OBJECT_OTHER;
    csk_name_try_of(wait->object, kind, found->name, sizeof found->name, never_again, NULL);
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
    return csk_load(&csk_waits_marked, CSK_ACQUIRE) != 0 || csk_load(&csk_waits_asks, CSK_RELAXED) != NULL;
}

static void run(void *unused) {
    (void)unused;
    static long_wait_t found[REPORTS];
    for (;;) {
        uint32_t changes = csk_load(&marks, CSK_ACQUIRE);
        csk_platform_park(&marks, changes, somebody_is_marked() ? csk_platform_now() + ROUND_NS : CSK_NEVER);
        uint32_t count = look(found);
        for (uint32_t i = 0; i < count; i++)
            csk_observe_report_named(CSK_EVENT_LONG_WAIT, found[i].object, found[i].name[0] != 0 ? found[i].name : NULL,
                                     found[i].since_ns, EBUSY, found[i].thread_id);
    }
}

static int start(void) {
    uint32_t here = csk_process_mark() + 1;
    csk_queue_lock(&watch.lock);
    for (uint32_t looks = 0; watch.starting == here; looks++) {
        csk_queue_unlock(&watch.lock);
        csk_platform_await_step(looks);
        csk_queue_lock(&watch.lock);
    }
    bool starts = watch.started != here;
    if (starts) watch.starting = here;
    csk_queue_unlock(&watch.lock);
    if (!starts) return 0;
    int status = csk_platform_start_thread(run, NULL, "csk-watchdog");
    csk_queue_lock(&watch.lock);
    if (status == 0) watch.started = here;
    watch.starting = 0;
    csk_queue_unlock(&watch.lock);
    return status;
}

/* There may be a marked thread from now on. */
static void tell(void) {
    csk_fetch_add(&marks, 1u, CSK_RELEASE);
    csk_platform_wake(&marks, 1);
}

int csk_thread_mark(uint32_t kind) {
    if (kind > CSK_THREAD_MAIN) return EINVAL;
    int status = kind != CSK_THREAD_PLAIN ? start() : 0;
    if (status == 0 && !csk_waits_mark(kind)) status = ENOMEM;
    if (status == 0) tell();
    return status;
}

int csk_thread_mark_by(uint32_t (*kind_of_thread)(void)) {
    int status = kind_of_thread != NULL ? start() : 0;
    if (status != 0) return status;
    csk_store(&csk_waits_asks, kind_of_thread, CSK_RELEASE);
    tell();
    return 0;
}
