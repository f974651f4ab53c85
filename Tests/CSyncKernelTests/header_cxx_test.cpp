// All headers together in C++17, with every initializer, and calls through the C++ side of the declarations.
#include <csynckernel/csynckernel.h>

#include <cstdio>
#include <cstring>
#include <thread>
#include <type_traits>

static_assert(std::is_standard_layout<csk_gate_t>::value && std::is_trivially_copyable<csk_gate_t>::value,
              "plain data");
static_assert(std::is_standard_layout<csk_mutex_t>::value, "plain data");
static_assert(std::is_standard_layout<csk_pqueue_t>::value, "plain data");
static_assert(std::is_standard_layout<csk_rwlock_t>::value && std::is_trivially_copyable<csk_rwlock_t>::value,
              "plain data");
static_assert(std::is_standard_layout<csk_sem_t>::value && std::is_trivially_copyable<csk_sem_t>::value, "plain data");
static_assert(std::is_standard_layout<csk_timer_t>::value, "plain data");
static_assert(std::is_standard_layout<csk_snapshot_t>::value, "plain data");
static_assert(std::is_standard_layout<csk_rcu_map_entry_t>::value, "plain data");

static csk_gate_t gate = CSK_GATE_INITIALIZER;
static csk_mutex_t mutex = CSK_MUTEX_INITIALIZER;
static csk_rwlock_t rwlock = CSK_RWLOCK_INITIALIZER;
static csk_sem_t semaphore = CSK_SEM_INITIALIZER;
static csk_pqueue_t queue = CSK_PQUEUE_INITIALIZER;
static csk_workqueue_t workqueue = CSK_WORKQUEUE_INITIALIZER();
static csk_snapshot_t snapshot = CSK_SNAPSHOT_INITIALIZER;

static int failures;

static void expect(bool holds, const char *what) {
    if (holds) return;
    std::printf("FAILED: %s\n", what);
    failures++;
}
#define EXPECT(condition) expect((condition), #condition)

static void exclusive_locks() {
    EXPECT(csk_gate_lock(&gate, 1) == 0);
    EXPECT(csk_gate_lock(&gate, 1) == EDEADLK);
    int status = 0;
    std::thread([&status] { status = csk_gate_timedlock(&gate, 1, csk_deadline_after(1000)); }).join();
    EXPECT(status == ETIMEDOUT);
    EXPECT(csk_gate_unlock(&gate) == 0);
    EXPECT(csk_gate_destroy(&gate) == 0);

    EXPECT(csk_mutex_lock(&mutex) == 0);
    EXPECT(csk_mutex_lock(&mutex) == 0);
    std::thread([&status] { status = csk_mutex_trylock(&mutex); }).join();
    EXPECT(status == EBUSY);
    EXPECT(csk_mutex_unlock(&mutex) == 0);
    EXPECT(csk_mutex_unlock(&mutex) == 0);
    EXPECT(csk_mutex_unlock(&mutex) == EPERM);
    EXPECT(csk_mutex_destroy(&mutex) == 0);
}

static void read_write_lock() {
    int status = 0;
    EXPECT(csk_rwlock_rdlock(&rwlock) == 0 && csk_rwlock_is_reading(&rwlock));
    EXPECT(csk_rwlock_wrlock(&rwlock) == EDEADLK);
    std::thread([&status] { status = csk_rwlock_timedwrlock(&rwlock, csk_deadline_after(1000)); }).join();
    EXPECT(status == ETIMEDOUT);
    EXPECT(csk_rwlock_tryupgrade(&rwlock) == 0 && csk_rwlock_is_writing(&rwlock));
    EXPECT(csk_rwlock_downgrade(&rwlock) == 0);
    EXPECT(csk_rwlock_unlock(&rwlock) == 0);
    csk_waiter_t waiter{};
    auto granted = [](csk_waiter_t *, void *context, int result) { *static_cast<int *>(context) = result; };
    EXPECT(csk_rwlock_lock_async(&rwlock, &waiter, CSK_RWLOCK_WRITE, CSK_NEVER, granted, &status) == 0 && status == 0);
    EXPECT(csk_rwlock_adopt(&rwlock, CSK_RWLOCK_WRITE) == 0);
    EXPECT(csk_rwlock_unlock(&rwlock) == 0);
    EXPECT(csk_rwlock_destroy(&rwlock) == 0);
}

