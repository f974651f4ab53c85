/* tls_test.c: slots and names, destructors at the end of threads of all kinds, their order and rounds, refused memory,
 * fork, and a great many short-lived threads. A number as the only argument makes so many of those:
 * `tls_test 1000000`.
 *
 * More than 400 lines: each promise is a short test, with the same slots and destructors. */
static unsigned watchdog_s = 120;
#define TEST_WATCHDOG_S watchdog_s
#include "child.h"

#include <csynckernel/csynckernel.h>
#include <limits.h>
#include <malloc.h>

#include "thread/thread_exit.h"

/* ---- Memory that is refused -------------------------------------------------------------------------------------- */

/* This program's own calloc and realloc, in front of the C library's: each refuses while the calling thread says so. A
 * sanitizer has its own in that place. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
#define CAN_REFUSE 1
static _Thread_local bool refuse_memory;
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *calloc(size_t count, size_t size) { return refuse_memory ? NULL : __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return refuse_memory ? NULL : __libc_realloc(memory, size); }
#endif

/* ---- Slots ------------------------------------------------------------------------------------------------------- */

static void nothing(void *value) { (void)value; }

static csk_tls_slot_t open_slot(const char *name, csk_tls_destructor_t destructor) {
    csk_tls_slot_t slot = 0;
    CHECK_STATUS(csk_tls_open(&slot, name, destructor), 0);
    CHECK(slot != 0);
    return slot;
}

static void one_name_is_one_slot(void) {
    csk_tls_slot_t slot = open_slot("one", nothing), other = 77;
    CHECK_EQ(open_slot("one", nothing), slot);
    CHECK(open_slot("two", nothing) != slot);
    CHECK_STATUS(csk_tls_open(&other, "one", NULL), EINVAL);
    CHECK_EQ(other, 77);
    CHECK(open_slot(NULL, nothing) != open_slot(NULL, nothing));
    CHECK_EQ(open_slot("", nothing), open_slot("", nothing));

    csk_tls_slot_t zeros[3];
    for (size_t i = 0; i < 3; i++) CHECK_STATUS(csk_tls_open_bytes(&zeros[i], "a\0b", i + 1, NULL), 0);
    CHECK(zeros[0] != zeros[1] && zeros[1] != zeros[2] && zeros[0] != zeros[2]);
    CHECK_EQ(open_slot("a", NULL), zeros[0]);
}

static void no_slot_has_no_value(void) {
    int value;
    CHECK(csk_tls_get(0) == NULL);
    CHECK_STATUS(csk_tls_set(0, &value), EINVAL);
    CHECK_STATUS(csk_tls_set(0, NULL), EINVAL);
    csk_tls_slot_t slot = open_slot(NULL, NULL);
    CHECK(csk_tls_get(slot + 1) == NULL);
    CHECK_STATUS(csk_tls_set(slot + 1, &value), EINVAL);
    CHECK_STATUS(csk_tls_set(slot + 1, NULL), EINVAL);
    CHECK_STATUS(csk_tls_set(UINT32_MAX, &value), EINVAL);
    CHECK(csk_tls_get(UINT32_MAX) == NULL);
    CHECK_STATUS(csk_tls_set(slot, &value), 0);
    CHECK(csk_tls_get(slot) == &value);
    CHECK_STATUS(csk_tls_set(0, &value), EINVAL);
    CHECK_STATUS(csk_tls_set(slot, NULL), 0);
    CHECK(csk_tls_get(slot) == NULL);
}

enum { MANY = 3000 };
static csk_tls_slot_t many[MANY];
static int numbers[MANY];

static void *use_many(void *context) {
    (void)context;
    for (int i = 0; i < MANY; i++) CHECK(csk_tls_get(many[i]) == NULL);
    for (int i = MANY; i-- > 0;) CHECK_STATUS(csk_tls_set(many[i], &numbers[i]), 0);
    for (int i = 0; i < MANY; i++) CHECK(csk_tls_get(many[i]) == &numbers[i]);
    return NULL;
}

/* The table grows while it is in use, and slots that are opened later find their room. */
static void slots_have_no_limit(void) {
    char name[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "many %d", i);
        many[i] = open_slot(name, NULL);
        CHECK(csk_tls_get(many[i]) == NULL);
        CHECK_STATUS(csk_tls_set(many[i], &numbers[i]), 0);
    }
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "many %d", i);
        CHECK_EQ(open_slot(name, NULL), many[i]);
        CHECK(csk_tls_get(many[i]) == &numbers[i]);
        CHECK_STATUS(csk_tls_set(many[i], NULL), 0);
    }
    join_thread(start_thread(use_many, NULL));
}

