/* seen.h: functions of the C library whose accesses the explorer is to see: the compiler calls for those that it
 * compiles, and not for what a library does with a text. For sources of the kernel, which include this before their own
 * headers. */
#ifndef EXPLORER_SEEN_H
#define EXPLORER_SEEN_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((unused)) static void *seen_memcpy(void *to, const void *from, size_t size) {
    for (size_t i = 0; i < size; i++) ((char *)to)[i] = ((const char *)from)[i];
    return to;
}

__attribute__((unused)) static void see_text(const char *text) {
    static uint64_t sum;
    uint64_t read = 0;
    for (; *text != 0; text++) read += (unsigned char)*text;
    __builtin_memcpy(&sum, &read, sizeof sum);
}

/* Of %s, %p, %u and %lx, no text is cut, as in the kernel's sources that use this. */
__attribute__((unused)) static int seen_vsnprintf(char *text, size_t size, const char *format, va_list arguments) {
    va_list texts;
    va_copy(texts, arguments);
    for (const char *at = format; (at = strchr(at, '%')) != NULL; at += 2)
        if (at[1] == 's') see_text(va_arg(texts, const char *));
        else if (at[1] == 'u') (void)va_arg(texts, unsigned);
        else (void)va_arg(texts, unsigned long);
    va_end(texts);
    return vsnprintf(text, size, format, arguments);
}
__attribute__((unused, format(printf, 3, 4))) static int seen_snprintf(char *text, size_t size, const char *format,
                                                                       ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = seen_vsnprintf(text, size, format, arguments);
    va_end(arguments);
    return length;
}

#define memcpy seen_memcpy
#define snprintf seen_snprintf
#define vsnprintf seen_vsnprintf

#endif
