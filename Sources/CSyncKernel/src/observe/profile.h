/* profile.h: the calls by which waits reach the contention profile of csynckernel/profile.h.
 *
 * The table. A stack has a slot of its own, found by its hash, and so has a name; an entry is found by the hash of its
 * key (slots.h has the argument).
 *
 * Why one table, and not a ring for each thread: a ring is too short or too long, needs a thread that empties it in
 * time, and is lost with its thread. Here each stack is kept once, and the sums are always complete. */
#ifndef CSK_INTERNAL_PROFILE_H
#define CSK_INTERNAL_PROFILE_H

#include "csynckernel/profile.h"
#include "observe/counting.h"
#include "observe/stack.h"

static inline bool csk_profile_is_on(void) { return csk_is_counting(CSK_COUNTS_PROFILE); }

/* The number of a stack; 0 where the table is full. For a callback that is being queued it is that of the calling
 * thread, or of the task that the thread suspends. Once it is queued the task may run, and have other contexts. */
uint32_t csk_profile_stack_of_waiter(void);
uint32_t csk_profile_stack_number(const csk_stack_t *stack);

/* Whether a wait of this length is kept. If so, `weight` says as how many waits it counts, and `delay_ns` for how
 * long. */
typedef struct csk_profile_sample {
    double contentions;
    int64_t delay_ns;
} csk_profile_sample_t;
bool csk_profile_keeps(int64_t waited_ns, csk_profile_sample_t *sample);
/* The calling thread's next random number. */
uint64_t csk_profile_draw(void);

/* The number of the object's name or place; 0 where it has none, or the table is full. The object must exist, and no
 * internal lock may be held: see csk_observe_find_name. */
uint32_t csk_profile_name_number(const void *object, uint32_t object_kind);
/* The number of this name, of which 127 bytes count. An empty one is none. */
uint32_t csk_profile_number_of_name(const char *name);

/* What the waits of one entry have in common. */
typedef struct csk_profile_key {
    uint32_t side, waiter; /* CSK_PROFILE_WAITED, ...; CSK_PROFILE_THREAD, ... */
    csk_rank_t rank;
    uint32_t stack, name; /* their numbers */
} csk_profile_key_t;
void csk_profile_add(const csk_profile_key_t *key, const csk_profile_sample_t *sample);
/* A wait of this length is over: it is added if it is kept. For callers that have the whole key already. */
void csk_profile_count(const csk_profile_key_t *key, int64_t waited_ns);
/* The calling thread has waited since then; of such waits one in so many is reported. */
void csk_profile_waited(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns, uint32_t one_in);
/* The caller has let in a waiter that had waited for so long by then, and counts as so many. `again`: it was called
 * before, and its wait counts there; the rest of it is only a delay. The object may be gone, so its name is not
 * reported. */
void csk_profile_let_in(uint32_t waiter, csk_rank_t rank, int64_t waited_ns, bool again, double weight);

#endif
