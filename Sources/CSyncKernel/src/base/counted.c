/* counted.c: see counting.h. Waits that ended without a place in a queue reach the metrics and the profile. */
#include "base/counting.h"

#include "base/metrics.h"
#include "base/profile.h"

int64_t csk_counts_came(int64_t now_ns) {
    bool is_drawn = csk_is_counting(CSK_COUNTS_PROFILE) && csk_profile_draw() % CSK_COUNTS_ONE_LOOK_IN == 0;
    return (int64_t)((uint64_t)now_ns & ~(uint64_t)CSK_COUNTS_LOOK) | (is_drawn ? CSK_COUNTS_LOOK : 0);
}

void csk_counts_entered(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns, uint32_t one_in) {
    if (csk_is_counting(CSK_COUNTS_METRICS)) csk_metrics_waited(object, object_kind, since_ns, 0);
    if (one_in != 0 && csk_is_counting(CSK_COUNTS_PROFILE))
        csk_profile_waited(object, object_kind, rank, since_ns, one_in);
}
