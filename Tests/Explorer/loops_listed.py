"""The loops of the kernel that read what another thread may change, by what ends them."""
import typing


class Spin(typing.NamedTuple):
    """A loop in which a thread stays awake until another thread has made a step, or for a moment at most."""
    file: str
    function: str
    waits_for: str
    ended_by: str
    clients: list  # those that may report the variant
    text: str  # of the variant that must be reported: the step, or the bound, is taken away
    becomes: str = ""
    mutated: str = ""  # the file with the text, if that is another
    seen_by: tuple = ()


GATE, RW, WQ = "src/lock/", "src/readwrite/", "src/queue/"
YIELDS = "    for (;; csk_platform_yield())\n"

SPINS = [
    # Nothing bounds these: the thread that they wait for is in the middle of a few steps.
    Spin(WQ + "workqueue_order.c", "first_in_inbox", "the link to the first work of an inbox",
         "csk_work_push, two steps later", ["workqueue_*", "work_end_*"],
         "    else csk_store(&queue->inbox_first, work, CSK_RELEASE);\n", mutated=WQ + "workqueue.c"),
    Spin(WQ + "workqueue_order.c", "csk_work_sort", "the link to the next work", "csk_work_push, two steps later",
         ["workqueue_*", "work_end_*"],
         "    if (before != NULL) csk_store(&before->node.next, &work->node, CSK_RELEASE);\n    else ",
         "    if (before == NULL) ", WQ + "workqueue.c"),
    Spin(WQ + "workqueue_life.c", "csk_workqueue_destroy", "workers' last access to a queue",
         "csk_workqueue_unpin", ["workqueue_*", "work_end_*", "delayed_*", "pool_*"],
         "csk_fetch_add(&queue->state, -STATE_PIN_ONE, CSK_ACQ_REL)", "csk_load(&queue->state, CSK_ACQUIRE)",
         WQ + "workqueue_worker.c"),
    Spin("src/pool/pool.c", "csk_pool_prepare", "the first worker", "the thread that starts it",
         ["pool_*", "work_end_*"], "\n    csk_pool.starting = false;\n", "\n"),
    Spin("src/wait/watchdog.c", "await_start", "the watchdog thread", "the thread that starts it", ["watchdog_*"],
         "    watchdog.starting = 0;\n"),
    Spin("src/wait/timer.c", "csk_timer_prepare", "the timer thread", "the thread that starts it",
         ["timer_*"], "    csk_queue_lock(&timers.lock);\n    timers.starting = false;\n",
         "    csk_queue_lock(&timers.lock);\n"),
    # Until a deadline: the live view gives up, and says that it is busy.
    Spin("src/wait/waits.c", "csk_waits_try_lock", "a queue lock, until a time", "its holder, or the time",
         ["waits_gives_up_*"], "    if (csk_platform_now() >= until_ns) return false;\n", ""),
    Spin("src/thread/name.c", "csk_name_try_of", "the mutex of names, until a time", "its holder, or the time",
         ["name_gives_up_*"], "        if (!goes_on(context)) {\n", "        if (false) {\n"),
    # For a moment, before a thread yields or parks.
    Spin(GATE + "gate.c", "spin_to_enter", "a free gate", "a leaver, or the clock", ["gate_*"],
         "    while (csk_spin(&spin)) {\n", "    while (true) {\n"),
    Spin(GATE + "gate.c", "watch_gate", "a free gate, as the designated waiter", "a leaver, or the clock",
         ["gate_watch_*"], "    while (csk_spin(&spin))\n        if (csk_gate_holder",
         "    while (true)\n        if (csk_gate_holder"),
    Spin(GATE + "gate_await.c", "come_again_or_wait", "a true predicate", "a holder, or the number of yields",
         ["await_again_ends"],  # others find another order first
         "    while (yields.left > 0) {\n", "    while (true) {\n"),
    Spin(GATE + "sem.c", "spin_to_take", "permits", "who signals, or the clock", ["sem_*"],
         "    } while (csk_spin(&spin));\n", "    } while (true);\n"),
    Spin("src/wait/watch.c", "csk_watch_word", "an answer in the waiter's word", "who answers, or the clock",
         ["gate_*", "sem_*", "rwlock_*", "await_*", "cond_*"], "    while (csk_spin(&spin))\n", "    while (true)\n"),
    Spin("src/wait/watch.c", "csk_yield_for_word", "an answer in the waiter's word, by yields",
         "who answers, or the number of yields", ["await_yields_*"],
         "WORD_WAITING && csk_yield(&yields)) {}", "WORD_WAITING) csk_platform_yield();"),
    Spin("src/wait/spin_park.h", "csk_word_spin", "an answer in a word", "who answers, or the clock",
         ["pool_*", "work_end_*"], " && csk_spin_lasts(&spin)) csk_spin_pause(CSK_SPIN_PAUSES);",
         ") csk_spin_pause(CSK_SPIN_PAUSES);", seen_by=("pool",)),
    Spin("src/wait/queue_lock.c", "csk_queue_lock_slow", "a queue lock, 40 times", "its holder, or the number of looks",
         ["heap_*"], "    for (int spins = 0; spins < 40; spins++) {\n", "    for (;;) {\n"),
    Spin(RW + "rwlock_wait.c", "spin_to_pass", "a read-write lock that may be entered", "a leaver, or the clock",
         ["rwlock_*"], "    } while (csk_spin_lasts(&spin));\n", "    } while (true);\n"),
    Spin(RW + "rwlock_wait.c", "spin_to_pass", "a lock that a reader may enter, by yields",
         "a leaver, or the number of yields", ["rwlock_*"],
         "    while (csk_yield(&yields))\n        if (csk_rwlock_pass(", YIELDS + "        if (csk_rwlock_pass("),
    Spin(RW + "rwlock_wait.c", "spin_to_try_again", "a lock that the first waiter may enter", "a leaver, or the clock",
         ["rwlock_watch_*"], "self->mode != RW_WRITE && csk_spin(&spin)", "self->mode != RW_WRITE"),
    Spin(RW + "rwlock_wait.c", "watch", "a lock that the first waiter may enter, by yields",
         "a leaver, or the number of yields", ["rwlock_watch_*"],
         "    while (csk_yield(&yields))\n        if (may_try_again(", YIELDS + "        if (may_try_again("),
    Spin(RW + "rwlock_bias.c", "watch_marks", "readers' marks that end", "the readers, or the clock", ["rwlock_*"],
         "while (csk_reads_elsewhere(lock) && csk_spin_lasts(&spin));", "while (csk_reads_elsewhere(lock));"),
    Spin(RW + "rwlock_linger.c", "csk_linger_look", "the next section of a lock", "a granter, or the clock",
         ["rwlock_*", "work_end_*"], "== looks && csk_spin_lasts(&spin) && csk_pool_queued() == 0)", "== looks)"),
    Spin(RW + "rwlock_linger.c", "csk_linger_hand", "a worker that will look soon", "that worker, or the clock",
         ["rwlock_granter_*"], "== soon && csk_spin_lasts(&spin))", "== soon)"),
    Spin(WQ + "pqueue.c", "spin_in_line", "a promise, as the first in line", "who serves, or the clock",
         ["pqueue_*"], "!csk_pqueue_is_promised(waiter) && csk_spin_lasts(&spin))",
         "!csk_pqueue_is_promised(waiter))"),
    Spin(WQ + "pqueue_line.h", "csk_pqueue_lock", "the queue's mutex, 40 times", "its holder, or the number of tries",
         ["pqueue_mutex_*"], "    for (int tries = 0; tries < CSK_PQUEUE_TRIES; tries++) {\n", "    for (;;) {\n",
         seen_by=("pqueue",)),
    Spin(WQ + "workqueue_worker.c", "linger", "the next work", "who queues, or the clock",
         ["workqueue_*", "work_end_*"], " && csk_spin_lasts(&spin) && !(others = others_wait(queue)))", ")"),
]

