#!/usr/bin/env python3
"""Compares the explorer's RC11 with Relacy, a checker of another author with a memory model of its own: what each
litmus test ends with, and random programs.

    litmus_relacy.py PROGRAM FOLDER [--random N] [--seed S]
                                PROGRAM: the explorer, built; FOLDER: where litmus_relacy.cpp is built, and kept

Whatever Relacy ends with, the explorer must allow. (One kind of program is an exception: `may_have_more`.) And of a
litmus test Relacy must end with all that the explorer allows, but for what FEWER names, with the reason: there
Relacy's model is the stronger one. Of a random program it need not.
"""
import argparse, os, random, subprocess, sys

from litmus_axioms import draw, ends_of, parse

HERE = os.path.dirname(os.path.abspath(__file__))
HEADER = "/usr/include/relacy/relacy.hpp"
ORDERS, KINDS = ("rlx", "acq", "rel", "ar", "sc"), ("R", "W", "swap", "add", "cas", "F", "M")
REGISTERS, PLACES, REGISTER, MOST_THREADS = "abcdefgh", "stuvwxyz", 100, 4
# By Relacy's random scheduler, which draws the same each time.
ITERATIONS, ITERATIONS_OF_RANDOM = 20000, 4000

EXECUTED = "a store is the newest when it is executed"
SEQUENCE = "a release sequence goes on with a later store of the same thread, as it did before C++20"
SC_ORDER = "the order of sequentially consistent steps is that in which they are executed"
NEWEST = "a compare-and-swap that fails has read the newest"
# By litmus test: what Relacy does not end with, and why.
FEWER = {
    "MP+rel-rlx+acq": ("a=2 b=0", SEQUENCE),
    "MPU+broken": ("a=0 b=2 c=0; a=2 b=2 c=0; a=2 b=12 c=0", SEQUENCE),
    "cas-fails-stale": ("a=1 b=0", NEWEST),
    "S": ("a=1 x=2", EXECUTED),
    "S+rel+rlx": ("a=1 x=2", EXECUTED),
    "2+2W": ("x=1 y=1", EXECUTED),
    "2+2W+rel": ("x=1 y=1", EXECUTED),
    "2+2W+3sc+rel": ("x=1 y=1", EXECUTED),
    "IRIW-acq-sc": ("a=1 b=0 c=1 d=0", SC_ORDER),
    "Z6.U": ("a=0 y=3; a=0 y=4", SC_ORDER),
    "scF+rlx-chain+scF": ("a=1 b=1 c=0", SC_ORDER),
}
# What Relacy alone ends with, and the reason of `may_have_more`.
MORE = {"SB+scF+sc": "a=0 b=0"}


def can_run(program):
    """Relacy has no compare-and-swap whose failure has another order than its success allows."""
    threads = parse(program)
    fits = all(kind != "cas" or failure in ("rlx", order) or order == "sc" or (order, failure) == ("ar", "acq")
               for steps in threads for kind, *_, order, failure in steps)
    return fits and len(threads) <= MOST_THREADS


def may_have_more(program):
    """Relacy orders sequentially consistent fences by a clock of theirs, and sequentially consistent accesses by marks
    at the stores. Neither knows of the other, so where a program has both Relacy allows what C++ forbids."""
    steps = [step for steps in parse(program) for step in steps]
    return (any(kind in "FM" and (kind == "M" or order == "sc") for kind, *_, order, _ in steps) and
            any(kind not in "FM" and order == "sc" for kind, *_, order, _ in steps))


def in_numbers(program):
    """As litmus_relacy.cpp reads it."""
    def operand(text):
        return 0 if text is None else REGISTER + REGISTERS.index(text) if text in REGISTERS else int(text)
    threads = parse(program)
    numbers = [len(threads)]
    for steps in threads:
        numbers.append(len(steps))
        for kind, target, place, value, wanted, order, failure in steps:
            numbers += [KINDS.index(kind), -1 if target is None else REGISTERS.index(target),
                        0 if place is None else PLACES.index(place), operand(value), operand(wanted),
                        ORDERS.index(order), ORDERS.index(failure)]
    return " ".join(map(str, numbers))


