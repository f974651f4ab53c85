/* pool.h: what other modules ask of the pool. */
#ifndef CSK_INTERNAL_POOL_H
#define CSK_INTERNAL_POOL_H

#include "csynckernel/pool.h"

/* Sees to it that at least one worker runs or can be had: after 0, csk_pool_post does not fail any more. */
int csk_pool_prepare(void);

#endif
