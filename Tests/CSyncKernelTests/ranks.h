/* ranks.h: places in a line, by priority: behind those of the same one, before them, or where nobody named one. */
#ifndef CSK_TEST_RANKS_H
#define CSK_TEST_RANKS_H

#include <csynckernel/base.h>

static inline csk_rank_t back(int32_t priority) { return csk_rank(priority, CSK_PLACE_BACK); }
static inline csk_rank_t front(int32_t priority) { return csk_rank(priority, CSK_PLACE_FRONT); }
static inline csk_rank_t unnamed(int32_t priority) { return csk_rank(priority, CSK_PLACE_UNNAMED); }

#endif
