/* quota.h: how many processors the cgroups of this process give it. */
#ifndef CSK_INTERNAL_QUOTA_H
#define CSK_INTERNAL_QUOTA_H

#include "csynckernel/base.h"

typedef struct {
    uint32_t processors; /* rounded up; 0: no quota */
    bool known;          /* false: the files could not be read */
} csk_quota_t;

/* The least quota along the path of the process's cgroup, of version 2 and of version 1. `root`: what stands before
 * each path, "" for the system's own files. Opens a file at a time; allocates nothing. For one thread at a time. O(size
 * of /proc/self/mountinfo). */
csk_quota_t csk_quota_read(const char *root);

#endif
