/* kernel_rcu_reclaim.c: the kernel's rcu_reclaim.c, the way back to its first state, and a look at what a fork would
 * leave to a child. */
#include "rcu_explored.h"

#include "explorer.h"
#include "internal.h"

static bool forks_readers;
static void hold_readers(void) {
    if (forks_readers) csk_rcu_sections_before_fork();
}
static void let_readers_go(void) {}
static void begin_readers(void) {
    if (forks_readers) csk_rcu_sections_after_fork_in_child();
}
static void prepare_nothing(void) {}
#define csk_rcu_sections_prepare prepare_nothing
#define csk_rcu_sections_before_fork hold_readers
#define csk_rcu_sections_after_fork_in_parent let_readers_go
#define csk_rcu_sections_after_fork_in_child begin_readers

#include "rcu/rcu_watch.h"
static void watches_nothing(void) {}
#define csk_rcu_watch_begin watches_nothing
#define csk_rcu_watch_end watches_nothing
#define csk_rcu_watch_after_fork_in_child watches_nothing
#include "rcu/rcu_reclaim.c"

void kernel_reset_rcu_reclaim(void) {
    rcu = (__typeof__(rcu)){ .limit = 32768 };
    turned_at_once = 1;
    room_wait_ns = 10 * 1000000;
    gather_ns = 1000000;
    forks_readers = false;
}

void explored_forks_readers(void) { forks_readers = true; }

void explored_wait_long_for_room(void) { room_wait_ns = INT64_MAX; }
void explored_gather_for_long(void) { gather_ns = INT64_MAX; }

/* Lists of the child have the parent's nodes: their links are put back. */
enum { NODES = 16 };

EXPLORE_UNSEEN void explored_fork(void (*look)(void)) {
    before_fork();
    __typeof__(rcu) parent = rcu;
    csk_rcu_node_t *nodes[NODES], **lists[] = { &rcu.incoming, &rcu.taken, &rcu.waiting, &rcu.ready };
    void *links[NODES];
    int count = 0;
    for (int i = 0; i < 4; i++)
        for (csk_rcu_node_t *node = *lists[i]; node != NULL; node = *next_of(node)) {
            if (count == NODES) explore_fail("the lists are longer than a client makes them");
            nodes[count] = node;
            links[count++] = node->reserved[0];
        }
    csk_rcu_node_t *running = rcu.running;
    after_fork_in_child();
    rcu.running = running;
    look();
    rcu = parent;
    for (int i = 0; i < count; i++) nodes[i]->reserved[0] = links[i];
    after_fork_in_parent();
}

int explored_places(const csk_rcu_node_t *wanted) {
    csk_rcu_node_t **lists[] = { &rcu.incoming, &rcu.taken, &rcu.waiting, &rcu.ready };
    int places = 0;
    for (int i = 0; i < 4; i++)
        for (csk_rcu_node_t *node = *lists[i]; node != NULL; node = *next_of(node)) places += node == wanted;
    return places;
}

bool explored_is_lost(const csk_rcu_node_t *node) { return rcu.running == node; }
int explored_pending(void) { return (int)(rcu.retired - rcu.reclaimed); }
