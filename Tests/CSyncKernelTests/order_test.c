/* order_test.c: the checker of lock order reports each circle once, from a run with a single thread, and nothing
 * where there is none.
 *
 * More than 400 lines: all tests share the kinds of locks and the reporter, and one process's checker. */
#include "child.h"

#include <csynckernel/csynckernel.h>

#include <pthread.h>

#include "order/order.h"

static int reports;
static char last[512];

static void keep(const csk_event_t *event) {
    if (event->kind != CSK_EVENT_LOCK_ORDER) return;
    reports++;
    snprintf(last, sizeof last, "%s", event->name);
    CHECK_STATUS(event->status, EDEADLK);
}

static void check_reports(int expected, const char *circle) {
    CHECK_EQ(reports, expected);
    if (circle != NULL && strcmp(last, circle) != 0) {
        fprintf(stderr, "reported: %s, not %s\n", last, circle);
        CHECK(false);
    }
    reports = 0;
}

/* ---- Kinds of locks ---------------------------------------------------------------------------------------------- */

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
    CHECK_STATUS(csk_sem_signal(&lock->sem, 1), 0);
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

/* ---- Circles ----------------------------------------------------------------------------------------------------- */

static void lock(csk_gate_t *gate) { CHECK_STATUS(csk_gate_lock(gate, 0), 0); }
static void unlock(csk_gate_t *gate) { CHECK_STATUS(csk_gate_unlock(gate), 0); }
static void within(csk_gate_t *outer, csk_gate_t *inner) {
    lock(outer);
    lock(inner);
    unlock(inner);
    unlock(outer);
}

static void a_circle_of_three_is_found_whatever_its_order(void) {
    static csk_gate_t red, green, blue;
    CHECK_STATUS(csk_name(&red, "red"), 0);
    CHECK_STATUS(csk_name(&green, "green"), 0);
    CHECK_STATUS(csk_name(&blue, "blue"), 0);
    within(&red, &green);
    within(&green, &blue);
    within(&red, &blue);
    check_reports(0, NULL);
    within(&blue, &red);
    check_reports(1, "blue -> red -> blue");
    static csk_gate_t cyan, pink, grey;
    CHECK_STATUS(csk_name(&cyan, "cyan"), 0);
    CHECK_STATUS(csk_name(&pink, "pink"), 0);
    CHECK_STATUS(csk_name(&grey, "grey"), 0);
    within(&cyan, &pink);
    within(&pink, &grey);
    within(&grey, &cyan);
    check_reports(1, "grey -> cyan -> pink -> grey");
}

/* white -> lime is reversed; what goes through lime -> white is not told. Without white -> lime it is. */
static void a_circle_through_a_reversed_pair_is_told_once_its_first_order_is_gone(void) {
    for (int is_gone = 0; is_gone < 2; is_gone++) {
        static csk_gate_t gates[2][3];
        csk_gate_t *white = &gates[is_gone][0], *lime = &gates[is_gone][1], *teal = &gates[is_gone][2];
        CHECK_STATUS(csk_name(white, is_gone ? "white 2" : "white"), 0);
        CHECK_STATUS(csk_name(lime, is_gone ? "lime 2" : "lime"), 0);
        CHECK_STATUS(csk_name(teal, is_gone ? "teal 2" : "teal"), 0);
        if (!is_gone) within(white, lime);
        within(lime, white);
        check_reports(is_gone ? 0 : 1, is_gone ? NULL : "lime -> white -> lime");
        within(white, teal);
        within(teal, lime);
        check_reports(is_gone ? 1 : 0, is_gone ? "teal 2 -> lime 2 -> white 2 -> teal 2" : NULL);
    }
}

static void what_is_tried_begins_no_order_but_what_is_entered_inside_does(void) {
    static csk_gate_t a, b;
    within(&a, &b);
    lock(&b);
    CHECK_STATUS(csk_gate_trylock(&a, 0), 0);
    check_reports(0, NULL);
    unlock(&a);
    CHECK_STATUS(csk_gate_timedlock(&a, 0, 0), 0);
    check_reports(0, NULL);
    unlock(&a);
    unlock(&b);
    static csk_gate_t c, d;
    CHECK_STATUS(csk_gate_trylock(&c, 0), 0);
    lock(&d);
    unlock(&d);
    unlock(&c);
    within(&d, &c);
    check_reports(1, NULL);
}

