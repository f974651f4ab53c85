#include "wait/watch.h"

#include "wait/announce.h"
#include "wait/spin_park.h"
#include "wait/yield.h"

static const int64_t longest_span_ns = INT64_C(64) * 1000000000;
enum { LOOKS_SHARE = 20 }; /* of one processor's time */

void csk_watch_word(csk_waiter_t *self) {
    csk_spin_t spin = csk_spin_begin(CSK_SPIN_NS);
    while (csk_spin(&spin))
        if (csk_load(&self->word, CSK_RELAXED) != WORD_WAITING) return;
}

void csk_yield_for_word(csk_waiter_t *self, int64_t deadline_ns) {
    if (deadline_ns != CSK_NEVER) return;
    csk_yields_t yields = csk_yields_begin();
    while (csk_load(&self->word, CSK_RELAXED) == WORD_WAITING && csk_yield(&yields)) {}
}

void csk_watch_word_awake(csk_waiter_t *self, int64_t deadline_ns) {
    csk_watch_word(self);
    csk_yield_for_word(self, deadline_ns);
}

csk_watch_t csk_begin_watch(int64_t since_ns, int64_t first_look_ns) {
    return (csk_watch_t){ .since_ns = since_ns, .look_ns = since_ns + first_look_ns, .span_ns = first_look_ns };
}

int csk_watch_park(uint32_t *word, uint32_t expected, int64_t deadline_ns, const csk_watch_t *watch, bool *look) {
    *look = false;
    if (deadline_ns != CSK_NEVER && deadline_ns <= watch->look_ns) return csk_wait_park(word, expected, deadline_ns);
    csk_announce_wait();
    if (deadline_ns == CSK_NEVER) csk_platform_park_to_look(word, expected, watch->look_ns);
    else csk_platform_park(word, expected, watch->look_ns);
    csk_announce_end();
    *look = csk_load(word, CSK_RELAXED) == expected && csk_platform_now() >= watch->look_ns;
    return 0;
}

void csk_watch_later(csk_watch_t *watch) {
    if (watch->span_ns < longest_span_ns) watch->span_ns *= 2;
    watch->look_ns = csk_platform_now() + watch->span_ns;
}

/* When the next turn begins, and how long one is: by what the last look took. Both are hints, relaxed: they order
 * nothing. A child of fork has no waiters of the parent, and so none of its turns. */
static int64_t next_turn_ns, turn_ns;
static uint32_t turns_of; /* the mark of the process */

bool csk_watch_may_look(csk_watch_t *watch) {
    if (watch->has_turn) {
        watch->has_turn = false;
        return true;
    }
    if (CSK_UNLIKELY(csk_load(&turns_of, CSK_RELAXED) != csk_process_mark())) {
        csk_store(&next_turn_ns, INT64_C(0), CSK_RELAXED);
        csk_store(&turn_ns, INT64_C(0), CSK_RELAXED);
        csk_store(&turns_of, csk_process_mark(), CSK_RELAXED);
    }
    int64_t now_ns = csk_platform_now(), next_ns = csk_load(&next_turn_ns, CSK_RELAXED), mine_ns;
    do mine_ns = next_ns > now_ns ? next_ns : now_ns;
    while (!csk_cas(&next_turn_ns, &next_ns, mine_ns + csk_load(&turn_ns, CSK_RELAXED), CSK_RELAXED));
    watch->has_turn = mine_ns != now_ns;
    if (watch->has_turn) watch->look_ns = mine_ns;
    return !watch->has_turn;
}

void csk_watch_looked(csk_watch_t *watch, int64_t began_ns) {
    csk_store(&turn_ns, (csk_platform_now() - began_ns) * LOOKS_SHARE, CSK_RELAXED);
    csk_watch_later(watch);
}
