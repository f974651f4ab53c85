#include "test.h"

#include "base/heap_shape.h"

static void check_child(const csk_heap_node_t *node, const csk_heap_node_t *child) {
    if (child == NULL) return;
    CHECK(!csk_heap_is_root(child) && csk_heap_up(child) == node);
    CHECK(!csk_heap_before(child, node));
}

/* Walks the whole heap without recursion: every link has its counterpart, no child comes before its parent, and each
 * way is the shorter one of two and one node more. */
static size_t checked_size(const csk_heap_t *heap) {
    size_t count = 0;
    if (heap->root != NULL) CHECK(csk_heap_is_root(heap->root));
    for (const csk_heap_node_t *node = heap->root; node != NULL; node = csk_heap_walk(node)) {
        count++;
        check_child(node, csk_heap_left(node));
        check_child(node, csk_heap_right(node));
        CHECK(csk_heap_way(csk_heap_left(node)) >= csk_heap_way(csk_heap_right(node)));
        CHECK_EQ(csk_heap_way(node), csk_heap_way(csk_heap_right(node)) + 1);
    }
    return count;
}

static void empty_heap_gives_nothing(void) {
    csk_heap_t heap;
    memset(&heap, 0, sizeof heap);
    CHECK(csk_heap_top(&heap) == NULL);
    CHECK(csk_heap_pop(&heap) == NULL);
    csk_heap_node_t node = { .rank = 3 };
    csk_heap_insert(&heap, &node);
    CHECK(csk_heap_top(&heap) == &node);
    CHECK(csk_heap_pop(&heap) == &node);
    CHECK(csk_heap_pop(&heap) == NULL);
    csk_heap_insert(&heap, &node);
    csk_heap_remove(&heap, &node);
    CHECK(csk_heap_top(&heap) == NULL);
}

static void insert_ignores_what_was_in_the_node(void) {
    csk_heap_t heap = { NULL };
    csk_heap_node_t nodes[3];
    memset(nodes, 0xa5, sizeof nodes);
    for (int i = 0; i < 3; i++) {
        nodes[i].rank = i;
        nodes[i].ticket = 0;
        csk_heap_insert(&heap, &nodes[i]);
    }
    for (int i = 2; i >= 0; i--) CHECK(csk_heap_pop(&heap) == &nodes[i]);
}

/* Every order of inserting up to seven nodes, popped after removing none or any one of them. */
static void check_order(const int *order, int count) {
    for (int removed = -1; removed < count; removed++) {
        csk_heap_t heap = { NULL };
        csk_heap_node_t nodes[7];
        for (int i = 0; i < count; i++) {
            /* Two nodes a rank: the pair is told apart by its tickets. */
            nodes[order[i]].rank = -(order[i] / 2);
            nodes[order[i]].ticket = order[i];
            csk_heap_insert(&heap, &nodes[order[i]]);
        }
        /* One pop first gives the heap its inner shape; what remains starts at node 1. */
        CHECK(csk_heap_pop(&heap) == &nodes[0]);
        if (removed > 0) csk_heap_remove(&heap, &nodes[removed]);
        CHECK_EQ(checked_size(&heap), count - 1 - (removed > 0));
        for (int i = 1; i < count; i++) {
            if (i != removed) CHECK(csk_heap_pop(&heap) == &nodes[i]);
        }
        CHECK(csk_heap_pop(&heap) == NULL);
    }
}

static void every_small_permutation_comes_out_sorted(void) {
    for (int count = 1, factorial = 1, checked; count <= 7; count++) {
        /* Heap's algorithm, with its counters in an array. */
        int order[7], counter[7] = { 0 };
        for (int i = 0; i < count; i++) order[i] = i;
        check_order(order, count);
        checked = 1;
        for (int i = 1; i < count;) {
            if (counter[i] == i) {
                counter[i++] = 0;
                continue;
            }
            int with = i % 2 ? counter[i] : 0, kept = order[with];
            order[with] = order[i];
            order[i] = kept;
            check_order(order, count);
            checked++;
            counter[i]++;
            i = 1;
        }
        factorial *= count;
        CHECK_EQ(checked, factorial);
    }
}

/* The reference: the nodes inside, sorted by (rank, ticket). */
enum { reference_capacity = 300 };
static csk_heap_node_t *reference[reference_capacity];
static size_t reference_count;

static bool comes_before(const csk_heap_node_t *a, const csk_heap_node_t *b) {
    if (a->rank > b->rank) return true;
    return a->rank == b->rank && a->ticket < b->ticket;
}

static void reference_insert(csk_heap_node_t *node) {
    size_t at = reference_count++;
    for (; at > 0 && comes_before(node, reference[at - 1]); at--) reference[at] = reference[at - 1];
    reference[at] = node;
}

static csk_heap_node_t *reference_remove(size_t at) {
    csk_heap_node_t *node = reference[at];
    memmove(&reference[at], &reference[at + 1], (--reference_count - at) * sizeof reference[0]);
    return node;
}

