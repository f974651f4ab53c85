/* clients_platform.c: threads that ask at once to be called when they end: one key is made, and each uses it once it is
 * made. */
#include "explorer.h"
#include "internal.h"

static void make(void) {}
static void ends(void *value) { (void)value; }
static void asks(void) { EXPECT_EQUAL(kernel_platform_call_at_thread_end(ends), 0); }
static void one_key_is_kept(void) { EXPECT_EQUAL(kernel_keys_kept(), 1); }
CLIENT(platform_thread_end_of_two, .setup = make, .threads = { asks, asks }, .check = one_key_is_kept, .preemptions = 3)
