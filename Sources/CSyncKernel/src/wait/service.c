#include "wait/service.h"

#include "wait/announce.h"

int csk_service_begin(csk_service_t *service) {
    if (CSK_LIKELY(csk_service_runs(service))) return 0;
    int error = csk_fork_handled();
    if (error != 0) return error;
    uint32_t here = csk_process_mark(), found = csk_load(&service->word, CSK_RELAXED);
    while (found != (here | SERVICE_RUNS)) {
        if (found == (here | SERVICE_STARTING)) {
            csk_wait_park(&service->word, found, CSK_NEVER);
            found = csk_load(&service->word, CSK_RELAXED);
        } else if (csk_cas(&service->word, &found, here | SERVICE_STARTING, CSK_RELAXED)) {
            return EINPROGRESS;
        }
    }
    return 0;
}

int csk_service_end(csk_service_t *service, int error) {
    csk_store(&service->word, csk_process_mark() | (error == 0 ? SERVICE_RUNS : SERVICE_NONE), CSK_RELAXED);
    csk_platform_wake(&service->word, INT32_MAX);
    return error;
}

int csk_service_start(csk_service_t *service, const csk_lasting_thread_t *thread) {
    int status = csk_service_begin(service);
    return status != EINPROGRESS ? status : csk_service_end(service, csk_platform_start_lasting_thread(thread));
}
