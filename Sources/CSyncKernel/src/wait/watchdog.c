/* watchdog.c: see watchdog.h. */
#include "wait/watchdog.h"

#include "wait/service.h"

static uint32_t wakes; /* raised with each wake; the thread parks on it */
/* Relaxed: addresses of code. What a look reads has orders of its own; `wakes` says that it is there. */
static csk_watchdog_look_t looks[CSK_WATCHDOG_LOOKS];

static csk_service_t watchdog;

static void run(void *unused) {
    (void)unused;
    for (;;) {
        uint32_t seen = csk_load(&wakes, CSK_ACQUIRE);
        int64_t next_ns = CSK_NEVER;
        for (int i = 0; i < CSK_WATCHDOG_LOOKS; i++) {
            csk_watchdog_look_t look = csk_load(&looks[i], CSK_RELAXED);
            int64_t wanted_ns = look != NULL ? look() : CSK_NEVER;
            if (wanted_ns < next_ns) next_ns = wanted_ns;
        }
        csk_platform_park(&wakes, seen, next_ns);
    }
}

/* A reporter may end it. */
static const csk_lasting_thread_t thread = { .body = run, .name = "csk-watchdog" };

int csk_watchdog_start(uint32_t which, csk_watchdog_look_t look) {
    csk_store(&looks[which], look, CSK_RELAXED);
    return csk_service_start(&watchdog, &thread);
}

void csk_watchdog_wake(void) {
    csk_fetch_add(&wakes, 1u, CSK_RELEASE);
    csk_platform_wake(&wakes, 1);
}
