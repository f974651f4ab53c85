/* internal.h: what the two halves of the explored platform, and the kernel's own static state, give to the core. */
#ifndef EXPLORER_INTERNAL_H
#define EXPLORER_INTERNAL_H

#include "hooks.h"

int64_t core_clock(const char *site);
void core_yield(const char *site);
void core_await(const char *site);
int core_park(uint32_t *word, uint32_t expected, int64_t deadline, const char *site);
void core_wake(const void *address, int count, const char *site);
bool core_has_membarrier(void);
/* Whether threads look for one that is late. */
bool core_looks(void);
bool core_changes_overtake(void);
void core_membarrier(const char *site);
void core_fork(const char *site);
int core_start_thread(void (*body)(void *), void *context);
void core_call_at_thread_end(void (*function)(void *));

/* The kernel as it is when a process begins. */
void kernel_reset_fork(void);
void kernel_reset_timers(void);
void kernel_reset_reads(void);
void kernel_reset_pool(void);
void kernel_prepare_pool(uint64_t taken, int64_t idle_ns);
void kernel_limit_pool(uint32_t most);
int kernel_park_counted(uint32_t *word, uint32_t expected, int64_t deadline_ns);
extern uint32_t kernel_workers_ended;
__attribute__((noreturn)) void kernel_end_worker(void);
void kernel_reset_rcu(void);
void kernel_reset_rcu_model(void);
void kernel_reset_rcu_readers(void);
void kernel_reset_rcu_own(void);
void kernel_reset_rcu_reclaim(void);
void kernel_reset_rcu_watch(void);
void kernel_reset_tls(void);
void kernel_reset_names(void);
void kernel_hold_names(void);
void kernel_let_go_of_names(void);
void kernel_reset_metrics(void);
void kernel_reset_waits(void);
void kernel_reset_ordering(void);
void kernel_reset_order(void);
void kernel_reset_order_graph(void);
void kernel_reset_watchdog(void);
void kernel_reset_deadlock(void);
void kernel_reset_inspect_server(void);
extern bool kernel_notes_waits;
void kernel_reset_listed(void);
void kernel_reset_small_file(void);
void kernel_reset_watch(void);
void kernel_reset_tasks(void);
void kernel_reset_blocks(void);
uint32_t kernel_blocks_lost(void);
extern uint32_t kernel_blocks_refused;
/* Of the queues on the heap, which are all of one size in a schedule. */
extern size_t kernel_queue_size;
int kernel_platform_call_at_thread_end(void (*function)(void *));
uint32_t kernel_keys_kept(void);
void kernel_reset_platform(void);
/* The system has filled this with zeros. */
void races_mapped(const void *memory, size_t size);

#endif
