/* rwlock_fixture.h: what a read-write lock protects in its clients, and the sections that read and write it. What they
 * do goes through the store buffers, like all that a lock protects. */
#ifndef EXPLORER_RWLOCK_FIXTURE_H
#define EXPLORER_RWLOCK_FIXTURE_H

#include "explorer.h"

typedef struct {
    uint32_t reading[EXPLORE_THREADS], writing, left, right;
} protected_t;

static inline void read_protected(protected_t *data) {
    uint32_t *reading = &data->reading[explore_thread()];
    __atomic_store_n(reading, 1, __ATOMIC_RELAXED);
    EXPECT_EQUAL(__atomic_load_n(&data->writing, __ATOMIC_RELAXED), 0);
    EXPECT_EQUAL(__atomic_load_n(&data->right, __ATOMIC_RELAXED), __atomic_load_n(&data->left, __ATOMIC_RELAXED));
    __atomic_store_n(reading, 0, __ATOMIC_RELAXED);
}
static inline void write_protected(protected_t *data) {
    EXPECT_EQUAL(__atomic_load_n(&data->writing, __ATOMIC_RELAXED), 0);
    __atomic_store_n(&data->writing, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&data->left, __atomic_load_n(&data->left, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
    for (int i = 0; i < EXPLORE_THREADS; i++) EXPECT_EQUAL(__atomic_load_n(&data->reading[i], __ATOMIC_RELAXED), 0);
    __atomic_store_n(&data->right, __atomic_load_n(&data->right, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&data->writing, 0, __ATOMIC_RELAXED);
}

#endif
