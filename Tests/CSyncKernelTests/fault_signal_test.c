/* fault_signal_test.c: threads that wait are bombarded with signals whose handler returns with EINTR: no wait ends
 * early, no wake is lost, errno stays as it was. */
#include "test.h"

#include <csynckernel/csynckernel.h>

enum { CROWD = 6, HITS = 200, ERRNO_BEFORE = 4711 };

enum kind { FAST, COMPACT, STRICT, MUTEX, POP, PUSH, KINDS };

typedef struct {
    csk_gate_t gate;
    csk_mutex_t mutex;
    csk_pqueue_t queue;
    csk_pqueue_item_t items[CROWD + 1];
} place_t;

typedef struct {
    place_t *place;
    enum kind kind;
    int number, expected;
    int64_t deadline_ns;
    pthread_t thread;
    uint32_t hits, sent, done;
} target_t;

static _Thread_local uint32_t *hits_of_this_thread;

static void note_hit(int number) {
    (void)number;
    if (hits_of_this_thread != NULL) ADD(hits_of_this_thread, 1);
}

static void catch_signals(void) {
    struct sigaction action = { .sa_handler = note_hit }; /* no SA_RESTART */
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
}

/* How often a signal reached the thread. ThreadSanitizer puts handlers off until the thread calls something it knows,
 * so there it is how often one was sent. */
static uint32_t hits(const target_t *target) {
#ifdef __SANITIZE_THREAD__
    return LOAD(&target->sent);
#else
    return LOAD(&target->hits);
#endif
}

static void hit(target_t *target) {
    CHECK_EQ(pthread_kill(target->thread, SIGUSR1), 0);
    ADD(&target->sent, 1);
    sched_yield();
}

/* ---- Each kind of wait ------------------------------------------------------------------------------------------- */

static void occupy(place_t *place, enum kind kind) {
    memset(place, 0, sizeof *place);
    csk_gate_attr_t attr = { .policy = (uint32_t)kind };
    if (kind <= STRICT) {
        CHECK_STATUS(csk_gate_init(&place->gate, &attr), 0);
        CHECK_STATUS(csk_gate_lock(&place->gate, 0), 0);
    } else if (kind == MUTEX) {
        CHECK_STATUS(csk_mutex_lock(&place->mutex), 0);
    } else {
        CHECK_STATUS(csk_pqueue_init(&place->queue, kind == PUSH ? 1 : 0), 0);
        if (kind == PUSH) CHECK_STATUS(csk_pqueue_push(&place->queue, 0, &place->items[CROWD]), 0);
    }
}

static int wait_there(place_t *place, enum kind kind, int number, int64_t deadline_ns) {
    csk_pqueue_item_t *item;
    if (kind == MUTEX) return csk_mutex_timedlock(&place->mutex, deadline_ns);
    if (kind == PUSH) return csk_pqueue_timedpush(&place->queue, 0, &place->items[number], deadline_ns);
    if (kind == POP && deadline_ns == CSK_NEVER) return csk_pqueue_pop(&place->queue, &item);
    if (kind == POP) return csk_pqueue_timedpop(&place->queue, &item, deadline_ns);
    return csk_gate_timedlock(&place->gate, number, deadline_ns);
}

static void leave(place_t *place, enum kind kind) {
    if (kind == MUTEX) CHECK_STATUS(csk_mutex_unlock(&place->mutex), 0);
    if (kind <= STRICT) CHECK_STATUS(csk_gate_unlock(&place->gate), 0);
}

static uint32_t waiting(place_t *place, enum kind kind) {
    if (kind == POP || kind == PUSH) return csk_pqueue_waiting(&place->queue);
    return csk_gate_waiting(kind == MUTEX ? &place->mutex.gate : &place->gate);
}

static void let_all_go(place_t *place, enum kind kind) {
    csk_pqueue_item_t *item;
    leave(place, kind);
    for (int i = 0; i < CROWD; i++) {
        if (kind == POP) CHECK_STATUS(csk_pqueue_push(&place->queue, 0, &place->items[i]), 0);
        if (kind == PUSH) CHECK_STATUS(csk_pqueue_pop(&place->queue, &item), 0);
    }
}

