/* mark_test.c: a marked thread that waits for 100 ms is told of, once, by the library's own thread. */
#include "child.h"

#include <csynckernel/csynckernel.h>

#include "wait/waits.h"

static int told;
static csk_event_t last;
static char last_name[128];

static void keep(const csk_event_t *event) {
    if (event->kind != CSK_EVENT_LONG_WAIT) return;
    last = *event;
    snprintf(last_name, sizeof last_name, "%s", event->name != NULL ? event->name : "");
    ADD(&told, 1);
}

static csk_gate_t gate;
static uint32_t kind;

static void *wait_marked(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_thread_mark(kind), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    return NULL;
}

static void begin(void) {
    csk_set_reporter(keep);
    STORE(&told, 0);
    CHECK_STATUS(csk_gate_init(&gate, NULL), 0);
    CHECK_STATUS(csk_name(&gate, "sessions"), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
}

static void a_long_wait_of_a_marked_thread_is_told_once(void) {
    begin();
    kind = CSK_THREAD_EVENT_LOOP;
    pthread_t thread = start_thread(wait_marked, NULL);
    wait_until(LOAD(&told) == 1);
    CHECK_EQ(strcmp(last_name, "sessions"), 0);
    CHECK(last.object == &gate);
    CHECK_EQ(last.object_kind, CSK_OBJECT_GATE);
    CHECK_STATUS(last.status, EBUSY);
    CHECK(last.waited_ns >= CSK_LONG_WAIT_NS);
    CHECK(last.thread_id > 0 && last.thread_id != getpid());
    CHECK_EQ(last.rank, CSK_THREAD_EVENT_LOOP);
    int64_t until = csk_deadline_after(3 * CSK_LONG_WAIT_NS);
    wait_until(csk_deadline_after(0) >= until);
    CHECK_EQ(LOAD(&told), 1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    join_thread(thread);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

/* The marked thread, which is told of, has waited for longer than the other. */
static void a_thread_without_a_mark_may_wait(void) {
    begin();
    kind = CSK_THREAD_PLAIN;
    pthread_t plain = start_thread(wait_marked, NULL);
    wait_until(csk_gate_waiting(&gate) == 1);
    kind = CSK_THREAD_MAIN;
    pthread_t marked = start_thread(wait_marked, NULL);
    wait_until(LOAD(&told) == 1);
    int64_t until = csk_deadline_after(2 * CSK_LONG_WAIT_NS);
    wait_until(csk_deadline_after(0) >= until);
    CHECK_EQ(LOAD(&told), 1);
    CHECK_EQ(last.rank, CSK_THREAD_MAIN);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    join_thread(plain);
    join_thread(marked);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

static uint32_t is_cooperative(void) { return CSK_THREAD_COOPERATIVE; }

static void a_function_says_what_others_threads_are(void) {
    begin();
    kind = CSK_THREAD_PLAIN;
    CHECK_STATUS(csk_thread_mark_by(is_cooperative), 0);
    pthread_t thread = start_thread(wait_marked, NULL);
    wait_until(LOAD(&told) == 1);
    CHECK_EQ(last.rank, CSK_THREAD_COOPERATIVE);
    CHECK_STATUS(csk_thread_mark_by(NULL), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    join_thread(thread);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

/* ---- What is waited for ------------------------------------------------------------------------------------------ */

static csk_rwlock_t rwlock;
static csk_sem_t sem;
static csk_cond_t cond = CSK_COND_INITIALIZER(&gate);
static csk_pqueue_t pqueue;

static void *wait_to_read(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_thread_mark(CSK_THREAD_EVENT_LOOP), 0);
    CHECK_STATUS(csk_rwlock_rdlock(&rwlock), 0);
    CHECK_STATUS(csk_rwlock_unlock(&rwlock), 0);
    return NULL;
}
static void *wait_for_permit(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_thread_mark(CSK_THREAD_EVENT_LOOP), 0);
    CHECK_STATUS(csk_sem_wait(&sem, 0, 1), 0);
    return NULL;
}
static void *wait_for_signal(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_thread_mark(CSK_THREAD_EVENT_LOOP), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_cond_wait(&cond, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    return NULL;
}
static void *wait_for_item(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_thread_mark(CSK_THREAD_EVENT_LOOP), 0);
    csk_pqueue_item_t *item = NULL;
    CHECK_STATUS(csk_pqueue_pop(&pqueue, &item), ESHUTDOWN);
    return NULL;
}

static pthread_t begin_wait(void *(*wait)(void *)) {
    csk_set_reporter(keep);
    STORE(&told, 0);
    return start_thread(wait, NULL);
}
static void await_kind(uint32_t object_kind, const void *object) {
    wait_until(LOAD(&told) == 1);
    CHECK_EQ(last.object_kind, object_kind);
    CHECK(last.object == object);
}

static void a_report_says_what_is_waited_for(void) {
    CHECK_STATUS(csk_rwlock_init(&rwlock, NULL), 0);
    CHECK_STATUS(csk_rwlock_wrlock(&rwlock), 0);
    pthread_t thread = begin_wait(wait_to_read);
    await_kind(CSK_OBJECT_RWLOCK, &rwlock);
    CHECK_STATUS(csk_rwlock_unlock(&rwlock), 0);
    join_thread(thread);

    CHECK_STATUS(csk_sem_init(&sem, 0, 1), 0);
    thread = begin_wait(wait_for_permit);
    await_kind(CSK_OBJECT_SEM, &sem);
    CHECK_STATUS(csk_sem_post(&sem, 1), 0);
    join_thread(thread);

    CHECK_STATUS(csk_gate_init(&gate, NULL), 0);
    thread = begin_wait(wait_for_signal);
    await_kind(CSK_OBJECT_COND, &cond);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_cond_signal(&cond), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    join_thread(thread);

    CHECK_STATUS(csk_pqueue_init(&pqueue, 1), 0);
    thread = begin_wait(wait_for_item);
    await_kind(CSK_OBJECT_PQUEUE, &pqueue);
    csk_pqueue_close(&pqueue);
    join_thread(thread);
}

static void what_is_no_kind_is_refused(void) {
    CHECK_STATUS(csk_thread_mark(CSK_THREAD_MAIN + 1), EINVAL);
    CHECK_STATUS(csk_thread_mark(CSK_THREAD_COOPERATIVE), 0);
    CHECK_STATUS(csk_thread_mark(CSK_THREAD_PLAIN), 0);
}

#ifndef __SANITIZE_THREAD__
static void wait_in_child(void *unused) {
    (void)unused;
    a_long_wait_of_a_marked_thread_is_told_once();
}
#endif
static void a_child_has_a_watchdog_of_its_own(void) {
#ifndef __SANITIZE_THREAD__ /* it starts no threads in a child */
    a_long_wait_of_a_marked_thread_is_told_once();
    in_a_child(wait_in_child, NULL);
#endif
}

/* The function is the parent's. Its watchdog is not here, so a wait is not told of until the child calls. */
#ifndef __SANITIZE_THREAD__
static void *wait_unmarked(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    return NULL;
}
static void wait_and_then_ask(void *unused) {
    (void)unused;
    begin();
    pthread_t thread = start_thread(wait_unmarked, NULL);
    wait_until(csk_gate_waiting(&gate) == 1);
    int64_t until = csk_deadline_after(3 * CSK_LONG_WAIT_NS);
    wait_until(csk_deadline_after(0) >= until);
    CHECK_EQ(LOAD(&told), 0);
    CHECK_STATUS(csk_thread_mark(CSK_THREAD_MAIN), 0);
    wait_until(LOAD(&told) == 1);
    CHECK(last.thread_id != getpid());
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    join_thread(thread);
}
#endif
static void in_a_child_the_function_stays_and_nobody_looks_until_it_calls(void) {
#ifndef __SANITIZE_THREAD__
    CHECK_STATUS(csk_thread_mark_by(is_cooperative), 0);
    in_a_child(wait_and_then_ask, NULL);
    CHECK_STATUS(csk_thread_mark_by(NULL), 0);
#endif
}

static void look_at_mark(void *unused) {
    (void)unused;
    CHECK_EQ(csk_waits_has_record(), false);
    csk_waits_prepare();
    CHECK_EQ(LOAD(&csk_waits_marked), 0);
}
static void in_a_child_the_thread_is_not_marked(void) {
    CHECK_STATUS(csk_thread_mark(CSK_THREAD_MAIN), 0);
    CHECK_EQ(LOAD(&csk_waits_marked), 1);
    in_a_child(look_at_mark, NULL);
    CHECK_STATUS(csk_thread_mark(CSK_THREAD_PLAIN), 0);
}

TEST_MAIN(TEST(what_is_no_kind_is_refused), TEST(a_child_has_a_watchdog_of_its_own),
          TEST(a_long_wait_of_a_marked_thread_is_told_once), TEST(a_thread_without_a_mark_may_wait),
          TEST(a_function_says_what_others_threads_are), TEST(a_report_says_what_is_waited_for),
          TEST(in_a_child_the_function_stays_and_nobody_looks_until_it_calls),
          TEST(in_a_child_the_thread_is_not_marked))
