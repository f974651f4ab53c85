/* alone.h: for programs that use one lock and nothing else of the library.
 *
 * From the archive such a program gets the few files that the lock needs. With musl their thread-local variables alone
 * decide how a created thread's pointer is aligned, whose low four bits are flags in the locks' words. So with musl
 * these programs are linked statically. */
#include "test.h"

/* Runs the function on threads that are all alive at once, on stacks of different sizes, half of them at odd places. */
static void on_several_threads(void *(*body)(void *)) {
    enum { THREADS = 8, STACK = 1024 * 1024 }; /* ThreadSanitizer needs most of it */
    static _Alignas(64) char stacks[THREADS / 2][STACK];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        pthread_attr_t attributes;
        char *given = stacks[i / 2] + (size_t)i * 16;
        CHECK_EQ(pthread_attr_init(&attributes), 0);
        if (i % 2 == 0) CHECK_EQ(pthread_attr_setstacksize(&attributes, STACK + (size_t)i * 4096), 0);
        else CHECK_EQ(pthread_attr_setstack(&attributes, given, STACK - (size_t)i * 32), 0);
        CHECK_EQ(pthread_create(&threads[i], &attributes, body, NULL), 0);
        pthread_attr_destroy(&attributes);
    }
    for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
    body(NULL);
}
