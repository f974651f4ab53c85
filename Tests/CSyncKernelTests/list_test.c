/* list_test.c: each way to put nodes into a short list and to take them out again, in every order, against an array. */
#include "test.h"

#include <string.h>

#include "base/list.h"

typedef struct node {
    int number;
    struct node *after, *before;
} node_t;

CSK_LIST(nodes, node_t, after, before);

enum { NODES = 4 };

static node_t nodes[NODES];
static node_t *first, *last;
/* What the list has to be. */
static int expected[NODES], count;

static void check(bool has_last) {
    const node_t *node = first, *before = NULL;
    for (int i = 0; i < count; i++) {
        CHECK(node != NULL && node->number == expected[i]);
        CHECK(node->before == before);
        before = node;
        node = node->after;
    }
    CHECK(node == NULL);
    if (has_last) CHECK(last == before);
}

static void put(int number, bool at_front, bool has_last) {
    if (at_front) nodes_put_first(&first, has_last ? &last : NULL, &nodes[number]);
    else nodes_put_last(&first, &last, &nodes[number]);
    memmove(&expected[at_front], expected, sizeof expected[0] * (size_t)(at_front ? count : 0));
    expected[at_front ? 0 : count] = number;
    count++;
    check(has_last);
}

static void take_out(int number, bool has_last) {
    int place = 0;
    while (expected[place] != number) place++;
    nodes_take_out(&first, has_last ? &last : NULL, &nodes[number]);
    memmove(&expected[place], &expected[place + 1], sizeof expected[0] * (size_t)(count - place - 1));
    count--;
    check(has_last);
}

/* Takes out those that are left in `in`, a bit for each, in every order. The list is made anew for each of them. */
static void take_out_in_order(unsigned fronts, int order, bool has_last) {
    memset(nodes, 0xa5, sizeof nodes); /* a node's links say nothing before it is put in */
    for (int i = 0; i < NODES; i++) {
        nodes[i].number = i;
        put(i, (fronts >> i & 1) != 0, has_last);
    }
    int left[NODES];
    for (int i = 0; i < NODES; i++) left[i] = i;
    for (int remain = NODES; remain > 0; order /= remain, remain--) {
        int at = order % remain;
        take_out(left[at], has_last);
        memmove(&left[at], &left[at + 1], sizeof left[0] * (size_t)(remain - at - 1));
    }
    CHECK(first == NULL && last == NULL && count == 0);
}

static void nodes_stand_where_they_were_put_whoever_leaves_first(void) {
    for (unsigned fronts = 0; fronts < 1u << NODES; fronts++)
        for (int order = 0; order < 24; order++) take_out_in_order(fronts, order, true);
}

static void a_list_without_an_end_is_put_to_at_its_front(void) {
    for (int order = 0; order < 24; order++) take_out_in_order((1u << NODES) - 1, order, false);
}

static void a_node_that_was_taken_out_goes_in_again(void) {
    memset(nodes, 0, sizeof nodes);
    for (int i = 0; i < NODES; i++) nodes[i].number = i;
    put(0, false, true);
    put(1, false, true);
    take_out(0, true);
    put(0, false, true);
    take_out(0, true);
    put(0, true, true);
    take_out(1, true);
    take_out(0, true);
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

typedef struct in_line {
    struct in_line *behind;
} in_line_t;

CSK_LINE(line, in_line_t, behind);

/* What stood in a line before, and who was its last, does not show. */
static void a_line_that_was_emptied_begins_anew(void) {
    in_line_t all[3], *front = NULL, *end = NULL;
    memset(all, 0xa5, sizeof all);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) line_append(&front, &end, &all[i]);
        for (int i = 0; i < 3; i++) {
            CHECK(front == &all[i]);
            front = front->behind;
        }
        CHECK(front == NULL);
    }
}

TEST_MAIN(TEST(nodes_stand_where_they_were_put_whoever_leaves_first),
          TEST(a_list_without_an_end_is_put_to_at_its_front), TEST(a_node_that_was_taken_out_goes_in_again),
          TEST(a_line_that_was_emptied_begins_anew))
