/* mutex_fuzz.c: the mutex, and gates used recursively, by two threads that take turns, against an owner and a depth. */
#include "fuzz.h"

enum { OBJECTS = 3, NOBODY = -1 }; /* a mutex, a FAST or COMPACT gate, a STRICT one */
static csk_mutex_t mutex;
static csk_gate_t gates[OBJECTS]; /* the first is not used */

static struct {
    int owner;
    uint32_t depth; /* levels beyond the first */
} model[OBJECTS];

typedef struct {
    int object, operation;
} call_t;

static csk_gate_t *gate_of(int object) { return object == 0 ? &mutex.gate : &gates[object]; }

static void make(int object) {
    int how = fuzz_below(2);
    csk_gate_attr_t attr = { .policy = object == 2 ? CSK_GATE_STRICT : how == 0 ? CSK_GATE_FAST : CSK_GATE_COMPACT };
    memset(gate_of(object), 0, sizeof(csk_gate_t));
    if (object == 0 && how == 1) fuzz_expect_status("csk_mutex_init", csk_mutex_init(&mutex), 0);
    if (object != 0) fuzz_expect_status("csk_gate_init", csk_gate_init(gate_of(object), &attr), 0);
    model[object].owner = NOBODY;
    model[object].depth = 0;
}

static int lock_real(int object, int64_t deadline_ns) {
    if (object != 0) return csk_gate_lock_recursive(&gates[object], fuzz_priority(), deadline_ns);
    return deadline_ns == CSK_NEVER ? csk_mutex_lock(&mutex) : csk_mutex_timedlock(&mutex, deadline_ns);
}

/* What taking it does at once; `otherwise` when another has it. */
static int model_lock(int object, int otherwise) {
    int self = fuzz_actor();
    if (model[object].owner != NOBODY && model[object].owner != self) return otherwise;
    if (model[object].owner == self) {
        if (model[object].depth == UINT32_MAX) return EAGAIN;
        model[object].depth++;
    }
    model[object].owner = self;
    return 0;
}

static void lock(int object, int ticks) {
    int64_t end = fuzz_tick() + ticks;
    int expected = model_lock(object, ETIMEDOUT);
    int64_t deadline_ns = expected != ETIMEDOUT && ticks == 3 ? CSK_NEVER : fuzz_deadline(end, 0);
    if (expected != ETIMEDOUT || ticks < 0) end = fuzz_tick();
    fuzz_note("%" PRId64 "/%d: %d: lock, %d ticks", fuzz_tick(), fuzz_actor(), object, ticks);
    fuzz_expect_status("timed lock", lock_real(object, deadline_ns), expected);
    fuzz_expect("tick at the end of a timed lock", fuzz_tick(), end);
}

static void try_lock(int object) {
    fuzz_note("%" PRId64 "/%d: %d: trylock", fuzz_tick(), fuzz_actor(), object);
    if (object == 0) {
        fuzz_expect_status("csk_mutex_trylock", csk_mutex_trylock(&mutex), model_lock(object, EBUSY));
        return;
    }
    fuzz_expect_status("csk_gate_trylock_recursive", csk_gate_trylock_recursive(&gates[object], fuzz_priority()),
                       model_lock(object, EBUSY));
}

static void unlock(int object) {
    fuzz_note("%" PRId64 "/%d: %d: unlock", fuzz_tick(), fuzz_actor(), object);
    int expected = model[object].owner == fuzz_actor() ? 0 : EPERM;
    if (expected == 0) {
        if (model[object].depth != 0) model[object].depth--;
        else model[object].owner = NOBODY;
    }
    int status = object == 0 ? csk_mutex_unlock(&mutex) : csk_gate_unlock_recursive(&gates[object]);
    fuzz_expect_status("unlock", status, expected);
}

static void destroy(int object) {
    fuzz_note("%" PRId64 "/%d: %d: destroy", fuzz_tick(), fuzz_actor(), object);
    int status = object == 0 ? csk_mutex_destroy(&mutex) : csk_gate_destroy(&gates[object]);
    fuzz_expect_status("destroy", status, model[object].owner == NOBODY ? 0 : EBUSY);
    if (status == 0) make(object);
}

/* Nobody waits while four billion levels are taken. */
static void deepen(int object) {
    if (model[object].owner != fuzz_actor()) return;
    fuzz_note("%" PRId64 "/%d: %d: depth set near its end", fuzz_tick(), fuzz_actor(), object);
    gate_of(object)->depth = model[object].depth = UINT32_MAX - 1;
}

static void perform(void *context) {
    const call_t *call = context;
    switch (call->operation) {
    case 0: lock(call->object, fuzz_below(5) - 1); break;
    case 1: try_lock(call->object); break;
    case 2:
    case 3: unlock(call->object); break;
    case 4: destroy(call->object); break;
    case 5: deepen(call->object); break;
    }
    fuzz_expect("csk_gate_is_mine", csk_gate_is_mine(gate_of(call->object)), model[call->object].owner == fuzz_actor());
}

static void leave(void *context) { unlock(((call_t *)context)->object); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_begin(data, size);
    for (int object = 0; object < OBJECTS; object++) make(object);
    while (!fuzz_at_end()) {
        uint8_t byte = fuzz_byte();
        call_t call = { (byte >> 1) % OBJECTS, fuzz_below(6) };
        fuzz_call_on(byte & 1, perform, &call);
    }
    for (int object = 0; object < OBJECTS; object++) {
        call_t call = { object, 0 };
        if (model[object].depth > 1000) model[object].depth = gate_of(object)->depth = 1;
        while (model[object].owner != NOBODY) fuzz_call_on(model[object].owner, leave, &call);
        destroy(object);
    }
    return 0;
}
