/* torture_tls.c: thread-locals of threads that come and go in all ways: each value is destroyed exactly once, on its
 * own thread, by its own slot's destructor, those of later slots first; or it is taken back. Destructors set values
 * anew, until they are told that it is over. */
#include "torture.h"

enum { SLOTS = 12, ALIVE = 0x5afe, GONE = 0xdead };

typedef struct {
    pthread_t thread;
    uint64_t seed;
    int slot;                     /* of the counters */
    uint32_t made, ended, is_set; /* ended: destroyed, or taken back */
    uint32_t last;                /* the slot whose destructor was called last */
    bool sets_anew;
} owner_t;

typedef struct {
    owner_t *owner;
    uint32_t which, state;
} value_t;

static csk_tls_slot_t slots[SLOTS];
static _Thread_local owner_t *self;
static uint64_t made, ended;

static csk_tls_slot_t slot_of(uint32_t which) { return LOAD(&slots[which]); }

static void free_value(value_t *value, uint32_t which) {
    CHECK_EQ(__atomic_exchange_n(&value->state, GONE, __ATOMIC_SEQ_CST), ALIVE);
    CHECK_EQ(value->which, which);
    CHECK(value->owner == self);
    CHECK(pthread_equal(self->thread, pthread_self()));
    self->ended++;
    ADD(&ended, 1);
    free(value);
}

/* Gives this thread a value of its own; what was there is its again. */
static void set_value(uint32_t which) {
    value_t *value = malloc(sizeof *value), *old = csk_tls_get(slot_of(which));
    CHECK(value != NULL);
    *value = (value_t){ self, which, ALIVE };
    int status = csk_tls_set(slot_of(which), value);
    self->made++;
    ADD(&made, 1);
    if (status != 0) {
        CHECK_STATUS(status, ESHUTDOWN);
        tally(REFUSED);
        free_value(value, which);
        return;
    }
    CHECK(csk_tls_get(slot_of(which)) == value);
    if (old != NULL) free_value(old, which);
}

static void take_away(uint32_t which) {
    value_t *old = csk_tls_get(slot_of(which));
    CHECK_STATUS(csk_tls_set(slot_of(which), NULL), 0);
    CHECK(csk_tls_get(slot_of(which)) == NULL);
    if (old != NULL) free_value(old, which);
}

static void destroy(void *context, uint32_t which) {
    value_t *value = context;
    CHECK(csk_tls_get(slot_of(which)) == NULL);
    if (!self->sets_anew && self->last != 0) CHECK(slot_of(which) < self->last);
    self->last = slot_of(which);
    free_value(value, which);
    tally(GRANTS);
    if (self->sets_anew && !one_in(4)) set_value((uint32_t)below(SLOTS));
}

#define DESTRUCTOR(which) \
    static void destroy_##which(void *value) { destroy(value, which); }
DESTRUCTOR(0)
DESTRUCTOR(1)
DESTRUCTOR(2)
DESTRUCTOR(3)
DESTRUCTOR(4)
DESTRUCTOR(5)
DESTRUCTOR(6)
DESTRUCTOR(7)
DESTRUCTOR(8)
DESTRUCTOR(9)
DESTRUCTOR(10)
DESTRUCTOR(11)
static const csk_tls_destructor_t destructors[SLOTS] = {
    destroy_0, destroy_1, destroy_2, destroy_3, destroy_4,  destroy_5,
    destroy_6, destroy_7, destroy_8, destroy_9, destroy_10, destroy_11,
};

/* Anybody, at any time: the slot is there already, or has just been made by another. */
static void open_one(uint32_t which) {
    char name[32];
    csk_tls_slot_t slot = 0, none = 0;
    snprintf(name, sizeof name, "torture %u", which);
    CHECK_STATUS(csk_tls_open(&slot, name, destructors[which]), 0);
    csk_tls_slot_t known = __atomic_exchange_n(&slots[which], slot, __ATOMIC_SEQ_CST);
    CHECK(slot != 0 && (known == 0 || known == slot));
    CHECK_STATUS(csk_tls_open(&none, name, NULL), EINVAL);
    CHECK_EQ(none, 0);
}

static void be(owner_t *owner) {
    owner->thread = pthread_self();
    torture_slot = owner->slot;
    torture_random_state = owner->seed | 1;
    self = owner;
}

static void *come_and_go(void *context) {
    owner_t *owner = context;
    be(owner);
    for (uint64_t i = below(2 * SLOTS); i > 0; i--) set_value((uint32_t)below(SLOTS));
    if (one_in(4)) take_away((uint32_t)below(SLOTS));
    STORE(&owner->is_set, 1);
    if (owner->seed % 3 == 1) pthread_exit(NULL);
    while (owner->seed % 3 == 2) pause(); /* until it is cancelled */
    return NULL;
}

/* A thread's life, with its ledger on this stack: its destructors have run when it is joined. */
static void one_life(void) {
    owner_t owner = { .slot = torture_slot, .seed = below(UINT32_MAX), .sets_anew = one_in(3) };
    pthread_t thread = start_thread(come_and_go, &owner);
    wait_until(LOAD(&owner.is_set));
    if (owner.seed % 3 == 2) CHECK_EQ(pthread_cancel(thread), 0);
    CHECK((join_thread(thread) == PTHREAD_CANCELED) == (owner.seed % 3 == 2));
    CHECK_EQ(owner.ended, owner.made);
}

/* This thread's own values stay, among all that comes and goes, and are destroyed at its end. */
static void *live_on(void *context) {
    owner_t *owner = &((owner_t *)context)[torture_slot];
    *owner = (owner_t){ .slot = torture_slot, .seed = below(UINT32_MAX), .sets_anew = one_in(2) };
    be(owner);
    for (uint32_t which = 0; which < SLOTS; which++) open_one((which + (uint32_t)torture_slot) % SLOTS);
    while (!stopped()) {
        uint32_t which = (uint32_t)below(SLOTS);
        value_t *value = csk_tls_get(slot_of(which));
        if (value != NULL) CHECK(value->owner == owner && value->which == which && LOAD(&value->state) == ALIVE);
        switch (below(8)) {
        case 0: open_one(which); break;
        case 1: take_away(which); break;
        case 2:
        case 3: set_value(which); break;
        default: one_life();
        }
    }
    return NULL;
}

void torture_tls(void) {
    static struct crowd workers;
    owner_t *owners = calloc(TORTURE_MAX_THREADS + 8, sizeof *owners);
    CHECK(owners != NULL);
    made = ended = 0;
    crowd_start(&workers, torture_threads, live_on, owners);
    torture_wait();
    STORE(&torture_stop, 1);
    crowd_join(&workers);
    for (int i = 0; i < TORTURE_MAX_THREADS + 8; i++) CHECK_EQ(owners[i].ended, owners[i].made);
    CHECK_EQ(LOAD(&ended), LOAD(&made));
    for (int i = 0; i < SLOTS; i++) CHECK(csk_tls_get(slots[i]) == NULL);
    free(owners);
}
