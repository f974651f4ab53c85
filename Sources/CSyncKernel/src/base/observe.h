#ifndef CSK_INTERNAL_OBSERVE_H
#define CSK_INTERNAL_OBSERVE_H

#include "csynckernel/observe.h"
#include "base/platform.h"
#include "base/probe.h"

extern const csk_observer_t *csk_current_observer;

/* Room for a name or a place; a longer place is cut. */
enum { CSK_OBSERVED_NAME_SIZE = 256 };

void csk_observe_emit(uint32_t kind, uint32_t object_kind, const void *object, csk_rank_t rank, int64_t since_ns,
                      int status);
/* The same for an object that may be gone, and whose name the caller has copied. `name` may be NULL. */
void csk_observe_named(uint32_t kind, uint32_t object_kind, const void *object, const char *name, csk_rank_t rank,
                       int64_t since_ns, int status);

/* Whether an observer or a tracer wants to know of waits. For paths on which waits are reported
 * (csk_waits_are_told). */
static inline bool csk_is_observed(void) {
    return csk_load(&csk_current_observer, CSK_RELAXED) != NULL || csk_wait_begins_are_traced() ||
           csk_wait_ends_are_traced() || csk_grants_are_traced();
}

/* Calls the observer and the probes. Must not be called under an internal lock: the observer is user code.
 * `object_kind` is CSK_OBJECT_OTHER where the object may be gone. */
static inline void csk_observe_wait(uint32_t kind, uint32_t object_kind, const void *object, csk_rank_t rank,
                                    int64_t since_ns, int status) {
    if (CSK_UNLIKELY(csk_waits_are_told())) csk_observe_emit(kind, object_kind, object, rank, since_ns, status);
}

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
