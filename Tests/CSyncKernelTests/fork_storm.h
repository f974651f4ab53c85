/* fork_storm.h: something of everything that the kernel has, and short uses of each. fork_storm_test.c has threads of a
 * parent and of its children make them. */
#ifndef CSK_FORK_STORM_H
#define CSK_FORK_STORM_H

#include <csynckernel/csynckernel.h>

#include "test.h"

enum { POLICIES = 3, LOCKS = 3, QUEUES = 3, PERMITS = 3 };

typedef struct {
    csk_gate_t gates[POLICIES];
    csk_mutex_t mutex;
    csk_rwlock_t locks[LOCKS];
    csk_sem_t sem;
    csk_pqueue_t ordered;
    csk_workqueue_t queues[QUEUES]; /* serial, concurrent, with a bound */
    csk_snapshot_t snapshot;
    csk_rcu_map_t *map;
} objects_t;

struct map_entry {
    csk_rcu_map_entry_t entry;
    uint64_t key, check;
};

static inline bool has_key(const csk_rcu_map_entry_t *entry, const void *key) {
    return ((const struct map_entry *)entry)->key == *(const uint64_t *)key;
}
static inline void free_entry(csk_rcu_node_t *node) { free(node); }

/* The semaphore and the queues excepted, which a child has anew without that. */
static inline void make_locks(objects_t *objects) {
    for (uint32_t i = 0; i < POLICIES; i++)
        CHECK_STATUS(csk_gate_init(&objects->gates[i], &(csk_gate_attr_t){ .policy = i }), 0);
    CHECK_STATUS(csk_mutex_init(&objects->mutex), 0);
    for (uint32_t i = 0; i < LOCKS; i++)
        CHECK_STATUS(
            csk_rwlock_init(&objects->locks[i], &(csk_rwlock_attr_t){ .policy = i == 1, .reader_bias = i == 2 }), 0);
    CHECK_STATUS(csk_pqueue_init(&objects->ordered, 0), 0);
    objects->snapshot = (csk_snapshot_t)CSK_SNAPSHOT_INITIALIZER;
}

static inline void make_objects(objects_t *objects) {
    make_locks(objects);
    CHECK_STATUS(csk_sem_init(&objects->sem, PERMITS, 0), 0);
    static const csk_workqueue_attr_t attributes[QUEUES] = { { .width = 1 },
                                                             { .width = 3 },
                                                             { .width = 2, .capacity = 4 } };
    for (int i = 0; i < QUEUES; i++) CHECK_STATUS(csk_workqueue_init(&objects->queues[i], &attributes[i]), 0);
    CHECK_STATUS(csk_rcu_map_create(&objects->map, has_key), 0);
}

static inline void end_objects(objects_t *objects) {
    for (int i = 0; i < POLICIES; i++) CHECK_STATUS(csk_gate_destroy(&objects->gates[i]), 0);
    CHECK_STATUS(csk_mutex_destroy(&objects->mutex), 0);
    for (int i = 0; i < LOCKS; i++) CHECK_STATUS(csk_rwlock_destroy(&objects->locks[i]), 0);
    CHECK_EQ(csk_sem_permits(&objects->sem), PERMITS);
    CHECK_STATUS(csk_sem_destroy(&objects->sem), 0);
    CHECK_STATUS(csk_pqueue_destroy(&objects->ordered), 0);
    for (int i = 0; i < QUEUES; i++) {
        CHECK_STATUS(csk_workqueue_drain(&objects->queues[i], CSK_NEVER), 0);
        CHECK_STATUS(csk_workqueue_destroy(&objects->queues[i]), 0);
    }
    CHECK_STATUS(csk_snapshot_destroy(&objects->snapshot), 0);
    CHECK_STATUS(csk_rcu_map_destroy(objects->map, free_entry), 0);
    /* frees the entries, whose addresses no LeakSanitizer reads out of the table's words */
    CHECK_STATUS(csk_rcu_barrier(), 0);
}

