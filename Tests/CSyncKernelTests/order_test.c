/* order_test.c: the checker of lock order reports each circle once, from a run with a single thread, and nothing
 * where there is none. */
#include "order_fixture.h"

#include "observe/order.h"

/* ---- Circles ----------------------------------------------------------------------------------------------------- */

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

/* ---- What belongs to a class ------------------------------------------------------------------------------------- */

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

/* ---- What is held ------------------------------------------------------------------------------------------------ */

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

/* Before any test. */
__attribute__((constructor)) static void start(void) {
    csk_order_counts_t counts;
    csk_order_count(&counts);
    CHECK_EQ(counts.classes, 0);
    static csk_gate_t too_early;
    CHECK_STATUS(csk_order_ignore(&too_early), EAGAIN);
    start_checker();
    CHECK_STATUS(csk_order_start(), 0);
}

TEST_MAIN(TEST(a_circle_of_three_is_found_whatever_its_order),
          TEST(a_circle_through_a_reversed_pair_is_told_once_its_first_order_is_gone),
          TEST(what_is_tried_begins_no_order_but_what_is_entered_inside_does),
          TEST(what_is_left_in_another_order_is_left), TEST(levels_and_ignored_objects),
          TEST(an_object_that_begins_anew_is_of_another_class), TEST(told_objects_that_begin_anew_are_of_another_class),
          TEST(objects_that_meet_no_others_share_a_class), TEST(what_is_disowned_is_not_held),
          TEST(a_wait_for_a_signal_leaves_and_enters), TEST(ordered_locks_exclude_under_contention),
          TEST(too_much_held_is_counted), TEST(one_more_level_hides_no_circle_of_its_class),
          TEST(nothing_is_checked_once_it_has_stopped))
