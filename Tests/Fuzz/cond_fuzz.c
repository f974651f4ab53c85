/* cond_fuzz.c: a gate with two condition variables and six predicates, four threads that wait there, asynchronous
 * waiters, and conditions that have functions, against cond_model.c.
 *
 * The gate is STRICT, so that a free gate goes to who is first; gate_fuzz.c has the other policies. A thread that waits
 * stops where it would sleep. After each call, and each tick, those that can go on do so, one at a time. */
#include "cond_model.h"

static csk_gate_t gate;
static csk_cond_t conds[CONDS];
static csk_waiter_t waiters[WAITERS + 1]; /* the last one closes */
static csk_gate_condition_t watches[WATCHES];

static bool is_set(void *cell) { return over || *(bool *)cell; }
static bool is_clear(void *cell) { return over || !*(bool *)cell; }
static csk_gate_predicate_t function_of(int predicate) { return predicate % 2 == 0 ? is_set : is_clear; }

static void note(const char *call, int64_t a, int64_t b) {
    fuzz_note("%" PRId64 "/%d: %s(%" PRId64 ", %" PRId64 ")", fuzz_tick(), fuzz_actor(), call, a, b);
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */

static void make_call(bool nested);

static void on_due(int who, void *context, int status) {
    note("a function is called", who, status);
    due_t due = model_next_due();
    fuzz_expect("whose function is called", who, due.who);
    fuzz_expect_status("what a function is called with", status, due.status);
    fuzz_expect("the context", (int64_t)(intptr_t)context, who);
    for (int calls = fuzz_below(4); calls > 0; calls--) make_call(true);
    model_function_ended(due);
}
static void on_turn(csk_waiter_t *waiter, void *context, int status) {
    on_due(FIRST_WAITER + (int)(waiter - waiters), context, status);
}
static void on_condition(csk_gate_condition_t *condition, void *context, int status) {
    on_due(FIRST_WATCH + (int)(condition - watches), context, status);
}

/* ---- Calls of threads that wait ---------------------------------------------------------------------------------- */

/* Equal ones are common. */
static csk_rank_t rank_that_exists(void) {
    static const int32_t priorities[] = { 0, 0, 0, 1, 0, 0, INT32_MIN, INT32_MAX };
    static const int places[] = { CSK_PLACE_BACK, CSK_PLACE_BACK, CSK_PLACE_FRONT, CSK_PLACE_LAST };
    int byte = fuzz_byte();
    return csk_rank(priorities[byte % 8], places[byte / 8 % 4]);
}
static csk_rank_t any_rank(void) {
    static const csk_rank_t odd[] = { INT64_MAX, INT64_MIN, 3 };
    int which = fuzz_below(64);
    return which >= 61 ? odd[which - 61] : rank_that_exists();
}

/* Only strangers may wait, and nobody in a function. */
static bool may_wait(bool nested) { return !nested && fuzz_actor() != ACTOR_MAIN; }
static int any_ticks(bool nested) {
    int ticks = fuzz_below(8) - 1;
    return !may_wait(nested) ? -1 : ticks == 6 ? FOR_EVER : ticks;
}
static int64_t deadline(int ticks) {
    return ticks == FOR_EVER ? CSK_NEVER : fuzz_deadline(fuzz_tick() + ticks, fuzz_actor());
}

static void expect(const char *call, int status, int expected) {
    if (expected == MODEL_BLOCKS) expected = model_wait_ended();
    fuzz_expect_status(call, status, expected);
}

/* A function may run on a thread that waits, which comes for the gate after it: it begins no other wait there, and
 * takes no gate that it would keep. */
static bool is_out_of_place(bool nested) {
    return nested && (model_holder() == HOLDER_NONE || model_waits(fuzz_actor()));
}

static void lock(bool nested) {
    int ticks = any_ticks(nested);
    csk_rank_t rank = rank_that_exists();
    if (is_out_of_place(nested)) return;
    note("csk_gate_lock_ranked", ticks, rank);
    int expected = model_lock(rank, ticks);
    expect("csk_gate_lock_ranked", csk_gate_lock_ranked(&gate, rank, deadline(ticks)), expected);
}

static void lock_when(bool nested) {
    int ticks = any_ticks(nested), predicate = fuzz_below(2 * CELLS);
    csk_rank_t rank = any_rank();
    if (is_out_of_place(nested)) return;
    note("csk_gate_lock_when_ranked", predicate, ticks);
    int expected = model_lock_when(predicate, rank, ticks);
    expect("csk_gate_lock_when_ranked",
           csk_gate_lock_when_ranked(&gate, rank, function_of(predicate), &cells[predicate / 2], deadline(ticks)),
           expected);
}

static void await(bool nested) {
    int ticks = any_ticks(nested), predicate = fuzz_below(2 * CELLS);
    csk_rank_t rank = any_rank();
    if (is_out_of_place(nested)) return;
    note("csk_gate_await_ranked", predicate, ticks);
    int expected = model_await(predicate, rank, ticks);
    expect("csk_gate_await_ranked",
           csk_gate_await_ranked(&gate, rank, function_of(predicate), &cells[predicate / 2], deadline(ticks)),
           expected);
}

/* The gate is left even where the deadline has passed. */
static void cond_wait(bool nested) {
    int ticks = any_ticks(nested), cond = fuzz_below(CONDS);
    csk_rank_t rank = any_rank();
    if (!may_wait(nested) && model_holder() == fuzz_actor()) return;
    note("csk_cond_wait_ranked", cond, ticks);
    int expected = model_cond_wait(cond, rank, ticks);
    expect("csk_cond_wait_ranked", csk_cond_wait_ranked(&conds[cond], rank, deadline(ticks)), expected);
}

/* ---- Calls that don't wait --------------------------------------------------------------------------------------- */

static void try_lock(bool nested) {
    if (is_out_of_place(nested)) return;
    note("csk_gate_trylock", 0, 0);
    int expected = model_trylock();
    fuzz_expect_status("csk_gate_trylock", csk_gate_trylock(&gate, 0), expected);
}

static void unlock(void) {
    if (model_is_in_watch()) return;
    note("csk_gate_unlock", 0, 0);
    int expected = model_unlock();
    fuzz_expect_status("csk_gate_unlock", csk_gate_unlock(&gate), expected);
}

static void change(void) {
    int cell = fuzz_below(CELLS);
    if (!model_may_change()) return;
    note("a cell changes", cell, !cells[cell]);
    cells[cell] = !cells[cell];
}

static void signal_cond(void) {
    int cond = fuzz_below(CONDS), all = fuzz_below(2);
    note(all ? "csk_cond_broadcast" : "csk_cond_signal", cond, 0);
    model_move(cond, all ? EVERYBODY : 1);
    fuzz_expect_status("a signal", all ? csk_cond_broadcast(&conds[cond]) : csk_cond_signal(&conds[cond]), 0);
}

static void lock_async(void) {
    int index = fuzz_below(WAITERS), who = FIRST_WAITER + index;
    csk_rank_t rank = rank_that_exists();
    note("csk_gate_lock_async_ranked", who, rank);
    int expected = model_lock_async(who, rank);
    fuzz_expect_status("csk_gate_lock_async_ranked",
                       csk_gate_lock_async_ranked(&gate, rank, &waiters[index], false, CSK_NEVER, on_turn,
                                                  (void *)(intptr_t)who),
                       expected);
}

static void cancel(void) {
    int index = fuzz_below(WAITERS);
    note("csk_gate_cancel", FIRST_WAITER + index, 0);
    int expected = model_cancel(FIRST_WAITER + index);
    fuzz_expect_status("csk_gate_cancel", csk_gate_cancel(&gate, &waiters[index]), expected);
}

/* A condition that begins to wait must be false. */
static void watch(void) {
    int index = fuzz_below(WATCHES), who = FIRST_WATCH + index, predicate = fuzz_below(2 * CELLS);
    csk_rank_t rank = any_rank();
    if (model_is_true(predicate)) predicate ^= 1;
    if (over) return;
    note("csk_gate_watch", who, predicate);
    int expected = model_watch(who, predicate, rank);
    fuzz_expect_status("csk_gate_watch",
                       csk_gate_watch(&gate, rank, &watches[index], function_of(predicate), &cells[predicate / 2],
                                      on_condition, (void *)(intptr_t)who),
                       expected);
}

static void unwatch(int index) {
    note("csk_gate_unwatch", FIRST_WATCH + index, 0);
    int expected = model_unwatch(FIRST_WATCH + index);
    fuzz_expect_status("csk_gate_unwatch", csk_gate_unwatch(&gate, &watches[index]), expected);
}

static void close_gate(void) {
    if (fuzz_below(2) == 0 || model_close_is_illegal()) return;
    note("csk_gate_close", 0, 0);
    int expected = model_close();
    fuzz_expect_status("csk_gate_close", csk_gate_close(&gate, &waiters[WAITERS], on_turn, (void *)(intptr_t)CLOSER),
                       expected);
}

static void make(void) {
    static const csk_gate_attr_t strict = { .policy = CSK_GATE_STRICT, .bypass_limit = CSK_BYPASS_NEVER };
    memset(waiters, 0, sizeof waiters);
    memset(watches, 0, sizeof watches);
    fuzz_expect_status("csk_gate_init", csk_gate_init(&gate, &strict), 0);
    fuzz_expect_status("csk_cond_init", csk_cond_init(&conds[0], NULL), EINVAL);
    for (int cond = 0; cond < CONDS; cond++) fuzz_expect_status("csk_cond_init", csk_cond_init(&conds[cond], &gate), 0);
    model_make();
}

static void destroy(bool nested) {
    note("csk_gate_destroy", 0, 0);
    int status = csk_gate_destroy(&gate);
    fuzz_expect_status("csk_gate_destroy", status, model_destroy());
    if (status == 0 && !nested && !model_close_is_illegal()) make();
}

static void look(void) {
    fuzz_expect("csk_gate_waiting", csk_gate_waiting(&gate), model_waiting());
    fuzz_expect("csk_gate_is_mine", csk_gate_is_mine(&gate), model_holder() == fuzz_actor());
    for (int cond = 0; cond < CONDS; cond++) {
        uint32_t waiting = model_cond_waiting(cond);
        fuzz_expect("csk_cond_waiting", csk_cond_waiting(&conds[cond]), waiting);
        fuzz_expect_status("csk_cond_destroy", csk_cond_destroy(&conds[cond]), waiting != 0 ? EBUSY : 0);
    }
}

static void make_call(bool nested) {
    switch (fuzz_below(16)) {
    case 0: unlock(); break;
    case 1: try_lock(nested); break;
    case 2: lock(nested); break;
    case 3: lock_when(nested); break;
    case 4: await(nested); break;
    case 5:
    case 6: cond_wait(nested); break;
    case 7: change(); break;
    case 8: signal_cond(); break;
    case 9: lock_async(); break;
    case 10: cancel(); break;
    case 11: watch(); break;
    case 12: unwatch(fuzz_below(WATCHES)); break;
    case 13: close_gate(); break;
    case 14: destroy(nested); break;
    case 15: unlock(); break;
    }
    look();
}

static void call(void *context) {
    (void)context;
    make_call(false);
}

/* ---- Threads that go on ------------------------------------------------------------------------------------------ */

static void expect_paused(int actor) {
    if (fuzz_is_paused(actor) != model_waits(actor))
        fuzz_fail("thread %d %s", actor, model_waits(actor) ? "has not waited" : "waits still");
}

/* Those that stay where they are do so after a spurious wake too. */
static void let_all_go_on(void) {
    for (int actor; (actor = model_who_goes_on()) >= 0;) {
        fuzz_note("%" PRId64 ": thread %d goes on", fuzz_tick(), actor);
        if (!fuzz_is_paused(actor)) fuzz_fail("thread %d has not waited", actor);
        model_goes_on(actor);
        fuzz_go_on(actor);
        if (fuzz_is_paused(actor)) model_goes_on(actor);
        expect_paused(actor);
    }
    for (int actor = ACTOR_STRANGER; actor < ACTOR_STRANGER + STRANGERS; actor++) {
        fuzz_rewind();
        if (fuzz_is_paused(actor)) fuzz_go_on(actor);
        expect_paused(actor);
    }
    model_expect_none_due();
    look();
}

/* A thread whose deadline passed while it was coming has gone on by itself. */
static void call_on(int actor, void (*function)(void *)) {
    if (actor != ACTOR_MAIN && fuzz_is_paused(actor)) actor = ACTOR_MAIN;
    fuzz_call_on(actor, function, NULL);
    if (actor != ACTOR_MAIN && fuzz_is_paused(actor)) model_goes_on(actor);
    let_all_go_on();
}

/* ---- The end: all predicates are true, and everybody leaves ------------------------------------------------------ */

static void unlock_here(void *context) {
    (void)context;
    unlock();
}

static void leave_or_signal(void *context) {
    (void)context;
    if (model_holder() == HOLDER_NOBODY) over = true;
    if (model_holder() == HOLDER_NOBODY) unlock();
    else try_lock(false);
    if (model_holder() == ACTOR_MAIN) over = true;
    for (int cond = 0; cond < CONDS; cond++) {
        model_move(cond, EVERYBODY);
        fuzz_expect_status("csk_cond_broadcast", csk_cond_broadcast(&conds[cond]), 0);
    }
}

static void end(void) {
    for (int index = 0; index < WATCHES; index++) unwatch(index);
    for (int rounds = 0; rounds < 64 && !(model_holder() == HOLDER_NONE && model_destroy() == 0 && over); rounds++) {
        bool is_thread = model_holder() >= 0;
        if (model_is_closed() && model_destroy() == 0) break;
        call_on(is_thread ? model_holder() : ACTOR_MAIN, is_thread ? unlock_here : leave_or_signal);
    }
    for (int actor = ACTOR_STRANGER; actor < ACTOR_STRANGER + STRANGERS; actor++)
        if (model_waits(actor)) fuzz_fail("thread %d waits at the end", actor);
    fuzz_expect_status("csk_gate_destroy at the end", csk_gate_destroy(&gate), 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_begin(data, size);
    fuzz_after_timers(NULL);
    fuzz_let_strangers_pause(true);
    make();
    while (!fuzz_at_end()) {
        int actor = fuzz_below(8);
        if (actor == 7) {
            fuzz_note("%" PRId64 ": a tick passes", fuzz_tick());
            fuzz_advance(1);
            let_all_go_on();
        } else if (actor <= STRANGERS) call_on(actor, call);
        else call_on(model_holder() >= 0 ? model_holder() : ACTOR_MAIN, call);
    }
    end();
    return 0;
}
