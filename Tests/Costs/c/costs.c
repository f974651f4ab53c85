/* costs.c: the kernel's operations, each in a function that is called in a loop. scripts/costs runs it in callgrind. */
#include <csynckernel/csynckernel.h>
#include <errno.h>
#include <stdlib.h>

#include "CCosts.h"

/* Something that is counted; `before` and `after` are not. */
typedef struct operation {
    const char *name;
    void (*call)(void);
    void (*before)(void);
    void (*after)(void);
} operation_t;

static void must(int status) {
    if (status != 0) abort();
}

/* ---- Locks ------------------------------------------------------------------------------------------------------- */

static csk_gate_t fast, compact, strict, recursive;
static csk_mutex_t mutex, held;
static csk_rwlock_t plain, biased;

static void gate_fast(void) {
    must(csk_gate_lock(&fast, 0));
    must(csk_gate_unlock(&fast));
}
static void gate_fast_leave(void) {
    must(csk_gate_lock(&fast, 0));
    csk_gate_leave(&fast);
}
static void gate_compact(void) {
    must(csk_gate_lock(&compact, 0));
    must(csk_gate_unlock(&compact));
}
static void gate_strict(void) {
    must(csk_gate_lock(&strict, 0));
    must(csk_gate_unlock(&strict));
}
static void gate_recursive(void) {
    must(csk_gate_lock_recursive(&recursive, 0, CSK_NEVER));
    must(csk_gate_unlock_recursive(&recursive));
}
static void gate_try(void) {
    must(csk_gate_trylock(&fast, 0));
    must(csk_gate_unlock(&fast));
}
static void mutex_pair(void) {
    must(csk_mutex_lock(&mutex));
    must(csk_mutex_unlock(&mutex));
}
static void mutex_again(void) {
    must(csk_mutex_lock(&held));
    must(csk_mutex_unlock(&held));
}
static void hold(void) { must(csk_mutex_lock(&held)); }
static void let_go(void) { must(csk_mutex_unlock(&held)); }
static void read_plain(void) {
    must(csk_rwlock_rdlock(&plain));
    must(csk_rwlock_unlock(&plain));
}
static void read_biased(void) {
    must(csk_rwlock_rdlock(&biased));
    must(csk_rwlock_unlock(&biased));
}
static void write_plain(void) {
    must(csk_rwlock_wrlock(&plain));
    must(csk_rwlock_unlock(&plain));
}

/* ---- Semaphores -------------------------------------------------------------------------------------------------- */

static csk_sem_t permits, none;
static csk_waiter_t waiter;

static void sem_wait_and_signal(void) {
    must(csk_sem_wait(&permits, 0, 1));
    must(csk_sem_post(&permits, 1));
}
static void sem_timedwait_several(void) {
    must(csk_sem_timedwait(&permits, 0, 2, CSK_NEVER));
    must(csk_sem_post(&permits, 2));
}
static void sem_try_and_signal(void) {
    must(csk_sem_trywait(&permits, 0, 1));
    must(csk_sem_post(&permits, 1));
}
static void sem_try_in_vain(void) {
    if (csk_sem_trywait(&none, 0, 1) != EBUSY) abort();
}
static void sem_called(csk_waiter_t *called, void *context, int status) { (void)called, (void)context, (void)status; }
static void sem_queue_and_cancel(void) {
    must(csk_sem_wait_async(&none, csk_rank(0, CSK_PLACE_BACK), &waiter, 1, CSK_NEVER, sem_called, NULL));
    must(csk_sem_cancel(&none, &waiter));
}
static void sem_queue_and_serve(void) {
    must(csk_sem_wait_async(&none, csk_rank(0, CSK_PLACE_BACK), &waiter, 1, CSK_NEVER, sem_called, NULL));
    must(csk_sem_post(&none, 1));
}
static void sem_callback_at_once(void) {
    must(csk_sem_wait_async(&permits, csk_rank(0, CSK_PLACE_BACK), &waiter, 1, CSK_NEVER, sem_called, NULL));
    must(csk_sem_post(&permits, 1));
}
static void gate_callback_at_once(void) {
    must(csk_gate_lock_async(&fast, 0, &waiter, CSK_NEVER, sem_called, NULL));
    must(csk_gate_unlock(&fast));
}

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

static csk_workqueue_t *queue;
static csk_work_t works[COSTS_TURNS];
static size_t next;
static csk_pqueue_t elements;
static csk_pqueue_item_t item;

