/* cond_model.h: what a STRICT gate must do with those that wait for predicates, in its condition variables, and for
 * itself, call by call: an array of everybody, searched each time.
 *
 * Everybody is a thread (its actor), an asynchronous waiter of the gate, the one that closes it, or a condition that
 * has a function. A thread that waits goes on in model_goes_on; others make their calls meanwhile. */
#ifndef CSK_COND_MODEL_H
#define CSK_COND_MODEL_H

#include "fuzz.h"

enum { CONDS = 2, CELLS = 2, WAITERS = 3, WATCHES = 4 };
enum { FIRST_WAITER = ACTORS, CLOSER = FIRST_WAITER + WAITERS, FIRST_WATCH, EVERYBODY = FIRST_WATCH + WATCHES };
enum { HOLDER_NONE = -1, HOLDER_NOBODY = -2 }; /* else an actor */
enum { MODEL_BLOCKS = -1 };                    /* else a status */

/* What predicates read, and only the holder changes: twice as many predicates as cells, that one is set, and that it is
 * not. */
extern bool cells[CELLS], over; /* over: all predicates are true */
bool model_is_true(int predicate);

void model_make(void);
int model_destroy(void);
bool model_may_change(void);

/* `ticks` to the deadline; below 1 it has passed. MODEL_BLOCKS: model_wait_ended says later how it ended. */
enum { FOR_EVER = 1000000 };
int model_trylock(void);
int model_lock(csk_rank_t rank, int ticks);
int model_lock_when(int predicate, csk_rank_t rank, int ticks);
int model_await(int predicate, csk_rank_t rank, int ticks);
int model_cond_wait(int cond, csk_rank_t rank, int ticks);
int model_wait_ended(void);
int model_unlock(void);
void model_move(int cond, int most);

int model_lock_async(int who, csk_rank_t rank);
bool model_close_is_illegal(void);
int model_close(void);
int model_cancel(int who);
int model_watch(int who, int predicate, csk_rank_t rank);
int model_unwatch(int who);

/* The one whose function must be called now, and with what; -1: nobody's. What it begins ends with
 * model_function_ended. */
/* Where the first waiter goes that a condition's function queues at its rank. */
typedef struct {
    bool free;
    csk_rank_t rank;
    int64_t ticket;
} place_t;
typedef struct {
    int who, status;
    bool leaves; /* its caller leaves the gate after it */
    place_t outer;
} due_t;
due_t model_next_due(void);
void model_function_ended(due_t due);
/* Functions of conditions must not leave the gate, nor change what it protects. */
bool model_is_in_watch(void);
void model_expect_none_due(void);

/* A thread that would go on now by itself; -1: none. It does so in model_goes_on. */
int model_who_goes_on(void);
void model_goes_on(int actor);
bool model_waits(int actor);

int model_holder(void);
bool model_is_closed(void);
uint32_t model_waiting(void);
uint32_t model_cond_waiting(int cond);

#endif
