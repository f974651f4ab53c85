/* profile.c: the table of the contention profile. See profile.h. */
#include "observe/profile.h"

#include "base/report.h"
#include "observe/slots.h"
#include "base/text.h"

#include <string.h>

enum { STACKS = 8192, NAMES = 4096, NAME_SIZE = CSK_TEXT_ROOM, ENTRIES = 16384 };

typedef struct {
    csk_slot_t slot;
    uint32_t depth;
    uintptr_t frames[CSK_STACK_DEPTH];
} stack_slot_t;

typedef struct {
    csk_slot_t slot;
    char name[NAME_SIZE];
} name_slot_t;

typedef struct {
    csk_slot_t slot;
    uint32_t stack; /* the number of the slot, plus 1 */
    uint32_t name;  /* the same, or 0 */
    uint32_t kind;  /* the side, and the kind of waiter times 2 */
    int32_t priority;
    uint64_t contentions; /* in steps of 1 / STEPS */
    uint64_t delay_ns;
} entry_slot_t;

static const double steps = 1 << 20;

typedef struct {
    stack_slot_t stacks[STACKS];
    name_slot_t names[NAMES];
    entry_slot_t entries[ENTRIES];
    uint64_t lost;
} table_t;

static int64_t least_kept_ns; /* the threshold */
static void *mapped;

static table_t *the_table(void) { return csk_slots_table(&mapped); }

int csk_profile_start(int64_t threshold_ns) {
    if (threshold_ns < 1) return EINVAL;
    int error = csk_slots_map(&mapped, sizeof(table_t), true);
    if (error != 0) return error;
    csk_store(&least_kept_ns, threshold_ns, CSK_RELAXED);
    csk_counting_begin(CSK_COUNTS_PROFILE);
    return 0;
}

bool csk_profile_is_running(void) { return csk_profile_is_on(); }

void csk_profile_stop(void) { csk_counting_end(CSK_COUNTS_PROFILE); }

uint32_t csk_profile_stack_number(const csk_stack_t *stack) {
    table_t *in = the_table();
    if (CSK_UNLIKELY(in == NULL)) return 0;
    uint64_t hash = stack->depth;
    for (uint32_t i = 0; i < stack->depth; i++) hash = csk_slot_mix(hash ^ stack->frames[i]);
    bool is_new;
    uint32_t number = csk_slot_claim(in->stacks, sizeof in->stacks[0], STACKS, hash, &is_new);
    if (is_new) {
        stack_slot_t *slot = &in->stacks[number - 1];
        slot->depth = stack->depth;
        memcpy(slot->frames, stack->frames, stack->depth * sizeof stack->frames[0]);
        csk_slot_become_ready(&slot->slot);
    }
    return number;
}

uint32_t csk_profile_name_number(const void *object, uint32_t object_kind) {
    char name[NAME_SIZE];
    if (CSK_UNLIKELY(the_table() == NULL) || !csk_observe_find_name(object, object_kind, name, sizeof name)) return 0;
    return csk_profile_number_of_name(name);
}

uint32_t csk_profile_number_of_name(const char *whole_name) {
    table_t *in = the_table();
    if (CSK_UNLIKELY(in == NULL) || whole_name[0] == 0) return 0;
    char name[NAME_SIZE];
    csk_copy_text(name, sizeof name, whole_name);
    csk_make_utf8(name);
    uint64_t hash = csk_slot_hash_text(1, name);
    bool is_new;
    uint32_t number = csk_slot_claim(in->names, sizeof in->names[0], NAMES, hash, &is_new);
    if (is_new) {
        strcpy(in->names[number - 1].name, name);
        csk_slot_become_ready(&in->names[number - 1].slot);
    }
    return number;
}

static __thread const void *suspended __attribute__((tls_model("initial-exec")));

void csk_profile_suspend(const void *context) { suspended = context; }

__attribute__((noinline)) static uint32_t stack_of_thread(void) {
    csk_stack_t stack;
    csk_stack_take(&stack);
    return csk_profile_stack_number(&stack);
}

__attribute__((noinline)) uint32_t csk_profile_stack_of_waiter(void) {
    if (suspended == NULL) return stack_of_thread();
    csk_stack_t stack;
    csk_stack_take_suspended(&stack, suspended);
    return csk_profile_stack_number(&stack);
}

/* SplitMix64 (Steele, Lea, Flood, 2014). Each thread has its variable at another address, and begins where that and the
 * clock say. */
uint64_t csk_profile_draw(void) {
    static _Thread_local uint64_t dice __attribute__((tls_model("initial-exec")));
    if (CSK_UNLIKELY(dice == 0)) dice = csk_slot_mix((uintptr_t)&dice ^ (uint64_t)csk_platform_now());
    return csk_slot_mix(dice += UINT64_C(0x9E3779B97F4A7C15));
}