static void what_is_left_in_another_order_is_left(void) {
    static csk_gate_t a, b, c;
    lock(&a);
    CHECK_STATUS(csk_gate_trylock(&b, 0), 0);
    unlock(&a);
    lock(&c); /* inside of b alone */
    unlock(&b);
    unlock(&c);
    within(&c, &a);
    check_reports(0, NULL);
    within(&c, &b);
    check_reports(1, NULL);
}

static void levels_and_ignored_objects(void) {
    static csk_gate_t parent, child, left_out, other;
    CHECK_STATUS(csk_name(&parent, "node"), 0);
    CHECK_STATUS(csk_name(&child, "node"), 0);
    CHECK_STATUS(csk_order_level(&child, 1), 0);
    within(&parent, &child);
    check_reports(0, NULL);
    CHECK_STATUS(csk_order_level(&child, CSK_ORDER_LEVELS + 1), EINVAL);
    within(&child, &parent);
    check_reports(1, "node/1 -> node -> node/1");
    csk_gate_t twin = CSK_GATE_INITIALIZER;
    CHECK_STATUS(csk_name(&twin, "node"), 0);
    within(&parent, &twin);
    check_reports(1, "node -> node");
    CHECK_STATUS(csk_gate_destroy(&twin), 0);
    CHECK_STATUS(csk_order_ignore(&left_out), 0);
    within(&left_out, &other);
    within(&other, &left_out);
    check_reports(0, NULL);
}

static void an_object_that_begins_anew_is_of_another_class(void) {
    static csk_gate_t place, other;
    within(&place, &other);
    CHECK_STATUS(csk_gate_destroy(&place), 0);
    CHECK_STATUS(csk_gate_init(&place, NULL), 0);
    within(&other, &place);
    check_reports(0, NULL);
    CHECK_STATUS(csk_order_ignore(&place), 0);
    within(&place, &other);
    check_reports(0, NULL);
    CHECK_STATUS(csk_gate_init(&place, NULL), 0);
    within(&other, &place);
    within(&place, &other);
    check_reports(1, NULL);
}

/* A lock of others, or a semaphore, that stands where one was before has an order of its own. */
static void told_objects_that_begin_anew_are_of_another_class(void) {
    static csk_gate_t other;
    static csk_sem_t permit;
    static char theirs;
    void *objects[] = { &permit, &theirs };
    uint32_t kinds[] = { CSK_OBJECT_SEM, CSK_OBJECT_OTHER };
    csk_order_begins(&theirs); /* nothing is known of it */
    for (int i = 0; i < 2; i++) {
        lock(&other);
        csk_order_comes(objects[i], kinds[i]);
        csk_order_entered(objects[i], kinds[i]);
        csk_order_leaves(objects[i]);
        unlock(&other);
        if (i == 0) CHECK_STATUS(csk_sem_init(&permit, 1, 1), 0);
        else csk_order_begins(&theirs);
        csk_order_comes(objects[i], kinds[i]);
        csk_order_entered(objects[i], kinds[i]);
        lock(&other);
        unlock(&other);
        csk_order_leaves(objects[i]);
        check_reports(0, NULL);
    }
}

/* Each object that began once took a class of 4096, although it stood in no order with others. */
static void objects_that_meet_no_others_share_a_class(void) {
    static csk_gate_t place, other;
    csk_order_counts_t before, after;
    csk_order_count(&before);
    for (int object = 0; object < 10000; object++) {
        CHECK_STATUS(csk_gate_init(&place, NULL), 0);
        lock(&place);
        unlock(&place);
        CHECK_STATUS(csk_gate_destroy(&place), 0);
    }
    csk_order_count(&after);
    CHECK_EQ(after.classes - before.classes, 1);
    CHECK_EQ(after.lost, before.lost);
    CHECK_STATUS(csk_gate_init(&place, NULL), 0);
    within(&place, &other);
    CHECK_STATUS(csk_gate_destroy(&place), 0);
    CHECK_STATUS(csk_gate_init(&place, NULL), 0);
    within(&other, &place);
    check_reports(0, NULL);
    within(&place, &other);
    check_reports(1, NULL);
}

