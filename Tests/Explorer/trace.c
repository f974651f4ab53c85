/* trace.c: the steps of the schedule that ran last, kept to be printed: when it has failed, and when it crashes. */
#include "run.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const op_names[] = { "load",
                                        "load (stale)",
                                        "store",
                                        "store (placed earlier)",
                                        "read-modify-write",
                                        "compare-and-swap",
                                        "fence",
                                        "store arrives",
                                        "park",
                                        "woken or timed out",
                                        "wake",
                                        "clock",
                                        "yield",
                                        "membarrier",
                                        "membarrier ends",
                                        "membarrier's fence",
                                        "pthread lock",
                                        "goes on",
                                        "goes on",
                                        "point",
                                        "time passes",
                                        "wakes without reason",
                                        "starts",
                                        "ends",
                                        "fork" };

static trace_t trace[MAX_STEPS + 1];
static int trace_count;

void trace_begin(void) { trace_count = 0; }
bool trace_is_full(void) { return trace_count >= MAX_STEPS; }

void note(int actor, enum op op, const char *site, const void *address, uint64_t value) {
    if (trace_count <= MAX_STEPS) trace[trace_count++] = (trace_t){ (uint8_t)actor, (uint8_t)op, site, address, value };
}

const char *core_op_name(enum op op) { return op_names[op]; }

const trace_t *core_trace(int *count) {
    *count = trace_count;
    return trace;
}

void core_print_trace(void) {
    for (int i = 0; i < trace_count; i++) {
        const trace_t *entry = &trace[i];
        const char *site = strrchr(entry->site, '/');
        site = site != NULL ? site + 1 : entry->site;
        char who[32];
        if (entry->actor >= ACTOR_INTERRUPT) snprintf(who, sizeof who, "thread %d", entry->actor - ACTOR_INTERRUPT);
        else if (entry->actor >= ACTOR_SPURIOUS) snprintf(who, sizeof who, "thread %d", entry->actor - ACTOR_SPURIOUS);
        else if (entry->actor == ACTOR_TIME) snprintf(who, sizeof who, "time");
        else if (entry->actor >= ACTOR_BUFFER) snprintf(who, sizeof who, "buffer %d", entry->actor - ACTOR_BUFFER);
        else snprintf(who, sizeof who, "thread %d", entry->actor);
        printf("  %4d  %*s%-9s %-24s %-20s", i, entry->actor < ACTOR_BUFFER ? 2 * entry->actor : 0, "", who, site,
               op_names[entry->op]);
        if (entry->address != NULL) printf(" at %p", entry->address);
        printf(" = %#llx\n", (unsigned long long)entry->value);
    }
}

/* A crash inside a schedule is a failure like others; what is left of the run can be printed still. */
const char *core_client_name = "";

static void crashed(int number) {
    printf("%s crashed with signal %d in this schedule:\n", core_client_name, number);
    core_print_trace();
    fflush(stdout);
    _exit(1);
}

__attribute__((constructor)) static void watch_crashes(void) {
    static char alternate[64 << 10];
    stack_t stack = { .ss_sp = alternate, .ss_size = sizeof alternate };
    sigaltstack(&stack, NULL);
    struct sigaction action = { .sa_handler = crashed, .sa_flags = SA_ONSTACK };
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGABRT, &action, NULL);
}
