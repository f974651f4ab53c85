/* platform_explored.c: the platform's functions as steps of a schedule. */
#include "explorer.h"
#include "thread/fork.h"

#include <stdio.h>

#include "explorer.h"
#include "internal.h"

int64_t csk_platform_now(void) { return core_clock("clock"); }
void csk_platform_await_step(uint32_t looks) {
    (void)looks;
    core_await("yield");
}
void csk_platform_yield(void) { core_yield("yield"); }
int csk_platform_park(uint32_t *word, uint32_t expected, int64_t deadline_ns) {
    return core_park(word, expected, deadline_ns, "park");
}
csk_timed_wait_t csk_platform_begin_timed(int64_t deadline_ns) {
    return (csk_timed_wait_t){ .deadline_ns = deadline_ns, .until_ns = deadline_ns };
}
void csk_platform_end_timed(const csk_timed_wait_t *wait, int64_t now_ns) { (void)wait, (void)now_ns; }
/* Nobody's holder ends here, and a wake that is lost must stay lost. Only where a thread is late do others look. */
void csk_platform_park_to_look(uint32_t *word, uint32_t expected, int64_t look_ns) {
    core_park(word, expected, core_looks() ? look_ns : CSK_NEVER, "park");
}
void (*csk_platform_replaced)(const char *name);
bool csk_platform_thread_has_ended(uint64_t identity) {
    (void)identity;
    return false;
}
uint64_t csk_platform_new_thread_number(void) { return UINT64_C(1) << 63 | (uint64_t)(explore_thread() + 2) << 4; }
void csk_platform_wake(uint32_t *word, int count) { core_wake(word, count, "wake"); }
bool csk_platform_has_membarrier(void) { return core_has_membarrier(); }
void csk_platform_membarrier(void) { core_membarrier("membarrier"); }

int csk_platform_start_lasting_thread(const csk_lasting_thread_t *thread) {
    return csk_platform_start_thread(thread->body, NULL, thread->name);
}
int csk_platform_start_thread(void (*body)(void *), void *context, const char *name) {
    (void)name;
    return core_start_thread(body, context);
}

static void (*before_fork)(void), (*after_fork_in_child)(void);

int csk_platform_call_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    (void)parent;
    before_fork = prepare;
    after_fork_in_child = child;
    return 0;
}

void explore_fork(void) {
    before_fork();
    core_fork("fork");
    after_fork_in_child();
}

void kernel_reset_fork(void) { csk_process = (struct csk_process){ .epoch = 1 }; }

int csk_platform_call_at_thread_end(void (*function)(void *)) {
    core_call_at_thread_end(function);
    return 0;
}

int csk_platform_start_sized_thread(void (*body)(void *), void *context, const char *name, size_t stack_size) {
    (void)stack_size;
    return csk_platform_start_thread(body, context, name);
}

void (*csk_platform_held_back)(int error);

bool csk_platform_visit_processors(void) { return false; }

csk_processors_t csk_platform_processors(void) { return (csk_processors_t){ .count = 2 }; }
void csk_platform_write_error(const char *text, size_t length) { fwrite(text, 1, length, stderr); }

int32_t csk_platform_thread_id(void) { return 1; }
csk_thread_state_t csk_platform_thread_state(int32_t thread_id) {
    (void)thread_id;
    return CSK_THREAD_RUNS;
}
int64_t csk_platform_thread_time(int32_t thread_id) {
    (void)thread_id;
    return -1;
}
int64_t csk_platform_time_of_others(void) { return -1; }
void csk_platform_find_threads(const uint64_t *identities, int32_t *thread_ids, int count) {
    (void)identities;
    for (int i = 0; i < count; i++) thread_ids[i] = 0;
}
void csk_platform_thread_name(int32_t thread_id, char *name, size_t size) {
    (void)thread_id;
    if (size != 0) name[0] = 0;
}