enum { OPENERS = 8, NAMES = 200 };
static uint32_t opened[OPENERS][NAMES];
static uint32_t openers_here;

static void *open_names(void *context) {
    uint32_t *slots = context;
    char name[32];
    ADD(&openers_here, 1);
    wait_until(LOAD(&openers_here) == OPENERS);
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "contended %d", i);
        slots[i] = open_slot(name, nothing);
        CHECK_STATUS(csk_tls_set(slots[i], name), 0);
        CHECK(csk_tls_get(slots[i]) == name);
    }
    return NULL;
}

static void threads_that_open_one_name_at_once_get_one_slot(void) {
    pthread_t threads[OPENERS];
    for (int i = 0; i < OPENERS; i++) threads[i] = start_thread(open_names, opened[i]);
    for (int i = 0; i < OPENERS; i++) join_thread(threads[i]);
    for (int i = 1; i < OPENERS; i++) CHECK_EQ(memcmp(opened[i], opened[0], sizeof opened[0]), 0);
    for (int i = 1; i < NAMES; i++) CHECK(opened[0][i] != opened[0][i - 1]);
}

/* ---- The end of threads ------------------------------------------------------------------------------------------ */

static uint32_t destroyed, alive;

static void *make_value(void) {
    ADD(&alive, 1);
    void *value = malloc(24);
    CHECK(value != NULL);
    return value;
}

static void destroy(void *value) {
    ADD(&destroyed, 1);
    ADD(&alive, -1);
    free(value);
}

static void *leave_a_value(void *context) {
    CHECK_STATUS(csk_tls_set((csk_tls_slot_t)(uintptr_t)context, make_value()), 0);
    return NULL;
}
static void *leave_by_exit(void *context) {
    leave_a_value(context);
    pthread_exit(NULL);
}
static void *leave_by_cancellation(void *context) {
    leave_a_value(context);
    while (pause() != 0) {}
    return NULL;
}

static void values_end_with_their_threads_however_these_end(void) {
    csk_tls_slot_t slot = open_slot("ends", destroy);
    void *as_context = (void *)(uintptr_t)slot;
    leave_a_value(as_context);
    void *mine = csk_tls_get(slot);
    destroyed = 0;
    join_thread(start_thread(leave_a_value, as_context));
    CHECK_EQ(destroyed, 1);
    join_thread(start_thread(leave_by_exit, as_context));
    CHECK_EQ(destroyed, 2);
    pthread_t thread = start_thread(leave_by_cancellation, as_context);
    CHECK_EQ(pthread_cancel(thread), 0);
    join_thread(thread);
    CHECK_EQ(alive, 1); /* this thread's own; a thread that was cancelled before it had a value has none */
    uint32_t before = LOAD(&destroyed);
    CHECK_EQ(pthread_detach(start_thread(leave_a_value, as_context)), 0);
    wait_until(LOAD(&destroyed) == before + 1);
    CHECK(csk_tls_get(slot) == mine);
    CHECK_STATUS(csk_tls_set(slot, NULL), 0);
    destroy(mine);
}

static csk_tls_slot_t ordered[6];
static char order[32];

static void note_order(void *value) { strcat(order, value); }

static void *set_in_disorder(void *context) {
    static const char *letters[] = { "a", "b", "c", "d", "e", "f" };
    static const int disorder[] = { 3, 0, 5, 2, 4, 1 };
    (void)context;
    for (int i = 0; i < 6; i++) CHECK_STATUS(csk_tls_set(ordered[disorder[i]], (void *)letters[disorder[i]]), 0);
    CHECK_STATUS(csk_tls_set(ordered[2], NULL), 0); /* no value, no call */
    return NULL;
}

static void the_newest_slot_comes_first(void) {
    for (int i = 0; i < 6; i++) ordered[i] = open_slot(NULL, note_order);
    join_thread(start_thread(set_in_disorder, NULL));
    CHECK_EQ(strcmp(order, "fedba"), 0);
}

/* ---- Destructors that use slots ---------------------------------------------------------------------------------- */

static csk_tls_slot_t older, newer;
static int calls_of_older, calls_of_newer, refusals;

static void sets_the_newer_anew(void *value) {
    calls_of_older++;
    CHECK(csk_tls_get(older) == NULL);
    int status = csk_tls_set(newer, value);
    if (status != 0) {
        CHECK_STATUS(status, ESHUTDOWN);
        CHECK(csk_tls_get(newer) == NULL);
        CHECK_STATUS(csk_tls_set(newer, NULL), 0);
        refusals++;
    }
}
static void sets_the_older_anew(void *value) {
    calls_of_newer++;
    int status = csk_tls_set(older, value);
    if (status != 0) {
        CHECK_STATUS(status, ESHUTDOWN);
        refusals++;
    }
}
static void *set_older(void *context) {
    CHECK_STATUS(csk_tls_set(older, context), 0);
    return NULL;
}

