#!/usr/bin/env python3
"""Takes one fence, look, wake, check or ordering at a time out of the kernel and reports which client of the explorer
notices, and after how many schedules.

More than 400 lines: most are the table of the mutants.

    mutants.py BUILD_FOLDER [NAME ...]      all mutants, or those named; --jobs N, default the number of processors
                                            --record: try all clients, and note in mutants_caught.txt which noticed
    mutants.py --check                      only looks whether each mutant's text stands in its file, once

Exits 1 when one survives, or is stale. A mutant is a file, a text that stands in it exactly once, and what takes its
place. The client that mutants_caught.txt names is tried first, and all of them when that one does not notice.
"""
import argparse, concurrent.futures, os, re, shutil, subprocess, sys, tempfile, time

from build import HERE, KERNEL, ROOT, build

sys.path.append(os.path.dirname(HERE))
from stale import place_of, stale

RECORD = os.path.join(HERE, "mutants_caught.txt")

GATE, ASIDE, LEAVE, QUEUE = "src/lock/gate.c", "src/lock/gate_aside.c", "src/lock/gate_leave.c", "src/lock/gate_queue.c"
ASYNC, LANE = "src/lock/gate_async.c", "src/lock/gate_lane.c"
ORDER, POLICY, WORDS = "src/lock/gate_order.c", "src/lock/gate_policy.c", "src/lock/gate_words.c"
TIMER = "src/wait/timer.c"
# What is the gate's, the semaphore's and the read-write lock's; a name of each stands for one place.
WAIT = "src/wait/waiter.c"
POOL, POOL_GROWTH, TRAMPOLINE = "src/pool/pool.c", "src/pool/pool_growth.c", "src/wait/trampoline.c"
FORK, READS, GATE_WORD = "src/thread/fork.c", "src/readwrite/reads.c", "src/lock/gate_queue.h"
WAITER = "src/wait/waiter.h"
SPIN_PARK = "src/wait/spin_park.h"
WQ, WQ_LIFE, WQ_REFUSE = "src/queue/workqueue.c", "src/queue/workqueue_life.c", "src/queue/workqueue_refuse.c"
WQ_WORKER, WQ_WORD = "src/queue/workqueue_worker.c", "src/queue/workqueue.h"
WQ_ORDER, WQ_WAIT, DELAYED = "src/queue/workqueue_order.c", "src/queue/workqueue_wait.c", "src/queue/delayed.c"
BLOCK = "src/thread/block.c"
TLS, THREAD_EXIT = "src/thread/tls.c", "src/thread/thread_exit.c"
RECLAIM, CHILD = "src/rcu/rcu_reclaim.c", "src/rcu/rcu_child.c"
MAP, MAP_HEADER = "src/rcu/rcu_map.c", "include/csynckernel/rcu_map.h"
RW, RW_WAIT = "src/readwrite/rwlock.c", "src/readwrite/rwlock_wait.c"
RW_QUEUE, RW_BIAS = "src/readwrite/rwlock_queue.c", "src/readwrite/rwlock_bias.c"
RW_WORD, RW_HEADER = "src/readwrite/rwlock_queue.h", "include/csynckernel/rwlock.h"
RW_WORK, RW_INBOX = "src/readwrite/rwlock_work.c", "src/readwrite/rwlock_inbox.h"
RW_ASYNC, RW_LINGER = "src/readwrite/rwlock_async.c", "src/readwrite/rwlock_linger.c"
LOCK, LOCK_SLOW, PQUEUE = "src/wait/queue_lock.h", "src/wait/queue_lock.c", "src/queue/pqueue.c"
PQUEUE_LINE, PQUEUE_ASYNC = "src/queue/pqueue_line.c", "src/queue/pqueue_async.c"
HEAP, HEADER, MUTEX = "src/base/heap.c", "include/csynckernel/gate.h", "src/lock/mutex.c"
COND = "src/lock/cond.c"
SEM, SEM_QUEUE, SEM_ASYNC = "src/lock/sem.c", "src/lock/sem_queue.c", "src/lock/sem_async.c"
SEM_WORD, SEM_HEADER = "src/lock/sem_queue.h", "include/csynckernel/sem.h"

