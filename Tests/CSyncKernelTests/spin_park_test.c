/* spin_park_test.c: when a thread spins before it parks. */
#include "test.h"

#include "wait/spin_park.h"

static void a_thread_that_spins_in_vain_parks_at_once(void) {
    csk_spin_habit_t habit = { 0 };
    for (int i = 0; i < CSK_SPIN_VAIN; i++) {
        CHECK(csk_spin_pays(&habit));
        csk_spin_learn(&habit, false);
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 1; i < CSK_SPIN_SKIPS; i++) CHECK(!csk_spin_pays(&habit));
        CHECK(csk_spin_pays(&habit)); /* one more try, in vain again */
        csk_spin_learn(&habit, false);
    }
}

static void one_try_that_pays_brings_spinning_back(void) {
    csk_spin_habit_t habit = { 0 };
    for (int i = 0; i < 2 * CSK_SPIN_VAIN; i++) csk_spin_learn(&habit, false);
    while (!csk_spin_pays(&habit)) {}
    csk_spin_learn(&habit, true);
    for (int i = 0; i < CSK_SPIN_VAIN; i++) {
        CHECK(csk_spin_pays(&habit));
        csk_spin_learn(&habit, false);
    }
    CHECK(!csk_spin_pays(&habit));
}

TEST_MAIN(TEST(a_thread_that_spins_in_vain_parks_at_once), TEST(one_try_that_pays_brings_spinning_back))