/* Round 1: older; rounds 2 to 4: newer, then older, which is below it, in the same round; then the last one refuses. */
static void rounds_end_by_refusing(void) {
    older = open_slot(NULL, sets_the_newer_anew);
    newer = open_slot(NULL, sets_the_older_anew);
    join_thread(start_thread(set_older, &older));
    CHECK_EQ(calls_of_older, CSK_TLS_ROUNDS);
    CHECK_EQ(calls_of_newer, CSK_TLS_ROUNDS);
    CHECK_EQ(refusals, 1);
}

static csk_tls_slot_t stubborn;
static uint32_t stubborn_calls;

static void sets_itself_anew(void *value) {
    stubborn_calls++;
    void *next = make_value();
    if (csk_tls_set(stubborn, next) != 0) destroy(next);
    destroy(value);
}
static void *set_stubborn(void *context) {
    (void)context;
    CHECK_STATUS(csk_tls_set(stubborn, make_value()), 0);
    return NULL;
}

static void a_destructor_that_never_stops_leaks_nothing(void) {
    stubborn = open_slot(NULL, sets_itself_anew);
    join_thread(start_thread(set_stubborn, NULL));
    CHECK_EQ(stubborn_calls, CSK_TLS_ROUNDS + 1);
    CHECK_EQ(LOAD(&alive), 0);
}

static csk_tls_slot_t grown[200];

/* Opens slots and moves the table while the end of the thread walks it. */
static void opens_many(void *value) {
    destroy(value);
    for (int i = 0; i < 200; i++) {
        grown[i] = open_slot(NULL, destroy);
        CHECK_STATUS(csk_tls_set(grown[i], make_value()), 0);
    }
}
static void *grow_at_the_end(void *context) {
    CHECK_STATUS(csk_tls_set((csk_tls_slot_t)(uintptr_t)context, make_value()), 0);
    return NULL;
}

static void a_destructor_may_open_slots_and_move_the_table(void) {
    destroyed = 0;
    join_thread(start_thread(grow_at_the_end, (void *)(uintptr_t)open_slot(NULL, opens_many)));
    CHECK_EQ(destroyed, 201);
    CHECK_EQ(alive, 0);
}

/* ---- Other people's keys ----------------------------------------------------------------------------------------- */

static pthread_key_t foreign;
static csk_tls_slot_t late;
static uint32_t foreign_calls, foreign_calls_wanted;

static void foreign_end(void *context) {
    (void)context;
    if (++foreign_calls < foreign_calls_wanted) pthread_setspecific(foreign, &foreign);
    void *value = make_value();
    if (csk_tls_get(late) != NULL || csk_tls_set(late, value) != 0) destroy(value);
}

static void *use_foreign_key(void *first) {
    if (first != NULL) CHECK_STATUS(csk_tls_set(late, make_value()), 0);
    CHECK_EQ(pthread_setspecific(foreign, &foreign), 0);
    return NULL;
}

/* The kernel's key is older than this one and is called before it in each pass, so what the last call sets needs one
 * pass more; where the kernel knows that there is none, it refuses. */
static void what_destructors_of_other_keys_set_is_destroyed(void) {
    late = open_slot(NULL, destroy);
    join_thread(start_thread(leave_a_value, (void *)(uintptr_t)late)); /* the kernel's key is there now */
    CHECK_EQ(pthread_key_create(&foreign, foreign_end), 0);
    for (int first = 0; first < 2; first++) {
/* which takes a thread's state away in the last pass, and dies of what is called after that */
#ifdef __SANITIZE_THREAD__
        if (first) break;
#endif
        foreign_calls = 0;
        foreign_calls_wanted = PTHREAD_DESTRUCTOR_ITERATIONS - !first;
        join_thread(start_thread(use_foreign_key, first ? &foreign : NULL));
        CHECK_EQ(foreign_calls, foreign_calls_wanted);
        CHECK_EQ(LOAD(&alive), 0);
    }
    CHECK_EQ(pthread_key_delete(foreign), 0);
}

/* It does without the kernel until the last pass, in which nothing is called any more of what it sets. */
static void foreign_end_at_last(void *context) {
    (void)context;
    if (++foreign_calls < foreign_calls_wanted) {
        pthread_setspecific(foreign, &foreign);
        return;
    }
    void *value = make_value();
    CHECK_STATUS(csk_tls_set(late, value), ESHUTDOWN);
    destroy(value);
}