# Between two looks the thread sleeps, and whoever makes the step wakes it, or a time does. That nobody does is a
# deadlock, which the explorer has always reported.
PARKS = {
    "src/lock/gate_await.c wait_until_true": 1,
    "src/lock/gate_watch.c park_until_queued": 1,
    "src/pool/pool.c run_worker": 1,
    "src/pool/pool.c sleep_until_called": 1,
    "src/pool/pool_growth.c supervise": 1,
    "src/queue/pqueue.c stand_in_line": 1,
    "src/queue/workqueue_wait.c await": 1,
    "src/queue/workqueue_worker.c csk_workqueue_serve": 1,
    "src/rcu/rcu_child.c await_quiet": 1,
    "src/rcu/rcu_reclaim.c count_up_or_wait": 1,
    "src/rcu/rcu_reclaim.c csk_rcu_barrier": 1,
    "src/rcu/rcu_reclaim.c gather": 1,
    "src/rcu/rcu_reclaim.c run_worker": 1,
    "src/rcu/rcu_reclaim.c sleep_until_pushed": 1,
    "src/rcu/rcu_reclaim.c start_worker": 1,
    "src/readwrite/rwlock_bias.c csk_rwlock_revoke": 1,
    "src/wait/listed.c csk_listed_take_off": 1,
    "src/wait/queue_lock.c csk_queue_lock_slow": 1,
    "src/wait/timer.c csk_timer_cancel": 1,
    "src/wait/timer.c run_timers": 1,
    "src/wait/waiter.c csk_waiter_await_granter": 1,
    "src/wait/waiter.c park_and_try": 2,
    "src/wait/waiter.c try_designated": 1,
    "src/wait/waits.c await_reader": 1,
}