static void ran(csk_work_t *work, int status) { (void)work, (void)status; }
static void suspend(void) {
    next = 0;
    csk_workqueue_suspend(queue);
}
static void resume_and_drain(void) {
    csk_workqueue_resume(queue);
    must(csk_workqueue_drain(queue, CSK_NEVER));
}
static void enqueue(void) { must(csk_workqueue_enqueue(queue, &works[next++], ran)); }
static void submit(void) {
    must(csk_workqueue_submit(queue, csk_rank(1, CSK_PLACE_BACK), &works[next++], 0, CSK_NEVER, ran));
}
static void push_and_pop(void) {
    csk_pqueue_item_t *taken;
    must(csk_pqueue_push(&elements, 0, &item));
    must(csk_pqueue_pop(&elements, &taken));
}

/* ---- Others ------------------------------------------------------------------------------------------------------ */

static csk_tls_slot_t slot;
static int number;

static void read_section(void) {
    must(csk_rcu_read_lock());
    must(csk_rcu_read_unlock());
}
static void tls_get(void) {
    if (csk_tls_get(slot) != &number) abort();
}
static void tls_set(void) { must(csk_tls_set(slot, &number)); }

static void make(void) {
    must(csk_gate_init(&compact, &(csk_gate_attr_t){ .policy = CSK_GATE_COMPACT }));
    must(csk_gate_init(&strict, &(csk_gate_attr_t){ .policy = CSK_GATE_STRICT }));
    must(csk_rwlock_init(&biased, &(csk_rwlock_attr_t){ .reader_bias = 1 }));
    must(csk_sem_init(&permits, 4, 0));
    must(csk_sem_init(&none, 0, 0));
    must(csk_workqueue_create(&queue, NULL));
    must(csk_pqueue_init(&elements, 0));
    must(csk_tls_open(&slot, "costs", NULL));
    must(csk_tls_set(slot, &number));
}

static const operation_t operations[] = {
    { .name = "known: 100", .call = costs_hundred },
    { .name = "known: 101", .call = costs_one_more },
    { .name = "known: 104", .call = costs_four_more },
    { .name = "known: an allocation", .call = costs_allocate },
    { .name = "csk_gate FAST, lock and unlock", .call = gate_fast },
    { .name = "csk_gate FAST, lock and leave", .call = gate_fast_leave },
    { .name = "csk_gate FAST, trylock and unlock", .call = gate_try },
    { .name = "csk_gate COMPACT, lock and unlock", .call = gate_compact },
    { .name = "csk_gate STRICT, lock and unlock", .call = gate_strict },
    { .name = "csk_gate, recursive lock and unlock", .call = gate_recursive },
    { .name = "csk_mutex, lock and unlock", .call = mutex_pair },
    { .name = "csk_mutex, once more while held", .call = mutex_again, .before = hold, .after = let_go },
    { .name = "csk_rwlock, read", .call = read_plain },
    { .name = "csk_rwlock, biased read", .call = read_biased },
    { .name = "csk_rwlock, write", .call = write_plain },
    { .name = "csk_sem, wait and signal", .call = sem_wait_and_signal },
    { .name = "csk_sem, timed wait for two and signal", .call = sem_timedwait_several },
    { .name = "csk_sem, trywait and signal", .call = sem_try_and_signal },
    { .name = "csk_sem, trywait in vain", .call = sem_try_in_vain },
    { .name = "csk_sem, a waiter queued and cancelled", .call = sem_queue_and_cancel },
    { .name = "csk_sem, a waiter queued and served", .call = sem_queue_and_serve },
    { .name = "csk_sem, a callback at once", .call = sem_callback_at_once },
    { .name = "csk_gate, a callback at once", .call = gate_callback_at_once },
    { .name = "csk_workqueue_enqueue behind others", .call = enqueue, .before = suspend, .after = resume_and_drain },
    { .name = "csk_workqueue_submit behind others", .call = submit, .before = suspend, .after = resume_and_drain },
    { .name = "csk_pqueue, push and pop", .call = push_and_pop },
    { .name = "csk_rcu, a read section", .call = read_section },
    { .name = "csk_tls_get", .call = tls_get },
    { .name = "csk_tls_set", .call = tls_set },
};

static void loop(const operation_t *operation) {
    for (int turn = 0; turn < COSTS_TURNS; turn++) operation->call();
}

int main(void) {
    make();
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        const operation_t *operation = &operations[i];
        /* The first time is not counted: it makes what is made once. */
        for (int counted = 0; counted < 2; counted++) {
            if (operation->before) operation->before();
            if (counted) costs_begin();
            loop(operation);
            if (counted) costs_end(operation->name);
            if (operation->after) operation->after();
        }
    }
    return 0;
}
