/* quota.h: how many processors the cgroups of this process give it. */
#ifndef CSK_INTERNAL_QUOTA_H
#define CSK_INTERNAL_QUOTA_H

#include "csynckernel/base.h"

typedef struct {
    uint32_t processors; /* rounded up; 0: no quota */
    bool known;          /* false: the files could not be read */
} csk_quota_t;

/* Returns the least quota along the path of the process's cgroup, of version 2 and of version 1. `root` is what stands
 * before each path; it is "" for the system's own files. Opens one file at a time, and allocates nothing. Only one
 * thread at a time may call it. O(size of /proc/self/mountinfo). */
csk_quota_t csk_quota_read(const char *root);

#endif
