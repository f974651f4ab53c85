/* core.c: one schedule: fibers, virtual time, the system's calls, and the hash of the happens-before graph. What a load
 * returns is a memory model's: model_sb.c, model_rc11.c.
 *
 * More than 400 lines: these four are one machine, whose every step changes several of them. */
#include "machine.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "csynckernel/base.h"
#include "internal.h"
#include "spin.h"
#include "turns.h"
#include "weaken.h"

enum { STACK_SIZE = 64 << 10, MAP_SIZE = 1 << 13, ARENA_SIZE = 256 << 10, FREED_MAX = 128 };

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

typedef struct {
    const void *address;
    uint64_t epoch, written, read;
} cell_t;

extern char __start_explore_tls[], __stop_explore_tls[];
static char tls_initial[TLS_MAX];
static fiber_t *tls_of; /* whose thread-local variables stand in the section; NULL: nobody's */
#define TLS_SIZE ((size_t)(__stop_explore_tls - __start_explore_tls))

fiber_t fibers[MAX_FIBERS];
fiber_t *current;
int fiber_count;
static const model_t *model;
static void *scheduler_sp;
static int64_t now;
static int time_cell;
static int spurious_left, jumps_left;
static bool (*is_late)(int thread, const void *word);
static bool looks;
static bool membarrier_works, changes_overtake, failed, given_up;
static chooser_t chooser;
static int choices_made, choices_known;
static bool is_fair, somebody_yielded;
static char failure[512];
static jmp_buf outside_threads; /* where a failure in setup or check goes on */
static unsigned long park_count;
static uint64_t epoch;
uint64_t state_hash;
static cell_t cells[MAP_SIZE];
static trace_t trace[MAX_STEPS + 1];
static int trace_count;
static char *arena, *arena_next, *stacks;
static struct { char *begin, *end; } freed[FREED_MAX];
static int freed_count;

/* ---- Fibers ------------------------------------------------------------------------------------------------------ */

#if defined(__x86_64__)
void explore_switch(void **from, void *to);
__asm__(
    ".text\n.globl explore_switch\n.type explore_switch,@function\nexplore_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n.size explore_switch,.-explore_switch\n");
#elif defined(__aarch64__)
void explore_switch(void **from, void *to);
__asm__(
    ".text\n.globl explore_switch\n.type explore_switch,%function\nexplore_switch:\n"
    "sub sp,sp,#160\nstp x19,x20,[sp]\nstp x21,x22,[sp,#16]\nstp x23,x24,[sp,#32]\nstp x25,x26,[sp,#48]\n"
    "stp x27,x28,[sp,#64]\n"
    "stp x29,x30,[sp,#80]\nstp d8,d9,[sp,#96]\nstp d10,d11,[sp,#112]\nstp d12,d13,[sp,#128]\nstp d14,d15,[sp,#144]\n"
    "mov x9,sp\nstr x9,[x0]\nmov sp,x1\n"
    "ldp x19,x20,[sp]\nldp x21,x22,[sp,#16]\nldp x23,x24,[sp,#32]\nldp x25,x26,[sp,#48]\nldp x27,x28,[sp,#64]\n"
    "ldp x29,x30,[sp,#80]\nldp d8,d9,[sp,#96]\nldp d10,d11,[sp,#112]\nldp d12,d13,[sp,#128]\nldp d14,d15,[sp,#144]\n"
    "add sp,sp,#160\nret\n.size explore_switch,.-explore_switch\n");
#else
#error "no fiber switch for this processor"
#endif

static void to_scheduler(void) { explore_switch(&current->sp, scheduler_sp); }

/* A fiber that goes on finds its thread-local variables in the section still: most do. */
static void to_fiber(fiber_t *fiber) {
    if (tls_of != fiber) {
        if (tls_of != NULL) memcpy(tls_of->tls, __start_explore_tls, TLS_SIZE);
        memcpy(__start_explore_tls, fiber->tls, TLS_SIZE);
        tls_of = fiber;
    }
    current = fiber;
    explore_switch(&scheduler_sp, fiber->sp);
    current = NULL;
}

/* Setup and check are no thread. */
void core_call_at_thread_end(void (*function)(void *)) {
    if (current != NULL) current->at_end = function;
}

