/* kernel_small_file.c: the kernel's small_file.c; files that contain their own names, of which the system opens one
 * only for a thread with a table of descriptors of its own; and the way back to the first state. */
#include "explorer.h"
#include <unistd.h>

#include "thread/fork.h"

/* A child of fork has another number here too. */
#define getpid() ((int)csk_process_epoch() + 1)
#include "base/small_file.c"

#include "internal.h"

/* For clients: such a table is refused. */
bool kernel_own_table_refused;

static int owner; /* 1 + the thread that has a table of its own */

EXPLORE_UNSEEN bool csk_platform_have_own_descriptors(void) {
    if (!kernel_own_table_refused) owner = 1 + explore_thread();
    return !kernel_own_table_refused;
}
EXPLORE_UNSEEN static bool opens(void) { return owner == 1 + explore_thread(); }

long csk_platform_read_file(const char *path, char *text, size_t size) {
    if (!opens()) return -EMFILE;
    size_t length = 0;
    for (; length < size && path[length] != 0; length++) text[length] = path[length];
    return (long)length;
}

void kernel_reset_small_file(void) {
    memset(&reader, 0, sizeof reader);
    kernel_own_table_refused = false;
    owner = 0;
}
