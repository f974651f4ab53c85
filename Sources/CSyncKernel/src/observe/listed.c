/* listed.c: the objects at which callbacks wait, and the suspended queues. See listed.h. */
#include "observe/listed.h"

#include "observe/subscriber.h"
#include "wait/waits.h"

#ifndef CSK_LISTED_PARTS /* the explorer has fewer */
enum { CSK_LISTED_PARTS = 32, CSK_LISTED_IN_PART = CSK_INSPECT_LISTED / CSK_LISTED_PARTS };
#endif

typedef struct {
    const void *object;
    uint32_t kind;
    uint32_t callbacks; /* how many wait */
} entry_t;

typedef struct {
    uint32_t lock;
    uint32_t used;      /* entries, without gaps; changed under the lock */
    uint32_t queues;    /* of these: suspended queues; changed under the lock */
    const void *pinned; /* see listed.h */
    uint32_t unpinned;  /* how often that ended: a park word */
    entry_t entries[CSK_LISTED_IN_PART];
} part_t;

CSK_STATIC_ASSERT(sizeof((csk_listed_cursor_t *)0)->found / sizeof((csk_listed_cursor_t *)0)->found[0] >=
                      CSK_LISTED_IN_PART,
                  "a cursor has room for a part");

static part_t parts[CSK_LISTED_PARTS];
static uint64_t refused;

/* How many want the list is counted in the word of works itself. Once there is no room for more, it stays on. */
void csk_inspect_callbacks(bool on) {
    uint16_t *wanted = &csk_told.of_works.each[TOLD_WORK_BY_PROGRAM], before = csk_load(wanted, CSK_RELAXED), after;
    if (on) csk_subscribe();
    do after = (uint16_t)(before == UINT16_MAX ? before : on ? before + 1 : before - (before != 0));
    while (!csk_cas(wanted, &before, after, CSK_RELAXED));
    csk_tell_program(before != 0, after != 0);
}

uint64_t csk_listed_refused(void) { return csk_load(&refused, CSK_RELAXED); }

static part_t *part_of(const void *object) {
    uint64_t hash = (uint64_t)(uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    return &parts[hash % CSK_LISTED_PARTS];
}

static void begin_in_child(part_t *part) {
    csk_store(&part->used, 0u, CSK_RELAXED);
    csk_store(&part->queues, 0u, CSK_RELAXED);
    csk_store(&part->pinned, NULL, CSK_RELAXED);
}
static void lock(part_t *part) {
    if (CSK_UNLIKELY(csk_queue_lock(&part->lock))) begin_in_child(part);
}

/* Called under the lock. */
static entry_t *find(part_t *part, const void *object) {
    for (uint32_t i = 0; i < part->used; i++)
        if (part->entries[i].object == object) return &part->entries[i];
    return NULL;
}

bool csk_listed_add(const void *object, uint32_t object_kind) {
    part_t *part = part_of(object);
    lock(part);
    entry_t *entry = find(part, object);
    if (entry == NULL && part->used < CSK_LISTED_IN_PART) {
        entry = &part->entries[part->used];
        csk_store(&part->used, part->used + 1, CSK_RELAXED);
        *entry = (entry_t){ .object = object, .kind = object_kind };
        if (object_kind == CSK_OBJECT_WORKQUEUE) csk_store(&part->queues, part->queues + 1, CSK_RELAXED);
    }
    if (entry != NULL) entry->callbacks++;
    csk_queue_unlock(&part->lock);
    if (entry == NULL) csk_fetch_add(&refused, UINT64_C(1), CSK_RELAXED);
    return entry != NULL;
}

void csk_listed_take_off(const void *object) {
    part_t *part = part_of(object);
    lock(part);
    entry_t *entry;
    for (;;) {
        /* The count comes first: a thread that sees the old count before the end of the pin is woken, or does not go to
         * sleep. */
        uint32_t seen = csk_load(&part->unpinned, CSK_ACQUIRE);
        entry = find(part, object);
        bool is_last = entry != NULL && entry->callbacks == 1;
        if (!is_last || csk_load(&part->pinned, CSK_ACQUIRE) != object) break;
        csk_queue_unlock(&part->lock);
        csk_platform_park(&part->unpinned, seen, CSK_NEVER);
        lock(part);
    }
    if (entry != NULL && --entry->callbacks == 0) {
        if (entry->kind == CSK_OBJECT_WORKQUEUE) csk_store(&part->queues, part->queues - 1, CSK_RELAXED);
        *entry = part->entries[part->used - 1];
        csk_store(&part->used, part->used - 1, CSK_RELAXED);
    }
    csk_queue_unlock(&part->lock);
}

bool csk_listed_has_callbacks(void) {
    for (uint32_t i = 0; i < CSK_LISTED_PARTS; i++)
        if (csk_load(&parts[i].used, CSK_RELAXED) != csk_load(&parts[i].queues, CSK_RELAXED)) return true;
    return false;
}

/* ---- The reader -------------------------------------------------------------------------------------------------- */

static bool try_lock(part_t *part, int64_t until_ns) {
    enum csk_tried tried = csk_waits_try_or_take_over(NULL, &part->lock, until_ns);
    if (tried == CSK_TAKEN_OVER) begin_in_child(part);
    return tried;
}

static void unpin(part_t *part) {
    if (csk_load(&part->pinned, CSK_RELAXED) == NULL) return;
    csk_store(&part->pinned, NULL, CSK_RELEASE);
    csk_fetch_add(&part->unpinned, 1u, CSK_RELEASE);
    csk_platform_wake(&part->unpinned, INT32_MAX);
}

/* Copies which objects the part lists, since its entries move. */
static bool look_into(csk_listed_cursor_t *cursor, int64_t until_ns) {
    part_t *part = &parts[cursor->part];
    cursor->at = cursor->count = 0;
    if (!try_lock(part, until_ns)) return false;
    for (uint32_t i = 0; i < part->used; i++) cursor->found[i] = part->entries[i].object;
    cursor->count = part->used;
    csk_queue_unlock(&part->lock);
    return true;
}

/* Returns false where the object is not listed any more, or the lock could not be had. By now an object of another kind
 * may stand at its address. */
static bool pin(part_t *part, csk_listed_t *listed, int64_t until_ns, bool *busy) {
    if (!try_lock(part, until_ns)) {
        *busy = true;
        return false;
    }
    const entry_t *entry = find(part, listed->object);
    if (entry != NULL) {
        listed->kind = entry->kind;
        csk_store(&part->pinned, listed->object, CSK_RELAXED);
    }
    csk_queue_unlock(&part->lock);
    return entry != NULL;
}

bool csk_listed_next(csk_listed_cursor_t *cursor, csk_listed_t *listed, int64_t until_ns, bool *busy) {
    for (;; cursor->part++, cursor->count = cursor->at = 0) {
        if (cursor->part == CSK_LISTED_PARTS) return false;
        part_t *part = &parts[cursor->part];
        unpin(part);
        if (cursor->at == 0 && !look_into(cursor, until_ns)) *busy = true;
        while (cursor->at < cursor->count) {
            listed->object = cursor->found[cursor->at++];
            if (pin(part, listed, until_ns, busy)) return true;
        }
    }
}
