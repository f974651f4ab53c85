#!/usr/bin/env python3
"""Plants one fault at a time in a copy of the kernel and reports whether the corpora notice.

    faults.py BUILD_FOLDER [--found FOLDER] [--seconds N] [--only TEXT]
    faults.py --check     only looks whether each fault's text stands in its file, once

--found: where scripts/fuzz keeps what it found; of that, the smallest input that notices what the corpus overlooks
joins the corpus.
--seconds: what is overlooked still is fuzzed so long (libFuzzer; CLANG names a clang).

--only: the faults whose names contain that.

Exits 1 when a fault survives, or is stale. A fault is a target, a file, a text that stands in it exactly once, and what
takes its place.
"""
import argparse, glob, os, re, shutil, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
from stale import place_of, stale

KERNEL = os.path.join(HERE, "..", "..", "Sources", "CSyncKernel")
HEAP, HEAP_H, TRAMPOLINE = "src/base/heap.c", "include/csynckernel/heap.h", "src/wait/trampoline.c"
GATE, GATE_H = "src/lock/gate.c", "include/csynckernel/gate.h"
QUEUE, ASYNC = "src/lock/gate_queue.c", "src/lock/gate_async.c"
MUTEX, MUTEX_H = "src/lock/mutex.c", "include/csynckernel/mutex.h"
ORDER, POLICY, LEAVE = "src/lock/gate_order.c", "src/lock/gate_policy.c", "src/lock/gate_leave.c"
WAITER, WAITER_H = "src/wait/waiter.c", "src/wait/waiter.h"
PQUEUE, TIMER = "src/queue/pqueue.c", "src/wait/timer.c"
PQUEUE_LINE, PQUEUE_LINE_H = "src/queue/pqueue_line.c", "src/queue/pqueue_line.h"
PQUEUE_ASYNC = "src/queue/pqueue_async.c"
SEM, SEM_QUEUE, SEM_ASYNC = "src/lock/sem.c", "src/lock/sem_queue.c", "src/lock/sem_async.c"
SEM_H = "include/csynckernel/sem.h"
COND, AWAIT = "src/lock/cond.c", "src/lock/gate_await.c"
WQ, WQ_LIFE, WQ_WORKER = "src/queue/workqueue.c", "src/queue/workqueue_life.c", "src/queue/workqueue_worker.c"
WQ_ORDER, WQ_WAIT, DELAYED = "src/queue/workqueue_order.c", "src/queue/workqueue_wait.c", "src/queue/delayed.c"


def left_out():
    """The pattern of the kernel's files that no target uses, which CMakeLists.txt has in pieces."""
    with open(os.path.join(HERE, "CMakeLists.txt")) as lists:
        pieces = re.findall(r'^(?:set\(unused|string\(APPEND unused)\s+"(.*)"\)$', lists.read(), re.MULTILINE)
    return re.compile(rf"/({''.join(pieces)})\.c$")


LEFT_OUT = left_out()

