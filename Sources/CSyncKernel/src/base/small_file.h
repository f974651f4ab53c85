/* small_file.h: reads a file of a few bytes, as those in /proc about a thread, also where the process has no descriptor
 * left. */
#ifndef CSK_INTERNAL_SMALL_FILE_H
#define CSK_INTERNAL_SMALL_FILE_H

#include <stddef.h>

enum { CSK_SMALL_PATH = 48, CSK_SMALL_FILE = 64 };

/* Reads at most `size` bytes. Returns how many it read, or less than 0. Where no descriptor is left, a thread of the
 * library's reads them, which this starts, and waits for, 10 ms at most. In that case `path` must have less than
 * CSK_SMALL_PATH characters, at most CSK_SMALL_FILE bytes are read, and of two threads that call it at once one may be
 * refused. It is no cancellation point, and leaves errno alone. */
long csk_small_file_read(const char *path, char *text, size_t size);

#endif
