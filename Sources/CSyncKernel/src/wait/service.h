/* service.h: what a process starts once, at its first use: a thread of the library's (timers, supervisor, watchdog,
 * RCU), or the first worker of the pool.
 *
 * service.word has the mark of a process (fork.h), and in its lowest two bits
 *   NONE       The next caller starts it. Zero-filled memory says so, and the word of another process.
 *   STARTING   One caller starts it. Others park on the word until that one knows what became of it.
 *   RUNS       It runs, for as long as the process.
 *
 *   from       to         by                   how
 *   NONE       STARTING   the first caller     compare-and-swap, so there is one
 *   STARTING   RUNS       the one that starts  store, then a wake of all that are parked
 *   STARTING   NONE       the same, refused    the same: each of the others tries for itself, and returns its own error
 *   any        RUNS       the thread itself, in a child that a function on it has forked: csk_service_goes_on
 *
 * All accesses are relaxed. The word says that there is a thread, and nothing is read that this thread has written
 * before it said so: what they hand to each other has orders of its own. So has what one that starts it writes for it:
 * a refused thread may have written the same. In a child the mark alone makes the parent's word NONE, also where the
 * thread that was starting it is not in the child to say what became of it. */
#ifndef CSK_INTERNAL_SERVICE_H
#define CSK_INTERNAL_SERVICE_H

#include "thread/fork.h"

enum { SERVICE_NONE = 0, SERVICE_STARTING = 1, SERVICE_RUNS = 2, SERVICE_STATES = 3 };

typedef struct csk_service {
    uint32_t word;
} csk_service_t;

static inline bool csk_service_runs(const csk_service_t *service) {
    return csk_load(&service->word, CSK_RELAXED) == (csk_process_mark() | SERVICE_RUNS);
}

/* Returns 0 when it runs; EINPROGRESS when the caller is to start it, and to end with csk_service_end; or ENOMEM, where
 * forks can't be handled. May park while another thread starts it. Called without an internal lock, but for the first
 * clock in a child of fork (queue_lock.h): starting a thread needs no lock of an object. */
int csk_service_begin(csk_service_t *service);
/* Says what became of it, 0 or an error, and returns that. */
int csk_service_end(csk_service_t *service, int error);
/* Both, for a thread. Returns 0, EAGAIN or ENOMEM. */
int csk_service_start(csk_service_t *service, const csk_lasting_thread_t *thread);

/* Called at a fork, in the child, by the thread itself. */
static inline void csk_service_goes_on(csk_service_t *service) { service->word = csk_process_mark() | SERVICE_RUNS; }

#endif
