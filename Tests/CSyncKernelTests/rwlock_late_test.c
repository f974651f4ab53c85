/* rwlock_late_test.c: a thread that was told to try for the read-write lock is in a handler of a signal, and does not
 * come. Those that stand behind it enter meanwhile, after a second. */
#include "csynckernel/rwlock.h"
#include "late.h"

static csk_rwlock_t lock;
static uint32_t entered;
static uint32_t order[4];

typedef struct {
    pthread_t thread;
    bool writes;
    uint32_t number;
    int32_t thread_id;
} waiter_t;

static void *enters(void *argument) {
    waiter_t *waiter = argument;
    STORE(&waiter->thread_id, csk_platform_thread_id());
    CHECK_STATUS(waiter->writes ? csk_rwlock_wrlock(&lock) : csk_rwlock_rdlock(&lock), 0);
    order[ADD(&entered, 1) - 1] = waiter->number;
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    return NULL;
}
static void start(waiter_t *waiter, uint32_t number, bool writes) {
    *waiter = (waiter_t){ .writes = writes, .number = number };
    CHECK_STATUS(pthread_create(&waiter->thread, NULL, enters, waiter), 0);
    wait_until(csk_rwlock_waiting(&lock) == number);
    await_sleep(&waiter->thread_id);
}

/* The first of those that wait is late. The others enter before it. */
static void enter_behind(uint32_t count, const bool *writes) {
    waiter_t waiters[4];
    CHECK_STATUS(csk_rwlock_init(&lock, &(csk_rwlock_attr_t){ .policy = CSK_RWLOCK_FAST }), 0);
    STORE(&entered, 0);
    prepare_handler();
    CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
    for (uint32_t i = 0; i < count; i++) start(&waiters[i], i + 1, writes[i]);
    send_into_handler(waiters[0].thread);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0); /* tells it */
    wait_until(LOAD(&entered) == count - 1);
    /* Whoever comes passes it. */
    wait_until(csk_rwlock_trywrlock(&lock) == 0);
    STORE(&may_leave_handler, 1);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    for (uint32_t i = 0; i < count; i++) CHECK_STATUS(pthread_join(waiters[i].thread, NULL), 0);
    CHECK_EQ(order[count - 1], 1);
    CHECK_EQ(csk_rwlock_waiting(&lock), 0);
    CHECK_STATUS(csk_rwlock_destroy(&lock), 0);
}

static void readers_behind_a_reader_that_is_late_are_let_in(void) {
    enter_behind(3, (const bool[]){ false, false, false });
}
static void whoever_stands_behind_a_writer_that_is_late_is_let_in(void) {
    enter_behind(3, (const bool[]){ true, false, true });
}

TEST_MAIN(TEST(readers_behind_a_reader_that_is_late_are_let_in),
          TEST(whoever_stands_behind_a_writer_that_is_late_is_let_in))
