/* core.c: one schedule, from setup to check, and how it ends: it passes, fails or is given up. Its parts are in run.h;
 * what a load returns is a memory model's: model_sb.c, model_rc11.c. */
#include "run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "turns.h"

run_t run;
static bool failed, given_up, is_fair;
static chooser_t chooser;
static int choices_made, choices_known;
static char failure[512];
static jmp_buf outside_threads; /* where a failure in setup or check goes on */

const model_t *core_model(void) { return run.model; }
bool core_checks_races(void) { return run.model == &model_rc11; }

int choose_among(const choice_t *choices, int count, uint64_t state) {
    if (is_fair) return 0;
    int chosen = chooser(choices, count, choices_made++, mix(state_hash, state));
    if (chosen >= 0) return chosen;
    given_up = true;
    to_scheduler();
    abort();
}

void explore_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (!failed) vsnprintf(failure, sizeof failure, format, arguments);
    va_end(arguments);
    failed = true;
    if (current != NULL) to_scheduler();
    longjmp(outside_threads, 1);
}

static bool clients_done(void) {
    for (int i = 0; i < fiber_count; i++)
        if (!fibers[i].done && !fibers[i].daemon) return false;
    return true;
}

static void client_thread(void *context) { (*(void (**)(void))context)(); }

static void describe_deadlock(void) {
    turns_describe_blocked(failure, sizeof failure, somebody_spins() ? "does not terminate" : "deadlock");
    failed = true;
}

/* Setup, check or invariant, on no fiber. An invariant changes no thread-local variables: they are a fiber's. */
static void outside(void (*function)(void)) {
    if (function != NULL && setjmp(outside_threads) == 0) function();
}

/* The kernel's static state as it is when a process begins. */
static void reset_kernel(void) {
    kernel_reset_fork();
    kernel_reset_timers();
    kernel_reset_reads();
    kernel_reset_pool();
    kernel_reset_rcu();
    kernel_reset_rcu_model();
    kernel_reset_rcu_readers();
    kernel_reset_rcu_own();
    kernel_reset_rcu_reclaim();
    kernel_reset_rcu_watch();
    kernel_reset_tls();
    kernel_reset_names();
    kernel_reset_metrics();
    kernel_reset_waits();
    kernel_reset_ordering();
    kernel_reset_order();
    kernel_reset_order_graph();
    kernel_reset_watchdog();
    kernel_reset_deadlock();
    kernel_reset_inspect_server();
    kernel_reset_listed();
    kernel_reset_small_file();
    kernel_reset_watch();
    kernel_reset_tasks();
    kernel_reset_blocks();
    kernel_reset_platform();
}

/* Makes memory, time and the kernel's static state what they are when a process begins, and the client's threads. */
static void begin_schedule(const explore_client_t *client, const schedule_t *schedule) {
    run = (run_t){ client, schedule->memory == MEMORY_RC11 ? &model_rc11 : &model_sb, 1000000000, false };
    allocation_begin();
    fibers_begin();
    graph_begin();
    trace_begin();
    turns_begin();
    choices_begin();
    failed = given_up = is_fair = false;
    failure[0] = 0;
    choices_made = 0;
    choices_known = schedule->known;
    reset_kernel();
    run.model->begin(schedule);
    for (int i = 0; i < EXPLORE_THREADS && client->threads[i] != NULL; i++)
        new_fiber(client_thread, (void *)(uintptr_t)&client->threads[i], false);
}

/* Whether a schedule that takes turns is in a cycle, or is still not at its end. */
static bool is_endless(const explore_client_t *client, int step) {
    is_fair = !client->waits_for_nobody && (step >= FAIR_FROM || choices_made >= FAIR_FROM);
    if (is_fair && turns_repeat()) turns_describe_cycle(failure, sizeof failure);
    else if (step >= MAX_STEPS || trace_is_full()) turns_describe_endless(failure, sizeof failure, step);
    else return false;
    return failed = true;
}

/* What an earlier schedule has done as well, but for the last step. Invariants may note what they see, and are called
 * all the same. A thread that can't go on now has come to another state than it did then: something outlives a
 * schedule. */
static int repeat_known(const explore_client_t *client, const schedule_t *schedule, int *last) {
    int step = 0;
    for (; !failed && choices_made < choices_known; step++) {
        int actor = schedule->known_actor(choices_made++);
        if (actor < ACTOR_BUFFER && !is_enabled(&fibers[actor])) {
            snprintf(failure, sizeof failure, "the same choices lead to another state: thread %d can't go on", actor);
            failed = true;
            break;
        }
        perform(actor, last);
        if (!failed && !given_up) outside(client->invariant);
    }
    return step;
}

void core_run(const explore_client_t *client, chooser_t choose, const schedule_t *schedule, result_t *result) {
    chooser = choose;
    begin_schedule(client, schedule);
    outside(client->setup);
    int last = -1, step = repeat_known(client, schedule, &last);
    result->outcome = given_up ? OUTCOME_GIVEN_UP : OUTCOME_PASSED;
    for (; !failed && !given_up; step++) {
        if (clients_done() && is_quiet()) {
            if (somebody_spins()) describe_deadlock();
            break;
        }
        choice_t choices[MAX_CHOICES];
        int count = list_choices(last, choices);
        if (count == 0 || (choices[0].actor >= ACTOR_SPURIOUS && choices[0].actor < ACTOR_INTERRUPT)) {
            describe_deadlock();
            break;
        }
        if (is_endless(client, step)) break;
        uint64_t state = mix(state_hash, (uint64_t)(last + 1));
        int chosen = is_fair ? turns_choose(choices, count) : choose(choices, count, choices_made++, state);
        if (chosen >= 0) perform(choices[chosen].actor, &last);
        if (chosen < 0 || given_up) {
            result->outcome = OUTCOME_GIVEN_UP;
            break;
        }
        if (!failed) outside(client->invariant);
    }
    if (!failed && result->outcome == OUTCOME_PASSED) {
        fibers_end();
        outside(client->check);
    }
    if (failed) {
        result->outcome = OUTCOME_FAILED;
        memcpy(result->message, failure, sizeof failure);
    }
    result->steps = step;
}
