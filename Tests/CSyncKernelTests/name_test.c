/* name_test.c: an object is called by the name that it was given, or else by the place where it was made, until it
 * ends; events show that.
 *
 * More than 400 lines: the tests of all objects use the same observer and the same checks. */
#include "child.h"

#include <csynckernel/csynckernel.h>

static void check_name(const void *object, uint32_t kind, const char *expected) {
    char found[256];
    size_t length = csk_name_of(object, kind, found, sizeof found);
    CHECK_EQ(strcmp(found, expected), 0);
    CHECK_EQ(length, strlen(expected));
}

static void an_object_has_the_last_name_that_it_was_given(void) {
    csk_mutex_t sessions = CSK_MUTEX_INITIALIZER, other = CSK_MUTEX_INITIALIZER;
    check_name(&sessions, CSK_OBJECT_GATE, "");
    char name[] = "sessions";
    CHECK_STATUS(csk_name(&sessions, name), 0);
    name[0] = 'X'; /* it was copied */
    check_name(&sessions, CSK_OBJECT_GATE, "sessions");
    check_name(&sessions.gate, CSK_OBJECT_OTHER, "sessions");
    check_name(&other, CSK_OBJECT_GATE, "");
    CHECK_STATUS(csk_name(&sessions, "logins"), 0);
    check_name(&sessions, CSK_OBJECT_GATE, "logins");
    csk_unname(&other);
    csk_unname(&sessions);
    check_name(&sessions, CSK_OBJECT_GATE, "");
    csk_unname(&sessions);
    csk_unname(NULL);
    check_name(NULL, CSK_OBJECT_GATE, "");
}

static void what_is_no_name_is_refused(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    CHECK_STATUS(csk_name(&gate, "gate"), 0);
    char longest[CSK_NAME_MAX + 2] = "";
    memset(longest, 'n', CSK_NAME_MAX + 1);
    CHECK_STATUS(csk_name(NULL, "gate"), EINVAL);
    CHECK_STATUS(csk_name(&gate, NULL), EINVAL);
    CHECK_STATUS(csk_name(&gate, ""), EINVAL);
    CHECK_STATUS(csk_name(&gate, longest), EINVAL);
    CHECK_STATUS(csk_name(&gate, "two\nlines"), EINVAL);
    CHECK_STATUS(csk_name(&gate, "\x7f"), EINVAL);
    check_name(&gate, CSK_OBJECT_GATE, "gate");
    longest[CSK_NAME_MAX] = 0;
    CHECK_STATUS(csk_name(&gate, longest), 0);
    check_name(&gate, CSK_OBJECT_GATE, longest);
    CHECK_STATUS(csk_name(&gate, "d\xc3\xa9p\xc3\xb4t"), 0);
    check_name(&gate, CSK_OBJECT_GATE, "d\xc3\xa9p\xc3\xb4t");
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

static void a_name_is_cut_to_the_buffer(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    CHECK_STATUS(csk_name(&gate, "sessions"), 0);
    char buffer[6] = "xxxxx";
    CHECK_EQ(csk_name_of(&gate, CSK_OBJECT_GATE, buffer, 5), 8);
    CHECK_EQ(strcmp(buffer, "sess"), 0);
    CHECK_EQ(csk_name_of(&gate, CSK_OBJECT_GATE, NULL, 0), 8);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

static void ignore_item(csk_work_t *work, int status) {
    (void)work;
    CHECK_STATUS(status, 0);
}

/* An object that could not be destroyed keeps its name. */
static void the_end_of_an_object_ends_its_name(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    CHECK_STATUS(csk_name(&gate, "gate"), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_gate_destroy(&gate), EBUSY);
    check_name(&gate, CSK_OBJECT_GATE, "gate");
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
    check_name(&gate, CSK_OBJECT_OTHER, "");

    csk_mutex_t mutex = CSK_MUTEX_INITIALIZER;
    csk_cond_t cond;
    csk_rwlock_t rwlock = CSK_RWLOCK_INITIALIZER;
    csk_sem_t sem = CSK_SEM_INITIALIZER;
    csk_pqueue_t pqueue;
    csk_workqueue_t queue;
    CHECK_STATUS(csk_cond_init_mutex(&cond, &mutex), 0);
    CHECK_STATUS(csk_pqueue_init(&pqueue, 0), 0);
    CHECK_STATUS(csk_workqueue_init(&queue, NULL), 0);
    const void *objects[] = { &mutex, &cond, &rwlock, &sem, &pqueue, &queue };
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++) CHECK_STATUS(csk_name(objects[i], "object"), 0);
    CHECK_STATUS(csk_cond_destroy(&cond), 0);
    CHECK_STATUS(csk_mutex_destroy(&mutex), 0);
    CHECK_STATUS(csk_rwlock_destroy(&rwlock), 0);
    CHECK_STATUS(csk_sem_destroy(&sem), 0);
    CHECK_STATUS(csk_pqueue_destroy(&pqueue), 0);
    CHECK_STATUS(csk_workqueue_destroy(&queue), 0);
    for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++) check_name(objects[i], CSK_OBJECT_OTHER, "");
}

