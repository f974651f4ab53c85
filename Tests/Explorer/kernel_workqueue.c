/* kernel_workqueue.c: the kernel's workqueue.c with queues on the heap in the memory of a schedule. */
#include "explorer.h"

#include <stdlib.h>

static size_t made_size;
static void *make_queue(size_t size) { return explore_allocate(made_size = size); }

#define CSK_WORKQUEUE_LIMITS
enum { QUANTUM = 1 };
#define malloc(size) make_queue(size)
#define free(memory) explore_free((memory), made_size)
#include "queue/workqueue.c"
