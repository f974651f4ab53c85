/* virtual_platform.c: the platform as fuzz targets have it: a clock of ticks, and one thread at a time.
 *
 * The timer thread is a real one, so that thread-local state is what it is, but it runs only while the thread that
 * advances the clock waits for it to park again. A wake sets a flag at the sleeper of that word: one that is forgotten
 * shows as lateness. */
#include "base/platform.h"
#include "thread/thread_exit.h"

#include <pthread.h>
#include <semaphore.h>

#include "fuzz.h"

static const int64_t tick_ns = 1000000;
/* Nobody waits so long; a timed wait of the kernel's that outlasts it is a hang. */
static const int64_t longest_wait_ticks = 5000;

/* Further ahead than any machine has run: a wait by the system's clock hangs at once, and not only where the machine
 * was started lately. */
static int64_t tick = INT64_C(1000000000000);
static int64_t reads, yields;
static void (*after_timers)(void);
static _Thread_local int actor;

typedef struct {
    uint32_t *word; /* what it is parked on; NULL while it runs */
    int64_t until_ns;
    bool woken;
} sleeper_t;

static struct {
    bool exists;
    void (*body)(void *);
    void *context;
    sleeper_t sleeper;
    sem_t run, parked;
} timer;
static sleeper_t waiting; /* MAIN or STRANGER, whichever makes the call */

typedef struct {
    bool exists, paused;
    void (*function)(void *);
    void *context;
    sem_t run, done;
    sleeper_t sleeper; /* where it may pause */
} stranger_t;
static stranger_t strangers[STRANGERS];
static bool may_pause;

static bool is_stranger(int who) { return who >= ACTOR_STRANGER && who < ACTOR_STRANGER + STRANGERS; }
static stranger_t *stranger_of(int who) {
    if (!is_stranger(who)) fuzz_fail("the target means a stranger by %d", who);
    return &strangers[who - ACTOR_STRANGER];
}

int64_t fuzz_tick(void) { return tick; }
int fuzz_actor(void) { return actor; }
int64_t fuzz_deadline(int64_t at_tick, int phase) { return at_tick * tick_ns + phase * 1000; }
void fuzz_after_timers(void (*function)(void)) { after_timers = function; }

void fuzz_rewind(void) { reads = yields = 0; }

/* Reading the clock takes a microsecond, else spinning would not end; each call of the target's begins in the middle of
 * the tick. */
int64_t csk_platform_now(void) {
    if (actor == ACTOR_TIMER) return tick * tick_ns + tick_ns * 9 / 10;
    return tick * tick_ns + tick_ns / 2 + reads++ * 1000;
}

/* Nobody else runs meanwhile. */
void csk_platform_await_step(uint32_t looks) {
    (void)looks;
    if (++yields > 100000) fuzz_fail("a thread waits for a step that nobody makes");
}
void csk_platform_yield(void) { csk_platform_await_step(0); }
void csk_platform_write_error(const char *text, size_t length) { fwrite(text, 1, length, stderr); }
uint64_t csk_platform_new_thread_number(void) {
    static uint64_t last;
    return UINT64_C(1) << 63 | ++last << 4;
}
int32_t csk_platform_thread_id(void) { return (int32_t)actor + 1; }

static void run_timer_thread(void) {
    if (!timer.exists || !(timer.sleeper.woken || timer.sleeper.until_ns < (tick + 1) * tick_ns)) return;
    sem_post(&timer.run);
    while (sem_wait(&timer.parked) != 0) {}
}

static void give_timers_a_chance(void) {
    run_timer_thread();
    fuzz_rewind();
    if (after_timers != NULL) after_timers();
}

void fuzz_advance(int ticks) {
    give_timers_a_chance();
    while (ticks-- > 0) {
        tick++;
        give_timers_a_chance();
    }
}

static void park_timer_thread(void) {
    sem_post(&timer.parked);
    while (sem_wait(&timer.run) != 0) {}
}

/* Sleeps beside the others: MAIN goes on, and says when to look again. */
static int pause_until_woken(uint32_t *word, int64_t deadline_ns) {
    sleeper_t *sleeper = &stranger_of(actor)->sleeper;
    *sleeper = (sleeper_t){ word, deadline_ns, false };
    while (!sleeper->woken && csk_platform_now() < deadline_ns) fuzz_pause();
    sleeper->word = NULL;
    return sleeper->woken ? 0 : ETIMEDOUT;
}

int csk_platform_park(uint32_t *word, uint32_t expected, int64_t deadline_ns) {
    if (csk_load(word, CSK_ACQUIRE) != expected) return 0;
    if (may_pause && is_stranger(actor)) return pause_until_woken(word, deadline_ns);
    sleeper_t *sleeper = actor == ACTOR_TIMER ? &timer.sleeper : &waiting;
    *sleeper = (sleeper_t){ word, deadline_ns, false };
    int64_t began = tick;
    if (actor == ACTOR_TIMER) park_timer_thread();
    else {
        give_timers_a_chance();
        while (!sleeper->woken && csk_platform_now() < deadline_ns) {
            if (tick++ > began + longest_wait_ticks) fuzz_fail("a thread waits for ever");
            give_timers_a_chance();
        }
    }
    sleeper->word = NULL;
    return sleeper->woken || csk_platform_now() < deadline_ns ? 0 : ETIMEDOUT;
}

