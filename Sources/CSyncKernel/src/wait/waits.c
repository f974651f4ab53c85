/* waits.c: the records of what threads wait for. See waits.h. */
#include "wait/waits.h"

#include "base/list.h"
#include "thread/name.h"
#include "thread/thread_exit.h"

const void *(*csk_waits_sections)(void);
uint32_t csk_waits_marked;
uint32_t (*csk_waits_asks)(void);
uint64_t (*csk_waits_task)(void);
uint64_t (*csk_waits_current_task)(void);

/* The explorer keeps thread-local variables elsewhere while their thread does not run, and has a client say whether
 * waits are recorded at all. */
#ifndef CSK_WAITS_EXPLORED
static _Thread_local csk_wait_record_t mine __attribute__((tls_model("initial-exec")));
static inline csk_wait_record_t *my_record(void) { return &mine; }
static inline bool are_noted(void) { return true; }
#endif

static struct {
    uint32_t lock;
    csk_wait_record_t *first;
} all;

CSK_LIST(records, csk_wait_record_t, next, previous);

static inline uint32_t mark_of_list(void) { return csk_process_mark() + 1; }

/* ---- The thread -------------------------------------------------------------------------------------------------- */

/* A thread that is marked in a child comes here before it is counted. */
static void begin_in_child(void) {
    all.first = NULL;
    csk_store(&csk_waits_marked, 0u, CSK_RELAXED);
}
static void lock_list(void) {
    if (CSK_UNLIKELY(csk_queue_lock(&all.lock))) begin_in_child();
}

static void thread_ends(void) {
    csk_wait_record_t *self = my_record();
    if (self->mark != mark_of_list()) return;
    if (self->marked != 0) csk_waits_mark(0);
    lock_list();
    records_take_out(&all.first, NULL, self);
    csk_queue_unlock(&all.lock);
    self->mark = 0;
}

bool csk_waits_has_record(void) { return my_record()->mark == mark_of_list(); }
bool csk_waits_needs_record(void) { return are_noted() && !csk_waits_has_record(); }

void csk_waits_prepare(void) {
    csk_wait_record_t *self = my_record();
    if (!csk_waits_needs_record()) return;
    if (csk_thread_exit_enroll(CSK_THREAD_EXIT_WAITS, thread_ends) != 0) return;
    if (csk_thread_number == CSK_THREAD_UNNUMBERED) csk_thread_number = csk_platform_new_thread_number();
    self->identity = csk_self();
    self->thread_number = csk_thread_number;
    self->thread_id = csk_platform_thread_id();
    csk_store(&self->word, (uint32_t)WAIT_NONE, CSK_RELAXED);
    self->marked = 0;
    lock_list();
    records_put_first(&all.first, NULL, self);
    csk_queue_unlock(&all.lock);
    self->mark = mark_of_list();
}

/* The thread does not wait, so its record is not read. */
bool csk_waits_mark(uint32_t kind) {
    csk_wait_record_t *self = my_record();
    csk_waits_prepare();
    if (self->mark != mark_of_list()) return kind == 0;
    if ((self->marked != 0) != (kind != 0)) csk_fetch_add(&csk_waits_marked, kind != 0 ? 1u : -1u, CSK_RELAXED);
    self->marked = (uint16_t)kind;
    return true;
}

const struct csk_stack *csk_waits_show_stack(const struct csk_stack *stack) {
    csk_wait_record_t *self = my_record();
    const struct csk_stack *before = self->stack;
    self->stack = stack;
    return before;
}

int32_t csk_waits_thread_id(void) { return csk_waits_has_record() ? my_record()->thread_id : csk_platform_thread_id(); }

void csk_waits_suspend(uint64_t task) { my_record()->suspends = task; }
uint64_t csk_waits_suspended_task(void) { return my_record()->suspends; }

void csk_waits_note(csk_wait_t *wait) {
    csk_wait_record_t *self = my_record();
    if (!are_noted()) return;
    if (CSK_UNLIKELY(self->mark != mark_of_list())) {
        csk_waits_prepare();
        if (self->mark != mark_of_list()) return;
    }
    if (CSK_UNLIKELY(csk_load(&self->word, CSK_RELAXED) != WAIT_NONE)) return;
    if (wait->since_ns == 0) wait->since_ns = csk_platform_now();
    self->sections = csk_waits_sections != NULL ? csk_waits_sections() : NULL;
    uint32_t (*asks)(void) = csk_load(&csk_waits_asks, CSK_ACQUIRE);
    self->asked = asks != NULL ? (uint16_t)asks() : 0;
    uint64_t (*task)(void) = csk_load(&csk_waits_task, CSK_ACQUIRE);
    self->task = task != NULL ? task() : 0;
    self->wait = wait;
    self->number++;
    wait->noted = true;
    csk_store(&self->word, (uint32_t)WAIT_NOTED, CSK_RELEASE);
}

