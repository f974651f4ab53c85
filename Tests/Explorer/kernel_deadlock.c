/* kernel_deadlock.c: the kernel's deadlock.c with small tables. A view shows nothing, and asks where tasks go on; so no
 * circle is found. */
#define CSK_DEADLOCK_SIZES
enum {
    DEADLOCK_OBJECTS = 1,
    DEADLOCK_WAITERS = 1,
    DEADLOCK_WORKERS = 1,
    DEADLOCK_HOLDERS = 1,
    DEADLOCK_EDGES = 1,
    DEADLOCK_CYCLES = 1
};

#include <string.h>

#include "explorer.h"
#include "observe/deadlock.h"

static int show_nothing(csk_inspection_t *view, csk_look_more_t *more) {
    (void)view;
    if (more->context_of != NULL) more->context_of(1);
    return 0;
}
static void find_no_cycles(deadlock_tables_t *of) { of->cycle_count = 0; }
static bool was_told(const deadlock_tables_t *of, uint64_t hash) { return of->told_count != 0 && of->told[0] == hash; }
static uint64_t hash_wait(const csk_inspected_waiter_t *waiter, const void *object) {
    return waiter->wait + (uintptr_t)object;
}
static void write_text(const deadlock_kept_t *found, char *text, size_t size) {
    (void)found;
    if (size != 0) text[0] = 0;
}
static void name_thread(int32_t thread_id, char *name, size_t size) {
    (void)thread_id;
    if (size != 0) name[0] = 0;
}
static int map_tables(void **table, size_t size, bool wipes);

#define csk_inspect_more show_nothing
#define csk_deadlock_find_cycles find_no_cycles
#define csk_deadlock_was_told was_told
#define csk_deadlock_hash_wait hash_wait
#define csk_deadlock_write_text write_text
#define csk_platform_thread_name name_thread
#define csk_slots_map map_tables
#include "observe/deadlock.c"
#include "observe/deadlock_views.c"

#include "internal.h"

/* Larger than the memory of a schedule, and used by few clients. */
static deadlock_tables_t memory;
static bool is_used;

EXPLORE_UNSEEN static int map_tables(void **table, size_t size, bool wipes) {
    void *known = csk_slots_table(table);
    (void)size, (void)wipes;
    is_used = true;
    if (known == NULL && !csk_cas(table, &known, &memory, CSK_RELEASE)) (void)csk_slots_table(table);
    return 0;
}

void kernel_reset_deadlock(void) {
    watch = (__typeof__(watch)){ 0 };
    tables = NULL;
    view_of_callbacks_ns = 0;
    kept = (__typeof__(kept)){ 0 };
    context_of_task = NULL;
    if (is_used) memset(&memory, 0, sizeof memory);
    is_used = false;
}