static void what_is_disowned_is_not_held(void) {
    static csk_gate_t a, b, c;
    within(&b, &c);
    lock(&a);
    CHECK_STATUS(csk_gate_disown(&a), 0);
    lock(&b);
    unlock(&b);
    unlock(&a);
    within(&b, &a);
    check_reports(0, NULL);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static csk_mutex_t mutex;
static csk_cond_t cond;
static csk_gate_t inner;
static bool goes_on;

static void *wait_for_it(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    while (!goes_on) CHECK_STATUS(csk_cond_wait(&cond, 0), 0);
    lock(&inner); /* the mutex is held again */
    unlock(&inner);
    CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
    return NULL;
}

static void a_wait_for_a_signal_leaves_and_enters(void) {
    CHECK_STATUS(csk_mutex_init(&mutex), 0);
    CHECK_STATUS(csk_cond_init_mutex(&cond, &mutex), 0);
    pthread_t thread;
    CHECK_STATUS(pthread_create(&thread, NULL, wait_for_it, NULL), 0);
    while (csk_cond_waiting(&cond) == 0) sched_yield();
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    goes_on = true;
    CHECK_STATUS(csk_cond_signal(&cond), 0);
    CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
    pthread_join(thread, NULL);
    check_reports(0, NULL);
    lock(&inner);
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
    unlock(&inner);
    check_reports(1, NULL);
}

enum { THREADS = 4, ROUNDS = 20000 };
static csk_gate_t outers[3], inners[3];
static csk_mutex_t counted;
static uint64_t total;

static void *storm(void *argument) {
    for (int i = 0; i < ROUNDS; i++) {
        int at = (i + (int)(intptr_t)argument) % 3;
        lock(&outers[at]);
        lock(&inners[(at + i) % 3]);
        CHECK_STATUS(csk_mutex_lock(&counted), 0);
        total++;
        CHECK_STATUS(csk_mutex_unlock(&counted), 0);
        unlock(&inners[(at + i) % 3]);
        unlock(&outers[at]);
    }
    return NULL;
}

static void ordered_locks_exclude_under_contention(void) {
    static const uint32_t policies[] = { CSK_GATE_FAST, CSK_GATE_COMPACT, CSK_GATE_STRICT };
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(csk_gate_init(&outers[i], &(csk_gate_attr_t){ .policy = policies[i] }), 0);
        CHECK_STATUS(csk_gate_init(&inners[i], &(csk_gate_attr_t){ .policy = policies[2 - i] }), 0);
    }
    CHECK_STATUS(csk_mutex_init(&counted), 0);
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++) CHECK_STATUS(pthread_create(&threads[i], NULL, storm, (void *)i), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    CHECK_EQ(total, THREADS * ROUNDS);
    check_reports(0, NULL);
    CHECK_STATUS(csk_mutex_destroy(&counted), 0);
    for (int i = 0; i < 3; i++) CHECK_STATUS(csk_gate_destroy(&outers[i]), 0);
}

/* ---- What is told ------------------------------------------------------------------------------------------------ */

static char printed[1 << 20];

static int append(void *context, const void *bytes, size_t size) {
    size_t *length = context;
    if (*length + size < sizeof printed) {
        memcpy(printed + *length, bytes, size);
        *length += size;
    }
    return 0;
}
static int refuse(void *context, const void *bytes, size_t size) {
    (void)context, (void)bytes, (void)size;
    return EIO;
}

__attribute__((noinline)) void order_test_takes_left_first(csk_gate_t *left, csk_gate_t *right) {
    lock(left);
    lock(right);
    unlock(right);
    unlock(left);
}
__attribute__((noinline)) void order_test_takes_right_first(csk_gate_t *left, csk_gate_t *right) {
    lock(right);
    lock(left);
    unlock(left);
    unlock(right);
}

