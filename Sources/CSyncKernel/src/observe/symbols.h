/* symbols.h: the names of functions by their addresses, as the files say that the process has mapped. */
#ifndef CSK_INTERNAL_SYMBOLS_H
#define CSK_INTERNAL_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

/* A file's code in memory. */
typedef struct csk_module {
    uintptr_t start, limit;
    uint64_t offset; /* of `start` in the file */
    const char *path;
    char build_id[65]; /* in hexadecimal digits; empty for none */
    struct csk_module_file *file;
} csk_module_t;

typedef struct csk_symbols {
    csk_module_t *modules;
    size_t module_count;
    char *maps;
} csk_symbols_t;

/* Reads what is mapped now. Returns 0 or ENOMEM; a file that can't be read has no names. */
int csk_symbols_open(csk_symbols_t *symbols);
void csk_symbols_close(csk_symbols_t *symbols);

/* The module of an address, or NULL. */
const csk_module_t *csk_symbols_module(const csk_symbols_t *symbols, uintptr_t address);
/* The name of the function at an address, as the linker knows it; NULL where the file doesn't say. Valid until
 * csk_symbols_close. */
const char *csk_symbols_name(const csk_module_t *module, uintptr_t address);
/* The same name as the source has it, for free(); NULL where it is that already. */
char *csk_symbols_name_in_source(const char *linked);

#endif
