/* clients_tls.c: names that several threads open at once, and threads that end with values, whose destructors set
 * further ones. */
#include "csynckernel/tls.h"
#include "thread/thread_exit.h"
#include "explorer.h"

enum { SLOTS = 4 };

static struct {
    csk_tls_slot_t slots[EXPLORE_THREADS][SLOTS];
    uint32_t made, destroyed, opened, stages[EXPLORE_THREADS];
    int rounds[EXPLORE_THREADS], refused[EXPLORE_THREADS];
} * shared;

struct value {
    uint32_t owner, slot, destroyed;
};

static void make(void) { shared = explore_allocate(sizeof *shared); }

/* A value is destroyed once, by the thread that had it. */
static void destroy(void *memory) {
    struct value *value = memory;
    EXPECT_EQUAL(value->owner, explore_thread());
    EXPECT_EQUAL(value->destroyed, 0);
    value->destroyed = 1;
    __atomic_fetch_add(&shared->destroyed, 1, __ATOMIC_RELAXED);
    explore_free(value, sizeof *value);
}
static struct value *make_value(csk_tls_slot_t slot) {
    struct value *value = explore_allocate(sizeof *value);
    value->owner = (uint32_t)explore_thread();
    value->slot = slot;
    __atomic_fetch_add(&shared->made, 1, __ATOMIC_RELAXED);
    return value;
}
static void set_and_get(csk_tls_slot_t slot) {
    struct value *value = make_value(slot);
    EXPECT(csk_tls_get(slot) == NULL);
    EXPECT_EQUAL(csk_tls_set(slot, value), 0);
    EXPECT(csk_tls_get(slot) == value);
}
static void all_were_destroyed(void) { EXPECT_EQUAL(shared->destroyed, shared->made); }

/* ---- Names ------------------------------------------------------------------------------------------------------- */

static void open_name(int index, const char *name) {
    csk_tls_slot_t *slot = &shared->slots[explore_thread()][index], again;
    EXPECT_EQUAL(csk_tls_open(slot, name, destroy), 0);
    EXPECT(*slot != 0);
    EXPECT_EQUAL(csk_tls_open(&again, name, destroy), 0);
    EXPECT_EQUAL(again, *slot);
    EXPECT_EQUAL(csk_tls_open(&again, name, NULL), EINVAL);
}
static void opens_a(void) {
    open_name(0, "a");
    set_and_get(shared->slots[explore_thread()][0]);
}
static void opens_a_b(void) {
    open_name(0, "a");
    open_name(1, "b");
    set_and_get(shared->slots[explore_thread()][1]);
    set_and_get(shared->slots[explore_thread()][0]);
}
static void opens_b_a(void) {
    open_name(1, "b");
    set_and_get(shared->slots[explore_thread()][1]);
    open_name(0, "a");
    set_and_get(shared->slots[explore_thread()][0]);
}
static void opens_b_c(void) {
    open_name(1, "b");
    open_name(2, "c");
    set_and_get(shared->slots[explore_thread()][2]);
}
/* One name is one slot, two names are two. */
static void names_are_slots(void) {
    csk_tls_slot_t found[SLOTS] = { 0 };
    for (int thread = 0; thread < EXPLORE_THREADS; thread++)
        for (int i = 0; i < SLOTS; i++) {
            csk_tls_slot_t slot = shared->slots[thread][i];
            if (slot == 0) continue;
            if (found[i] == 0) found[i] = slot;
            EXPECT_EQUAL(slot, found[i]);
        }
    for (int i = 0; i < SLOTS; i++)
        for (int j = 0; j < i; j++) EXPECT(found[i] == 0 || found[i] != found[j]);
    all_were_destroyed();
}
CLIENT(tls_same_name, .setup = make, .threads = { opens_a, opens_a }, .check = names_are_slots, .preemptions = 4)
CLIENT(tls_same_name_three, .setup = make, .threads = { opens_a, opens_a, opens_a }, .check = names_are_slots,
       .preemptions = 2)
CLIENT(tls_two_names, .setup = make, .threads = { opens_a_b, opens_b_a }, .check = names_are_slots, .preemptions = 3)
CLIENT(tls_three_names, .setup = make, .threads = { opens_a_b, opens_b_a, opens_b_c }, .check = names_are_slots,
       .preemptions = 1)

/* Slots without a name are different ones, and each has its own destructor, also where others were opened between. */
static void opens_anonymous(void) {
    csk_tls_slot_t *mine = shared->slots[explore_thread()];
    for (int i = 0; i < 2; i++) {
        EXPECT_EQUAL(csk_tls_open(&mine[i], NULL, destroy), 0);
        set_and_get(mine[i]);
    }
}
static void are_four_slots(void) {
    uint32_t seen = 0;
    for (int thread = 0; thread < 2; thread++)
        for (int i = 0; i < 2; i++) seen |= 1u << shared->slots[thread][i];
    EXPECT_EQUAL(seen, 0x1E);
    all_were_destroyed();
}
CLIENT(tls_anonymous, .setup = make, .threads = { opens_anonymous, opens_anonymous }, .check = are_four_slots,
       .preemptions = 3)

