/* rcu_watch.c: a grace period that does not end is reported, with the threads whose sections it waits for.
 *
 * The reclaiming thread can't look at the clock meanwhile: it waits inside of liburcu. So it notes when each grace
 * period begins, and the watchdog's thread (wait/watchdog.h) looks at the note. It runs whether another watch is on or
 * not, and sections cost nothing for it.
 *
 *   began_ns   when the present grace period began; 0: none is under way    written by the reclaiming thread
 *   told_ns    `began_ns` of the one that was reported, until its end is;   written by the watchdog's thread
 *              0: none
 *   watcher    SLEEPS   The watchdog has planned no look.                   set by both
 *              LOOKS    It has planned one, or one was asked for, or the
 *                       end of what was reported will ask for one.
 *   after_ns   the limit                                                    written by the setter
 *
 * No grace period goes unwatched. The reclaiming thread stores `began_ns` and then looks at `watcher`. The watchdog
 * stores SLEEPS and then looks at `began_ns`. Both are sequentially consistent, so one of the two sees the other. LOOKS
 * is stored while a grace period is under way, and SLEEPS stays only where the watchdog has found none, so a LOOKS of
 * an earlier one does not come behind it. (With the limit CSK_NEVER it may. Setting another one wakes the watchdog.) A
 * program that retires all the time has two looks in the time of the limit, and one that retires nothing has none.
 *
 * No end of a reported one goes untold. The watchdog stores `told_ns` and then looks at `began_ns`. The reclaiming
 * thread stores 0 to `began_ns` and then looks at `told_ns`. Both are sequentially consistent. If the watchdog sees the
 * end, it reports nothing. Otherwise the reclaiming thread sees what was reported, and wakes the watchdog. So begin and
 * end are reported by one thread, in this order, and reclaiming waits for no reporter.
 *
 * Which threads are named. A section that holds a grace period up has another phase than the current one (rcu_own.c
 * has the algorithm, which is liburcu's too). But the phase changes once in a grace period. Just after that, sections
 * that have only begun have the phase before, too. So a look reports only where the watchdog has found the same phase
 * for half of the limit already: a section of the other phase has lasted for so long at least. That also says that the
 * watchdog itself has run meanwhile. If it has not, the whole process may have stood still, and no thread is late.
 *
 * Not named are sections that no list has: of a thread whose end can't be noticed (rcu.c: PLAIN), of one that is
 * ending, and of another user of liburcu. The report comes all the same. */
#include "rcu/rcu_watch.h"

#include <stdio.h>

#include "base/report.h"
#include "base/text.h"
#include "rcu/rcu_readers.h"
#include "wait/waits.h"
#include "wait/watchdog.h"

enum { SLEEPS, LOOKS };
enum { READERS_NAMED = 4, READER_NAME = 48, READER_TEXT = 160 };

static const int64_t second_ns = 1000000000, least_between_ns = 1000000, reading_ns = 2000000;

uint64_t (*csk_rcu_watch_pending)(void);

static struct {
    int64_t began_ns, told_ns, after_ns;
    uint32_t watcher;
} watch = { .after_ns = second_ns };

/* What the looks have found, for the watchdog's thread alone. */
static struct {
    int64_t began_ns, since_ns, looked_ns; /* since when it is this grace period and this phase; the last look */
    unsigned long phase;
} seen;

/* ---- Readers ----------------------------------------------------------------------------------------------------- */

typedef struct {
    int32_t thread_id;
    const void *object; /* for which the thread waits, in this library; NULL: for none */
    char object_name[READER_NAME];
} reader_t;

static void find_waits(reader_t *readers, uint32_t count) {
    csk_waits_seen_t of_list = { 0 };
    int64_t until_ns = csk_platform_now() + reading_ns;
    csk_wait_record_t *record = csk_waits_next(NULL, until_ns, &of_list);
    for (; record != NULL; record = csk_waits_next(record, until_ns, &of_list))
        for (uint32_t i = 0; i < count; i++) {
            if (record->thread_id != readers[i].thread_id) continue;
            readers[i].object = record->wait->object;
            csk_waits_name(record->wait, readers[i].object_name, sizeof readers[i].object_name);
        }
}

static void write_what_it_does(const reader_t *reader, char *text, size_t size) {
    static const char *const states[] = {
        [CSK_THREAD_UNKNOWN] = "", [CSK_THREAD_RUNS] = ", which runs", [CSK_THREAD_SLEEPS] = ", which sleeps"
    };
    if (reader->object == NULL) snprintf(text, size, "%s", states[csk_platform_thread_state(reader->thread_id)]);
    else if (reader->object_name[0] != 0)
        snprintf(text, size, ", which waits for \"%s\" at %p", reader->object_name, reader->object);
    else snprintf(text, size, ", which waits for object %p", reader->object);
}

static void write_reader(const reader_t *reader, char *text, size_t size) {
    char name[32], shown[32], does[96]; /* the system has room for 15 bytes */
    csk_platform_thread_name(reader->thread_id, name, sizeof name);
    csk_copy_line(shown, sizeof shown, name);
    write_what_it_does(reader, does, sizeof does);
    if (shown[0] != 0) snprintf(text, size, "thread %d \"%s\"%s", (int)reader->thread_id, shown, does);
    else snprintf(text, size, "thread %d%s", (int)reader->thread_id, does);
}

