/* collected_text.h: what the library prints, as one text. */
#ifndef CSK_TEST_COLLECTED_TEXT_H
#define CSK_TEST_COLLECTED_TEXT_H

#include <errno.h>
#include <string.h>

typedef struct {
    char text[1 << 18];
    size_t used;
} text_t;

/* A csk_print_t whose context is a text_t. */
static inline int collect(void *context, const void *bytes, size_t size) {
    text_t *to = context;
    if (to->used + size >= sizeof to->text) return ENOBUFS;
    memcpy(to->text + to->used, bytes, size);
    to->text[to->used += size] = 0;
    return 0;
}

#endif
