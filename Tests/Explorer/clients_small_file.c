/* clients_small_file.c: threads that read files though the process has no descriptor left. */
#include "base/small_file.h"

#include "explorer.h"

#include <string.h>

/* kernel_small_file.c */
extern bool kernel_own_table_refused;

static struct { uint32_t answers; } * shared;

static void make(void) { shared = explore_allocate(sizeof *shared); }
static void make_refused(void) {
    make();
    kernel_own_table_refused = true;
}

/* What it reads is what it asked for, whoever else asks, and whoever gave up before. */
static void reads(const char *path) {
    char text[8];
    memset(text, 0, sizeof text);
    long length = csk_small_file_read(path, text, sizeof text);
    if (length < 0) return;
    EXPECT_EQUAL(length, 2);
    EXPECT(text[0] == path[0] && text[1] == path[1]);
    explore_set(&shared->answers, 1);
}
static void reads_a(void) { reads("a1"), reads("a2"); }
static void reads_b(void) { reads("b1"), reads("b2"); }
CLIENT(small_file_one, .setup = make, .threads = { reads_a }, .preemptions = 2)
CLIENT(small_file_two, .setup = make, .threads = { reads_a, reads_b }, .preemptions = 1)

static void nobody_has_read(void) { EXPECT_EQUAL(shared->answers, 0); }
CLIENT(small_file_refused, .setup = make_refused, .threads = { reads_a, reads_b }, .check = nobody_has_read,
       .preemptions = 1)

/* A child has a reader of its own, whatever the parent's was in the middle of. */
static void forks_and_reads(void) {
    reads("p1");
    explore_fork();
    reads("q1");
}
CLIENT(small_file_fork, .setup = make, .threads = { forks_and_reads, reads_b }, .preemptions = 1)