/* One more than is named says that there are others. */
static void write_readers(const int32_t *thread_ids, uint32_t count, char *text, size_t size) {
    reader_t readers[READERS_NAMED] = { 0 };
    uint32_t named = count < READERS_NAMED ? count : READERS_NAMED;
    for (uint32_t i = 0; i < named; i++) readers[i].thread_id = thread_ids[i];
    find_waits(readers, named);
    size_t length = 0;
    for (uint32_t i = 0; i < named; i++) {
        char reader[READER_TEXT];
        write_reader(&readers[i], reader, sizeof reader);
        length += (size_t)snprintf(text + length, size - length, "%s%s", i != 0 ? "; " : "", reader);
    }
    if (count > named) snprintf(text + length, size - length, "; and others");
}

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

static uint64_t count_pending(void) { return csk_rcu_watch_pending != NULL ? csk_rcu_watch_pending() : 0; }

static unsigned long phase_now(void) { return csk_load(&csk_rcu_period->phase, CSK_RELAXED) & CSK_RCU_PHASE; }

/* Returns false where it has just ended, or the phase has changed while threads were looked for. */
static bool report_begin(int64_t began_ns) {
    int32_t thread_ids[READERS_NAMED + 1];
    uint32_t count = csk_rcu_readers_find(seen.phase, thread_ids, READERS_NAMED + 1);
    (void)csk_exchange(&watch.told_ns, began_ns, CSK_SEQ_CST);
    if (csk_load(&watch.began_ns, CSK_SEQ_CST) != began_ns || phase_now() != seen.phase) {
        csk_store(&watch.told_ns, 0, CSK_RELAXED);
        return false;
    }
    char text[(READERS_NAMED + 1) * READER_TEXT];
    write_readers(thread_ids, count, text, sizeof text);
    if (count != 0) csk_observe_report_memory(text, count_pending(), began_ns, EBUSY, thread_ids[0]);
    else csk_observe_report_memory(NULL, count_pending(), began_ns, EBUSY, 0);
    return true;
}

static void report_end(int64_t told_ns) {
    csk_store(&watch.told_ns, 0, CSK_RELAXED);
    csk_observe_report_memory(NULL, count_pending(), told_ns, 0, 0);
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

/* Returns when the grace period is to be looked at again. */
static int64_t look_at(int64_t began_ns, int64_t after_ns) {
    /* The clock is read after the phase: sections that have the other phase then began before `since_ns`. */
    unsigned long phase = phase_now();
    int64_t now_ns = csk_platform_now(), half_ns = after_ns / 2 < least_between_ns ? least_between_ns : after_ns / 2;
    bool has_stood_still = now_ns - seen.looked_ns > 2 * half_ns;
    if (seen.began_ns != began_ns || seen.phase != phase || has_stood_still) {
        seen.began_ns = began_ns;
        seen.phase = phase;
        seen.since_ns = now_ns;
    }
    seen.looked_ns = now_ns;
    int64_t due_ns = began_ns + after_ns;
    if (due_ns < seen.since_ns + half_ns) due_ns = seen.since_ns + half_ns;
    if (now_ns < began_ns + half_ns) return began_ns + half_ns;
    if (now_ns < due_ns) return due_ns;
    return report_begin(began_ns) ? CSK_NEVER : now_ns + half_ns;
}

/* On the watchdog's thread. */
static int64_t look(void) {
    int64_t after_ns = csk_load(&watch.after_ns, CSK_RELAXED), began_ns = csk_load(&watch.began_ns, CSK_RELAXED);
    int64_t told_ns = csk_load(&watch.told_ns, CSK_RELAXED);
    if (told_ns != 0 && told_ns != began_ns) report_end(told_ns);
    if (began_ns == 0 || after_ns == CSK_NEVER) {
        (void)csk_exchange(&watch.watcher, (uint32_t)SLEEPS, CSK_SEQ_CST);
        began_ns = csk_load(&watch.began_ns, CSK_SEQ_CST);
        if (began_ns == 0 || after_ns == CSK_NEVER) return CSK_NEVER;
    }
    csk_store(&watch.watcher, (uint32_t)LOOKS, CSK_RELAXED);
    if (csk_load(&watch.told_ns, CSK_RELAXED) == began_ns) return CSK_NEVER;
    return look_at(began_ns, after_ns);
}

int csk_rcu_report_after(int64_t after_ns) {
    if (after_ns < 0) return EINVAL;
    if (after_ns == 0) after_ns = second_ns;
    if (after_ns > CSK_NEVER / 4) after_ns = CSK_NEVER;
    csk_store(&watch.after_ns, after_ns, CSK_RELAXED);
    csk_watchdog_wake();
    return 0;
}

/* ---- The reclaiming thread --------------------------------------------------------------------------------------- */

/* Where the system refuses the watchdog's thread, the next grace period tries again. */
static void ask_for_look(void) {
    csk_store(&watch.watcher, (uint32_t)LOOKS, CSK_RELAXED);
    if (csk_watchdog_start(CSK_WATCHDOG_RCU, look) == 0) csk_watchdog_wake();
    else csk_store(&watch.watcher, (uint32_t)SLEEPS, CSK_RELAXED);
}

void csk_rcu_watch_begin(void) {
    (void)csk_exchange(&watch.began_ns, csk_platform_now(), CSK_SEQ_CST);
    if (csk_load(&watch.watcher, CSK_SEQ_CST) == LOOKS) return;
    if (csk_load(&watch.after_ns, CSK_RELAXED) != CSK_NEVER) ask_for_look();
}

void csk_rcu_watch_end(void) {
    int64_t began_ns = csk_exchange(&watch.began_ns, INT64_C(0), CSK_SEQ_CST);
    if (CSK_UNLIKELY(csk_load(&watch.told_ns, CSK_SEQ_CST) == began_ns)) csk_watchdog_wake();
}

void csk_rcu_watch_after_fork_in_child(void) {
    watch.began_ns = watch.told_ns = 0;
    watch.watcher = SLEEPS;
    seen.began_ns = 0;
}
