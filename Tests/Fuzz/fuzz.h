/* fuzz.h: what the fuzz targets share. A target interprets its input as calls, one at a time, and keeps a model of what
 * each must do; the first difference ends the program with the calls that led there.
 *
 * The kernel's sources run unmodified on virtual_platform.c: time stands still but for fuzz_advance and timed waits,
 * and the timer thread runs only then. So every input does the same each time, deadlines included. Time is compared in
 * ticks of 1 ms.
 *
 * fuzz_deadline() gives the first half of a tick to deadlines, each `phase` its own; threads see the middle of a tick,
 * and the timer thread its end. A grace period counts from one of the latter two. So deadlines of one tick pass in the
 * order of their phases, and then the grace period. */
#ifndef CSK_FUZZ_H
#define CSK_FUZZ_H

#include <csynckernel/csynckernel.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The target. Always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- The input: zeros after its end ------------------------------------------------------------------------------ */

void fuzz_begin(const uint8_t *data, size_t size);
bool fuzz_at_end(void);
uint8_t fuzz_byte(void);
static inline int fuzz_below(int bound) { return fuzz_byte() % bound; }
/* A few near zero, so that equal ones are common, and both ends. */
int32_t fuzz_priority(void);

/* ---- Time and threads -------------------------------------------------------------------------------------------- */

enum { ACTOR_MAIN, ACTOR_STRANGER, STRANGERS = 4, ACTOR_TIMER = ACTOR_STRANGER + STRANGERS, ACTORS };
/* Which of them the calling thread is. */
int fuzz_actor(void);
/* Calls function(context) on that thread, MAIN or one of STRANGERS from STRANGER on, and returns after it. */
void fuzz_call_on(int actor, void (*function)(void *), void *context);

/* For targets that say so, a stranger stops where it would sleep, or asks for it by fuzz_pause, and fuzz_call_on
 * returns to MAIN. fuzz_go_on lets it go on, as a spurious wake if nothing else: until it stops again, or has
 * returned. */
void fuzz_let_strangers_pause(bool may_pause);
void fuzz_pause(void);
bool fuzz_is_paused(int actor);
void fuzz_go_on(int actor);

int64_t fuzz_tick(void);
int64_t fuzz_deadline(int64_t tick, int phase);
void fuzz_rewind(void);
/* Lets the timer thread do what is due, then as many times: the next tick, and so again. */
void fuzz_advance(int ticks);
/* Called after each time that the timer thread had its chance; NULL: nobody. */
void fuzz_after_timers(void (*function)(void));

/* ---- The pool: its items wait until the target lets a worker come ------------------------------------------------ */

void fuzz_pool_empty(void);
int fuzz_pool_count(void);
bool fuzz_pool_has(const csk_pool_item_t *item);
/* Takes one out, for the caller to call its function. */
csk_pool_item_t *fuzz_pool_take(int index);
/* Called when a worker asks how many items wait; true: it is told that there are more than it can take. */
void fuzz_when_pool_is_asked(bool (*function)(void), void (*between)(void));

/* ---- Comparing --------------------------------------------------------------------------------------------------- */

/* Names the call that follows, for the message, and begins it in the middle of its tick. */
void fuzz_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void fuzz_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void fuzz_expect_status(const char *call, int actual, int expected);
void fuzz_expect(const char *what, int64_t actual, int64_t expected);

#endif
