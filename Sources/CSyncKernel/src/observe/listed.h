/* listed.h: the objects at which callbacks wait, for as long as that is wanted (csk_inspect_callbacks). A waiting
 * thread has a record (waits.h); a callback has no thread, and its memory is its user's. So its object is listed.
 *
 * The list is a table of fixed size, in parts by the object's address. A part has a queue lock, and for each object
 * how many callbacks wait there. A callback is counted under the object's queue lock when it begins to wait, and its
 * waiter is marked (WAITER_LISTED); the thread that ends the wait takes it off once that lock is free, and before the
 * callback's function is called. Where a part is full the callback is not listed.
 *
 * A work queue that is suspended is listed too, as one callback, since nothing else leads to it. The call that ends the
 * suspension takes it off, and keeps the queue until then.
 *
 * Why a reader may use the object. It is there until the function of each callback that was accepted has been called.
 * A reader pins an object that has a callback, under the part's lock. A thread that would take the last callback of a
 * pinned object off waits until it is not pinned any more. So the function is not called before that. The reader tries
 * the object's queue lock while it has pinned it, and does not wait.
 *
 * part.pinned   NULL to the object   the reader, under the part's lock
 *               the object to NULL   the reader, store with release; then `unpinned` is raised, and the threads that
 *                                    wait for it are woken. They load `pinned` with acquire, so that the function comes
 *                                    after the reader's last access
 *
 * The queue lock of an object comes before a part's lock. The reader only tries queue locks, so it may have them in
 * the other order.
 *
 * fork. In the child the first that takes a part's lock forgets what the part lists: those callbacks wait in the
 * parent. */
#ifndef CSK_INTERNAL_LISTED_H
#define CSK_INTERNAL_LISTED_H

#include "csynckernel/inspect.h"
#include "base/platform.h"

/* Called under the object's queue lock, or by the object's holder. Counts one callback. Returns false where there is no
 * room. */
bool csk_listed_add(const void *object, uint32_t object_kind);
/* Called without an internal lock. Takes one callback off; may park for some microseconds. */
void csk_listed_take_off(const void *object);

/* For one reader at a time: the part of the list from which it takes objects. */
typedef struct csk_listed_cursor {
    uint32_t part, at, count;
    const void *found[64];
} csk_listed_cursor_t;

typedef struct csk_listed {
    const void *object;
    uint32_t kind;
} csk_listed_t;

/* Pins the next object, which is unpinned by the next call; a zero-filled cursor begins. Returns false at the end, or
 * where a lock could not be had until `until_ns`; *busy is true then. */
bool csk_listed_next(csk_listed_cursor_t *cursor, csk_listed_t *listed, int64_t until_ns, bool *busy);
/* Whether any callback is listed now. */
bool csk_listed_has_callbacks(void);
/* How many callbacks and queues were not listed for want of room, since the process began. */
uint64_t csk_listed_refused(void);

#endif
