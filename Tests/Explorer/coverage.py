#!/usr/bin/env python3
"""Writes the table "By primitive" of docs/verification.md.

    coverage.py STORE_BUFFERS RC11      what `scripts/explore` and `scripts/explore rc11` have printed

Clients and schedules are counted from that, threads from the clients' sources, mutants by the client that notices each.
Fails where a client or a mutant belongs to no primitive.
"""
import collections, os, re, sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
from marks import filled_one

DOCUMENT = os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs", "verification.md")

# name, the beginnings of its clients' names, what else tests it, what nothing of this sees
PRIMITIVES = [
    ("gate: threads", ("gate", "close", "adopt"), "4 models, fuzzing, torture, storms of forks",
     "more than three threads at every order; the system's futex"),
    ("gate: callbacks and lanes", ("async", "lane", "lanes", "later"),
     "1 model, fuzzing (no lanes), Swift stress tests", "executors of the program's own"),
    ("predicates, condition variables", ("await", "cond"), "fuzzing (STRICT), tests of a bounded buffer",
     "predicates that wait for something else"),
    ("mutex", ("mutex",), "1 model, fuzzing, torture", "that a program unlocks what it has locked"),
    ("semaphore", ("sem",), "fuzzing, torture, 10 million events in the soak",
     "permits that a program never gives back"),
    ("read-write lock", ("rwlock",), "torture, long readers, ended readers", "no fuzz target, no model"),
    ("priority queue, heap", ("pqueue", "heap"), "fuzzing, linearizability, torture", "elements' own memory"),
    ("work queues, delayed work", ("workqueue", "work", "delayed"), "fuzzing, tables of states, torture",
     "what a work does"),
    ("lock order, watchdog, views", ("lock", "watchdog", "serve", "seen", "platform"), "planted circles and views",
     "what a view of a whole process shows"),
    ("worker pool", ("pool",), "tests of its bounds, storms of forks", "the system's scheduler"),
    ("timers", ("timer",), "fuzzing, tests of a clock that steps", "how late the system wakes"),
    ("read-copy-update, map", ("rcu",), "torture, a second liburcu in the process",
     "inside of liburcu: a stand-in is explored"),
    ("thread-local values, blocking", ("tls", "block"), "torture, tests of destructors", "destructors of others"),
    ("fork", ("fork",), "storms of forks, each lock in each state (fork_order_test)", "other libraries' handlers"),
    ("locks that tell of their order", ("order",), "C tests of ten kinds of locks, one with each",
     "the checker's own tables: clients of lock order"),
    ("the explorer's own check of loops", ("spin",), "negative clients", "see Termination"),
    ("names, counters, live view", ("name", "metrics", "waits", "listed", "served", "observe", "tasks"),
     "C and Swift tests, ThreadSanitizer", "the profile's stacks under RC11"),
]
ROW = re.compile(r"([a-z]\w+) +(?:(\d+) schedules, (NOT )?all with (\d+) preemptions; )?(\d+) random;")


def primitive_of(client):
    for name, prefixes, *_ in PRIMITIVES:
        if client.split("_")[0] in prefixes:
            return name
    sys.exit(f"{client} belongs to no primitive")


def rows_of(path):
    """By primitive: (schedules, whether these are all, preemptions) of each client, or (0, True, None) of one that is
    only run at random."""
    found, seen = collections.defaultdict(list), set()
    for line in open(path, errors="replace"):
        match = ROW.search(line)
        if match and match[1] not in seen:
            seen.add(match[1])
            bound = int(match[4]) if match[4] else None
            found[primitive_of(match[1])].append((int(match[2] or 0), match[3] is None, bound))
    return found


def threads():
    """By primitive: how many threads its clients have, as far as they are written out."""
    found = collections.defaultdict(set)
    for file in sorted(os.listdir(HERE)):
        if not re.fullmatch(r"clients_\w+\.c", file):
            continue
        text = open(os.path.join(HERE, file)).read()
        for name, names in re.findall(r"\b[A-Z_]+\((\w+),[^;]*?\.threads = \{([^}]*)\}", text):
            if any(name.split("_")[0] in prefixes for _, prefixes, *_ in PRIMITIVES):
                found[primitive_of(name)].add(len([part for part in names.split(",") if part.strip()]))
    return found


def mutants():
    found = collections.Counter()
    for line in open(os.path.join(HERE, "mutants_caught.txt")):
        found[primitive_of(line.rstrip("\n").split(": ")[1])] += 1
    return found


def span(values):
    return str(min(values)) if min(values) == max(values) else f"{min(values)} to {max(values)}"


def short(number):
    return f"{number / 1e6:.1f} M" if number >= 1e6 else f"{number / 1e3:.0f} k"


def table(buffers, weak):
    counts, caught = threads(), mutants()
    lines = ["| primitive | clients | threads | preemptions | schedules | RC11 | mutants | besides | not seen |",
             "|---|--:|--:|--:|--:|--:|--:|---|---|"]
    for name, _, besides, unseen in PRIMITIVES:
        own, other = buffers[name], weak[name]
        remarks = [(sum(not complete for _, complete, _ in own), "in part"),
                   (sum(bound is None for *_, bound in own), "at random")]
        remark = ", ".join(f"{count} {how}" for count, how in remarks if count)
        lines.append(
            f"| {name} | {len(own)}{f' ({remark})' if remark else ''} | {span(counts[name])} | "
            f"{span([row[2] for row in own if row[2] is not None])} | {short(sum(row[0] for row in own))} | "
            f"{short(sum(row[0] for row in other))} | {caught[name]} | {besides} | {unseen} |")
    total = sum(len(rows) for rows in buffers.values())
    schedules = [sum(row[0] for rows in kind.values() for row in rows) for kind in (buffers, weak)]
    lines.append(f"| all | {total} | | | {short(schedules[0])} | {short(schedules[1])} | {sum(caught.values())} | | |")
    return "\n".join(lines)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    buffers, weak = rows_of(sys.argv[1]), rows_of(sys.argv[2])
    if not buffers or not weak:
        sys.exit("coverage.py: no clients in what was printed")
    text = filled_one(DOCUMENT, "by primitive", table(buffers, weak))
    open(DOCUMENT, "w").write(text)


if __name__ == "__main__":
    main()
