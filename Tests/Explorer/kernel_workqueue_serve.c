/* kernel_workqueue_serve.c: the kernel's workqueue_serve.c with queues on the heap in the memory of a schedule. */
#include "explorer.h"
#include "internal.h"

#include <stdlib.h>

#define CSK_WORKQUEUE_LIMITS
enum { QUANTUM = 1 };
/* A worker whose first spinning was in vain spins every other time. */
#define CSK_SPIN_LIMITS
enum { CSK_SPIN_VAIN = 1, CSK_SPIN_SKIPS = 2, CSK_SPIN_SKIPS_LONG = 2 };
#define free(memory) explore_free((memory), kernel_queue_size)
#include "queue/workqueue_serve.c"
