/* order.c: what each thread holds, the classes of objects, and what the locks tell. See docs/design/order.md. */
#include "observe/order.h"

#include "base/report.h"
#include "base/ordering.h"
#include "csynckernel/observe.h"
#include "thread/thread_exit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROBES = 32, CHAIN_PROBES = 8 };

#define WHAT_CLASS UINT64_C(0xffffffff)
#define WHAT_LEVEL_SHIFT 32
#define WHAT_LEVEL (UINT64_C(15) << WHAT_LEVEL_SHIFT)
#define WHAT_IGNORED (UINT64_C(1) << 40)
#define WHAT_UNCOVERED (UINT64_C(1) << 41)
#define WHAT_USED (UINT64_C(1) << 42)      /* since it was given a level, or left out */
#define WHAT_BEGINNING (UINT64_C(1) << 48) /* above: how many objects have begun at the address */

typedef struct {
    const void *object;
    uint64_t chain; /* of the classes from the first to this one */
    uint32_t class;
} held_t;

typedef struct {
    uint32_t depth;
    bool reports; /* a reporter runs on this thread: what it enters is not checked */
    held_t held[CSK_ORDER_DEPTH];
} list_t;

static uint32_t is_on;
static _Thread_local list_t *mine __attribute__((tls_model("initial-exec")));

static void count_lost(void) { csk_fetch_add(&csk_order_tables->counts.lost, UINT64_C(1), CSK_RELAXED); }

static void thread_ends(void) {
    free(mine);
    mine = NULL;
}

static __attribute__((noinline)) list_t *make_list(void) {
    if (csk_thread_exit_enroll(CSK_THREAD_EXIT_ORDER, thread_ends) == 0) mine = calloc(1, sizeof *mine);
    if (mine == NULL) count_lost();
    return mine;
}
static inline list_t *my_list(void) { return CSK_LIKELY(mine != NULL) ? mine : make_list(); }

/* ---- Objects and classes ----------------------------------------------------------------------------------------- */

/* NULL where there is no room for it, or nothing is known of it and it is not to be added. */
static __attribute__((noinline)) order_object_t *search_object(uint64_t address, uint64_t place, bool adds) {
    for (uint32_t probe = 0; probe < PROBES; probe++) {
        order_object_t *entry = &csk_order_tables->objects[(place + probe) % ORDER_OBJECTS];
        uint64_t found = csk_load(&entry->address, CSK_RELAXED);
        if (found == 0 && !adds) return NULL;
        if (found == 0 && csk_cas(&entry->address, &found, address, CSK_RELAXED)) return entry;
        if (found == address) return entry;
    }
    return NULL;
}
static inline order_object_t *find_or_add(const void *object, bool adds) {
    uint64_t address = (uint64_t)(uintptr_t)object, place = address * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    order_object_t *entry = &csk_order_tables->objects[place % ORDER_OBJECTS];
    return CSK_LIKELY(csk_load(&entry->address, CSK_RELAXED) == address) ? entry : search_object(address, place, adds);
}
static inline order_object_t *find_object(const void *object) { return find_or_add(object, true); }
static inline order_object_t *known_object(const void *object) { return find_or_add(object, false); }

static void write_text(const void *object, uint32_t kind, char text[ORDER_TEXT], bool *named) {
    *named = csk_observe_find_name(object, kind, text, ORDER_TEXT);
    if (!*named) snprintf(text, ORDER_TEXT, "object %p", object);
}

static void fill_class(order_class_t *class, const char *named, uint64_t level) {
    char text[ORDER_TEXT] = { 0 };
    size_t length = strnlen(named, ORDER_TEXT - 1);
    memcpy(text, named, length);
    if (level != 0 && length + 4 < ORDER_TEXT) snprintf(text + length, 4, "/%u", (unsigned)level);
    for (size_t i = 0; i < sizeof class->text / sizeof class->text[0]; i++) {
        uint64_t word;
        memcpy(&word, text + i * sizeof word, sizeof word);
        csk_store(&class->text[i], word, CSK_RELAXED);
    }
    csk_slot_become_ready(&class->slot);
}

/* Returns the number of its class; 0 where there is no room for one. */
static __attribute__((noinline)) uint32_t find_class(order_object_t *entry, const void *object, uint32_t kind,
                                                     uint64_t what) {
    char text[ORDER_TEXT];
    bool named, is_new;
    write_text(object, kind, text, &named);
    uint64_t level = (what & WHAT_LEVEL) >> WHAT_LEVEL_SHIFT, beginning = what / WHAT_BEGINNING;
    uint64_t hash = named ? csk_slot_hash_text(level + 1, text)
                          : csk_slot_mix(csk_slot_mix((uint64_t)(uintptr_t)object) + (level << 32) + beginning);
    order_tables_t *tables = csk_order_tables;
    uint32_t number = csk_slot_claim(tables->classes, sizeof *tables->classes, ORDER_CLASSES, hash, &is_new);
    if (number == 0) return 0;
    if (is_new) csk_fetch_add(&tables->counts.classes, UINT64_C(1), CSK_RELAXED);
    order_class_t *class = csk_order_class(number);
    if (!csk_slot_is_ready(&class->slot)) fill_class(class, text, level);
    /* If the object has begun anew or got a level meanwhile, its class is found at the next use. */
    csk_cas(&entry->what, &what, (what & ~WHAT_CLASS) | WHAT_USED | number, CSK_RELEASE);
    return number;
}

