/* kernel_pool.c: the kernel's pool.c and the way back to its first state, with no more workers than there are fibers:
 * unless a client wants it none of them ends, and nobody looks again in vain. */
#include <setjmp.h>
#include <string.h>

#include "base/platform.h"
#include "internal.h"

/* What a worker that ends in the middle of a function has pushed, once. */
static _Thread_local struct {
    void (*function)(void *);
    void *context;
    jmp_buf *end;
} cleanup;
#undef pthread_cleanup_push
#define pthread_cleanup_push(pushed, with) \
    {                                      \
        cleanup.function = (pushed), cleanup.context = (with)

#define csk_platform_park kernel_park_counted
/* A worker whose first spinning was in vain spins every other time. */
#define CSK_SPIN_LIMITS
enum { CSK_SPIN_VAIN = 1, CSK_SPIN_SKIPS = 2, CSK_SPIN_SKIPS_LONG = 2 };
#include "pool/pool.c"
#undef csk_platform_park

#include "explorer.h"

/* For clients: how many workers have ended. */
uint32_t kernel_workers_ended;

/* As pthread_exit: the C library's handlers run, and no frame is returned to. */
void kernel_end_worker(void) {
    cleanup.function(cleanup.context);
    longjmp(*cleanup.end, 1);
}

EXPLORE_UNSEEN static void run_counted(void *context) {
    jmp_buf end;
    cleanup.end = &end;
    if (setjmp(end) == 0) run_worker(context);
    explore_set(&kernel_workers_ended, kernel_workers_ended + 1);
}

enum { FIBERS = 32 };
static uint32_t timeouts_in_a_row[FIBERS];

/* A worker whose time is over again and again was called by somebody who has yet to wake it: a schedule may let time
 * pass instead for ever. */
int kernel_park_counted(uint32_t *word, uint32_t expected, int64_t deadline_ns) {
    enum { MANY = 20 };
    uint32_t *count = &timeouts_in_a_row[explore_thread() % FIBERS];
    int status = csk_platform_park(word, expected, *count < MANY ? deadline_ns : CSK_NEVER);
    *count = status == ETIMEDOUT ? *count + 1 : 0;
    return status;
}

void kernel_reset_pool(void) {
    csk_pool = (csk_pool_state_t){
        .most = 5, .idle_ns = INT64_MAX, .resigned_ns = INT64_MAX, .look_ns = INT64_MAX, .work = run_counted
    };
    csk_announced_count = 0;
    csk_pool_process = (struct csk_pool_process){ .ready = 0 };
    kernel_workers_ended = 0;
    memset(timeouts_in_a_row, 0, sizeof timeouts_in_a_row);
}

/* For clients: no more than so many workers run at once, but for those that have said that they wait. The system says
 * of all that they run. */
void kernel_limit_pool(uint32_t most) { csk_pool.most = most; }

/* For clients: as if so many items had been taken, and with workers that end when nobody has needed them for
 * `idle_ns`. */
void kernel_prepare_pool(uint64_t taken, int64_t idle_ns) {
    csk_pool.taken = taken;
    csk_pool.idle_ns = idle_ns;
}
