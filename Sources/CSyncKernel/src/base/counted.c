/* counted.c: see counting.h. Waits that ended without a place in a queue reach the metrics and the profile. */
#include "base/counting.h"

#include "base/metrics.h"
#include "base/profile.h"

void csk_counts_entered(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns) {
    if (csk_is_counting(CSK_COUNTS_METRICS)) csk_metrics_waited(object, object_kind, since_ns, 0);
    if (csk_is_counting(CSK_COUNTS_PROFILE)) csk_profile_waited(object, object_kind, rank, since_ns, 1);
}

void csk_counts_looked(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns) {
    enum { ONE_IN = 8 };
    if (csk_is_counting(CSK_COUNTS_METRICS)) csk_metrics_waited(object, object_kind, since_ns, 0);
    if (csk_is_counting(CSK_COUNTS_PROFILE) && csk_profile_draw() % ONE_IN == 0)
        csk_profile_waited(object, object_kind, rank, since_ns, ONE_IN);
}
