#!/usr/bin/env python3
"""The loops of the kernel that read what another thread may change: which wait for that thread, and what would be
reported if its step never came.

    loops.py FOLDER [OPTION ...] [NAME ...]    takes away what ends a loop in which a thread stays awake, and looks
                                               whether the explorer reports it; --help lists what chooses
        --record       looks among all clients of the module, and notes in loops_caught.txt which did
    loops.py --check   whether each such loop of the sources is in one of the tables, and each text stands

A loop is named by its file and its function; where a function has several they are counted. What is taken away is in
loops.mutants, and built with the kernel's mutants into one explorer.
"""
import collections, os, re, sys

from loops_found import find
from loops_listed import NOT_EXPLORED, PARKS, RETRIES, SPINS, WALKS
from mutants import HERE, Explorer, lists, load

RECORD = os.path.join(HERE, "loops_caught.txt")
EFFORT = ["--limit", "2000", "--random", "1000"]
REPORTED = re.compile(r"^(\w+) \w+ \d+ (does not terminate.*)")


def misses(mutants):
    """Whether what the tables say of each function is what stands in the sources."""
    listed = collections.Counter()
    for table in (SPINS, WALKS, PARKS, RETRIES, NOT_EXPLORED):
        listed.update(table)
    found = collections.Counter(f"{file} {function}" for file, function, *_ in find())
    wrong = [f"{place} has {found[place]} loops that read what others change, and {listed[place]} are listed"
             for place in sorted(set(found) | set(listed)) if found[place] != listed[place]]
    waiting, broken = collections.Counter(), collections.Counter(mutant.name.split(", ")[0] for mutant in mutants)
    for place, count in SPINS.items():
        waiting[place.split()[1]] += count
    return wrong + [f"{function} has {waiting[function]} loops that wait, and loops.mutants has {broken[function]}"
                    for function in sorted(set(waiting) | set(broken)) if waiting[function] != broken[function]]


def main():
    given = lists.options(__doc__).parse_intermixed_args()
    mutants, everyone, wrong = load(given, RECORD, of_loops=True)
    if lists.only_looks(given, mutants, wrong + (misses(mutants) if given.check else [])):
        return 0
    chosen, record = lists.choose(given, mutants), lists.read_record(RECORD)
    explorer = Explorer(given.folder, given.jobs)
    explorer.build(everyone)

    def try_one(mutant):
        known = [record[mutant.name]] if mutant.name in record and not given.record else mutant.hints
        run = explorer.run(mutant, [EFFORT], [known])
        match = run and REPORTED.match(run.stdout)
        if not match:
            return "MISSED", run.stdout[:200] or "nobody noticed" if run else "does not compile"
        if given.record:
            record[mutant.name] = match[1]
        return "caught", f"{match[1]} {match[2]}"[:140]

    _, caught = lists.try_all(chosen, try_one, given, given.jobs)
    if given.record:
        lists.write_record(RECORD, record, mutants)
    return not caught


if __name__ == "__main__":
    sys.exit(main())