static void what_only_the_last_pass_would_set_is_refused(void) {
    late = open_slot(NULL, destroy);
    join_thread(start_thread(leave_a_value, (void *)(uintptr_t)late)); /* the kernel's key is there now */
    CHECK_EQ(pthread_key_create(&foreign, foreign_end_at_last), 0);
    foreign_calls = 0;
#ifdef __SANITIZE_THREAD__
    foreign_calls_wanted = PTHREAD_DESTRUCTOR_ITERATIONS - 1;
#else
    foreign_calls_wanted = PTHREAD_DESTRUCTOR_ITERATIONS;
#endif
    join_thread(start_thread(use_foreign_key, &foreign));
    CHECK_EQ(foreign_calls, foreign_calls_wanted);
    CHECK_EQ(LOAD(&alive), 0);
    CHECK_EQ(pthread_key_delete(foreign), 0);
}

/* ---- The order of the kernel's own stages ------------------------------------------------------------------------ */

static char stages[16];
static void leaves_rcu(void) { strcat(stages, "R"); }
static void *enroll_early(void *slot) {
    CHECK_STATUS(csk_thread_exit_enroll(CSK_THREAD_EXIT_RCU, leaves_rcu), 0);
    CHECK_STATUS(csk_thread_exit_enroll(CSK_THREAD_EXIT_RCU, leaves_rcu), 0);
    CHECK_STATUS(csk_tls_set((csk_tls_slot_t)(uintptr_t)slot, stages), 0);
    return NULL;
}
static void notes_stage(void *value) { strcat(value, "v"); }
static void enrolls(void *value) {
    CHECK_STATUS(csk_thread_exit_enroll(CSK_THREAD_EXIT_RCU, leaves_rcu), 0);
    strcat(value, "v");
}
static void *set_only(void *slot) {
    CHECK_STATUS(csk_tls_set((csk_tls_slot_t)(uintptr_t)slot, stages), 0);
    return NULL;
}

static void threads_leave_rcu_after_their_values_are_destroyed(void) {
    join_thread(start_thread(enroll_early, (void *)(uintptr_t)open_slot(NULL, notes_stage)));
    CHECK_EQ(strcmp(stages, "vR"), 0);
    stages[0] = 0;
    join_thread(start_thread(set_only, (void *)(uintptr_t)open_slot(NULL, enrolls)));
    CHECK_EQ(strcmp(stages, "vR"), 0);
}

/* ---- Processes --------------------------------------------------------------------------------------------------- */

static csk_tls_slot_t forked;

static void check_values_in_child(void *context) {
    CHECK(csk_tls_get(forked) == context);
    CHECK_EQ(open_slot("forked", destroy), forked);
    csk_tls_slot_t slot = open_slot("child's own", destroy);
    destroyed = 0;
#ifndef __SANITIZE_THREAD__ /* which refuses threads in the child of a process that has some */
    join_thread(start_thread(leave_a_value, (void *)(uintptr_t)slot));
    CHECK_EQ(destroyed, 1);
#endif
    CHECK_STATUS(csk_tls_set(slot, context), 0);
    CHECK(csk_tls_get(forked) == context);
}

static void a_child_has_its_threads_values(void) {
    forked = open_slot("forked", destroy);
    void *value = make_value();
    CHECK_STATUS(csk_tls_set(forked, value), 0);
    in_a_child(check_values_in_child, value);
    CHECK(csk_tls_get(forked) == value);
    CHECK_STATUS(csk_tls_set(forked, NULL), 0);
    destroy(value);
}

static int *seen_by_parent;

static void count_for_parent(void *value) {
    (void)value;
    ADD(seen_by_parent, 1);
}
static void *exit_after_main(void *context) {
    (void)context;
    wait_until(LOAD(seen_by_parent) == 1);
    _exit(7);
}
static void end_main_by_pthread_exit(void *context) {
    (void)context;
    CHECK_STATUS(csk_tls_set(open_slot("main", count_for_parent), seen_by_parent), 0);
    start_thread(exit_after_main, NULL);
    pthread_exit(NULL);
}
static void end_main_by_exit(void *context) {
    (void)context;
    CHECK_STATUS(csk_tls_set(open_slot("main", count_for_parent), seen_by_parent), 0);
    exit(9);
}

static void a_main_thread_that_ends_is_one_like_others_and_exit_calls_nothing(void) {
    seen_by_parent = shared_page();
    int status = wait_for_child(start_child(end_main_by_pthread_exit, NULL));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK_EQ(*seen_by_parent, 1);
    status = wait_for_child(start_child(end_main_by_exit, NULL));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 9);
    CHECK_EQ(*seen_by_parent, 1);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

