#include "wait/watch.h"

#include "wait/announce.h"
#include "wait/spin_park.h"
#include "wait/yield.h"

static const int64_t first_look_ns = 1000000000;
static const int64_t longest_span_ns = INT64_C(64) * 1000000000;

void csk_watch_word(csk_gate_waiter_t *self) {
    csk_spin_t spin = csk_spin_begin(CSK_SPIN_NS);
    while (csk_spin(&spin))
        if (csk_load(&self->word, CSK_RELAXED) != WORD_WAITING) return;
}

void csk_yield_for_word(csk_gate_waiter_t *self, int64_t deadline_ns) {
    if (deadline_ns != CSK_NEVER) return;
    csk_yields_t yields = csk_yields_begin();
    while (csk_load(&self->word, CSK_RELAXED) == WORD_WAITING && csk_yield(&yields)) {}
}

void csk_watch_word_awake(csk_gate_waiter_t *self, int64_t deadline_ns) {
    csk_watch_word(self);
    csk_yield_for_word(self, deadline_ns);
}

csk_watch_t csk_begin_watch(int64_t since_ns) {
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