/* The memory of a queue on the heap goes after the last of its work. */
static void a_released_queue_loses_its_name_with_its_memory(void) {
    csk_workqueue_t *queue;
    static csk_work_t work;
    CHECK_STATUS(csk_workqueue_create(&queue, &(csk_workqueue_attr_t){ .name = "made" }), 0);
    check_name(queue, CSK_OBJECT_WORKQUEUE, "made");
    check_name(queue, CSK_OBJECT_OTHER, "");
    CHECK_STATUS(csk_name(queue, "given"), 0);
    check_name(queue, CSK_OBJECT_WORKQUEUE, "given");
    CHECK_STATUS(csk_workqueue_suspend(queue), 0);
    CHECK_STATUS(csk_workqueue_enqueue(queue, &work, ignore_item), 0);
    check_name(queue, CSK_OBJECT_WORKQUEUE, "given");
    const void *address = queue;
    csk_workqueue_release(queue);
    wait_until(csk_name_of(address, CSK_OBJECT_OTHER, NULL, 0) == 0);
}

static void a_place_is_the_name_of_an_object_without_one(void) {
    csk_place_t place = { "Module/File.swift", 12 }, named = { "sessions", 0 }, none = { NULL, 0 };
    csk_placed_gate_t gate = { .gate = CSK_GATE_INITIALIZER };
    csk_placed_rwlock_t rwlock = { .rwlock = CSK_RWLOCK_INITIALIZER };
    csk_placed_sem_t sem = { .sem = CSK_SEM_INITIALIZER };
    csk_placed_pqueue_t pqueue;
    CHECK_STATUS(csk_pqueue_init(&pqueue.pqueue, 0), 0);
    csk_gate_set_place(&gate, none);
    check_name(&gate, CSK_OBJECT_GATE, "");
    csk_gate_set_place(&gate, place);
    csk_rwlock_set_place(&rwlock, place);
    csk_sem_set_place(&sem, named);
    csk_pqueue_set_place(&pqueue, place);
    check_name(&gate, CSK_OBJECT_GATE, "Module/File.swift:12");
    check_name(&gate, CSK_OBJECT_OTHER, "");
    check_name(&rwlock, CSK_OBJECT_RWLOCK, "Module/File.swift:12");
    check_name(&sem, CSK_OBJECT_SEM, "sessions");
    check_name(&pqueue, CSK_OBJECT_PQUEUE, "Module/File.swift:12");
    CHECK_STATUS(csk_name(&rwlock, "routes"), 0);
    check_name(&rwlock, CSK_OBJECT_RWLOCK, "routes");
    csk_unname(&rwlock);
    check_name(&rwlock, CSK_OBJECT_RWLOCK, "Module/File.swift:12");
    CHECK_STATUS(csk_gate_lock(&gate.gate, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&gate.gate), 0);
    CHECK_STATUS(csk_pqueue_close(&pqueue.pqueue), 0);
    check_name(&gate, CSK_OBJECT_GATE, "Module/File.swift:12");
    check_name(&pqueue, CSK_OBJECT_PQUEUE, "Module/File.swift:12");
    CHECK_STATUS(csk_pqueue_destroy(&pqueue.pqueue), 0);
}