static void random_operations_match_a_sorted_array(void) {
    static csk_heap_node_t nodes[reference_capacity];
    csk_heap_node_t *idle[reference_capacity];
    size_t idle_count = reference_capacity;
    for (size_t i = 0; i < reference_capacity; i++) idle[i] = &nodes[i];
    csk_heap_t heap = { NULL };
    uint64_t random = test_seed(1);
    int64_t ticket = 0;
    reference_count = 0;
    for (int step = 0; step < TEST_ROUNDS(1000000); step++) {
        /* The bias to insert swings, so that the heap fills up and empties again and again. */
        uint64_t insert_in_8 = step / 2000 % 2 ? 2 : 5;
        if (test_random_below(&random, 8) < insert_in_8) {
            if (idle_count == 0) continue;
            csk_heap_node_t *node = idle[--idle_count];
            node->rank = csk_rank((int32_t)test_random_below(&random, 5) - 2, (int)test_random_below(&random, 3));
            node->ticket = test_random_below(&random, 4) == 0 ? -ticket : ticket;
            ticket++;
            /* Each third stands behind one that comes before it, where there is any. */
            csk_heap_node_t *earlier = reference_count != 0 ? reference[test_random_below(&random, reference_count)]
                                                            : NULL;
            if (step % 3 == 0 && earlier != NULL && comes_before(earlier, node)) csk_heap_insert_behind(earlier, node);
            else csk_heap_insert(&heap, node);
            reference_insert(node);
        } else if (reference_count != 0) {
            bool pop = test_random_below(&random, 2);
            csk_heap_node_t *expected = reference_remove(pop ? 0 : test_random_below(&random, reference_count));
            if (pop) CHECK(csk_heap_pop(&heap) == expected);
            else csk_heap_remove(&heap, expected);
            idle[idle_count++] = expected;
        }
        CHECK(csk_heap_top(&heap) == (reference_count ? reference[0] : NULL));
        if (step % 64 == 0) CHECK_EQ(checked_size(&heap), reference_count);
    }
}

/* Input in order makes a chain as deep as the heap is large, and so does input in the opposite order: with 64 KiB of
 * stack, neither could be merged by recursion. */
enum { many = 1000000 };

static void *million(void *context) {
    csk_heap_node_t *nodes = context;
    for (int descending = 0; descending < 2; descending++) {
        csk_heap_t heap = { NULL };
        for (int i = 0; i < many; i++) {
            nodes[i].rank = 0;
            nodes[i].ticket = descending ? i : many - i;
            csk_heap_insert(&heap, &nodes[i]);
        }
        /* The deepest node first. */
        csk_heap_node_t *far = &nodes[descending ? many - 1 : 0];
        csk_heap_remove(&heap, far);
        int64_t last = INT64_MIN;
        int popped = 0;
        for (csk_heap_node_t *node; (node = csk_heap_pop(&heap)) != NULL; popped++) {
            CHECK(node->ticket > last);
            last = node->ticket;
        }
        CHECK_EQ(popped, many - 1);
    }
    return NULL;
}

static void a_million_nodes_need_no_stack(void) {
    csk_heap_node_t *nodes = malloc(many * sizeof *nodes);
    CHECK(nodes != NULL);
    pthread_t thread;
    pthread_attr_t attributes;
    CHECK_EQ(pthread_attr_init(&attributes), 0);
    CHECK_EQ(pthread_attr_setstacksize(&attributes, test_stack_size(64 * 1024)), 0);
    CHECK_EQ(pthread_create(&thread, &attributes, million, nodes), 0);
    pthread_attr_destroy(&attributes);
    join_thread(thread);
    free(nodes);
}

/* A row that each next one stands behind: what is taken out leaves one tree, so nothing is compared or joined. */
static void what_is_inserted_in_order_stands_in_a_row(void) {
    enum { count = 1000 };
    static csk_heap_node_t nodes[count];
    csk_heap_t heap = { NULL };
    for (int i = 0; i < count; i++) {
        nodes[i] = (csk_heap_node_t){ .rank = 0, .ticket = i };
        if (i == 0) csk_heap_insert(&heap, &nodes[i]);
        else csk_heap_insert_behind(&nodes[i - 1], &nodes[i]);
    }
    CHECK_EQ(checked_size(&heap), count);
    for (int i = 0; i < 100; i++) {
        CHECK(csk_heap_left(&nodes[i]) == &nodes[i + 1] && csk_heap_right(&nodes[i + 1]) == NULL);
        CHECK(csk_heap_pop(&heap) == &nodes[i]);
    }
    /* One in the middle goes, and those behind it stay. */
    csk_heap_remove(&heap, &nodes[500]);
    CHECK_EQ(checked_size(&heap), count - 101);
    for (int i = 100; i < count; i++)
        if (i != 500) CHECK(csk_heap_pop(&heap) == &nodes[i]);
    CHECK(csk_heap_top(&heap) == NULL);
}

/* The nodes that a call changes are those that it has come by, or most of them. Among `wide` nodes none may change more
 * than four ways have: two that are merged, one that is settled, and neighbours. */
enum { wide = 1 << 17, most_changed = 4 * 18 };
static csk_heap_node_t *now, *before;
static int most;

