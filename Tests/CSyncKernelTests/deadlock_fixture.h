/* deadlock_fixture.h: plants rings of threads, each of which holds one object and waits for the next, and keeps what is
 * reported. Threads that are stuck stay so until the program ends. */
#ifndef CSK_TEST_DEADLOCK_FIXTURE_H
#define CSK_TEST_DEADLOCK_FIXTURE_H

#include "test.h"

#include <csynckernel/csynckernel.h>

enum { MOST_PARTIES = 8, MOST_REPORTS = 256 };

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

typedef struct {
    uint32_t kind;
    int32_t thread_id;
    const void *object;
    int64_t at_ns, kept_off_ns;
    uint64_t number; /* of a deadlock */
    char text[2100];
} report_t;

static report_t reports[MOST_REPORTS];
static uint32_t report_count;
static uint64_t deadlocks;

/* For how long the calling thread was ready to run and the processors were others'; 0 where the system does not say. */
static inline int64_t time_kept_off(void) {
    long long ran_ns, kept_off_ns = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    if (file == NULL) return 0;
    if (fscanf(file, "%lld %lld", &ran_ns, &kept_off_ns) != 2) kept_off_ns = 0;
    fclose(file);
    return kept_off_ns;
}

/* The watchdog's thread alone calls this. */
static inline void keep_report(const csk_event_t *event) {
    if (event->kind != CSK_EVENT_DEADLOCK && event->kind != CSK_EVENT_QUEUE_STALLED) return;
    uint32_t count = LOAD(&report_count);
    CHECK(count < MOST_REPORTS);
    CHECK(event->kind != CSK_EVENT_QUEUE_STALLED || event->object_kind == CSK_OBJECT_WORKQUEUE);
    report_t *report = &reports[count];
    report->kind = event->kind;
    report->thread_id = event->thread_id;
    report->object = event->object;
    report->at_ns = csk_deadline_after(0);
    report->kept_off_ns = time_kept_off();
    if (event->kind == CSK_EVENT_DEADLOCK) {
        CHECK_STATUS(event->status, EDEADLK);
        report->number = deadlocks++;
    }
    snprintf(report->text, sizeof report->text, "%s", event->name != NULL ? event->name : "");
    STORE(&report_count, count + 1);
}

static inline void watch(int64_t after_ns) {
    csk_set_reporter(keep_report);
    CHECK_STATUS(csk_deadlock_watch(after_ns), 0);
}

/* Memory for threads that never end. What leads there stays, so that it does not count as lost. */
typedef struct kept {
    _Alignas(64) struct kept *before;
} kept_t;

