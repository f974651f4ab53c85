/* fibers.c: the threads of a schedule. Each is a fiber with a stack, with its thread-local variables, and with what it
 * does when it ends. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "hooks.h"
#include "internal.h"

enum { STACK_SIZE = 64 << 10 };

fiber_t fibers[MAX_FIBERS];
fiber_t *current;
int fiber_count;
static void *scheduler_sp;
static char *stacks;

extern char __start_explore_tls[], __stop_explore_tls[];
static char tls_initial[TLS_MAX];
static fiber_t *tls_of; /* whose thread-local variables stand in the section; NULL: nobody's */
#define TLS_SIZE ((size_t)(__stop_explore_tls - __start_explore_tls))

static void keep_tls(void) {
    if (tls_of != NULL) memcpy(tls_of->tls, __start_explore_tls, TLS_SIZE);
}

void fibers_begin(void) {
    if (stacks == NULL) {
        if (TLS_SIZE > TLS_MAX) {
            fprintf(stderr, "the kernel's thread-local variables take %zu bytes, over TLS_MAX\n", TLS_SIZE);
            abort();
        }
        stacks = mmap(NULL, MAX_FIBERS * STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (stacks == MAP_FAILED) abort();
        memcpy(tls_initial, __start_explore_tls, TLS_SIZE);
    }
    fiber_count = 0;
    current = NULL;
    fibers_end();
}

void fibers_end(void) {
    keep_tls();
    memcpy(__start_explore_tls, tls_initial, TLS_SIZE);
    tls_of = NULL;
}

/* ---- Switching --------------------------------------------------------------------------------------------------- */

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

/* A switch is the last thing that its caller does: the processor predicts no return to another stack. */
void to_scheduler(void) {
    fiber_t *fiber = current;
    current = NULL;
    explore_switch(&fiber->sp, scheduler_sp);
}

void point(enum op op, const void *address, const char *site) {
    current->op = op;
    current->address = (void *)address;
    current->site = site;
    to_scheduler();
}

/* A fiber that goes on finds its thread-local variables in the section still: most do. */
void to_fiber(fiber_t *fiber) {
    if (tls_of != fiber) {
        keep_tls();
        memcpy(__start_explore_tls, fiber->tls, TLS_SIZE);
        tls_of = fiber;
    }
    current = fiber;
    explore_switch(&scheduler_sp, fiber->sp);
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

const void *core_stack_end(const fiber_t *fiber) { return stacks + (size_t)(index_of(fiber) + 1) * STACK_SIZE; }

const fiber_t *fiber_on_stack(const void *address) {
    const char *byte = address;
    if (byte < stacks || byte >= stacks + (size_t)fiber_count * STACK_SIZE) return NULL;
    return &fibers[(byte - stacks) / STACK_SIZE];
}

fiber_t *new_fiber(void (*body)(void *), void *context, bool daemon) {
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
    void **top = (void **)((char *)core_stack_end(fiber) - 64 - 320 * index_of(fiber));
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
    run.model->thread_begins(index_of(fiber));
    return fiber;
}

/* ---- What belongs to a thread ------------------------------------------------------------------------------------ */

void *explore_self(void) {
    return (void *)(uintptr_t)(current != NULL ? 0x1000 * (uintptr_t)(index_of(current) + 1) : 0x100000);
}

int explore_thread(void) { return current != NULL ? index_of(current) : -1; }

bool explore_is_own(int thread, const void *word) { return fiber_on_stack(word) == &fibers[thread]; }

bool is_thread_local(const void *address) {
    const char *byte = address;
    return byte >= __start_explore_tls && byte < __stop_explore_tls;
}

const void *core_tls(const fiber_t *fiber, const void **end) {
    const char *begin = fiber == tls_of ? __start_explore_tls : fiber->tls;
    *end = begin + (TLS_SIZE & ~(size_t)7);
    return begin;
}
