/* pthread_explored.c: pthread mutexes and condition variables, as hooks.h has them in the kernel's sources. The first
 * word of a mutex tells whether it is held; its owner is the explorer's business alone. */
#include "run.h"

#include "hooks.h"
#include "internal.h"
#include "spin.h"

int explore_mutex_lock(pthread_mutex_t *mutex, const char *site) {
    uint32_t *word = (uint32_t *)mutex;
    if (current != NULL) {
        point(OP_LOCK, mutex, site);
        run.model->system_call();
        check_alive(mutex, site);
        happened(&current->chain, mutex, true);
        spin_changes();
        run.model->locked(mutex);
        note(index_of(current), OP_LOCK, site, mutex, 1);
    }
    *word = 1;
    return 0;
}

int explore_mutex_trylock(pthread_mutex_t *mutex, const char *site) {
    uint32_t *word = (uint32_t *)mutex;
    if (current != NULL) {
        point(OP_CAS, mutex, site);
        run.model->system_call();
        check_alive(mutex, site);
        happened(&current->chain, mutex, *word == 0);
        if (*word == 0) spin_changes();
        else spin_reads(SPIN_MUTEX, mutex, core_written(mutex), 1);
        note(index_of(current), OP_CAS, site, mutex, 1);
    }
    if (*word != 0) return EBUSY;
    *word = 1;
    if (current != NULL) run.model->locked(mutex);
    return 0;
}

int explore_mutex_unlock(pthread_mutex_t *mutex, const char *site) {
    uint32_t *word = (uint32_t *)mutex;
    if (current != NULL) {
        point(OP_RMW, mutex, site);
        run.model->system_call();
        check_alive(mutex, site);
        happened(&current->chain, mutex, true);
        spin_changes();
        run.model->unlocking(mutex);
        note(index_of(current), OP_RMW, site, mutex, 0);
    }
    *word = 0;
    return 0;
}

int explore_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline, const char *site) {
    /* Unlocking and falling asleep are one step: a signal in between would be lost otherwise. */
    happened(&current->chain, mutex, true);
    happened(&current->chain, (char *)condition + 1, true);
    run.model->unlocking(mutex);
    *(uint32_t *)mutex = 0;
    int status = sleep_on(condition, deadline, site);
    explore_mutex_lock(mutex, site);
    return status;
}

int explore_cond_wake(pthread_cond_t *condition, int count, const char *site) {
    core_wake(condition, count, site);
    return 0;
}