def build(folder):
    program, source = os.path.join(folder, "litmus_relacy"), os.path.join(HERE, "litmus_relacy.cpp")
    if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(source):
        # The warnings are those of its headers.
        subprocess.run(["g++", "-std=c++14", "-O1", "-w", "-o", program, source], check=True)
    return program


def ends_in_relacy(relacy, programs, iterations):
    run = subprocess.run([relacy, str(iterations)], input="".join(in_numbers(one) + "\n" for one in programs),
                         capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"litmus_relacy.py: Relacy ended with {run.returncode}\n{run.stdout[-500:]}{run.stderr[-2000:]}")
    for block in run.stdout.split("\n\n")[:-1]:
        ends = [tuple(map(int, line.split())) for line in block.split("\n")]
        yield {(end[:len(REGISTERS)], end[len(REGISTERS):]) for end in ends}


def fits(end, conditions):
    """Whether the end is one of those that the text names: "a=1 b=0; a=2"."""
    values = dict(zip(REGISTERS + PLACES, end[0] + end[1]))
    return any(all(values[part[0]] == int(part[2:]) for part in one.split()) for one in conditions.split(";"))


def differences(name, program, ours, theirs):
    """The ends that one side has and the other lacks, unless that is known; and those of which it is wrongly said."""
    more, fewer = theirs - ours, ours - theirs
    if name == "random":
        return set() if may_have_more(program) else more
    # What is named must be so, or the tables are wrong.
    known = {end for end in theirs if name in MORE and fits(end, MORE[name])}
    expected = {end for end in ours if name in FEWER and fits(end, FEWER[name][0])}
    if (name in MORE and not known) or (name in FEWER and not expected):
        sys.exit(f"litmus_relacy.py: {name} has no end that is named here")
    return (more ^ known) | (fewer ^ expected)


def told(program, end):
    values = dict(zip(REGISTERS + PLACES, end[0] + end[1]))
    used = {step[1] for steps in parse(program) for step in steps} | {s[2] for steps in parse(program) for s in steps}
    return " ".join(f"{key}={value}" for key, value in values.items() if key in used)


def compare(relacy, tests, iterations):
    """How many programs were compared, have the same ends, more in Relacy though they may, and differ wrongly."""
    chosen = [(name, program, ours) for name, program, ours in tests if can_run(program)]
    same = known = wrong = 0
    found = ends_in_relacy(relacy, [program for _, program, _ in chosen], iterations)
    for (name, program, ours), theirs in zip(chosen, found, strict=True):
        same += ours == theirs
        ends = differences(name, program, ours, theirs)
        for end in sorted(ends):
            who = "Relacy" if end not in ours else "the explorer" if end not in theirs else "not one"
            print(f"{name}: {program}\n  {who} alone ends with  {told(program, end)}")
        known += bool(theirs - ours) and not ends
        wrong += bool(ends)
    return len(chosen), same, known, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--random", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not os.path.exists(HEADER):
        print("not compared with Relacy: there is no relacy-dev here")
        return 0
    relacy, dice = build(options.folder), random.Random(options.seed)
    tests = list(ends_of(options.program, ["--ends"]))
    if missing := set(FEWER) - {name for name, *_ in tests}:
        sys.exit(f"litmus_relacy.py: no such litmus test: {', '.join(sorted(missing))}")
    count, same, known, wrong = compare(relacy, tests, ITERATIONS)
    print(f"{count} of {len(tests)} litmus tests in Relacy: {same} end with the same, {len(FEWER)} with less, {known} "
          f"with more as is known, {wrong} wrong")
    programs = "".join(draw(dice) + "\n" for _ in range(options.random))
    drawn = [("random", program, ends) for _, program, ends in ends_of(options.program, ["--programs", "-"], programs)]
    count, same, known, others = compare(relacy, drawn, ITERATIONS_OF_RANDOM)
    print(f"{count} of {len(drawn)} random programs in Relacy: {same} end with the same, {known} with more as is "
          f"known, {others} wrong")
    return wrong + others != 0


if __name__ == "__main__":
    sys.exit(main())
