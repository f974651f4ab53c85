/* kernel_platform.c: the kernel's platform.c beside platform_explored.c, under other names, with keys of pthread that
 * are plain memory, as the C library's are. */
#include "explorer.h"
#include "internal.h"

#include <string.h>

#define csk_platform_park kernel_platform_park
#define csk_platform_park_to_look kernel_platform_park_to_look
#define csk_platform_await_step kernel_platform_await_step
#define csk_platform_yield kernel_platform_yield
#define csk_platform_wake kernel_platform_wake
#define csk_platform_has_membarrier kernel_platform_has_membarrier
#define csk_platform_membarrier kernel_platform_membarrier
#define csk_platform_call_at_thread_end kernel_platform_call_at_thread_end
#define csk_platform_write_error kernel_platform_write_error
#include "base/platform.h"

#define csk_platform_begin_timed(deadline) ((csk_timed_wait_t){ .until_ns = (deadline) })
#define csk_platform_end_timed(wait, now) ((void)(wait), (void)(now))

enum { KEYS = 4 };

static struct { void (*function)(void *); } keys[KEYS];
static uint32_t keys_made, keys_deleted;

static int create_key(pthread_key_t *key, void (*function)(void *)) {
    *key = __atomic_fetch_add(&keys_made, 1, __ATOMIC_RELAXED);
    keys[*key].function = function;
    return 0;
}
static void delete_key(pthread_key_t key) {
    keys[key].function = NULL;
    __atomic_fetch_add(&keys_deleted, 1, __ATOMIC_RELAXED);
}
static int set_value(pthread_key_t key, const void *value) {
    EXPECT(value != NULL && keys[key].function != NULL);
    return 0;
}

#define pthread_key_create create_key
#define pthread_key_delete delete_key
#define pthread_setspecific set_value
#include "base/platform.c"

uint32_t kernel_keys_kept(void) { return keys_made - keys_deleted; }
void kernel_reset_platform(void) {
    memset(keys, 0, sizeof keys);
    keys_made = keys_deleted = membarrier_state = 0;
    thread_end_key = 0;
}
