/* tasks.c: waits of tasks at objects that are no objects of the kernel, and the names of tasks. See tasks.h. */
#include "observe/tasks.h"

#include "base/list.h"
#include "observe/metrics.h"
#include "base/hooks.h"
#include "observe/profile.h"
#include "base/text.h"
#include "thread/name.h"
#include "wait/waits.h"

/* Those that have an object come first, and then those that wait, by when they began: a view that reads the beginning
 * of a long list sees what says most. */
typedef struct {
    uint32_t lock;
    bool has_waits; /* changed under the lock; looked at without it */
    csk_task_wait_t *first, *last;
} part_t;

CSK_LIST(waits, csk_task_wait_t, next, previous);

static part_t parts[CSK_TASK_PARTS];

enum { NO_PART = CSK_TASK_PARTS }; /* of a wait that is in no list */

bool csk_task_waits_are_told(void) { return csk_load(&csk_told.of_waits.each[TOLD_BY_PROGRAM], CSK_RELAXED) != 0; }

static uint32_t part_of(uint64_t number) {
    return (uint32_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 32) % CSK_TASK_PARTS;
}
/* That of the task, by which its name is looked for. Work that is no task stands in its object's: a view sees at one
 * moment its holder and its waiters. */
static uint32_t part_of_wait(const csk_task_wait_t *wait) {
    return part_of(wait->task != 0 ? wait->task : (uintptr_t)wait->object);
}

static uint32_t mark_of_process(void) { return csk_process_mark() + 1; }
/* Whether it was reported in this process. */
static bool is_told(const csk_task_wait_t *wait) { return wait->mark == mark_of_process(); }

static void lock(part_t *part) {
    if (CSK_UNLIKELY(csk_queue_lock(&part->lock))) part->first = part->last = NULL;
}
static void unlock(part_t *part) {
    csk_store(&part->has_waits, part->first != NULL, CSK_RELAXED);
    csk_queue_unlock(&part->lock);
}

/* ---- The task ---------------------------------------------------------------------------------------------------- */

/* Called under the part's lock. */
static void take_out(part_t *part, csk_task_wait_t *wait) {
    waits_take_out(&part->first, &part->last, wait);
    wait->part = NO_PART;
}

static void put_into_list(csk_task_wait_t *wait) {
    wait->part = part_of_wait(wait);
    part_t *part = &parts[wait->part];
    lock(part);
    if (wait->has_object) waits_put_first(&part->first, &part->last, wait);
    else waits_put_last(&part->first, &part->last, wait);
    unlock(part);
}

static void take_out_of_list(csk_task_wait_t *wait) {
    if (wait->part == NO_PART) return;
    part_t *part = &parts[wait->part];
    lock(part);
    take_out(part, wait);
    unlock(part);
}

void csk_task_wait_begin(csk_task_wait_t *wait) {
    bool is_counted = wait->object != NULL && !wait->is_not_counted && !wait->has_object;
    wait->since_ns = csk_platform_now();
    wait->mark = mark_of_process();
    wait->part = NO_PART;
    wait->stack = 0;
    wait->counted = is_counted ? csk_load(&csk_counting, CSK_RELAXED) : 0;
    if (wait->counted & CSK_COUNTS_PROFILE) {
        csk_stack_t stack;
        if (wait->context != NULL) csk_stack_take_suspended(&stack, wait->context);
        else csk_stack_take(&stack);
        wait->stack = csk_profile_stack_number(&stack);
    }
    if (csk_callbacks_are_listed() && (wait->object != NULL || wait->task_name != NULL)) put_into_list(wait);
}

/* Counts the wait, which has ended now, where that was wanted when it began. */
static void count(const csk_task_wait_t *wait, int status) {
    if (!(wait->counted & (CSK_COUNTS_PROFILE | CSK_COUNTS_METRICS))) return;
    char name[CSK_INSPECT_NAME];
    csk_place_text(&wait->place, name, sizeof name);
    int64_t waited_ns = csk_platform_now() - wait->since_ns;
    if (wait->counted & CSK_COUNTS_METRICS)
        csk_metrics_count(csk_metrics_find_named(wait->object_kind, 0, name), waited_ns, status);
    csk_profile_sample_t sample;
    if ((wait->counted & CSK_COUNTS_PROFILE) && csk_profile_keeps(waited_ns, &sample))
        csk_profile_add(&(csk_profile_key_t){ .side = CSK_PROFILE_WAITED,
                                              .waiter = CSK_PROFILE_CALLBACK,
                                              .rank = wait->rank,
                                              .stack = wait->stack,
                                              .name = csk_profile_number_of_name(name) },
                        &sample);
}

void csk_task_wait_end(csk_task_wait_t *wait, int status) {
    if (!is_told(wait)) return; /* it stands, and is counted, in the parent */
    take_out_of_list(wait);
    count(wait, status);
}

void csk_task_wait_pass(csk_task_wait_t *last, csk_task_wait_t *next) {
    if (!is_told(next)) { /* it waited in the parent */
        next->part = NO_PART;
        next->counted = 0;
    }
    if (last != NULL && !is_told(last)) last = NULL;
    csk_task_wait_t waited = *next;
    uint32_t number = part_of_wait(next);
    part_t *part = &parts[number];
    lock(part);
    if (last != NULL && last->part == number) take_out(part, last);
    bool is_listed = next->part == number;
    if (is_listed) take_out(part, next);
    next->mark = mark_of_process();
    next->has_object = 1;
    next->since_ns = csk_platform_now();
    next->counted = 0;
    if (is_listed || csk_callbacks_are_listed()) {
        next->part = number;
        waits_put_first(&part->first, &part->last, next);
    }
    unlock(part);
    if (last != NULL) take_out_of_list(last);
    count(&waited, 0);
}

/* ---- Readers ----------------------------------------------------------------------------------------------------- */

bool csk_task_waits_read(uint32_t number, int64_t until_ns, bool (*each)(const csk_task_wait_t *, void *),
                         void *context) {
    part_t *part = &parts[number];
    if (!csk_load(&part->has_waits, CSK_RELAXED)) return true;
    enum csk_tried tried = csk_waits_try_or_take_over(NULL, &part->lock, until_ns);
    if (tried == CSK_TRIED_IN_VAIN) return false;
    if (tried == CSK_TAKEN_OVER) part->first = part->last = NULL;
    for (const csk_task_wait_t *wait = part->first; wait != NULL && each(wait, context);) wait = wait->next;
    unlock(part); /* where it was taken over, it has no waits from now on */
    return true;
}

typedef struct {
    uint64_t task;
    char *name;
    size_t size;
    uint32_t nodes;
    bool found;
} wanted_t;

enum { NAME_NODES = 4096 };

static bool copy_name(const csk_task_wait_t *wait, void *context) {
    wanted_t *wanted = context;
    if (wait->task != wanted->task || wait->task_name == NULL) return ++wanted->nodes < NAME_NODES;
    csk_copy_line(wanted->name, wanted->size, wait->task_name);
    wanted->found = true;
    return false;
}

bool csk_task_waits_name(uint64_t task, int64_t until_ns, char *name, size_t size) {
    wanted_t wanted = { task, name, size, 0, false };
    name[0] = 0;
    bool was_read = csk_task_waits_read(part_of(task), until_ns, copy_name, &wanted);
    return was_read && (wanted.found || wanted.nodes < NAME_NODES);
}
