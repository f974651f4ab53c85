/* profile_weights_test.c: waits that are shorter than the threshold are kept now and then, and weighted so that their
 * sums are right. */
#include <csynckernel/csynckernel.h>

#include "observe/profile.h"
#include "test.h"

/* The sums of many short waits are right on average: 6 standard deviations here. */
static void short_waits_are_weighted(void) {
    enum { WAITS = 200000 };
    static const int64_t lengths_ns[] = { 100, 1000, 5000, 9999 };
    CHECK_STATUS(csk_profile_start(10000), 0);
    for (int i = 0; i < 4; i++) {
        double contentions = 0, delay_ns = 0;
        for (int wait = 0; wait < WAITS; wait++) {
            csk_profile_sample_t sample;
            if (!csk_profile_keeps(lengths_ns[i], &sample)) continue;
            contentions += sample.contentions;
            delay_ns += (double)sample.delay_ns;
        }
        double expected = WAITS, bound = i == 0 ? 0.14 : 0.04;
        CHECK(contentions > (1 - bound) * expected && contentions < (1 + bound) * expected);
        expected *= (double)lengths_ns[i];
        CHECK(delay_ns > (1 - bound) * expected && delay_ns < (1 + bound) * expected);
    }
    csk_profile_sample_t sample;
    CHECK(csk_profile_keeps(10000, &sample) && sample.contentions == 1 && sample.delay_ns == 10000);
    CHECK(!csk_profile_keeps(0, &sample));
    csk_profile_stop();
}

typedef struct {
    double contentions;
    int64_t delay_ns;
} sum_t;
static void add_of_priority_43(const csk_profile_entry_t *entry, void *context) {
    sum_t *sum = context;
    if (entry->priority != 43 || entry->side != CSK_PROFILE_WAITED) return;
    sum->contentions += entry->contentions;
    sum->delay_ns += entry->delay_ns;
}
/* One in 32 of these is kept: 6 standard deviations. A thread that loses its processor in between makes the sum longer,
 * not shorter. */
static void looks_are_weighted(void) {
    enum { LOOKS = 800000, LENGTH_NS = 5000 };
    static csk_gate_t gate;
    sum_t sum = { 0 };
    CHECK_STATUS(csk_profile_start(10000), 0);
    for (int look = 0; look < LOOKS; look++)
        csk_tell_entered(&gate, CSK_OBJECT_GATE, csk_rank(43, CSK_PLACE_BACK),
                         csk_tell_came(csk_platform_now() - LENGTH_NS), true);
    csk_profile_stop();
    csk_profile_read(add_of_priority_43, &sum);
    CHECK(sum.contentions > 0.96 * LOOKS && sum.contentions < 1.04 * LOOKS);
    CHECK((double)sum.delay_ns > 0.96 * LOOKS * LENGTH_NS);
}
TEST_MAIN(TEST(short_waits_are_weighted), TEST(looks_are_weighted))