/* The first test: what is printed is the first circle. */
static void both_stacks_are_printed(void) {
    static csk_gate_t left, right;
    CHECK_STATUS(csk_name(&left, "left"), 0);
    CHECK_STATUS(csk_name(&right, "right"), 0);
    order_test_takes_left_first(&left, &right);
    order_test_takes_right_first(&left, &right);
    check_reports(1, "right -> left -> right");
    size_t length = 0;
    CHECK_STATUS(csk_order_print(append, &length), 0);
    CHECK(strstr(printed, "\"left\" was entered inside of \"right\"") != NULL);
    CHECK(strstr(printed, "\"right\" was entered inside of \"left\"") != NULL);
    CHECK(strstr(printed, "order_test_takes_left_first") != NULL);
    CHECK(strstr(printed, "order_test_takes_right_first") != NULL);
    CHECK_STATUS(csk_order_print(refuse, NULL), EIO);
}

static void enter_one_more(const char *object) {
    csk_order_comes(object, CSK_OBJECT_OTHER);
    csk_order_entered(object, CSK_OBJECT_OTHER);
}
static void one_more_level_hides_no_circle_of_its_class(void) {
    static char pair[2];
    for (int i = 0; i < 2; i++) CHECK_STATUS(csk_name(&pair[i], "a pair"), 0);
    for (int second = 0; second < 2; second++) {
        enter_one_more(&pair[0]);
        enter_one_more(&pair[second]);
        check_reports(second, second ? "a pair -> a pair" : NULL);
        csk_order_leaves(&pair[second]);
        csk_order_leaves(&pair[0]);
    }
    for (int i = 0; i < 2; i++) csk_unname(&pair[i]);
}

/* Whoever prints takes no lock. Races are seen in the build with the thread sanitizer. */
static uint32_t stops_printing;
static int drop(void *context, const void *bytes, size_t size) {
    (void)context, (void)bytes, (void)size;
    return 0;
}
static void *print_again_and_again(void *unused) {
    (void)unused;
    do CHECK_STATUS(csk_order_print(drop, NULL), 0);
    while (!LOAD(&stops_printing));
    return NULL;
}
static void circles_are_printed_while_others_are_found(void) {
    enum { PAIRS = 20 };
    static csk_gate_t gates[2 * PAIRS];
    STORE(&stops_printing, 0);
    pthread_t printer = start_thread(print_again_and_again, NULL);
    for (int i = 0; i < PAIRS; i++) {
        order_test_takes_left_first(&gates[2 * i], &gates[2 * i + 1]);
        order_test_takes_right_first(&gates[2 * i], &gates[2 * i + 1]);
    }
    STORE(&stops_printing, 1);
    join_thread(printer);
    check_reports(PAIRS, NULL);
}

/* A thread has come with a name first, and has written a part of it so far. Another one that comes with that name finds
 * all of it, and so does a child of fork, in which the first does not go on. It comes before the tests that find more
 * circles than are kept, so that its own is printed. */
static void a_name_that_is_just_being_written_is_shown_whole(void) {
    static csk_gate_t half, whole;
    static const char *const name = "written by halves";
    bool is_new;
    CHECK_STATUS(csk_gate_init(&half, NULL), 0);
    CHECK_STATUS(csk_gate_init(&whole, NULL), 0);
    CHECK_STATUS(csk_name(&half, name), 0);
    CHECK_STATUS(csk_name(&whole, "whole"), 0);
    order_tables_t *tables = csk_order_tables;
    uint32_t number = csk_slot_claim(tables->classes, sizeof *tables->classes, ORDER_CLASSES,
                                     csk_slot_hash_text(1, name), &is_new);
    CHECK(number != 0 && is_new);
    memcpy(csk_order_class(number)->text, name, 8);
    within(&half, &whole);
    within(&whole, &half);
    check_reports(1, "whole -> written by halves -> whole");
    size_t length = 0;
    memset(printed, 0, sizeof printed);
    CHECK_STATUS(csk_order_print(append, &length), 0);
    CHECK(strstr(printed, "\"written by halves\" was entered inside of \"whole\"") != NULL);
    CHECK_STATUS(csk_gate_destroy(&half), 0);
    CHECK_STATUS(csk_gate_destroy(&whole), 0);
}

/* Threads that come with one name at once. The one that is told of a circle finds the names of both, whoever wrote
 * them. */