# name, file, text, replacement; where several sources share a header's text, the source for which it is replaced
MUTANTS = [
    # Two words: fences and second looks.
    ("first waiter without membarrier", LEAVE, "    csk_platform_membarrier();\n", ""),
    ("no second look after the membarrier", LEAVE, "    if (csk_gate_holder(gate) == 0) csk_gate_post(gate);\n", ""),
    ("first waiter does not look again", GATE, "    if (first) csk_waiter_look_again(&csk_gate_queue_kind, gate);\n",
     ""),
    ("designated gives up without looking again", WAIT,
     "        if (tried == TRY_GAVE_UP) csk_waiter_look_again(kind->queue, object);\n", ""),
    ("designated times out without looking again", WAIT, " || was_relied_on;", ";\n        (void)was_relied_on;"),
    ("who times out in one word looks again", QUEUE, "    return was_designated && !csk_gate_is_one_word(object);",
     "    return was_designated;"),
    ("first callback does not look again", ASYNC, "    if (how == INSERTED_FIRST) csk_gate_look_again(gate);\n", ""),
    ("leaver does not look at the summary", LEAVE,
     "    if (summary != GATE_READY && !csk_gate_somebody_comes(summary, 0)) csk_gate_post(gate);\n", ""),
    ("inline leaver does not look", HEADER,
     "        if (CSK_UNLIKELY(__atomic_load_n(&gate->summary, __ATOMIC_RELAXED) != CSK_GATE_READY)) "
     "csk_gate_post(gate);\n", ""),
    ("inline leaver stores relaxed", HEADER, "        __atomic_store_n(&gate->held, 0, __ATOMIC_RELEASE);",
     "        __atomic_store_n(&gate->held, 0, __ATOMIC_RELAXED);"),
    ("who noted a gate enters it first", ASIDE, "    return next != NULL && next->node.rank >= rank;",
     "    return next != NULL && next->node.rank > rank;"),
    ("who noted a gate tries first", GATE, "    if (!csk_gate_is_noted(gate) && CSK_LIKELY(barge",
     "    if (CSK_LIKELY(barge"),
    ("an urgent thread steps aside", ASIDE, "next != NULL && next->node.rank >= rank;", "next != NULL;"),
    ("no waiter is late", ASIDE, "now_ns - next->told_ns > GATE_LATE_NS", "now_ns < next->told_ns"),
    ("a waiter is late at once", ASIDE, "now_ns - next->told_ns > GATE_LATE_NS", "now_ns >= next->told_ns"),
    ("each leaver steps aside for one waiter", ASIDE, "        next->told_ns = now_ns;\n", ""),
    ("the time of a waiter that is told does not begin", QUEUE, "    next->told_ns = csk_platform_now();\n", ""),
    ("who steps aside may stand alone", ASIDE, "    return next != NULL && next->node.rank >= rank;",
     "    (void)next;\n    return true;"),
    ("the end of a scope stores in one word too", HEADER,
     "    if (CSK_LIKELY(__atomic_load_n(&gate->summary, __ATOMIC_RELAXED) == CSK_GATE_READY)) {\n"
     "        __atomic_store_n(&gate->held, 0, __ATOMIC_RELEASE);",
     "    if (1) {\n        __atomic_store_n(&gate->held, 0, __ATOMIC_RELEASE);"),
    ("an unlock does not ask who holds the gate", HEADER,
     "        csk_gate_leave(gate);\n        return 0;\n    }\n    return csk_gate_unlock_slow(gate);",
     "    }\n    csk_gate_leave(gate);\n    return 0;"),
    ("slow leaver stores relaxed", LEAVE, "    csk_store(&gate->held, UINT64_C(0), CSK_RELEASE);",
     "    csk_store(&gate->held, UINT64_C(0), CSK_RELAXED);"),
    ("form decided twice", QUEUE, "    if (csk_load(&gate->summary, CSK_RELAXED) == 0)\n", ""),
    # One word.
    ("one-word leaver stores", LEAVE, "            if (csk_cas(&gate->held, &found, flags, CSK_RELEASE)) break;",
     "            { csk_store(&gate->held, flags, CSK_RELEASE); break; }"),
    ("one-word flags not repeated", WORDS, "    if (form & GATE_ONE_WORD) {", "    if (0) {"),
    ("leaver forgets the wake of the designated", LEAVE, "    } else if (effects.wake != NULL) *wake = effects.wake;",
     "    }"),
    ("leaver that grants drops the earlier wake", LEAVE, "        if (*wake != NULL) csk_platform_wake(*wake, 1);\n",
     ""),
    ("granted thread returns before its granter is done", GATE,
     "    (void)self;\n    csk_gate_lock_queue(gate);\n    csk_queue_unlock(&gate->queue_lock);\n",
     "    (void)self;\n    (void)gate;\n"),
    ("leaver does not publish", LEAVE, "    csk_gate_answer(gate, call, next, &effects);\n    csk_gate_publish(gate);",
     "    csk_gate_answer(gate, call, next, &effects);"),
    ("newcomer trusts an old summary", GATE,
     "    if ((found & HELD_FLAGS) && !(summary & GATE_WAITERS)) return QUEUE_FIRST;\n", ""),
    # Queue and order.
    ("newcomer ignores ranks", GATE,
     "    if ((summary & GATE_WAITERS) && (!csk_is_rank(rank) || csk_gate_biased_rank(rank) < "
     "summary >> GATE_RANK_SHIFT))\n        return QUEUE_FIRST;\n", ""),
    ("newcomer ignores closing and hand-over", GATE,
     "    if (summary & (GATE_CLOSED | GATE_HAND_OVER) || summary == 0) return QUEUE_FIRST;",
     "    if (summary == 0) return QUEUE_FIRST;"),
    ("designated enters out of order", GATE, "next = !entered && csk_gate_next(gate) == self;", "next = !entered;"),
    ("who is told to try is not noted as designated", QUEUE, "    gate->designated = 1;\n", "    (void)gate;\n"),
    ("designated keeps the designation", GATE, "    if (!entered) {\n        gate->designated = 0;",
     "    if (!entered) {"),
    ("designated gives up without settling", GATE, "    csk_gate_settle(gate, effects);\n    return entered ?",
     "    if (entered) csk_gate_settle(gate, effects);\n    return entered ?"),
    ("timed-out waiter does not settle", WAIT, "kind->queue->settle(object, &effects) || was_relied_on",
     "was_relied_on"),
    ("timed-out waiter overlooks its grant", WAIT, "    bool granted = csk_waiter_state(self) == WAITER_GRANTED, look",
     "    bool granted = false, look"),
    ("waiter queues without settling", GATE, "    bool first = csk_gate_settle(gate, &effects);",
     "    bool first = csk_gate_shows_nobody(gate);"),
    ("hand-over does not publish", LEAVE,
     "    if (next != NULL) csk_gate_grant_to(gate, next, &effects);\n    csk_gate_publish(gate);",
     "    if (next != NULL) csk_gate_grant_to(gate, next, &effects);"),
    ("settling does not publish what it did", QUEUE,
     "    csk_gate_answer(gate, call, next, effects);\n    csk_gate_publish(gate);",
     "    csk_gate_answer(gate, call, next, effects);"),
    ("settling does not publish first", QUEUE, "    enum csk_gate_call call = publish(gate, &next);",
     "    enum csk_gate_call call = csk_gate_call(gate, &next);"),
    ("settling grants to no callback", QUEUE, "    if (call == GATE_GRANTS && !csk_gate_take_for(gate, next)) return;",
     "    if (call == GATE_GRANTS) return;"),
    ("settling designates nobody", QUEUE, "    if (call == GATE_GRANTS && !csk_gate_take_for(gate, next)) return;",
     "    if (call == GATE_DESIGNATES || !csk_gate_take_for(gate, next)) return;"),
    ("grant takes a held gate", WORDS, "        if ((found & ~HELD_FLAGS) != 0) return false;\n", ""),
    ("waiter told without a wake", WAIT, "    if (csk_word_tell(&waiter->word, word)) effects->wake = &waiter->word;",
     "    csk_word_tell(&waiter->word, word);"),
    ("effects without the wake", WAIT, "    if (effects->wake != NULL) csk_platform_wake(effects->wake, 1);\n", ""),
    ("designation stays with who left", QUEUE,
     "    if (csk_load(&waiter->word, CSK_RELAXED) == WORD_TRY) gate->designated = 0;\n", ""),
    ("newcomer of lower rank may pass", POLICY, "    return newcomer->rank > next->node.rank ||",
     "    return true || newcomer->rank > next->node.rank ||"),
    ("passes are not counted", ORDER, "        gate->oldest_bypassed += granted ? 1 : 0;\n", ""),
    ("counts of passes do not move on", ORDER,
     "        waiter->older->bypassed += waiter->bypassed + (granted ? 1 : 0);\n", ""),
    ("the bypass limit is not looked at", POLICY, "    return overdue != NULL ? overdue : top;", "    return top;"),
    ("bypass limit in the two-word form", QUEUE, "gate->policy != CSK_GATE_FAST || gate->bypass_limit != 0 ||",
     "gate->policy != CSK_GATE_FAST ||"),
    ("front places count up", WAITER, "    return (rank & 3) == CSK_PLACE_FRONT ? -ticket : ticket;",
     "    return ticket;", "gate", "gate_async"),
    # Errors.
    ("re-entry is not noticed", GATE, "    if (csk_gate_holder(gate) == self) return EDEADLK;\n", ""),
    ("anybody may unlock", LEAVE,
     "    if (holder == 0 || (holder != self && holder != CSK_GATE_NOBODY)) return EPERM;\n", ""),
    ("the timeout is early", WAIT, "        if (word == WORD_PARKED) return leave_queue(kind, object, self);",
     "        if (word == WORD_PARKED || deadline_ns != CSK_NEVER) return leave_queue(kind, object, self);"),
    # Callbacks.
    ("cancelling takes out what was granted", WAIT, "    bool queued = csk_waiter_state(waiter) == WAITER_QUEUED &&",
     "    bool queued = csk_waiter_state(waiter) != WAITER_IDLE &&"),
    ("cancelling does not settle", WAIT, "        look_again = kind->settle(object, &effects);\n", ""),
    ("the deadline is not started", WAIT,
     "    csk_cannot_fail(csk_timer_start(&waiter->deadline, waiter->deadline_ns, passed, object));\n",
     "    (void)passed, (void)object;\n"),
    ("the deadline outlives the waiter", WAIT, "            csk_timer_cancel(&waiter->deadline);\n", ""),
    ("grace is not started for a later waiter", QUEUE, "    if (gate->pending != NULL) csk_gate_start_grace(gate);\n",
     ""),
    ("grace is not started at a contended grant", QUEUE,
     "        if (gate->waiters.root != NULL) csk_gate_start_grace(gate);\n", ""),
    ("grants are not pending", QUEUE, "    if (next->function != NULL && next->adoptable) gate->pending = next;\n", ""),
    ("a grant at once is not pending", QUEUE,
     "    if (waiter->function != NULL && waiter->adoptable) gate->pending = waiter;\n", ""),
    ("grace takes back what was adopted", ASYNC, "    bool lost = gate->pending == waiter && is_over(gate, waiter)",
     "    bool lost = true"),
    ("grace takes back for nobody", ASYNC, "    if (lost) lost = (next != NULL && next->node.rank != GATE_RANK_CLOSER)",
     "    if (lost) lost = next != NULL"),
    ("grace does not publish", ASYNC, "        waiter->grace_started = 0;\n        csk_gate_publish(gate);\n",
     "        waiter->grace_started = 0;\n"),
    ("adoption leaves the grant pending", ASYNC,
     "        csk_gate_end_pending(gate, waiter);\n    }\n    bool stop_grace", "    }\n    bool stop_grace"),
    ("adoption leaves the clock running", ASYNC, "    if (stop_grace) csk_timer_cancel(&waiter->grace);\n", ""),
    ("a pending grant can be unlocked", LEAVE,
     "    if (holder == CSK_GATE_NOBODY && !take_from_nobody(gate, self)) return EPERM;\n", ""),
    ("who unlocks for nobody does not hold the gate first", LEAVE,
     "    if (may) csk_gate_transfer(gate, self);\n", "    (void)self;\n"),
    ("who closes a gate can be cancelled", ASYNC, "request->deadline_ns, closing)", "request->deadline_ns, false)"),
    ("closing refuses nobody", ASYNC, "        gate->closed = closing;\n", ""),
    ("closing does not wait for lost grants", POLICY,
     "    if (top->node.rank == GATE_RANK_CLOSER) return !csk_gate_has_lost_grants(gate) ? top : NULL;\n", ""),
    ("a closer enters past lost grants", POLICY,
     "    if (next == NULL) return newcomer->rank != GATE_RANK_CLOSER || !csk_gate_has_lost_grants(gate);",
     "    if (next == NULL) return true;"),
    ("forgetting does not settle", ASYNC, "    bool look_again = csk_gate_settle(gate, &effects);\n",
     "    bool look_again = false;\n"),
    ("who forgets does not look again", ASYNC,
     "    csk_effects_perform(&effects);\n    if (look_again) csk_gate_look_again(gate);\n",
     "    csk_effects_perform(&effects);\n"),
    ("who unlocks a write of nobody does not hold it first", RW,
     "!csk_rwlock_take_from_nobody(lock)) return",
     "(csk_load(&lock->state, CSK_RELAXED) & ~RW_FLAGS) != (CSK_GATE_NOBODY | RW_WRITER)) return"),
    ("who relocks takes the hidden closer for one that shows", QUEUE, "    bool nobody = csk_gate_shows_nobody(gate);",
     "    bool nobody = csk_gate_shows_nobody(gate) && !gate->closed;"),
    ("a due function is not in use", ASYNC, "    if (csk_waiter_is_due(waiter)) return true;\n", ""),
    ("whoever comes takes the granted one", LANE,
     "lane->forced || !comes_before(first, lane->front) ? lane->front : first;", "lane->front;"),
    ("a stalled lane shows", LANE, "    if (lane->granted || lane->stalled || first == NULL) return;",
     "    if (lane->granted || first == NULL) return;"),
    ("later tasks pass a lost one", LANE, "    if (lost != NULL && !comes_before(first, lost)) return;\n", ""),
    ("a lane is granted past its stall", LANE,
     "    return !lane->stalled && (lost == NULL || comes_before(newcomer, lost));", "    return true;"),
    ("a stalled lane does not keep the closer", LANE, "    csk_gate_count_lost(gate, 1);\n    if (lane->function",
     "    if (lane->function"),
    ("begin leaves the next unshown", LANE,
     "    if (begun.first != NULL) begun.clocks = give_back(gate, begun.first, true);\n    show_first(gate, lane);\n",
     "    if (begun.first != NULL) begun.clocks = give_back(gate, begun.first, true);\n"),
    ("a task keeps its grant against a higher rank", LANE,
     "(has_grant(gate, waiter) && csk_gate_lane_has_better(lane))", "false"),
    ("goes on without publishing", LANE,
     "            csk_gate_grant_to(gate, next, &effects);\n            csk_gate_publish(gate);\n",
     "            csk_gate_grant_to(gate, next, &effects);\n"),
    ("a lane shows its first comer", LANE,
     "    if (lane->front != NULL && !comes_before(first, lane->front)) return;\n",
     "    if (lane->front != NULL) return;\n"),
    ("begin does not publish", LANE, "    if (begun.status == 0) csk_gate_publish(gate); /* this",
     "    if (begun.status == 0) {} /* this"),
    ("begin does not settle", LANE, "    else look_again = csk_gate_settle(gate, &effects);\n", ""),
    ("begin does not look again", LANE, "    else look_again = csk_gate_settle(gate, &effects);\n",
     "    else csk_gate_settle(gate, &effects);\n"),
    ("relock passes no grant", LANE,
     "        if (granted) pass_grant(gate, waiter->lane, &effects);\n        else show_first",
     "        if (!granted) show_first"),
    ("relock passes the grant in silence", LANE,
     "    csk_gate_lane_grant(gate, first);\n    csk_gate_mark_granted(gate, first, effects);",
     "    csk_gate_lane_grant(gate, first);"),
    ("relock leaves the loss counted", LANE, "        if (lost) settle_lost(gate, waiter);\n        wait_again",
     "        wait_again"),
    ("relock shows nobody", LANE, "        else show_first(gate, waiter->lane);\n    }\n    bool look_again",
     "    }\n    bool look_again"),
    ("relock in a lane does not settle", LANE, "    bool look_again = csk_gate_settle(gate, &effects);\n",
     "    bool look_again = false;\n"),
    ("relock in a lane does not look again", LANE, "    bool look_again = csk_gate_settle(gate, &effects);\n",
     "    bool look_again = (csk_gate_settle(gate, &effects), false);\n"),
    ("forget shows nobody", LANE, "    show_first(gate, waiter->lane);\n    /* The closing", "    /* The closing"),
    ("forget in a lane does not settle", LANE, "csk_gate_settle(gate, &effects) && !granted;", "false;"),
    ("forget leaves the loss counted", LANE, "    if (lost) settle_lost(gate, waiter);\n    if (lost || granted)",
     "    if (lost || granted)"),
    ("a stalled lane that fills again does not keep the closer", LANE,
     "    if (lane->stalled && first_waiting(lane) == NULL) csk_gate_count_lost(gate, 1);\n", ""),
    ("a stalled lane that empties keeps the closer", LANE,
     "    else if (lane->stalled && first_waiting(lane) == NULL) csk_gate_count_lost(gate, -1);\n", ""),
    ("the one that stood for its lane is lost by a grant to another", LANE,
     "        csk_heap_insert(&lane->waiters, &lane->front->node);\n    }\n    lane->front = waiter;\n"
     "    lane->granted = 1;", "    }\n    lane->front = waiter;\n    lane->granted = 1;"),
    ("who stood for its lane leaves nobody in its place", LANE, "    else show_first(gate, lane);\n}", "}"),
    ("a limit's choice is not remembered", QUEUE, "next->lane->forced = forced;", "(void)forced;"),
    ("the limit does not choose among the stalled", LANE,
     "overdue != NULL && overdue->lane == lane && csk_gate_lane_of(overdue) != NULL ? overdue : first;",
     "(void)overdue, first;"),
    ("a task that lost its grant keeps its lane's first hidden", LANE,
     "    csk_heap_insert(&lane->lost, &waiter->node);\n    show_first(gate, lane);\n",
     "    csk_heap_insert(&lane->lost, &waiter->node);\n"),
    ("a stalled lane begins past others", LANE, "    if (!csk_gate_may_pass(gate, &first->node) || !csk_gate_take",
     "    if (!csk_gate_take"),
    ("a stalled lane that goes on keeps the closer", LANE,
     "    csk_gate_count_lost(gate, -1);\n    csk_gate_waiter_t *first = first_to_begin",
     "    csk_gate_waiter_t *first = first_to_begin"),
    ("a lane with a grant becomes another's", LANE, "    return lane->front == NULL && !lane->stalled && lane->lost",
     "    return !lane->stalled && lane->lost"),
    ("a lane whose queue owes a begin becomes another's", LANE,
     "    return lane->front == NULL && !lane->stalled && lane->lost", "    return lane->front == NULL && lane->lost"),
    ("a lane whose task lost its grant becomes another's", LANE, " && !lane->stalled && lane->lost.root == NULL;",
     " && !lane->stalled;"),
    ("an executor takes the lane of a queue", LANE, "lane->key == key && (lane->function != NULL) == is_queue",
     "lane->key == key"),
    ("every key has the first lane", LANE, "lane->key == key && (lane->function != NULL) == is_queue",
     "(lane->function != NULL) == is_queue"),
    ("a lane keeps its key", LANE, "        idle->key = key;\n", "        if (idle->key == 0) idle->key = key;\n"),
    ("a lane that goes on takes others' grants", LANE,
     "next != NULL && csk_gate_lane_of(next) == lane && lane->key == key && lane->function != NULL",
     "next != NULL && lane->function != NULL"),
    ("a lane that has become another's goes on", LANE, "== lane && lane->key == key && lane->function != NULL",
     "== lane && lane->function != NULL"),
    ("who shows for its lane is not published", ASYNC, "lane == NULL || lane->front == waiter, first",
     "lane == NULL, first"),
    ("a newcomer stands behind one that it comes before", LANE, "    if (in_heap && comes_before(before, newest))",
     "    if (in_heap)"),
    ("a newcomer stands behind one that shows", LANE, " && before != lane->front &&", " &&"),
    ("a newcomer stands behind one that has lost its grant", LANE,
     " &&\n                   csk_waiter_state(before) == WAITER_QUEUED;", ";"),
    ("a newcomer stands behind one of another lane", LANE, "csk_gate_lane_of(before) == lane && ",
     "csk_gate_lane_of(before) != NULL && "),
    ("adoption in a lane shows nobody", LANE,
     "        clocks = give_back(gate, waiter, true);\n        show_first(gate, lane);\n",
     "        clocks = give_back(gate, waiter, true);\n"),
    ("adoption in a lane does not publish", LANE,
     "        show_first(gate, lane);\n        csk_gate_publish(gate);\n    }\n    csk_queue_unlock",
     "        show_first(gate, lane);\n    }\n    csk_queue_unlock"),
    ("who is passed in its lane waits uncounted", LANE, "    gate->waiting++;\n", ""),
    ("a lane's deadline does not count again", LANE, "    csk_gate_start_deadline(gate, waiter);\n", ""),
    ("forget passes no grant", LANE, "    if (granted) csk_gate_unlock(gate);\n", ""),
    ("forget keeps the lane's grant", LANE,
     "        csk_gate_transfer(gate, csk_self());\n        end_grant(gate, waiter->lane);",
     "        csk_gate_transfer(gate, csk_self());"),
    ("forget in a lane does not look again", LANE, "csk_gate_settle(gate, &effects) && !granted;",
     "(csk_gate_settle(gate, &effects), false);"),
    ("the last of a lane that leaves does not look again", WAIT, "    if (look_again) kind->look_again(object);\n", ""),
    ("a better one starts no grace", LANE, "    if (csk_gate_lane_has_better(lane)) csk_gate_start_grace(gate);\n", ""),
    ("grace does not look for a better one", ASYNC, " || csk_gate_lane_has_better(waiter->lane);", ";"),
    ("a begun one's deadline runs on", LANE, "    if (clocks & STOP_DEADLINE) csk_timer_cancel(&waiter->deadline);\n",
     ""),
    ("a begun one's grace runs on", LANE, "    if (clocks & STOP_GRACE) csk_timer_cancel(&waiter->grace);\n", ""),
    ("a lane that goes on stays due", LANE, "            csk_store(&lane->due, 0, CSK_RELAXED);\n", ""),
    # The grace of a grant whose lane's function has not been called.
    ("a grant is taken back before its lane's function", ASYNC,
     "    if (pending->lane != NULL) {\n        if (csk_cas", "    if (pending->lane == NULL) {\n        if (csk_cas"),
    ("the lane's function does not learn that the grace has ended", ASYNC,
     "        if (csk_cas(&pending->lane->due, &due, 2, CSK_ACQ_REL)) return false;\n", "        (void)due;\n"),
    ("the grace does not begin anew", HEADER, " == 2)) csk_gate_restart_grace(gate);", " == 2)) (void)gate;"),
    ("a grace begins with that of the grant before", QUEUE,
     "        waiter->granted_ns = 0; /* its grace has not begun */\n", ""),
    ("a grace has no beginning", ASYNC,
     "    if (pending->granted_ns == 0) pending->granted_ns = csk_platform_now();\n", ""),
    ("the new grace begins at the grant", ASYNC, "        gate->pending->granted_ns = csk_platform_now();\n", ""),
    ("the new grace has no clock", ASYNC,
     "        gate->pending->granted_ns = csk_platform_now();\n        csk_gate_start_grace(gate);\n",
     "        gate->pending->granted_ns = csk_platform_now();\n"),
    ("an earlier grant's clock is that of the next", ASYNC,
     "    if (csk_platform_now() >= pending->granted_ns + pending->grace_ns) return true;\n"
     "    csk_gate_start_grace(gate);\n    return false;", "    return true;"),
    ("an earlier grant's clock ends with the next", ASYNC, "    csk_gate_start_grace(gate);\n    return false;",
     "    return false;"),
    # The walk over those that were passed too often.
    ("the limit chooses who cannot be granted", ORDER, "        if (may_be_granted(waiter)) return waiter;\n",
     "        return waiter;\n"),
    ("the limit chooses out of a granted lane", ORDER, "    return !lane->granted && (lane->front == waiter ||",
     "    return (lane->front == waiter ||"),
    ("the limit looks at the oldest only", ORDER, "        passed -= waiter->bypassed;\n", "        passed = 0;\n"),
    ("the walk forgets how often each was passed", ORDER, "        passed -= waiter->bypassed;\n", ""),
    ("the closer is passed too often", ORDER, "        if (waiter->node.rank == GATE_RANK_CLOSER) return NULL;\n", ""),
    ("due is never over", TRAMPOLINE, "    csk_store(&waiter->due, 0, CSK_RELAXED);\n", ""),
    ("functions nest", TRAMPOLINE, "    if (ready.depth > 1) {\n        ready.depth--;\n        return;\n    }\n", ""),
    # What functions leave for later.
    ("what is left for later runs in a queue", TRAMPOLINE, "    if (ready.waits != 0) return false;\n", ""),
    ("what is left for later is not called", TRAMPOLINE, "    if (ready.waits == 0) run_later();\n", ""),
    ("what is left for later runs inside of functions", TRAMPOLINE, "    if (ready.waits == 0) run_later();\n",
     "    ready.depth = 1;\n    if (ready.waits == 0) run_later();\n    ready.depth = 0;\n"),
    ("what is left outside of functions waits for some", TRAMPOLINE,
     "    ready.last_later = later;\n    csk_trampoline_hold();\n    csk_trampoline_release();\n",
     "    ready.last_later = later;\n"),
    ("who waits hides it", WAIT,
     "    csk_trampoline_begin_wait();\n    csk_effects_perform(effects);\n    csk_trampoline_end_wait();",
     "    csk_effects_perform(effects);"),
    ("who looks again hides that it waits", WAIT,
     "    csk_trampoline_begin_wait();\n    kind->look_again(object);\n    csk_trampoline_end_wait();\n",
     "    kind->look_again(object);\n"),
    ("what is left for later runs in the queue of an earlier one", TRAMPOLINE,
     "    if (ready.waits == 0) run_later();\n", "    run_later();\n"),
    ("what is left for later drops the earlier", TRAMPOLINE,
     "    if (ready.later == NULL) ready.later = later;\n    else ready.last_later->next = later;\n",
     "    ready.later = later;\n"),
    ("a call is looked at after it was made", TRAMPOLINE,
     "        ready.later = later->next;\n        later->function(later);\n",
     "        later->function(later);\n        ready.later = later->next;\n"),
    # The queue lock.
    ("queue lock wakes nobody", LOCK,
     "    if (CSK_UNLIKELY(csk_exchange(lock, csk_process_mark(), CSK_SEQ_CST) & QUEUE_LOCK_CONTENDED))\n"
     "        csk_platform_wake(lock, 1);", "    csk_exchange(lock, csk_process_mark(), CSK_SEQ_CST);"),
    ("queue lock forgets other sleepers", LOCK_SLOW,
     "    while (csk_exchange(lock, free | QUEUE_LOCK_CONTENDED, CSK_ACQUIRE) != free)\n"
     "        csk_platform_park(lock, free | QUEUE_LOCK_CONTENDED, CSK_NEVER);",
     "    for (;;) {\n        uint32_t found_free = free;\n"
     "        if (csk_cas(lock, &found_free, free | 1u, CSK_ACQUIRE)) return false;\n"
     "        if (csk_exchange(lock, free | 2u, CSK_ACQUIRE) == free) { csk_store(lock, free | 1u, CSK_RELAXED); "
     "return false; }\n        csk_platform_park(lock, free | 2u, CSK_NEVER);\n    }"),
    ("queue lock is held by two", LOCK,
     "    if (CSK_LIKELY(csk_cas(lock, &expected, free | QUEUE_LOCK_HELD, CSK_ACQUIRE))) return false;",
     "    if (csk_load(lock, CSK_RELAXED) == free) { csk_store(lock, free | QUEUE_LOCK_HELD, CSK_RELEASE); return "
     "false; }\n    (void)expected;"),
    # Timers.
    ("an earlier deadline wakes nobody", TIMER, "    if (wake) wake_thread();\n", ""),
    ("cancel does not wait", TIMER, "        if (timers.firing != timer || is_timer_thread) break;", "        break;"),
    ("cancel looks once", TIMER,
     "        if (timer->epoch == csk_process_epoch()) {\n            csk_heap_remove(&timers.heap, &timer->node);\n"
     "            timer->epoch = 0;\n            status = 0;\n        }\n        if (timers.firing != timer",
     "        if (seen_once++ == 0 && timer->epoch == csk_process_epoch()) {\n"
     "            csk_heap_remove(&timers.heap, &timer->node);\n            timer->epoch = 0;\n"
     "            status = 0;\n        }\n        if (timers.firing != timer"),
    ("cancellers are not woken", TIMER, "    if (wake) csk_platform_wake(&timers.fired, INT32_MAX);\n", ""),
    ("timer thread reads its signal too late", TIMER, "        csk_platform_park(&timers.signal, seen, until);",
     "        seen = csk_load(&timers.signal, CSK_RELAXED);\n        csk_platform_park(&timers.signal, seen, until);"),
    ("granted functions run while the timer fires", TIMER, "    csk_trampoline_hold();\n", ""),
    ("two timer threads", TIMER, "    for (uint32_t looks = 0; timers.starting; looks++) {",
     "    for (uint32_t looks = 0; false; looks++) {"),
    ("timers fire early", TIMER, "        if (first != NULL && deadline_of(first) <= csk_platform_now()) {",
     "        if (first != NULL && deadline_of(first) <= csk_platform_now() + 4000) {"),
    # fork.
    ("a fork raises no epoch", FORK, "    csk_process.mark = (csk_process.epoch - 1) << 2;\n", ""),
    ("no stage acts in the child", FORK, "        if (taking_part & UINT32_C(1) << stage) stages[stage].in_child();\n",
     "        continue;\n"),
    ("the child keeps the marks of the parent's readers", READS,
     "        if (is_mine(record)) {\n            own(", "        if (true) {\n            own("),
    ("the child keeps the parent's timers", TIMER, "    timers.heap.root = NULL;\n", ""),
    ("the child counts on the parent's timer thread", TIMER, "    timers.thread_runs = is_timer_thread;\n", ""),
    ("a child has two timer threads", TIMER, "    timers.thread_runs = is_timer_thread;\n",
     "    timers.thread_runs = false;\n"),
    ("a child forgets the function that forks", TIMER, "    if (!is_timer_thread) timers.firing = NULL;\n",
     "    timers.firing = NULL;\n"),
    ("the child counts on the parent's workers", POOL, "    csk_pool_process.ready = 0;\n", ""),
    ("the child keeps the parent's items", POOL,
     "    for (int level = 0; level < CSK_POOL_LEVELS; level++) csk_pool.levels[level] = (csk_pool_queue_t){ NULL, "
     "NULL };\n    csk_pool.queued = 0;\n", ""),
    ("the child waits for the parent's queue lock", LOCK_SLOW,
     "    while (CSK_UNLIKELY(csk_queue_lock_is_old(found)))\n"
     "        if (csk_cas(lock, &found, free | QUEUE_LOCK_HELD, CSK_ACQUIRE)) return true;\n", ""),
    ("the child keeps the gate's waiters", GATE_WORD,
     "    if (CSK_UNLIKELY(csk_queue_lock(&gate->queue_lock))) csk_gate_begin_in_child(gate);",
     "    csk_queue_lock(&gate->queue_lock);"),
    ("a grant that is taken back is named no longer", ASYNC,
     "            csk_gate_count_lost(gate, 1);\n            csk_waiter_set(waiter, WAITER_LOST);",
     "            gate->pending = NULL;\n            csk_gate_count_lost(gate, 1);\n"
     "            csk_waiter_set(waiter, WAITER_LOST);"),
    ("a task's grant that is taken back is named no longer", LANE,
     "    leave_grant(lane);\n    csk_gate_count_lost(gate, 1);",
     "    end_grant(gate, lane);\n    csk_gate_count_lost(gate, 1);"),
    ("a grant that is taken back stays named", ASYNC,
     "        csk_gate_end_pending(gate, waiter);\n        waiter->grace_started = 0;",
     "        waiter->grace_started = 0;"),
    ("a clock starts for a grant that is taken back", ASYNC, "        waiter->grace_started = 1; /*", "        /*"),
    ("a grant that is passed on is named late", LANE, "    gate->pending = first; /*",
     "    gate->pending = NULL;\n    __atomic_thread_fence(__ATOMIC_RELEASE); /*"),
    ("the child keeps the gate's flags", QUEUE,
     "    if (csk_load(&gate->summary, CSK_RELAXED) != 0) csk_gate_publish(gate);\n}", "}"),
    ("a waiter of the parent waits in the child", WAITER, "    uint32_t state = waiter->state ^ csk_process_mark();\n",
     "    uint32_t state = waiter->state & 3;\n"),
    ("the child keeps the lock's waiters", RW_WORD,
     "    if (CSK_UNLIKELY(csk_queue_lock(&lock->queue_lock))) csk_rwlock_begin_in_child(lock);",
     "    csk_queue_lock(&lock->queue_lock);"),
    ("who tries goes by the parent's flags", RW_WAIT,
     "    if (csk_rwlock_know_process(lock) && csk_rwlock_pass(lock, mode, self)) return 0;\n", ""),
    ("the parent's writer keeps a biased lock", RW_QUEUE,
     "waits_for_readers && (found & RW_WRITER) ? 0 : found & ~RW_FLAGS", "found & ~RW_FLAGS"),
    ("a child's writer is taken for the parent's", RW,
     "    if (csk_load(&lock->bias, CSK_RELAXED) != BIAS_OFF) csk_rwlock_await_process(lock);\n", ""),
    ("a child's writer does not wait until the lock is made anew", RW, "!= BIAS_OFF) csk_rwlock_await_process(lock);",
     "!= BIAS_OFF) csk_rwlock_know_process(lock);"),
    ("the child keeps the parent's work", WQ, "        make_anew(queue);\n", ""),
    # Mutex.
    ("mutex in the two-word form", MUTEX, "csk_store(&gate->summary, GATE_ONE_WORD, CSK_RELEASE);",
     "csk_store(&gate->summary, GATE_READY, CSK_RELEASE);"),
    ("mutex tried again by its holder", MUTEX,
     "    if (csk_gate_is_mine(&mutex->gate)) return csk_mutex_lock(mutex);\n", ""),
    ("mutex unlocked by a store", "include/csynckernel/mutex.h",
     "        if (CSK_LIKELY(__atomic_compare_exchange_n(&mutex->gate.held, &expected, 0, 0, __ATOMIC_RELEASE,\n"
     "                                                   __ATOMIC_RELAXED)))\n            return 0;",
     "        (void)expected;\n        __atomic_store_n(&mutex->gate.held, 0, __ATOMIC_RELEASE);\n        return 0;"),
    # The blocking queue.
    ("a push serves nobody", PQUEUE,
     "        if (CSK_UNLIKELY(queue->poppers.unpromised != NULL)) return serve_and_unlock(queue);\n", ""),
    ("a pop serves nobody", PQUEUE,
     "        if (CSK_UNLIKELY(queue->pushers.unpromised != NULL)) return serve_and_unlock(queue);\n", ""),
    ("a promise without a signal", PQUEUE_LINE,
     "        pthread_cond_signal(condition_of(waiter));\n        return true;\n", "        return true;\n"),
    ("promises are not used up", PQUEUE_LINE, "    if (csk_pqueue_is_promised(waiter)) line->promised--;\n    else if",
     "    if"),
    # An asynchronous waiter that stays would be served without end, in a loop that the explorer does not interrupt.
    ("a thread that gives up stays its line's next to be served", PQUEUE_LINE,
     "    else if (line->unpromised == waiter) line->unpromised",
     "    else if (line->unpromised == waiter && waiter->function != NULL) line->unpromised"),
    ("a popper takes what was promised", PQUEUE, "    if (queue->count <= queue->poppers.promised) {",
     "    if (queue->count == 0) {"),
    ("a pusher takes a promised place", PQUEUE, "    else if (csk_pqueue_places(queue) <= queue->pushers.promised) {",
     "    else if (csk_pqueue_places(queue) == 0) {"),
    ("closing wakes no popper", PQUEUE, "    csk_pqueue_tell_closed(queue, &queue->poppers, &effects);\n", ""),
    ("closing wakes no pusher", PQUEUE, "    csk_pqueue_tell_closed(queue, &queue->pushers, &effects);\n", ""),
    ("draining keeps promises", PQUEUE, "    csk_pqueue_revoke(&queue->poppers);\n", ""),
    ("draining serves no pusher", PQUEUE,
     "    csk_pqueue_revoke(&queue->poppers);\n    csk_pqueue_serve(queue, &effects);\n",
     "    csk_pqueue_revoke(&queue->poppers);\n"),
    ("a popper that has looked for a moment goes on without the mutex", PQUEUE,
     "    csk_pqueue_lock(queue);\n    csk_spin_learn(habit", "    csk_spin_learn(habit"),
    ("a timeout drops a promise", PQUEUE,
     "        if (csk_pqueue_is_promised(&self.waiter) && !(queue->closed && line == &queue->pushers)) break;\n"
     "        if (queue->closed) status = ESHUTDOWN;\n"
     "        else if (deadline_ns != CSK_NEVER && csk_now() >= deadline_ns) status = ETIMEDOUT;\n",
     "        if (queue->closed) status = ESHUTDOWN;\n"
     "        else if (deadline_ns != CSK_NEVER && csk_now() >= deadline_ns) status = ETIMEDOUT;\n"
     "        else if (csk_pqueue_is_promised(&self.waiter)) break;\n"),
    ("an item that was handed over makes no place", PQUEUE_LINE,
     "    while (serve_first(queue, &queue->poppers, queue->count, effects) ||\n"
     "           serve_first(queue, &queue->pushers, csk_pqueue_places(queue), effects)) {}\n",
     "    while (serve_first(queue, &queue->pushers, csk_pqueue_places(queue), effects)) {}\n"
     "    while (serve_first(queue, &queue->poppers, queue->count, effects)) {}\n"),
    ("a place that was handed over makes no item", PQUEUE_LINE,
     "    while (serve_first(queue, &queue->poppers, queue->count, effects) ||\n"
     "           serve_first(queue, &queue->pushers, csk_pqueue_places(queue), effects)) {}\n",
     "    while (serve_first(queue, &queue->poppers, queue->count, effects)) {}\n"
     "    while (serve_first(queue, &queue->pushers, csk_pqueue_places(queue), effects)) {}\n"),
    ("an asynchronous waiter takes what was promised", PQUEUE_LINE,
     "    if (waiter == NULL || line->promised >= supply) return false;\n",
     "    if (waiter == NULL || (waiter->function == NULL ? line->promised >= supply : supply == 0)) return false;\n"),
    ("an asynchronous waiter comes to a line without a look", PQUEUE_ASYNC,
     "        csk_pqueue_serve(queue, &effects);\n", ""),
    ("an asynchronous waiter is taken out twice", PQUEUE_ASYNC,
     "    bool queued = csk_waiter_state(waiter) == WAITER_QUEUED;\n", "    bool queued = true;\n"),
    ("an asynchronous waiter that is in use is queued for an item", PQUEUE_ASYNC,
     "    if (csk_waiter_is_waiting(waiter)) status = EBUSY;\n    else if", "    if"),
    ("an asynchronous waiter is queued in a closed queue", PQUEUE_ASYNC,
     "    else if (is_over(queue, mode)) status = ESHUTDOWN;\n", ""),
    ("a closed queue refuses an asynchronous waiter what is inside", PQUEUE_ASYNC,
     "(mode == PQUEUE_PUSHES || queue->count <= queue->poppers.promised)", "true"),
    ("closing tells no asynchronous waiter", PQUEUE_LINE,
     "        else csk_pqueue_end(queue, waiter, ESHUTDOWN, effects);\n", ""),
    ("who serves an asynchronous waiter does not call it", PQUEUE,
     "    csk_pqueue_serve(queue, &effects);\n    csk_pqueue_unlock(queue, &effects);\n    return 0;\n",
     "    csk_pqueue_serve(queue, &effects);\n    pthread_mutex_unlock(&queue->mutex);\n    return 0;\n"),
    ("who drains does not call the asynchronous waiters that it serves", PQUEUE,
     "    csk_pqueue_serve(queue, &effects);\n    csk_pqueue_unlock(queue, &effects);\n    /* From",
     "    csk_pqueue_serve(queue, &effects);\n    pthread_mutex_unlock(&queue->mutex);\n    /* From"),
    ("an asynchronous pop has no clock", PQUEUE_ASYNC,
     "        if (csk_waiter_state(waiter) == WAITER_QUEUED) csk_waiter_start_deadline(waiter, queue, "
     "deadline_passed);\n",
     ""),
    ("an asynchronous push draws no ticket", PQUEUE_ASYNC,
     "        if (mode == PQUEUE_PUSHES) csk_pqueue_begin_push(queue, item, priority);\n",
     "        if (mode == PQUEUE_PUSHES) item->node.rank = csk_rank(priority, CSK_PLACE_BACK);\n"),
    # The read-write lock.
    ("newcomers pass the lock's queue", RW_WORD, "    return flags == 0 || flags == (RW_WAITERS | RW_COMING);",
     "    return flags == 0 || flags != RW_HAND_OVER;"),
    ("readers pass a designated writer", RW_WORD,
     " ||\n           (lock->coming && first->mode == RW_WRITE);", ";"),
    ("readers pass one that upgrades", RW_WORD, " || first->mode == RW_UPGRADE ||", " ||"),
    ("readers pass a writer behind a woken reader", RW_WAIT, "        woken->hand_over = 1;\n",
     "        (void)woken;\n"),
    ("one that upgrades takes the hand-over of a woken reader", RW_WAIT, "        woken->hand_over = 1;\n",
     "        (void)woken;\n        lock->first->hand_over = 1;\n"),
    ("the hand-over ends when one has upgraded, or not", RW_QUEUE,
     "    if (waiter->newer != NULL) waiter->newer->older = waiter->older;\n",
     "    if (waiter->mode == RW_UPGRADE && waiter->newer != NULL) waiter->newer->hand_over = 0;\n"
     "    if (waiter->newer != NULL) waiter->newer->older = waiter->older;\n"),
    ("who was passed once is passed again", RW_WAIT,
     "    self->hand_over = 1; /* somebody has passed this waiter, and nobody will again */\n", ""),
    ("a writer that comes counts as told, and is not", RW_WAIT,
     "        csk_store(&writer->word, WORD_TRY, CSK_RELAXED);\n", ""),
    ("newcomers pass a hand-over of the lock", RW_WORD, "flags == (RW_WAITERS | RW_COMING);",
     "(flags & RW_COMING) != 0;"),
    ("who queues at the lock does not settle", RW_WAIT,
     "    csk_rwlock_settle(lock, RELEASE_NOTHING, &effects);\n    bool waits", "    bool waits"),
    ("timed-out waiter of the lock does not settle", WAIT, "kind->queue->settle(object, &effects) || was_relied_on",
     "was_relied_on"),
    ("timed-out waiter of the lock overlooks its grant", WAIT,
     "    bool granted = csk_waiter_state(self) == WAITER_GRANTED, look", "    bool granted = false, look"),
    ("designated at the lock gives up without settling", RW_WAIT,
     "    lock->coming = 0;\n    csk_rwlock_settle(lock, RELEASE_NOTHING, effects);", "    lock->coming = 0;"),
    ("designated at the lock still counts as told", RW_WAIT, "    csk_store(&self->word, WORD_WAITING, CSK_RELAXED);\n",
     "    (void)0;\n"),
    ("let in without a wake", SPIN_PARK, "    if (csk_word_tell(word, answer)) csk_platform_wake(word, 1);",
     "    csk_word_tell(word, answer);", "waiter"),
    ("coming stays with who left the lock's queue", RW_QUEUE,
     "    if (csk_load(&waiter->word, CSK_RELAXED) == WORD_TRY) lock->coming = 0;\n", ""),
    ("let in just before the deadline, and gone at once", WAIT, "    if (granted) kind->await_granter(object, self);\n",
     ""),
    ("leaver of the lock forgets the wake", RW, "    if (wake != NULL) csk_platform_wake(wake, 1);\n}", "}"),
    ("leaver that hands the lock over drops the earlier wake", RW,
     "    if (settle && *wake != NULL) csk_platform_wake(*wake, 1);\n", ""),
    ("the last other reader does not look for an upgrade", RW, "(rest == RW_READER && (found & RW_HAND_OVER));",
     "false;"),
    ("downgrading takes nobody along", RW, "else somebody = release != RELEASE_READ || (", "else somebody = ("),
    ("two readers wait to upgrade", RW_WAIT, "    } else if (lock->first == NULL || lock->first->mode != RW_UPGRADE) {",
     "    } else if (true) {"),
    ("readers enter one at a time", RW_QUEUE, "        *holders = entered;\n",
     "        *holders = entered;\n        next = next->newer;\n        break;\n"),
    ("a writer enters among readers", RW_WORD, "    case RW_WRITE: return holders != 0 ? 0 :",
     "    case RW_WRITE: return (holders & RW_WRITER) ? 0 :"),
    ("an upgrade among readers", RW_WORD, "    default: return holders != RW_READER ? 0 :",
     "    default: return (holders & RW_WRITER) ? 0 :"),
    ("a nested read stands in the queue", RW, "    if (read != NULL) {\n        if (read->levels",
     "    if (false) {\n        if (read->levels"),
    ("revoking without membarrier", RW_BIAS, "    csk_platform_membarrier();\n", ""),
    ("revoking waits for nobody", RW_BIAS, "        if (!csk_reads_elsewhere(lock)) break;", "        break;"),
    ("a biased reader does not look again", RW_HEADER,
     "    if (CSK_LIKELY(__atomic_load_n(&lock->bias, __ATOMIC_ACQUIRE) == CSK_RWLOCK_BIAS_ON)) return true;\n"
     "    csk_rwlock_leave_biased(lock, read);\n    return false;", "    return true;"),
    ("a biased reader leaves without a look", RW_HEADER,
     "    if (CSK_UNLIKELY(__atomic_load_n(&lock->bias, __ATOMIC_RELAXED) == CSK_RWLOCK_BIAS_REVOKING))\n"
     "        csk_rwlock_wake_revoker(lock);\n", ""),
    ("a biased reader clears its mark relaxed", RW_HEADER,
     "    __atomic_store_n(&read->lock, NULL, __ATOMIC_RELEASE);",
     "    __atomic_store_n(&read->lock, NULL, __ATOMIC_RELAXED);"),
    ("a reader enters in place, whoever waits", RW_HEADER,
     "    if (CSK_UNLIKELY(found & CSK_RWLOCK_TAKEN) ||\n        CSK_UNLIKELY(!__atomic_compare_exchange_n("
     "&lock->state, &found, found + CSK_RWLOCK_READER,",
     "    if (CSK_UNLIKELY(found & 1) ||\n        CSK_UNLIKELY(!__atomic_compare_exchange_n("
     "&lock->state, &found, found + CSK_RWLOCK_READER,"),
    ("the end of a reader's scope calls nobody", RW_HEADER,
     "            if (CSK_UNLIKELY(found & CSK_RWLOCK_TAKEN) ||", "            if ("),
    ("the end of a scope leaves all levels", RW_HEADER, "        if (CSK_LIKELY(read->levels == 1)) {", "        {"),
    ("the writer does not revoke", RW,
     "    return CSK_UNLIKELY(lock->reader_bias) ? write_lock_biased(lock, deadline_ns) : enter", "    return enter"),
    ("an upgrade does not revoke", RW, "    if (status != 0) return status;\n    if (lock->reader_bias) {",
     "    if (status != 0) return status;\n    if (false) {"),
    ("readers go on by the bias past a writer that waits", RW,
     "    if (deadline_ns != RW_TRY) csk_cas(&lock->bias, &on, (uint32_t)BIAS_REVOKING, CSK_RELAXED);\n", ""),
    ("a biased reader upgrades uncounted", RW, "    if (read->biased && !count_in_word(lock, read)) return",
     "    if (false) return"),
    ("a biased reader is counted beside a writer", RW, "        if (found & RW_WRITER) return false;\n", ""),
    ("an upgrading reader waits for itself", "src/readwrite/reads.c",
     "        if (is_mine(record)) continue;\n        for", "        for"),
    ("the record of an ended thread is looked at for ever", "src/readwrite/reads.c",
     "        if (is_empty(record)) give_back(record);\n        else", "       "),
    ("a record that is used again is looked at by nobody", "src/readwrite/reads.c",
     "        own(record, csk_platform_thread_id());\n    }\n    csk_queue_unlock", "    }\n    csk_queue_unlock"),
    ("a revocation that timed out counts as done", RW_BIAS,
     "    if (status == 0) csk_store(&lock->bias, BIAS_OFF, CSK_RELEASE);",
     "    csk_store(&lock->bias, BIAS_OFF, CSK_RELEASE);"),
    # The pool.
    ("a worker that leaves work behind does not watch", POOL,
     "        bool watches = csk_pool.queued != 0 && next == NULL && csk_pool_begin_watch();\n",
     "        bool watches = false;\n"),
    ("a post finds all workers busy and does not watch", POOL,
     "    bool watches = worker == NULL && csk_pool_begin_watch();\n", "    bool watches = false;\n"),
    ("a post calls nobody", POOL, "    csk_pool_worker_t *worker = call_worker();\n",
     "    csk_pool_worker_t *worker = NULL;\n"),
    ("background work has no turn of its own", POOL, "    bool lowest = ++csk_pool.taken % turn_of_lowest == 0;",
     "    bool lowest = ++csk_pool.taken == 0;"),
    ("a worker that nobody needs never ends", POOL, "        bool ends = *place == self && csk_pool.workers",
     "        bool ends = false && csk_pool.workers"),
    ("a worker calls nobody", POOL, "        csk_pool_worker_t *next = csk_pool.queued != 0 ? call_worker() : NULL;\n",
     "        csk_pool_worker_t *next = NULL;\n"),
    ("a worker is called without a wake", SPIN_PARK, "    if (csk_word_tell(word, answer)) csk_platform_wake(word, 1);",
     "    csk_word_tell(word, answer);", "pool"),
    ("a worker parks over its call", SPIN_PARK, "    csk_cas(word, &waits, (uint32_t)CSK_WORD_PARKED, CSK_ACQ_REL);",
     "    csk_store(word, waits + CSK_WORD_PARKED, CSK_RELEASE);", "pool"),
    ("called workers count as on their way for ever", POOL, "        if (called) csk_pool.waking = false;\n", ""),
    ("no worker comes for the blocked ones", POOL_GROWTH,
     "    for (; more > 0; more--) started |= csk_pool_start_worker() == 0;\n", ""),
    ("a granted write is not taken along", RW_WORK,
     "        if (work != NULL) mine.first = (csk_rwlock_work_t *)work->waiter.next_ready;\n",
     "        if (work != NULL) work = mine.first = NULL;\n"),
    ("a write of several leaves the lock to others", RW_WORK, "        if (mine.kept) return 0;\n", ""),
    ("a write of several runs though another has left the lock", RW_WORK,
     "            if (!csk_rwlock_is_writing(lock)) status = csk_rwlock_wrlock(lock);\n", ""),
    ("a worker leaves without a look at what was pushed", RW_WORK,
     "        if (mine.batch->first == NULL && csk_rwlock_is_writing(lock)) mine.batch->first = take_pushed(lock);\n",
     ""),
    ("what was pushed last runs first", RW_WORK,
     "    for (csk_rwlock_write_t *before; write != NULL; write = before) {",
     "    first = write;\n    for (csk_rwlock_write_t *before; false; write = before) {"),
    ("what was pushed stays behind when a write ends its thread", RW_WORK, "        add_pushed(batch, lock);\n", ""),
    ("a write is pushed past who waits", RW_QUEUE, "    csk_writes_close(lock);\n", ""),
    ("a write is pushed where no worker looks", RW_INBOX, "        if (!(found & WRITES_OPEN)) return false;\n", ""),
    ("a worker that leaves goes on taking what is pushed", RW_INBOX, "!= NULL ? found & WRITES_OPEN : 0, CSK_ACQUIRE)",
     "!= NULL ? found & WRITES_OPEN : WRITES_OPEN, CSK_ACQUIRE)"),
    ("writes are pushed before the lock is taken for them", RW_QUEUE, "    if (opens) csk_writes_open(lock);\n",
     "    (void)opens;\n    if (lock->last != NULL && is_batch(lock->last)) csk_writes_open(lock);\n"),
    ("the child keeps what was pushed", RW_QUEUE, "    csk_store(&lock->writes, UINT64_C(0), CSK_RELAXED);\n", ""),
    ("the child pushes for the parent's worker", RW_WORK,
     "    if (csk_load(&lock->queue_lock, CSK_ACQUIRE) == csk_process_mark() && csk_writes_push(",
     "    if (csk_writes_push("),
    ("a worker that looked out forgets what was handed to it", RW_LINGER,
     "    return found != looks ? (csk_rwlock_work_t *)(uintptr_t)found : NULL;", "    return NULL;"),
    ("a worker goes though something is being handed to it", RW_LINGER,
     "    uint64_t found = csk_exchange(place, UINT64_C(0), CSK_ACQUIRE);",
     "    uint64_t found = csk_load(place, CSK_ACQUIRE);\n    csk_store(place, UINT64_C(0), CSK_RELAXED);"),
    ("a section is handed to a worker of the parent", RW_LINGER,
     " | (uint64_t)(csk_process_epoch() & 0x3FFF) << 2 | what;", " | what;"),
    ("a section is handed to a worker that has yet to end a function", RW_LINGER,
     "soon = named(lock, SOON), looks = named(lock, LOOKS);", "soon = 0, looks = named(lock, SOON);"),
    ("a write joins one that can be given up", RW_WORK, "lock->last->function == batch_granted) {",
     "lock->last->function != NULL) {"),
    ("a section that is in use is queued again", RW_WORK, "== mark_of_queued()) return EBUSY;",
     "== mark_of_queued()) (void)0;"),
    ("two threads queue one section", RW_WORK,
     "    if (csk_exchange(&work->queued, mark_of_queued(), CSK_ACQUIRE) == mark_of_queued()) return EBUSY;\n",
     "    if (csk_load(&work->queued, CSK_ACQUIRE) == mark_of_queued()) return EBUSY;\n"
     "    csk_store(&work->queued, mark_of_queued(), CSK_RELAXED);\n"),
    ("a section that was called stays in use", RW_WORK, "    csk_store(&work->queued, 0u, CSK_RELEASE);\n", ""),
    ("a section is free before it is called", RW_WORK,
     "    csk_rwlock_work_function_t function = work->function;\n    void *context = work->context;\n"
     "    csk_store(&work->queued, 0u, CSK_RELEASE);\n    function(work, context, status);\n",
     "    csk_store(&work->queued, 0u, CSK_RELEASE);\n    csk_platform_await_step(9);\n"
     "    work->function(work, work->context, status);\n"),
    ("a section writes beside biased readers", RW_ASYNC,
     "csk_rwlock_take_from_nobody(lock) ? csk_rwlock_revoke(lock, deadline_ns) : EINVAL;",
     "csk_rwlock_take_from_nobody(lock) ? 0 : EINVAL;"),
    ("a section among biased readers ignores its deadline", RW_ASYNC, "csk_rwlock_revoke(lock, deadline_ns)",
     "csk_rwlock_revoke(lock, CSK_NEVER)"),
    ("readers go on by the bias past a section that writes", RW_ASYNC,
     "    if (mode == CSK_RWLOCK_WRITE) csk_rwlock_stop_bias(lock);\n", ""),
    ("a section of the parent's is in use in the child", RW_WORK, "return csk_process_mark() | 1u;", "return 1u;"),
    ("who joins is not linked", "src/readwrite/rwlock_work.c", "        batch->last->next = write;\n", ""),
    ("a work runs without being the holder", "src/readwrite/rwlock_work.c",
     "    int status = csk_rwlock_adopt_section(work->waiter.rwlock, work->waiter.mode, work->waiter.deadline_ns);",
     "    int status = 0;"),
    ("a gate's waiter does not say that it waits", "src/wait/watch.c",
     "    csk_announce_wait();\n    if (deadline_ns == CSK_NEVER)", "    if (deadline_ns == CSK_NEVER)"),
    ("a post leaves it to the supervisor that all workers wait", POOL, "|| unannounced() == 0)", "|| false)"),
    ("the supervisor never looks again", POOL_GROWTH, "    csk_pool.watching = again && (started || !stalled);\n",
     "    csk_pool.watching = false;\n"),
    ("the supervisor is not woken", POOL_GROWTH,
     "    csk_fetch_add(&csk_pool.signal, 1u, CSK_RELEASE);\n    csk_platform_wake(&csk_pool.signal, 1);\n", ""),
    ("the supervisor sleeps on when it was called", POOL_GROWTH,
     "        if (csk_platform_now() < look_ns) csk_platform_park(&csk_pool.signal, seen, look_ns);\n",
     "        if (csk_platform_now() < look_ns) csk_platform_park(&csk_pool.signal, csk_load(&csk_pool.signal, "
     "CSK_RELAXED), look_ns);\n"),
    ("progress between the two looks ends the watch", POOL_GROWTH,
     "    stalled = stalled && csk_pool.taken == csk_pool.taken_before;\n    if (stalled) {\n",
     "    if (stalled && csk_pool.taken == csk_pool.taken_before) {\n"),
    ("a worker that has ended is still one", POOL, "    if (known) part(self);\n", ""),
    ("a work that ends its thread does not end", WQ_WORKER,
     "    end(section);\n    if (!csk_section_is_over(section)) step_back(section->queue);\n",
     "    if (!csk_section_is_over(section)) step_back(section->queue);\n"),
    ("the queue of a thread that has ended is not served", WQ_WORKER,
     "    if (!csk_section_is_over(section)) step_back(section->queue);\n    return section->queue;\n",
     "    return section->queue;\n"),
    ("a write that ends its thread keeps the lock", "src/readwrite/rwlock_work.c",
     "        while (lock != NULL && (csk_rwlock_is_reading(lock) || csk_rwlock_is_writing(lock))) "
     "csk_rwlock_unlock(lock);\n", ""),
    ("a batch ends with the thread of one of its writes", "src/readwrite/rwlock_work.c",
     "        go_on_elsewhere(batch, lock);\n", ""),
    # Work queues: who looks.
    ("who queues asks for no worker", WQ, "    csk_work_push(queue, work);\n    csk_workqueue_activate(queue);\n",
     "    csk_work_push(queue, work);\n"),
    ("who queues reads the state first", WQ, "    csk_work_push(queue, work);\n    csk_workqueue_activate(queue);\n",
     "    bool claims = csk_workqueue_claim(queue);\n    csk_work_push(queue, work);\n"
     "    if (claims) csk_workqueue_post(queue);\n"),
    ("a worker that leaves does not look back", WQ_WORKER, "        } else if (!comes_back(queue)) {",
     "        } else if (true) {"),
    ("a worker leaves outside the lock", WQ_WORKER,
     "    if (work == NULL && may_leave) csk_fetch_add(&queue->state, -STATE_ACTIVE_ONE, CSK_SEQ_CST);\n"
     "    *more = csk_work_may_begin(queue);\n",
     "    *more = csk_work_may_begin(queue);\n    if (work == NULL && may_leave) {\n"
     "        csk_workqueue_unlock(queue);\n        csk_fetch_add(&queue->state, -STATE_ACTIVE_ONE, CSK_SEQ_CST);\n"
     "        csk_queue_lock(&queue->lock);\n    }\n"),
    ("POSTED is kept", WQ_WORKER, "    csk_fetch_and(&queue->state, ~STATE_POSTED, CSK_SEQ_CST);\n", ""),
    ("POSTED is not looked at", WQ_WORD,
     "#define STATE_CLAIM (STATE_ACTIVE_ONE + STATE_PIN_ONE + STATE_POSTED)",
     "#define STATE_CLAIM (STATE_ACTIVE_ONE + STATE_PIN_ONE)"),
    ("a worker on a wide queue brings no other", WQ_WORKER,
     "        if (more && queue->width > 1) csk_workqueue_activate(queue);\n", ""),
    ("who asked for another worker does not give way", WQ_WORKER,
     "            if (CSK_LIKELY(csk_pool_epoch() == epoch)) step_back(queue);\n            return;\n",
     "            ends = false;\n            if (csk_load(&queue->state, CSK_RELAXED) & STATE_POSTED) continue;\n"
     "            step_back(queue);\n            return;\n"),
    ("who gives way to a worker on its way still counts", WQ_WORKER,
     "    csk_queue_lock(&queue->lock);\n    csk_fetch_add(&queue->state, -STATE_ACTIVE_ONE, CSK_SEQ_CST);\n"
     "    csk_work_sort(queue);\n", "    csk_queue_lock(&queue->lock);\n    csk_work_sort(queue);\n"),
    ("who gives way to a worker on its way does not look", WQ_WORKER,
     "    csk_work_sort(queue);\n    csk_workqueue_unlock_and_look(queue);\n    csk_workqueue_unpin(queue);\n}\n\n"
     "/* The function of a work",
     "    csk_workqueue_unlock(queue);\n    csk_workqueue_unpin(queue);\n}\n\n/* The function of a work"),
    ("who gives way to a worker on its way looks at what was sorted only", WQ_WORKER,
     "    csk_work_sort(queue);\n    csk_workqueue_unlock_and_look(queue);\n    csk_workqueue_unpin(queue);\n}\n\n"
     "/* The function of a work",
     "    csk_workqueue_unlock_and_look(queue);\n    csk_workqueue_unpin(queue);\n}\n\n/* The function of a work"),
    ("LINGERS is kept", WQ_WORKER, "    if (shared) csk_fetch_and(&queue->state, ~STATE_LINGERS, CSK_SEQ_CST);\n", ""),
    ("a worker leaves without a look after it lingered", WQ_WORKER, "next(queue, section, ends, lingered, &more);",
     "next(queue, section, ends, true, &more);"),
    ("who looks asks for no worker", WQ, "    bool post = csk_work_may_begin(queue) && csk_workqueue_claim(queue);\n",
     "    bool post = false;\n"),
    ("who looks claims once it has unlocked", WQ,
     "    bool post = csk_work_may_begin(queue) && csk_workqueue_claim(queue);\n    csk_workqueue_unlock(queue);\n"
     "    if (post) csk_workqueue_post(queue);\n",
     "    bool post = csk_work_may_begin(queue);\n    csk_workqueue_unlock(queue);\n"
     "    if (post) csk_workqueue_activate(queue);\n"),
    ("who drains sorts and does not look", WQ_WAIT,
     "        queue->drains = wait;\n    }\n    csk_workqueue_unlock_and_look(queue);",
     "        queue->drains = wait;\n    }\n    csk_workqueue_unlock(queue);"),
    ("who cancels sorts and does not look", WQ, "    csk_workqueue_unlock_and_look(queue); /* it may have been",
     "    csk_workqueue_unlock(queue); /* it may have been"),
    ("who shuts down sorts and does not look", WQ_LIFE,
     "csk_rooms_close(queue);\n    csk_workqueue_unlock_and_look(queue);",
     "csk_rooms_close(queue);\n    csk_workqueue_unlock(queue);"),
    ("a caller leaves without a look", WQ_WAIT,
     "    csk_section_end(section, &done);\n    csk_work_sort(queue);\n    csk_workqueue_unlock_and_look(queue);",
     "    csk_section_end(section, &done);\n    csk_workqueue_unlock(queue);"),
    ("a caller looks at what was sorted only", WQ_WAIT,
     "    csk_section_end(section, &done);\n    csk_work_sort(queue);\n    csk_workqueue_unlock_and_look(queue);",
     "    csk_section_end(section, &done);\n    csk_workqueue_unlock_and_look(queue);"),
    ("a caller that waits sorts and does not look", WQ_WAIT,
     "csk_work_take(queue, &call.section) != NULL;\n    csk_workqueue_unlock_and_look(queue);",
     "csk_work_take(queue, &call.section) != NULL;\n    csk_workqueue_unlock(queue);"),
    ("a caller takes the turn of what is before it", WQ_WAIT, "csk_work_is_next(queue, &call.work) && csk_work_take",
     "csk_work_take"),
    ("who asks for room does not look", WQ_WAIT,
     "        stand_in_line(queue, wait);\n    }\n    csk_workqueue_unlock_and_look(queue);",
     "        stand_in_line(queue, wait);\n    }\n    csk_workqueue_unlock(queue);"),
    ("who resumes does not sort", WQ_LIFE, "STATE_SUSPENDS) != 0;\n    csk_work_sort(queue);\n",
     "STATE_SUSPENDS) != 0;\n"),
    # Work queues: order and exclusion.
    ("the inbox is cleared after it is empty", WQ_ORDER,
     "            csk_store(&queue->inbox_first, NULL, CSK_RELAXED);\n            csk_work_t *last = work;\n"
     "            if (!csk_cas(&queue->inbox_last, &last, NULL, CSK_ACQ_REL))\n",
     "            csk_work_t *last = work;\n"
     "            if (csk_cas(&queue->inbox_last, &last, NULL, CSK_ACQ_REL)) csk_store(&queue->inbox_first, NULL, "
     "CSK_RELAXED);\n            else\n"),
    ("a broken link is the end", WQ_ORDER,
     "(next = (csk_work_t *)csk_load(&work->node.next, CSK_ACQUIRE)) == NULL;\n                     looks++)\n"
     "                    csk_platform_await_step(looks);", "false; looks++) csk_platform_await_step(looks);"),
    ("what is not linked yet is not awaited", WQ_ORDER,
     "        if (csk_load(&queue->inbox_last, CSK_SEQ_CST) == NULL) return NULL;\n"
     "        csk_platform_await_step(looks);\n", "        return NULL;\n"),
    ("a link is stored relaxed", WQ, "csk_store(&before->node.next, &work->node, CSK_RELEASE);",
     "csk_store(&before->node.next, NULL, CSK_RELEASE);"),
    ("nothing is exclusive", WQ_ORDER, "    if (section->alone) {\n        queue->exclusive = 1;",
     "    if (false) {\n        queue->exclusive = 1;"),
    ("EXCLUSIVE is kept", WQ_ORDER, "        csk_fetch_and(&queue->state, ~STATE_EXCLUSIVE, CSK_SEQ_CST);\n", ""),
    ("a barrier does not wait", WQ_ORDER, "(queue->barrier != NULL && queue->running == 0)", "queue->barrier != NULL"),
    ("a barrier is work like any other", WQ_ORDER, "{\n    return (work->kind & WORK_BARRIER) && queue->width > 1;\n}",
     "{\n    return (work->kind & WORK_BARRIER) && queue->width > 2;\n}"),
    ("later work passes the barrier", WQ_ORDER, "    if (queue->barrier != NULL) {\n        append",
     "    if (queue->barrier != NULL && is_barrier(queue, work)) {\n        append"),
    ("what waits for a barrier is forgotten", WQ_ORDER, " queue->barrier = NULL; place_later(queue);\n",
     " queue->barrier = NULL;\n"),
    ("suspended queues begin", WQ_ORDER, " && !queue->suspended;", ";"),
    ("work that is being queued again is taken out", WQ, "CSK_RELAXED) > PLACE_INBOX", "CSK_RELAXED) > PLACE_NOWHERE"),
    ("what began can be cancelled", WQ_ORDER, "    work->place = PLACE_NOWHERE;\n    queue->waiting--;\n",
     "    queue->waiting--;\n"),
    # Work queues: what is urgent.
    ("nobody is told what is urgent", WQ,
     "    if (CSK_UNLIKELY(urgent)) csk_exchange(&queue->urgent, 1u, CSK_ACQ_REL);\n", ""),
    ("what is urgent is told before it is queued", WQ,
     "    csk_work_t *before = csk_exchange(&queue->inbox_last, work, CSK_SEQ_CST);\n",
     "    if (urgent) csk_store(&queue->urgent, 1u, CSK_RELEASE), urgent = false;\n"
     "    csk_work_t *before = csk_exchange(&queue->inbox_last, work, CSK_SEQ_CST);\n"),
    ("urgency is cleared by a store", WQ_ORDER, " != 0 && csk_exchange(&queue->urgent, 0u, CSK_ACQ_REL) != 0",
     " != 0 && (csk_store(&queue->urgent, 0u, CSK_RELAXED), true)"),
    ("urgency is not looked at", WQ_ORDER, "csk_load(&queue->urgent, CSK_RELAXED) != 0 && csk", "false && csk"),
    ("a worker leaves with an inbox that it did not sort", WQ_WORKER,
     "    if (work == NULL) {\n        csk_work_sort(queue);\n",
     "    if (work == NULL && queue->first == NULL) {\n        csk_work_sort(queue);\n"),
    ("what is sorted with a lower rank is taken without a look", WQ_ORDER,
     "    if (queue->first == NULL) return NULL;\n", ""),
    ("suspending is not noted", WQ_LIFE, "    if (!ends) queue->suspended = 1;\n", ""),
    ("who resumes resumes for others too", WQ_LIFE,
     "    queue->suspended = (csk_load(&queue->state, CSK_RELAXED) & STATE_SUSPENDS) != 0;\n",
     "    queue->suspended = 0;\n"),
    ("a released queue stays suspended", WQ_LIFE, "    queue->suspended = 0;\n", ""),
    ("the last that is sorted is taken without a look", WQ_ORDER,
     "    if (queue->width > 1 && queue->first == queue->last) return NULL;\n", ""),
    # Work queues: own turns.
    ("what stays stands among what can be dropped", WQ_ORDER,
     "    return (work->kind & WORK_STAYS) && queue->when_full == CSK_WORKQUEUE_DROP_OLDEST;",
     "    (void)queue, (void)work;\n    return false;"),
    ("what comes after a shutdown is sorted as ever", WQ_ORDER,
     "        if (CSK_UNLIKELY(queue->refuses) && !(work->kind & WORK_STAYS)) put_among_late(queue, work);\n"
     "        else csk_work_arrange", "        csk_work_arrange"),
    ("who queues beside a shutdown does not look again", WQ,
     "    if (CSK_UNLIKELY(state & STATE_SHUT)) return take_back(queue, work);\n", ""),
    ("who looks again does not sort", WQ, "    csk_work_sort(queue);\n    bool late =", "    bool late ="),
    ("a shutdown takes its own last sort for late", WQ_LIFE,
     "    end_suspension(queue, STATE_SHUT);\n    queue->refuses = 1;\n",
     "    queue->refuses = 1;\n    end_suspension(queue, STATE_SHUT);\n"),
    ("work with a bound is queued after the shutdown", WQ,
     "    bool shut = (csk_load(&queue->state, CSK_RELAXED) & STATE_SHUT) != 0, full", "    bool shut = false, full"),
    ("a shutdown cancels what stays", WQ_ORDER, "        int stays = (work->kind & WORK_STAYS) != 0;\n",
     "        int stays = 0;\n"),
    ("a shutdown forgets what stays", WQ_ORDER,
     "        queue->waiting++;\n        queue->beyond++;\n        place(queue, work);\n    }\n    return lists[0];",
     "    }\n    return lists[0];"),
    ("a shutdown does not count what stays", WQ_ORDER,
     "        queue->waiting++;\n        queue->beyond++;\n        place(queue, work);\n    }\n    return lists[0];",
     "        place(queue, work);\n    }\n    return lists[0];"),
    ("a caller of its own turn is refused after the shutdown", WQ_WAIT,
     "    if (!stays && (csk_load(&queue->state, CSK_RELAXED) & STATE_SHUT)) return",
     "    if (csk_load(&queue->state, CSK_RELAXED) & STATE_SHUT) return"),
    ("a caller of its own turn is refused by a full queue", WQ_WAIT,
     "    if (!stays && csk_workqueue_is_full(queue)) {", "    if (csk_workqueue_is_full(queue)) {"),
    ("a queue that is shut down is suspended", WQ_LIFE, "    bool ends = is_ending(queue), most",
     "    bool ends = false, most"),
    ("a shutdown leaves the queue suspended", WQ_LIFE, "    end_suspension(queue, STATE_SHUT);\n",
     "    csk_fetch_or(&queue->state, STATE_SHUT, CSK_SEQ_CST);\n    csk_work_sort(queue);\n"),
    # Blocks.
    ("a slab goes round while a thread takes from it", BLOCK, "        if (!(after & (KEPT | TAKEN)) &&",
     "        if (!(after & KEPT) &&"),
    ("a slab stands in two places", BLOCK,
     "    if (after & ~before & KEPT) hand_on(slab);", "    if (after & KEPT) hand_on(slab);"),
    ("blocks are added to a slab without a lock", BLOCK, "while (!csk_cas(&slab->back, &before, after, CSK_ACQ_REL));",
     "while (csk_store(&slab->back, after, CSK_RELEASE), false);"),
    ("a slab keeps the blocks that are taken", BLOCK, "csk_exchange(&slab->back, TAKEN, CSK_ACQUIRE)",
     "csk_fetch_or(&slab->back, TAKEN, CSK_ACQUIRE)"),
    ("who stops taking from a slab does not look", BLOCK,
     "    mine.next = mine.end = NULL;\n    return_blocks(slab, 0, TAKEN);",
     "    mine.next = mine.end = NULL;\n    csk_fetch_and(&slab->back, ~TAKEN, CSK_ACQ_REL);"),
    ("a thread ends with blocks that it did not take", BLOCK, "return_blocks(slab_of(mine.end), untaken, TAKEN);",
     "return_blocks(slab_of(mine.end), 0, TAKEN);"),
    ("a thread ends with blocks that it was given", BLOCK, "    for (int i = 0; i < TALLIES; i++) return_tally(i);\n",
     "    for (int i = 0; i < TALLIES; i++) mine.tallies[i].slab = NULL;\n"),
    ("a tally forgets the slab before", BLOCK, "    return_tally(i);\n    mine.tallies[i].slab = slab;",
     "    mine.tallies[i].slab = slab;"),
    ("a slab is received and left there", BLOCK, "csk_exchange(place, (slab_t *)NULL, CSK_ACQUIRE)",
     "csk_load(place, CSK_ACQUIRE)"),
    ("a slab is handed on over another", BLOCK, "!csk_cas(place, &empty, slab, CSK_RELEASE)",
     "(csk_store(place, slab, CSK_RELEASE), false)"),
    ("a complete tally keeps its slab", BLOCK, "== ALL_BLOCKS)) return_tally(i);",
     "== ALL_BLOCKS)) return_blocks(slab, ALL_BLOCKS, 0);"),
    ("a thread that does not hear of its end keeps blocks", BLOCK, "    if (keeps()) return take_first",
     "    if (keeps() || true) return take_first"),
    ("a thread that does not hear of its end forgets blocks", BLOCK,
     "    return_blocks(slab, blocks & (blocks - 1), TAKEN);\n", "    return_blocks(slab, 0, TAKEN);\n"),
    ("a thread that does not hear of its end tallies", BLOCK,
     "    if (CSK_UNLIKELY(!keeps())) return return_blocks(slab, bit, 0);\n", "    keeps();\n"),
    ("a slab for which there is no place is forgotten", BLOCK,
     "        if (csk_cas(&slab->back, &back, back & ~KEPT, CSK_RELEASE)) return;\n    }\n    free(slab);\n",
     "        if (csk_cas(&slab->back, &back, back & ~KEPT, CSK_RELEASE)) return;\n    }\n"),
    ("a slab for which there is no place counts as kept", BLOCK,
     "        if (csk_cas(&slab->back, &back, back & ~KEPT, CSK_RELEASE)) return;\n", "        return;\n"),
    ("a slab is freed with blocks in use", BLOCK, "        if ((back & ALL_BLOCKS) == ALL_BLOCKS) break;\n",
     "        break;\n"),
    # Work queues: room, drains, ends.
    ("room is given beyond the capacity", WQ_WAIT, "    if (csk_workqueue_is_full(queue)) return NULL; /*", "    /*"),
    ("workers give no room", WQ_WORKER, "    if (work != NULL && queue->rooms != NULL) room = csk_rooms_take(queue);\n",
     ""),
    ("who waits for room is not told of the end", WQ_LIFE, "    if (csk_waits_call(rooms) && first",
     "    (void)rooms;\n    if (first"),
    ("who is told of room was not queued", WQ_WAIT, "    csk_work_arrange(queue, room->work);\n", ""),
    ("who waits for room is told that the queue is open", WQ_WAIT, "        room->status = ESHUTDOWN;\n", ""),
    ("who is told of the end can still give up", WQ_WAIT, "        room->epoch = 0;\n", ""),
    ("who is told can still give up", WQ_ORDER, "    wait->epoch = 0;\n", ""),
    ("the end of the line stays where it was", WQ_WAIT, "    queue->last_room = wait;\n", ""),
    ("who gives up is still the end of the line", WQ_WAIT,
     "    if (wait == queue->last_room) queue->last_room = wait->previous;\n", ""),
    ("who gives up is told all the same", WQ_WAIT, "    bool waits = give_up(queue, &queue->rooms, wait);\n",
     "    bool waits = wait->epoch != 0;\n"),
    ("the first handle that goes takes the memory along", WQ_LIFE, "-UINT64_C(1), CSK_ACQ_REL) == 1) csk",
     "-UINT64_C(1), CSK_ACQ_REL) >= 1) csk"),
    ("retaining keeps nothing", WQ_LIFE, "    if (csk_fetch_add(&queue->handles, UINT64_C(1), CSK_RELAXED) == 0) csk",
     "    if (false) csk"),
    ("a released queue is suspended again", WQ_LIFE, "    end_suspension(queue, STATE_RELEASED);\n",
     "    csk_work_sort(queue);\n"),
    ("an answer wakes nobody", SPIN_PARK, "    if (csk_word_tell(word, answer)) csk_platform_wake(word, 1);",
     "    csk_word_tell(word, answer);", "workqueue_wait"),
    ("a caller parks over its answer", SPIN_PARK, "    csk_cas(word, &waits, (uint32_t)CSK_WORD_PARKED, CSK_ACQ_REL);",
     "    csk_store(word, waits + CSK_WORD_PARKED, CSK_RELEASE);", "workqueue_wait"),
    ("a caller that timed out overlooks its turn", WQ_WAIT,
     "        if (csk_workqueue_cancel(queue, &call->work) == 0) return ETIMEDOUT;\n",
     "        csk_workqueue_cancel(queue, &call->work);\n        return ETIMEDOUT;\n"),
    ("who waited for room overlooks that it got it", WQ_WAIT,
     "        if (csk_workqueue_room_cancel(queue, &room) == 0) return ETIMEDOUT;\n",
     "        csk_workqueue_room_cancel(queue, &room);\n        return ETIMEDOUT;\n"),
    ("drains do not count what runs", WQ_WAIT, "(uint64_t)queue->waiting + queue->running + queue->refusing;",
     "(uint64_t)queue->waiting + queue->refusing;"),
    ("drains do not count what is refused", WQ_WAIT, "(uint64_t)queue->waiting + queue->running + queue->refusing;",
     "(uint64_t)queue->waiting + queue->running;"),
    ("what is refused counts as told", WQ_REFUSE,
     "        if (csk_work_arrival(work) != section->arrival) csk_work_account", "        csk_work_account"),
    ("drains count what came later", WQ_ORDER, "arrival <= wait->arrivals && --wait->remaining", "--wait->remaining"),
    ("callers pass those that wait for room", WQ_WAIT,
     "        if (queue->when_full == CSK_WORKQUEUE_WAIT) return wait_in_line(queue, call);\n", ""),
    ("work that can't be refused takes room", "src/queue/workqueue.h",
     "return (work->kind & (WORK_STAYS | WORK_BEYOND)) == 0;", "return (work->kind & WORK_BEYOND) == 0;"),
    ("work that waited for its time takes room", "src/queue/workqueue.h",
     "return (work->kind & (WORK_STAYS | WORK_BEYOND)) == 0;", "return (work->kind & WORK_STAYS) == 0;"),
    ("what took no room leaves some", WQ_ORDER, "    if (CSK_UNLIKELY(!csk_work_takes_room(work))) queue->beyond--;\n",
     ""),
    ("a caller in the line is told by more than its turn", WQ_WAIT,
     "    return room->work->kind & WORK_SYNC ? NULL : room;", "    return room;"),
    ("a caller in the line waits beyond its deadline", WQ_WAIT,
     "        if (in_line && csk_workqueue_room_cancel(queue, &call->room) == 0) return ETIMEDOUT;\n", ""),
    ("a caller in the line overlooks its place", WQ_WAIT,
     "        if (in_line && csk_workqueue_room_cancel(queue, &call->room) == 0) return ETIMEDOUT;\n",
     "        if (in_line) {\n            csk_workqueue_room_cancel(queue, &call->room);\n"
     "            return ETIMEDOUT;\n        }\n"),
    ("cancelled work is not accounted for", WQ,
     "        csk_work_account(queue, csk_work_arrival(work), &done);\n        if (queue->rooms",
     "        if (queue->rooms"),
    ("destroying does not wait for the worker", WQ_LIFE,
     "    for (uint32_t looks = 0; csk_load(&queue->state, CSK_ACQUIRE) & STATE_PINS; looks++) "
     "csk_platform_await_step(looks);\n", ""),
    ("the worker unpins before it looks back", WQ_WORKER,
     "        } else if (!comes_back(queue)) {\n            csk_workqueue_unpin(queue);\n            return;\n",
     "        } else if (csk_workqueue_unpin(queue), !comes_back(queue)) {\n            return;\n"),
    ("a caller does not pin", WQ_WAIT, "    bool pins = queue->heap_offset;\n", "    bool pins = false;\n"),
    ("releasing does not resume", WQ_LIFE, "    csk_fetch_and(&queue->state, ~STATE_SUSPENDS, CSK_SEQ_CST);\n", ""),
    ("who shuts down does not pin", WQ_REFUSE, "    queue->refusing++;\n    csk_workqueue_pin(queue);\n",
     "    queue->refusing++;\n"),
    ("the owner of a queue is not known", WQ_WORKER, "    csk_section_enter(section);\n    work->function(work, 0);\n",
     "    work->function(work, 0);\n"),
    # Delayed work.
    ("the timer's thread does not pin the queue", DELAYED,
     "    csk_workqueue_pin(queue);\n    int error = queue_work(queue, &delayed->work, delayed->rank);\n"
     "    if (error == 0 || call_inside(queue, &delayed->work, error)) csk_workqueue_unpin(queue);\n",
     "    int error = queue_work(queue, &delayed->work, delayed->rank);\n"
     "    if (error != 0) run(&delayed->work, error);\n"),
    ("cancelling delayed work leaves the timer", DELAYED,
     "    if (look(delayed) == STOPPED) return ENOENT;\n    csk_timer_cancel(&delayed->timer);\n",
     "    if (look(delayed) == STOPPED) return ENOENT;\n"),
    ("a last call that another promised is not made", DELAYED,
     "            if (change(delayed, QUEUED, STOPPED)) return 0;\n",
     "            set(delayed, STOPPED);\n            return 0;\n"),
    ("cancelling delayed work leaves it queued", DELAYED,
     "state == QUEUED && csk_workqueue_cancel(delayed->queue, &delayed->work) == 0", "state == QUEUED"),
    ("a periodic call does not see that it was cancelled", DELAYED,
     "    if (!change(delayed, RUNS, WAITS)) call_last(delayed, ECANCELED);\n", "    set(delayed, WAITS);\n"),
    ("periodic work that is dropped ends", DELAYED, "    return status == EAGAIN || ",
     "    return status == EAGAIN && "),
    ("periodic work that is dropped overlooks that it was cancelled", DELAYED, " || !change(delayed, QUEUED, WAITS)) {",
     " || (set(delayed, WAITS), false)) {"),
    ("refused periodic work leaves its timer", DELAYED,
     "        set(delayed, LAST);\n        csk_timer_cancel(&delayed->timer);\n", "        set(delayed, LAST);\n"),
    # The heap.
    ("among equal ranks the last comes first", "include/csynckernel/heap.h",
     "a->rank > b->rank : a->ticket < b->ticket;", "a->rank > b->rank : a->ticket > b->ticket;"),
    ("heap compares the wrong way", HEAP, "    if (csk_heap_before(b, a)) {", "    if (csk_heap_before(a, b)) {"),
    ("heap drops the children of what is removed", HEAP,
     "    if (orphans != NULL) heap->root = link_trees(heap->root, orphans);\n", "    (void)orphans;\n"),
    ("heap keeps an old neighbour", HEAP, "    if (node->next != NULL) node->next->previous = node->previous;\n", ""),
    # Retired objects.
    ("who retires does not look whether the worker sleeps", RECLAIM, "    wake_from(IDLE);\n", ""),
    ("the worker sleeps without a look", RECLAIM,
     "    while (csk_load(&rcu.incoming, CSK_SEQ_CST) == NULL && csk_load(&rcu.call, CSK_RELAXED) == IDLE)\n",
     "    while (csk_load(&rcu.call, CSK_RELAXED) == IDLE)\n"),
    ("the worker says by a store that it sleeps", RECLAIM,
     "    (void)csk_exchange(&rcu.call, (uint32_t)IDLE, CSK_SEQ_CST);",
     "    csk_store(&rcu.call, (uint32_t)IDLE, CSK_RELAXED);"),
    ("who wakes the worker leaves the word", RECLAIM,
     "    if (csk_cas(&rcu.call, &sleep, (uint32_t)AWAKE, CSK_ACQ_REL)) csk_platform_wake(&rcu.call, 1);",
     "    csk_platform_wake(&rcu.call, 1);"),
    ("who wakes the worker does not", RECLAIM,
     "    if (csk_cas(&rcu.call, &sleep, (uint32_t)AWAKE, CSK_ACQ_REL)) csk_platform_wake(&rcu.call, 1);",
     "    csk_cas(&rcu.call, &sleep, (uint32_t)AWAKE, CSK_ACQ_REL);"),
    ("what is retired is pushed by a store", RECLAIM,
     "    while (!csk_cas(&rcu.incoming, &newest, node, CSK_SEQ_CST));",
     "    while (csk_store(&rcu.incoming, node, CSK_SEQ_CST), false);"),
    ("what is retired is taken without the lock", RECLAIM,
     "    csk_queue_lock(&rcu.lock);\n    csk_store(&rcu.taken, csk_exchange(&rcu.incoming, (csk_rcu_node_t *)NULL, "
     "CSK_ACQ_REL), CSK_RELAXED);\n    csk_queue_unlock(&rcu.lock);",
     "    csk_rcu_node_t *all = csk_exchange(&rcu.incoming, (csk_rcu_node_t *)NULL, CSK_ACQ_REL);\n"
     "    csk_platform_await_step(9);\n    rcu.taken = all;"),
    ("what is retired is not turned round", RECLAIM,
     "            *next_of(node) = rcu.waiting;\n            rcu.waiting = node;\n",
     "            csk_rcu_node_t **end = &rcu.waiting;\n            while (*end != NULL) end = next_of(*end);\n"
     "            *next_of(node) = NULL;\n            *end = node;\n"),
    ("functions run without a grace period", RECLAIM, "    csk_rcu_grace_period();\n", ""),
    ("two threads start the worker", RECLAIM,
     "    while (!csk_cas(&rcu.worker, &found, (uint32_t)STARTING, CSK_ACQ_REL)) {\n"
     "        if (found == RUNS) return 0;",
     "    while (csk_load(&rcu.worker, CSK_ACQUIRE) != NONE) {\n"
     "        if (csk_load(&rcu.worker, CSK_ACQUIRE) == RUNS) return 0;"),
    ("who waits for the start is not woken", RECLAIM, "    csk_platform_wake(&rcu.worker, INT32_MAX);\n", ""),
    ("a barrier passes steps", RECLAIM, "    return steps == NULL;", "    return true;"),
    ("steps that have ended hold barriers up", RECLAIM, "    *place = steps->older;\n", ""),
    ("a node is in its list while its function runs", RECLAIM,
     "        (void)csk_exchange(&rcu.ready, *next_of(node), CSK_SEQ_CST);\n        csk_rcu_tell_acquire();\n"
     "        function(node);\n",
     "        csk_rcu_node_t *next = *next_of(node);\n        function(node);\n"
     "        csk_exchange(&rcu.ready, next, CSK_SEQ_CST);\n"),
    ("a node is taken out of its list by a store", RECLAIM,
     "(void)csk_exchange(&rcu.ready, *next_of(node), CSK_SEQ_CST);",
     "csk_store(&rcu.ready, *next_of(node), CSK_RELAXED);"),
    ("a child keeps markers of barriers", RECLAIM, "        if (node->function == pass) {", "        if (0) {"),
    ("a child counts what the parent's threads were about to retire", RECLAIM, "    rcu.retired = left;\n", ""),
    ("who waits for room is not told what a list has made", RECLAIM, "    }\n    publish_count();\n}", "    }\n}"),
    ("what is reclaimed is told by a store", RECLAIM,
     "    (void)csk_exchange(&rcu.counted, reclaimed, CSK_SEQ_CST);",
     "    csk_store(&rcu.counted, reclaimed, CSK_RELAXED);"),
    ("what is reclaimed is told, and nobody looks who waits", RECLAIM,
     "    if (csk_load(&rcu.blocked, CSK_SEQ_CST) == 0) return;\n", "    return;\n"),
    ("a fork does not hold the lists", RECLAIM, "static void before_fork(void) {\n    csk_queue_lock(&rcu.lock);",
     "static void before_fork(void) {"),
    # Grace periods of a child.
    ("a grace period begins without membarrier", CHILD, "    order_readers(by_membarrier);\n    await_quiet();",
     "    await_quiet();"),
    ("a grace period does not change the phase", CHILD,
     "    csk_store(&period.phase, period.phase ^ PHASE, CSK_SEQ_CST);\n", ""),
    ("a grace period waits once, after the change", CHILD, "    await_quiet();\n    csk_store(&period.phase",
     "    csk_store(&period.phase"),
    ("a grace period waits once, before the change", CHILD, "CSK_SEQ_CST);\n    await_quiet();", "CSK_SEQ_CST);"),
    ("a reader that leaves takes its neighbours along", CHILD, "    else child.readers = reader->older;",
     "    else child.readers = NULL;"),
    ("a reader joins without the lock", CHILD,
     "    csk_queue_lock(&child.lock);\n    add(reader, &reader->own);\n    csk_queue_unlock(&child.lock);",
     "    csk_rcu_reader_t *older = csk_load(&child.readers, CSK_RELAXED);\n    csk_platform_await_step(9);\n"
     "    add(reader, &reader->own);\n    reader->older = older;"),
    # The hash table.
    ("lookup stops where the next table goes on", MAP_HEADER,
     "if (CSK_LIKELY(slot == 0 && !cursor->moved)) return NULL;", "return NULL;"),
    ("lookup forgets what it saw moved", MAP_HEADER, "                cursor->moved = true;",
     "                cursor->moved = false;"),
    ("lookup reads what was moved", MAP_HEADER, "if (CSK_UNLIKELY(slot & CSK_RCU_MAP_MOVED)) {", "if (0) {"),
    ("lookup goes on from where it was", MAP_HEADER, "            cursor->place = cursor->hash;\n", ""),
    ("two take one slot", MAP, "    if (change(slot, 0, value)) return true;",
     "    if (csk_load(slot, CSK_RELAXED) == 0) return csk_store(slot, value, CSK_RELEASE), true;"),
    ("insert does not look at a slot again", MAP,
     "                if (error != 0) return error;\n            }\n            at--;",
     "                if (error != 0) return error;\n                at--;\n            }"),
    ("insert passes by a seal", MAP,
     "        } else if (found == sealed) {\n            table = next_of(table);\n            at = hash - 1;\n",
     "        } else if (found == sealed) {\n            continue;\n"),
    ("insert into a table that is being moved", MAP,
     "            if (next != NULL) {\n                change(slot, 0, sealed);\n            } else if",
     "            if"),
    ("replacing what is frozen", MAP, "(!replaces || (!(found & FROZEN) && change(slot, found, value)))",
     "(!replaces || change(slot, found, value))"),
    ("removing what is frozen", MAP,
     "        } else if (found & FROZEN) {\n            move_slot(slot, next_of(table));\n            at--;\n", ""),
    ("removing looks in one table", MAP,
     "        } else if (found == 0 || (found & MOVED)) {\n            table = next_of(table);\n",
     "        } else if (found == 0 || (found & MOVED)) {\n            return NULL;\n"),
    ("an entry is not looked for behind one that was moved", MAP,
     "            moved |= (found & MOVED) && has_tag(found, entry->hash);", "            ;"),
    ("removed by two", MAP, "        } else if (change(slot, found, value)) {\n            return table;",
     "        } else if (csk_store(slot, value, CSK_RELEASE), true) {\n            return table;"),
    ("an entry is put in the place of one that another has replaced", MAP,
     "        if (!is_free(found) && csk_rcu_map_entry_of(found) != entry) {",
     "        if (!is_free(found) && csk_rcu_map_entry_of(found) != entry && !(value != dead && found != dead && "
     "has_tag(found, entry->hash))) {"),
    ("moved without being frozen", MAP,
     "        } else if (!(found & FROZEN)) {\n            change(slot, found, found | FROZEN);\n", ""),
    ("marked moved before it was put in", MAP,
     "            place(slot, found, next);\n            change(slot, found, found ^ (FROZEN | MOVED));",
     "            change(slot, found, found ^ (FROZEN | MOVED));\n            place(slot, found, next);"),
    ("put in without a look whether it is still frozen", MAP, "if (csk_load(from, CSK_ACQUIRE) != frozen || change(",
     "if (change("),
    ("put in without a look whether it is there", MAP, "        if (csk_rcu_map_entry_of(found) == entry) return;\n",
     ""),
    ("looked whether it is frozen before the search", MAP,
     "    for (uint64_t at = entry->hash;; at++) {\n        uint64_t *slot = &next->slots[at & next->mask], found;\n"
     "        while (is_free(found = csk_load(slot, CSK_ACQUIRE))) {\n"
     "            if (csk_load(from, CSK_ACQUIRE) != frozen || change(",
     "    if (csk_load(from, CSK_ACQUIRE) != frozen) return;\n    for (uint64_t at = entry->hash;; at++) {\n"
     "        uint64_t *slot = &next->slots[at & next->mask], found;\n"
     "        while (is_free(found = csk_load(slot, CSK_ACQUIRE))) {\n            if (change("),
    ("empty slots are not sealed", MAP,
     "        if (found == 0) {\n            change(slot, 0, sealed);\n        } else if (!(found",
     "        if (found == 0) {\n            return 0;\n        } else if (!(found"),
    ("a table is retired by each that moved it", MAP,
     "    if (!csk_cas(&map->table, &table, next, CSK_ACQ_REL)) return;",
     "    csk_store(&map->table, next, CSK_RELEASE);"),
    ("the next table becomes current before all is moved", MAP,
     "    if (csk_cas(&table->next, &none, &made->shared, CSK_ACQ_REL)) move_all(map, table);",
     "    if (csk_cas(&table->next, &none, &made->shared, CSK_ACQ_REL)) { csk_store(&map->table, &made->shared, "
     "CSK_RELEASE); move_all(map, table); }"),
    ("a table is replaced before all has come to it", MAP,
     "    for (table_t *older; (older = current(map)) != table && next_of(table) == NULL;) move_all(map, older);\n",
     ""),
    ("a table is made twice", MAP,
     "    if (csk_cas(&table->next, &none, &made->shared, CSK_ACQ_REL)) move_all(map, table);",
     "    csk_store(&table->next, &made->shared, CSK_RELEASE); if (1) move_all(map, table);"),
    ("walk begins in a table that is being moved", MAP,
     "    while (next_of(table = current(map)) != NULL) move_all(map, table);", "    table = current(map);"),
    ("room for one too many", MAP, "CSK_ACQ_REL) < counts->limit) return true;",
     "CSK_ACQ_REL) <= counts->limit) return true;"),
    ("no room for what is to be moved", MAP, "    table->used = table->expected = entries;\n", ""),
    # Thread-local slots and the ends of threads.
    ("names are linked by stores", TLS, "        if (csk_cas(place, &found, made, CSK_RELEASE)) found = made;",
     "        if (csk_store(place, made, CSK_RELEASE), true) found = made;"),
    ("who loses a name's place keeps its own slot", TLS,
     "        else place = find_place(place, way, hash, name, length, &found, &way);", "        else found = made;"),
    ("names of one way are taken for one name", TLS,
     "        if (slot->hash == hash && slot->length == length && (length == 0 || memcmp(slot->name, name, length) == "
     "0))\n            break;", "        break;"),
    ("indices are given out by a store", TLS, "    } while (!csk_cas(&newest, &older, slot, CSK_RELEASE));",
     "    } while (csk_store(&newest, slot, CSK_RELEASE), false);"),
    ("a slot is found before it has its index", TLS,
     "        int error = number_slot(made);\n        if (error != 0) {\n            free(made);\n"
     "            return error;\n        }\n    }\n    while (found == NULL) {\n"
     "        if (csk_cas(place, &found, made, CSK_RELEASE)) found = made;",
     "    }\n    while (found == NULL) {\n        if (csk_cas(place, &found, made, CSK_RELEASE)) { found = made; "
     "(void)number_slot(made); }"),
    ("a slot of another destructor is taken", TLS, "    if (found->destructor != destructor) return EINVAL;\n", ""),
    ("a slot that nobody opened is set", TLS,
     "    if (slot == 0 || last == NULL || slot > last->index) return EINVAL;\n", ""),
    ("a table gets entries for the newest slot only", TLS,
     "        mine.entries[from->index] = (struct entry){ .destructor = from->destructor };\n",
     "        mine.entries[from->index] = (struct entry){ .destructor = from->destructor };\n        break;\n"),
    ("a value stays in its slot while it is destroyed", TLS,
     "        mine.entries[index].value = NULL;\n        any = true;", "        any = true;"),
    ("the table is remembered across a destructor", TLS, "        struct entry taken = mine.entries[index];\n",
     "        static struct entry *table; if (index + 1 == mine.count) table = mine.entries;\n"
     "        struct entry taken = table[index];\n"),
    ("values that destructors set are left", TLS, "    while (rounds < CSK_TLS_ROUNDS && destroy_round()) rounds++;",
     "    if (destroy_round()) rounds++;"),
    ("destructors set values without end", TLS, "    mine.ended = rounds == CSK_TLS_ROUNDS;\n", ""),
    ("the last round is left out", TLS,
     "        if (entries[index].value != NULL && entries[index].destructor != NULL)\n"
     "            entries[index].destructor(entries[index].value);\n", "        (void)entries;\n"),
    ("a thread's first value does not enrol it", TLS,
     "    int error = mine.entries != NULL ? 0 : csk_thread_exit_enroll(CSK_THREAD_EXIT_TLS, destroy_values);",
     "    int error = 0;"),
    ("stages run from the last to the first", THREAD_EXIT,
     "        void (*function)(void) = mine.functions[stage];\n        mine.functions[stage] = NULL;",
     "        void (*function)(void) = mine.functions[CSK_THREAD_EXIT_STAGES - 1 - stage];\n"
     "        mine.functions[CSK_THREAD_EXIT_STAGES - 1 - stage] = NULL;"),
    ("a stage stays enrolled", THREAD_EXIT, "        mine.functions[stage] = NULL;\n", ""),
    ("a later stage is not asked for in the same pass", THREAD_EXIT,
     "    mine.functions[stage] = function;\n    return 0;",
     "    if (mine.reached == 0) mine.functions[stage] = function;\n    return 0;"),
    ("a pass is not asked for", THREAD_EXIT, "        int error = csk_platform_call_at_thread_end(make_pass);",
     "        int error = 0;"),
    # Condition variables.
    ("who waits for a signal leaves the gate first", COND,
     "    begin_wait(cond, &waiter);\n    csk_store(&gate->depth, 0u, CSK_RELAXED);\n"
     "    csk_cannot_fail(unlock_as(gate, self));\n",
     "    csk_store(&gate->depth, 0u, CSK_RELAXED);\n    csk_cannot_fail(unlock_as(gate, self));\n"
     "    begin_wait(cond, &waiter);\n"),
    ("who waits for a signal is not counted", COND, "    count_waiting(cond, 1);\n", ""),
    ("a deadline takes out who was signalled", COND, "    bool waits = csk_waiter_state(self) == WAITER_IDLE;",
     "    bool waits = true;"),
    ("a deadline leaves the waiter in the condition variable", COND, "    if (waits) take_out(cond, self);\n", ""),
    ("a deadline bounds the wait for the gate too", COND, "gate, &waiter, CSK_NEVER, false)",
     "gate, &waiter, deadline_ns, false)"),
    ("who was not signalled goes on without the gate", COND, "    else locked = lock_as(gate, self, rank);\n",
     "    else locked = lock_as == NULL;\n"),
    ("one signal ends two waits", COND, "return move(cond, 1);", "return move(cond, 2);"),
    ("a broadcast ends one wait", COND, "return move(cond, UINT32_MAX);", "return move(cond, 1);"),
    ("a signal does not settle", COND, "    bool first = csk_gate_settle(gate, &effects);\n",
     "    bool first = false;\n    csk_gate_publish(gate);\n"),
    ("who signals does not look again", COND,
     "    if (first && !csk_gate_is_mine(gate)) csk_gate_look_again(gate);\n", "    (void)first;\n"),
    ("who is signalled keeps its place of before", COND,
     "    waiter->node.ticket = csk_waiter_ticket(&gate->next_ticket, waiter->node.rank);\n", ""),
    ("those that wait for a signal have no order", COND,
     "    self->node.ticket = csk_waiter_ticket(&cond->next_ticket, self->node.rank);\n",
     "    self->node.ticket = 0;\n"),
    ("a mutex is left at one level only", COND, "    csk_store(&gate->depth, 0u, CSK_RELAXED);\n", ""),
    ("a mutex is taken again at one level only", COND, "    csk_store(&gate->depth, depth, CSK_RELAXED);\n", ""),
    ("the child keeps those that wait for a signal", COND,
     "    if (CSK_LIKELY(cond->process == csk_process_mark())) return;\n", "    return;\n"),
    # The semaphore: its word.
    ("who queues at the semaphore does not set the flag", SEM_QUEUE,
     "csk_fetch_or(&sem->state, SEM_WAITERS, CSK_ACQUIRE);", "csk_load(&sem->state, CSK_RELAXED);"),
    ("the flag is cleared while somebody waits", SEM_QUEUE,
     "csk_sem_first(sem) != NULL ? state : state & ~SEM_WAITERS", "state & ~SEM_WAITERS"),
    ("the flag stays when nobody waits", SEM_QUEUE, "csk_sem_first(sem) != NULL ? state : state & ~SEM_WAITERS",
     "state"),
    ("permits are taken past waiters", SEM_HEADER,
     "    while (CSK_LIKELY(!(found & CSK_SEM_WAITERS)) && CSK_LIKELY(csk_sem_free_in(found) >= permits)",
     "    while (CSK_LIKELY(csk_sem_free_in(found) >= permits)"),
    ("more permits are taken than there are", SEM_HEADER, "CSK_LIKELY(csk_sem_free_in(found) >= permits) &&",
     "CSK_LIKELY(csk_sem_free_in(found) > 0) &&"),
    ("a signal adds past waiters", SEM_HEADER,
     "    while (CSK_LIKELY(!(found & CSK_SEM_WAITERS)) && CSK_LIKELY(csk_sem_free_in(found) + permits <= most)",
     "    while (CSK_LIKELY(csk_sem_free_in(found) + permits <= most)"),
    ("an inline signal makes too many", SEM_HEADER, "CSK_LIKELY(csk_sem_free_in(found) + permits <= most) &&",
     "CSK_LIKELY(most > 0) &&"),
    ("a signal makes too many", SEM,
     "    if (csk_sem_free_in(*state) + more > csk_sem_most(sem)) return false;\n", ""),
    ("a change of the size is forgotten", SEM, "(change.resizes ? SEM_IN_ALL : 0)", "0"),
    # Its queue.
    ("who queues at the semaphore does not settle", SEM_QUEUE,
     "    sem->waiting++;\n    csk_sem_settle(sem, effects);\n", "    sem->waiting++;\n    (void)effects;\n"),
    ("who is served takes nothing", SEM_QUEUE, "        state -= first->permits * CSK_SEM_PERMIT;\n", ""),
    ("a signal serves one waiter alone", SEM_QUEUE, "        grant(sem, first, effects);\n    }",
     "        grant(sem, first, effects);\n        break;\n    }"),
    ("one permit serves a large request", SEM_QUEUE, "first->permits <= csk_sem_free_in(state);",
     "csk_sem_free_in(state) > 0;"),
    ("who is served counts as waiting", SEM_QUEUE, "    sem->waiting--;\n", ""),
    ("timed-out waiter of the semaphore does not settle", WAIT,
     "kind->queue->settle(object, &effects) || was_relied_on", "was_relied_on"),
    ("timed-out waiter of the semaphore overlooks its grant", WAIT,
     "    bool granted = csk_waiter_state(self) == WAITER_GRANTED, look", "    bool granted = false, look"),
    ("served just before the deadline, and gone at once", WAIT, "    if (granted) kind->await_granter(object, self);\n",
     ""),
    ("served without a wake", SPIN_PARK, "    if (csk_word_tell(word, answer)) csk_platform_wake(word, 1);",
     "    csk_word_tell(word, answer);", "waiter"),
    ("of three that are told at once one is lost", WAIT, "    else (*last)->next_ready = waiter;",
     "    else (*list)->next_ready = waiter;"),
    ("front places of the semaphore count up", WAITER, "    return (rank & 3) == CSK_PLACE_FRONT ? -ticket : ticket;",
     "    return ticket;", "sem_queue"),
    ("who tries passes a large request", SEM, "rank <= csk_sem_first(sem)->node.rank || ", ""),
    ("who tries passes its own rank", SEM, "rank <= csk_sem_first(sem)->node.rank",
     "rank < csk_sem_first(sem)->node.rank"),
    ("who passes takes more than there is", SEM, " || csk_sem_free_in(found) < permits) return false;",
     ") return false;"),
    ("who passes takes nothing", SEM,
     "    csk_store(&sem->state, found - permits * CSK_SEM_PERMIT, CSK_RELAXED);\n    return true;",
     "    return true;"),
    ("who tries passes nobody", SEM, "        if (somebody) return passed ? 0 : EBUSY;",
     "        if (somebody) return EBUSY;"),
    # Memory that goes with the last wait.
    ("a signal adds under the lock where nobody waits", SEM,
     "    if (somebody) {\n        uint64_t state = csk_load(&sem->state, CSK_RELAXED);",
     "    if (!somebody && !change.resizes) {\n"
     "        csk_fetch_add(&sem->state, change.permits * CSK_SEM_PERMIT, CSK_RELEASE);\n"
     "        csk_queue_unlock(&sem->queue_lock);\n        *status = 0;\n        return true;\n    }\n"
     "    if (somebody) {\n        uint64_t state = csk_load(&sem->state, CSK_RELAXED);"),
    ("a signal settles where nobody waits", SEM, "    bool somebody = csk_sem_first(sem) != NULL;\n    if (somebody) {",
     "    bool somebody = true;\n    if (somebody) {"),
    ("a signal tells under the lock", SEM,
     "    csk_queue_unlock(&sem->queue_lock);\n    csk_effects_perform(&effects);",
     "    csk_effects_perform(&effects);\n    csk_queue_unlock(&sem->queue_lock);"),
    # Its asynchronous waiters.
    ("a waiter of the semaphore in use is queued again", SEM_ASYNC, "    if (csk_waiter_is_waiting(waiter)) {",
     "    if (false) {"),
    ("a deadline at the semaphore is not started", SEM_ASYNC,
     "        csk_waiter_start_deadline(waiter, sem, deadline_passed);\n", "        (void)deadline_passed;\n"),
    ("a deadline outlives the semaphore's waiter", WAIT, "            csk_timer_cancel(&waiter->deadline);\n", ""),
    ("cancelling at the semaphore does not settle", WAIT, "        look_again = kind->settle(object, &effects);\n", ""),
    ("cancelling at the semaphore takes out what was granted", WAIT,
     "    bool queued = csk_waiter_state(waiter) == WAITER_QUEUED &&",
     "    bool queued = csk_waiter_state(waiter) != WAITER_IDLE &&"),
    # It after a fork.
    ("the child keeps the semaphore's waiters", SEM_WORD,
     "    if (CSK_UNLIKELY(csk_queue_lock(&sem->queue_lock))) csk_sem_begin_in_child(sem);",
     "    csk_queue_lock(&sem->queue_lock);", "sem", "sem_queue", "sem_async"),
    ("the child keeps the semaphore's flag", SEM_QUEUE,
     "    csk_fetch_and(&sem->state, ~SEM_WAITERS, CSK_RELAXED);\n", ""),
    ("the child keeps the semaphore's queue", SEM_QUEUE, "    sem->waiters.root = NULL;\n", ""),
    ("the child counts the semaphore's waiters", SEM_QUEUE, "    sem->waiting = 0;\n", ""),
]


