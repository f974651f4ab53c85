#include "csynckernel/observe.h"

#include "internal/observe.h"

const csk_observer_t *csk_current_observer;

const csk_observer_t *csk_observe(const csk_observer_t *observer) {
    return csk_exchange(&csk_current_observer, observer, CSK_ACQ_REL);
}

void csk_observe_emit(uint32_t kind, const void *object, csk_rank_t rank, int64_t since_ns, int status) {
    const csk_observer_t *observer = csk_load(&csk_current_observer, CSK_ACQUIRE);
    if (observer == NULL) return;
    csk_event_t event = {
        .kind = kind, .status = status, .object = object, .rank = rank,
        .waited_ns = kind == CSK_EVENT_WAIT_BEGIN ? 0 : csk_platform_now() - since_ns,
    };
    observer->event(observer, &event);
}