/* A slot that another thread has opened is used by the number it tells. */
static void opens_and_tells(void) {
    csk_tls_slot_t slot;
    EXPECT_EQUAL(csk_tls_open(&slot, "told", destroy), 0);
    __atomic_store_n(&shared->opened, slot, __ATOMIC_RELEASE);
    set_and_get(slot);
}
static void uses_what_is_told(void) {
    csk_tls_slot_t slot = __atomic_load_n(&shared->opened, __ATOMIC_ACQUIRE);
    if (slot != 0) set_and_get(slot);
    EXPECT_EQUAL(csk_tls_set(slot + 100, shared), EINVAL);
}
CLIENT(tls_told_slot, .setup = make, .threads = { opens_anonymous, opens_and_tells, uses_what_is_told },
       .check = all_were_destroyed, .preemptions = 2)

/* ---- Ends of threads --------------------------------------------------------------------------------------------- */

/* Sets its slot anew whenever it is destroyed: so often as there are rounds, then it is refused, and destroys what it
 * still has. */
static void destroy_and_set(void *memory) {
    int self = explore_thread();
    struct value *value = memory, *next = make_value(value->slot);
    csk_tls_slot_t slot = value->slot, other;
    destroy(value);
    shared->rounds[self]++;
    EXPECT(csk_tls_get(slot) == NULL);
    if (shared->rounds[self] == 2) {
        /* The table moves while it is being emptied. */
        for (int i = 0; i < 9; i++) EXPECT_EQUAL(csk_tls_open(&other, NULL, destroy), 0);
        EXPECT_EQUAL(csk_tls_set(other, make_value(other)), 0);
    }
    int status = csk_tls_set(slot, next);
    if (status == 0) return;
    EXPECT_EQUAL(status, ESHUTDOWN);
    shared->refused[self]++;
    destroy(next);
}
static void ends_setting(void) {
    csk_tls_slot_t slot;
    EXPECT_EQUAL(csk_tls_open(&slot, "again", destroy_and_set), 0);
    set_and_get(slot);
}
static void were_refused(void) {
    for (int thread = 0; thread < 2; thread++) {
        EXPECT_EQUAL(shared->rounds[thread], CSK_TLS_ROUNDS + 1);
        EXPECT_EQUAL(shared->refused[thread], 1);
    }
    all_were_destroyed();
}
CLIENT(tls_set_at_the_end, .setup = make, .threads = { ends_setting, ends_setting }, .check = were_refused,
       .preemptions = 2)
CLIENT(tls_opened_while_others_end, .setup = make, .threads = { ends_setting, ends_setting, opens_a_b },
       .check = were_refused)

/* Values are destroyed before the stages behind them, whose functions are called once, also when a destructor asks for
 * them, and when the last of them sets a value, for which there is one more pass. */
static void leave_rcu(void) {
    EXPECT_EQUAL(shared->rounds[explore_thread()], 1);
    EXPECT_EQUAL(++shared->stages[explore_thread()], 1);
}
static void leave_reads(void) {
    csk_tls_slot_t slot;
    EXPECT_EQUAL(++shared->stages[explore_thread()], 2);
    EXPECT_EQUAL(csk_tls_open(&slot, NULL, destroy), 0);
    set_and_get(slot);
}
static void destroy_and_enroll(void *value) {
    destroy(value);
    shared->rounds[explore_thread()]++;
    EXPECT_EQUAL(shared->stages[explore_thread()], 0);
    EXPECT_EQUAL(csk_thread_exit_enroll(CSK_THREAD_EXIT_RCU, leave_rcu), 0);
}
static void ends_by_stages(void) {
    csk_tls_slot_t slot;
    EXPECT_EQUAL(csk_thread_exit_enroll(CSK_THREAD_EXIT_READS, leave_reads), 0);
    EXPECT_EQUAL(csk_tls_open(&slot, "stages", destroy_and_enroll), 0);
    set_and_get(slot);
    if (explore_thread() == 0) EXPECT_EQUAL(csk_thread_exit_enroll(CSK_THREAD_EXIT_RCU, leave_rcu), 0);
}
static void stages_were_two(void) {
    for (int thread = 0; thread < 2; thread++) EXPECT_EQUAL(shared->stages[thread], 2);
    all_were_destroyed();
}
CLIENT(tls_stages, .setup = make, .threads = { ends_by_stages, ends_by_stages }, .check = stages_were_two,
       .preemptions = 2)