static void a_place_is_cut_to_the_buffer(void) {
    csk_placed_gate_t gate = { .gate = CSK_GATE_INITIALIZER };
    for (uint64_t line = 1; line < UINT64_MAX / 99; line *= 99) {
        char whole[40], found[40];
        size_t length = (size_t)sprintf(whole, "a/b.c:%" PRIu64, line);
        csk_gate_set_place(&gate, (csk_place_t){ "a/b.c", line });
        for (size_t size = 1; size < sizeof found; size++)
            CHECK(csk_name_of(&gate, CSK_OBJECT_GATE, found, size) == length &&
                  strncmp(found, whole, length < size ? length + 1 : size - 1) == 0);
    }
}

static void closed(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    *(int *)context = status;
}

static void a_closed_gate_keeps_its_place(void) {
    csk_placed_gate_t gate = { .gate = CSK_GATE_INITIALIZER };
    csk_gate_set_place(&gate, (csk_place_t){ "file.c", 7 });
    csk_waiter_t waiter = { .word = 0 };
    int status = -1;
    CHECK_STATUS(csk_gate_close(&gate.gate, &waiter, closed, &status), 0);
    CHECK_EQ(status, 0);
    CHECK_STATUS(csk_gate_trylock(&gate.gate, 0), EBUSY);
    CHECK_STATUS(csk_gate_unlock(&gate.gate), 0);
    CHECK_STATUS(csk_gate_lock(&gate.gate, 0), ESHUTDOWN);
    check_name(&gate, CSK_OBJECT_GATE, "file.c:7");
}

enum { MANY = 5000 };

static void many_objects_have_names(void) {
    static char objects[MANY];
    char name[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "object %d", i);
        CHECK_STATUS(csk_name(&objects[i], name), 0);
    }
    for (int i = 0; i < MANY; i += 2) csk_unname(&objects[i]);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "object %d", i);
        check_name(&objects[i], CSK_OBJECT_OTHER, i % 2 == 0 ? "" : name);
        csk_unname(&objects[i]);
        check_name(&objects[i], CSK_OBJECT_OTHER, "");
    }
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static csk_gate_t shared;
static int stop;

static void *rename_shared(void *context) {
    static char others[4][64];
    int which = (int)(intptr_t)context;
    while (!LOAD(&stop)) {
        CHECK_STATUS(csk_name(&shared, which == 0 ? "aaaaaaaa" : "bbbbbbbbbbbb"), 0);
        for (int i = 0; i < 64; i++) CHECK_STATUS(csk_name(&others[which][i], "other"), 0);
        for (int i = 0; i < 64; i++) csk_unname(&others[which][i]);
        csk_unname(&shared);
    }
    return NULL;
}

static void a_name_is_never_seen_in_part(void) {
    STORE(&stop, 0);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) threads[i] = start_thread(rename_shared, (void *)(intptr_t)i);
    for (int i = 0; i < 20000; i++) {
        char found[64];
        size_t length = csk_name_of(&shared, CSK_OBJECT_GATE, found, sizeof found);
        CHECK(strcmp(found, "") == 0 || strcmp(found, "aaaaaaaa") == 0 || strcmp(found, "bbbbbbbbbbbb") == 0);
        CHECK_EQ(length, strlen(found));
    }
    STORE(&stop, 1);
    for (int i = 0; i < 2; i++) join_thread(threads[i]);
    csk_unname(&shared);
}

static void check_names_of_parent(void *context) {
    check_name(context, CSK_OBJECT_GATE, "of the parent");
    csk_unname(context);
    check_name(context, CSK_OBJECT_GATE, "");
    CHECK_STATUS(csk_name(context, "of the child"), 0);
    check_name(context, CSK_OBJECT_GATE, "of the child");
}

