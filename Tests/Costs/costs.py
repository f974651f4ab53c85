#!/usr/bin/env python3
"""Counts what a program's operations cost, in callgrind, and compares it with what is recorded for its compiler.

    costs.py PROGRAM PAIR FOLDER [--accept]

PAIR is an architecture, a compiler and a C library with their versions, and names the record: Tests/Costs/PAIR.tsv. It
ends with 1 if an operation takes over 3 % more instructions, or more allocations, than its record says, or if the
record and the program have different operations. --accept writes the record anew. For a pair without a record the
counts go to FOLDER/PAIR.tsv, and that is no failure. Each run plants faults first, and fails if one is not noticed.
"""
import os, subprocess, sys, tempfile

import counts

RECORDS = os.path.dirname(os.path.abspath(__file__))
MOST_GROWTH = 1.03
# Operations whose number is known beforehand; no record has them.
KNOWN = "known: "
ACCEPT = "scripts/costs --accept records the counts as they are, if that is meant"
HEAD = """\
# What operations cost: instructions from the first of a function to its return, and allocations.
# Written by scripts/costs --accept.
"""


def count(program, folder):
    """{operation: (instructions, allocations)}; instructions are None where the operation is no function."""
    file = os.path.join(folder, "callgrind")
    if os.path.exists(file):
        os.remove(file)
    # The same hashes, and so the same places in tables, in each run. And what one thread frees stays with it, so that
    # the next allocation of another one takes as many instructions whichever thread of a pool that was.
    environment = dict(os.environ, SWIFT_DETERMINISTIC_HASHING="1", GLIBC_TUNABLES="glibc.malloc.tcache_count=20000")
    ran = subprocess.run(["valgrind", "--tool=callgrind", "--collect-atstart=no", "--combine-dumps=yes",
                          f"--callgrind-out-file={file}", program],
                         env=environment, capture_output=True, text=True, timeout=300)
    if ran.returncode != 0:
        sys.exit(f"{program} ended with {ran.returncode}:\n{ran.stderr[-2000:]}")
    instructions, allocations = counts.counted(file), counts.allocated(ran.stdout)
    return {name: (instructions[name], round(allocations[name], 2)) for name in allocations}


def number(value):
    return f"{value:.2f}".rstrip("0").rstrip(".")


def written(costs):
    return HEAD + "".join(f"{name}\t{number(instructions)}\t{number(allocations)}\n"
                          for name, (instructions, allocations) in costs.items() if not name.startswith(KNOWN))


def read(text):
    rows = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    return {name: (float(instructions), float(allocations)) for name, instructions, allocations in rows}


def change(name, before, now, unit):
    share = f", {(now / before - 1) * 100:+.0f} %" if before else ""
    return f"{name}: {number(before)} {unit} are recorded, and it takes {number(now)}{share}"


def compared(record, costs):
    """(what is wrong, what got better), a line each."""
    wrong, better = [], []
    for name, now in costs.items():
        if now[0] is None:
            wrong.append(f"{name}: is not counted, since its function was inlined into the loop")
        elif name.startswith(KNOWN):
            continue
        elif name not in record:
            wrong.append(f"{name}: is not recorded; it takes {number(now[0])} instructions")
        else:
            for before, value, unit in zip(record[name], now, ("instructions", "allocations")):
                # Half of a hundredth: what the record rounds away.
                if value > before * MOST_GROWTH + 0.005:
                    wrong.append(change(name, before, value, unit))
                elif value < before - 0.005:
                    better.append(change(name, before, value, unit))
    wrong += [f"{name}: is recorded, and there is no such operation" for name in record if name not in costs]
    return wrong, better


def judged(costs, record_path, new_path, name):
    """Prints what there is to say, and returns the exit status."""
    if not os.path.exists(record_path):
        with open(new_path, "w") as file:
            file.write(written(costs))
        print(f"nothing is recorded for {name}; its counts went to {new_path}. {ACCEPT}")
        return 0
    with open(record_path) as file:
        wrong, better = compared(read(file.read()), costs)
    for line in wrong + better:
        print(line)
    print(f"{name}: {len(costs)} operations, {len(wrong)} failures, {len(better)} take less. "
          + (ACCEPT if wrong or better else "As recorded."))
    return 1 if wrong else 0


# ---- Planted faults -----------------------------------------------------------------------------------------------

def self_test(costs):
    """What was planted and not noticed. The known operations stand in for one that grew by 1, by 4, or by an
    allocation."""
    known = {name[len(KNOWN):]: value for name, value in costs.items() if name.startswith(KNOWN)}
    base, one, four, allocating = (known[name] for name in ("100", "101", "104", "an allocation"))
    missed = []

    def expect(what, is_so):
        if not is_so:
            missed.append(what)

    def against(now, record=None):
        return compared({"a": base} if record is None else record, now)

    expect("one instruction more is counted as one", one[0] - base[0] == 1 and four[0] - base[0] == 4)
    expect("an allocation is counted as one", allocating[1] - base[1] == 1)
    expect("4 instructions more of 100 fail", len(against({"a": four})[0]) == 1)
    expect("1 instruction more of 100 passes", against({"a": one}) == ([], []))
    expect("3 % more pass, and more than that fail", [len(against({"a": (now, 0)}, {"a": (1000, 0)})[0])
                                                      for now in (1030, 1031)] == [0, 1])
    expect("1 instruction more of 17 fails", len(against({"a": (18, 0)}, {"a": (17, 0)})[0]) == 1)
    expect("a tenth of an allocation more than none fails", len(against({"a": (17, 0.1)}, {"a": (17, 0)})[0]) == 1)
    expect("an allocation more fails", len(against({"a": (base[0], allocating[1])})[0]) == 1)
    expect("an instruction less is told, and passes",
           list(map(len, against({"a": base}, {"a": one}))) == [0, 1])
    expect("an operation that is not recorded fails", len(against({"a": base, "b": base})[0]) == 1)
    expect("a recorded operation that is gone fails", len(against({})[0]) == 1)
    expect("a function that was inlined fails", len(against({"a": (None, 0)})[0]) == 1)
    expect("what is written is read as it was", read(written({"a": base})) == {"a": base})
    with tempfile.TemporaryDirectory() as folder:
        new, missing = os.path.join(folder, "new"), os.path.join(folder, "missing")
        output, sys.stdout = sys.stdout, open(os.devnull, "w")
        try:
            status = judged({"a": base}, missing, new, "a pair that nobody knows")
            expect("an unknown pair passes, and its counts are kept", status == 0 and os.path.exists(new))
            expect("what was kept is a record that holds", judged({"a": base}, new, missing, "") == 0)
            expect("what was kept is a record that fails", judged({"a": four}, new, missing, "") == 1)
        finally:
            sys.stdout = output
    for what in missed:
        print(f"planted, and not noticed: {what}")
    return missed


def main():
    program, pair, folder = sys.argv[1:4]
    costs = count(program, folder)
    record = os.path.join(RECORDS, f"{pair}.tsv")
    if self_test(costs):
        return 1
    if "--accept" in sys.argv[4:]:
        if any(instructions is None for instructions, _ in costs.values()):
            return judged(costs, record, os.path.join(folder, f"{pair}.tsv"), pair)
        with open(record, "w") as file:
            file.write(written(costs))
        print(f"recorded {len(costs)} operations in Tests/Costs/{pair}.tsv")
        return 0
    return judged(costs, record, os.path.join(folder, f"{pair}.tsv"), pair)


if __name__ == "__main__":
    sys.exit(main())