def check():
    """Says which mutants are stale; their number. A name stands for one mutant, or the record would not know which."""
    sources, names, wrong = {}, [mutant[0] for mutant in MUTANTS], 0
    for name, path, text, *_ in MUTANTS:
        if path not in sources:
            sources[path] = open(os.path.join(KERNEL, path)).read()
        count = sources[path].count(text)
        if count == 1 and names.count(name) == 1:
            continue
        place = place_of(__file__, f'("{name}"')
        if count != 1:
            print(stale(place, "mutant", name, count, path))
            wrong += 1
        if names.count(name) != 1:
            print(f'{place}: {names.count(name)} mutants have the name "{name}"')
            wrong += 1
    for line in open(RECORD):
        if line.split(": ")[0] not in names:
            print(f"{os.path.basename(RECORD)} has an unknown mutant: {line}", end="")
            wrong += 1
    print(f"{len(MUTANTS)} mutants, {wrong} stale or wrong")
    return wrong


def affected(path, seen_by):
    if seen_by:
        return {"k_" + source for source in seen_by}
    if path.endswith(".h"):
        return None
    return {"k_" + os.path.basename(path)[:-2]}


# Most are caught by a few schedules of the right client; only what survives those is tried for longer.
EFFORTS = (["--limit", "1000", "--random", "500"], ["--limit", "10000", "--random", "10000"],
           ["--limit", "50000", "--random", "30000"])
