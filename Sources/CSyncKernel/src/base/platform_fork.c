/* platform_fork.c: calls at a fork, and what a C library other than glibc leaves undone there.
 *
 * When a thread ends, Linux clears a word of the C library's that the thread was started with. musl's word is the lock
 * of its list of threads: a thread that ends takes that lock, and Linux opens it. A child of fork has no such word. So
 * with musl up to 1.2.3, where the thread that forked ends in the child and others go on, the lock stays taken, and the
 * next thread that begins or ends waits for ever. Here the child names the word that its thread had before the fork. A
 * C library that handles this itself has named the same one. Where Linux doesn't say which word that was, since it was
 * built without CONFIG_CHECKPOINT_RESTORE, nothing is done. */
#include "base/platform.h"

#ifdef __GLIBC__

int csk_platform_call_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    return pthread_atfork(prepare, parent, child);
}

#else

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void (*call_before)(void), (*call_in_child)(void);
static _Thread_local int *cleared_at_end __attribute__((tls_model("initial-exec")));

static void before_fork(void) {
    int saved = errno;
    if (prctl(PR_GET_TID_ADDRESS, &cleared_at_end) != 0) cleared_at_end = NULL;
    errno = saved;
    call_before();
}

static void in_child(void) {
    if (cleared_at_end != NULL) syscall(SYS_set_tid_address, cleared_at_end);
    call_in_child();
}

int csk_platform_call_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    /* Two threads that were refused before may be here at once, with the same functions. */
    csk_store(&call_before, prepare, CSK_RELAXED);
    csk_store(&call_in_child, child, CSK_RELAXED);
    return pthread_atfork(before_fork, parent, in_child);
}

#endif