FAULTS = [
    ("cond", "a signalled thread keeps its ticket", COND,
     "    waiter->node.ticket = csk_waiter_ticket(&ticket, waiter->node.rank);\n", "    (void)ticket;\n"),
    ("cond", "a broadcast turns those at the front around", COND, "first + (front ? count - 1 - i : i)",
     "first + (front ? i : i)"),
    ("cond", "a signal lets all go on", COND, "return move(cond, 1);", "return move(cond, UINT32_MAX);"),
    ("cond", "who gives up stays in the condition variable", COND, "    if (waits) take_out(cond, self);\n", ""),
    ("cond", "a thread waits in a condition variable of a closed gate", COND, "bool may_wait = !cond->gate->closed;",
     "bool may_wait = true;"),
    ("cond", "anybody may wait in a condition variable", COND, "    if (!csk_gate_is_mine(gate)) return EPERM;\n", ""),
    ("cond", "predicates are asked in the wrong order", AWAIT,
     "csk_heap_before(&next->waiter.node, &added->waiter.node)",
     "csk_heap_before(&added->waiter.node, &next->waiter.node)"),
    ("cond", "a chosen thread comes last", AWAIT, "    gate->next_ticket++;\n",
     "    chosen->waiter.node.ticket = ++gate->next_ticket;\n"),
    ("cond", "predicates behind a chosen one are asked", AWAIT, "        if (at->chosen) break;\n", ""),
    ("cond", "one predicate stands for another", AWAIT, "at->predicate == false_one->predicate &&\n           ", ""),
    ("cond", "one context stands for another", AWAIT,
     " &&\n           at->predicate_context == false_one->predicate_context)", ")"),
    ("cond", "more than one condition is let go on", AWAIT,
     "at != NULL && !found; at = next)", "at != NULL; at = next)"),
    ("cond", "a chosen thread does not ask again", AWAIT,
     "        if (self->predicate(self->predicate_context)) return 0;\n", "        return 0;\n"),
    ("cond", "a deadline does not send a thread to the gate", AWAIT, "        choose(gate, self);\n",
     "        self->chosen = true;\n"),
    ("cond", "a late thread keeps the gate", AWAIT,
     "deadline_ns, 0);\n    if (status != 0) (void)csk_gate_unlock(gate);\n", "deadline_ns, 0);\n"),
    ("cond", "a condition that is ended hears nothing", AWAIT,
     "        end_with(gate, condition, ECANCELED, &ended);\n", "        take_out(gate, condition);\n"),
    ("cond", "a condition in use waits again", AWAIT,
     "ESHUTDOWN : csk_waiter_is_waiting(&condition->waiter) ? EBUSY : 0;", "ESHUTDOWN : 0;"),
    ("cond", "anybody may watch", AWAIT,
     "    if (csk_gate_holder(gate) != CSK_GATE_NOBODY && !csk_gate_is_mine(gate)) return EPERM;\n", ""),
    ("cond", "a condition is accepted at a closed gate", AWAIT,
     "int status = gate->closed ? ESHUTDOWN : csk_waiter_is", "int status = csk_waiter_is"),
    ("cond", "a gate is closed while predicates wait", ASYNC,
     " || (closing && csk_gate_conditions(gate) != NULL);", ";"),
    ("cond", "a gate is destroyed while predicates wait", GATE, " || csk_gate_conditions(gate) != NULL ||", " ||"),
    ("heap", "equal ranks in the wrong order", HEAP_H, "a->ticket < b->ticket;", "a->ticket > b->ticket;"),
    ("heap", "removing forgets the link back", HEAP,
     "    if (rest != NULL) set_parent(rest, above);\n", ""),
    ("heap", "removing drops the children", HEAP,
     "    if (above->child == node) above->child = rest;\n", "    if (above->child == node) above->child = NULL;\n"),
    ("heap", "ways to the left are the shorter ones", HEAP, "    if (of_left < way) {\n", "    if (of_left > way) {\n"),
    ("gate", "equal priorities in the wrong order", WAITER_H, "CSK_PLACE_FRONT ? -ticket : ticket;",
     "CSK_PLACE_BACK ? -ticket : ticket;"),
    ("gate", "a cancelled waiter's function is lost", WAITER, "        csk_waiter_finish(waiter, status, &effects);\n",
     "        if (status != ECANCELED) csk_waiter_finish(waiter, status, &effects);\n"),
    ("gate", "cancelling one that does not wait is 0", ASYNC, "ECANCELED) ? 0 : EBUSY;", "ECANCELED) ? 0 : 0;"),
    ("gate", "re-entry times out", GATE, "    if (csk_gate_holder(gate) == self) return EDEADLK;\n", ""),
    ("gate", "the bypass limit is one too high", "src/lock/gate_order.h", "oldest_bypassed >= csk_arrivals_limit(",
     "oldest_bypassed > csk_arrivals_limit("),
    ("gate", "closing does not wait for lost grants", POLICY, "return !csk_gate_has_lost_grants(gate) ? top : NULL;",
     "return top;"),
    ("gate", "the second grace is no longer", ASYNC, "longest_grace_ns : waiter->grace_ns * 2;",
     "longest_grace_ns : waiter->grace_ns;"),
    ("gate", "a closed gate can be locked", GATE, "    int status = gate->closed ? ESHUTDOWN : enter",
     "    int status = enter"),
    ("gate", "functions nest", TRAMPOLINE,
     "    if (ready.depth > 1) {\n        ready.depth--;\n        return;\n    }\n", ""),
    ("gate", "a designated thread is not woken", LEAVE, "        *wake = effects.wake;\n", ""),
    ("gate", "a deadline outlives its waiter", WAITER, "            csk_timer_cancel(&waiter->deadline);\n", ""),
    ("gate", "one whose grant is over adopts another's", ASYNC,
     "(csk_gate_pending(gate) != NULL && csk_gate_pending(gate) != waiter)", "false"),
    ("mutex", "the last level needs no unlock", MUTEX_H, "mutex->gate.depth + 1, __ATOMIC_RELAXED);",
     "mutex->gate.depth == 2 ? 2 : mutex->gate.depth + 1, __ATOMIC_RELAXED);"),
    ("mutex", "levels end one too early", MUTEX_H, "mutex->gate.depth == UINT32_MAX",
     "mutex->gate.depth >= UINT32_MAX - 1"),
    ("mutex", "its holder can't try again", MUTEX,
     "    if (csk_gate_is_mine(&mutex->gate)) return csk_mutex_lock(mutex);\n", ""),
    ("mutex", "anybody may unlock", MUTEX_H, "!= self)) return EPERM;", "== 0)) return EPERM;"),
    ("mutex", "a recursive gate loses a level", GATE_H, "        gate->depth--;\n",
     "        gate->depth -= gate->depth > 1 ? 2 : 1;\n"),
    ("pqueue", "equal priorities in the wrong order", PQUEUE_LINE_H, "queue->next_ticket++;", "queue->next_ticket--;"),
    ("pqueue", "a place too many", PQUEUE_LINE_H, "queue->capacity - queue->count;",
     "queue->capacity + 1 - queue->count;"),
    ("pqueue", "closed and empty is EAGAIN", PQUEUE,
     "        if (queue->closed) status = ESHUTDOWN;\n"
     "        else status = wait ? stand_in_line(queue, &queue->poppers",
     "        status = wait ? stand_in_line(queue, &queue->poppers"),
    ("pqueue", "draining forgets the count", PQUEUE, "    queue->count = 0;\n", ""),
    ("pqueue", "a queue's waiter in use is queued again", PQUEUE_ASYNC,
     "    if (csk_waiter_is_waiting(waiter)) status = EBUSY;\n    else if", "    if"),
    ("pqueue", "a queue's deadlines do not pass", PQUEUE_ASYNC,
     "            csk_waiter_start_deadline(waiter, queue, deadline_passed);\n",
     "        (void)deadline_passed;\n"),
    ("pqueue", "a closed queue takes an asynchronous push", PQUEUE_ASYNC,
     "queue->closed && (mode == PQUEUE_PUSHES || queue->count", "queue->closed && (queue->count"),
    ("pqueue", "a closed queue gives an asynchronous pop nothing", PQUEUE_ASYNC,
     "(mode == PQUEUE_PUSHES || queue->count <= queue->poppers.promised)", "true"),
    ("pqueue", "a pop serves no asynchronous push", PQUEUE,
     "        if (CSK_UNLIKELY(queue->pushers.unpromised != NULL)) return serve_and_unlock(queue);\n", ""),
    ("pqueue", "an item that was handed over makes no place", PQUEUE_LINE,
     "    while (serve_first(queue, &queue->poppers, queue->count, effects) ||\n"
     "           serve_first(queue, &queue->pushers, csk_pqueue_places(queue), effects)) {}\n",
     "    while (serve_first(queue, &queue->pushers, csk_pqueue_places(queue), effects)) {}\n"
     "    while (serve_first(queue, &queue->poppers, queue->count, effects)) {}\n"),
    ("pqueue", "a queue's waiter goes to the front of its line", PQUEUE_LINE,
     "    waiter->older = line->last;\n    waiter->newer = NULL;\n"
     "    if (line->last != NULL) line->last->newer = waiter;\n    else line->first = waiter;\n"
     "    line->last = waiter;\n"
     "    if (line->unpromised == NULL) line->unpromised = waiter;\n",
     "    waiter->newer = line->first;\n    waiter->older = NULL;\n"
     "    if (line->first != NULL) line->first->older = waiter;\n    else line->last = waiter;\n"
     "    line->first = waiter;\n"
     "    line->unpromised = waiter;\n"),
    ("sem", "a semaphore's permits are taken past waiters", SEM_H,
     "while (CSK_LIKELY(!(found & CSK_SEM_WAITERS)) && CSK_LIKELY(csk_sem_free_in(found) >= permits)",
     "while (CSK_LIKELY(csk_sem_free_in(found) >= permits)"),
    ("sem", "a semaphore's wait for nothing succeeds", SEM_H,
     "csk_sem_free_in(found) >= permits) &&\n           CSK_LIKELY(permits != 0))",
     "csk_sem_free_in(found) >= permits))"),
    ("sem", "a signal of nothing succeeds", SEM, "return permits == 0 ? EINVAL : change_permits",
     "return change_permits"),
    ("sem", "a semaphore has one permit too many", SEM, "csk_sem_free_in(*state) + more > csk_sem_most(sem)",
     "csk_sem_free_in(*state) + more > (int64_t)csk_sem_most(sem) + 1"),
    ("sem", "a size beyond the most is taken", SEM, "return permits > csk_sem_most(sem) ? EINVAL : change_permits",
     "return change_permits"),
    ("sem", "a semaphore forgets its size", SEM, "(change.resizes ? SEM_IN_ALL : 0)", "0"),
    ("sem", "who tries passes its own rank at a semaphore", SEM_QUEUE, "rank <= first->node.rank",
     "rank < first->node.rank"),
    ("sem", "a wait for more than a semaphore can have waits", "src/lock/sem_queue.h",
     " && permits <= csk_sem_most(sem);", ";"),
    ("sem", "a semaphore serves one waiter alone", SEM_QUEUE, "        grant(sem, first, effects);\n    }",
     "        grant(sem, first, effects);\n        break;\n    }"),
    ("sem", "waiters of a semaphore in the wrong order", WAITER_H, "CSK_PLACE_FRONT ? -ticket : ticket;",
     "CSK_PLACE_BACK ? -ticket : ticket;"),
    ("sem", "a semaphore's waiter in use is queued again", SEM_ASYNC, "    if (csk_waiter_is_waiting(waiter)) {",
     "    if (false) {"),
    ("sem", "a semaphore's deadlines do not pass", SEM_ASYNC,
     "        csk_waiter_start_deadline(waiter, sem, deadline_passed);\n", "        (void)deadline_passed;\n"),
    ("timer", "a fired timer is still started", TIMER, "    timer->epoch = 0;\n    timers.firing = timer;",
     "    timers.firing = timer;"),
    ("timer", "a lost cancel", TIMER,
     "            csk_heap_remove(&timers.heap, &timer->node);\n            timers.count--;\n"
     "            timer->epoch = 0;\n            status = 0;",
     "            status = 0;"),
    ("timer", "starting twice is 0", TIMER, "        return EBUSY;", "        return 0;"),
    ("timer", "an earlier deadline wakes nobody", TIMER, "    if (wake) wake_thread();\n", ""),
    ("timer", "the last deadline first", TIMER, "    timer->node.rank = rank_of(deadline_ns);",
     "    timer->node.rank = deadline_ns;"),
    ("timer", "equal deadlines in any order", TIMER, "    timer->node.ticket = ++timers.starts;",
     "    timer->node.ticket = -++timers.starts;"),
    ("workqueue", "nobody is told what is urgent", WQ,
     "    if (CSK_UNLIKELY(urgent)) csk_exchange(&queue->urgent, (uint32_t)URGENT, CSK_RELEASE);\n", ""),
    ("workqueue", "what waits for a barrier is forgotten", WQ_ORDER, " queue->barrier = NULL; place_later(queue);\n",
     " queue->barrier = NULL;\n"),
    ("workqueue", "work is called twice", WQ_WORKER, "    else work->function(work, 0);\n",
     "    else work->function(work, 0), work->function(work, 0);\n"),
    ("workqueue", "what begins overtakes nobody", WQ_ORDER, "        csk_work_note_passes(queue, work);\n", ""),
    ("workqueue", "a barrier does not wait for what runs", WQ_ORDER, "(queue->barrier != NULL && queue->running == 0)",
     "queue->barrier != NULL"),
    ("workqueue", "work begins beside a barrier", WQ_ORDER, "return !queue->exclusive && ", "return "),
    ("workqueue", "the last to come stands last", WQ_ORDER, "CSK_PLACE_FRONT ? -arrival : arrival;",
     "CSK_PLACE_FRONT ? arrival : arrival;"),
    ("workqueue", "suspended queues begin", WQ_ORDER, " && !queue->suspended;", ";"),
    ("workqueue", "the newest is dropped", WQ_ORDER, "    if (queue->first != NULL) return queue->first;\n",
     "    if (queue->first != NULL) return queue->last;\n"),
    ("workqueue", "what is of its own turn is dropped", WQ_ORDER,
     "    return (work->kind & WORK_STAYS) && queue->when_full == CSK_WORKQUEUE_DROP_OLDEST;",
     "    (void)queue, (void)work;\n    return false;"),
    ("workqueue", "a barrier of its own turn is dropped", WQ_ORDER,
     "    if (work == NULL || !(work->kind & WORK_STAYS)) return work;\n", "    if (true) return work;\n"),
    ("workqueue", "nothing behind a barrier of its own turn is dropped", WQ_ORDER,
     "    for (work = queue->later_first; work", "    for (work = NULL; work"),
    ("workqueue", "shutting down cancels own turns", WQ_ORDER, "        int stays = (work->kind & WORK_STAYS) != 0;\n",
     "        int stays = 0;\n"),
    ("workqueue", "shutting down lets own turns pass barriers", WQ_ORDER,
     "        queue->beyond++;\n        place(queue, work);\n    }\n    return",
     "        queue->beyond++;\n        append(own_list(queue), work, PLACE_FIRST);\n    }\n    return"),
    ("workqueue", "a suspended queue stays so when it is shut down", WQ_LIFE,
     "    queue->suspended &= SUSPENDED_EMPTIED; /*",
     "    if (!(csk_load(&queue->state, CSK_RELAXED) & STATE_SHUT)) queue->suspended &= SUSPENDED_EMPTIED; /*"),
    ("workqueue", "a queue that is shut down is suspended", WQ_LIFE, "    bool ends = is_ending(queue), most",
     "    bool ends = false, most"),
    ("workqueue", "resuming a queue that is shut down is refused", WQ_LIFE, "    return suspended || ends ? 0 : EPERM;",
     "    return suspended ? 0 : EPERM;"),
    ("workqueue", "callers come in on a full queue that refuses", WQ_WAIT,
     "    if (!stays && csk_workqueue_is_full(queue)) {", "    if (false) {"),
    ("workqueue", "callers of their own turn are refused", WQ_WAIT, "    if (!stays && csk_workqueue_is_full(queue)) {",
     "    if (csk_workqueue_is_full(queue)) {"),
    ("workqueue", "a caller runs what is before it", WQ_WAIT, "csk_work_is_next(queue, &call.work) && csk_work_take",
     "csk_work_take"),
    ("workqueue", "who gives up room gets it", WQ_WAIT, "    bool waits = give_up(queue, &queue->rooms, wait);\n",
     "    bool waits = wait->epoch != 0;\n"),
    ("workqueue", "who waits for room without a thread is told of no end", WQ_WAIT,
     "        room->status = ESHUTDOWN;\n", ""),
    ("workqueue", "the end of the line is lost", WQ_WAIT,
     "    if (wait == queue->last_room) queue->last_room = wait->previous;\n", ""),
    ("workqueue", "a barrier that waited for room is none", WQ,
     "rank, barrier ? WORK_BARRIER : WORK_PLAIN, work_function,", "rank, WORK_PLAIN + 0u * barrier, work_function,"),
    ("workqueue", "handles are not counted", WQ_LIFE, "-UINT64_C(1), CSK_ACQ_REL) == 1) csk",
     "-UINT64_C(1), CSK_ACQ_REL) >= 1) csk"),
    ("workqueue", "delayed work is of its own turn", WQ,
     "prepare(queue, work, rank, WORK_BEYOND | counts, function);",
     "prepare(queue, work, rank, WORK_STAYS | counts, function);"),
    ("workqueue", "a place too many", WQ, ", full = csk_workqueue_is_full(queue);",
     ", full = queue->waiting - queue->beyond > queue->capacity;"),
    ("workqueue", "cancelling gives no room", WQ,
     "        if (queue->rooms != NULL) room = csk_rooms_take(queue);\n    }\n", "    }\n"),
    ("workqueue", "who waits for room passes what came before", WQ_WORKER,
     "    if (CSK_UNLIKELY(queue->rooms != NULL)) csk_work_sort(queue);", ""),
    ("workqueue", "shutting down leaves the barrier", WQ_ORDER, "    return work != NULL ? work : queue->barrier;",
     "    return work;"),
    ("workqueue", "a drain does not wait for the telling", WQ_WAIT, " + queue->running + queue->refusing;",
     " + queue->running;"),
    ("workqueue", "a drain waits for what comes after it", WQ_ORDER,
     "*at != NULL && arrival <= (*at)->arrivals;) {", "*at != NULL;) {"),
    ("workqueue", "what is not sorted waits for what was", WQ_ORDER,
     " && (queue->width <= 1 || queue->first != queue->last);", ";"),
    ("workqueue", "a worker brings no other", WQ_WORKER,
     "        if (more && queue->width > 1) csk_workqueue_activate(queue);\n", ""),
    ("workqueue", "who steps back asks for no worker", WQ_WORKER,
     "        csk_cannot_fail(csk_pool_post(&queue->item, csk_workqueue_serve));\n        return;\n",
     "        return;\n"),
    ("workqueue", "lingering never ends", WQ_WORKER,
     "    if (shared) csk_fetch_and(&queue->state, ~STATE_LINGERS, CSK_SEQ_CST);\n", ""),
    ("workqueue", "a caller of a shut queue is let in", WQ_WAIT,
     "    if (!stays && (csk_load(&queue->state, CSK_RELAXED) & STATE_SHUT)) return ESHUTDOWN;\n", ""),
    ("workqueue", "delayed work knows no period", DELAYED, "CSK_NEVER : last_ns + period_ns;",
     "CSK_NEVER : last_ns + 2 * period_ns;"),
    ("workqueue", "periodic work ends where there is no room", DELAYED,
     "    } else if (!lacks_room(delayed, status) || !change(delayed, QUEUED, WAITS)) {", "    } else {"),
    ("workqueue", "a promised last call is not made", DELAYED,
     "            if (change(delayed, QUEUED, STOPPED)) return 0;\n",
     "            set(delayed, STOPPED);\n            return 0;\n"),
    ("workqueue", "a refused call is outside", DELAYED,
     "    csk_section_enter(&section);\n    run(work, status);\n    csk_section_leave(&section);\n",
     "    run(work, status);\n"),
]


