/* identity_test.c: a mutex or a recursive gate whose holder has ended, and a new thread in the very memory of the old
 * one. */
#include "test.h"

#include <csynckernel/csynckernel.h>
#include <sys/mman.h>

enum { POLICIES = 3, STACK = 4 * 1024 * 1024 };

static csk_mutex_t mutex;
static csk_gate_t gates[POLICIES];
static uint64_t ended;
static uint32_t reports;
static const void *reported;

static void note_report(const csk_event_t *event) {
    CHECK_EQ(event->kind, CSK_EVENT_HOLDER_ENDED);
    CHECK_STATUS(event->status, EOWNERDEAD);
    STORE(&reported, event->object);
    ADD(&reports, 1);
}

/* Two threads with one stack have one thread pointer, if one comes after the other. */
static void *run_on_the_stack(void *(*body)(void *), void *context) {
    static void *stack;
    pthread_attr_t attributes;
    pthread_t thread;
    if (stack == NULL) stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED);
    CHECK_EQ(pthread_attr_init(&attributes), 0);
    CHECK_EQ(pthread_attr_setstack(&attributes, stack, STACK), 0);
    CHECK_EQ(pthread_create(&thread, &attributes, body, context), 0);
    pthread_attr_destroy(&attributes);
    return join_thread(thread);
}

static void *hold_all_and_end(void *context) {
    ended = csk_self();
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    for (int i = 0; i < POLICIES; i++) CHECK_STATUS(csk_gate_lock_recursive(&gates[i], 0, CSK_NEVER), 0);
    return context;
}

static void *come_later(void *context) {
    CHECK_EQ(csk_self(), ended);
    CHECK_STATUS(csk_mutex_unlock(&mutex), EPERM);
    CHECK_STATUS(csk_mutex_trylock(&mutex), EBUSY);
    CHECK_STATUS(csk_mutex_timedlock(&mutex, csk_deadline_after(1000000)), ETIMEDOUT);
    CHECK_STATUS(csk_mutex_unlock(&mutex), EPERM);
    CHECK(!csk_gate_is_mine(&mutex.gate));
    for (int i = 0; i < POLICIES; i++) {
        CHECK(!csk_gate_is_mine(&gates[i]));
        CHECK_STATUS(csk_gate_unlock_recursive(&gates[i]), EPERM);
        CHECK_STATUS(csk_gate_trylock_recursive(&gates[i], 0), EBUSY);
        CHECK_STATUS(csk_gate_lock_recursive(&gates[i], 0, csk_deadline_after(1000000)), ETIMEDOUT);
        CHECK_STATUS(csk_gate_unlock_recursive(&gates[i]), EPERM);
    }
    return context;
}

static void *wait_for_the_report(void *object) {
    CHECK_EQ(csk_self(), ended);
    int64_t deadline_ns = csk_deadline_after(1400000000);
    int status = object == &mutex ? csk_mutex_timedlock(&mutex, deadline_ns)
                                  : csk_gate_lock_recursive(object, 0, deadline_ns);
    CHECK_STATUS(status, ETIMEDOUT);
    return NULL;
}

/* It took the mutex once more, and unlocked what another had locked. */
static void a_thread_in_the_memory_of_an_ended_holder_does_not_enter(void) {
    for (uint32_t i = 0; i < POLICIES; i++) {
        csk_gate_attr_t attr = { .policy = i };
        CHECK_STATUS(csk_gate_init(&gates[i], &attr), 0);
    }
    run_on_the_stack(hold_all_and_end, NULL);
    run_on_the_stack(come_later, NULL);
    CHECK_EQ(mutex.gate.depth, 1);
    CHECK_STATUS(csk_mutex_destroy(&mutex), EBUSY);
}

/* The holder's memory is a live thread's, so its address tells nothing. */
static void find_out_that_the_holder_has_ended(void) {
    csk_set_reporter(note_report);
    run_on_the_stack(hold_all_and_end, NULL);
    void *objects[] = { &mutex, &gates[CSK_GATE_FAST], &gates[CSK_GATE_STRICT] };
    for (uint32_t i = 0; i < 3; i++) {
        run_on_the_stack(wait_for_the_report, objects[i]);
        CHECK_EQ(reports, i + 1);
        CHECK(reported == objects[i]);
    }
    run_on_the_stack(come_later, NULL);
    csk_set_reporter(NULL);
}

static uint32_t release, is_inside;

static void *hold_until_told(void *context) {
    CHECK_STATUS(csk_mutex_lock(&mutex), 0);
    STORE(&is_inside, 1);
    wait_until(LOAD(&release));
    CHECK_STATUS(csk_mutex_unlock(&mutex), 0);
    return context;
}

static void a_holder_that_lives_is_not_reported(void) {
    csk_set_reporter(note_report);
    STORE(&reports, 0);
    CHECK_STATUS(csk_mutex_init(&mutex), 0);
    pthread_t holder = start_thread(hold_until_told, NULL);
    wait_until(LOAD(&is_inside));
    CHECK_STATUS(csk_mutex_timedlock(&mutex, csk_deadline_after(1400000000)), ETIMEDOUT);
    CHECK_EQ(reports, 0);
    STORE(&release, 1);
    join_thread(holder);
    CHECK_STATUS(csk_mutex_destroy(&mutex), 0);
}

static void *its_number(void *numbers) {
    csk_mutex_t own = CSK_MUTEX_INITIALIZER;
    CHECK_EQ(csk_thread_number, CSK_THREAD_UNNUMBERED);
    CHECK_STATUS(csk_mutex_unlock(&own), EPERM);
    CHECK_STATUS(csk_mutex_lock(&own), 0);
    CHECK_STATUS(csk_mutex_unlock(&own), 0);
    CHECK(csk_thread_number >> 63 == 1 && csk_thread_number % 16 == 0);
    *(uint64_t *)numbers = csk_thread_number;
    return NULL;
}

static void no_number_is_given_twice(void) {
    uint64_t numbers[200];
    for (int i = 0; i < 200; i++) {
        run_on_the_stack(its_number, &numbers[i]);
        for (int other = 0; other < i; other++) CHECK(numbers[other] != numbers[i]);
    }
}

static void begin_anew(void) {
    STORE(&reports, 0);
    CHECK_STATUS(csk_mutex_init(&mutex), 0);
    for (uint32_t i = 0; i < POLICIES; i++) {
        csk_gate_attr_t attr = { .policy = i };
        CHECK_STATUS(csk_gate_init(&gates[i], &attr), 0);
    }
}

static void a_holder_whose_memory_is_in_use_is_found_to_have_ended(void) {
#ifndef __GLIBC__
    printf("only glibc tells that; ");
    return;
#endif
    begin_anew();
    find_out_that_the_holder_has_ended();
}

TEST_MAIN(TEST(a_thread_in_the_memory_of_an_ended_holder_does_not_enter),
          TEST(a_holder_whose_memory_is_in_use_is_found_to_have_ended), TEST(a_holder_that_lives_is_not_reported),
          TEST(no_number_is_given_twice))
