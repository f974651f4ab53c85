/* order_kinds_test.c: the checker of lock order finds a circle of two locks, whatever kinds they are of. */
#include "order_fixture.h"

#include "observe/order.h"

typedef union any_lock {
    csk_gate_t gate;
    csk_mutex_t mutex;
    csk_rwlock_t rwlock;
    csk_sem_t sem;
    pthread_mutex_t other;
} any_lock_t;

typedef struct {
    const char *name;
    bool needs_build; /* with CSK_LOCK_ORDER */
    void (*make)(any_lock_t *lock);
    void (*enter)(any_lock_t *lock);
    void (*leave)(any_lock_t *lock);
} lock_kind_t;

static void make_fast(any_lock_t *lock) { CHECK_STATUS(csk_gate_init(&lock->gate, NULL), 0); }
static void make_compact(any_lock_t *lock) {
    CHECK_STATUS(csk_gate_init(&lock->gate, &(csk_gate_attr_t){ .policy = CSK_GATE_COMPACT }), 0);
}
static void make_strict(any_lock_t *lock) {
    CHECK_STATUS(csk_gate_init(&lock->gate, &(csk_gate_attr_t){ .policy = CSK_GATE_STRICT }), 0);
}
static void enter_gate(any_lock_t *lock) { CHECK_STATUS(csk_gate_lock(&lock->gate, 0), 0); }
static void leave_gate(any_lock_t *lock) { CHECK_STATUS(csk_gate_unlock(&lock->gate), 0); }
static void leave_scope(any_lock_t *lock) { csk_gate_leave(&lock->gate); }
static void enter_timed(any_lock_t *lock) {
    CHECK_STATUS(csk_gate_timedlock(&lock->gate, 3, csk_deadline_after(INT64_C(1000000000))), 0);
}
/* Two levels: the second one is no entry. */
static void enter_recursive(any_lock_t *lock) {
    CHECK_STATUS(csk_gate_lock_recursive(&lock->gate, 0, CSK_NEVER), 0);
    CHECK_STATUS(csk_gate_lock_recursive(&lock->gate, 0, CSK_NEVER), 0);
}
static void leave_recursive(any_lock_t *lock) {
    CHECK_STATUS(csk_gate_unlock_recursive(&lock->gate), 0);
    CHECK_STATUS(csk_gate_unlock_recursive(&lock->gate), 0);
}
static void make_mutex(any_lock_t *lock) { CHECK_STATUS(csk_mutex_init(&lock->mutex), 0); }
static void make_static_mutex(any_lock_t *lock) { lock->mutex = (csk_mutex_t)CSK_MUTEX_INITIALIZER; }
static void enter_mutex(any_lock_t *lock) { CHECK_STATUS(csk_mutex_lock(&lock->mutex), 0); }
static void leave_mutex(any_lock_t *lock) { CHECK_STATUS(csk_mutex_unlock(&lock->mutex), 0); }
static void enter_mutex_twice(any_lock_t *lock) {
    CHECK_STATUS(csk_mutex_lock(&lock->mutex), 0);
    CHECK_STATUS(csk_mutex_lock(&lock->mutex), 0);
}
static void leave_mutex_twice(any_lock_t *lock) {
    CHECK_STATUS(csk_mutex_unlock(&lock->mutex), 0);
    CHECK_STATUS(csk_mutex_unlock(&lock->mutex), 0);
}
static void make_rwlock(any_lock_t *lock) { CHECK_STATUS(csk_rwlock_init(&lock->rwlock, NULL), 0); }
static void make_biased(any_lock_t *lock) {
    CHECK_STATUS(csk_rwlock_init(&lock->rwlock, &(csk_rwlock_attr_t){ .reader_bias = 1 }), 0);
}
static void enter_read(any_lock_t *lock) { CHECK_STATUS(csk_rwlock_rdlock(&lock->rwlock), 0); }
static void enter_write(any_lock_t *lock) { CHECK_STATUS(csk_rwlock_wrlock(&lock->rwlock), 0); }
static void leave_rwlock(any_lock_t *lock) { CHECK_STATUS(csk_rwlock_unlock(&lock->rwlock), 0); }
static void enter_read_inline(any_lock_t *lock) {
    if (!csk_rwlock_enter_read(&lock->rwlock)) CHECK_STATUS(csk_rwlock_rdlock(&lock->rwlock), 0);
}
static void leave_read_inline(any_lock_t *lock) { csk_rwlock_leave_read(&lock->rwlock); }
static void make_sem(any_lock_t *lock) { CHECK_STATUS(csk_sem_init(&lock->sem, 1, 1), 0); }
static void enter_sem(any_lock_t *lock) {
    csk_order_comes(lock, CSK_OBJECT_SEM);
    CHECK_STATUS(csk_sem_wait(&lock->sem, 0, 1), 0);
    csk_order_entered(lock, CSK_OBJECT_SEM);
}
static void leave_sem(any_lock_t *lock) {
    csk_order_leaves(lock);
    CHECK_STATUS(csk_sem_post(&lock->sem, 1), 0);
}
#ifdef __SANITIZE_THREAD__
/* ThreadSanitizer finds the circles of this kind as well. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "detect_deadlocks=0"; }
#endif
static void make_other(any_lock_t *lock) { CHECK_STATUS(pthread_mutex_init(&lock->other, NULL), 0); }
static void enter_other(any_lock_t *lock) {
    csk_order_comes(lock, CSK_OBJECT_OTHER);
    CHECK_STATUS(pthread_mutex_lock(&lock->other), 0);
    csk_order_entered(lock, CSK_OBJECT_OTHER);
}
static void leave_other(any_lock_t *lock) {
    csk_order_leaves(lock);
    CHECK_STATUS(pthread_mutex_unlock(&lock->other), 0);
}

static const lock_kind_t kinds[] = {
    { "fast", false, make_fast, enter_gate, leave_gate },
    { "fast, left by its scope", false, make_fast, enter_gate, leave_scope },
    { "compact", false, make_compact, enter_gate, leave_gate },
    { "strict", false, make_strict, enter_gate, leave_scope },
    { "with a deadline", false, make_fast, enter_timed, leave_gate },
    { "recursive", false, make_fast, enter_recursive, leave_recursive },
    { "mutex", false, make_mutex, enter_mutex, leave_mutex },
    { "mutex, twice", false, make_mutex, enter_mutex_twice, leave_mutex_twice },
    { "semaphore", false, make_sem, enter_sem, leave_sem },
    { "pthread's", false, make_other, enter_other, leave_other },
    { "static mutex", true, make_static_mutex, enter_mutex, leave_mutex },
    { "writer", true, make_rwlock, enter_write, leave_rwlock },
    { "reader", true, make_rwlock, enter_read, leave_rwlock },
    { "reader, inline", true, make_rwlock, enter_read_inline, leave_read_inline },
    { "reader by bias", true, make_biased, enter_read_inline, leave_read_inline },
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

#ifdef CSK_LOCK_ORDER
static const bool built = true;
#else
static const bool built = false;
#endif

static void nest(const lock_kind_t *outer, any_lock_t *a, const lock_kind_t *inner, any_lock_t *b) {
    outer->enter(a);
    inner->enter(b);
    inner->leave(b);
    outer->leave(a);
}

static int pairs;

static void check_pair(const lock_kind_t *one, const lock_kind_t *two) {
    static any_lock_t locks[2];
    char names[2][32], circle[128];
    one->make(&locks[0]);
    two->make(&locks[1]);
    for (int i = 0; i < 2; i++) {
        snprintf(names[i], sizeof names[i], "%s%d", i == 0 ? "a" : "b", pairs);
        CHECK_STATUS(csk_name(&locks[i], names[i]), 0);
        CHECK_STATUS(csk_order_level(&locks[i], 0), 0); /* a new object begins here, of others' locks too */
    }
    pairs++;
    for (int i = 0; i < 3; i++) nest(one, &locks[0], two, &locks[1]);
    check_reports(0, NULL);
    snprintf(circle, sizeof circle, "%s -> %s -> %s", names[1], names[0], names[1]);
    for (int i = 0; i < 3; i++) nest(two, &locks[1], one, &locks[0]);
    check_reports(1, circle);
    nest(one, &locks[0], two, &locks[1]);
    check_reports(0, NULL);
    for (int i = 0; i < 2; i++) csk_unname(&locks[i]);
}

static void a_circle_of_two_is_found_for_each_pair_of_kinds(void) {
    for (int i = 0; i < KINDS; i++)
        for (int j = 0; j < KINDS; j++)
            if (built || (!kinds[i].needs_build && !kinds[j].needs_build)) check_pair(&kinds[i], &kinds[j]);
    CHECK(pairs >= 100);
}

/* Before any test. */
__attribute__((constructor)) static void start(void) { start_checker(); }

TEST_MAIN(TEST(a_circle_of_two_is_found_for_each_pair_of_kinds))
