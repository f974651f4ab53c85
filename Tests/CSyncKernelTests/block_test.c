/* block_test.c: memory that goes between threads. */
#include <csynckernel/csynckernel.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

enum { COUNT = 1000 };

static void blocks_hold_what_is_written_and_are_apart(void) {
    static unsigned char *blocks[COUNT];
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = csk_block_take();
        CHECK(blocks[i] != NULL);
        CHECK_EQ((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
        memset(blocks[i], i & 255, CSK_BLOCK_SIZE);
    }
    for (int i = 0; i < COUNT; i++)
        for (int at = 0; at < CSK_BLOCK_SIZE; at++) CHECK_EQ(blocks[i][at], i & 255);
    for (int i = 0; i < COUNT; i++) csk_block_give(blocks[i]);
}

/* One thread takes, another gives back: each block is written by one at a time. */
typedef struct {
    void *places[64];
    uint32_t taken;
} exchange_t;

static void *give_back(void *context) {
    exchange_t *exchange = context;
    for (uint32_t done = 0; done < 200000;) {
        void *block = __atomic_exchange_n(&exchange->places[done % 64], NULL, __ATOMIC_ACQUIRE);
        if (block == NULL) {
            sched_yield();
            continue;
        }
        CHECK_EQ(*(uint32_t *)((char *)block + 8), done);
        CHECK_EQ(*(uint32_t *)((char *)block + CSK_BLOCK_SIZE - 4), ~done);
        csk_block_give(block);
        done++;
    }
    return NULL;
}

static void blocks_go_from_thread_to_thread(void) {
    static exchange_t exchange;
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, give_back, &exchange), 0);
    for (uint32_t number = 0; number < 200000;) {
        if (__atomic_load_n(&exchange.places[number % 64], __ATOMIC_RELAXED) != NULL) {
            sched_yield();
            continue;
        }
        char *block = csk_block_take();
        CHECK(block != NULL);
        *(uint32_t *)(block + 8) = number;
        *(uint32_t *)(block + CSK_BLOCK_SIZE - 4) = ~number;
        __atomic_store_n(&exchange.places[number % 64], block, __ATOMIC_RELEASE);
        number++;
    }
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void *take_and_give(void *context) {
    void *blocks[300];
    for (int i = 0; i < 300; i++) CHECK((blocks[i] = csk_block_take()) != NULL);
    for (int i = 0; i < 300; i++) csk_block_give(blocks[i]);
    return context;
}

/* What they keep is handed on or freed: AddressSanitizer's build counts what is not. */
static void threads_that_end_keep_nothing(void) {
    for (int i = 0; i < 2000; i++) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, take_and_give, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
}

/* A destructor that comes after the kernel's own, in each of the passes that a thread has. ThreadSanitizer allocates
 * nothing in the last one. */
enum { PASSES = PTHREAD_DESTRUCTOR_ITERATIONS - TEST_IS_SANITIZED };
static pthread_key_t late;
static void *left[8];
static int left_count;

static void take_and_give_late(void *pass) {
    csk_block_give(left[--left_count]);
    for (int i = 0; i < 2; i++) CHECK((left[left_count++] = csk_block_take()) != NULL);
    void *another = csk_block_take();
    for (int i = 0; i < left_count; i++) CHECK(another != NULL && another != left[i]);
    csk_block_give(another);
    if ((intptr_t)pass < PASSES) CHECK_EQ(pthread_setspecific(late, (char *)pass + 1), 0);
}

static void *leave_some(void *unused) {
    for (int i = 0; i < 2; i++) CHECK((left[left_count++] = csk_block_take()) != NULL);
    CHECK_EQ(pthread_setspecific(late, (char *)1), 0);
    return unused;
}

static void blocks_are_taken_and_given_at_the_very_end_of_a_thread(void) {
    enum { THREADS = 4000 / TEST_SLOWDOWN };
    csk_block_give(csk_block_take()); /* the kernel's key is the first */
    CHECK_EQ(pthread_key_create(&late, take_and_give_late), 0);
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, leave_some, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        CHECK_EQ(left_count, 2 + PASSES);
        while (left_count > 0) csk_block_give(left[--left_count]);
    }
    CHECK_LE(mallinfo2().uordblks, before + 256 * 1024); /* not a slab of each thread */
    CHECK_EQ(pthread_key_delete(late), 0);
}

static int by_address(const void *one, const void *other) {
    uintptr_t first = *(const uintptr_t *)one, second = *(const uintptr_t *)other;
    return (first > second) - (first < second);
}

/* One block in 50 stays, and the others come and go beside it, WINDOW of them at a time. */
static void blocks_that_stay_pin_twice_their_memory_at_most(void) {
    enum { STAY = 4000, SLAB = 4096, IN_SLAB = 50, WINDOW = 200 };
    static void *stay[STAY], *window[WINDOW];
    static uintptr_t slabs[STAY];
    uint32_t next = 0;
    for (int i = 0; i < STAY; i++) {
        CHECK((stay[i] = csk_block_take()) != NULL);
        slabs[i] = (uintptr_t)stay[i] / SLAB;
        for (int j = 1; j < IN_SLAB; j++, next = (next + 1) % WINDOW) {
            if (window[next] != NULL) csk_block_give(window[next]);
            CHECK((window[next] = csk_block_take()) != NULL);
        }
    }
    qsort(slabs, STAY, sizeof *slabs, by_address);
    int pinned = 1;
    for (int i = 1; i < STAY; i++) pinned += slabs[i] != slabs[i - 1];
    /* Those of the window stand in some more, as do those that the thread has not handed on. */
    if (!TEST_IS_SANITIZED) CHECK_LE(pinned, 2 * STAY / IN_SLAB + WINDOW / IN_SLAB * 4);
    for (int i = 0; i < STAY; i++) csk_block_give(stay[i]);
    for (int i = 0; i < WINDOW; i++) csk_block_give(window[i]);
}

static void a_child_of_fork_takes_and_gives(void) {
    void *from_before = csk_block_take();
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        csk_block_give(from_before);
        take_and_give(NULL);
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    csk_block_give(from_before);
}

TEST_MAIN(TEST(blocks_hold_what_is_written_and_are_apart), TEST(blocks_go_from_thread_to_thread),
          TEST(threads_that_end_keep_nothing), TEST(blocks_are_taken_and_given_at_the_very_end_of_a_thread),
          TEST(blocks_that_stay_pin_twice_their_memory_at_most), TEST(a_child_of_fork_takes_and_gives))
