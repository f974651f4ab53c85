/* deadlock.h: what the parts of the deadlock watch share: see docs/design/deadlock.md. All of it belongs to the
 * watchdog's thread, but for `kept`. */
#ifndef CSK_INTERNAL_DEADLOCK_H
#define CSK_INTERNAL_DEADLOCK_H

#include "csynckernel/deadlock.h"
#include "csynckernel/pool.h"
#include "observe/inspect.h"
#include "observe/output.h"

/* The explorer has smaller tables. */
#ifndef CSK_DEADLOCK_SIZES
enum {
    DEADLOCK_OBJECTS = 1024,
    DEADLOCK_WAITERS = 8192,
    DEADLOCK_WORKERS = CSK_POOL_THREADS_MAX,
    DEADLOCK_HOLDERS = 16384,
    DEADLOCK_EDGES = 32768,
    DEADLOCK_CYCLES = 32 /* in one view */
};
#endif
enum { DEADLOCK_TOLD = 1024, DEADLOCK_HASHES = 2 * DEADLOCK_WAITERS, DEADLOCK_TEXT = 2048 };

/* One waits for the other. */
typedef struct {
    uint32_t to, next; /* next: of the same waiter; 0 ends, the others are 1 + their index */
} deadlock_edge_t;

typedef struct {
    uint64_t hash;    /* of its waits and objects */
    int64_t since_ns; /* when the first of its waits began */
    uint32_t views;
    uint32_t count;                         /* of parties, of which the first CSK_DEADLOCK_PARTIES are here */
    uint32_t waiters[CSK_DEADLOCK_PARTIES]; /* as indices of the view */
} deadlock_cycle_t;

typedef struct {
    uint32_t count;
    csk_deadlock_party_t parties[CSK_DEADLOCK_PARTIES];
} deadlock_kept_t;

typedef struct {
    csk_inspection_t view;
    csk_look_more_t more;
    bool lacks_view; /* another thread took one for too long: this one shows nothing */
    csk_inspected_object_t objects[DEADLOCK_OBJECTS];
    csk_inspected_waiter_t waiters[DEADLOCK_WAITERS];
    csk_inspected_worker_t workers[DEADLOCK_WORKERS];
    csk_look_holder_t holders[DEADLOCK_HOLDERS];
    /* The graph of a view. */
    uint32_t first_holder[DEADLOCK_OBJECTS], next_holder[DEADLOCK_HOLDERS]; /* 1 + an index; 0: none */
    uint32_t first_edge[DEADLOCK_WAITERS], edge_count;
    deadlock_edge_t edges[DEADLOCK_EDGES];
    /* 1 + the index of a waiter. */
    uint32_t by_thread[DEADLOCK_HASHES], by_task[DEADLOCK_HASHES];
    uint32_t came_by[DEADLOCK_WAITERS], line[DEADLOCK_WAITERS]; /* of a search */
    uint8_t in_cycle[DEADLOCK_WAITERS];
    /* Of this view, and of the one before. */
    deadlock_cycle_t cycles[DEADLOCK_CYCLES], before[DEADLOCK_CYCLES];
    uint32_t cycle_count, before_count;
    uint64_t told[DEADLOCK_TOLD], told_count; /* hashes, the oldest replaced first */
    csk_look_wanted_t wanted[DEADLOCK_CYCLES * CSK_DEADLOCK_PARTIES];
    csk_stack_t stacks[DEADLOCK_CYCLES * CSK_DEADLOCK_PARTIES];
    deadlock_kept_t made[DEADLOCK_CYCLES]; /* the reports that are being made */
    uint32_t made_count;
    deadlock_kept_t kept[CSK_DEADLOCKS_KEPT]; /* under the lock of deadlock.c */
} deadlock_tables_t;

/* How many parties of so many are kept. */
static inline uint32_t csk_deadlock_known(uint32_t parties) {
    return parties < CSK_DEADLOCK_PARTIES ? parties : CSK_DEADLOCK_PARTIES;
}

/* Whether what has that hash was reported. */
bool csk_deadlock_was_told(const deadlock_tables_t *tables, uint64_t hash);

/* deadlock_graph.c: finds the circles of the view: each waiter that is in one is in one that is found or was
 * reported. */
void csk_deadlock_find_cycles(deadlock_tables_t *tables);
/* The waiter of the view that is that thread's; NULL: it does not wait, or has a deadline. */
const csk_inspected_waiter_t *csk_deadlock_waiter_of(const deadlock_tables_t *tables, int32_t thread_id);
uint64_t csk_deadlock_hash_wait(const csk_inspected_waiter_t *waiter, const void *object);

/* deadlock_views.c. A circle that so many views in a row have shown is a deadlock. */
enum { DEADLOCK_VIEWS = 3 };
static inline bool csk_deadlock_is_certain(const deadlock_cycle_t *cycle) { return cycle->views >= DEADLOCK_VIEWS; }
/* Counts in how many views in a row each circle was seen, of those in which a wait is `after_ns` old, and leaves the
 * others out. Returns whether some were seen too rarely so far. A view that is lacking ends no row, and another is
 * wanted soon. */
bool csk_deadlock_count_views(deadlock_tables_t *tables, int64_t after_ns);
void csk_deadlock_note_told(deadlock_tables_t *tables, uint64_t hash);

typedef struct {
    const void *queue;
    int64_t since_ns;
    int32_t thread_id;
    char name[CSK_INSPECT_NAME];
} deadlock_stalled_t;
/* Whether work or callers stand behind the work of a serial queue which itself waits for so long, by that holder; once
 * for each wait. */
bool csk_deadlock_finds_stalled(deadlock_tables_t *tables, uint32_t holder, int64_t after_ns,
                                deadlock_stalled_t *stalled);

/* deadlock_text.c. "thread 71 waits for thread 72 at mutex "users" 0x...": the party `at` of `count`, of which the
 * first CSK_DEADLOCK_PARTIES are there. */
void csk_deadlock_add_wait(csk_line_t *line, const csk_deadlock_party_t *parties, uint32_t at, uint32_t count);
/* One line that names all parties. */
void csk_deadlock_write_text(const deadlock_kept_t *found, char *text, size_t size);

#endif
