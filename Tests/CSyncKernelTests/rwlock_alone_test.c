/* rwlock_alone_test.c: a program that uses the read-write lock alone: a thread is known as the writer that it is. */
#include "alone.h"

#include <csynckernel/rwlock.h>

static void *write_and_read(void *unused) {
    csk_rwlock_t lock = CSK_RWLOCK_INITIALIZER;
    CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
    CHECK(csk_rwlock_is_writing(&lock));
    CHECK_STATUS(csk_rwlock_wrlock(&lock), EDEADLK);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    CHECK(!csk_rwlock_is_writing(&lock));
    CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    CHECK_STATUS(csk_rwlock_destroy(&lock), 0);
    CHECK_EQ(csk_self() % 16, 0);
    return unused;
}
static void a_writer_is_known_where_nothing_else_is_used(void) { on_several_threads(write_and_read); }

TEST_MAIN(TEST(a_writer_is_known_where_nothing_else_is_used))