enum { NAMERS = 2, NAMED_ROUNDS = 200 };
static uint32_t rounds_begun, rounds_ended;
static char named_pairs[NAMERS][2];
static int wrong_texts;

static void check_text(const csk_event_t *event) {
    if (event->kind != CSK_EVENT_LOCK_ORDER) return;
    uint32_t round = (LOAD(&rounds_begun) - 1) / NAMERS;
    char here[96], there[96];
    snprintf(here, sizeof here, "left %u -> right %u -> left %u", round, round, round);
    snprintf(there, sizeof there, "right %u -> left %u -> right %u", round, round, round);
    if (strcmp(event->name, here) != 0 && strcmp(event->name, there) != 0) ADD(&wrong_texts, 1);
}
static void *enter_both_ways(void *pair) {
    char *own = pair;
    for (uint32_t round = 0; round < NAMED_ROUNDS; round++) {
        for (int side = 0; side < 2; side++) {
            char name[32];
            snprintf(name, sizeof name, side == 0 ? "left %u" : "right %u", round);
            csk_unname(&own[side]);
            CHECK_STATUS(csk_order_level(&own[side], 0), 0);
            CHECK_STATUS(csk_name(&own[side], name), 0);
        }
        ADD(&rounds_begun, 1);
        wait_until(LOAD(&rounds_begun) >= (round + 1) * NAMERS);
        for (int first = 0; first < 2; first++) {
            enter_one_more(&own[first]);
            enter_one_more(&own[1 - first]);
            csk_order_leaves(&own[1 - first]);
            csk_order_leaves(&own[first]);
        }
        ADD(&rounds_ended, 1);
        wait_until(LOAD(&rounds_ended) >= (round + 1) * NAMERS);
    }
    return NULL;
}
static void names_are_whole_where_threads_come_with_them_at_once(void) {
    pthread_t threads[NAMERS];
    csk_set_reporter(check_text);
    for (int i = 0; i < NAMERS; i++) threads[i] = start_thread(enter_both_ways, named_pairs[i]);
    for (int i = 0; i < NAMERS; i++) join_thread(threads[i]);
    csk_set_reporter(keep);
    CHECK_EQ(wrong_texts, 0);
    for (int i = 0; i < NAMERS; i++)
        for (int side = 0; side < 2; side++) csk_unname(&named_pairs[i][side]);
}

static csk_gate_t before_start;
static void *wait_at_it(void *unused) {
    (void)unused;
    lock(&before_start);
    unlock(&before_start);
    return NULL;
}

static void what_is_not_covered_is_listed_once(void) {
    csk_order_counts_t before, after;
    csk_order_count(&before);
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        lock(&before_start);
        CHECK_STATUS(pthread_create(&thread, NULL, wait_at_it, NULL), 0);
        while (csk_gate_waiting(&before_start) == 0) sched_yield();
        unlock(&before_start);
        pthread_join(thread, NULL);
    }
    csk_order_count(&after);
    CHECK_EQ(after.uncovered, before.uncovered + 1);
    size_t length = 0;
    memset(printed, 0, sizeof printed);
    CHECK_STATUS(csk_order_print(append, &length), 0);
    CHECK(strstr(printed, "not covered: \"too early\"") != NULL);
}

static void too_much_held_is_counted(void) {
    static csk_gate_t many[CSK_ORDER_DEPTH + 2];
    csk_order_counts_t before, after;
    csk_order_count(&before);
    for (int i = 0; i < CSK_ORDER_DEPTH + 2; i++) lock(&many[i]);
    csk_order_count(&after);
    CHECK_EQ(after.lost, before.lost + 2);
    for (int i = CSK_ORDER_DEPTH + 2; i-- > 0;) unlock(&many[i]);
    check_reports(0, NULL);
}

static void nothing_is_checked_once_it_has_stopped(void) {
    static csk_gate_t a, b;
    within(&a, &b);
    csk_order_stop();
    within(&b, &a);
    check_reports(0, NULL);
    CHECK_STATUS(csk_order_start(), 0);
    within(&b, &a);
    check_reports(1, NULL);
}

static csk_gate_t parents, childs;
static void turn_around(void *unused) {
    (void)unused;
    within(&childs, &parents);
    check_reports(1, NULL);
}
static void a_child_checks_too(void) {
    within(&parents, &childs);
    in_a_child(turn_around, NULL);
    check_reports(0, NULL);
}