static void *wait_under_fire(void *context) {
    target_t *target = context;
    hits_of_this_thread = &target->hits;
    errno = ERRNO_BEFORE;
    int status = wait_there(target->place, target->kind, target->number, target->deadline_ns);
    int64_t now = csk_now();
    CHECK_EQ(errno, ERRNO_BEFORE);
    CHECK_STATUS(status, target->expected);
    if (status == ETIMEDOUT) CHECK_GE(now, target->deadline_ns);
    STORE(&target->done, 1);
    if (status == 0) leave(target->place, target->kind);
    return NULL;
}

static void aim(target_t *targets, place_t *place, enum kind kind, int64_t deadline_ns) {
    for (int i = 0; i < CROWD; i++) {
        targets[i] = (target_t){ .place = place,
                                 .kind = kind,
                                 .number = i,
                                 .deadline_ns = deadline_ns,
                                 .expected = deadline_ns == CSK_NEVER ? 0 : ETIMEDOUT };
        targets[i].thread = start_thread(wait_under_fire, &targets[i]);
    }
}

static void a_wait_without_a_deadline_goes_on(void) {
    catch_signals();
    for (enum kind kind = FAST; kind < KINDS; kind++) {
        static place_t place;
        static target_t targets[CROWD];
        occupy(&place, kind);
        aim(targets, &place, kind, CSK_NEVER);
        wait_until(waiting(&place, kind) == CROWD);
        for (int i = 0; i < CROWD; i++)
            while (hits(&targets[i]) < HITS) hit(&targets[i]);
        CHECK_EQ(waiting(&place, kind), CROWD);
        for (int i = 0; i < CROWD; i++) CHECK_EQ(LOAD(&targets[i].done), 0);
        let_all_go(&place, kind);
        for (int i = 0; i < CROWD; i++) {
            while (!LOAD(&targets[i].done)) hit(&targets[i]);
            join_thread(targets[i].thread);
        }
        CHECK_EQ(waiting(&place, kind), 0);
    }
}

static void a_wait_with_a_deadline_ends_no_earlier(void) {
    catch_signals();
    for (enum kind kind = FAST; kind < KINDS; kind++) {
        static place_t place;
        static target_t targets[CROWD];
        occupy(&place, kind);
        aim(targets, &place, kind, csk_deadline_after(30000000));
        for (int i = 0; i < CROWD; i++) {
            while (!LOAD(&targets[i].done)) {
                for (int j = i; j < CROWD; j++) hit(&targets[j]);
            }
        }
        for (int i = 0; i < CROWD; i++) join_thread(targets[i].thread);
        CHECK_EQ(waiting(&place, kind), 0);
    }
}

/* ---- Hand-overs under fire --------------------------------------------------------------------------------------- */

enum { ROUNDS = 3000 / TEST_SLOWDOWN };
static long inside, entered;

static void *take_turns_under_fire(void *context) {
    target_t *target = context;
    hits_of_this_thread = &target->hits;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t deadline_ns = i % 4 == 3 ? csk_deadline_after(50000) : CSK_NEVER;
        errno = ERRNO_BEFORE;
        int status = wait_there(target->place, target->kind, target->number, deadline_ns);
        CHECK_EQ(errno, ERRNO_BEFORE);
        if (status == ETIMEDOUT) CHECK_GE(csk_now(), deadline_ns);
        else CHECK_STATUS(status, 0);
        if (status != 0) continue;
        CHECK_EQ(++inside, 1);
        entered++;
        if (i % 16 == 0) sched_yield();
        inside--;
        leave(target->place, target->kind);
    }
    STORE(&target->done, 1);
    return NULL;
}

static void no_wake_is_lost_at_a_gate_or_a_mutex(void) {
    catch_signals();
    for (enum kind kind = FAST; kind <= MUTEX; kind++) {
        static place_t place;
        static target_t targets[CROWD];
        occupy(&place, kind);
        entered = 0;
        for (int i = 0; i < CROWD; i++) {
            targets[i] = (target_t){ .place = &place, .kind = kind, .number = i };
            targets[i].thread = start_thread(take_turns_under_fire, &targets[i]);
        }
        leave(&place, kind);
        for (int i = 0; i < CROWD; i++) {
            while (!LOAD(&targets[i].done)) {
                for (int j = i; j < CROWD; j++) hit(&targets[j]);
            }
        }
        for (int i = 0; i < CROWD; i++) join_thread(targets[i].thread);
        CHECK_GE(entered, CROWD * (ROUNDS / 4 * 3));
        CHECK_EQ(waiting(&place, kind), 0);
    }
}

