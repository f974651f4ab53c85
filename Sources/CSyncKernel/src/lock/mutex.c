#include "csynckernel/mutex.h"

#include "base/ordering.h"
#include "lock/gate_queue.h"

static const csk_rank_t only_rank = (csk_rank_t)CSK_PLACE_BACK;

int csk_mutex_init(csk_mutex_t *mutex) {
    csk_gate_attr_t attr = { .policy = CSK_GATE_COMPACT };
    csk_cannot_fail(csk_gate_init(&mutex->gate, &attr));
    /* Its inline paths don't ask for the form. An ordered one keeps them out from here on. */
    if (csk_current_ordering() != NULL) csk_mutex_prepare(&mutex->gate);
    return 0;
}

int csk_mutex_destroy(csk_mutex_t *mutex) { return csk_gate_destroy(&mutex->gate); }

/* A zero-filled mutex is a gate whose form is undecided. This decides the form. */
void csk_mutex_prepare(csk_gate_t *gate) {
    /* Relaxed: a thread that goes on by the form comes to csk_gate_prepare, or takes the queue lock. */
    if (CSK_LIKELY(csk_load(&gate->summary, CSK_RELAXED) != 0)) return;
    csk_gate_set_form(gate, GATE_ONE_WORD);
}

int csk_mutex_lock_slow(csk_mutex_t *mutex, int64_t deadline_ns) {
    csk_mutex_prepare(&mutex->gate);
    return csk_gate_lock_recursive_slow(&mutex->gate, only_rank, deadline_ns);
}

int csk_mutex_trylock(csk_mutex_t *mutex) {
    if (csk_gate_is_mine(&mutex->gate)) return csk_mutex_lock(mutex);
    csk_mutex_prepare(&mutex->gate);
    return csk_gate_trylock_recursive_slow(&mutex->gate, only_rank);
}

int csk_mutex_unlock_slow(csk_mutex_t *mutex) {
    csk_mutex_prepare(&mutex->gate);
    return csk_gate_unlock_recursive_slow(&mutex->gate);
}