# A round that comes to nothing is one in which another thread has made its own step: the next one begins from that.
# Nobody waits for anybody.
RETRIES = {
    "include/csynckernel/sem.h csk_sem_signal": 1,
    "include/csynckernel/sem.h csk_sem_take_fast": 1,
    "src/base/metrics.c raise_to": 1,
    "src/lock/gate_leave.c leave_one_word_contended": 1,
    "src/lock/gate_words.c csk_gate_take": 1,
    "src/lock/gate_words.c csk_gate_write_words": 1,
    "src/lock/sem.c change_permits": 1,
    "src/lock/sem.c csk_sem_trywait_slow": 1,
    "src/order/order.c begins": 1,
    "src/order/order.c change": 1,
    "src/queue/delayed.c csk_delayed_cancel": 1,
    "src/queue/workqueue.h csk_workqueue_add_claim_to": 1,
    "src/rcu/rcu_map.c change_entry": 1,
    "src/rcu/rcu_map.c csk_rcu_map_remove": 1,
    "src/rcu/rcu_map.c find_table": 1,
    "src/rcu/rcu_map.c move_slot": 1,
    "src/rcu/rcu_map.c place": 2,
    "src/rcu/rcu_map.c put": 1,
    "src/rcu/rcu_map.c replace_table": 1,
    "src/rcu/rcu_reclaim.c csk_rcu_pending": 1,
    "src/rcu/rcu_reclaim.c enlist": 1,
    "src/readwrite/rwlock.c count_in_word": 1,
    "src/readwrite/rwlock.c csk_rwlock_leave": 1,
    "src/readwrite/rwlock_async.c take_read": 1,
    "src/readwrite/rwlock_inbox.h csk_writes_push": 1,
    "src/readwrite/rwlock_inbox.h csk_writes_take": 1,
    "src/readwrite/rwlock_queue.c csk_rwlock_begin_in_child": 1,
    "src/readwrite/rwlock_queue.c csk_rwlock_settle": 1,
    "src/readwrite/rwlock_queue.h csk_rwlock_take_from_nobody": 1,
    "src/readwrite/rwlock_wait.h csk_rwlock_pass": 1,
    "src/readwrite/rwlock_work.c go_on_elsewhere": 1,
    "src/thread/block.c hand_on": 1,
    "src/thread/block.c return_blocks": 1,
    "src/thread/tls.c number_slot": 1,
    "src/wait/queue_lock.c csk_queue_lock_slow": 1,
    "src/wait/waits.c await_reader": 1,
    "src/wait/listed.c csk_inspect_callbacks": 1,
    "src/wait/watch.c csk_watch_may_look": 1,
}

