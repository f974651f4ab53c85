/* observer.c: the program's observer, which hears of waits and of faults. See csynckernel/observe.h. */
#include "observe/subscriber.h"

static const csk_observer_t *current_observer;

const csk_observer_t *csk_observe(const csk_observer_t *observer) {
    csk_subscribe();
    const csk_observer_t *before = csk_exchange(&current_observer, observer, CSK_ACQ_REL);
    csk_tell_program(before != NULL, observer != NULL);
    return before;
}

bool csk_is_observed(void) { return csk_load(&current_observer, CSK_RELAXED) != NULL; }

static const csk_observer_t *attached(void) { return csk_load(&current_observer, CSK_ACQUIRE); }

static void emit(const csk_observer_t *observer, const csk_event_t *event) {
    int before = csk_platform_keep_thread();
    observer->event(observer, event);
    csk_platform_let_thread_go(before);
}

void csk_observer_hears_named(uint32_t kind, uint32_t object_kind, const void *object, const char *name,
                              csk_rank_t rank, int64_t since_ns, int status) {
    const csk_observer_t *observer = attached();
    if (observer == NULL) return;
    csk_event_t event = csk_observe_event(kind, object_kind, object, rank, since_ns, status);
    event.name = name;
    emit(observer, &event);
}

void csk_observer_hears(uint32_t kind, uint32_t object_kind, const void *object, csk_rank_t rank, int64_t since_ns,
                        int status) {
    char name[CSK_OBSERVED_NAME_SIZE];
    if (!csk_is_observed()) return;
    bool has_name = csk_observe_find_name(object, object_kind, name, sizeof name);
    csk_observer_hears_named(kind, object_kind, object, has_name ? name : NULL, rank, since_ns, status);
}

void csk_observer_hears_report(const csk_event_t *event) {
    const csk_observer_t *observer = attached();
    if (observer != NULL) emit(observer, event);
}
