/* text.c: see text.h. */
#include "base/text.h"

#include <stdbool.h>

/* By the table of RFC 3629. It reads no byte behind one that does not belong to it, such as the zero at the end. */
size_t csk_utf8_length(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] < 0x80) return 1;
    if (at[0] < 0xC2 || at[0] > 0xF4) return 0;
    size_t length = at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : 4;
    unsigned least = at[0] == 0xE0 ? 0xA0 : at[0] == 0xF0 ? 0x90 : 0x80;
    unsigned most = at[0] == 0xED ? 0x9F : at[0] == 0xF4 ? 0x8F : 0xBF;
    if (at[1] < least || at[1] > most) return 0;
    for (size_t i = 2; i < length; i++)
        if ((at[i] & 0xC0) != 0x80) return 0;
    return length;
}

void csk_copy_line(char *to, size_t room, const char *text) {
    csk_copy_text(to, room, text);
    size_t length = strlen(to), begin = length;
    if (text[length] != 0) { /* cut: perhaps behind the first bytes of a character */
        while (begin > 0 && length - begin < 3 && ((unsigned char)to[begin - 1] & 0xC0) == 0x80) begin--;
        if (begin > 0 && (unsigned char)to[begin - 1] >= 0xC0 && csk_utf8_length(&to[begin - 1]) == 0)
            to[begin - 1] = 0;
    }
    for (char *at = to; *at != 0; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f) *at = ' ';
}

static void replace(char *name) {
    static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */
    char text[CSK_TEXT_ROOM];
    size_t size = 0;
    for (const char *at = name; *at != 0;) {
        size_t length = csk_utf8_length(at), kept = length != 0 ? length : sizeof replacement - 1;
        if (size + kept >= sizeof text) break;
        memcpy(text + size, length != 0 ? at : replacement, kept);
        size += kept;
        at += length != 0 ? length : 1;
    }
    memcpy(name, text, size);
    name[size] = 0;
}

static bool is_ascii(const char *name) {
    unsigned char all = 0;
    for (; *name != 0; name++) all |= (unsigned char)*name;
    return all < 0x80;
}

void csk_make_utf8(char name[CSK_TEXT_ROOM]) {
    if (!is_ascii(name)) replace(name);
}
