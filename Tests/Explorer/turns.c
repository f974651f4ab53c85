/* turns.c: fair turns, and what is said of a schedule that has no end. */
#include "turns.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "spin.h"

static int last_actor;
static bool wrapped, clocked;
static uint64_t anchor;
static int rounds, power, cycle_begin; /* of the anchor: how many rounds ago, and when the next one is dropped */

void turns_begin(void) {
    last_actor = ACTORS;
    rounds = 0;
    power = 1;
    wrapped = clocked = false;
    anchor = 0;
    cycle_begin = 0;
}

int turns_choose(const choice_t *choices, int count) {
    int best = 0, nearest = 2 * ACTORS;
    for (int i = 0; i < count; i++) {
        int actor = choices[i].actor;
        if (actor >= ACTOR_SPURIOUS && actor < ACTOR_INTERRUPT) continue;
        int distance = actor > last_actor ? actor - last_actor : actor - last_actor + ACTORS;
        if (distance < nearest) nearest = distance, best = i;
    }
    wrapped = choices[best].actor <= last_actor;
    last_actor = choices[best].actor;
    return best;
}

void turns_clock(void) { clocked = true; }

bool turns_repeat(void) {
    if (!wrapped) return false;
    uint64_t state = mix(spin_state_of_all(), (uint64_t)last_actor);
    if (state == anchor && !clocked) return true;
    if (++rounds < power) return false;
    anchor = state;
    core_trace(&cycle_begin);
    clocked = false;
    rounds = 0;
    power *= 2;
    return false;
}

/* ---- What is said ------------------------------------------------------------------------------------------------ */

typedef struct {
    char *text;
    size_t size, length;
} writer_t;

__attribute__((format(printf, 2, 3))) static void say(writer_t *to, const char *format, ...) {
    if (to->length >= to->size) return;
    va_list arguments;
    va_start(arguments, format);
    to->length += (size_t)vsnprintf(to->text + to->length, to->size - to->length, format, arguments);
    va_end(arguments);
}

static const char *without_folder(const char *site) {
    const char *slash = strrchr(site, '/');
    return slash != NULL ? slash + 1 : site;
}

static void say_waits(writer_t *to, int thread) {
    const fiber_t *fiber = &fibers[thread];
    if (fiber->done) return;
    char loop[256];
    if (spin_is_blocked(thread) && spin_describe(thread, loop, sizeof loop) > 0)
        say(to, " thread %d reads again and again: %s;", thread, loop);
    else if (!fiber->daemon) say(to, " thread %d waits at %s;", thread, without_folder(fiber->site));
}

void turns_describe_blocked(char *text, size_t size, const char *how) {
    writer_t to = { text, size, 0 };
    say(&to, "%s:", how);
    for (int i = 0; i < fiber_count; i++)
        if (spin_is_blocked(i)) say_waits(&to, i);
    for (int i = 0; i < fiber_count; i++)
        if (!spin_is_blocked(i)) say_waits(&to, i);
}

/* Each step of the thread since then, one of each kind and place. */
static void say_steps(writer_t *to, int thread, int since) {
    int end;
    const trace_t *trace = core_trace(&end);
    bool any = false;
    for (int i = since; i < end; i++) {
        if (trace[i].actor != thread) continue;
        bool told = false;
        for (int j = since; j < i && !told; j++)
            told = trace[j].actor == thread && trace[j].op == trace[i].op && trace[j].site == trace[i].site;
        if (told) continue;
        say(to, any ? ", " : " thread %d: ", thread);
        say(to, "%s %s", core_op_name(trace[i].op), without_folder(trace[i].site));
        any = true;
    }
    if (any) say(to, ";");
}

void turns_describe_cycle(char *text, size_t size) {
    writer_t to = { text, size, 0 };
    int end;
    core_trace(&end);
    say(&to, "does not terminate, fair turns repeat a state:");
    for (int i = 0; i < fiber_count; i++)
        if (!fibers[i].done && !spin_is_blocked(i)) say_steps(&to, i, cycle_begin);
    for (int i = 0; i < fiber_count; i++)
        if (spin_is_blocked(i)) say_waits(&to, i);
}

void turns_describe_endless(char *text, size_t size, int steps) {
    enum { LAST = 200 };
    writer_t to = { text, size, 0 };
    int end;
    core_trace(&end);
    say(&to, "does not terminate, and fair turns come to no end:");
    for (int i = 0; i < fiber_count; i++)
        if (!fibers[i].done) say_steps(&to, i, end > LAST ? end - LAST : 0);
    say(&to, " (%d steps)", steps);
}