/* A child once could have found the table locked by a thread that it does not have. */
static void a_child_of_fork_has_the_names_of_the_parent(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    CHECK_STATUS(csk_name(&gate, "of the parent"), 0);
    STORE(&stop, 0);
#ifndef __SANITIZE_THREAD__ /* which allows no fork beside other threads here */
    pthread_t thread = start_thread(rename_shared, NULL);
#endif
    for (int i = 0; i < 50; i++) in_a_child(check_names_of_parent, &gate);
    check_name(&gate, CSK_OBJECT_GATE, "of the parent");
    STORE(&stop, 1);
#ifndef __SANITIZE_THREAD__
    join_thread(thread);
#endif
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static struct {
    const void *object;
    const char *name;
    uint32_t kind;
    int begun, ended, others;
} expected;

static void on_event(const csk_observer_t *observer, const csk_event_t *event) {
    (void)observer;
    if (event->object != LOAD(&expected.object)) return;
    bool right = event->name != NULL && strcmp(event->name, expected.name) == 0 && event->object_kind == expected.kind;
    int *count = !right ? &expected.others : event->kind == CSK_EVENT_WAIT_BEGIN ? &expected.begun : &expected.ended;
    ADD(count, 1);
}

static const csk_observer_t observer = { on_event, NULL };

static void expect(const void *object, uint32_t kind, const char *name) {
    expected.begun = expected.ended = expected.others = 0;
    expected.name = name;
    expected.kind = kind;
    STORE(&expected.object, object);
    CHECK(csk_observe(&observer) == NULL);
}

static void check_events(void) {
    CHECK(csk_observe(NULL) == &observer);
    CHECK_GE(expected.begun, 1);
    CHECK_EQ(expected.ended, expected.begun);
    CHECK_EQ(expected.others, 0);
}

/* With a short deadline a thread may find it passed, and not wait. */
static void *time_out_at_gate(void *gate) {
    for (int64_t timeout_ns = 1000000; LOAD(&expected.begun) + LOAD(&expected.others) == 0; timeout_ns *= 2)
        CHECK_STATUS(csk_gate_timedlock(gate, 0, csk_deadline_after(timeout_ns)), ETIMEDOUT);
    return NULL;
}
static void *time_out_at_rwlock(void *lock) {
    for (int64_t timeout_ns = 1000000; LOAD(&expected.begun) + LOAD(&expected.others) == 0; timeout_ns *= 2)
        CHECK_STATUS(csk_rwlock_timedwrlock(lock, csk_deadline_after(timeout_ns)), ETIMEDOUT);
    return NULL;
}
static void *time_out_at_sem(void *sem) {
    for (int64_t timeout_ns = 1000000; LOAD(&expected.begun) + LOAD(&expected.others) == 0; timeout_ns *= 2)
        CHECK_STATUS(csk_sem_timedwait(sem, 0, 1, csk_deadline_after(timeout_ns)), ETIMEDOUT);
    return NULL;
}

static void events_of_waits_show_the_name(void) {
    csk_placed_gate_t gate = { .gate = CSK_GATE_INITIALIZER };
    csk_gate_set_place(&gate, (csk_place_t){ "file.c", 3 });
    CHECK_STATUS(csk_gate_lock(&gate.gate, 0), 0);
    expect(&gate, CSK_OBJECT_GATE, "file.c:3");
    join_thread(start_thread(time_out_at_gate, &gate));
    check_events();
    CHECK_STATUS(csk_name(&gate, "gate"), 0);
    expect(&gate, CSK_OBJECT_GATE, "gate");
    join_thread(start_thread(time_out_at_gate, &gate));
    check_events();
    CHECK_STATUS(csk_gate_unlock(&gate.gate), 0);
    CHECK_STATUS(csk_gate_destroy(&gate.gate), 0);

    csk_placed_rwlock_t rwlock = { .rwlock = CSK_RWLOCK_INITIALIZER };
    csk_rwlock_set_place(&rwlock, (csk_place_t){ "file.c", 4 });
    CHECK_STATUS(csk_rwlock_rdlock(&rwlock.rwlock), 0);
    expect(&rwlock, CSK_OBJECT_RWLOCK, "file.c:4");
    join_thread(start_thread(time_out_at_rwlock, &rwlock));
    check_events();
    CHECK_STATUS(csk_rwlock_unlock(&rwlock.rwlock), 0);

    csk_placed_sem_t sem = { .sem = CSK_SEM_INITIALIZER };
    csk_sem_set_place(&sem, (csk_place_t){ "file.c", 5 });
    expect(&sem, CSK_OBJECT_SEM, "file.c:5");
    join_thread(start_thread(time_out_at_sem, &sem));
    check_events();
}

static void note_end(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    STORE((int *)context, status);
}

/* When the wait begins, the object may be gone already; when it ends, the waiter's function is yet to be called. */
static void events_of_asynchronous_waits_show_the_place_at_the_end(void) {
    csk_placed_sem_t sem = { .sem = CSK_SEM_INITIALIZER };
    csk_sem_set_place(&sem, (csk_place_t){ "file.c", 6 });
    csk_waiter_t waiter = { .word = 0 };
    int status = -1;
    expect(&sem, CSK_OBJECT_SEM, "file.c:6");
    CHECK_STATUS(csk_sem_wait_async(&sem.sem, csk_rank(0, CSK_PLACE_BACK), &waiter, 1, CSK_NEVER, note_end, &status),
                 0);
    CHECK_STATUS(csk_sem_post(&sem.sem, 1), 0);
    CHECK_EQ(status, 0);
    CHECK(csk_observe(NULL) == &observer);
    CHECK_EQ(expected.ended, 1);
    CHECK_EQ(expected.others, 1);

    csk_placed_gate_t gate = { .gate = CSK_GATE_INITIALIZER };
    csk_gate_set_place(&gate, (csk_place_t){ "file.c", 8 });
    csk_waiter_t at_gate = { .word = 0 };
    CHECK_STATUS(csk_gate_lock(&gate.gate, 0), 0);
    expect(&gate, CSK_OBJECT_GATE, "file.c:8");
    CHECK_STATUS(csk_gate_lock_async(&gate.gate, 0, &at_gate, CSK_NEVER, note_end, &status), 0);
    CHECK_STATUS(csk_gate_cancel(&gate.gate, &at_gate), 0);
    CHECK_EQ(status, ECANCELED);
    CHECK(csk_observe(NULL) == &observer);
    CHECK_EQ(expected.ended, 1);
    CHECK_STATUS(csk_gate_unlock(&gate.gate), 0);
}

static int reports;

static void note_report(const csk_event_t *event) {
    CHECK_EQ(event->kind, CSK_EVENT_LONG_READ);
    CHECK_EQ(event->object_kind, CSK_OBJECT_RWLOCK);
    CHECK(event->name != NULL && strcmp(event->name, "routes") == 0);
    ADD(&reports, 1);
}

static void *read_until_reported(void *lock) {
    CHECK_STATUS(csk_rwlock_rdlock(lock), 0);
    ADD(&stop, 1);
    wait_until(LOAD(&reports) != 0);
    CHECK_STATUS(csk_rwlock_unlock(lock), 0);
    return NULL;
}

static void a_report_shows_the_name(void) {
    csk_rwlock_t routes = CSK_RWLOCK_INITIALIZER;
    CHECK_STATUS(csk_name(&routes, "routes"), 0);
    STORE(&stop, 0);
    CHECK(csk_set_reporter(note_report) == NULL);
    pthread_t thread = start_thread(read_until_reported, &routes);
    wait_until(LOAD(&stop) == 1);
    CHECK_STATUS(csk_rwlock_wrlock(&routes), 0);
    CHECK_STATUS(csk_rwlock_unlock(&routes), 0);
    join_thread(thread);
    CHECK(csk_set_reporter(NULL) == note_report);
    CHECK_STATUS(csk_rwlock_destroy(&routes), 0);
}

TEST_MAIN(TEST(a_child_of_fork_has_the_names_of_the_parent), TEST(an_object_has_the_last_name_that_it_was_given),
          TEST(what_is_no_name_is_refused), TEST(a_name_is_cut_to_the_buffer), TEST(the_end_of_an_object_ends_its_name),
          TEST(a_released_queue_loses_its_name_with_its_memory), TEST(a_place_is_the_name_of_an_object_without_one),
          TEST(a_place_is_cut_to_the_buffer), TEST(a_closed_gate_keeps_its_place), TEST(many_objects_have_names),
          TEST(a_name_is_never_seen_in_part), TEST(events_of_waits_show_the_name),
          TEST(events_of_asynchronous_waits_show_the_place_at_the_end), TEST(a_report_shows_the_name))