/* ---- Uses -------------------------------------------------------------------------------------------------------- */

static inline void count_timer(csk_timer_t *timer, void *context) {
    (void)timer;
    ADD((uint32_t *)context, 1);
}

static inline void leave_gate(csk_waiter_t *waiter, void *context, int status) {
    if (status == 0) CHECK_STATUS(csk_gate_unlock(waiter->gate), 0);
    else CHECK(status == ETIMEDOUT || status == ECANCELED);
    ADD((uint32_t *)context, 1);
}

static inline void use_gate(csk_gate_t *gate, uint64_t *random) {
    csk_waiter_t waiter = { .word = 0 };
    uint32_t called = 0;
    int status = csk_gate_timedlock(gate, (int32_t)test_random_below(random, 3), csk_deadline_after(50000));
    if (status == 0) CHECK_STATUS(csk_gate_unlock(gate), 0);
    else CHECK_STATUS(status, ETIMEDOUT);
    int64_t deadline_ns = csk_deadline_after((int64_t)test_random_below(random, 100000));
    CHECK_STATUS(csk_gate_lock_async(gate, 1, &waiter, deadline_ns, leave_gate, &called), 0);
    if (test_random_below(random, 2)) csk_gate_cancel(gate, &waiter);
    wait_until(LOAD(&called) == 1);
}

static inline void use_mutex(csk_mutex_t *mutex) {
    CHECK_STATUS(csk_mutex_lock(mutex), 0);
    CHECK_STATUS(csk_mutex_unlock(mutex), 0);
}

struct section {
    csk_rwlock_work_t work;
    csk_rwlock_t *lock;
    uint32_t called;
};

static inline void end_section(csk_rwlock_work_t *work, void *context, int status) {
    (void)work;
    struct section *section = context;
    if (status == 0) CHECK_STATUS(csk_rwlock_unlock(section->lock), 0);
    else CHECK_STATUS(status, ETIMEDOUT);
    ADD(&section->called, 1);
}

static inline void use_lock(csk_rwlock_t *lock, uint64_t *random) {
    int status = test_random_below(random, 4) ? csk_rwlock_timedrdlock(lock, csk_deadline_after(50000))
                                              : csk_rwlock_timedwrlock(lock, csk_deadline_after(50000));
    if (status == 0) CHECK_STATUS(csk_rwlock_unlock(lock), 0);
    else CHECK_STATUS(status, ETIMEDOUT);
    if (lock->reader_bias) return;
    struct section section = { .lock = lock };
    int mode = test_random_below(random, 2) ? CSK_RWLOCK_READ : CSK_RWLOCK_WRITE;
    CHECK_STATUS(csk_rwlock_enqueue(lock, &section.work, mode, csk_deadline_after(100000), end_section, &section), 0);
    wait_until(LOAD(&section.called) == 1);
}

struct permits {
    csk_sem_t *sem;
    uint32_t count, called;
};

static inline void end_wait(csk_waiter_t *waiter, void *context, int status) {
    struct permits *permits = context;
    (void)waiter;
    if (status == 0) CHECK_STATUS(csk_sem_post(permits->sem, permits->count), 0);
    else CHECK(status == ETIMEDOUT || status == ECANCELED);
    ADD(&permits->called, 1);
}

static inline void use_sem(csk_sem_t *sem, uint64_t *random) {
    struct permits permits = { .sem = sem, .count = 1 + (uint32_t)test_random_below(random, PERMITS) };
    csk_waiter_t waiter = { .word = 0 };
    int status = csk_sem_timedwait(sem, (int32_t)test_random_below(random, 3), permits.count,
                                   csk_deadline_after(50000));
    if (status == 0) CHECK_STATUS(csk_sem_post(sem, permits.count), 0);
    else CHECK_STATUS(status, ETIMEDOUT);
    int64_t deadline_ns = csk_deadline_after((int64_t)test_random_below(random, 100000));
    CHECK_STATUS(csk_sem_wait_async(sem, csk_rank(1, CSK_PLACE_BACK), &waiter, permits.count, deadline_ns, end_wait,
                                    &permits),
                 0);
    if (test_random_below(random, 2)) csk_sem_cancel(sem, &waiter);
    wait_until(LOAD(&permits.called) == 1);
}

