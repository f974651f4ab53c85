#include "lock/gate_words.h"

bool csk_gate_take(csk_gate_t *gate, uint64_t holder) {
    uint64_t found = csk_load(&gate->held, CSK_RELAXED);
    do {
        if ((found & ~HELD_FLAGS) != 0) return false;
    } while (!csk_cas(&gate->held, &found, holder | (found & HELD_FLAGS), CSK_ACQ_REL));
    return true;
}

/* The caller holds the gate, or acts for its holder. So only the owner of the queue lock changes the word meanwhile. */
void csk_gate_transfer(csk_gate_t *gate, uint64_t holder) {
    uint64_t flags = csk_load(&gate->held, CSK_RELAXED) & HELD_FLAGS;
    csk_store(&gate->held, holder | flags, CSK_RELEASE);
}

/* In the two-word form this is a plain store. It is ordered before a look at `held` by the membarrier of the threads
 * that check again. In the one-word form it ends with a locked instruction on `held`. */
void csk_gate_write_words(csk_gate_t *gate, uint64_t form_and_flags, uint64_t rank) {
    uint64_t closed = gate->closed ? GATE_CLOSED : 0;
    csk_store(&gate->summary, form_and_flags | closed | rank << GATE_RANK_SHIFT, CSK_RELEASE);
    if (form_and_flags & GATE_ONE_WORD) {
        uint64_t found = csk_load(&gate->held, CSK_RELAXED), flags = form_and_flags >> HELD_FLAGS_SHIFT & HELD_FLAGS;
        while (!csk_cas(&gate->held, &found, (found & ~HELD_FLAGS) | flags, CSK_RELAXED)) {}
    }
}
