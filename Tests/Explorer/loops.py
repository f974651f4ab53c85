#!/usr/bin/env python3
"""The loops of the kernel that read what another thread may change: which wait for that thread, and what would be
reported if its step never came.

    loops.py --check               whether each such loop of the sources is in one of the tables, and each text stands
    loops.py FOLDER [FUNCTION ...] builds each negative variant and looks whether the explorer reports it; --record
                                   looks among all clients of the module, and notes in loops_caught.txt which did
    loops.py --list                the table

A loop is named by its file and its function; where a function has several they are counted.
"""
import collections, concurrent.futures, os, re, shutil, subprocess, sys, tempfile

from build import HERE, KERNEL, build
from loops_found import find
from loops_listed import NOT_EXPLORED, PARKS, RETRIES, SPINS, WALKS
from mutants import affected

CAUGHT_BY = os.path.join(HERE, "loops_caught.txt")
EFFORT = ["--quiet", "--limit", "2000", "--random", "1000"]
REPORTED = re.compile(r"^(\w+) \w+ \d+ (does not terminate.*)")


def record():
    return dict(line.rstrip("\n").split(": ") for line in open(CAUGHT_BY)) if os.path.exists(CAUGHT_BY) else {}


def name_of(spin):
    return f"{spin.function}, {spin.waits_for}"


def check():
    """Whether what the tables say of each function is what stands in the sources."""
    listed, wrong = collections.Counter(), 0
    for table in (WALKS, PARKS, RETRIES, NOT_EXPLORED):
        for place, count in table.items():
            listed[place] += count
    for spin in SPINS:
        listed[f"{spin.file} {spin.function}"] += 1
    found = collections.Counter(f"{file} {function}" for file, function, *_ in find())
    for place in sorted(set(found) | set(listed)):
        if found[place] != listed[place]:
            print(f"loops.py: {place} has {found[place]} loops that read what others change, and {listed[place]} are "
                  "listed")
            wrong += 1
    caught = record()
    for spin in SPINS:
        count = open(os.path.join(KERNEL, spin.mutated or spin.file)).read().count(spin.text)
        if count != 1:
            print(f'loops.py: the text of "{name_of(spin)}" stands {count} times in {spin.mutated or spin.file}')
            wrong += 1
        if name_of(spin) not in caught:
            print(f'loops.py: no client has reported the variant of "{name_of(spin)}"')
            wrong += 1
    print(f"{sum(found.values())} loops, of which {len(SPINS)} wait for another thread; {wrong} wrong")
    return wrong != 0


def report(spin, base, clients):
    """The client that reports the variant of the loop, and what it says; None and why not."""
    folder = tempfile.mkdtemp(prefix="loop.")
    try:
        kernel, path = os.path.join(folder, "kernel"), spin.mutated or spin.file
        shutil.copytree(KERNEL, kernel)
        source = open(os.path.join(kernel, path)).read()
        if source.count(spin.text) != 1:
            return None, "its text does not stand in the source; see --check"
        open(os.path.join(kernel, path), "w").write(source.replace(spin.text, spin.becomes))
        program = build(kernel, folder, base, affected(path, spin.seen_by, base, None), optimize="-O1")
        run = subprocess.run([program, *EFFORT, *clients], capture_output=True, text=True)
        match = REPORTED.match(run.stdout)
        return (match[1], match[2]) if match else (None, run.stdout[:200] or "nobody noticed")
    finally:
        shutil.rmtree(folder)


def is_older(program):
    """Than a source of it; mutants.py has built it in the same folder otherwise."""
    if not os.path.exists(program):
        return True
    files = [os.path.join(folder, name) for root in (KERNEL, HERE) for folder, _, names in os.walk(root)
             for name in names if name.endswith((".c", ".h"))]
    return max(map(os.path.getmtime, files)) > os.path.getmtime(program)


def main():
    arguments = [one for one in sys.argv[1:] if not one.startswith("--")]
    if "--check" in sys.argv:
        return check()
    if "--list" in sys.argv or not arguments:
        for spin in SPINS:
            print(f"{spin.file} {spin.function}\n    waits for  {spin.waits_for}\n    ended by   {spin.ended_by}")
        return 0
    base, names = arguments[0], arguments[1:]
    if is_older(os.path.join(base, "explore")):
        build(KERNEL, base, jobs=os.cpu_count())
    known, missed = record(), 0
    chosen = [spin for spin in SPINS if not names or spin.function in names]

    def one(spin):
        first = [known[name_of(spin)]] if name_of(spin) in known and "--record" not in sys.argv else spin.clients
        return report(spin, base, first)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for spin, (client, said) in zip(chosen, pool.map(one, chosen)):
            missed += client is None
            if client is not None:
                known[name_of(spin)] = client
            print(f"{'reported' if client else 'MISSED':8} {name_of(spin)}\n         {client or ''} {said[:160]}",
                  flush=True)
    if "--record" in sys.argv:
        with open(CAUGHT_BY, "w") as file:
            file.writelines(f"{name_of(s)}: {known[name_of(s)]}\n" for s in SPINS if name_of(s) in known)
    print(f"{len(chosen) - missed} of {len(chosen)} variants that do not terminate reported")
    return missed != 0


if __name__ == "__main__":
    sys.exit(main())