def check():
    """Says which faults are stale; their number."""
    wrong = 0
    for _, name, file, text, _ in FAULTS:
        with open(os.path.join(KERNEL, file)) as source:
            count = source.read().count(text)
        if count != 1:
            print(stale(place_of(__file__, f'", "{name}"'), "fault", name, count, file))
            wrong += 1
    print("%d faults, %d stale" % (len(FAULTS), wrong))
    return wrong


def kernel_with(folder, file, text, replacement):
    copy = os.path.join(folder, "kernel")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(KERNEL, copy)
    path = os.path.join(copy, file)
    with open(path) as source:
        content = source.read()
    if content.count(text) != 1:
        sys.exit(f"{file}: {content.count(text)} places read {text!r}")
    with open(path, "w") as source:
        source.write(content.replace(text, replacement))
    return copy


def build(kernel, target, program, compiler, flags, extra):
    sources = [path for path in glob.glob(os.path.join(kernel, "src", "*", "*.c")) if not LEFT_OUT.search(path)]
    own = ["fuzz.c", "virtual_platform.c", "virtual_pool.c", target + "_fuzz.c",
           *glob.glob(target + "_model*.c", root_dir=HERE)] + extra
    subprocess.run([compiler, "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-w", *flags,
                    "-I" + os.path.join(kernel, "include"), "-I" + os.path.join(kernel, "src"), "-I" + HERE,
                    *sources, *(os.path.join(HERE, name) for name in own),
                    "-pthread", "-o", program], check=True, stderr=subprocess.DEVNULL)


