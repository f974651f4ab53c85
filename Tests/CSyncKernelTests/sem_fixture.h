/* sem_fixture.h: what tests of semaphores begin and end with. */
#ifndef CSK_SEM_FIXTURE_H
#define CSK_SEM_FIXTURE_H

#include <csynckernel/csynckernel.h>

#include "ranks.h"
#include "test.h"

/* So many permits are there, and nobody waits: it is over. */
static inline void check_idle(csk_sem_t *sem, int32_t permits) {
    CHECK_EQ(csk_sem_waiting(sem), 0);
    CHECK_EQ(csk_sem_permits(sem), permits);
    CHECK_STATUS(csk_sem_destroy(sem), 0);
}

#endif
