/* inspect_test.c: a view shows who waits for whom, at each kind of object, and is printed. inspect_queue_test.c has
 * work queues and their workers, inspect_life_test.c what is gone.
 *
 * More than 400 lines: one test for each kind of object. */
#include "inspect_fixture.h"

/* ---- Each kind of object ----------------------------------------------------------------------------------------- */

static void check_gate(uint32_t policy) {
    csk_gate_t gate;
    csk_gate_attr_t attr = { .policy = policy };
    waiting_t waiting[3];
    CHECK_STATUS(csk_gate_init(&gate, &attr), 0);
    CHECK_STATUS(csk_name(&gate, "accounts"), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    for (int i = 0; i < 3; i++) {
        begin_wait(&waiting[i], lock_gate, &gate, i == 1 ? 7 : 3);
        await_parked(&gate, CSK_OBJECT_GATE, (uint32_t)i + 1);
    }
    const csk_inspected_object_t *object = await_parked(&gate, CSK_OBJECT_GATE, 3);
    check_held_by_this_thread(object);
    CHECK_EQ(strcmp(object->name, "accounts"), 0);
    CHECK_EQ(object->waiting, 3);
    check_thread(waiter_at(object, 0), &waiting[1], CSK_WAITS_TO_ENTER, 7);
    check_thread(waiter_at(object, 1), &waiting[0], CSK_WAITS_TO_ENTER, 3);
    check_thread(waiter_at(object, 2), &waiting[2], CSK_WAITS_TO_ENTER, 3);
    CHECK_EQ(object->since_ns, waiter_at(object, 1)->since_ns);
    CHECK_EQ(waiter_at(object, 0)->deadline_ns, CSK_NEVER);
    /* The same waits have the same numbers in the next view. */
    uint64_t numbers[3];
    for (uint32_t i = 0; i < 3; i++) numbers[i] = waiter_at(object, i)->wait;
    object = await_parked(&gate, CSK_OBJECT_GATE, 3);
    for (uint32_t i = 0; i < 3; i++) CHECK_EQ(waiter_at(object, i)->wait, numbers[i]);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    for (int i = 0; i < 3; i++) join_thread(waiting[i].thread);
    CHECK(look_for(&gate, CSK_OBJECT_GATE) == NULL);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

static void a_gate_shows_its_holder_and_its_waiters_in_order(void) {
    check_gate(CSK_GATE_FAST);
    check_gate(CSK_GATE_COMPACT);
    check_gate(CSK_GATE_STRICT);
}

static csk_mutex_t mutex = CSK_MUTEX_INITIALIZER;
static void a_mutex_shows_its_holder_by_number(void) {
    waiting_t waiting;
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    begin_wait(&waiting, lock_mutex, &mutex, 0);
    const csk_inspected_object_t *object = await_parked(&mutex, CSK_OBJECT_GATE, 1);
    check_held_by_this_thread(object);
    CHECK_EQ(object->holder.thread.identity, csk_thread_number);
    CHECK_EQ(object->holder.thread.number, (csk_thread_number & INT64_MAX) >> 4);
    check_thread(waiter_at(object, 0), &waiting, CSK_WAITS_TO_ENTER, 0);
    CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
    join_thread(waiting.thread);
}

static void read_lock(void *object, int which) {
    (void)which;
    CHECK_STATUS(csk_rwlock_rdlock(object), 0);
    CHECK_STATUS(csk_rwlock_unlock(object), 0);
}
static void write_lock(void *object, int which) {
    (void)which;
    CHECK_STATUS(csk_rwlock_wrlock(object), 0);
    CHECK_STATUS(csk_rwlock_unlock(object), 0);
}
static void a_read_write_lock_shows_readers_and_writers(void) {
    csk_rwlock_t lock = CSK_RWLOCK_INITIALIZER;
    waiting_t waiting[2];
    CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
    begin_wait(&waiting[0], write_lock, &lock, 0);
    await_parked(&lock, CSK_OBJECT_RWLOCK, 1);
    begin_wait(&waiting[1], read_lock, &lock, 1);
    const csk_inspected_object_t *object = await_parked(&lock, CSK_OBJECT_RWLOCK, 2);
    CHECK_EQ(object->holder.kind, CSK_HELD_BY_READERS);
    CHECK_EQ(object->holder.count, 1);
    CHECK_EQ(object->holder.thread.id, csk_thread_id());
    check_thread(waiter_at(object, 0), &waiting[0], CSK_WAITS_TO_WRITE, 0);
    check_thread(waiter_at(object, 1), &waiting[1], CSK_WAITS_TO_READ, 0);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    for (int i = 0; i < 2; i++) join_thread(waiting[i].thread);
    CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
    begin_wait(&waiting[1], read_lock, &lock, 1);
    check_held_by_this_thread(await_parked(&lock, CSK_OBJECT_RWLOCK, 1));
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    join_thread(waiting[1].thread);
}

static void a_writer_that_waits_for_biased_readers_is_shown(void) {
    csk_rwlock_t lock;
    csk_rwlock_attr_t attr = { .reader_bias = 1 };
    CHECK_STATUS(csk_rwlock_init(&lock, &attr), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
        CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    }
    CHECK_STATUS(csk_rwlock_rdlock(&lock), 0);
    waiting_t waiting;
    begin_wait(&waiting, write_lock, &lock, 0);
    const csk_inspected_object_t *object = await_parked(&lock, CSK_OBJECT_RWLOCK, 1);
    CHECK_EQ(object->holder.kind, CSK_HELD_BY_READERS);
    CHECK_EQ(object->holder.thread.id, csk_thread_id());
    check_thread(waiter_at(object, 0), &waiting, CSK_WAITS_TO_WRITE, 0);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    join_thread(waiting.thread);
}

static void take_two(void *object, int priority) { CHECK_STATUS(csk_sem_wait(object, priority, 2), 0); }
static void a_semaphore_shows_permits(void) {
    csk_sem_t sem;
    waiting_t waiting[2];
    CHECK_STATUS(csk_sem_init(&sem, 1, 0), 0);
    begin_wait(&waiting[0], take_two, &sem, 1);
    await_parked(&sem, CSK_OBJECT_SEM, 1);
    begin_wait(&waiting[1], take_two, &sem, 2);
    const csk_inspected_object_t *object = await_parked(&sem, CSK_OBJECT_SEM, 2);
    CHECK_EQ(object->count, 1);
    CHECK_EQ(object->most, 1);
    CHECK_EQ(object->holder.kind, CSK_HELD_BY_NOBODY);
    check_thread(waiter_at(object, 0), &waiting[1], CSK_WAITS_FOR_PERMITS, 2);
    check_thread(waiter_at(object, 1), &waiting[0], CSK_WAITS_FOR_PERMITS, 1);
    CHECK_EQ(waiter_at(object, 0)->permits, 2);
    CHECK_STATUS(csk_sem_post(&sem, 3), 0);
    for (int i = 0; i < 2; i++) join_thread(waiting[i].thread);
}

static csk_gate_t of_cond = CSK_GATE_INITIALIZER;
static int64_t signal_deadline_ns;
static void wait_for_signal(void *object, int priority) {
    CHECK_STATUS(csk_gate_lock(&of_cond, 0), 0);
    CHECK_STATUS(csk_cond_wait_ranked(object, csk_rank(priority, CSK_PLACE_BACK), signal_deadline_ns), 0);
    CHECK_STATUS(csk_gate_unlock(&of_cond), 0);
}
static void a_condition_variable_shows_who_waits_for_a_signal_and_then_for_the_gate(void) {
    csk_cond_t *cond = malloc(sizeof *cond);
    CHECK_STATUS(csk_cond_init(cond, &of_cond), 0);
    waiting_t waiting[2];
    signal_deadline_ns = csk_deadline_after(INT64_C(100000000000));
    for (int i = 0; i < 2; i++) {
        begin_wait(&waiting[i], wait_for_signal, cond, i + 1);
        await_parked(cond, CSK_OBJECT_COND, (uint32_t)i + 1);
    }
    const csk_inspected_object_t *object = await_parked(cond, CSK_OBJECT_COND, 2);
    CHECK(object->gate == &of_cond);
    check_thread(waiter_at(object, 0), &waiting[1], CSK_WAITS_FOR_SIGNAL, 2);
    check_thread(waiter_at(object, 1), &waiting[0], CSK_WAITS_FOR_SIGNAL, 1);
    CHECK_EQ(waiter_at(object, 0)->deadline_ns, signal_deadline_ns);
    CHECK_STATUS(csk_gate_lock(&of_cond, 0), 0);
    CHECK_STATUS(csk_cond_broadcast(cond), 0);
    /* The condition variable may go: nobody stands in it. Their threads sleep on in its name. */
    CHECK_STATUS(csk_cond_destroy(cond), 0);
    volatile uintptr_t former = (uintptr_t)cond; /* the compiler takes the address for a use */
    free(cond);
    object = look_for(&of_cond, CSK_OBJECT_GATE);
    CHECK(object != NULL);
    CHECK_EQ(object->waiter_count, 2);
    check_held_by_this_thread(object);
    check_thread(waiter_at(object, 0), &waiting[1], CSK_WAITS_TO_ENTER, 2);
    CHECK(look_for((const void *)former, CSK_OBJECT_COND) == NULL);
    CHECK_STATUS(csk_gate_unlock(&of_cond), 0);
    for (int i = 0; i < 2; i++) join_thread(waiting[i].thread);
}

static bool is_set(void *flag) { return LOAD((uint32_t *)flag) != 0; }
static uint32_t flag;
static void await_flag(void *object, int priority) {
    CHECK_STATUS(csk_gate_lock_when(object, priority, is_set, &flag, CSK_NEVER), 0);
    CHECK_STATUS(csk_gate_unlock(object), 0);
}
static void who_waits_for_a_predicate_comes_behind_who_waits_to_enter(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    waiting_t waiting[2];
    begin_wait(&waiting[0], await_flag, &gate, 9);
    await_parked(&gate, CSK_OBJECT_GATE, 1);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    begin_wait(&waiting[1], lock_gate, &gate, 1);
    const csk_inspected_object_t *object = await_parked(&gate, CSK_OBJECT_GATE, 2);
    check_thread(waiter_at(object, 0), &waiting[1], CSK_WAITS_TO_ENTER, 1);
    check_thread(waiter_at(object, 1), &waiting[0], CSK_WAITS_FOR_PREDICATE, 9);
    STORE(&flag, 1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    for (int i = 0; i < 2; i++) join_thread(waiting[i].thread);
}

static void pop_one(void *object, int which) {
    (void)which;
    csk_pqueue_item_t *item;
    CHECK_STATUS(csk_pqueue_pop(object, &item), 0);
}
static void push_one(void *object, int which) {
    static csk_pqueue_item_t items[2];
    CHECK_STATUS(csk_pqueue_push(object, which, &items[which]), 0);
}
static void a_priority_queue_shows_both_lines(void) {
    csk_pqueue_t queue;
    waiting_t waiting[2];
    CHECK_STATUS(csk_pqueue_init(&queue, 1), 0);
    for (int i = 0; i < 2; i++) {
        begin_wait(&waiting[i], pop_one, &queue, i);
        await_parked(&queue, CSK_OBJECT_PQUEUE, (uint32_t)i + 1);
    }
    const csk_inspected_object_t *object = await_parked(&queue, CSK_OBJECT_PQUEUE, 2);
    for (uint32_t i = 0; i < 2; i++) check_thread(waiter_at(object, i), &waiting[i], CSK_WAITS_FOR_ITEM, 0);
    CHECK_EQ(object->most, 1);
    csk_pqueue_item_t items[3];
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(csk_pqueue_push(&queue, 0, &items[i]), 0);
        join_thread(waiting[i].thread);
    }
    CHECK_STATUS(csk_pqueue_push(&queue, 0, &items[2]), 0);
    begin_wait(&waiting[0], push_one, &queue, 0);
    object = await_parked(&queue, CSK_OBJECT_PQUEUE, 1);
    check_thread(waiter_at(object, 0), &waiting[0], CSK_WAITS_FOR_PLACE, 0);
    CHECK_EQ(object->count, 1);
    csk_pqueue_item_t *item;
    CHECK_STATUS(csk_pqueue_pop(&queue, &item), 0);
    join_thread(waiting[0].thread);
    CHECK_STATUS(csk_pqueue_pop(&queue, &item), 0);
    CHECK_STATUS(csk_pqueue_destroy(&queue), 0);
}

/* ---- Callbacks --------------------------------------------------------------------------------------------------- */

static uint32_t called;
static void count_call(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter, (void)context, (void)status;
    ADD(&called, 1);
}
static void callbacks_are_listed_while_somebody_wants_that(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    csk_sem_t sem = CSK_SEM_INITIALIZER;
    csk_rwlock_t lock = CSK_RWLOCK_INITIALIZER;
    csk_pqueue_t queue;
    csk_waiter_t waiting[5];
    memset(waiting, 0, sizeof waiting);
    CHECK_STATUS(csk_pqueue_init(&queue, 0), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
    CHECK_STATUS(csk_gate_lock_async(&gate, 1, &waiting[4], CSK_NEVER, count_call, NULL), 0);
    CHECK(look_for(&gate, CSK_OBJECT_GATE) == NULL);
    CHECK_EQ(view.lists_callbacks, 0);
    csk_inspect_callbacks(true);
    int64_t deadline_ns = csk_deadline_after(INT64_C(100000000000));
    CHECK_STATUS(csk_gate_lock_async(&gate, 2, &waiting[0], deadline_ns, count_call, NULL), 0);
    CHECK_STATUS(csk_sem_wait_async(&sem, csk_rank(3, 1), &waiting[1], 4, CSK_NEVER, count_call, NULL), 0);
    CHECK_STATUS(csk_rwlock_lock_async(&lock, &waiting[2], CSK_RWLOCK_READ, CSK_NEVER, count_call, NULL), 0);
    CHECK_STATUS(csk_pqueue_pop_async(&queue, &waiting[3], CSK_NEVER, count_call, NULL), 0);
    const csk_inspected_object_t *object = look_for(&gate, CSK_OBJECT_GATE);
    CHECK(object != NULL);
    CHECK_EQ(view.lists_callbacks, 1);
    CHECK_EQ(view.timers.count, 1);
    CHECK_EQ(view.timers.next_ns, deadline_ns);
    check_held_by_this_thread(object);
    CHECK_EQ(object->waiter_count, 2);
    CHECK_EQ(waiter_at(object, 0)->kind, CSK_WAITER_CALLBACK);
    CHECK(waiter_at(object, 0)->waiter == &waiting[0]);
    CHECK(waiter_at(object, 0)->function == (const void *)(uintptr_t)count_call);
    CHECK_EQ(waiter_at(object, 0)->deadline_ns, deadline_ns);
    CHECK(waiter_at(object, 0)->since_ns != 0);
    CHECK(waiter_at(object, 1)->waiter == &waiting[4]);
    CHECK_EQ(waiter_at(object, 1)->since_ns, 0);
    object = look_for(&sem, CSK_OBJECT_SEM);
    CHECK(object != NULL && waiter_at(object, 0)->waiter == &waiting[1]);
    CHECK_EQ(waiter_at(object, 0)->permits, 4);
    object = look_for(&lock, CSK_OBJECT_RWLOCK);
    CHECK(object != NULL && waiter_at(object, 0)->waits_for == CSK_WAITS_TO_READ);
    object = look_for(&queue, CSK_OBJECT_PQUEUE);
    CHECK(object != NULL && waiter_at(object, 0)->waits_for == CSK_WAITS_FOR_ITEM);
    csk_inspect_callbacks(false);
    CHECK_STATUS(csk_gate_cancel(&gate, &waiting[0]), 0);
    CHECK_STATUS(csk_gate_cancel(&gate, &waiting[4]), 0);
    CHECK_STATUS(csk_sem_cancel(&sem, &waiting[1]), 0);
    CHECK_STATUS(csk_rwlock_cancel(&lock, &waiting[2]), 0);
    CHECK_STATUS(csk_pqueue_cancel(&queue, &waiting[3]), 0);
    CHECK_EQ(LOAD(&called), 5);
    CHECK_STATUS(csk_inspect(&view), 0);
    CHECK_EQ(view.object_count, 0);
    CHECK_EQ(view.timers.count, 0);
    CHECK_EQ(view.timers.next_ns, CSK_NEVER);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    CHECK_STATUS(csk_pqueue_destroy(&queue), 0);
}

static void a_list_that_is_full_says_so(void) {
    enum { MANY = CSK_INSPECT_LISTED + 100 };
    csk_gate_t *gates = calloc(MANY, sizeof *gates);
    csk_waiter_t *waiting = calloc(MANY, sizeof *waiting);
    csk_inspect_callbacks(true);
    for (int i = 0; i < MANY; i++) {
        CHECK_STATUS(csk_gate_lock(&gates[i], 0), 0);
        CHECK_STATUS(csk_gate_lock_async(&gates[i], 0, &waiting[i], CSK_NEVER, count_call, NULL), 0);
    }
    CHECK_STATUS(csk_inspect(&view), 0);
    CHECK_EQ(view.object_count, OBJECTS);
    CHECK_GE(view.callbacks_unlisted, 100);
    CHECK_EQ(view.objects_left_out + OBJECTS + view.callbacks_unlisted, MANY);
    csk_inspect_callbacks(false);
    for (int i = 0; i < MANY; i++) {
        CHECK_STATUS(csk_gate_cancel(&gates[i], &waiting[i]), 0);
        CHECK_STATUS(csk_gate_unlock(&gates[i]), 0);
    }
    CHECK_STATUS(csk_inspect(&view), 0);
    CHECK_EQ(view.object_count, 0);
    free(gates);
    free(waiting);
}

/* A signal may make more than the semaphore began with. */
static void permits_are_printed_as_they_are(void) {
    static text_t printed;
    csk_sem_t sem;
    csk_waiter_t waiting = { 0 };
    CHECK_STATUS(csk_sem_init(&sem, 2, 0), 0);
    csk_inspect_callbacks(true);
    CHECK_STATUS(csk_sem_wait_async(&sem, 0, &waiting, 4, CSK_NEVER, count_call, NULL), 0);
    CHECK(look_for(&sem, CSK_OBJECT_SEM) != NULL);
    CHECK_STATUS(csk_inspect_print(&view, CSK_INSPECT_TEXT, collect, &printed), 0);
    CHECK(strstr(printed.text, ", 2 of 2 permits free") != NULL);
    CHECK_STATUS(csk_sem_post(&sem, 1), 0);
    CHECK(look_for(&sem, CSK_OBJECT_SEM) != NULL);
    printed.used = 0;
    CHECK_STATUS(csk_inspect_print(&view, CSK_INSPECT_TEXT, collect, &printed), 0);
    CHECK(strstr(printed.text, ", 3 permits free") != NULL);
    CHECK_STATUS(csk_sem_cancel(&sem, &waiting), 0);
    CHECK_STATUS(csk_sem_destroy(&sem), 0);
    csk_inspect_callbacks(false);
}

/* ---- Limits ------------------------------------------------------------------------------------------------------ */

static void what_has_no_room_is_counted(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    waiting_t waiting[3];
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    for (int i = 0; i < 3; i++) begin_wait(&waiting[i], lock_gate, &gate, i);
    await_parked(&gate, CSK_OBJECT_GATE, 3);
    csk_inspected_object_t one;
    csk_inspected_waiter_t two[2];
    csk_inspection_t small = { .objects = &one, .waiters = two, .object_room = 1, .waiter_room = 2 };
    CHECK_STATUS(csk_inspect(&small), 0);
    CHECK_EQ(small.object_count, 1);
    CHECK_EQ(small.waiter_count, 2);
    CHECK_EQ(small.waiters_left_out, 1);
    CHECK(one.flags & CSK_INSPECT_MORE);
    CHECK_EQ(one.waiting, 3);
    csk_inspection_t none = { .objects = NULL };
    CHECK_STATUS(csk_inspect(&none), 0);
    CHECK_GE(none.objects_left_out, 1);
    none.waiter_room = 1;
    CHECK_STATUS(csk_inspect(&none), EINVAL);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    for (int i = 0; i < 3; i++) join_thread(waiting[i].thread);
}

/* ---- Printing ---------------------------------------------------------------------------------------------------- */

static int refuse(void *context, const void *bytes, size_t size) {
    (void)context, (void)bytes, (void)size;
    return EOVERFLOW;
}

/* Whether braces, brackets and strings of JSON match. */
static bool is_balanced(const char *text) {
    int depth = 0;
    bool quoted = false;
    for (; *text != 0; text++) {
        if (quoted && *text == '\\') text++;
        else if (*text == '"') quoted = !quoted;
        else if (!quoted) depth += (*text == '{' || *text == '[') - (*text == '}' || *text == ']');
        if (depth < 0) return false;
    }
    return depth == 0 && !quoted;
}

static void a_view_is_printed_as_text_and_as_json(void) {
    static text_t printed;
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    waiting_t waiting;
    CHECK_STATUS(csk_name(&gate, "a \"quoted\" \\ d\xc3\xa9p\xc3\xb4t \xff"), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    begin_wait(&waiting, lock_gate, &gate, 4);
    await_parked(&gate, CSK_OBJECT_GATE, 1);
    CHECK_STATUS(csk_inspect_print(&view, CSK_INSPECT_TEXT, collect, &printed), 0);
    CHECK(strstr(printed.text, "waits to enter, priority 4") != NULL);
    /* With musl a thread that never parked stays an address. */
    CHECK(strstr(printed.text, "held by thread") != NULL ||
          strstr(printed.text, "held by the thread with the") != NULL);
    printed.used = 0;
    CHECK_STATUS(csk_inspect_print(NULL, CSK_INSPECT_JSON, collect, &printed), 0);
    CHECK(is_balanced(printed.text));
    CHECK(strstr(printed.text, "\"name\":\"a \\\"quoted\\\" \\\\ d\xc3\xa9p\xc3\xb4t \\ufffd\"") != NULL);
    CHECK(strstr(printed.text, "\"for\":\"enter\",\"priority\":4") != NULL);
    CHECK_STATUS(csk_inspect_print(NULL, 2, collect, &printed), EINVAL);
    CHECK_STATUS(csk_inspect_print(NULL, CSK_INSPECT_TEXT, NULL, NULL), EINVAL);
    CHECK_STATUS(csk_inspect_print(NULL, CSK_INSPECT_TEXT, refuse, NULL), EOVERFLOW);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    join_thread(waiting.thread);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

TEST_MAIN(TEST(a_gate_shows_its_holder_and_its_waiters_in_order), TEST(a_mutex_shows_its_holder_by_number),
          TEST(a_read_write_lock_shows_readers_and_writers), TEST(a_writer_that_waits_for_biased_readers_is_shown),
          TEST(a_semaphore_shows_permits),
          TEST(a_condition_variable_shows_who_waits_for_a_signal_and_then_for_the_gate),
          TEST(who_waits_for_a_predicate_comes_behind_who_waits_to_enter), TEST(a_priority_queue_shows_both_lines),
          TEST(callbacks_are_listed_while_somebody_wants_that), TEST(a_list_that_is_full_says_so),
          TEST(permits_are_printed_as_they_are), TEST(what_has_no_room_is_counted),
          TEST(a_view_is_printed_as_text_and_as_json))
