/* counted.c: see counting.h. Waits that ended without a place in a queue reach the metrics and the profile. */
#include "base/counting.h"

#include "base/metrics.h"
#include "base/profile.h"

void csk_counts_entered(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns, uint32_t one_in) {
    if (csk_is_counting(CSK_COUNTS_METRICS)) csk_metrics_waited(object, object_kind, since_ns, 0);
    if (csk_is_counting(CSK_COUNTS_PROFILE) && (one_in == 1 || csk_profile_draw() % one_in == 0))
        csk_profile_waited(object, object_kind, rank, since_ns, one_in);
}