/* The system makes PTHREAD_DESTRUCTOR_ITERATIONS passes over a thread's keys. */
static void call_at_end(void) {
    for (int pass = 0; pass < 4 && current->at_end != NULL; pass++) {
        void (*function)(void *) = current->at_end;
        current->at_end = NULL;
        function(NULL);
    }
}

static void fiber_main(void) {
    current->body(current->context);
    call_at_end();
    current->op = OP_END;
    current->done = true;
    to_scheduler();
    abort();
}

static char *stack_end(const fiber_t *fiber) { return stacks + (size_t)(index_of(fiber) + 1) * STACK_SIZE; }

static fiber_t *new_fiber(void (*body)(void *), void *context, bool daemon) {
    if (fiber_count == MAX_FIBERS) {
        fputs("too many fibers\n", stderr);
        exit(2);
    }
    fiber_t *fiber = &fibers[fiber_count++];
    memset(fiber, 0, offsetof(fiber_t, tls));
    fiber->exists = true;
    fiber->daemon = daemon;
    fiber->body = body;
    fiber->context = context;
    fiber->op = OP_START;
    fiber->chain = mix(fiber_count, 17);
    memcpy(fiber->tls, tls_initial, TLS_SIZE);
    /* Their first frames would share one set of the cache. */
    void **top = (void **)(stack_end(fiber) - 64 - 320 * index_of(fiber));
#if defined(__x86_64__)
    *--top = NULL;
    *--top = (void *)fiber_main;
    top -= 6;
#else
    top -= 20;
    memset(top, 0, 160);
    top[11] = (void *)fiber_main;
#endif
    fiber->sp = top;
    model->thread_begins(index_of(fiber));
    return fiber;
}

/* ---- The trace and the happens-before graph ---------------------------------------------------------------------- */

void note(int actor, enum op op, const char *site, const void *address, uint64_t value) {
    if (trace_count <= MAX_STEPS) trace[trace_count++] = (trace_t){ (uint8_t)actor, (uint8_t)op, site, address, value };
}

static cell_t *cell_of(const void *address) {
    size_t slot = (size_t)(mix((uintptr_t)address, 3) % MAP_SIZE);
    for (;; slot = (slot + 1) % MAP_SIZE) {
        cell_t *cell = &cells[slot];
        if (cell->epoch != epoch) {
            *cell = (cell_t){ address, epoch, 0, 0 };
            return cell;
        }
        if (cell->address == address) return cell;
    }
}

uint64_t happened(uint64_t *chain, const void *address, bool writes) {
    cell_t *cell = cell_of(address);
    uint64_t hash = mix(*chain, cell->written);
    if (writes) {
        hash = mix(hash, cell->read);
        cell->written = hash;
        cell->read = 0;
    } else cell->read += hash;
    *chain = hash;
    state_hash += hash;
    return cell->written;
}

/* A step that touches nothing which others see, but leads to another state all the same. */
void stepped(fiber_t *fiber, uint64_t what) {
    fiber->chain = mix(fiber->chain, what);
    state_hash += fiber->chain;
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

void explore_fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (!failed) vsnprintf(failure, sizeof failure, format, arguments);
    va_end(arguments);
    failed = true;
    if (current != NULL) to_scheduler();
    longjmp(outside_threads, 1);
}