static inline void use_timer(uint64_t *random) {
    csk_timer_t timer = { .context = NULL };
    uint32_t fired = 0;
    CHECK_STATUS(
        csk_timer_start(&timer, csk_deadline_after((int64_t)test_random_below(random, 50000)), count_timer, &fired), 0);
    if (test_random_below(random, 2)) sched_yield();
    int status = csk_timer_cancel(&timer);
    CHECK_STATUS(status, LOAD(&fired) ? ENOENT : 0);
}

/* An item of another thread, which looks for it, goes back. */
static inline void use_ordered(csk_pqueue_t *queue, uint64_t *random) {
    csk_pqueue_item_t item, *popped = NULL;
    CHECK_STATUS(csk_pqueue_push(queue, (int32_t)test_random_below(random, 3), &item), 0);
    while (popped != &item) {
        int status = csk_pqueue_timedpop(queue, &popped, csk_deadline_after(20000));
        if (status != 0) CHECK_STATUS(status, ETIMEDOUT);
        else if (popped != &item) CHECK_STATUS(csk_pqueue_push(queue, 0, popped), 0);
    }
}

struct counted {
    csk_work_t work;
    uint32_t *ran;
};

static inline void count_work(csk_work_t *work, int status) {
    CHECK_STATUS(status, 0);
    ADD(((struct counted *)work)->ran, 1);
}
static inline void count_call(void *context) { ADD((uint32_t *)context, 1); }

static inline void use_queue(csk_workqueue_t *queue, uint64_t *random) {
    uint32_t ran = 0, queued = 0;
    struct counted works[4];
    for (int i = 0; i < 4; i++) {
        works[i].ran = &ran;
        int status = test_random_below(random, 4) ? csk_workqueue_enqueue(queue, &works[i].work, count_work)
                                                  : csk_workqueue_submit(queue, csk_rank(2, CSK_PLACE_BACK),
                                                                         &works[i].work, 0, CSK_NEVER, count_work);
        CHECK_STATUS(status, 0);
        queued++;
    }
    if (test_random_below(random, 2) && csk_workqueue_cancel(queue, &works[3].work) == 0) queued--;
    if (test_random_below(random, 2)) {
        uint32_t called = 0;
        CHECK_STATUS(csk_workqueue_sync(queue, csk_rank(0, CSK_PLACE_BACK), 0, CSK_NEVER, count_call, &called), 0);
        CHECK_EQ(called, 1);
    }
    wait_until(LOAD(&ran) == queued);
}

static inline void do_delayed(csk_work_t *work, int status) { (void)work, (void)status; }

static inline void use_delayed(csk_workqueue_t *queue, uint64_t *random) {
    csk_delayed_t delayed = { .state = 0 };
    CHECK_STATUS(csk_delayed_start(&delayed, queue, csk_deadline_after((int64_t)test_random_below(random, 50000) + 1),
                                   0, do_delayed),
                 0);
    if (test_random_below(random, 2)) sched_yield();
    if (csk_delayed_cancel(&delayed) == 0) return;
    CHECK_STATUS(csk_workqueue_drain(queue, CSK_NEVER), 0);
}

static inline void use_slot(uint64_t *random) {
    char name[16];
    csk_tls_slot_t slot;
    snprintf(name, sizeof name, "storm.%d", (int)test_random_below(random, 20));
    CHECK_STATUS(csk_tls_open(&slot, name, NULL), 0);
    CHECK_STATUS(csk_tls_set(slot, &slot), 0);
    CHECK(csk_tls_get(slot) == &slot);
    CHECK_STATUS(csk_tls_set(slot, NULL), 0);
}

