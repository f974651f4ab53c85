/* kernel_workqueue.c: the kernel's workqueue.c with queues on the heap in the memory of a schedule. */
#include "explorer.h"

#define aligned_alloc(alignment, size) explore_allocate(size)
#define free(memory) explore_free((memory), sizeof(csk_workqueue_t))
#include "workqueue.c"
