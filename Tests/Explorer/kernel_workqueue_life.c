/* kernel_workqueue_life.c: the kernel's workqueue_life.c, which makes the queues on the heap that kernel_workqueue.c
 * frees. */
#include "explorer.h"
#include "internal.h"

#include <stdlib.h>

size_t kernel_queue_size;
static void *make_queue(size_t size) { return explore_allocate(kernel_queue_size = size); }

#define malloc(size) make_queue(size)
#define free(memory) explore_free((memory), kernel_queue_size)
#include "queue/workqueue_life.c"