static inline void *allocate_for_good(size_t size) {
    static kept_t *last;
    kept_t *kept = aligned_alloc(_Alignof(kept_t), sizeof *kept + (size + 63) / 64 * 64);
    CHECK(kept != NULL);
    kept->before = last;
    last = kept;
    return memset(kept + 1, 0, size);
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

/* At A_SEM whoever has the permit says so; at A_NOTED_SEM the semaphore notes it. */
enum { A_GATE, A_MUTEX, A_RWLOCK, A_QUEUE, A_SEM, A_NOTED_SEM, KINDS };
/* How a read-write lock is held, and how it is waited for. */
enum { TO_WRITE, TO_READ, TO_UPGRADE };

typedef struct {
    int kind;
    union {
        csk_gate_t gate;
        csk_mutex_t mutex;
        csk_rwlock_t rwlock;
        csk_workqueue_t queue;
        csk_held_sem_t sem;
    };
} object_t;

static inline void make_object(object_t *object, int kind) {
    memset(object, 0, sizeof *object);
    object->kind = kind;
    switch (kind) {
    case A_GATE: CHECK_STATUS(csk_gate_init(&object->gate, NULL), 0); break;
    case A_MUTEX: CHECK_STATUS(csk_mutex_init(&object->mutex), 0); break;
    case A_RWLOCK: CHECK_STATUS(csk_rwlock_init(&object->rwlock, NULL), 0); break;
    case A_QUEUE: CHECK_STATUS(csk_workqueue_init(&object->queue, NULL), 0); break;
    default:
        CHECK_STATUS(csk_sem_init(&object->sem.placed.sem, 1, 1), 0);
        if (kind == A_SEM) csk_held_sem_begin(&object->sem);
        else csk_held_sem_begin_noting(&object->sem);
    }
}

/* Calls `inside` while the calling thread has the object, for which it waits. `how`: at a read-write lock. */
static inline void enter(object_t *object, int how, void (*inside)(void *), void *context) {
    csk_sem_t *sem = &object->sem.placed.sem;
    switch (object->kind) {
    case A_GATE:
        CHECK_STATUS(csk_gate_lock(&object->gate, 0), 0);
        inside(context);
        CHECK_STATUS(csk_gate_unlock(&object->gate), 0);
        break;
    case A_MUTEX:
        CHECK_STATUS(csk_mutex_lock(&object->mutex), 0);
        inside(context);
        CHECK_STATUS(csk_mutex_unlock(&object->mutex), 0);
        break;
    case A_RWLOCK:
        CHECK_STATUS(how == TO_READ    ? csk_rwlock_rdlock(&object->rwlock)
                     : how == TO_WRITE ? csk_rwlock_wrlock(&object->rwlock)
                                       : csk_rwlock_timedupgrade(&object->rwlock, CSK_NEVER),
                     0);
        inside(context);
        CHECK_STATUS(csk_rwlock_unlock(&object->rwlock), 0);
        break;
    case A_QUEUE:
        CHECK_STATUS(csk_workqueue_sync(&object->queue, csk_rank(0, CSK_PLACE_BACK), 0, CSK_NEVER, inside, context), 0);
        break;
    default:
        CHECK_STATUS(csk_sem_wait(sem, 0, 1), 0);
        if (object->kind == A_SEM) csk_sem_set_holding_thread(sem, csk_thread_id());
        inside(context);
        if (object->kind == A_SEM) csk_sem_set_holder(sem, 0);
        CHECK_STATUS(csk_sem_post(sem, 1), 0);
    }
}

static inline void nothing(void *unused) { (void)unused; }

/* ---- Rings ------------------------------------------------------------------------------------------------------- */

typedef struct ring ring_t;

typedef struct {
    ring_t *ring;
    int place;
    int32_t id;    /* of its thread */
    uint64_t task; /* of one that is a task without a thread */
} party_t;

struct ring {
    const char *name;
    int count;
    int holds_how, waits_how;
    object_t objects[MOST_PARTIES];
    party_t parties[MOST_PARTIES];
    int inside;
};

static inline void *object_address(object_t *object) {
    return object->kind == A_GATE     ? (void *)&object->gate
           : object->kind == A_MUTEX  ? (void *)&object->mutex
           : object->kind == A_RWLOCK ? (void *)&object->rwlock
           : object->kind == A_QUEUE  ? (void *)&object->queue
                                      : (void *)&object->sem;
}

static inline void wait_for_next(void *context) {
    party_t *party = context;
    ring_t *ring = party->ring;
    ADD(&ring->inside, 1);
    wait_until(LOAD(&ring->inside) == ring->count);
    enter(&ring->objects[(party->place + 1) % ring->count], ring->waits_how, nothing, NULL);
}

static inline void *run_party(void *context) {
    party_t *party = context;
    STORE(&party->id, csk_thread_id());
    enter(&party->ring->objects[party->place], party->ring->holds_how, wait_for_next, party);
    return NULL;
}

static inline void detach(void *(*body)(void *), void *context) { pthread_detach(start_thread(body, context)); }

/* kind(i): of the object that party i holds. */
static inline ring_t *make_ring(const char *name, int count, int (*kind)(int), int holds_how, int waits_how) {
    ring_t *ring = allocate_for_good(sizeof *ring);
    ring->name = name;
    ring->count = count;
    ring->holds_how = holds_how;
    ring->waits_how = waits_how;
    for (int i = 0; i < count; i++) {
        make_object(&ring->objects[i], kind(i));
        ring->parties[i] = (party_t){ .ring = ring, .place = i };
    }
    return ring;
}
static inline ring_t *plant(const char *name, int count, int (*kind)(int), int holds_how, int waits_how) {
    ring_t *ring = make_ring(name, count, kind, holds_how, waits_how);
    for (int i = 0; i < count; i++) detach(run_party, &ring->parties[i]);
    return ring;
}

/* The report of a deadlock in which that thread is, or NULL. */
static inline const report_t *find_report(int32_t thread_id) {
    csk_deadlock_party_t parties[CSK_DEADLOCK_PARTIES];
    for (uint32_t i = 0; i < LOAD(&report_count); i++) {
        if (reports[i].kind != CSK_EVENT_DEADLOCK) continue;
        uint32_t count = csk_deadlock_parties(reports[i].number, parties, CSK_DEADLOCK_PARTIES);
        for (uint32_t p = 0; p < count; p++)
            if (parties[p].thread.id == thread_id) return &reports[i];
    }
    return NULL;
}

static inline bool is_party(const csk_deadlock_party_t *found, const party_t *party) {
    return party->task != 0 ? found->task == party->task && found->thread.id == 0
                            : found->thread.id == LOAD(&party->id);
}

/* Exactly the parties, in their order, each with what it waits for and with its stack, and in time. The first of them
 * is a thread. */
static inline void check_ring(ring_t *ring, int64_t within_ns) {
    csk_deadlock_party_t parties[CSK_DEADLOCK_PARTIES];
    const report_t *report;
    wait_until(LOAD(&ring->parties[0].id) != 0);
    wait_until((report = find_report(LOAD(&ring->parties[0].id))) != NULL);
    CHECK_EQ(csk_deadlock_parties(report->number, parties, CSK_DEADLOCK_PARTIES), ring->count);
    int first = 0;
    while (first < ring->count && !is_party(&parties[0], &ring->parties[first])) first++;
    CHECK(first < ring->count);
    int64_t youngest_ns = 0;
    for (int i = 0; i < ring->count; i++) {
        int place = (first + i) % ring->count;
        CHECK(is_party(&parties[i], &ring->parties[place]));
        CHECK(parties[i].object == object_address(&ring->objects[(place + 1) % ring->count]));
        /* What serves callers of sync is built without frame pointers. */
        if (parties[i].object_kind != CSK_OBJECT_WORKQUEUE && parties[i].thread.id != 0)
            CHECK_GE(parties[i].frame_count, 2);
        if (parties[i].since_ns > youngest_ns) youngest_ns = parties[i].since_ns;
        char who[32];
        if (parties[i].thread.id != 0) snprintf(who, sizeof who, "thread %d ", (int)parties[i].thread.id);
        else snprintf(who, sizeof who, "task %#llx", (unsigned long long)parties[i].task);
        CHECK(strstr(report->text, who) != NULL);
    }
    /* The time in which other programs had the processor that the watchdog's thread wanted is not its own. */
    CHECK_LE(report->at_ns - youngest_ns, within_ns == INT64_MAX ? within_ns : within_ns + report->kept_off_ns);
}

#endif
