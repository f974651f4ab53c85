#include "thread/thread_exit.h"

#include <limits.h>

static _Thread_local struct {
    void (*functions[CSK_THREAD_EXIT_STAGES])(void);
    uint8_t coming;  /* the system will make another pass */
    uint8_t reached; /* during a pass the first stage that it has not begun, so at least 1; otherwise 0 */
    uint8_t passes;  /* that have begun */
} mine __attribute__((tls_model("initial-exec")));

/* ThreadSanitizer takes a thread's state away in the last pass, and dies of what is called after that. */
enum { PASSES = PTHREAD_DESTRUCTOR_ITERATIONS - CSK_UNDER_TSAN };

/* It takes part in every pass, whether a stage needs that or not. So it is known which is the last: a stage that is
 * enrolled behind that would never be called. */
static void make_pass(void *unused) {
    (void)unused;
    mine.coming = ++mine.passes < PASSES && csk_platform_call_at_thread_end(make_pass) == 0;
    for (int stage = 0; stage < CSK_THREAD_EXIT_STAGES; stage++) {
        mine.reached = (uint8_t)(stage + 1);
        void (*function)(void) = mine.functions[stage];
        mine.functions[stage] = NULL;
        if (function != NULL) function();
    }
    mine.reached = 0;
}

int csk_thread_exit_enroll(csk_thread_exit_stage_t stage, void (*function)(void)) {
    if (CSK_LIKELY(mine.functions[stage] != NULL)) return 0;
    bool this_pass_gets_there = mine.reached != 0 && (uint8_t)stage >= mine.reached;
    if (!this_pass_gets_there && !mine.coming) {
        if (mine.passes != 0) return ESHUTDOWN;
        int error = csk_platform_call_at_thread_end(make_pass);
        if (error != 0) return error;
        mine.coming = 1;
    }
    mine.functions[stage] = function;
    return 0;
}