/* Returns 0 for an object that is ignored, or has no room. */
static inline uint32_t class_of(const void *object, uint32_t kind) {
    order_object_t *entry = find_object(object);
    if (CSK_UNLIKELY(entry == NULL)) {
        count_lost();
        return 0;
    }
    uint64_t what = csk_load(&entry->what, CSK_ACQUIRE);
    if (CSK_UNLIKELY(what & WHAT_IGNORED)) {
        if (!(what & WHAT_USED)) csk_fetch_or(&entry->what, WHAT_USED, CSK_RELAXED);
        return 0;
    }
    uint32_t class = (uint32_t)(what & WHAT_CLASS);
    if (CSK_LIKELY(class != 0)) return class;
    class = find_class(entry, object, kind, what);
    if (class == 0) count_lost();
    return class;
}

/* Changes what is known of an object that is there, or begins there next. Its class is to be found anew, and is none
 * that an object there had before. */
static int change(const void *object, uint64_t clears, uint64_t sets) {
    if (csk_load(&csk_order_tables, CSK_ACQUIRE) == NULL) return EAGAIN;
    order_object_t *entry = find_object(object);
    if (entry == NULL) return ENOBUFS;
    uint64_t what = csk_load(&entry->what, CSK_RELAXED);
    while (!csk_cas(&entry->what, &what, ((what & ~(clears | WHAT_CLASS | WHAT_USED)) | sets) + WHAT_BEGINNING,
                    CSK_RELAXED)) {}
    return 0;
}

/* ---- Chains ------------------------------------------------------------------------------------------------------ */

static inline uint64_t chain_with(const list_t *list, uint32_t class) {
    uint64_t before = list->depth != 0 ? list->held[list->depth - 1].chain : 0;
    uint64_t hash = (before ^ class) * UINT64_C(0x9e3779b97f4a7c15);
    return (hash ^ hash >> 29) + 1;
}

/* A chain that is not kept, since its part of the table is full, is looked at again each time. */
static void keep_chain(uint64_t chain) {
    order_tables_t *tables = csk_order_tables;
    for (uint32_t probe = 0; probe < CHAIN_PROBES; probe++) {
        uint64_t *place = &tables->chains[(chain + probe) % ORDER_CHAINS], found = 0;
        if (csk_cas(place, &found, chain, CSK_RELAXED)) {
            csk_fetch_add(&tables->counts.chains, UINT64_C(1), CSK_RELAXED);
            return;
        }
        if (found == chain) return;
    }
}
static inline bool is_kept(uint64_t chain) {
    for (uint32_t probe = 0; probe < CHAIN_PROBES; probe++) {
        uint64_t found = csk_load(&csk_order_tables->chains[(chain + probe) % ORDER_CHAINS], CSK_RELAXED);
        if (CSK_LIKELY(found == chain)) return true;
        if (found == 0) return false;
    }
    return false;
}

/* One that the thread has already, as with a recursive lock, makes no step with itself. Its chain would be that of two
 * objects of one class, which do, so it is not kept. */
static __attribute__((noinline)) void look_at_chain(list_t *list, const void *object, uint32_t kind, uint32_t class,
                                                    uint64_t chain) {
    char text[256];
    bool has_it = false;
    list->reports = true;
    for (uint32_t i = 0; i < list->depth; i++)
        if (list->held[i].object == object) has_it = true;
        else if (csk_order_add_step(list->held[i].class, class, text, sizeof text))
            csk_observe_report_circle(kind, object, text);
    list->reports = false;
    if (!has_it) keep_chain(chain);
}

/* ---- What locks report ------------------------------------------------------------------------------------------- */

/* A thread that holds something has found the tables when it entered that. */
static void comes(const void *object, uint32_t kind) {
    list_t *list = mine;
    if (list == NULL || list->depth == 0 || list->reports || !csk_load(&is_on, CSK_RELAXED)) return;
    uint32_t class = class_of(object, kind);
    if (class == 0) return;
    uint64_t chain = chain_with(list, class);
    if (CSK_UNLIKELY(!is_kept(chain))) look_at_chain(list, object, kind, class, chain);
}

static void entered(const void *object, uint32_t kind) {
    if (!csk_load(&is_on, CSK_RELAXED)) return;
    list_t *list = my_list();
    uint32_t class = list != NULL ? class_of(object, kind) : 0;
    if (class == 0) return;
    if (CSK_UNLIKELY(list->depth == CSK_ORDER_DEPTH)) {
        count_lost();
        return;
    }
    uint64_t chain = chain_with(list, class);
    list->held[list->depth++] = (held_t){ object, chain, class };
}

