"""Puts the rows of areas that were measured anew into a recorded run, in place of those of the same groups. Several
areas have rows in the group of instructions; there each subject's are replaced.

    Benchmarks/recorded.py RECORDED NEW AREA...
    Benchmarks/recorded.py --fits RECORDED NEW      fails if NEW, of which the first lines are enough, is of another
                                                    machine

The recorded file goes on saying what the other areas were measured on, and says of these at which commit, on which day
and beside which load.
"""
import sys
from pathlib import Path

from report_pages.rows import stated


def split(path):
    """What a file states of itself, by name, and its rows."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return dict(filter(None, map(stated, lines))), rows


def of(row):
    """What stands or falls together."""
    return tuple(row[:3] if row[1] == "instructions per operation" else row[:2])


def fit(recorded, before, new, now):
    for name in ("processors", "system", "compilers", "rounds of a run"):
        if before.get(name) != now.get(name):
            raise SystemExit(f"{new}: error: {name} is {now.get(name)!r}, in {recorded} it is {before.get(name)!r}: "
                             "record whole runs")


def merged(recorded, new, areas):
    before, rows = split(recorded)
    now, rows_anew = split(new)
    if not rows_anew:
        raise SystemExit(f"{new}: error: there are no rows")
    fit(recorded, before, new, now)
    words = f"commit {now['commit']}, {now['date']}, load before {now['load before']}"
    if before.get("peers") != now.get("peers"):
        words += f", peers {now.get('peers')}"
    for area in areas:
        before[f"area {area}"] = words
    replaced = {of(row) for row in rows_anew}
    kept = [row for row in rows if of(row) not in replaced]
    return "".join([f"# {name}: {value}\n" for name, value in before.items()]
                   + ["\t".join(row) + "\n" for row in kept + rows_anew])


def main(arguments):
    if len(arguments) < 3:
        raise SystemExit(__doc__)
    if arguments[0] == "--fits":
        recorded, new = arguments[1:]
        return fit(recorded, split(recorded)[0], new, split(new)[0])
    recorded, new, *areas = arguments
    text = merged(recorded, new, areas)
    Path(recorded).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
