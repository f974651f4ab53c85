/* watchdog.c: see watchdog.h. */
#include "wait/watchdog.h"

#include "wait/queue_lock.h"

static uint32_t wakes; /* raised with each wake; the thread parks on it */
/* Relaxed: addresses of code. What a look reads has orders of its own; `wakes` says that it is there. */
static csk_watchdog_look_t looks[CSK_WATCHDOG_LOOKS];

static struct {
    uint32_t lock;
    uint32_t started;  /* 1 + the mark of the process in which the thread was started */
    uint32_t starting; /* the same of one in which somebody starts it: others wait for what becomes of that */
} watchdog;

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

/* With the lock. Returns once nobody starts the thread, with the lock. */
static void await_start(uint32_t here) {
    for (uint32_t looks_so_far = 0; watchdog.starting == here; looks_so_far++) {
        csk_queue_unlock(&watchdog.lock);
        csk_platform_await_step(looks_so_far);
        csk_queue_lock(&watchdog.lock);
    }
}

int csk_watchdog_start(uint32_t which, csk_watchdog_look_t look) {
    csk_store(&looks[which], look, CSK_RELAXED);
    uint32_t here = csk_process_mark() + 1;
    csk_queue_lock(&watchdog.lock);
    await_start(here);
    bool starts = watchdog.started != here;
    if (starts) watchdog.starting = here;
    csk_queue_unlock(&watchdog.lock);
    if (!starts) return 0;
    int status = csk_platform_start_lasting_thread(&thread);
    csk_queue_lock(&watchdog.lock);
    if (status == 0) watchdog.started = here;
    watchdog.starting = 0;
    csk_queue_unlock(&watchdog.lock);
    return status;
}

void csk_watchdog_wake(void) {
    csk_fetch_add(&wakes, 1u, CSK_RELEASE);
    csk_platform_wake(&wakes, 1);
}
