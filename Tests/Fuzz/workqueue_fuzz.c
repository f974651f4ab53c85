/* workqueue_fuzz.c: two work queues, works, delayed works and callers, on two threads and the timer's, against
 * workqueue_model.c.
 *
 * More than 400 lines: each call of the queue is a few lines here, beside the same call of the model.
 *
 * The pool is virtual: a worker comes when the input says so, on the calling thread, and serves until nothing may
 * begin. What happens meanwhile happens inside the functions that it calls, and where it watches for more. The second
 * thread may pause in any of these places, and where it would sleep, so that works overlap in any order and calls do
 * wait. */
#include "pool/pool.h"
#include "workqueue_model.h"

enum { DEEPEST = 10 };

static csk_workqueue_t queues_in_place[QUEUES] __attribute__((aligned(64)));
static csk_workqueue_t *queues[QUEUES];
static csk_counted_work_t works[WORKS];
static csk_delayed_t delayed_works[DELAYED];
static csk_workqueue_wait_t waits[WAITS];
static int repeats[WORKS];
static int depths[ACTORS]; /* of each thread */

static void make_call(void);

static void make_calls(void) {
    int *depth = &depths[fuzz_actor()];
    if (*depth == DEEPEST) return;
    ++*depth;
    for (int calls = fuzz_below(4); calls > 0; calls--) make_call();
    --*depth;
}

#define NOTE(format, ...) fuzz_note("%" PRId64 "/%d: " format, fuzz_tick(), fuzz_actor(), __VA_ARGS__)

/* ---- What is called ---------------------------------------------------------------------------------------------- */

static void enqueue_again(int work);

static int entry_of(const csk_work_t *work) {
    for (int index = 0; index < DELAYED; index++)
        if (work == &delayed_works[index].work) return FIRST_DELAYED + index;
    return (int)((const csk_counted_work_t *)work - works);
}

static void on_work(csk_work_t *work, int status) {
    int entry = entry_of(work);
    NOTE("%d is called with %d", entry, status);
    model_called(entry, status);
    if (entry < WORKS && status == 0 && repeats[entry] != 0) enqueue_again(entry);
    else make_calls();
    NOTE("%d returns", entry);
    model_returned();
}

static void on_turn(void *context) {
    int entry = (int)(intptr_t)context;
    NOTE("the caller %d has its turn", entry);
    model_called(entry, 0);
    make_calls();
    NOTE("the caller %d ends its turn", entry);
    model_returned();
}

static void on_wait(csk_workqueue_wait_t *wait) {
    int index = (int)(wait - waits);
    NOTE("wait %d is told: %d", index, wait->status);
    if (wait->context != &repeats[index]) fuzz_fail("a wait gets the context of another");
    model_wait_called(index, wait->status);
    make_calls();
    NOTE("wait %d returns", index);
    model_wait_returned();
}

/* A worker asks what else there is to do: that is where others make calls while it watches for more. */
static bool on_question(void) {
    model_worker_lingers();
    make_calls();
    return true;
}

static void let_worker_come(void) {
    if (fuzz_pool_count() == 0 || fuzz_actor() == ACTOR_TIMER || depths[fuzz_actor()] == DEEPEST) return;
    csk_pool_item_t *item = fuzz_pool_take(fuzz_below(fuzz_pool_count()));
    int queue = 0;
    while (item != &queues[queue]->item) queue++;
    NOTE("a worker comes for queue %d", queue);
    fuzz_expect("the level at which a worker was asked for", item->level, model_level(queue));
    model_worker_comes(queue);
    csk_pool_frame_t frame = { .abandon = NULL }, *outer = csk_pool_frame;
    csk_pool_frame = &frame;
    item->function(item);
    if (frame.leave != NULL) frame.leave(frame.left);
    csk_pool_frame = outer;
    NOTE("a worker leaves queue %d", queue);
    model_worker_left();
}

/* ---- Queueing ---------------------------------------------------------------------------------------------------- */

