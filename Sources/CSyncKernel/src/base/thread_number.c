/* thread_number.c: where a thread's number stands, which gate.h describes. It has a file apart from platform_census.c,
 * which reads the number for other threads, and which the explorer and the fuzz targets replace. */
#include "csynckernel/gate.h"

__thread uint64_t csk_thread_number __attribute__((tls_model("initial-exec"))) = CSK_THREAD_UNNUMBERED;
