/* text.h: names in arrays of a fixed size. */
#ifndef CSK_INTERNAL_TEXT_H
#define CSK_INTERNAL_TEXT_H

#include <string.h>

/* Copies as much of the text as there is room for, with a zero behind it. `room` is not 0. */
static inline void csk_copy_text(char *to, size_t room, const char *text) {
    size_t length = strnlen(text, room - 1);
    memcpy(to, text, length);
    to[length] = 0;
}

#endif
