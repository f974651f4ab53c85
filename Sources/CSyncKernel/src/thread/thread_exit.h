/* thread_exit.h: what the kernel does when a thread ends, in one fixed order whatever was used first.
 *
 * One pthread key serves all modules. A module enrols the calling thread when it first needs to act at that thread's
 * end. From then on enrolling costs one thread-local test. At the end the functions of all stages run in the order of
 * the stages. Values are destroyed first, since their destructors may still read under RCU. A thread leaves RCU after
 * that.
 *
 * Enrolling is good for one call. A function may use a later stage, or a foreign destructor may enrol a stage
 * afterwards. That stage is enrolled anew, and is called in the same pass or in another one. The system makes
 * PTHREAD_DESTRUCTOR_ITERATIONS passes at most. A thread that was enrolled before it ended counts them. One that is
 * enrolled first by a foreign destructor can't know how many there were: in the last one its functions are not
 * called. */
#ifndef CSK_INTERNAL_THREAD_EXIT_H
#define CSK_INTERNAL_THREAD_EXIT_H

#include "base/platform.h"

/* In the order of the calls. */
typedef enum {
    CSK_THREAD_EXIT_TLS,
    CSK_THREAD_EXIT_RCU,
    CSK_THREAD_EXIT_READS,  /* hands the record of the locks that the thread reads on to others */
    CSK_THREAD_EXIT_WAITS,  /* takes the record of what the thread waits for out of the list */
    CSK_THREAD_EXIT_ORDER,  /* frees the list of what the thread holds */
    CSK_THREAD_EXIT_BLOCKS, /* comes last, since the stages before may have given blocks back */
    CSK_THREAD_EXIT_STAGES
} csk_thread_exit_stage_t;

/* Has `function`, the stage's only one, called when the calling thread ends. It may allocate, so the caller must hold
 * no lock. Returns 0, ENOMEM, EAGAIN (no pthread key left), or ESHUTDOWN when the thread's last pass is over. */
int csk_thread_exit_enroll(csk_thread_exit_stage_t stage, void (*function)(void));

#endif
