/* late_fixture.h: what the clients share in which thread 1 was answered, and has no processor for as long as others are
 * there. */
#ifndef EXPLORER_LATE_FIXTURE_H
#define EXPLORER_LATE_FIXTURE_H

#include "explorer.h"

static bool was_late; /* false at first: the setup sees to that */

/* Whether it is thread 1, parked at a word of its own. */
static inline bool is_first_at_its_own(int thread, const void *word) {
    return thread == 1 && explore_is_own(thread, word);
}
static inline bool is_late_if(bool answered) {
    was_late = was_late || answered;
    return answered;
}
/* It is late from the moment at which that word has the answer. */
__attribute__((unused)) static bool is_late_with(int thread, const void *word, uint32_t answer) {
    return is_late_if(is_first_at_its_own(thread, word) && *(const uint32_t *)word == answer);
}

#endif