/* A queue of one place: each item that passes needs a wake on either side. */
static csk_pqueue_t narrow;
static csk_pqueue_item_t passing[ROUNDS];

static void *push_under_fire(void *context) {
    target_t *target = context;
    hits_of_this_thread = &target->hits;
    for (int i = 0; i < ROUNDS; i++) {
        errno = ERRNO_BEFORE;
        CHECK_STATUS(csk_pqueue_push(&narrow, 0, &passing[i]), 0);
        CHECK_EQ(errno, ERRNO_BEFORE);
    }
    STORE(&target->done, 1);
    return NULL;
}

static void *pop_under_fire(void *context) {
    target_t *target = context;
    hits_of_this_thread = &target->hits;
    for (int i = 0; i < ROUNDS; i++) {
        csk_pqueue_item_t *item = NULL;
        int status = ETIMEDOUT;
        while (status == ETIMEDOUT) {
            int64_t deadline_ns = i % 2 ? csk_deadline_after(50000) : CSK_NEVER;
            errno = ERRNO_BEFORE;
            status = csk_pqueue_timedpop(&narrow, &item, deadline_ns);
            CHECK_EQ(errno, ERRNO_BEFORE);
            if (status == ETIMEDOUT) CHECK_GE(csk_now(), deadline_ns);
        }
        CHECK_STATUS(status, 0);
        CHECK(item == &passing[i]);
    }
    STORE(&target->done, 1);
    return NULL;
}

static void no_wake_is_lost_at_a_queue(void) {
    catch_signals();
    static target_t targets[2];
    CHECK_EQ(csk_pqueue_init(&narrow, 1), 0);
    targets[0].thread = start_thread(push_under_fire, &targets[0]);
    targets[1].thread = start_thread(pop_under_fire, &targets[1]);
    for (int i = 0; i < 2; i++) {
        while (!LOAD(&targets[i].done)) {
            for (int j = i; j < 2; j++) hit(&targets[j]);
        }
    }
    for (int i = 0; i < 2; i++) join_thread(targets[i].thread);
    CHECK_STATUS(csk_pqueue_destroy(&narrow), 0);
}

/* ---- Cancelling a timer whose function runs ---------------------------------------------------------------------- */

static uint32_t function_runs, let_function_go, function_is_over;
static csk_timer_t slow_timer;

static void take_long(csk_timer_t *timer, void *context) {
    (void)timer;
    (void)context;
    STORE(&function_runs, 1);
    wait_until(LOAD(&let_function_go));
    STORE(&function_is_over, 1);
}

static void *cancel_under_fire(void *context) {
    target_t *target = context;
    hits_of_this_thread = &target->hits;
    errno = ERRNO_BEFORE;
    CHECK_STATUS(csk_timer_cancel(&slow_timer), ENOENT);
    CHECK_EQ(errno, ERRNO_BEFORE);
    CHECK_EQ(LOAD(&function_is_over), 1);
    STORE(&target->done, 1);
    return NULL;
}

static void cancelling_a_timer_waits_for_its_function(void) {
    catch_signals();
    static target_t targets[CROWD];
    CHECK_STATUS(csk_timer_start(&slow_timer, csk_now(), take_long, NULL), 0);
    wait_until(LOAD(&function_runs));
    for (int i = 0; i < CROWD; i++) targets[i].thread = start_thread(cancel_under_fire, &targets[i]);
    for (int i = 0; i < CROWD; i++)
        while (hits(&targets[i]) < HITS) hit(&targets[i]);
    for (int i = 0; i < CROWD; i++) CHECK_EQ(LOAD(&targets[i].done), 0);
    STORE(&let_function_go, 1);
    for (int i = 0; i < CROWD; i++) {
        while (!LOAD(&targets[i].done)) hit(&targets[i]);
        join_thread(targets[i].thread);
    }
}

TEST_MAIN(TEST(a_wait_without_a_deadline_goes_on), TEST(a_wait_with_a_deadline_ends_no_earlier),
          TEST(no_wake_is_lost_at_a_gate_or_a_mutex), TEST(no_wake_is_lost_at_a_queue),
          TEST(cancelling_a_timer_waits_for_its_function))
