#include "readwrite/reads.h"

#include "base/list.h"
#include "thread/thread_exit.h"
#include "wait/queue_lock.h"
#include "wait/waits.h"

#include <stdlib.h>
#include <string.h>

__thread csk_reads_t *csk_my_reads __attribute__((tls_model("initial-exec")));

/* Writers look at the records that threads have, under the lock, so what they pay follows the threads that live. In a
 * child of fork the two lists may be torn, and are made anew from the third. */
static struct {
    uint32_t lock;
    csk_reads_t *owned;  /* a thread has them, or has ended with reads in them */
    csk_reads_t *spare;  /* they are unused and empty */
    csk_reads_t *newest; /* all of them; complete at any moment, since one store adds a record */
} all;

CSK_LIST(records, csk_reads_t, next, previous);

/* A thread that got no record has this one instead, for the inline functions, which look into a thread's record without
 * asking whether there is one. Nothing stands in it, and it has no room. */
static csk_reads_t no_record = { .used = READS_IN_RECORD };

/* Returns the record's read of this lock, of which there is one at most; for NULL an unused one. Or NULL. Acquire: what
 * a reader did before it left is over. */
static csk_read_t *read_in(csk_reads_t *record, const csk_rwlock_t *lock) {
    for (int i = 0; i < READS_IN_RECORD; i++)
        if (csk_load(&record->reads[i].lock, CSK_ACQUIRE) == lock) return &record->reads[i];
    return NULL;
}

static bool is_empty(const csk_reads_t *record) {
    for (int i = 0; i < READS_IN_RECORD; i++)
        if (csk_load(&record->reads[i].lock, CSK_RELAXED) != NULL) return false;
    return true;
}

/* Where the lock-order checker is on, the first place of a thread's first record is never free. So no inline entry of
 * the thread finds its record empty, and no inline exit finds its lock there. */
#ifdef CSK_LOCK_ORDER
static const csk_rwlock_t nobodys;
static inline csk_read_t *first_place(csk_reads_t *record) {
    csk_store(&record->reads[0].lock, &nobodys, CSK_RELAXED);
    record->used = 2;
    return &record->reads[1];
}
static inline void give_up_first_place(csk_reads_t *record) {
    if (record != NULL) csk_store(&record->reads[0].lock, NULL, CSK_RELAXED);
}
#else
static inline csk_read_t *first_place(csk_reads_t *record) {
    record->used = 1;
    return &record->reads[0];
}
static inline void give_up_first_place(const csk_reads_t *record) { (void)record; }
#endif

/* These two are called under the lock. */
static void own(csk_reads_t *record, int32_t thread_id) {
    record->thread_id = thread_id;
    records_put_first(&all.owned, NULL, record);
}
static void give_back(csk_reads_t *record) {
    records_take_out(&all.owned, NULL, record);
    record->next = all.spare;
    all.spare = record;
}

/* A record with reads in it stays with the thread that has ended: as far as is known, those locks are still read. */
static void thread_ends(void) {
    if (csk_my_reads == &no_record) csk_my_reads = NULL;
    give_up_first_place(csk_my_reads);
    csk_queue_lock(&all.lock);
    for (csk_reads_t *record = csk_my_reads, *more; record != NULL; record = more) {
        more = record->more;
        record->more = NULL;
        if (is_empty(record)) give_back(record);
        else record->thread_id = -record->thread_id;
    }
    csk_queue_unlock(&all.lock);
    csk_my_reads = NULL;
}

static bool is_mine(const csk_reads_t *record) {
    for (const csk_reads_t *mine = csk_my_reads; mine != NULL; mine = mine->more)
        if (mine == record) return true;
    return false;
}

static void after_fork_in_child(void) {
    all.owned = all.spare = NULL;
    for (csk_reads_t *record = all.newest; record != NULL; record = record->made_before) {
        if (is_mine(record)) {
            own(record, csk_platform_thread_id());
            continue;
        }
        for (int i = 0; i < READS_IN_RECORD; i++) record->reads[i].lock = NULL;
        record->used = 0;
        record->more = NULL;
        record->next = all.spare;
        all.spare = record;
    }
}

