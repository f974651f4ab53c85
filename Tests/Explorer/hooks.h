/* hooks.h: included before everything in the kernel's sources when they are explored, unmodified: each atomic access,
 * each pause and each use of pthread becomes a call of the explorer, thread-local variables live in a section that is
 * exchanged with the fiber, and a thread's identity is its fiber's. The other half of the platform, park to membarrier,
 * is platform_explored.c. */
#ifndef EXPLORER_HOOKS_H
#define EXPLORER_HOOKS_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { EXPLORE_EXCHANGE, EXPLORE_ADD, EXPLORE_OR, EXPLORE_AND };

uint64_t explore_load(const void *address, unsigned size, int order, const char *site);
void explore_store(void *address, unsigned size, uint64_t value, int order, const char *site);
uint64_t explore_rmw(void *address, unsigned size, int operation, uint64_t value, int order, const char *site);
bool explore_cas(void *address, unsigned size, void *expected, uint64_t desired, int success, int failure,
                 const char *site);
void explore_fence(int order, const char *site);
void explore_pause(const char *site);
void *explore_self(void);

int explore_mutex_lock(pthread_mutex_t *mutex, const char *site);
int explore_mutex_trylock(pthread_mutex_t *mutex, const char *site);
int explore_mutex_unlock(pthread_mutex_t *mutex, const char *site);
int explore_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline_ns, const char *site);
int explore_cond_wake(pthread_cond_t *condition, int count, const char *site);

#define EXPLORE_TEXT2(number) #number
#define EXPLORE_TEXT(number) EXPLORE_TEXT2(number)
#define EXPLORE_SITE __FILE__ ":" EXPLORE_TEXT(__LINE__)
#define EXPLORE_VALUE(value) ((uint64_t)(uintptr_t)(value))

#define __atomic_load_n(p, order) ((__typeof__(*(p)))(uintptr_t)explore_load((p), sizeof(*(p)), (order), EXPLORE_SITE))
#define __atomic_store_n(p, value, order) \
    explore_store((void *)(p), sizeof(*(p)), EXPLORE_VALUE(value), (order), EXPLORE_SITE)
#define EXPLORE_RMW(p, operation, value, order)                                                                      \
    ((__typeof__(*(p)))(uintptr_t)explore_rmw((void *)(p), sizeof(*(p)), (operation), EXPLORE_VALUE(value), (order), \
                                              EXPLORE_SITE))
#define __atomic_exchange_n(p, value, order) EXPLORE_RMW(p, EXPLORE_EXCHANGE, value, order)
#define __atomic_fetch_add(p, value, order) EXPLORE_RMW(p, EXPLORE_ADD, value, order)
#define __atomic_fetch_or(p, value, order) EXPLORE_RMW(p, EXPLORE_OR, value, order)
#define __atomic_fetch_and(p, value, order) EXPLORE_RMW(p, EXPLORE_AND, value, order)
#define __atomic_compare_exchange_n(p, expected, desired, weak, success, failure) \
    explore_cas((void *)(p), sizeof(*(p)), (expected), EXPLORE_VALUE(desired), (success), (failure), EXPLORE_SITE)
#define __atomic_thread_fence(order) explore_fence((order), EXPLORE_SITE)
#define __builtin_ia32_pause() explore_pause(EXPLORE_SITE)
#define __builtin_thread_pointer() explore_self()

#define _Thread_local __attribute__((section("explore_tls")))
#define __thread _Thread_local
#define tls_model(model) unused

#define pthread_mutex_lock(mutex) explore_mutex_lock((mutex), EXPLORE_SITE)
#define pthread_mutex_trylock(mutex) explore_mutex_trylock((mutex), EXPLORE_SITE)
#define pthread_mutex_unlock(mutex) explore_mutex_unlock((mutex), EXPLORE_SITE)
#define pthread_cond_wait(condition, mutex) explore_cond_wait((condition), (mutex), INT64_MAX, EXPLORE_SITE)
#define pthread_cond_clockwait(condition, mutex, clock, deadline) \
    explore_cond_wait((condition), (mutex), (deadline)->tv_sec *INT64_C(1000000000) + (deadline)->tv_nsec, EXPLORE_SITE)
#define pthread_cond_signal(condition) explore_cond_wake((condition), 1, EXPLORE_SITE)
#define pthread_cond_broadcast(condition) explore_cond_wake((condition), INT32_MAX, EXPLORE_SITE)
#define pthread_setcancelstate(state, before) ((void)(state), (void)(before), 0)
#undef pthread_cleanup_push
#undef pthread_cleanup_pop
#define pthread_cleanup_push(function, context) \
    {                                           \
        (void)(function), (void)(context)
#define pthread_cleanup_pop(execute) \
    (void)(execute);                 \
    }

#endif
