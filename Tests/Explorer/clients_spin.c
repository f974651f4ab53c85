/* clients_spin.c: tests of the explorer itself: loops that another thread ends pass, and those that nobody ends are
 * reported. The latter say how: a client with `fails` passes when the explorer finds that, and only then. */
#include "base/platform.h"
#include "explorer.h"
#include "hooks.h"
#include "internal.h"

static struct {
    uint32_t flag, other, lock, word;
    uint64_t turn;
    uint32_t sections;
    uint64_t mutex[8]; /* a pthread mutex */
} * words;

static void make(void) { words = explore_allocate(sizeof *words); }
static uint32_t look_at(const uint32_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
static void put(uint32_t *word, uint32_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

/* ---- One thread waits for another's store ------------------------------------------------------------------------ */

static void spins(void) {
    while (look_at(&words->flag) == 0) {}
    EXPECT_EQUAL(look_at(&words->flag), 1);
}
static void spins_with_pauses(void) {
    while (look_at(&words->flag) == 0) __builtin_ia32_pause();
}
/* A thread that counts is in no state twice: only that it says that it waits makes it one. */
static void awaits(void) {
    for (uint32_t looks = 0; look_at(&words->flag) == 0; looks++) csk_platform_await_step(looks);
}
static void yields(void) {
    while (look_at(&words->flag) == 0) core_yield("yield");
}
/* It reads two places, and a compare-and-swap that fails is a look. */
static void compares(void) {
    for (uint32_t one = 1; !__atomic_compare_exchange_n(&words->flag, &one, 2, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
         one = 1)
        if (look_at(&words->other) != 0) return;
}
static void stores(void) { put(&words->flag, 1); }
static void stores_other(void) { put(&words->other, 1); }
static void stores_elsewhere(void) {
    for (uint32_t i = 1; i < 4; i++) put(&words->word, i);
}

#define PASSES(client_name, ...) CLIENT(client_name, .setup = make, .threads = { __VA_ARGS__ }, .preemptions = 2)
#define FAILS(client_name, how, ...) \
    CLIENT(client_name, .setup = make, .threads = { __VA_ARGS__ }, .preemptions = 2, .fails = (how))

PASSES(spin_ended, spins, stores)
PASSES(spin_ended_with_pauses, spins_with_pauses, stores)
PASSES(spin_ended_awaits, awaits, stores)
PASSES(spin_ended_yields, yields, stores)
PASSES(spin_ended_compares, compares, stores)
PASSES(spin_ended_compares_at_the_other, compares, stores_other)
PASSES(spin_two_ended, spins, awaits, stores)
FAILS(spin_not_ended, "does not terminate: thread 0 reads again and again: load clients_spin.c:", spins,
      stores_elsewhere)
FAILS(spin_not_ended_with_pauses,
      "does not terminate: thread 0 reads again and again: load clients_spin.c:", spins_with_pauses)
FAILS(spin_not_ended_awaits, "does not terminate: thread 0 reads again and again: load clients_spin.c:", awaits,
      stores_elsewhere)
FAILS(spin_not_ended_yields, "does not terminate: thread 0 reads again and again: load clients_spin.c:", yields)
FAILS(spin_not_ended_compares,
      "does not terminate: thread 0 reads again and again: compare-and-swap clients_spin.c:", compares,
      stores_elsewhere)
FAILS(spin_two_not_ended, "does not terminate: thread 0 reads again and again: load clients_spin.c:", spins, awaits)

/* ---- Two wait for each other ------------------------------------------------------------------------------------- */

static void waits_and_stores(void) {
    while (look_at(&words->flag) == 0) {}
    put(&words->other, 1);
}
static void waits_for_other_and_stores(void) {
    while (look_at(&words->other) == 0) {}
    put(&words->flag, 1);
}
static void stores_and_waits(void) {
    put(&words->other, 1);
    while (look_at(&words->flag) == 0) {}
}
FAILS(spin_two_wait_for_each_other,
      "does not terminate: thread 0 reads again and again: load clients_spin.c:", waits_and_stores,
      waits_for_other_and_stores)
PASSES(spin_two_meet, stores_and_waits, waits_for_other_and_stores)

/* ---- Spin, then park --------------------------------------------------------------------------------------------- */

static void spins_then_parks(void) {
    for (int looks = 0; looks < 20; looks++) {
        if (look_at(&words->word) != 0) return;
        __builtin_ia32_pause();
    }
    while (look_at(&words->word) == 0) core_park(&words->word, 0, INT64_MAX, "park");
}
static void spins_by_the_clock_then_parks(void) {
    for (int64_t until = core_clock("clock") + 40000; core_clock("clock") < until; __builtin_ia32_pause())
        if (look_at(&words->word) != 0) return;
    while (look_at(&words->word) == 0) core_park(&words->word, 0, INT64_MAX, "park");
}
static void stores_and_wakes(void) {
    put(&words->word, 1);
    core_wake(&words->word, 1, "wake");
}
/* The park compares another word, and returns at once. */
static void parks_at_the_wrong_value(void) {
    while (look_at(&words->word) == 0) core_park(&words->flag, 1, INT64_MAX, "park");
}
/* Goes on once the other has given up spinning. */
static void stores_for_a_sleeper(void) {
    explore_wait_asleep(0);
    stores_and_wakes();
}
static void stores_flag_for_a_sleeper(void) {
    explore_wait_asleep(0);
    stores();
}
static void locks_for_a_sleeper(void) {
    pthread_mutex_lock((pthread_mutex_t *)words->mutex);
    put(&words->flag, 1);
    explore_wait_asleep(0);
    pthread_mutex_unlock((pthread_mutex_t *)words->mutex);
}
static void spins_then_locks(void) {
    spins();
    pthread_mutex_lock((pthread_mutex_t *)words->mutex);
    pthread_mutex_unlock((pthread_mutex_t *)words->mutex);
}
PASSES(spin_then_parks, spins_then_parks, stores_and_wakes)
PASSES(spin_then_parks_for_one_who_waits_for_that, spins_then_parks, stores_for_a_sleeper)
PASSES(spin_then_locks_for_one_who_waits_for_that, spins_then_locks, locks_for_a_sleeper)
FAILS(spin_for_one_who_waits_for_a_sleeper,
      "does not terminate: thread 0 reads again and again: load clients_spin.c:", spins, stores_flag_for_a_sleeper)
PASSES(spin_by_the_clock_then_parks, spins_by_the_clock_then_parks, stores_and_wakes)
FAILS(spin_then_parks_not_woken, "deadlock: thread 0 waits at park", spins_then_parks, stores)
FAILS(spin_parks_at_the_wrong_value,
      "does not terminate: thread 0 reads again and again: load clients_spin.c:", parks_at_the_wrong_value)

/* ---- Until a time has come --------------------------------------------------------------------------------------- */

/* No pause moves the time, and nobody sleeps: the thread goes on when time passes. */
static void spins_for_a_while(void) {
    for (int64_t until = core_clock("clock") + 5000000; look_at(&words->flag) == 0 && core_clock("clock") < until;) {}
}
PASSES(spin_for_a_while, spins_for_a_while)

/* ---- A lock ------------------------------------------------------------------------------------------------------ */

static void lock_ttas(void) {
    for (;;) {
        while (look_at(&words->lock) != 0) {}
        if (__atomic_exchange_n(&words->lock, 1, __ATOMIC_ACQUIRE) == 0) return;
    }
}
static void section_ttas(void) {
    lock_ttas();
    EXPECT_EQUAL(words->sections, 0);
    words->sections++;
    explore_point();
    words->sections--;
    put(&words->lock, 0);
}
static void section_never_left(void) { lock_ttas(); }
static void section_tas(void) {
    while (__atomic_exchange_n(&words->lock, 1, __ATOMIC_ACQUIRE) != 0) {}
    explore_point();
    put(&words->lock, 0);
}
PASSES(spin_ttas, section_ttas, section_ttas)
FAILS(spin_ttas_never_left, "does not terminate: thread ", section_ttas, section_never_left)
/* Each round of these is a store, so that nobody is blocked. Fair turns end that, or come to one state again and again,
 * and each schedule takes 4000 steps until these begin. */
CLIENT(spin_tas, .setup = make, .threads = { section_tas, section_tas })
FAILS(spin_tas_never_left, "does not terminate, fair turns repeat a state: thread ", section_tas, section_never_left)

/* ---- Handing a value back and forth ------------------------------------------------------------------------------ */

static void gives_for_ever(void) {
    for (;;) {
        while (look_at(&words->flag) != 0) {}
        put(&words->flag, 1);
    }
}
static void takes_for_ever(void) {
    for (;;) {
        while (look_at(&words->flag) == 0) {}
        put(&words->flag, 0);
    }
}
static void gives_thrice(void) {
    for (int i = 0; i < 3; i++) {
        while (look_at(&words->flag) != 0) {}
        put(&words->flag, 1);
    }
}
static void takes_thrice(void) {
    for (int i = 0; i < 3; i++) {
        while (look_at(&words->flag) == 0) {}
        put(&words->flag, 0);
    }
}
PASSES(spin_thrice, gives_thrice, takes_thrice)
FAILS(spin_for_ever, "does not terminate, ", gives_for_ever, takes_for_ever)

/* ---- A helper that nobody waits for ------------------------------------------------------------------------------ */

static void helper(void *unused) {
    (void)unused;
    while (look_at(&words->flag) == 0) {}
}
static void starts_a_helper(void) { core_start_thread(helper, NULL); }
static void starts_a_helper_and_ends_it(void) {
    core_start_thread(helper, NULL);
    put(&words->flag, 1);
}
PASSES(spin_helper_ended, starts_a_helper_and_ends_it)
FAILS(spin_helper_not_ended,
      "does not terminate: thread 1 reads again and again: load clients_spin.c:", starts_a_helper)
