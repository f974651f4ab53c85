/* fault_long_read_test.c: who waits to write for a second is told which threads read, and whether they, or the writer,
 * have ended. */
#include "test.h"

#include <csynckernel/csynckernel.h>
#include <sys/syscall.h>

static const int64_t look_ns = 1000000000, long_enough_ns = 1400000000;

static csk_event_t event;
static uint32_t events;

static void note(const csk_event_t *reported) {
    event = *reported;
    ADD(&events, 1);
}

struct reader {
    csk_rwlock_t *lock;
    bool writes, ends;
    int32_t thread_id;
    uint32_t is_inside, leave;
};

static void *hold(void *context) {
    struct reader *reader = context;
    reader->thread_id = (int32_t)syscall(SYS_gettid);
    CHECK_STATUS(reader->writes ? csk_rwlock_wrlock(reader->lock) : csk_rwlock_rdlock(reader->lock), 0);
    STORE(&reader->is_inside, 1);
    if (reader->ends) return NULL;
    wait_until(LOAD(&reader->leave));
    CHECK_STATUS(csk_rwlock_unlock(reader->lock), 0);
    return NULL;
}

/* One thread holds the lock, and this one waits to write it for 1.4 s: one report. */
static void wait_behind(struct reader reader, uint32_t policy, uint32_t bias, uint32_t kind, int status) {
    csk_rwlock_attr_t attr = { .policy = policy, .reader_bias = bias };
    static csk_rwlock_t locks[16];
    static int used;
    csk_rwlock_t *lock = reader.lock = &locks[used++]; /* some stay held for good */
    CHECK_STATUS(csk_rwlock_init(lock, &attr), 0);
    /* The first read turns the bias on. */
    CHECK_STATUS(csk_rwlock_rdlock(lock), 0);
    CHECK_STATUS(csk_rwlock_unlock(lock), 0);
    STORE(&events, 0);
    pthread_t thread = start_thread(hold, &reader);
    wait_until(LOAD(&reader.is_inside));
    if (reader.ends) join_thread(thread);
    int64_t begin_ns = csk_now();
    CHECK_STATUS(csk_rwlock_timedwrlock(lock, begin_ns + long_enough_ns), ETIMEDOUT);
    CHECK_GE(csk_now(), begin_ns + long_enough_ns);
    CHECK_EQ(LOAD(&events), 1);
    CHECK_EQ(event.kind, kind);
    CHECK_EQ(event.status, status);
    CHECK(event.object == lock);
    CHECK_GE(event.waited_ns, look_ns);
    CHECK_EQ(event.thread_id, reader.writes ? 0 : reader.thread_id);
    if (reader.ends) {
        CHECK_STATUS(csk_rwlock_destroy(lock), EBUSY);
        return;
    }
    STORE(&reader.leave, 1);
    join_thread(thread);
    CHECK_STATUS(csk_rwlock_wrlock(lock), 0);
    CHECK_STATUS(csk_rwlock_unlock(lock), 0);
    CHECK_STATUS(csk_rwlock_destroy(lock), 0);
}

static void a_reader_that_goes_on_is_named(void) {
    csk_set_reporter(note);
    wait_behind((struct reader){ 0 }, CSK_RWLOCK_FAST, 0, CSK_EVENT_LONG_READ, EBUSY);
    wait_behind((struct reader){ 0 }, CSK_RWLOCK_STRICT, 0, CSK_EVENT_LONG_READ, EBUSY);
    wait_behind((struct reader){ 0 }, CSK_RWLOCK_FAST, 1, CSK_EVENT_LONG_READ, EBUSY);
}

static void a_reader_that_has_ended_is_named(void) {
    csk_set_reporter(note);
    wait_behind((struct reader){ .ends = true }, CSK_RWLOCK_FAST, 0, CSK_EVENT_HOLDER_ENDED, EOWNERDEAD);
    wait_behind((struct reader){ .ends = true }, CSK_RWLOCK_FAST, 1, CSK_EVENT_HOLDER_ENDED, EOWNERDEAD);
}

static void a_writer_that_has_ended_is_reported(void) {
#ifndef __GLIBC__
    printf("only glibc tells that; ");
    return;
#endif
    csk_set_reporter(note);
    wait_behind((struct reader){ .writes = true, .ends = true }, CSK_RWLOCK_FAST, 0, CSK_EVENT_HOLDER_ENDED,
                EOWNERDEAD);
    wait_behind((struct reader){ .writes = true, .ends = true }, CSK_RWLOCK_STRICT, 0, CSK_EVENT_HOLDER_ENDED,
                EOWNERDEAD);
}

/* One that goes on is not: it may be at work. */
static void a_writer_that_goes_on_is_not_reported(void) {
    csk_set_reporter(note);
    csk_rwlock_t lock = CSK_RWLOCK_INITIALIZER;
    struct reader writer = { .lock = &lock, .writes = true };
    pthread_t thread = start_thread(hold, &writer);
    wait_until(LOAD(&writer.is_inside));
    STORE(&events, 0);
    CHECK_STATUS(csk_rwlock_timedrdlock(&lock, csk_deadline_after(long_enough_ns)), ETIMEDOUT);
    CHECK_EQ(LOAD(&events), 0);
    STORE(&writer.leave, 1);
    join_thread(thread);
}

TEST_MAIN(TEST(a_reader_that_goes_on_is_named), TEST(a_reader_that_has_ended_is_named),
          TEST(a_writer_that_has_ended_is_reported), TEST(a_writer_that_goes_on_is_not_reported))