CAUGHT = re.compile(r"^(\w+) (?:(random|exhaustive) (\d+) |crashed )")


# The clients that can notice, by the beginning of the file's name; all where none is named.
CLIENTS = {
    "fork": ["fork_*"],
    "queue_lock": ["fork_*", "gate_*", "mutex_*", "heap_*", "timer_*"],
    "timer": ["timer_*", "fork_*", "async_*", "gate_*"],
    "rwlock": ["rwlock_*", "pool_*", "work_end_*", "fork_*"],
    "reads": ["rwlock_*", "fork_*"],
    "pool": ["pool_*", "work_end_*", "fork_*"],
    "workqueue": ["workqueue_*", "work_end_*", "fork_*"],
    "delayed": ["delayed_*"],
    "pqueue": ["pqueue_*"],
    "rcu": ["rcu_*"],
    "tls": ["tls_*"],
    "block": ["block_*"],
    "thread": ["tls_*"],
    "sem": ["sem_*", "fork_*"],
    "cond": ["cond_*"],
    "waiter": ["gate_*", "sem_*", "rwlock_*", "async_*", "lane_*", "adopt_*", "close_*", "later_*", "mutex_*",
               "fork_*"],
    "trampoline": ["later_*", "lane_*", "gate_*", "async_*", "adopt_*", "close_*"],
    "gate": ["later_*", "lane_*", "gate_*", "async_*", "adopt_*", "close_*", "mutex_*", "fork_*"],
}


