/* output.h: text that goes to a user's function, line by line, with the names of functions. */
#ifndef CSK_INTERNAL_OUTPUT_H
#define CSK_INTERNAL_OUTPUT_H

#include "csynckernel/base.h"
#include "observe/symbols.h"

/* A text that is cut where it has no room. */
typedef struct csk_line {
    char *text;
    size_t size, length;
} csk_line_t;

__attribute__((format(printf, 2, 3))) void csk_line_add(csk_line_t *line, const char *format, ...);

typedef struct csk_output {
    csk_print_t print;
    void *context;
    int status; /* not 0: the printing has ended */
    csk_symbols_t symbols;
} csk_output_t;

/* Returns 0 or ENOMEM. It reads the files of the program. */
int csk_output_open(csk_output_t *output, csk_print_t print, void *context);
/* Returns what the printing came to. */
int csk_output_close(csk_output_t *output);

void csk_output_put(csk_output_t *output, const csk_line_t *line);
__attribute__((format(printf, 2, 3))) void csk_output_putf(csk_output_t *output, const char *format, ...);
/* A frame says where its call returns to. */
void csk_output_put_frames(csk_output_t *output, const uintptr_t *frames, uint32_t count);

#endif