csk_timed_wait_t csk_platform_begin_timed(int64_t deadline_ns) {
    return (csk_timed_wait_t){ .deadline_ns = deadline_ns, .until_ns = deadline_ns };
}
void csk_platform_end_timed(const csk_timed_wait_t *wait, int64_t now_ns) { (void)wait, (void)now_ns; }

/* Nobody ends here. */
void csk_platform_park_to_look(uint32_t *word, uint32_t expected, int64_t look_ns) {
    (void)look_ns;
    csk_platform_park(word, expected, CSK_NEVER);
}
bool csk_platform_thread_has_ended(uint64_t thread_pointer) {
    (void)thread_pointer;
    return false;
}

/* A thread at a csk_pqueue waits by a condition variable of pthread's, for a deadline that is some microseconds ahead:
 * nobody else runs until it has passed. */
static int wait_for_the_clock(const struct timespec *until) {
    int64_t until_ns = until->tv_sec * INT64_C(1000000000) + until->tv_nsec, looks = 0;
    while (csk_platform_now() < until_ns)
        if (++looks > 1000) fuzz_fail("a thread waits for what nobody does");
    return ETIMEDOUT;
}
int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *until) {
    (void)condition, (void)mutex, (void)clock;
    return wait_for_the_clock(until);
}
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
    (void)condition, (void)mutex;
    return wait_for_the_clock(until);
}

void csk_platform_wake(uint32_t *word, int count) {
    (void)count;
    if (timer.sleeper.word == word) timer.sleeper.woken = true;
    if (waiting.word == word) waiting.woken = true;
    for (int i = 0; i < STRANGERS; i++)
        if (strangers[i].sleeper.word == word) strangers[i].sleeper.woken = true;
}

void (*csk_platform_held_back)(int error);
void (*csk_platform_replaced)(const char *name);

bool csk_platform_has_membarrier(void) { return true; }
void csk_platform_membarrier(void) {}

static void *timer_entry(void *argument) {
    (void)argument;
    actor = ACTOR_TIMER;
    while (sem_wait(&timer.run) != 0) {}
    timer.body(timer.context);
    return NULL;
}

int csk_platform_start_lasting_thread(const csk_lasting_thread_t *thread) {
    return csk_platform_start_thread(thread->body, NULL, thread->name);
}
int csk_platform_start_thread(void (*body)(void *), void *context, const char *name) {
    (void)name;
    pthread_t thread;
    if (timer.exists) fuzz_fail("a second timer thread is started");
    timer.body = body;
    timer.context = context;
    timer.sleeper.until_ns = INT64_MIN;
    sem_init(&timer.run, 0, 0);
    sem_init(&timer.parked, 0, 0);
    int error = pthread_create(&thread, NULL, timer_entry, NULL);
    timer.exists = error == 0;
    return error;
}

int csk_platform_call_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    (void)prepare, (void)parent, (void)child;
    return 0;
}

static void *stranger_entry(void *argument) {
    stranger_t *self = argument;
    actor = ACTOR_STRANGER + (int)(self - strangers);
    for (;;) {
        while (sem_wait(&self->run) != 0) {}
        self->function(self->context);
        sem_post(&self->done);
    }
    return NULL;
}

static void start(stranger_t *stranger) {
    pthread_t thread;
    sem_init(&stranger->run, 0, 0);
    sem_init(&stranger->done, 0, 0);
    stranger->exists = pthread_create(&thread, NULL, stranger_entry, stranger) == 0;
    if (!stranger->exists) fuzz_fail("no other thread can be started");
}

void fuzz_call_on(int who, void (*function)(void *), void *context) {
    if (who == actor) {
        function(context);
        return;
    }
    if (actor != ACTOR_MAIN) fuzz_fail("the target calls on a thread that it can't reach");
    stranger_t *stranger = stranger_of(who);
    if (!stranger->exists) start(stranger);
    if (stranger->paused) fuzz_fail("the target calls on a thread that has not returned");
    stranger->function = function;
    stranger->context = context;
    fuzz_go_on(who);
}

void fuzz_let_strangers_pause(bool pause) { may_pause = pause; }
bool fuzz_is_paused(int who) { return stranger_of(who)->paused; }

void fuzz_go_on(int who) {
    stranger_t *stranger = stranger_of(who);
    stranger->paused = false;
    sem_post(&stranger->run);
    while (sem_wait(&stranger->done) != 0) {}
}

void fuzz_pause(void) {
    stranger_t *self = stranger_of(actor);
    self->paused = true;
    sem_post(&self->done);
    while (sem_wait(&self->run) != 0) {}
}

/* A thread without a record notes no waits. */
int csk_thread_exit_enroll(csk_thread_exit_stage_t stage, void (*function)(void)) {
    (void)stage, (void)function;
    return EAGAIN;
}
