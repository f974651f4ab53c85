/* cond_model.c: see cond_model.h.
 *
 * More than 400 lines: it is one state, which each call changes. */
#include "cond_model.h"

enum phase { FREE, LOCKS, LOCKS_WHEN, AWAITS, STANDS_IN_COND, RETAKES };

typedef struct {
    csk_rank_t rank;
    int64_t ticket;
    bool queued; /* in the gate's queue */
    bool listed; /* among those that wait for predicates */
    bool chosen; /* and on its way to the gate */
    bool due;    /* its function is */
    int predicate;
    /* A thread. */
    enum phase phase;
    int cond;
    int64_t end_tick;
    bool granted, unlocks; /* unlocks: where its predicate was not true in time */
    int status;
} one_t;

bool cells[CELLS], over;

static struct {
    int holder;
    bool closed;
    int64_t tickets, cond_tickets[CONDS];
    one_t of[EVERYBODY];
    due_t due[64], watch; /* watch: the condition whose function is called in the call itself */
    int due_count, in_watch;
    place_t places[ACTORS];
} model;

static const csk_rank_t closer_rank = (csk_rank_t)INT32_MIN * 4 - 1;

void model_make(void) {
    memset(&model, 0, sizeof model);
    memset(cells, 0, sizeof cells);
    over = false;
    model.holder = HOLDER_NONE;
    model.watch.who = -1;
}

bool model_is_true(int predicate) { return over || cells[predicate / 2] == (predicate % 2 == 0); }

/* ---- The order --------------------------------------------------------------------------------------------------- */

static bool is_rank(csk_rank_t rank) {
    return rank >= (csk_rank_t)INT32_MIN * 4 && rank <= (csk_rank_t)INT32_MAX * 4 + 3;
}
/* Nobody is under a limit here: one that nobody named is ordered as others of its class. */
static csk_rank_t in_order(csk_rank_t rank) { return rank != closer_rank && (rank & 3) == 3 ? rank - 2 : rank; }
static bool is_front(csk_rank_t rank) { return rank != closer_rank && (rank & 3) == CSK_PLACE_FRONT; }
static int64_t next_ticket(int64_t *tickets, csk_rank_t rank) {
    int64_t ticket = ++*tickets;
    return is_front(rank) ? -ticket : ticket;
}

static bool before(int a, int b) {
    const one_t *first = &model.of[a], *second = &model.of[b];
    return first->rank != second->rank ? first->rank > second->rank : first->ticket < second->ticket;
}

static bool is_queued(int who) { return model.of[who].queued; }
static bool is_listed(int who) { return model.of[who].listed; }
static bool is_in_cond(int who, int cond) {
    return model.of[who].phase == STANDS_IN_COND && model.of[who].cond == cond;
}
static bool is_in_first(int who) { return is_in_cond(who, 0); }
static bool is_in_second(int who) { return is_in_cond(who, 1); }

/* The first of those, behind `behind` where that is not -1; -1: there is none. */
static int first_of(bool (*is_one)(int who), int behind) {
    int first = -1;
    for (int who = 0; who < EVERYBODY; who++)
        if (is_one(who) && (behind < 0 || before(behind, who)) && (first < 0 || before(who, first))) first = who;
    return first;
}

/* ---- Entering and leaving ---------------------------------------------------------------------------------------- */

static void make_due(int who, int status) {
    if (model.due_count == 64) fuzz_fail("the model has no room for functions that are due");
    model.of[who].due = true;
    model.due[model.due_count++] = (due_t){ .who = who, .status = status };
}

/* A free gate goes to the first that waits for it. */
static void settle(void) {
    int first = first_of(is_queued, -1);
    if (model.holder != HOLDER_NONE || first < 0) return;
    model.of[first].queued = false;
    model.holder = first < ACTORS ? first : HOLDER_NOBODY;
    if (first < ACTORS) model.of[first].granted = true;
    else make_due(first, 0);
}

static void queue(int who, csk_rank_t rank) {
    rank = in_order(rank);
    model.of[who].rank = rank;
    place_t *place = &model.places[fuzz_actor()];
    model.of[who].ticket = next_ticket(&model.tickets, rank);
    if (who >= ACTORS && place->free && place->rank == rank) model.of[who].ticket = place->ticket, place->free = false;
    model.of[who].queued = true;
    settle();
}

/* It keeps its rank, and the ticket of its arrival. */
static void choose(int who) {
    model.of[who].chosen = true;
    model.of[who].queued = true;
}

static void call_watch(int who, int status) {
    model.of[who].listed = false;
    model.watch = (due_t){ .who = who, .status = status };
}

static void finish_leaving(void) {
    model.holder = HOLDER_NONE;
    settle();
}

/* The holder asks the predicates in order, up to one that is true or was chosen before. Where that has a function it
 * leaves after that. */
