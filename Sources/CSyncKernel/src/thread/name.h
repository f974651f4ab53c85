/* name.h: the end of a name, for the functions that end objects. name.c has the argument. */
#ifndef CSK_INTERNAL_NAME_H
#define CSK_INTERNAL_NAME_H

#include "csynckernel/name.h"
#include "base/platform.h"

/* How many objects have a name from csk_name. Changed under the lock of the table. */
extern size_t csk_name_count __attribute__((visibility("hidden")));

/* Called when the object is not in use any more, before its memory may become that of another. The name of the object,
 * if it has one, was counted before: the thread that named the object has handed it to the caller. So the caller sees a
 * count of at least one. */
static inline void csk_name_end(const void *object) {
    if (CSK_UNLIKELY(csk_load(&csk_name_count, CSK_RELAXED) != 0)) csk_unname(object);
}

/* csk_name_of for a view, which waits for no lock: that of the table is tried as long as `goes_on` says so, or once if
 * that is NULL. Returns false where it could not be had. Then `buffer` may have the name that the object has by
 * itself. */
bool csk_name_try_of(const void *object, uint32_t kind, char *buffer, size_t size, bool (*goes_on)(void *context),
                     void *context);

/* The name that a place stands for, cut to the room: its file and line, or the name itself. Returns its length, 0 where
 * it has none. */
size_t csk_place_text(const csk_place_t *place, char *buffer, size_t size);

#endif
