/* writer.h: text that goes in pieces to a user's function, through a buffer on the stack, without stdio and malloc. So
 * it can be written while other threads are stuck inside of these. */
#ifndef CSK_INTERNAL_WRITER_H
#define CSK_INTERNAL_WRITER_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "csynckernel/base.h"

typedef struct {
    csk_print_t print;
    void *context;
    int status; /* not 0: the printing has ended */
    size_t used;
    char buffer[4096];
} writer_t;

static inline void flush(writer_t *to) {
    if (to->status == 0 && to->used != 0) to->status = to->print(to->context, to->buffer, to->used);
    to->used = 0;
}

static inline void put_bytes(writer_t *to, const char *bytes, size_t size) {
    while (size != 0) {
        size_t room = sizeof to->buffer - to->used, part = size < room ? size : room;
        memcpy(to->buffer + to->used, bytes, part);
        to->used += part;
        bytes += part;
        size -= part;
        if (to->used == sizeof to->buffer) flush(to);
    }
}
static inline void put(writer_t *to, const char *text) { put_bytes(to, text, strlen(text)); }

/* Short pieces only. vsnprintf of numbers and strings uses neither memory nor streams, nor the program's locale. */
__attribute__((format(printf, 2, 3))) static inline void putf(writer_t *to, const char *format, ...) {
    char piece[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    if (length > 0) put_bytes(to, piece, (size_t)length < sizeof piece ? (size_t)length : sizeof piece - 1);
}

#endif
