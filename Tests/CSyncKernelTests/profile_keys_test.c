/* profile_keys_test.c: what entries of the profile are told apart by: the numbers of stacks and of names. */
#include <csynckernel/csynckernel.h>

#include "observe/profile.h"
#include "observe/slots.h"
#include "child.h"

typedef struct {
    const char *name;
    double contentions;
} of_name_t;
static void add_of_name(const csk_profile_entry_t *entry, void *context) {
    of_name_t *of = context;
    if (entry->name != NULL && strcmp(entry->name, of->name) == 0) of->contentions += entry->contentions;
}
static void expect_of_name(const char *name, double contentions) {
    of_name_t of = { .name = name };
    csk_profile_read(add_of_name, &of);
    CHECK(of.contentions == contentions);
}
static void count(uint32_t stack, uint32_t name, double contentions) {
    CHECK(stack != 0 && name != 0);
    csk_profile_add(&(csk_profile_key_t){ .stack = stack, .name = name },
                    &(csk_profile_sample_t){ .contentions = contentions, .delay_ns = 1 });
}
static uint32_t stack_of(uintptr_t frame) {
    return csk_profile_stack_number(&(csk_stack_t){ .depth = 1, .frames = { frame } });
}

/* A text whose number will be this one, of the 4096 that there are. */
static void make_name_of_number(uint32_t number, char *name, size_t size) {
    for (uint32_t i = 0;; i++) {
        snprintf(name, size, "crossed %u", (unsigned)i);
        if (csk_slot_hash_text(1, name) % 4096 + 1 == number) return;
    }
}
static void count_crossed_numbers(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_profile_start(1), 0);
    uint32_t stacks[2];
    uintptr_t frame = 1;
    for (int i = 0; i < 2; i++) {
        do stacks[i] = stack_of(frame++);
        while (stacks[i] > 4096);
    }
    char names[2][32];
    for (int i = 0; i < 2; i++) {
        make_name_of_number(stacks[i], names[i], sizeof names[i]);
        CHECK_EQ(csk_profile_number_of_name(names[i]), stacks[i]);
    }
    CHECK(stacks[0] != stacks[1]);
    count(stacks[0], stacks[1], 1);
    count(stacks[1], stacks[0], 2);
    count(stacks[0], stacks[0], 4);
    count(stacks[1], stacks[1], 8);
    expect_of_name(names[0], 2 + 4);
    expect_of_name(names[1], 1 + 8);
}
/* A stack and a name may have each other's numbers. In a child, whose table is empty. */
static void entries_whose_numbers_are_crossed_are_two(void) { in_a_child(count_crossed_numbers, NULL); }

static void a_long_name_ends_with_a_whole_character(void) {
    char name[160], kept[160];
    memset(name, 'x', sizeof name);
    strcpy(name + 126, "\xC3\xA9"); /* of which there is room for the first byte */
    memset(kept, 'x', 126);
    kept[126] = 0;
    CHECK_STATUS(csk_profile_start(1), 0);
    count(stack_of(1), csk_profile_number_of_name(name), 1);
    expect_of_name(kept, 1);
    count(stack_of(1), csk_profile_number_of_name("no \xFF text"), 1);
    expect_of_name("no \xEF\xBF\xBD text", 1);
    csk_profile_stop();
}

TEST_MAIN(TEST(entries_whose_numbers_are_crossed_are_two), TEST(a_long_name_ends_with_a_whole_character))
