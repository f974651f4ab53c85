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

/* Copies a name that is shown in a line: a character of UTF-8 that has no room is left out as a whole, and control
 * characters become spaces. */
void csk_copy_line(char *to, size_t room, const char *text);

/* The length of the UTF-8 character that begins there; 0 where none does. */
size_t csk_utf8_length(const char *text);

/* How long the names are that the metrics and the profile keep, with the zero at the end. */
enum { CSK_TEXT_ROOM = 128 };

/* Replaces each byte that belongs to no whole character of UTF-8 by U+FFFD, as far as there is room, also where the
 * name was cut in the middle of one. Done before the name is looked for: names that can't be told apart by what is
 * written of them share an entry. */
void csk_make_utf8(char name[CSK_TEXT_ROOM]);

#endif
