/* tasks.h: the waits of tasks that csynckernel/task.h reports, for views.
 *
 * They stand in lists, in 64 parts by their tasks. A part has a queue lock, which guards the list and its links. A wait
 * is put into its list by the thread that begins it and taken out by the thread that ends it, each under the lock. A
 * reader that has the lock may read a wait of the list, and what the wait names, since none of them ends meanwhile. It
 * tries the lock, with a bound, and copies what it finds, so that no thread waits for it longer than that takes.
 *
 * Nothing is called under the lock but what says that a wait is over, and no other lock is taken under it.
 *
 * fork. In a child the first that takes a part's lock forgets the list. `mark` says in which process a wait has begun.
 * One of the parent's that ends in the child is in no list there, and is counted by the parent. */
#ifndef CSK_INTERNAL_TASKS_H
#define CSK_INTERNAL_TASKS_H

#include "csynckernel/task.h"
#include "base/platform.h"

enum { CSK_TASK_PARTS = 64 };

/* Calls `each` under the lock of the part for its waits, until `each` returns false. Returns false where the lock could
 * not be had until `until_ns`. */
bool csk_task_waits_read(uint32_t part, int64_t until_ns, bool (*each)(const csk_task_wait_t *, void *), void *context);
/* Copies the name of a task that waits. Empty where it has none or is not listed. Returns false where it could not be
 * looked for: the lock could not be had until `until_ns`, or the task may stand behind 4096 others of its part. */
bool csk_task_waits_name(uint64_t task, int64_t until_ns, char *name, size_t size);

#endif
