/* mutex_test.c: recursion, ownership, deadlines, and destroying a mutex as soon as it is unlocked. */
#include <csynckernel/csynckernel.h>

#include "test.h"

static void *is_refused(void *mutex) {
    CHECK_STATUS(csk_mutex_unlock(mutex), EPERM);
    CHECK_STATUS(csk_mutex_trylock(mutex), EBUSY);
    int64_t deadline = csk_deadline_after(2000000);
    CHECK_STATUS(csk_mutex_timedlock(mutex, deadline), ETIMEDOUT);
    CHECK_GE(csk_now(), deadline);
    return NULL;
}

static void levels_and_owner(void) {
    csk_mutex_t mutex = CSK_MUTEX_INITIALIZER;
    CHECK_STATUS(csk_mutex_unlock(&mutex), EPERM);
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    CHECK_STATUS(csk_mutex_trylock(&mutex), 0);
    CHECK_STATUS(csk_mutex_timedlock(&mutex, 0), 0);
    for (int level = 3; level > 0; level--) {
        CHECK_STATUS(csk_mutex_destroy(&mutex), EBUSY);
        join_thread(start_thread(is_refused, &mutex));
        CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
    }
    CHECK_STATUS(csk_mutex_unlock(&mutex), EPERM);
    CHECK_STATUS(csk_mutex_destroy(&mutex), 0);
    CHECK_STATUS(csk_mutex_init(&mutex), 0);
    CHECK_STATUS(csk_mutex_trylock(&mutex), 0);
    CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
}

enum { THREADS = 8 };
static struct {
    csk_mutex_t mutex;
    long count;
} shared;

static void *count(void *rounds) {
    for (long i = 0; i < (long)(intptr_t)rounds; i++) {
        CHECK_STATUS(csk_mutex_lock(&shared.mutex), 0);
        CHECK_STATUS(csk_mutex_lock(&shared.mutex), 0);
        shared.count++;
        CHECK_STATUS(csk_mutex_unlock(&shared.mutex), 0);
        CHECK_STATUS(csk_mutex_unlock(&shared.mutex), 0);
    }
    return NULL;
}

static void one_at_a_time(void) {
    intptr_t rounds = TEST_ROUNDS(100000);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) threads[i] = start_thread(count, (void *)rounds);
    for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
    CHECK_EQ(shared.count, THREADS * rounds);
}

/* The classical case of POSIX: whoever takes the last reference frees the mutex right after its own unlock, while
 * another thread's unlock may not have returned. Under AddressSanitizer a late access is an error. */
struct counted {
    csk_mutex_t mutex;
    int references;
};

static void *drop_reference(void *context) {
    struct counted *object = context;
    CHECK_STATUS(csk_mutex_lock(&object->mutex), 0);
    int left = --object->references;
    CHECK_STATUS(csk_mutex_unlock(&object->mutex), 0);
    if (left == 0) {
        CHECK_STATUS(csk_mutex_destroy(&object->mutex), 0);
        memset(object, 0xA5, sizeof *object);
        free(object);
    }
    return NULL;
}

static void it_may_be_freed_as_soon_as_it_is_unlocked(void) {
    for (int round = 0; round < TEST_ROUNDS(4000); round++) {
        struct counted *object = calloc(1, sizeof *object);
        object->references = 4;
        pthread_t threads[4];
        CHECK_STATUS(csk_mutex_lock(&object->mutex), 0);
        for (int i = 0; i < 4; i++) threads[i] = start_thread(drop_reference, object);
        if (round % 2 == 0) wait_until(csk_gate_waiting(&object->mutex.gate) >= 2);
        CHECK_STATUS(csk_mutex_unlock(&object->mutex), 0);
        for (int i = 0; i < 4; i++) join_thread(threads[i]);
    }
}

TEST_MAIN(TEST(levels_and_owner), TEST(one_at_a_time), TEST(it_may_be_freed_as_soon_as_it_is_unlocked))
