/* fork_refused_test.c: the system has no memory to remember the fork handlers when the library is loaded: whoever first
 * needs them asks again, and is told when they are refused once more. Nothing is started that a child could not make
 * anew. */
#include "child.h"

#include <csynckernel/csynckernel.h>

/* This program's own, in front of the C library's. */
static uint32_t refusals = 1000, asked;

#ifdef __GLIBC__
extern void *__dso_handle;
int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);
static int at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    return __register_atfork(prepare, parent, child, &__dso_handle);
}
#else
#include <dlfcn.h>
static int at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    int (*next)(void (*)(void), void (*)(void), void (*)(void));
    *(void **)&next = dlsym(RTLD_NEXT, "pthread_atfork");
    return next(prepare, parent, child);
}
#endif

int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    ADD(&asked, 1);
    if (LOAD(&refusals) != 0) {
        ADD(&refusals, -1);
        return ENOMEM;
    }
    return at_fork(prepare, parent, child);
}

static uint32_t fired, ran;
static csk_timer_t timer;
static csk_workqueue_t queue;
static csk_work_t work;

static void fire(csk_timer_t *fires, void *context) {
    (void)fires, (void)context;
    ADD(&fired, 1);
}

static void run(csk_work_t *runs, int status) {
    (void)runs;
    CHECK_STATUS(status, 0);
    ADD(&ran, 1);
}

static void use_both(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_timer_start(&timer, csk_now(), fire, NULL), 0);
    wait_until(LOAD(&fired) == 1);
    CHECK_STATUS(csk_workqueue_enqueue(&queue, &work, run), 0);
    wait_until(LOAD(&ran) == 1);
    STORE(&fired, 0);
    STORE(&ran, 0);
}

static void refused_handlers_are_asked_for_again(void) {
    csk_rwlock_t lock = CSK_RWLOCK_INITIALIZER;
    uint32_t before = LOAD(&asked), modules = 2;
    CHECK_GE(before, 1); /* when it was loaded */
    STORE(&refusals, 1);
    modules = 3;
    CHECK_STATUS(csk_rcu_prepare(), ENOMEM); /* a child would count on the parent's reclaiming thread */
    CHECK_EQ(LOAD(&refusals), 0);
    STORE(&refusals, 1);
    CHECK_STATUS(csk_timer_start(&timer, csk_now(), fire, NULL), ENOMEM);
    CHECK_EQ(LOAD(&refusals), 0);
    CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    CHECK_EQ(LOAD(&asked), before + modules);
    use_both(NULL);
    CHECK_EQ(LOAD(&asked), before + modules); /* and never again */
#ifdef __SANITIZE_THREAD__
    printf("no child under ThreadSanitizer; ");
    return;
#endif
    in_a_child(use_both, NULL);
}

TEST_MAIN(TEST(refused_handlers_are_asked_for_again))
