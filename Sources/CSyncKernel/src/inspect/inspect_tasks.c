/* inspect_tasks.c: tasks that wait at objects of their runtime's, and the names of tasks (csynckernel/task.h). The
 * object is not read: what the view shows of it stands in the waits. */
#include "inspect/inspect.h"

#include "base/text.h"
#include "thread/name.h"
#include "wait/tasks.h"

/* Called under the lock of the wait's part. */
static bool add_wait(const csk_task_wait_t *wait, void *context) {
    csk_look_t *look = context;
    bool fresh;
    if (wait->object == NULL || (wait->is_over != NULL && wait->is_over(wait->waiter))) return true;
    csk_inspected_object_t *object = csk_look_object(look, wait->object, wait->object_kind, &fresh);
    if (object == NULL) return true;
    if (fresh) csk_place_text(&wait->place, object->name, sizeof object->name);
    object->waiting++;
    csk_inspected_waiter_t *seen = csk_look_waiter(look, object, CSK_WAITER_CALLBACK, wait->waits_for);
    if (seen == NULL) return true;
    seen->rank = wait->rank;
    seen->ticket = wait->ticket;
    seen->since_ns = wait->since_ns;
    seen->deadline_ns = wait->deadline_ns;
    seen->waiter = wait->waiter;
    seen->task = wait->task;
    if (wait->task_name == NULL || (look->more != NULL && look->more->leaves_names_out)) return true;
    csk_copy_text(seen->task_name, sizeof seen->task_name, wait->task_name);
    return true;
}

void csk_look_at_tasks(csk_look_t *look) {
    for (uint32_t part = 0; part < CSK_TASK_PARTS; part++)
        if (!csk_task_waits_read(part, csk_look_until(look), add_wait, look)) look->view->list_busy = true;
}

void csk_look_name_tasks(const csk_look_t *look) {
    csk_inspection_t *view = look->view;
    if (look->more != NULL && look->more->leaves_names_out) return;
    for (uint32_t i = 0; i < view->waiter_count; i++) {
        csk_inspected_waiter_t *waiter = &view->waiters[i];
        if (waiter->task == 0 || waiter->task_name[0] != 0) continue;
        csk_task_waits_name(waiter->task, csk_look_until(look), waiter->task_name, sizeof waiter->task_name);
    }
}
