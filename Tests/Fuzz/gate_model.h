/* gate_model.h: what one gate must do, call by call, in plain C: an array of waiters in the order they queued, searched
 * each time.
 *
 * Asynchronous waiters are 0 to 6; 7 is the thread that waits, of which there is at most one. The calling thread is
 * fuzz_actor(). */
#ifndef CSK_GATE_MODEL_H
#define CSK_GATE_MODEL_H

#include "fuzz.h"

enum { WAITERS = 7, THREAD = 7 };
enum { HOLDER_NONE = -1, HOLDER_NOBODY = -2 };       /* else an actor */
enum { MODEL_BLOCKS = -1, MODEL_OK_OR_EINVAL = -2 }; /* else a status */

void model_make(const csk_gate_attr_t *attr);
int model_destroy(void);

int model_trylock(csk_rank_t rank);
/* `ticks` to the deadline; below 1 it has passed. MODEL_BLOCKS: model_wait_ended says later how it ended. */
int model_lock(csk_rank_t rank, int ticks);
int model_wait_ended(void);
/* An idle gate let in a rank that has no meaning. */
void model_take(void);
int model_unlock(void);
int model_disown(void);

int model_lock_async(int waiter, csk_rank_t rank, int64_t deadline_ns, bool adoptable, bool with_function);
int model_close(int waiter, bool with_function);
int model_cancel(int waiter);
int model_adopt(int waiter);
/* The waiter's grant was left long ago, and the gate is some other's that has no name either: gate.h does not say. */
bool model_adopt_is_undefined(int waiter);
int model_relock(int waiter);
int model_forget(int waiter);

/* The waiter whose function must be called now. On the timer thread this lets pass what is due there. */
int model_next_due(int *status);
void model_function_ended(void);
void model_expect_none_due(void);
/* The timer thread has done all that was due, and the thread that waits looks at what happened to it. */
void model_timers_ran(void);

int model_holder(void);
int model_pending(void);
bool model_is_mine(void);
bool model_is_queued(int waiter);
bool model_is_lost(int waiter);
uint32_t model_waiting(void);

#endif