static void leave(void) {
    int who = first_of(is_listed, -1);
    while (who >= 0 && !model.of[who].chosen && !model_is_true(model.of[who].predicate)) who = first_of(is_listed, who);
    if (who >= 0 && !model.of[who].chosen) {
        if (who < FIRST_WATCH) choose(who);
        else {
            call_watch(who, 0);
            model.watch.leaves = true;
            return;
        }
    }
    finish_leaving();
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static one_t *self(void) { return &model.of[fuzz_actor()]; }
static bool has_passed(const one_t *one) { return one->end_tick <= fuzz_tick(); }

static int end_wait(one_t *one, int status) {
    one->phase = FREE;
    one->status = status;
    one->granted = one->listed = one->chosen = false;
    return status;
}

static void begin_wait(enum phase phase, csk_rank_t rank, int ticks) {
    one_t *one = self();
    *one = (one_t){ .phase = phase,
                    .rank = in_order(rank),
                    .end_tick = ticks == FOR_EVER ? INT64_MAX : fuzz_tick() + ticks };
}

int model_trylock(void) {
    if (model.holder != HOLDER_NONE) return EBUSY;
    if (model.closed) return ESHUTDOWN;
    model.holder = fuzz_actor();
    return 0;
}

/* Comes for the gate. */
static int lock(enum phase phase, csk_rank_t rank, int ticks) {
    if (model.holder == fuzz_actor()) return EDEADLK;
    if (model.closed || model.holder == HOLDER_NONE) return model.closed ? ESHUTDOWN : model_trylock();
    if (ticks <= 0) return ETIMEDOUT;
    begin_wait(phase, rank, ticks);
    queue(fuzz_actor(), rank);
    return MODEL_BLOCKS;
}

int model_lock(csk_rank_t rank, int ticks) { return lock(LOCKS, rank, ticks); }

/* The thread holds the gate, and has begun its wait. */
static int await(int actor, int predicate) {
    one_t *one = &model.of[actor];
    bool is_true = model_is_true(predicate);
    if (is_true || has_passed(one) || model.closed)
        return end_wait(one, is_true ? 0 : has_passed(one) ? ETIMEDOUT : ESHUTDOWN);
    one->phase = AWAITS;
    one->granted = one->chosen = false;
    one->listed = true;
    one->predicate = predicate;
    one->ticket = next_ticket(&model.tickets, one->rank);
    leave();
    return MODEL_BLOCKS;
}

/* The same, and leaves the gate where the predicate is not true. */
static int await_or_leave(int actor, int predicate) {
    model.of[actor].unlocks = true;
    int status = await(actor, predicate);
    if (status > 0) leave();
    return status;
}

int model_await(int predicate, csk_rank_t rank, int ticks) {
    if (!is_rank(rank)) return EINVAL;
    if (model.holder != fuzz_actor()) return EPERM;
    begin_wait(AWAITS, rank, ticks);
    return await(fuzz_actor(), predicate);
}

int model_lock_when(int predicate, csk_rank_t rank, int ticks) {
    if (!is_rank(rank)) return EINVAL;
    int status = lock(LOCKS_WHEN, rank, ticks);
    if (status == 0) begin_wait(LOCKS_WHEN, rank, ticks);
    else if (status != MODEL_BLOCKS) return status;
    self()->predicate = predicate;
    return status == 0 ? await_or_leave(fuzz_actor(), predicate) : status;
}

int model_cond_wait(int cond, csk_rank_t rank, int ticks) {
    if (!is_rank(rank) || in_order(rank) != rank) return EINVAL;
    if (model.holder != fuzz_actor()) return EPERM;
    begin_wait(STANDS_IN_COND, rank, ticks);
    self()->cond = cond;
    self()->ticket = next_ticket(&model.cond_tickets[cond], rank);
    if (model.closed) end_wait(self(), ESHUTDOWN);
    leave();
    return MODEL_BLOCKS;
}

int model_wait_ended(void) {
    model_goes_on(fuzz_actor());
    if (self()->phase != FREE) fuzz_fail("a thread stopped waiting without a reason");
    return self()->status;
}

int model_unlock(void) {
    if (model.holder != fuzz_actor() && model.holder != HOLDER_NOBODY) return EPERM;
    model.holder = fuzz_actor(); /* what was nobody's in particular is the leaver's, as long as it asks */
    leave();
    return 0;
}

/* Those that were signalled keep their order. */
void model_move(int cond, int most) {
    int moved = 0, count = (int)model_cond_waiting(cond);
    int64_t first = model.tickets;
    if (count > most) count = most;
    model.tickets += count;
    for (; moved < count; moved++) {
        one_t *one = &model.of[first_of(cond == 0 ? is_in_first : is_in_second, -1)];
        one->ticket = is_front(one->rank) ? -(first + count - moved) : first + 1 + moved;
        one->phase = RETAKES;
        one->status = 0;
        one->queued = true;
    }
    settle();
}

/* ---- Threads that go on ------------------------------------------------------------------------------------------ */

static bool is_late(const one_t *one) {
    bool waits = one->phase != FREE && one->phase != RETAKES && !(one->phase == AWAITS && one->chosen);
    return waits && !one->granted && has_passed(one);
}

bool model_waits(int actor) { return model.of[actor].phase != FREE; }

int model_who_goes_on(void) {
    for (int actor = 0; actor < ACTORS; actor++)
        if (model.of[actor].granted) return actor;
    for (int actor = 0; actor < ACTORS; actor++)
        if (is_late(&model.of[actor])) return actor;
    return -1;
}

static void give_up(int actor) {
    one_t *one = &model.of[actor];
    if (one->phase == AWAITS) {
        choose(actor);
        settle();
    } else if (one->phase == STANDS_IN_COND) {
        one->phase = RETAKES;
        one->status = ETIMEDOUT;
        queue(actor, one->rank);
    } else {
        one->queued = false;
        end_wait(one, ETIMEDOUT);
    }
}

static void has_entered(int actor) {
    one_t *one = &model.of[actor];
    one->granted = false;
    if (one->phase == LOCKS) end_wait(one, 0);
    else if (one->phase == RETAKES) end_wait(one, one->status);
    else if (one->phase == LOCKS_WHEN) await_or_leave(actor, one->predicate);
    else if (model_is_true(one->predicate)) end_wait(one, 0);
    else if (has_passed(one)) {
        bool unlocks = one->unlocks;
        end_wait(one, ETIMEDOUT);
        if (unlocks) leave();
    } else {
        one->chosen = false;
        leave();
    }
}

void model_goes_on(int actor) {
    one_t *one = &model.of[actor];
    if (is_late(one)) give_up(actor);
    if (one->granted) has_entered(actor);
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */

int model_lock_async(int who, csk_rank_t rank) {
    one_t *one = &model.of[who];
    if (rank != closer_rank && !is_rank(rank)) return EINVAL;
    if (model.closed) return ESHUTDOWN;
    if (one->queued || one->due || (rank == closer_rank && first_of(is_listed, -1) >= 0)) return EBUSY;
    model.closed = rank == closer_rank;
    queue(who, rank);
    return 0;
}

/* Threads that stand in a condition variable must be signalled first. */
bool model_close_is_illegal(void) { return model_cond_waiting(0) + model_cond_waiting(1) != 0; }
int model_close(void) { return model_lock_async(CLOSER, closer_rank); }

int model_cancel(int who) {
    if (!model.of[who].queued || who == CLOSER) return ENOENT;
    model.of[who].queued = false;
    make_due(who, ECANCELED);
    return 0;
}

int model_watch(int who, int predicate, csk_rank_t rank) {
    one_t *one = &model.of[who];
    if (!is_rank(rank)) return EINVAL;
    if (model.holder != fuzz_actor() && model.holder != HOLDER_NOBODY) return EPERM;
    if (model.closed) return ESHUTDOWN;
    if (one->listed) return EBUSY;
    *one = (one_t){ .listed = true, .predicate = predicate, .rank = in_order(rank) };
    one->ticket = next_ticket(&model.tickets, rank);
    return 0;
}

int model_unwatch(int who) {
    if (!model.of[who].listed) return ENOENT;
    call_watch(who, ECANCELED);
    return 0;
}

due_t model_next_due(void) {
    due_t due = { .who = -1 };
    if (model.watch.who >= 0) {
        due = model.watch;
        model.watch.who = -1, model.in_watch++;
        due.outer = model.places[fuzz_actor()];
        model.places[fuzz_actor()] = (place_t){ true, model.of[due.who].rank, model.of[due.who].ticket };
    } else if (model.due_count > 0) {
        due = model.due[0];
        model.due_count--;
        memmove(&model.due[0], &model.due[1], sizeof model.due[0] * (size_t)model.due_count);
        model.of[due.who].due = false;
    }
    return due;
}

void model_function_ended(due_t due) {
    if (due.who >= FIRST_WATCH) model.in_watch--, model.places[fuzz_actor()] = due.outer;
    if (due.leaves) finish_leaving();
}

bool model_is_in_watch(void) { return model.in_watch != 0; }
bool model_may_change(void) {
    return !model_is_in_watch() && (model.holder == fuzz_actor() || model.holder == HOLDER_NOBODY);
}

void model_expect_none_due(void) {
    fuzz_expect("functions that were not called", model.due_count + (model.watch.who >= 0), 0);
}

/* ---- What it says of itself -------------------------------------------------------------------------------------- */

int model_destroy(void) {
    bool closed_for_good = model.closed && model.holder == HOLDER_NOBODY;
    bool waits = first_of(is_queued, -1) >= 0 || first_of(is_listed, -1) >= 0;
    return waits || (model.holder != HOLDER_NONE && !closed_for_good) ? EBUSY : 0;
}

int model_holder(void) { return model.holder; }
bool model_is_closed(void) { return model.closed; }

uint32_t model_waiting(void) {
    uint32_t count = 0;
    for (int who = 0; who < EVERYBODY; who++) {
        const one_t *one = &model.of[who];
        count += one->queued || (one->listed && !one->chosen);
    }
    return count;
}

uint32_t model_cond_waiting(int cond) {
    uint32_t count = 0;
    for (int who = 0; who < ACTORS; who++) count += is_in_cond(who, cond);
    return count;
}
