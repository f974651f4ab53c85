/* wait_callback.c: waits without a thread reach the observer, the contention profile, the metrics and the list for
 * views; and the waiters that a thread lets in reach the profile.
 *
 * Of waits at a work queue, for room or for its end: what takes long is done before the wait stands in line. Its name
 * is looked up without an internal lock, while the caller keeps the queue, which may be gone when the wait ends. So a
 * thread that finds under the lock that it has to wait, and that waits are reported, leaves the lock and comes back
 * prepared (queue/workqueue_wait.c). What is written then belongs to the thread that takes the wait out of its list. */
#include "csynckernel/inspect.h"
#include "csynckernel/workqueue.h"
#include "observe/metrics.h"
#include "observe/profile.h"
#include "observe/subscriber.h"
#include "observe/listed.h"
#include "wait/waiter.h"

/* ---- Callbacks --------------------------------------------------------------------------------------------------- */

/* The thread that says that a grant is over may suspend another task, so the waiter has none then. */
uint32_t csk_subscribed_callback(csk_waiter_t *waiter, uint32_t object_kind, bool again) {
    uint32_t told = again ? waiter->has_waited & (WAITER_LISTED | WAITER_METERED | WAITER_PROFILED) : 0;
    if (!again && csk_is_counting(CSK_COUNTS_METRICS)) told |= WAITER_METERED;
    if (!again && csk_profile_is_on()) {
        told |= WAITER_PROFILED;
        waiter->stack = csk_profile_stack_of_waiter();
    }
    if (csk_is_observed()) told |= WAITER_OBSERVED;
    if (csk_callbacks_are_listed() && !(told & WAITER_LISTED) && csk_listed_add(waiter->object, object_kind)) {
        told |= WAITER_LISTED;
        waiter->task = again ? 0 : csk_waits_suspended_task();
    }
    return told;
}

void csk_subscribed_callback_end(csk_waiter_t *waiter, const void *object, int status) {
    uint32_t object_kind = waiter->has_waited & WAITER_KIND;
    csk_rank_t rank = waiter->node.rank;
    if (waiter->has_waited & WAITER_LISTED) {
        waiter->has_waited &= (uint8_t)~WAITER_LISTED;
        csk_listed_take_off(object);
    }
    if (waiter->has_waited & WAITER_OBSERVED)
        csk_observer_hears(CSK_EVENT_WAIT_END, object_kind, object, rank, waiter->since_ns, status);
    if (waiter->has_waited & WAITER_METERED) csk_metrics_waited(object, object_kind, waiter->since_ns, status);
    csk_profile_sample_t sample;
    if ((waiter->has_waited & WAITER_PROFILED) && csk_profile_keeps(csk_platform_now() - waiter->since_ns, &sample))
        csk_profile_add(&(csk_profile_key_t){ .side = CSK_PROFILE_WAITED,
                                              .waiter = CSK_PROFILE_CALLBACK,
                                              .rank = rank,
                                              .stack = (uint32_t)waiter->stack,
                                              .name = csk_profile_name_number(object, object_kind) },
                        &sample);
}

/* ---- Who is let in ----------------------------------------------------------------------------------------------- */

enum { LET_IN_COUNTED = 16 };
typedef struct {
    struct {
        csk_rank_t rank;
        int64_t waited_ns;
        uint32_t kind;
        bool again;
    } drawn[LET_IN_COUNTED];
    uint32_t count;
    int64_t now_ns; /* before they are let in: their sections may take this thread's processor */
} let_in_t;

/* Each thread that is let in is drawn with the same probability (algorithm R of Vitter, 1985). */
static void draw(let_in_t *let_in, const csk_waiter_t *waiter, uint32_t kind) {
    uint64_t place = let_in->count++;
    if (place >= LET_IN_COUNTED) place = csk_profile_draw() % let_in->count;
    if (place >= LET_IN_COUNTED) return;
    let_in->drawn[place].rank = waiter->node.rank;
    /* It was counted when it was told, with its wait up to then: see sem.c. */
    bool was_told = waiter->function == NULL && waiter->has_waited == CSK_OBJECT_SEM && waiter->told_ns != 0;
    let_in->drawn[place].again = was_told;
    let_in->drawn[place].waited_ns = let_in->now_ns - (was_told ? waiter->told_ns : waiter->since_ns);
    let_in->drawn[place].kind = kind;
}

/* Where the profile is on, the thread that is let in is counted by the stack of the calling thread. Threads are gone
 * with their waiters once they were let in, so what is counted is copied before. Of more than there is room for, those
 * drawn count for all. */
void csk_subscribed_grants(csk_effects_t *effects, void (*perform)(csk_effects_t *effects)) {
    let_in_t let_in;
    if (!csk_profile_is_on()) {
        perform(effects);
        return;
    }
    let_in.count = 0;
    let_in.now_ns = csk_platform_now();
    for (const csk_waiter_t *waiter = effects->threads; waiter != NULL; waiter = waiter->next_ready)
        draw(&let_in, waiter, CSK_PROFILE_THREAD);
    for (const csk_waiter_t *waiter = effects->ready; waiter != NULL; waiter = waiter->next_ready)
        if ((waiter->has_waited & WAITER_PROFILED) && waiter->status == 0) draw(&let_in, waiter, CSK_PROFILE_CALLBACK);
    perform(effects);
    uint32_t drawn = let_in.count < LET_IN_COUNTED ? let_in.count : LET_IN_COUNTED;
    for (uint32_t i = 0; i < drawn; i++)
        csk_profile_let_in(let_in.drawn[i].kind, let_in.drawn[i].rank, let_in.drawn[i].waited_ns, let_in.drawn[i].again,
                           (double)let_in.count / drawn);
}

/* ---- At work queues ---------------------------------------------------------------------------------------------- */

void csk_subscribed_queue_wait(const void *queue, csk_workqueue_wait_t *wait, uint32_t waits_for) {
    char name[CSK_OBSERVED_NAME_SIZE];
    wait->counting = csk_load(&csk_counting, CSK_RELAXED) & (CSK_COUNTS_PROFILE | CSK_COUNTS_METRICS);
    bool has_name = wait->counting != 0 && csk_observe_find_name(queue, CSK_OBJECT_WORKQUEUE, name, sizeof name);
    if (wait->counting & CSK_COUNTS_PROFILE) {
        wait->stack = csk_profile_stack_of_waiter();
        wait->name_number = has_name ? csk_profile_number_of_name(name) : 0;
    }
    if (has_name && (wait->counting & CSK_COUNTS_METRICS))
        wait->counts = csk_metrics_find_named(CSK_OBJECT_WORKQUEUE, waits_for, name);
}

void csk_subscribed_queue_wait_end(const csk_workqueue_wait_t *wait, int status) {
    int64_t waited_ns = csk_platform_now() - wait->since_ns;
    csk_metrics_count(wait->counts, waited_ns, status);
    if (wait->counting & CSK_COUNTS_PROFILE)
        csk_profile_count(&(csk_profile_key_t){ .side = CSK_PROFILE_WAITED,
                                                .waiter = CSK_PROFILE_CALLBACK,
                                                .rank = wait->work != NULL ? wait->arrivals : 0,
                                                .stack = wait->stack,
                                                .name = wait->name_number },
                          waited_ns);
}
