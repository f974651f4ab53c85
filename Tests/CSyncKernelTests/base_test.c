#include "test.h"

static void version_is_that_of_the_header(void) {
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", CSK_VERSION_MAJOR, CSK_VERSION_MINOR, CSK_VERSION_PATCH);
    CHECK_EQ(strcmp(csk_version(), expected), 0);
}

static int64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void now_is_the_monotonic_clock(void) {
    for (int i = 0; i < 1000; i++) {
        int64_t before = monotonic_ns(), now = csk_now(), after = monotonic_ns();
        CHECK_LE(before, now);
        CHECK_LE(now, after);
    }
}

static void deadline_is_so_far_from_now(void) {
    static const int64_t spans[] = { 0, 1, 999999999, 1000000000, INT64_C(86400000000000) };
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        int64_t before = csk_now(), deadline = csk_deadline_after(spans[i]), after = csk_now();
        CHECK_LE(before + spans[i], deadline);
        CHECK_LE(deadline, after + spans[i]);
    }
}

static void a_far_deadline_saturates(void) {
    CHECK_EQ(csk_deadline_after(INT64_MAX), CSK_NEVER);
    CHECK_EQ(csk_deadline_after(INT64_MAX - 1), CSK_NEVER);
    CHECK_EQ(csk_deadline_after(INT64_MAX - csk_now()), CSK_NEVER);
    /* An hour before the end of time, which is no saturation. */
    CHECK(csk_deadline_after(INT64_MAX - csk_now() - INT64_C(3600000000000)) < CSK_NEVER);
}

static void a_span_has_so_many_nanoseconds(void) {
    CHECK_EQ(csk_us(7), 7000);
    CHECK_EQ(csk_ms(7), 7000000);
    CHECK_EQ(csk_s(7), INT64_C(7000000000));
    CHECK_EQ(csk_s(-7), INT64_C(-7000000000));
    CHECK_EQ(csk_ms(0), 0);
    CHECK_EQ(csk_ms(INT64_MAX / 1000000), INT64_MAX / 1000000 * 1000000);
    CHECK_EQ(csk_ms(INT64_MAX / 1000000 + 1), INT64_MAX);
    CHECK_EQ(csk_s(INT64_MIN), INT64_MIN);
    CHECK_EQ(csk_deadline_after(csk_us(INT64_MAX)), CSK_NEVER);
}

static void a_negative_span_has_passed(void) {
    CHECK(csk_deadline_after(-1) < csk_now());
    CHECK(csk_deadline_after(INT64_MIN) < 0);
    CHECK(csk_deadline_after(INT64_MIN) < csk_deadline_after(INT64_MIN + INT64_C(3600000000000)));
}

static void every_status_has_its_own_text(void) {
    /* All that a function of the kernel returns, or an event carries. */
    static const int statuses[] = { 0,      ETIMEDOUT, ECANCELED, EDEADLK,    EPERM,  EBUSY,   EINVAL,      ENOMEM,
                                    EAGAIN, ENOENT,    ESHUTDOWN, EOWNERDEAD, EEXIST, ENOTSUP, EINPROGRESS, -1 };
    enum { count = sizeof statuses / sizeof statuses[0] };
    for (size_t i = 0; i < count; i++) {
        const char *text = csk_status_text(statuses[i]);
        CHECK(text != NULL);
        CHECK(strlen(text) > 0 && strchr(text, '\n') == NULL);
        for (size_t other = 0; other < i; other++) CHECK(strcmp(text, csk_status_text(statuses[other])) != 0);
    }
    CHECK_EQ(strcmp(csk_status_text(ETIMEDOUT), "timed out"), 0);
    CHECK(csk_status_text(INT32_MAX) == csk_status_text(-1));
}

/* The list is made of the sources. */
static void every_status_that_the_sources_name_has_a_text(void) {
    static const struct {
        int status;
        const char *name;
    } names[] = {
#include "status_names.inc"
    };
    CHECK_GE(sizeof names / sizeof names[0], 14);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (csk_status_text(names[i].status) == csk_status_text(-1))
            test_fail(__FILE__, __LINE__, "%s has no text", names[i].name);
}

/* What the headers say of each that says several things: a text that names one of them alone is wrong for the
 * others. */
static void a_text_fits_all_functions_that_return_it(void) {
    static const struct {
        int status;
        const char *words[3];
    } statuses[] = {
        { ECANCELED, { "cancelled", "dropped" } },    /* a waiter; work of a full queue */
        { EDEADLK, { "wait for its own thread" } },   /* a lock, a queue's work, an upgrade, a barrier */
        { EPERM, { "taken", "begun", "privilege" } }, /* an unlock; a section, an update, a suspension;
                                                                 niceness */
        { EBUSY, { "held", "in use", "full" } },      /* a lock; a pool, a timer; a queue */
        { EINVAL, { "argument", "state" } },          /* a value; an adoption of nothing */
        { EAGAIN,
          { "taken back", "at its limit", "no thread" } }, /* a grant; levels; the pool, the timer, the reclaiming
                                                                 thread */
        { ESHUTDOWN, { "closed", "shut down", "ended" } }, /* a gate; a work queue; a thread and its values */
        { ENOENT, { "any more" } },                        /* a timer that has fired, a waiter that was granted */
    };
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        const char *text = csk_status_text(statuses[i].status);
        CHECK(strlen(text) <= 80);
        for (int word = 0; word < 3 && statuses[i].words[word] != NULL; word++)
            if (strstr(text, statuses[i].words[word]) == NULL)
                test_fail(__FILE__, __LINE__, "\"%s\" says nothing of \"%s\"", text, statuses[i].words[word]);
    }
}

static void *its_thread_id(void *id) {
    *(int32_t *)id = csk_thread_id();
    return NULL;
}

static void threads_have_ids_and_the_first_has_the_process_id(void) {
    pthread_t thread;
    int32_t other = 0;
    CHECK_EQ(csk_thread_id(), (int32_t)getpid());
    CHECK_EQ(pthread_create(&thread, NULL, its_thread_id, &other), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK(other > 0 && other != csk_thread_id());
}

static void errno_is_left_alone(void) {
    errno = EDOM;
    csk_now();
    csk_deadline_after(5);
    csk_status_text(12345);
    csk_version();
    CHECK_EQ(errno, EDOM);
}

static void ranks_order_by_priority_then_place(void) {
    static const int32_t priorities[] = { INT32_MIN, INT32_MIN + 1, -1, 0, 1, INT32_MAX - 1, INT32_MAX };
    csk_rank_t last = INT64_MIN;
    for (size_t i = 0; i < sizeof priorities / sizeof priorities[0]; i++) {
        for (int place = CSK_PLACE_LAST; place <= CSK_PLACE_FRONT; place++) {
            csk_rank_t rank = csk_rank(priorities[i], place);
            CHECK(rank > last);
            last = rank;
        }
    }
}

TEST_MAIN(TEST(version_is_that_of_the_header), TEST(now_is_the_monotonic_clock), TEST(deadline_is_so_far_from_now),
          TEST(a_far_deadline_saturates), TEST(a_span_has_so_many_nanoseconds), TEST(a_negative_span_has_passed),
          TEST(every_status_has_its_own_text), TEST(every_status_that_the_sources_name_has_a_text),
          TEST(a_text_fits_all_functions_that_return_it), TEST(threads_have_ids_and_the_first_has_the_process_id),
          TEST(errno_is_left_alone), TEST(ranks_order_by_priority_then_place))