static void semaphores() {
    int status = EBUSY;
    EXPECT(csk_sem_trywait(&semaphore, 0, 1) == EBUSY);
    EXPECT(csk_sem_timedwait(&semaphore, 0, 1, csk_deadline_after(1000)) == ETIMEDOUT);
    csk_waiter_t waiter{};
    auto served = [](csk_waiter_t *, void *context, int result) { *static_cast<int *>(context) = result; };
    EXPECT(csk_sem_wait_async(&semaphore, csk_rank(0, CSK_PLACE_BACK), &waiter, 2, CSK_NEVER, served, &status) == 0);
    EXPECT(csk_sem_waiting(&semaphore) == 1 && csk_sem_destroy(&semaphore) == EBUSY && status == EBUSY);
    EXPECT(csk_sem_post(&semaphore, 3) == 0 && status == 0);
    EXPECT(csk_sem_resize(&semaphore, CSK_SEM_MAX) == EOVERFLOW && csk_sem_permits(&semaphore) == 1);
    EXPECT(csk_sem_wait(&semaphore, 0, 1) == 0);
    EXPECT(csk_sem_destroy(&semaphore) == 0);
}

static void queues_and_slots() {
    csk_pqueue_item_t low{}, high{}, *item = nullptr;
    EXPECT(csk_pqueue_push(&queue, 1, &low) == 0);
    EXPECT(csk_pqueue_push(&queue, 2, &high) == 0);
    EXPECT(csk_pqueue_pop(&queue, &item) == 0 && item == &high);
    EXPECT(csk_pqueue_pop(&queue, &item) == 0 && item == &low);
    EXPECT(csk_pqueue_destroy(&queue) == 0);

    EXPECT(csk_workqueue_destroy(&workqueue) == 0);

    csk_tls_slot_t slot = 0;
    int here = 1, *there = &here;
    EXPECT(csk_tls_open(&slot, "header_cxx_test", nullptr) == 0);
    EXPECT(csk_tls_set(slot, &here) == 0 && csk_tls_get(slot) == &here);
    std::thread([slot, &there] { there = static_cast<int *>(csk_tls_get(slot)); }).join();
    EXPECT(there == nullptr);

    csk_heap_t heap{};
    EXPECT(csk_heap_pop(&heap) == nullptr);
}

static void read_copy_update() {
    EXPECT(csk_rcu_read_lock() == 0 && csk_rcu_is_reading());
    EXPECT(csk_rcu_read_unlock() == 0 && csk_rcu_read_unlock() == EPERM);
    static int reclaimed;
    csk_rcu_node_t node{};
    EXPECT(csk_snapshot_store(&snapshot, "value", &node, [](csk_rcu_node_t *) { reclaimed++; }) == 0);
    EXPECT(std::strcmp(static_cast<const char *>(csk_snapshot_read_begin(&snapshot)), "value") == 0);
    EXPECT(csk_snapshot_read_end() == 0);
    EXPECT(csk_snapshot_store(&snapshot, nullptr, nullptr, nullptr) == 0);
    EXPECT(csk_rcu_barrier() == 0 && reclaimed == 1);
    csk_rcu_map_t *map = nullptr;
    EXPECT(csk_rcu_map_create(&map, [](const csk_rcu_map_entry_t *, const void *) { return true; }) == 0);
    EXPECT(csk_rcu_map_count(map) == 0);
    EXPECT(csk_rcu_map_destroy(map, [](csk_rcu_node_t *) {}) == 0);
}

int main() {
    EXPECT(std::strcmp(csk_version(), "") != 0);
    EXPECT(csk_deadline_after(1000000) > csk_now());
    exclusive_locks();
    read_write_lock();
    semaphores();
    queues_and_slots();
    read_copy_update();
    return failures != 0;
}
