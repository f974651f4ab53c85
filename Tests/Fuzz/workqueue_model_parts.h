/* workqueue_model_parts.h: what the parts of the model share: what is known of queues, entries and threads, and what
 * happens to them.
 *
 * workqueue_model.c       queues, their order, and what is over
 * workqueue_model_calls.c what callers ask for
 * workqueue_model_runs.c  workers, functions, ends */
#ifndef CSK_WORKQUEUE_MODEL_PARTS_H
#define CSK_WORKQUEUE_MODEL_PARTS_H

#include "workqueue_model.h"

/* TAKEN: by a worker, which will call it; GRANTED: by a worker, for the caller that waits; TOLD: with ECANCELED, one
 * after the other; DUE: a delayed work whose function is called without a turn; RAN, REFUSED, GAVE_UP: how a caller's
 * wait ended. */
enum { IDLE, IN_LINE, WAITING, TAKEN, GRANTED, TOLD, DUE, RAN, REFUSED, GAVE_UP };
enum { STOPPED, WAITS_FOR_TIME, QUEUED, RUNS, LAST, CANCELLED, CANCELLED_TWICE };

enum { FRAMES = 64, LIVES = 128, QUANTUM = 128 };
/* What a thread is in the middle of. */
enum { SERVES, SECTION, TELLS, CALLED, CALLED_INSIDE, WAIT_TOLD, WAITS_FOR_TURN, WAITS_FOR_ROOM, WAITS_FOR_DRAIN };

typedef struct {
    int state, queue;
    csk_rank_t rank;
    int64_t arrival;
    bool barrier, stays, roomless; /* roomless: takes no room */
    int due_status, due_actor;
    bool counted; /* under the bypass limit; so often it was overtaken */
    uint32_t passed;
} entry_t;

typedef struct {
    int state, canceller;
    csk_rank_t rank;
    bool timer;
    int64_t timer_ns, due_ns, period_ns;
} delayed_t;

typedef struct {
    bool exists, released, on_heap, shut, exclusive;
    int retains;
    csk_workqueue_attr_t attr;
    const csk_pool_item_t *item;
    int suspends;
    uint32_t running;
    int64_t arrivals;
    int64_t lives[LIVES]; /* the arrivals of all that was accepted and is not over */
    int live_count;
    int rooms[ACTORS + WAITS], room_count; /* who waits for room: a thread, or ACTORS + a wait */
} queue_t;

typedef struct {
    int kind, queue, entry;
    int64_t arrival;
    /* SERVES, WAITS_FOR_TURN: whose section is above; TELLS: has begun, having told who waited for room */
    bool in_function;
    bool alone, periodic, last_follows;
    uint32_t served;
    uint32_t seen_at; /* after how many works it saw that others wait, and when; 0 ns: they don't */
    int64_t seen_ns;
    int taken;
    bool grants;                                  /* it has taken a caller */
    bool has_looked;                              /* when its function ended: drains may have been told since */
    bool counted, steps_back;                     /* counted: the last work is among those served */
    int untold;                                   /* works that were dropped together */
    int joined[LIVES], joined_count, joined_told; /* those dropped by functions that are told so, in order */
    bool at_once;
    int64_t deadline_ns;
    int result; /* of a wait: MODEL_WAITS until it is known */
} frame_t;

typedef struct {
    int state, queue, actor; /* IDLE, WAITING, DUE */
    int entry, status;       /* entry: which waits for room; -1: a drain */
    int64_t arrivals;
} wait_t;

typedef struct {
    frame_t frames[FRAMES];
    int count;
} frames_t;

extern queue_t queues[QUEUES];
extern entry_t entries[ENTRIES];
extern delayed_t delayed_works[DELAYED];
extern wait_t waits[WAITS];
extern frames_t stacks[ACTORS];
extern bool for_timer_thread;  /* the model catches up with it */
extern bool have_place[WORKS]; /* by which the bypass limit counts them */

/* ---- workqueue_model.c ---- */

int actor(void);
frame_t *top_of(int who);
frame_t *top(void);
frame_t *push(int kind, int queue, int entry);
void pop(void);
bool any_frame(bool (*is)(const frame_t *frame, const frame_t *above, int queue), int queue);
bool is_sync(int entry);
bool is_delayed(int entry);
delayed_t *delayed_of(int entry);
uint32_t width_of(int queue);
bool waits_in(int entry, int queue);
csk_rank_t rank_in_order(int entry, csk_rank_t rank); /* where nobody named it */
bool before(const entry_t *a, const entry_t *b);
int next_of(int queue);
bool may_begin(int queue);
bool is_full(int queue);
void end_life_quietly(int queue, int64_t arrival);
void end_life(int queue, int64_t arrival);
void accept(int entry, int queue, csk_rank_t rank, bool barrier, int how);
int entry_for_room(int who);
void end_room(int who, int status);
void take(int queue, int entry);
void withdraw(int entry, int state);
void end_section(const frame_t *section);

/* ---- workqueue_model_calls.c ---- */

void end_telling(void);
void go_on_telling(void);
void time_has_come(int index);

/* ---- workqueue_model_runs.c ---- */

#endif