static csk_rank_t any_rank(int queue) {
    int place = fuzz_below(8);
    return place >= 3 ? model_rank(queue) + (place - 4) * (place != 7) : csk_rank(fuzz_priority(), place);
}

/* What may still come is for a thread that may be left waiting; else it has passed. */
static int64_t any_deadline(void) {
    int when = fuzz_below(6);
    if (model_may_block() && when >= 3) return when == 5 ? CSK_NEVER : fuzz_deadline(fuzz_tick() + when - 2, 0);
    return when == 0 ? INT64_MIN : fuzz_deadline(fuzz_tick() - when, 0);
}

/* The same where nobody has named the priority; for some. */
static csk_rank_t any_name(csk_rank_t rank, int index) {
    return index % 2 == 1 && (rank & 3) == CSK_PLACE_BACK ? rank + (CSK_PLACE_UNNAMED - CSK_PLACE_BACK) : rank;
}

enum { PLAIN, RANKED, UNTIL, BARRIER, ALWAYS, BARRIER_ALWAYS };

static int enqueue_real(int work, int queue, int how, bool counted, csk_rank_t rank, int64_t deadline_ns,
                        csk_work_function_t function) {
    uint32_t flags = counted ? CSK_WORK_COUNTED : 0;
    if (how == PLAIN) return csk_workqueue_enqueue(queues[queue], &works[work].work, function);
    if (how == BARRIER || how == BARRIER_ALWAYS) flags |= CSK_WORK_BARRIER;
    if (how == ALWAYS || how == BARRIER_ALWAYS) flags |= CSK_WORK_OWN_TURN;
    return csk_workqueue_submit(queues[queue], rank, &works[work].work, flags, deadline_ns, function);
}

/* Every other work is counted, of those that name a rank. */
static bool is_counted(int work, int how) { return work % 2 == 1 && (how == RANKED || how == UNTIL || how == ALWAYS); }

static void enqueue_how(int work, int queue, int how, csk_rank_t rank, int64_t deadline_ns) {
    static const char *const names[] = { "", ", ranked", ", until", ", barrier", ", always", ", barrier, always" };
    bool barrier = how == BARRIER || how == BARRIER_ALWAYS, always = how == ALWAYS || how == BARRIER_ALWAYS;
    if (how == PLAIN || barrier) rank = model_rank(queue);
    bool may_wait = how == UNTIL ? fuzz_actor() != ACTOR_TIMER : model_may_block(), counted = is_counted(work, how);
    if (counted) rank = any_name(rank, work / 2);
    model_has_place(work, counted);
    NOTE("csk_workqueue_submit(%d, %d)%s, rank %+" PRId64, queue, work, names[how], rank - model_rank(queue));
    int expected = model_enqueue(work, queue, rank, barrier, always ? ALWAYS_IN : BY_THE_BOUND, may_wait);
    if (expected == MODEL_WAITS && !may_wait) return;
    int status = enqueue_real(work, queue, how, counted, rank, deadline_ns, on_work);
    if (expected == MODEL_WAITS) expected = model_room_ended(status, how == UNTIL ? deadline_ns : CSK_NEVER);
    fuzz_expect_status("csk_workqueue_submit", status, expected);
}

static void enqueue(int queue) {
    int work = fuzz_below(WORKS), how = fuzz_byte();
    if (how == 255) {
        fuzz_expect_status("csk_workqueue_enqueue, no function",
                           csk_workqueue_enqueue(queues[queue], &works[work].work, NULL), EINVAL);
        return;
    }
    if (!model_is_idle(work)) return;
    repeats[work] = how >= 240 ? 140 : 0;
    how %= 6;
    csk_rank_t rank = how == RANKED || how == UNTIL || how == ALWAYS ? any_rank(queue) : 0;
    enqueue_how(work, queue, how, rank, how == UNTIL ? any_deadline() : CSK_NEVER);
}

/* The queue has more to do than a worker stays for. */
static void enqueue_again(int work) {
    repeats[work]--;
    if (model_exists(model_queue_of(work)))
        enqueue_how(work, model_queue_of(work), UNTIL, model_rank(model_queue_of(work)), INT64_MIN);
}