bool csk_profile_keeps(int64_t waited_ns, csk_profile_sample_t *sample) {
    int64_t threshold_ns = csk_load(&least_kept_ns, CSK_RELAXED);
    *sample = (csk_profile_sample_t){ .contentions = 1, .delay_ns = waited_ns };
    if (waited_ns >= threshold_ns) return waited_ns > 0;
    if (waited_ns <= 0 || csk_profile_draw() % (uint64_t)threshold_ns >= (uint64_t)waited_ns) return false;
    *sample = (csk_profile_sample_t){
        .contentions = (double)threshold_ns / (double)waited_ns,
        .delay_ns = threshold_ns,
    };
    return true;
}

void csk_profile_add(const csk_profile_key_t *key, const csk_profile_sample_t *sample) {
    table_t *in = the_table();
    if (CSK_UNLIKELY(in == NULL)) return;
    int32_t priority = (int32_t)(key->rank >> 2);
    uint32_t kind = key->side | key->waiter << 1;
    uint64_t hash = csk_slot_mix((uint64_t)key->stack << 32 ^ (uint32_t)priority);
    hash = csk_slot_mix(hash ^ ((uint64_t)key->name << 32 ^ kind));
    bool is_new = false;
    uint32_t number = key->stack != 0 ? csk_slot_claim(in->entries, sizeof in->entries[0], ENTRIES, hash, &is_new) : 0;
    if (number == 0) {
        csk_fetch_add(&in->lost, UINT64_C(1), CSK_RELAXED);
        return;
    }
    entry_slot_t *slot = &in->entries[number - 1];
    if (is_new) {
        slot->stack = key->stack;
        slot->name = key->name;
        slot->kind = kind;
        slot->priority = priority;
        csk_slot_become_ready(&slot->slot);
    }
    csk_fetch_add(&slot->contentions, (uint64_t)(sample->contentions * steps), CSK_RELAXED);
    csk_fetch_add(&slot->delay_ns, (uint64_t)sample->delay_ns, CSK_RELAXED);
}

void csk_profile_count(const csk_profile_key_t *key, int64_t waited_ns) {
    csk_profile_sample_t sample;
    if (csk_profile_keeps(waited_ns, &sample)) csk_profile_add(key, &sample);
}

__attribute__((noinline)) void csk_profile_waited(const void *object, uint32_t object_kind, csk_rank_t rank,
                                                  int64_t since_ns, uint32_t one_in) {
    csk_profile_sample_t sample;
    if (!csk_profile_keeps(csk_platform_now() - since_ns, &sample)) return;
    sample.contentions *= one_in;
    sample.delay_ns *= one_in;
    csk_profile_key_t key = { .side = CSK_PROFILE_WAITED, .waiter = CSK_PROFILE_THREAD, .rank = rank };
    key.stack = stack_of_thread();
    key.name = csk_profile_name_number(object, object_kind);
    csk_profile_add(&key, &sample);
}

__attribute__((noinline)) void csk_profile_let_in(uint32_t waiter, csk_rank_t rank, int64_t waited_ns, bool again,
                                                  double weight) {
    csk_profile_sample_t sample;
    if (!csk_profile_keeps(waited_ns, &sample)) return;
    sample.contentions *= again ? 0 : weight;
    sample.delay_ns = (int64_t)((double)sample.delay_ns * weight);
    csk_profile_key_t key = { .side = CSK_PROFILE_LET_IN, .waiter = waiter, .rank = rank };
    key.stack = stack_of_thread();
    csk_profile_add(&key, &sample);
}

void csk_profile_read(void (*each)(const csk_profile_entry_t *, void *), void *context) {
    table_t *in = the_table();
    if (in == NULL) return;
    for (uint32_t i = 0; i < ENTRIES; i++) {
        const entry_slot_t *slot = &in->entries[i];
        if (!csk_slot_is_ready(&slot->slot)) continue;
        const stack_slot_t *stack = &in->stacks[slot->stack - 1];
        if (!csk_slot_is_ready(&stack->slot)) continue;
        const name_slot_t *name = slot->name != 0 ? &in->names[slot->name - 1] : NULL;
        if (name != NULL && !csk_slot_is_ready(&name->slot)) continue;
        csk_profile_entry_t entry = {
            .side = slot->kind & 1,
            .waiter = slot->kind >> 1,
            .priority = slot->priority,
            .depth = stack->depth,
            .frames = stack->frames,
            .name = name != NULL ? name->name : NULL,
            .contentions = (double)csk_load(&slot->contentions, CSK_RELAXED) / steps,
            .delay_ns = (int64_t)csk_load(&slot->delay_ns, CSK_RELAXED),
        };
        each(&entry, context);
    }
}

uint64_t csk_profile_lost(void) {
    table_t *in = the_table();
    return in != NULL ? csk_load(&in->lost, CSK_RELAXED) : 0;
}
