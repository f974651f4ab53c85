/* explorer.h: runs small concurrent programs, the clients, schedule by schedule on the kernel's own sources.
 *
 * What is modelled
 *   - Threads are fibers; a scheduling point stands before each load, read-modify-write, park, wake, clock reading,
 *     yield, membarrier, pthread lock. Between two points a fiber runs alone.
 *   - Each fiber has a store buffer: a store that is not sequentially consistent reaches memory in a step of its own,
 *     some time later, and its own loads see it before that. A read-modify-write, a fence, a system call drains the
 *     fiber's buffer, a membarrier everybody's. In half of the random schedules relaxed stores may pass each other, as
 *     on arm64; loads are never reordered.
 *   - Time stands still but for pauses (2.5 us each) and for a step that moves it to the next deadline anybody sleeps
 *     for, or, twice in a schedule in which nobody sleeps for one, by 1 ms.
 *   - A park may return without a wake, so many times a schedule as the client allows.
 *   - A thread that parks may be late for ever: a client says when (`is_late`). Whoever wakes it, it makes no step
 *     until all others have ended. So a schedule in which somebody waits for it ends in a deadlock.
 *   - A thread may fork: from there on the schedule is the child's, where no other thread is and no store of theirs
 *   that has not arrived. (What the
 *     parent goes on to do, the schedules of other clients show.)
 *
 *   - With `--model rc11` RC11 stands in the place of the store buffers (model_rc11.c): a load may be stale, a store
 *     may be placed before others, and orders of accesses count. A thread begins with what its creator had done. A
 *     pthread mutex orders what was done under it. A park, a wake and a futex's compare synchronize with nothing. A
 *     child of fork has what memory holds. Wakes, time and parks are as above.
 *
 * What is found: a client's EXPECT that fails, deadlock (a lost wake-up), loops that nobody ends (spin.h: a thread that
 * reads the same again and again; turns.h: threads that come to one state again and again), access to freed memory or
 * to a frame that has returned, a thread that ends inside a section.
 *
 * Sources: Burckhardt et al., "A randomized scheduler with probabilistic guarantees of finding bugs" (PCT, 2010);
 * Musuvathi and Qadeer, "Iterative context bounding" (2007), whose cache of happens-before graphs skips schedules that
 * are equivalent. */
#ifndef EXPLORER_H
#define EXPLORER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXPLORE_THREADS = 8 };

typedef struct explore_client {
    const char *name;
    void (*setup)(void);
    void (*threads[EXPLORE_THREADS])(void);
    void (*check)(void);     /* after all threads have ended and nothing moves any more */
    void (*invariant)(void); /* after each step */
    int preemptions;         /* > 0: explored exhaustively with at most so many preemptions, else by random schedules
                                only */
    bool (*is_late)(int thread, const void *word); /* whether that thread, which is in a park at that word, gets no
                                                      processor any more. Asked between steps */
    int spurious;                                  /* wakes without a reason, per schedule */
    bool without_membarrier;                       /* the system refuses it */
    bool without_time;     /* it does not pass by itself, and nobody looks for a thread that is late */
    bool without_rc11;     /* it changes memory as no thread can */
    bool changes_overtake; /* a read-modify-write that is no release may pass its thread's stores, as on arm64: where
                                no plain store follows an atomic one of the same word before the next release */
    bool waits_for_nobody; /* a schedule ends even if it favours one thread for ever, so no turn is made fair */
    const char *fails;     /* a test of the explorer: what its failure begins with, without which it has not passed */
    struct explore_client *next;
} explore_client_t;

void explore_register(explore_client_t *client);

#define CLIENT(client_name, ...)                                                          \
    static explore_client_t client_##client_name = { .name = #client_name, __VA_ARGS__ }; \
    __attribute__((constructor)) static void register_##client_name(void) { explore_register(&client_##client_name); }

/* Ends the schedule as a failure. */
__attribute__((noreturn, format(printf, 1, 2))) void explore_fail(const char *format, ...);

#define EXPECT(condition)                                                                    \
    do {                                                                                     \
        if (!(condition)) explore_fail("%s:%d: not so: %s", __FILE__, __LINE__, #condition); \
    } while (0)
#define EXPECT_EQUAL(found, wanted)                                                                                 \
    do {                                                                                                            \
        long long explore_found = (long long)(found), explore_wanted = (long long)(wanted);                         \
        if (explore_found != explore_wanted)                                                                        \
            explore_fail("%s:%d: %s is %lld, not %lld", __FILE__, __LINE__, #found, explore_found, explore_wanted); \
    } while (0)

/* Memory of one schedule, zero-filled; freeing it makes every later access a failure. */
void *explore_allocate(size_t size);
void explore_free(void *memory, size_t size);

/* What it accesses plainly is not the kernel's, and no data race. */
#define EXPLORE_UNSEEN __attribute__((no_sanitize("thread")))

/* A point at which another thread may run. */
void explore_point(void);
/* Blocks until *word is at least `value`: a thread that is never released is a deadlock. What the other threads have
 * done happens before what follows. */
void explore_wait(const uint32_t *word, uint32_t value);
/* Blocks until that thread sleeps in a park or at a pthread mutex, or has ended. It orders nothing. */
void explore_wait_asleep(int thread);
/* Sets a word that others wait for. */
void explore_set(uint32_t *word, uint32_t value);
/* No step: what was done before earlier calls with this address happens before what follows. */
void explore_order(const void *address);
/* The calling thread goes on in a child of fork, between what the kernel has the system call before that and after
 * it. */
void explore_fork(void);
/* The virtual time, without a step. */
int64_t explore_now(void);
/* The index of the calling thread. */
int explore_thread(void);
/* For `is_late`: whether the word is on that thread's stack, and not an internal lock. */
bool explore_is_own(int thread, const void *word);

#endif