static void enqueue_when_room(int queue) {
    int work = fuzz_below(WORKS), wait = fuzz_below(WAITS), how = fuzz_below(4);
    if (!model_is_idle(work) || !model_is_wait_idle(wait)) return;
    bool barrier = how == 1;
    csk_rank_t rank = how == 2 ? any_rank(queue) : model_rank(queue);
    repeats[work] = 0;
    NOTE("csk_workqueue_submit_when_room(%d, %d), wait %d, rank %+" PRId64 "%s", queue, work, wait,
         rank - model_rank(queue), barrier ? ", barrier" : "");
    bool counted = work % 2 == 1 && !barrier;
    if (counted) rank = any_name(rank, work / 2);
    model_has_place(work, counted);
    int expected = model_enqueue_when_room(wait, work, queue, rank, barrier);
    uint32_t flags = counted ? CSK_WORK_COUNTED : barrier ? CSK_WORK_BARRIER : 0;
    int status = csk_workqueue_submit_when_room(queues[queue], rank, &works[work].work, flags, on_work, &waits[wait],
                                                on_wait, &repeats[wait]);
    fuzz_expect_status("csk_workqueue_submit_when_room", status, expected);
}

static void cancel(int work) {
    int queue = model_queue_of(work);
    if (!model_exists(queue)) return;
    NOTE("csk_workqueue_cancel(%d, %d)", queue, work);
    int expected = model_cancel(work, queue);
    fuzz_expect_status("csk_workqueue_cancel", csk_workqueue_cancel(queues[queue], &works[work].work), expected);
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

static void sync(int queue) {
    int how = fuzz_below(8), entry = FIRST_SYNC;
    bool always = how >= 4;
    how %= 4;
    bool barrier = how == 1;
    csk_rank_t rank = how == 2 ? any_rank(queue) : model_rank(queue);
    int64_t deadline_ns = any_deadline();
    while (entry < ENTRIES && !model_is_idle(entry)) entry++;
    rank = any_name(rank, entry);
    if (entry == ENTRIES || depths[fuzz_actor()] == DEEPEST) return;
    bool at_once = model_sync_is_at_once(queue, rank, barrier, always);
    if (at_once && how == 3) deadline_ns = CSK_NEVER;
    if (!at_once && fuzz_actor() == ACTOR_TIMER) return;
    NOTE("csk_workqueue_sync(%d)%s, the caller %d, rank %+" PRId64 "%s", queue, always ? ", always" : "", entry,
         rank - model_rank(queue), barrier ? ", barrier" : "");
    int expected = model_sync(entry, queue, rank, barrier, always, deadline_ns);
    uint32_t flags = (barrier ? CSK_WORK_BARRIER : 0) | (always ? CSK_WORK_OWN_TURN : 0);
    int status = csk_workqueue_sync(queues[queue], rank, flags, deadline_ns, on_turn, (void *)(intptr_t)entry);
    NOTE("csk_workqueue_sync of the caller %d: %d", entry, status);
    if (expected == MODEL_WAITS) expected = model_sync_ended(status);
    fuzz_expect_status("csk_workqueue_sync", status, expected);
}

static void drain(int queue) {
    int64_t deadline_ns = any_deadline();
    if (fuzz_actor() == ACTOR_TIMER) return;
    NOTE("csk_workqueue_drain(%d)", queue);
    int expected = model_drain(queue), status = csk_workqueue_drain(queues[queue], deadline_ns);
    if (expected == MODEL_WAITS) expected = model_drain_ended(status, deadline_ns);
    fuzz_expect_status("csk_workqueue_drain", status, expected);
}

static void drain_async(int queue) {
    int wait = fuzz_below(WAITS);
    if (!model_is_wait_idle(wait)) return;
    NOTE("csk_workqueue_drain_async(%d, %d)", queue, wait);
    model_drain_async(wait, queue);
    csk_workqueue_drain_async(queues[queue], &waits[wait], on_wait, &repeats[wait]);
}

/* On the queue that it was given to. */
static void give_up_wait(void) {
    int wait = fuzz_below(WAITS), queue = model_queue_of_wait(wait);
    if (!model_exists(queue)) return;
    bool drains = model_is_drain(wait);
    NOTE("csk_workqueue_%s_cancel(%d, %d)", drains ? "drain" : "room", queue, wait);
    int expected = (drains ? model_drain_cancel : model_room_cancel)(wait, queue);
    int status = (drains ? csk_workqueue_wait_cancel : csk_workqueue_wait_cancel)(queues[queue], &waits[wait]);
    fuzz_expect_status("csk_workqueue_wait_cancel or _room_cancel", status, expected);
}

/* ---- Delayed work ------------------------------------------------------------------------------------------------ */

/* Each in a phase of its own, so that it is known which comes first; only the first may begin before there was time,
 * which is phase 0. */
static int64_t any_start(int index, int64_t period_ns) {
    int when = fuzz_below(8);
    if (when == 0 && (period_ns == 0 || index == 0)) return 0;
    if (when == 7) return INT64_MIN / (period_ns == 0 || index == 0 ? 1 : -2);
    return fuzz_deadline(fuzz_tick() + when - 2, index);
}

static void start_delayed(int queue) {
    static const int64_t periods[] = { 0, 0, 0, 1000000, 2000000, 3000000, INT64_MAX / 2, -1 };
    int index = fuzz_below(DELAYED), how = fuzz_byte();
    int64_t period_ns = periods[how % 8], deadline_ns = any_start(index, period_ns);
    bool ranked = how / 8 % 2 == 1;
    csk_rank_t rank = ranked ? any_name(any_rank(queue), index) : model_rank(queue);
    NOTE("csk_delayed_start(%d, %d), %" PRId64 " ns, every %" PRId64 " ns", queue, FIRST_DELAYED + index, deadline_ns,
         period_ns);
    int expected = model_delayed_start(index, queue, rank, deadline_ns, period_ns);
    int status = ranked ? csk_delayed_start_ranked(&delayed_works[index], rank, queues[queue], deadline_ns, period_ns,
                                                   on_work)
                        : csk_delayed_start(&delayed_works[index], queues[queue], deadline_ns, period_ns, on_work);
    fuzz_expect_status("csk_delayed_start", status, expected);
}

static void cancel_delayed(int index) {
    NOTE("csk_delayed_cancel(%d)", FIRST_DELAYED + index);
    int expected = model_delayed_cancel(index), status = csk_delayed_cancel(&delayed_works[index]);
    if (expected == MODEL_WAITS) expected = model_delayed_cancel_ended(index);
    fuzz_expect_status("csk_delayed_cancel", status, expected);
}

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

static void make(int queue) {
    static const int32_t priorities[] = { 0, 1, -1, 1024, -1024, INT32_MAX, INT32_MIN, 0 };
    static const uint32_t limits[] = { 0, 1, 2, CSK_BYPASS_NEVER, 3, 0 };
    int shape = fuzz_byte(), bound = fuzz_byte();
    bool on_heap = bound / 12 % 4 == 3;
    csk_workqueue_attr_t attr = { .width = (uint32_t)shape % 4,
                                  .priority = priorities[shape / 4 % 8],
                                  .when_full = bound % 3,
                                  .capacity = (uint32_t)bound / 3 % 4,
                                  .bypass_limit = limits[bound / 48] };
    csk_workqueue_attr_t wide = { .width = CSK_WORKQUEUE_WIDTH_MAX + 1 },
                         odd = { .when_full = CSK_WORKQUEUE_DROP_OLDEST + 1, .capacity = 1 };
    if (shape >= 224) attr = (csk_workqueue_attr_t){ 0 };
    queues[queue] = &queues_in_place[queue];
    memset(queues[queue], 0x5A, sizeof *queues[queue]);
    NOTE("queue %d: width %u, capacity %u, when full %d, priority %d, bypass limit %u%s", queue, attr.width,
         attr.capacity, attr.when_full, attr.priority, attr.bypass_limit, on_heap ? ", on the heap" : "");
    fuzz_expect_status("csk_workqueue_init, too wide", csk_workqueue_init(queues[queue], &wide), EINVAL);
    fuzz_expect_status("csk_workqueue_create, unknown when full", csk_workqueue_create(&queues[queue], &odd), EINVAL);
    int expected = attr.when_full == CSK_WORKQUEUE_DROP_OLDEST && attr.capacity == 0 ? EINVAL : 0;
    int status = on_heap ? csk_workqueue_create(&queues[queue], &attr) : csk_workqueue_init(queues[queue], &attr);
    fuzz_expect_status("csk_workqueue_init", status, expected);
    if (expected != 0) {
        attr = (csk_workqueue_attr_t){ 0 };
        on_heap = false;
    }
    if (!on_heap && (attr.width | attr.capacity | attr.bypass_limit) == 0 && attr.priority == 0) {
        attr.when_full = 0;
        memset(queues[queue], 0, sizeof *queues[queue]);
    }
    model_make(queue, &attr, on_heap, &queues[queue]->item);
}

static void end_queue(int queue) {
    if (!model_is_on_heap(queue) && model_may_destroy(queue)) {
        NOTE("csk_workqueue_destroy(%d)", queue);
        int expected = model_destroy(queue);
        fuzz_expect_status("csk_workqueue_destroy", csk_workqueue_destroy(queues[queue]), expected);
        if (expected == 0) make(queue);
    } else if (model_is_on_heap(queue) && model_is_owned(queue) && model_may_release(queue)) {
        NOTE("csk_workqueue_release(%d)", queue);
        model_release(queue);
        csk_workqueue_release(queues[queue]);
    }
}

static void retain(int queue) {
    if (!model_is_on_heap(queue)) return;
    NOTE("csk_workqueue_retain(%d)", queue);
    model_retain(queue);
    csk_workqueue_retain(queues[queue]);
}

static void unretain(int queue) {
    if (!model_may_unretain(queue)) return;
    NOTE("csk_workqueue_unretain(%d)", queue);
    model_unretain(queue);
    csk_workqueue_unretain(queues[queue]);
}

static void suspend(int queue) {
    NOTE("csk_workqueue_suspend(%d)", queue);
    model_suspend(queue);
    fuzz_expect_status("csk_workqueue_suspend", csk_workqueue_suspend(queues[queue]), 0);
}

static void resume(int queue) {
    NOTE("csk_workqueue_resume(%d)", queue);
    int expected = model_resume(queue);
    fuzz_expect_status("csk_workqueue_resume", csk_workqueue_resume(queues[queue]), expected);
}

static void shut_down(int queue) {
    bool cancels = fuzz_below(2) == 1;
    NOTE("csk_workqueue_shutdown(%d, %d)", queue, cancels);
    model_shutdown(queue, cancels);
    csk_workqueue_shutdown(queues[queue], cancels);
}

/* ---- The calls --------------------------------------------------------------------------------------------------- */

static void compare(void) {
    for (int queue = 0; queue < QUEUES; queue++) {
        if (!model_exists(queue)) continue;
        fuzz_expect("csk_workqueue_is_current", csk_workqueue_is_current(queues[queue]), model_is_current(queue));
        fuzz_expect("csk_workqueue_running", csk_workqueue_running(queues[queue]), model_running(queue));
        if (model_needs_worker(queue) && !fuzz_pool_has(&queues[queue]->item))
            fuzz_fail("work of queue %d may begin, and no worker is asked for", queue);
    }
}

static void call(void *context) {
    (void)context;
    make_call();
}

static void let_stranger_go_on(void) {
    NOTE("%s", "the other thread goes on");
    if (fuzz_is_paused(ACTOR_STRANGER)) fuzz_go_on(ACTOR_STRANGER);
    else fuzz_call_on(ACTOR_STRANGER, call, NULL);
}

static void other_thread(void) {
    if (fuzz_actor() == ACTOR_STRANGER) {
        if (!model_may_pause()) return;
        NOTE("%s", "pauses");
        fuzz_pause();
    } else if (fuzz_actor() == ACTOR_MAIN) {
        let_stranger_go_on();
    }
}

static void advance(void) {
    int ticks = fuzz_below(4);
    if (fuzz_actor() == ACTOR_TIMER) return;
    NOTE("%d ticks pass", ticks);
    fuzz_advance(ticks);
}

static void compare_counts(int queue) {
    fuzz_expect("csk_workqueue_waiting", csk_workqueue_waiting(queues[queue]), model_waiting(queue));
    fuzz_expect("csk_workqueue_beyond_bound", csk_workqueue_beyond_bound(queues[queue]), model_beyond_bound(queue));
}

static void call_queue(int queue, int byte) {
    switch (byte % 32) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
    case 6: enqueue(queue); break;
    case 9: suspend(queue); break;
    case 10:
    case 11: resume(queue); break;
    case 12: shut_down(queue); break;
    case 13:
    case 14: sync(queue); break;
    case 15:
    case 16: drain_async(queue); break;
    case 18: drain(queue); break;
    case 19:
    case 20: start_delayed(queue); break;
    case 27: end_queue(queue); break;
    case 28: compare_counts(queue); break;
    case 29:
        if (byte < 128) enqueue_when_room(queue);
        else if (byte < 192) retain(queue);
        else unretain(queue);
        break;
    }
}

