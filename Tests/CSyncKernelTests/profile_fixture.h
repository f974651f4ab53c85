/* profile_fixture.h: five places, each with an object of another kind, at which threads meet. */
#ifndef CSK_PROFILE_FIXTURE_H
#define CSK_PROFILE_FIXTURE_H

#include <csynckernel/csynckernel.h>

#include "base/platform.h"
#include "test.h"

enum { PLACES = 5 };

static csk_gate_t gate = CSK_GATE_INITIALIZER;
static csk_gate_t strict;
static csk_mutex_t mutex = CSK_MUTEX_INITIALIZER;
static csk_sem_t sem;
static csk_rwlock_t rwlock;
static int64_t truth_ns[PLACES]; /* by clocks around the calls */
static int64_t held_ns = 200000;
static int holders, stay;
static const char strict_name[] = "the strict one";

static inline void make_objects(void) {
    csk_gate_attr_t attr = { .policy = CSK_GATE_STRICT };
    CHECK_STATUS(csk_gate_init(&strict, &attr), 0);
    CHECK_STATUS(csk_name(&strict, strict_name), 0);
    CHECK_STATUS(csk_sem_init(&sem, 1, 1), 0);
    CHECK_STATUS(csk_rwlock_init(&rwlock, NULL), 0);
}

static inline void hold(void) {
    ADD(&holders, 1);
    wait_until(!LOAD(&stay));
    int64_t until_ns = csk_platform_now() + held_ns;
    while (csk_platform_now() < until_ns) csk_platform_park(&(uint32_t){ 0 }, 0, until_ns);
    ADD(&holders, -1);
}

/* Functions that aren't inlined, and whose last step isn't a jump into the library, which would leave them out of the
 * stack of whoever leaves. */
#define PLACE(number, enter, leave)                                                             \
    __attribute__((noinline)) void place_##number(void);                                        \
    void place_##number(void) {                                                                 \
        int64_t since_ns = csk_platform_now();                                                  \
        CHECK_STATUS(enter, 0);                                                                 \
        __atomic_fetch_add(&truth_ns[number], csk_platform_now() - since_ns, __ATOMIC_RELAXED); \
        hold();                                                                                 \
        CHECK_STATUS(leave, 0);                                                                 \
    }
PLACE(0, csk_gate_lock(&gate, 0), csk_gate_unlock(&gate))
PLACE(1, csk_gate_lock(&strict, 7), csk_gate_unlock(&strict))
PLACE(2, csk_mutex_lock(&mutex), csk_mutex_unlock(&mutex))
PLACE(3, csk_sem_wait(&sem, -7, 1), csk_sem_post(&sem, 1))
PLACE(4, csk_rwlock_wrlock(&rwlock), csk_rwlock_unlock(&rwlock))

static void (*const places[PLACES])(void) = { place_0, place_1, place_2, place_3, place_4 };

static inline void *visit_one(void *place) {
    places[*(int *)place]();
    return NULL;
}
static inline uint32_t waiting_at(int place) {
    csk_gate_t *const gates[] = { &gate, &strict, &mutex.gate };
    return place < 3    ? csk_gate_waiting(gates[place])
           : place == 3 ? csk_sem_waiting(&sem)
                        : csk_rwlock_waiting(&rwlock);
}

/* A thread holds the place for `held_ns` once another one waits for it. */
static inline void meet_at(int place) {
    pthread_t threads[2];
    STORE(&stay, 1);
    threads[0] = start_thread(visit_one, &place);
    wait_until(LOAD(&holders) == 1);
    truth_ns[place] = 0;
    threads[1] = start_thread(visit_one, &place);
    wait_until(waiting_at(place) == 1);
    STORE(&stay, 0);
    for (int thread = 0; thread < 2; thread++) join_thread(threads[thread]);
}

#endif
