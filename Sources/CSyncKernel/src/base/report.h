/* report.h: faults that the kernel has found, and the names by which reports and events call objects. A fault goes to
 * the program's reporter, or to the standard error stream, whatever is switched on, and to the observer. */
#ifndef CSK_INTERNAL_REPORT_H
#define CSK_INTERNAL_REPORT_H

#include "csynckernel/observe.h"
#include "base/platform.h"

/* Room for a name or a place; a longer place is cut. */
enum { CSK_OBSERVED_NAME_SIZE = 256 };

/* An event without a name, of a wait since then. */
csk_event_t csk_observe_event(uint32_t kind, uint32_t object_kind, const void *object, csk_rank_t rank,
                              int64_t since_ns, int status);

/* Reports to the observer, and to the reporter or the standard error stream. Must not be called under an internal
 * lock. */
void csk_observe_report(uint32_t kind, uint32_t object_kind, const void *object, csk_rank_t rank, int64_t since_ns,
                        int status, int32_t thread_id);
/* The same for an object that may be gone and whose own name the caller has copied. `name` may be NULL. */
void csk_observe_report_named(uint32_t kind, uint32_t object_kind, const void *object, const char *name,
                              int64_t since_ns, int status, int32_t thread_id);
/* The same of CSK_EVENT_LONG_WAIT, for a thread of that kind (CSK_THREAD_...). */
void csk_observe_report_long_wait(uint32_t object_kind, const void *object, const char *name, int64_t since_ns,
                                  int32_t thread_id, uint32_t thread_kind);

/* The same for parties that wait for each other; `text` is the event's name. */
void csk_observe_report_deadlock(uint32_t object_kind, const void *object, const char *text, int64_t since_ns,
                                 int32_t thread_id);
/* The same for memory that waits for read sections: `text` names the threads that are inside, or is NULL; `count` is
 * how many nodes are retired. With status 0 they wait no more. */
void csk_observe_report_memory(const char *text, uint64_t count, int64_t since_ns, int status, int32_t thread_id);
/* The same for a circle of locks; `text` is its name in the event. */
void csk_observe_report_circle(uint32_t object_kind, const void *object, const char *text);

/* Returns the name of the work queue whose work the calling thread runs, or NULL. Set by work queues. */
extern const char *(*csk_observe_running)(void);

/* csk_name_of. Set by name.c. */
extern size_t (*csk_observe_name)(const void *object, uint32_t kind, char *buffer, size_t size);
/* Writes the object's name or place, cut to the room. Returns false if it has neither. The object must exist, except as
 * CSK_OBJECT_OTHER. May take the lock of the names, so it must not be called under an internal lock. */
bool csk_observe_find_name(const void *object, uint32_t object_kind, char *name, size_t size);

#endif
