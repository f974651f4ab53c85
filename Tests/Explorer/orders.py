#!/usr/bin/env python3
"""Weakens one memory order of the kernel at a time, and says which client of the explorer notices.

    orders.py FOLDER                   each step that a client is known to notice: it must notice again
    orders.py FOLDER --search [TEXT]   looks for clients that notice the others, or those whose names hold the text, and
                                       records them; --effort N, 0 to 3: how long (default 2); --clients PATTERN ...:
                                       among these alone
    orders.py --check                  whether each step of the sources is in one of the records
    orders.py --table                  writes the figures by module into docs/verification.md

FOLDER has the explorer as `build.py --races` builds it. A step is one access of order_sites.py with its order one
weaker (from acq_rel there are two, and a fence goes). The explorer weakens it as it runs, so nothing is compiled.

Records, two lines for each step:
    orders_caught.txt      the client that notices, by which model, in how many schedules
    orders_noted.txt       what no client can notice, and the litmus test that shows why it is needed all the same
    orders_unnoticed.txt   what nobody notices, and why as far as that is known: a hole, or more than the kernel needs
"""
import argparse, collections, concurrent.futures, os, re, subprocess, sys

from build import HERE, KERNEL, build
from order_sites import all_sites, disagreements

sys.path.append(os.path.dirname(HERE))
from marks import filled_one

CAUGHT, NOTED, UNNOTICED = (os.path.join(HERE, f"orders_{name}.txt") for name in ("caught", "noted", "unnoticed"))
DOCUMENT = os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs", "verification.md")
MODELS = {"rc11": ["--model", "rc11"], "buffers": []}
# Model, effort, and how many of the clients that come to the access: one after the other.
EFFORTS = [
    ("rc11", ["--no-exhaustive", "--random", "200"], 1000),
    ("rc11", ["--limit", "1500", "--random", "1500"], 12),
    ("buffers", ["--limit", "1500", "--random", "1500"], 12),
    ("rc11", ["--limit", "20000", "--random", "20000"], 1000),
]
FOUND = re.compile(r"^(\w+) (?:(random|exhaustive) (\d+) |crashed)(.*)", re.MULTILINE)
MOST_NOTED = 0.05


def read_record(path):
    """By the step's name what stands below it."""
    if not os.path.exists(path):
        return {}
    lines = [line.strip() for line in open(path) if line[0] != "#"]
    return dict(zip(lines[::2], lines[1::2]))


def write_record(path, record, order):
    about = [line for line in open(path) if line[0] == "#"] if os.path.exists(path) else []
    with open(path, "w") as file:
        file.writelines(about + [f"{name}\n    {record[name]}\n" for name in order if name in record])


def run(program, model, effort, step, clients):
    """The client that fails, and after how many schedules of which kind; None where none does."""
    weaker = ["--weaken", step] if step else []
    command = [program, *MODELS[model], *weaker, "--quiet", *effort, *clients]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    match = FOUND.search(done.stdout)
    if done.returncode == 0 or not match:
        return None
    return match[1], match[2] or "random", int(match[3] or 1), match[4]


def notices_again(program, step, about):
    client, model, how, count = about.split()
    most = str(2 * int(count) + 300)
    effort = ["--no-exhaustive", "--random", most] if how == "random" else ["--limit", most, "--random", "300"]
    return run(program, model, effort, step, [client]) is not None


def one_round(program, jobs):
    """Every step that was noticed once; the number of those that are not now."""
    steps = {name: step for site in all_sites() for step, name in site.steps()}
    record = read_record(CAUGHT)
    names = [name for name in record if name in steps]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda name: notices_again(program, steps[name], record[name]), names))
    missed = [name for name, noticed in zip(names, results) if not noticed]
    for name in missed:
        print(f"not caught: {name} ({record[name]})")
    print(f"{len(names) - len(missed)} of {len(record)} weakened orders caught")
    return len(missed) + len(record) - len(names)


def who_comes_to_what(program):
    """By file and line, which clients come to the access."""
    reached = collections.defaultdict(set)
    for model in MODELS.values():
        done = subprocess.run([program, *model, "--sites", "--no-exhaustive", "--random", "60"], capture_output=True,
                              text=True, errors="replace")
        for line in done.stdout.splitlines():
            match = re.fullmatch(r"(\w+) \S*/((?:src|include)/\S+:\d+)", line)
            if match:
                reached[match[2]].add(match[1])
    return reached


