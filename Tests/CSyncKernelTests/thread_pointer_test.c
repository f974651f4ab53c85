/* thread_pointer_test.c: what stands in for the compiler's builtin gives the same. */
#define CSK_WITHOUT_THREAD_POINTER_BUILTIN
#include "test.h"

#include <csynckernel/csynckernel.h>

static void *the_same(void *context) {
    CHECK(CSK_THREAD_POINTER() == __builtin_thread_pointer());
    CHECK_EQ(csk_self(), (uint64_t)(uintptr_t)__builtin_thread_pointer());
    CHECK_EQ(csk_self() % 16, 0);                       /* where locks keep their flags */
    CHECK_EQ(csk_thread_number, CSK_THREAD_UNNUMBERED); /* it sees to that */
    return context;
}

static void the_thread_pointer_is_that_of_the_builtin_in_every_thread(void) {
    the_same(NULL);
    join_thread(start_thread(the_same, NULL));
}

TEST_MAIN(TEST(the_thread_pointer_is_that_of_the_builtin_in_every_thread))
