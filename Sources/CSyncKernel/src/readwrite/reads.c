#include "readwrite/reads.h"

#include "thread/thread_exit.h"
#include "wait/queue_lock.h"

#include <stdlib.h>
#include <string.h>

__thread csk_reads_t *csk_my_reads __attribute__((tls_model("initial-exec")));

static struct {
    uint32_t lock;
    csk_reads_t *first;
} all;

static bool is_empty(const csk_reads_t *record) {
    for (int i = 0; i < READS_IN_RECORD; i++)
        if (csk_load(&record->reads[i].lock, CSK_RELAXED) != NULL) return false;
    return true;
}

/* A record with reads in it stays with the thread that has ended: as far as anybody can tell, those locks are still
 * read. */
static void thread_ends(void) {
    csk_queue_lock(&all.lock);
    for (csk_reads_t *record = csk_my_reads, *more; record != NULL; record = more) {
        more = record->more;
        record->more = NULL;
        record->owned = !is_empty(record);
        if (record->owned) record->thread_id = -record->thread_id;
    }
    csk_queue_unlock(&all.lock);
    csk_my_reads = NULL;
}

static bool is_mine(const csk_reads_t *record) {
    for (const csk_reads_t *mine = csk_my_reads; mine != NULL; mine = mine->more)
        if (mine == record) return true;
    return false;
}
/* The list is complete at any moment: one store adds a record. */
static void after_fork_in_child(void) {
    for (csk_reads_t *record = all.first; record != NULL; record = record->next) {
        if (is_mine(record)) {
            record->thread_id = csk_platform_thread_id();
            continue;
        }
        for (int i = 0; i < READS_IN_RECORD; i++) record->reads[i].lock = NULL;
        record->used = record->owned = 0;
        record->more = NULL;
    }
}

__attribute__((constructor(101))) static void enroll_fork(void) {
    csk_fork_enroll(CSK_FORK_READS, &(csk_fork_functions_t){ .in_child = after_fork_in_child });
}

static csk_reads_t *reuse(void) {
    csk_queue_lock(&all.lock);
    csk_reads_t *record = all.first;
    while (record != NULL && record->owned) record = record->next;
    if (record != NULL) {
        record->owned = 1;
        record->thread_id = csk_platform_thread_id();
    }
    csk_queue_unlock(&all.lock);
    return record;
}

static csk_reads_t *new_record(void) {
    csk_reads_t *record = reuse();
    if (record != NULL) return record;
    record = aligned_alloc(_Alignof(csk_reads_t), sizeof *record);
    if (record == NULL) return NULL;
    memset(record, 0, sizeof *record);
    record->owned = 1;
    record->thread_id = csk_platform_thread_id();
    csk_queue_lock(&all.lock);
    record->next = all.first;
    csk_store(&all.first, record, CSK_RELEASE);
    csk_queue_unlock(&all.lock);
    return record;
}

csk_read_t *csk_reads_find_in_more(const csk_reads_t *record, const csk_rwlock_t *lock) {
    for (; record != NULL; record = record->more)
        for (int i = 0; i < READS_IN_RECORD; i++)
            if (csk_load(&record->reads[i].lock, CSK_RELAXED) == lock) return (csk_read_t *)&record->reads[i];
    return NULL;
}

/* The thread's first record is new, or its last place is in use. `used` of further records is not looked at. */
csk_read_t *csk_reads_make_room(void) {
    csk_reads_t **place = &csk_my_reads;
    for (; *place != NULL; place = &(*place)->more)
        for (int i = 0; i < READS_IN_RECORD; i++)
            if (csk_load(&(*place)->reads[i].lock, CSK_RELAXED) == NULL) return &(*place)->reads[i];
    if (csk_fork_handled() != 0) return NULL;
    /* Where the end of a thread can't be noticed (its last pass is over), its record is lost for others, and nothing
     * else is. */
    int error = csk_thread_exit_enroll(CSK_THREAD_EXIT_READS, thread_ends);
    if (error != 0 && error != ESHUTDOWN) return NULL;
    csk_reads_t *record = new_record();
    if (record == NULL) return NULL;
    *place = record;
    if (record == csk_my_reads) record->used = 1;
    return &record->reads[0];
}

int csk_reads_threads(const csk_rwlock_t *lock, int32_t *thread_ids, int count) {
    int found = 0;
    csk_queue_lock(&all.lock);
    for (csk_reads_t *record = all.first; record != NULL && found < count; record = record->next) {
        if (!record->owned || is_mine(record)) continue;
        for (int i = 0; i < READS_IN_RECORD && found < count; i++)
            if (csk_load(&record->reads[i].lock, CSK_ACQUIRE) == lock) thread_ids[found++] = record->thread_id;
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
    for (csk_reads_t *record = all.first; record != NULL; record = record->next)
        for (int i = 0; i < READS_IN_RECORD; i++)
            if (csk_load(&record->reads[i].lock, CSK_RELAXED) == lock)
                csk_store(&record->reads[i].lock, NULL, CSK_RELAXED);
    csk_queue_unlock(&all.lock);
}