def try_mutant(mutant, base, known):
    name, path, text, replacement, *seen_by = mutant
    folder = tempfile.mkdtemp(prefix="mutant.")
    try:
        kernel = os.path.join(folder, "kernel")
        shutil.copytree(KERNEL, kernel)
        target = os.path.join(kernel, path)
        source = open(target).read()
        if source.count(text) != 1:
            return name, "STALE", f"its text stands {source.count(text)} times in {path}; see --check", None, 0
        source = source.replace(text, replacement)
        if "seen_once" in replacement:
            source = source.replace("    int status = ENOENT;\n    for (;;) {",
                                    "    int status = ENOENT, seen_once = 0;\n    for (;;) {")
        open(target, "w").write(source)
        began = time.monotonic()
        try:
            program = build(kernel, folder, base, affected(path, seen_by))
        except subprocess.CalledProcessError:
            return name, "BROKEN", "does not compile", None, 0
        tries = [[*effort, client] for client in [known.get(name)] if client for effort in EFFORTS]
        file = seen_by[0] if seen_by else os.path.basename(path)
        patterns = [pattern for prefix, some in CLIENTS.items() if file.startswith(prefix) for pattern in some]
        for options in [*tries, *([*effort, *patterns] for effort in EFFORTS)]:
            run = subprocess.run([program, "--quiet", *options], capture_output=True, text=True)
            if run.returncode == 1:
                break
        seconds = time.monotonic() - began
        # One line from the explorer before the trace.
        lines = [line for line in run.stdout.splitlines() if CAUGHT.match(line)]
        if run.returncode != 1 or not lines:
            return name, "SURVIVED", run.stderr.strip(), None, seconds
        said = lines[0].replace(folder + "/", "").replace(ROOT + "/", "")
        return name, "caught", said, CAUGHT.match(lines[0])[1], seconds
    finally:
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    if options.check:
        return 1 if check() else 0
    if options.folder is None:
        parser.error("a folder to build in is missing")
    os.makedirs(options.folder, exist_ok=True)
    build(KERNEL, options.folder, jobs=os.cpu_count())
    chosen = [m for m in MUTANTS if not options.names or m[0] in options.names]
    record = dict(line.rstrip("\n").split(": ") for line in open(RECORD)) if os.path.exists(RECORD) else {}
    known = {} if options.record else record
    caught = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, (name, result, detail, client, seconds) in enumerate(
                pool.map(lambda m: try_mutant(m, options.folder, known), chosen), 1):
            caught += result == "caught"
            if client:
                record[name] = client
            print(f"[{number:3}/{len(chosen)}] {result:8} {name:55} {seconds:5.1f} s  {detail[:140]}", flush=True)
    if options.record:
        with open(RECORD, "w") as file:
            file.writelines(f"{m[0]}: {record[m[0]]}\n" for m in MUTANTS if m[0] in record)
    print(f"{caught} of {len(chosen)} mutants caught")
    return 0 if caught == len(chosen) and chosen else 1


if __name__ == "__main__":
    sys.exit(main())
