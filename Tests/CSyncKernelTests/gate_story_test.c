/* gate_story_test.c: mistakes that the gate once made. Each test tells one of them and fails if it comes back. */
#include <csynckernel/csynckernel.h>

#include "lock/gate_queue.h"
#include "gate_fixture.h"

static int calls, last_status;
static intptr_t last_context;

static void note(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    STORE(&last_status, status);
    STORE(&last_context, (intptr_t)context);
    ADD(&calls, 1);
}

static void leave(csk_waiter_t *waiter, void *context, int status) {
    CHECK_STATUS(status, 0);
    CHECK_STATUS(csk_gate_unlock(waiter->gate), 0);
    if (context != NULL) ADD((int *)context, 1);
}

/* A leaver in the one-word form designates a sleeping thread, and wakes it only after it has freed the gate. If an
 * asynchronous waiter of higher rank came in between, the leaver granted the gate to that one, returned, and never woke
 * the thread: everybody took it to be on its way for ever. To open that window, the leaver is made to find the queue
 * lock taken, so that it makes a system call when it gives it back. */
struct story {
    csk_gate_t gate;
    int held, begun, leave, thread_ended, done, rounds;
};

static void *leave_each_round(void *context) {
    struct story *story = context;
    for (int i = 1; i <= story->rounds; i++) {
        wait_until(LOAD(&story->done) == i - 1 && LOAD(&story->thread_ended) == i - 1);
        CHECK_STATUS(csk_gate_lock(&story->gate, 9), 0);
        STORE(&story->held, i);
        wait_until(LOAD(&story->leave) == i);
        CHECK_STATUS(csk_gate_unlock(&story->gate), 0);
    }
    return NULL;
}

static void *wait_each_round(void *context) {
    struct story *story = context;
    for (int i = 1; i <= story->rounds; i++) {
        wait_until(LOAD(&story->begun) == i);
        CHECK_STATUS(csk_gate_lock(&story->gate, 0), 0);
        CHECK_STATUS(csk_gate_unlock(&story->gate), 0);
        STORE(&story->thread_ended, i);
    }
    return NULL;
}

static void a_designated_thread_is_woken_though_the_leaver_hands_over_to_a_callback(void) {
    static struct story story;
    csk_waiter_t between = { .word = 0 };
    csk_gate_t *gate = &story.gate;
    story.rounds = 2000 / TEST_SLOWDOWN;
    make(gate, CSK_GATE_COMPACT, 0);
    pthread_t leaves = start_thread(leave_each_round, &story), waits = start_thread(wait_each_round, &story);
    for (int i = 1; i <= story.rounds; i++) {
        wait_until(LOAD(&story.held) == i);
        STORE(&story.begun, i);
        wait_until(csk_gate_waiting(gate) == 1);
        wait_until(LOAD(&((csk_waiter_t *)gate->waiters.root)->word) == WORD_PARKED);
        csk_queue_lock(&gate->queue_lock);
        STORE(&story.leave, i);
        wait_until(LOAD(&gate->queue_lock) == 2);
        csk_queue_unlock(&gate->queue_lock);
        while (!(LOAD(&gate->summary) & GATE_DESIGNATED) && LOAD(&story.thread_ended) != i) {}
        CHECK_STATUS(csk_gate_lock_async(gate, 5, &between, CSK_NEVER, leave, &story.done), 0);
        wait_until(LOAD(&story.done) == i && LOAD(&story.thread_ended) == i);
    }
    join_thread(leaves);
    join_thread(waits);
    CHECK_STATUS(csk_gate_destroy(gate), 0);
}

/* The refused call had overwritten function and context of the accepted one already. */
static void a_refused_call_leaves_a_waiting_waiter_as_it_was(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    csk_waiter_t waiter = { .word = 0 };
    calls = 0;
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiter, CSK_NEVER, note, (void *)1), 0);
    CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiter, CSK_NEVER, leave, (void *)2), EBUSY);
    CHECK_STATUS(csk_gate_close(&gate, &waiter, leave, NULL), EBUSY);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_EQ(calls, 1);
    CHECK_EQ(last_context, 1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

static void a_waiter_that_was_granted_can_wait_again(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    csk_waiter_t waiter = { .word = 0 };
    int left = 0;
    for (int i = 1; i <= 3; i++) {
        CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiter, CSK_NEVER, leave, &left), 0);
        CHECK_EQ(left, i);
    }
    /* Its grants are over: it must not take the gate from the holder. */
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_gate_adopt(&gate, &waiter), EINVAL);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
}