# Each round goes on to another place, and no other thread decides how many there are; or each runs what has come.
WALKS = {
    "include/csynckernel/rcu_map.h csk_rcu_map_next_of": 1,
    "src/base/metrics.c csk_metrics_read": 1,
    "src/base/metrics.c csk_metrics_stamp": 1,
    "src/base/metrics.c csk_metrics_take_stamp": 1,
    "src/base/metrics.c read_spans": 1,
    "src/base/profile.c csk_profile_read": 1,
    "src/base/slots.c csk_slot_claim": 1,
    "src/lock/gate_await.c ask_in_order": 1,
    "src/lock/gate_await.c csk_gate_choose_next": 1,
    "src/order/order.c search_object": 1,
    "src/order/order.c is_kept": 1,
    "src/order/order.c keep_chain": 1,
    "src/pool/pool_growth.c count_announced": 1,
    "src/pool/pool_growth.c gather": 1,
    "src/profile/folded.c csk_profile_print_folded": 1,
    "src/profile/pprof.c print_gzip": 1,
    "src/queue/pqueue_line.c csk_pqueue_serve": 1,
    "src/queue/workqueue_order.c csk_work_sort": 1,
    "src/rcu/rcu_child.c is_quiet": 1,
    "src/rcu/rcu_map.c csk_rcu_map_find": 1,
    "src/rcu/rcu_map.c csk_rcu_map_next": 1,
    "src/readwrite/reads.c csk_reads_find_in_more": 2,
    "src/readwrite/reads.c csk_reads_forget": 2,
    "src/readwrite/reads.c csk_reads_look": 2,
    "src/readwrite/reads.c csk_reads_make_room": 2,
    "src/readwrite/reads.c csk_reads_threads": 2,
    "src/readwrite/reads.c is_empty": 1,
    "src/readwrite/reads.h csk_reads_find": 1,
    "src/readwrite/reads.h csk_reads_leave": 1,
    "src/readwrite/rwlock_inbox.h csk_writes_count": 1,
    "src/readwrite/rwlock_work.c abandon": 1,
    "src/readwrite/rwlock_work.c run": 1,
    "src/thread/block.c hand_on": 1,
    "src/thread/block.c receive": 1,
    "src/thread/tls.c csk_tls_open_bytes": 1,
    "src/thread/tls.c find_place": 1,
    "src/wait/listed.c csk_listed_has_callbacks": 1,
    "src/wait/listed.c csk_listed_next": 1,
    "src/wait/waits.c take_from": 1,
}

# No client of the explorer goes round these, or none that waits in them: C tests cover them.
NOT_EXPLORED = {
    "src/base/platform.c csk_platform_membarrier": 1,
    "src/inspect/inspect.c look_at_callbacks": 1,
    "src/inspect/inspect.c look_at_threads": 1,
    "src/inspect/inspect_objects.c count_inbox": 1,
    "src/inspect/inspect_objects.c read_pqueue": 1,
    "src/inspect/inspect_pool.c try_kept_queue": 1,
    "src/inspect/inspect_server.c csk_inspect_end_serving": 1,
    "src/inspect/inspect_server.c lock_folder": 1,
    "src/inspect/inspect_server.c serve": 1,
    "src/order/deadlock.c finds_old_wait": 1,
    "src/order/marks.c look": 1,
    "src/order/order.h csk_order_copy_text": 1,
    "src/order/order_print.c csk_order_print": 1,
    "src/wait/watchdog.c run": 2,
}
