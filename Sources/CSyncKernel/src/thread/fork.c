#include "thread/fork.h"

struct csk_process csk_process = { .epoch = 1 };

static csk_fork_functions_t stages[CSK_FORK_STAGES];
static uint32_t is_handled; /* relaxed: the system has the handlers, and nothing of ours follows from it */

/* Which stages take part in the fork that the calling thread is in. Several threads may fork at once. Threads that were
 * refused before may register the handlers at the same moment, and so twice. FORKS makes one of the two registrations
 * do nothing. */
static const uint32_t FORKS = UINT32_C(1) << 31;
static _Thread_local uint32_t taking_part __attribute__((tls_model("initial-exec")));

static void before_fork(void) {
    if (taking_part & FORKS) return;
    taking_part = FORKS;
    for (int stage = CSK_FORK_STAGES; stage-- > 0;) {
        const csk_fork_functions_t *functions = &stages[stage];
        if (functions->in_child == NULL) continue;
        taking_part |= UINT32_C(1) << stage;
        if (functions->prepare != NULL) functions->prepare();
    }
}

static void after_fork_in_parent(void) {
    for (int stage = CSK_FORK_STAGES; stage-- > 0;)
        if ((taking_part & UINT32_C(1) << stage) && stages[stage].in_parent != NULL) stages[stage].in_parent();
    taking_part = 0;
}

static void after_fork_in_child(void) {
    if (!(taking_part & FORKS)) return;
    /* Handlers are inherited, although the thread that has just registered them may not be in the child to say so. */
    is_handled = 1;
    csk_process.epoch = (csk_process.epoch & UINT32_MAX >> 2) + 1;
    csk_process.mark = (csk_process.epoch - 1) << 2;
    for (int stage = 0; stage < CSK_FORK_STAGES; stage++)
        if (taking_part & UINT32_C(1) << stage) stages[stage].in_child();
    taking_part = 0;
}

int csk_fork_handled(void) {
    if (CSK_LIKELY(csk_load(&is_handled, CSK_RELAXED) != 0)) return 0;
    int error = csk_platform_call_at_fork(before_fork, after_fork_in_parent, after_fork_in_child);
    if (error == 0) csk_store(&is_handled, 1u, CSK_RELAXED);
    return error;
}

void csk_fork_enroll(csk_fork_stage_t stage, const csk_fork_functions_t *functions) { stages[stage] = *functions; }

/* This runs when the library is loaded: no thread can be in the middle of anything yet. */
__attribute__((constructor(101))) static void begin(void) { csk_fork_handled(); }