def chosen(clients, count, record):
    """So many of the clients: half of them those that notice most, half spread over all."""
    notice = collections.Counter(about.split()[0] for about in record.values())
    best = sorted(clients, key=lambda client: -notice[client])[:count // 2]
    return sorted({*best, *clients[::max(1, 2 * len(clients) // count)]})


def look_for(program, step, clients, most, record):
    for model, effort, count in EFFORTS[:most + 1]:
        some = chosen(clients, count, record)
        found = run(program, model, effort, step, some) if clients else None
        if found and run(program, model, effort, None, [found[0]]) is None:
            return f"{found[0]} {model} {found[1]} {found[2]}", found[3]
    return None, ""


def note(name, about, otherwise, names):
    """Puts the outcome into the records, as they are now, and leaves a reason that stands there."""
    record, unnoticed = read_record(CAUGHT), read_record(UNNOTICED)
    if about:
        record[name] = about
        unnoticed.pop(name, None)
    elif unnoticed.get(name) in (None, "no client comes here", "nobody notices"):
        unnoticed[name] = otherwise
    write_record(CAUGHT, record, names)
    write_record(UNNOTICED, unnoticed, names)


def search(program, text, most, jobs, patterns):
    record, noted = read_record(CAUGHT), read_record(NOTED)
    sites = all_sites()
    names = [name for site in sites for _, name in site.steps()]
    wanted = [(step, name, f"{site.file}:{site.line}") for site in sites for step, name in site.steps()
              if name not in record and name not in noted and text in name]
    reached = collections.defaultdict(lambda: patterns) if patterns else who_comes_to_what(program)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        looks = pool.map(lambda one: look_for(program, one[0], sorted(reached[one[2]]), most, record),
                         wanted)
        for number, ((_, name, place), (about, said)) in enumerate(zip(wanted, looks), 1):
            clients = len(reached[place])
            print(f"[{number:3}/{len(wanted)}] {about or f'nobody of {clients}'} | {name} {said[:100]}", flush=True)
            note(name, about, "nobody notices" if clients else "no client comes here", names)
    return 0


def check():
    """Says what is in no record, or stale in one; the number of those."""
    sites = all_sites()
    records = [read_record(path) for path in (CAUGHT, NOTED, UNNOTICED)]
    names = {name for site in sites for _, name in site.steps()}
    wrong = disagreements(sites)
    for name in sorted(names):
        if sum(name in record for record in records) != 1:
            wrong.append(f"a step in {sum(name in record for record in records)} records: {name}")
    for path, record in zip((CAUGHT, NOTED, UNNOTICED), records):
        wrong += [f"{os.path.basename(path)}: no such step stands in the sources: {name}"
                  for name in record if name not in names]
    tests = open(os.path.join(HERE, "litmus_tests.c")).read()
    wrong += [f"orders_noted.txt: no litmus test has the name {about.split(': ')[0]}: {name}"
              for name, about in records[1].items() if f'"{about.split(": ")[0]}"' not in tests]
    noted = sum(any(name in records[1] for _, name in site.steps()) for site in sites)
    if noted > MOST_NOTED * sum(bool(site.steps()) for site in sites):
        wrong.append(f"{noted} sites are noted, more than {MOST_NOTED:.0%}")
    if document() != open(DOCUMENT).read():
        wrong.append("docs/verification.md: its table is not that of the records: orders.py --table writes it")
    for line in wrong:
        print(f"orders.py: {line}")
    caught, noted, unnoticed = map(len, records)
    print(f"{len(sites)} atomic accesses, {len(names)} steps: {caught} caught, {noted} noted, {unnoticed} not noticed; "
          f"{len(wrong)} stale or wrong")
    return len(wrong)


def figures():
    """By module: accesses, those stronger than relaxed, their steps, and the steps caught, noted and unnoticed."""
    rows = collections.defaultdict(collections.Counter)
    records = [read_record(path) for path in (CAUGHT, NOTED, UNNOTICED)]
    for site in all_sites():
        for row in (rows[site.module], rows["all"]):
            row["accesses"] += 1
            row["stronger"] += bool(site.steps())
            for _, name in site.steps():
                row["steps"] += 1
                for kind, record in zip(("caught", "noted", "unnoticed"), records):
                    row[kind] += name in record
    return rows


def document():
    """As its table should be."""
    columns = ("accesses", "stronger", "steps", "caught", "noted", "unnoticed")
    rows = figures()
    lines = ["| module | accesses | stronger than relaxed | steps | caught | noted | not noticed |",
             "|---|--:|--:|--:|--:|--:|--:|"]
    for module in [*sorted(set(rows) - {"all"}), "all"]:
        lines.append(f"| {module} | " + " | ".join(str(rows[module][column]) for column in columns) + " |")
    return filled_one(DOCUMENT, "orders by module", "\n".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--search", nargs="?", const="", metavar="TEXT")
    parser.add_argument("--effort", type=int, default=2, choices=range(len(EFFORTS)))
    parser.add_argument("--clients", nargs="+", metavar="PATTERN")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    if options.check:
        return check() != 0
    if options.table:
        text = document()
        open(DOCUMENT, "w").write(text)
        return 0
    if options.folder is None:
        parser.error("a folder with the explorer is missing")
    program = os.path.join(options.folder, "explore")
    if not os.path.exists(program):
        build(KERNEL, options.folder, jobs=options.jobs, races=True)
    if options.search is not None:
        return search(program, options.search, options.effort, options.jobs, options.clients)
    return one_round(program, options.jobs) != 0


if __name__ == "__main__":
    sys.exit(main())