static void make_call(void) {
    int byte = fuzz_byte(), queue = byte / 32 % QUEUES;
    if (model_is_gone(queue)) make(queue);
    switch (byte % 32) {
    case 7:
    case 8: cancel(fuzz_below(WORKS)); break;
    case 17: give_up_wait(); break;
    case 21: cancel_delayed(fuzz_below(DELAYED)); break;
    case 22:
    case 23: advance(); break;
    case 24:
    case 25:
    case 26: let_worker_come(); break;
    case 30:
    case 31: other_thread(); break;
    default:
        if (model_exists(queue)) call_queue(queue, byte);
    }
    compare();
}

/* ---- The end: all that waits runs, and nothing is left ----------------------------------------------------------- */

static void end(void) {
    for (int index = 0; index < DELAYED; index++) cancel_delayed(index);
    for (int rounds = 0; fuzz_is_paused(ACTOR_STRANGER) || fuzz_pool_count() != 0 || !model_is_quiet(); rounds++) {
        if (rounds == 200) fuzz_fail("something waits for ever");
        for (int queue = 0; queue < QUEUES; queue++)
            while (model_exists(queue) && model_is_suspended(queue)) resume(queue);
        while (fuzz_pool_count() != 0) let_worker_come();
        if (fuzz_is_paused(ACTOR_STRANGER)) let_stranger_go_on();
        fuzz_advance(1);
        compare();
        model_expect_none_due();
    }
    for (int index = 0; index < DELAYED; index++) cancel_delayed(index);
    for (int wait = 0; wait < WAITS; wait++)
        fuzz_expect("a drain that is over was told", model_is_wait_idle(wait), true);
    for (int queue = 0; queue < QUEUES; queue++) {
        while (model_may_unretain(queue)) unretain(queue);
        if (!model_is_owned(queue)) continue;
        if (model_is_on_heap(queue)) csk_workqueue_release(queues[queue]);
        else fuzz_expect_status("csk_workqueue_destroy at the end", csk_workqueue_destroy(queues[queue]), 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_begin(data, size);
    fuzz_after_timers(model_timers_ran);
    fuzz_let_strangers_pause(true);
    fuzz_when_pool_is_asked(on_question, model_worker_asks_between);
    fuzz_pool_empty();
    model_begin();
    memset(works, 0, sizeof works);
    memset(delayed_works, 0, sizeof delayed_works);
    memset(repeats, 0, sizeof repeats);
    memset(depths, 0, sizeof depths);
    for (int queue = 0; queue < QUEUES; queue++) make(queue);
    while (!fuzz_at_end()) {
        make_call();
        model_expect_none_due();
    }
    end();
    return 0;
}