/* From inside a function a cancelled waiter's function runs later; queued again before that, it stood in the thread's
 * list twice. */
static csk_waiter_t cancelled;

static void cancel_another(csk_waiter_t *waiter, void *context, int status) {
    CHECK_STATUS(status, 0);
    CHECK_STATUS(csk_gate_cancel(waiter->gate, &cancelled), 0);
    CHECK_EQ(calls, 0);
    CHECK_STATUS(csk_gate_lock_async(context, 0, &cancelled, CSK_NEVER, note, NULL), EBUSY);
    CHECK_STATUS(csk_gate_unlock(waiter->gate), 0);
}

static void a_waiter_is_in_use_until_its_function_is_called(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER, other = CSK_GATE_INITIALIZER;
    csk_waiter_t first = { .word = 0 };
    calls = 0;
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_gate_lock_async(&gate, 0, &cancelled, CSK_NEVER, note, NULL), 0);
    CHECK_STATUS(csk_gate_lock_async(&gate, 1, &first, CSK_NEVER, cancel_another, &other), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    CHECK_EQ(calls, 1);
    CHECK_STATUS(last_status, ECANCELED);
    CHECK_STATUS(csk_gate_lock_async(&other, 0, &cancelled, CSK_NEVER, note, NULL), 0);
    CHECK_EQ(calls, 2);
}

/* Waiters that queue again after a lost grant stand behind the closing one in order of arrival. The first of them
 * counted as a pass, and at the limit the closing waiter got the gate for good before the second. */
static int order[4], order_count;

static void adopt_and_leave(csk_waiter_t *waiter, void *context, int status) {
    CHECK_STATUS(status, 0);
    if (ADD(&calls, 1) <= 4) return; /* the first time it lets the grant go by */
    order[order_count++] = (int)(intptr_t)context;
    CHECK_STATUS(csk_gate_adopt(waiter->gate, waiter), 0);
    CHECK_STATUS(csk_gate_unlock(waiter->gate), 0);
}

static void note_closed(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    CHECK_STATUS(status, 0);
    order[order_count++] = (int)(intptr_t)context;
}

static void the_closing_waiter_does_not_use_the_bypass_limit(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        csk_gate_t gate;
        csk_waiter_t lost[2], between[2], closing;
        memset(lost, 0, sizeof lost);
        memset(between, 0, sizeof between);
        memset(&closing, 0, sizeof closing);
        make(&gate, policy, 1);
        calls = order_count = 0;
        for (intptr_t i = 0; i < 2; i++) {
            CHECK_STATUS(csk_gate_lock_async_ranked(&gate, csk_rank(0, CSK_PLACE_BACK), &lost[i], true, CSK_NEVER,
                                                    adopt_and_leave, (void *)(i + 1)),
                         0);
            if (i == 1) CHECK_STATUS(csk_gate_unlock(&gate), 0); /* leaves for between[0], which holds it */
            CHECK_STATUS(csk_gate_lock_async(&gate, 0, &between[i], CSK_NEVER, note, NULL), 0);
            wait_until(LOAD(&calls) == 2 * (i + 1));
        }
        CHECK_STATUS(csk_gate_close(&gate, &closing, note_closed, (void *)3), 0);
        for (int i = 0; i < 2; i++) CHECK_STATUS(csk_gate_relock_async(&gate, &lost[i]), 0);
        CHECK_EQ(order_count, 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_EQ(order_count, 3);
        for (int i = 0; i < 3; i++) CHECK_EQ(order[i], i + 1);
        CHECK_STATUS(csk_gate_destroy(&gate), 0);
    }
}

/* A thread that was passed for long asks for a hand-over. Any other waiter that gave up withdrew the request. */
static void *lock_once(void *gate) {
    CHECK_STATUS(csk_gate_lock(gate, 5), 0);
    CHECK_STATUS(csk_gate_unlock(gate), 0);
    return NULL;
}