def notices(command, seconds):
    """What the program says first of a difference; None when it finds none."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds,
                              errors="replace")
    except subprocess.TimeoutExpired:
        return "hangs"
    if done.returncode == 0:
        return None
    said = [line for line in done.stdout.splitlines() if "DIFFERENCE" in line or "ERROR:" in line]
    return said[0].split(": ", 1)[-1] if said else "ends with %d" % done.returncode


def extend(corpus, found, program):
    """Adds the smallest input of the folder that fails; what it says, or None."""
    for path in sorted(glob.glob(os.path.join(found, "*")), key=os.path.getsize):
        said = notices([program, path], 20)
        if said is not None:
            shutil.copy(path, corpus)
            return said
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--found")
    parser.add_argument("--seconds", type=int, default=0)
    options = parser.parse_args()
    if options.check:
        return 1 if check() else 0
    if options.folder is None:
        parser.error("a folder to build in is missing")
    os.makedirs(options.folder, exist_ok=True)
    survived = 0
    chosen = [fault for fault in FAULTS if options.only in fault[1]]
    for target, name, file, text, replacement in chosen:
        kernel = kernel_with(options.folder, file, text, replacement)
        program, corpus = os.path.join(options.folder, "program"), os.path.join(HERE, "corpus", target)
        build(kernel, target, program, "cc", [], ["replay.c"])
        by, said = "corpus", notices([program, corpus], 20)
        if said is None and options.found:
            by, said = "added to the corpus", extend(corpus, os.path.join(options.found, target), program)
        if said is None and options.seconds:
            build(kernel, target, program, os.environ.get("CLANG", "clang"), ["-fsanitize=fuzzer,address,undefined"],
                  [])
            grown = os.path.join(options.folder, "grown")  # the first folder gets what reaches further
            shutil.rmtree(grown, ignore_errors=True)
            os.makedirs(grown)
            by, said = "fuzzing", notices([program, "-max_len=256", "-max_total_time=%d" % options.seconds,
                                           "-artifact_prefix=" + options.folder + "/", grown, corpus],
                                          options.seconds + 60)
        survived += said is None
        print("%-9s %-52s %s" % (target, name, "SURVIVES" if said is None else by + ": " + said), flush=True)
    print("%d faults, %d survive" % (len(chosen), survived))
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
