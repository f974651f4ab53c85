/* partly.c: the clients that have too many schedules within their bound to run all of them each time. Every other
 * client's are all run, and one whose number grows beyond the limit fails: its exhaustive search would have become a
 * partial one unseen. */
#include "strategy.h"

#include <string.h>

static const char *const partly_explored[] = {
    "async_above_the_designated_fast",
    "async_left_elsewhere_fast",
    "fork_beside_delayed_work",
    "fork_with_gate_fast",
    "gate_above_the_designated_compact",
    "gate_above_the_designated_fast",
    "gate_above_the_designated_strict",
    "gate_disown_fast",
    "gate_last_frees_compact",
    "gate_last_frees_strict",
    "gate_three_fast",
    "gate_timeout_of_the_designated_fast",
    "gate_timeout_of_the_next_fast",
    "gate_try_fast",
    "gate_twice_fast",
    "gate_twice_strict",
    "gate_two_timeouts_fast",
    "gate_two_undecided",
    "lane_and_thread_fast",
    "lane_back_behind_a_higher_rank_fast",
    "lane_grace_begins_anew_compact",
    "lane_grace_begins_anew_fast",
    "lane_grace_begins_anew_strict",
    "lane_grace_ends_before_its_function_compact",
    "lane_grace_ends_before_its_function_fast",
    "lane_grace_ends_before_its_function_strict",
    "lane_is_held_until_its_function_compact",
    "lane_is_held_until_its_function_fast",
    "lane_is_held_until_its_function_strict",
    "lane_second_grant_has_its_own_grace_fast",
    "lane_task_forgets_its_grant_compact",
    "lane_task_forgets_its_grant_fast",
    "lane_task_forgets_its_grant_strict",
    "lane_task_of_higher_rank_compact",
    "lane_task_of_higher_rank_fast",
    "lane_task_of_higher_rank_strict",
    "lane_tasks_fast",
    "lane_two_fast",
    "later_calls_wait_for_each_other_compact",
    "later_calls_wait_for_each_other_fast",
    "later_calls_wait_for_each_other_strict",
    "later_is_refused_in_a_queue_compact",
    "later_is_refused_in_a_queue_fast",
    "later_is_refused_in_a_queue_strict",
    "mutex_last_frees",
    "mutex_two",
    "pool_writes_around_another",
    "rcu_barrier_beside_a_retirement",
    "rcu_barrier_waits_for_steps",
    "rcu_barriers",
    "rcu_beyond_the_limit",
    "rcu_fork",
    "rcu_fork_beside_a_barrier",
    "rcu_reader_with_an_old_phase",
    "rcu_readers_come_and_go",
    "rcu_retires_again",
    "rcu_room_is_told",
    "rcu_two_retire",
    "rwlock_read_write_biased",
    "rwlock_reads_write_biased",
    "sem_freed_beside_a_timeout",
    "sem_freed_by_the_last_of_two",
    "work_end_item",
};

bool is_partly_explored(const char *client) {
    for (size_t i = 0; i < sizeof partly_explored / sizeof *partly_explored; i++)
        if (strcmp(client, partly_explored[i]) == 0) return true;
    return false;
}
