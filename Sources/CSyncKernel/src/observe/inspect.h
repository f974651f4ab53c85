/* inspect.h: what inspect.c, which finds the objects, and inspect_objects.c, inspect_pool.c and inspect_tasks.c, which
 * read them, share. */
#ifndef CSK_INTERNAL_INSPECT_H
#define CSK_INTERNAL_INSPECT_H

#include "csynckernel/inspect.h"
#include "observe/stack.h"
#include "wait/waits.h"

enum { CSK_LOOK_RUNS = 256, CSK_LOOK_NODES = 4096 };
/* So many works are counted at a time. A build for tests may have a smaller number. */
#ifndef CSK_LOOK_PIECE
#define CSK_LOOK_PIECE 64
#endif

/* A thread that is inside a section of a work queue. */
typedef struct csk_look_run {
    const void *queue;
    csk_inspected_thread_t thread;
} csk_look_run_t;

/* What the deadlock watch asks of a view beyond what the view shows. */
typedef struct csk_look_holder {
    uint32_t object; /* its index in the view */
    int32_t thread_id;
} csk_look_holder_t;

/* A waiter whose stack is wanted: a thread's by the number of its wait, a callback's by its address. */
typedef struct csk_look_wanted {
    int32_t thread_id;
    uint64_t wait;
    const void *waiter;
    csk_stack_t *stack;
} csk_look_wanted_t;

typedef struct csk_look_more {
    /* Each thread that is known to read a lock, or to be in a work queue's section, in no order. */
    csk_look_holder_t *holders;
    uint32_t holder_room, holder_count;
    const csk_look_wanted_t *wanted;
    uint32_t wanted_count;
    bool leaves_names_out; /* of threads: each is a call of the system */
    /* Says where a task goes on that is suspended. May be NULL. */
    const void *(*context_of)(uint64_t task);
} csk_look_more_t;

/* csk_inspect, with `more` filled too, which may be NULL. */
int csk_inspect_more(csk_inspection_t *view, csk_look_more_t *more);

/* A view while it is taken. */
typedef struct csk_look {
    csk_inspection_t *view;
    csk_look_more_t *more;           /* or NULL */
    const csk_wait_record_t *record; /* the record that is READ, if any: its thread must not wait for long */
    int64_t now_ns, ends_ns;         /* no lock is tried after that */
    uint32_t run_count;
    csk_look_run_t runs[CSK_LOOK_RUNS];
} csk_look_t;

/* Until when a lock that is tried now is tried. */
int64_t csk_look_until(const csk_look_t *look);

/* Returns the object of that address and kind, which is added where the view has none; *fresh says so. NULL where there
 * is no room. */
csk_inspected_object_t *csk_look_object(csk_look_t *look, const void *address, uint32_t kind, bool *fresh);
/* Adds a waiter of the object, with all that is not known left out. NULL where there is no room. */
csk_inspected_waiter_t *csk_look_waiter(csk_look_t *look, csk_inspected_object_t *object, uint32_t kind,
                                        uint32_t waits_for);
csk_inspected_thread_t csk_look_thread(uint64_t identity);
void csk_look_add_holder(const csk_look_t *look, uint32_t object, int32_t thread_id);

/* ---- inspect_objects.c ---- */

/* Reads an object that exists, and that the view has just got: its holders, its waiters, and its name. */
void csk_look_at(csk_look_t *look, csk_inspected_object_t *object);
/* The same for a condition variable at which the thread of `record` began to wait, where it still does. Returns the
 * object, or that of its gate where the thread waits for that by now. NULL: there is no room. */
csk_inspected_object_t *csk_look_at_cond(csk_look_t *look, const csk_wait_t *wait);
/* The name that csk_name gave to the address of an object that may be gone. */
void csk_look_name_of_address(const csk_look_t *look, csk_inspected_object_t *object);
/* A work queue that stays. Its lock is tried until `until_ns`, and had for a piece of what is counted at a time. */
void csk_look_at_workqueue(csk_look_t *look, csk_inspected_object_t *object, int64_t until_ns);

/* ---- inspect_pool.c ---- */

/* The pool, its workers, and what waits for one. */
void csk_look_at_pool(csk_look_t *look);
/* Queues that workers serve, and queues that could not be read before, while the pool keeps them in place. Views that
 * are taken for the deadlock watch only name them. */
void csk_look_at_kept_queues(csk_look_t *look);

/* ---- inspect_tasks.c ---- */

/* Tasks that wait at objects of their runtime's. */
void csk_look_at_tasks(csk_look_t *look);
/* The names of all tasks that wait. */
void csk_look_name_tasks(const csk_look_t *look);

#endif
