/* record_memory.h: where a program's own aligned_alloc has its memory from. Only the records of who reads come from
 * that function. A sanitizer has one already. */
#ifndef CSK_RECORD_MEMORY_H
#define CSK_RECORD_MEMORY_H

#include "readwrite/reads.h"
#include "test.h"

#if !TEST_IS_SANITIZED
#ifdef __GLIBC__
extern void *__libc_memalign(size_t alignment, size_t size);
#else
#include <dlfcn.h>
static void *__libc_memalign(size_t alignment, size_t size) {
    void *(*next)(size_t, size_t);
    *(void **)&next = dlsym(RTLD_NEXT, "aligned_alloc");
    return next(alignment, size);
}
#endif

static inline void *allocate_record(size_t alignment, size_t size) {
    CHECK_EQ(size, sizeof(csk_reads_t));
    return __libc_memalign(alignment, size);
}
#endif

#endif
