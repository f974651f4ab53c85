/* pool_fixture.h: items of the pool that block until the last one releases all of them. */
#ifndef CSK_POOL_FIXTURE_H
#define CSK_POOL_FIXTURE_H

#include <csynckernel/pool.h>

#include "test.h"

static uint32_t ran; /* items that have come to their end */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static bool may_end;

static inline void block(void) {
    pthread_mutex_lock(&lock);
    while (!may_end) pthread_cond_wait(&released, &lock);
    pthread_mutex_unlock(&lock);
    ADD(&ran, 1);
}

static inline void block_at_once(csk_pool_item_t *item) {
    (void)item;
    block();
}

static inline void release_all(csk_pool_item_t *item) {
    (void)item;
    pthread_mutex_lock(&lock);
    may_end = true;
    pthread_cond_broadcast(&released);
    pthread_mutex_unlock(&lock);
}

#endif