__attribute__((constructor(101))) static void enroll_fork(void) {
    csk_fork_enroll(CSK_FORK_READS, &(csk_fork_functions_t){ .in_child = after_fork_in_child });
}

static csk_reads_t *reuse(void) {
    csk_queue_lock(&all.lock);
    csk_reads_t *record = all.spare;
    if (record != NULL) {
        all.spare = record->next;
        own(record, csk_platform_thread_id());
    }
    csk_queue_unlock(&all.lock);
    return record;
}

static csk_reads_t *new_record(void) {
    if (csk_fork_handled() != 0) return NULL;
    /* Where the end of a thread can't be noticed (its last pass is over), its record is lost for others. */
    int error = csk_thread_exit_enroll(CSK_THREAD_EXIT_READS, thread_ends);
    if (error != 0 && error != ESHUTDOWN) return NULL;
    csk_reads_t *record = reuse();
    if (record != NULL) return record;
    record = aligned_alloc(_Alignof(csk_reads_t), sizeof *record);
    if (record == NULL) return NULL;
    memset(record, 0, sizeof *record);
    csk_queue_lock(&all.lock);
    /* In this order, also for a child that another thread forks here. */
    csk_store(&record->made_before, all.newest, CSK_RELAXED);
    csk_store(&all.newest, record, CSK_RELEASE);
    own(record, csk_platform_thread_id());
    csk_queue_unlock(&all.lock);
    return record;
}

csk_read_t *csk_reads_find_in_more(csk_reads_t *record, const csk_rwlock_t *lock) {
    csk_read_t *read = NULL;
    for (; record != NULL && read == NULL; record = record->more) read = read_in(record, lock);
    return read;
}

/* The thread's first record is new, or its last place is in use. `used` of further records is not looked at. */
csk_read_t *csk_reads_make_room(void) {
    csk_reads_t **place = &csk_my_reads;
    for (; *place != NULL && *place != &no_record; place = &(*place)->more) {
        csk_read_t *unused = read_in(*place, NULL);
        if (unused != NULL) return unused;
    }
    csk_reads_t *record = new_record();
    if (record == NULL) {
        if (csk_my_reads == NULL) csk_my_reads = &no_record;
        return NULL;
    }
    *place = record;
    return record == csk_my_reads ? first_place(record) : &record->reads[0];
}

int csk_reads_threads(const csk_rwlock_t *lock, int32_t *thread_ids, int count) {
    int found = 0;
    csk_queue_lock(&all.lock);
    for (csk_reads_t *record = all.owned; record != NULL && found < count; record = record->next)
        if (!is_mine(record) && read_in(record, lock) != NULL) thread_ids[found++] = record->thread_id;
    csk_queue_unlock(&all.lock);
    return found;
}

int csk_reads_look(const csk_rwlock_t *lock, int32_t *thread_ids, int count, int64_t until_ns) {
    int found = 0;
    if (!csk_waits_try_or_take_over(NULL, &all.lock, until_ns)) return -1;
    for (csk_reads_t *record = all.owned; record != NULL; record = record->next) {
        if (read_in(record, lock) == NULL) continue;
        if (found < count) thread_ids[found] = record->thread_id;
        found++;
    }
    csk_queue_unlock(&all.lock);
    return found;
}

bool csk_reads_elsewhere(const csk_rwlock_t *lock) {
    int32_t one;
    return csk_reads_threads(lock, &one, 1) != 0;
}

void csk_reads_forget(const csk_rwlock_t *lock) {
    csk_queue_lock(&all.lock);
    for (csk_reads_t *record = all.owned, *next; record != NULL; record = next) {
        next = record->next;
        csk_read_t *read = read_in(record, lock);
        if (read != NULL) csk_store(&read->lock, NULL, CSK_RELAXED);
        if (record->thread_id < 0 && is_empty(record)) give_back(record);
    }
    csk_queue_unlock(&all.lock);
}
