/* rwlock_fixture.h: the forms of a read-write lock, and another thread that does with it what it is told. */
#ifndef CSK_RWLOCK_FIXTURE_H
#define CSK_RWLOCK_FIXTURE_H

#include <csynckernel/csynckernel.h>

#include "base/platform.h"
#include "test.h"

static const csk_rwlock_attr_t forms[] = {
    { .policy = CSK_RWLOCK_FAST },
    { .policy = CSK_RWLOCK_STRICT },
    { .policy = CSK_RWLOCK_FAST, .reader_bias = 1 },
    { .policy = CSK_RWLOCK_STRICT, .reader_bias = 1 },
};
enum { FORMS = sizeof forms / sizeof forms[0], UNBIASED_FORMS = 2 };
#define FOR_EACH_FORM(form) for (const csk_rwlock_attr_t *form = forms; form < forms + FORMS; form++)
#define FOR_EACH_UNBIASED_FORM(form) for (const csk_rwlock_attr_t *form = forms; form < forms + UNBIASED_FORMS; form++)

/* A biased lock's first read turns the bias on, where there is membarrier. */
static inline void make(csk_rwlock_t *lock, const csk_rwlock_attr_t *form) {
    CHECK_STATUS(csk_rwlock_init(lock, form), 0);
    CHECK_STATUS(csk_rwlock_rdlock(lock), 0);
    CHECK_STATUS(csk_rwlock_unlock(lock), 0);
}

static inline bool marks_its_readers(const csk_rwlock_attr_t *form) {
    return form->reader_bias && csk_platform_has_membarrier();
}

static inline void check_free(csk_rwlock_t *lock) {
    CHECK_EQ(csk_rwlock_waiting(lock), 0);
    CHECK_STATUS(csk_rwlock_unlock(lock), EPERM);
    CHECK_STATUS(csk_rwlock_trywrlock(lock), 0);
    CHECK_STATUS(csk_rwlock_unlock(lock), 0);
    CHECK_STATUS(csk_rwlock_destroy(lock), 0);
}

static inline void in_another_thread(void *(*body)(void *), void *context) { join_thread(start_thread(body, context)); }

enum { READS = 0, WRITES = 1 };

/* Another thread that locks, says so, and leaves when it is told to. */
typedef struct {
    csk_rwlock_t *lock;
    int mode, inside, leave;
    pthread_t thread;
} visitor_t;

static inline void *visit(void *context) {
    visitor_t *visitor = context;
    CHECK_STATUS(visitor->mode == WRITES ? csk_rwlock_wrlock(visitor->lock) : csk_rwlock_rdlock(visitor->lock), 0);
    STORE(&visitor->inside, 1);
    wait_until(LOAD(&visitor->leave));
    CHECK_STATUS(csk_rwlock_unlock(visitor->lock), 0);
    return NULL;
}

static inline void call_visitor(visitor_t *visitor, csk_rwlock_t *lock, int mode) {
    *visitor = (visitor_t){ .lock = lock, .mode = mode };
    visitor->thread = start_thread(visit, visitor);
}

static inline void let_in_visitor(visitor_t *visitor, csk_rwlock_t *lock, int mode) {
    call_visitor(visitor, lock, mode);
    wait_until(LOAD(&visitor->inside));
}

static inline void send_away(visitor_t *visitor) {
    STORE(&visitor->leave, 1);
    join_thread(visitor->thread);
}

#endif
