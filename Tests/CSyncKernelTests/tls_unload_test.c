/* tls_unload_test.c: the shared library, loaded late and closed while a thread still has values: its initial-exec
 * storage finds room, and its code is there when that thread ends. */
#include <csynckernel/tls.h>
#include <dlfcn.h>

#include "test.h"

#ifndef LIBRARY
#error "LIBRARY names the shared library"
#endif

static int (*open_slot)(csk_tls_slot_t *, const char *, csk_tls_destructor_t);
static int (*set)(csk_tls_slot_t, void *);
static csk_tls_slot_t slot;
static uint32_t has_value, closed, destroyed;

static void destroy(void *value) {
    CHECK(value == &slot);
    ADD(&destroyed, 1);
}

static void *keep_a_value(void *context) {
    (void)context;
    CHECK_STATUS(set(slot, &slot), 0);
    STORE(&has_value, 1);
    wait_until(LOAD(&closed));
    return NULL;
}

static void a_closed_library_is_there_for_threads_that_end_later(void) {
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    *(void **)&open_slot = dlsym(library, "csk_tls_open");
    *(void **)&set = dlsym(library, "csk_tls_set");
    CHECK(open_slot != NULL && set != NULL);
    CHECK_STATUS(open_slot(&slot, "unload", destroy), 0);
    pthread_t thread = start_thread(keep_a_value, NULL);
    wait_until(LOAD(&has_value));
    CHECK_EQ(dlclose(library), 0);
    STORE(&closed, 1);
    join_thread(thread);
    CHECK_EQ(destroyed, 1);
}

TEST_MAIN(TEST(a_closed_library_is_there_for_threads_that_end_later))
