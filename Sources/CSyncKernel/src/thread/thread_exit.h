/* thread_exit.h: what the kernel does when a thread ends, in one fixed order whatever was used first.
 *
 * One pthread key serves all modules. A module enrols the calling thread when it first needs to hear of its end, which costs one
 * thread-local test from then on. At the end the functions of all stages run in the order of the stages: values are destroyed
 * first, since their destructors may still read under RCU; a thread leaves RCU after that.
 *
 * Enrolling is good for one call. A function that uses a later stage, or a stage that is enrolled by somebody else's
 * destructor afterwards, enrols anew and is called in the same pass or in another one. The system makes
 * PTHREAD_DESTRUCTOR_ITERATIONS passes at most. */
#ifndef CSK_INTERNAL_THREAD_EXIT_H
#define CSK_INTERNAL_THREAD_EXIT_H

#include "base/platform.h"

/* In the order of the calls. */
typedef enum {
    CSK_THREAD_EXIT_TLS,
    CSK_THREAD_EXIT_RCU,
    CSK_THREAD_EXIT_READS, /* the record of locks that it reads goes to others */
    CSK_THREAD_EXIT_BLOCKS, /* what the stages before may have given back */
    CSK_THREAD_EXIT_STAGES
} csk_thread_exit_stage_t;

/* Calls `function`, the stage's only one, when the calling thread ends. May allocate: hold no lock.
 * 0, ENOMEM, EAGAIN (no pthread key left), or ESHUTDOWN when the thread's last pass is over. */
int csk_thread_exit_enroll(csk_thread_exit_stage_t stage, void (*function)(void));

#endif
