/* rcu_readers.c: see rcu_readers.h. A thread joins at its first section and leaves when it ends, so the lock is nothing
 * that a section meets. */
#include "rcu/rcu_readers.h"

#include "base/list.h"
#include "base/platform.h"
#include "wait/queue_lock.h"

static struct {
    uint32_t lock;           /* protects the list */
    csk_rcu_reader_t *first; /* the newest */
} readers;

CSK_LIST(readers, csk_rcu_reader_t, older, newer);

void csk_rcu_readers_hold(void) { csk_queue_lock(&readers.lock); }
void csk_rcu_readers_let_go(void) { csk_queue_unlock(&readers.lock); }

static void prepare(csk_rcu_reader_t *reader, unsigned long *word) {
    reader->word = word;
    reader->thread_id = csk_platform_thread_id();
}

void csk_rcu_readers_begin_in_child(csk_rcu_reader_t *reader, unsigned long *word) {
    readers.lock = csk_process_mark();
    readers.first = NULL;
    if (word == NULL) return;
    prepare(reader, word);
    readers_put_first(&readers.first, NULL, reader);
}

void csk_rcu_readers_add(csk_rcu_reader_t *reader, unsigned long *word) {
    prepare(reader, word);
    csk_queue_lock(&readers.lock);
    readers_put_first(&readers.first, NULL, reader);
    csk_queue_unlock(&readers.lock);
}

void csk_rcu_readers_remove(csk_rcu_reader_t *reader) {
    csk_queue_lock(&readers.lock);
    readers_take_out(&readers.first, NULL, reader);
    csk_queue_unlock(&readers.lock);
    reader->word = NULL;
}

/* Relaxed: a thread that must see what a section has done has a fence of its own behind this. */
uint32_t csk_rcu_readers_find(unsigned long phase, int32_t *thread_ids, uint32_t most) {
    uint32_t count = 0;
    csk_queue_lock(&readers.lock);
    for (const csk_rcu_reader_t *reader = readers.first; reader != NULL && count < most; reader = reader->older) {
        unsigned long word = csk_load(reader->word, CSK_RELAXED);
        if ((uint32_t)word != 0 && ((word ^ phase) & CSK_RCU_PHASE) != 0) thread_ids[count++] = reader->thread_id;
    }
    csk_queue_unlock(&readers.lock);
    return count;
}
