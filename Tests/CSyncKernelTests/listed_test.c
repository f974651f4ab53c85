/* listed_test.c: the list of objects at which callbacks wait. */
#include "wait/listed.h"

#include "test.h"

enum { OBJECTS = 64 };
static char objects[OBJECTS];

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
    CHECK(!csk_listed_has_any());
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
    CHECK(!csk_listed_has_any());
}

TEST_MAIN(TEST(each_object_is_read_once), TEST(an_object_is_of_the_kind_that_it_is_now))
