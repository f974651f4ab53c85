#include "thread/thread_exit.h"

#include <limits.h>

static _Thread_local struct {
    void (*functions[CSK_THREAD_EXIT_STAGES])(void);
    uint8_t coming;  /* the system will make another pass */
    uint8_t reached; /* during a pass the first stage that it has not begun, so at least 1; otherwise 0 */
    uint8_t passes;  /* made so far */
} mine __attribute__((tls_model("initial-exec")));

static void make_pass(void *unused) {
    (void)unused;
    mine.coming = 0;
    mine.passes++;
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
        if (mine.passes >= PTHREAD_DESTRUCTOR_ITERATIONS) return ESHUTDOWN;
        int error = csk_platform_call_at_thread_end(make_pass);
        if (error != 0) return error;
        mine.coming = 1;
    }
    mine.functions[stage] = function;
    return 0;
}