void check_alive(const void *address, const char *site) {
    const char *byte = address;
    for (int i = 0; i < freed_count; i++)
        if (byte >= freed[i].begin && byte < freed[i].end) explore_fail("%s: access to freed memory", site);
    if (byte < stacks || byte >= stacks + (size_t)fiber_count * STACK_SIZE) return;
    const fiber_t *fiber = &fibers[(byte - stacks) / STACK_SIZE];
    if (fiber != current && (fiber->done || byte < (char *)fiber->sp))
        explore_fail("%s: access to a frame of thread %d that has returned", site, index_of(fiber));
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

uint64_t read_memory(const void *address, unsigned size) {
    uint64_t value = 0;
    memcpy(&value, address, size);
    return value;
}

uint64_t changed_value(uint64_t before, int operation, uint64_t operand) {
    switch (operation) {
    case EXPLORE_ADD: return before + operand;
    case EXPLORE_OR: return before | operand;
    case EXPLORE_AND: return before & operand;
    default: return operand;
    }
}

bool core_checks_races(void) { return model == &model_rc11; }

/* ---- For spin.c and turns.c -------------------------------------------------------------------------------------- */

const model_t *core_model(void) { return model; }
const char *core_op_name(enum op op) { return op_names[op]; }
const trace_t *core_trace(int *count) {
    *count = trace_count;
    return trace;
}
const void *core_stack_end(const fiber_t *fiber) { return stack_end(fiber); }
const void *core_tls(const fiber_t *fiber, const void **end) {
    const char *begin = fiber == tls_of ? __start_explore_tls : fiber->tls;
    *end = begin + (TLS_SIZE & ~(size_t)7);
    return begin;
}
void core_arena(const void **begin, const void **end) { *begin = arena, *end = arena_next; }
uint64_t core_written(const void *address) { return cell_of(address)->written; }

uint64_t core_state_of_cells(void) {
    uint64_t hash = 0;
    for (size_t i = 0; i < MAP_SIZE; i++)
        if (cells[i].epoch == epoch)
            hash += mix((uintptr_t)cells[i].address, *(const uint64_t *)((uintptr_t)cells[i].address & ~(uintptr_t)7));
    return hash;
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */

bool is_thread_local(const void *address) {
    const char *byte = address;
    return byte >= __start_explore_tls && byte < __stop_explore_tls;
}

/* Waits for its turn. */
void point(enum op op, const void *address, const char *site) {
    current->op = op;
    current->address = (void *)address;
    current->site = site;
    to_scheduler();
}

int choose_among(const choice_t *choices, int count, uint64_t state) {
    if (is_fair) return 0;
    int chosen = chooser(choices, count, choices_made++, mix(state_hash, state));
    if (chosen >= 0) return chosen;
    given_up = true;
    to_scheduler();
    abort();
}

uint64_t explore_load(const void *address, unsigned size, int order, const char *site) {
    if (current == NULL) return read_memory(address, size);
    return model->load(address, size, weakened("load", order, site), site);
}

void explore_store(void *address, unsigned size, uint64_t value, int order, const char *site) {
    if (current == NULL) memcpy(address, &value, size);
    else model->store(address, size, value, weakened("store", order, site), site);
}

uint64_t explore_rmw(void *address, unsigned size, int operation, uint64_t operand, int order, const char *site) {
    static const char *const names[] = { "exchange", "add", "or", "and" };
    if (current != NULL)
        return model->rmw(address, size, operation, operand, weakened(names[operation], order, site), site);
    uint64_t before = read_memory(address, size), after = changed_value(before, operation, operand);
    memcpy(address, &after, size);
    return before;
}

bool explore_cas(void *address, unsigned size, void *expected, uint64_t desired, int success, int failure,
                 const char *site) {
    if (current != NULL)
        return model->cas(address, size, expected, desired, weakened("cas", success, site),
                          weakened("failure", failure, site), site);
    bool swapped = memcmp(address, expected, size) == 0;
    if (swapped) memcpy(address, &desired, size);
    else memcpy(expected, address, size);
    return swapped;
}

void explore_fence(int order, const char *site) {
    int weaker = current != NULL ? weakened("fence", order, site) : -1;
    if (weaker != -1) model->fence(weaker, site);
}

/* ---- Time, parking, identity ------------------------------------------------------------------------------------- */

void explore_set(uint32_t *word, uint32_t value) {
    explore_rmw(word, sizeof *word, EXPLORE_EXCHANGE, value, __ATOMIC_ACQ_REL, "explore_set");
}

void explore_pause(const char *site) {
    (void)site;
    now += 2500;
    if (current != NULL) happened(&current->chain, &time_cell, true);
}

void *explore_self(void) {
    return (void *)(uintptr_t)(current != NULL ? 0x1000 * (uintptr_t)(index_of(current) + 1) : 0x100000);
}
int explore_thread(void) { return current != NULL ? index_of(current) : -1; }
bool explore_is_own(int thread, const void *word) {
    const char *byte = word, *end = stack_end(&fibers[thread]);
    return byte < end && byte >= end - STACK_SIZE;
}
int64_t explore_now(void) { return now; }
void explore_point(void) {
    point(OP_POINT, NULL, "point");
    stepped(current, OP_POINT);
    spin_reads(SPIN_NOTHING, NULL, 0, 0);
}

int64_t core_clock(const char *site) {
    if (current == NULL) return now;
    point(OP_CLOCK, NULL, site);
    happened(&current->chain, &time_cell, false);
    turns_clock();
    spin_reads(SPIN_CLOCK, NULL, (uint64_t)now, (uint64_t)now);
    note(index_of(current), OP_CLOCK, site, NULL, (uint64_t)now);
    return now;
}

void core_yield(const char *site) {
    if (current == NULL) return;
    current->yielded = somebody_yielded = true;
    point(OP_YIELD, NULL, site);
    stepped(current, OP_YIELD);
    spin_reads(SPIN_NOTHING, NULL, 0, 0);
    note(index_of(current), OP_YIELD, site, NULL, 0);
}

void core_await(const char *site) {
    if (current != NULL) spin_awaits();
    core_yield(site);
}

/* Sleeps on an address: a futex's or a condition variable's; whatever must be atomic with falling asleep has been
 * done. */
static int sleep_on(void *address, int64_t deadline, const char *site) {
    current->woken = current->timed_out = false;
    current->deadline = deadline;
    current->park_order = ++park_count;
    spin_changes();
    point(OP_PARKED, address, site);
    current->deadline = INT64_MAX;
    bool timed_out = !current->woken && current->timed_out;
    happened(&current->chain, timed_out ? (void *)&time_cell : (char *)address + 1, true);
    note(index_of(current), OP_PARKED, site, address, (uint64_t)timed_out);
    return timed_out ? ETIMEDOUT : 0;
}

int core_park(uint32_t *word, uint32_t expected, int64_t deadline, const char *site) {
    if (current == NULL) explore_fail("a park in setup or check");
    point(OP_PARK, word, site);
    model->system_call();
    check_alive(word, site);
    model->look(word, false);
    happened(&current->chain, (char *)word + 1, true);
    note(index_of(current), OP_PARK, site, word, *word);
    if (*word == expected) return sleep_on(word, deadline, site);
    spin_reads(SPIN_MEMORY, word, model->newest(index_of(current), word), *word);
    return 0;
}

static void wake_sleepers(const void *address, int count) {
    for (; count > 0; count--) {
        fiber_t *first = NULL;
        for (int i = 0; i < fiber_count; i++) {
            fiber_t *fiber = &fibers[i];
            bool sleeps = !fiber->done && fiber->op == OP_PARKED && !fiber->woken && fiber->address == address;
            if (sleeps && (first == NULL || fiber->park_order < first->park_order)) first = fiber;
        }
        if (first == NULL) return;
        first->woken = true;
    }
}

void core_wake(const void *address, int count, const char *site) {
    if (current == NULL) {
        wake_sleepers(address, count);
        return;
    }
    point(OP_WAKE, address, site);
    model->system_call();
    spin_changes();
    happened(&current->chain, (const char *)address + 1, true);
    note(index_of(current), OP_WAKE, site, address, (uint64_t)count);
    wake_sleepers(address, count);
}

bool core_looks(void) { return looks; }
bool core_has_membarrier(void) { return membarrier_works; }
bool core_changes_overtake(void) { return changes_overtake; }

void core_membarrier(const char *site) {
    if (current != NULL) model->membarrier(site);
}

/* What the others have on their stacks is not for the child: it counts as returned. */
void core_fork(const char *site) {
    point(OP_FORK, NULL, site);
    model->system_call();
    spin_changes();
    for (int i = 0; i < fiber_count; i++) {
        current->chain = mix(current->chain, fibers[i].chain);
        if (&fibers[i] != current) fibers[i].done = true;
    }
    model->forked();
    state_hash += current->chain;
    note(index_of(current), OP_FORK, site, NULL, 0);
}

int core_start_thread(void (*body)(void *), void *context) {
    if (current != NULL) model->system_call();
    spin_changes();
    if (fiber_count == MAX_FIBERS) return EAGAIN;
    fiber_t *fiber = new_fiber(body, context, true);
    if (current != NULL) fiber->chain = mix(fiber->chain, current->chain);
    return 0;
}

void explore_wait(const uint32_t *word, uint32_t value) {
    if (current == NULL) explore_fail("a wait in setup or check");
    model->system_call();
    current->awaited = value;
    point(OP_UNTIL, word, "explore_wait");
    check_alive(word, "explore_wait");
    model->look(word, true);
    spin_changes();
    note(index_of(current), OP_UNTIL, "explore_wait", word, *word);
}

/* What the other thread does next comes after this. */
void explore_wait_asleep(int thread) {
    if (current == NULL) explore_fail("a wait in setup or check");
    model->system_call();
    current->awaited = (uint32_t)thread;
    point(OP_UNTIL_ASLEEP, NULL, "explore_wait_asleep");
    const fiber_t *fiber = &fibers[thread];
    stepped(current, fiber->chain);
    if (!fiber->done) happened(&current->chain, (const char *)fiber->address + 1, true);
    spin_changes();
    note(index_of(current), OP_UNTIL_ASLEEP, "explore_wait_asleep", NULL, (uint64_t)thread);
}

void explore_order(const void *address) {
    if (current == NULL) return;
    model->locked(address);
    model->unlocking(address);
}

/* The first word of a pthread mutex tells whether it is held; its owner is the explorer's business alone. */
int explore_mutex_lock(pthread_mutex_t *mutex, const char *site) {
    uint32_t *word = (uint32_t *)mutex;
    if (current != NULL) {
        point(OP_LOCK, mutex, site);
        model->system_call();
        check_alive(mutex, site);
        happened(&current->chain, mutex, true);
        spin_changes();
        model->locked(mutex);
        note(index_of(current), OP_LOCK, site, mutex, 1);
    }
    *word = 1;
    return 0;
}

int explore_mutex_trylock(pthread_mutex_t *mutex, const char *site) {
    uint32_t *word = (uint32_t *)mutex;
    if (current != NULL) {
        point(OP_CAS, mutex, site);
        model->system_call();
        check_alive(mutex, site);
        happened(&current->chain, mutex, *word == 0);
        if (*word == 0) spin_changes();
        else spin_reads(SPIN_MUTEX, mutex, core_written(mutex), 1);
        note(index_of(current), OP_CAS, site, mutex, 1);
    }
    if (*word != 0) return EBUSY;
    *word = 1;
    if (current != NULL) model->locked(mutex);
    return 0;
}

int explore_mutex_unlock(pthread_mutex_t *mutex, const char *site) {
    uint32_t *word = (uint32_t *)mutex;
    if (current != NULL) {
        point(OP_RMW, mutex, site);
        model->system_call();
        check_alive(mutex, site);
        happened(&current->chain, mutex, true);
        spin_changes();
        model->unlocking(mutex);
        note(index_of(current), OP_RMW, site, mutex, 0);
    }
    *word = 0;
    return 0;
}

int explore_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline, const char *site) {
    /* Unlocking and falling asleep are one step: a signal in between would be lost otherwise. */
    happened(&current->chain, mutex, true);
    happened(&current->chain, (char *)condition + 1, true);
    model->unlocking(mutex);
    *(uint32_t *)mutex = 0;
    int status = sleep_on(condition, deadline, site);
    explore_mutex_lock(mutex, site);
    return status;
}

int explore_cond_wake(pthread_cond_t *condition, int count, const char *site) {
    core_wake(condition, count, site);
    return 0;
}

/* ---- Memory of one schedule -------------------------------------------------------------------------------------- */

void *explore_allocate(size_t size) {
    size = (size + 63) & ~(size_t)63;
    if (arena_next + size > arena + ARENA_SIZE) abort();
    void *memory = arena_next;
    arena_next += size;
    memset(memory, 0, size);
    return memory;
}

void explore_free(void *memory, size_t size) {
    if (current != NULL) model->freed(memory, size);
    spin_changes();
    memset(memory, 0xDD, size);
    if (freed_count == FREED_MAX) abort();
    freed[freed_count].begin = memory;
    freed[freed_count++].end = (char *)memory + size;
}

/* ---- The scheduler ----------------------------------------------------------------------------------------------- */

/* In a park, or at a pthread mutex that is held; or it has ended. */
static bool is_asleep(const fiber_t *fiber) {
    if (fiber->done) return true;
    if (fiber->op == OP_LOCK) return *(const uint32_t *)fiber->address != 0;
    return fiber->op == OP_PARKED && !fiber->woken && fiber->deadline > now;
}

static bool is_late_here(const fiber_t *fiber) {
    return fiber->op == OP_PARKED && is_late(index_of(fiber), fiber->address);
}
/* Whether no thread is left that is not late. */
static bool only_late_are_left(void) {
    for (int i = 0; i < fiber_count; i++)
        if (!fibers[i].done && !fibers[i].daemon && !is_late_here(&fibers[i])) return false;
    return true;
}
static bool is_held_up(const fiber_t *fiber) { return is_late != NULL && is_late_here(fiber) && !only_late_are_left(); }

static bool is_enabled(const fiber_t *fiber) {
    if (!fiber->exists || fiber->done || (fiber->blocked && spin_is_blocked(index_of(fiber)))) return false;
    if (is_held_up(fiber)) return false;
    switch (fiber->op) {
    case OP_PARKED: return fiber->woken || fiber->deadline <= now;
    case OP_LOCK: return *(const uint32_t *)fiber->address == 0;
    case OP_UNTIL: return *(const uint32_t *)fiber->address >= fiber->awaited;
    case OP_UNTIL_ASLEEP: return is_asleep(&fibers[fiber->awaited]);
    case OP_MEMBARRIER_END: return model->is_enabled(index_of(fiber));
    default: return true;
    }
}

static int64_t next_deadline(void) {
    int64_t first = INT64_MAX;
    for (int i = 0; i < fiber_count; i++) {
        const fiber_t *fiber = &fibers[i];
        bool sleeps = !fiber->done && fiber->op == OP_PARKED && !fiber->woken && fiber->deadline > now;
        if (sleeps && fiber->deadline < first && !is_held_up(fiber)) first = fiber->deadline;
    }
    return first;
}

/* Who reads the clock again and again goes on when time passes. */
static bool somebody_reads_the_clock(void) {
    for (int i = 0; i < fiber_count; i++)
        if (spin_is_blocked(i) && spin_reads_clock(i)) return true;
    return false;
}
static bool somebody_spins(void) {
    for (int i = 0; i < fiber_count; i++)
        if (!fibers[i].done && spin_is_blocked(i)) return true;
    return false;
}

/* No time passes while there is something that the memory must do: a schedule could let it pass for ever.
 * What can happen next; the first is to go on with the fiber that ran last. Who yields goes behind all others, and
 * behind what the memory does. */
static int list_choices(int last, choice_t *choices) {
    choice_t memory[2 * MAX_FIBERS];
    int must = model->must(choices), count = must, may = model->may(memory);
    bool preempting = must > 0, goes_on = last >= 0 && is_enabled(&fibers[last]) && !fibers[last].yielded;
    if (goes_on) choices[count++] = (choice_t){ (uint8_t)last, preempting ? COST_PREEMPTION : 0 };
    preempting = preempting || goes_on;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < fiber_count; i++) {
            int f = (last + 1 + i) % fiber_count;
            if ((f == last && goes_on) || !is_enabled(&fibers[f]) || fibers[f].yielded != (round == 1)) continue;
            choices[count++] = (choice_t){ (uint8_t)f, preempting };
        }
        if (count != 0 || may != 0) break;
    }
    bool nobody = count == 0;
    memcpy(choices + count, memory, sizeof *choices * (size_t)may);
    count += may;
    bool jumps = nobody ? somebody_reads_the_clock() : jumps_left > 0;
    if (must == 0 && (next_deadline() != INT64_MAX || jumps)) choices[count++] = (choice_t){ ACTOR_TIME, !nobody };
    if (spurious_left > 0)
        for (int i = 0; i < fiber_count; i++)
            if (!fibers[i].done && fibers[i].op == OP_PARKED && !is_enabled(&fibers[i]))
                choices[count++] = (choice_t){ (uint8_t)(ACTOR_SPURIOUS + i), COST_PREEMPTION };
    return count;
}

