/* inspect_fixture.h: views into arrays of the test's, threads that wait, and what is expected of a waiter. */
#ifndef CSK_TEST_INSPECT_FIXTURE_H
#define CSK_TEST_INSPECT_FIXTURE_H

#include "child.h"
#include "collected_text.h"

#include <csynckernel/csynckernel.h>

enum { OBJECTS = 256, WAITERS = 1024, WORKERS = 256 };

/* ThreadSanitizer starts no threads in a forked child. */
#ifdef __SANITIZE_THREAD__
enum { THREADS_IN_CHILDREN = 0 };
#else
enum { THREADS_IN_CHILDREN = 1 };
#endif

static csk_inspected_object_t objects[OBJECTS];
static csk_inspected_waiter_t waiters[WAITERS];
static csk_inspected_worker_t workers[WORKERS];
static csk_inspection_t view = { .objects = objects,
                                 .waiters = waiters,
                                 .workers = workers,
                                 .object_room = OBJECTS,
                                 .waiter_room = WAITERS,
                                 .worker_room = WORKERS };

static inline const csk_inspected_object_t *look_for(const void *address, uint32_t kind) {
    CHECK_STATUS(csk_inspect(&view), 0);
    for (uint32_t i = 0; i < view.object_count; i++)
        if (objects[i].address == address && objects[i].kind == kind) return &objects[i];
    return NULL;
}

/* Until so many threads that wait at the object have parked, which gives them a number of their wait. */
static inline const csk_inspected_object_t *await_parked(const void *address, uint32_t kind, uint32_t count) {
    for (;;) {
        const csk_inspected_object_t *object = look_for(address, kind);
        uint32_t parked = 0;
        for (uint32_t i = 0; object != NULL && i < object->waiter_count; i++) {
            const csk_inspected_waiter_t *waiter = &waiters[object->first_waiter + i];
            parked += waiter->kind == CSK_WAITER_CALLBACK || waiter->wait != 0;
        }
        if (parked == count && object->waiter_count == count && !(object->flags & CSK_INSPECT_BUSY)) return object;
        sched_yield();
    }
}

static inline const csk_inspected_waiter_t *waiter_at(const csk_inspected_object_t *object, uint32_t place) {
    CHECK(place < object->waiter_count);
    return &waiters[object->first_waiter + place];
}

static inline void check_held_by_this_thread(const csk_inspected_object_t *object) {
    CHECK_EQ(object->holder.kind, CSK_HELD_BY_THREAD);
#ifdef __GLIBC__
    CHECK_EQ(object->holder.thread.id, csk_thread_id());
    char name[16];
    CHECK_EQ(pthread_getname_np(pthread_self(), name, sizeof name), 0);
    CHECK_EQ(strcmp(object->holder.thread.name, name), 0);
#endif
}

typedef struct {
    void (*wait)(void *object, int which);
    void *object;
    int which;
    int32_t id;
    pthread_t thread;
} waiting_t;

static inline void *wait_as(void *context) {
    waiting_t *self = context;
    char name[16];
    snprintf(name, sizeof name, "waits %d", self->which);
    pthread_setname_np(pthread_self(), name);
    STORE(&self->id, csk_thread_id());
    self->wait(self->object, self->which);
    return NULL;
}
static inline void begin_wait(waiting_t *waiting, void (*wait)(void *, int), void *object, int which) {
    *waiting = (waiting_t){ .wait = wait, .object = object, .which = which };
    waiting->thread = start_thread(wait_as, waiting);
}

static inline void check_thread(const csk_inspected_waiter_t *waiter, const waiting_t *waiting, uint32_t waits_for,
                                int priority) {
    CHECK_EQ(waiter->kind, CSK_WAITER_THREAD);
    CHECK_EQ(waiter->waits_for, waits_for);
    CHECK_EQ(waiter->rank >> 2, priority);
    CHECK_EQ(waiter->thread.id, LOAD(&waiting->id));
    CHECK(waiter->thread.number != 0);
    char name[16];
    snprintf(name, sizeof name, "waits %d", waiting->which);
    CHECK_EQ(strcmp(waiter->thread.name, name), 0);
    CHECK(waiter->since_ns != 0 && waiter->since_ns <= view.ended_ns);
    CHECK(waiter->wait != 0);
}

static inline void lock_gate(void *object, int priority) {
    CHECK_STATUS(csk_gate_lock(object, priority), 0);
    CHECK_STATUS(csk_gate_unlock(object), 0);
}
static inline void lock_mutex(void *object, int which) {
    (void)which;
    CHECK_STATUS(csk_mutex_lock(object), 0);
    CHECK_STATUS(csk_mutex_unlock(object), 0);
}

#endif