#ifdef CAN_REFUSE
static void *set_without_memory(void *context) {
    csk_tls_slot_t slot = (csk_tls_slot_t)(uintptr_t)context, fresh = 5;
    refuse_memory = true;
    CHECK_STATUS(csk_tls_set(slot, &fresh), ENOMEM);
    CHECK(csk_tls_get(slot) == NULL);
    CHECK_STATUS(csk_tls_set(slot, NULL), 0); /* needs none */
    CHECK_STATUS(csk_tls_open(&fresh, "refused", NULL), ENOMEM);
    CHECK_STATUS(csk_tls_open(&fresh, NULL, NULL), ENOMEM);
    CHECK_EQ(fresh, 5);
    refuse_memory = false;
    void *value = make_value();
    CHECK_STATUS(csk_tls_set(slot, value), 0);
    csk_tls_slot_t far_slot;
    for (int i = 0; i < 5000; i++) far_slot = open_slot(NULL, destroy);
    refuse_memory = true;
    CHECK_STATUS(csk_tls_set(far_slot, value), ENOMEM);
    CHECK(csk_tls_get(far_slot) == NULL);
    CHECK(csk_tls_get(slot) == value);
    CHECK_STATUS(csk_tls_set(slot, value), 0);
    refuse_memory = false;
    CHECK_STATUS(csk_tls_set(far_slot, make_value()), 0);
    return NULL;
}
#endif

static void refused_memory_leaves_all_as_it_was(void) {
#ifdef CAN_REFUSE
    destroyed = 0;
    join_thread(start_thread(set_without_memory, (void *)(uintptr_t)open_slot(NULL, destroy)));
    CHECK_EQ(destroyed, 2);
    CHECK_EQ(open_slot("refused", NULL), open_slot("refused", NULL));
#else
    printf("not with a sanitizer's allocator; ");
#endif
}

static long short_lived = 4000;

static void *live_shortly(void *context) {
    csk_tls_slot_t *slots = context;
    for (int i = 0; i < 3; i++) CHECK_STATUS(csk_tls_set(slots[i], make_value()), 0);
    return NULL;
}

static void short_lived_threads_leak_nothing(void) {
    csk_tls_slot_t slots[3];
    for (int i = 0; i < 3; i++) slots[i] = open_slot(NULL, destroy);
    size_t before = 0;
    destroyed = 0;
    for (long i = 0; i < short_lived; i += 4) {
        pthread_t threads[4];
        for (int t = 0; t < 4; t++) threads[t] = start_thread(live_shortly, slots);
        for (int t = 0; t < 4; t++) join_thread(threads[t]);
        /* what the C library keeps for later is there by now */
        if (i == short_lived / 8) before = mallinfo2().uordblks;
    }
    CHECK_EQ(destroyed, 3 * short_lived);
    CHECK_EQ(alive, 0);
#ifdef CAN_REFUSE
    CHECK_LE(mallinfo2().uordblks, before + 65536); /* a value of each thread would be more */
#endif
    (void)before;
}

static const test_t tests[] = {
    TEST(a_main_thread_that_ends_is_one_like_others_and_exit_calls_nothing), /* forks: before there are threads */
    TEST(a_child_has_its_threads_values),
    TEST(one_name_is_one_slot),
    TEST(no_slot_has_no_value),
    TEST(slots_have_no_limit),
    TEST(threads_that_open_one_name_at_once_get_one_slot),
    TEST(values_end_with_their_threads_however_these_end),
    TEST(the_newest_slot_comes_first),
    TEST(rounds_end_by_refusing),
    TEST(a_destructor_that_never_stops_leaks_nothing),
    TEST(a_destructor_may_open_slots_and_move_the_table),
    TEST(what_destructors_of_other_keys_set_is_destroyed),
    TEST(what_only_the_last_pass_would_set_is_refused),
    TEST(threads_leave_rcu_after_their_values_are_destroyed),
    TEST(refused_memory_leaves_all_as_it_was),
    TEST(short_lived_threads_leak_nothing),
};

int main(int argc, char **argv) {
    if (argc == 2 && atol(argv[1]) > 0) {
        static char *only[] = { NULL, "short_lived_threads_leak_nothing" };
        watchdog_s = 3600;
        short_lived = atol(argv[1]) / 8 * 8;
        return test_main(tests, sizeof tests / sizeof tests[0], 2, only);
    }
    return test_main(tests, sizeof tests / sizeof tests[0], argc, argv);
}