static void await_reader(csk_wait_record_t *self) {
    uint32_t found = WAIT_NOTED;
    while (!csk_cas(&self->word, &found, (uint32_t)(found == WAIT_READ ? WAIT_AWAITED : WAIT_NONE), CSK_ACQUIRE)) {}
    if (found == WAIT_NOTED) return;
    while (csk_load(&self->word, CSK_ACQUIRE) == WAIT_AWAITED) csk_platform_park(&self->word, WAIT_AWAITED, CSK_NEVER);
}

void csk_waits_take_off(csk_wait_t *wait) {
    csk_wait_record_t *self = my_record();
    uint32_t noted = WAIT_NOTED;
    wait->noted = false;
    if (CSK_UNLIKELY(!csk_cas(&self->word, &noted, (uint32_t)WAIT_NONE, CSK_ACQUIRE))) await_reader(self);
}

/* ---- Readers ----------------------------------------------------------------------------------------------------- */

/* The thread may go on, and its record may be gone, as soon as the word is NONE. */
static void give_back(csk_wait_record_t *record) {
    uint32_t read = WAIT_READ;
    if (CSK_LIKELY(csk_cas(&record->word, &read, (uint32_t)WAIT_NOTED, CSK_RELEASE))) return;
    csk_store(&record->word, (uint32_t)WAIT_NONE, CSK_RELEASE);
    csk_platform_wake(&record->word, 1);
}

bool csk_waits_may_try(const csk_wait_record_t *record, uint32_t *tries, int64_t until_ns) {
    if (record != NULL && csk_load(&record->word, CSK_RELAXED) == WAIT_AWAITED) return false;
    if (csk_platform_now() >= until_ns) return false;
    csk_platform_await_step((*tries)++);
    return true;
}

bool csk_waits_try_lock(const csk_wait_record_t *record, uint32_t *lock, int64_t until_ns) {
    uint32_t tries = 0;
    while (!csk_queue_trylock(lock))
        if (!csk_waits_may_try(record, &tries, until_ns)) return false;
    return true;
}

enum csk_tried csk_waits_try_or_take_over(const csk_wait_record_t *record, uint32_t *lock, int64_t until_ns) {
    uint32_t found = csk_load(lock, CSK_RELAXED);
    if (csk_queue_lock_is_old(found) && csk_cas(lock, &found, csk_process_mark() | QUEUE_LOCK_HELD, CSK_RELAXED))
        return CSK_TAKEN_OVER;
    return csk_waits_try_lock(record, lock, until_ns) ? CSK_TAKEN : CSK_TRIED_IN_VAIN;
}

static bool try_list(int64_t until_ns) {
    enum csk_tried tried = csk_waits_try_or_take_over(NULL, &all.lock, until_ns);
    if (tried == CSK_TAKEN_OVER) begin_in_child();
    return tried;
}

/* Called under the list's lock. */
static csk_wait_record_t *take_from(csk_wait_record_t *record, csk_waits_seen_t *seen) {
    for (; record != NULL; record = record->next) {
        seen->threads++;
        uint32_t found = WAIT_NOTED;
        if (csk_cas(&record->word, &found, (uint32_t)WAIT_READ, CSK_ACQUIRE)) return record;
        seen->busy += found != WAIT_NONE;
    }
    return NULL;
}

csk_wait_record_t *csk_waits_next(csk_wait_record_t *current, int64_t until_ns, csk_waits_seen_t *seen) {
    csk_wait_record_t *next = NULL;
    if (try_list(until_ns)) {
        next = take_from(current != NULL ? current->next : all.first, seen);
        csk_queue_unlock(&all.lock);
    } else seen->list_is_busy = true;
    if (current != NULL) give_back(current);
    return next;
}

/* A condition variable may be gone, although its thread sleeps still. */
void csk_waits_name(const csk_wait_t *wait, char *buffer, size_t size) {
    uint32_t kind = wait->object_kind != CSK_OBJECT_COND ? wait->object_kind : CSK_OBJECT_OTHER;
    csk_name_try_of(wait->object, kind, buffer, size, NULL, NULL);
}

static void tell_about(const csk_wait_record_t *record, csk_inspected_thread_t *thread) {
    if (thread->identity != record->identity && thread->identity != record->thread_number) return;
    thread->id = record->thread_id;
    thread->number = csk_waits_number_of(record->thread_number);
}

void csk_waits_find_threads(csk_inspected_thread_t *const *threads, uint32_t count, int64_t until_ns) {
    if (!try_list(until_ns)) return;
    for (const csk_wait_record_t *record = all.first; record != NULL; record = record->next)
        for (uint32_t i = 0; i < count; i++) tell_about(record, threads[i]);
    csk_queue_unlock(&all.lock);
}
