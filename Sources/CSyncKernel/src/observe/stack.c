/* stack.c: see stack.h. */
#include "observe/stack.h"

#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static const uintptr_t page = 4096, highest_stack = (uintptr_t)8 << 20;

typedef struct {
    uintptr_t caller, code;
} link_t;

/* The end of what may be read of the stack that `frame` is on. */
static uintptr_t end_of_stack(uintptr_t frame) {
    uintptr_t thread = (uintptr_t)CSK_THREAD_POINTER(), program = (uintptr_t)getauxval(AT_EXECFN);
    if (thread > frame && thread - frame <= highest_stack) return thread;
    if (thread < frame && program > frame && program - frame <= highest_stack) return program;
    return (frame | (page - 1)) + 1;
}

static bool read_context(uintptr_t address, link_t *context) {
    struct iovec here = { .iov_base = context, .iov_len = sizeof *context };
    struct iovec there = { .iov_base = (void *)address, .iov_len = sizeof *context };
    if (address == 0 || address % sizeof(uintptr_t) != 0) return false;
    int saved = errno;
    long got = syscall(SYS_process_vm_readv, (long)getpid(), &here, 1L, &there, 1L, 0L);
    errno = saved;
    return got == (long)sizeof *context;
}

static void append(csk_stack_t *stack, uintptr_t code) { stack->frames[stack->depth++] = code; }

void csk_stack_take_suspended(csk_stack_t *stack, const void *context) {
    link_t link = { .caller = (uintptr_t)context };
    stack->depth = 0;
    while (stack->depth < CSK_STACK_DEPTH && read_context(link.caller, &link) && link.code != 0)
        append(stack, link.code + 1); /* it goes on at the first byte of a function, and didn't return there */
}

__attribute__((noinline, no_sanitize("address", "thread"))) void csk_stack_take(csk_stack_t *stack) {
    const uintptr_t *frame = __builtin_frame_address(0);
    uintptr_t end = end_of_stack((uintptr_t)frame);
    stack->depth = 0;
    /* The first is the caller's frame, whose return address is the first that counts. */
    for (bool is_own = true; stack->depth < CSK_STACK_DEPTH; is_own = false) {
        uintptr_t caller = frame[0], code = frame[1];
        if (code == 0) return;
        if (!is_own) append(stack, code);
        bool is_frame = caller % sizeof(uintptr_t) == 0 && caller > (uintptr_t)frame && caller < end - sizeof(link_t);
        if (!is_frame) return;
        frame = (const uintptr_t *)caller;
    }
}
