/* pool_watch.c: which workers sleep inside their functions, and what is reported when work waits and no worker can be
 * added.
 *
 * The system shows a thread's state in /proc. Where it doesn't, a thread counts as asleep when its
 * processor time stands still: for 10 ms, and for as long as those that run may keep it from a processor. Threads of a
 * group whose quota is used up stand still too. All of them do so together, and for less than a second, which is the
 * longest period of a quota. So where there may be a quota, and no thread but the supervisor has used processor time
 * meanwhile, a thread must stand still for longer than that. */
#include "pool/pool_watch.h"

#include "base/report.h"
#include "base/text.h"
#include "pool/pool.h"

const void *(*csk_pool_describe)(csk_pool_item_t *item, const char **name);

static const int64_t still_ns = 10000000;       /* a thread without progress for so long counts as asleep */
static const int64_t turn_ns = 10000000;        /* how long a thread that runs may keep another from a processor */
static const int64_t throttled_ns = 1200000000; /* longer than a quota keeps all threads */
static const int64_t first_report_ns = 1000000000, longest_span_ns = INT64_C(64) * 1000000000;
static const int64_t stamp_ns = 1000000; /* the first to wait may be older than its stamp says by up to this */

/* What one look compares the clocks with. */
typedef struct {
    int64_t now_ns, others_ns, patience_ns;
    bool throttled;
} moment_t;

static bool stands_still(csk_pool_look_t *look, const moment_t *moment) {
    int64_t time_ns = csk_platform_thread_time(look->thread_id);
    if (time_ns < 0 || moment->others_ns < 0) return false;
    if (time_ns != look->time_ns || look->still_since_ns == 0) {
        look->time_ns = time_ns;
        look->others_ns = moment->others_ns;
        look->still_since_ns = moment->now_ns;
        return false;
    }
    bool together = moment->throttled && moment->others_ns == look->others_ns;
    return moment->now_ns - look->still_since_ns >= (together ? throttled_ns : moment->patience_ns);
}

uint32_t csk_pool_count_running(csk_pool_look_t *looks, uint32_t count, uint32_t most, uint32_t processors,
                                bool throttled, bool *by_clocks) {
    static uint32_t ran_before; /* at the last look by clocks */
    moment_t moment = { .throttled = throttled };
    uint32_t running = 0;
    *by_clocks = false;
    for (uint32_t i = 0; i < count && (running < most || *by_clocks); i++) {
        csk_thread_state_t state = csk_platform_thread_state(looks[i].thread_id);
        if (state == CSK_THREAD_UNKNOWN && !*by_clocks) {
            *by_clocks = true;
            moment.now_ns = csk_platform_now();
            moment.others_ns = csk_platform_time_of_others();
            moment.patience_ns = still_ns + turn_ns * (ran_before / (processors != 0 ? processors : 1));
        }
        running += state == CSK_THREAD_RUNS || (state == CSK_THREAD_UNKNOWN && !stands_still(&looks[i], &moment));
    }
    ran_before = *by_clocks ? running : 0;
    return running;
}

bool csk_pool_stall_lasts(csk_pool_stall_t *stall, int64_t now_ns) {
    stall->count = 0;
    if (stall->since_ns == 0) {
        stall->since_ns = now_ns;
        stall->span_ns = first_report_ns;
        stall->report_ns = now_ns + first_report_ns + stamp_ns;
    }
    if (now_ns < stall->report_ns) return false;
    if (stall->span_ns < longest_span_ns) stall->span_ns *= 2;
    stall->report_ns = now_ns + stall->span_ns;
    return true;
}

void csk_pool_stall_add(csk_pool_stall_t *stall, csk_pool_item_t *item, int64_t now_ns) {
    int32_t waited_ms = (int32_t)((uint32_t)(now_ns / stamp_ns) - item->since_ms);
    /* An item that came while others waited already is not reported before its own second is over. */
    if (stall->count == CSK_POOL_REPORTED || waited_ms < first_report_ns / stamp_ns) return;
    const void *(*describe)(csk_pool_item_t *, const char **) = csk_load(&csk_pool_describe, CSK_RELAXED);
    const char *name = NULL;
    const void *object = describe != NULL ? describe(item, &name) : item;
    stall->waiting[stall->count].object = object;
    stall->waiting[stall->count].since_ns = now_ns - waited_ms * stamp_ns;
    csk_copy_text(stall->waiting[stall->count++].name, CSK_POOL_NAME_SIZE, name != NULL ? name : "");
}

void csk_pool_report(const csk_pool_stall_t *stall) {
    for (uint32_t i = 0; i < stall->count; i++) {
        const char *name = stall->waiting[i].name;
        csk_observe_report_named(CSK_EVENT_POOL_STUCK, CSK_OBJECT_OTHER, stall->waiting[i].object,
                                 name[0] != 0 ? name : NULL, stall->waiting[i].since_ns, EAGAIN, 0);
    }
}
