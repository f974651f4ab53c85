/* tls.h: named thread-local slots without a limit on their number, with destructors at thread exit.
 *
 * A slot is an index into a table that each thread has of its own. Opening a slot looks its name up once. Getting and
 * setting then cost one call and one indexed access, and never take a lock.
 *
 * A thread ends by returning, by pthread_exit, or by cancellation. Then each of its values that is not NULL is taken
 * out of its slot and given to the slot's destructor. The slot that was opened last comes first. Destructors may use
 * every slot. A value that a destructor sets anew is destroyed too. After four rounds (CSK_TLS_ROUNDS) csk_tls_set
 * refuses with ESHUTDOWN, and a last round destroys what is left. So a thread leaves no value behind. Destructors that
 * other parts of the program registered by pthread_key_create run before or after these in no fixed order. What they
 * set is destroyed as well, as long as the system goes on calling (PTHREAD_DESTRUCTOR_ITERATIONS, four rounds). The
 * destructors of C++'s thread_local objects run earlier.
 *
 * The end of the process is not the end of its threads. When main returns or exit is called, no destructor is called,
 * for any thread, as POSIX has it for its keys. A main thread that ends by pthread_exit is a thread like all others.
 *
 * fork. The child's thread has the values that the forking thread had, and all slots. It may open, get and set at once,
 * whatever other threads were doing. What other threads had is neither reachable nor destroyed in the child.
 *
 * Slots live as long as the process. A slot that could be closed would leave values in other threads that no thread may
 * destroy. Code that opened a slot with a destructor must therefore not be unloaded. The library itself stays loaded
 * after dlclose.
 *
 * The library uses initial-exec thread-local storage, 708 bytes on x86-64, in every thread of the process. A program
 * that is linked with the library has these bytes in its own block. Where the library is loaded late (by dlopen, as a
 * plugin, or by a language's runtime), they come out of what glibc keeps for such libraries. That is 1664 bytes unless
 * set otherwise, for all such libraries together; 512 of these are for optional use. The tunable
 * glibc.rtld.optional_static_tls sets the latter, for example GLIBC_TUNABLES=glibc.rtld.optional_static_tls=1024. Where
 * no room is left dlopen fails with "cannot allocate memory in static TLS block": set the tunable, or link the library.
 * musl keeps nothing for such libraries: link it there.
 *
 * No function here waits for another thread. None may be called from a signal handler.
 *
 * Example: a buffer for each thread, freed when the thread ends.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <pthread.h>
 *     #include <stdlib.h>
 *
 *     static csk_tls_slot_t slot;
 *     static int freed;
 *
 *     static void free_buffer(void *buffer) {
 *         free(buffer);
 *         freed++;
 *     }
 *
 *     static void *parse(void *unused) {
 *         (void)unused;
 *         void *buffer = csk_tls_get(slot);  // NULL: none yet
 *         if (buffer == NULL && csk_tls_set(slot, buffer = malloc(4096)) != 0) free(buffer);
 *         return NULL;
 *     }
 *
 *     int main(void) {
 *         pthread_t thread;
 *         if (csk_tls_open(&slot, "parser.buffer", free_buffer) != 0) return 1;
 *         if (pthread_create(&thread, NULL, parse, NULL) != 0) return 1;
 *         pthread_join(thread, NULL);
 *         return freed != 1;
 *     }
 */
#ifndef CSK_TLS_H
#define CSK_TLS_H

#include "base.h"

CSK_BEGIN_DECLS

/* The slot 0 is no slot: it gives NULL and can't be set. */
typedef uint32_t csk_tls_slot_t;

/* Called on the thread that ends, with a value that is not NULL. */
typedef void (*csk_tls_destructor_t)(void *value);

/* How often values that destructors have set are destroyed before setting is refused. */
enum { CSK_TLS_ROUNDS = 4 };

/* Finds the slot of `name` or makes it, and stores it in `*slot`. With NULL for a name each call makes a new slot. The
 * name is copied. `destructor` may be NULL.
 *
 * Returns 0; EINVAL: the name's slot has another destructor; ENOMEM; or EAGAIN at 2^32 slots. After an error nothing
 * has changed. O(length + log(slots)). */
CSK_API CSK_MUST_USE int csk_tls_open(csk_tls_slot_t *slot, const char *name, csk_tls_destructor_t destructor);
/* As csk_tls_open, for a name of `length` bytes, of which any may be zero. */
CSK_API CSK_MUST_USE int csk_tls_open_bytes(csk_tls_slot_t *slot, const void *name, size_t length,
                                            csk_tls_destructor_t destructor);

/* Gives the calling thread's value, or NULL if it has none. O(1). */
CSK_API void *csk_tls_get(csk_tls_slot_t slot);

/* Gives the calling thread a value; NULL takes it away. The value that was there is not destroyed: it is the caller's
 * again.
 *
 * Returns 0 or one of these. EINVAL: there is no such slot. ENOMEM, or EAGAIN (the process has no pthread key left):
 * this happens only at a thread's first value, or the first of a slot opened later than the thread's others. ESHUTDOWN:
 * the thread has ended (see above). After an error what was there stays, and `value` is the caller's. O(1)
 * amortized. */
CSK_API CSK_MUST_USE int csk_tls_set(csk_tls_slot_t slot, void *value);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_tls_slot_t) == 4, "csk_tls_slot_t is part of the ABI");

#endif
