/* thread_number.c: where a thread's number stands, which gate.h describes. It has a file apart from platform_census.c,
 * which reads the number for other threads, and which the explorer and the fuzz targets replace. */
#include "csynckernel/gate.h"

/* The alignment is for csk_self, whose low four bits are flags elsewhere. glibc aligns thread pointers to 64 bytes, and
 * musl only as far as some thread-local variable of the program asks for. The read-write lock, which has flags there,
 * keeps this file linked. */
__thread uint64_t csk_thread_number __attribute__((tls_model("initial-exec"), aligned(16))) = CSK_THREAD_UNNUMBERED;
