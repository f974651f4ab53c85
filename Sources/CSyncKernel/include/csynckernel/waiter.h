/* waiter.h: a waiter without a thread, for any lock, semaphore or queue. A call with `async` in its name puts it into
 * the order in which threads wait too, and returns at once. Its function is called when its turn has come, or when it
 * will not come.
 *
 * The caller owns the memory: it zero-fills a waiter once, and keeps it in place while it waits. One waiter waits for
 * one object at a time. From the call of its function on it is the caller's again, and may be queued at the same object
 * or at another one, from the function too. Nothing is allocated for it.
 *
 * The function runs on the thread that grants the turn or ends the wait: one that leaves the object, comes, gives up,
 * cancels or queues a waiter, or the timers' thread; possibly before the call that queues the waiter returns. No lock
 * is held while it runs. It never runs recursively: functions of later grants run after it has returned. It must not
 * block, since its thread may be on its way into, or out of, any object. What else holds at one object stands beside
 * the call that queues it there.
 *
 * No function that queues a waiter may be called from a signal handler.
 *
 * fork. No waiter of the parent waits in the child, and its function is not called there.
 *
 * Example: the permit goes to a waiter without a thread.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *
 *     static csk_sem_t sem;
 *
 *     static void enter(csk_waiter_t *waiter, void *context, int status) {
 *         (void)waiter;
 *         if (status != 0) return;
 *         *(bool *)context = true;
 *         csk_sem_post(&sem, 1);
 *     }
 *
 *     int main(void) {
 *         static csk_waiter_t waiter;
 *         bool entered = false;
 *         csk_rank_t rank = csk_rank(0, CSK_PLACE_BACK);
 *         if (csk_sem_init(&sem, 1, 1) != 0 || csk_sem_wait(&sem, 0, 1) != 0) return 1;
 *         if (csk_sem_wait_async(&sem, rank, &waiter, 1, CSK_NEVER, enter, &entered) != 0) return 1;
 *         printf("it %s\n", entered ? "has entered" : "waits");
 *         csk_sem_post(&sem, 1);
 *         printf("it %s\n", entered ? "has entered" : "waits");
 *         return entered ? 0 : 1;
 *     }
 */
#ifndef CSK_WAITER_H
#define CSK_WAITER_H

#include "arrivals.h"
#include "timer.h"

CSK_BEGIN_DECLS

typedef struct csk_gate csk_gate_t;
typedef struct csk_waiter csk_waiter_t;

/* Called once for each waiter that was accepted. Status 0: it has what it waited for. ETIMEDOUT, ECANCELED or what else
 * the call that queued it says: it has not. */
typedef void (*csk_waiter_function_t)(csk_waiter_t *waiter, void *context, int status);

/* The fields belong to the library. */
struct csk_waiter {
    csk_heap_node_t node;
    csk_arrival_t arrival;       /* at a gate or a semaphore: see arrivals.h */
    csk_waiter_t *older, *newer; /* elsewhere */
    union {
        csk_gate_t *gate;
        struct csk_rwlock *rwlock;
        void *object;
    };
    csk_waiter_function_t function;
    void *context; /* the caller's */
    union {
        struct csk_gate_lane *lane;
        struct csk_pqueue_item *item; /* at a priority queue: what is pushed, or was taken */
    };
    int64_t deadline_ns;
    int64_t since_ns;
    union {
        int64_t granted_ns; /* a callback: when the grace of its grant began; 0 before */
        int64_t told_ns;    /* a thread: see src/lock/gate_aside.h */
    };
    union {
        int64_t grace_ns;
        int64_t first_told_ns; /* a thread at a gate: see src/lock/gate_aside.h */
    };
    union {
        csk_waiter_t *next_ready;
        uint64_t task; /* a callback, while it waits and views list it: the task that waits by it; 0 for none. At a
                          semaphore that may record its holder: the waiter, see src/lock/sem_queue.h */
    };
    union {
        uint64_t thread;
        uint64_t stack; /* a callback: the number of the stack with which it began to wait, for the profile */
    };
    uint32_t word;
    uint32_t state;
    union {
        uint32_t followers; /* at a read-write lock: enqueued writes that stand behind this one, as one waiter */
        uint32_t permits;   /* at a semaphore */
    };
    int32_t status;
    union {
        uint8_t adoptable; /* at a gate */
        uint8_t hand_over; /* a thread: see src/readwrite/rwlock_queue.h and src/lock/sem_queue.h */
    };
    uint8_t deadline_started;
    uint8_t grace_started;
    uint8_t due;
    uint8_t has_waited;
    union {
        uint8_t mode;
        uint8_t passed; /* a task at a gate: see src/lock/gate_lane.h */
    };
    uint8_t stays;  /* it can't be cancelled */
    uint8_t timers; /* timers that have to be stopped before its function is called */
    csk_timer_t deadline;
    csk_timer_t grace;
};

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_waiter_t) == 312, "csk_waiter_t is part of the ABI");

#endif
