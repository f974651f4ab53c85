/* virtual_pool.c: the pool as fuzz targets have it: no threads, but a list of items, from which the target takes what a
 * worker shall do next, in any order. */
#include "pool/pool.h"

#include "fuzz.h"

enum { ITEMS = 16 };

struct csk_pool_process csk_pool_process;
const void *(*csk_pool_describe)(csk_pool_item_t *item, const char **name);
_Thread_local csk_pool_frame_t *csk_pool_frame __attribute__((tls_model("initial-exec")));

static csk_pool_item_t *items[ITEMS];
static int count;
static bool (*when_asked)(void);
static void (*when_asked_between)(void);

void fuzz_pool_empty(void) { count = 0; }
int fuzz_pool_count(void) { return count; }
void fuzz_when_pool_is_asked(bool (*function)(void), void (*between)(void)) {
    when_asked = function;
    when_asked_between = between;
}

bool fuzz_pool_has(const csk_pool_item_t *item) {
    for (int index = 0; index < count; index++)
        if (items[index] == item) return true;
    return false;
}

csk_pool_item_t *fuzz_pool_take(int index) {
    csk_pool_item_t *item = items[index];
    count--;
    memmove(&items[index], &items[index + 1], sizeof items[0] * (size_t)(count - index));
    return item;
}

int csk_pool_prepare(void) {
    csk_pool_process.ready = csk_process_epoch();
    return 0;
}

int csk_pool_post(csk_pool_item_t *item, csk_pool_function_t function) {
    if (csk_pool_ready() == 0) fuzz_fail("an item is posted before it is known that a worker can be had");
    if (function == NULL || item->level >= CSK_POOL_LEVELS)
        fuzz_fail("an item is posted without a function, or at level %u", item->level);
    if (fuzz_pool_has(item)) fuzz_fail("an item is posted that waits already");
    if (count == ITEMS) fuzz_fail("the virtual pool has no room");
    item->function = function;
    items[count++] = item;
    return 0;
}

uint64_t csk_pool_queued_between(void) {
    if (when_asked_between != NULL) when_asked_between();
    return (uint64_t)count;
}
uint64_t csk_pool_queued(void) { return when_asked != NULL && when_asked() ? UINT64_MAX : (uint64_t)count; }
