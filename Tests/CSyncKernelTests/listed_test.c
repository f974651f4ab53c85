/* listed_test.c: the list of objects at which callbacks wait. */
#include "observe/listed.h"

#include "base/hooks.h"

#include "test.h"

enum { OBJECTS = 64 };
static char objects[OBJECTS], another;

static const void *the_next(const csk_listed_cursor_t *cursor) {
    return cursor->at < cursor->count ? cursor->found[cursor->at] : NULL;
}

static csk_listed_t read_one(csk_listed_cursor_t *cursor) {
    csk_listed_t listed = { 0 };
    bool busy = false;
    CHECK(csk_listed_next(cursor, &listed, csk_deadline_after(INT64_C(1000000000)), &busy) && !busy);
    return listed;
}

static void each_object_is_read_once(void) {
    csk_listed_cursor_t cursor = { 0 };
    csk_listed_t listed;
    bool busy = false, read[OBJECTS] = { false };
    int count = 0;
    for (int i = 0; i < OBJECTS; i++) CHECK(csk_listed_add(&objects[i], 1 + i % 3) && csk_listed_add(&objects[i], 9));
    while (csk_listed_next(&cursor, &listed, csk_deadline_after(INT64_C(1000000000)), &busy)) {
        ptrdiff_t i = (const char *)listed.object - objects;
        CHECK(i >= 0 && i < OBJECTS && !read[i]);
        CHECK_EQ(listed.kind, 1 + i % 3);
        read[i] = true;
        count++;
    }
    CHECK_EQ(count, OBJECTS);
    CHECK(!busy);
    for (int i = 0; i < OBJECTS; i++) csk_listed_take_off(&objects[i]), csk_listed_take_off(&objects[i]);
    CHECK(!csk_listed_has_callbacks());
}

/* A view once read an object as one of the kind that had stood at its address before. */
static void an_object_is_of_the_kind_that_it_is_now(void) {
    csk_listed_cursor_t cursor = { 0 };
    for (int i = 0; i < OBJECTS; i++) CHECK(csk_listed_add(&objects[i], 1));
    csk_listed_t listed;
    do CHECK_EQ((listed = read_one(&cursor)).kind, 1);
    while (the_next(&cursor) == NULL);
    const void *next = the_next(&cursor);
    csk_listed_take_off(next);
    CHECK(csk_listed_add(next, 2));
    listed = read_one(&cursor);
    CHECK(listed.object == next);
    CHECK_EQ(listed.kind, 2);
    bool busy = false;
    while (csk_listed_next(&cursor, &listed, csk_deadline_after(INT64_C(1000000000)), &busy)) {}
    for (int i = 0; i < OBJECTS; i++) csk_listed_take_off(&objects[i]);
    CHECK(!csk_listed_has_callbacks());
}

/* The deadlock watch takes views while callbacks wait. A suspended queue alone needs none. */
static void a_suspended_queue_is_no_callback(void) {
    for (int i = 0; i < OBJECTS; i++) CHECK(csk_listed_add(&objects[i], CSK_OBJECT_WORKQUEUE));
    CHECK(!csk_listed_has_callbacks());
    CHECK(csk_listed_add(&objects[0], CSK_OBJECT_WORKQUEUE) && csk_listed_add(&another, CSK_OBJECT_GATE));
    CHECK(csk_listed_has_callbacks());
    csk_listed_take_off(&another);
    csk_listed_take_off(&objects[0]);
    CHECK(!csk_listed_has_callbacks());
    for (int i = 0; i < OBJECTS; i++) csk_listed_take_off(&objects[i]);
    CHECK(!csk_listed_has_callbacks());
}

/* The count once began again at 0, and nothing was listed although many wanted it. It comes last: the list stays on. */
static void callbacks_stay_listed_however_many_want_it(void) {
    csk_inspect_callbacks(false);
    CHECK(!csk_callbacks_are_listed());
    for (int i = 0; i < UINT16_MAX + 2; i++) {
        csk_inspect_callbacks(true);
        CHECK(csk_callbacks_are_listed());
    }
    csk_inspect_callbacks(false);
    CHECK(csk_callbacks_are_listed());
}

TEST_MAIN(TEST(each_object_is_read_once), TEST(an_object_is_of_the_kind_that_it_is_now),
          TEST(a_suspended_queue_is_no_callback), TEST(callbacks_stay_listed_however_many_want_it))
