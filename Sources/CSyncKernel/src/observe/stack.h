/* stack.h: the calling thread's call stack, followed by its frame pointers. It allocates nothing and takes no lock.
 *
 * A frame is two words: the frame of the caller, and the address to return to. Only memory of the thread's own stack is
 * read: from the first frame up to the thread pointer, which the C libraries place above the frames, or up to the name
 * of the program, which stands above those of the main thread. Elsewhere (on a stack of a program's own making) only
 * the page of the first frame is read. Code without frame pointers ends the stack, or is left out of it: whatever it
 * keeps in that register is a frame only where it lies higher on the same stack.
 *
 * A task of Swift that is suspended has no frames. It has a chain of contexts on the heap, one for each async function,
 * which begin with the context of the function that awaits it, and with the code that goes on there. They are read by a
 * call of the system, which fails where there is no memory. Frames don't show contexts: the stack of a thread that runs
 * an async function ends with the innermost one. */
#ifndef CSK_INTERNAL_STACK_H
#define CSK_INTERNAL_STACK_H

#include "base/platform.h"

enum { CSK_STACK_DEPTH = 32 };

typedef struct csk_stack {
    uint32_t depth;
    uintptr_t frames[CSK_STACK_DEPTH]; /* return addresses, the innermost first */
} csk_stack_t;

/* The frames of the caller of the function that calls this one, and of theirs. */
void csk_stack_take(csk_stack_t *stack);
/* The async functions that wait for each other, from a context on. */
void csk_stack_take_suspended(csk_stack_t *stack, const void *context);

#endif
