#!/usr/bin/env python3
"""Weakens one memory order of the kernel at a time, and says which client notices under RC11, and whether one does by
store buffers.

    orders.py FOLDER [NAME ...]       builds in FOLDER; all orders unless some are named
    orders.py --check                 only whether each text still stands in its file

An order that nobody notices is a hole in the clients, or stronger than the kernel needs.
"""
import os, shutil, subprocess, sys, tempfile

from build import KERNEL, build

GATE, QUEUE_LOCK, WORD = "src/lock/", "src/wait/queue_lock", "src/wait/spin_park.h"
# Name, file, text, what it becomes, clients. A header's users are all compiled.
ORDERS = [
    ("taking a queue lock acquires", QUEUE_LOCK + ".h", "free | QUEUE_LOCK_HELD, CSK_ACQUIRE",
     "free | QUEUE_LOCK_HELD, CSK_RELAXED",
     ["heap_*", "gate_two*", "sem_two", "async_t*"]),
    ("leaving a queue lock releases", QUEUE_LOCK + ".h", "csk_process_mark(), CSK_SEQ_CST",
     "csk_process_mark(), CSK_ACQUIRE",
     ["heap_*", "gate_two*", "sem_two", "async_t*"]),
    ("leaving a queue lock is sequentially consistent", QUEUE_LOCK + ".h", "csk_process_mark(), CSK_SEQ_CST",
     "csk_process_mark(), CSK_ACQ_REL", ["heap_*", "gate_two*", "gate_three*", "sem_*", "async_t*"]),
    ("a contended queue lock acquires", QUEUE_LOCK + ".c", "free | QUEUE_LOCK_CONTENDED, CSK_ACQUIRE",
     "free | QUEUE_LOCK_CONTENDED, CSK_RELAXED", ["heap_*", "gate_two*", "sem_*"]),
    ("an answer releases", WORD, "answer, CSK_ACQ_REL", "answer, CSK_ACQUIRE", ["sem_*", "gate_t*", "gate_l*"]),
    ("a waiter's look acquires", "src/wait/waiter.c", "(word = csk_load(&self->word, CSK_ACQUIRE)) == WORD_PARKED",
     "(word = csk_load(&self->word, CSK_RELAXED)) == WORD_PARKED", ["sem_*", "gate_t*", "gate_l*"]),
    ("entering a held gate acquires", GATE + "gate.c", "self | (found & HELD_FLAGS), CSK_ACQUIRE",
     "self | (found & HELD_FLAGS), CSK_RELAXED", ["gate_t*", "gate_l*"]),
    ("entering a free gate acquires", "include/csynckernel/gate.h", "csk_self(), 0, __ATOMIC_ACQUIRE",
     "csk_self(), 0, __ATOMIC_RELAXED",
     ["gate_two*", "gate_twice*", "gate_leave*"]),
    ("leaving a gate releases", "include/csynckernel/gate.h", "__atomic_store_n(&gate->held, 0, __ATOMIC_RELEASE)",
     "__atomic_store_n(&gate->held, 0, __ATOMIC_RELAXED)", ["gate_two*", "gate_twice*", "gate_leave*"]),
    ("a leaver's summary acquires", GATE + "gate_leave.c",
     "csk_gate_call_for(csk_load(&gate->summary, CSK_ACQUIRE), 0)",
     "csk_gate_call_for(csk_load(&gate->summary, CSK_RELAXED), 0)", ["gate_t*", "gate_l*", "async_t*"]),
    ("taking the gate for another acquires", GATE + "gate_words.c", "holder | (found & HELD_FLAGS), CSK_ACQ_REL",
     "holder | (found & HELD_FLAGS), CSK_RELEASE", ["async_t*", "gate_t*", "gate_l*", "adopt_*"]),
    ("flags of the one word are sequentially consistent", GATE + "gate_words.c", "| held_flags, CSK_SEQ_CST",
     "| held_flags, CSK_ACQ_REL",
     ["gate_t*", "gate_l*", "async_t*"]),
    ("the look at a free gate is sequentially consistent", GATE + "gate_queue.c", "csk_load(&gate->held, CSK_SEQ_CST)",
     "csk_load(&gate->held, CSK_ACQUIRE)", ["gate_t*", "gate_l*", "async_t*"]),
    ("a reserved gate is released", GATE + "gate_words.c", "holder | flags, CSK_RELEASE", "holder | flags, CSK_RELAXED",
     ["async_t*", "adopt_*", "gate_t*", "gate_l*"]),
    ("what is no longer due releases", "src/wait/trampoline.c", "csk_store(&waiter->due, 0, CSK_RELEASE)",
     "csk_store(&waiter->due, 0, CSK_RELAXED)", ["async_queued_while_due*"]),
    ("a permit that is taken acquires", "include/csynckernel/sem.h", "__ATOMIC_ACQUIRE, __ATOMIC_RELAXED",
     "__ATOMIC_RELAXED, __ATOMIC_RELAXED", ["sem_*"]),
    ("a permit that is given releases", "include/csynckernel/sem.h", "__ATOMIC_RELEASE, __ATOMIC_RELAXED",
     "__ATOMIC_RELAXED, __ATOMIC_RELAXED", ["sem_*"]),
]
EFFORT = ["--quiet", "--limit", "2000", "--random", "500"]


def check():
    wrong = 0
    for name, path, text, *_ in ORDERS:
        count = open(os.path.join(KERNEL, path)).read().count(text)
        if count != 1:
            print(f'orders.py: "{name}": its text stands {count} times in {path}')
            wrong += 1
    print(f"{len(ORDERS)} orders, {wrong} stale")
    return wrong != 0


def noticed(program, options, clients):
    try:
        run = subprocess.run([program, *options, *EFFORT, *clients], capture_output=True, text=True, timeout=30)
    except subprocess.TimeoutExpired:
        return "nobody in time"
    if run.returncode == 0:
        return "nobody"
    line = run.stdout.split("\n")[0].split(" ", 3)
    return line[0] + ": " + line[-1] if len(line) == 4 else run.stdout[:80]


def main():
    if sys.argv[1:] == ["--check"]:
        return check()
    base, names = sys.argv[1], sys.argv[2:]
    if not os.path.exists(os.path.join(base, "explore")):
        build(KERNEL, base, jobs=os.cpu_count(), races=True)
    for name, path, text, weaker, clients in ORDERS:
        if names and name not in names:
            continue
        folder = tempfile.mkdtemp(prefix="order.")
        try:
            kernel = os.path.join(folder, "kernel")
            shutil.copytree(KERNEL, kernel)
            source = open(os.path.join(kernel, path)).read()
            open(os.path.join(kernel, path), "w").write(source.replace(text, weaker))
            only = None if path.endswith(".h") else {"k_" + os.path.basename(path)[:-2]}
            program = build(kernel, folder, base, only, jobs=os.cpu_count(), races=True)
            by_rc11, by_buffers = noticed(program, ["--model", "rc11"], clients), noticed(program, [], clients)
            print(f"{name}\n    RC11           {by_rc11[:150]}\n    store buffers  {by_buffers[:150]}", flush=True)
        finally:
            shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
