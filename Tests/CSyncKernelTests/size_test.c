/* size_test.c: the first member of attributes and views, as base.h has it. */
#include <csynckernel/csynckernel.h>

#include "test.h"

static int with_gate(size_t size) {
    csk_gate_t gate;
    return csk_gate_init(&gate, &(csk_gate_attr_t){ .size = size });
}
static int with_sem(size_t size) {
    csk_sem_t sem;
    return csk_sem_init_attr(&sem, 1, &(csk_sem_attr_t){ .size = size });
}
static int with_rwlock(size_t size) {
    csk_rwlock_t lock;
    return csk_rwlock_init(&lock, &(csk_rwlock_attr_t){ .size = size });
}
static int with_pqueue(size_t size) {
    csk_pqueue_t queue;
    return csk_pqueue_init_attr(&queue, &(csk_pqueue_attr_t){ .size = size });
}
static int with_workqueue(size_t size) {
    csk_workqueue_t queue;
    return csk_workqueue_init(&queue, &(csk_workqueue_attr_t){ .size = size });
}
static int with_workqueue_on_heap(size_t size) {
    csk_workqueue_t *queue;
    int status = csk_workqueue_create(&queue, &(csk_workqueue_attr_t){ .size = size });
    if (status == 0) csk_workqueue_release(queue);
    return status;
}
static int with_pool(size_t size) { return csk_pool_configure(&(csk_pool_attr_t){ .size = size }); }
static int with_view(size_t size) {
    csk_inspection_t view = { .size = size };
    int status = csk_inspect(&view);
    CHECK_EQ(view.size, size);
    return status;
}

static int swallow(void *context, const void *bytes, size_t size) {
    (void)context, (void)bytes, (void)size;
    return 0;
}
static int with_view_that_is_printed(size_t size) {
    csk_inspection_t view = { .size = size };
    return csk_inspect_print(&view, CSK_INSPECT_TEXT, swallow, NULL);
}

static void a_size_is_0_or_the_one_that_the_library_knows(void) {
    static const struct {
        int (*make)(size_t size);
        size_t known;
    } cases[] = {
        { with_pool, sizeof(csk_pool_attr_t) }, /* before anything uses the pool */
        { with_gate, sizeof(csk_gate_attr_t) },           { with_sem, sizeof(csk_sem_attr_t) },
        { with_rwlock, sizeof(csk_rwlock_attr_t) },       { with_pqueue, sizeof(csk_pqueue_attr_t) },
        { with_workqueue, sizeof(csk_workqueue_attr_t) }, { with_workqueue_on_heap, sizeof(csk_workqueue_attr_t) },
        { with_view, sizeof(csk_inspection_t) },          { with_view_that_is_printed, sizeof(csk_inspection_t) },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_STATUS(cases[i].make(0), 0);
        CHECK_STATUS(cases[i].make(cases[i].known), 0);
        CHECK_STATUS(cases[i].make(cases[i].known + 8), EINVAL);
        CHECK_STATUS(cases[i].make(cases[i].known - 8), EINVAL);
        CHECK_STATUS(cases[i].make(SIZE_MAX), EINVAL);
    }
}

static void no_attributes_are_the_defaults(void) {
    csk_gate_t gate;
    csk_sem_t sem;
    csk_rwlock_t lock;
    csk_pqueue_t queue;
    csk_workqueue_t works;
    CHECK_STATUS(csk_gate_init(&gate, NULL), 0);
    CHECK_STATUS(csk_sem_init_attr(&sem, 1, NULL), 0);
    CHECK_STATUS(csk_sem_post(&sem, CSK_SEM_MAX - 1), 0);
    CHECK_STATUS(csk_sem_post(&sem, 1), EOVERFLOW);
    CHECK_STATUS(csk_rwlock_init(&lock, NULL), 0);
    CHECK_STATUS(csk_pqueue_init_attr(&queue, NULL), 0);
    csk_pqueue_item_t items[2];
    for (int i = 0; i < 2; i++) CHECK_STATUS(csk_pqueue_trypush(&queue, 0, &items[i]), 0);
    CHECK_STATUS(csk_workqueue_init(&works, NULL), 0);
}

TEST_MAIN(TEST(a_size_is_0_or_the_one_that_the_library_knows), TEST(no_attributes_are_the_defaults))