/* What is left is mostly what was entered last. The chains of those behind another one are made anew. */
static void leaves(const void *object) {
    list_t *list = mine;
    if (list == NULL) return;
    uint32_t place = list->depth;
    while (place > 0 && list->held[place - 1].object != object) place--;
    if (place == 0) return;
    uint32_t depth = list->depth;
    list->depth = place - 1;
    for (uint32_t i = place; i < depth; i++) {
        held_t next = list->held[i];
        next.chain = chain_with(list, next.class);
        list->held[list->depth++] = next;
    }
}

/* Whether the class is known to stand in no order with another: the next object at the address may have it as well. */
static bool class_is_unmet(uint64_t what) {
    uint32_t class = (uint32_t)(what & WHAT_CLASS);
    return class != 0 && csk_load(&csk_order_class(class)->has_steps, CSK_RELAXED) == 0;
}

/* What was said of the address since the object before was used is about this one. */
static void begins(const void *object) {
    order_object_t *entry = known_object(object);
    if (entry == NULL) return;
    uint64_t what = csk_load(&entry->what, CSK_RELAXED), fresh;
    do {
        uint64_t said = what & WHAT_USED ? 0 : what & (WHAT_LEVEL | WHAT_IGNORED);
        fresh = said | ((what & -WHAT_BEGINNING) + (class_is_unmet(what) ? 0 : WHAT_BEGINNING));
    } while (!csk_cas(&entry->what, &what, fresh, CSK_RELAXED));
}

static void uncovered(const void *object, uint32_t kind) {
    if (!csk_load(&is_on, CSK_RELAXED)) return;
    order_object_t *entry = find_object(object);
    if (entry == NULL || csk_load(&entry->what, CSK_RELAXED) & (WHAT_UNCOVERED | WHAT_IGNORED)) return;
    if (csk_fetch_or(&entry->what, WHAT_UNCOVERED, CSK_RELAXED) & WHAT_UNCOVERED) return;
    char text[ORDER_TEXT];
    bool named;
    write_text(object, kind, text, &named);
    uint64_t number = csk_fetch_add(&csk_order_tables->counts.uncovered, UINT64_C(1), CSK_RELAXED);
    if (number >= ORDER_UNCOVERED) return;
    order_uncovered_t *listed = &csk_order_tables->uncovered[number];
    memcpy(listed->text, text, strnlen(text, ORDER_TEXT - 1));
    csk_store(&listed->ready, 1u, CSK_RELEASE);
}

/* ---- The interface ----------------------------------------------------------------------------------------------- */

int csk_order_start(void) {
    static const csk_ordering_t told = { comes, entered, leaves, uncovered, begins };
    if (csk_slots_map((void **)&csk_order_tables, sizeof(order_tables_t), false) != 0) return ENOMEM;
    csk_store(&is_on, 1u, CSK_RELEASE);
    csk_store(&csk_ordering, &told, CSK_RELEASE);
    return 0;
}

/* Relaxed: a reader of this reads nothing else by it. */
void csk_order_stop(void) { csk_store(&is_on, 0u, CSK_RELAXED); }

int csk_order_level(const void *object, uint32_t level) {
    if (level > CSK_ORDER_LEVELS) return EINVAL;
    return change(object, WHAT_LEVEL, (uint64_t)level << WHAT_LEVEL_SHIFT);
}
int csk_order_ignore(const void *object) { return change(object, 0, WHAT_IGNORED); }

void csk_order_begins(const void *object) {
    if (csk_current_ordering() != NULL) begins(object);
}
void csk_order_comes(const void *object, uint32_t kind) { comes(object, kind); }
void csk_order_entered(const void *object, uint32_t kind) {
    if (csk_load(&is_on, CSK_ACQUIRE)) entered(object, kind);
}
void csk_order_leaves(const void *object) { leaves(object); }

void csk_order_count(csk_order_counts_t *counts) {
    memset(counts, 0, sizeof *counts);
    const order_tables_t *tables = csk_load(&csk_order_tables, CSK_ACQUIRE);
    if (tables == NULL) return;
    const csk_order_counts_t *known = &tables->counts;
    *counts = (csk_order_counts_t){ csk_load(&known->classes, CSK_RELAXED), csk_load(&known->steps, CSK_RELAXED),
                                    csk_load(&known->chains, CSK_RELAXED),  csk_load(&known->circles, CSK_ACQUIRE),
                                    csk_load(&known->lost, CSK_RELAXED),    csk_load(&known->uncovered, CSK_RELAXED) };
}

/* This runs when the library is loaded. */
__attribute__((constructor(102))) static void begin(void) {
    const char *wanted = getenv("CSK_LOCK_ORDER");
    if (wanted != NULL && strcmp(wanted, "1") == 0) (void)csk_order_start();
}