static void note_changes(void) {
    int changed = 0;
    for (int i = 0; i < wide; i++) {
        if (memcmp(&now[i], &before[i], sizeof now[i]) == 0) continue;
        before[i] = now[i];
        changed++;
    }
    if (changed > most) most = changed;
}

static void take_out_a_few(csk_heap_t *heap, uint64_t *random) {
    static csk_heap_node_t *taken[30];
    memcpy(before, now, wide * sizeof *now);
    for (int i = 0; i < 30; i++) {
        bool pops = i % 3 != 0;
        taken[i] = pops ? csk_heap_pop(heap) : heap->root;
        for (uint64_t steps = test_random_below(random, 1000); !pops && steps > 0; steps--)
            taken[i] = csk_heap_walk(taken[i]);
        if (!pops) csk_heap_remove(heap, taken[i]);
        note_changes();
    }
    for (int i = 0; i < 30; i++) {
        csk_heap_insert(heap, taken[i]);
        note_changes();
    }
}

/* Nobody waits for a lock while a call goes by all nodes: not even by the first one that takes something out. */
static void no_call_goes_by_many_nodes(void) {
    enum { RISES, FALLS, ANY, BEHIND_THE_FIRST, ORDERS };
    now = calloc(wide, sizeof *now);
    before = calloc(wide, sizeof *before);
    CHECK(now != NULL && before != NULL);
    uint64_t random = test_seed(1);
    for (int order = 0; order < ORDERS; order++) {
        csk_heap_t heap = { NULL };
        for (int i = 0; i < wide; i++) {
            now[i].rank = order == RISES ? i : order == ANY ? (csk_rank_t)(test_random(&random) >> 2) : -(csk_rank_t)i;
            now[i].ticket = i;
            if (order == BEHIND_THE_FIRST && i > 0) csk_heap_insert_behind(&now[0], &now[i]);
            else csk_heap_insert(&heap, &now[i]);
        }
        most = 0;
        take_out_a_few(&heap, &random);
        CHECK_EQ(checked_size(&heap), wide);
        if (most > most_changed) printf("order %d: a call has changed %d nodes\n", order, most);
        CHECK(most <= most_changed);
    }
    free(now);
    free(before);
}

static void extreme_keys_keep_their_order(void) {
    static const csk_heap_node_t keys[] = {
        { .rank = INT64_MAX, .ticket = INT64_MIN },
        { .rank = INT64_MAX, .ticket = INT64_MAX },
        { .rank = (int64_t)INT32_MAX * 4 + CSK_PLACE_FRONT, .ticket = 0 },
        { .rank = (int64_t)INT32_MAX * 4 + CSK_PLACE_BACK, .ticket = 0 },
        { .rank = 1, .ticket = -1 },
        { .rank = 0, .ticket = INT64_MIN },
        { .rank = 0, .ticket = 0 },
        { .rank = 0, .ticket = INT64_MAX },
        { .rank = (int64_t)INT32_MIN * 4 + CSK_PLACE_BACK, .ticket = 0 },
        { .rank = (int64_t)INT32_MIN * 4 + CSK_PLACE_LAST, .ticket = INT64_MIN },
        { .rank = INT64_MIN, .ticket = INT64_MIN },
        { .rank = INT64_MIN, .ticket = INT64_MAX },
    };
    enum { count = sizeof keys / sizeof keys[0] };
    CHECK_EQ(csk_rank(INT32_MAX, CSK_PLACE_FRONT), keys[2].rank);
    CHECK_EQ(csk_rank(INT32_MIN, CSK_PLACE_LAST), keys[9].rank);
    for (size_t start = 0; start < count; start++) {
        csk_heap_t heap = { NULL };
        csk_heap_node_t nodes[count];
        for (size_t i = 0; i < count; i++) {
            size_t which = (start + i * 5) % count; /* 5 and 12 share no factor: each once */
            nodes[which] = keys[which];
            csk_heap_insert(&heap, &nodes[which]);
        }
        for (size_t i = 0; i < count; i++) CHECK(csk_heap_pop(&heap) == &nodes[i]);
    }
}

static void equal_keys_all_come_out(void) {
    csk_heap_t heap = { NULL };
    csk_heap_node_t nodes[100];
    for (int i = 0; i < 100; i++) {
        nodes[i].rank = nodes[i].ticket = 7;
        csk_heap_insert(&heap, &nodes[i]);
    }
    for (int i = 0; i < 100; i += 3) csk_heap_remove(&heap, &nodes[i]);
    int left = 0;
    while (csk_heap_pop(&heap) != NULL) left++;
    CHECK_EQ(left, 66);
}

TEST_MAIN(TEST(empty_heap_gives_nothing), TEST(insert_ignores_what_was_in_the_node),
          TEST(every_small_permutation_comes_out_sorted), TEST(random_operations_match_a_sorted_array),
          TEST(a_million_nodes_need_no_stack), TEST(what_is_inserted_in_order_stands_in_a_row),
          TEST(no_call_goes_by_many_nodes), TEST(extreme_keys_keep_their_order), TEST(equal_keys_all_come_out))
