/* inspect_tasks.c: tasks that wait at objects of their runtime's, and the names of tasks (csynckernel/task.h). The
 * object is not read: what the view shows of it stands in the waits. */
#include "observe/inspect.h"

#include "base/text.h"
#include "thread/name.h"
#include "observe/tasks.h"

/* How much of a part was read. A thread that begins or ends a wait there blocks meanwhile. */
typedef struct {
    csk_look_t *look;
    uint32_t nodes;
    bool ended_early;
} reading_t;

/* The clock is read now and then: an object is looked for among all that were found. */
static bool may_go_on(reading_t *reading) {
    enum { NODES_FOR_A_LOOK = 64 };
    uint32_t nodes = reading->nodes++;
    bool is_late = nodes % NODES_FOR_A_LOOK == 0 && nodes != 0 && csk_platform_now() >= reading->look->ends_ns;
    reading->ended_early = nodes == CSK_LOOK_NODES || is_late;
    return !reading->ended_early;
}

static void copy_task_name(const csk_look_t *look, char name[CSK_INSPECT_TASK_NAME], const csk_task_wait_t *wait) {
    if (wait->task_name == NULL || (look->more != NULL && look->more->leaves_names_out)) return;
    csk_copy_line(name, CSK_INSPECT_TASK_NAME, wait->task_name);
}

/* Of several that have the object the one is shown that has it longest. */
static void add_holder(const csk_look_t *look, csk_inspected_object_t *object, const csk_task_wait_t *wait) {
    csk_inspected_holder_t *holder = &object->holder;
    holder->count++;
    if (object->running_ns != 0 && object->running_ns <= wait->since_ns) return;
    object->running_ns = wait->since_ns;
    holder->kind = CSK_HELD_BY_TASK;
    holder->task = wait->task;
    holder->waiter = wait->waiter;
    holder->task_name[0] = 0;
    copy_task_name(look, holder->task_name, wait);
}

/* Called under the lock of the wait's part. */
static bool add_wait(const csk_task_wait_t *wait, void *context) {
    csk_look_t *look = ((reading_t *)context)->look;
    bool fresh;
    if (!may_go_on(context)) return false;
    if (wait->object == NULL || (wait->is_over != NULL && wait->is_over(wait->waiter))) return true;
    csk_inspected_object_t *object = csk_look_object(look, wait->object, wait->object_kind, &fresh);
    if (object == NULL) return true;
    if (fresh && wait->object_kind < CSK_OBJECT_FIFO_QUEUE) {
        /* A work queue that nothing has led the view to, so it can't be read. */
        look->view->object_count--;
        return true;
    }
    if (fresh) csk_place_text(&wait->place, object->name, sizeof object->name);
    if (wait->has_object) {
        add_holder(look, object, wait);
        return true;
    }
    object->waiting++;
    csk_inspected_waiter_t *seen = csk_look_waiter(look, object, CSK_WAITER_CALLBACK, wait->waits_for);
    if (seen == NULL) return true;
    seen->rank = wait->rank;
    seen->ticket = wait->ticket;
    seen->since_ns = wait->since_ns;
    seen->deadline_ns = wait->deadline_ns;
    seen->waiter = wait->waiter;
    seen->task = wait->task;
    copy_task_name(look, seen->task_name, wait);
    return true;
}

void csk_look_at_tasks(csk_look_t *look) {
    for (uint32_t part = 0; part < CSK_TASK_PARTS; part++) {
        reading_t reading = { .look = look };
        bool was_read = csk_task_waits_read(part, csk_look_until(look), add_wait, &reading);
        if (!was_read || reading.ended_early) look->view->list_busy = true;
    }
}

/* A task stands without a name if it has none, or could not be looked for: then the view says that it is incomplete. */
static void name_task(const csk_look_t *look, uint64_t task, char name[CSK_INSPECT_TASK_NAME]) {
    bool is_late = csk_platform_now() >= look->ends_ns;
    if (is_late || !csk_task_waits_name(task, csk_look_until(look), name, CSK_INSPECT_TASK_NAME))
        look->view->list_busy = true;
}

void csk_look_name_tasks(const csk_look_t *look) {
    csk_inspection_t *view = look->view;
    if (look->more != NULL && look->more->leaves_names_out) return;
    for (uint32_t i = 0; i < view->object_count; i++) {
        csk_inspected_holder_t *holder = &view->objects[i].holder;
        /* One that has an object of its runtime's has said its name there. */
        if (holder->task == 0 || view->objects[i].kind >= CSK_OBJECT_FIFO_QUEUE) continue;
        name_task(look, holder->task, holder->task_name);
    }
    for (uint32_t i = 0; i < view->waiter_count; i++) {
        csk_inspected_waiter_t *waiter = &view->waiters[i];
        /* A task waits at one place: what is known of one at an object of its runtime's was copied there. */
        if (waiter->task == 0 || (waiter->kind == CSK_WAITER_CALLBACK && waiter->function == NULL)) continue;
        name_task(look, waiter->task, waiter->task_name);
    }
}