struct version {
    csk_rcu_node_t node;
    uint64_t number, check;
};

static inline void free_version(csk_rcu_node_t *node) { free(node); }

static inline void read_snapshot(csk_snapshot_t *snapshot) {
    const struct version *version = csk_snapshot_read_begin(snapshot);
    if (version != NULL) CHECK_EQ(version->number, ~version->check);
    CHECK_STATUS(csk_snapshot_read_end(), 0);
}

static inline void change_snapshot(csk_snapshot_t *snapshot, uint64_t *random) {
    struct version *version = calloc(1, sizeof *version);
    CHECK(version != NULL);
    version->number = test_random(random);
    version->check = ~version->number;
    CHECK_STATUS(csk_snapshot_store(snapshot, version, &version->node, free_version), 0);
}

/* Grows and shrinks: a table is moved now and then. */
static inline void use_map(csk_rcu_map_t *map, uint64_t *random) {
    uint64_t key = test_random_below(random, 500), hash = csk_hash_int(key);
    struct map_entry *fresh = calloc(1, sizeof *fresh);
    csk_rcu_map_entry_t *old;
    CHECK(fresh != NULL);
    fresh->key = key;
    fresh->check = ~key;
    CHECK_STATUS(csk_rcu_map_replace(map, hash, &key, &fresh->entry, &old), 0);
    if (old != NULL) CHECK_STATUS(csk_rcu_retire_always(&old->node, free_entry), 0);
    CHECK_STATUS(csk_rcu_read_lock(), 0);
    const struct map_entry *found = (const struct map_entry *)csk_rcu_map_find(map, hash, &key);
    if (found != NULL) CHECK_EQ(found->key, ~found->check);
    CHECK_STATUS(csk_rcu_read_unlock(), 0);
    if (test_random_below(random, 2)) return;
    old = csk_rcu_map_remove(map, hash, &key);
    if (old != NULL) CHECK_STATUS(csk_rcu_retire_always(&old->node, free_entry), 0);
}

struct pool_task {
    csk_pool_item_t item;
    uint32_t ran;
};

static inline void count_item(csk_pool_item_t *item) { ADD(&((struct pool_task *)item)->ran, 1); }

static inline void use_pool(uint64_t *random) {
    struct pool_task task = { .item.level = (uint32_t)test_random_below(random, CSK_POOL_LEVELS) };
    CHECK_STATUS(csk_pool_post(&task.item, count_item), 0);
    wait_until(LOAD(&task.ran) == 1);
}

static inline void use_block(void) {
    void *blocks[3];
    for (int i = 0; i < 3; i++) CHECK((blocks[i] = csk_block_take()) != NULL);
    for (int i = 0; i < 3; i++) csk_block_give(blocks[i]);
}

enum { USES = 20 };

/* Use number `which` of USES. */
static inline void use(objects_t *objects, int which, uint64_t *random) {
    switch (which) {
    case 0:
    case 1:
    case 2: use_gate(&objects->gates[which], random); break;
    case 3:
    case 4:
    case 5: use_lock(&objects->locks[which - 3], random); break;
    case 6:
    case 7:
    case 8: use_queue(&objects->queues[which - 6], random); break;
    case 9: use_mutex(&objects->mutex); break;
    case 10: use_timer(random); break;
    case 11: use_ordered(&objects->ordered, random); break;
    case 12: use_delayed(&objects->queues[0], random); break;
    case 13: use_slot(random); break;
    case 14: use_pool(random); break;
    case 15: read_snapshot(&objects->snapshot); break;
    case 16: change_snapshot(&objects->snapshot, random); break;
    case 17: use_map(objects->map, random); break;
    case 18: use_sem(&objects->sem, random); break;
    default: use_block();
    }
}

#endif