/* What a thread of the parent leaves in the child that was just keeping a long circle. */
static void turn_around_behind_half_a_circle(void *unused) {
    (void)unused;
    csk_order_counts_t counts;
    csk_order_count(&counts);
    order_circle_t *circle = &csk_order_tables->circles[counts.circles];
    circle->count = ORDER_CIRCLE_STEPS;
    within(&childs, &parents);
    check_reports(1, NULL);
    CHECK_EQ(circle->count, 2);
    CHECK_EQ(circle[1].count, 0);
}
static void a_circle_that_was_half_kept_at_a_fork_is_kept_anew(void) {
    within(&parents, &childs);
    in_a_child(turn_around_behind_half_a_circle, NULL);
    check_reports(0, NULL);
}

/* There is room for 65 536 addresses. Objects beyond are not checked, and counted; the others are checked as before. */
static void use_all_addresses_up(void *unused) {
    static char objects[2 * ORDER_OBJECTS];
    (void)unused;
    const char *beyond = NULL;
    int known = 0;
    for (int i = 0; i < 2 * ORDER_OBJECTS; i++) {
        int status = csk_order_level(&objects[i], 0);
        if (status == 0) known++;
        else {
            CHECK_STATUS(status, ENOBUFS);
            beyond = &objects[i];
        }
    }
    CHECK(known > ORDER_OBJECTS / 2 && known <= ORDER_OBJECTS);
    CHECK_STATUS(csk_order_ignore(beyond), ENOBUFS);
    csk_order_counts_t before, after;
    csk_order_count(&before);
    enter_one_more(beyond);
    csk_order_leaves(beyond);
    csk_order_count(&after);
    CHECK_EQ(after.lost, before.lost + 1);
    within(&childs, &parents);
    check_reports(1, NULL);
}
static void beyond_the_addresses_that_have_room_nothing_is_checked(void) {
    within(&parents, &childs);
    in_a_child(use_all_addresses_up, NULL);
    check_reports(0, NULL);
}

/* Before any test. A gate whose form was decided before the checker was started is not ordered. */
__attribute__((constructor)) static void start(void) {
    csk_set_reporter(keep);
    csk_order_counts_t counts;
    csk_order_count(&counts);
    CHECK_EQ(counts.classes, 0);
    CHECK_STATUS(csk_order_ignore(&before_start), EAGAIN);
    CHECK_STATUS(csk_name(&before_start, "too early"), 0);
    lock(&before_start);
    unlock(&before_start);
    CHECK_STATUS(csk_order_start(), 0);
    CHECK_STATUS(csk_order_start(), 0);
}

TEST_MAIN(TEST(a_child_checks_too), TEST(a_circle_that_was_half_kept_at_a_fork_is_kept_anew),
          TEST(beyond_the_addresses_that_have_room_nothing_is_checked), TEST(both_stacks_are_printed),
          TEST(a_name_that_is_just_being_written_is_shown_whole), TEST(a_circle_of_two_is_found_for_each_pair_of_kinds),
          TEST(a_circle_of_three_is_found_whatever_its_order),
          TEST(a_circle_through_a_reversed_pair_is_told_once_its_first_order_is_gone),
          TEST(what_is_tried_begins_no_order_but_what_is_entered_inside_does),
          TEST(what_is_left_in_another_order_is_left), TEST(levels_and_ignored_objects),
          TEST(an_object_that_begins_anew_is_of_another_class), TEST(told_objects_that_begin_anew_are_of_another_class),
          TEST(objects_that_meet_no_others_share_a_class), TEST(what_is_disowned_is_not_held),
          TEST(a_wait_for_a_signal_leaves_and_enters), TEST(ordered_locks_exclude_under_contention),
          TEST(what_is_not_covered_is_listed_once), TEST(too_much_held_is_counted),
          TEST(one_more_level_hides_no_circle_of_its_class), TEST(circles_are_printed_while_others_are_found),
          TEST(names_are_whole_where_threads_come_with_them_at_once), TEST(nothing_is_checked_once_it_has_stopped))