static void a_hand_over_that_was_asked_for_survives_the_cancellation_of_others(void) {
    for (uint32_t policy = CSK_GATE_FAST; policy <= CSK_GATE_COMPACT; policy++) {
        csk_gate_t gate;
        csk_waiter_t other = { .word = 0 };
        make(&gate, policy, 0);
        calls = 0;
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        pthread_t thread = start_thread(lock_once, &gate);
        wait_until(csk_gate_waiting(&gate) == 1);
        /* Told to try while the gate is held, it gives up; once it has waited for 0.78 ms, with the request. */
        while (!(LOAD(&gate.summary) & GATE_HAND_OVER)) csk_gate_post(&gate);
        CHECK_STATUS(csk_gate_lock_async(&gate, 0, &other, CSK_NEVER, note, NULL), 0);
        CHECK_STATUS(csk_gate_cancel(&gate, &other), 0);
        CHECK(LOAD(&gate.summary) & GATE_HAND_OVER);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        join_thread(thread);
        CHECK_STATUS(csk_gate_destroy(&gate), 0);
    }
}

/* A leaver that read the flags just before somebody asked for a hand-over frees the gate, and looks again. Whoever
 * comes in between by way of the queue finds a free gate, and leaves it to the waiter that asked. */
static void nobody_takes_a_free_gate_past_a_hand_over(void) {
    csk_gate_t gate;
    make(&gate, CSK_GATE_FAST, 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    if (LOAD(&gate.summary) & GATE_ONE_WORD) {
        printf("not without membarrier: a leaver reads the flags as it frees; ");
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        return;
    }
    pthread_t thread = start_thread(lock_once, &gate);
    wait_until(csk_gate_waiting(&gate) == 1);
    while (!(LOAD(&gate.summary) & GATE_HAND_OVER)) csk_gate_post(&gate);
    STORE(&gate.held, UINT64_C(0)); /* the leaver's store, before its look */
    CHECK_STATUS(csk_gate_trylock(&gate, 5), EBUSY);
    csk_gate_post(&gate); /* its look */
    join_thread(thread);
    CHECK_STATUS(csk_gate_destroy(&gate), 0);
}

/* As a leaver tells it, but that it does not wake it yet. Returns the word of the one that was told. */
static uint32_t *tell_the_next(csk_gate_t *gate) {
    csk_queue_lock(&gate->queue_lock);
    uint32_t *word = &csk_gate_next(gate)->word;
    STORE(word, (uint32_t)WORD_TRY);
    csk_gate_publish(gate);
    csk_queue_unlock(&gate->queue_lock);
    return word;
}

/* A callback that comes first does not wait for a thread that was told to try and has not come yet: the leaver hands
 * the gate over to it. */
static void a_callback_is_granted_though_a_thread_is_on_its_way(void) {
    for (uint32_t policy = CSK_GATE_FAST; policy <= CSK_GATE_COMPACT; policy++) {
        csk_gate_t gate;
        csk_waiter_t urgent = { .word = 0 };
        make(&gate, policy, 0);
        calls = 0;
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        pthread_t thread = start_thread(lock_once, &gate);
        wait_until(csk_gate_waiting(&gate) == 1);
        uint32_t *word = tell_the_next(&gate);
        CHECK_STATUS(csk_gate_lock_async(&gate, 10, &urgent, CSK_NEVER, note, NULL), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_EQ(LOAD(&calls), 1);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        csk_platform_wake(word, 1);
        join_thread(thread);
        CHECK_STATUS(csk_gate_destroy(&gate), 0);
    }
}

/* The hand-over that gate.h promises after 0.25 to 0.78 ms: whichever waiter it is, it does not ask before, and after
 * that it asks. */
static void every_waiter_loses_patience_in_the_time_that_is_promised(void) {
    csk_waiter_t waiter = { .word = 0 };
    for (int64_t ticket = -1000; ticket <= 1000; ticket++) {
        waiter.node.ticket = ticket;
        waiter.since_ns = csk_now();
        bool early = csk_gate_has_lost_patience(&waiter);
        if (csk_now() - waiter.since_ns < 250000) CHECK(!early);
        waiter.since_ns = csk_now() - 780000;
        CHECK(csk_gate_has_lost_patience(&waiter));
    }
}

/* Unlocking a grant that was not adopted left it on the books: the grace period then took the gate from its next
 * holder. */
static void a_grant_that_was_not_adopted_cannot_be_unlocked(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        csk_gate_t gate;
        csk_waiter_t waiter = { .word = 0 };
        make(&gate, policy, 0);
        CHECK_STATUS(csk_gate_lock_async_ranked(&gate, 1, &waiter, true, CSK_NEVER, note, NULL), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), EPERM);
        CHECK_STATUS(csk_gate_adopt(&gate, &waiter), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_STATUS(csk_gate_destroy(&gate), 0);
    }
}

/* A waiter whose grant was over adopted what had been granted to another, provisionally; when that one's grace ended,
 * the gate was taken from the thread inside. */
static void a_grant_that_is_over_cannot_adopt_that_of_another(void) {
    for (uint32_t policy = 0; policy < 3; policy++) {
        csk_gate_t gate;
        csk_waiter_t earlier = { .word = 0 }, later = { .word = 0 };
        int left = 0;
        make(&gate, policy, 0);
        CHECK_STATUS(csk_gate_lock_async(&gate, 0, &earlier, CSK_NEVER, leave, &left), 0);
        CHECK_EQ(left, 1);
        CHECK_STATUS(csk_gate_lock_async_ranked(&gate, 1, &later, true, CSK_NEVER, note, NULL), 0);
        CHECK_STATUS(csk_gate_adopt(&gate, &earlier), EINVAL);
        CHECK_STATUS(csk_gate_adopt(&gate, &later), 0);
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        CHECK_STATUS(csk_gate_destroy(&gate), 0);
    }
}

/* While a thread was on its way into a free gate, a newcomer whose rank no csk_rank gives got in before it: the sum
 * that compares ranks overflowed. */
static int may_go_on, is_queued;

static void hold_back(const csk_observer_t *observer, const csk_event_t *event) {
    (void)observer;
    if (event->kind != CSK_EVENT_WAIT_BEGIN) return;
    STORE(&is_queued, 1);
    wait_until(LOAD(&may_go_on));
}

static void *wait_and_leave(void *gate) {
    CHECK_STATUS(csk_gate_lock(gate, 0), 0);
    CHECK_STATUS(csk_gate_unlock(gate), 0);
    return NULL;
}

static void a_rank_without_meaning_is_refused_although_the_gate_is_free_for_a_waiter(void) {
    static const csk_rank_t odd[] = { INT64_MAX, INT64_MIN, (csk_rank_t)INT32_MAX * 4 + 4,
                                      (csk_rank_t)INT32_MIN * 4 - 1 };
    static const csk_observer_t observer = { .event = hold_back };
    csk_observe(&observer);
    for (uint32_t policy = CSK_GATE_FAST; policy <= CSK_GATE_COMPACT; policy++) {
        csk_gate_t gate;
        make(&gate, policy, 0);
        STORE(&may_go_on, 0);
        STORE(&is_queued, 0);
        CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
        pthread_t thread = start_thread(wait_and_leave, &gate);
        wait_until(LOAD(&is_queued));
        CHECK_STATUS(csk_gate_unlock(&gate), 0);
        for (int i = 0; i < 4; i++) CHECK_STATUS(csk_gate_lock_ranked(&gate, odd[i], INT64_MIN), EINVAL);
        STORE(&may_go_on, 1);
        join_thread(thread);
        CHECK_STATUS(csk_gate_destroy(&gate), 0);
    }
    csk_observe(NULL);
}

TEST_MAIN(TEST(a_designated_thread_is_woken_though_the_leaver_hands_over_to_a_callback),
          TEST(a_refused_call_leaves_a_waiting_waiter_as_it_was), TEST(a_waiter_that_was_granted_can_wait_again),
          TEST(a_waiter_is_in_use_until_its_function_is_called), TEST(the_closing_waiter_does_not_use_the_bypass_limit),
          TEST(a_hand_over_that_was_asked_for_survives_the_cancellation_of_others),
          TEST(nobody_takes_a_free_gate_past_a_hand_over), TEST(a_callback_is_granted_though_a_thread_is_on_its_way),
          TEST(every_waiter_loses_patience_in_the_time_that_is_promised),
          TEST(a_grant_that_was_not_adopted_cannot_be_unlocked),
          TEST(a_grant_that_is_over_cannot_adopt_that_of_another),
          TEST(a_rank_without_meaning_is_refused_although_the_gate_is_free_for_a_waiter))