static bool clients_done(void) {
    for (int i = 0; i < fiber_count; i++)
        if (!fibers[i].done && !fibers[i].daemon) return false;
    return true;
}

/* With all clients gone, only sleeping helpers are left, and nothing that the memory has to do. */
static bool is_quiet(void) {
    choice_t memory[2 * MAX_FIBERS];
    for (int i = 0; i < fiber_count; i++)
        if (is_enabled(&fibers[i])) return false;
    return model->must(memory) + model->may(memory) == 0;
}

static void perform(int actor, int *last) {
    if (actor >= ACTOR_INTERRUPT || (actor >= ACTOR_BUFFER && actor < ACTOR_TIME)) {
        model->perform(actor);
    } else if (actor >= ACTOR_SPURIOUS) {
        fiber_t *fiber = &fibers[actor - ACTOR_SPURIOUS];
        spurious_left--;
        fiber->woken = true;
        happened(&fiber->chain, (char *)fiber->address + 1, true);
        note(actor, OP_SPURIOUS, fiber->site, fiber->address, 0);
    } else if (actor == ACTOR_TIME) {
        static uint64_t chain;
        if (next_deadline() != INT64_MAX) {
            now = next_deadline();
        } else {
            now += 1000000;
            if (jumps_left > 0) jumps_left--;
        }
        chain = (uint64_t)now;
        turns_clock();
        happened(&chain, &time_cell, true);
        note(actor, OP_TIME, "", NULL, (uint64_t)now);
    } else {
        fiber_t *fiber = &fibers[actor];
        for (int i = 0; somebody_yielded && i < fiber_count; i++) fibers[i].yielded = false;
        somebody_yielded = false;
        if (fiber->op == OP_PARKED) fiber->timed_out = !fiber->woken;
        if (fiber->op == OP_START) stepped(fiber, OP_START);
        *last = actor;
        if (fiber->blocked) fiber->blocked = false, fiber->reads = 0; /* it may read something else */
        to_fiber(fiber);
        if (fiber->reads >= SPIN_WINDOW && !fiber->done) spin_arrives(fiber);
    }
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

/* Makes memory, time and the kernel's static state what they are when a process begins, and the client's threads. */
static void begin_schedule(const explore_client_t *client, const schedule_t *schedule) {
    if (arena == NULL) {
        arena = malloc(ARENA_SIZE);
        stacks = mmap(NULL, MAX_FIBERS * STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (arena == NULL || stacks == MAP_FAILED) abort();
        memcpy(tls_initial, __start_explore_tls, TLS_SIZE);
    }
    epoch++;
    arena_next = arena;
    freed_count = 0;
    fiber_count = 0;
    current = NULL;
    now = 1000000000;
    spurious_left = client->spurious;
    jumps_left = client->without_time ? 0 : 2;
    membarrier_works = !client->without_membarrier;
    changes_overtake = client->changes_overtake;
    is_late = client->is_late;
    looks = is_late != NULL && !client->without_time;
    failed = given_up = false;
    choices_made = 0;
    choices_known = schedule->known;
    is_fair = somebody_yielded = false;
    turns_begin();
    failure[0] = 0;
    trace_count = 0;
    state_hash = 0;
    memcpy(__start_explore_tls, tls_initial, TLS_SIZE);
    tls_of = NULL;
    kernel_reset_fork();
    kernel_reset_timers();
    kernel_reset_reads();
    kernel_reset_pool();
    kernel_reset_linger();
    kernel_reset_rcu();
    kernel_reset_rcu_readers();
    kernel_reset_rcu_child();
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
    model = schedule->memory == MEMORY_RC11 ? &model_rc11 : &model_sb;
    model->begin(schedule);
    for (int i = 0; i < EXPLORE_THREADS && client->threads[i] != NULL; i++)
        new_fiber(client_thread, (void *)(uintptr_t)&client->threads[i], false);
}

/* Whether a schedule that takes turns is in a cycle, or is still not at its end. */
static bool is_endless(const explore_client_t *client, int step) {
    is_fair = !client->waits_for_nobody && (step >= FAIR_FROM || choices_made >= FAIR_FROM);
    if (is_fair && turns_repeat()) turns_describe_cycle(failure, sizeof failure);
    else if (step >= MAX_STEPS || trace_count >= MAX_STEPS) turns_describe_endless(failure, sizeof failure, step);
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
    if (!failed && result->outcome == OUTCOME_PASSED) outside(client->check);
    if (failed) {
        result->outcome = OUTCOME_FAILED;
        memcpy(result->message, failure, sizeof failure);
    }
    result->steps = step;
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
